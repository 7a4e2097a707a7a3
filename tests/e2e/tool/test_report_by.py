"""`mallow report --by`, `--histogram`, `--at` and `--csv`: thousands of random filters on random
recordings against sums_reference.py, real programs against what their sites and events add up
to, and how it looks."""
import collections
import csv
import io
import json
import random
import re
import subprocess

import pytest

import mallow_reader
import mallow_sums
import report_json
import sums_reference as reference
from conftest import TOP, built, clean_environment
from filter_reference import Blocks
from made_recording import Made
from recording_writer import varint
from command_line import on_terminal
from queries import (CULLED, MARK, SECOND, STACK, Recorded, example, filter_lines, program,  # noqa: F401
                     random_condition, random_recording, run_tool)

SUMS = reference.FIELDS
NAMELESS = re.compile(r"\[.*\]\+0x|0x|\[truncated\]$")
BY_OWN, BY_FRAMES, BY_BLOCKS = ["function", "file", "line"], ["frame", "module"], ["thread", "size"]
BY_STACKS = BY_OWN + BY_FRAMES


def query(path, filters):
    """What each filter comes to, by everything."""
    helper = built("MALLOW_FILTER_QUERY", TOP / "build" / "meson" / "tests" / "unit" / "filter_query")
    run = subprocess.run([str(helper), str(path), "--all"], input=filter_lines(filters), capture_output=True,
                         text=True, env=clean_environment(), timeout=120)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def row_key(row, by):
    if by == "thread":
        return row["tid"]
    if by == "mark":
        return row["from_ns"], row["to_ns"]
    return (row["size_min"], row["size_max"]) if by == "size" else row["name"]


def compare_breakdown(answer, by, wanted):
    rows = answer[by]["rows"]
    assert answer[by]["row_count"] == len(rows)
    assert sorted(map(str, wanted)) == sorted(str(row_key(row, by)) for row in rows)
    for row in rows:
        own, inclusive = wanted[row_key(row, by)]
        assert {field: row[field] for field in SUMS} == {field: own[field] for field in SUMS}
        if row["own_peak_bytes"] is not None:
            assert row["own_peak_bytes"] == own["own_peak_bytes"]
        if by not in BY_STACKS:
            assert row["own_peak_bytes"] is not None and "inclusive" not in row
        else:
            assert row["inclusive"] == {field: inclusive[field] for field in SUMS}


def compare_histogram(answer, of, wanted):
    classes, leaked = wanted
    unit = "_ns" if of == "lifetime" else ""
    found = answer[f"{of}_histogram"]
    assert {(one[f"{of}_min{unit}"], one[f"{of}_max{unit}"]): [one["calls"], one["bytes"]]
            for one in found["classes"] if one["calls"]} == classes
    if of == "lifetime":
        assert found["leaked"] == {"calls": leaked[0], "bytes": leaked[1]}
    # No class is left out between the first and the last.
    for one, other in zip(found["classes"], found["classes"][1:]):
        assert one[f"{of}_max{unit}"] + 1 == other[f"{of}_min{unit}"]


def test_random_filters_on_random_recordings(program, tmp_path):  # noqa: F811
    dice = random.Random(20261123)
    path = tmp_path / "random.mallow"
    for _ in range(100):
        unit = random_recording(program, path, dice)
        blocks = Blocks(mallow_reader.read(path), program.frames_of)
        filters = [{}] + [dict(random_condition(dice, unit) for _ in range(dice.randrange(1, 3)))
                          for _ in range(10)]
        for answer in query(path, filters):
            numbers = answer["blocks"]
            for by in [*BY_STACKS, *BY_BLOCKS, "mark"]:
                compare_breakdown(answer, by, reference.report(
                    blocks, numbers, by, program))
            for of in ("size", "lifetime"):
                compare_histogram(answer, of, reference.histogram(blocks, numbers, of))


def test_many_sizes_are_classes(program, tmp_path):  # noqa: F811
    """Up to 32 different sizes have a row each, with one more they are put together."""
    made = Recorded(program)
    path = tmp_path / "sizes.mallow"
    for i in range(33):
        made.allocate(i, 0x1000 + 64 * i, 3 * i * i, ["read_all"])
    made.write(path, 50)
    all_of_them, few = query(path, [{}, {"size_min": "1"}])
    blocks = Blocks(mallow_reader.read(path), program.frames_of)
    for answer in (all_of_them, few):
        compare_breakdown(answer, "size", reference.report(
            blocks, answer["blocks"], "size", program))
    assert few["size"]["row_count"] == 32
    assert [row["size_max"] for row in few["size"]["rows"]][:2] == [3072, 2883]
    assert all_of_them["size"]["row_count"] == 11


def json_by(tool, by, path, *options):
    return json.loads(tool("report", "--json", "--by", by, *options, path).stdout)


def own_code(stack):
    """The frames of a site that are the reader's own; without any, what stands for them."""
    named = [frame for frame in stack if not NAMELESS.match(frame["function"])]
    return [frame for frame in named if not frame["plumbing"]] or named[:1] or stack[:1] or [None]


