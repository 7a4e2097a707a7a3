"""mallow's senders and receivers against peers that were written from docs/streaming.md alone."""
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

import mallow_reader
import stream_peer
from processes import wait_for
from recording_writer import ChunkWriter, Writer
from stream_peer import (ACKNOWLEDGE, COMPLETE, DEBUG_FILE, DONE, FILE, HAVE, IMPOSSIBLE, LATER, NEED, PING, RECEIVER,
                         REFUSE, SENDER, TAKEN, Receiver, Sender, greeting, message)
from streams import FILE_NAME, Gather, Streamed, sent_bytes

PAGE = mallow_reader.PAGE
BEGUN = "20231114_221320"  # of what Writer makes
MODULE, THREAD, END_RECORD = 0x82, 0x84, 0x91


def made(chunks=3, modules=(), ended=True, **facts):
    """A small recording: {id: (path, build id)} are its modules."""
    writer = Writer(state=int(ended), **facts)
    for sequence in range(chunks):
        chunk = ChunkWriter(1, sequence, 1000 + 1000 * sequence)
        if not sequence:
            for number, (path, build_id) in enumerate(modules, 1):
                start = number << 24
                chunk.other(MODULE, 0, number, 1, start, start, start + 0x10000, len(build_id), build_id,
                            text=os.fsencode(path))
            chunk.other(THREAD, 0, 4000000, text=b"made")
        for i in range(300):
            pc = (1 << 24) + 0x100 + i % 7
            chunk.allocate(1, chunk.time + 1, 0x10000 + 64 * (300 * sequence + i), 32,
                           change=(1 if i or sequence else 0, [("pc", pc)]))
        if sequence == chunks - 1 and ended:
            chunk.other(END_RECORD, chunk.at(chunk.time + 1), chunk.time + 1, 1, 0)
        chunk.carried = 1 if sequence else 0
        writer.add(chunk.image())
    return writer.image()


def stream_of(data, name=b"program"):
    """All bytes of a sender that does not wait for answers."""
    return (greeting(SENDER, os.urandom(16)) + stream_peer.offer(data, name) +
            b"".join(stream_peer.write(at, data[at:at + PAGE]) for at in range(PAGE, len(data), PAGE)) +
            stream_peer.write(0, data[:PAGE]) + stream_peer.end(len(data)))


@pytest.fixture
def listening():
    with stream_peer.listen() as server:
        yield server


def port_of(server):
    return server.getsockname()[1]


def run_into(mallow, server, path, *options, **more):
    return Streamed(mallow, path, "--stream", f"127.0.0.1:{port_of(server)}", *options, **more)


# The peers themselves.

def test_the_peers_understand_each_other():
    sender, receiver = stream_peer.sender_and_receiver()
    data, module = made(), os.urandom(stream_peer.DATA_MAX + 5)
    with sender, receiver:
        asked = {}

        def ended(number, _):
            asked["there"] = receiver.get(number, b"id")
            asked["absent"] = receiver.get(number, b"other", DEBUG_FILE)
            receiver.finish(number)

        receiver.ended = ended
        thread = threading.Thread(target=receiver.run, args=(lambda: any(o.done for o in receiver.store.values()),))
        thread.start()
        needs = sender.send_recording(data, b"name", files={(stream_peer.MODULE, b"id"): module})
        thread.join()
    one, = receiver.store.values()
    assert (bytes(one.data), one.name, asked) == (data, b"name", {"there": module, "absent": None})
    assert needs == [(stream_peer.MODULE, b"id"), (DEBUG_FILE, b"other")]
    assert one.read().damages == [] and len(one.read().events) == 900


# `mallow run --stream` and a receiver of ours.

