"""/summary: the same facts and sums as of `mallow info` and `mallow report`, and of what a filter matches as
the slow filter in Python has them."""
import json

import pytest

import series_reference
from made_live import MadeLive
from queries import Recorded
from servers import example, program, serve, served, without  # noqa: F401

START = ["_start", "main"]
SUMS = ["calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks", "temporary"]


def plain(sums):
    """Without what no reference has a second time."""
    return without(sums, "live_bytes", "peak_time_s")


def test_random_filters(served):
    for made in served.made:
        whole = made.blocks.sums(made.blocks.blocks)
        for conditions in [{}, *made.filters(8)]:
            blocks = made.matching(conditions)
            got = served.json(f"/data/{made.id}/summary", **conditions)
            sums = made.blocks.sums(blocks)
            assert plain(got["matched"]) == {field: sums[field] for field in SUMS}, conditions
            assert plain(got["all"]) == {field: whole[field] for field in SUMS}
            for part, wanted in (got["all"], whole), (got["matched"], sums):
                assert part["live_bytes"] == part["leaked_bytes"]
                assert part["peak_time_s"] == pytest.approx(wanted["peak_time"] / 1e9)
            found, _ = series_reference.peak(made, blocks, 0, made.blocks.run)
            assert without(got["peak"], "backtrace_id") == {
                "at_ns": sums["peak_time"], "bytes": sums["peak_bytes"], "blocks": sums["peak_blocks"],
                "thread": found.tid if found else None}, conditions
            if found:
                frames = served.json(f"/data/{made.id}/backtrace/{got['peak']['backtrace_id']}")
                assert [frame["address"] for frame in frames["frames"]] == [
                    frame["address"] for frame in made.frames(made.blocks.stack(found))]
            else:
                assert got["peak"]["backtrace_id"] is None
            assert got["has_blocks"] == bool(made.blocks.blocks)
            threads = {stream.tid: stream.name for stream in made.reader.threads.values()}
            assert {one["thread"]: one["name"] for one in got["threads"]} == threads
            marks = [fact for fact in made.reader.facts if fact["kind"] == "mark"]
            assert sorted((one["at_ns"], one["name"]) for one in got["marks"]) == sorted(
                (mark["time"] - made.blocks.start, mark["name"]) for mark in marks)


def test_the_facts_are_those_of_the_tool(tool, record, compile_sample, serve):  # noqa: F811
    """Also before a finished recording is opened with its blocks, when its index alone is read."""
    path = record([compile_sample("stands_out", "gcc", "-O1"), "grows"], check=False).path
    tool("finish", path)
    server = serve(path)
    first = server.json("/data/last/summary")
    info = json.loads(tool("info", "--json", "--modules", path).stdout)
    report = json.loads(tool("report", "--json", path).stdout)
    assert first["facts"] == without(info, "modules")
    assert first["modules"] == info["modules"]
    assert first["all"] == first["matched"] == {field: report[field] for field in first["all"]}
    assert first["peak"]["at_ns"] == report["headline"]["peak_ns"]
    assert server.json("/data/last/allocations", count=1)["total_count"] == info["allocations"]
    assert server.json("/data/last/summary") == first
    assert server.json("/data/last/summary", size_min=0) == first


def test_mistakes(example, serve):  # noqa: F811
    server = serve(example)
    assert server.refused("/data/nobody/summary", 404) == "data not found"
    assert server.refused("/data/nobody/summary?size_min=1", 404) == "data not found"
    assert server.refused("/data/last/summary?to=lunch").startswith("to: 'lunch': the recording has no marks")
    assert server.refused("/data/last/summary?sort_by=size").startswith("unknown parameter 'sort_by'")


def test_a_list_of_processes(program, tmp_path, serve):  # noqa: F811
    """Who started whom, and what a viewer orders them by."""
    parent = Recorded(program, id=bytes(15) + b"\1", pid=70)
    parent.allocate(1, 0x1000, 50, ["read_all"])
    parent.free(2, 0x1000)
    parent.allocate(3, 0x1000, 40, ["read_all"])
    child = Recorded(program, id=bytes(15) + b"\2", parent_id=bytes(15) + b"\1", pid=71, parent_pid=70)
    server = serve(parent.write(tmp_path / "a.mallow", 10), child.write(tmp_path / "b.mallow", 10))
    keys = ["pid", "parent", "parent_pid", "kind", "peak", "total", "calls", "finished"]
    assert [[row[key] for key in keys] for row in server.json("/list")] == [
        [70, None, 1, "recording", 50, 90, 2, False],
        [71, "0" * 31 + "1", 70, "recording", 0, 0, 0, False]]


def test_a_live_table(tmp_path, serve, asan_mallow):  # noqa: F811
    """What it does not know is null, or refused by name."""
    made = MadeLive(tmp_path, START)
    number = made.site(START, 40, 4_000, freed=(20, 2_000))
    thread = made.thread("worker", 40, 4_000, tid=123)
    for i in range(20):
        made.small_block(0x5000_0000_0000 + 112 * i, 100, number, thread, i * 1_000_000)
    server = serve(made.write(), path=asan_mallow)
    row, = server.json("/list")
    assert (row["kind"], row["calls"], row["total"], row["final_allocated"]) == ("live", 40, 4_000, 2_000)
    for conditions in {}, {"size_min": 1}:
        got = server.json("/data/last/summary", **conditions)
        assert got["has_blocks"] and got["all"]["calls"] == 40 and got["all"]["live_bytes"] == 2_000
    assert got["matched"]["calls"] == 20 and got["matched"]["live_bytes"] == 2_000
    answer = server.json("/data/last/allocations", sort_by="lifetime")
    assert {(row["chain"], row["entry"], row["tag"]) for row in answer["allocations"]} == {(None, None, 0)}
    group, = server.json("/data/last/allocation_groups")["allocations"]
    assert group["all"]["max_total_usage_first_seen_at"] == group["only_matched"]["max_timestamp"]  # nothing of it was freed
    for path in "sums.csv", "allocations.csv", "maps.csv":
        assert server.text(f"/data/last/export/{path}").count("\r\n") == {"s": 2, "a": 21, "m": 1}[path[0]]
    for condition in ("freed_from=1s", "freed_to=1s", "free_thread=x", "temporary=no", "entry=malloc", "chain=0", "from_map=0",
                      "deallocation_backtraces=0", "group_max_total_usage_first_seen_min=1s"):
        for path in "summary", "allocations", "tree", "export/flamegraph":
            assert server.refused(f"/data/last/{path}?{condition}") == (
                f"{condition.split('=')[0]}: a live table does not know this of its blocks; a recording does")
