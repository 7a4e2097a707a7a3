"""What an attack on recordings over the network has found: each of these went wrong once."""
import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import time

import pytest

import mallow_reader
import stream_peer
from conftest import build_sample
from namespaces import network  # noqa: F401
from processes import wait_for
from stream_peer import LATER, Receiver
from streams import Gather, Process, Streamed, sent_bytes

TOKEN = "5ea1" * 16


@contextlib.contextmanager
def stopped(pid):
    """The process stands still, and goes on whatever happens."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def cache_of(tmp_path):
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "DEBUGINFOD_URLS": ""}


def id_of(path):
    return path.read_bytes()[16:32]


def assert_same_files(sent, received):
    """As many, the same bytes, and no recording twice."""
    ids = [id_of(path) for path in received]
    assert len(set(ids)) == len(ids), sorted(path.name for path in received)
    sent = {id_of(path): path for path in sent}
    assert sent.keys() == set(ids)
    for path in received:
        assert sent_bytes(path) == sent[id_of(path)].read_bytes(), path.name


# Two receivers of one sender that listens.

def second_gather(mallow, tmp_path, port, second):
    """Another `mallow gather`: one that takes all, or one that has too little room."""
    options = ["--max-size", "200K"] if second == "refuses" else []
    return Gather(mallow, tmp_path / "second", "--no-finish", *options, listen=None, targets=[f"127.0.0.1:{port}"],
                  env=cache_of(tmp_path))


def outcomes(streamed):
    """What the sender says of what became of recordings."""
    return [line for line in streamed.lines if re.search("(has|have) (not )?arrived( at|:)", line)]


def assert_said(streamed, second, host):
    """The recording has arrived at that host, and nothing else became of it."""
    ends = outcomes(streamed)
    assert ends == [streamed.lines[-1]], streamed.lines
    assert re.fullmatch(rf"mallow: the recording has arrived at {re.escape(host)} \(127\.0\.0\.1:\d+\)", ends[0])
    refused = [line for line in streamed.lines if "does not take" in line]
    assert len(refused) == (second == "refuses"), streamed.lines
    assert all("--max-size" in line for line in refused)


@pytest.mark.parametrize("second", ["is faster", "refuses"])
@pytest.mark.parametrize("stops", ["before it answers", "in the middle"])
def test_a_slow_receiver_gets_all(mallow, tmp_path, second, stops):
    """What a second receiver has, or refuses, does not end the connection with the first, which reads nothing for a while."""
    with Streamed(mallow, tmp_path / "r.mallow", "--listen", "127.0.0.1") as streamed:
        streamed.do("1000")
        with Receiver.connect(streamed.port) as slow:
            if stops == "in the middle":
                slow.run(lambda: slow.writes > 2)
            streamed.do("60000")  # some MB, and the first one's connection is full
            with second_gather(mallow, tmp_path, streamed.port, second) as other:
                if second == "refuses":
                    other.wait_for("is refused: .*--max-size")
                streamed.run.stdin.close()
                if second == "is faster":
                    other.wait_for("complete: ")
                time.sleep(1.5)
                assert streamed.alive(), streamed.lines
                slow.run(lambda: any(one.done for one in slow.store.values()))
                assert slow.run_until_ended() is not None
                assert (other.wait() == 0) == (second == "is faster"), other.both
        assert streamed.wait() == 0
    one, = slow.store.values()
    sent = streamed.path.read_bytes()
    assert bytes(one.data) == sent and len(sent) > 200 << 10
    if second == "is faster":
        assert sent_bytes(other.file) == sent
    assert_said(streamed, second, "peer" if second == "refuses" else socket.gethostname())


@pytest.mark.parametrize("second", ["is faster", "refuses"])
def test_a_stopped_gather_gets_all(mallow, tmp_path, second):
    """The same with two of `mallow gather`, the first of which stands still around the end of the program."""
    with Streamed(mallow, tmp_path / "r.mallow", "--listen", "127.0.0.1") as streamed:
        streamed.do("1000")
        with Gather(mallow, tmp_path / "first", "--no-finish", listen=None, targets=[f"127.0.0.1:{streamed.port}"],
                    env=cache_of(tmp_path)) as first:
            first.wait_for("receiving")
            with second_gather(mallow, tmp_path, streamed.port, second) as other:
                with stopped(first.pid):
                    streamed.do("100000")
                    streamed.run.stdin.close()
                    other.wait_for("is refused: .*--max-size" if second == "refuses" else "complete: ")
                    time.sleep(1.5)
                    assert streamed.alive(), streamed.lines
                assert first.wait() == 0, first.both
                assert (other.wait() == 0) == (second == "is faster"), other.both
        assert streamed.wait() == 0
    assert sent_bytes(first.file) == streamed.path.read_bytes()
    assert_said(streamed, second, socket.gethostname())


# Who may talk to whom.

def connections_begun(host):
    """Of TCP, by that machine: ActiveOpens."""
    names, values = (line.split() for line in host.run("cat", "/proc/net/snmp").stdout.splitlines()
                     if line.startswith("Tcp:"))
    return int(values[names.index("ActiveOpens")])


def test_an_announced_sender_of_another_machine(mallow, network, tmp_path):  # noqa: F811
    """Without a token nobody connects to whatever announces itself; it is said once, with what to do."""
    here, there = network.gatherer, network.sender
    with Gather(mallow, tmp_path / "gathered", listen=None, host=here, env=cache_of(tmp_path)) as gathered, \
            Streamed(mallow, tmp_path / "r.mallow", "--listen", there.address, "--announce", "--insecure",
                     host=there) as streamed:
        streamed.do("100")
        said = gathered.wait_for(".*announces.*").string
        assert there.address in said and "stream_steps" in said and "--token-file" in said and "--insecure" in said
        time.sleep(3)  # more beacons
        assert sum("announces" in line for line in gathered.both) == 1
        assert connections_begun(here) == 0 and gathered.files == []
        streamed.run.stdin.close()
        streamed.wait_until_it_waits()
        assert streamed.end(signal.SIGINT) == 0
    assert any("has not arrived" in line for line in streamed.lines)


def test_the_token_stays_here(mallow, tmp_path):
    """The program has no use for it, and what is recorded of its environment goes to others."""
    env = {"MALLOW_TOKEN": TOKEN, "CANARY": "sings", **cache_of(tmp_path)}
    with Gather(mallow, tmp_path / "gathered", "--no-finish", env=env) as gathered:
        run = Process([mallow, "run", "--no-finish", "-o", tmp_path / "r.mallow", "--stream",
                       f"127.0.0.1:{gathered.port}", "--record-env", "--", "env"], env=env)
        assert run.wait() == 0, run.lines
        gathered.wait_for("complete: ")
        data = sent_bytes(gathered.file)
    assert "CANARY=sings" in run.printed
    assert not [line for line in run.printed + run.lines if TOKEN in line or line.startswith("MALLOW_TOKEN=")]
    assert data == (tmp_path / "r.mallow").read_bytes()
    assert b"CANARY=sings" in data and TOKEN.encode() not in data and b"MALLOW_TOKEN" not in data


# Many recordings, and few descriptors.

class Limited:
    """A machine whose processes have few descriptors."""

    def __init__(self, descriptors, hard=None):
        self.descriptors, self.hard = descriptors, hard or descriptors

    def command(self, *words):
        return ["prlimit", f"--nofile={self.descriptors}:{self.hard}", "--", *words]


def completed(gathered):
    return sum("complete: " in line for line in gathered.said)


@pytest.mark.long
def test_a_receiver_with_few_descriptors(mallow, tmp_path):
    """Files that it cannot open for now are not taken for others' and made anew, and in the end all is there."""
    folder = tmp_path / "own"
    folder.mkdir()
    with Gather(mallow, tmp_path / "gathered", "--no-finish", host=Limited(32), env=cache_of(tmp_path)) as gathered:
        run = Process([mallow, "run", "--no-finish", "-o", folder / "r.mallow", "--stream", f"127.0.0.1:{gathered.port}",
                       "--", "sh", "-c", "for i in $(seq 40); do /bin/true & done; wait"])
        with run:
            assert run.wait(90) == 0, run.lines
        sent = sorted(folder.iterdir())
        wait_for(lambda: completed(gathered) >= len(sent))
        assert gathered.alive()
    assert len(sent) >= 41
    assert_same_files(sent, gathered.files)
    assert not [line for line in run.lines if "has not arrived" in line], run.lines


