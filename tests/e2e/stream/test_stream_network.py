"""Recordings over networks that are cut, slow and full: mallow's two sides in namespaces.

Every test compares the sender's file with the receiver's: they are equal, byte for byte, but for the flag "foreign".
"""
import contextlib
import os
import re
import signal
import subprocess
import time

import pytest

import mallow_reader
import mallow_sums
from namespaces import Network, need_networks, network  # noqa: F401
from processes import wait_for
from streams import FILE_NAME, Gather, Streamed, sent_bytes

PORT = 43512
ALL = f"0.0.0.0:{PORT}"


class Ground:
    """Two machines, a token, and what runs on them."""

    def __init__(self, mallow, network, folder, token=True):
        self.mallow, self.network, self.folder = mallow, network, folder
        self.gathered = folder / "gathered"
        self.stack = contextlib.ExitStack()
        self.env = {"XDG_CACHE_HOME": folder / "cache", "DEBUGINFOD_URLS": ""}
        self.key = []
        if token:
            self.token = folder / "token"
            self.token.write_text("1f" * 32 + "\n")
            self.token.chmod(0o600)
            self.key = ["--token-file", self.token]

    def gather(self, *options, listen=ALL, folder=None, **more):
        return self.stack.enter_context(Gather(
            self.mallow, folder or self.gathered, "--no-finish", *self.key, *options, listen=listen,
            host=self.network.gatherer, env=self.env, **more))

    def record(self, *options, name="r.mallow", sender=0, to=True, **more):
        where = ["--stream", f"{self.network.gatherer.address}:{PORT}"] if to else []
        path = self.folder / name if name else None
        return self.stack.enter_context(Streamed(
            self.mallow, path, *where, *self.key, *options, host=self.network.senders[sender], env=self.env, **more))

    def received(self):
        """The files of the receiver."""
        return sorted(self.gathered.glob("*.mallow"))

    def one(self):
        one, = self.received()
        return one

    def arrives(self, count, seconds=60):
        """Waits until the file of the receiver has that many allocations in it."""
        wait_for(lambda: self.received() and events_of(self.one()) >= count, seconds, 0.1)


def events_of(path):
    try:
        return sum(isinstance(event, mallow_reader.Alloc) for event in mallow_reader.read(path).events)
    except mallow_reader.NotARecording:
        return 0


@pytest.fixture
def ground(mallow, network, tmp_path):  # noqa: F811
    made = Ground(mallow, network, tmp_path)
    with made.stack:
        yield made


def assert_equal(sent, received):
    a, b = sent.read_bytes(), sent_bytes(received)
    if a != b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        raise AssertionError(f"{len(a)} bytes sent, {len(b)} received; they differ at {at}: {a[at:at + 16].hex()}, "
                             f"{b[at:at + 16].hex()}")
    assert FILE_NAME.fullmatch(received.name)


def settle(ground, streamed, gathered, status=0, timeout=90):
    """The program ends, and all has arrived."""
    assert streamed.finish(timeout) == status, streamed.lines
    said = [line for line in streamed.lines if line.startswith("mallow: ")]
    assert any("has arrived" in line for line in said), said
    gathered.wait_for("complete: ")
    assert_equal(streamed.path, ground.one())
    assert mallow_reader.Header(ground.one().read_bytes()).ended


def cut_and_mend(ground, count, cut, step="4000"):
    gathered, streamed = ground.gather(), ground.record()
    link = ground.network.sender
    streamed.do("100")
    ground.arrives(100)
    for _ in range(count):
        streamed.do(step)
        getattr(link, cut)()
        streamed.do(step)  # the program does not wait
        link.mend()
        streamed.do("100")
    settle(ground, streamed, gathered)
    assert events_of(ground.one()) >= 100 + count * (2 * int(step) + 100)


def test_a_link_is_cut_twice(ground):
    cut_and_mend(ground, 2, "cut")


@pytest.mark.long
@pytest.mark.parametrize("cut", ["cut", "silence"])
def test_a_link_is_cut_ten_times(ground, cut):
    cut_and_mend(ground, 10, cut, "20000")


@pytest.mark.long
def test_a_link_is_dead_for_long(ground):
    """Longer than the silence that breaks a connection, and without a sign: it is made anew."""
    gathered, streamed = ground.gather(), ground.record()
    streamed.do("1000")
    ground.arrives(1000)
    before = len(streamed.lines)
    ground.network.sender.silence()
    streamed.do("1000")
    streamed.wait_for("trying again|connection|answer|silen", 60, before)
    ground.network.sender.mend()
    ground.arrives(2000)
    settle(ground, streamed, gathered)


