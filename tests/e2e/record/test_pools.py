"""Pools of the program's own: mallow_pool_alloc() and its kin, `mallow report --pools`."""
import collections
import subprocess

import pytest

import mallow_reader
import mallow_sums
import report_json
from conftest import (ALL, FIELDS, TOP, address_of, add_row, clean_environment, names_of_stack)
from made_recording import Made
from mallow_reader import POOL_ALLOC, POOL_FREE, POOL_NAME, POOL_RESET
from recording_writer import zigzag

EXAMPLE = TOP / "examples" / "pool.c"
HEADERS = f"-I{TOP / 'include'}"
SUMS = ("calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks",
        "temporary", "frees", "resets", "implicit_frees", "wrong_frees")


def run_sample(record, program, *arguments, **options):
    recorded = record([program, *arguments], check=False, **options)
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == (7, "ok\n", "")
    return recorded


def pools_of(tool, *arguments):
    return report_json.load(tool("report", "--pools", "--json", "--top", ALL, *arguments).stdout)


def by_name(report):
    """{name: pool}; those without one together under None."""
    return {pool["name"]: pool for pool in report["pools"]}


def sums_of(pool):
    return {field: pool[field] for field in SUMS if pool[field]}


def sites_by_function(pool, functions):
    """{function: [calls, total bytes, peak bytes]} of the sites in whose stacks it is."""
    found = collections.defaultdict(lambda: [0, 0, 0])
    for site in pool["sites"]:
        names = {frame["function"].split("(")[0] for frame in site["stack"]}
        for name in names & set(functions):
            add_row(found[name], [site["calls"], site["total_bytes"], site["peak_bytes"]])
    return dict(found)


def rows(sites):
    """{addresses innermost first: sums}, of (addresses, sums) of which several may be alike."""
    found = collections.defaultdict(lambda: [0] * len(FIELDS))
    for stack, values in sites:
        add_row(found[stack], values)
    return dict(found)


def assert_readers_agree(tool, path):
    """The tool's pools are those of the independent reader, down to each stack. Of a file that was cut, one thread's
    chunk may have the frames of another's, and be missing: both show these as lost."""
    recording = mallow_reader.read(path)
    recording.frames.update((frame, (mallow_reader.PC_LOST, 0)) for frame in recording.dangling()[0])
    reader = mallow_sums.Pools(recording)
    report = pools_of(tool, path)
    assert report["all"]["peak_bytes"] == reader.peak_bytes
    assert report["all"]["live_bytes"] == reader.live_bytes
    assert report["pool_count"] == len(report["pools"]) == len(reader.pools)
    theirs = {(pool.name or None, hex(pool.address)): pool for pool in reader.pools}
    for ours in report["pools"]:
        pool = theirs[ours["name"], ours["address"]]
        assert ours["addresses"] == pool.places
        assert [ours[field] for field in SUMS] == [
            pool.calls, pool.total_bytes, pool.peak_bytes, pool.peak_blocks, pool.live_bytes,
            pool.live_blocks, pool.temporary, pool.frees, pool.resets, pool.implicit_frees,
            pool.wrong_frees]
        assert rows((tuple(address_of(frame) for frame in site["stack"] if not frame["inlined"]),
                     [site[field] for field in FIELDS]) for site in ours["sites"]) == rows(
            (tuple(pc - 1 if pc > 15 else 0 for pc, _ in stack),
             [site.calls, site.total_bytes, site.peak_bytes, site.own_peak_bytes, site.live_bytes,
              site.temporary]) for stack, site in pool.sites.items())
    return report


