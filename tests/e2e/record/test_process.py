"""Processes that end badly, and the process life around `mallow run`."""
from pathlib import Path
import os
import random
import select
import signal
import subprocess
import time

import pytest

import mallow_reader
import mallow_sums
from cells import diagonals
from processes import assert_holds, has_begun, kill_after, start_steady


def run_and_kill(program, threads, environment, seconds):
    """How many allocations the program had reported done when it was killed."""
    process, reading = start_steady(program, threads, environment)
    try:
        return kill_after(process, reading, seconds)
    finally:
        os.close(reading)


@pytest.mark.parametrize("part,threads", diagonals(range(6), [1, 4]))
def test_kill_at_random_moments(part, threads, compile_sample, preload, tool, tmp_path):
    """kill -9 at random moments, five a part: no allocation that the program had reported is missing."""
    program = str(compile_sample("steady", "gcc", "-O2"))
    moments = random.Random(part * 10 + threads)
    for number in range(5):
        path = tmp_path / f"{number}.mallow"
        seconds = moments.uniform(0.005, 0.04)
        done = run_and_kill(program, threads, preload(OUTPUT=path), seconds)
        if done == 0 and not has_begun(path):
            continue
        sums = assert_holds(path, done)
        tool.assert_equal_sums(path, sums)
        info = tool.info(path)
        assert not info["complete"]


def test_kill_after_much(compile_sample, preload, tool, tmp_path):
    """Long enough that slots have grown and were appended many times."""
    path = tmp_path / "r.mallow"
    program = str(compile_sample("steady", "gcc", "-O2"))
    done = run_and_kill(program, 2, preload(OUTPUT=path), 0.4)
    assert done > 10000
    tool.assert_equal_sums(path, assert_holds(path, done))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_fatal_signals(number, preload, compile_sample, tool, tmp_path):
    """A program that dies by a signal dies by the same with the agent, and its recording is whole."""
    path = tmp_path / "r.mallow"
    code = f"import os\nx = [object() for _ in range(1000)]\nos.kill(os.getpid(), {int(number)})"
    run = subprocess.run(["/usr/bin/python3", "-c", code],
                         env=preload({"PYTHONMALLOC": "malloc"}, OUTPUT=path), capture_output=True)
    assert run.returncode == -number
    recording = mallow_reader.read(path)
    assert not recording.damages and recording.missing == 0
    assert mallow_sums.Sums(recording).calls > 1000
    tool.assert_equal_sums(path)


@pytest.mark.parametrize("ending,reason,status", [
    ("sys.exit(3)", 1, 3), ("os._exit(4)", 2, 4), ("raise SystemExit", 1, 0)])
def test_how_it_ended(ending, reason, status, record):
    recorded = record(["/usr/bin/python3", "-c", f"import sys, os; {ending}"], check=False)
    assert recorded.returncode == status
    header = recorded.reader.header
    assert (header.ended, header.end_reason, header.end_status) == (True, reason, status)


def test_how_a_program_with_musl_ended(compile_sample, record):
    """musl tells the agent no status, so none is said; `mallow run` sees it."""
    program = compile_sample("c_family", "musl", "-O2")
    alone = record([program], check=False)
    assert alone.returncode == 7 and alone.reader.header.end_status == 0xffffffff
    assert alone.info_json["end_reason"] == "exit" and alone.info_json["end_status"] is None
    assert ", exited;" in alone.tool("report", alone.path).stdout
    watched = record([program], bare=False, check=False)
    assert watched.info_json["end_status"] == 7
    assert "exited with status 7" in watched.tool("report", watched.path).stdout


