"""Programs that are recorded over the network, and the receivers of mallow."""
import contextlib
import pathlib
import re
import signal
import subprocess
import threading
import time

import mallow_reader
from conftest import build_sample, clean_environment
from processes import wait_for

PORT = re.compile(r"(?:\bport |listening on \S*:|connect to \S*:)(\d+)")
FILE_NAME = re.compile(r"\d{8}_\d{6}_\d+_[^/]*\.mallow(\.\d+)?")  # a number where there is such a file


class Process:
    """A process whose lines are kept as they come; `host` is a namespace or None."""

    def __init__(self, words, host=None, env=None, stdin=subprocess.DEVNULL, **options):
        words = [str(word) for word in words]
        self.run = subprocess.Popen(host.command(*words) if host else words, env=clean_environment(env),
                                    stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.pid = self.run.pid
        self.lines, self.printed, self.both, self.news = [], [], [], threading.Condition()
        self.threads = [threading.Thread(target=self._follow, args=pair, daemon=True)
                        for pair in ((self.run.stderr, self.lines), (self.run.stdout, self.printed))]
        for thread in self.threads:
            thread.start()

    def _follow(self, pipe, lines):
        for line in pipe:
            with self.news:
                lines.append(line.decode(errors="backslashreplace").rstrip("\n"))
                self.both.append(lines[-1])
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def wait_for(self, pattern, timeout=30, start=0):
        """The match of the first line on either stream that has one."""
        deadline = time.monotonic() + timeout
        with self.news:
            while True:
                for line in self.lines[start:] + self.printed:
                    if match := re.search(pattern, line):
                        return match
                left = deadline - time.monotonic()
                dead = self.run.poll() is not None and not any(thread.is_alive() for thread in self.threads)
                assert left > 0 and not dead, \
                    f"no {pattern!r}; status {self.run.poll()}, lines {self.lines} {self.printed}"
                self.news.wait(min(left, 0.2))

    def alive(self):
        return self.run.poll() is None

    def wait(self, timeout=60):
        """Its status, once it has ended and all was read."""
        try:
            status = self.run.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it goes on; lines: {self.lines} {self.printed}") from None
        for thread in self.threads:
            thread.join(10)
        return status

    def end(self, number=signal.SIGTERM, timeout=60):
        self.run.send_signal(number)
        return self.wait(timeout)

    def kill(self):
        if self.alive():
            self.run.kill()
        self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.run.stdin:
            self.run.stdin.close()  # a program under it ends by this, and gives up the pipes
        self.kill()


def sent_bytes(path):
    """Those that were sent: whoever receives them sets a flag in the header, "foreign"."""
    data = bytearray(path.read_bytes())
    if len(data) >= mallow_reader.PAGE:
        assert data[73] & 1
        data[73] &= ~1
    return bytes(data)


class Gather(Process):
    """A running `mallow gather` that listens somewhere."""

    def __init__(self, mallow, folder, *options, listen="127.0.0.1:0", targets=(), **more):
        self.folder = pathlib.Path(folder)
        if listen:
            options = ["--listen", listen, *options]
        super().__init__([mallow, "gather", "-o", folder, *options, *targets], **more)
        if listen:
            self.port = int(self.wait_for(PORT, 10)[1])
        # What it said before anybody came.
        self.begun = len(self.both)

    @property
    def said(self):
        """The lines since it has begun, of both streams."""
        with self.news:
            return self.both[self.begun:]

    @property
    def files(self):
        """Recordings, by name."""
        return sorted(path for path in self.folder.iterdir() if path.is_file() and ".mallow" in path.name)

    @property
    def file(self):
        one, = self.files
        return one

    def file_named(self, name):
        """The one of a program."""
        one, = self.folder.glob(f"*_*_*_{name}.mallow")
        return one


class Streamed(Process):
    """tests/samples/stream_steps.c, recorded by `mallow run`."""

    def __init__(self, mallow, path, *options, finish=False, program=None, **more):
        self.path = path and pathlib.Path(path)
        words = [mallow, "run", *([] if finish else ["--no-finish"]), *(["-o", path] if path else []), *options]
        super().__init__([*words, "--", program or build_sample("stream_steps", "gcc", "-O1")],
                         stdin=subprocess.PIPE, **more)
        self.done = 0

    def do(self, *lines, timeout=60):
        for line in lines:
            self.run.stdin.write(f"{line}\n".encode())
            self.run.stdin.flush()
            self.done += 1
            self._wait_until_done(line, timeout)

    def _wait_until_done(self, line, timeout):
        deadline = time.monotonic() + timeout
        with self.news:
            while self.printed.count(f"done {line}") == 0 or \
                    sum(text.startswith("done ") for text in self.printed) < self.done:
                assert self.alive() and time.monotonic() < deadline, (self.run.poll(), self.lines, self.printed)
                self.news.wait(0.2)

    @property
    def port(self):
        """Where receivers can connect to."""
        return int(self.wait_for(PORT)[1])

    def program(self):
        """The number of the program's process."""
        return _child_of(self.pid)

    def wait_until_it_waits(self):
        """Until the program has ended, and a signal ends but the waiting for a receiver: sigtimedwait(2)."""
        process = pathlib.Path(f"/proc/{self.pid}")

        def waits():
            with contextlib.suppress(FileNotFoundError):  # of a thread that ends meanwhile
                # It waits so for the program, too.
                return not any(path.read_text() for path in process.glob("task/*/children")) and \
                    "sigtimedwait" in (process / "wchan").read_text()
            return False

        wait_for(waits)

    def finish(self, timeout=60):
        """The program ends by itself; the status of `mallow run`."""
        self.run.stdin.close()
        return self.wait(timeout)


def _child_of(pid):
    """The child that is no mallow."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if not pathlib.Path(f"/proc/{child}/comm").read_text().startswith("mallow"):
                return int(child)
    raise AssertionError(f"no program under {pid}")
