"""mallow serve: every endpoint against filter_reference.py and mallow_reader.py on the same
recording, both builds."""
import collections
import gzip
import http.client
import os
import pathlib
import random
import re
import subprocess
import threading
import time
import urllib.parse

import pytest

import pprof_reader
from conftest import need
from servers import (example, large, program, serve, served, stepping,  # noqa: F401
                     timeval, until, without, without_ids)
from queries import NAMES, ROWS, SECOND, Recorded


def test_list(served):
    rows = served.json("/list")
    assert [row["id"] for row in rows] == [made.id for made in served.made]
    for row, made in zip(rows, served.made):
        leaked = [b.event.size for b in made.blocks.blocks if b.freed is None]
        assert row == {
            "id": made.id, "executable": str(made.program.path), "cmdline": "",
            "architecture": "amd64", "final_allocated": sum(leaked),
            "final_allocated_count": len(leaked), "runtime": timeval(made.blocks.run),
            "unique_backtrace_count": len(made.blocks.groups),
            "maximum_backtrace_depth": max(len(stack) for stack in made.blocks.groups),
            "timestamp": made.moment(0), "pid": 4000000, "parent": None, "parent_pid": 1,
            "kind": "recording", "peak": made.blocks.sums(made.blocks.blocks)["peak_bytes"],
            "total": sum(block.event.size for block in made.blocks.blocks),
            "calls": len(made.blocks.blocks), "finished": False, "path": str(made.path)}


BLOCK_KEYS = {"timestamp": lambda b: b.time, "address": lambda b: b.event.address,
              "size": lambda b: b.event.size,
              "lifetime": lambda b: float("inf") if b.freed is None else b.lifetime(),
              "slack": lambda b: b.event.usable - b.event.size}


def test_allocations(served):
    """Each field of each entry, in each order, whole and by pages."""
    for made in served.made:
        for conditions in made.filters(6):
            blocks = made.matching(conditions)
            for key, of in BLOCK_KEYS.items():
                wanted = [made.allocation(block) for block in sorted(blocks, key=of)]
                path = f"/data/{made.id}/allocations"
                got = served.json(path, sort_by=key, order="asc", **conditions)
                assert got["total_count"] == len(blocks)
                assert list(without_ids(got["allocations"])) == wanted, conditions
                reverse = served.json(path, sort_by=key, order="dsc", **conditions)
                assert reverse["allocations"] == got["allocations"][::-1]
                standard = served.json(path, sort_by=key, **conditions)
                assert standard == (got if key in ("timestamp", "address") else reverse)
                skip, count = made.dice.randrange(8), made.dice.randrange(8)
                page = served.json(path, sort_by=key, order="dsc", skip=skip, count=count,
                                   **conditions)
                assert page["allocations"] == reverse["allocations"][skip:skip + count]
                assert page["total_count"] == len(blocks)
                bare = served.json(path, sort_by=key, order="asc", stacks="none", **conditions)
                for row in got["allocations"]:
                    row["backtrace"] = None
                assert bare == got


FREES = """
#include <stdlib.h>
__attribute__((noinline)) static void drop(void *block, int depth)
{
	if (depth)
		drop(block, depth - 1);
	else
		free(block);
	__asm__ volatile("" ::: "memory");
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		drop(realloc(malloc(100 + i), 300), i % 7);
}
"""


def test_where_blocks_were_freed(record, tmp_path, serve):
    """With stacks of frees each free has its own, as the recording's events do."""
    (tmp_path / "frees.c").write_text(FREES)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", tmp_path / "frees", tmp_path / "frees.c"], check=True)
    run = record([tmp_path / "frees"], settings={"FREE_STACKS": 1})
    server = serve(run.path)
    frees = collections.Counter((free.address, tuple(pc - 1 for pc, _ in reversed(run.reader.stack(free.node))))
                                for free in run.reader.events if type(free).__name__ == "Free")
    rows = server.json("/data/last/allocations")["allocations"]
    bare = server.json("/data/last/allocations", stacks="none")["allocations"]
    found = 0
    for row, short in zip(rows, bare, strict=True):
        died = row["deallocation"]
        if died is None or died["backtrace_id"] is None:
            continue
        found += 1
        assert (row["address"], tuple(f["address"] for f in died["backtrace"] if not f["is_inline"])) in frees
        if found < 50:
            assert server.json(f"/data/last/backtrace/{died['backtrace_id']}")["frames"] == died["backtrace"]
        assert short["deallocation"] == {**died, "backtrace": None} and short["backtrace"] is None
    assert found >= 200
    keys = server.json("/data/last/sums", by="site")["keys"][0]
    sites = {row[0]: dict(zip(("name", "file", "line", "call"), row[1:]))
             for row in zip(*(keys[key] for key in ("backtrace_id", "name", "file", "line", "call")))}
    named = server.json("/data/last/allocations", stacks="sites")["allocations"]
    assert named == [{**short, "site": sites[short["backtrace_id"]],
                      **{name: short[name] and {**short[name], "site": row[name]["site"]}
                         for name in ("deallocation", "chain_deallocation")}}
                     for short, row in zip(bare, named, strict=True)]
    frees_named = {row["deallocation"]["site"]["name"] for row in named
                   if row["deallocation"] and row["deallocation"]["backtrace_id"] is not None}
    assert "drop" in frees_named