@pytest.mark.long
def test_more_recordings_than_descriptors(mallow, tmp_path):
    """A sender closes what has arrived: 1200 recordings, of which it can hold less than 1024 open."""
    folder = tmp_path / "own"
    folder.mkdir()
    with Gather(mallow, tmp_path / "gathered", "--no-finish", env=cache_of(tmp_path)) as gathered:
        run = Process([mallow, "run", "--no-finish", "-o", folder / "r.mallow", "--stream", f"127.0.0.1:{gathered.port}",
                       "--", "sh", "-c", "i=0; while [ $i -lt 1200 ]; do /bin/true; i=$((i + 1)); done"],
                      host=Limited(1024))
        with run:
            assert run.wait(100) == 0, run.lines
        assert not [line for line in run.lines if "not" in line.split()], run.lines
        sent = sorted(folder.iterdir())
        wait_for(lambda: completed(gathered) >= len(sent))
    assert len(sent) >= 1201
    assert_same_files(sent, gathered.files)


MANY = ["sh", "-c", "sleep 1; i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"]


def test_more_in_memory_than_descriptors(mallow, tmp_path):
    """What the sender cannot hold while the receiver stands still arrives otherwise, or is said to be lost."""
    with Gather(mallow, tmp_path / "gathered", "--no-finish", env=cache_of(tmp_path)) as gathered:
        with stopped(gathered.pid):
            run = Process([mallow, "run", "--stream", f"127.0.0.1:{gathered.port}", "--stream-only", "--", *MANY],
                          cwd=tmp_path, host=Limited(64))
            time.sleep(5)
        with run:
            assert run.wait() == 0
        lost = sum("has not arrived" in line for line in run.lines)
        try:
            wait_for(lambda: completed(gathered) + lost >= len(gathered.files))
        except AssertionError:
            pytest.fail("\n".join(["begun, and neither complete nor lost:", *run.lines, *gathered.said]))
        if lost or len(gathered.files) < 101:
            assert any("not" in line.split() for line in run.lines), (len(gathered.files), run.lines)
            assert not any("all recordings have arrived" in line for line in run.lines), run.lines