def row_of(frame, by):
    """What a row of a frame says of itself."""
    if by in ("file", "line"):
        known = (frame or {}).get("file")
        return (known, frame["line"] if by == "line" else None) if known else (frame or {}).get("module")
    named = frame and not NAMELESS.match(frame["function"] or "[]+0x")
    return (frame["function"] if named else None, (frame or {}).get("module"))


def check_own_code(tool, path, report, by):
    """Each site counts for its innermost own frame, and once for each other."""
    own, inclusive = (collections.defaultdict(collections.Counter) for _ in range(2))
    for site in report["sites"]:
        rows = [row_of(frame, by) for frame in own_code(site["stack"])]
        own[rows[0]].update({field: site[field] for field in SUMS})
        for row in set(rows):
            inclusive[row].update({field: site[field] for field in SUMS})
    found = {row_of({"function": None, "file": None, "module": None, **row}, by): row
             for row in json_by(tool, by, path)["rows"]}
    assert found.keys() == inclusive.keys()
    for key, row in found.items():
        assert row["inclusive"] == dict(inclusive[key])
        assert {field: row[field] for field in SUMS} == {field: own[key][field] for field in SUMS}


def check_real(tool, path):
    """Rows add up to the sites, and to the events of each thread."""
    report = tool.report(path)
    for by in BY_OWN:
        check_own_code(tool, path, report, by)
    inclusive, innermost = collections.defaultdict(collections.Counter), collections.Counter()
    for site in report["sites"]:
        modules = [line["module"] for line in site["stack"]] or ["[no stack]"]
        innermost[modules[0]] += site["total_bytes"]
        for module in set(modules):
            inclusive[module].update({field: site[field] for field in SUMS})
    by_module = json_by(tool, "module", path)
    assert {row["name"]: row["inclusive"] for row in by_module["rows"]} == \
        {module or "[no module]": dict(sums) for module, sums in inclusive.items()}
    for by in BY_STACKS + BY_BLOCKS:
        rows = json_by(tool, by, path)["rows"]
        for field in SUMS:
            assert sum(row[field] for row in rows) == report[field], (by, field)
        peaks = [row["peak_bytes"] for row in rows]
        assert peaks == sorted(peaks, reverse=True)
        for row in rows:
            assert row["own_peak_bytes"] is None or row["own_peak_bytes"] >= row["peak_bytes"]

    recording = mallow_reader.read(path)
    threads = collections.defaultdict(collections.Counter)
    sizes = collections.Counter()
    for event in mallow_sums.in_order(recording):
        if isinstance(event, mallow_reader.Alloc):
            threads[recording.threads[event.thread].tid].update(calls=1, total_bytes=event.size)
            sizes[event.size] += 1
    found = collections.defaultdict(collections.Counter)
    for row in json_by(tool, "thread", path)["rows"]:
        found[row["tid"]].update({field: row[field] for field in ("calls", "total_bytes")})
    assert found == threads
    for of in ("size", "lifetime"):
        histogram = json.loads(tool("report", "--json", "--histogram", of, path).stdout)
        parts = histogram["classes"] + [histogram.get("leaked", {"calls": 0, "bytes": 0})]
        assert sum(part["calls"] for part in parts) == report["calls"]
        assert sum(part["bytes"] for part in parts) == report["total_bytes"]
        if of == "size":
            assert {one["size_max"]: one["calls"] for one in parts if one["calls"]} == \
                collections.Counter(reference.in_class(
                    size, reference.SIZES)[1] for size in sizes.elements())
        else:
            assert parts[-1] == {"calls": report["leaked_blocks"], "bytes": report["leaked_bytes"]}
    return report


@pytest.mark.parametrize("name", ["totals", "hand_over", "realloc_chain", "totals_cpp"])
def test_samples(tool, record, compile_sample, name):
    check_real(tool, record([compile_sample(name, opt="-O2")], check=False).path)


def test_python(tool, record):
    ran = record(["/usr/bin/python3", "-c",
                  "import json, threading\n"
                  "t = threading.Thread(target=lambda: json.loads('[1, 2, {}]' * 1))\n"
                  "t.start(); t.join()\nprint(json.dumps(list(range(100)))[:2])"],
                 env={"PYTHONMALLOC": "malloc"}, bare=False, settings={"INDEX_FILE": 0})
    report = check_real(tool, ran.path)
    assert report["calls"] > 10_000
    tids = [row["tid"] for row in json_by(tool, "thread", ran.path)["rows"]]
    assert len(tids) == len(set(tids)) >= 2


@pytest.mark.parametrize("settings", [{"SAMPLE": "64K"}, {"CULL": "1ms"}], ids=str)
def test_estimates_and_what_was_culled(tool, record, compile_sample, tmp_path, settings):
    """Rows add up all the same, and so do classes; without the leaks that are suppressed, too."""
    path = record([compile_sample("sampled")], settings=settings, check=False).path
    report = tool.report(path)
    assert report["calls"] > 1000 and report["leaked_bytes"] > 1000
    suppressions = tmp_path / "known.supp"
    suppressions.write_text("leak:small\n")
    for by in BY_STACKS + BY_BLOCKS:
        for options in ([], ["--suppressions", suppressions]):
            found = json_by(tool, by, path, *options)
            for field in SUMS:
                assert sum(row[field] for row in found["rows"]) == found[field], (by, field)
        assert 0 < found["leaked_bytes"] < report["leaked_bytes"]
    for of in ("size", "lifetime"):
        histogram = json.loads(tool("report", "--json", "--histogram", of, path).stdout)
        parts = [*histogram["classes"], *(histogram[name] for name in ("leaked", "culled")
                                          if name in histogram)]
        assert sum(part["calls"] for part in parts) == report["calls"]
        assert sum(part["bytes"] for part in parts) == report["total_bytes"]


