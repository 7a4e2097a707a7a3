"""An independent reader of live tables, written from docs/trace-format.md, section 10.

Of a recording whose header says that it has one: its sites with their stacks, its threads and who
freed whose blocks, and its blocks.
"""
import array
import collections
import os
import struct

import mallow_reader
from mallow_reader import PAGE

LIVE_FLAG = 32
LIVE_CHUNK = 5
NODES, SITES, THREADS, FREED, BLOCKS = 1, 2, 3, 4, 5
THREAD_BITS = 10
SPECIAL = 0x80000000
# (bits of the unit, bytes of an entry)
PLANES = [(4, 4), (3, 8), (9, 16), (11, 16), (13, 16), (15, 16), (17, 16)]
PIECE = 1 << 20
WEIGHT = 65536

Site = collections.namedtuple("Site", "calls bytes freed_calls freed_bytes peak_calls peak_bytes "
                                      "node first since last")
Thread = collections.namedtuple("Thread", "calls bytes tid state name")
Block = collections.namedtuple("Block", "address size site thread time")


def ticks(packed):
    return (packed >> 5) << (packed & 31) << 10


class Table:
    """A copy of a table; numbers are as they stood when it was made."""

    def __init__(self, data):
        self.recording = mallow_reader.Recording(data)
        self.header = self.recording.header
        assert self.header.flags & LIVE_FLAG
        (nodes, sites, threads, self.baselines, self.base_ticks, self.now_ticks, self.now_ns) = \
            struct.unpack_from("<IIIIQQQ", data, 256)
        self._data = data
        self._parts = collections.defaultdict(list)
        for chunk in self.recording.chunks:
            if chunk.kind == LIVE_CHUNK:
                part, size, first, count = struct.unpack_from("<IIQQ", data, chunk.offset + 64)
                self._parts[part].append((chunk.offset, size, first, count))
        self.unit = WEIGHT if self.header.sample_mean else 1
        self.nodes = self._array(NODES, "<IIII", nodes)
        self.sites = {number: Site(*fields) for number, fields in
                      enumerate(self._array(SITES, "<QQQQQQIIII", sites)) if fields[0]}
        self.threads = [Thread(*fields[:4], fields[4].split(b"\0")[0].decode()) for fields in
                        self._array(THREADS, "<QQII16s24x", threads)]
        self.freed = self._freed(threads)
        self._stacks = {}

    def _array(self, part, form, count):
        """Entries 0 to count - 1; those that are not in the file are zero."""
        entry = struct.Struct(form)
        ret = [entry.unpack(bytes(entry.size))] * count
        for offset, size, first, room in self._parts[part]:
            assert size == entry.size
            for number in range(first, min(first + room, count)):
                ret[number] = entry.unpack_from(self._data, offset + PAGE + (number - first) * size)
        return ret

    def _freed(self, threads):
        """{(who freed, whose): (calls, bytes)}"""
        found = {}
        for offset, size, first, count in self._parts[FREED]:
            assert size == 16 and first % 1024 == count % 1024 == 0
            for freeing in range(first // 1024, min((first + count) // 1024, threads)):
                at = offset + PAGE + (freeing * 1024 - first) * 16
                row = array.array("Q", self._data[at:at + threads * 16])
                found.update({(freeing, owner): (row[owner * 2], row[owner * 2 + 1])
                              for owner in range(threads) if row[owner * 2]})
        return found

    def stack(self, node):
        """[(pc, module id)], innermost first."""
        frames = []
        while node:
            parent, frame = self.nodes[node][:2]
            frames.append((frame - SPECIAL, 0) if frame >= SPECIAL else self.recording.frame(frame))
            assert parent < len(self.nodes)
            node = parent
        return frames

    def blocks(self):
        """Every live block."""
        pieces = []
        for offset, size, _, count in self._parts[BLOCKS]:
            assert size == PIECE
            for number, tag in enumerate(struct.unpack_from(f"<{count}Q", self._data, offset + 88)):
                if tag:
                    piece = self._data[offset + PAGE + number * PIECE:][:PIECE]
                    pieces.append(((tag & 0xFF) - 1, tag & ~0xFF, array.array("I", piece)))
        pieces.sort(key=lambda piece: piece[:2])
        behind, second = None, None  # the address whose entry a block of the piece before has, too
        for index, (plane, start, words) in enumerate(pieces):
            after = pieces[index + 1] if index + 1 < len(pieces) else (None, None, [0])
            span = PIECE // PLANES[plane][1] << PLANES[plane][0]
            second = after[2][0] if after[:2] == (plane, start + span) else 0
            for block in self._blocks_of(words, start, plane, start == behind and plane == 0, second):
                behind = block.address + 16
                yield block

    @staticmethod
    def _blocks_of(words, start, plane, begun, behind):
        """begun: the first entry is a block's of the piece before. behind: the next piece's first."""
        bits, size = PLANES[plane]
        step = size // 4
        skip = 0 if begun else -1
        for page in range(0, len(words), PAGE // 4):
            if not any(words[page:page + PAGE // 4]):
                continue
            for at in range(page, page + PAGE // 4, step):
                owner = words[at]
                if not owner or at == skip:
                    continue
                address = start + (at // step << bits)
                if plane < 2:
                    second = words[at + 1] if at + 1 < len(words) else behind
                    length, time = second & 511, second >> 9
                    skip = at + 1
                else:
                    time, extent = words[at + 1], words[at + 2] | words[at + 3] << 32
                    length = extent >> 16
                    address += (extent & 0xFFFF) * 8
                yield Block(address, length, owner >> THREAD_BITS, owner & 1023, ticks(time))

    def per_thread(self):
        """{name: [allocated, its bytes, freed by it, their bytes, its own freed, their bytes]}"""
        found = collections.defaultdict(lambda: [0] * 6)
        for thread in self.threads:
            found[thread.name][0] += thread.calls
            found[thread.name][1] += thread.bytes
        for (freeing, owner), (calls, size) in self.freed.items():
            for name, at in (self.threads[freeing].name, 2), (self.threads[owner].name, 4):
                found[name][at] += calls
                found[name][at + 1] += size
        return dict(found)

    def assert_consistent(self):
        """What holds for every table that nobody changed while it was copied."""
        live = collections.Counter()
        sizes = collections.Counter()
        addresses = set()
        for block in self.blocks():
            assert block.address not in addresses
            addresses.add(block.address)
            live[block.site] += 1
            sizes[block.site] += block.size
        if self.unit == 1:
            for number, site in self.sites.items():
                assert live[number] == site.calls - site.freed_calls, (number, site)
                assert sizes[number] == site.bytes - site.freed_bytes, (number, site)
        assert sum(t.calls for t in self.threads) == sum(s.calls for s in self.sites.values())
        assert sum(t.bytes for t in self.threads) == sum(s.bytes for s in self.sites.values())
        freed = [sum(column) for column in zip(*self.freed.values())] or [0, 0]
        assert freed == [sum(s.freed_calls for s in self.sites.values()),
                         sum(s.freed_bytes for s in self.sites.values())]
        for site in self.sites.values():
            assert site.freed_calls <= site.calls and site.freed_bytes <= site.bytes
            assert site.peak_calls <= site.calls and site.peak_bytes <= site.bytes
            assert site.calls - site.freed_calls <= site.peak_calls
            assert site.bytes - site.freed_bytes <= site.peak_bytes


def read(path):
    with open(path, "rb") as file:
        return Table(file.read())


def read_process(pid):
    """The table of a running program."""
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        path = f"{folder}/{name}"
        if os.readlink(path).startswith("/memfd:mallow-live:"):
            return read(path)
    raise FileNotFoundError(f"process {pid} has no live table")
