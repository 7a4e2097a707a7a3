"""Builds recordings by hand, from docs/trace-format.md alone: whole, odd, or damaged on purpose.

A Writer holds the facts of section 2 and a list of pieces (chunks and holes); a ChunkWriter holds
the state of section 4 and appends records to its payload.
"""
import os
import struct

import xxhash

from mallow_reader import (ALIGNED, CHUNK_MAGIC, EVENTS, FREE, MAGIC, PAGE, SEALED, SLOT, SYMBOLS,
                           glibc_usable)

MASK = 0xFFFFFFFFFFFFFFFF


def varint(value):
    value &= MASK
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


class ChunkWriter:
    """One chunk of one stream."""

    def __init__(self, stream, sequence, base, carried=0, glibc=True):
        self.stream, self.sequence, self.base, self.carried = stream, sequence, base, carried
        self.time, self.address, self.flags, self.glibc = base, 0, 0, glibc
        self.payload = bytearray()
        self.monotonic = None  # the writer's clock at base
        self.kind = EVENTS

    def _address(self, address):
        delta = address - self.address
        self.address = address
        if delta % 16 == 0:
            return varint(zigzag(delta // 16) << 1)
        return varint(zigzag(delta) << 1 | 1)

    def _start(self, op, change, extra=b""):
        first = op | (0x20 if change is not None else 0) | (0x40 if extra else 0)
        self.payload.append(first)
        if change is not None:
            self.payload += stack_change(*change)

    def allocate(self, op, time, address, size, change=None, usable=None, flags=None, alignment=16,
                 old=None, duration=0):
        """change: (drop, [frame ids, or ("pc", pc)]). old: the block that a realloc replaces."""
        extra = b""
        if usable is None:
            usable = glibc_usable(size)
        flags = self.flags if flags is None else flags
        if not self.glibc or flags != self.flags or usable != glibc_usable(size):
            extra = varint((usable - size) << 2 | flags)
            self.flags = flags
        self._start(op, change, extra)
        self.payload += varint(time - self.time)
        self.time = time
        if old is not None:
            self.payload += varint(duration) + self._address(old)
            self.time += duration
        self.payload += self._address(address) + varint(size)
        if op in ALIGNED:
            self.payload += varint(alignment)
        self.payload += extra

    def free(self, time, address, op=FREE, change=None):
        self._start(op, change)
        self.payload += varint(time - self.time) + self._address(address)
        self.time = time

    def stack(self, drop, push):
        self._start(23, (drop, push))

    def set_time(self, time):
        self.payload += b"\x18" + varint(time)
        self.time = time

    def resync(self, time):
        self.payload += b"\x19" + varint(time)
        self.time, self.address, self.flags = time, 0, 0

    def other(self, kind, *fields, text=b""):
        """Fields are varints; bytes stand for themselves."""
        body = b"".join(f if isinstance(f, bytes) else varint(f) for f in fields) + text
        self.payload += bytes([kind]) + varint(len(body)) + body

    def at(self, time):
        return zigzag(time - self.base)

    def image(self, flags=SEALED, size=None, committed=None):
        """The chunk's bytes; size: at least this many."""
        need = 64 + len(self.payload) + 8
        size = max(size or 0, (need + PAGE - 1) // PAGE * PAGE)
        head = CHUNK_MAGIC + struct.pack(
            "<IIIIIIQQQII", self.kind, size, self.stream, flags,
            len(self.payload) if committed is None else committed, self.sequence, self.base,
            self.base if self.monotonic is None else self.monotonic, self.base, self.carried, 0)
        body = (head + bytes(self.payload)).ljust(size - 8, b"\0")
        trailer = xxhash.xxh64_intdigest(body, seed=0) if flags & SEALED else 0
        return body + struct.pack("<Q", trailer)


def stack_change(drop, push):
    low, high = min(drop, 15), min(len(push), 15)
    out = bytes([low | high << 4])
    if low == 15:
        out += varint(drop - 15)
    if high == 15:
        out += varint(len(push) - 15)
    for frame in push:
        out += b"\0" + varint(frame[1]) if isinstance(frame, tuple) else varint(frame)
    return out


def symbols_chunk(modules):
    """The names of frames, section 9.3.

    modules: (path, or None for code in no module, {address: [(name, file, line, inlined)]}), the
    innermost inlined function first.
    """
    strings = []

    def string(text):
        if text is None:
            return 0
        if text not in strings:
            strings.append(text)
        return strings.index(text) + 1

    body = varint(len(modules))
    for path, positions in modules:
        body += varint(path is not None) + varint(string(path)) + varint(0) + varint(len(positions))
        last = 0
        for address in sorted(positions):
            functions = positions[address]
            body += varint(address - last) + varint(0) + varint(len(functions))
            last = address
            for name, file, line, inlined in functions:
                body += varint(string(name)) + varint(string(file) << 1 | inlined)
                body += varint(line) if file else b""
    table = b"".join(os.fsencode(text) + b"\0" for text in strings)
    chunk = ChunkWriter(0, 0, 0)
    chunk.kind = SYMBOLS
    chunk.payload += b"\0" + varint(1) + varint(len(strings)) + varint(len(table)) + table + body
    return chunk.image()


class Writer:
    """A file: its header's facts as attributes, its pieces in order."""

    def __init__(self, ticks=1000, **facts):
        self.facts = {
            "major": 1, "minor": 0, "id": os.urandom(16), "parent_id": bytes(16), "pid": 4000000,
            "parent_pid": 1, "start_time": 0, "machine": 62, "pointer": 8, "clock": 2,
            "allocator": 1, "flags": 0, "state": 1, "ticks": ticks, "monotonic": ticks,
            "realtime": 1_700_000_000_000_000_000, "end_reason": 1, "end_status": 0,
            "sample_mean": 0, "cull_ns": 0, "losses": [0] * 16}
        self.facts.update(facts)
        self.pieces = []

    def add(self, piece):
        self.pieces.append(piece)

    def header(self):
        f = self.facts
        head = MAGIC + struct.pack("<HHI", f["major"], f["minor"], PAGE) + f["id"] + f["parent_id"]
        head += struct.pack("<IIQIBBBBIIQQQII", f["pid"], f["parent_pid"], f["start_time"],
                            f["machine"], f["pointer"], f["clock"], f["allocator"], 0, f["flags"],
                            f["state"], f["ticks"], f["monotonic"], f["realtime"], f["end_reason"],
                            f["end_status"])
        head = head.ljust(112, b"\0") + struct.pack("<18Q", f["sample_mean"], f["cull_ns"], *f["losses"])
        return head.ljust(PAGE, b"\0")

    def image(self):
        return self.header() + b"".join(self.pieces)


__all__ = ["ChunkWriter", "Writer", "SLOT", "SEALED", "symbols_chunk", "varint", "zigzag"]