def test_what_was_received_opens_at_each_moment(listening, mallow, tmp_path):
    """Without gaps, and with no event less than before; at the end it is the sender's file."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        counts, looks = [0], 0

        def look(one):
            nonlocal looks
            looks += 1
            if looks > 100 and looks % 10:
                return
            reader = one.read()
            assert not reader.damages and not reader.missing, (looks, one.writes[-3:])
            assert reader.dangling() == ([], [])
            counts.append(len(reader.events))
            assert counts[-1] >= counts[-2], (looks, one.writes[-3:])

        receiver.on_write = look
        for step in ("10", "t20", "3000", "t2000", "3000", "t30", "40"):
            events = int(step.lstrip("t"))
            before = counts[-1]
            streamed.do(step)
            # It is sent while the program runs.
            receiver.run(lambda: counts[-1] >= before + events)
        streamed.run.stdin.close()
        receiver.run(lambda: all(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
        one, = receiver.store.values()
        assert receiver.other_host == socket.gethostname()[:32]
    assert one.name == b"stream_steps" and one.read().header.ended
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()
    assert one.page[16:32] == one.data[16:32]


@pytest.mark.parametrize("reason", [COMPLETE, IMPOSSIBLE])
def test_a_receiver_that_refuses(listening, mallow, reason, tmp_path):
    """The program does not notice; what the receiver says is said, and cannot move the cursor."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, \
            Receiver.accept(listening, refuse=lambda _: (reason, "no \x1b[2Jroom\nmallow: forged")) as receiver:
        streamed.do("100")
        receiver.run(lambda: any(one.refused for one in receiver.store.values()))
        streamed.do("1000")
        begun = time.monotonic()
        streamed.run.stdin.close()
        with pytest.raises(stream_peer.Ended):
            receiver.run(lambda: False)
        assert streamed.wait() == 0 and time.monotonic() - begun < 10
    said = "\n".join(streamed.lines)
    assert "\x1b" not in said and not any(line.startswith("mallow: forged") for line in streamed.lines)
    if reason == IMPOSSIBLE:
        assert "room" in said
    assert mallow_reader.read(tmp_path / "r.mallow").header.ended


@pytest.mark.long
def test_not_now(listening, mallow, tmp_path):
    """Refused for a time only, it is offered again."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        offers = []
        receiver.refuse = lambda one: offers.append(one) or ((LATER, "the disk is full") if len(offers) < 2 else None)
        streamed.do("100")
        receiver.run(lambda: len(offers) == 2)
        streamed.run.stdin.close()
        receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
    one, = receiver.store.values()
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def test_a_silent_receiver(listening, mallow, tmp_path):
    """It greets and answers nothing: the program runs, and the user can end the waiting."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        assert receiver.receive().kind == stream_peer.RECORDING
        streamed.do("100", "20000")
        streamed.run.stdin.close()
        streamed.wait_until_it_waits()
        with pytest.raises(TimeoutError):
            receiver.until_ended(0.5)
        assert streamed.alive()
        assert streamed.end(signal.SIGINT, 10) == 0
        kinds = {got.kind for got in rest_of(receiver)}
    assert kinds <= {PING, stream_peer.FAULT}  # nothing of it was sent
    assert any("r.mallow" in line or "not" in line for line in streamed.lines)


def rest_of(receiver):
    return receiver.until_ended(10)[0]


@pytest.mark.long
def test_a_receiver_that_falls_silent(listening, mallow, tmp_path):
    """After 20 seconds the sender connects again."""
    store = {}
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed:
        streamed.do("100")
        with Receiver.accept(listening, store=store) as silent:
            silent.run(lambda: store)
            silent.run(lambda: silent.writes)
            begun = time.monotonic()
            with Receiver.accept(listening, store=store, timeout=40) as receiver:
                assert 15 < time.monotonic() - begun < 30
                streamed.run.stdin.close()
                receiver.run(lambda: any(one.done for one in store.values()))
        assert streamed.wait() == 0
    one, = store.values()
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


@pytest.mark.long
def test_the_sender_pings(listening, mallow, tmp_path):
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        streamed.do("100")
        receiver.run(lambda: receiver.pings >= 3, timeout=20)
        streamed.run.stdin.close()
        receiver.run_until_ended()
        assert streamed.wait() == 0


@pytest.mark.long
def test_no_receiver(mallow, tmp_path):
    """The sender waits for 30 seconds, and then says what was not sent."""
    with stream_peer.listen() as server:
        port = port_of(server)
    with Streamed(mallow, tmp_path / "r.mallow", "--stream", f"127.0.0.1:{port}") as streamed:
        streamed.do("100")
        begun = time.monotonic()
        assert streamed.finish(90) == 0
        assert 25 < time.monotonic() - begun < 45
    assert sum(f"127.0.0.1:{port}" in line or "r.mallow" in line for line in streamed.lines)


GARBAGE = {
    "http": b"HTTP/1.1 400 Bad Request\r\nServer: nobody\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "zeros": bytes(4096),
    "version": greeting(RECEIVER, bytes(16), version=2),
    "sender": greeting(SENDER, bytes(16)),
    "no role": greeting(9, bytes(16)),
    "half a greeting": greeting(RECEIVER, bytes(16))[:40],
    "nothing": b"",
    "too long": greeting(RECEIVER, bytes(16)) + struct.pack("<III", stream_peer.SIZE_MAX + 1, HAVE, 0),
    "number": greeting(RECEIVER, bytes(16)) + message(HAVE, b"", 65536),
    "half a range": greeting(RECEIVER, bytes(16)) + message(HAVE, bytes(15)),
    "ranges not in order": greeting(RECEIVER, bytes(16)) + message(HAVE, struct.pack("<4Q", 8192, 4096, 4096, 4096)),
    "range beyond all": greeting(RECEIVER, bytes(16)) + message(HAVE, struct.pack("<2Q", 1 << 63, 1 << 63)),
    "not offered": greeting(RECEIVER, bytes(16)) + message(HAVE, b"", 4711),
    "build id": greeting(RECEIVER, bytes(16)) + message(NEED, struct.pack("<IBBB", 1, 1, 0, 20) + bytes(3)),
    "what": greeting(RECEIVER, bytes(16)) + message(NEED, struct.pack("<IBBB", 1, 7, 0, 3) + bytes(3)),
    "cut": greeting(RECEIVER, bytes(16)) + struct.pack("<III", 1000, HAVE, 0) + bytes(10),
}


def test_garbage_from_receivers(mallow, tmp_path):
    """Each ends its connection only: in the end a receiver gets everything."""
    with Streamed(mallow, tmp_path / "r.mallow", "--listen", "127.0.0.1") as streamed:
        streamed.do("1000")
        for what, garbage in GARBAGE.items():
            with socket.create_connection(("127.0.0.1", streamed.port), timeout=8) as connection:
                connection.sendall(garbage)
                if what in ("nothing", "cut", "half a greeting"):
                    connection.shutdown(socket.SHUT_WR)
                got = b""
                try:
                    while data := connection.recv(1 << 16):
                        got += data
                except ConnectionError:
                    pass
                except TimeoutError:
                    raise AssertionError(f"{what}: the connection goes on; {got[64:200]}") from None
            # Nothing of a recording but the offer before an answer to it.
            assert len(got) < 10000, what
        with Receiver.connect(streamed.port) as receiver:
            streamed.run.stdin.close()
            receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
    one, = receiver.store.values()
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def test_no_receiver_at_first(listening, mallow, tmp_path):
    """The connection is made again after one that speaks something else."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed:
        listening.settimeout(30)
        with listening.accept()[0] as connection:
            connection.sendall(GARBAGE["http"])
        with Receiver.accept(listening) as receiver:
            streamed.run.stdin.close()
            receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0


def test_messages_of_later_versions(listening, mallow, tmp_path):
    """They are skipped."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        for kind in (0, 7, 15, 22, 0xFFFFFFFF):
            receiver.send(kind, os.urandom(100), 3)
        receiver.send(99, bytes(stream_peer.SIZE_MAX))
        streamed.do("100")
        streamed.run.stdin.close()
        receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
    one, = receiver.store.values()
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])


