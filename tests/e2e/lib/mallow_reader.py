#!/usr/bin/python3
"""An independent reader of recordings, written from docs/trace-format.md alone.

It exists to prove that the specification is complete: it shares no code and no knowledge with the
C reader. Section numbers below are those of the document. What the events add up to is in
mallow_sums.py, which is also its command line.
"""
import collections
import functools
import heapq
import struct
import subprocess

try:
    import xxhash
except ImportError:  # trailers are then taken as right
    xxhash = None

PAGE = 4096
MAGIC = b"\x89MLW\r\n\x1a\n"
CHUNK_MAGIC = b"\xd1MLWCHK\xa7"
CHUNK_HEADER = 64
TRAILER = 8
CHUNK_MAX = 1 << 30
STACK_MAX = 1 << 20
MASK = 0xFFFFFFFFFFFFFFFF
EVENTS, PACKED, SYMBOLS, INDEX, CURVE, UNSEEN = 1, 2, 3, 4, 6, 7
SLOT, SEALED = 1, 2
NO_STREAM = 0xFFFFFFFF

# Section 4.7: the bits of a sum record.
SUMS = ("calls", "total_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes", "own_peak_bytes",
        "temporary")
POOL_ALLOC, POOL_FREE, POOL_RESET, POOL_NAME = 0x96, 0x97, 0x98, 0x99

ENTRIES = {
    1: "malloc", 2: "calloc", 3: "realloc", 4: "reallocarray", 5: "posix_memalign",
    6: "aligned_alloc", 7: "memalign", 8: "valloc", 9: "pvalloc",
    10: "operator new", 11: "operator new[]", 12: "operator new(nothrow)",
    13: "operator new[](nothrow)", 14: "operator new(aligned)", 15: "operator new[](aligned)",
    16: "operator new(aligned, nothrow)", 17: "operator new[](aligned, nothrow)",
    18: "realloc", 19: "reallocarray", 20: "free", 21: "delete", 22: "delete[]"}
ALIGNED = {5, 6, 7, 14, 15, 16, 17}
REALLOC, REALLOCARRAY, FREE, DELETE, DELETE_ARRAY = 18, 19, 20, 21, 22
STACK, TIME, RESYNC = 23, 24, 25

LOSSES = ["reentered", "no_memory", "write_failed", "file_replaced", "window_full", "strict_mode",
          "interrupted", "truncated_stacks", "broken_stacks", "size_limit", "held_back",
          "ring_full", "lost_stacks", "stream_buffer"]
NO_EVENTS = {"truncated_stacks", "broken_stacks", "lost_stacks"}
PC_TRUNCATED, PC_BROKEN, PC_LOST = 1, 2, 3
GLIBC = 1


class Damage(Exception):
    """Bytes that make no sense, with their offset in the file."""


class NotARecording(Exception):
    """The file is none, or of a later format."""


def varint(buf, p):
    """(value, position behind it); IndexError at the end of buf."""
    value = buf[p]
    p += 1
    if value < 0x80:
        return value, p
    value &= 0x7F
    shift = 7
    while True:
        byte = buf[p]
        p += 1
        value |= (byte & 0x7F) << shift
        if value > MASK:
            raise ValueError("varint of more than 64 bits")
        if byte < 0x80:
            return value, p
        shift += 7
        if shift > 63:
            raise ValueError("varint of more than ten bytes")


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def within_64_bits(total, what):
    if total > MASK:
        raise ValueError(f"{what} beyond 64 bits")
    return total


def unseen_record(body, p):
    """Section 4.5: a record 0x9a from behind its time."""
    kind, p = varint(body, p)
    size, p = varint(body, p)
    texts = (body[p:].split(b"\0") + [b"", b""])[:3]
    return dict(zip(("kind", "bytes", "object", "name", "symbol"),
                    [kind, size] + [text.decode("utf-8", "backslashreplace") for text in texts]))


def order_of(data):
    """Of a recording's integers, as struct names it."""
    return ">" if data[71] == 1 else "<"


def glibc_usable(size):
    return max(32, (size + 23) & ~15) - 8


