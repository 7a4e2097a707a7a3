"""Both sides of a recording over the network, written from docs/streaming.md alone, without TLS.

They exist to prove that the document is complete, and to do what mallow never does. A peer runs in the
thread of the test: nothing is received but within a call, so a test decides what is read, and when.
"""
import os
import socket
import struct
import time

import mallow_reader

MAGIC = b"\x89MLS\r\n\x1a\n"
VERSION = 1
SENDER, RECEIVER = 1, 2
RECORDING, WRITE, END, PING, FILE, FILE_END = 1, 2, 3, 4, 5, 6
HAVE, REFUSE, ACKNOWLEDGE, NEED, DONE, FAULT = 16, 17, 18, 19, 20, 21
COMPLETE, TAKEN, IMPOSSIBLE, LATER = 1, 2, 3, 4
MODULE, DEBUG_FILE = 1, 2
DATA_MAX = 1 << 20
SIZE_MAX = DATA_MAX + 64
PATIENCE = 30


class Broken(Exception):
    """The other side breaks the protocol."""


class Ended(Exception):
    """The other side ended the connection; with its words, if it said why."""


def greeting(role, number, host="peer", version=VERSION, magic=MAGIC):
    return magic + struct.pack("<HB5x", version, role) + number + host.encode()[:32].ljust(32, b"\0")


def message(kind, content=b"", recording=0):
    return struct.pack("<III", len(content), kind, recording) + content


def offer(page, name=b"program", recording=0):
    return message(RECORDING, page[:mallow_reader.PAGE].ljust(mallow_reader.PAGE, b"\0") + name, recording)


def write(offset, data, recording=0):
    return message(WRITE, struct.pack("<Q", offset) + data, recording)


def end(size, recording=0):
    return message(END, struct.pack("<Q", size), recording)


class Message:
    def __init__(self, kind, recording, content):
        self.kind, self.recording, self.content = kind, recording, content

    def __repr__(self):
        return f"<message {self.kind} of {self.recording}: {len(self.content)} bytes {self.content[:60]!r}>"


def listen(address="127.0.0.1", port=0):
    return socket.create_server((address, port), backlog=64)


