"""Two recordings that are the same bytes on every machine, made for golden answers.

Nothing of them comes from a clock, from this machine or from a compiler: the program is not there,
and the names that it has are in the recording. "shop" holds something of all that a view shows; its
comments say what each block is there for. "lamp" is the opposite: another allocator and processor,
no names, nothing freed.
"""
import os

from recording_writer import ChunkWriter, Writer, symbols_chunk, zigzag

SECOND = 1_000_000_000
START = 5000  # of the recording's clock, which counts nanoseconds
SHOP, PAPER = "/opt/shop/bin/shop", "/opt/shop/lib/libpaper.so.2"
BASES = {SHOP: 0x400000, PAPER: 0x7F1200000000, None: 0}
MODULES = {SHOP: 1, PAPER: 2, None: 0}

(MALLOC, CALLOC, POSIX_MEMALIGN, NEW, NEW_ARRAY, REALLOC, FREE, DELETE) = (
    1, 2, 5, 10, 11, 18, 20, 21)
(FRAME, MODULE, THREAD, PROCESS, MMAP, MUNMAP, MALLOPT, MARK, MEMORY, END, FAILED, TAG, POOL_ALLOC,
 POOL_FREE, POOL_RESET, POOL_NAME) = (
    0x81, 0x82, 0x84, 0x87, 0x88, 0x89, 0x8C, 0x8D, 0x8E, 0x91, 0x92, 0x95, 0x96, 0x97, 0x98, 0x99)
MMAPPED, OTHER_ARENA = 1, 2

# {frame: (module, place in it, [(name, file, line, inlined)] or None: no name is known)}
FRAMES = {
    "_start": (SHOP, 0x1040, [("_start", None, 0, 0)]),
    "main": (SHOP, 0x1180, [("main", "/opt/shop/src/main.cc", 21, 0)]),
    "serve": (SHOP, 0x1240, [("_ZN4shop5serveEi", "/opt/shop/src/serve.cc", 40, 0)]),
    # The same function from another line: two children in a tree by lines.
    "serve again": (SHOP, 0x1280, [("_ZN4shop5serveEi", "/opt/shop/src/serve.cc", 43, 0)]),
    "orders": (SHOP, 0x1300, [
        ("_ZNSt6vectorIN4shop5OrderESaIS1_EE9push_backERKS1_", "/usr/include/stl_vector.h", 1198, 1),
        ("_ZN4shop6ordersERSt6vectorINS_5OrderESaIS1_EE", "/opt/shop/src/orders.cc", 17, 0)]),
    "worker": (SHOP, 0x1400, [("_ZN4shop6workerEPv", "/opt/shop/src/worker.cc", 9, 0)]),
    "session": (SHOP, 0x1480, [("_ZN4shop7sessionEj", "/opt/shop/src/session.cc", 55, 0)]),
    "grow": (SHOP, 0x1500, [("_ZN4shop6Buffer4growEm", "/opt/shop/src/buffer.cc", 30, 0)]),
    "print": (PAPER, 0x2040, None),
    "fold": (PAPER, 0x20A0, None),
    "compiled": (None, 0x7F3300001000, [("receipt.js:print", None, 0, 0)]),
    "nowhere": (None, 0x7F3300002000, None),
}


def moment(seconds):
    return START + round(seconds * SECOND)


class Thread:
    """What one thread writes; its stacks by names of FRAMES, outermost first."""

    def __init__(self, shop, stream, tid, name, base):
        self.shop, self.depth = shop, 0
        self.chunk = ChunkWriter(stream, 0, base)
        self.chunk.monotonic = base
        self.other(0, THREAD, tid, text=name)

    def change(self, stack):
        ids = [self.shop.frame(self, name) for name in stack.split(" > ")]
        change = (self.depth, ids)
        self.depth = len(ids)
        return change

    def allocate(self, at, stack, address, size, op=MALLOC, **more):
        self.chunk.allocate(op, moment(at), address, size, self.change(stack), **more)

    def free(self, at, address, op=FREE):
        self.chunk.free(moment(at), address, op)

    def other(self, at, kind, *fields, text="", stack=None):
        """A record of what is no block; at: seconds."""
        if stack:
            self.chunk.stack(*self.change(stack))
        if kind != FRAME and kind != PROCESS:
            fields = (self.chunk.at(moment(at)), *fields)
        self.chunk.other(kind, *fields, text=os.fsencode(text))


class Shop:
    """A program that sells things for ten seconds."""

    def __init__(self):
        self.frames = {}
        self.writer = Writer(
            ticks=START, id=bytes(range(0x10, 0x20)), realtime=1_700_000_000_250_000_000,
            minor=3, flags=4)

    def frame(self, thread, name):
        """The number of a frame, which the first thread that has it defines."""
        if name not in self.frames:
            module, place, _ = FRAMES[name]
            self.frames[name] = number = len(self.frames) + 1
            thread.other(0, FRAME, number, BASES[module] + place + 1, MODULES[module])
        return self.frames[name]

    def names(self):
        return symbols_chunk([
            (module, {place: names for at, place, names in FRAMES.values()
                      if at == module and names})
            for module in (None, SHOP)])

    def image(self, *threads):
        for thread in threads:
            self.writer.add(thread.chunk.image())
        self.writer.add(self.names())
        return self.writer.image()


def shop():
    """The bytes of the recording."""
    whole = Shop()
    first = Thread(whole, 1, 4100, "shop", START)
    first.other(0, PROCESS, 1, text=SHOP)
    first.other(0, PROCESS, 2, text="shop\0--name\0The Corner Shop\0--port=0\0")
    first.other(0, PROCESS, 3, text="/opt/shop")
    first.other(0, PROCESS, 5, text="golden.example")
    for path, number in MODULES.items():
        if path:
            base = BASES[path]
            first.other(0, MODULE, number, 1, base, base, base + 0x100000, 0, text=path)
    second = Thread(whole, 2, 4101, "worker", START)
    first_half(first, second)
    second_half(first, second)
    return whole.image(first, second)