# --- what a row is of ---

def rows(tool, by, path, *options):
    """{name: [own, inclusive total bytes]}"""
    return {row["name"]: [row["total_bytes"], row["inclusive"]["total_bytes"]]
            for row in json_by(tool, by, path, *options)["rows"]}


ALLOCATE = "_ZNSt15__new_allocatorIiE8allocateEmPKv"
TRAITS = "_ZNSt16allocator_traitsISaIiEE8allocateERS0_m"


def test_functions_of_the_allocator_are_nobodys_choice(tool, tmp_path):
    """What they ask for is their caller's; inclusive sums have them as any. Alone, they are it."""
    made = Made(tmp_path, ["main", "fill", "operator new(unsigned long)", "_Znwm", ALLOCATE, TRAITS,
                           "malloc"])
    made.allocate(["main", "fill", TRAITS, ALLOCATE, "_Znwm"], 1000)
    made.allocate(["main", "fill"], 300)
    made.allocate(["malloc"], 20)
    path = made.write()
    found = rows(tool, "frame", path)
    allocate = "std::__new_allocator<int>::allocate(unsigned long, void const*)"
    traits = "std::allocator_traits<std::allocator<int>>::allocate(std::allocator<int>&, " \
             "unsigned long)"
    assert {name: sums for name, sums in found.items()} == {
        "main": [0, 1300], "fill": [1300, 1300], "operator new(unsigned long)": [0, 1000],
        allocate: [0, 1000], traits: [0, 1000], "malloc": [20, 20]}
    assert rows(tool, "function", path) == {"main": [0, 1300], "fill": [1300, 1300],
                                            "malloc": [20, 20]}


INSERT, SORT, GROW = "_ZNSt6vectorIiSaIiEE6insertEi", "_ZSt4sortIPiEvT_S1_", "_Z4growv"


def test_own_code_counts(tool, tmp_path):
    """The innermost own function, if the library calls it, too. --by frame: the innermost of all."""
    made = Made(tmp_path, ["main", "less", INSERT, SORT, GROW],
                libraries=[("/usr/lib/libdark.so", ["dark"])])
    made.allocate(["main", INSERT], 1000)
    made.allocate(["main", SORT, "less", INSERT], 300)
    made.allocate(["main", SORT, "less", SORT], 50)
    made.allocate(["main", "dark", INSERT], 7)
    made.allocate([INSERT, SORT], 20)
    made.allocate(["dark", INSERT], 4)
    made.allocate(["dark"], 2)
    made.allocate([GROW], 1)
    path = made.write()
    insert, sort = "std::vector<int, std::allocator<int>>::insert(int)", "void std::sort<int*>(int*, int*)"
    assert rows(tool, "function", path) == {
        "main": [1007, 1357], "less": [350, 350], sort: [20, 20], insert: [4, 4],
        "[libdark.so]": [2, 2], "grow()": [1, 1]}
    assert rows(tool, "frame", path) == {
        "main": [0, 1357], "less": [0, 350], sort: [70, 370], insert: [1311, 1331],
        "[libdark.so]": [2, 13], "grow()": [1, 1]}
    names = {row["name"]: row["short"] for row in json_by(tool, "frame", path)["rows"]}
    assert names == {"main": "main", "less": "less", sort: "std::sort<int*>",
                     insert: "std::vector<int>::insert", "[libdark.so]": None, "grow()": "grow"}


@pytest.mark.parametrize("words", [[], ["--merge"], ["--at", "peak"]], ids=str)
def test_a_file_says_what_is_not_own(tool, mallow, tmp_path, words):
    """--plumbing, in every form; frames stay."""
    made = Made(tmp_path, ["main", "Cache_put", "Cache_grow", "read_all"])
    made.allocate(["main", "Cache_put", "Cache_grow"], 1000)
    made.allocate(["main", "read_all"], 300)
    path, lines = made.write(), tmp_path / "plumbing.txt"
    lines.write_text("function:^Cache_\n")
    more = ["--plumbing", lines, *words]
    assert rows(tool, "function", path, *more) == {"main": [1000, 1300], "read_all": [300, 300]}
    assert rows(tool, "frame", path, *more) == rows(tool, "frame", path, *words)
    assert {row["function"]: row["total_bytes"] for row in
            table(mallow, "--by", "function", *more, path)} == {"main": "1000", "read_all": "300"}
    text = tool("report", "--by", "function", *more, path).stdout
    assert "All 2 functions" in text and "Cache" not in text
    sites = report_json.load(tool("report", "--json", *more, path).stdout)["sites"]
    assert {frame["function"]: frame["plumbing"] for site in sites for frame in site["stack"]} == {
        "main": False, "read_all": False, "Cache_put": True, "Cache_grow": True}