class Peer:
    """One side of one connection; the socket is its own."""
    ROLE = None

    def __init__(self, connected, number=None, host="peer"):
        self.socket, self.number, self.host = connected, number or os.urandom(16), host
        self.buffer, self.fault, self.pings = bytearray(), None, 0
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(PATIENCE)

    @classmethod
    def connect(cls, port, address="127.0.0.1", greet=True, **options):
        peer = cls(socket.create_connection((address, port), timeout=PATIENCE), **options)
        return peer.greet() if greet else peer

    @classmethod
    def accept(cls, listening, greet=True, timeout=PATIENCE, **options):
        listening.settimeout(timeout)
        peer = cls(listening.accept()[0], **options)
        return peer.greet() if greet else peer

    def greet(self):
        self.send_raw(greeting(self.ROLE, self.number, self.host))
        data = self.take(64)
        version, role = struct.unpack_from("<HB", data, 8)
        if data[:8] != MAGIC or version != VERSION or data[11:16] != bytes(5):
            raise Broken(f"greeting {data!r}")
        if role != SENDER + RECEIVER - self.ROLE:
            raise Broken(f"role {role}")
        self.other_number, self.other_host = data[16:32], data[32:].rstrip(b"\0").decode()
        if b"\0" in data[32:].rstrip(b"\0"):
            raise Broken(f"host {data[32:]!r}")
        return self

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Ended(self.fault or str(error)) from error

    def send(self, kind, content=b"", recording=0):
        self.send_raw(message(kind, content, recording))

    def fill(self, size, timeout):
        """Whether so many bytes are there in time."""
        deadline = time.monotonic() + timeout
        while len(self.buffer) < size:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                return False
            except OSError as error:
                raise Ended(self.fault or str(error)) from error
            if not data:
                raise Ended(self.fault or "closed")
            self.buffer += data
        return True

    def take(self, size, timeout=PATIENCE):
        if not self.fill(size, timeout):
            raise TimeoutError(f"{len(self.buffer)} of {size} bytes after {timeout} s")
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def receive(self, timeout=PATIENCE):
        """The next message, or None if there is none in time. A fault is kept for Ended."""
        if not self.fill(12, timeout):
            return None
        size, kind, recording = struct.unpack_from("<III", self.buffer)
        if size > SIZE_MAX or recording >= 65536:
            raise Broken(f"size {size}, kind {kind}, recording {recording}")
        self.take(12)
        got = Message(kind, recording, self.take(size))
        if kind == FAULT:
            self.fault = got.content.decode()
        return got

    def until_ended(self, timeout=PATIENCE):
        """Reads until the other side ends the connection; all messages, and why it ended."""
        got, deadline = [], time.monotonic() + timeout
        try:
            while (left := deadline - time.monotonic()) > 0:
                one = self.receive(left)
                if one is not None:
                    got.append(one)
        except Ended as ended:
            return got, str(ended)
        raise TimeoutError(f"the connection goes on after {timeout} s; received: {got}")

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection as a dead host's kernel does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Sender(Peer):
    """Offers recordings that are made of bytes."""
    ROLE = SENDER

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.acknowledged, self.writes, self.needs, self.done = 0, 0, [], set()

    def offer(self, data, name=b"program", recording=0):
        """The answer, a HAVE or a REFUSE."""
        self.send_raw(offer(data, name, recording))
        return self.wait(lambda got: got.kind in (HAVE, REFUSE) and got.recording == recording)

    def wait(self, wanted, timeout=PATIENCE):
        """The first message that is wanted. What has come before is noted."""
        deadline = time.monotonic() + timeout
        while True:
            got = self.receive(max(deadline - time.monotonic(), 0))
            if got is None:
                raise TimeoutError("no such message")
            self._note(got)
            if wanted(got):
                return got

    def _note(self, got):
        if got.kind == ACKNOWLEDGE:
            acknowledged, = struct.unpack("<Q", got.content)
            if not self.acknowledged <= acknowledged <= self.writes:
                raise Broken(f"{acknowledged} of {self.writes} writes acknowledged, before {self.acknowledged}")
            self.acknowledged = acknowledged
        elif got.kind == NEED:
            request, what, zero, length = struct.unpack_from("<IBBB", got.content)
            if zero or not 1 <= length <= 64 or len(got.content) != 7 + length or what not in (MODULE, DEBUG_FILE):
                raise Broken(f"{got}")
            self.needs.append((request, what, got.content[7:]))
        elif got.kind == DONE:
            self.done.add(got.recording)
        elif got.kind not in (HAVE, REFUSE, FAULT):
            raise Broken(f"{got}")

    def write(self, offset, data, recording=0):
        self.writes += 1
        self.send_raw(write(offset, data, recording))

    def write_all(self, data, recording=0, start=0, stop=None, block=1 << 16):
        """In ascending order, the first page last if it is among them."""
        stop = len(data) if stop is None else stop
        first = max(start, mallow_reader.PAGE)
        for at in range(first, stop, block):
            self.write(at, data[at:min(at + block, stop)], recording)
        if start < mallow_reader.PAGE:
            self.write(start, data[start:min(stop, mallow_reader.PAGE)], recording)

    def until_acknowledged(self, timeout=PATIENCE):
        """Until all that was written is in the receiver's file. It need not say so unasked."""
        if self.acknowledged < self.writes:
            self.send(PING)
            self.wait(lambda _: self.acknowledged >= self.writes, timeout)

    def ping(self):
        self.send(PING)
        return self.wait(lambda got: got.kind == ACKNOWLEDGE)

    def end(self, size, recording=0):
        self.send_raw(end(size, recording))

    def until_done(self, recording=0, files=None, timeout=PATIENCE):
        """Gives the files that are asked for, by build id: {(what, build id): bytes}. What was asked for."""
        asked = []
        while recording not in self.done:
            while self.needs:
                request, what, build_id = self.needs.pop(0)
                asked.append((what, build_id))
                self.give(request, (files or {}).get((what, build_id)), recording)
            self.wait(lambda got: got.kind in (NEED, DONE), timeout)
        return asked

    def give(self, request, data, recording=0):
        if data is None:
            self.send(FILE_END, struct.pack("<IB", request, 1), recording)
            return
        for at in range(0, len(data), DATA_MAX):
            self.send(FILE, struct.pack("<IQ", request, at) + data[at:at + DATA_MAX], recording)
        self.send(FILE_END, struct.pack("<IB", request, 0), recording)

    def send_recording(self, data, name=b"program", recording=0, files=None):
        """All of one, from the offer to the end; what was asked for."""
        answer = self.offer(data, name, recording)
        assert answer.kind == HAVE, answer
        self.write_all(data, recording)
        self.end(len(data), recording)
        return self.until_done(recording, files)


class Received:
    """A recording as it arrives."""

    def __init__(self, page, name):
        # A recording from the offer on; the page is written again when it changes.
        self.page, self.name, self.data = page, name, bytearray(page)
        self.id, self.ended, self.writes, self.done, self.refused = page[16:32], None, [], False, False

    def write(self, offset, data):
        if len(self.data) < offset + len(data):
            self.data.extend(bytes(offset + len(data) - len(self.data)))
        self.data[offset:offset + len(data)] = data
        self.writes.append((offset, len(data)))

    def sealed(self):
        """[(offset, size)] of the sealed chunks that are whole, in order."""
        found, offset = [], mallow_reader.PAGE
        while offset + mallow_reader.PAGE <= len(self.data):
            chunk = mallow_reader.Chunk.at(self.data, offset)
            if chunk and not chunk.slot and not chunk.damage and offset + chunk.size <= len(self.data):
                found.append((offset, chunk.size))
            offset += chunk.size if chunk else mallow_reader.PAGE
        return found

    def read(self):
        """By the independent reader."""
        return mallow_reader.Recording(bytes(self.data))