class Header:
    """Section 2."""

    def __init__(self, data):
        if len(data) < PAGE or data[:8] != MAGIC:
            raise NotARecording(f"no recording: it begins with {data[:8]!r}")
        order = order_of(data)
        (self.major, self.minor, self.size) = struct.unpack_from(order + "HHI", data, 8)
        if self.major > 1:
            raise NotARecording(f"format {self.major}.{self.minor} is newer than this reader")
        self.id = data[16:32].hex()
        self.parent_id = data[32:48].hex() if any(data[32:48]) else ""
        (self.pid, self.parent_pid, self.start_time, self.machine, self.pointer_size, self.clock,
         self.allocator, _, self.flags, self.state, self.ticks, self.monotonic, self.realtime,
         self.end_reason, self.end_status) = struct.unpack_from(order + "IIQIBBBBIIQQQII", data, 48)
        self.sample_mean, self.cull_ns = struct.unpack_from(order + "QQ", data, 112)
        counters = struct.unpack_from(order + "16Q", data, 128)
        self.losses = dict(zip(LOSSES, counters))
        self.lost = sum(count for name, count in self.losses.items() if name not in NO_EVENTS)
        self.begun_by_fork = bool(self.flags & 1)
        self.private_slots = bool(self.flags & 2)
        self.finished = bool(self.flags & 4)
        self.free_stacks = bool(self.flags & 8)
        self.begun_by_start = bool(self.flags & 16)
        self.attached = bool(self.flags & 64)
        self.writer = struct.unpack_from(order + "QI", data, 312)[::-1] if self.attached else (self.pid, self.start_time)
        self.ended = self.state == 1
        self.watched = bool(self.flags & 128)
        self.own_memory = struct.unpack_from(order + "4Q", data, 328)
        self.peak_resident, self.peak_source = struct.unpack_from(order + "QI", data, 360)
        self.guesses, = struct.unpack_from(order + "I", data, 308)
        # So many streams there are at least.
        self.streams = struct.unpack_from(order + "I", data, 304)[0] if self.ended else 0


class Chunk:
    """Section 3: one chunk or slot and where it stands."""

    def __init__(self, data, offset):
        self.order = order_of(data)
        (self.kind, self.size, self.stream, self.flags, commit, self.ticks,
         self.monotonic, self.base, self.carried) = struct.unpack_from(self.order + "IIIIQQQQI", data, offset + 8)
        self.sequence, committed = commit >> 32, commit & 0xFFFFFFFF
        self.offset = offset
        self.slot = bool(self.flags & SLOT)
        self.end = min(offset + self.size, len(data))
        room = self.end - offset - CHUNK_HEADER
        if offset + self.size <= len(data):
            room -= TRAILER
        self.damage = None
        if committed > max(room, 0):
            if offset + self.size <= len(data):
                self.damage = f"{committed} bytes committed in a chunk of {self.size}"
            elif not self.slot:
                self.damage = "the file ends within the chunk"
            committed = max(room, 0)
        self.committed = committed
        self.payload_at = offset + CHUNK_HEADER
        self.superseded = False  # a chunk of the same sequence is read instead
        self.pack = None  # the packed chunk that holds this one
        if not self.slot and not self.damage and self.kind in (EVENTS, PACKED, SYMBOLS, INDEX, CURVE, UNSEEN):
            self.damage = self._check_trailer(data)

    def _check_trailer(self, data):
        if self.offset + self.size > len(data):
            return "the file ends within the chunk"
        if xxhash is None:
            return None
        end = self.offset + self.size - TRAILER
        expected, = struct.unpack_from(self.order + "Q", data, end)
        actual = xxhash.xxh64_intdigest(memoryview(data)[self.offset:end], seed=0)
        return None if actual == expected else f"trailer {expected:016x}, contents {actual:016x}"

    def payload(self, data):
        """The committed bytes."""
        if self.pack:
            return self.pack.payload_of(self)
        return data[self.payload_at:self.payload_at + self.committed]

    @staticmethod
    def at(data, offset):
        """The chunk at an offset, or None where no valid header stands."""
        order = order_of(data)
        if data[offset:offset + 8] != CHUNK_MAGIC[::1 if order == "<" else -1] or offset + CHUNK_HEADER > len(data):
            return None
        size, = struct.unpack_from(order + "I", data, offset + 12)
        if size < PAGE or size % PAGE or size > CHUNK_MAX:
            return None
        return Chunk(data, offset)


