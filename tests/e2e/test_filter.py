"""The filter: the worked example row by row, thousands of random filters on random recordings
against filter_reference.py, the command line, and patterns that take for ever."""
import json
import random
import re
import resource
import subprocess

import pytest

import made_recording
import mallow_reader
from conftest import TOP, built, clean_environment
from filter_reference import Blocks
from mallow_reader import POOL_ALLOC, POOL_NAME
from recording_writer import ChunkWriter, Writer, varint, zigzag

BIAS = 0x10000000
MALLOC, MEMALIGN, REALLOC, FREE = 1, 7, 18, 20
FRAME, MODULE, THREAD, PROCESS, MARK, END, TAG, STACK, CULLED = \
    0x81, 0x82, 0x84, 0x87, 0x8d, 0x91, 0x95, 0xa8, 0xaa
SECOND = 10**9

SOURCES = {
    "reader.c": "int read_all(int x) { return x * 3 + 1; }\nint read_one(int x) { return x * 5; }\n",
    "writer.c": "int write_all(int x) { return x * 7 + 1; }\nint flush(int x) { return x - 9; }\n",
    "inlined.c": "static inline __attribute__((always_inline)) int inner(volatile int *x)\n"
                 "{ *x += 1; *x *= 3; *x += 5; return *x; }\n"
                 "int outer(volatile int *x) { return inner(x); }\n",
}
FUNCTIONS = ["read_all", "read_one", "write_all", "flush", "outer"]


class Program:
    """A library with functions of several sources, and what addr2line says of their addresses."""

    def __init__(self, folder):
        self.path = folder / "toyd"
        for name, text in SOURCES.items():
            (folder / name).write_text(text)
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", self.path, *SOURCES],
                       cwd=folder, check=True)
        symbols = subprocess.run(["nm", self.path], capture_output=True, text=True,
                                 check=True).stdout
        addresses = {name: int(address, 16) for address, name
                     in re.findall(r"^([0-9a-f]+) T (\w+)$", symbols, re.M)}
        # Return addresses: behind the first bytes of the function.
        self.pcs = {name: BIAS + addresses[name] + 4 for name in FUNCTIONS}
        self.frames_of = {pc: self.lines(pc) for pc in self.pcs.values()}

    def lines(self, pc):
        out = subprocess.run(["addr2line", "-f", "-i", "-e", self.path, hex(pc - 1 - BIAS)],
                             capture_output=True, text=True, check=True).stdout.split("\n")
        return [(function, place.rsplit(":", 1)[0]) for function, place
                in zip(out[:-1:2], out[1:-1:2])]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("program"))


class Recorded:
    """A recording in the making, of some streams; time is in nanoseconds since the start."""

    def __init__(self, program, streams=1, **facts):
        self.program = program
        self.writer = Writer(**facts)
        self.start = self.writer.facts["ticks"]
        self.chunks, self.depths = [], [0] * streams
        for i in range(streams):
            chunk = ChunkWriter(i + 1, 0, self.start, glibc=self.writer.facts["allocator"] == 1)
            self.chunks.append(chunk)
            chunk.other(THREAD, 0, 500 + i, text=b"toyd" if i == 0 else b"worker")
        chunk = self.chunks[0]
        chunk.other(PROCESS, 1, text=bytes(program.path))
        chunk.other(MODULE, 0, 1, 1, BIAS, BIAS, BIAS + 0x100000, 0, text=bytes(program.path))
        chunk.other(MODULE, 0, 2, 1, 0x70000000, 0x70000000, 0x70100000, 0,
                    text=b"/no/such/libgone.so")
        self.ids = {name: i + 1 for i, name in enumerate([*FUNCTIONS, "gone"])}
        for name in FUNCTIONS:
            chunk.other(FRAME, self.ids[name], program.pcs[name], 1)
        chunk.other(FRAME, self.ids["gone"], 0x70001234, 2)

    def _time(self, at, stream):
        """Not before the end of the stream's latest realloc."""
        return max(self.start + at, self.chunks[stream].time)

    def _change(self, stream, stack):
        change = (self.depths[stream], [self.ids[name] for name in stack])
        self.depths[stream] = len(stack)
        return change

    def allocate(self, at, address, size, stack, stream=0, op=MALLOC, **more):
        self.chunks[stream].allocate(op, self._time(at, stream), address, size,
                                     change=self._change(stream, stack), **more)

    def free(self, at, address, stream=0):
        self.chunks[stream].free(self._time(at, stream), address)

    def other(self, at, kind, *fields, stream=0, text=b""):
        chunk = self.chunks[stream]
        chunk.other(kind, chunk.at(self._time(at, stream)), *fields, text=text)

    def write(self, path, end):
        self.other(end, END, self.start + end, 1, 0)
        for chunk in self.chunks:
            self.writer.add(chunk.image())
        path.write_bytes(self.writer.image())
        return path


