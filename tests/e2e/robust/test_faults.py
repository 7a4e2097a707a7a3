"""Faults: no memory, no disk, no file, system calls that fail, forks and signals at any moment. The
program does what it does without mallow; what was lost is said in a line or counted; the rest is
read."""
import errno
import os
import random
import re
import resource
import select
import subprocess
import time

import pytest

import mallow_reader
import mallow_sums
from cells import matrix
from conftest import clean_environment, need
from faults import CALLS, ENDLESS, STORM, fork_storm, numbers_of_calls, run_all_calls
from processes import assert_holds, has_begun, kill_after, start_steady, wait_for
from variants import variant


def count_calls(program, folder):
    """The system calls of the agent in the image that makes most."""
    log = folder / "calls"
    run_all_calls(program, variant("fail"), folder / "counted", TEST_FAIL_LOG=log)
    return max(int(number) for number in re.findall(r"calls=(\d+)", log.read_text()))


def fail_in_turn(program, tool, folder, steps, error, **settings):
    for number in range(1, count_calls(program, folder) + 20, steps):
        outcome = run_all_calls(program, variant("fail"), folder / "failed", TEST_FAIL_AT=number,
                                TEST_FAIL_ERROR=error, **settings)
        assert (outcome.status, outcome.output) == (7, "ok\n"), (number, outcome.lines)
        outcome.assert_sound(tool)


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_some_system_calls_fail(slots, compile_sample, tool, tmp_path):
    fail_in_turn(compile_sample("all_calls", "gcc", "-O1"), tool, tmp_path, 37, errno.ENOMEM,
                 SLOTS=slots)


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_no_memory_at_first(slots, compile_sample, tool, tmp_path):
    """A recording that an event begins, because there was no memory when the library was loaded, ends
    as others do: with private slots that is what writes the last events of each thread."""
    outcome = run_all_calls(compile_sample("all_calls", "gcc", "-O1"), variant("fail"),
                            tmp_path / "failed", TEST_FAIL_AT=1, TEST_FAIL_ERROR=errno.ENOMEM,
                            TEST_FAIL_CALL=numbers_of_calls()["mmap"], SLOTS=slots, PATCH=0)
    assert (outcome.status, outcome.output) == (7, "ok\n")
    outcome.assert_sound(tool)
    assert "no memory" in outcome.lines[0]
    assert all(recording.header.ended for recording in outcome.recordings)
    assert len(outcome.recordings) == 4 and outcome.calls >= CALLS - 1


@pytest.mark.long
@pytest.mark.parametrize("slots", ["shared", "private"])
@pytest.mark.parametrize("error", [errno.ENOMEM, errno.EIO, errno.EINTR])
def test_each_system_call_fails(error, slots, compile_sample, tool, tmp_path):
    """Each in turn, of each of the four images."""
    fail_in_turn(compile_sample("all_calls", "gcc", "-O1"), tool, tmp_path, 1, error, SLOTS=slots)


@pytest.mark.long
def test_system_calls_fail_from_some_moment_on(compile_sample, tool, tmp_path):
    """All of them for ever. Messages cannot be written then, nor useless files removed."""
    program = compile_sample("all_calls", "gcc", "-O1")
    for number in range(1, count_calls(program, tmp_path) + 20, 3):
        try:
            outcome = run_all_calls(program, variant("fail"), tmp_path / "failed", TEST_FAIL_AT=number,
                                    TEST_FAIL_ERROR=errno.EPERM, TEST_FAIL_COUNT=ENDLESS)
        except mallow_reader.NotARecording:
            continue
        assert (outcome.status, outcome.output) == (7, "ok\n"), (number, outcome.lines)
        for recording in outcome.recordings:
            assert not recording.damages and recording.dangling() == ([], [])


