"""mallow strip: fewer events, the same sums; a part that stands alone; a recording that tells no place."""
import gzip
import os
import re
import resource
import signal
import subprocess
import sys

import pytest

import mallow_reader
import mallow_sums
from conftest import TOP, clean_environment
from mallow_reader import Alloc
from processes import start_steady
from stories import Story, boundaries

sys.path.insert(0, str(TOP / "bench"))
from place import Place  # noqa: E402

# What the sites of a recording keep. own_peak_bytes is that of the blocks which are kept.
EXACT = ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "peak_bytes", "peak_blocks", "temporary")
SUMS = (*EXACT, "peak_time_s", "duration_s")
COMMANDS = [["hand_over", "1000", "4"], ["realloc_chain"], ["realloc_races"], ["life_cycle"], ["culled_chain"], ["pools"],
            ["switched"], ["all_calls"]]
THRESHOLDS = [[], ["--threshold", "1ms"], ["--threshold", "0"]]


def rows(report):
    """{functions and addresses: exact sums}"""
    result = {}
    for site in report["sites"]:
        stack = tuple((frame["function"], frame["address"], frame["line"]) for frame in site["stack"])
        row = [site[field] for field in EXACT]
        result[stack] = [a + b for a, b in zip(result[stack], row)] if stack in result else row
    return result


def assert_exact(stripped, whole):
    assert {field: stripped[field] for field in SUMS} == {field: whole[field] for field in SUMS}
    ours, theirs = rows(stripped), rows(whole)
    assert ours == theirs


@pytest.fixture
def strip(tool, tmp_path):
    """strip(path, option, …): the path of the result, which the reader has read, too."""

    def run(path, *options, sound=True):
        before = path.read_bytes()
        out = tmp_path / f"stripped{len(list(tmp_path.iterdir()))}.mallow"
        said = tool("strip", path, "-o", out, *options).stdout
        assert said.startswith(f"{out}: ") and " instead of " in said
        assert path.read_bytes() == before
        if sound:
            assert not mallow_reader.read(out).damages
            tool.assert_equal_sums(out)
        return out

    return run


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_sums_are_exact(command, record, compile_sample, tool, strip):
    """As the agent left it, and finished; the result, and the result finished."""
    recorded = record([compile_sample(command[0], "gcc", "-O1"), *command[1:]], check=False)
    whole = tool.report(recorded.path)
    for options in THRESHOLDS:
        # The reader takes its time: few events are left of the others.
        out = strip(recorded.path, *options, sound="0" not in options)
        assert_exact(tool.report(out), whole)
        assert "finished" in tool("finish", out).stdout
        assert_exact(tool.report(out), whole)
    tool("finish", "--compress", "always", recorded.path)
    out = strip(recorded.path)
    assert tool.info(out)["finished"] and tool.info(out)["stripped"]
    assert_exact(tool.report(out), whole)
    # Once more: nothing is left to strip.
    again = strip(out)
    assert_exact(tool.report(again), whole)
    assert " 0 of 0 B in sums only" in tool("strip", out, "-o", again).stdout