def query(path, filters):
    """The tool's answers: a filter is a dict of conditions."""
    helper = built("MALLOW_FILTER_QUERY", TOP / "build" / "meson" / "tests" / "unit" / "filter_query")
    lines = "".join("\t".join(f"{name}={value}" for name, value in one.items()) + "\n"
                    for one in filters)
    run = subprocess.run([str(helper), str(path)], input=lines, capture_output=True, text=True,
                         env=clean_environment(), timeout=120)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


# The worked example of the contract: the run is from 1000 s to 1010 s of UNIX time.
NAMES = ["a1", "b1", "a2", "c1", "b2", "a3"]  # in order of allocation


@pytest.fixture(scope="module")
def example(program, tmp_path_factory):
    made = Recorded(program, ticks=7, monotonic=7, realtime=1000 * SECOND)
    a, b, c = ["outer", "read_all"], ["outer", "read_one"], ["write_all"]
    made.allocate(1 * SECOND, 0x1000, 16, a)
    made.allocate(2 * SECOND, 0x2000, 100, b)
    made.free(2 * SECOND, 0x1000)
    made.allocate(3 * SECOND, 0x3000, 16, a)
    made.allocate(4 * SECOND, 0x4000, 1000, c)
    made.free(6 * SECOND, 0x4000)
    made.allocate(8 * SECOND, 0x5000, 100, b)
    made.allocate(9 * SECOND, 0x6000, 16, a)
    return made.write(tmp_path_factory.mktemp("example") / "example.mallow", 10 * SECOND)


IN_RANGE, OUT_OF_RANGE = "only_deallocated_in_current_range", "only_not_deallocated_in_current_range"
ROWS = [
    ({}, "a1 b1 a2 c1 b2 a3"),
    ({"lifetime": "all"}, "a1 b1 a2 c1 b2 a3"),
    ({"lifetime": "only_leaked"}, "a2 a3 b1 b2"),
    ({"lifetime": "only_temporary"}, "a1 c1"),
    ({"lifetime": "only_whole_group_leaked"}, "b1 b2"),
    ({"from": "20%", "to": "60%"}, "b1 a2 c1"),
    ({"from": "1002", "to": "1006"}, "b1 a2 c1"),
    ({"from": "2s", "to": "6s"}, "b1 a2 c1"),
    ({"from": "20%", "to": "60%", "lifetime": OUT_OF_RANGE}, "b1 a2"),
    ({"from": "20%", "to": "60%", "lifetime": IN_RANGE}, "c1"),
    ({"from": "20%", "until": "60%", "lifetime": IN_RANGE}, "c1"),
    ({"from": "1002", "to": "1005", "lifetime": OUT_OF_RANGE}, "b1 a2 c1"),
    ({"lifetime": OUT_OF_RANGE}, "a2 a3 b1 b2"),
    ({"lifetime": IN_RANGE}, "a1 c1"),
    ({"group_interval_min": "50%"}, "a1 a2 a3 b1 b2"),
    ({"group_leaked_allocations_min": "50%"}, "a1 a2 a3 b1 b2"),
    ({"group_leaked_allocations_min": "66.67%"}, "b1 b2"),
    ({"group_allocations_min": "2", "group_leaked_allocations_min": "50%"}, "a1 a2 a3 b1 b2"),
    ({"group_leaked_allocations_max": "50%"}, "c1"),
    ({"lifetime_max": "1s"}, "a1"),
    ({"lifetime_min": "2"}, "c1 a2 a3 b1 b2"),
    ({"lifetime_max": "5124095h 2070s"}, "a1 c1"),  # what is leaked lives longer than any time
    ({"lifetime_min": "5124095h 2070s"}, "a2 a3 b1 b2"),
    ({"to": "999"}, ""),
    ({"from": "999"}, "a1 b1 a2 c1 b2 a3"),
    ({"from": "120%"}, ""),
    ({"to": "1005"}, "a1 b1 a2 c1"),
    ({"alive_at": "2s"}, "b1"),
    ({"alive_at": "5s"}, "b1 a2 c1"),
    ({"alive_at": "peak"}, "b1 a2 c1"),
    ({"alive_at": "end"}, "a2 a3 b1 b2"),
    ({"alive_at": "5s", "alive_at_2": "100%"}, "b1 a2"),
]


