"""/events: server-sent events of recordings that are being written."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from in_rounds import rounds  # noqa: F401
from many_blocks import many  # noqa: F401
from servers import serve  # noqa: F401

BLOCKS = 500
PATIENCE_S = 60
LISTENERS = 64


class Stream:
    """What /events says, event by event."""

    def __init__(self, server, target="/events", **headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        self.connection.request("GET", target, headers=headers)
        self.response = self.connection.getresponse()

    def lines(self):
        """Those up to an empty one; [] at the end."""
        lines = []
        while line := self.response.readline():
            if line == b"\n":
                return lines
            lines.append(line.decode().rstrip("\n"))
        return lines

    def next(self):
        """(name, data); comments are left out."""
        while lines := self.lines():
            fields = dict(line.split(": ", 1) for line in lines)
            if "event" in fields:
                assert set(fields) == {"event", "data"}
                return fields["event"], json.loads(fields["data"])
        return None

    def wait_for(self, name):
        """Its data; what else comes meanwhile is left out."""
        while event := self.next():
            if event[0] == name:
                return event[1]
        raise AssertionError(f"no event {name!r}")

    def close(self):
        self.connection.close()


@pytest.mark.long
def test_progress_of_loading(serve, asan_mallow, many):  # noqa: F811
    """While requests wait for recordings, everybody is told how much of them is read. The sanitized server takes
    longer for three of them than lies between two looks."""
    paths = [many.record(f"progress-{number}.mallow", "--no-finish")[0] for number in range(3)]
    server = serve(*paths, path=asan_mallow)
    ids = [one["id"] for one in server.json("/list")]
    stream = Stream(server)
    waiting = threading.Thread(target=lambda: [server.json(f"/data/{id_}/sums?count=1") for id_ in ids])
    waiting.start()
    told = stream.wait_for("progress")
    assert told["id"] in ids and 0 <= told["done"] <= told["total"]
    waiting.join()
    stream.close()


def test_a_recording_that_grows(rounds, serve, mallow, asan_mallow):  # noqa: F811
    program = rounds(BLOCKS)
    for path in (mallow, asan_mallow):
        server = serve(program.path, path=path)
        stream = Stream(server, "/events?id=last", **{"Accept-Encoding": "gzip"})
        assert stream.response.status == 200
        assert stream.response.headers["Content-Type"] == "text/event-stream"
        assert "Content-Encoding" not in stream.response.headers and "ETag" not in stream.response.headers
        assert stream.lines() == ["retry: 2000"]
        program.step()
        first = stream.wait_for("changed")
        program.step()
        while (second := stream.wait_for("changed"))["events"] == first["events"]:
            pass
        facts = server.json("/data/last/summary")["facts"]
        assert first["id"] == second["id"] == facts["id"]
        assert second["events"] > first["events"] and second["end_ns"] > first["end_ns"]
        assert second["live_bytes"] >= 0
        if path == asan_mallow:
            program.end()
            ended = stream.wait_for("ended")
            assert ended["events"] == server.json("/data/last/summary")["facts"]["events"]
        stream.close()


def test_one_that_has_ended(serve, record, compile_sample):  # noqa: F811
    path = record([compile_sample("totals")]).path
    stream = Stream(serve(path), "/events?id=last")
    assert stream.next()[0] == "ended"
    stream.close()


def test_a_new_recording(serve, record, compile_sample, tmp_path):  # noqa: F811
    folder = tmp_path / "watched"
    folder.mkdir()
    stream = Stream(serve(folder))
    assert stream.lines() == ["retry: 2000"]
    shutil.copy(record([compile_sample("totals")]).path, folder / "new.mallow")
    assert stream.next() == ("list", {})
    stream.close()


def test_refusals(serve, record, compile_sample):  # noqa: F811
    path = record([compile_sample("totals")]).path
    server = serve(path, env={"MALLOW_TOKEN": "secret"})
    assert Stream(server).response.status == 401
    assert Stream(server, Authorization="Bearer secret").response.status == 200
    server = serve(path)
    assert "data not found" in server.refused("/events?id=" + 40 * "0", 404)
    assert "data not found" in server.refused("/events?id=" + 32 * "0", 404)
    assert Stream(server, Host="elsewhere").response.status == 403
    status, headers, body = server.request("/events", "HEAD")
    assert (status, headers["Content-Type"], body) == (200, "text/event-stream", b"")


def test_too_many(serve, record, compile_sample):  # noqa: F811
    """Others are answered meanwhile, and the next one as soon as one has gone."""
    server = serve(record([compile_sample("totals")]).path)
    streams = [Stream(server) for _ in range(LISTENERS)]
    assert all(stream.response.status == 200 for stream in streams)
    assert str(LISTENERS) in server.refused("/events", 503)
    assert server.json("/list")
    streams.pop().close()
    until = time.monotonic() + PATIENCE_S
    while Stream(server).response.status == 503:
        assert time.monotonic() < until
        time.sleep(0.1)
    for stream in streams:
        stream.close()


@pytest.mark.long
def test_a_client_that_reads_nothing(rounds, serve, asan_mallow):  # noqa: F811
    """It neither stops others nor the end of the server."""
    program = rounds(BLOCKS)
    server = serve("--timeout", "1", program.path, path=asan_mallow)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.sendall(f"GET /events?id=last HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        stream = Stream(server, "/events?id=last")
        for _ in range(5):
            program.step()
            stream.wait_for("changed")
    program.end()
    stream.wait_for("ended")
    stream.close()


def test_the_end_of_the_server(serve, record, compile_sample):  # noqa: F811
    """It does not wait for streams, and they end properly."""
    server = serve(record([compile_sample("totals")]).path)
    streams = [Stream(server), Stream(server, "/events?id=last")]
    for stream in streams:
        stream.lines()
    server.run.send_signal(signal.SIGTERM)
    assert server.run.wait(timeout=PATIENCE_S) == 0
    for stream in streams:
        while stream.next():
            pass


FILLS = """
import sys
kept = [bytes(5000) for _ in range(100)]
print("full", flush=True)
sys.stdin.read()
"""


def test_a_live_table_ends_with_its_process(serve, preload):  # noqa: F811
    """Its file is gone then. What it was last is still shown, and that the program has ended is said."""
    program = subprocess.Popen(["/usr/bin/python3", "-c", FILLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=preload(MODE="live", HELPER="/bin/true", FORCE_MALLOC="1"))
    with program:
        assert program.stdout.readline() == b"full\n"
        path, = [f"/proc/{program.pid}/fd/{name}" for name in os.listdir(f"/proc/{program.pid}/fd")
                 if "mallow-live" in os.readlink(f"/proc/{program.pid}/fd/{name}")]
        server = serve(path)
        before = server.json("/data/last/summary")
        tag = server.request("/data/last/stacks")[1]["ETag"]
        assert before["facts"]["writing"]
        stream = Stream(server, "/events?id=last")
        program.kill()
    assert stream.wait_for("ended")["id"] == before["facts"]["id"]
    status, headers, _ = server.request("/data/last/stacks", If_None_Match=tag)
    assert status == 200 and headers["ETag"] != tag
    after = server.json("/data/last/summary")
    assert not after["facts"]["writing"] and after["matched"] == before["matched"]
    stream.close()
