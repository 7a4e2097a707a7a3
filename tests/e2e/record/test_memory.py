"""The agent's own memory: how much a thread costs, and that memory samples leave it out."""
import errno
import resource
import subprocess

import pytest

import mallow_reader
from conftest import clean_environment
from variants import variant
from faults import ENDLESS, numbers_of_calls, run_all_calls

THREADS = 50
PER_THREAD = 256 * 1024
CLOSE = 1 << 20  # libraries, the loader's own pages: not all runs touch the same


def numbers(text):
    """Resident, anonymous and virtual size that the sample printed, in bytes."""
    return [1024 * int(word) for word in text.split()]


ALLOWED = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	execv(argv[1], argv + 1);
	return 1;
}
"""


@pytest.mark.native("its filter is for this machine's calls")
def test_a_filter_for_services(agent, compile_sample, tmp_path):
    """systemd's @system-service has no mincore(): the memory of the agent's own is measured without it."""
    (tmp_path / "filter.c").write_text(ALLOWED)
    subprocess.run(["gcc", "-o", tmp_path / "filter", tmp_path / "filter.c"], check=True)
    run = subprocess.run([tmp_path / "filter", compile_sample("c_family")], capture_output=True, text=True, env=clean_environment(
        {"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "%e.mallow"}))
    assert (run.returncode, run.stderr) == (7, "")
    path, = tmp_path.glob("c_family.mallow*")
    header = mallow_reader.read(path).header
    assert header.ended and header.own_memory[1] > 0


def test_own_memory(compile_sample, record):
    program = compile_sample("many_threads", "gcc", "-O2")
    # How many arenas the C library maps, 64 MB each, depends on which threads met.
    one_arena = {"MALLOC_ARENA_MAX": "1"}
    alone = numbers(subprocess.run([program, "allocate"], capture_output=True, text=True,
                                   check=True, env=clean_environment(one_arena)).stdout)
    # Often enough for one near the highest moment, which is over in less than a second.
    recorded = record([program, "allocate"], settings={"MEMORY_SAMPLES": "20ms"}, env=one_arena)
    under = numbers(recorded.stdout)
    used = under[0] - alone[0]
    assert used > THREADS * 32 * 1024, "the test no longer sees the agent's memory"
    assert used <= (THREADS + 1) * PER_THREAD + CLOSE
    samples = [fact for fact in recorded.reader.facts if fact["kind"] == "memory"]
    largest = max(samples, key=lambda sample: sample["resident"])
    assert abs(largest["resident"] - alone[0]) <= CLOSE
    assert abs(largest["anonymous"] - alone[1]) <= CLOSE
    assert largest["virtual"] <= alone[2] + (THREADS + 1) * CLOSE


def last_virtual_size(recording):
    return [fact for fact in recording.facts if fact["kind"] == "memory"][-1]["virtual"]


def test_given_back_after_a_spawn(record):
    """The environment that a child gets is the agent's only until the child has it."""
    code = ("import os, sys\nmany = {f'VARIABLE_{i}': '' for i in range(20000)}\n"
            "for i in range(int(sys.argv[1])):\n"
            "    os.waitpid(os.posix_spawn('/bin/true', ['true'], many | os.environ), 0)")
    sizes = [last_virtual_size(record(["/usr/bin/python3", "-c", code, count]).reader)
             for count in (1, 60)]
    assert abs(sizes[1] - sizes[0]) <= 2 * CLOSE


# Of madvise, for it and for the process: both wiped at fork, and what the pool gives them, and for the
# stacks of slow paths, dumped in no core.
CALLS_OF_THE_FIRST = 6


def small_stacks():
    """Of threads: how many stacks there were at most does not matter then."""
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))


def test_given_back_where_threads_cannot_begin(compile_sample, tool, tmp_path, monkeypatch):
    """MADV_WIPEONFORK fails for all threads but the first: each of their events tries once more."""
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")  # else a matter of how many threads meet
    program = compile_sample("all_calls", "gcc", "-O1")
    sizes = []
    for first in (ENDLESS, CALLS_OF_THE_FIRST + 1):
        outcome = run_all_calls(program, variant("fail"), tmp_path / "failed", small_stacks,
                                TEST_FAIL_AT=first, TEST_FAIL_ERROR=errno.ENOMEM, TEST_FAIL_COUNT=ENDLESS,
                                TEST_FAIL_CALL=numbers_of_calls()["madvise"], PATCH=0)
        outcome.assert_sound(tool)
        sizes.append(last_virtual_size(outcome.recordings[0]))
    assert outcome.lost > 0
    assert abs(sizes[1] - sizes[0]) <= 2 * CLOSE


# A thread that is joined may be known to the kernel a while longer: now and then one more thread's
# memory is in use. Before it was handed on, 4,500 threads took 72 MB resident and 940 MB mapped.
RESIDENT_GROWTH, MAPPED_GROWTH = 1 << 20, 16 << 20


@pytest.mark.parametrize("mode", ["record", "live"])
@pytest.mark.parametrize("name", ["", "worker-"])
@pytest.mark.parametrize("count", [5000, pytest.param(100_000, marks=pytest.mark.long)])
def test_threads_that_come_and_go(count, name, mode, compile_sample, preload, tmp_path):
    """Each thread has the memory of one that has ended. In live mode the first 1,023 names of
    threads have sums of their own: memory is looked at once they are used up."""
    program = compile_sample("thread_churn", "gcc", "-O1")
    first_look = 2000 if name and mode == "live" else 500
    run = subprocess.run([program, str(count), str(first_look), name], capture_output=True, text=True,
                         env=preload(MODE=mode, HELPER="/bin/true", OUTPUT=tmp_path / "r.mallow"))
    assert run.returncode == 7, run.stderr
    resident, mapped = numbers(run.stdout)
    assert resident <= RESIDENT_GROWTH and mapped <= MAPPED_GROWTH
