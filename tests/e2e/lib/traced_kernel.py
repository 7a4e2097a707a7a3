"""`mallow memleak` on the kernel, and a process that asks the kernel for what a test wants."""
import pathlib
import subprocess
import time

from conftest import clean_environment
from traced_process import Memleak, functions

# Statements come a line each. old_eventfd() is the system call that nobody else uses any more: what it allocates has
# stacks of its own.
RUN = """
import ctypes, fcntl, mmap, os, select, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def old_eventfd():
    found = libc.syscall(284, 0)
    assert found >= 0
    return found
def close(list):
    while list:
        os.close(list.pop())
print("ready", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class KernelMemleak(Memleak):
    ATTACHED = "Tracing"

    def wait_until(self, holds, patience=60):
        """The first report of those that come at intervals of which that holds."""
        deadline = time.monotonic() + patience
        while True:
            report = self.next_report()
            if holds(report):
                return report
            assert time.monotonic() < deadline, report


class Caller:
    """Makes system calls: do(statement in Python, …)."""

    def __init__(self):
        self.process = subprocess.Popen(["/usr/bin/python3", "-c", RUN], stdin=subprocess.PIPE, bufsize=1,
                                        stdout=subprocess.PIPE, text=True, env=clean_environment())
        assert self.process.stdout.readline() == "ready\n"

    def do(self, *statements):
        for statement in statements:
            self.process.stdin.write(statement + "\n")
            line = self.process.stdout.readline()
            assert line == "done\n", line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def through(report, *names):
    """The stacks with functions that begin with all these names."""
    return [stack for stack in report["stacks"]
            if all(any((function or "").startswith(name) for function in functions(stack)) for name in names)]


def blocks(stacks):
    return sum(stack["allocations"] for stack in stacks)


def slab_objects(name):
    """How many objects a cache has, by the kernel."""
    for line in pathlib.Path("/proc/slabinfo").read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    return None