EXPECTED = {
    "arena": dict(calls=31, total_bytes=8235, peak_bytes=7190, peak_blocks=21, leaked_bytes=2190,
                  leaked_blocks=20, frees=1, resets=2),
    "slab": dict(calls=15, total_bytes=5070, peak_bytes=5000, peak_blocks=5, temporary=11,
                 frees=15, wrong_frees=1),
    "shared": dict(calls=4000, total_bytes=4000, peak_bytes=4000, peak_blocks=4000,
                   leaked_bytes=1000, leaked_blocks=1000, temporary=3, frees=3000),
}
UNNAMED = [
    dict(calls=3, total_bytes=50, peak_bytes=30, peak_blocks=1, leaked_bytes=30, leaked_blocks=2,
         implicit_frees=1),
    dict(calls=1, total_bytes=10, peak_bytes=10, peak_blocks=1, frees=1, wrong_frees=2),
]


def assert_expected(report):
    named = by_name(report)
    assert {name: sums_of(named[name]) for name in EXPECTED} == EXPECTED
    assert [sums_of(pool) for pool in report["pools"] if not pool["name"]] == UNNAMED
    assert all(pool["addresses"] == 1 for pool in report["pools"])
    assert report["all"]["peak_bytes"] == 2190 + 5000 + 5000
    assert report["all"]["peak_blocks"] == 20 + 1 + 5
    functions = ["fill_arena", "nest", "come_and_go", "hand_out"]
    assert sites_by_function(named["arena"], functions) == {
        "fill_arena": [30, 3235, 2190], "nest": [1, 5000, 5000]}
    assert sites_by_function(named["slab"], functions) == {
        "nest": [5, 5000, 5000], "come_and_go": [10, 70, 0]}
    assert sites_by_function(named["shared"], functions) == {"hand_out": [4000, 4000, 4000]}


@pytest.mark.parametrize("settings", [{}, {"SAMPLE": "1M"}, {"SLOTS": "private"},
                                      {"UNWINDER": "plain"}, {"FREE_STACKS": 1},
                                      {"CULL": "1h"}, {"CULL": "1ms"}])
@pytest.mark.parametrize("compiler, opt", [("gcc", "-O0"), ("clang", "-O2")])
def test_sums(settings, compiler, opt, record, compile_sample, tool):
    """Each pool, each of its sites; as recorded, and finished; SAMPLE and CULL leave nothing out."""
    recorded = run_sample(record, compile_sample("pools", compiler, opt), settings=settings)
    recorded.assert_sound()
    report = assert_readers_agree(tool, recorded.path)
    assert_expected(report)
    info = recorded.info_json
    assert (info["pools"], info["pool_allocations"]) == (5, 4050)
    assert (info["pool_frees"], info["pool_resets"]) == (3017, 2)
    assert info["complete"]
    assert len(recorded.reader.pool_events) == 4050 + 3017 + 3 + 2 + 3 + 1
    tool("finish", recorded.path)
    assert_readers_agree(tool, recorded.path)
    assert dict(pools_of(tool, recorded.path), path=0) == dict(report, path=0)


def test_heap_is_what_it_is_without(record, compile_sample, tool):
    """Pools count nothing twice: the heap's sums are malloc's."""
    recorded = run_sample(record, compile_sample("pools"))
    report = recorded.tool.assert_equal_sums(recorded.path)
    own = [site for site in report["sites"]
           if any(frame["function"] == "nest" for frame in site["stack"])]
    assert [(site["calls"], site["total_bytes"]) for site in own] == [(1, 5000)]
    assert report["total_bytes"] < 20000 and report["pool_count"] == 5


def test_tags_and_times(record, compile_sample):
    """A pool's block has its thread, the thread's tag and a time of its own."""
    recorded = run_sample(record, compile_sample("pools"))
    shared = collections.Counter()
    for event in recorded.reader.pool_events:
        if event.kind == POOL_ALLOC and event.size == 1:
            shared[event.thread, event.tag] += 1
    assert sorted(tag for _, tag in shared) == [1, 2, 3, 4] and len({s for s, _ in shared}) == 4
    assert set(shared.values()) == {1000}
    times = [event.time for event in recorded.reader.pool_events]
    assert times == sorted(times) and len(set(times)) > 1000


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_stacks(compiler, record, compile_sample, functions_of):
    """Whole, from the caller on, and none of our frames in it."""
    recorded = run_sample(record, compile_sample("pools", compiler, "-O2"))
    reader = recorded.reader
    names = {tuple(names_of_stack(reader, reader.stack(event.node), functions_of))[:3]
             for event in reader.pool_events if event.kind == POOL_ALLOC and event.size >= 100}
    assert {stack[0] for stack in names} == {"fill_arena", "nest"}
    assert all("main" in stack for stack in names)
    assert not any(event.node for event in reader.pool_events if event.kind != POOL_ALLOC)


