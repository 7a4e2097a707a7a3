"""mallow serve and many recordings: what each costs, which are closed again, and what few descriptors
allow. Requests that must come one after the other use one connection: a request on it is over, with
all that is done at its end, before the next one is read."""
import http.client
import itertools
import json
import os
import pathlib
import re
import resource
import subprocess
import threading

import pytest

from conftest import clean_environment
from queries import MALLOC, Recorded
from servers import large, program, serve, until  # noqa: F401

FUNCTIONS = 1000


class Small:
    """Recordings of 8 KB each, not finished, of a program with some megabytes of debug information."""

    def __init__(self, mallow, folder):
        self.folder = folder / "recordings"
        source = folder / "small.c"
        source.write_text(
            "#include <stdlib.h>\n"
            + "".join(f"struct s{i} {{ int a{i}; long b{i}; struct s{i} *next{i}; }};\n"
                      f"int f{i}(struct s{i} *s{i}) {{ int x{i} = s{i}->a{i}; return x{i} + {i}; }}\n"
                      for i in range(FUNCTIONS))
            + "void inner(int n) { volatile char *p = malloc(n); *p = 1; }\n"
            "int main(void) { for (int i = 100; i < 110; i++) inner(i); inner(5000); }\n")
        subprocess.run(["gcc", "-g", "-gz=none", "-O1", "-o", folder / "small", source], check=True)
        self.folder.mkdir()
        first = self.folder / "0.mallow"
        subprocess.run([mallow, "run", "--no-finish", "-o", first, folder / "small"], check=True,
                       capture_output=True, env=clean_environment())
        self.data = bytearray(first.read_bytes())
        self.ids = []
        for i in range(20):
            self.data[16:32] = bytes([i + 1]) * 16
            self.ids.append(self.data[16:32].hex())
            (self.folder / f"{i}.mallow").write_bytes(self.data)


@pytest.fixture(scope="module")
def small(mallow, tmp_path_factory):
    return Small(mallow, tmp_path_factory.mktemp("small"))


class Connection:
    """One connection to a server, for requests one after the other."""

    def __init__(self, server):
        self.http = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def ask(self, identity, what="allocations"):
        """(ETag, body)"""
        self.http.request("GET", f"/data/{identity}/{what}")
        response = self.http.getresponse()
        body = response.read()
        assert response.status == 200, body
        return response.headers["ETag"], body


def functions(body):
    return {frame["function"] for block in json.loads(body)["allocations"] for frame in block["backtrace"]}