def test_recursion_counts_once(tool, tmp_path):
    made = Made(tmp_path, ["main", "even", "odd"])
    made.allocate(["main", *["even", "odd"] * 20], 100)
    made.allocate(["main", "odd"], 10)
    path = made.write()
    for by in ("function", "frame"):
        assert rows(tool, by, path) == {"main": [0, 110], "even": [0, 100], "odd": [110, 110]}


def test_modules_and_what_has_no_name(tool, tmp_path):
    made = Made(tmp_path, ["main"], libraries=[("/usr/lib/libdark.so", ["a", "b"])])
    made.allocate(["main", "a"], 100)
    made.allocate(["main", "b"], 10)
    made.allocate([], 1)
    path = made.write()
    program_path = str(made.program)
    assert rows(tool, "frame", path) == {"main": [0, 110], "[libdark.so]": [110, 110],
                                         "[no stack]": [1, 1]}
    # What has no name is not own code.
    assert rows(tool, "function", path) == {"main": [110, 110], "[no stack]": [1, 1]}
    assert rows(tool, "file", path) == {f"[{made.program.name}]": [110, 110],
                                        "[no stack]": [1, 1]}
    assert rows(tool, "module", path) == {program_path: [0, 110], "/usr/lib/libdark.so": [110, 110],
                                          "[no stack]": [1, 1]}
    by = {row["name"]: row for row in json_by(tool, "frame", path)["rows"]}
    assert (by["main"]["function"], by["main"]["module"]) == ("main", program_path)
    assert (by["[libdark.so]"]["function"], by["[libdark.so]"]["module"]) == \
        (None, "/usr/lib/libdark.so")
    assert by["[no stack]"]["module"] is None
    hint = "\nIn brackets are all functions of a module that have no name.\n"
    assert hint in tool("report", "--by", "frame", path).stdout
    assert hint not in tool("report", "--by", "function", path).stdout
    assert hint not in tool("report", "--by", "frame", "--size-max", "1", path).stdout
    assert hint not in tool("report", "--by", "module", path).stdout


def test_own_peak_is_said_where_it_is_known(tool, tmp_path):
    """Of several sites it is not their sum, and of merged recordings there is none."""
    made = Made(tmp_path, ["main", "one", "two"])
    block = made.allocate(["main", "one"], 100)
    made.free(block)
    made.allocate(["main", "two"], 30)
    made.allocate(["two"], 20)
    path = made.write()
    peaks = {row["name"]: row["own_peak_bytes"]
             for row in json_by(tool, "function", path)["rows"]}
    assert peaks == {"main": None, "one": 100, "two": None}
    merged = json_by(tool, "function", path, "--merge")["rows"]
    assert [row["own_peak_bytes"] for row in merged] == [None] * 3
    sizes = {row["size_min"]: row["own_peak_bytes"] for row in json_by(tool, "size", path)["rows"]}
    assert sizes == {100: 100, 30: 30, 20: 20}


def test_merged_recordings(tool, tmp_path):
    paths = []
    for i, sizes in enumerate([[100, 20], [7]]):
        folder = tmp_path / str(i)
        folder.mkdir()
        made = Made(folder, ["main", "work"], pid=100 + i)
        for size in sizes:
            made.allocate(["main", "work"], size)
        paths.append(made.write())
    merged = json.loads(tool("report", "--json", "--merge", "--by", "function", *paths).stdout)
    assert {row["name"]: (row["total_bytes"], row["inclusive"]["calls"])
            for row in merged["rows"]} == {"work": (127, 3), "main": (0, 3)}
    assert len(merged["processes"]) == 2
    text = tool("report", "--merge", "--by", "function", *paths).stdout
    assert re.search(r"^ +120 B  100 % +120 B +3 .* work$", text, re.M)


def test_sorted_by(tool, tmp_path):
    made = Made(tmp_path, ["main", "many", "large"])
    for _ in range(5):
        made.free(made.allocate(["main", "many"], 10))
    made.allocate(["main", "large"], 1000)
    path = made.write()

    def names(*options):
        return [row["name"] for row in json_by(tool, "function", path, *options)["rows"]]

    assert names() == ["large", "main", "many"]  # by what is left equal, the inclusive sums
    assert names("--sort", "calls") == ["many", "large", "main"]
    assert names("--sort", "calls", "--inclusive") == ["main", "many", "large"]
    assert names("--inclusive", "--top", "1") == ["large"]  # as much as main, but its own
    assert json_by(tool, "function", path, "--top", "1")["row_count"] == 3


