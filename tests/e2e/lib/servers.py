"""Servers for the tests of mallow serve, and recordings for them to serve."""
import collections
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import time
import urllib.parse

import pytest

import mallow_reader
import mallow_sums
from cells import BUILDS
from conftest import TOP, clean_environment
from filter_reference import ENTRIES, Blocks
from queries import SECOND, Program, Recorded, random_condition, random_recording

FILTERS = set(re.findall(r'^FILTER\(\w+, "(\w+)"',
                         (TOP / "src" / "analysis" / "filter" / "filter.def").read_text(), re.M))


class Server:
    """A running `mallow serve`; what it answers."""

    def __init__(self, path, *arguments, env=None):
        self.run = subprocess.Popen([str(path), "serve", "-p", "0", *map(str, arguments)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    env=clean_environment(env))
        line = self.run.stdout.readline()
        assert line.startswith("listening on http://"), self.run.communicate()
        self.port = int(line.rsplit(":", 1)[1])

    def request(self, target, method="GET", **headers):
        """(status, headers, body as it came)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, target, headers={
            name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response.headers, body

    def text(self, target):
        status, _, body = self.request(target)
        assert status == 200, (target, body)
        return body.decode()

    def json(self, target, **parameters):
        if parameters:
            target += "?" + urllib.parse.urlencode(parameters)
        return json.loads(self.text(target))

    def refused(self, target, status=400):
        """The text of an error, one line."""
        got, headers, body = self.request(target)
        assert got == status, (target, got, body[:200])
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["X-Go-Pprof"] == "1"  # or go tool pprof does not show the text
        assert body.endswith(b"\n") and body.count(b"\n") == 1
        return body.decode().strip()

    def end(self, number=signal.SIGTERM):
        self.run.send_signal(number)
        stdout, stderr = self.run.communicate(timeout=60)
        assert (self.run.returncode, stdout, stderr) == (0, "", "")


@pytest.fixture
def serve(mallow):
    """serve(argument, …): a server, ended cleanly with the test."""
    servers = []

    def start(*arguments, path=mallow, clean=True, env=None):
        servers.append((Server(path, *arguments, env=env), clean))
        return servers[-1][0]

    yield start
    for server, clean in servers:
        if server.run.poll() is None and clean:
            server.end()
        elif server.run.poll() is None:
            server.run.kill()
            server.run.communicate()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("program"))


class Made:
    """A recording made at random, and what the slow, obvious filter knows of it."""

    def __init__(self, program, path, seed):
        self.dice = random.Random(seed)
        self.path, self.program = path, program
        self.unit = random_recording(program, path, self.dice)
        self.reader = mallow_reader.read(path)
        self.blocks = Blocks(self.reader, program.frames_of)
        self.events = list(mallow_sums.in_order(self.reader))
        self.id = self.reader.header.id
        self.glibc = self.reader.header.allocator == mallow_reader.GLIBC
        self.calls = collections.Counter()  # {pc: allocations that came by}
        for block in self.blocks.blocks:
            self.calls.update({pc for pc, _ in self.blocks.stack(block)})

    def filters(self, count):
        for _ in range(count):
            yield dict(random_condition(self.dice, self.unit)
                       for _ in range(self.dice.randrange(0, 3)))

    def matching(self, conditions):
        return [self.blocks.blocks[i] for i in self.blocks.matching(conditions)]

    def moment(self, ns):
        return timeval(self.reader.header.realtime + ns)

    def moments(self, key, ns):
        run = self.blocks.run
        return {key: self.moment(ns), f"{key}_relative": timeval(ns),
                f"{key}_relative_p": pytest.approx(ns / run if run else 0, abs=1e-6)}

    def frames(self, stack):
        """As the API has them: outermost first."""
        frames = []
        for pc, module in reversed(stack):
            path = self.reader.modules[module]["path"] if module else None
            lines = self.program.frames_of.get(pc, [(None, None)])
            for place, (function, source) in reversed(list(enumerate(lines))):
                frames.append({
                    "address": pc - 1, "address_s": f"{pc - 1:016X}", "count": self.calls[pc],
                    "library": os.path.basename(path) if path else None, "function": function,
                    "raw_function": function, "source": source,
                    "is_inline": place + 1 < len(lines)})
        return frames

    def deallocation(self, block):
        if block.freed is None:
            return None
        free = self.events[block.freed_order]
        return {"timestamp": self.moment(block.freed),
                "thread": None if free.op == mallow_sums.IMPLICIT else self.reader.threads[free.thread].tid,
                "backtrace_id": None, "backtrace": None, "site": None}

    def allocation(self, block):
        event, chain = block.event, block.chain()
        last = chain[-1]
        return {"address": event.address, "address_s": f"{event.address:016X}",
                **self.moments("timestamp", block.time), "thread": block.tid, "size": event.size,
                "deallocation": self.deallocation(block), "backtrace": self.frames(self.blocks.stack(block)), "site": None,
                "is_mmaped": bool(event.flags & 1) if self.glibc else None,
                "in_main_arena": not event.flags & 2 if self.glibc else None,
                "extra_space": event.usable - event.size, "id": block.index, "is_jemalloc": False,
                "position_in_chain": chain.index(block), "chain_length": len(chain),
                "chain_deallocation": None if last is block else self.deallocation(last),
                "chain_lifetime": None if last.freed is None else timeval(last.freed - chain[0].time),
                "number": block.index, "chain": chain[0].index, "tag": event.tag,
                "entry": ENTRIES[event.op]}

    def group_sums(self, blocks, whole):
        """whole: they are all of their stack."""
        most = "max_total_usage_first_seen_at"
        sizes, times = [block.event.size for block in blocks], [block.time for block in blocks]
        return {"size": sum(sizes), "min_size": min(sizes), "max_size": max(sizes),
                **self.moments("min_timestamp", min(times)),
                **self.moments("max_timestamp", max(times)),
                "interval": timeval(max(times) - min(times)),
                "leaked_count": sum(block.freed is None for block in blocks),
                "allocated_count": len(blocks), "graph_preview_url": None, "graph_url": None,
                **(self.moments(most, self.blocks.usage_peak(blocks)) if whole
                   else dict.fromkeys((most, f"{most}_relative", f"{most}_relative_p")))}

    def group(self, blocks):
        """Of matching blocks of one stack."""
        stack = self.blocks.stack(blocks[0])
        return {"all": self.group_sums(self.blocks.groups[stack], True),
                "only_matched": self.group_sums(blocks, False),
                "backtrace": self.frames(stack)}

    def groups(self, conditions):
        """In the order of their first allocations."""
        found = collections.defaultdict(list)
        for block in self.matching(conditions):
            found[self.blocks.stack(block)].append(block)
        first = {stack: self.blocks.groups[stack][0].index for stack in found}
        return [self.group(found[stack]) for stack in sorted(found, key=first.get)]


def parameters_of(document, path, place="query"):
    """What an OpenAPI document says that a path takes, by name. An object stands for names that begin with
    "b.", and is none itself."""
    found = [parameter if "$ref" not in parameter
             else document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
             for parameter in document["paths"][path]["get"]["parameters"]]
    return {parameter["name"]: parameter for parameter in found
            if parameter["in"] == place and parameter["schema"]["type"] != "object"}


def timeval(ns):
    return {"secs": ns // SECOND, "fract_nsecs": ns % SECOND}


def without(answer, *keys):
    return {key: value for key, value in answer.items() if key not in keys}


def without_ids(rows):
    """Rows without what the reference does not know: numbers of stacks, lines."""
    for row in rows:
        row = without(row, "backtrace_id")
        row["backtrace"] = [without(frame, "line", "column") for frame in row["backtrace"]]
        yield row


@pytest.fixture(scope="module", params=BUILDS)
def served(request, program, tmp_path_factory):
    """Twelve random recordings and their server."""
    folder = tmp_path_factory.mktemp("served")
    made = [Made(program, folder / f"r{i}.mallow", 1000 + i) for i in range(12)]
    server = Server(request.getfixturevalue(request.param), *[one.path for one in made])
    server.made = made
    yield server
    server.end()


@pytest.fixture(scope="module")
def example(program, tmp_path_factory):
    """The worked example of the contract, as in test_filter.py."""
    made = Recorded(program, ticks=7, monotonic=7, realtime=1000 * SECOND)
    a, b, c = ["outer", "read_all"], ["outer", "read_one"], ["write_all"]
    for at, address, size, stack in [(1, 0x1000, 16, a), (2, 0x2000, 100, b), (2, 0x1000, None, None),
                                     (3, 0x3000, 16, a), (4, 0x4000, 1000, c), (6, 0x4000, None, None),
                                     (8, 0x5000, 100, b), (9, 0x6000, 16, a)]:
        if size is None:
            made.free(at * SECOND, address)
        else:
            made.allocate(at * SECOND, address, size, stack)
    return made.write(tmp_path_factory.mktemp("example") / "example.mallow", 10 * SECOND)


class Stepping:
    """A program that allocates 4321 bytes when it is told to, recorded into a folder."""

    def __init__(self, mallow, path):
        self.mallow, self.program, self.folder, self.run = mallow, path / "step", path / "recordings", None
        (path / "step.c").write_text(
            "#include <stdlib.h>\n#include <unistd.h>\nint main(void) {\n"
            "char c; while (read(0, &c, 1) == 1 && malloc(4321)) if (write(1, &c, 1) != 1) return 1; }\n")
        subprocess.run(["gcc", "-fno-builtin", "-o", self.program, path / "step.c"], check=True)
        self.folder.mkdir()

    def step(self, count):
        if not self.run:
            self.run = subprocess.Popen(
                [self.mallow, "run", "-o", self.folder / "r.mallow", self.program], bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=clean_environment())
        for _ in range(count):
            self.run.stdin.write(b"x")
            assert self.run.stdout.read(1) == b"x"

    def end(self):
        if self.run and self.run.poll() is None:
            self.run.communicate(timeout=60)
            assert self.run.returncode == 0


@pytest.fixture
def stepping(mallow, tmp_path):
    program = Stepping(mallow, tmp_path)
    yield program
    program.end()


@pytest.fixture(scope="module")
def large(program, tmp_path_factory):
    """More JSON than any buffer between server and client holds."""
    made = Recorded(program)
    for i in range(60_000):
        made.allocate(i, 0x100000 + 64 * i, 32, ["outer", "read_all", "write_all", "flush"])
    return made.write(tmp_path_factory.mktemp("large") / "large.mallow", 60_000)


def fails(mallow, *arguments):
    run = subprocess.run([str(mallow), "serve", *map(str, arguments)], capture_output=True, text=True,
                         env=clean_environment(), timeout=60)
    assert run.stdout == "" and run.stderr.count("\n") == 1
    return run.returncode, run.stderr.strip()


def raw(server, data, timeout=20):
    """What comes back for bytes as they are, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as client:
        got = b""
        try:
            client.sendall(data)
        except OSError:
            pass  # it closed before it had all: what it said is still there
        try:
            while True:
                piece = client.recv(65536)
                if not piece:
                    return got
                got += piece
        except OSError:
            return got


def until(condition, patience=60):
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