def test_files_of_modules(listening, mallow, tmp_path):
    """A receiver gets what the recording names, by its build id, and nothing else."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        receiver.ended = lambda number, one: None
        streamed.do("100")
        receiver.run(lambda: receiver.writes)
        streamed.run.stdin.close()
        receiver.run(lambda: any(one.ended for one in receiver.store.values()))
        (number, one), = receiver.recordings.items()
        modules = {bytes.fromhex(module["build_id"]): module["path"] for module in one.read().modules.values()
                   if module["build_id"] and os.path.exists(module["path"])}
        assert {os.path.basename(path) for path in modules.values()} >= {"stream_steps", "libc.so.6"}
        for build_id, path in modules.items():
            with open(path, "rb") as file:
                assert receiver.get(number, build_id) == file.read(), path
        # None of its modules, though it is on this machine.
        others = [build_id_of("/usr/bin/ld"), os.urandom(20), bytes(1), b"/etc/passwd", bytes(64)]
        others += [next(iter(modules))[:-1], next(iter(modules)) + b"\0"]
        for build_id in others:
            for what in (stream_peer.MODULE, DEBUG_FILE):
                assert receiver.get(number, build_id, what) is None, build_id
        # What has no debug file of its own.
        streamed_id = next(build_id for build_id, path in modules.items() if path.endswith("/stream_steps"))
        assert receiver.get(number, streamed_id, DEBUG_FILE) is None
        assert streamed.alive()
        receiver.finish(number)
        assert streamed.wait() == 0


def test_a_file_of_a_recording_that_was_not_offered(listening, mallow, tmp_path):
    """It is absent, or the connection ends."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        streamed.do("10")
        receiver.run(lambda: receiver.writes)
        try:
            assert receiver.get(4711, os.urandom(20)) is None
            receiver.close()
        except stream_peer.Ended:
            pass
        streamed.run.stdin.close()
        with Receiver.accept(listening) as receiver:
            receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0


def test_it_goes_on_where_it_was(listening, mallow, tmp_path):
    """Connections that break; sealed chunks that the receiver has are not sent again."""
    store = {}
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed:
        numbers = set()
        for round_ in range(4):
            with Receiver.accept(listening, store=store) as receiver:
                numbers.add(receiver.other_number)
                streamed.do("8000")
                receiver.run(lambda: receiver.recordings)
                (number, one), = receiver.recordings.items()
                one.writes.clear()
                have = receiver.claimed[number]
                assert bool(have) == bool(round_)
                receiver.run(lambda: len(one.sealed()) >= len(have) + 2)
                assert_not_again(one, have)
                receiver.reset()
        assert len(numbers) == 1
        streamed.run.stdin.close()
        with Receiver.accept(listening, store=store) as receiver:
            receiver.run(lambda: any(one.done for one in store.values()))
        assert streamed.wait() == 0
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def assert_not_again(one, have):
    for offset, size in one.writes:
        assert not any(at <= offset < at + length for at, length in have), (offset, size)


