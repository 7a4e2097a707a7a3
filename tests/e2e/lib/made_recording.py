"""Recordings made for views: stacks by function name, as if a program had allocated so.

The functions exist, in an ELF file compiled for this, so that symbols are found as in life; names
may be anything the assembler can be made to accept.
"""
import os
import pathlib
import random
import subprocess

from recording_writer import ChunkWriter, Writer

BIAS = 0x10000000
MALLOC, NEW, FREE = 1, 10, 20
FRAME, MODULE, THREAD, PROCESS, END = 0x81, 0x82, 0x84, 0x87, 0x91


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def elf_with(folder, names, file_name="toyd"):
    """A shared object with a function for each name: {name: address}, and its path."""
    source = pathlib.Path(folder) / "functions.s"
    target = pathlib.Path(folder) / file_name
    lines = ["\t.text"]
    for name in names:
        symbol = quoted(name)
        lines += [f"\t.globl {symbol}", f"\t.type {symbol}, @function", f"{symbol}:",
                  "\t.fill 15, 1, 0x90", "\tret", f"\t.size {symbol}, 16"]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", str(target),
                    str(source)], check=True)
    listing = subprocess.run(["readelf", "-W", "-S", str(target)], check=True, text=True,
                             capture_output=True).stdout
    line = next(line for line in listing.splitlines() if " .text " in line)
    text = int(line.split("PROGBITS")[1].split()[0], 16)
    return {name: text + 16 * i for i, name in enumerate(names)}, target


class Made:
    """A recording in the making; allocate() and free() in the order of time."""

    def __init__(self, folder, names, program="toyd", libraries=(), arguments=("--serve",),
                 **facts):
        """libraries: (path, [names]) whose functions have no symbols, as the file is missing."""
        self.folder = pathlib.Path(folder)
        self.addresses, self.program = elf_with(folder, names, program)
        self.writer = Writer(**facts)
        self.chunk = ChunkWriter(1, 0, 1000)
        self.chunk.monotonic = 1000
        self.time, self.heap, self.frames, self.depth = 1000, 0x5000_0000, {}, 0
        chunk = self.chunk
        chunk.other(PROCESS, 1, text=os.fsencode(self.program))
        chunk.other(PROCESS, 2, text=b"".join(
            os.fsencode(word) + b"\0" for word in [self.program.name, *arguments]))
        self.module(1, BIAS, BIAS + 0x100000, os.fsencode(self.program))
        self.unknown = {}
        for i, (path, functions) in enumerate(libraries):
            start = 0x70000000 + i * 0x1000000
            self.module(i + 2, start, start + 0x100000, os.fsencode(path))
            for j, name in enumerate(functions):
                self.unknown[name] = (start + 0x1000 + 64 * j, i + 2)
        chunk.other(THREAD, 0, 4000000, text=b"toyd")

    def module(self, number, start, end, path):
        self.chunk.other(MODULE, 0, number, 1, start, start, end, 0, text=path)

    def frame(self, name):
        if name not in self.frames:
            self.frames[name] = number = len(self.frames) + 1
            pc, module = self.unknown.get(name) or (BIAS + self.addresses[name] + 5, 1)
            self.chunk.other(FRAME, number, pc, module)
        return self.frames[name]

    def change(self, stack):
        """stack: names, outermost first."""
        ids = [self.frame(name) for name in stack]
        change = (self.depth, ids)
        self.depth = len(ids)
        return change

    def tick(self, nanoseconds=1000):
        self.time += nanoseconds
        return self.time

    def allocate(self, stack, size, op=MALLOC, wait=1000):
        change = self.change(stack)
        self.heap += (size + 31) // 16 * 16
        self.chunk.allocate(op, self.tick(wait), self.heap, size, change=change)
        return self.heap

    def free(self, address, wait=1000):
        self.chunk.free(self.tick(wait), address, op=FREE)

    def write(self, name="made.mallow", end=True):
        if end:
            self.chunk.other(END, self.chunk.at(self.tick()), self.time, 1, 0)
        self.writer.add(self.chunk.image())
        path = self.folder / name
        path.write_bytes(self.writer.image())
        return path


NAMES = ["main", "serve", "parse", "render", "cache_put", "log_line"]


def random_made(folder, seed, names):
    """A recording of a program whose functions lie in that order: another order is another build."""
    folder.mkdir()
    choose = random.Random(seed)
    made = Made(folder, names)
    live = []
    for _ in range(choose.randrange(5, 300)):
        if live and choose.random() < 0.45:
            made.free(live.pop(choose.randrange(len(live))))
            continue
        stack = ["main"] + [choose.choice(names) for _ in range(choose.randrange(4))]
        live.append(made.allocate(stack, choose.randrange(1, 5000)))
    return made.write()