@pytest.mark.native("the kernel starts no program of another architecture")
def test_in_another_pid_namespace(agent, tool, tmp_path):
    """Outside of a container its program's pid says nothing. It runs all the same."""
    path = tmp_path / "r.mallow"
    words = ["unshare", "-rpf", "--mount-proc", "env", f"LD_PRELOAD={agent}", f"MALLOW_OUTPUT={path}", "/usr/bin/python3", "-c",
             "import sys, time; print('on', flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        if program.stdout.readline() != "on\n":
            pytest.skip(f"no namespaces can be made here: {program.communicate()[1]}")
        report = tool("report", path).stdout
        program.communicate()
    assert ", still running; what was recorded until now" in report
    assert ", exited with status 0; the recording is complete" in tool("report", path).stdout


def test_run_has_the_programs_status(record):
    assert record(["/bin/sh", "-c", "exit 42"], bare=False, check=False).returncode == 42


def test_run_has_128_and_the_signal(record):
    recorded = record(["/bin/sh", "-c", "kill -SEGV $$"], bare=False, check=False)
    assert recorded.returncode == 128 + signal.SIGSEGV


def test_run_forwards_signals(mallow, tmp_path):
    """A signal sent to the tool reaches the program, which ends as it likes."""
    path = tmp_path / "r.mallow"
    code = ("import signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
            # Not one long sleep: Python looks for signals before it, and what comes behind that look waits.
            "print('ready', flush=True)\nwhile True: time.sleep(0.05)")
    process = subprocess.Popen([mallow, "run", "-o", path, "--", "/usr/bin/python3", "-c", code],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 9
    process.stdout.close()
    assert mallow_reader.read(path).header.end_status == 9


def test_summary_names_file_and_next_commands(record):
    """At the end `mallow run` says peak, total, leaked, temporary, the file, what to do next."""
    recorded = record(["/usr/bin/python3", "-c", "print('hello')"], bare=False)
    text = recorded.stdout.removeprefix("hello\n") + recorded.stderr
    for word in ("peak", "total", "leaked", "temporary", str(recorded.path), "mallow report"):
        assert word in text, word


def test_commands_of_a_path_like_an_option(mallow, tmp_path):
    """A recording called -x.mallow: its commands can be copied into a shell."""
    run = subprocess.run([mallow, "run", "-o", "-x.mallow", "--", "/bin/true"], cwd=tmp_path,
                         capture_output=True, text=True, check=True)
    [command] = [line.split("next", 1)[1] for line in run.stderr.splitlines()
                 if line.startswith("  next ")]
    shown = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, command + shown.stderr


def test_recording_while_it_runs(mallow, preload, compile_sample, tool, tmp_path):
    """A recording can be read while its program runs: it grows and says that it is not complete."""
    path = tmp_path / "r.mallow"
    process, reading = start_steady(str(compile_sample("steady", "gcc", "-O2")), 2,
                                    preload(OUTPUT=path))
    try:
        calls = []
        for _ in range(3):
            deadline = time.monotonic() + 0.2
            while (left := deadline - time.monotonic()) > 0:
                if select.select([reading], [], [], left)[0]:
                    os.read(reading, 65536)
            info = tool.info(path)
            assert not info["complete"] and info["lost"] == 0
            calls.append(tool.report(path)["calls"])
        assert 0 < calls[0] < calls[1] < calls[2]
    finally:
        process.kill()
        process.wait()
        os.close(reading)


def test_full_disk(preload, compile_sample, tool, tmp_path):
    """No room on the file system: the program goes on, the losses are counted and said once."""
    mount = tmp_path / "small"
    mount.mkdir()
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount],
                                     capture_output=True).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        path = mount / "r.mallow"
        code = "x = [bytes(600) for _ in range(200000)]; print(len(x))"
        run = subprocess.run(["/usr/bin/python3", "-c", code], env=preload(OUTPUT=path),
                             capture_output=True, text=True)
        assert (run.returncode, run.stdout) == (0, "200000\n")
        assert len(run.stderr.splitlines()) == 1 and "mallow" in run.stderr
        recording = mallow_reader.read(path)
        assert recording.header.losses["write_failed"] > 0
        assert recording.dangling() == ([], []) and len(recording.events) > 1000
        tool.assert_equal_sums(path)
        assert not tool.info(path)["complete"] and tool.info(path)["lost"] > 0
    finally:
        subprocess.run(["umount", mount], check=True)


@pytest.fixture
def memory_group():
    """Makes a control group with a memory limit, of version 1 or 2: the file of its processes."""
    made = []

    def make(limit):
        for base, name in ((own_group("memory"), "memory.limit_in_bytes"),
                           (own_group(""), "memory.max")):
            group = base / f"mallow-test-{os.getpid()}-{len(made)}"
            try:
                group.mkdir()
                made.append(group)
                (group / name).write_text(str(limit))
            except OSError:
                continue
            return group / "cgroup.procs"
        return pytest.skip("no control group with a memory limit can be made here")

    yield make
    for group in made:
        group.rmdir()


def own_group(controller):
    """The folder of this process's group: of that controller, or of the one hierarchy."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and (controller or number == "0"):
            root = Path("/sys/fs/cgroup") / controller
            return (root if controller or not (root / "unified").is_dir() else
                    root / "unified") / path.lstrip("/")
    return Path("/nonexistent")


@pytest.mark.parametrize("limit,killed", [(24 << 20, True), (400 << 20, False)])
@pytest.mark.parametrize("slots", ["shared", "private"])
def test_memory_limit(limit, killed, slots, memory_group, preload, tool, tmp_path):
    """A program that grows beyond its group's limit is killed: what it allocated until then is in
    the recording. One whose limit suffices for itself is not killed for the recording's pages."""
    code = ("kept = []\nfor i in range(200):\n  kept.append(bytearray(1 << 20))\n"
            "  [b'%d' % n * 20 for n in range(200)]\n  print(i, flush=True)")
    path = tmp_path / "r.mallow"
    join = "echo $$ > \"$1\" && shift && exec \"$@\""
    run = subprocess.run(["sh", "-c", join, "sh", memory_group(limit), "/usr/bin/python3", "-c", code],
                         env=preload({"PYTHONMALLOC": "malloc"}, OUTPUT=path, SLOTS=slots),
                         capture_output=True, text=True)
    done = len(run.stdout.splitlines())
    assert (run.returncode, done < 200) == (-signal.SIGKILL if killed else 0, killed), run.stderr
    last = max(tmp_path.glob("r.mallow*"), key=lambda found: found.stat().st_size)
    recording = mallow_reader.read(last)
    assert not recording.damages and recording.missing == 0
    blocks = sum(1 for event in recording.events if getattr(event, "size", 0) >= 1 << 20)
    assert blocks >= (done if slots == "shared" else done - 20)
    tool.assert_equal_sums(last)
