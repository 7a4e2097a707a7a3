"""`mallow memleak` on a program that does what it is told."""
import collections
import json
import os
import signal
import subprocess

import pytest

from conftest import clean_environment


# The functions of tests/samples/outstanding.c that keep mappings, and no blocks.
MAPPED = {"keep_mmap", "keep_part", "keep_hole", "keep_mremap", "keep_not_moved"}


def need_bpf():
    """The test is skipped where the kernel has no uprobes for BPF, or does not let us use them."""
    if os.geteuid():
        pytest.skip("eBPF needs root")
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        pytest.skip("the kernel does not describe its types (no /sys/kernel/btf/vmlinux)")
    if not hasattr(need_bpf, "reason"):
        # 1, BPF_MAP_CREATE of nothing: EINVAL or E2BIG where the system call is allowed.
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(321, 0, 0, 0)
        denied = ctypes.get_errno() in (1, 38)
        need_bpf.reason = "the system call bpf is not allowed here" if denied else None
    if need_bpf.reason:
        pytest.skip(need_bpf.reason)


class Target:
    """A program that says "ready", reads words and answers "done WORD": tests/samples/outstanding.c and others."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=clean_environment(
                                            options.pop("environment", None)), **options)
        self.pid = self.process.pid
        # Before this the loader may not have mapped the C library, and chroot not have executed the program.
        self.wait_until_ready()

    def wait_until_ready(self):
        line = self.process.stdout.readline()
        assert line == "ready\n", line

    def do(self, *words):
        # Some at a time: neither pipe fills up.
        for first in range(0, len(words), 1000):
            some = words[first:first + 1000]
            self.process.stdin.write("".join(f"{word}\n" for word in some))
            self.process.stdin.flush()
            for word in some:
                line = self.process.stdout.readline()
                assert line == f"done {word}\n", line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Memleak:
    """A running `mallow memleak`, whose reports are JSON."""

    ATTACHED = "Probing"    # how the line begins that says so

    def __init__(self, mallow, *arguments, interval=1000, json=True, environment=None):
        options = ["--json"] if json else []
        # Unbuffered: what is behind the lines that are read here is left to communicate().
        self.process = subprocess.Popen(
            [str(mallow), "memleak", *options, *map(str, arguments), str(interval)], bufsize=0,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(environment))
        self.notes = []
        self.stream = self.process.stderr if json else self.process.stdout
        self.wait_for(self.ATTACHED)

    def wait_for(self, beginning):
        """Reads notes up to one that begins so."""
        while True:
            line = self.stream.readline().decode()
            if not line:
                raise AssertionError(f"it ended: {self.notes} {self.process.communicate()}")
            self.notes.append(line)
            if line.startswith(beginning):
                return

    def end(self, number=signal.SIGINT):
        """Ends it, and returns what it printed since."""
        self.process.send_signal(number)
        return self.output()

    def output(self):
        """What it printed since, once it has ended."""
        out, err = (text.decode() for text in self.process.communicate(timeout=60))
        assert self.process.returncode == 0 and "runtime error" not in err, err
        self.notes += err.splitlines(keepends=True)
        return out

    def next_report(self):
        """The next one of those that come at intervals."""
        return json.loads(self.process.stdout.readline())

    def report(self):
        """The report at its end."""
        return json.loads(self.end().splitlines()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def by_keeper(report):
    """{function that keeps something: (bytes, allocations)}, innermost function of that name."""
    found = collections.defaultdict(lambda: (0, 0))
    for stack in report["stacks"]:
        names = [frame["function"] for frame in stack["frames"] if frame["function"]]
        name = next((name for name in names if name.startswith("keep_")), names and names[0])
        found[name] = (found[name][0] + stack["bytes"], found[name][1] + stack["allocations"])
    return dict(found)


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


class Attach:
    """A running `mallow attach`, and its recording."""

    def __init__(self, mallow, pid, path, *options, environment=None):
        self.path = path
        self.process = subprocess.Popen([str(mallow), "attach", "-o", str(path), *map(str, options), str(pid)],
                                        bufsize=0, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=clean_environment(environment))
        self.said = ""
        while "\nRecording into " not in f"\n{self.said}":
            line = self.process.stderr.readline().decode()
            assert line, f"it ended: {self.process.wait()} {self.said}"
            self.said += line

    def end(self, number=signal.SIGINT):
        """Ends it by a signal, and returns all that it said."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self, status=0):
        """Until it ends by itself."""
        self.said += self.process.communicate(timeout=120)[1].decode()
        assert self.process.returncode == status and "runtime error" not in self.said, self.said
        return self.said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