@pytest.mark.parametrize("conditions, wanted", ROWS, ids=[str(row[0]) for row in ROWS])
def test_the_worked_example(example, conditions, wanted):
    answer, = query(example, [conditions])
    assert sorted(NAMES[index] for index in answer["blocks"]) == sorted(wanted.split())


POOLS = [0x640, 0x5000]


def random_stack(dice):
    return [dice.choice([*FUNCTIONS, "gone"]) for _ in range(dice.randrange(4))]


def random_recording(program, path, dice):
    """Nothing that a program would do: equal times, frees of what is not there, addresses twice."""
    unit = dice.choice([1, 1000, SECOND // 7])
    made = Recorded(program, streams=3, allocator=dice.choice([1, 1, 1, 2]), minor=3)
    stacks = [random_stack(dice) for _ in range(6)]
    live, at = [], 0
    for _ in range(dice.randrange(5, 60)):
        at += dice.choice([0, 0, 1, 1, 2, 9]) * unit
        stream = dice.randrange(3)
        address = 16 * dice.randrange(100, 140)
        action = dice.random()
        if action < 0.5 or not live:
            size = dice.choice([0, 1, 16, 100, 5000, 2**20])
            made.allocate(at, address, size, dice.choice(stacks), stream, flags=dice.randrange(4),
                          usable=size + dice.choice([0, 8, 24]))
            live.append(address)
        elif action < 0.65:
            old = dice.choice(live)
            live.remove(old)
            made.allocate(at, address, dice.randrange(3000), dice.choice(stacks), stream, op=REALLOC,
                          old=old, duration=dice.choice([0, 0, 1]))
            live.append(address)
        elif action < 0.9:
            address = dice.choice(live)
            live.remove(address)
            made.free(at, address, stream)
        elif action < 0.92:
            # At a time of its own: which of a stream's records at one time hold others up is not
            # what this is about.
            at += 2 * unit
            pool = dice.choice(POOLS)
            handed_out = 16 * dice.randrange(100, 140) + dice.choice([0, 8])
            made.other(at, POOL_ALLOC, pool, zigzag(handed_out - pool), 8, stream=stream)
            at += 2 * unit
        elif action < 0.93:
            made.other(at, POOL_NAME, dice.choice(POOLS), stream=stream, text=b"arena")
        elif action < 0.96:
            made.other(at, TAG, dice.randrange(3), stream=stream)
        else:
            made.other(at, MARK, stream=stream, text=dice.choice([b"here", b"there"]))
    for name in (b"here", b"there"):
        made.other(at, MARK, text=name)
    made.write(path, at + unit)
    return unit


def random_moment(dice, unit):
    return dice.choice([
        "0%", "100%", f"{dice.randrange(120)}%", f"{dice.randrange(100)}.{dice.randrange(100):02}%",
        f"{dice.randrange(60) * unit}ns", "peak", "end", "here", "there",
        str(1_700_000_000 + dice.randrange(8))])


def random_interval(dice, unit):
    return dice.choice([f"{dice.randrange(20) * unit}ns", f"{dice.randrange(3)}s 5 ms",
                        f"{dice.randrange(3)}"])


def random_condition(dice, unit):
    def bounds(name, value):
        return f"{name}_{dice.choice(['min', 'max'])}", str(value)

    kinds = [
        lambda: (dice.choice(["from", "to", "until", "alive_at", "alive_at_2"]),
                 random_moment(dice, unit)),
        lambda: ("lifetime", dice.choice([
            "all", "only_leaked", "only_temporary", IN_RANGE, OUT_OF_RANGE,
            "only_whole_group_leaked", "only_chain_leaked"])),
        lambda: bounds(dice.choice(["lifetime", "chain_lifetime", "group_interval"]),
                       random_interval(dice, unit)),
        lambda: bounds("group_interval", f"{dice.randrange(100)}%"),
        lambda: bounds(dice.choice(["size", "slack", "first_size", "last_size"]),
                       dice.choice([0, 1, 8, 16, 100, "1K", "1M", 2999])),
        lambda: bounds("address", dice.choice([16 * dice.randrange(100, 140),
                                               hex(16 * dice.randrange(100, 140))])),
        lambda: bounds(dice.choice(["backtrace_depth", "chain_length", "position_in_chain",
                                    "group_allocations", "group_leaked_allocations"]),
                       dice.randrange(6)),
        lambda: bounds("group_leaked_allocations", dice.choice(["0%", "50%", "33.4%", "100%"])),
        lambda: (dice.choice(["tag", "marker"]), str(dice.randrange(3))),
        lambda: ("pool", dice.choice(["arena", *map(hex, POOLS), "nobody"])),
        lambda: ("thread", dice.choice(["500", "501", "toyd", "worker", "nobody"])),
        lambda: ("mmaped", dice.choice(["yes", "no"])),
        lambda: ("arena", dice.choice(["main", "non_main"])),
        lambda: (dice.choice(["function_regex", "negative_function_regex"]),
                 dice.choice(["read", "^write", "all$", "inner|flush", "none", "libgone", "."])),
        lambda: (dice.choice(["source_regex", "negative_source_regex"]),
                 dice.choice(["reader", r"\.c$", "^reader", "inlined", "none"])),
        lambda: ("module_regex", dice.choice(["gone", "toyd$", "^/no/such", "none"])),
    ]
    return dice.choice(kinds)()


def compare(blocks, conditions, answer):
    numbers = blocks.matching(conditions)
    assert answer.get("blocks") == numbers, (conditions, answer.get("error"))
    sums, sites = blocks.report(numbers)
    report = answer["report"]
    assert report["matched"] == len(numbers) and report["matched_of"] == len(blocks.blocks)
    for field in ("calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes",
                  "leaked_blocks", "temporary"):
        assert report[field] == sums[field], (conditions, field)
    assert report["peak_time_s"] == pytest.approx(sums["peak_time"] / 1e9), conditions
    found = {tuple(int(line["address"], 16) for line in site["stack"]): site
             for site in report["sites"]}
    assert found.keys() == sites.keys(), conditions
    for stack, site in sites.items():
        for field in ("calls", "total_bytes", "peak_bytes", "peak_blocks", "own_peak_bytes",
                      "leaked_bytes", "leaked_blocks", "temporary"):
            assert found[stack][field] == site[field], (conditions, stack, field)


def test_random_filters_on_random_recordings(program, tmp_path):
    """Blocks, sums and sites of some thousands of filters are those of the slow, obvious filter."""
    dice = random.Random(20261122)
    path = tmp_path / "random.mallow"
    matching = compared = 0
    for _ in range(300):
        unit = random_recording(program, path, dice)
        blocks = Blocks(mallow_reader.read(path), program.frames_of)
        filters = [{}] + [dict(random_condition(dice, unit) for _ in range(dice.randrange(1, 4)))
                          for _ in range(30)]
        for conditions, answer in zip(filters, query(path, filters), strict=True):
            compare(blocks, conditions, answer)
            compared += 1
            matching += 0 < len(answer["blocks"]) < len(blocks.blocks)
    assert matching > compared / 4


def run_tool(mallow, *words):
    return subprocess.run([str(mallow), *map(str, words)], capture_output=True, text=True,
                          env=clean_environment(), timeout=60)


def test_the_report_says_what_it_is_of(tool, example):
    text = tool("report", "--size-min", "50", "--lifetime", "only_leaked", example).stdout
    assert "\n  only lifetime=only_leaked, size_min=50: 2 of 6 allocations, 33.3 %\n" in text
    assert "  leaked         200 B  live at the end, in 2 blocks never freed\n" in text
    assert "All 1 site by peak" in text and "read_one" in text and "write_all" not in text
    report = json.loads(tool("report", "--json", "--function-regex", "^write", example).stdout)
    assert report["filter"] == {"function_regex": "^write"}
    assert (report["matched"], report["matched_of"], report["total_bytes"]) == (1, 6, 1000)
    assert "filter" not in json.loads(tool("report", "--json", example).stdout)


def test_tree_and_exports_are_of_the_matching_alone(tool, example):
    tree = tool("report", "--tree", "--function-regex", "read_one", example).stdout
    assert "read_one" in tree and "read_all" not in tree
    collapsed = tool("export", "--to", "collapsed", "--metric", "total", "--until", "5s",
                     "--source-regex", "reader", example).stdout
    assert sorted(collapsed.splitlines()) == ["outer;inner;read_all 32", "outer;inner;read_one 100"]
    assert "write_all" not in tool("export", "--to", "flamegraph", "--lifetime", "only_leaked",
                                   example).stdout


@pytest.mark.parametrize("words, message", [
    (["--size-min", "12x"], "'12x' is no value of --size-min: a size such as 4096, 64K, 10M or 1G "
                            "is wanted"),
    (["--size-max", ""], "'' is no value of --size-max: a size such as 4096, 64K, 10M or 1G is "
                         "wanted"),
    (["--tag", "-1"], "'-1' is no value of --tag: a whole number is wanted"),
    (["--lifetime-min", "1.5s"],
     "'1.5s' is no value of --lifetime-min: a time such as 500ms, 2s or 1h2m3s is wanted"),
    (["--group-interval-min", "5%%"], "'5%%' is no value of --group-interval-min: a time such as "
                                      "500ms, 2s or 1h2m3s, or a percentage of the run such as "
                                      "12.5% is wanted"),
    (["--arena", "mian"], "'mian' is no value of --arena: one of main non_main is wanted"),
    (["--function-regex", "f("], "'f(' is no value of --function-regex: missing closing "
                                 "parenthesis, at character 3"),
    (["--function-regx", "f"],
     "unknown option '--function-regx' of 'report': did you mean '--function-regex'?"),
    (["--from"], "option '--from' of 'report' needs a value: --from MOMENT"),
    (["--merge", "--tag", "1"], "--merge and --tag exclude each other"),
    (["--errors", "--tag", "1"], "--errors and --tag exclude each other"),
    (["--pools", "--tag", "1"], "--pools and --tag exclude each other"),
])
def test_wrong_words(mallow, example, words, message):
    run = run_tool(mallow, "report", example, *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mallow: {message}\n")


def test_a_mark_that_is_not_there(mallow, program, example, tmp_path):
    """The other recordings are shown all the same."""
    made = Recorded(program)
    made.allocate(1, 0x1000, 7, ["read_all"])
    made.other(2, MARK, text=b"loaded")
    other = made.write(tmp_path / "marked.mallow", 3)
    run = run_tool(mallow, "report", "--json", "--to", "loaded", example, other)
    assert (run.returncode, [part["path"] for part in json.loads(run.stdout)]) == (1, [str(other)])
    assert run.stderr == f"mallow: {example}: --to: 'loaded': the recording has no marks\n"
    run = run_tool(mallow, "export", "--to", "collapsed", "--from", "unloaded", other)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (f"mallow: {other}: --from: 'unloaded': the recording has no such mark; "
                          "its first one is 'loaded'\n")


def test_a_finished_recording_gives_the_same(tool, program, tmp_path):
    dice = random.Random(5)
    path = tmp_path / "random.mallow"
    for _ in range(5):
        unit = random_recording(program, path, dice)
        filters = [dict(random_condition(dice, unit) for _ in range(2)) for _ in range(40)]
        before = query(path, filters)
        tool("finish", "--compress", "always", path)
        assert query(path, filters) == before


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"^(\w+\s?)*$", "^(([a-z])+.)+[A-Z]$"])
def test_costly_patterns_end_soon(mallow, tmp_path, pattern):
    made = made_recording.Made(tmp_path, ["a" * 500 + "-1"])
    made.allocate(["a" * 500 + "-1"], 10)
    path = made.write()
    # The limit is one of steps, and a second of the processor a hundred times what they take.
    run = subprocess.run([str(mallow), "report", "--function-regex", pattern, str(path)],
                         capture_output=True, text=True, env=clean_environment(), timeout=60,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 1)))
    assert run.returncode == 1, run.stderr
    assert run.stderr.startswith(
        f"mallow: {path}: --function-regex: the pattern is too costly for 'aaa")
    assert run.stderr.count("\n") == 1


