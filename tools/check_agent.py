#!/usr/bin/python3
"""Checks what libmallow.so asks of a process: check_agent.py LIBMALLOW.SO

It must load in any program, glibc's or musl's, and hurt none: no DT_NEEDED, every undefined symbol
weak and listed in agent_imports.txt, initial-exec TLS, no text relocation, no executable stack, and
nothing exported but the functions that it replaces and the C API.
"""
import pathlib
import re
import subprocess
import sys

IMPORTS = pathlib.Path(__file__).with_name("agent_imports.txt")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], capture_output=True, text=True,
                          check=True).stdout


def symbols(library):
    """(name, bind, section index) of the dynamic symbols."""
    for line in readelf("--dyn-syms", library).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            yield fields[7].split("@")[0], fields[4], fields[6]


def check_dynamic(library):
    dynamic = readelf("--dynamic", library)
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        yield f"needs {needed}: it must need nothing"
    if "(TEXTREL)" in dynamic or re.search(r"\(FLAGS\).*TEXTREL", dynamic):
        yield "has text relocations"
    for tag in ("RPATH", "RUNPATH"):
        if f"({tag})" in dynamic:
            yield f"has a {tag}"
    if "R_X86_64_DTPMOD64" in readelf("--relocs", library):
        yield "has general-dynamic TLS: build with -ftls-model=initial-exec"


def check_segments(library):
    segments = readelf("--program-headers", library)
    stack = re.search(r"GNU_STACK\s.*", segments)
    if not stack or re.search(r"\bRWE\b", stack.group()):
        yield "has an executable stack"
    for load in re.findall(r"\bLOAD\s.*", segments):
        if re.search(r"\bRWE\b", load):
            yield "has a segment both writable and executable"


def check_imports(library):
    allowed = {line.split("#")[0].strip() for line in IMPORTS.read_text().splitlines()} - {""}
    undefined = {name: bind for name, bind, section in symbols(library) if section == "UND" and name}
    for name, bind in sorted(undefined.items()):
        if name not in allowed:
            yield f"imports {name}, which tools/agent_imports.txt does not allow"
        if bind != "WEAK":
            yield f"imports {name} with bind {bind}: it must be weak"
    for name in sorted(allowed - set(undefined)):
        yield f"does not import {name}: take it out of tools/agent_imports.txt"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    library = sys.argv[1]
    errors = [*check_dynamic(library), *check_segments(library), *check_imports(library)]
    for error in errors:
        print(f"{library}: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
