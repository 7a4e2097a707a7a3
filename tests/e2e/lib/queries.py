"""Recordings and filters, and the program that answers them (tests/unit/filter_query.c)."""
import re
import subprocess

import pytest

from conftest import clean_environment
from mallow_reader import POOL_ALLOC, POOL_NAME
from recording_writer import ChunkWriter, Writer, zigzag

BIAS = 0x10000000
MALLOC, CALLOC, MEMALIGN, NEW_ARRAY, REALLOC, FREE = 1, 2, 7, 11, 18, 20
FRAME, MODULE, THREAD, PROCESS, MMAP, MUNMAP, MARK, END, TAG, STACK, CULLED = \
    0x81, 0x82, 0x84, 0x87, 0x88, 0x89, 0x8d, 0x91, 0x95, 0xa8, 0xaa
SECOND = 10**9
SOURCES = {
    "reader.c": "int read_all(int x) { return x * 3 + 1; }\nint read_one(int x) { return x * 5; }\n",
    "writer.c": "int write_all(int x) { return x * 7 + 1; }\nint flush(int x) { return x - 9; }\n"
                "int _mi_fill(int x) { return x * 9 + 1; }\n",
    "inlined.c": "static inline __attribute__((always_inline)) int inner(volatile int *x)\n"
                 "{ *x += 1; *x *= 3; *x += 5; return *x; }\n"
                 "int outer(volatile int *x) { return inner(x); }\n",
}
# The last one is named like a part of an allocator, so that it is nobody's own code.
FUNCTIONS = ["read_all", "read_one", "write_all", "flush", "outer", "_mi_fill"]


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
        self.line_of = {}  # {(pc, function): line}
        self.frames_of = {pc: self.lines(pc) for pc in self.pcs.values()}

    def lines(self, pc):
        out = subprocess.run(["addr2line", "-f", "-i", "-e", self.path, hex(pc - 1 - BIAS)],
                             capture_output=True, text=True, check=True).stdout.split("\n")
        lines = [(function, *place.split(" ")[0].rsplit(":", 1)) for function, place
                 in zip(out[:-1:2], out[1:-1:2])]
        self.line_of.update({(pc, function): int(line) for function, _, line in lines})
        return [(function, source) for function, source, _ in lines]


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
    ({"freed_from": "2s"}, "a1 c1"),
    ({"freed_from": "2001ms"}, "c1"),
    ({"freed_from": "0%", "freed_to": "100%"}, "a1 c1"),
    ({"freed_to": "6s"}, "a1 c1"),
    ({"freed_to": "1002"}, "a1"),
    ({"freed_to": "1001"}, ""),
    ({"freed_to": "999"}, ""),
    ({"freed_to": "5s", "lifetime": "only_temporary"}, "a1"),
    ({"freed_to": "5s", "to": "6s", "lifetime": IN_RANGE}, "a1"),
    ({"freed_from": "999", "lifetime": "only_leaked"}, ""),
    ({"from": "20%", "freed_to": "60%"}, "c1"),
    ({"free_thread": "toyd"}, "a1 c1"),
    ({"free_thread": "500"}, "a1 c1"),
    ({"free_thread": "501"}, ""),
    ({"temporary": "yes"}, "c1"),
    ({"temporary": "no"}, "a1 b1 a2 b2 a3"),
    ({"negative_module_regex": "toyd$"}, ""),
    ({"negative_module_regex": "libgone"}, "a1 b1 a2 c1 b2 a3"),
    ({"entry": "malloc"}, "a1 b1 a2 c1 b2 a3"),
    ({"entry": "realloc"}, ""),
    ({"chain": "0"}, "a1"),
    ({"chain": "0x5"}, "a3"),
    ({"chain": "6"}, ""),
    ({"chain": "18446744073709551615"}, ""),
    ({"suppress": "leak:read_one"}, "a1 a2 c1 a3"),
    ({"suppress": "leak:^read_*e$\nleak:write"}, "a1 a2 c1 a3"),
    ({"suppress": "# all that leaks\n\n  leak:toyd  "}, "a1 c1"),
    ({"suppress": "leak:none"}, "a1 b1 a2 c1 b2 a3"),
    ({"suppress": "# none"}, "a1 b1 a2 c1 b2 a3"),
    ({"alive_at": "2s"}, "b1"),
    ({"alive_at": "5s"}, "b1 a2 c1"),
    ({"alive_at": "peak"}, "b1 a2 c1"),
    ({"alive_at": "end"}, "a2 a3 b1 b2"),
    ({"alive_at": "5s", "alive_at_2": "100%"}, "b1 a2"),
]
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
            made.allocate(at, address, size, dice.choice(stacks), stream,
                          op=dice.choice([MALLOC, MALLOC, CALLOC, NEW_ARRAY]), flags=dice.randrange(4),
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
        elif action < 0.95:
            at += 2 * unit
            pages = [4096 * dice.randrange(2), 4096 * dice.randrange(1, 3)]
            if dice.random() < 0.6:
                made.other(at, MMAP, 0, *pages, 3, 0x22, zigzag(-1), 0, stream=stream)
            else:
                made.other(at, MUNMAP, *pages, stream=stream)
            at += 2 * unit
        elif action < 0.97:
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
        lambda: (dice.choice(["from", "to", "until", "alive_at", "alive_at_2", "freed_from",
                              "freed_to"]),
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
        lambda: bounds("group_max_total_usage_first_seen", random_moment(dice, unit)),
        lambda: ("from_map", str(dice.randrange(4))),
        lambda: ("jemalloc", dice.choice(["yes", "no"])),
        lambda: (dice.choice(["tag", "marker"]), str(dice.randrange(3))),
        lambda: ("pool", dice.choice(["arena", *map(hex, POOLS), "nobody"])),
        lambda: (dice.choice(["thread", "free_thread"]), dice.choice(["500", "501", "toyd", "worker", "nobody"])),
        lambda: ("entry", dice.choice(["malloc", "calloc", "realloc", "operator new[]", "memalign"])),
        lambda: ("chain", dice.choice([str, hex])(dice.randrange(25))),
        lambda: ("suppress", "\n".join(f"leak:{word}" for word in dice.choices([
            "read", "^write", "all$", "inlined.c", "libgone", "unknown", "read*all", "none"],
            k=dice.randrange(1, 3)))),
        lambda: ("temporary", dice.choice(["yes", "no"])),
        lambda: ("mmaped", dice.choice(["yes", "no"])),
        lambda: ("arena", dice.choice(["main", "non_main"])),
        lambda: (dice.choice(["function_regex", "negative_function_regex"]),
                 dice.choice(["read", "^write", "all$", "inner|flush", "none", "libgone", "."])),
        lambda: (dice.choice(["source_regex", "negative_source_regex"]),
                 dice.choice(["reader", r"\.c$", "^reader", "inlined", "none"])),
        lambda: ("allocated_by", dice.choice(["read", "^write", "all$", "inner|flush", "none"])),
        lambda: (dice.choice(["module_regex", "negative_module_regex"]), dice.choice(["gone", "toyd$", "^/no/such", "none"])),
    ]
    return dice.choice(kinds)()


def filter_lines(filters):
    """Dicts of conditions as tests/unit/filter_query.c reads them."""
    return "".join("\t".join(f"{name}={value}" for name, value in one.items()).replace("\n", "\r") + "\n"
                   for one in filters)


def run_tool(mallow, *words):
    return subprocess.run([str(mallow), *map(str, words)], capture_output=True, text=True,
                          env=clean_environment(), timeout=60)