class Receiver(Peer):
    """Writes what is sent into memory. `store` outlives a connection: {recording id: Received}."""
    ROLE = RECEIVER

    def __init__(self, *arguments, store=None, refuse=None, acknowledge=True, have=True, **options):
        """refuse: a function of a Received, None or (reason, text). have: claims what the store has."""
        super().__init__(*arguments, **options)
        self.store = {} if store is None else store
        self.refuse, self.acknowledge, self.have = refuse, acknowledge, have
        self.recordings, self.writes, self.pings, self.files, self.requests = {}, 0, 0, {}, 0
        self.claimed = {}  # number: [(offset, size)]
        self.on_write = lambda recording: None

    def step(self, timeout=PATIENCE):
        """Takes one message and answers it; the message or None."""
        got = self.receive(timeout)
        if got is None or got.kind == FAULT:
            return got
        handler = {RECORDING: self._offered, WRITE: self._write, END: self._end, PING: self._ping, FILE: self._file,
                   FILE_END: self._file_end}.get(got.kind)
        if handler is None:
            raise Broken(f"{got}")
        handler(got)
        return got

    def run(self, until, timeout=60):
        """Takes messages until the condition holds."""
        deadline = time.monotonic() + timeout
        while not until():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"not within {timeout} s: {[len(one.data) for one in self.store.values()]}")
            self.step(min(left, 0.1))

    def run_until_ended(self, timeout=60):
        """Takes messages until the sender ends the connection: why."""
        try:
            self.run(lambda: False, timeout)
        except Ended as ended:
            return str(ended)

    def _known(self, got):
        if got.recording not in self.recordings:
            raise Broken(f"{got}: not offered, or not taken")
        return self.recordings[got.recording]

    def _offered(self, got):
        page, name = got.content[:mallow_reader.PAGE], got.content[mallow_reader.PAGE:]
        if len(page) != mallow_reader.PAGE or len(name) > 255:
            raise Broken(f"{got}")
        if got.recording in self.recordings:
            raise Broken(f"{got}: that number is in use")
        mallow_reader.Header(page)
        one = self.store.setdefault(page[16:32], Received(page, name))
        if reason := self.refuse and self.refuse(one):
            one.refused = True
            self.send(REFUSE, bytes([reason[0]]) + reason[1].encode(), got.recording)
            return
        self.recordings[got.recording] = one
        self.claimed[got.recording] = one.sealed() if self.have else []
        self.send(HAVE, b"".join(struct.pack("<QQ", *pair) for pair in self.claimed[got.recording]), got.recording)

    def _write(self, got):
        one = self._known(got)
        offset, = struct.unpack_from("<Q", got.content)
        if len(got.content) - 8 > DATA_MAX or one.ended is not None:
            raise Broken(f"{got}: after the end" if one.ended is not None else f"{got}")
        one.write(offset, got.content[8:])
        self.writes += 1
        if self.acknowledge:
            self.send(ACKNOWLEDGE, struct.pack("<Q", self.writes))
        self.on_write(one)

    def _end(self, got):
        one = self._known(got)
        one.ended, = struct.unpack("<Q", got.content)
        if one.ended < len(one.data):
            raise Broken(f"size {one.ended}, {len(one.data)} bytes were written")
        one.data.extend(bytes(one.ended - len(one.data)))  # holes at the end
        self.ended(got.recording, one)

    def ended(self, number, one):
        """Unless a test wants files first."""
        self.finish(number)

    def finish(self, number):
        self.recordings[number].done = True
        self.send(DONE, recording=number)

    def _ping(self, got):
        self.pings += 1
        if self.acknowledge:
            self.send(ACKNOWLEDGE, struct.pack("<Q", self.writes))

    def need(self, number, build_id, what=MODULE):
        """Asks for a file; the request, of which files[request] is (bytes, None: more comes, 0 or 1)."""
        self.requests += 1
        self.files[self.requests] = (b"", None)
        self.send(NEED, struct.pack("<IBBB", self.requests, what, 0, len(build_id)) + build_id, number)
        return self.requests

    def get(self, number, build_id, what=MODULE, timeout=PATIENCE):
        """A file, or None if there is no such file."""
        request = self.need(number, build_id, what)
        self.run(lambda: self.files[request][1] is not None, timeout)
        return None if self.files[request][1] else self.files[request][0]

    def _file(self, got):
        request, offset = struct.unpack_from("<IQ", got.content)
        data, state = self.files.get(request, (b"", 1))
        if state is not None or offset != len(data):
            raise Broken(f"{got}: {len(data)} bytes, state {state}")
        self.files[request] = (data + got.content[12:], None)

    def _file_end(self, got):
        request, absent = struct.unpack("<IB", got.content)
        data, state = self.files.get(request, (b"", 1))
        if state is not None or absent > 1 or (absent and data):
            raise Broken(f"{got}: {len(data)} bytes, state {state}")
        self.files[request] = (data, absent)


def sender_and_receiver():
    """A connected pair of them."""
    with listen() as listening:
        sender = Sender.connect(listening.getsockname()[1], greet=False)
        receiver = Receiver.accept(listening, greet=False)
    for peer in (sender, receiver):
        peer.send_raw(greeting(peer.ROLE, peer.number))
    for peer, other in ((sender, receiver), (receiver, sender)):
        assert peer.take(64)[16:32] == other.number
    return sender, receiver