def test_a_receiver_that_does_not_read(listening, mallow, tmp_path):
    """The program does not wait for it."""
    with run_into(mallow, listening, tmp_path / "r.mallow") as streamed, Receiver.accept(listening) as receiver:
        receiver.run(lambda: receiver.recordings)
        for _ in range(4):
            streamed.do("100000")
        assert (tmp_path / "r.mallow").stat().st_size > 6 << 20
        streamed.run.stdin.close()
        receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
    one, = receiver.store.values()
    assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def test_several_receivers(mallow, tmp_path):
    """Each gets the whole. One that connects twice ends its older connection."""
    stores = [{}, {}]
    with Streamed(mallow, tmp_path / "r.mallow", "--listen", "127.0.0.1") as streamed:
        port = streamed.port
        assert 8100 <= port <= 8199
        streamed.do("3000")
        receivers = [Receiver.connect(port, store=store) for store in stores]
        assert receivers[0].other_number == receivers[1].other_number
        for receiver in receivers:
            receiver.run(lambda: receiver.writes)
        again = Receiver.connect(port, store=stores[0], number=receivers[0].number)
        receivers[0].run_until_ended(5)
        streamed.do("3000")
        streamed.run.stdin.close()
        for receiver in (again, receivers[1]):
            receiver.run(lambda: any(one.done for one in receiver.store.values()))
        assert streamed.wait() == 0
        for receiver in (*receivers, again):
            receiver.close()
    for store in stores:
        one, = store.values()
        assert bytes(one.data) == (tmp_path / "r.mallow").read_bytes()


def test_all_images_of_a_program(listening, mallow, tmp_path):
    """Each process, and each program that is executed, is a recording of its own on the same connection."""
    script = "#!/bin/sh\n/bin/true; exec /bin/cat /dev/null\n"
    (tmp_path / "script").write_text(script)
    (tmp_path / "script").chmod(0o755)
    run = Streamed(mallow, tmp_path / "%p_%e.mallow", "--stream", f"127.0.0.1:{port_of(listening)}",
                   program=tmp_path / "script")
    with run as streamed, Receiver.accept(listening) as receiver:
        ended = receiver.run_until_ended()
        assert streamed.wait() == 0, ended
    files = {path.read_bytes()[16:32]: path.read_bytes() for path in tmp_path.glob("*.mallow")}
    assert {identity: bytes(one.data) for identity, one in receiver.store.items()} == files and len(files) >= 2
    assert all(one.done for one in receiver.store.values())


# `mallow gather` and senders of ours.

@pytest.fixture
def gather(asan_mallow, tmp_path):
    """gather(option, …): a receiver that must be alive at the end, and writes nowhere but into its folder."""
    running = []
    around = tmp_path / "around"
    around.mkdir()

    def start(*options, folder=None, mallow=asan_mallow, env=None, **more):
        env = {"XDG_CACHE_HOME": around / "cache", "HOME": around, "DEBUGINFOD_URLS": "", **(env or {})}
        one = Gather(mallow, folder or around / "gathered", *options, env=env, cwd=around, **more)
        running.append(one)
        return one

    yield start
    for one in running:
        if one.alive():
            assert one.end(signal.SIGINT) in (0, 1), one.lines  # 1: something was refused
        one.kill()
        assert not any("Sanitizer" in line or "runtime error" in line for line in one.lines), one.lines
    assert {path.name for path in around.iterdir()} <= {"gathered", "cache"}


def assert_serves(gathered, data=None, **options):
    """It goes on: another sender's recording arrives."""
    data = data or made(chunks=1)
    known = {path.name for path in gathered.files}
    with Sender.connect(gathered.port) as sender:
        sender.send_recording(data, **options)
    new = [path for path in gathered.files if path.name not in known]
    assert len(new) == 1 and sent_bytes(new[0]) == data, new
    return new[0]


def test_it_writes_what_is_sent(gather):
    gathered = gather("--no-finish")
    data = made()
    assert assert_serves(gathered, data, name=b"server").name == f"{BEGUN}_4000000_server.mallow"
    with Sender.connect(gathered.port) as sender:
        # A hole at the end, writes in any order, bytes that are written twice.
        data = made() + bytes(3 * PAGE)
        assert sender.offer(data, b"odd order").kind == HAVE
        for at in (2 * PAGE, PAGE + 7, PAGE, 2 * PAGE):
            sender.write(at, data[at:3 * PAGE + 5])
        sender.write(3 * PAGE, data[3 * PAGE:-3 * PAGE])
        sender.write(0, data[:PAGE])
        sender.until_acknowledged()
        sender.end(len(data))
        sender.until_done()
    assert sent_bytes(gathered.file_named("odd order")) == data
    # One line for each that is complete, at least.
    assert sum("server" in line for line in gathered.said) >= 1


def test_it_answers(gather):
    with Sender.connect(gather("--no-finish").port) as sender:
        sender.ping()
        assert sender.other_host == socket.gethostname()[:32]
        for kind in (0, 7, 15, 22, 0xFFFFFFFF):
            sender.send(kind, bytes(100), 5)  # of later versions
        sender.ping()


