#!/usr/bin/python3
"""Every variable that cleans up after itself (hosted/cleanup.h) has a value where it is declared:
else an early return before it is set frees whatever was on the stack."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"^[ \t]*(?:static )?(?:cleanup\([a-z_]+\)|auto_[a-z]+) ([^;]*);", re.M)

BRACKETS = re.compile(r"\([^()]*\)|\{[^{}]*\}")


def names_without_value(declaration):
    """Of `struct buf a = BUF_EMPTY, b` the second. Commas within brackets divide nothing."""
    while BRACKETS.search(declaration):
        declaration = BRACKETS.sub("", declaration)
    return [part.split()[-1] for part in declaration.split(",") if "=" not in part]


def main():
    status = 0
    for path in sorted(TOP.glob("src/**/*.[ch]")) + sorted(TOP.glob("bench/*.c")):
        text = path.read_text()
        for match in DECLARATION.finditer(text):
            for name in names_without_value(match[1]):
                line = text.count("\n", 0, match.start()) + 1
                print(f"{path.relative_to(TOP)}:{line}: {name} is cleaned up, and has no value yet")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
