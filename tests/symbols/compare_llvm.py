#!/usr/bin/python3
"""
Compares the symbolizer with llvm-symbolizer at random addresses of a file: functions, files, lines
and inlined frames.

    compare_llvm.py [--count N] [--seed N] [--least PERCENT] [--show N] [-d PATH]... QUERY FILE

QUERY is the program symbols_query. llvm-symbolizer reads FILE alone, so --llvm-file names what it
should read where the debug information is separate. Prints the agreement, and what differs and
why, by kind; exits 1 when it is below --least.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import time

UNKNOWN = {"??", "-", "", "<invalid>"}


def functions_of(path):
    """(address, size) of the sized functions of a file, of .symtab, else .dynsym."""
    for option in ([], ["-D"]):
        text = subprocess.run(["nm", "--defined-only", "-S", *option, path],
                              capture_output=True, text=True, check=False).stdout
        found = []
        for line in text.splitlines():
            parts = line.split(maxsplit=3)
            if len(parts) == 4 and parts[2] in "tTwWi" and int(parts[1], 16):
                found.append((int(parts[0], 16), int(parts[1], 16)))
        if found:
            return sorted(set(found))
    return []


def aliases_of(path):
    """address -> every name that the symbol tables have for it."""
    names = collections.defaultdict(set)
    for option in ([], ["-D"]):
        text = subprocess.run(["nm", "--defined-only", *option, path],
                              capture_output=True, text=True, check=False).stdout
        for line in text.splitlines():
            parts = line.split(maxsplit=2)
            if len(parts) == 3:
                names[int(parts[0], 16)].add(parts[2].split("@")[0])
    return names


def clean(text):
    return None if text in UNKNOWN else text


def ask_llvm(llvm, path, addresses):
    """[(function, file, line)] for each address, innermost first."""
    text = subprocess.run(
        [llvm, f"--obj={path}", "--inlining", "--no-demangle", "--functions=linkage"],
        input="\n".join(addresses) + "\n", capture_output=True, text=True, check=True).stdout
    answers = []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            file, line, _ = place.rsplit(":", 2)
            file = clean(file)
            frames.append((clean(function), file and os.path.normpath(file),
                           int(line) if line.isdigit() else 0))
        answers.append(frames)
    return answers


def ask_ours(command, addresses):
    """As ask_llvm(), with the offset from the symbol as a fourth member; and the summary."""
    run = subprocess.run(command, input="\n".join(addresses) + "\n", capture_output=True,
                         text=True, check=True)
    answers = []
    for block in run.stdout.strip("\n").split("\n\n"):
        frames = []
        for line in block.split("\n"):
            function, file, number, _, offset, _ = line.split("\t", 5)
            file = clean(file)
            frames.append((clean(function), file and os.path.normpath(file), int(number),
                           int(offset)))
        answers.append(frames)
    return answers, dict(line.split("\t", 1) for line in run.stderr.splitlines())


def plain(name):
    return name and re.sub(r"\.llvm\.\d+$", "", name.split("@")[0])


def same_file(ours, theirs):
    """
    Where the compiler ran in a directory that -ffile-prefix-map made relative, llvm puts it in
    front of DWARF 5 names that have it already: nptl/nptl/x.c.
    """
    if ours == theirs:
        return True
    return bool(ours and theirs) and any(
        theirs == f"{ours[:i]}/{ours}" for i, c in enumerate(ours) if c == "/" and i)


def is_lambda(ours, theirs):
    """A lambda that gcc inlined has no name of its own: ours says where it stands."""
    return bool(ours and theirs) and "{lambda" in ours and theirs.startswith("operator()")


def difference(address, ours, theirs, aliases):
    """Why the two differ; None: they agree."""
    if not theirs or theirs == [(None, None, 0)]:
        if ours[0][0] is None and ours[0][2] == 0:
            return None
        return "only we know anything"
    if ours[0][0] is None and ours[0][2] == 0:
        return "only llvm knows anything"
    if len(ours) != len(theirs):
        return f"number of inlined frames ({'more' if len(ours) > len(theirs) else 'fewer'})"
    for index, (mine, other) in enumerate(zip(ours, theirs)):
        outer = index == len(ours) - 1
        if plain(mine[0]) != plain(other[0]) and not is_lambda(mine[0], other[0]):
            same = aliases.get(int(address, 16) - mine[3], ()) if outer else ()
            if not (plain(mine[0]) in same and plain(other[0]) in same):
                return "outermost name" if outer else "inlined name"
        if mine[2] != other[2]:
            return "line" if index == 0 else "call line"
        if mine[2] and not same_file(mine[1], other[1]):
            return "file" if index == 0 else "call file"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=98.0)
    parser.add_argument("--show", type=int, default=0, help="examples of each kind")
    parser.add_argument("--llvm-file")
    parser.add_argument("--symbols-from", help="take the addresses of the functions from there")
    parser.add_argument("-d", action="append", default=[], metavar="PATH")
    parser.add_argument("query")
    parser.add_argument("file")
    arguments = parser.parse_args()

    llvm = shutil.which("llvm-symbolizer")
    if not llvm:
        print("skipped: no llvm-symbolizer")
        return 77
    source = arguments.symbols_from or arguments.llvm_file or arguments.file
    functions = functions_of(source)
    if not functions:
        print(f"{source}: no functions")
        return 1
    chance = random.Random(arguments.seed)
    addresses = []
    for _ in range(arguments.count):
        low, size = chance.choice(functions)
        addresses.append(hex(low + chance.randrange(size)))

    start = time.monotonic()
    theirs = ask_llvm(llvm, arguments.llvm_file or arguments.file, addresses)
    their_time = time.monotonic() - start
    command = [arguments.query]
    for path in arguments.d:
        command += ["-d", path]
    ours, summary = ask_ours([*command, arguments.file], addresses)
    if not len(ours) == len(theirs) == len(addresses):
        print(f"{len(addresses)} addresses, {len(ours)} answers, {len(theirs)} of llvm")
        return 1

    aliases = aliases_of(source)
    kinds = collections.defaultdict(list)
    for address, mine, other in zip(addresses, ours, theirs):
        kind = difference(address, mine, other, aliases)
        if kind:
            kinds[kind].append((address, mine, other))
    wrong = sum(map(len, kinds.values()))
    agreement = 100 * (1 - wrong / len(addresses))
    named = sum(frames[-1][0] is not None for frames in ours)
    lines = sum(frames[0][2] != 0 for frames in ours)
    inlined = sum(len(frames) > 1 for frames in ours)
    print(f"{os.path.basename(arguments.file)}: {agreement:.2f} % of {len(addresses)} agree; "
          f"{named} named, {lines} with a line, {inlined} inlined; "
          f"{summary['seconds']} s, llvm {their_time:.2f} s")
    for kind, examples in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {len(examples)} {kind}")
        for address, mine, other in examples[:arguments.show]:
            print(f"    {address}\n      ours {mine}\n      llvm {other}")
    return 0 if agreement >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
