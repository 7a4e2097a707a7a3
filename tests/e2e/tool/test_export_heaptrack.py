"""`mallow export --to heaptrack`: what heaptrack makes of it is what mallow itself says."""
import collections
import os
import random
import re
import resource
import subprocess
import sys

import pytest

import heaptrack_reader
import mallow_reader
import real_programs
import report_json
from conftest import TOP, need
from made_recording import FREE, Made
from mallow_reader import Alloc
from mallow_sums import in_order
from recording_writer import ChunkWriter

sys.path.insert(0, str(TOP / "bench"))
from place import Place  # noqa: E402

START = ["_start", "__libc_start_call_main", "main"]
TOGETHER_S = 0.01


def export(tool, recording, *conditions):
    path = recording.with_name("out.gz")
    tool("export", "--to", "heaptrack", "-o", path, *conditions, recording)
    return heaptrack_reader.read(path)


def frames_of(site):
    return tuple((frame["function"], frame["file"], frame["line"] or 0, frame["module"],
                  int(frame["address"], 16)) for frame in site["stack"]) or \
        (("[no stack]", None, 0, None, 0),)


def rows_of(report):
    rows = collections.defaultdict(lambda: [0] * 6)
    for site in report["sites"]:
        for i, field in enumerate(("calls", "total_bytes", "leaked_bytes", "temporary",
                                   "leaked_blocks", "peak_bytes")):
            rows[frames_of(site)][i] += site[field]
    return dict(rows)


def assert_same(sums, report, temporary=True):
    """Sums and every stack of them; temporary: these, too."""
    assert (sums.version, sums.page) == (3, 4096)
    assert (sums.calls, sums.total, sums.live, sums.peak) == tuple(
        report[field] for field in ("calls", "total_bytes", "leaked_bytes", "peak_bytes"))
    assert not sums.peak or sums.peak_ms == int(report["peak_time_s"] * 1000 + 1e-6)
    assert sums.milliseconds == int(report["duration_s"] * 1000 + 1e-6)
    peak = sums.peak_of()
    ours = {stack: [*row, peak[stack]] for stack, row in sums.rows.items()}
    theirs = rows_of(report)
    if temporary:
        assert sums.temporary == report["temporary"]
    else:
        for row in (*ours.values(), *theirs.values()):
            row[3] = None
    assert ours == theirs


def unlike_heaptrack(recording):
    """Temporary blocks that are part of the peak, or live longer than 10 ms: at most so many are
    not told as such."""
    live, last, peak, now, found = {}, {}, 0, 0, []
    for event in in_order(recording):
        if isinstance(event, Alloc):
            now += event.size
            live[event.address] = event, peak
            last[event.thread] = event
            if now > peak:
                peak = now
                live[event.address] = event, peak
        elif event.address in live:
            block, peak_then = live.pop(event.address)
            now -= block.size
            if last[block.thread] is block and (
                    peak > peak_then or recording.seconds(event.time) -
                    recording.seconds(block.time) > TOGETHER_S):
                found.append(block)
    return len(found)


# --- real recordings ---

PYTHON = "import json; json.dumps([str(i) for i in range(20000)])"


@pytest.mark.parametrize("name", ["totals", "totals_cpp", "realloc_chain", "stack_shapes",
                                  "c_family"])
def test_samples(name, compile_sample, record, tool):
    recorded = record([compile_sample(name, "gcc", "-O2")], check=False)
    sums = export(tool, recorded.path)
    assert_same(sums, recorded.report_json, temporary=False)
    missing = recorded.report_json["temporary"] - sums.temporary
    assert 0 <= missing <= unlike_heaptrack(recorded.reader)