@pytest.mark.parametrize("name,number", numbers_of_calls().items())
def test_a_system_call_that_never_works(name, number, compile_sample, tool, tmp_path):
    """As on another kernel, or in a sandbox: from the start, or only later on."""
    program = compile_sample("all_calls", "gcc", "-O1")
    for first in (1, 3):
        outcome = run_all_calls(program, variant("fail"), tmp_path / "failed", TEST_FAIL_AT=first,
                                TEST_FAIL_ERROR=errno.EPERM, TEST_FAIL_COUNT=ENDLESS, TEST_FAIL_CALL=number)
        assert (outcome.status, outcome.output) == (7, "ok\n"), (first, outcome.lines)
        # Whether descriptor 2 is still the program's stderr cannot be known without fstat.
        if name not in ("fstat", "write"):
            outcome.assert_sound(tool)


@pytest.mark.parametrize("part", range(4))
def test_little_address_space(part, compile_sample, agent, tool, tmp_path):
    """RLIMIT_AS at many values: the program may be told so, too, as it would with less; it never dies
    of it, and is not disturbed where there is some room."""
    program = compile_sample("all_calls", "gcc", "-O1")
    enough = 0
    for kib in range(3000 + part * 2000, 5000 + part * 2000, 290):

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))
            resource.setrlimit(resource.RLIMIT_AS, (kib << 10, kib << 10))

        bare = subprocess.run([program], capture_output=True, preexec_fn=limit)
        if bare.returncode != 7:
            continue
        outcome = run_all_calls(program, agent, tmp_path / "little", limit)
        assert outcome.status in (3, 7), (kib, outcome.status, outcome.lines)
        for recording in outcome.recordings:
            assert not recording.damages and recording.dangling() == ([], [])
        if outcome.status == 7:
            outcome.assert_sound(tool)
            enough += 1
        assert outcome.status == 7 or kib < 9000
    assert enough or part == 0


@pytest.mark.parametrize("how,slots", matrix(STORM, ["shared", "private"]))
def test_fork_in_a_write(how, slots, compile_sample, agent, tool, tmp_path):
    """A handler interrupts the agent anywhere and forks; the child goes on there, and is recorded."""
    program = compile_sample("fork_storm", "gcc", "-O1")
    paths = fork_storm(program, how, 60, agent, tmp_path, SLOTS=slots)
    parents = set()
    for path in paths:
        recording = mallow_reader.read(path)
        assert not recording.damages and recording.missing == 0
        assert recording.dangling() == ([], []) and recording.header.lost == 0
        parents.add(recording.header.parent_id)
        sums = mallow_sums.Sums(recording)
        if path == paths[0]:
            tool.assert_equal_sums(path, sums)
            first = recording.header.id
        else:
            # What was interrupted may count, and what the handler allocates.
            assert 300 <= sums.calls <= 310, sums.calls
    assert len(paths) == 1 + 60 * (2 if how == "nested" else 1)
    assert first in parents


@pytest.mark.long
@pytest.mark.parametrize("how", STORM)
def test_many_forks_in_a_write(how, compile_sample, agent, tmp_path):
    """2,000 forks: each child that crashes would end the program."""
    fork_storm(compile_sample("fork_storm", "gcc", "-O1"), how, 2000, agent, tmp_path)