def unzstd(frame):
    """What a zstd frame holds; of a damaged one what the program gives before it stops."""
    return subprocess.run(["zstd", "-dqc"], input=frame, capture_output=True).stdout


class Packed:
    """Section 9.1: the events chunks inside a chunk."""

    def __init__(self, data, chunk):
        self.chunks, self.chunk = [], chunk
        buf = data[chunk.payload_at:chunk.payload_at + chunk.committed]
        self.storage = buf[0]
        count, p = varint(buf, 1)
        at = 0
        for _ in range(count):
            inner = object.__new__(Chunk)
            if buf[p:p + 8] != CHUNK_MAGIC:
                raise ValueError("no chunk header inside a packed chunk")
            (inner.kind, inner.size, inner.stream, inner.flags, inner.committed, inner.sequence,
             inner.ticks, inner.monotonic, inner.base, inner.carried) = \
                struct.unpack_from("<IIIIIIQQQI", buf, p + 8)
            if (inner.kind, inner.flags, inner.stream) != (EVENTS, SEALED, chunk.stream):
                raise ValueError("a packed chunk that is no sealed one of its stream")
            if self.chunks and inner.sequence <= self.chunks[-1].sequence:
                raise ValueError("packed chunks that are not in order")
            if inner.committed + CHUNK_HEADER + TRAILER > inner.size:
                raise ValueError("a packed chunk with more committed than it has room for")
            inner.offset, inner.payload_at, inner.slot, inner.damage = chunk.offset, 0, False, None
            inner.superseded, inner.pack, inner.at = False, self, at
            at += inner.committed
            p += CHUNK_HEADER
            self.chunks.append(inner)
        self.compressed = buf[p:]
        self.size = at
        if at > 256 * chunk.size:
            raise ValueError("a packed chunk that claims to hold too much")

    @functools.cached_property
    def content(self):
        if self.storage == 1:
            return unzstd(self.compressed)
        if self.storage != 2:
            raise ValueError(f"storage {self.storage}")
        return Columns(self.compressed).join(self.size)

    def payload_of(self, inner):
        payload = self.content[inner.at:inner.at + inner.committed]
        if len(payload) < inner.committed and not inner.damage:
            inner.damage = "a packed chunk is damaged"
        return payload


class Columns:
    """Section 9.2."""
    FIRST, CHANGE, FRAME, TIMES, ADDRESS, SIZE, OTHER = range(7)

    def __init__(self, buf):
        sizes, p = [], 0
        for _ in range(7):
            size, p = varint(buf, p)
            sizes.append(size)
        self.columns, self.at = [], [0] * 7
        for size in sizes:
            self.columns.append(unzstd(buf[p:p + size]))
            p += size
        if p != len(buf):
            raise ValueError("columns that do not fill their chunk")

    def _take(self, column, count):
        """count bytes, which must be there."""
        at = self.at[column]
        if at + count > len(self.columns[column]):
            raise IndexError("a column that ends too early")
        self.at[column] = at + count
        return self.columns[column][at:at + count]

    def _number(self, column, out):
        """A varint, put to out; its value."""
        value, end = varint(self.columns[column], self.at[column])
        out += self._take(column, end - self.at[column])
        return value

    def join(self, size):
        """The payloads; fewer bytes where the columns end too early."""
        out = bytearray()
        try:
            while len(out) < size:
                record = bytearray()
                self._record(record)
                out += record
        except (IndexError, ValueError):
            pass
        return bytes(out)

    def _record(self, out):
        first, = self._take(self.FIRST, 1)
        out.append(first)
        if first >= 0x80:
            out += self._take(self.OTHER, self._number(self.OTHER, out))
            return
        op = first & 0x1F
        if first & 0x20:
            self._change(out)
        if op <= DELETE_ARRAY:
            self._number(self.TIMES, out)
            if op in (REALLOC, REALLOCARRAY):
                self._number(self.TIMES, out)
                self._number(self.ADDRESS, out)
            self._number(self.ADDRESS, out)
            if op < FREE:
                self._number(self.SIZE, out)
                if op in ALIGNED:
                    self._number(self.SIZE, out)
                if first & 0x40:
                    self._number(self.SIZE, out)
        elif op in (TIME, RESYNC):
            self._number(self.TIMES, out)

    def _change(self, out):
        change, = self._take(self.CHANGE, 1)
        out.append(change)
        push = change >> 4
        if change & 15 == 15:
            self._number(self.CHANGE, out)
        if push == 15:
            push += self._number(self.CHANGE, out)
        for _ in range(push):
            if not self._number(self.FRAME, out):
                self._number(self.FRAME, out)