@pytest.mark.parametrize("seed", range(12))
def test_random_recordings(seed, tool, tmp_path, strip):
    """Threads, late frees, addresses that are given out again, chains, pools, records of all kinds."""
    path = tmp_path / "story.mallow"
    path.write_bytes(Story(seed, glibc=seed % 3 != 0).image(steps=600))
    for options in THRESHOLDS:
        assert_exact(tool.report(strip(path, *options)), tool.report(path))
    duration = int(tool.report(path)["duration_s"] * 1e9)
    for begin, end in ((duration // 3, None), (0, duration // 2), (duration // 4, duration * 2 // 3)):
        options = (["--from", f"{begin}ns"] if begin else []) + (["--to", f"{end}ns"] if end else [])
        part = Part(path, (begin + 0.999) / 1e9 if begin else -1, (end + 0.999) / 1e9 if end else 1e9)
        part.assert_is(tool.report(strip(path, *options)))
        part.assert_is(tool.report(strip(path, *options, "--threshold", "0")))


def test_what_goes(record, compile_sample, tool, strip):
    """Nothing that was freed is left but what was live at the peak; it is smaller, and says what it is."""
    recorded = record([compile_sample("hand_over", "gcc", "-O1"), "20000", "4"], check=False)
    out = strip(recorded.path)
    assert out.stat().st_size < recorded.path.stat().st_size / 5
    sums = mallow_sums.Sums(mallow_reader.read(out))
    events = sum(type(event) is Alloc for event in sums.recording.events)
    whole = recorded.report_json
    assert events <= whole["peak_blocks"] + whole["leaked_blocks"] < whole["calls"]
    info = tool.info(out)
    assert (info["stripped"], info["cull_s"], info["allocations"]) == (True, None, events)
    assert info["culled_allocations"] == whole["calls"] - events
    assert info["id"] != recorded.info_json["id"] and info["host"] == recorded.info_json["host"]
    line = f"stripped: {whole['calls'] - events:,} blocks that were freed and not live at the peak are in sums only"
    assert line in tool("report", "--bytes", out).stdout
    assert [finding["kind"] for finding in tool.report(out)["findings"]].count("stripped") == 1
    assert tool.info(recorded.path)["stripped"] is False
    out = strip(recorded.path, "--threshold", "1h")
    assert re.search(r"freed within 1\s?h\S* and not live at the peak", tool("report", out).stdout)
    assert tool.info(out)["cull_s"] == 3600


class Part:
    """What a part of a recording says, from the events of the whole one. from_s, to_s: in seconds."""

    def __init__(self, path, from_s, to_s):
        recording = mallow_reader.read(path)
        self.calls = self.total = self.live = self.peak = 0
        blocks, begun, seconds = {}, False, 0
        events = mallow_sums.in_order(recording)
        for index, event in enumerate(events):
            following = events[index + 1:index + 2] if event.address == events[min(index + 1, len(events) - 1)].address else []
            # A late free counts when its address was given out; an event whose time steps back follows the one before it.
            seconds = max(seconds, recording.seconds(min(other.time for other in [event, *following])))
            if seconds > to_s:
                break
            if not begun and seconds > from_s:
                begun = True
                self.begin(blocks)
            if type(event) is Alloc:
                blocks[event.address] = event.size
                self.live += event.size
                self.calls += 1
                self.total += event.size
            else:
                self.live -= blocks.pop(event.address, 0)
            self.peak = max(self.peak, self.live)
        if not begun:
            self.begin(blocks)
        self.blocks = len(blocks)

    def assert_is(self, report):
        assert [report[field] for field in ("calls", "total_bytes", "peak_bytes", "leaked_blocks", "leaked_bytes")] == \
            [self.calls, self.total, self.peak, self.blocks, self.live]

    def begin(self, blocks):
        """What is live then is the beginning."""
        self.at_begin = len(blocks)
        self.calls = len(blocks)
        self.total = self.peak = self.live


@pytest.mark.parametrize("bounds", [(0.3, 0.7), (0, 0.5), (0.5, None), (0.9, None), (0, 0.1)])
def test_part(bounds, record, compile_sample, tool, strip):
    recorded = record([compile_sample("hand_over", "gcc", "-O1"), "3000", "4"], check=False)
    duration = recorded.report_json["duration_s"]
    begin, end = int(bounds[0] * duration * 1e9), bounds[1] and int(bounds[1] * duration * 1e9)
    options = (["--from", f"{begin}ns"] if begin else []) + (["--to", f"{end}ns"] if end else [])
    # The reader's seconds are floating numbers, ticks are finer than nanoseconds.
    part = Part(recorded.path, (begin + 0.999) / 1e9 if begin else -1, (end + 0.999) / 1e9 if end else 1e9)
    for more in ([], ["--threshold", "0"]):
        out = strip(recorded.path, *options, *more)
        report = tool.report(out)
        part.assert_is(report)
        assert report["duration_s"] == pytest.approx((bounds[1] or 1) * duration - begin / 1e9, abs=2e-5)
        info = tool.info(out)
        assert info["end_reason"] == ("cut" if end else "exit") and info["complete"]
        text = tool("report", out).stdout
        assert ("a part: the program went on" in text) == bool(end)
        assert ("not freed by then" in text) == bool(end)
        # What was live at its start is in it, from its start on.
        at_start = tool("report", "--json", f"{out}@0s").stdout
        if begin:
            assert f'"live_blocks":{part.at_begin}' in re.sub(r"\s", "", at_start) or \
                f'"peak_blocks":{part.at_begin}' in re.sub(r"\s", "", at_start)
    tool("finish", out)
    assert tool.report(out)["calls"] == part.calls


def test_moments(record, compile_sample, tool, strip):
    """Marks, percentages and the peak name moments, as behind RECORDING@."""
    recorded = record([compile_sample("marks")], check=False)
    whole = tool.report(recorded.path)
    assert tool.report(strip(recorded.path, "--to", "peak"))["peak_bytes"] == whole["peak_bytes"]
    assert tool.report(strip(recorded.path, "--from", "10%", "--to", "end"))["leaked_bytes"] == whole["leaked_bytes"]
    for options in (["--from", "nonesuch"], ["--from", "9h"], ["--from", "90%", "--to", "10%"]):
        refused = tool("strip", recorded.path, "-o", recorded.folder / "out", *options, check=False)
        assert refused.returncode == 1 and len(refused.stderr.splitlines()) == 1 and options[0] in refused.stderr
        assert not (recorded.folder / "out").exists()


def all_bytes(path):
    """Everything in a file, also what is compressed."""
    data = path.read_bytes()
    recording = mallow_reader.Recording(data)
    texts = [data]
    for chunk in recording.chunks:
        payload = chunk.payload(data)
        if chunk.kind != mallow_reader.EVENTS and payload[:1] == b"\1":
            texts.append(mallow_reader.unzstd(payload[1:]))
    return b"".join(texts)


@pytest.mark.parametrize("full", [False, True])
def test_anonymous(full, record, compile_sample, tool, strip):
    program = compile_sample("hand_over", "gcc", "-O1")
    recorded = record([program, "1000", "4", "the-argument"], check=False, settings={"RECORD_ENV": "1"},
                      env={"THE_VARIABLE": "the-value"})
    whole = recorded.report_json
    secrets = [b"the-argument", b"the-value", os.uname().nodename.encode(), str(program.parent).encode(),
               b"/usr/lib", b"/lib/", os.getcwd().encode(), b"tests/samples/"]
    before = all_bytes(recorded.path)
    assert all(secret in before for secret in (secrets[0], secrets[1], secrets[3]))
    outs = [strip(recorded.path, f"--anonymous{'=full' * full}", "--threshold", threshold) for threshold in ("1h", "0")]
    for out in outs:
        there = all_bytes(out)
        # A short name of the host may stand in compressed bytes by chance; info has it, or not.
        assert [secret for secret in secrets if len(secret) > 4 and secret in there] == []
        report, info = tool.report(out), tool.info(out)
        assert info["program"] == "hand_over" and info["finished"]
        assert info["arguments"] == [] and not info["host"] and not info["directory"] and not info["environment"]
        assert [report[field] for field in SUMS] == [whole[field] for field in SUMS]
        ours = {frame["function"] for site in report["sites"] for frame in site["stack"]}
        theirs = {frame["function"] for site in whole["sites"] for frame in site["stack"]}
        if full:
            assert b"produce" not in there and not ours & {"produce", "main"}
            assert all(re.fullmatch(r"f_[0-9a-f]{16}|\[.*", function) for function in ours)
            assert len(ours) == len(theirs)
        else:
            assert ours == theirs
    # The same function has the same hash in another recording.
    if full:
        other = record([compile_sample("totals", "gcc", "-O1")], check=False)
        functions = [{frame["function"] for site in tool.report(path)["sites"] for frame in site["stack"]}
                     for path in (outs[0], strip(other.path, "--anonymous=full"))]
        assert functions[0] & functions[1]


def test_other_recordings(record, compile_sample, tool, strip, tmp_path):
    """A sample and one with CULL are refused in one line, unless all of their blocks stay."""
    program = compile_sample("hand_over", "gcc", "-O1")
    for settings, why in (({"SAMPLE": "64"}, "is a sample"), ({"CULL": "1h"}, "was recorded with --cull")):
        path = record([program, "500", "2"], check=False, settings=settings).path
        refused = tool("strip", path, "-o", tmp_path / "out", check=False)
        assert refused.returncode == 1 and why in refused.stderr and len(refused.stderr.splitlines()) == 1
        assert not (tmp_path / "out").exists()
        out = strip(path, "--threshold", "0", "--anonymous", sound="SAMPLE" not in settings)
        assert rows(tool.report(out)).keys() and tool.report(out)["calls"] == tool.report(path)["calls"]
        assert tool.info(out)["stripped"] is False
    out = strip(record([program, "500", "2"], check=False).path)
    refused = tool("strip", out, "-o", tmp_path / "out", "--to", "50%", check=False)
    assert refused.returncode == 1 and "is stripped" in refused.stderr


def test_refused(tool, tmp_path):
    text, empty, core = tmp_path / "text", tmp_path / "empty", tmp_path / "core"
    text.write_text("no recording\n")
    empty.write_bytes(b"")
    core.write_bytes(b"\x7fELF\2\1\1" + bytes(9) + b"\4\0\x3e\0" + bytes(44))
    for path in (text, empty, core, tmp_path, tmp_path / "missing"):
        refused = tool("strip", path, "-o", tmp_path / "out", check=False)
        assert refused.returncode == 1 and len(refused.stderr.splitlines()) == 1, refused.stderr
        assert not (tmp_path / "out").exists()
    path = tmp_path / "story.mallow"
    path.write_bytes(Story(1).image(steps=50))
    before = path.read_bytes()
    for words in ([path], [path, "-o", "-"], [path, "-o", path], [path, path, "-o", text], [path, "-o", text, "--threshold", "x"],
                  [path, "-o", text, "--anonymous=no"], [f"{path}@1s", "-o", text], [path, "-o", text, "--from", "1x"]):
        assert tool("strip", *words, check=False).returncode
    (tmp_path / "link").symlink_to(path)
    assert tool("strip", path, "-o", tmp_path / "link", check=False).returncode
    assert path.read_bytes() == before and text.read_text() == "no recording\n"


def test_live_table(tool, tmp_path):
    golden = TOP / "tests/golden/recordings"
    for packed in golden.glob("*-live.mallow.gz"):
        path = tmp_path / packed.stem
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        refused = tool("strip", path, "-o", tmp_path / "out", check=False)
        assert refused.returncode == 1 and "live table" in refused.stderr and len(refused.stderr.splitlines()) == 1


def test_damage_stays_known(tmp_path, tool, strip):
    """A recording that is cut, or damaged, gives one with gaps, and never another error."""
    path, whole = tmp_path / "story.mallow", Story(3).image(steps=400)
    cuts = list(boundaries(whole))[:40:4] + [len(whole) * part // 9 for part in range(2, 9)]
    for cut in cuts:
        data = bytearray(whole[:max(cut, 4096)])
        path.write_bytes(data)
        out = strip(path, sound=False)
        assert tool.report(out)["calls"] == tool.report(path)["calls"]
    for place in range(4096 + 70, len(whole), len(whole) // 12):
        data = bytearray(whole)
        data[place] ^= 0x55
        path.write_bytes(data)
        before, out = tool.info(path), strip(path, sound=False)
        assert tool.report(out)["calls"] == tool.report(path)["calls"]
        after = tool.info(out)
        assert not after["damaged_chunks"]
        assert bool(after["missing_chunks"]) == bool(before["damaged_chunks"] or before["missing_chunks"]), place


def test_running(compile_sample, preload, tool, tmp_path):
    """What is there now: a part that ends now. It can be finished, although the program goes on."""
    path, out = tmp_path / "running.mallow", tmp_path / "out.mallow"
    process, pipe = start_steady(str(compile_sample("steady", "gcc", "-O2")), 2, preload(OUTPUT=path))
    try:
        done = 0
        while done < 20000:
            data = os.read(pipe, 65536)
            assert data
            done += len(data)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert "the program still runs" in tool("strip", path, "-o", out).stdout
        report, whole = tool.report(out), tool.report(path)
        assert [report[field] for field in EXACT] == [whole[field] for field in EXACT] and report["calls"] >= done
        info = tool.info(out)
        assert info["end_reason"] == "cut" and not info["writing"]
        assert "finished" in tool("finish", out).stdout
    finally:
        process.kill()
        process.wait()
        os.close(pipe)


@pytest.mark.parametrize("allocations", [300_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_memory_is_bounded(allocations, mallow, tmp_path):
    """A bit for each block and event: 100 million events fit into 256 MB with room to spare."""
    path, out = tmp_path / "large.mallow", tmp_path / "out.mallow"
    subprocess.run([Place().program("make_recording"), path, str(allocations), "2000", "4"], check=True)
    limit = (256 << 20) + allocations
    subprocess.run([mallow, "strip", path, "-o", out], env=clean_environment(), stdout=subprocess.DEVNULL, check=True,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert out.stat().st_size < path.stat().st_size / 2