def test_costly_patterns_end_soon_for_many_names(mallow, tmp_path):
    """Each of the searches is within the limit of steps, all together would take seconds."""
    names = ["a" * 17 + f"-{i}" for i in range(5000)]
    made = made_recording.Made(tmp_path, names)
    for name in names:
        made.allocate([name], 10)
    path = made.write()
    run = subprocess.run([str(mallow), "report", "--function-regex", "^(a+)+$", str(path)],
                         capture_output=True, text=True, env=clean_environment(), timeout=60,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)))
    assert run.returncode == 1, run.stderr
    assert "--function-regex: the pattern is too costly for so many names" in run.stderr
    assert run.stderr.count("\n") == 1


def test_culled_blocks_are_in_groups_alone(tool, program, tmp_path):
    """They are allocations of their site, but of no filtered sum; nothing is said of temporary ones."""
    made = Recorded(program, cull_ns=SECOND, minor=3)
    made.allocate(1, 0x1000, 10, ["read_all"])
    made.allocate(2, 0x2000, 100, ["read_one"])
    made.other(3, STACK, 1, 0, b"".join([varint(made.ids["read_all"])]))
    made.chunks[0].other(CULLED, 1, 8, 800, 3)
    path = made.write(tmp_path / "culled.mallow", 10)
    answers = query(path, [{"group_allocations_min": "9"}, {"group_allocations_max": "8"},
                           {"group_leaked_allocations_min": "12%"},
                           {"lifetime": "only_whole_group_leaked"}])
    assert [answer["blocks"] for answer in answers] == [[0], [1], [1], [1]]
    assert [answer["report"]["total_bytes"] for answer in answers] == [10, 100, 100, 100]
    text = tool("report", "--tag", "0", path).stdout
    assert "8 blocks that lived shorter than 1.00 s are left out\n" in text
    assert "2 of 2 allocations\n" in text and "temporary" not in text


def test_the_page_has_the_table(mallow):
    """docs/filter.md holds what `manual filter` prints, word for word."""
    manual = built("MALLOW_MANUAL", TOP / "build" / "meson" / "src" / "cli" / "manual")
    table = subprocess.run([str(manual), "filter"], capture_output=True, text=True,
                           check=True).stdout
    assert table.count("\n") > 40
    assert table in (TOP / "docs" / "filter.md").read_text(), \
        "put the output of build/meson/src/cli/manual filter into docs/filter.md"


@pytest.mark.parametrize("command", ["report", "export"])
def test_help_has_every_condition(mallow, command):
    """Once each; but export's own --to is a format."""
    text = run_tool(mallow, command, "--help").stdout
    table = (TOP / "src" / "analysis" / "filter" / "filter.def").read_text()
    names = re.findall(r'^FILTER\(\w+, "(\w+)"', table, re.M)
    assert len(names) > 40
    for name in names:
        option = "--" + name.replace("_", "-")
        assert len(re.findall(rf"^ +(-\w, )?{option}( |$)", text, re.M)) == 1, option
