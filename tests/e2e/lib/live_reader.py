"""An independent reader of live tables, written from docs/trace-format.md, section 10.

Of a recording whose header says that it has one: its sites with their stacks, its threads and who
freed whose blocks, and its blocks.
"""
import array
import collections
import functools
import math
import os
import struct

import mallow_reader
from mallow_reader import PAGE

LIVE_FLAG = 32
LIVE_CHUNK = 5
NODES, SITES, THREADS, FREED, HEADS, CELLS, FULLS, BLOCKS = 1, 2, 3, 4, 5, 6, 7, 8
PLACE = 0xab       # a record
THREAD_BITS = 10
SPECIAL = 0x80000000
REGION_BITS = [10, 13, 18, 23]  # of a map
LEAF = 256  # heads
CELL = 32
FULL = 264         # its name has 3 in place of the logarithm, and its chain comes first
FULL_NAME = 3 << 26
LEAVING = 1 << 29  # in the name of an empty group
WEIGHT = 65536
PART, HAS_PARTS, NODE = 1 << 31, 1 << 30, (1 << 24) - 1  # in the node of a site
# Integers of a fixed size, for tables that are big-endian.
HEADER_FORM = "8sHHI16s16sIIQI4BIIQQQIIQQ16QIIIIQQQIIIIQII5QIIQ"
CHUNK_FORM, LIVE_FORM = "QIIIIQQQQII", "QIIIIQQQ8sQIIQQ"
ENTRY_FORMS = {NODES: "III", SITES: "6Q4I", THREADS: "QQII16sQQQ", FREED: "QQ", HEADS: "256I",
               CELLS: "4Q", FULLS: "II32Q", BLOCKS: "QQQ"}

Site = collections.namedtuple("Site", "calls bytes freed_calls freed_bytes peak_calls peak_bytes "
                                      "node first since last")
Thread = collections.namedtuple("Thread", "calls bytes tid state name")
Block = collections.namedtuple("Block", "address size site thread time")


def ticks(packed):
    return (packed >> 5) << (packed & 31) << 10


def turned(data):
    """A big-endian table as a little-endian one; others as they are."""
    if data[71] != 1:
        return data
    data = bytearray(data)

    def turn(at, form):
        struct.pack_into("<" + form, data, at, *struct.unpack_from(">" + form, data, at))
        return at + struct.calcsize("<" + form)

    turn(0, HEADER_FORM)
    data[71] = 0
    at = PAGE
    while at < len(data):
        magic, kind, size = struct.unpack_from(">QII", data, at)
        assert magic.to_bytes(8, "little") == mallow_reader.CHUNK_MAGIC
        if kind == LIVE_CHUNK:
            word = turn(at, LIVE_FORM)
            part, _, _, count = struct.unpack_from("<IIQQ", data, at + 64)
            for leaf in range(count if part == HEADS else 1):
                turn(word + 8 * leaf, "Q")
            entry = at + array_offset(data, at)
            for _ in range(count):
                entry = turn(entry, ENTRY_FORMS[part])
        else:
            turn(at, CHUNK_FORM)
        at += size
    return bytes(data)


def array_offset(data, chunk):
    """Where in a chunk its entries begin."""
    part, = struct.unpack_from("<I", data, chunk + 64)
    return PAGE if part == HEADS else struct.unpack_from("<Q", data, chunk + 88)[0] or PAGE