GROUP_KEYS = ["min_timestamp", "max_timestamp", "interval", "allocated_count", "leaked_count", "size"]


def sort_key(side, key):
    def of(group):
        value = group[side][key]
        return (value["secs"], value["fract_nsecs"]) if isinstance(value, dict) else value
    return of


def test_allocation_groups(served):
    for made in served.made:
        path = f"/data/{made.id}/allocation_groups"
        for conditions in made.filters(4):
            groups = made.groups(conditions)
            for side in ("only_matched", "all"):
                for key in GROUP_KEYS + ["max_total_usage_first_seen_at"] * (side == "all"):
                    wanted = sorted(groups, key=sort_key(side, key))
                    got = served.json(path, sort_by=f"{side}.{key}", order="asc", **conditions)
                    assert got["total_count"] == len(groups)
                    assert list(without_ids(got["allocations"])) == wanted, (conditions, key)
                    reverse = served.json(path, sort_by=f"{side}.{key}", order="dsc", **conditions)
                    assert reverse["allocations"] == got["allocations"][::-1]
                    standard = served.json(path, sort_by=f"{side}.{key}", count=2, **conditions)
                    rows = got if "timestamp" in key or "seen_at" in key else reverse
                    assert standard["allocations"] == rows["allocations"][:2]
            assert served.json(path, **conditions) == served.json(
                path, sort_by="only_matched.min_timestamp", **conditions)


def test_stacks_by_their_ids(served):
    made = served.made[0]
    rows = served.json(f"/data/{made.id}/allocations")["allocations"]
    for row in rows:
        got = served.json(f"/data/{made.id}/backtrace/{row['backtrace_id']}")
        assert set(got) == {"frames", "plumbing"} and got["frames"] == row["backtrace"]
        assert len(got["plumbing"]) == len(got["frames"])
        alike = served.json(f"/data/{made.id}/allocations", backtraces=row["backtrace_id"])
        assert [r for r in rows if r["backtrace"] == row["backtrace"]] == alike["allocations"]
    for bad in ("1000000", "x", "-1", "18446744073709551616"):
        assert served.refused(f"/data/{made.id}/backtrace/{bad}", 404) == "backtrace not found"


def test_raw_allocations(served):
    for made in served.made:
        for conditions in made.filters(3):
            got = served.json(f"/data/{made.id}/raw_allocations", **conditions)
            assert got == [
                {"backtrace": [f"{pc - 1:016X}" for pc, _ in reversed(made.blocks.stack(block))]}
                for block in made.matching(conditions)]


class Node:
    def __init__(self, frame=None):
        self.frame, self.children, self.blocks = frame, {}, []

    def add(self, block, frames):
        self.blocks.append(block)
        if frames:
            key = frames[0]["place"]
            self.children.setdefault(key, Node(frames[0])).add(block, frames[1:])


def source_tree(made, conditions, lines):
    """lines: {(address, is_inline): line}, as the API said."""
    root = Node()
    for block in made.matching(conditions):
        frames = made.frames(made.blocks.stack(block))
        for frame in frames:
            line = lines.get((frame["address"], frame["is_inline"]))
            frame["line"] = line
            frame["place"] = (frame["source"], line) if line else \
                frame["function"] or frame["address"]
        root.add(block, frames)
    return root