def test_forked_threads_are_flushed(record):
    """Without a shared mapping a forked child's events are written out at its end like any other's."""
    code = ("import os, sys\nif os.fork() == 0:\n    x = [bytes(700 + i) for i in range(1000)]\n"
            "    sys.exit(0)\nos.wait()")
    calls = {}
    for slots in ("shared", "private"):
        recorded = record(["/usr/bin/python3", "-c", code], settings={"SLOTS": slots},
                          env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
        calls[slots] = [mallow_sums.Sums(reader).calls for reader in recorded.readers]
    assert len(calls["shared"]) == 2 and calls["shared"] == calls["private"]


def test_unwritable_folder(compile_sample, agent, tool, tmp_path):
    """One line an image, no file, nothing else."""
    if os.getuid() == 0:
        place = "/proc/nowhere/r.mallow"
    else:
        tmp_path.chmod(0o500)
        place = tmp_path / "r.mallow"
    run = subprocess.run([compile_sample("all_calls", "gcc", "-O1")], capture_output=True, text=True,
                         env=clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": place}))
    assert (run.returncode, run.stdout) == (7, "ok\n")
    assert 1 <= len(run.stderr.splitlines()) <= 4
    assert all("cannot write" in line for line in run.stderr.splitlines())


CHANGED = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
int main(int argc, char **argv)
{
	char word[32];
	for (int i = 0; i < 20000; i++)
		free(malloc(100 + i % 7));
	puts("now"); fflush(stdout);
	if (!fgets(word, sizeof(word), stdin))
		return 1;
	for (int i = 0; i < 200000; i++)
		free(malloc(100 + i % 7));
	puts("ok");
	return 7;
}
"""


@pytest.mark.parametrize("slots", ["shared", "private"])
@pytest.mark.parametrize("what", ["removed", "renamed", "replaced", "truncated"])
def test_file_changed_under_us(what, slots, agent, tool, tmp_path):
    """The file goes on being ours whatever its name is; what takes its place is not touched. A file
    cut short is safe with private slots only: a shared mapping of what is not there is SIGBUS."""
    if (what, slots) == ("truncated", "shared"):
        pytest.skip("by design: MALLOW_SLOTS=private")
    source, program, path = (tmp_path / name for name in ("c.c", "changed", "r.mallow"))
    source.write_text(CHANGED)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", program, source], check=True)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": path,
                                                      "MALLOW_SLOTS": slots}))
    assert process.stdout.readline() == "now\n"
    kept = open(path, "rb")
    if what in ("removed", "replaced"):
        path.unlink()
    if what == "replaced":
        path.write_text("somebody else's")
    if what == "renamed":
        path.rename(tmp_path / "other.mallow")
    if what == "truncated":
        os.truncate(path, 0)
    output, _ = process.communicate("go\n")
    assert (process.returncode, output) == (7, "ok\n")
    if what == "replaced":
        assert path.read_text() == "somebody else's"
    with kept:
        left = tmp_path / "left.mallow"
        left.write_bytes(kept.read())
    if what != "truncated":
        assert mallow_sums.Sums(mallow_reader.read(left)).calls >= 220000
    else:
        tool("info", left)


def test_own_signals(compile_sample, record, tool):
    """A program with handlers of its own for SIGUSR1, SIGXFSZ, SIGPIPE and SIGSEGV, on an alternate
    stack, while the agent writes: each arrives as often as without it."""
    program = compile_sample("own_signals", "gcc", "-O1")
    bare = subprocess.run([program], capture_output=True, text=True)
    assert bare.returncode == 7, bare.stderr
    recorded = record([program], check=False)
    assert (recorded.returncode, recorded.stdout) == (7, bare.stdout), recorded.stderr
    recorded.assert_sound()
    tool.assert_equal_sums(recorded.path)


def test_own_signals_beyond_the_size_limit(compile_sample, tmp_path, agent):
    """RLIMIT_FSIZE stops the recording in mid-run: its SIGXFSZ is not the program's."""
    program = compile_sample("own_signals", "gcc", "-O1")
    bare = subprocess.run([program], capture_output=True, text=True)
    outcome = run_all_calls(program, agent, tmp_path / "limited", limits=lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (200 << 10, 200 << 10)))
    assert (outcome.status, outcome.output) == (7, bare.stdout), outcome.lines
    assert len(outcome.lines) == 1 and "cannot write" in outcome.lines[0]
    assert outcome.recordings[0].header.losses["write_failed"] > 0
    assert not outcome.recordings[0].damages


# Samples and their arguments: all that run by themselves and say the same each time.
SAMPLES = {
    "all_calls": [], "alone_and_together": [], "c_family": [], "cpp_operators": [], "deep": [],
    "exceptions": [], "exit_busy": [], "fork_threads": [], "glibc_family": [],
    "hand_over": ["1500", "50"], "idle_threads": [], "jit_code": [], "life_cycle": [], "marks": [],
    "names": [], "odd_arguments": [], "own_operator": [], "own_signals": [], "realloc_chain": [],
    "thread_local": [], "title": [], "totals": [], "totals_cpp": [],
    "fork_storm": ["30", "fork"],
}


@pytest.mark.parametrize("name,slots", matrix(SAMPLES, ["shared", "private"]))
def test_malloc_in_each_system_call(name, slots, compile_sample, tool, tmp_path):
    """malloc, realloc and free called in the middle of each system call of the agent change nothing
    in what the sample does, and damage nothing."""
    command = [compile_sample(name, "gcc", "-O1"), *SAMPLES[name]]
    bare = subprocess.run(command, capture_output=True, timeout=60)
    folder = tmp_path / "reentered"
    folder.mkdir()
    log = tmp_path / "log"
    run = subprocess.run(command, capture_output=True, timeout=60, env=clean_environment({
        "LD_PRELOAD": variant("reenter"), "MALLOW_OUTPUT": folder / "r.mallow",
        "MALLOW_SLOTS": slots, "MALLOW_TEST_REENTER_LOG": log}))
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout), run.stderr
    assert sum(int(number) for number in re.findall(r"reentered=(\d+)", log.read_text())) > 20
    paths = sorted(folder.glob("r*"))
    assert paths
    for path in paths[:5]:
        recording = mallow_reader.read(path)
        assert not recording.damages and recording.missing == 0
        assert recording.dangling() == ([], [])
        tool.assert_equal_sums(path, mallow_sums.Sums(recording))


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_kills(part, compile_sample, agent, tool, tmp_path):
    """kill -9 at 1,000 random moments, 100 a part: each file opens and holds all that was reported."""
    program, moments = str(compile_sample("steady", "gcc", "-O2")), random.Random(part)
    path = tmp_path / "r.mallow"
    environment = clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": path})
    held = 0
    for number in range(100):
        path.unlink(missing_ok=True)
        process, pipe = start_steady(program, moments.choice([1, 2, 4]), environment)
        if number % 2:  # from the first report on; else the start, too
            select.select([pipe], [], [])
        try:
            done = kill_after(process, pipe, moments.uniform(0, 0.08))
        finally:
            os.close(pipe)
        if done == 0 and not has_begun(path):
            continue
        assert_holds(path, done)
        tool("info", path)
        held += 1
    assert held >= 50