def test_culled(tool, program, tmp_path):  # noqa: F811
    """What was only counted has a row of its own, so that rows add up to the report's sums."""
    made = Recorded(program, cull_ns=SECOND, minor=3)
    made.other(1, MARK, text=b"begun")
    made.allocate(1, 0x1000, 10, ["read_all"])
    made.other(3, STACK, 1, 0, b"".join([varint(made.ids["read_all"])]))
    made.chunks[0].other(CULLED, 1, 8, 800, 3)
    path = made.write(tmp_path / "culled.mallow", 10)
    for by in [*BY_BLOCKS, "mark"]:
        one, culled = json_by(tool, by, path, "--sort", "peak")["rows"]
        assert (one["calls"], one["total_bytes"], one["own_peak_bytes"]) == (1, 10, 10)
        assert culled["culled"] is True and culled["own_peak_bytes"] is None
        assert (culled["calls"], culled["total_bytes"], culled["temporary"]) == (8, 800, 3)
        text = tool("report", "--by", by, "--sort", "total", path).stdout
        assert re.search(r"^ +800 B  98.8 % +- .*  \[culled\]$", text, re.M)
        assert len(json_by(tool, by, path, "--tag", "0")["rows"]) == 1
    assert rows(tool, "function", path) == {"read_all": [810, 810]}
    histogram = json.loads(tool("report", "--json", "--histogram", "size", path).stdout)
    assert histogram["culled"] == {"calls": 8, "bytes": 800}
    text = tool("report", "--histogram", "lifetime", path).stdout
    assert re.search(r"^ +culled +8 .* 800 B", text, re.M)
    assert re.search(r"^ +leaked +1 .* 10 B", text, re.M)


# --- marks ---

@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("marked"), ["main", "load", "serve"])

    def mark(name):
        made.chunk.other(MARK, made.chunk.at(made.tick()), text=name.encode())

    made.allocate(["main"], 10)
    mark("load")
    table = made.allocate(["main", "load"], 4000)
    for size in 500, 700:
        mark("request")
        first = made.allocate(["main", "serve"], size)
        made.free(made.allocate(["main", "serve"], size))
        made.free(first)
    mark("tests/parser/test_\x1b[31mnumbers.py::test_exponents_of_all_kinds[1e400-decimal]")
    made.free(table)
    made.free(made.allocate(["main", "load"], 3000))
    mark("nothing happens")
    return made.write()


def test_by_mark(tool, mallow, marked):
    """A row for each mark after which something was allocated, until the next, also if two have one name."""
    said = json_by(tool, "mark", marked)
    assert said["sorted_by"] == "total" and said["row_count"] == 5
    found = [(row["mark"].split("/")[0], row["own_peak_bytes"], row["peak_bytes"], row["leaked_bytes"], row["total_bytes"],
              row["calls"], row["temporary"]) for row in said["rows"]]
    assert found == [("load", 4000, 4000, 0, 4000, 1, 0), ("tests", 3000, 0, 0, 3000, 1, 1),
                     ("request", 1400, 1400, 0, 1400, 2, 1), ("request", 1000, 0, 0, 1000, 2, 1),
                     ("[start]", 10, 10, 10, 10, 1, 0)]
    # As a filter the bounds find the same blocks.
    for row in said["rows"]:
        bounds = ["--from", f"{row['from_ns']}ns", "--to", f"{row['to_ns']}ns"]
        assert json.loads(tool("report", "--json", *bounds, marked).stdout)["peak_bytes"] == row["own_peak_bytes"]
    of_csv = table(mallow, "--by", "mark", marked)
    assert [(row["mark"], int(row["from_ns"]), int(row["to_ns"]), int(row["own_peak_bytes"])) for row in of_csv] == \
        [(row["mark"].replace("\x1b", r"\x1b"), row["from_ns"], row["to_ns"], row["own_peak_bytes"]) for row in said["rows"]]
    assert below(tool("report", "--by", "mark", marked).stdout, "All ") == """\
All 5 marks by total (bytes allocated in all)

    total   share  own peak  calls  mark
  4.00 KB  42.5 %   4.00 KB      1  load  (at 2.00 us)
  3.00 KB  31.9 %   3.00 KB      1  \u2026s_of_all_kinds[1e400-decimal]  (at 14.0 us)
  1.40 KB  14.9 %   1.40 KB      2  request  (at 9.00 us)
  1.00 KB  10.6 %   1.00 KB      2  request  (at 4.00 us)
     10 B   0.1 %      10 B      1  [start]

  no room for leaked, temporary, peak (--width N)
"""
    whole = tool("report", "--by", "mark", "--full", marked).stdout
    assert r"test_\x1b[31mnumbers.py" in whole and "\x1b" not in whole


def test_without_marks(mallow, example):  # noqa: F811
    run = run_tool(mallow, "report", "--by", "mark", example)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"mallow: {example}: the recording has no marks\n")


def test_very_many_marks(tool, record):
    """Each request of a service has a mark, and a row with its peak."""
    ran = record(["/usr/bin/python3", "-c",
                  "import ctypes\n"
                  "mark = ctypes.CDLL(None).mallow_api_mark\n"
                  "for i in range(100000):\n"
                  "    mark(b'request %d' % i)\n"
                  "    kept = bytearray(5000 + i % 50)\n"])
    said = json_by(tool, "mark", ran.path)
    assert said["row_count"] == len(said["rows"]) == 100_001
    peaks = {row["mark"]: row["own_peak_bytes"] for row in said["rows"]}
    assert len(peaks) == 100_001
    for i in range(100_000):
        assert 5000 + i % 50 < peaks[f"request {i}"] < 6000 or i == 99_999