class Table:
    """A copy of a table; numbers are as they stood when it was made."""

    def __init__(self, data):
        self._written, data = data, turned(data)
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
        self.nodes = self._array(NODES, "<III", nodes)
        self.sites = {}
        self.parts = {}  # {a site that is one: True; one that has some: False}
        for number, fields in enumerate(self._array(SITES, "<QQQQQQIIII", sites)):
            site = Site(*fields)
            if site.calls:
                self.sites[number] = site._replace(node=site.node & NODE)
                assert site.node & (PART | HAS_PARTS) != PART | HAS_PARTS
                if site.node & (PART | HAS_PARTS):
                    self.parts[number] = bool(site.node & PART)
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
                ret[number] = entry.unpack_from(self._data, self._entry(offset, number - first, size))
        return ret

    def _entry(self, chunk, index, size):
        return chunk + array_offset(self._data, chunk) + index * size

    def _freed(self, threads):
        """{(who freed, whose): (calls, bytes)}"""
        found = {}
        for offset, size, first, count in self._parts[FREED]:
            assert size == 16
            for freeing in range(first // 1024, min((first + count + 1023) // 1024, threads)):
                start = max(first, freeing * 1024)
                end = min(first + count, freeing * 1024 + threads)
                at = self._entry(offset, start - first, 16)
                row = array.array("Q", self._data[at:at + (end - start) * 16])
                found.update({(freeing, start % 1024 + i // 2): (row[i], row[i + 1])
                              for i in range(0, len(row), 2) if row[i]})
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
        yield from self._listed()
        cells, fulls = self._places(CELLS, CELL), self._places(FULLS, FULL)
        for map_number, start, name in self._regions():
            if name >> 26 & 3 == 3:
                assert map_number == 0
                chain, *entries = struct.unpack_from("<I4x32Q", self._data, fulls[name & 0x3FFFFFF])
                for number, entry in enumerate(entries):
                    if entry:
                        assert ((entry & 255) - 1) // 4 == number
                        yield self._small(start, entry)
                assert not chain or name >> 28 == 1
                name = chain
            while name:
                assert name >> 28 == 0
                number, length = name & 0x3FFFFFF, 4 << (name >> 26)
                assert number % (length // 4) == 0
                group = struct.unpack_from(f"<{length}Q", self._data, cells[number])
                if map_number:
                    assert length == 4
                    yield from self._large(group, start, REGION_BITS[map_number])
                else:
                    yield from map(functools.partial(self._small, start), filter(None, group[1:]))
                name = group[0] & 0xFFFFFFFF

    def _places(self, part, length):
        """{number: where in the file its entry is}"""
        found = {}
        for offset, size, first, count in self._parts[part]:
            assert size == length
            for number in range(first, first + count):
                found[number] = self._entry(offset, number - first, length)
        return found

    def _listed(self):
        """The blocks of a table that has them as a list."""
        for offset, size, _, count in self._parts[BLOCKS]:
            assert size == 24
            for number in range(count):
                address, state, length = struct.unpack_from("<QQQ", self._data,
                                                            self._entry(offset, number, size))
                if state >> 32:
                    yield Block(address, length, state >> 42, state >> 32 & 1023,
                                ticks(state & 0xFFFFFFFF))

    def _regions(self):
        """(its map, where it begins, the name of its first group)"""
        for offset, size, _, count in self._parts[HEADS]:
            assert size == LEAF * 4
            for number, tag in enumerate(struct.unpack_from(f"<{count}Q", self._data, offset + 88)):
                start, map_number = tag & ~0xFF, (tag & 0xFF) - 1
                if not tag:
                    continue
                heads = struct.unpack_from(f"<{LEAF}I", self._data, offset + PAGE + number * size)
                for at, name in enumerate(heads):
                    if name & LEAVING:
                        name = name - LEAVING + (FULL_NAME if map_number == 0 else 0)
                    if name:
                        yield map_number, start + (at << REGION_BITS[map_number]), name

    @staticmethod
    def _small(start, entry):
        assert 1 <= entry & 255 <= 128
        return Block(start + (entry & 255) * 8 - 8, entry >> 8 & 1023, entry >> 44,
                     entry >> 34 & 1023, ticks(entry >> 18 & 0xFFFF))

    @staticmethod
    def _large(cell, start, bits):
        _, address, state, size = cell
        if state >> 32:
            assert address >> bits << bits == start
            yield Block(address, size, state >> 42, state >> 32 & 1023, ticks(state & 0xFFFFFFFF))

    def homes(self):
        """(a group, the region that has it): full groups, and the first cells of large blocks."""
        for map_number, start, name in self._regions():
            if map_number or name >> 26 & 3 == 3:
                yield ("cell" if map_number else "full", name & 0x3FFFFFF), start

    def full_groups_made(self):
        """The highest number of one that is not all zero."""
        return max((number for number, at in self._places(FULLS, FULL).items()
                    if any(self._data[at:at + FULL])), default=0)

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

    def whole_sites(self):
        """Each with its parts, which are of its node: sums of all, and the peaks as far as known."""
        parts = collections.defaultdict(list)
        for number, is_part in self.parts.items():
            if is_part:
                parts[self.sites[number].node].append(self.sites[number])
        for number, site in self.sites.items():
            if number not in self.parts:
                yield site
            elif not self.parts[number]:
                sums = [sum(column) for column in zip(*(each[:4] for each in
                                                        [site, *parts.pop(site.node)]))]
                calls, size, freed_calls, freed_bytes = sums
                yield Site(*sums, max(site.peak_calls, calls - freed_calls),
                           max(site.peak_bytes, size - freed_bytes), *site[6:])
        assert not parts, "parts of nothing"

    def assert_places(self):
        """Section 10.2. Returns where the chunks were in the writer's memory, by offset."""
        addresses = {}
        for chunk in self.recording.chunks:
            at, place = chunk.offset, ()
            if chunk.kind == LIVE_CHUNK:
                *place, identity, checksum = struct.unpack_from("<QQ8sQ", self._data, at + 32)
                covered = self._written[at:at + 56] + self._written[at + 64:at + 88]
                assert checksum == mallow_reader.xxhash.xxh64_intdigest(covered, seed=0)
            elif chunk.kind == mallow_reader.EVENTS and not chunk.pack and not self.header.private_slots:
                payload = chunk.payload(self._data)
                assert payload[0] == PLACE
                _, p = mallow_reader.varint(payload, 1)
                offset, p = mallow_reader.varint(payload, p)
                address, p = mallow_reader.varint(payload, p)
                place = offset, address
                identity = payload[p:p + 8]
            if place:
                assert identity.hex() == self.header.id[:16]
                assert place[0] == at
                addresses[at] = place[1]
        return addresses

    def weight(self, size):
        """Of the calls of a sampled block, in units."""
        mean = self.header.sample_mean
        return WEIGHT / -math.expm1(-max(size, 1) / mean) if mean else 1

    def assert_consistent(self):
        """What holds for every table that nobody changed while it was copied."""
        assert self.baselines or self.base_ticks == self.header.ticks, "times are from the start on"
        if self.header.minor >= 6:
            self.assert_places()
        live = collections.Counter()
        sizes = collections.Counter()
        weights = collections.Counter()
        addresses = set()
        for block in self.blocks():
            assert block.address not in addresses
            addresses.add(block.address)
            live[block.site] += 1
            sizes[block.site] += block.size
            weights[block.site] += self.weight(block.size)
        if self.unit == 1:
            for number, site in self.sites.items():
                assert live[number] == site.calls - site.freed_calls, (number, site)
                assert sizes[number] == site.bytes - site.freed_bytes, (number, site)
        else:
            for number, site in self.sites.items():
                # Rounded, each of them.
                assert abs(weights[number] - (site.calls - site.freed_calls)) <= live[number], \
                    (number, site)
        if self._parts[THREADS]:
            assert sum(t.calls for t in self.threads) == sum(s.calls for s in self.sites.values())
            assert sum(t.bytes for t in self.threads) == sum(s.bytes for s in self.sites.values())
            freed = [sum(column) for column in zip(*self.freed.values())] or [0, 0]
            assert freed == [sum(s.freed_calls for s in self.sites.values()),
                             sum(s.freed_bytes for s in self.sites.values())]
        for site in self.sites.values():
            assert site.freed_calls <= site.calls and site.freed_bytes <= site.bytes
        for site in self.whole_sites():
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