def test_many_recordings_on_one_connection(gather):
    gathered = gather("--no-finish")
    recordings = [made(chunks=1 + i % 3, pid=i + 1) for i in range(20)]
    with Sender.connect(gathered.port) as sender:
        numbers = [65535 - 7 * i for i in range(20)]
        for number, data in zip(numbers, recordings):
            assert sender.offer(data, b"many", number).kind == HAVE
        for number, data in zip(numbers, recordings):
            sender.write_all(data, number, block=5000)
        for number, data in zip(numbers, recordings):
            sender.end(len(data), number)
        for number in numbers:
            sender.until_done(number)
    assert sorted(sent_bytes(path) for path in gathered.files) == sorted(recordings)
    assert {path.name for path in gathered.files} == {f"{BEGUN}_{i + 1}_many.mallow" for i in range(20)}


HOSTILE_NAMES = [b"../../x", b"", b"a" * 255, b"a\x1b[2J\nb\x7f", b".hidden", b"..", b".", b"/etc/passwd", b"a/b",
                 b"\\x", b"\xff\xfe", "\u202e\u0085ä".encode(), b"a\0b", b"%s%n", b"-rf", b" ", b"CON", b"x.mallow",
                 "ü".encode() * 127, b"\xc3"]


def test_hostile_names(gather, tmp_path):
    gathered = gather("--no-finish")
    data = []
    for i, name in enumerate(HOSTILE_NAMES):
        data.append(made(chunks=1, pid=i + 1))
        with Sender.connect(gathered.port) as sender:
            sender.send_recording(data[-1], name)
    names = [path.name for path in gathered.folder.iterdir()]
    assert sorted(sent_bytes(path) for path in gathered.files) == sorted(data) and len(names) == len(data)
    # Not two asserts: pytest would show a name, and pytest-xdist cannot pass on what is no UTF-8.
    wrong = [ascii(name) for name in names if not FILE_NAME.fullmatch(name) or len(os.fsencode(name)) > 255 or
             not name.isprintable()]
    assert not wrong
    assert all(line.isprintable() for line in gathered.said), gathered.said


def test_equal_names(gather):
    """Two recordings of one name and second are two files."""
    gathered = gather("--no-finish")
    data = [made(chunks=1) for _ in range(3)]
    for one in data:
        with Sender.connect(gathered.port) as sender:
            sender.send_recording(one)
    assert sorted(sent_bytes(path) for path in gathered.files) == sorted(data)


ID = bytes(range(16))
HOST = b"a host of each"
GREETING = greeting(SENDER, ID, HOST.decode())


def with_page(**facts):
    return Writer(**facts).header()


BREACHES = {
    "http": b"GET / HTTP/1.1\r\nHost: gather\r\nAccept: */*\r\nConnection: close\r\nUser-Agent: somebody\r\n\r\n",
    "version": greeting(SENDER, ID, version=2),
    "receiver": greeting(RECEIVER, ID),
    "no role": greeting(0, ID),
    "write before a recording": GREETING + stream_peer.write(0, b"x"),
    "end before a recording": GREETING + stream_peer.end(0),
    "too long": GREETING + struct.pack("<III", stream_peer.SIZE_MAX + 1, PING, 0),
    "much too long": GREETING + struct.pack("<III", 0xFFFFFFFF, PING, 0),
    "number": GREETING + message(PING, b"", 65536),
    "short page": GREETING + message(stream_peer.RECORDING, made()[:PAGE - 1]),
    "long name": GREETING + stream_peer.offer(made(), b"a" * 256),
    "file that nobody asked for": GREETING + message(FILE, struct.pack("<IQ", 1, 0) + b"\x7fELF"),
    "short end": GREETING + message(stream_peer.END, bytes(7)),
    "end of a file that nobody asked for": GREETING + message(stream_peer.FILE_END, struct.pack("<IB", 1, 0)),
    "offset far away": lambda data: stream_peer.write(1 << 62, b"x"),
    "offset beyond all": lambda data: stream_peer.write((1 << 64) - 1, b"x"),
    "offset and size beyond all": lambda data: stream_peer.write((1 << 63) - 1, b"xy"),
    "size far away": lambda data: stream_peer.end(1 << 62),
    "size beyond all": lambda data: stream_peer.end((1 << 64) - 1),
    "offered twice": lambda data: stream_peer.offer(data),
    "another number": lambda data: stream_peer.write(0, b"x", 1),
    "data too long": lambda data: stream_peer.write(0, bytes(stream_peer.DATA_MAX + 1)),
    "another recording's id": lambda data: stream_peer.write(0, with_page(id=os.urandom(16))),
    "another id alone": lambda data: stream_peer.write(16, os.urandom(16)),
    "another magic": lambda data: stream_peer.write(0, b"\x7fELF"),
}


# Of recordings that were not taken: as a refusal may come at any time, they may be on their way still.
SKIPPED = {"write before a recording", "end before a recording", "another number", "file that nobody asked for",
           "end of a file that nobody asked for"}


