#!/usr/bin/python3
"""Checks the house: which room may use which, and what every file of a room must be.

    check_rooms.py [--headers] [--objects BUILD]

    --headers   also compile each header alone
    --objects   also look at what was built there: which object calls which

The table is that of the design (docs/ARCHITECTURE.md, "The rooms"): a room includes its own headers
and those of the rooms named here, nothing else of ours. What a header hides, a declaration written
by hand or a function in a wrong room, the symbols of the objects show (nm): they hold the same
table, and no more than CYCLE_MAX files (the agent: AGENT_CYCLE_MAX) may need one another.
"""
import collections
import json
import pathlib
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOMS = {
    "base": "",
    "trace": "base",
    "settings": "base",
    "cfi": "base",
    "allocators": "base trace",
    "hosted": "base",
    "hosted/files": "base hosted",
    "hosted/net": "base hosted",
    "symbols": "base hosted hosted/files allocators",
    "write": "base hosted trace",
    "import": "base hosted hosted/files trace symbols write",
    "coredump": "base hosted hosted/files trace",
    "analysis": "base hosted hosted/files trace symbols coredump write import",
    "ebpf/arch": "base cfi allocators",
    "ebpf/bpf": "base cfi allocators ebpf/arch",
    "ebpf/target": "base hosted symbols cfi ebpf/arch",
    "ebpf/hooks": "base hosted trace symbols cfi allocators ebpf/arch ebpf/bpf ebpf/target",
    "ebpf/unwind": "base hosted symbols cfi ebpf/bpf ebpf/target",
    "ebpf": "base hosted symbols cfi ebpf/bpf ebpf/target ebpf/hooks ebpf/unwind",
    "ebpf/record": "base hosted trace symbols write cfi ebpf/bpf ebpf/target ebpf/hooks ebpf",
    "ebpf/kernel": "base hosted ebpf ebpf/bpf",
    "finish": "base hosted hosted/files trace symbols coredump analysis write",
    "push": "base hosted trace",
    "strip": "base hosted hosted/files trace symbols coredump analysis write",
    "stream": "base hosted hosted/files hosted/net trace symbols write",
    "report": "base hosted hosted/files trace symbols analysis",
    "server": "base hosted hosted/files hosted/net trace symbols analysis report",
    "cli": "base hosted hosted/files hosted/net trace settings symbols stream coredump analysis finish strip "
           "push report server ebpf ebpf/bpf ebpf/target ebpf/hooks ebpf/kernel ebpf/record write import",
    "agent/unwind": "base cfi",
    "launcher": "base",
}
# The agent's, from the ground up: each may use those before it.
AGENT = ["arch", "ground", "unwind", "script", "event", "record", "patch", "cull", "live_blocks", "helper", "live",
         "life", "hooks", "report", "api"]
for i, name in enumerate(AGENT):
    ROOMS.setdefault(f"agent/{name}", " ".join(
        ["base", "trace", "settings"] + (["allocators"] if i >= AGENT.index("patch") else []) +
        [f"agent/{below}" for below in AGENT[:i]]))