def test_text(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("pools"))
    text = tool("report", recorded.path).stdout
    line = "  pools        12.2 KB  held at once by 5 pools of its own, in 26 blocks"
    assert line in [row.split(" (")[0] for row in text.splitlines()]
    assert "pools      5 of the program's own: 4,050 blocks, 3,017 frees, 2 resets" in \
        tool("info", recorded.path).stdout
    text = tool("report", "--pools", recorded.path).stdout
    assert text.index("  1. pool arena\n") < text.index("  2. pool slab\n") < \
        text.index("  3. pool shared\n") < text.index("  4. pool at 0x")
    assert "peak 7.19 KB in 21 blocks, leaked 2.19 KB in 20 blocks, total 8.23 KB in 31 calls\n" \
           "     1 free, 2 resets\n" in text
    assert "1 block handed out again unfreed\n" in text
    assert "1 free, 2 frees of what it did not hold\n" in text
    assert "\n       1. 5.00 KB  69.5 % of peak  total 5.00 KB, 1 call\n" in text
    text = tool("report", "--pools", "--sort", "leaked", "--top", "1", recorded.path).stdout
    assert "Top 1 pool by leaked\n\n  1. pool arena\n" in text
    assert "pool shared" not in text
    assert "\n     … 2 pools more (--top N shows more)\n" in text


def test_wrong_frees_are_errors(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("pools"), settings={"FREE_STACKS": 1})
    report = report_json.load(tool("report", "--errors", "--json", recorded.path).stdout)
    assert report["errors"] == []
    assert [(error["pool"]["name"], error["count"]) for error in report["pool_errors"]] == \
        [("slab", 1), (None, 2)]
    assert all("free_wrongly" in [frame["function"] for frame in error["free_stack"]]
               for error in report["pool_errors"])
    text = tool("report", "--errors", recorded.path).stdout
    assert "\npool slab: 1 free of what it did not hold, the first at 0x" in text
    assert "may be right" not in text
    without = run_sample(record, compile_sample("pools"))
    report = report_json.load(tool("report", "--errors", "--json", without.path).stdout)
    assert [error["free_stack"] for error in report["pool_errors"]] == [None, None]


def test_options(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("marks"))
    assert "No pools of the program's own" in tool("report", "--pools", recorded.path).stdout
    assert "\n  pools " not in tool("report", recorded.path).stdout
    assert "\n  pools " not in tool("info", recorded.path).stdout
    assert pools_of(tool, recorded.path)["pools"] == []
    for other in ("--tree", "--errors"):
        run = tool("report", "--pools", other, recorded.path, check=False)
        assert run.returncode == 2 and "exclude each other" in run.stderr