# --- a moment ---

@pytest.mark.parametrize("moment", ["0%", "2s", "50%", "1005", "peak", "end", "200%"])
def test_at(tool, example, moment):  # noqa: F811
    at = json.loads(tool("report", "--json", "--at", moment, example).stdout)
    assert at["at"] == moment and isinstance(at["at_s"], (int, float)) and at["filter"] == {"alive_at": moment}
    # All of it was live at once.
    assert at["peak_bytes"] == at["total_bytes"] and at["peak_blocks"] == at["matched"]


def test_at_in_words(tool, example):  # noqa: F811
    text = tool("report", "--at", "50%", example).stdout
    assert "\n  what was live at 50%, at 5.00 s of 10.0 s\n" in text
    assert "\n  live         1.12 KB  in 3 blocks\n" in text
    assert "\n  leaked         116 B  of that, in 2 blocks never freed\n" in text
    assert "\nLive then " in text
    assert "1. 1.00 KB  89.6 % of live  1 block\n" in text
    assert "alive_at" not in text and "peak" not in text and "temporary" not in text
    both = tool("report", "--at", "5s", "--size-max", "50", example).stdout
    assert "at 5s, at 5.00 s of 10.0 s\n  only size_max=50: 1 of 6 allocations, 16.7 %\n" in both
    assert "before the start" in tool("report", "--at", "999", example).stdout
    assert "after the end" in tool("report", "--at", "11s", example).stdout
    tree = tool("report", "--tree", "--at", "5s", example).stdout
    assert "Call tree by live (bytes live at that moment)" in tree
    by = tool("report", "--by", "function", "--at", "5s", example).stdout
    assert "All 3 functions by live (bytes live at that moment)" in by


# --- tables ---

def parse(text):
    """Rows of CSV, each with as many fields as the header has."""
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert {len(row) for row in found} == {len(found[0])}
    assert text.endswith("\r\n") and "\n" not in re.sub(r'"[^"]*"', "", text).replace("\r\n", "")
    return [dict(zip(found[0], row)) for row in found[1:]]


def table(mallow, *words):
    """What `mallow report --csv` says; lines end as they do there."""
    run = subprocess.run([str(mallow), "report", "--csv", *map(str, words)], capture_output=True,
                         env=clean_environment(), timeout=60)
    assert (run.returncode, run.stderr) == (0, b"")
    return parse(run.stdout.decode())


HOSTILE = 'a,b"c\nd;e'


def shown(name):
    """As it stands in a field: each row is one line."""
    return name.replace("\n", r"\x0a")


def test_csv_of_sites(tool, mallow, tmp_path):
    made = Made(tmp_path, ["main", "work"], libraries=[(f"/usr/{HOSTILE}.so", ["dark"])])
    made.allocate(["main", "work"], 1000)
    made.free(made.allocate(["main", "dark"], 30))
    path = made.write()
    found = table(mallow, path)
    report = tool.report(path)
    assert len(found) == len(report["sites"]) == 2
    for row, site in zip(found, report["sites"]):
        assert {field: int(row[field]) for field in [*SUMS, "own_peak_bytes"]} == \
            {field: site[field] for field in [*SUMS, "own_peak_bytes"]}
        assert row["function"] == shown(site["stack"][0]["function"])
        assert row["module"] == shown(site["stack"][0]["module"])
        assert (row["file"], row["line"]) == ("", "")
    assert found[0]["stack"] == "work;main"
    assert found[1]["module"] == shown(f"/usr/{HOSTILE}.so")
    assert found[1]["stack"].endswith(";main") and found[1]["stack"].count(";") == 1
    assert len(table(mallow, "--top", "1", path)) == 1


def test_csv_of_several(mallow, tmp_path):
    """One header; the first column says which recording."""
    made = Made(tmp_path, ["main", "work"])
    made.allocate(["main", "work"], 1000)
    paths = [made.write("one.mallow")]
    made = Made(tmp_path, ["main", "work"], pid=77)
    made.allocate(["main", "work"], 500)
    paths.append(made.write("two.mallow"))
    for options in ([], ["--by", "function"], ["--by", "thread"], ["--histogram", "size"]):
        found = table(mallow, *options, *paths)
        assert {row["recording"] for row in found} == set(map(str, paths))
        assert list(found[0])[0] == "recording"


@pytest.mark.parametrize("by", BY_STACKS + BY_BLOCKS)
def test_csv_by(tool, mallow, example, by):  # noqa: F811
    found = table(mallow, "--by", by, example)
    wanted = json_by(tool, by, example)["rows"]
    assert len(found) == len(wanted) > 0
    for row, other in zip(found, wanted):
        peak = other["own_peak_bytes"]
        assert row["own_peak_bytes"] == ("" if peak is None else str(peak))
        assert {field: int(row[field]) for field in SUMS} == {field: other[field] for field in SUMS}
        for field in SUMS if by in BY_STACKS else []:
            assert int(row[f"inclusive_{field}"]) == other["inclusive"][field]
        if by in BY_STACKS:
            assert row["function" if by == "frame" else by] == other["name"]
        elif by == "size":
            assert (int(row["size_min"]), int(row["size_max"])) == row_key(other, by)
        else:
            assert (int(row["tid"]), row["thread"]) == (other["tid"], other["thread"])


