"""The agent's test builds (tests/agent) on real programs: its stacks are those of other unwinders,
it allocates nothing itself, and malloc may be called in the middle of any of its system calls."""
import collections
import ctypes
import re
import subprocess

import pytest

import real_programs
from conftest import TOP, add_row, clean_environment, need
from variants import run_with, variant

EVERY = 1000


@pytest.mark.parametrize("program", real_programs.NAMES)
def test_stacks_are_those_of_libgcc_and_libunwind(program, tmp_path):
    """1 stack in 1000 is walked by both as well: no difference, up to code without tables.
    All of them are the thread's last stack, brought up to date, and taken anew: no difference."""
    command, environment = real_programs.command(program, tmp_path)
    bare = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                          env=clean_environment(environment))
    run, lines = run_with(variant("compare"), command, tmp_path, "MALLOW_TEST_COMPARE_LOG",
                          MALLOW_TEST_COMPARE_EVERY=EVERY, **environment)
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout), run.stderr
    totals = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines
              if line.startswith("compared")]
    assert totals, "the agent said nothing"
    differences = [line for line in lines if line.startswith("differs")]
    assert not differences, "\n".join(differences)
    assert sum(int(t["skipped"]) for t in totals) == 0
    # Each stack of the cache is held against a walk that remembers nothing.
    assert sum(int(t["cache_differs"]) for t in totals) == 0
    captures = sum(int(t["captures"]) for t in totals)
    stacks = sum(int(t["stacks"]) for t in totals)
    # Threads that meet while one compares go without.
    assert stacks >= 0.8 * (captures // EVERY - len(totals)), (captures, stacks)
    assert captures > 5000
    # The rest: own frames in the stack, registers that only a slow walk knows.
    assert sum(int(t["cached"]) for t in totals) > 0.99 * captures


@pytest.mark.parametrize("program", ["sqlite3", "python3", "node"])
def test_malloc_in_each_system_call(program, tool, tmp_path):
    command, environment = real_programs.command(program, tmp_path)
    bare = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                          env=clean_environment(environment))
    run, lines = run_with(variant("reenter"), command, tmp_path, "MALLOW_TEST_REENTER_LOG",
                          **environment)
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout), run.stderr
    reentered = sum(int(line.split("=")[1]) for line in lines)
    assert reentered > 300
    for path in tmp_path.glob("r.mallow*"):
        info = tool.info(path)
        assert info["damaged_chunks"] == 0 and info["missing_chunks"] == 0
        assert info["events"] > 0
        # Most wait in the pending buffer and are recorded; the first come before there is one.
        assert info["lost"] < reentered


def test_the_list_of_threads_is_never_cut_short(tmp_path):
    """While a thread takes over the memory of one that has ended, others find all that are behind."""
    program = ("import threading\n"
               "for _ in range(200):\n"
               "    thread = threading.Thread(target=lambda: bytearray(1000))\n"
               "    thread.start()\n"
               "    thread.join()\n")
    run, lines = run_with(variant("walk"), ["/usr/bin/python3", "-c", program], tmp_path, "MALLOW_TEST_WALK_LOG")
    assert run.returncode == 0, run.stderr
    found = {name: int(number) for name, number in (line.split("=") for line in lines)}
    # Memory was taken over: else there are as many as ran.
    assert 2 <= found["threads"] < 150 and found["walks"] > 200, found
    assert found["cut"] == 0, found


def test_the_agent_allocates_nothing(agent, tool, tmp_path):
    """What reaches the allocator is what was recorded, exactly."""
    counter = tmp_path / "count_malloc.so"
    subprocess.run([need("gcc"), "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", counter,
                    TOP / "tests" / "agent" / "count_malloc.c"], check=True)
    command, environment = real_programs.command("sqlite3", tmp_path)
    run, lines = run_with(f"{agent}:{counter}", command, tmp_path, "COUNT_MALLOC_LOG",
                          **environment)
    assert run.returncode == 0, run.stderr
    counted = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", lines[0])}
    info = tool.info(tmp_path / "r.mallow")
    assert info["allocations"] == counted["allocated"]
    assert info["frees"] == counted["freed"]


def functions_of(site):
    return tuple((frame.get("module"), frame.get("function"), frame.get("line"))
                 for frame in site["stack"])


def addresses_at_their_usual_places():
    """Of the heap above all: Python's numbers of addresses take 28 bytes below 1 GiB, 32 above."""
    ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE


@pytest.mark.parametrize("program", ["sqlite3", "python3"])
def test_plain_and_fast_say_the_same(program, record, tool, tmp_path):
    """The walk that remembers nothing makes the same report."""
    command, environment = real_programs.command(program, tmp_path)
    reports = []
    for unwinder in ("plain", "fast"):
        # python3 reads its environment, which is to be as long both times.
        padding = {"PADDING": "x" * (8 - len(unwinder))}
        recorded = record(command, settings={"UNWINDER": unwinder}, env={**environment, **padding},
                          timeout=300, preexec_fn=addresses_at_their_usual_places)
        recorded.assert_sound()
        sites = collections.defaultdict(lambda: [0, 0, 0])
        for site in recorded.report_json["sites"]:
            add_row(sites[functions_of(site)],
                    [site[field] for field in ("calls", "total_bytes", "leaked_bytes")])
        reports.append(dict(sites))
    plain, fast = reports
    assert len(plain) > 100
    differences = {stack: (row, fast.get(stack)) for stack, row in plain.items()
                   if fast.get(stack) != row}
    assert not differences and len(plain) == len(fast)


TWO_FIBERS = """
#include <stdlib.h>
#include <ucontext.h>

enum { ROUNDS = 600, BLOCKS = 300 };
static ucontext_t first, second, end;
static void *blocks[BLOCKS];

static void allocate(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCKS; i++)
			blocks[i] = malloc(24);
		swapcontext(&first, &second);
	}
	setcontext(&end);
}

static void release(void)
{
	for (;;) {
		for (int i = 0; i < BLOCKS; i++)
			free(blocks[i]);
		free(malloc(32));
		swapcontext(&second, &first);
	}
}

static void make(ucontext_t *fiber, void (*run)(void))
{
	static char stacks[2][65536];
	static int next;

	getcontext(fiber);
	fiber->uc_stack.ss_sp = stacks[next++];
	fiber->uc_stack.ss_size = sizeof(stacks[0]);
	makecontext(fiber, run, 0);
}

int main(void)
{
	make(&first, allocate);
	make(&second, release);
	swapcontext(&end, &first);
	return 0;
}
"""


def test_a_free_begins_the_chunk_of_another_fiber(record, tool, tmp_path):
    """A new chunk knows no stack; the next one has only its outermost functions in common with the
    last one, on another fiber: they are to be written again."""
    source = tmp_path / "fibers.c"
    source.write_text(TWO_FIBERS)
    program = tmp_path / "fibers"
    subprocess.run([need("gcc"), "-O1", "-fno-builtin", "-o", program, source], check=True)
    recorded = record([program])
    recorded.assert_sound()
    tool.assert_equal_sums(recorded.path, recorded.sums)
    assert recorded.sums.calls == 600 * 301
    stacks = {len(stack) for stack, site in recorded.sums.sites.items() if site.calls >= 600}
    assert len(recorded.sums.sites) == 2 and min(stacks) >= 2
