"""Recordings written by hand, and what is wrong with them."""
import random

import mallow_reader
from mallow_reader import REALLOC
from recording_writer import ChunkWriter, SEALED, SLOT, Writer

FRAMES = {1: 0x401000, 2: 0x401100, 3: 0x401200, 4: 0x7F0000001000}


def definitions(chunk):
    """A thread, two modules and four frames."""
    chunk.other(0x84, chunk.at(chunk.base), 77, text=b"main")
    for identity, start, path in ((1, 0x400000, b"/bin/prog"), (2, 0x7F0000000000, b"/lib/x.so")):
        chunk.other(0x82, chunk.at(chunk.base), identity, 0, start, start, start + 0x100000, 4,
                    b"\1\2\3\4", text=path)
    for identity, pc in FRAMES.items():
        chunk.other(0x81, identity, pc, 1 if pc < 0x500000 else 2)


class Story:
    """A random program: threads that allocate, free each other's blocks, and call functions."""

    def __init__(self, seed, glibc=True):
        self.random = random.Random(seed)
        self.writer = Writer(allocator=1 if glibc else 2)
        self.glibc = glibc
        self.time, self.next_address = 1000, 0x10000
        self.live = {}
        self.threads = {}  # stream -> [chunk, sequence, stack]
        for stream in range(self.random.randint(1, 4)):
            self.threads[stream] = [ChunkWriter(stream, 0, self.time, glibc=glibc), 0, []]
        definitions(self.threads[0][0])

    def _change(self, thread):
        """A random walk of the call stack, as (drop, push) or None."""
        r, stack = self.random, thread[2]
        if r.random() < 0.3:
            return None
        drop = r.randint(0, min(len(stack), 20))
        push = [r.choice([1, 2, 3, 4, ("pc", 0x401500), ("pc", 0x99990000)])
                for _ in range(r.choice([0, 1, 2, 20]))]
        del stack[len(stack) - drop:]
        stack.extend(push)
        return drop, push

    def _seal(self, stream, flags=SEALED):
        chunk, sequence, stack = self.threads[stream]
        self.writer.add(chunk.image(flags, size=self.random.choice([4096, 16384])))
        carried = self.random.randint(0, len(stack))
        del stack[carried:]
        self.threads[stream] = [
            ChunkWriter(stream, sequence + 1, self.time, carried, self.glibc), sequence + 1, stack]

    def _allocate(self, chunk, change, old=None):
        r = self.random
        self.next_address += r.choice([16, 32, 4096, 24])
        address, size = self.next_address, r.choice([0, 1, 24, 1000, 1 << 33])
        op = REALLOC if old is not None else r.randint(1, 17)
        usable = None if self.glibc and r.random() < 0.7 else size + r.randint(0, 100)
        flags = (r.choice([0, 1, 2, None]) if self.glibc else 0)
        duration = r.randint(0, 50) if old is not None else 0
        chunk.allocate(op, self.time, address, size, change, usable, flags, 64, old, duration)
        self.time += duration
        self.live[address] = size

    def step(self):
        r = self.random
        stream = r.choice(list(self.threads))
        thread = self.threads[stream]
        # Equal times occur: the merge of the streams has a rule for them.
        self.time += r.randint(1, 1000) if r.random() < 0.8 else 0
        kind = r.random()
        if kind < 0.55 or not self.live:
            self._allocate(thread[0], self._change(thread))
        elif kind < 0.9:
            address = r.choice(list(self.live))
            del self.live[address]
            thread[0].free(self.time, address, r.choice([20, 21, 22]), self._change(thread))
        elif kind < 0.95:
            address = r.choice(list(self.live))
            del self.live[address]
            self._allocate(thread[0], self._change(thread), old=address)
        elif kind < 0.98:
            self._fact(thread[0])
        else:
            self._seal(stream)

    def _fact(self, chunk):
        at = chunk.at(self.time)
        r = self.random
        kinds = {
            0x85: ([at], b"name"), 0x87: ([7], b"0.1"), 0x88: ([at, 0, 1 << 40, 4096, 3, 34, 1, 0], b""),
            0x89: ([at, 1 << 40, 4096], b""), 0x8A: ([at, 1 << 40, 4096, 1 << 41, 8192, 1], b""),
            0x8B: ([at, 0, 0x5000], b""), 0x8C: ([at, 2, 128, 2], b""), 0x8D: ([at], b"half way"),
            0x8E: ([at, 10, 20, 30, 40, 50, 60], b""), 0x8F: ([at, 123], b""),
            0x92: ([at, 1, 1 << 62], b""), 0xC3: ([1, 2, 3], b"of a later version")}
        kind = r.choice(list(kinds))
        fields, text = kinds[kind]
        chunk.other(kind, *fields, text=text)

    def image(self, steps):
        for _ in range(steps):
            self.step()
        for stream in list(self.threads):
            flags = SLOT if self.random.random() < 0.5 else SEALED
            self._seal(stream, flags)
        return self.writer.image()


def boundaries(data):
    """Where every chunk of a recording begins and ends."""
    recording = mallow_reader.Recording(data)
    return sorted({c.offset for c in recording.chunks} | {c.offset + c.size for c in recording.chunks})


def odd_chunks():
    """Two streams with survivors in any order, of each other and of a stream that is not there, with
    stacks that go on from others, from lost ones, or are lost themselves."""
    first, second = ChunkWriter(1, 0, 1000), ChunkWriter(2, 0, 1000)
    for chunk in (first, second):
        chunk.other(0x84, chunk.at(1000), 4000000 + chunk.stream, text=b"thread")
    for frame in (1, 2, 3):
        first.other(0x81, frame, 0x1000 * frame, 0)
    second.other(0xA8, second.at(1001), 1, 0, 1, 2)
    second.other(0xA8, second.at(1001), 2, 1, 3, 0, 0x123456)
    second.other(0xA8, second.at(1001), 3, 99, 1)
    second.other(0xA8, second.at(1001), 4, 0)

    def survivor(chunk, time, stack, stream, address, size, operation=1, tag=0, slack=8):
        chunk.other(0xA9, chunk.at(time), stack, stream, tag, operation, address, size, 0, slack)

    survivor(first, 5000, 1, 2, 0x5000, 100)
    survivor(first, 3000, 2, 1, 0x3000, 200, operation=2 + 32 * 3, tag=7)
    first.allocate(1, 3500, 0x4000, 50, change=(0, [1, 2]))
    first.free(6000, 0x3000)
    survivor(second, 2000, 3, 7, 0x2000, 300)
    survivor(second, 6500, 77, 1, 0x3000, 400)
    survivor(second, 7000, 4, 2, 0x7000, 500)
    second.free(8000, 0x5000)
    second.free(9000, 0x4000)
    second.other(0xAA, 1, 10, 1000, 5)
    second.other(0xAA, 2, 1, 1 << 63, 0)
    first.other(0xAA, 55, 3, 30, 3)
    first.other(0xAA, 1, 0, 0, 1)
    first.other(0x91, first.at(10000), 10000, 1, 0)
    return first, second


def image_of(*chunks, flags=SEALED):
    writer = Writer(cull_ns=10 ** 10, minor=3)
    for chunk in chunks:
        writer.add(chunk.image(flags))
    return writer.image()


def odd_image_of_slots():
    return image_of(*odd_chunks(), flags=SLOT)
