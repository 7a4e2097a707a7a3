"""Programs that have little stack: how much of it the agent takes, and that this is not too much.

BOUND is what docs/RELIABILITY.md promises: so much below the function that calls malloc, whatever the
agent has to do. Its slow paths run on stacks of its own (src/agent/ground/signal_bracket.h).
"""
import ctypes
import resource
import subprocess

import pytest

import expect
from conftest import ARCH, clean_environment

BOUND = 1792 if ARCH else 1536
LIMIT = 16 << 10
ADDR_NO_RANDOMIZE = 0x0040000

MODES = {
    "record": {},
    "stacks of frees": {"FREE_STACKS": 1, "MEMORY_SAMPLES": "1ms"},
    "private slots": {"SLOTS": "private"},
    "culled": {"CULL": "1ms"},
    "begun later": {"DISABLE_BY_DEFAULT": 1},
    "live": {"MODE": "live"},
    "samples": {"MODE": "live", "SAMPLE": 50},
}


@pytest.fixture
def program(compile_sample):
    return compile_sample("small_stacks", "gcc", "-O1", ["-Wl,-z,now"])


@pytest.fixture
def run(program, record, mallow):
    """run(words, settings=None, …): the sample in a mode of the agent."""

    def start(*words, settings=None, **options):
        helper = {"HELPER": mallow} if settings else {}
        recorded = record([program, *words], settings={**helper, **(settings or {})}, check=False, **options)
        assert recorded.returncode == 7, (recorded.returncode, recorded.stderr)
        return recorded

    return start


def depths(text):
    return {name: int(depth) for name, depth in (line.split() for line in text.splitlines())}


@pytest.mark.parametrize("mode", MODES)
def test_depths(mode, program, run):
    """A painted stack tells how deep each way went: the first event of a thread and of a child, new
    code, full slots, samples of the memory, failures, the end."""
    taken = depths(run("depths", settings=MODES[mode]).stdout)
    if not ARCH:
        bare = depths(subprocess.run([program, "depths"], capture_output=True, text=True,
                                     env=clean_environment()).stdout)
        assert taken.keys() == bare.keys()
    assert len(taken) == 12
    assert max(taken.values()) <= BOUND, taken


# Each a stack on which the program alone has room to spare.
STACKS = {"fibers": ["fibers"], "handlers": ["handlers", BOUND], "threads": ["threads"]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("what", STACKS)
def test_small_stacks(what, mode, run, functions_of):
    """Fibers of 2 KiB, alternate stacks that leave a handler BOUND bytes, threads of PTHREAD_STACK_MIN."""
    recorded = run(*STACKS[what], settings=MODES[mode])
    if mode == "record":
        reader = recorded.reader
        assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
        assert reader.header.lost == 0 and reader.header.ended
        wanted = {"allocate": expect.expectations("small_stacks", what.upper())["allocate"]}
        expect.check(wanted, expect.by_function(recorded.sums, functions_of))


def limited():
    """Where the kernel puts the stack's end at random, up to 8 KiB of these are left out, and the loader itself
    has no room for a preloaded library now and then."""
    resource.setrlimit(resource.RLIMIT_STACK, (LIMIT, LIMIT))
    ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)


# Arguments and environment lie on that stack, too.
SMALL = {"PATH": "/usr/bin:/bin"}


def run_limited(command, **variables):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                          preexec_fn=limited, env={**SMALL, **variables})


@pytest.mark.skipif(ARCH is not None, reason="this kernel starts no program of another architecture")
def test_little_stack_for_all(program, mallow, agent, tool, tmp_path):
    """`ulimit -s 16`: the program runs as it does alone, by each way to start it, and the tool, which needs
    more stack, helps itself. The limit is the program's still."""
    command = [program, "threads"]
    assert run_limited(command).returncode == 7
    plain = run_limited(command, LD_PRELOAD=str(agent), MALLOW_OUTPUT=str(tmp_path / "plain"))
    assert (plain.returncode, plain.stderr) == (7, "")
    by_tool = run_limited([mallow, "run", "-o", tmp_path / "by_tool", *command])
    assert by_tool.returncode == 7 and "  recording " in by_tool.stderr, by_tool.stderr
    for name in ("plain", "by_tool"):
        assert tool.report(tmp_path / name)["calls"] >= 4800
    assert run_limited([mallow, "run", "-o", tmp_path / "limit", "sh", "-c", "ulimit -s"]).stdout == "16\n"
    assert run_limited([mallow, "report", tmp_path / "plain"]).returncode == 0
    live = run_limited([mallow, "live", *command])
    assert live.returncode == 7 and "live allocations of small_stacks" in live.stderr, live.stderr