@pytest.mark.parametrize("of, unit", [("size", ""), ("lifetime", "_ns")])
def test_csv_of_histograms(tool, mallow, example, of, unit):  # noqa: F811
    found = table(mallow, "--histogram", of, example)
    wanted = json.loads(tool("report", "--json", "--histogram", of, example).stdout)
    assert [(row["class"], int(row[f"{of}_min{unit}"]), int(row[f"{of}_max{unit}"]),
             int(row["calls"]), int(row["bytes"])) for row in found if row["class"] == of] == \
        [(of, one[f"{of}_min{unit}"], one[f"{of}_max{unit}"], one["calls"], one["bytes"])
         for one in wanted["classes"]]
    if of == "lifetime":
        assert found[-1] == {"class": "leaked", "lifetime_min_ns": "", "lifetime_max_ns": "",
                             "calls": "4", "bytes": "232"}


# --- how it looks ---

@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("looks"),
                ["main", "serve", "_ZN5cache6insertERKSt6stringS2_RKSt6vectorIiSaIiEE", "parse"],
                libraries=[("/usr/lib/libdark.so", ["dark"])])
    insert = "_ZN5cache6insertERKSt6stringS2_RKSt6vectorIiSaIiEE"
    blocks = [made.allocate(["main", "serve", insert], 4096) for _ in range(20)]
    for _ in range(1500):
        made.free(made.allocate(["main", "serve", "parse"], 100))
    made.tick(2_000_000)
    for block in blocks[:15]:
        made.free(block)
    made.allocate(["main", "dark"], 300)
    return made.write()


def below(text, title):
    return text[text.index(title):]


def test_by_on_a_terminal(mallow, looks):
    text = on_terminal([mallow, "report", "--by", "function", looks], 80,
                       clean_environment({"NO_COLOR": "1"}))
    assert below(text, "All ") == """\
All 2 functions by peak (bytes live at the moment of the global peak)

     self   share  inclusive  calls   leaked    total  function
  81.9 KB  99.9 %    81.9 KB     20  20.5 KB  81.9 KB  cache::insert
    100 B   0.1 %      100 B  1,500      0 B   150 KB  parse

  no room for temporary (--width N)
"""
    text = on_terminal([mallow, "report", "--by", "function", "--inclusive", "--top", "2", looks],
                       80, clean_environment({"NO_COLOR": "1"}))
    assert below(text, "Top ") == """\
Top 2 functions by inclusive peak (bytes live at the moment of the global peak)

  inclusive  share  self  calls   leaked   total  function
    82.0 KB  100 %   0 B  1,521  20.8 KB  232 KB  main
    82.0 KB  100 %   0 B  1,520  20.5 KB  232 KB  serve

  no room for temporary (--width N)

  … 2 more (--top N shows more)
"""
    text = on_terminal([mallow, "report", "--by", "thread", looks], 80,
                       clean_environment({"NO_COLOR": "1"}))
    assert below(text, "All ") == """\
All 1 thread by peak (bytes live at the moment of the global peak)

     peak  share  own peak  calls   leaked   total  thread
  82.0 KB  100 %   82.0 KB  1,521  20.8 KB  232 KB  toyd  (tid 4000000)

  no room for temporary (--width N)
"""


def test_more_room_more_columns(mallow, tool, looks):
    """With --full and as many as lines need, all; with --full whole names, too."""
    words = ["report", "--by", "function"]
    for columns, wanted in ((64, "inclusive  calls  function"), (80, "leaked    total  function"),
                            (132, "leaked    total  temporary  function"),
                            (0, "leaked    total  temporary  function")):
        piped = tool(*words, "--width", columns, looks).stdout
        assert wanted in piped and " cache::insert\n" in piped
        if columns:
            quiet = clean_environment({"NO_COLOR": "1"})
            assert on_terminal([mallow, *words, looks], columns, quiet) == piped
            assert on_terminal([mallow, *words, "--width", columns, looks], 50, quiet) == piped
    assert tool(*words, looks).stdout == tool(*words, "--width", 80, looks).stdout
    for text in (tool(*words, "--full", looks).stdout,
                 on_terminal([mallow, *words, "--full", looks], 80,
                             clean_environment({"NO_COLOR": "1"}))):
        assert "temporary  function\n" in text
        assert "cache::insert(std::string const&, std::string const&, std::vector<int, " \
               "std::allocator<int>> const&)\n" in text


def test_what_runs_before_main_is_left_out(tool, tmp_path):
    """Unless --full asks for it, or it allocates itself."""
    made = Made(tmp_path, ["_start", "__libc_start_main", "main"])
    made.allocate(["_start", "__libc_start_main", "main"], 100)
    path = made.write()
    words = ["report", "--by", "frame", "--inclusive"]
    assert "All 1 frame by inclusive peak" in tool(*words, path).stdout
    assert "All 3 frames by inclusive peak" in tool(*words, "--full", path).stdout
    assert len(json_by(tool, "frame", path)["rows"]) == 3
    assert len(json_by(tool, "function", path)["rows"]) == 1
    made = Made(tmp_path, ["_start", "main"], pid=8)
    made.allocate(["_start"], 100)
    path = made.write("own.mallow")
    assert "_start" in tool(*words, path).stdout
    assert "_start" in tool("report", "--by", "function", path).stdout