@pytest.mark.long
def test_a_slow_link(ground):
    """1 Mbit/s, and a program that writes some MB in a second: it does not wait, the sender does."""
    ground.network.sender.throttle("1mbit")
    gathered, streamed = ground.gather(), ground.record()
    begun = time.monotonic()
    streamed.do("150000")
    assert time.monotonic() - begun < 10
    settle(ground, streamed, gathered, timeout=180)
    assert streamed.path.stat().st_size > 2 << 20 and time.monotonic() - begun > 15


def test_a_receiver_is_killed_and_started_again(ground):
    gathered, streamed = ground.gather(), ground.record()
    steps = 0
    for _ in range(2):
        streamed.do("4000")
        steps += 4000
        ground.arrives(steps)
        gathered.kill()
        assert mallow_reader.read(ground.one()).missing == 0
        streamed.do("4000")
        steps += 4000
        gathered = ground.gather()
        ground.arrives(steps)
        gathered.wait_for("going on with")
    settle(ground, streamed, gathered)


def test_a_receiver_comes_late(ground):
    """Everything is there for it; before, the user is told once what the sender is trying."""
    streamed = ground.record()
    streamed.do("20000")
    streamed.wait_for("trying again")
    gathered = ground.gather()
    settle(ground, streamed, gathered)
    assert sum("trying again" in line for line in streamed.lines) == 1, streamed.lines


def test_a_receiver_comes_when_the_program_has_ended(ground):
    streamed = ground.record()
    streamed.do("20000")
    streamed.wait_for("trying again")
    streamed.run.stdin.close()
    streamed.wait_until_it_waits()
    settle(ground, streamed, ground.gather())


def test_a_program_is_killed(ground):
    """What it had recorded until then arrives: also what is in its threads' slots."""
    gathered, streamed = ground.gather(), ground.record()
    for i in range(8):
        streamed.do(f"t{100 + i}")
    streamed.do("5000", "3")
    os.kill(streamed.program(), signal.SIGKILL)
    assert streamed.wait() == 128 + signal.SIGKILL
    gathered.wait_for("complete: ")
    assert_equal(streamed.path, ground.one())
    reader = mallow_reader.read(ground.one())
    assert not reader.damages and not reader.missing and not reader.header.ended
    assert reader.dangling() == ([], [])
    assert events_of(ground.one()) >= sum(100 + i for i in range(8)) + 5003


def test_the_sender_is_killed(ground):
    """`mallow run` alone: the program goes on, and the receiver keeps what it has, as an incomplete recording."""
    gathered, streamed = ground.gather(), ground.record()
    streamed.do("4000")
    ground.arrives(4000)
    program = streamed.program()
    streamed.run.kill()
    try:
        reader = mallow_reader.read(ground.one())
        assert not reader.damages and not reader.missing
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGKILL)
    assert gathered.end(signal.SIGINT) in (0, 1)
    assert any("before all had come" in line or "not complete" in line for line in gathered.said), gathered.said


@pytest.mark.long
def test_twenty_senders(mallow, tmp_path):
    need_networks()
    with Network(5) as made:
        ground = Ground(mallow, made, tmp_path)
        with ground.stack:
            gathered = ground.gather()
            streamed = [ground.record(name=f"r{i}.mallow", sender=i % 5) for i in range(20)]
            for step in ("500", "t500", "3000"):
                for one in streamed:
                    one.do(step)
            for one in streamed:
                one.run.stdin.close()
            for one in streamed:
                assert one.wait(90) == 0, one.lines
            wait_for(lambda: sum("complete: " in line for line in gathered.said) == 20)
    sent = sorted(one.path.read_bytes() for one in streamed)
    assert sent == sorted(sent_bytes(path) for path in ground.received())


# Who may talk to whom.

