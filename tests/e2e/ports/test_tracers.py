"""Debuggers and tracers around a recorded program, under a booted kernel of another architecture: ptrace stops it at
any instruction, and a breakpoint in malloc is one in the agent."""
import shlex

import pytest

import expect
import mallow_reader
import mallow_sums
from conftest import GUEST
from processes import assert_holds

pytestmark = pytest.mark.skipif(not GUEST, reason="make check ARCH=aarch64")

# While gdb looks, the program is stopped, lest it record so much that the check takes long.
ATTACH = """
{environment} {program} 4 3> done &
program=$!
for moment in 1 2 3; do
	busybox usleep ${{moment}}0000
	kill -STOP $program
	gdb -nx -q -batch -p $program -ex 'thread apply all bt 5' -ex detach < /dev/null > looked$moment 2>&1
	kill -CONT $program
	size=$(busybox stat -c %s done)
	until [ $(busybox stat -c %s done) -ge $((size + 100)) ]; do
		kill -0 $program || exit 1
		busybox usleep 10000
	done
done
kill -KILL $program
"""


@pytest.fixture
def traced(guest, agent, tmp_path):
    """traced(command): runs it in the guest, where it finds what a program is to have as {environment}."""

    def run(command, **words):
        given = {"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "r.mallow"}
        words["environment"] = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in given.items())
        result = guest.run(["sh", "-c", f"cd {tmp_path}\n{command.format(**words)}"], {}, tmp_path, 300)
        assert result.returncode == 0, f"status {result.returncode}: {result.stdout}{result.stderr}"
        return result

    return run


def test_strace_follows_forks(traced, compile_sample, functions_of, tmp_path):
    program = compile_sample("fork_threads", "gcc", "-O2")
    traced("strace -f -qq -o trace env {environment} {program}; [ $? = 7 ]", program=program)
    assert (tmp_path / "trace").read_text().count("clone(") >= 5
    first, *children = sorted((mallow_reader.read(path) for path in tmp_path.glob("r.mallow*")),
                              key=lambda reader: reader.header.monotonic)
    for reader, kinds in (first, ()), *((child, ("CHILD", "ONLY")) for child in children):
        assert not reader.damages and reader.missing == 0 and reader.header.lost == 0
        wanted = expect.expectations("fork_threads", *kinds)
        expect.check(wanted, expect.by_function(mallow_sums.Sums(reader), functions_of))
    assert len(children) == 5


def test_gdb_starts_it_and_stops_in_malloc(traced, compile_sample, functions_of, tmp_path):
    program = compile_sample("c_family", "gcc", "-O2")
    result = traced("gdb -nx -q -batch -ex 'set exec-wrapper env {environment}' -ex 'break main' -ex run -ex 'break malloc' "
                    "-ex continue -ex bt -ex 'delete' -ex continue {program} < /dev/null", program=program)
    assert " main " in result.stdout.split("malloc", 1)[1] and "ok\n" in result.stdout, result.stdout + result.stderr
    reader = mallow_reader.read(tmp_path / "r.mallow")
    assert not reader.damages and reader.header.lost == 0 and reader.header.ended
    wanted = expect.expectations("c_family", "GLIBC")
    expect.check(wanted, expect.by_function(mallow_sums.Sums(reader), functions_of))


def test_gdb_attaches_again_and_again(traced, compile_sample, tmp_path):
    traced(ATTACH, program=compile_sample("steady", "gcc", "-O2"))
    for moment in range(1, 4):
        assert "#0 " in (tmp_path / f"looked{moment}").read_text()
    assert_holds(tmp_path / "r.mallow", (tmp_path / "done").stat().st_size)


def test_top_is_recorded(record):
    """A program that reads all of /proc."""
    recorded = record(["top", "-b", "-n", "3"], check=False)
    assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    recorded.assert_sound()
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert recorded.stdout.count("PID USER") == 3 and recorded.sums.calls > 100
