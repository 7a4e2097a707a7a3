"""`mallow memleak` on the kernel, and a process that asks the kernel for what a test wants."""
import ctypes
import os
import pathlib
import struct
import subprocess
import time

from conftest import clean_environment
from traced_process import Memleak, functions

# Statements come a line each. old_eventfd() is the system call that nobody else uses any more: what it allocates has
# stacks of its own. old_pipe() is rare, too.
RUN = """
import ctypes, fcntl, mmap, os, select, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def old_eventfd():
    found = libc.syscall(284, 0)
    assert found >= 0
    return found
def old_pipe():
    found = (ctypes.c_int * 2)()
    assert libc.syscall(22, found) == 0
    return found
def close(list):
    while list:
        os.close(list.pop())
def load_program(code, license):
    # BPF_PROG_LOAD of a socket filter.
    attributes = (ctypes.c_uint64 * 16)(1 | len(code) // 8 << 32, ctypes.addressof(code), ctypes.addressof(license))
    found = libc.syscall(321, 5, attributes, 48)
    assert found >= 0, ctypes.get_errno()
    return found
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


# How long the entry of a type is in BTF, by its kind: behind its first 12 bytes, and for each of its members.
BTF_ONCE = {1: 4, 3: 12, 14: 4, 17: 4}
BTF_EACH = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
BTF_TYPEDEF, BTF_FUNCTION = 8, 12


def kernel_type(name, kind):
    """The number of a type in the kernel's description of its types, or None."""
    btf = pathlib.Path("/sys/kernel/btf/vmlinux").read_bytes()
    begin, types, size, strings = struct.unpack_from("<4I", btf, 4)
    at, strings = begin + types, begin + strings
    end, number, wanted = at + size, 0, name.encode() + b"\0"
    while at < end:
        text, info = struct.unpack_from("<2I", btf, at)
        found = info >> 24 & 31
        number += 1
        if found == kind and btf.startswith(wanted, strings + text):
            return number
        at += 12 + BTF_ONCE.get(found, 0) + (info & 0xffff) * BTF_EACH.get(found, 0)
    return None


RETURN_0 = bytes([0xb7, *[0] * 7, 0x95, *[0] * 7])


def refusal_of_fentry(function):
    """What the kernel says when a BPF program is to be called at the entry of a function; None if it lets us."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = kernel_type(function, BTF_FUNCTION)
    if number is None:
        return ""
    code, terms = ctypes.create_string_buffer(RETURN_0), ctypes.create_string_buffer(b"GPL")
    load = bytearray(128)
    # BPF_PROG_LOAD of a BPF_PROG_TYPE_TRACING with BPF_TRACE_FENTRY.
    struct.pack_into("<IIQQ", load, 0, 26, 2, ctypes.addressof(code), ctypes.addressof(terms))
    struct.pack_into("<I", load, 68, 24)
    struct.pack_into("<I", load, 108, number)
    program = libc.syscall(321, 5, (ctypes.c_char * 128).from_buffer(load), 128)
    if program < 0:
        return os.strerror(ctypes.get_errno())
    # BPF_RAW_TRACEPOINT_OPEN of it.
    attach = bytearray(struct.pack("<QQ", 0, program))
    link = libc.syscall(321, 17, (ctypes.c_char * 16).from_buffer(attach), 16)
    reason = os.strerror(ctypes.get_errno()) if link < 0 else None
    for descriptor in (program, link):
        if descriptor >= 0:
            os.close(descriptor)
    return reason
