"""CULL: blocks that lived short are counted for their sites, and are no events."""
import collections
import signal

import pytest

import expect
import mallow_sums
from conftest import names_of_stack, need
from mallow_reader import Alloc, Free
from recording_writer import ChunkWriter
from samples import assert_own_files_untouched, limit_descriptors
from stories import image_of, odd_chunks

SUMS = ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "temporary")
# All blocks that are freed are young by then; or whatever the machine's load makes of it.
CULLS = ["1h", "1ms"]
SAMPLES = ["culled", "c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain",
           "hand_over", "alone_and_together", "deep", "life_cycle", "thread_local", "exceptions"]
INNER = ["longjmp", "signal_handler", "fiber"]
REALLOCS = (18, 19)


def sites_of(report):
    """{frames by name: sums}, of runs of one program wherever it was loaded."""
    sites = collections.defaultdict(collections.Counter)
    for site in report["sites"]:
        stack = tuple((frame["function"], frame["line"]) for frame in site["stack"])
        sites[stack].update({field: site[field] for field in SUMS})
    return {stack: dict(sums) for stack, sums in sites.items()}


def assert_same_sites(cut, whole):
    ours, theirs = sites_of(cut.report_json), sites_of(whole.report_json)
    assert ours.keys() == theirs.keys()
    for stack, sums in theirs.items():
        assert ours[stack] == sums, stack


def without_events(wanted):
    """What a sample states, but for what only events can tell."""
    return {function: {field: value for field, value in fields.items() if field in SUMS}
            for function, fields in wanted.items()}


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("culled", "gcc", "-O1")


@pytest.mark.parametrize("cull", CULLS)
@pytest.mark.parametrize("pause", ["0", "30"])
def test_sites_are_those_of_all_events(cull, pause, program, record, tool):
    whole = record([program, pause])
    cut = record([program, pause], settings={"CULL": cull})
    cut.assert_sound()
    tool.assert_equal_sums(cut.path, cut.sums)
    assert_same_sites(cut, whole)
    assert cut.path.stat().st_size < whole.path.stat().st_size


@pytest.mark.parametrize("cull", CULLS)
@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name, cull, compile_sample, record, functions_of):
    recorded = record([compile_sample(name, "gcc", "-O2")], check=False, settings={"CULL": cull})
    assert recorded.stderr == ""
    recorded.assert_sound()
    wanted = without_events(expect.expectations(name, "GLIBC"))
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.implicit_frees == 0
    report = recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    expect.check_report(wanted, report)


@pytest.mark.parametrize("cull", CULLS)
@pytest.mark.parametrize("name", INNER)
def test_inside_the_allocator(name, cull, compile_sample, inner_allocator, record, functions_of):
    program = compile_sample(name, "gcc", "-O2", inner_allocator)
    recorded = record([program], check=False, settings={"CULL": cull})
    wanted = without_events(expect.expectations(name))
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    losses = recorded.reader.header.losses
    assert sum(losses.values()) == losses["interrupted"], losses
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_survivors_are_the_blocks_never_freed(program, record, functions_of):
    """With stacks, sizes and times as events have them, and nothing else is one."""
    whole, cut = (record([program], settings=settings) for settings in ({}, {"CULL": "1h"}))
    live, moved = {}, {}  # address -> what is live there, and the blocks that reallocs made it of
    for event in whole.reader.events:
        if isinstance(event, Free):
            moved[event.address] = live.pop(event.address, [])
        else:
            live[event.address] = [*(moved[event.old] if event.old is not None else []), event]
    allocated = [event for event in cut.reader.events if isinstance(event, Alloc)]
    assert all(event.op in REALLOCS for event in cut.reader.events if isinstance(event, Free))

    def told(recorded, events):
        return collections.Counter(
            (tuple(names_of_stack(recorded.reader, recorded.reader.stack(event.node),
                                         functions_of)), event.size, event.usable, event.alignment)
            for event in events)

    assert told(cut, allocated) == told(whole, [event for chain in live.values() for event in chain])
    streams = collections.Counter(event.thread for event in allocated)
    streams.subtract(event.thread for event in cut.reader.events if isinstance(event, Free))
    assert [streams[number] for number in (1, 2, 3, 4)] == [5 + 10 + 1] * 4
    recording = cut.reader
    threads = {stream.number: stream for stream in recording.threads.values()}
    for event in recording.events:
        assert event.thread in threads
        assert recording.header.ticks <= event.time <= recording.end_ticks
    info = cut.info_json
    assert info["cull_s"] == 3600
    assert info["culled_allocations"] == sum(sums.calls for sums in recording.culled)
    assert info["culled_allocations"] + len(allocated) == cut.report_json["calls"]


