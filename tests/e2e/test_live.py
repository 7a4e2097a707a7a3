"""MODE=live: the table of what is live, as an independent reader finds it (live_reader.py)."""
import collections
import os
import pathlib
import signal
import subprocess
import time

import pytest

import expect
import live_reader
from conftest import clean_environment, names_of_stack

KEEPER = pathlib.Path(__file__).with_name("keep_table.sh")
PYTHON = "/usr/bin/python3"
# Fields of EXPECT lines that a table can answer.
FIELDS = ("calls", "total_bytes", "leaked_blocks", "leaked_bytes", "depth")
SIMPLE = ["c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain", "hand_over",
          "alone_and_together", "deep", "own_pieces", "life_cycle", "thread_local", "exceptions",
          "realloc_races", "live_threads"]
INNER = ["longjmp", "signal_handler", "fiber"]


class Ran:
    """A program that ran, and the tables that were kept of it, in their order."""

    def __init__(self, folder, run):
        self.run = run
        self.paths = sorted(folder.glob("*.mallow"), key=lambda path: int(path.name.split(".")[0]))
        self.tables = [live_reader.read(path) for path in self.paths]
        self.arguments = [path.with_suffix(".arguments").read_text().split() for path in self.paths]

    @property
    def table(self):
        """The last one: that of the end."""
        assert self.tables, self.run.stderr
        return self.tables[-1]


@pytest.fixture
def live(agent, tmp_path):
    """live(command, …): runs a program in MODE=live; the helper keeps its tables."""

    def run(command, settings=None, env=None, status=0, **options):
        folder = tmp_path / f"tables{len(list(tmp_path.iterdir()))}"
        environment = clean_environment(env)
        given = {"MODE": "live", "HELPER": KEEPER, "TABLES": folder, **(settings or {})}
        environment.update({f"MALLOW_{name}": str(value) for name, value in given.items()
                            if value is not None})
        environment["LD_PRELOAD"] = str(agent)
        result = subprocess.run([str(word) for word in command], env=environment, timeout=120,
                                capture_output=True, text=True, **options)
        assert result.returncode == status, result.stderr
        return Ran(folder, result)

    return run


def by_function(table, functions_of):
    """{function: expect.Found} over the stacks that contain it."""
    found = collections.defaultdict(expect.Found)
    for site in table.sites.values():
        stack = table.stack(site.node)
        for name in set(names_of_stack(table.recording, stack, functions_of)) - {None}:
            function = found[name]
            function.calls += site.calls
            function.total_bytes += site.bytes
            function.leaked_blocks += site.calls - site.freed_calls
            function.leaked_bytes += site.bytes - site.freed_bytes
            function.depth = max(function.depth, len(stack))
    return found


def check(table, name, functions_of, *kinds):
    """The table is sound and holds what the sample states."""
    wanted = {function: {field: value for field, value in fields.items() if field in FIELDS}
              for function, fields in expect.expectations(name, *kinds).items()}
    assert any(wanted.values()), name
    expect.check(wanted, by_function(table, functions_of))
    table.assert_consistent()
    assert not table.recording.events and not table.recording.damages
    assert table.recording.dangling() == ([], [])


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
@pytest.mark.parametrize("name", SIMPLE)
def test_sample(name, opt, compile_sample, live, functions_of):
    ran = live([compile_sample(name, "gcc", opt)], status=7)
    assert (ran.run.stdout, ran.run.stderr) == ("ok\n", "")
    check(ran.table, name, functions_of, "GLIBC")
    assert ran.table.header.lost == 0, ran.table.header.losses


@pytest.mark.parametrize("name", ["c_family", "realloc_chain", "hand_over", "life_cycle"])
def test_musl(name, compile_sample, live, functions_of):
    ran = live([compile_sample(name, "musl", "-O2")], status=7)
    assert ran.table.header.allocator == 2
    check(ran.table, name, functions_of)


@pytest.mark.parametrize("name", INNER)
def test_inside_the_allocator(name, compile_sample, inner_allocator, live, functions_of):
    """Signals, longjmp and fiber switches in the middle of malloc."""
    ran = live([compile_sample(name, "gcc", "-O2", inner_allocator)], status=7)
    check(ran.table, name, functions_of)
    losses = ran.table.header.losses
    assert sum(losses.values()) == losses["interrupted"], losses


def test_threads(compile_sample, live):
    """Who allocated, and who freed whose, to the block."""
    ran = live([compile_sample("live_threads", "gcc", "-O1")], status=7)
    threads = ran.table.per_thread()
    # Blocks of a thread's own start are the C library's; the sample's own are told by their number.
    assert threads["maker"][:2] == [1000, 100000]
    assert threads["maker"][2:] == [200, 20000, 600, 60000]
    assert threads["taker"] == [50, 50000, 300, 30000, 0, 0]
    assert threads["resizer"] == [120, 1000030000, 120, 1000020000, 20, 1000010000]
    assert threads["again"] == [21, 336, 0, 0, 0, 0]
    names = [thread.name for thread in ran.table.threads]
    assert names.count("again") == 1, "an ended thread's entry is the next one's of its name"
    freed = {(ran.table.threads[who].name, ran.table.threads[whose].name): sums
             for (who, whose), sums in ran.table.freed.items()}
    assert freed["taker", "maker"] == (300, 30000)
    assert freed["resizer", "maker"] == (100, 10000)


def test_python(live):
    ran = live([PYTHON, "-c", "x = [str(i) * 100 for i in range(1000)]; print(len(x))"])
    assert ran.run.stdout == "1000\n" and ran.run.stderr == ""
    ran.table.assert_consistent()
    assert ran.table.header.lost == 0
    assert max(len(ran.table.stack(site.node)) for site in ran.table.sites.values()) > 10


def test_a_running_program(compile_sample, preload):
    """/proc/PID/fd/N is a recording."""
    environment = preload(MODE="live", HELPER="/bin/true")
    program = subprocess.Popen([PYTHON, "-c", "import sys; x = bytearray(5000000); print(1, flush=True);"
                                "sys.stdin.read()"], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    with program:
        program.stdout.readline()
        table = live_reader.read_process(program.pid)
        table.assert_consistent()
        assert [block.size for block in table.blocks() if block.size >= 5000000]
        program.stdin.close()
    assert program.returncode == 0
