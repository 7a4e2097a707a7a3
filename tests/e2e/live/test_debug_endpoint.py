"""examples/debug_endpoint.c: a program that serves its own reports, with the agent in it in each way."""
import csv
import io
import json
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from conftest import TOP, clean_environment, flags_to_link, need

WAYS = ["preloaded", "shared", "static", "static-pie"]
SOURCE = TOP / "examples" / "debug_endpoint.c"


class Endpoint:
    """The running example."""

    def __init__(self, process):
        self.process = process
        line = process.stdout.readline()
        self.url = "http://127.0.0.1:" + re.search(r"localhost:(\d+)/", line).group(1)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def json(self, path):
        return json.loads(self.get(path + "?format=json"))


@pytest.fixture
def endpoint(mallow, agent, tmp_path):
    """endpoint(way, **settings): the example, built and started."""
    processes = []

    def start(way, **settings):
        program = tmp_path / f"debug_endpoint-{way}"
        flags = [] if way == "preloaded" else flags_to_link(agent, way)
        subprocess.run([need("gcc"), "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread",
                        "-I", TOP / "include", SOURCE, "-o", program, *flags], check=True)
        environment = clean_environment({f"MALLOW_{name}": value
                                         for name, value in settings.items()})
        if way == "preloaded":
            environment["LD_PRELOAD"] = str(agent)
        processes.append(subprocess.Popen([program, "0"], env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return Endpoint(processes[-1])

    yield start
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def live(endpoint, way, mallow):
    running = endpoint(way, MODE="live", HELPER=str(mallow))
    while not any(thread["name"] == "consumer" and thread["freed_blocks"] > 50
                  for thread in running.json("/threads")["threads"]):
        time.sleep(0.01)
    return running


@pytest.mark.parametrize("way", WAYS)
def test_reports(way, endpoint, mallow):
    running = live(endpoint, way, mallow)
    threads = {thread["name"]: thread for thread in running.json("/threads")["threads"]}
    producer, consumer = threads["producer"], threads["consumer"]
    assert [by["name"] for by in producer["freed_by_others"]] == ["consumer"]
    assert 0 < producer["in_use_bytes"] < producer["allocated_bytes"]
    assert consumer["allocated_bytes"] == 0 < consumer["freed_bytes"]
    sites = running.json("/sites")["sites"]
    assert sites == sorted(sites, key=lambda site: -site["live_bytes"])
    assert all(site["live_bytes"] >= 1000 for site in sites)
    assert any("produce" in [frame["function"] for frame in site["stack"]] for site in sites)
    table = csv.DictReader(io.StringIO(running.get("/sites?format=csv")))
    assert any("produce +0x" in row["backtrace"] for row in table)
    assert "freed by consumer: " in running.get("/threads")
    assert "avg_allocation: " in running.get("/sites")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        running.get("/nothing")


@pytest.mark.parametrize("way", WAYS)
def test_go_tool_pprof(way, endpoint, mallow, tmp_path):
    """Its own reader takes it from the program, more than once, and nobody else's child is left."""
    go = need("go")
    if subprocess.run([go, "tool", "-n", "pprof"], capture_output=True).returncode:
        pytest.skip("go is installed without pprof")
    running = live(endpoint, way, mallow)
    environment = clean_environment({"PPROF_TMPDIR": tmp_path / "pprof"})
    for kind in ("inuse_space", "alloc_objects"):
        run = subprocess.run([go, "tool", "pprof", "-traces", f"-sample_index={kind}",
                              running.url + "/debug/pprof/heap"], capture_output=True, text=True,
                             env=environment, timeout=120)
        assert run.returncode == 0, run.stderr
        assert f"Type: {kind}" in run.stdout
        assert re.search(r"\d+\w*\s+make_request\b.*\n\s+produce\n", run.stdout), run.stdout
    children = TOP.parent.joinpath(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
    assert children.read_text() == ""


def test_profile_without_the_tool(endpoint, mallow):
    running = endpoint("static", MODE="live", HELPER="/no/such/tool")
    assert running.get("/debug/pprof/heap") == ""
    running.process.kill()
    assert "MALLOW_HELPER names the tool" in running.process.stderr.read()


@pytest.mark.parametrize("way", WAYS)
def test_without_the_live_mode(way, endpoint, tmp_path):
    running = endpoint(way, MODE="record", OUTPUT=str(tmp_path / "r.mallow"))
    for path in ("/threads", "/sites", "/debug/pprof/heap"):
        with pytest.raises(urllib.error.HTTPError, match="503"):
            running.get(path)


def test_a_client_that_leaves(endpoint, mallow):
    """In the middle of each answer: the next client is served."""
    running = live(endpoint, "preloaded", mallow)
    port = int(running.url.rsplit(":", 1)[1])
    for path in ("/threads", "/sites", "/debug/pprof/heap") * 3:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    assert running.json("/threads")["threads"]
