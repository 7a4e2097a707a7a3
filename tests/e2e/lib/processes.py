"""Programs that run on while a test looks at them."""
import os
import select
import subprocess
import time

import mallow_reader
import mallow_sums
from conftest import clean_environment


def wait_for(condition, seconds=30, step=0.02):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(step)


def catches(pid, number):
    """Whether the process has a handler for that signal."""
    with open(f"/proc/{pid}/status") as status:
        caught, = (int(line.split()[1], 16) for line in status if line.startswith("SigCgt:"))
    return caught >> (number - 1) & 1


def kill_after(process, pipe, seconds):
    """Reads what the program reports until the moment comes, kills it, and reads the rest."""
    done, deadline = 0, time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            done += len(os.read(pipe, 65536))
    process.kill()
    process.wait()
    while data := os.read(pipe, 65536):
        done += len(data)
    return done


def has_begun(path):
    """Whether it is a recording yet: its first bytes are written last."""
    return path.exists() and path.read_bytes()[:8] == mallow_reader.MAGIC


def start_steady(program, threads, environment):
    """The process, and the end of the pipe to which it reports each allocation."""
    reading, writing = os.pipe()
    process = subprocess.Popen([program, str(threads)], env=environment, pass_fds=[3],
                               preexec_fn=lambda: os.dup2(writing, 3))
    os.close(writing)
    return process, reading


def assert_holds(path, done):
    """Every allocation reported done is there, with a whole stack, and no id dangles."""
    recording = mallow_reader.read(path)
    sums = mallow_sums.Sums(recording)
    steps = sum(1 for event in recording.events if event.op == 1 and event.size <= 1000)
    assert steps >= done, f"{done} allocations were done, {steps} are recorded"
    assert recording.dangling() == ([], [])
    assert not recording.damages and recording.missing == 0
    assert not recording.header.ended
    for stack in sums.sites:
        assert all(pc > 15 for pc, _ in stack)
    return sums


def plain_run(program, *arguments, env=None, timeout=60):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout,
                          env=clean_environment(env))