def sums_of(node):
    times = [block.time // SECOND for block in node.blocks] or [0]
    return sum(block.event.size for block in node.blocks), len(node.blocks), min(times), max(times)


def human(size):
    if size < 1000:
        return f"{size:7}"
    for unit in ("KB", "MB"):
        size, rest = divmod(size, 1000) if unit == "KB" else divmod(size, 1000)
        if size < 1000:
            return f"{size:3}.{rest:03} {unit}"
    raise AssertionError(size)


def ascii_rows(node, prefix="", last=True, root=True):
    size, count, first, latest = sums_of(node)
    source = "▒" if root else prefix + ("└" if last else "├") + node_name(node.frame)
    yield [human(size), str(count), f"{first:02}s", f"{latest:02}s", source]
    below = prefix if root else prefix + (" " if last else "|")
    children = list(node.children.values())
    for child in children:
        yield from ascii_rows(child, below, child is children[-1], False)


def node_name(frame):
    if frame["function"] is None:
        return frame["address_s"] + (f" [{frame['library']}]" if frame["library"] else "")
    place = f" [{os.path.basename(frame['source'])}:{frame['line']}]" if frame["line"] else ""
    return frame["function"] + place


def ascii_tree(root):
    rows = [["SIZE", "COUNT", "FIRST", "LAST", "SOURCE"], *ascii_rows(root)]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return "".join(" ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]) + "\n"
                   for row in rows) + "\n"


def json_tree(node):
    size, count, first, last = sums_of(node)
    value = node.frame and without(node.frame, "place")
    return {"size": size, "count": count, "first": first, "last": last, "value": value,
            "children": [json_tree(child) for child in node.children.values()]}


def test_trees(served):
    for made in served.made:
        rows = served.json(f"/data/{made.id}/allocations")["allocations"]
        lines = {(frame["address"], frame["is_inline"]): frame["line"]
                 for row in rows for frame in row["backtrace"]}
        for conditions in [{}, *made.filters(5)]:
            query = "?" + urllib.parse.urlencode(conditions)
            root = source_tree(made, conditions, lines)
            assert served.text(f"/data/{made.id}/allocation_ascii_tree{query}") == ascii_tree(root)

            def drop_column(node):
                if node["value"]:
                    assert node["value"].pop("column") is None
                node["children"] = [drop_column(child) for child in node["children"]]
                return node

            got = drop_column(served.json(f"/data/{made.id}/tree{query}"))
            assert got == json_tree(root)


def test_flame_graphs(served):
    for made in served.made:
        for conditions in [{}, *made.filters(5)]:
            query = "?" + urllib.parse.urlencode(conditions)
            wanted = collections.Counter()
            for block in made.matching(conditions):
                words = [f"{f['function'] or '0x' + f['address_s']} [{f['library'] or '???'}]"
                         for f in made.frames(made.blocks.stack(block))]
                wanted[";".join(words) or "[no stack]"] += block.event.size
            wanted = {stack: size for stack, size in wanted.items() if size}
            lines = served.text(f"/data/{made.id}/export/flamegraph.pl{query}").splitlines()
            got = dict(line.rsplit(" ", 1) for line in lines)
            assert len(got) == len(lines)
            assert {stack: int(size) for stack, size in got.items()} == wanted
            svg = served.text(f"/data/{made.id}/export/flamegraph/any-name.svg{query}")
            assert svg == served.text(f"/data/{made.id}/export/flamegraph{query}")
            assert svg.startswith("<?xml") if wanted else svg == ""


def chunks_of(made, blocks):
    return [(b.event.address - 8, b.event.address + b.event.usable) for b in blocks
            if made.glibc and not b.event.flags & 3]


def test_timelines(served):
    for made in served.made:
        start = made.reader.header.realtime
        points, fragmentation, before, xs = [], [], (0, 0), []
        moves = collections.Counter()
        for block in made.blocks.blocks:
            moves[(start + block.time) // SECOND] += 1
            if block.freed is not None:
                moves[(start + block.freed) // SECOND] += 1
        for second in sorted(moves):
            if xs and second - xs[-1] > 1:
                gap = [xs[-1] + 1] + ([second - 1] if second - 1 > xs[-1] + 1 else [])
                for x in gap:
                    xs.append(x)
                    points.append((0, 0, *points[-1][2:6], 0, 0))
                    fragmentation.append(fragmentation[-1])
            born = [b for b in made.blocks.blocks if (start + b.time) // SECOND <= second]
            live = [b for b in born if b.freed is None or (start + b.freed) // SECOND > second]
            now = sum(b.event.size for b in live), len(live)
            leaked = [b.event.size for b in born if b.freed is None]
            xs.append(second)
            came = sum((start + b.time) // SECOND == second for b in born)
            went = sum(b.freed is not None and (start + b.freed) // SECOND == second for b in born)
            points.append((now[0] - before[0], now[1] - before[1], *now, sum(leaked), len(leaked), came, went))
            chunks = chunks_of(made, live)
            room = max((end for _, end in chunks), default=0) - min((s for s, _ in chunks), default=0)
            fragmentation.append(max(0, room - sum(end - first for first, end in chunks)))
            before = now
        names = ["size_delta", "count_delta", "allocated_size", "allocated_count", "leaked_size",
                 "leaked_count", "allocations", "deallocations"]
        assert served.json(f"/data/{made.id}/timeline") == {
            "xs": xs, "xs_unit": "s", **{name: [point[i] for point in points] for i, name in enumerate(names)}}
        assert served.json(f"/data/{made.id}/fragmentation_timeline") == {
            "xs": xs, "xs_unit": "s", "fragmentation": fragmentation}


def test_regions(served):
    for made in served.made:
        everything = chunks_of(made, made.blocks.blocks)
        low = min((first for first, _ in everything), default=0)
        high = max((end for _, end in everything), default=0)
        for conditions in [{}, *made.filters(4)]:
            merged = []
            for first, end in sorted(chunks_of(made, made.matching(conditions))):
                if merged and first <= merged[-1][1]:
                    merged[-1][1] = max(merged[-1][1], end)
                else:
                    merged.append([first, end])
            got = served.json(f"/data/{made.id}/regions", **conditions)
            assert got == {"main_heap_start": low, "main_heap_end": high,
                           "main_heap_start_s": str(low), "main_heap_end_s": str(high),
                           "regions": merged}


PROTECTION = {"is_readable": 1, "is_writable": 2, "is_executable": 4, "is_semaphore": 8}
FLAGS = {"grows_down": 0x100, "grows_up": 0x200, "is_shared": 1, "is_private": 2, "is_fixed": 16,
         "is_anonymous": 32, "is_uninitialized": 0x4000000}


def test_what_was_asked_of_the_system(record, compile_sample, serve):
    run = record([compile_sample("mappings")], check=False)
    server = serve(run.path)
    reader = run.reader
    got = server.json("/data/last/mmaps")["operations"]
    facts = [fact for fact in reader.facts if fact["kind"] in ("mmap", "munmap")]
    assert [next(iter(row)) for row in got] == [fact["kind"] for fact in facts] and facts
    for row, fact in zip(got, facts):
        body = row[fact["kind"]]
        assert [f["address"] for f in body["backtrace"] if not f["is_inline"]] == \
            [pc - 1 for pc, _ in reversed(reader.stack(fact["node"]))]
        assert body["thread"] == reader.threads[fact["thread"]].tid
        assert (body["pointer"], body["length"]) == (fact["address"], fact["length"])
        assert body["pointer_s"] == f"{fact['address']:016d}"
        since = body["timestamp"]["secs"] * SECOND + body["timestamp"]["fract_nsecs"] \
            - reader.header.realtime
        assert since / SECOND == pytest.approx(reader.seconds(fact["time"]), abs=1e-6)
        if fact["kind"] == "mmap":
            assert {key: body[key] for key in PROTECTION} == \
                {key: bool(fact["protection"] & bit) for key, bit in PROTECTION.items()}
            assert {key: body[key] for key in FLAGS} == \
                {key: bool(fact["flags"] & bit) for key, bit in FLAGS.items()}
            assert (body["requested_address"], body["offset"], body["file_descriptor"]) == \
                (fact["requested"], fact["offset"], fact["fd"])
    bare = server.json("/data/last/mmaps", stacks="none")["operations"]
    assert bare == [{kind: {**row[kind], "backtrace": None} for kind in row} for row in got]
    options = server.json("/data/last/mallopts")
    assert [(o["raw_param"], o["param"], o["value"], o["result"]) for o in options] == \
        [(-3, "M_MMAP_THRESHOLD", 1 << 20, 1)]
    assert [f["function"] for f in options[0]["backtrace"]][-2:] == ["main", "tune"]


def test_the_worked_example(example, serve):
    """Percent signs as people write them, not encoded."""
    server = serve(example)
    for conditions, wanted in ROWS:
        query = urllib.parse.urlencode(conditions, safe="%")
        got = server.json(f"/data/last/allocations?{query}")
        addresses = [0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000]
        found = [NAMES[addresses.index(row["address"])] for row in got["allocations"]]
        assert sorted(found) == sorted(wanted.split()), conditions


def test_the_lines_of_the_documentation(example, serve):
    server = serve(example)
    flame = server.text("/data/last/export/flamegraph?lifetime=only_leaked")
    assert flame.startswith("<?xml") and "read_one" in flame and "write_all" not in flame
    tree = server.text("/data/last/allocation_ascii_tree?lifetime=only_leaked")
    assert tree.splitlines()[1].split() == ["232", "4", "02s", "09s", "▒"]
    biggest = server.json("/data/last/allocations?sort_by=size&order=dsc&count=3")
    assert [row["size"] for row in biggest["allocations"]] == [1000, 100, 100]
    groups = server.json("/data/last/allocation_groups?group_allocations_min=2"
                         "&group_leaked_allocations_min=50%&sort_by=all.size&count=3")
    assert [group["only_matched"]["size"] for group in groups["allocations"]] == [200, 48]


def test_template_arguments(record, tmp_path, serve):
    source = tmp_path / "t.cpp"
    source.write_text("#include <cstdlib>\ntemplate <typename T, int N> struct Box {\n"
                      "  __attribute__((noinline)) static void *make() { return malloc(sizeof(T) * N); } };\n"
                      "struct S { char c[8]; __attribute__((noinline)) void *operator<<(int n) { return malloc(n); } };\n"
                      "int main() { S s; return !Box<Box<int, 3>, 7>::make() || !(s << 77); }\n")
    subprocess.run(["g++", "-g", "-fno-builtin", "-o", tmp_path / "t", source], check=True)
    server = serve(record([tmp_path / "t"]).path)
    for strip, wanted in (("false", "Box<Box<int, 3>, 7>::make()"), ("true", "Box<...>::make()")):
        rows = server.json("/data/last/allocations", strip_template_args=strip, function_regex="main")
        names = {frame["function"] for row in rows["allocations"] for frame in row["backtrace"]}
        assert {wanted, "S::operator<<(int)"} <= names
        assert wanted in server.text(
            f"/data/last/allocation_ascii_tree?strip_template_args={strip}")


def test_heaptrack_of_the_tool(record, compile_sample, tool, tmp_path, serve):
    """The same as mallow export writes, whose own tests have its readers; sent in pieces."""
    path = record([compile_sample("culled")]).path
    server = serve(path)
    for conditions in ([], ["--size-min", "40"], ["--lifetime", "only_leaked"]):
        tool("export", "--to", "heaptrack", "-o", tmp_path / "data", *conditions, path)
        query = urllib.parse.urlencode(dict(zip(conditions[::2], conditions[1::2])))
        got = server.text(f"/data/last/export/heaptrack?{query.replace('--', '').replace('-', '_')}")
        assert got == (tmp_path / "data").read_text() and got.startswith("v ")
    assert got == server.text("/data/last/export/heaptrack/any.txt?lifetime=only_leaked")


def test_replay_of_the_tool(record, compile_sample, tool, tmp_path, serve):
    path = record([compile_sample("hand_over"), "2000", "10"], check=False).path
    server = serve(path)
    for conditions, query in (([], ""), (["--size-min", "40"], "?size_min=40")):
        tool("export", "--to", "replay", "-o", tmp_path / "data", *conditions, path)
        for name in ("", "/any.bin"):
            status, _, body = server.request(f"/data/last/export/replay{name}{query}")
            assert status == 200 and body == (tmp_path / "data").read_bytes() and len(body) > 40


def test_profiles_for_pprof(record, compile_sample, tool, tmp_path, serve):
    path = record([compile_sample("totals")]).path
    tool("export", "--to", "pprof", "-o", tmp_path / "data", path)
    server = serve(path)
    for target in ("/debug/pprof/heap", "/debug/pprof/allocs"):
        status, headers, body = server.request(target, Accept_Encoding="gzip")
        assert (status, headers["Content-Encoding"]) == (200, None)  # compressed once
        assert gzip.decompress(body) == gzip.decompress((tmp_path / "data").read_bytes())
    for seconds, text in (("1", "the recording is not being written, so nothing will change"),
                          ("0", "1 to 3600 are possible"), ("3601", "1 to 3600 are possible"),
                          ("x", "'x' is not a whole number")):
        assert server.refused(f"/debug/pprof/heap?seconds={seconds}") == f"invalid 'seconds': {text}"
    go = need("go")
    environment = {**os.environ, "PPROF_TMPDIR": str(tmp_path)}
    run = subprocess.run([go, "tool", "pprof", "-top", f"http://127.0.0.1:{server.port}/debug/pprof/heap"],
                         capture_output=True, text=True, env=environment)
    assert run.returncode == 0 and "Type: inuse_space" in run.stdout, run.stderr


def test_profiles_of_what_changes(stepping, tmp_path, serve):
    """Between two looks at a program that runs; and the server ends although somebody waits."""
    server = serve(stepping.folder)
    stepping.step(3)
    until(lambda: server.request("/debug/pprof/heap")[0] == 200)
    answers = []

    def ask(seconds):
        try:
            answers.append(server.request(f"/debug/pprof/allocs?seconds={seconds}"))
        except http.client.RemoteDisconnected:
            answers.append((503, None, None))  # it ended before it could say so

    waiting = threading.Thread(target=ask, args=(5,))
    waiting.start()
    time.sleep(1)
    stepping.step(2)
    waiting.join()
    [(status, _, body)] = answers
    assert status == 200
    (tmp_path / "data").write_bytes(body)
    profile = pprof_reader.read(tmp_path / "data")
    assert 1e9 < profile.raw.duration_nanos < 60e9
    whole = pprof_reader.Profile(server.request("/debug/pprof/heap")[2])
    assert whole.raw.duration_nanos == 0
    assert profile.raw.time_nanos + profile.raw.duration_nanos <= whole.raw.time_nanos
    sites = {values["alloc_objects"]: values["alloc_space"] for _, values in profile.samples
             if values["alloc_objects"]}
    assert sites == {2: 2 * 4321}
    waiting = threading.Thread(target=ask, args=(600,))
    waiting.start()
    time.sleep(0.5)
    server.end()
    waiting.join()
    assert answers[1][0] == 503


def test_pages_from_anywhere(program, tmp_path, serve):
    """First pages, deep ones and long ones, before and after all rows are in order: pieces of the whole."""
    made = Recorded(program)
    rng = random.Random(4)
    sizes = [rng.choice((16, 24, 4000, 70_000)) for _ in range(30_000)]
    places = rng.sample(range(100_000), len(sizes))
    for i, size in enumerate(sizes):
        made.allocate(i, 0x1000000 + 0x100000 * places[i], size, ["outer"])
    server = serve(made.write(tmp_path / "many.mallow", len(sizes)))
    for sort_by, keys in (("size", sizes), ("address", places)):
        for conditions in ({}, {"size_min": 20}):
            ascending = sorted((i for i, size in enumerate(sizes) if size >= conditions.get("size_min", 0)),
                               key=lambda i: (keys[i], i))
            for turn in range(12):
                order = rng.choice(("asc", "dsc"))
                rows = ascending if order == "asc" else ascending[::-1]
                skip = rng.choice((0, 100, 4090, rng.randrange(len(rows)), len(rows) - 3, len(rows)))
                count = 5000 if turn == 6 else rng.choice((1, 10, 100))
                page = server.json("/data/last/allocations", sort_by=sort_by, order=order, skip=skip,
                                   count=count, **conditions)
                assert page["total_count"] == len(rows)
                assert [(row["address"], row["size"]) for row in page["allocations"]] == [
                    (0x1000000 + 0x100000 * places[i], sizes[i]) for i in rows[skip:skip + count]]


def test_large_answers(large, serve):
    """Many pieces, plain and compressed; memory does not grow with them."""
    server = serve(large)
    got = server.json("/data/last/allocations?sort_by=address&order=dsc")
    assert [row["address"] for row in got["allocations"]] == \
        [0x100000 + 64 * i for i in reversed(range(60_000))]
    before = memory_peak(server.run.pid)
    _, _, plain = server.request("/data/last/allocations")
    _, headers, packed = server.request("/data/last/allocations", Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip" and gzip.decompress(packed) == plain
    assert len(plain) > 50_000_000
    assert memory_peak(server.run.pid) - before < 10_000_000


def memory_peak(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", text)[1])
