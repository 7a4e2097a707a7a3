"""Threads that come one after the other write one stream: docs/trace-format.md, record 0x84."""
import collections
import json
import random
import signal
import subprocess

import pytest

import mallow_reader
from recording_writer import SEALED, ChunkWriter, Writer
from samples import check_sample

# What the issue asks of a recording of many short threads, finished; as recorded an event takes 10.
BYTES_A_THREAD, BYTES_AN_EVENT = 100, 5


@pytest.fixture(scope="session")
def churn(compile_sample):
    """Sums, and threads of the recording, are stated in the sample for 5,000 threads."""
    return compile_sample("thread_churn", "gcc", "-O1")


def by_thread(tool, path):
    """{(tid, name): calls}"""
    rows = json.loads(tool("report", "--json", "--by", "thread", path).stdout)["rows"]
    return collections.Counter({(row["tid"], row["thread"]): row["calls"] for row in rows})


def calls_of_threads(recording):
    calls = collections.Counter()
    for event in recording.events:
        if isinstance(event, mallow_reader.Alloc):
            thread = recording.threads[event.thread]
            calls[thread.tid, thread.name] += 1
    return calls


def test_each_is_a_thread(churn, record, tool, functions_of):
    """Each has its name and its sums, and a short one costs what its records take."""
    recorded = record([churn, 5000, 500, "worker-"], check=False)
    recorded.assert_sound()
    check_sample(recorded, "thread_churn", functions_of)
    info = tool.info(recorded.path)
    assert info["threads"] == 5001
    names = {thread.name for thread in recorded.reader.threads.values()}
    assert {f"worker-{number}" for number in range(5000)} <= names
    tool.assert_equal_sums(recorded.path, recorded.sums)
    assert by_thread(tool, recorded.path) == calls_of_threads(recorded.reader)
    size = recorded.path.stat().st_size
    assert size <= BYTES_A_THREAD * 5001 + 2 * BYTES_AN_EVENT * info["events"] + (1 << 20)

    before = tool.report(recorded.path), by_thread(tool, recorded.path)
    for compress in ("auto", "always"):
        tool("finish", "--compress", compress, recorded.path)
        size = recorded.path.stat().st_size
        assert size <= BYTES_A_THREAD * 5001 + BYTES_AN_EVENT * info["events"], compress
        assert (tool.report(recorded.path), by_thread(tool, recorded.path)) == before


@pytest.mark.parametrize("settings", [
    {"CULL": "1ms"}, {"CULL": "10s"}, {"SLOTS": "private"}, {"BACKTRACE": "none"},
    {"UNWINDER": "plain"}, {"FREE_STACKS": 1}], ids=str)
def test_settings(settings, churn, record, tool):
    recorded = record([churn, 500, 100, "worker-"], settings=settings, check=False)
    recorded.assert_sound()
    tool.assert_equal_sums(recorded.path, recorded.sums)
    assert len(recorded.reader.streams) < 250 < 501 == tool.info(recorded.path)["threads"]
    if "CULL" not in settings:
        assert by_thread(tool, recorded.path) == calls_of_threads(recorded.reader)


def test_kill(churn, preload, tool, tmp_path):
    """Killed at random moments: what every thread that was joined had recorded is there."""
    moments = random.Random(16)
    for number in range(10):
        path = tmp_path / f"{number}.mallow"
        program = subprocess.Popen([churn, "1000000", "10", ""], env=preload(OUTPUT=path))
        while not path.exists() or path.stat().st_size < moments.randrange(1 << 14, 1 << 18):
            assert program.poll() is None
        program.send_signal(signal.SIGKILL)
        program.wait()
        recording = mallow_reader.read(path)
        assert not recording.damages and recording.missing == 0
        assert recording.dangling() == ([], [])
        sums = tool.assert_equal_sums(path)
        calls = [calls for (_, name), calls in calls_of_threads(recording).items()]
        # Of the ten that may have been running, and main.
        assert sum(count < 4 for count in calls) <= 11 and sums["calls"] >= 4 * (len(calls) - 11)


def test_forked_while_slots_are_at_rest(record, tool, tmp_path):
    """The child's threads get the memory of none of the parent's."""
    code = ("import os, sys, threading\n"
            "def run():\n"
            "    for _ in range(20):\n"
            "        thread = threading.Thread(target=lambda: bytearray(30000))\n"
            "        thread.start(); thread.join()\n"
            "run()\n"
            "child = os.fork()\n"
            "run()\n"
            "sys.exit(os.waitpid(child, 0)[1] if child else 0)\n")
    recorded = record(["/usr/bin/python3", "-c", code])
    files = sorted(recorded.path.parent.glob("*.mallow*"))
    assert len(files) == 2
    for path in files:
        recording = mallow_reader.read(path)
        assert not recording.damages and recording.missing == 0
        tool.assert_equal_sums(path)
        assert len([event for event in recording.events if isinstance(event, mallow_reader.Alloc) and
                    event.size == 30001 and event.thread]) == (40 if path == files[0] else 20)


def made(tmp_path, **facts):
    """Two threads in a stream, and one in another: the first leaves a tag, a stack and a block that
    is its newest; times of the second are told apart from it."""
    one, other = ChunkWriter(0, 0, 1000), ChunkWriter(1, 0, 1000)
    one.other(0x84, one.at(1000), 71, text=b"first")
    one.other(0x81, 1, 0x1000, 0)
    one.other(0x81, 2, 0x2000, 0)
    one.other(0x95, one.at(1001), 9)
    one.allocate(1, 2000, 0x10000, 100, change=(0, [1, 2]))
    one.other(0x86, one.at(2500))
    one.other(0x84, one.at(3000), 72, text=b"second")
    one.allocate(1, 4000, 0x20000, 200, change=(1, []))
    one.other(0x85, one.at(4500), text=b"renamed")
    one.free(5000, 0x20000)
    other.other(0x84, other.at(1500), 73, text=b"third")
    other.free(6000, 0x10000)
    if facts.get("cull_ns"):
        other.other(0xA8, other.at(6001), 5, 0, 1)
        for time, address in ((2100, 0x31000), (2999, 0x32000), (3000, 0x33000), (9000, 0x34000)):
            other.other(0xA9, other.at(time), 5, 0, 0, 1, address, 1, 0, 23)
    one.other(0x91, one.at(10000), 10000, 1, 0)
    writer = Writer(minor=5, **facts)
    writer.add(one.image(SEALED))
    writer.add(other.image(SEALED))
    path = tmp_path / "made.mallow"
    path.write_bytes(writer.image())
    return path


def test_made(tool, tmp_path):
    """The second one has no tag, and what the first allocated last is temporary all the same."""
    path = made(tmp_path)
    report = tool.assert_equal_sums(path)
    assert (report["calls"], report["temporary"], report["leaked_blocks"]) == (2, 2, 0)
    assert by_thread(tool, path) == {(71, "first"): 1, (72, "renamed"): 1}
    assert tool.info(path)["threads"] == 3
    for words, size in ((("--tag", "9"), 100), (("--thread", "71"), 100), (("--thread", "72"), 200)):
        assert json.loads(tool("report", "--json", *words, path).stdout)["total_bytes"] == size
    tool("finish", path)
    assert by_thread(tool, path) == {(71, "first"): 1, (72, "renamed"): 1}


def test_made_with_survivors(tool, tmp_path):
    """A survivor belongs to the thread that ran in its stream then."""
    path = made(tmp_path, cull_ns=10 ** 9)
    tool.assert_equal_sums(path)
    assert by_thread(tool, path) == {(71, "first"): 3, (72, "renamed"): 3}
