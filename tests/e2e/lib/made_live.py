"""Recordings of programs in live mode, made for views: docs/trace-format.md, section 10."""
import struct

from made_recording import FRAME, Made
from mallow_reader import CHUNK_MAGIC, PAGE, SLOT

LIVE = 32  # a flag of the header
NODES, SITES, THREADS, FREED, HEADS, CELLS = 1, 2, 3, 4, 5, 6
ENTRY = {NODES: 12, SITES: 64, THREADS: 64, FREED: 16, HEADS: 1024, CELLS: 32}
SPECIAL = 0x80000000
TRUNCATED = "[truncated]"
THREADS_MAX = 1024


def packed_time(nanoseconds, bits=32):
    """A small floating number of 1024 ticks, rounded down."""
    units, exponent = nanoseconds >> 10, 0
    while units >> exponent >> (bits - 5):
        exponent += 1
    return units >> exponent << 5 | exponent


def live_chunk(part, first, count, array, leaves=b"", size=None):
    """One chunk of the table: its array has count entries, of which the first ones are given."""
    size = size or PAGE + (count * ENTRY[part] + PAGE - 1) // PAGE * PAGE
    head = CHUNK_MAGIC + struct.pack("<IIIIIIQQQII", 5, size, 0xFFFFFFFF, SLOT, 0, 0, 0, 0, 0, 0, 0)
    head += struct.pack("<IIQQ", part, ENTRY[part], first, count) + leaves
    return (head.ljust(PAGE, b"\0") + array).ljust(size, b"\0")


class MadeLive(Made):
    """A live table in the making. Stacks as of Made: names, outermost first."""

    def __init__(self, folder, names, **facts):
        super().__init__(folder, names, flags=LIVE, minor=4, **facts)
        self.nodes, self.numbers = [bytes(12)], {(): 0}
        self.sites = [bytes(64)]
        self.threads, self.freed = [bytes(64)], {}
        self.leaves, self.cells = {}, [bytes(32)] * 4
        self.chunks_of, self.baseline = {}, (0, 0)

    def node(self, stack):
        stack = tuple(stack)
        if stack not in self.numbers:
            parent, name = self.node(stack[:-1]), stack[-1]
            frame = SPECIAL + 1 if name == TRUNCATED else self.frame(name)
            self.numbers[stack] = len(self.nodes)
            self.nodes.append(struct.pack("<III", parent, frame, 0))
        return self.numbers[stack]

    def site(self, stack, calls, size, freed=(0, 0), peak=None, first=0, since=None, last=None,
             flags=0):
        """size: bytes of all calls; freed and peak: (calls, bytes); times since the start; flags: of
        its node, above the 24 bits that it takes."""
        peak = peak or (calls - freed[0], size - freed[1])
        since = first if since is None else since
        self.sites.append(struct.pack(
            "<QQQQQQIIII", calls, size, *freed, *peak, self.node(stack) | flags, packed_time(first),
            packed_time(since), packed_time(since if last is None else last)))
        return len(self.sites) - 1

    def thread(self, name, calls, size, tid=7, state=1):
        self.threads.append(struct.pack("<QQII16s24s", calls, size, tid, state,
                                        name.encode(), b""))
        return len(self.threads) - 1

    def freed_by(self, freeing, owner, calls, size):
        self.freed[freeing * THREADS_MAX + owner] = struct.pack("<QQ", calls, size)

    def small_block(self, address, size, site, thread, time):
        """Of less than 1 KiB, at a multiple of 8."""
        heads = self.leaves.setdefault(address >> 18, [0] * 256)
        entry = (site << 44 | thread << 34 | packed_time(time, 16) << 18 | size << 8
                 | (address >> 3 & 127) + 1)
        self.cells.append(struct.pack("<QQQQ", heads[address >> 10 & 255], entry, 0, 0))
        heads[address >> 10 & 255] = len(self.cells) - 1

    def table(self):
        freed = b"".join(self.freed.get(number, bytes(16))
                         for number in range(max(self.freed, default=-1) + 1))
        yield NODES, b"".join(self.nodes)
        yield SITES, b"".join(self.sites)
        yield THREADS, b"".join(self.threads)
        yield FREED, freed

    def write(self, name="live.mallow", end=True, halves=False):
        """halves: each array in two chunks."""
        for part, array in self.table():
            entry = ENTRY[part]
            count = len(array) // entry
            cut = count // 2 if halves else count
            self.writer.add(live_chunk(part, 0, cut, array[:cut * entry]))
            if halves:
                self.writer.add(live_chunk(part, cut, count - cut, array[cut * entry:]))
        if self.leaves:
            self.writer.add(live_chunk(
                HEADS, 0, len(self.leaves),
                b"".join(struct.pack("<256I", *heads) for heads in self.leaves.values()),
                b"".join(struct.pack("<Q", (number << 18) + 1) for number in self.leaves)))
            self.writer.add(live_chunk(CELLS, 0, len(self.cells), b"".join(self.cells)))
        path = super().write(name, end)
        image = bytearray(path.read_bytes())
        struct.pack_into("<IIIIQQQ", image, 256, len(self.nodes), len(self.sites),
                         len(self.threads), 0, 0, 0, 0)
        path.write_bytes(image)
        return path


__all__ = ["FRAME", "MadeLive", "TRUNCATED", "live_chunk", "packed_time"]