def resident(server, field="VmRSS"):
    """Kilobytes. VmHWM: the most that there ever were."""
    text = pathlib.Path(f"/proc/{server.run.pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text)[1])


def descriptors(server):
    return len(os.listdir(f"/proc/{server.run.pid}/fd"))


def test_each_costs_what_it_needs(small, serve):
    """Also where not all of its frames have been shown."""
    what = "allocations?count=1"
    server = serve("--max-open", 1000, small.folder)
    connection = Connection(server)
    _, body = connection.ask(small.ids[0], what)
    assert {"inner", "main"} <= functions(body)
    connection.ask(small.ids[0], what)  # what the first request opened is closed again
    memory, files = resident(server), descriptors(server)
    for identity in small.ids[1:]:
        assert connection.ask(identity, what)[1] == body
    connection.ask(small.ids[-1], what)
    # The server closes files when it has answered, so perhaps a moment later.
    until(lambda: descriptors(server) <= files)
    # 0.1 MB each. With the files of each kept open it was megabytes of debug information.
    assert resident(server) - memory < 400 * len(small.ids)


def test_the_one_asked_for_longest_ago_is_closed(small, serve, asan_mallow):
    """One that is opened anew has another tag, and the same answer."""
    server = serve("--max-open", 3, small.folder, path=asan_mallow)
    connection = Connection(server)
    a, b, c, d = small.ids[:4]
    first = {name: connection.ask(name) for name in (a, b, c)}
    assert connection.ask(a) == first[a]
    first[d] = connection.ask(d)  # and b is closed
    for name in (a, c, d):
        assert connection.ask(name) == first[name]
    tag, body = connection.ask(b)  # and a is closed
    assert tag != first[b][0] and body == first[b][1]
    for name in (c, d):
        assert connection.ask(name) == first[name]
    assert connection.ask(a)[0] != first[a][0]
    # Old tags are no answer of another one.
    status, headers, body = server.request(f"/data/{b}/allocations", If_None_Match=first[b][0])
    assert (status, body) == (200, first[b][1]) and headers["ETag"] != first[b][0]


def test_little_memory_keeps_the_latest(small, serve, asan_mallow):
    server = serve("--max-memory", 1, small.folder, path=asan_mallow)
    connection = Connection(server)
    a, b = small.ids[:2]
    first = connection.ask(a)
    assert connection.ask(a) == first
    other = connection.ask(b)
    assert other[1] == first[1] and connection.ask(b) == other
    again = connection.ask(a)
    assert again[0] != first[0] and again[1] == first[1]


def test_memory_is_bounded(large, tmp_path, serve):
    """Of recordings that take 4 MB each."""
    data = bytearray(large.read_bytes())
    ids = []
    for i in range(16):
        data[16:32] = bytes([i + 1]) * 16
        ids.append(data[16:32].hex())
        (tmp_path / f"{i}.mallow").write_bytes(data)
    what = "allocations?sort_by=size&order=dsc&count=5000"
    server = serve("--max-memory", "24M", tmp_path)
    connection = Connection(server)
    _, body = connection.ask(ids[0], what)
    most = 0
    for identity in ids * 2:
        assert connection.ask(identity, what)[1] == body
        most = max(most, resident(server))
    without = serve(tmp_path)
    connection = Connection(without)
    for identity in ids:
        connection.ask(identity, what)
    assert most < (24 << 10) + 20_000 < resident(without), most


@pytest.fixture(scope="module")
def deep(program, tmp_path_factory):  # noqa: F811
    """Stacks of 400 frames that differ in their last five."""
    made = Recorded(program)
    chunk, names = made.chunks[0], list(made.ids.values())
    for i, ending in enumerate(itertools.product(names, repeat=5)):
        change = (5, list(ending)) if i else (0, [names[0]] * 395 + list(ending))
        chunk.allocate(MALLOC, made.start + i, 0x100000 + 64 * i, 32, change=change)
    made.depths[0] = 400
    return made.write(tmp_path_factory.mktemp("deep") / "deep.mallow", 7 ** 5)


@pytest.mark.parametrize("what, least", [("export/flamegraph.pl", 50_000_000), ("tree", 5_000_000)])
def test_long_answers_are_never_whole_in_memory(deep, serve, what, least):
    """They are made while they are read."""
    server = serve(deep)
    server.request("/data/last/allocations?count=1")
    before = resident(server, "VmHWM")
    size = len(server.request(f"/data/last/{what}")[2])
    assert size > least
    assert 1024 * (resident(server, "VmHWM") - before) < size / 2


def test_one_in_use_is_not_closed(large, small, serve, asan_mallow):
    server = serve("--max-open", 1, large, small.folder, path=asan_mallow)
    identity = next(row["id"] for row in server.json("/list") if row["id"] not in small.ids)
    target = f"/data/{identity}/allocations"
    reader = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    reader.request("GET", target)
    response = reader.getresponse()
    got = response.read(1000)
    others = Connection(server)
    for name in small.ids[:5]:
        others.ask(name)
    # Who asks for it now gets the same one.
    assert server.request(target, "HEAD")[1]["ETag"] == response.headers["ETag"]
    others.ask(small.ids[0])
    got += response.read()
    assert json.loads(got)["total_count"] == 60_000
    reader.close()

    def is_closed():
        others.ask(small.ids[0])
        return server.request(target, "HEAD")[1]["ETag"] != response.headers["ETag"]
    until(is_closed)


def test_many_at_once(small, serve, asan_mallow):
    """Opened and closed all the time, by several clients."""
    server = serve("--max-open", 2, small.folder, path=asan_mallow)
    _, body = Connection(server).ask(small.ids[0])
    wrong = []

    def ask(start):
        connection = Connection(server)
        try:
            for i in range(24):
                name = small.ids[(start * 5 + i * (start + 1)) % 12]
                if connection.ask(name)[1] != body:
                    wrong.append(name)
        except (AssertionError, OSError, http.client.HTTPException) as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_few_descriptors(mallow, small, tmp_path, serve):
    wrapper = tmp_path / "few"
    wrapper.write_text(f'#!/bin/sh\nulimit -n 64\nexec {mallow} "$@"\n')
    wrapper.chmod(0o755)
    server = serve("--max-open", 1000, small.folder, path=wrapper)
    connections = [Connection(server) for _ in range(5)]
    bodies = {connections[i % 5].ask(name)[1] for i, name in enumerate(small.ids * 2)}
    assert len(bodies) == 1 and {"inner", "main"} <= functions(bodies.pop())
    assert descriptors(server) <= 64
    # More connections than there can be: some wait, or are ended; others are served when these are.
    more = [Connection(server) for _ in range(60)]
    for connection in more:
        connection.http.connect()
    for connection in more + connections:
        connection.http.close()
    until(lambda: descriptors(server) < 16)

    def answers():
        try:
            return len(server.json("/list")) == len(small.ids)
        except ConnectionError:     # one of those that are ended while there are still too many
            return False

    until(answers)


def test_names_that_no_descriptor_was_left_for(small, serve):
    """That is no fact about the program: with descriptors the names are there."""
    server = serve(small.folder / "0.mallow")
    server.text("/data/last/timeline")  # opened, and no name asked for
    until(lambda: descriptors(server) == 6)
    taken = max(int(name) for name in os.listdir(f"/proc/{server.run.pid}/fd"))
    before = resource.prlimit(server.run.pid, resource.RLIMIT_NOFILE)
    # For a connection, which takes two, and no more.
    resource.prlimit(server.run.pid, resource.RLIMIT_NOFILE, (taken + 3, before[1]))
    assert server.refused("/data/last/tree", 500).endswith(": Too many open files")
    resource.prlimit(server.run.pid, resource.RLIMIT_NOFILE, before)
    assert {"inner", "main"} <= functions(server.text("/data/last/allocations"))


@pytest.mark.parametrize("option, value", [("--max-open", "0"), ("--max-open", "x"), ("--max-open", "-1"),
                                           ("--max-memory", "x"), ("--max-memory", "1T"),
                                           ("--max-memory", ""), ("--max-memory", "-1")])
def test_wrong_bounds(mallow, option, value):
    run = subprocess.run([mallow, "serve", option, value], capture_output=True, text=True, timeout=60,
                         env=clean_environment())
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert f"'{value}' is no value of {option}" in run.stderr
