"""`mallow serve` follows a busy program: what it takes does not grow with what the program has done. The requests
are those of the page at its overview, and of its flame graph.

MALLOW_FOLLOW_SECONDS and MALLOW_FOLLOW_RATE, allocations a second, say how long and how busy."""
import concurrent.futures
import http.client
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

from processes import has_begun, wait_for
from servers import serve  # noqa: F401

SECONDS = int(os.environ.get("MALLOW_FOLLOW_SECONDS", 80))
RATE = int(os.environ.get("MALLOW_FOLLOW_RATE", 150_000))  # 12 million: ten minutes of 20,000 a second
THREADS = 2
PAGE = ["summary", "findings", "series", "sums?sort_by=bytes&count=6&spark=48",
        "flame?metric=peak&cut=1200&fold=plumbing,trunk"]
FILTERED = ["summary?size_min=100", "series?size_min=100", "flame?metric=peak&size_min=100"]
BETWEEN_S = 1
BOUND = 16 << 20  # bytes of growth from the second quarter to the last one: what malloc() holds varies


class Memory:
    """What a process has resident, in bytes; a thread looks for the least and the most since take()."""

    def __init__(self, pid):
        self.path = pathlib.Path(f"/proc/{pid}/status")
        self.least, self.most = {}, {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def now(self):
        return {name: int(kilobytes) << 10
                for name, kilobytes in re.findall(r"^(VmRSS|RssAnon):\s+(\d+)", self.path.read_text(), re.M)}

    def watch(self):
        while not self.over.wait(0.02):
            least, most = self.least, self.most
            for name, bytes_ in self.now().items():
                least[name] = min(least.get(name, bytes_), bytes_)
                most[name] = max(most.get(name, bytes_), bytes_)

    def take(self):
        taken = self.least, self.most
        self.least, self.most = self.now(), self.now()
        return taken

    def end(self):
        self.over.set()
        self.thread.join()


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Page:
    """Asks all at once, as a browser does, when the server says that something is new."""

    def __init__(self, port, targets):
        self.connections = {target: http.client.HTTPConnection("127.0.0.1", port, timeout=120) for target in targets}
        self.threads = concurrent.futures.ThreadPoolExecutor(len(targets))
        self.stream = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.stream.request("GET", "/events?id=last")
        self.events = self.stream.getresponse()

    def wait_for_news(self):
        """Whether the recording goes on."""
        while line := self.events.readline():
            if line.startswith(b"event: "):
                return line == b"event: changed\n"
        return False

    def ask(self, target):
        """How many milliseconds the answer took."""
        begun = time.monotonic()
        connection = self.connections[target]
        connection.request("GET", f"/data/last/{target}", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return round(1000 * (time.monotonic() - begun))

    def ask_all(self):
        return dict(zip(self.connections, self.threads.map(self.ask, self.connections)))

    def close(self):
        self.stream.close()
        self.threads.shutdown()
        for connection in self.connections.values():
            connection.close()


def follow(server, running, targets):
    """What the server has resident: [(seconds, least since the look before, most since then)]"""
    page, memory, begun, looks = Page(server.port, targets), Memory(server.run.pid), time.monotonic(), []
    try:
        while page.wait_for_news() and running.poll() is None:
            times = page.ask_all()
            least, most = memory.take()
            looks.append((time.monotonic() - begun, least, most))
            resident = (f"{name} {least[name] >> 20} MB, at most {most[name] >> 20}" for name in least)
            print(f"{looks[-1][0]:.1f} s", *resident, f"{cpu_seconds(server.run.pid):.1f} s of processor time", times,
                  flush=True)
            time.sleep(BETWEEN_S)
    finally:
        memory.end()
        page.close()
    return looks


def growth(looks, name):
    """From the second quarter to the last one: (of the least, between answers; of the most, in answers)"""
    end = looks[-1][0]
    early = [look for look in looks if end / 4 <= look[0] < end / 2]
    late = [look for look in looks if look[0] >= end * 3 / 4]
    return tuple(max(look[part][name] for look in late) - max(look[part][name] for look in early) for part in (1, 2))


@pytest.mark.long
@pytest.mark.parametrize("targets", [PAGE, FILTERED], ids=["overview", "filtered"])
def test_memory_does_not_grow_with_what_was_allocated(compile_sample, preload, serve, tmp_path, targets):  # noqa: F811
    path = tmp_path / "r.mallow"
    program = compile_sample("even_pace", "gcc", "-O1")
    with subprocess.Popen([program, str(THREADS), str(RATE * SECONDS), str(1000 * SECONDS)], env=preload(OUTPUT=path),
                          stdout=subprocess.DEVNULL) as running:
        wait_for(lambda: has_begun(path))
        looks = follow(serve(path), running, targets)
        running.kill()
    assert len(looks) >= SECONDS / 8
    between, inside = growth(looks, "RssAnon")
    assert max(between, inside) < BOUND
    # In an answer the pages of files are resident that it is made of; then they are given back.
    assert growth(looks, "VmRSS")[0] < BOUND