def test_old_blocks_are_events(compile_sample, record, functions_of):
    """What was there during the pause is written with its own time, and its free, too."""
    program = compile_sample("culled", "gcc", "-O1")
    recorded = record([program, "200"], settings={"CULL": "100ms"})
    reader = recorded.reader
    born, lives = {}, []
    for event in reader.events:
        if isinstance(event, Alloc):
            names = names_of_stack(reader, reader.stack(event.node), functions_of)
            if "lasting" in names:
                born[event.address] = event
        elif event.address in born:
            lives.append(reader.seconds(event.time) - reader.seconds(born.pop(event.address).time))
    assert len(lives) == 20 and min(lives) >= 0.2
    assert len(born) == 20


def test_finished(program, record, tool):
    recorded = record([program], settings={"CULL": "1h"})
    before, info = recorded.report_json, tool.info(recorded.path)
    tool("finish", "--compress", "always", recorded.path)
    assert sites_of(tool.report(recorded.path)) == sites_of(before)
    after = tool.info(recorded.path)
    for field in ("cull_s", "culled_allocations", "culled_bytes", "events", "allocations"):
        assert after[field] == info[field], field


def test_dump(program, record, tool):
    recorded = record([program], settings={"CULL": "1h"})
    dump = tool("trace", "dump", recorded.path).stdout
    lines = [line.split(" ", 2)[2] for line in dump.splitlines() if not line.startswith("#")]
    kinds = collections.Counter(line.split(" ")[0] for line in lines)
    assert kinds["survivor"] == len([event for event in recorded.reader.events
                                     if isinstance(event, Alloc)])
    assert kinds["culled"] == len(recorded.reader.culled)
    assert kinds["stack-definition"] >= len({sums.node for sums in recorded.reader.culled})
    assert any(line.startswith("survivor aligned_alloc") and "alignment=64" in line for line in lines)


def test_not_with_samples(program, record):
    recorded = record([program], settings={"CULL": "1h", "SAMPLE": "64K"})
    assert recorded.stderr == "mallow: MALLOW_CULL is ignored, because MALLOW_SAMPLE is set\n"
    assert recorded.reader.header.cull_ns == 0 and recorded.reader.header.sample_mean == 65536


def assert_kept(recorded, functions_of, count=150):
    """All blocks that are there to the end, whoever made them, with the right stacks and threads."""
    sums = recorded.sums
    found = expect.by_function(sums, functions_of)["kept"]
    assert (found.calls, found.leaked_blocks, found.total_bytes) == (count, count, 100 * count)
    assert found.threads == 3
    recorded.tool.assert_equal_sums(recorded.path, sums)


@pytest.mark.parametrize("slots", ["shared", "private"])
@pytest.mark.parametrize("how", ["exit", "_exit", "quick_exit", "exec", "failed exec", "stopped"])
def test_ends(how, slots, compile_sample, record, functions_of):
    """What is held back then is written, whichever thread's it is."""
    recorded = record([compile_sample("culled_ends", "gcc", "-O1"), how], check=False,
                      settings={"CULL": "1h", "SLOTS": slots})
    assert recorded.returncode == 7 and recorded.stderr == ""
    recorded.assert_sound()
    assert_kept(recorded, functions_of)
    churned = expect.by_function(recorded.sums, functions_of)["churn"]
    assert (churned.calls, churned.leaked_blocks, churned.temporary) == (1000, 0, 1000)


def test_exit_in_a_handler(compile_sample, record, functions_of):
    """It may have interrupted the agent in the middle of a record."""
    streams = set()
    for _ in range(8):
        recorded = record([compile_sample("culled_ends", "gcc", "-O1"), "handler"], check=False,
                          settings={"CULL": "1h"})
        assert recorded.returncode == 7 and recorded.stderr == ""
        assert recorded.reader.header.lost == 0
        assert_kept(recorded, functions_of)
        churned = expect.by_function(recorded.sums, functions_of)["churn"]
        assert churned.calls > 1000 and churned.leaked_blocks <= 1
        streams.add(len(recorded.reader.threads))
    assert streams <= {3, 4}