@pytest.mark.parametrize("name", ["culled", "hand_over", "crowd"])
def test_threads(name, compile_sample, record, tool):
    arguments = ["200", "8"] if name == "crowd" else []
    recorded = record([compile_sample(name, "gcc", "-O2"), *arguments], check=False)
    sums = export(tool, recorded.path)
    assert sums.temporary > 200
    assert_same(sums, recorded.report_json, temporary=False)
    missing = recorded.report_json["temporary"] - sums.temporary
    assert 0 <= missing <= unlike_heaptrack(recorded.reader)


@pytest.fixture(scope="module")
def python(tool, tmp_path_factory):
    """A recording of python3, finished, and its export."""
    folder = tmp_path_factory.mktemp("python")
    path = folder / "python.mallow"
    tool("run", "--force-malloc", "-o", path, "--", "/usr/bin/python3", "-c", PYTHON)
    out = folder / "python.gz"
    tool("export", "--to", "heaptrack", "-o", out, path)
    return path, out


def test_python(tool, python):
    recording, out = python
    sums = heaptrack_reader.read(out)
    assert sums.calls > 50_000 and sums.temporary > 5000
    assert sums.command.startswith("/usr/bin/python3 -c import json")
    report = tool.report(recording)
    assert_same(sums, report, temporary=False)
    missing = report["temporary"] - sums.temporary
    read = mallow_reader.read(recording)
    assert 0 <= missing <= unlike_heaptrack(read) < 100
    samples = [fact for fact in read.facts if fact["kind"] == "memory"]
    assert [resident for _, resident in sums.resident] == \
        [sample["resident"] // 4096 * 4096 for sample in samples] and samples


def test_inlined_frames(compile_sample, record, tool):
    recorded = record([compile_sample("totals_cpp", "gcc", "-O2")], check=False)
    inlined = [site for site in recorded.report_json["sites"]
               if any(frame["inlined"] for frame in site["stack"])]
    assert inlined
    assert_same(export(tool, recorded.path), recorded.report_json, temporary=False)


def printed(path, cost):
    """The sum of what heaptrack_print says of each stack: its totals are rounded."""
    need("heaptrack_print")
    stacks = path.with_name(f"stacks.{cost}")
    subprocess.run(["heaptrack_print", "--disable-builtin-suppressions",
                    "--disable-embedded-suppressions", "-f", path, "-F", stacks,
                    "--flamegraph-cost-type", cost], check=True, capture_output=True)
    return sum(int(line.rpartition(" ")[2]) for line in stacks.read_text().splitlines())


def test_heaptrack_print(tool, python):
    recording, out = python
    report = tool.report(recording)
    sums = heaptrack_reader.read(out)
    assert [printed(out, cost) for cost in ("allocations", "leaked", "peak", "temporary")] == \
        [report["calls"], report["leaked_bytes"], report["peak_bytes"], sums.temporary]


def test_heaptrack_print_reads_every_compression(tool, python, tmp_path):
    recording, out = python
    totals = set()
    for name in ("out.gz", "out.zst", "out.txt"):
        tool("export", "--to", "heaptrack", "-o", tmp_path / name, recording)
        run = subprocess.run([need("heaptrack_print"), "-f", tmp_path / name], check=True,
                             capture_output=True, text=True)
        totals.add("".join(re.findall(r"^(?:calls|temporary|peak|total).*$", run.stdout, re.M)))
    assert len(totals) == 1
    assert tool("export", "--to", "heaptrack", recording).stdout == \
        (tmp_path / "out.txt").read_text()


def gui_status(path, seconds=8):
    """124: it was still there when its time was over."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(path.parent),
                   "XDG_RUNTIME_DIR": str(path.parent)}
    return subprocess.run(["timeout", str(seconds), need("heaptrack_gui"), path], env=environment,
                          capture_output=True).returncode


def test_heaptrack_gui(python):
    assert gui_status(python[1]) == 124


def test_heaptrack_gui_does_crash(tmp_path):
    """At what heaptrack_reader.py says it does: else the test above says nothing."""
    path = tmp_path / "odd.txt"
    path.write_text("v 10300 3\nX odd\nI 1000 0\ns 4 main\ni 1 0 1 0 0\nt 1 0\n" +
                    "".join(f"a {size:x} 1\n" for size in range(1, 100000)) +
                    "+ 18000\n" * 10 + "+ 0\nc a\n")
    assert gui_status(path, seconds=120) != 124


# --- made recordings: each says what may go wrong ---

class Threads(Made):
    """A recording of two threads: those of Made, and another one."""

    def __init__(self, folder, names):
        super().__init__(folder, names)
        self.other = ChunkWriter(2, 0, 1000)
        self.other_depth = 0

    def allocate_there(self, stack, size, wait=1000):
        ids = [self.frame(name) for name in stack]
        self.heap += (size + 31) // 16 * 16
        self.other.allocate(1, self.tick(wait), self.heap, size, change=(self.other_depth, ids))
        self.other_depth = len(ids)
        return self.heap

    def free_there(self, address, wait=1000):
        self.other.free(self.tick(wait), address, op=FREE)

    def write(self, *arguments, **options):
        self.writer.add(self.other.image())
        return super().write(*arguments, **options)


@pytest.fixture
def made(tmp_path):
    return Threads(tmp_path, [*START, "first", "work", "other"])


def test_freed_past_events_of_another_thread(made, tool):
    made.free(made.allocate([*START, "first"], 5000))  # the peak
    for size in range(100, 120):
        block = made.allocate([*START, "work"], size)
        there = made.allocate_there([*START, "other"], 7)
        made.free_there(there)
        made.free(block)
    path = made.write()
    report = tool.report(path)
    assert report["temporary"] == 41
    assert_same(export(tool, path), report)


def test_peak_with_a_temporary_block(made, tool):
    """It is not freed before the peak, and so not temporary for heaptrack."""
    block = made.allocate([*START, "work"], 1000)
    made.allocate_there([*START, "other"], 500)
    made.free(block)
    path = made.write()
    report, sums = tool.report(path), export(tool, path)
    assert report["temporary"] == 1 and report["peak_bytes"] == 1500
    assert sums.temporary == 0
    assert_same(sums, report, temporary=False)


@pytest.mark.parametrize("milliseconds, told", [(9, 1), (11, 0)])
def test_temporary_for_long(made, tool, milliseconds, told):
    """Memory that is there for long is shown as long, whatever that makes it."""
    made.free_there(made.allocate_there([*START, "first"], 9000))
    block = made.allocate([*START, "work"], 1000)
    made.allocate_there([*START, "other"], 10)
    made.free(block, wait=milliseconds * 1_000_000)
    path = made.write()
    report, sums = tool.report(path), export(tool, path)
    assert report["temporary"] == 2 and sums.temporary == 1 + told
    assert_same(sums, report, temporary=False)


def test_temporary_for_long_and_alone(made, tool):
    block = made.allocate([*START, "work"], 1000)
    made.free(block, wait=60_000_000_000)
    path = made.write()
    assert_same(export(tool, path), tool.report(path))


def test_another_block_of_that_kind(made, tool):
    """heaptrack would take a free for temporary if the block allocated last was a like one."""
    made.allocate([*START, "first"], 64)
    blocks = [made.allocate([*START, "work"], 64) for _ in range(10)]
    for block in blocks:
        new = made.allocate([*START, "work"], 64)
        made.free(block)
        made.free(new)
    path = made.write()
    report = tool.report(path)
    assert report["temporary"] == 10
    assert_same(export(tool, path), report)


def test_blocks_of_the_first_kind(made, tool):
    """A free of kind 0 behind another free is temporary to heaptrack."""
    blocks = [made.allocate([*START, "first"], 64) for _ in range(10)]
    others = [made.allocate([*START, "work"], 64) for _ in range(10)]
    for block, other in zip(blocks, others):
        made.free(other)
        made.free(block)
    path = made.write()
    report = tool.report(path)
    assert report["temporary"] == 1
    assert_same(export(tool, path), report)


def set_of(size, site):
    """As heaptrack_kinds.c chooses where it remembers a kind."""
    mask = (1 << 64) - 1
    number = (size * 0x9e3779b97f4a7c15 + site) & mask
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9 & mask
    number = (number ^ number >> 27) * 0x94d049bb133111eb & mask
    return (number ^ number >> 31) >> 46


def test_kinds_that_were_forgotten(made, tool):
    """More kinds with one hash than are remembered: they are defined again, and nothing else."""
    sizes = [size for size in range(1, 3_000_000) if set_of(size, 0) == 0]
    assert len(sizes) > 6
    live = [made.allocate([*START, "first"], size) for _ in range(3) for size in sizes]
    for block in live[::2]:
        made.free(block)
    path = made.write()
    sums = export(tool, path)
    assert len(sums.kinds) == 2 + 3 * len(sizes) and len(set(sums.kinds)) == 1 + len(sizes)
    assert_same(sums, tool.report(path))
    assert gui_status(path.with_name("out.gz")) == 124


def test_freed_and_allocated_by_chance(made, tool):
    """As a program may: kinds come again, blocks are freed by whoever."""
    chance, live = random.Random(5), []
    for _ in range(3000):
        if live and chance.random() < 0.55:
            address = live.pop(chance.choice([-1, -1, chance.randrange(len(live))]))
            chance.choice([made.free, made.free_there])(address, wait=chance.choice([0, 1000]))
        else:
            allocate = chance.choice([made.allocate, made.allocate_there])
            live.append(allocate([*START, chance.choice(["first", "work", "other"])],
                                 chance.choice([8, 16, 64]), wait=chance.choice([0, 1000])))
    path = made.write()
    report, sums = tool.report(path), export(tool, path)
    assert_same(sums, report, temporary=False)
    missing = report["temporary"] - sums.temporary
    assert 0 <= missing <= unlike_heaptrack(mallow_reader.read(path)) < sums.temporary / 10
    for conditions in (["--size-min", "10"], ["--function-regex", "^work$"], ["--lifetime", "only_leaked"]):
        assert_filtered(tool, path, conditions)


def assert_filtered(tool, path, conditions):
    report = report_json.load(tool("report", "--json", "--top", "100000", *conditions, path).stdout)
    sums = export(tool, path, *conditions)
    assert report["calls"]
    assert_same(sums, report, temporary=False)
    assert f"{report['matched']} of {report['matched_of']} allocations, those of a filter" in \
        sums.comments


def test_odd_names_and_no_stack(tmp_path, tool):
    names = [*START, "line\nbreak", "tab\tand  blanks", "größe;x"]
    made = Made(tmp_path, names, libraries=[("/usr/lib/a b.so", ["unknown"])],
                arguments=["a\nb", "c d"])
    for name in names:
        made.allocate([*START, name], 10)
    made.allocate([*START, "unknown"], 10)
    made.allocate([], 77)
    path = made.write()
    sums = export(tool, path)
    report = tool.report(path)
    assert (sums.calls, sums.live) == (report["calls"], report["leaked_bytes"])
    functions = {stack[0][0] for stack in sums.rows}
    assert {"line\\x0abreak", "tab\\x09and  blanks", "größe;x", "[no stack]"} <= functions
    assert sums.command == "toyd a\\x0ab c d"
    assert ("[a b.so]+0xfff", "/usr/lib/a b.so") in {(stack[0][0], stack[0][3])
                                                     for stack in sums.rows}


def test_nothing(tmp_path, tool):
    path = Made(tmp_path, START).write()
    sums = export(tool, path)
    assert (sums.calls, sums.kinds) == (0, [])
    assert printed(path.with_name("out.gz"), "allocations") == 0


def test_sample(compile_sample, record, tool):
    """Bytes are the estimates, calls those that were recorded."""
    recorded = record([compile_sample("sampled", "gcc", "-O2")], settings={"SAMPLE": "64K"})
    sums, report = export(tool, recorded.path), recorded.report_json
    assert (sums.total, sums.live, sums.peak) == \
        (report["total_bytes"], report["leaked_bytes"], report["peak_bytes"])
    assert sums.temporary == 0
    assert sums.calls == sum(isinstance(event, Alloc) for event in recorded.reader.events)
    assert any("a sample, one in 65536 bytes" in comment for comment in sums.comments)


def test_culled(compile_sample, record, tool):
    """What was only counted is left out, and the file says so."""
    recorded = record([compile_sample("culled", "gcc", "-O2")], check=False,
                      settings={"CULL": "1h"})
    sums, report = export(tool, recorded.path), recorded.report_json
    culled = sum(culled.calls for culled in recorded.reader.culled)
    assert sums.calls == report["calls"] - culled and culled
    assert (sums.live, sums.peak) == (report["leaked_bytes"], report["peak_bytes"])
    assert any(f"without {culled} allocations" in comment for comment in sums.comments)


def test_begun_while_the_program_ran(compile_sample, record, tool):
    recorded = record([compile_sample("started", "gcc", "-O2")], check=False,
                      settings={"DISABLE_BY_DEFAULT": 1})
    sums = export(tool, recorded.path)
    assert sums.attached and sums.calls == 9
    assert_same(sums, recorded.report_json, temporary=False)
    assert printed(recorded.path.with_name("out.gz"), "allocations") == 9


@pytest.mark.long
@pytest.mark.parametrize("name", real_programs.NAMES)
def test_real_programs(name, record, tool, tmp_path):
    command, environment = real_programs.command(name, tmp_path)
    path = record(command, bare=False, env=environment, timeout=600).path
    report, sums = tool.report(path), export(tool, path)
    assert sums.calls > 10_000
    assert_same(sums, report, temporary=False)
    assert 0 <= report["temporary"] - sums.temporary < report["temporary"] / 100
    out = path.with_name("out.gz")
    assert [printed(out, cost) for cost in ("allocations", "leaked", "peak", "temporary")] == \
        [report["calls"], report["leaked_bytes"], report["peak_bytes"], sums.temporary]
    assert gui_status(out) == 124


@pytest.mark.long
def test_little_memory(tool, tmp_path):
    """Two million allocations, nearly each of a kind of its own, are never in memory as text."""
    path = tmp_path / "large.mallow"
    subprocess.run([Place().program("make_recording"), path, "2000000"], check=True)
    tool("finish", "--index-file", path)

    def export_within(limit):  # of private memory: blocks are mapped, and so is what is noted of each
        command = ["export", "--to", "heaptrack", "-o", tmp_path / "out.zst", path]
        return tool(*command, check=False, preexec_fn=lambda:
                    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))

    run = export_within(40 << 20)
    assert run.returncode == 0, run.stderr
    run = export_within(8 << 20)
    assert run.returncode == 1 and re.search("out of memory|Cannot allocate memory", run.stderr)
    sums, report = heaptrack_reader.read(tmp_path / "out.zst"), tool.report(path)
    assert (sums.calls, sums.total, sums.live, sums.peak) == tuple(
        report[field] for field in ("calls", "total_bytes", "leaked_bytes", "peak_bytes"))
    assert 0 <= report["temporary"] - sums.temporary < report["temporary"] / 100


def test_options_that_it_has_no_use_for(tool, python):
    recording, _ = python
    for option in (["--merge"], ["--metric", "peak"]):
        run = tool("export", "--to", "heaptrack", *option, recording, check=False)
        assert run.returncode == 2 and run.stdout == ""
        assert run.stderr.startswith(f"mallow: {option[0]} is not for --to heaptrack\n")
