#!/usr/bin/python3
"""Checks what the agent asks of a process: check_agent.py LIBMALLOW.SO [LIBMALLOW.A]

It must load in any program, glibc's or musl's, and hurt none: no DT_NEEDED, every undefined symbol
weak and listed in agent_imports.txt, initial-exec TLS, no text relocation, no executable stack, never
unloaded, and nothing exported but the functions that it replaces and the C API. libmallow.a, whose
names every object of a static program shares, defines no others than these, and asks for no others
than those of the list, of the linker's options, and of glibc's malloc.
"""
import pathlib
import re
import subprocess
import sys

TLS = 16  # bytes: glibc takes them out of each thread's stack
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
    if not re.search(r"\(FLAGS_1\).*NODELETE", dynamic):
        yield "can be unloaded: link it with -z nodelete"
    for tag in ("RPATH", "RUNPATH"):
        if f"({tag})" in dynamic:
            yield f"has a {tag}"
    if re.search(r"R_\w+_(TLS_)?DTPMOD\w*|R_\w+_TLSDESC", readelf("--relocs", library)):
        yield "has general-dynamic TLS: build with -ftls-model=initial-exec"


def check_segments(library):
    segments = readelf("--program-headers", library)
    # Its type, offset, two addresses, size in the file, size in memory.
    local = re.search(r"\bTLS\s+(?:0x\w+\s+){4}(0x\w+)", segments)
    if local and int(local.group(1), 16) > TLS:
        yield f"has {int(local.group(1), 16)} bytes of TLS: {TLS} at most (docs/RELIABILITY.md)"
    stack = re.search(r"GNU_STACK\s.*", segments)
    if not stack or re.search(r"\bRWE\b", stack.group()):
        yield "has an executable stack"
    for load in re.findall(r"\bLOAD\s.*", segments):
        if re.search(r"\bRWE\b", load):
            yield "has a segment both writable and executable"


def allowed_imports():
    return {line.split("#")[0].strip() for line in IMPORTS.read_text().splitlines()} - {""}


def check_imports(library):
    allowed = allowed_imports()
    undefined = {name: bind for name, bind, section in symbols(library) if section == "UND" and name}
    for name, bind in sorted(undefined.items()):
        if name not in allowed:
            yield f"imports {name}, which tools/agent_imports.txt does not allow"
        if bind != "WEAK":
            yield f"imports {name} with bind {bind}: it must be weak"
    for name in sorted(allowed - set(undefined)):
        yield f"does not import {name}: take it out of tools/agent_imports.txt"


DEFINED = re.compile(r"mallow_own_\w+|__wrap_\w+|mallow_api_\w+|mallow_behind")
ASKED = re.compile(r"mallow_behind_\w+|__(start|stop)_mallow_(text|bss)|__libc_mall(oc|opt)|"
                   r"_GLOBAL_OFFSET_TABLE_")


def check_archive(archive):
    listing = subprocess.run(["nm", "--extern-only", archive], capture_output=True, text=True,
                             check=True).stdout
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) < 2 or len(fields[-2]) != 1:
            continue
        kind, name = fields[-2:]
        if kind not in "Uwv" and not DEFINED.fullmatch(name):
            yield f"defines {name}, which is the program's"
        if kind in "Uwv" and not ASKED.fullmatch(name) and name not in allowed_imports():
            yield f"asks for {name}"


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    library = sys.argv[1]
    errors = [f"{library}: {error}" for error in
              [*check_dynamic(library), *check_segments(library), *check_imports(library)]]
    for archive in sys.argv[2:]:
        errors += [f"{archive}: {error}" for error in check_archive(archive)]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