def test_killed(compile_sample, record, functions_of, tool):
    """Old blocks are there, those of a thread that sleeps and of one that has ended, too."""
    recorded = record([compile_sample("culled_ends", "gcc", "-O1"), "killed"], check=False,
                      settings={"CULL": "100ms"})
    assert recorded.returncode == -signal.SIGKILL
    # Not the newest of the thread that sleeps, nor that of main, which has just been made.
    assert_kept(recorded, functions_of, 148)
    assert "blocks younger than 100 ms" in tool("info", recorded.path).stdout
    assert "blocks younger than 100 ms" in tool("report", recorded.path).stdout


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_sync(slots, compile_sample, record, functions_of):
    recorded = record([compile_sample("culled_ends", "gcc", "-O1"), "synced"], check=False,
                      settings={"CULL": "1h", "SLOTS": slots})
    assert recorded.returncode == -signal.SIGKILL
    assert_kept(recorded, functions_of)
    assert expect.by_function(recorded.sums, functions_of)["churn"].calls == 1000


def test_exec_chain(compile_sample, record, functions_of):
    """Each image begins with nothing held back, and leaves nothing behind."""
    recorded = record([compile_sample("exec_chain", "gcc", "-O1"), 3], check=False,
                      settings={"CULL": "1h"})
    assert recorded.stdout == "ok\n"
    calls = [expect.by_function(mallow_sums.Sums(reader), functions_of)["image"].calls
             for reader in recorded.readers]
    assert sorted(calls) == [0, 1, 2, 3]


@pytest.mark.parametrize("cull", CULLS)
def test_fork(cull, compile_sample, record, functions_of):
    """Children begin with nothing held back: what they inherited and free is not theirs."""
    recorded = record([compile_sample("fork_threads", "gcc", "-O2")], check=False,
                      settings={"CULL": cull})
    assert recorded.returncode == 7, recorded.stderr
    readers = sorted(recorded.readers, key=lambda reader: reader.header.begun_by_fork)
    for reader, kind in zip(readers, [None] + ["CHILD"] * 5, strict=True):
        wanted = expect.expectations("fork_threads", *(["CHILD", "ONLY"] if kind else []))
        found = expect.by_function(mallow_sums.Sums(reader), functions_of)
        expect.check(without_events(wanted), found)


@pytest.mark.parametrize("cull", CULLS)
def test_switched(cull, compile_sample, record, functions_of, tool):
    """Off and on again: the sums are those of what was on."""
    recorded = record([compile_sample("switched", "gcc", "-O2")], check=False,
                      settings={"CULL": cull})
    assert recorded.stdout == "ok\n"
    recorded.assert_sound()
    expect.check(expect.expectations("switched"), expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.unknown_frees == recorded.sums.implicit_frees == 0
    tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("cull", CULLS)
def test_storm_of_switches(cull, compile_sample, record):
    """Threads allocate while others, and a signal, switch: what was culled adds up, too."""
    recorded = record([compile_sample("switch_storm", "gcc", "-O2"), 100, 30], check=False,
                      settings={"CULL": cull, "SIGNAL_TOGGLE": "USR1"})
    assert recorded.returncode == 7, recorded.stderr
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0
        assert reader.dangling() == ([], []) and reader.header.lost == 0
        sums = mallow_sums.Sums(reader)
        culled = sum(amount.calls for amount in reader.culled)
        assert sums.calls - culled == sums.frees + sums.implicit_frees + sums.leaked_blocks
        assert sums.unknown_frees + sums.implicit_frees == 0


def test_more_than_is_held_back(compile_sample, record):
    """What finds no room is an event, and counted once; there is room again afterwards."""
    recorded = record([compile_sample("culled_many", "gcc", "-O1")], settings={"CULL": "1h"})
    wanted = expect.expectations("culled_many")
    expect.check_report(wanted, recorded.report_json)
    info = recorded.info_json
    assert 600000 - 2 ** 19 <= info["frees"] <= 100000
    assert info["unknown_frees"] == info["implicit_frees"] == info["lost"] == 0
    assert info["culled_allocations"] == 601000 - info["frees"]
    assert recorded.report_json["leaked_blocks"] == 0


@pytest.mark.parametrize("cull", CULLS)
@pytest.mark.parametrize("settings", [{"BACKTRACE": "none"}, {"FREE_STACKS": 1}, {"DEPTH": 3},
                                      {"UNWINDER": "plain"}, {"SLOTS": "private"}])
def test_with_other_settings(settings, cull, program, record, tool):
    whole = record([program, 5], settings=settings)
    cut = record([program, 5], settings={"CULL": cull, **settings})
    cut.assert_sound()
    tool.assert_equal_sums(cut.path, cut.sums)
    assert_same_sites(cut, whole)


def test_deep_stacks(compile_sample, record, functions_of):
    """A stack that takes several records to define, of survivors and of culled blocks."""
    recorded = record([compile_sample("deep", "gcc", "-O0")], check=False, settings={"CULL": "1h"})
    wanted = expect.expectations("deep")
    expect.check(without_events(wanted), expect.by_function(recorded.sums, functions_of))
    depth = max(len(stack) for stack in recorded.sums.sites)
    assert depth >= max(fields.get("depth", 0) for fields in wanted.values()) > 1000
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_tags(compile_sample, record):
    """A block carries the tag that its thread had when it was made."""
    recorded = record([compile_sample("culled_tags", "gcc", "-O1")],
                      settings={"CULL": "1h"})
    reader = recorded.reader
    assert {event.size: event.tag for event in reader.events if 1000 < event.size < 1100} == \
        {1001: 0, 1002: 7, 1003: 0}


@pytest.mark.parametrize("name", ["c_family", "realloc_chain", "hand_over", "life_cycle"])
def test_musl(name, compile_sample, record, functions_of):
    recorded = record([compile_sample(name, "musl", "-O2")], check=False, settings={"CULL": "1h"})
    wanted = without_events(expect.expectations(name))
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_perl(record, tool):
    """A real program, whose allocations are the same each time."""
    need("perl")
    script = 'my %h; $h{$_ % 500} .= "x" x ($_ % 40) for 1 .. 20000; print scalar(keys %h), "\\n"'
    runs = [record(["perl", "-e", script], env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"},
                   settings={"CULL": cull})
            for cull in ("0ms", "60m", "2ms")]  # of one length: perl copies its environment
    whole = runs[0].report_json
    for cut in runs[1:]:
        assert cut.stdout == "500\n"
        cut.assert_sound()
        tool.assert_equal_sums(cut.path, cut.sums)
        for field in ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "temporary"):
            assert cut.report_json[field] == whole[field], field
        assert_same_sites(cut, runs[0])


