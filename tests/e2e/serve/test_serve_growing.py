"""`mallow serve` reads a recording on while it is written. Its answers are those of a server that was
started just now and read all of it."""
import http.client
import json
import re
import socket

import pytest

from in_rounds import rounds  # noqa: F401
from servers import Server, serve, until  # noqa: F401

BLOCKS = 1000           # of a thread in a round, of four threads
MANY_BLOCKS = 3_000     # so many that an answer is larger than the buffers between server and client
BUFFERS = 10_000_000    # bytes
CLOCK_NS = 20_000       # the clock of ticks is known the better the longer a recording is
PAGES = [f"allocations?{words}" for words in
         ("count=300", "sort_by=size&order=dsc&skip=100&count=300", "size_min=200&sort_by=address&count=300",
          "lifetime=only_leaked&count=300", "function_regex=deeper&size_max=20&count=300",
          "lifetime=only_temporary&stacks=none&count=300", "chain_length_min=2&count=300")]
VIEWS = ["summary", "timeline", "findings", "allocation_groups?sort_by=all.size&count=50", "tree", "sums?by=function",
         "sums?by=thread", "sums?by=size&lifetime=only_leaked", "flame?metric=peak", "flame?metric=calls&size_min=50",
         "export/flamegraph?lifetime=only_leaked", "allocation_ascii_tree", "raw_allocations?size_min=399&count=100",
         "space", "mmaps"]
OWN_NUMBERS = {"backtrace_id", "stack", "id", "growth"}  # numbered as a server likes; or small beside errors of time
TIMES = {"first", "last", "age"}                         # ns, as what ends with _ns
CURVES = {"curve", "timeline"}                           # blocks at a moment: some begin or end within the error


def moment_of(value):
    """The nanoseconds of a time of the API, or None."""
    if isinstance(value, dict) and set(value) == {"secs", "fract_nsecs"}:
        return 1_000_000_000 * value["secs"] + value["fract_nsecs"]
    return None


def tolerance(keys):
    """What numbers there may be off: (part, units)"""
    if keys & CURVES:
        return 0.01, 2000
    if keys & TIMES or any(key.endswith("_ns") for key in keys):
        return 0, CLOCK_NS
    return 0, 0


def compare(a, b, *where):
    """Fails unless the answers say the same; where: the keys that lead to them."""
    moment = moment_of(a)
    if moment is not None:
        assert abs(moment - moment_of(b)) <= CLOCK_NS, where
    elif isinstance(a, dict):
        assert set(a) == set(b), where
        for key in set(a) - OWN_NUMBERS:
            compare(a[key], b[key], *where, key)
    elif isinstance(a, list):
        assert len(a) == len(b), where
        for number, (one, other) in enumerate(zip(a, b)):
            compare(one, other, *where, str(number))
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-3, abs=CLOCK_NS / 1e9), where
    elif isinstance(a, int) and b is not None:
        part, units = tolerance(set(where))
        assert abs(a - b) <= part * a + units, where
    elif isinstance(a, str) and "sentence" in where:
        assert re.sub(r"[\d.]+", "#", a) == re.sub(r"[\d.]+", "#", b), where  # times are rounded
    else:
        assert a == b, where


def answer(server, target):
    text = server.text(f"/data/last/{target}")
    try:
        return json.loads(text)
    except ValueError:
        return text


def compare_with_fresh(program, server):
    """The answers of the server, which may take a second to see what is new, and of a fresh one. How many
    allocations there are."""
    fresh = Server(program.mallow, program.path)
    try:
        return compare_servers(server, fresh)
    finally:
        fresh.end()


def state_of(server):
    """How many allocations there are, how many events, and whether it is finished."""
    calls = answer(server, "allocations?count=0")["total_count"]
    facts = answer(server, "summary")["facts"]
    return calls, facts["events"], facts["finished"]


def compare_servers(server, fresh):
    state = state_of(fresh)
    until(lambda: state_of(server) == state)
    for target in PAGES + VIEWS:
        compare(answer(server, target), answer(fresh, target), target)
    wanted, = fresh.json("/list")
    until(lambda: server.json("/list")[0]["calls"] == wanted["calls"] and
          server.json("/list")[0]["finished"] == wanted["finished"])
    compare(server.json("/list"), [wanted], "list")
    return state[0]


def test_answers_are_those_of_the_whole(rounds, serve, asan_mallow):  # noqa: F811
    """At moments at which the program stands still, and when its recording is finished."""
    program = rounds(BLOCKS)
    server = serve(program.path, path=asan_mallow)
    for number in range(1, 4):
        assert compare_with_fresh(program, server) >= number * 4 * BLOCKS
        program.step()
    program.end()
    assert compare_with_fresh(program, server) >= 4 * 4 * BLOCKS


class SlowReader:
    """Has asked for all allocations, and reads the answer only when rest() is called."""

    def __init__(self, server):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.socket.settimeout(120)
        self.response = http.client.HTTPResponse(self.socket)
        self.response.begin()
        assert self.response.status == 200

    def rest(self):
        body = self.response.read()
        self.socket.close()
        assert len(body) > BUFFERS
        return json.loads(body)


def test_answers_while_an_older_one_is_read(rounds, serve, asan_mallow):  # noqa: F811
    """What is sent slowly is of the moment at which it was asked for; others are served what is new,
    and what came since is read on although nobody could give up the older state."""
    program = rounds(MANY_BLOCKS)
    server = serve(program.path, path=asan_mallow)
    before = answer(server, "allocations")
    slow = SlowReader(server)
    for number in range(2, 4):
        program.step()
        assert compare_with_fresh(program, server) >= number * 4 * MANY_BLOCKS
    compare(slow.rest(), before)
    program.step()
    assert compare_with_fresh(program, server) >= 4 * 4 * MANY_BLOCKS
    program.end()