def free_port():
    """One that the kernel gives to nobody who asks for any."""
    while True:
        port = random.randrange(20000, 30000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def test_a_receiver_that_comes_when_descriptors_are_used_up(mallow, tmp_path):
    """Looking at who it is takes none that recordings could have taken."""
    place = f"127.0.0.1:{free_port()}"
    run = Process([mallow, "run", "--stream", place, "--stream-only", "--", "sh", "-c", MANY[-1] + "; echo over"],
                  cwd=tmp_path, host=Limited(64))
    with run:
        run.wait_for("over")
        with Gather(mallow, tmp_path / "gathered", "--no-finish", listen=place, env=cache_of(tmp_path)) as gathered:
            assert run.wait() == 0
            assert len(gathered.files) >= 101, (run.lines, gathered.said)
    assert any("all recordings have arrived" in line for line in run.lines), run.lines


def test_a_run_with_few_descriptors(mallow, tmp_path):
    """What is left for sending and watching is a part of what there is: each recording is listed."""
    with Process([mallow, "run", "-o", tmp_path / "r.mallow", "--", "sh", "-c", "/bin/true; /bin/true"],
                 host=Limited(14)) as run:
        assert run.wait() == 0
    assert any("2 more recordings of this run" in line for line in run.lines), run.lines


@pytest.mark.long
def test_more_recordings_than_descriptors_of_one_that_listens(mallow, tmp_path):
    """All arrive: the sender raises its soft limit, and keeps open what has arrived, for which another receiver may come.
    (With so low a hard limit it would not get on: a known gap.)"""
    folder = tmp_path / "own"
    folder.mkdir()
    run = Process([mallow, "run", "--no-finish", "-o", folder / "r.mallow", "--listen", "127.0.0.1", "--", *MANY],
                  host=Limited(64, 4096))
    with run, Gather(mallow, tmp_path / "gathered", "--no-finish", listen=None, env=cache_of(tmp_path),
                     targets=[f"127.0.0.1:{run.wait_for('to port (.*)')[1]}"]) as gathered:
        assert run.wait(90) == 0, run.lines
        assert gathered.wait() == 0, gathered.both
    assert not [line for line in run.lines if "not" in line.split() or "Too many" in line], run.lines
    assert_same_files(sorted(folder.iterdir()), gathered.files)


@pytest.mark.parametrize("token", [TOKEN, None], ids=["token", "no token"])
def test_strangers_that_take_all_places(mallow, tmp_path, token):
    """Who only begins to shake hands makes room for the next one; so does who never greets."""
    env = {**cache_of(tmp_path), **({"MALLOW_TOKEN": token} if token else {})}
    with Gather(mallow, tmp_path / "gathered", "--no-finish", "--max-senders", "4", env=env) as gathered, \
            contextlib.ExitStack() as strangers:
        for _ in range(12):
            stranger = strangers.enter_context(socket.create_connection(("127.0.0.1", gathered.port)))
            if token:
                stranger.sendall(b"\x16\x03\x01\x02")  # a ClientHello that stays away
        run = Process([mallow, "run", "--stream", f"127.0.0.1:{gathered.port}", "--stream-only", "--", "/bin/true"],
                      cwd=tmp_path, env=env)
        with run:
            assert run.wait(30) == 0
        assert any("has arrived" in line for line in run.lines), (run.lines, gathered.said)
        assert not any("not sent yet" in line for line in run.lines), run.lines


def test_names_of_what_has_not_arrived(mallow, tmp_path):
    """Each by its own name, also after one that was deleted before it could be opened."""
    with stream_peer.listen() as listening:
        port = listening.getsockname()[1]
    run = Process([mallow, "run", "--no-finish", "-o", "r.mallow", "--stream", f"127.0.0.1:{port}", "--", "sh", "-c",
                   "sleep 0.3; /bin/true; rm r.mallow.*; sleep 0.3; /bin/ls /dev/null; exec sleep 0.3"], cwd=tmp_path)
    with run:
        run.wait_for("waiting until all has arrived")
        assert run.end(signal.SIGINT) == 0
    left = {path.name for path in tmp_path.glob("r.mallow*")}
    said = {os.path.basename(line.split()[1]) for line in run.lines if "has not arrived" in line}
    unsent = {os.path.basename(line.split()[3].rstrip(":")) for line in run.lines if "not sent: " in line}
    assert left <= said, (left, said)
    assert not said & unsent


# Receivers that cannot go on.

@pytest.mark.long
def test_a_receiver_that_never_has_room(mallow, tmp_path):
    """Its answers to pings are no progress: after 30 seconds it is said that nothing has arrived, and why."""
    with stream_peer.listen() as listening, \
            Streamed(mallow, tmp_path / "r.mallow", "--stream", f"127.0.0.1:{listening.getsockname()[1]}") as streamed, \
            Receiver.accept(listening, refuse=lambda _: (LATER, "the disk is full")) as receiver:
        streamed.do("100")
        begun = time.monotonic()
        streamed.run.stdin.close()
        ended = receiver.run_until_ended(50)
        assert ended is not None and 25 < time.monotonic() - begun < 40
        assert streamed.wait(10) == 0
    assert receiver.pings >= 3
    said, = (line for line in streamed.lines if "has not arrived" in line)
    assert "the disk is full" in said and "r.mallow" in said, said
    assert mallow_reader.read(streamed.path).header.ended


@pytest.mark.parametrize("cut", [False, True], ids=["from the beginning", "after some"])
def test_in_memory_while_the_receiver_stands_still(mallow, tmp_path, cut):
    """The program's memory lives on in its sender until the receiver is there again."""
    with Gather(mallow, tmp_path / "gathered", "--no-finish", env=cache_of(tmp_path)) as gathered, \
            Streamed(mallow, None, "--stream", f"127.0.0.1:{gathered.port}", "--stream-only", cwd=tmp_path) as streamed:
        if cut:
            streamed.do("2000")
            gathered.wait_for("receiving 'stream_steps'")
            wait_for(lambda: len(gathered.file.read_bytes()) > mallow_reader.PAGE)
        with stopped(gathered.pid):
            streamed.do("3000", "t500")
            streamed.run.stdin.close()
            time.sleep(5)
            assert streamed.alive(), streamed.lines
        assert streamed.wait() == 0
        gathered.wait_for("complete: ")
    assert outcomes(streamed) == [streamed.lines[-1]]
    assert "the recording has arrived" in streamed.lines[-1]
    reader = mallow_reader.read(gathered.file)
    assert reader.header.ended and not reader.missing and not reader.damages and reader.header.lost == 0
    allocations = sum(isinstance(event, mallow_reader.Alloc) for event in reader.events)
    assert allocations >= 3500 + 2000 * cut
    assert not list(tmp_path.glob("*.mallow"))


def test_many_in_memory_while_the_receiver_stands_still(mallow, tmp_path):
    """Each of many programs that end at once is kept by the sender: the socket for their memory holds ten."""
    with Gather(mallow, tmp_path / "gathered", "--no-finish", env=cache_of(tmp_path)) as gathered:
        with stopped(gathered.pid):
            run = Process([mallow, "run", "--stream", f"127.0.0.1:{gathered.port}", "--stream-only", "--", "sh", "-c",
                           "for i in $(seq 60); do /bin/true & done; wait"], cwd=tmp_path)
            time.sleep(5)
            assert run.alive(), run.lines
        with run:
            assert run.wait() == 0
        assert outcomes(run) == [run.lines[-1]] and "all recordings have arrived at" in run.lines[-1], run.lines
        wait_for(lambda: completed(gathered) == len(gathered.files))
    # The shell, and of each child the shell's copy, if it allocated, and its program.
    assert len(gathered.files) >= 61
    for path in gathered.files:
        reader = mallow_reader.read(path)
        assert not reader.missing and not reader.damages and reader.header.ended, path.name


def finishing(pid):
    """A `mallow finish` of that process, or None."""
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text().split():
                if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[1:2] == [b"finish"]:
                    return int(child)
    return None


def stop_finishing(pid, seconds=30):
    """Stops one as soon as there is one; its number."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if child := finishing(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGSTOP)
                wait_for(lambda: state_of(child) in "TZ", 5)
                if state_of(child) == "T":
                    return child
    raise AssertionError("nothing is being finished")


def test_finishing_takes_long(mallow, tmp_path):
    """Another recording of the same sender arrives meanwhile, to its end."""
    script, steps = tmp_path / "both", build_sample("stream_steps", "gcc", "-O1")
    script.write_text(f"#!/bin/sh\necho 60000 | {steps} &\nexec {steps}\n")
    script.chmod(0o755)
    with Gather(mallow, tmp_path / "gathered", env=cache_of(tmp_path)) as gathered, \
            Streamed(mallow, tmp_path / "r.mallow", "--stream", f"127.0.0.1:{gathered.port}", program=script) as streamed:
        child = stop_finishing(gathered.pid)
        try:
            # The process that was begun first goes on, with its number.
            pattern = f"*_{streamed.program()}_stream_steps.mallow"
            wait_for(lambda: list(gathered.folder.glob(pattern)))
            later, = gathered.folder.glob(pattern)
            begun = time.monotonic()
            for _ in range(3):
                before = later.stat().st_size
                streamed.do("5000")
                wait_for(lambda: later.stat().st_size > before, 3)
                assert state_of(child) == "T"
                time.sleep(1)
            streamed.run.stdin.close()
            gathered.wait_for(f"complete: .*_{streamed_pid(later)}_stream_steps", 10)
            assert streamed.wait(10) == 0
            assert state_of(child) == "T" and time.monotonic() - begun >= 3
        finally:
            os.kill(child, signal.SIGCONT)
        assert streamed.lines[-1].startswith("mallow: all recordings have arrived"), streamed.lines
        wait_for(lambda: all(mallow_reader.Header(path.read_bytes()).finished for path in gathered.files))
        assert mallow_reader.read(later).header.ended


def streamed_pid(path):
    return path.name.split("_")[2]