def test_breaches(gather):
    """Each ends its connection, or the recording is refused, with one line; nothing but recordings is made.

    Each has a host's name of its own, as the same words about the same host are said once a minute.
    """
    gathered = gather("--no-finish")
    wrong = []
    offered = 0
    for what, breach in BREACHES.items():
        before = len(gathered.said)
        with Sender.connect(gathered.port, greet=False) as sender:
            if callable(breach):
                offered += 1
                data = made(chunks=1)
                sender.host = what
                sender.greet()
                sender.offer(data)
                sender.write_all(data)
                sender.until_acknowledged()
                before = len(gathered.said)
                breach = breach(data)
            else:
                breach = breach.replace(HOST, what.encode()[:14].ljust(14, b"."))
            own = f":{sender.socket.getsockname()[1]}"
            outcome = breached(sender, breach, callable(BREACHES[what]), what in SKIPPED)

        def said_of_it():
            return [line for line in gathered.said[before:] if own in line and " receiving " not in line]

        if outcome != "skipped":
            try:
                wait_for(said_of_it, seconds=2)
                time.sleep(0.02)  # for a second line, which there is not
            except AssertionError:
                pass  # it is listed below
        said = said_of_it()
        assert gathered.alive(), what
        if outcome == "goes on" or len(said) > 1 or (outcome != "skipped" and not said) or \
                not all(line.isprintable() for line in said):
            wrong.append((what, outcome, said))
    assert not wrong, "\n".join(map(repr, wrong))
    assert len(list(gathered.folder.iterdir())) <= offered
    assert_serves(gathered)


def breached(sender, breach, greeted, may_be_skipped):
    """Whether the connection has ended, the recording was refused, or nothing has happened."""
    try:
        sender.send_raw(breach)
        if may_be_skipped:
            sender.send(PING)
        if not greeted:
            sender.take(64)
        while (got := sender.receive(8)) is not None:
            if got.kind == REFUSE:
                return "refused"
            if got.kind == ACKNOWLEDGE and may_be_skipped:
                return "skipped"
    except (stream_peer.Ended, ConnectionError):
        return "ended"
    return "goes on"


BAD_PAGES = {
    "zeros": bytes(PAGE), "magic": b"\x7fELF" + with_page()[4:], "version": with_page(major=2),
    "header size": with_page()[:12] + struct.pack("<I", 8192) + with_page()[16:],
}


@pytest.mark.parametrize("what", BAD_PAGES)
def test_no_recording(gather, what):
    """What is offered is refused, or ends the connection; there is no file."""
    gathered = gather("--no-finish")
    with Sender.connect(gathered.port) as sender:
        try:
            answer = sender.offer(BAD_PAGES[what])
            assert answer.kind == REFUSE and answer.content[0] == IMPOSSIBLE and len(answer.content) > 1
            sender.ping()
        except stream_peer.Ended:
            pass
    wait_for(lambda: gathered.said)
    assert list(gathered.folder.iterdir()) == []
    assert_serves(gathered)


def test_a_recording_of_a_later_minor_version(gather):
    """It is taken as it is: whoever reads it skips what is new."""
    assert_serves(gather("--no-finish"), made(chunks=1, minor=65535))


def test_a_time_that_is_none(gather):
    """Years beyond any calendar: the name is sound, or it is refused."""
    gathered = gather("--no-finish")
    for i, realtime in enumerate((0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)):
        with Sender.connect(gathered.port) as sender:
            data = made(chunks=1, realtime=realtime, pid=0xFFFFFFFF - i)
            if sender.offer(data).kind == HAVE:
                sender.write_all(data)
                sender.end(len(data))
                sender.until_done()
    for path in gathered.folder.iterdir():
        assert FILE_NAME.fullmatch(path.name), path.name
    assert_serves(gathered)


def test_a_replayed_connection(gather):
    """The same bytes again: refused as complete, and nothing changes."""
    gathered = gather("--no-finish")
    data = made()
    stream = stream_of(data)
    with Sender.connect(gathered.port, greet=False) as sender:
        sender.send_raw(stream)
        sender.take(64)
        sender.writes = len(data) // PAGE
        sender.until_done()
    path = gathered.file
    before = path.stat()
    for _ in range(2):
        with Sender.connect(gathered.port, greet=False) as sender:
            sender.send_raw(stream)
            sender.take(64)
            got = sender.receive()
            assert (got.kind, got.content[0]) == (REFUSE, COMPLETE)
            # The writes are of nothing that was taken: they are skipped, or end the connection.
            try:
                sender.send(PING)
                sender.wait(lambda got: got.kind == ACKNOWLEDGE and sent_bytes(path) == data)
            except (stream_peer.Ended, stream_peer.Broken, ConnectionError):
                pass
    after = gathered.file.stat()
    assert sent_bytes(path) == data and gathered.file == path
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    # Also for a receiver that was restarted there is one file, with those bytes.
    assert gathered.end(signal.SIGINT) == 0
    again = gather("--no-finish")
    with Sender.connect(again.port) as sender:
        if sender.offer(data).kind == HAVE:
            sender.end(len(data))
            sender.until_done()
    assert sent_bytes(again.file) == data


