#!/usr/bin/python3
"""Tells libraries of mallow where the tool is installed: set_installed_tool.py TOOL LIBRARY…

Each has one array for that, which begins with MARK (src/agent/helper/tool.h).
"""
import pathlib
import sys

MARK = b"mallow's tool: "
SIZE = 1024


def main():
    path = sys.argv[1].encode()
    if len(MARK) + len(path) >= SIZE:
        sys.exit(f"set_installed_tool: {sys.argv[1]}: longer than {SIZE - len(MARK) - 1} bytes")
    for library in map(pathlib.Path, sys.argv[2:]):
        content = library.read_bytes()
        if content.count(MARK) != 1:
            sys.exit(f"set_installed_tool: {library}: has no place for the path of the tool")
        start = content.index(MARK)
        library.write_bytes(content[:start] + (MARK + path).ljust(SIZE, b"\0") + content[start + SIZE:])


if __name__ == "__main__":
    main()