def test_fork(record, compile_sample, tool):
    """A child begins with pools of which nothing is known; --merge adds those of one name."""
    recorded = run_sample(record, compile_sample("pools"), "fork")
    assert len(recorded.paths) == 2
    parent, child = (assert_readers_agree(tool, path) for path in recorded.paths)
    assert [sums_of(pool) for pool in parent["pools"]] == [
        dict(calls=10, total_bytes=1045, peak_bytes=1045, peak_blocks=10, leaked_bytes=945,
             leaked_blocks=9, frees=1)]
    assert {name: sums_of(pool) for name, pool in by_name(child).items()} == {
        "arena": dict(calls=1, total_bytes=5000, peak_bytes=5000, peak_blocks=1, leaked_bytes=5000,
                      leaked_blocks=1, wrong_frees=1),
        None: dict(calls=1, total_bytes=300, peak_bytes=300, peak_blocks=1, leaked_bytes=300,
                   leaked_blocks=1)}
    text = tool("report", "--errors", recorded.paths[1]).stdout
    assert "may be right, the process began with the blocks of its parent" in text
    for _ in range(2):
        merged = by_name(pools_of(tool, "--merge", *recorded.paths))
        assert sums_of(merged["arena"]) == dict(
            calls=11, total_bytes=6045, peak_bytes=6045, peak_blocks=11, leaked_bytes=5945,
            leaked_blocks=10, frees=1, wrong_frees=1)
        assert sums_of(merged[None]) == sums_of(by_name(child)[None])
        assert sites_by_function(merged["arena"], ["fork_one", "main"]) == {
            "fork_one": [11, 6045, 6045], "main": [11, 6045, 6045]}
        assert "held at most by 2 pools" in tool("report", "--merge", *recorded.paths).stdout
        for path in recorded.paths:
            tool("finish", path)


@pytest.mark.parametrize("settings", [{}, {"SIGNAL_TOGGLE": "USR2"}, {"SLOTS": "private"},
                                      {"SAMPLE": "1"}, {"FREE_STACKS": 1}, {"CULL": "1h"}])
def test_stopped(settings, record, compile_sample, tool):
    """While it is off nothing but the ends of recorded blocks, each once, and names."""
    recorded = run_sample(record, compile_sample("pools"), "switched", settings=settings)
    report = by_name(assert_readers_agree(tool, recorded.path))
    assert sums_of(report["arena"]) == dict(
        calls=10, total_bytes=1045, peak_bytes=1045, peak_blocks=10, leaked_bytes=742,
        leaked_blocks=7, frees=3)
    assert sums_of(report["slab"]) == dict(calls=1, total_bytes=77, peak_bytes=77, peak_blocks=1,
                                           leaked_bytes=77, leaked_blocks=1, wrong_frees=1)
    assert sums_of(report[None]) == dict(calls=1, total_bytes=50, peak_bytes=50, peak_blocks=1,
                                         resets=1)
    kinds = collections.Counter(event.kind for event in recorded.reader.pool_events)
    assert kinds == {POOL_ALLOC: 12, POOL_FREE: 4, POOL_RESET: 1, POOL_NAME: 2}
    assert "may be right" in tool("report", "--errors", recorded.path).stdout


@pytest.mark.parametrize("settings", [{}, {"SIGNAL_TOGGLE": "USR2"}])
def test_storm(settings, record, compile_sample, tool):
    """Stopped and started all the time: each recorded block has its end, whenever that comes."""
    recorded = run_sample(record, compile_sample("pools", "gcc", "-O2"), "storm", settings=settings)
    recorded.assert_sound()
    report = assert_readers_agree(tool, recorded.path)
    assert recorded.info_json["off_periods"]
    for pool in report["pools"]:
        assert pool["implicit_frees"] == pool["leaked_blocks"] == 0
        assert pool["peak_bytes"] <= 30


def test_handed_over(record, compile_sample, tool):
    """A block of one address, allocated by one thread and freed by the other: none overlap."""
    recorded = run_sample(record, compile_sample("pools", "gcc", "-O2"), "hand")
    (pool,) = assert_readers_agree(tool, recorded.path)["pools"]
    assert sums_of(pool) == dict(calls=500, total_bytes=5000, peak_bytes=10, peak_blocks=1,
                                 frees=500, temporary=500)


