"""CULL: blocks that lived short are counted for their sites, and are no events."""
import collections
import itertools
import os
import signal
import subprocess

import pytest

import expect
from mallow_reader import Alloc, Free

SUMS = ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "temporary")
# All blocks that are freed are young by then; or whatever the machine's load makes of it.
CULLS = ["1h", "1ms"]
SAMPLES = ["culled", "c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain",
           "hand_over", "alone_and_together", "deep", "life_cycle", "thread_local", "exceptions"]
INNER = ["longjmp", "signal_handler", "fiber"]


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
def test_inside_the_allocator(name, cull, compile_sample, record, functions_of):
    inner = compile_sample("inner_allocator", "gcc", "-O1", ["-fno-builtin", "-shared", "-fPIC"])
    program = compile_sample(name, "gcc", "-O2", [inner, f"-Wl,-rpath,{inner.parent}"])
    recorded = record([program], check=False, settings={"CULL": cull})
    wanted = without_events(expect.expectations(name))
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    losses = recorded.reader.header.losses
    assert sum(losses.values()) == losses["interrupted"], losses
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_survivors_are_the_blocks_never_freed(program, record, functions_of):
    """With stacks, sizes and times as events have them, and nothing else is one."""
    whole, cut = (record([program], settings=settings) for settings in ({}, {"CULL": "1h"}))
    live = {}
    for event in whole.reader.events:
        if isinstance(event, Free):
            live.pop(event.address, None)
        else:
            live[event.address] = event
    assert not [event for event in cut.reader.events if isinstance(event, Free)]

    def told(recorded, events):
        return collections.Counter(
            (tuple(expect.names_of_stack(recorded.reader, recorded.reader.stack(event.node),
                                         functions_of)), event.size, event.usable, event.alignment)
            for event in events)

    assert told(cut, cut.reader.events) == told(whole, live.values())
    streams = collections.Counter(event.stream for event in cut.reader.events)
    assert [streams[number] for number in (1, 2, 3, 4)] == [5 + 10 + 1] * 4
    recording = cut.reader
    threads = {stream.number: stream for stream in recording.streams.values()}
    for event in recording.events:
        assert event.stream in threads
        assert recording.header.ticks <= event.time <= recording.end_ticks
    info = cut.info_json
    assert info["cull_s"] == 3600
    assert info["culled_allocations"] == sum(sums.calls for sums in recording.culled)
    assert info["culled_allocations"] + len(cut.reader.events) == cut.report_json["calls"]


def test_old_blocks_are_events(compile_sample, record, functions_of):
    """What was there during the pause is written with its own time, and its free, too."""
    program = compile_sample("culled", "gcc", "-O1")
    recorded = record([program, "200"], settings={"CULL": "100ms"})
    reader = recorded.reader
    born, lives = {}, []
    for event in reader.events:
        if isinstance(event, Alloc):
            names = expect.names_of_stack(reader, reader.stack(event.node), functions_of)
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
    assert kinds["survivor"] == len(recorded.reader.events)
    assert kinds["culled"] == len(recorded.reader.culled)
    assert kinds["stack-definition"] >= len({sums.node for sums in recorded.reader.culled})
    assert any(line.startswith("survivor aligned_alloc") and "alignment=64" in line for line in lines)


def test_not_with_samples(program, record):
    recorded = record([program], settings={"CULL": "1h", "SAMPLE": "64K"})
    assert recorded.stderr == "mallow: MALLOW_CULL is ignored, because MALLOW_SAMPLE is set\n"
    assert recorded.reader.header.cull_ns == 0 and recorded.reader.header.sample_mean == 65536