CYCLE_MAX = 3
AGENT_CYCLE_MAX = 2  # in somebody else's program: only pairs
# Lists of what a room holds, which those that are in it look into: each hook sees to it that all are
# found, each command looks up its options, or another's, the page as one file asks other routes.
CYCLES = {"agent/hooks/hooks.c", "cli/command/command.c", "server/routes/route.c"}
# Functions of the C library's that compilers call by themselves: no room is asked for them.
LIBRARY = "agent/ground/libc.c"
# Single headers that a room may use although it may not use their room. The agent makes every
# system call through its one list of them, and its unwinder reads /proc/self/maps. The launcher has no C library, either. What the program
# unmaps goes in pages of the kernel's. Names are written as struct symbol has them.
HEADERS = {
    "agent/unwind": {"agent/arch/syscall.h", "agent/arch/machine.h"},
    "launcher": {"agent/arch/syscall.h"},
    "write": {"symbols/symbolizer.h"},
}
# These rooms would make sense in a program that is no profiler.
GENERAL = {"base", "hosted", "hosted/files", "hosted/net"}
DOMAIN_WORDS = re.compile(
    r"(?:^|[^a-z])(allocation|recording|leaked|backtrace|agent|unwind|mallow_)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
LINES_MAX = 1000
# What differs by architecture is in folders of its name, which Meson chooses.
CPU_FOLDER = re.compile(r"(^|/)(x86_64|aarch64|riscv64|mips64)/")
CPU_QUESTION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if.*\b(__(?:x86_64|i386|aarch64|arm|riscv|mips|s390x?|powerpc|loongarch|sparc|alpha|m68k|hppa)\w*)", re.M)
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
    asked = CPU_QUESTION.search(text)
    if asked and not CPU_FOLDER.search(str(path)):
        yield f"src/{path}: asks for {asked.group(1)}: what differs by architecture is in folders (agent/unwind/arch.h)"
    if room in GENERAL:
        found = DOMAIN_WORDS.search(COMMENT.sub("", text))
        if found:
            yield f"src/{path}: room {room} knows no domain noun, but says '{found.group()}'"


def symbols_of(objects):
    """What each object defines, and what it wants from others."""
    run = subprocess.run(["nm", "-A", *map(str, objects)], capture_output=True, text=True, check=True)
    defined, wanted = collections.defaultdict(set), collections.defaultdict(set)
    for line in run.stdout.splitlines():
        place, _, name = line.rpartition(" ")
        path, _, kind = place.partition(":")
        kind = kind.split()[-1]
        if kind in "TDBRVWC":
            defined[path].add(name)
        elif kind == "U":
            wanted[path].add(name)
    return defined, wanted


def targets(build, src):
    """The objects of each thing that is linked, by source."""
    ret = collections.defaultdict(dict)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source, output = (build / entry["file"]).resolve(), build / entry["output"]
        if source.is_relative_to(src) and output.is_relative_to(build / "src") and output.exists():
            ret[output.parent][source.relative_to(src)] = output
    return ret


def cycles(calls):
    """Sets of files that need one another (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in calls[node]:
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]

    for node in list(calls):
        if node not in index:
            visit(node)
    return found


def check_links(files, cycle_max):
    """One program's: {source: object}."""
    defined, wanted = symbols_of(files.values())
    owner = {name: source for source, file in files.items() for name in defined[str(file)]}
    calls = {}
    for source, file in files.items():
        room, calls[source] = room_of(source), set()
        for name in sorted(wanted[str(file)] & owner.keys()):
            target = room_of(owner[name])
            if str(owner[name]) == LIBRARY:
                continue
            calls[source].add(owner[name])
            if target != room and target not in ROOMS[room].split():
                yield f"src/{source}: room {room} may not call {target} ({name} of {owner[name]})"
    for cycle in cycles(calls):
        if len(cycle) > cycle_max and not CYCLES & {str(source) for source in cycle}:
            yield f"{len(cycle)} files need one another: {' '.join(sorted(map(str, cycle)))}"


def check_objects(build, src):
    """The agent, dynamic and static, and the tool, whose rooms are libraries, as one program."""
    agent = build / "src" / "agent"
    found = targets(build, src)
    common = found.pop(agent / "libmallow-agent.a.p", {})
    programs = [{**common, **found.pop(agent / folder, {})}
                for folder in ("libmallow.so.p", "libmallow-objects.a.p")]
    tool = {source: file for files in found.values() for source, file in files.items()}
    if not common or common in programs or not tool:
        yield f"{build}: not built: make build"
        return
    for files in programs:
        yield from check_links(files, AGENT_CYCLE_MAX)
    yield from check_links(tool, CYCLE_MAX)


def compile_alone(src, header):
    """A header that is compiled twice in one unit needs a guard; alone, it needs its includes."""
    name = header.relative_to(src)
    unit = f'#include "{name}"\n#include "{name}"\nstruct mallow_not_empty;\n'
    # Those of the kernel's programs are for another compiler.
    compiler = ["gcc"]
    if name.name.endswith(".bpf.h"):
        compiler = ["clang", "-target", "bpf", "-ffreestanding", "-I/usr/include/x86_64-linux-gnu"]
    run = subprocess.run(
        [*compiler, "-std=gnu17", "-D_GNU_SOURCE", f"-DMALLOW_CPU={platform.machine()}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
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
    if "--objects" in sys.argv[1:]:
        build = pathlib.Path(sys.argv[sys.argv.index("--objects") + 1]).resolve()
        errors += check_objects(build, src)
    for error in dict.fromkeys(errors):
        print(error, file=sys.stderr)
    return 1 if errors or not files else 0


if __name__ == "__main__":
    sys.exit(main())