def test_a_recording_that_was_finished_is_complete(gather):
    """Its bytes are others now."""
    gathered = gather()
    data = made()
    for round_ in range(2):
        with Sender.connect(gathered.port) as sender:
            answer = sender.offer(data)
            if round_:
                assert (answer.kind, answer.content[0]) == (REFUSE, COMPLETE)
                break
            sender.write_all(data)
            sender.end(len(data))
            sender.until_done()
        wait_for(lambda: mallow_reader.Header(gathered.file.read_bytes()).finished)
    assert len(list(gathered.folder.iterdir())) == 1


def test_two_senders_of_one_recording(gather):
    """The second one is refused while the first one sends; then it can go on from there."""
    gathered = gather("--no-finish")
    data = made()
    with Sender.connect(gathered.port) as first, Sender.connect(gathered.port) as second:
        assert first.offer(data).kind == HAVE
        first.write_all(data, stop=2 * PAGE)
        answer = second.offer(data)
        assert (answer.kind, answer.content[0]) == (REFUSE, TAKEN)
        first.until_acknowledged()
        first.close()

        def taken():
            answer = second.offer(data)
            assert answer.kind == HAVE or answer.content[0] == TAKEN
            return answer.kind == HAVE and answer

        answer = None
        for _ in range(100):
            if answer := taken():
                break
            time.sleep(0.05)
        chunk = mallow_reader.Chunk.at(data, PAGE)
        assert struct.unpack("<2Q", answer.content) == (PAGE, chunk.size) if chunk.size == PAGE else True
        second.write_all(data)
        second.end(len(data))
        second.until_done()
    assert sent_bytes(gathered.file) == data


def test_a_sender_that_connects_again(gather):
    """With its number: the older connection ends, and the recording goes on in the new one."""
    gathered = gather("--no-finish")
    data = made()
    with Sender.connect(gathered.port) as first:
        assert first.offer(data).kind == HAVE
        first.write_all(data, start=PAGE)
        first.until_acknowledged()
        with Sender.connect(gathered.port, number=first.number) as second:
            answer = second.offer(data)
            assert answer.kind == HAVE
            first.until_ended(10)
            have = list(struct.iter_unpack("<2Q", answer.content))
            end = PAGE
            for offset, size in have:
                assert offset == end
                end += size
            assert end == len(data)  # all of its chunks are sealed
            second.write_all(data, stop=PAGE)
            second.end(len(data))
            second.until_done()
    assert sent_bytes(gathered.file) == data


def test_a_receiver_that_was_restarted(gather):
    gathered = gather("--no-finish")
    data = made()
    with Sender.connect(gathered.port) as sender:
        sender.offer(data)
        sender.write_all(data, start=PAGE)
        sender.until_acknowledged()
        gathered.kill()
    again = gather("--no-finish")
    with Sender.connect(again.port) as sender:
        have = list(struct.iter_unpack("<2Q", sender.offer(data).content))
        assert [offset for offset, _ in have][:1] == [PAGE] and sum(size for _, size in have) == len(data) - PAGE
        sender.write_all(data, stop=PAGE)
        sender.end(len(data))
        sender.until_done()
    assert sent_bytes(again.file) == data


def test_others_in_its_directory(gather, tmp_path):
    """Files that are no recordings, and links, stay as they are."""
    folder = tmp_path / "around" / "gathered"
    folder.mkdir()
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    data = made(chunks=1)
    (folder / f"{BEGUN}_4000000_program.mallow").symlink_to(outside)
    (folder / "notes.txt").write_text("mine")
    (folder / "cut.mallow").write_bytes(data[:100])
    (folder / "fifo.mallow").unlink(missing_ok=True)
    os.mkfifo(folder / "fifo.mallow")
    gathered = gather("--no-finish")
    with Sender.connect(gathered.port) as sender:
        sender.send_recording(data)
    assert outside.read_bytes() == b"precious" and (folder / "notes.txt").read_text() == "mine"
    assert (folder / "cut.mallow").read_bytes() == data[:100]
    assert [path for path in folder.iterdir() if path.is_file() and sent_bytes(path) == data]


def test_connections_that_say_nothing(gather):
    """200 of them keep nobody away."""
    gathered = gather("--no-finish")
    silent = [socket.create_connection(("127.0.0.1", gathered.port)) for _ in range(200)]
    begun = time.monotonic()
    assert_serves(gathered)
    assert time.monotonic() - begun < 8
    for one in silent:
        one.close()
    assert_serves(gathered)


@pytest.mark.long
def test_connections_that_say_nothing_end(gather):
    """A greeting has 10 seconds, and so have its parts together; a message 20."""
    gathered = gather("--no-finish")
    silent = [socket.create_connection(("127.0.0.1", gathered.port)) for _ in range(20)]
    slow = Sender.connect(gathered.port, greet=False)
    greeted = Sender.connect(gathered.port)
    begun = time.monotonic()
    data = greeting(SENDER, os.urandom(16))
    try:
        for at in range(0, 60):
            slow.send_raw(data[at:at + 1])
            time.sleep(0.4)
    except stream_peer.Ended:
        pass
    assert time.monotonic() - begun < 16
    for one in silent:
        one.settimeout(10)
        while one.recv(100):
            pass
    assert time.monotonic() - begun < 18
    greeted.until_ended(30)
    assert 15 < time.monotonic() - begun < 30
    assert len(gathered.said) >= 1