def test_from_a_start(record, compile_sample, tool):
    """Nothing before the first start, which comes late."""
    recorded = run_sample(record, compile_sample("pools"), "switched",
                          settings={"DISABLE_BY_DEFAULT": 1})
    report = assert_readers_agree(tool, recorded.path)
    assert sorted(pool["calls"] for pool in report["pools"]) == [0, 1]
    assert report["all"]["total_bytes"] == 77


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_within_operator_new(opt, record, compile_sample, tool):
    """A library's operator new, by which our hook gets its blocks, has them from a pool."""
    library = compile_sample("pool_operator", "gcc", opt, ["-shared", "-fPIC", "-DLIBRARY"])
    program = compile_sample("pool_operator", "gcc", opt, [str(library)])
    recorded = record([program], check=False)
    assert (recorded.returncode, recorded.stdout) == (7, "5050\n")
    recorded.assert_sound()
    (pool,) = assert_readers_agree(tool, recorded.path)["pools"]
    assert sums_of(pool) == dict(calls=200, total_bytes=1600, peak_bytes=96, peak_blocks=12,
                                 leaked_bytes=80, leaked_blocks=10, frees=190,
                                 temporary=pool["temporary"])
    assert sum(site["calls"] for site in pool["sites"]
               if "sum" in [frame["function"].split("(")[0] for frame in site["stack"]]) == 200
    modules = {frame["module"] for site in pool["sites"] for frame in site["stack"]}
    assert not any("libmallow" in module for module in modules)
    heap = tool.report(recorded.path)
    assert sum(site["calls"] for site in heap["sites"]
               if "sum" in [frame["function"].split("(")[0] for frame in site["stack"]]) == 200


def test_handlers(record, compile_sample, tool):
    """What a handler says is recorded, or counted as lost where it interrupted mallow."""
    program = compile_sample("pools")
    recorded = record([program, "signals", "200"], check=False)
    assert recorded.returncode == 7
    handled = int(recorded.stderr.split()[0])
    reader = recorded.reader
    assert not reader.damages
    shared = [event for event in reader.pool_events if event.size == 1]
    assert len(shared) + reader.header.losses["reentered"] == handled >= 200
    assert shared
    report = assert_readers_agree(tool, recorded.path)
    assert len(shared) in [pool["calls"] for pool in report["pools"]]


def test_musl(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("pools", "musl", "-O2"))
    assert_expected(assert_readers_agree(tool, recorded.path))


def test_without_stacks(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("pools"), settings={"BACKTRACE": "none"})
    report = assert_readers_agree(tool, recorded.path)
    assert {name: sums_of(by_name(report)[name]) for name in EXPECTED} == EXPECTED
    assert all([site["stack"] for site in pool["sites"]] == [[]] for pool in report["pools"])


def test_many(record, compile_sample, tool):
    """Arenas that come and go under one name are one; a name given late is from then on."""
    recorded = run_sample(record, compile_sample("pools"), "many")
    report = assert_readers_agree(tool, recorded.path)
    assert report["pool_count"] == 21
    request, late = by_name(report)["request"], by_name(report)["late"]
    assert sums_of(request) == dict(calls=2001, total_bytes=100001, peak_bytes=100, peak_blocks=2,
                                    leaked_bytes=1, leaked_blocks=1, resets=1000)
    assert request["addresses"] == 500 and late["total_bytes"] == 6
    assert late["frees"] == 0
    assert sorted(pool["frees"] for pool in report["pools"] if not pool["name"]) == [0] * 18 + [1]
    assert [pool["total_bytes"] for pool in report["pools"] if not pool["name"]] == [1] * 19
    text = tool("report", "--pools", recorded.path).stdout
    assert "Top 10 pools by peak" in text and "\n     … 11 pools more (--top N" in text
    assert "1,000 resets, at 500 addresses\n" in text


def test_cut_short(record, compile_sample, tool):
    """Wherever the file ends, both readers see as much of it."""
    recorded = run_sample(record, compile_sample("pools"))
    data = recorded.path.read_bytes()
    assert len(data) > 50000
    for cut in range(8192, len(data), 7919):
        recorded.path.write_bytes(data[:cut])
        assert_readers_agree(tool, recorded.path)


