"""mallow memleak and attach under a booted kernel of another architecture, by the tool that is built for it."""
import json
import shlex

import pytest

import expect
import mallow_reader
from conftest import ARCH, GUEST
from traced_process import MAPPED, by_keeper, functions

pytestmark = [pytest.mark.skipif(not GUEST, reason="make check ARCH=aarch64"),
              pytest.mark.skipif(ARCH != "aarch64", reason="it is built without memleak and attach (docs/ports.md)")]

# A program that does what it is told, while a command of mallow's looks on.
SCRIPT = """
cd {folder}
mkfifo in out
{program} < in > out &
program=$!
exec 3> in 4< out
rm in out
read line <&4
$mallow {command} > said 2> notes &
looks=$!
tries=0
until busybox grep -q "^{ready}" notes; do
	kill -0 $looks 2> /dev/null && [ $((tries += 1)) -lt 3000 ] || {{ cat notes >&2; exit 1; }}
	busybox usleep 20000
done
for word in {words}; do
	echo $word >&3
	read line <&4
done
kill -INT $looks
wait $looks
status=$?
cat said
cat notes >&2
exit $status
"""


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])


@pytest.fixture
def look_on(there, program, tmp_path):
    """look_on(command, ready, words): what a command says that runs while the program does this."""
    return lambda command, ready, *words: there(SCRIPT.format(
        folder=tmp_path, program=program, command=command, ready=ready, words=shlex.join(words)))


def memleak(look_on, *words, options="-o 0 -T 0"):
    result = look_on(f"memleak --json -p $program {options} 1000", "Probing", *words)
    return json.loads(result.stdout.splitlines()[-1])


def assert_whole(report):
    assert report["whole_stacks"] == report["stack_count"] == len(report["stacks"]) and report["warnings"] == []
    # The functions of the C library that begin a thread have no names here.
    for stack in report["stacks"]:
        assert functions(stack)[-1] in ("_start", None), functions(stack)


@pytest.mark.parametrize("options", ["-o 0", "-C"])
def test_memleak_counts_to_the_byte(look_on, options):
    report = memleak(look_on, "all", options=f"{options} -T 0")
    stated = expect.expectations("outstanding", "GLIBC")
    assert by_keeper(report) == {name: (fields["bytes"], fields["blocks"]) for name, fields in stated.items()}
    assert_whole(report)


def test_memleak_of_threads_handlers_and_deep_stacks(look_on):
    report = memleak(look_on, "all", "thread", "2000", "interrupted", "thread", "all")
    assert by_keeper(report)["keep_malloc"] == (4 * 1001, 4)
    assert_whole(report)
    deep = memleak(look_on, "deep")
    assert [len(stack["frames"]) for stack in deep["stacks"]] == [256]


def test_attach_records_to_the_byte(look_on, tool, tmp_path):
    """Handlers interrupt at any instruction; their stacks are as whole as others."""
    path = tmp_path / "r.mallow"
    look_on(f"attach -o {path} $program", "Recording into", "all", "thread", "interrupted")
    reader = mallow_reader.read(path)
    assert not reader.damages and reader.missing == 0 and not any(reader.header.losses.values())
    stated = expect.expectations("outstanding", "GLIBC")
    report = tool.report(path)
    expect.check_report({name: {"leaked_bytes": fields["bytes"], "leaked_blocks": fields["blocks"]}
                         for name, fields in stated.items() if name not in MAPPED | {"keep_malloc"}}, report)
    assert report["leaked_blocks"] > 10


def test_a_command_is_traced_from_its_start(there, program):
    """It is held by ptrace until its libraries are there."""
    result = there(f"echo all end | $mallow memleak --json -o 0 -T 0 -c {program} 1000; [ $? = 7 ]")
    report = json.loads(result.stdout.splitlines()[-1])
    stated = expect.expectations("outstanding", "GLIBC")
    found = by_keeper(report)
    assert {name: found[name] for name in stated} == {
        name: (fields["bytes"], fields["blocks"]) for name, fields in stated.items()}
    assert_whole(report)


def test_the_kernels_own_memory(there):
    """Pipes that are kept: each has an object of the kernel's."""
    result = there("cd /run; mkfifo p1 p2 p3\n"
                   "(until busybox grep -q Tracing notes; do busybox usleep 50000; done\n"
                   "exec 5<> p1 6<> p2 7<> p3; busybox sleep 40) > /dev/null 2>&1 &\n"
                   "$mallow memleak --json -T 0 -o 0 15 1 2> notes; status=$?; cat notes >&2; kill $!; rm p1 p2 p3; exit $status")
    report = json.loads(result.stdout.splitlines()[-1])
    stacks = [functions(stack) for stack in report["stacks"]]
    assert [stack for stack in stacks if "alloc_pipe_info" in stack], (stacks[:20], result.stderr)