def test_a_wrong_token(ground):
    """Neither side takes the other: the program is recorded, nothing is received, both say so."""
    gathered = ground.gather()
    (ground.folder / "other").write_text("2e" * 32)
    ground.key = ["--token-file", ground.folder / "other"]
    streamed = ground.record()
    streamed.do("100")
    streamed.wait_for("(?i)token|key")
    gathered.wait_for("(?i)token|key")
    streamed.run.stdin.close()
    streamed.wait_until_it_waits()
    assert streamed.end(signal.SIGINT) == 0
    assert any("has not arrived" in line for line in streamed.lines)
    assert ground.received() == []
    # It goes on serving those who know.
    ground.key = ["--token-file", ground.token]
    streamed = ground.record(name="second.mallow")
    streamed.do("100")
    settle(ground, streamed, gathered)


@pytest.mark.parametrize("without", ["sender", "receiver"])
def test_one_side_without_a_token(ground, without):
    with_key = ground.key
    ground.key = ["--insecure"] if without == "receiver" else with_key
    gathered = ground.gather()
    ground.key = ["--insecure"] if without == "sender" else with_key
    streamed = ground.record()
    streamed.do("100")
    streamed.wait_for("trying again", 40)
    gathered.wait_for(re.escape(ground.network.sender.address), 40)
    assert ground.received() == []
    streamed.run.stdin.close()
    streamed.wait_until_it_waits()
    assert streamed.end(signal.SIGINT) == 0
    assert any("has not arrived" in line for line in streamed.lines)


def test_both_without_a_token(ground):
    """Only if both are told that it may be so."""
    ground.key = ["--insecure"]
    gathered, streamed = ground.gather(), ground.record()
    streamed.do("4000")
    settle(ground, streamed, gathered)


def test_other_machines_are_refused_without_a_token(ground, mallow):
    """Both sides, before anything is run: exit status 2, and one line that names what to do."""
    there, here = ground.network.gatherer, ground.network.sender
    runs = [there.run(mallow, "gather", "-o", ground.gathered, "--listen", "0.0.0.0"),
            there.run(mallow, "gather", "-o", ground.gathered, "--listen", there.address),
            there.run(mallow, "gather", "-o", ground.gathered, f"{here.address}:8100")]
    for options in (["--stream", there.address], ["--listen", "0.0.0.0"], ["--listen", here.address]):
        runs.append(here.run(mallow, "run", "-o", ground.folder / "r.mallow", *options, "--", "touch",
                             ground.folder / "ran"))
    for run in runs:
        assert run.returncode == 2 and run.stderr.count("\n") == 1, (run.args, run.returncode, run.stderr)
        assert "token" in run.stderr, run.stderr
    assert not (ground.folder / "ran").exists() and not (ground.folder / "r.mallow").exists()


def test_the_receiver_makes_a_token(ground):
    """Random, 256 bits, for its owner only; the same one when it is started again."""
    ground.token.unlink()
    gathered = ground.gather()
    made = ground.token.read_text()
    assert ground.token.stat().st_mode & 0o077 == 0 and len(made.strip()) >= 43
    streamed = ground.record()
    streamed.do("100")
    settle(ground, streamed, gathered)
    assert gathered.end(signal.SIGINT) == 0
    ground.gather()
    assert ground.token.read_text() == made


def test_a_token_in_the_environment(ground):
    gathered = ground.gather()
    ground.key = []
    ground.env = {**ground.env, "MALLOW_TOKEN": "1f" * 32}
    streamed = ground.record()
    streamed.do("100")
    settle(ground, streamed, gathered)


# Who finds whom.

def test_a_receiver_connects(ground):
    """The sender listens; `mallow gather TARGET` ends when it has everything."""
    streamed = ground.record("--listen", "0.0.0.0:8123", to=False)
    streamed.do("4000")
    gathered = ground.gather(listen=None, targets=[f"{ground.network.sender.address}:8123"])
    ground.arrives(4000)
    assert streamed.finish() == 0
    assert gathered.wait() == 0
    assert_equal(streamed.path, ground.one())


def test_an_announced_sender_is_found(ground):
    """By a receiver that names nobody, and whichever of the two comes first."""
    gathered = ground.gather()
    streamed = ground.record("--announce", "--listen", "0.0.0.0", to=False)
    streamed.do("4000")
    ground.arrives(4000)
    settle(ground, streamed, gathered)


def test_announced_first(ground):
    streamed = ground.record("--announce", "--listen", "0.0.0.0", to=False)
    streamed.do("4000")
    gathered = ground.gather()
    ground.arrives(4000)
    settle(ground, streamed, gathered)