def test_dump(record, compile_sample, tool):
    recorded = run_sample(record, compile_sample("pools"))
    lines = [line.split(" ", 2)[2] for line in tool("trace", "dump", recorded.path).stdout
             .splitlines()]
    dumped = [line for line in lines if line.startswith("pool-")]
    assert len(dumped) == len(recorded.reader.pool_events)
    names = {POOL_ALLOC: "alloc", POOL_FREE: "free", POOL_RESET: "reset", POOL_NAME: "name"}
    wanted = collections.Counter(f"pool-{names[event.kind]}"
                                 for event in recorded.reader.pool_events)
    assert collections.Counter(line.split()[0] for line in dumped) == wanted
    assert all((" stack=" in line) == line.startswith("pool-alloc") for line in dumped)
    assert any(line.startswith("pool-name pool=0x") and line.endswith('name="arena"')
               for line in dumped)


def test_made(tool, tmp_path):
    """By hand: addresses below their pool, ones that wrap, a name from elsewhere, odd ends."""
    made = Made(tmp_path, ["main", "carve"], minor=3)

    def put(kind, pool, *fields, text=b""):
        made.chunk.other(kind, made.chunk.at(made.tick()), pool, *fields, text=text)

    made.chunk.stack(*made.change(["main", "carve"]))
    put(POOL_ALLOC, 0x5000, zigzag(-0x100), 64)
    put(POOL_ALLOC, 0x5000, zigzag(0x100), 32)
    put(POOL_ALLOC, 2**64 - 1, zigzag(2), 8)
    put(POOL_NAME, 0x6000, text=b"\xff\x1b[31m odd\0name")
    put(POOL_ALLOC, 0x6000, zigzag(0), 2**62)
    put(POOL_FREE, 0x5000, zigzag(-0x100))
    put(POOL_FREE, 2**64 - 1, zigzag(2))
    path = made.write()
    report = pools_of(tool, path)
    assert [(pool["calls"], pool["frees"], pool["leaked_bytes"]) for pool in report["pools"]] == \
        [(1, 0, 2**62), (2, 1, 32), (1, 1, 0)]
    assert [[frame["function"] for frame in pool["sites"][0]["stack"]]
            for pool in report["pools"]] == [["carve", "main"]] * 3
    assert "\x1b" not in tool("report", "--pools", path).stdout
    tool("finish", path)
    assert pools_of(tool, path) == report


@pytest.mark.parametrize("compiler, options", [
    ("gcc", ["-std=c99", "-pedantic"]), ("clang", ["-std=c99", "-pedantic"]),
    ("g++", ["-x", "c++", "-std=c++11", "-pedantic"]), ("clang++", ["-x", "c++"]),
    ("gcc", ["-static"])])
def test_example(compiler, options, tmp_path, record, tool):
    """It compiles as its comment says, and does the same with mallow and without."""
    program = tmp_path / "pool"
    subprocess.run([compiler, *options, "-Wall", "-Wextra", "-Werror", "-g", HEADERS, "-o", program,
                    EXAMPLE], check=True)
    run = subprocess.run([program], capture_output=True, text=True, env=clean_environment())
    assert (run.returncode, run.stdout) == (0, "1352\n")
    if "-static" in options:
        return
    recorded = record([program])
    assert recorded.stdout == "1352\n"
    report = by_name(assert_readers_agree(tool, recorded.path))
    assert sums_of(report["request"]) == dict(
        calls=20, total_bytes=59000, peak_bytes=10400, peak_blocks=2, resets=10)
    assert sums_of(report["sessions"]) == dict(
        calls=10, total_bytes=2000, peak_bytes=1000, peak_blocks=5, leaked_bytes=1000,
        leaked_blocks=5, frees=5)
    assert set(sites_by_function(report["request"], ["copy_header", "render_page"])) == \
        {"copy_header", "render_page"}