# One allocation or free, in the order of time. A realloc is a Free and an Alloc of one `call`.
Alloc = collections.namedtuple("Alloc", "time op address size node thread usable flags alignment old tag")
Free = collections.namedtuple("Free", "time op address node thread")
new = tuple.__new__  # of either, in half the time
# A record of the program's own pools.
PoolEvent = collections.namedtuple("PoolEvent", "time kind pool address size node thread tag name")
# Section 4.3: what was culled of one stack; its node is the stack's id until all are known.
Culled = collections.namedtuple("Culled", "node calls bytes temporary")


class Thread:
    """A thread of the program. Its number is that of its stream, if it is the first one there."""

    def __init__(self, number, start=0):
        self.number, self.start = number, start
        self.tid = None
        self.name = ""
        self.ended = False


class Stream:
    """The state of the records of one thread, or of several one after the other: sections 4 and 5."""

    def __init__(self, recording, number):
        self.recording = recording
        self.number = number
        self.stack = []  # nodes of the recording's tree of stacks, outermost first
        self.whole = True  # the chunk before was there, and read to its end
        self.threads = [Thread(number)]  # the one whose records are being read is the last
        self.tag = 0
        self.recorded_at = self.latest = 0  # records that are no events: the last, the latest

    def _begin_thread(self, time):
        """A thread record. The first one names the stream's first thread."""
        if self.threads[-1].tid is not None:
            self.threads.append(Thread(self.number + (len(self.threads) << 32), time))
            self.tag = 0

    def thread_at(self, time):
        """The number of the thread that ran then."""
        return max(thread.number for thread in self.threads if thread.start <= time)

    def read(self, chunk, data):
        """Decodes a chunk as far as it makes sense."""
        if chunk.carried > STACK_MAX:
            chunk.damage = chunk.damage or f"{chunk.carried} carried frames"
            self.stack, self.whole = [], False
            return
        self._begin(chunk)
        buf = chunk.payload(data)
        position = [0]
        try:
            self._records(buf, chunk, position)
            self.whole = len(buf) == chunk.committed
        except (IndexError, ValueError, UnicodeDecodeError) as error:
            self.whole = False
            if not chunk.damage:
                chunk.damage = f"record at {chunk.payload_at + position[0]}: {error}"

    def _begin(self, chunk):
        """The stack with which a chunk starts."""
        if chunk.carried and not (self.whole and len(self.stack) >= chunk.carried):
            self.stack = []
            for _ in range(chunk.carried):
                self._push(("pc", PC_LOST, 0))
        else:
            del self.stack[chunk.carried:]

    def _push(self, frame):
        parent = self.stack[-1] if self.stack else 0
        self.stack.append(self.recording.node(parent, frame))

    def _stack_change(self, buf, p, time):
        stack = self.stack
        change = buf[p]
        p += 1
        drop, push = change & 15, change >> 4
        if drop == 15:
            more, p = varint(buf, p)
            drop += more
        if push == 15:
            more, p = varint(buf, p)
            push += more
        if drop > len(stack):
            raise ValueError(f"{drop} frames dropped of {len(stack)}")
        if push > len(buf) - p or len(stack) - drop + push > STACK_MAX:
            raise ValueError(f"{push} frames pushed")
        if drop:
            del stack[-drop:]
        node = stack[-1] if stack else 0
        child = self.recording.node
        for _ in range(push):
            frame, p = varint(buf, p)
            if not frame:
                pc, p = varint(buf, p)
                frame = ("pc", pc, time)
            node = child(node, frame)
            stack.append(node)
        return p

    def _records(self, buf, chunk, position):
        """The hottest loop of all tests: numbers of one byte are read where they stand."""
        time, address, flags = chunk.base, 0, 0
        glibc = self.recording.header.allocator == GLIBC
        free_stacks = self.recording.header.free_stacks
        append = self.recording.events.append
        thread = self.threads[-1].number
        node = self.stack[-1] if self.stack else 0
        p, end = 0, len(buf)
        while p < end:
            position[0] = p
            first = buf[p]
            p += 1
            if first >= 0x80:
                length, p = varint(buf, p)
                if p + length > end:
                    raise ValueError("a record longer than its chunk")
                self._other(first, buf[p:p + length], chunk.base)
                thread = self.threads[-1].number
                self.latest = max(self.latest, self.recorded_at)
                p += length
                continue
            op = first & 0x1F
            if op == 0 or op > RESYNC:
                raise ValueError("a record of kind 0" if first == 0 else f"reserved operation {op}")
            if (first & 0x40 and op > REALLOCARRAY) or (op == STACK and not first & 0x20):
                raise ValueError(f"operation {op} with first byte {first:#x}")
            if first & 0x20:
                p = self._stack_change(buf, p, time)
                node = self.stack[-1] if self.stack else 0
            if op <= DELETE_ARRAY:
                dt = buf[p]
                p += 1
                if dt > 0x7F:
                    dt, p = varint(buf, p - 1)
                time += dt
                old = None
                if op == REALLOC or op == REALLOCARRAY:
                    start = time
                    duration, p = varint(buf, p)
                    time += duration
                    c, p = varint(buf, p)
                    delta = unzigzag(c >> 1)
                    address = (address + (delta if c & 1 else delta * 16)) & MASK
                    old = address
                if time > MASK:
                    raise ValueError("a time beyond 64 bits")
                c = buf[p]
                p += 1
                if c > 0x7F:
                    c, p = varint(buf, p - 1)
                delta = c >> 2 ^ -(c >> 1 & 1)  # unzigzag(c >> 1)
                address = (address + (delta if c & 1 else delta * 16)) & MASK
                if op >= FREE:
                    append(new(Free, (time, op, address, node if free_stacks else 0, thread)))
                    continue
                size = buf[p]
                p += 1
                if size > 0x7F:
                    size, p = varint(buf, p - 1)
                alignment = 0
                if op in ALIGNED:
                    alignment, p = varint(buf, p)
                if first & 0x40:
                    extra, p = varint(buf, p)
                    flags = extra & 3
                    usable = within_64_bits(size + (extra >> 2), "a usable size")
                else:
                    usable = glibc_usable(size) if glibc else size
                if old is not None:
                    append(Free(start, op, old, node if free_stacks else 0, thread))
                append(new(Alloc, (time, op, address, size, node, thread, usable, flags, alignment,
                                   old, self.tag)))
            elif op == TIME:
                time, p = varint(buf, p)
            elif op == RESYNC:
                time, p = varint(buf, p)
                address, flags = 0, 0
                self.stack = []
                node = 0
        if p > end:
            raise ValueError("a record longer than its chunk")

    def _other(self, kind, body, base):
        """Section 4.2. Fields missing at the end are damage, further ones are of a later version."""
        recording = self.recording
        p = 0

        def number():
            nonlocal p
            value, p = varint(body, p)
            return value

        def at():
            self.recorded_at = (base + unzigzag(number())) & MASK
            return self.recorded_at

        def text():
            return body[p:].decode("utf-8", "backslashreplace")

        node = self.stack[-1] if self.stack else 0
        fact = {"thread": self.threads[-1].number}
        if kind == 0x81:
            identity = number()
            recording.frames[identity] = (number(), number())
            flags = number() if p < len(body) else 0
            if flags & 1:
                recording.guesses.add(identity)
            if flags & 2:
                line = number()
                recording.scripts[recording.frames[identity]] = (text(), line)
            return
        if kind == 0x82:
            fact.update(time=at(), id=number(), generation=number(), bias=number(), start=number(),
                        end=number())
            length = number()
            if p + length > len(body):
                raise ValueError("a build id longer than its record")
            fact["build_id"] = body[p:p + length].hex()
            p += length
            fact.update(path=text(), gone=None)
            recording.modules[fact["id"]] = fact
            return
        if kind == 0x83:
            time, identity = at(), number()
            if identity in recording.modules:
                recording.modules[identity]["gone"] = time
            return
        if kind == 0x84:
            self._begin_thread(at())
            self.threads[-1].tid = number()
            self.threads[-1].name = text()
        elif kind == 0x85:
            at()
            self.threads[-1].name = text()
        elif kind == 0x86:
            at()
            self.threads[-1].ended = True
        elif kind == 0x87:
            field = number()
            recording.process[field] = text()
        elif kind == 0x88:
            recording.facts.append(dict(
                fact, kind="mmap", time=at(), requested=number(), address=number(), length=number(),
                protection=number(), flags=number(), fd=unzigzag(number()), offset=number(),
                node=node))
        elif kind == 0x89:
            recording.facts.append(dict(fact, kind="munmap", time=at(), address=number(),
                                        length=number(), node=node))
        elif kind == 0x8A:
            recording.facts.append(dict(
                fact, kind="mremap", time=at(), old_address=number(), old_length=number(),
                address=number(), length=number(), flags=number(), node=node))
        elif kind == 0x8B:
            recording.facts.append(dict(fact, kind="brk", time=at(), increment=unzigzag(number()),
                                        address=number(), node=node))
        elif kind == 0x8C:
            recording.facts.append(dict(
                fact, kind="mallopt", time=at(), parameter=unzigzag(number()),
                value=unzigzag(number()), result=unzigzag(number()), node=node))
        elif kind == 0x8D:
            recording.facts.append(dict(fact, kind="mark", time=at(), name=text()))
        elif kind == 0x8E:
            recording.facts.append(dict(
                fact, kind="memory", time=at(), virtual=number(), resident=number(),
                anonymous=number(), file=number(), shared=number(), swap=number()))
        elif kind == 0x8F:
            recording.facts.append(dict(fact, kind="fork", time=at(), child=number()))
        elif kind == 0x90:
            recording.facts.append(dict(fact, kind="exec", time=at(), path=text()))
        elif kind == 0x91:
            recording.facts.append(dict(fact, kind="end", time=at(), monotonic=number(), reason=number(),
                                        status=number(), seen=number() if p < len(body) else 0))
        elif kind in (0x93, 0x94):
            recording.facts.append(dict(fact, kind="on" if kind == 0x94 else "off", time=at()))
        elif kind == 0x95:
            at()
            self.tag = number()
        elif POOL_ALLOC <= kind <= POOL_NAME:
            time, pool = at(), number()
            address = pool + unzigzag(number()) if kind <= POOL_FREE else 0
            size = number() if kind == POOL_ALLOC else 0
            if kind != POOL_ALLOC and not (recording.header.free_stacks and kind != POOL_NAME):
                node = 0
            name = text() if kind == POOL_NAME else ""
            recording.pool_events.append(PoolEvent(time, kind, pool, address, size, node,
                                                   self.threads[-1].number, self.tag, name))
        elif kind == 0x9A:
            recording.facts.append(dict(fact, kind="unseen", time=at(), what=unseen_record(body, p)))
        elif kind == 0x9C:
            time, stack, known = at(), number(), number()
            values = {name: number() for bit, name in enumerate(SUMS) if known >> bit & 1}
            recording.sums.append((time, recording.stacks.get(stack, 0), values))
        elif kind == 0xA8:
            time, identity, outer = at(), number(), number()
            node = recording.stacks.get(outer, recording.node(0, ("pc", PC_LOST, 0))) if outer else 0
            while p < len(body):
                frame = number()
                node = recording.node(node, frame or ("pc", number(), time))
            recording.stacks[identity] = node
        elif kind == 0xA9:
            time, stack, stream, tag, op, address, size, alignment, slack = at(), *(
                number() for _ in range(8))
            if not 1 <= op & 31 <= 19:
                raise ValueError(f"operation {op & 31} of a survivor")
            old, duration = (number(), number()) if op & 31 > 17 else (None, 0)
            # Until all are known the node is the stack's id, and the thread is the stream's.
            if not recording.header.cull_ns:
                self.recorded_at = 0
                return
            if old is not None:
                recording.survivors.append(Free(time, op & 31, old, stack, stream))
            recording.survivors.append(Alloc(time + duration, op & 31, address, size, stack, stream,
                                             size + slack, op >> 5 & 3, alignment, old, tag))
        elif kind == 0xAA:
            culled = Culled(*(number() for _ in range(4)))
            if recording.header.cull_ns:
                recording.culled.append(culled)
        elif kind == 0x92:
            recording.facts.append(dict(fact, kind="failed", time=at(), op=number(), size=number(),
                                        node=node))