def test_order_of_survivors(tool, tmp_path):
    path = tmp_path / "odd.mallow"
    path.write_bytes(image_of(*odd_chunks()))
    report = tool.assert_equal_sums(path)
    assert report["calls"] == 6 + 14 and report["temporary"] == 9
    assert report["leaked_blocks"] == 3 and report["leaked_bytes"] == 300 + 400 + 500
    info = tool.info(path)
    assert (info["culled_allocations"], info["unknown_frees"], info["implicit_frees"]) == (14, 0, 0)
    assert (info["events"], info["threads"]) == (9, 2)
    tool("finish", "--compress", "always", path)
    assert tool.info(path)["culled_allocations"] == 14
    assert tool.report(path)["temporary"] == 9


def test_chunks_of_definitions_are_lost(tool, tmp_path):
    """Stacks that nothing defines are lost frames; their sums still count."""
    path = tmp_path / "lost.mallow"
    path.write_bytes(image_of(odd_chunks()[0]))
    report = tool.assert_equal_sums(path)
    assert report["calls"] == 3 + 3 and report["temporary"] == 4


@pytest.mark.parametrize("body", [
    b"\x02\x01\x00\x00", b"\x02\x01\x00\x80",  # frames of stacks that end too early
    b"\x02\x01", b"\xff" * 10])
def test_damaged_stack(body, tool, tmp_path):
    chunk = ChunkWriter(1, 0, 1000)
    chunk.allocate(1, 1001, 0x1000, 10)
    chunk.other(0xA8, text=body)
    chunk.allocate(1, 1002, 0x2000, 10)
    path = tmp_path / "damaged.mallow"
    path.write_bytes(image_of(chunk))
    assert tool.assert_equal_sums(path)["calls"] == 1
    assert tool.info(path)["damaged_chunks"] == 1


@pytest.mark.parametrize("operation", [0, 18, 20, 31])
def test_survivors_are_allocations(operation, tool, tmp_path):
    chunk = ChunkWriter(1, 0, 1000)
    chunk.other(0xA9, 0, 1, 1, 0, operation, 0x1000, 10, 0, 0)
    chunk.allocate(1, 1002, 0x2000, 10)
    path = tmp_path / "damaged.mallow"
    path.write_bytes(image_of(chunk))
    assert tool.assert_equal_sums(path)["calls"] == 0