def test_what_is_announced(ground):
    """The beacon, byte by byte; never the program's arguments."""
    import socket
    with ground.network.gatherer.entered():
        ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with ear:
        ear.bind(("0.0.0.0", PORT))
        ear.settimeout(20)
        streamed = ground.record("--announce", "--listen", "0.0.0.0", to=False)
        streamed.do("10")
        beacon, (address, _) = ear.recvfrom(2000)
        while beacon[32:].rstrip(b"\0") == b"":  # the program had not begun its recording
            beacon, (address, _) = ear.recvfrom(2000)
        assert len(beacon) == 64 and beacon[:10] == b"\x89MLB\r\n\x1a\n\x01\0"
        assert int.from_bytes(beacon[10:12], "little") == streamed.port and address == ground.network.sender.address
        assert int.from_bytes(beacon[12:16], "little") == streamed.program()
        assert beacon[32:].rstrip(b"\0") == b"stream_steps"
        again = ear.recv(2000)
        assert again == beacon


# Little room.

@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB, and a function that makes it larger."""
    folder = tmp_path / "gathered"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted")
    yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.long
def test_a_full_disk(ground, small_disk):
    """The receiver says so, once; when there is room again it goes on."""
    gathered, streamed = ground.gather(), ground.record()
    streamed.do("100000")
    assert streamed.path.stat().st_size > 3 << 19
    gathered.wait_for("(?i)no space left")
    assert gathered.alive()
    reader = mallow_reader.read(ground.one())
    assert not reader.missing and not reader.damages
    streamed.do("100")
    small_disk("64m")
    settle(ground, streamed, gathered)


def stream_only(ground, *options, **more):
    return ground.record("--stream-only", *options, name=None, cwd=ground.folder, **more)


def test_stream_only(ground):
    """Nothing is kept here, and everything is there."""
    before = set(ground.folder.iterdir())
    gathered = ground.gather()
    streamed = stream_only(ground)
    streamed.do("4000", "t300", "4000")
    ground.arrives(8300)
    assert streamed.finish() == 0, streamed.lines
    gathered.wait_for("complete: ")
    assert set(ground.folder.iterdir()) - before <= {ground.gathered, ground.folder / "cache"}
    reader = mallow_reader.read(ground.one())
    assert reader.header.ended and reader.header.lost == 0 and not reader.missing and not reader.damages
    assert events_of(ground.one()) >= 8300


@pytest.mark.long
def test_stream_only_on_a_slow_link(ground, tool):
    """Bounded memory: what has no room is lost, and counted by its name."""
    ground.network.sender.throttle("2mbit")
    gathered = ground.gather()
    streamed = stream_only(ground, "--stream-buffer", "1M")
    streamed.do("1000")
    most = 0
    for _ in range(10):
        streamed.do("30000", timeout=120)
        most = max(most, shared_memory_of(streamed.program()))
    assert most < 6 << 20, most
    # Recording goes on when there is room again.
    ground.network.sender.throttle(None)
    time.sleep(2)
    streamed.do("777")
    assert streamed.finish(120) == 0, streamed.lines
    gathered.wait_for("complete: ")
    losses = tool.info(ground.one())["losses"]
    assert losses["stream_buffer"] > 0, losses
    reader = mallow_reader.read(ground.one())
    assert not reader.damages and reader.header.ended
    allocations = events_of(ground.one())
    assert 1777 <= allocations < 301777
    # Each event is there or counted: of 301777 allocations most have a free.
    assert allocations + losses["stream_buffer"] >= 301777


def shared_memory_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssShmem:"))


def test_stream_only_and_no_receiver(ground):
    """The program runs; what nobody came for is lost, and that is said."""
    streamed = stream_only(ground, "--stream-buffer", "1M")
    streamed.do("100000")
    streamed.run.stdin.close()
    streamed.wait_until_it_waits()
    assert streamed.end(signal.SIGINT) == 0
    assert any("has not arrived" in line and "lost" in line for line in streamed.lines), streamed.lines


def test_the_sums_are_equal(ground, tool):
    """What mallow says of the recording that arrived is what the program did."""
    gathered, streamed = ground.gather(), ground.record()
    streamed.do("3000", "t500")
    settle(ground, streamed, gathered)
    sums = tool.assert_equal_sums(ground.one())
    assert sums["calls"] >= 3500 == mallow_sums.Sums(mallow_reader.read(streamed.path)).calls - (sums["calls"] - 3500)