def first_half(first, second):
    main, serve = "_start > main", "_start > main > serve"
    worker = "worker > session"
    heap, arena = 0x1C06000, 0x7F10C0000000
    first.other(0.1, MALLOPT, zigzag(-8), zigzag(2), zigzag(1), stack=main)  # M_ARENA_MAX
    first.other(0.15, MALLOPT, zigzag(77), zigzag(-5), zigzag(0), stack=main)  # none that is known
    # Anonymous, then a file at an address of its own choice; the latter goes later.
    first.other(0.2, MMAP, 0, 0x7F1000000000, 1 << 20, 3, 0x22, zigzag(-1), 0, stack=main)
    first.other(0.3, MMAP, 0x7F0FF0000000, 0x7F0FF0000000, 8192, 1, 0x11, zigzag(3), 4096, stack=serve)
    # A site of one block that stays.
    first.allocate(0.5, serve, heap + 0x10, 1024)
    # A site of which one block goes, freed by the other thread, and one stays.
    first.allocate(1.0, f"{serve} > orders", heap + 0x420, 48, NEW)
    first.allocate(1.2, f"{serve} > orders", heap + 0x460, 48, NEW)
    second.free(1.5, heap + 0x420, DELETE)
    # Two sites of the other thread, from another arena; calloc, too.
    second.allocate(1.6, worker, arena + 0x10, 300, flags=OTHER_ARENA)
    second.allocate(1.75, "worker > grow", arena + 0x150, 64, CALLOC)
    # From a library without names, aligned, and with a mapping of its own.
    first.allocate(2.0, f"{serve} > print", heap + 0x1000, 4096, POSIX_MEMALIGN, alignment=64)
    first.allocate(2.5, f"{serve} > print > fold", 0x7F1100000010, 200_000, flags=MMAPPED)
    # Tagged; the next is not any more.
    first.other(2.9, TAG, 7)
    first.allocate(3.0, "_start > main > serve again > session", heap + 0x2020, 100, flags=0)
    first.other(3.1, TAG, 0)
    # The allocator gave more than it would have to.
    first.allocate(3.5, "_start > main > serve again", heap + 0x2090, 256, NEW_ARRAY, usable=296)
    # A chain of three blocks: the last by the other thread, never freed.
    first.allocate(4.0, f"{serve} > grow", heap + 0x2200, 64)
    first.allocate(4.25, f"{serve} > grow", heap + 0x2250, 128, REALLOC, old=heap + 0x2200, duration=500)
    second.allocate(4.5, worker, arena + 0x1A0, 1000, REALLOC, old=heap + 0x2250, duration=700)


def second_half(first, second):
    serve, pool = "_start > main > serve", 0x1C0A000
    first.other(5.0, MARK, text="open")
    # Temporary: freed with nothing in between; a group that leaves nothing.
    for i in range(3):
        first.allocate(5.2 + i / 10, f"{serve} > session", 0x1C08300, 32 + i)
        first.free(5.25 + i / 10, 0x1C08300)
    # A pool in a block of its own, and one without a name, in the last of the chain, that is emptied.
    first.allocate(6.0, serve, pool, 4096)
    first.other(6.1, POOL_NAME, pool, text="tickets")
    first.other(6.2, POOL_ALLOC, pool, zigzag(64), 24, stack=serve)
    first.other(6.3, POOL_ALLOC, pool, zigzag(96), 24)
    first.other(6.4, POOL_FREE, pool, zigzag(64))
    second.other(6.5, POOL_ALLOC, 0x7F10C0000200, zigzag(16), 40, stack="worker")
    second.other(6.6, POOL_RESET, 0x7F10C0000200)
    first.free(6.8, 0x7F1100000010)
    # Code in no module, with a name and without; with an address that clients print in hexadecimal.
    second.allocate(7.0, "worker > compiled", 0x7F10C0003010, 500, NEW)
    second.allocate(7.5, "nowhere", 0x7F10C0003210, 0, flags=OTHER_ARENA)
    first.other(8.0, MUNMAP, 0x7F0FF0000000, 8192, stack=serve)
    first.other(8.5, MEMORY, 9 << 20, 5 << 20, 3 << 20, 2 << 20, 0, 0)
    first.other(9.0, FAILED, MALLOC, 1 << 62, stack=serve)
    second.free(9.5, 0x7F10C0000010)
    first.other(10, END, START + 10 * SECOND, 1, 0)


def lamp():
    """Of another processor and allocator; clients see null where glibc and names are missing."""
    writer = Writer(ticks=START, id=bytes(range(0x20, 0x30)), realtime=1_700_000_100 * SECOND,
                    machine=183, allocator=2)
    chunk = ChunkWriter(1, 0, START, glibc=False)
    chunk.monotonic = START
    chunk.other(PROCESS, 1, text=b"/usr/bin/lamp")
    chunk.other(MODULE, 0, 1, 1, 0x10000, 0x10000, 0x20000, 0, text=b"/usr/bin/lamp")
    chunk.other(THREAD, 0, 77, text=b"lamp")
    chunk.other(FRAME, 1, 0x10421, 1)
    chunk.allocate(MALLOC, START + SECOND, 0x40000, 10, (0, [1]), usable=16)
    chunk.allocate(MALLOC, START + 2 * SECOND, 0x40010, 20, usable=32)
    chunk.other(END, chunk.at(START + 3 * SECOND), START + 3 * SECOND, 1, 0)
    writer.add(chunk.image())
    return writer.image()