def test_chain_of_reallocs(compile_sample, record, functions_of):
    """It counts as one life: once that is long, its blocks are events, with the frees in between."""
    recorded = record([compile_sample("culled_chain", "gcc", "-O1")], settings={"CULL": "100ms"})
    recorded.assert_sound()
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    expect.check(expect.expectations("culled_chain"), expect.by_function(recorded.sums, functions_of))
    reallocs = [event for event in recorded.reader.events
                if isinstance(event, Alloc) and event.old is not None]
    assert 31 - 12 <= len(reallocs) <= 30
    assert recorded.sums.unknown_frees == 0


def assert_lives(recorded, cull_ns, settled_ns):
    """What a run of culled_lives says of its blocks: those of a chain that lived longer than CULL, or
    still do, are events, each once; those of one that lived much shorter are not."""
    recorded.assert_sound()
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert recorded.sums.unknown_frees == recorded.sums.implicit_frees == 0
    events = collections.defaultdict(list)
    for event in recorded.reader.events:
        if isinstance(event, Alloc):
            events[event.size].append(event)
    culled = 0
    for line in recorded.stdout.splitlines():
        start, least, most, *sizes = map(int, line.split())
        found = [events[size] for size in sizes]
        if not most or least > cull_ns * 1.001:
            assert [len(of_size) for of_size in found] == [1] * len(sizes), line
            assert found[0][0].old is None
            for (before,), (after,) in zip(found, found[1:]):
                assert after.old == before.address and after.time > before.time
        elif most < cull_ns / 4 and start > settled_ns:
            assert not any(found), line
            culled += len(sizes)
    return culled


def test_quiet_program(compile_sample, record):
    """The first blocks of a program that allocates nothing for a while, and a chain that lives on."""
    recorded = record([compile_sample("culled_lives", "gcc", "-O1"), "quiet"],
                      settings={"CULL": "1ms"})
    assert len(recorded.stdout.splitlines()) == 11
    assert_lives(recorded, 1_000_000, 0)


@pytest.mark.parametrize("seed", [1, 2, 3, *(pytest.param(seed, marks=pytest.mark.long)
                                              for seed in range(4, 60))])
def test_random_lives(seed, compile_sample, record):
    recorded = record([compile_sample("culled_lives", "gcc", "-O1"), seed], settings={"CULL": "2ms"})
    assert assert_lives(recorded, 2_000_000, 50_000_000) > 0


def test_long_chain(compile_sample, record, functions_of):
    """More reallocs of one block than are held back: it is written, with all of them."""
    recorded = record([compile_sample("realloc_chain", "gcc", "-O1", ["-DSTEPS=5000"])], check=False,
                      settings={"CULL": "1h"})
    assert recorded.returncode == 7
    recorded.assert_sound()
    found = expect.by_function(recorded.sums, functions_of)["grow"]
    assert (found.calls, found.leaked_blocks) == (5000, 1)
    allocated = [event for event in recorded.reader.events if isinstance(event, Alloc)]
    assert len([event for event in allocated if event.old is not None]) == 4999
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("cull", [*CULLS, "10ms"])
def test_realloc_races(cull, compile_sample, record, functions_of):
    """Threads realloc and free each other's blocks, addresses are handed on at once."""
    recorded = record([compile_sample("realloc_races", "gcc", "-O1")], check=False,
                      settings={"CULL": cull})
    assert recorded.returncode == 7, recorded.stderr
    recorded.assert_sound()
    wanted = without_events(expect.expectations("realloc_races"))
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.unknown_frees == 0
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_times_of_what_another_thread_writes(compile_sample, record, functions_of):
    """Each free is later than its block, and the next block at that address later than the free."""
    recorded = record([compile_sample("culled_synced", "gcc", "-O1")], settings={"CULL": "1h"})
    recorded.assert_sound()
    expect.check(expect.expectations("culled_synced"), expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.unknown_frees == recorded.sums.implicit_frees == 0
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("way", ["raw_close", "raw_close_range"])
def test_number_of_a_lost_descriptor(way, compile_sample, record, tmp_path):
    """The program closes all descriptors, and gets ours for a file, which it can close again."""
    files = tmp_path / "files"
    files.mkdir()
    recorded = record([compile_sample("close_all", "gcc", "-O2"), way, files], check=False,
                      settings={"CULL": "1h"}, preexec_fn=limit_descriptors)
    assert recorded.returncode == 7, recorded.stderr
    recorded.assert_sound()
    assert_own_files_untouched(files)


def test_wrong_frees_may_be_culled(compile_sample, record, tool):
    recorded = record([compile_sample("wrong_frees", "gcc", "-O1")], check=False,
                      settings={"CULL": "1h"})
    assert "were culled" in tool("report", "--errors", recorded.path).stdout