@pytest.mark.long
@pytest.mark.parametrize("name", ["python3", "redis-server"])
def test_real_programs_killed(name, agent, tool, tmp_path):
    """The same of programs that report nothing: the file opens, no id dangles, nothing is damaged."""
    moments = random.Random(5)
    # The pauses are for the reader in Python, which takes its time.
    endless = "import time\nwhile True: x = [str(i) * 9 for i in range(999)]; time.sleep(0.002)"
    commands = {"python3": ["/usr/bin/python3", "-c", endless],
                "redis-server": ["redis-server", "--port", "0", "--save", ""]}
    need(name)
    path = tmp_path / "r.mallow"
    held = 0
    for number in range(50):
        path.unlink(missing_ok=True)
        process = subprocess.Popen(commands[name], stdout=subprocess.DEVNULL, cwd=tmp_path,
                                   env=clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": path,
                                                          "PYTHONMALLOC": "malloc"}))
        if number % 2:
            wait_for(lambda: has_begun(path))
        time.sleep(moments.uniform(0, 0.1))
        process.kill()
        process.wait()
        if not has_begun(path):
            continue
        recording = mallow_reader.read(path)
        assert not recording.damages and recording.dangling() == ([], [])
        assert recording.missing == 0
        tool("info", path)
        held += 1
    assert held >= 25