def play(gathered, stream):
    """A stream as it is, until the receiver ends the connection."""
    with socket.create_connection(("127.0.0.1", gathered.port)) as connection:
        connection.settimeout(15)
        try:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        except ConnectionError:
            pass


def assert_sound(gathered):
    assert gathered.alive()
    for path in gathered.folder.iterdir():
        assert FILE_NAME.fullmatch(path.name) and not path.is_symlink() and path.stat().st_size < 1 << 41, path
    assert_serves(gathered)


def test_damaged_streams(gather, request):
    """A byte is another one, at every place that matters and at some of the others."""
    gathered = gather("--no-finish")
    step = 17 if request.config.getoption("--long") else 499
    data = made(chunks=1)
    size = len(stream_of(data))
    heads = stream_heads(stream_of(data))
    places = sorted({*range(64), *(at + i for at in heads for i in range(20)), *range(0, size, step)})
    for at in places:
        if at < size:
            stream = bytearray(stream_of(made(chunks=1, pid=at + 1)))
            stream[at] ^= 1 << at % 8
            play(gathered, stream)
            assert gathered.alive(), at
    assert_sound(gathered)


def stream_heads(stream):
    at = 64
    while at < len(stream):
        yield at
        at += 12 + struct.unpack_from("<I", stream, at)[0]


def test_cut_streams(gather, request):
    """It ends anywhere. What has arrived stays, and is no complete recording."""
    gathered = gather("--no-finish")
    step = 37 if request.config.getoption("--long") else 701
    size = len(stream_of(made(chunks=1)))
    for at in sorted({*range(0, 100, 5), *range(0, size, step), *range(size - 30, size)}):
        play(gathered, stream_of(made(chunks=1, pid=at + 1))[:at])
        assert gathered.alive(), at
    assert_sound(gathered)
    # Each can be completed.
    data = made(chunks=1, pid=123456)
    play(gathered, stream_of(data)[:5000])
    with Sender.connect(gathered.port) as sender:
        sender.send_recording(data)
    assert [path for path in gathered.files if sent_bytes(path) == data]


def test_it_asks_for_modules(gather, tmp_path):
    """By build id, for what it does not have; what is not what was asked for is not kept."""
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-Wl,--build-id=0x1234567890abcdef12345678", "-o", program, tmp_path / "program.c"],
                   check=True)
    build_id, other = bytes.fromhex("1234567890abcdef12345678"), os.urandom(20)
    elf = program.read_bytes()
    program.unlink()
    data = made(modules=[("/nowhere/program", build_id), ("/nowhere/lib.so", other)])
    gathered = gather()
    with Sender.connect(gathered.port) as sender:
        asked = sender.send_recording(data, files={(stream_peer.MODULE, build_id): elf,
                                                   (stream_peer.MODULE, other): elf})
    assert {(what, name) for what, name in asked if what == stream_peer.MODULE} == \
        {(stream_peer.MODULE, build_id), (stream_peer.MODULE, other)}
    cache = tmp_path / "around" / "cache"
    kept = [path for path in cache.rglob("*") if path.is_file() and path.read_bytes() == elf]
    assert len(kept) == 1 and build_id.hex()[2:] in str(kept[0]), kept
    wait_for(lambda: mallow_reader.Header(gathered.file.read_bytes()).finished)
    # It is not asked for again.
    with Sender.connect(gathered.port) as sender:
        asked = sender.send_recording(made(modules=[("/nowhere/program", build_id)]))
    assert (stream_peer.MODULE, build_id) not in asked


def test_files_that_are_none(gather, tmp_path):
    """Parts out of order or far away, and more than was asked for: no file is kept, the recording is complete."""
    gathered = gather()
    for at, parts in enumerate(([(1, b"\x7fELF")], [(1 << 62, b"\x7fELF")], [(0, b"\x7fELF"), (0, b"\x7fELF")],
                                [(0, b"no ELF")], [(0, b"")], [])):
        build_id = os.urandom(20)
        with Sender.connect(gathered.port) as sender:
            data = made(modules=[("/nowhere/program", build_id)], chunks=1, pid=at + 1)
            sender.offer(data)
            sender.write_all(data)
            sender.end(len(data))
            try:
                while not sender.done:
                    while sender.needs:
                        request, what, wanted = sender.needs.pop()
                        assert wanted == build_id
                        for offset, part in parts:
                            sender.send(FILE, struct.pack("<IQ", request, offset) + part)
                        sender.send(stream_peer.FILE_END, struct.pack("<IB", request, 0))
                    sender.wait(lambda got: got.kind in (NEED, DONE), 10)
            except (stream_peer.Ended, ConnectionError):
                pass
    cache = tmp_path / "around" / "cache"
    assert not [path for path in cache.rglob("*") if path.is_file() and "build-id" in str(path)]
    with Sender.connect(gathered.port) as sender:
        sender.send_recording(made(chunks=1))