def test_histograms_on_a_terminal(mallow, looks):
    text = on_terminal([mallow, "report", "--histogram", "lifetime", looks], 80,
                       clean_environment({"NO_COLOR": "1"}))
    assert below(text, "1,521 allocations") == """\
1,521 allocations by lifetime (from malloc to free)

        lived  allocations                          bytes
  512 ns–1 us        1,500 █████████████████████   150 KB █████████████████████
            …
       4–8 ms           15 ▏                      61.4 KB ████████▌
       leaked            6 ▏                      20.8 KB ██▉
"""
    text = on_terminal([mallow, "report", "--histogram", "size", looks], 60,
                       clean_environment({"NO_COLOR": "1"}))
    assert below(text, "1,521 allocations") == """\
1,521 allocations by size (as requested)

         size  allocations                bytes
     65–128 B        1,500 ███████████   150 KB ███████████
    129–256 B            0                  0 B
    257–512 B            1 ▏              300 B ▏
  513 B–1 KiB            0                  0 B
      1–2 KiB            0                  0 B
      2–4 KiB           20 ▏            81.9 KB ██████
"""


@pytest.mark.parametrize("options", [
    *(["--by", by] for by in BY_STACKS + BY_BLOCKS), ["--by", "function", "--bytes"],
    ["--by", "function", "--inclusive"], ["--histogram", "size"], ["--histogram", "lifetime"],
    ["--histogram", "lifetime", "--bytes"], ["--at", "peak"]])
@pytest.mark.parametrize("columns", [80, 132])
def test_fits_a_terminal(mallow, looks, columns, options):
    text = on_terminal([mallow, "report", *options, looks], columns)
    assert "\x1b[1m" in text
    plain = re.sub(r"\x1b\[\d*m", "", text)
    assert max(map(len, plain.splitlines())) <= columns
    assert not re.search(" $", plain, re.M)
    quiet = on_terminal([mallow, "report", *options, looks], columns,
                        clean_environment({"NO_COLOR": "1"}))
    assert quiet == plain


def test_empty(tool, mallow, tmp_path):
    path = Made(tmp_path, ["main"]).write()
    assert "No function has any: peak is 0." in tool("report", "--by", "function", path).stdout
    assert "No allocations." in tool("report", "--histogram", "size", path).stdout
    assert "No site has live: live is 0." in tool("report", "--at", "50%", path).stdout
    assert json_by(tool, "thread", path)["rows"] == []
    assert table(mallow, "--by", "size", path) == []


# --- words ---

@pytest.mark.parametrize("words, message", [
    (["--by", "functoin"], "'functoin' is no value of --by: did you mean 'function'?"),
    (["--by", "xyzzy"], "'xyzzy' is no value of --by: one of function frame file line module thread "
                        "size mark is wanted"),
    (["--by"], "option '--by' of 'report' needs a value: --by WHAT"),
    (["--histogram", "sizes"], "'sizes' is no value of --histogram: did you mean 'size'?"),
    (["--at", "5 parsecs"], "'5 parsecs' is no value of --at: UNIX seconds, a time since the start "
                            "such as 500ms or 1m30s, a percentage of the run such as 12.5%, peak, "
                            "end, on#2 or off#2 where recording went on and off for the second "
                            "time, or the name of a mark is wanted"),
    (["--at", "1s", "--merge"], "--merge and --at exclude each other"),
    (["--by", "thread", "--merge"], "--by thread and --merge exclude each other"),
    (["--by", "mark", "--merge"], "--by mark and --merge exclude each other"),
    (["--histogram", "size", "--merge"], "--histogram and --merge exclude each other"),
    (["--histogram", "size", "--top", "3"], "--histogram and --top exclude each other"),
    (["--histogram", "size", "--by", "size"], "--by and --histogram exclude each other"),
    (["--by", "size", "--tree"], "--by and --tree exclude each other"),
    (["--csv", "--json"], "--json and --csv exclude each other"),
    (["--csv", "--tree"], "--csv and --tree exclude each other"),
    (["--csv", "--errors"], "--csv and --errors exclude each other"),
    (["--csv", "--pools"], "--csv and --pools exclude each other"),
    (["--inclusive"], "--inclusive needs --by function, frame, file, line or module"),
    (["--inclusive", "--by", "size"], "--inclusive needs --by function, frame, file, line or module"),
])
def test_wrong_words(mallow, example, words, message):  # noqa: F811
    run = run_tool(mallow, "report", example, *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mallow: {message}\n")


def test_a_mark_that_is_not_there(mallow, example):  # noqa: F811
    run = run_tool(mallow, "report", "--at", "loaded", example)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"mallow: {example}: --at: 'loaded': the recording has no marks\n"
