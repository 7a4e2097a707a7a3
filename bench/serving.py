"""What a client of `mallow serve` waits for: filtered, sorted pages of a large recording, the page after
each, a flame graph, and how fast JSON comes.

Asked of a real server by python's http.client, one connection for each request, from its begin to the
last byte of the answer. The recording has no index file: the first request waits until it is loaded, and
the first page of each kind until what it needs of all blocks is made. Each round has a filter that no
request had before: nothing was kept of it."""
import contextlib
import dataclasses
import http.client
import subprocess
import time

import measuring
import table
from profilers import BenchError

PAGE = 100
STREAMED = 200_000      # allocations of a long answer

# What is asked for: {n} is another number in each round, which hardly changes what matches.
PAGES = {
    "allocations by size": "allocations?sort_by=size&size_min={n}",
    "allocations by address": "allocations?sort_by=address&order=dsc&size_min={n}&from=10%&to=90%",
    "leaked ones by size": "allocations?sort_by=size&lifetime=only_leaked&size_min={n}",
    "groups by bytes": "allocation_groups?sort_by=only_matched.size&size_min={n}",
    "groups by all bytes": "allocation_groups?sort_by=all.size&lifetime_min={n}us",
}
# Of all blocks; nothing of these is kept but who is in which group.
VIEWS = {
    "curves by fate": "series",
    "curves by function": "series?by=function",
    "sums by site": "sums?count=100&spark=64",
    "sums by function": "sums?by=function&count=100",
    "sums by thread": "sums?by=thread&spark=64",
    "sums by size and lifetime": "sums?by=size,lifetime",
    "space by function": "space?at=50%&by=function",
}


@dataclasses.dataclass
class Figures:
    load: float = 0                                         # seconds, until the first answer
    pages: dict = dataclasses.field(default_factory=dict)   # {what: milliseconds of each round}
    next: dict = dataclasses.field(default_factory=dict)    # the same of the pages after them
    views: dict = dataclasses.field(default_factory=dict)   # the same of VIEWS
    flamegraph: list = dataclasses.field(default_factory=list)
    stream: list = dataclasses.field(default_factory=list)  # MB/s of each round

    def longest(self):
        """Milliseconds of the answer that took longest, whatever it was."""
        of_each = [*self.pages.values(), *self.next.values(), *self.views.values()]
        return max(*self.flamegraph, *(value for values in of_each for value in values))


class Server:
    def __init__(self, place, path):
        self.process = subprocess.Popen([place.mallow, "serve", "--port", "0", path], text=True,
                                        env=measuring.clean_environment({}), stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise BenchError("mallow serve does not start")
        self.port = int(line.rsplit(":", 1)[1])

    def close(self):
        self.process.terminate()
        self.process.wait()

    def ask(self, target):
        """(seconds, bytes, seconds until the first of them)"""
        begin, size, first = time.monotonic(), 0, None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", f"/data/last/{target}")
        answer = connection.getresponse()
        while piece := answer.read1(1 << 20):
            first = first or time.monotonic() - begin
            size += len(piece)
        connection.close()
        if answer.status != 200:
            raise BenchError(f"mallow serve answers {answer.status} to {target}")
        seconds = time.monotonic() - begin
        return seconds, size, first or seconds


def measure(place, path, rounds):
    """(lines, Figures)"""
    figures = Figures()
    with contextlib.closing(Server(place, path)) as server:
        figures.load = server.ask("allocations?count=1")[0]
        for i in range(rounds):
            for what, target in PAGES.items():
                target = f"{target.format(n=20 + i)}&count={PAGE}"
                figures.pages.setdefault(what, []).append(1000 * server.ask(target)[0])
                figures.next.setdefault(what, []).append(
                    1000 * server.ask(f"{target}&skip={PAGE}")[0])
            for what, target in VIEWS.items():
                figures.views.setdefault(what, []).append(1000 * server.ask(target)[0])
            figures.flamegraph.append(1000 * server.ask(f"export/flamegraph?size_min={40 + i}")[0])
            seconds, size, _ = server.ask(f"allocations?count={STREAMED}")
            figures.stream.append(size / 1e6 / seconds)
    lines = table.rows(["", "the first", "milliseconds", "next page"], [
        *([what, f"{figures.pages[what][0]:.0f}", table.pair(figures.pages[what], 0),
           table.pair(figures.next[what], 0)] for what in PAGES),
        *([what, f"{figures.views[what][0]:.0f}", table.pair(figures.views[what], 0), "-"] for what in VIEWS),
        ["flame graph", f"{figures.flamegraph[0]:.0f}", table.pair(figures.flamegraph, 0), "-"]],
        first=22)
    lines += ["", f"JSON of {table.count(STREAMED)} allocations: {max(figures.stream):.0f} MB/s at best, "
              f"{table.median(figures.stream):.0f} MB/s in the median"]
    return lines, figures


def measure_flame(place, path, rounds):
    """Milliseconds of each round, of what lived at the peak."""
    with contextlib.closing(Server(place, path)) as server:
        server.ask("allocations?count=1")
        return [1000 * server.ask(f"flame?cut={2000 + i}")[0] for i in range(rounds)]