def merge_key(event):
    """Section 8: at the same time a free goes first, then the lower stream: those are merged in order
    of their numbers, survivors last."""
    return event.time, not isinstance(event, Free)


def pool_merge_key(event):
    return event.time, event.kind == POOL_ALLOC


def merge(streams, key):
    """Where the time of a stream steps back, that event is lower than all others, so it is next."""
    streams = [events for events in streams if events]
    return streams[0] if len(streams) == 1 else list(heapq.merge(*streams, key=key))


class Recording:
    """A whole file: facts, frames, modules, streams, and its events in the order of time."""

    def __init__(self, data):
        self.header = Header(data)
        self.events = []
        self.pool_events = []
        self.facts = []
        self.frames = {}
        self.guesses = set()  # ids of frames whose callers are a guess
        self.scripts = {}  # (pc, module id) -> (function, line) of script frames; the module is the file
        self.modules = {}
        self.process = {}
        self.pairs = [(self.header.ticks, self.header.monotonic)]
        self.stacks = {}  # id -> node
        self.survivors = []
        self.sums = []  # section 4.7: (ticks, node, {name: value})
        self.culled = []
        self.nodes = [(0, None)]  # (parent, frame); node 0 is the empty stack
        self._children = {}
        self._known_frames = {}  # what frame() said
        self.chunks = list(self._walk(data))
        self.packs = []
        for chunk in [c for c in self.chunks if c.kind == PACKED]:
            try:
                self.packs.append(Packed(data, chunk))
                self.chunks += self.packs[-1].chunks
            except (IndexError, ValueError, struct.error) as error:
                chunk.damage = chunk.damage or str(error)
        self.missing = 0
        self.streams = {}
        self.threads = {}  # by number
        in_streams, pools_in_streams = [], []
        for number, chunks in sorted(self._by_stream().items()):
            self.streams[number] = Stream(self, number)
            self.events, self.pool_events = [], []
            self._read_stream(self.streams[number], chunks, data)
            self.threads.update((thread.number, thread) for thread in self.streams[number].threads)
            in_streams.append(self.events)
            pools_in_streams.append(self.pool_events)
        self.missing += max(0, self.header.streams - len(self.streams))
        # A damaged packed chunk is one place, however many of its chunks suffer.
        places = {c.offset: c.damage for c in reversed(self.chunks)
                  if c.damage and not c.superseded and c.kind <= PACKED}
        self.damages = sorted(places.items())
        self._name_stacks()
        in_streams.append(sorted(self.survivors, key=merge_key))
        self.events = merge(in_streams, merge_key)
        self.pool_events = merge(pools_in_streams, pool_merge_key)
        self._count_at_the_time_before(self.events)
        self._count_at_the_time_before(self.pool_events)
        self.facts.sort(key=lambda fact: fact["time"])
        self._clock()

    def unseen(self, data):
        """What is not in the recording: section 9.6, else the records of section 4.5."""
        for chunk in self.chunks:
            if chunk.kind == UNSEEN and not chunk.damage:
                break
        else:
            return [fact["what"] for fact in self.facts if fact["kind"] == "unseen"]
        payload = chunk.payload(data)
        payload, p, found = unzstd(payload[1:]) if payload[0] == 1 else payload[1:], 0, []
        while p < len(payload):
            size, p = varint(payload, p + 1)
            found.append(unseen_record(payload[:p + size], varint(payload, p)[1]))
            p += size
        return found

    def node(self, parent, frame):
        key = (parent, frame)
        node = self._children.get(key)
        if node is None:
            node = self._children[key] = len(self.nodes)
            self.nodes.append(key)
        return node

    @staticmethod
    def _walk(data):
        """Section 1: every chunk of the file."""
        offset = PAGE
        while offset < len(data):
            chunk = Chunk.at(data, offset)
            if chunk is None:
                offset += PAGE
            else:
                yield chunk
                offset += chunk.size

    def _by_stream(self):
        """stream -> {sequence: chunk}; a slot wins over a chunk of equal sequence."""
        streams = collections.defaultdict(dict)
        for chunk in self.chunks:
            if chunk.kind != EVENTS or (chunk.slot and chunk.stream == NO_STREAM):
                continue
            self.pairs.append((chunk.ticks, chunk.monotonic))
            there = streams[chunk.stream].get(chunk.sequence)
            longer = there and not there.slot and chunk.committed > there.committed
            if there is None or there.damage or (not chunk.damage and (chunk.slot or longer)):
                streams[chunk.stream][chunk.sequence] = chunk
                if there:
                    there.superseded = True
            else:
                chunk.superseded = True
        return streams

    def _read_stream(self, stream, chunks, data):
        expected = 0
        for sequence in sorted(chunks):
            if sequence != expected:
                self.missing += sequence - expected
                stream.whole = False
            stream.read(chunks[sequence], data)
            expected = sequence + 1

    @staticmethod
    def _count_at_the_time_before(events):
        """Section 8: of an event whose stream's time steps back."""
        latest = 0
        for index, event in enumerate(events):
            if event.time < latest:
                events[index] = event._replace(time=latest)
            else:
                latest = event.time

    def _name_stacks(self):
        """Section 4.3: the stacks of survivors and sums, now that all definitions were read."""
        def node_of(identity):
            if identity not in self.stacks:
                self.stacks[identity] = self.node(0, ("pc", PC_LOST, 0))
            return self.stacks[identity]

        self.survivors = [
            event._replace(node=node_of(event.node)
                           if isinstance(event, Alloc) or self.header.free_stacks else 0,
                           thread=self._thread_at(event.thread, event.time))
            for event in self.survivors]
        self.culled = [sums._replace(node=node_of(sums.node)) for sums in self.culled]

    def _thread_at(self, stream, time):
        return self.streams[stream].thread_at(time) if stream in self.streams else stream

    def _clock(self):
        """Section 2: a straight line through the header's pair and the latest one."""
        latest = max(reversed([pair for pair in self.pairs if pair[1]]), key=lambda pair: pair[0],
                     default=self.pairs[0])
        ticks, nanoseconds = self._span(latest)
        # Section 8: as many ticks as a free may be late; the end record comes later than the events.
        self.late_ticks = 10_000 * ticks // nanoseconds
        for fact in self.facts:
            if fact["kind"] == "end" and fact["monotonic"] and fact["time"] >= latest[0]:
                ticks, nanoseconds = self._span((fact["time"], fact["monotonic"]))
        self.ns_per_tick = nanoseconds / ticks
        times = [self.header.ticks]
        times += [events[-1].time for events in (self.events, self.pool_events) if events]
        times += [stream.latest for stream in self.streams.values()]
        self.end_ticks = max(times)

    def _span(self, pair):
        """(ticks, nanoseconds) from the start to that pair."""
        ticks, nanoseconds = pair[0] - self.header.ticks, pair[1] - self.header.monotonic
        return (ticks, nanoseconds) if ticks > 0 and nanoseconds > 0 and self.header.clock == 1 \
            else (1, 1)

    def seconds(self, ticks):
        """Since the start of the recording."""
        return max(ticks - self.header.ticks, 0) * self.ns_per_tick / 1e9

    def module_at(self, pc, time):
        """The module that held an address at a time, or else is recorded there next: for frames
        without a definition."""
        there = [module for module in self.modules.values() if module["start"] <= pc < module["end"]]
        later = [module for module in there if module["time"] >= time]
        for module in there:
            if module["time"] <= time and (module["gone"] is None or time < module["gone"]):
                return module["id"]
        return min(later, key=lambda module: module["time"])["id"] if later else 0

    def frame(self, frame):
        """(pc, module id) of a frame as a node names it."""
        if isinstance(frame, tuple):
            _, pc, time = frame
            return pc, 0 if pc < 16 else self.module_at(pc - 1, time)
        if frame not in self.frames:
            raise Damage(f"frame id {frame} has no definition")
        return self.frames[frame]

    def stack(self, node):
        """[(pc, module id)], innermost first."""
        frames, nodes, known = [], self.nodes, self._known_frames
        while node:
            node, frame = nodes[node]
            if frame not in known:
                known[frame] = self.frame(frame)
            frames.append(known[frame])
        return frames

    def dangling(self):
        """Frame ids used in stacks that no record defines, and their modules."""
        ids = {frame for _, frame in self.nodes[1:] if not isinstance(frame, tuple)}
        missing = {identity for identity in ids if identity not in self.frames}
        modules = {module for identity in ids - missing
                   for module in [self.frames[identity][1]] if module}
        return sorted(missing), sorted(modules - set(self.modules))


def read(path):
    with open(path, "rb") as file:
        return Recording(file.read())
