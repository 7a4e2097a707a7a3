#!/usr/bin/python3
"""Prints the options of GNU ld that link libmallow.a into a program: static_options.py HOOKS.DEF ASKED.DEF m FROM

The letter is that of size_t in C++'s names; FROM, what places are counted from: mallow_behind or 0.

Each function that the agent stands in front of is wrapped: calls of malloc become calls of
__wrap_malloc, which is the agent's. It is told where malloc itself is by a symbol of its own, since
the function may be missing: then a reference would be an error, and a weak one takes nothing out of
an archive. --undefined does, if there is something, and DEFINED sees whether there was. The place is
a distance, which nobody has to move in a position-independent program. On ARM it is the address: ld
leaves bit 0, which says that a function is Thumb code, in an address alone.

Compilers leave .eh_frame_hdr out of static programs, without which there are no stacks.
"""
import pathlib
import re
import sys

# Of tools/agent_imports.txt those that every C library has.
IMPORTS = ["environ", "getauxval"]
# Beside malloc in glibc, and in no other allocator's archive: asking for one would bring two mallocs.
BESIDE_MALLOC = ["pvalloc", "mallopt"]


def names(path, macro, size_letter):
    text = re.sub(r'" CXX_SIZE(?: ")?', size_letter, path.read_text())
    return re.findall(rf'^{macro}\((?:\w+, ")?(\w+)', text, re.MULTILINE)


def place(name, function, start):
    asked = "" if name in BESIDE_MALLOC else f"--undefined={name}\n"
    distance = function if start == "0" else f"{function}-{start}"
    return asked + f"--defsym=mallow_behind_{name}=DEFINED({function})?{distance}:0"


def main():
    hooks, asked = map(pathlib.Path, sys.argv[1:3])
    size_letter, start = sys.argv[3:]
    print("--eh-frame-hdr")
    print(f"--defsym=mallow_behind_from={start}")
    for name in IMPORTS:
        print(f"--undefined={name}")
    for name in names(hooks, "HOOK", size_letter):
        print(f"--wrap={name}")
        print(place(name, f"__real_{name}", start))
    for name in names(asked, "ASK", size_letter):
        print(place(name, name, start))


if __name__ == "__main__":
    main()
