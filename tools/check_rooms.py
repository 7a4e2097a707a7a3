#!/usr/bin/python3
"""Checks the house: which room may use which, and what every file of a room must be.

    check_rooms.py [--headers]     --headers: also compile each header alone

The table is that of the design (docs/ARCHITECTURE.md, "Rooms"): a room includes its own headers
and those of the rooms named here, nothing else of ours.
"""
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOMS = {
    "base": "",
    "trace": "base",
    "agent/unwind": "base",
    "settings": "base",
    "agent": "base trace settings agent/unwind",
    "hosted": "base",
    "symbols": "base hosted",
    "coredump": "base hosted trace",
    "ebpf": "base hosted trace",
    "stream": "base hosted trace",
    "import": "base hosted trace",
    "analysis": "base hosted trace symbols",
    "finish": "base hosted trace symbols analysis",
    "report": "base hosted trace symbols analysis",
    "server": "base hosted trace symbols analysis report",
    "cli": "base hosted trace settings symbols coredump ebpf stream import analysis finish report server",
}
# Single headers that a room may use although it may not use their room. The agent makes every
# system call through its one list of them, and its unwinder reads /proc/self/maps.
HEADERS = {
    "agent/unwind": {"agent/arch/syscall.h"},
}
# These two rooms would make sense in a program that is no profiler.
GENERAL = {"base", "hosted"}
DOMAIN_WORDS = re.compile(
    r"(?:^|[^a-z])(allocation|recording|leaked|backtrace|agent|unwind|mallow_)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
LINES_MAX = 1000
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(path):
    """The innermost room that holds a path relative to src/, or None."""
    folder = path.parent
    while folder != pathlib.PurePath("."):
        if str(folder) in ROOMS:
            return str(folder)
        folder = folder.parent
    return None


def check_include(room, path, included):
    target = room_of(pathlib.PurePath(included))
    if target is None:
        return f'{path}: "{included}" is in no room: write "room/stem.h"'
    if included in HEADERS.get(room, ()):
        return None
    if target != room and target not in ROOMS[room].split():
        return f"{path}: room {room} may not use {target} ({included})"
    return None


def check_file(src, file):
    path = file.relative_to(src)
    room = room_of(path)
    if room is None:
        yield f"src/{path}: in no room of tools/check_rooms.py"
        return
    text = file.read_text()
    if text.count("\n") > LINES_MAX:
        yield f"src/{path}: {text.count(chr(10))} lines, at most {LINES_MAX}"
    includes = INCLUDE.findall(text)
    for included in includes:
        error = check_include(room, f"src/{path}", included)
        if error:
            yield error
    own = path.with_suffix(".h")
    if file.suffix == ".c" and (src / own).exists() and (not includes or includes[0] != str(own)):
        yield f'src/{path}: its own header "{own}" is not the first include'
    if room in GENERAL:
        found = DOMAIN_WORDS.search(COMMENT.sub("", text))
        if found:
            yield f"src/{path}: room {room} knows no domain noun, but says '{found.group()}'"


def compile_alone(src, header):
    """A header that is compiled twice in one unit needs a guard; alone, it needs its includes."""
    name = header.relative_to(src)
    unit = f'#include "{name}"\n#include "{name}"\nstruct mallow_not_empty;\n'
    run = subprocess.run(
        ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-Wno-unused-function", "-Wno-unused-parameter", f"-I{src}", f"-I{src.parent / 'include'}", "-x", "c", "-"],
        input=unit, capture_output=True, text=True)
    return None if run.returncode == 0 else f"src/{name} does not compile alone:\n{run.stderr}"


def main():
    src = pathlib.Path(__file__).resolve().parent.parent / "src"
    files = sorted(f for f in src.rglob("*") if f.suffix in (".c", ".h", ".def", ".S"))
    errors = [error for file in files for error in check_file(src, file)]
    if "--headers" in sys.argv[1:]:
        with ThreadPoolExecutor(2) as pool:
            headers = [f for f in files if f.suffix == ".h"]
            errors += filter(None, pool.map(lambda h: compile_alone(src, h), headers))
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors or not files else 0


if __name__ == "__main__":
    sys.exit(main())
