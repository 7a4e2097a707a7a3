"""README.md, followed by the letter in a copy of the tree: each command works, and prints what is shown."""
import collections
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from conftest import TOP, clean_environment, need
from documents import Shell, commands, matches

README = (TOP / "README.md").read_text()
PORT = re.compile(r"\b80[89]\d\b")
# What go tool pprof is told about a finished recording is an error, and shown as one.
FAILS = "heap?seconds="


def not_of_a_clone(folder, names):
    at_top = pathlib.Path(folder) == TOP
    return [name for name in names if name == "__pycache__" or
            at_top and (name.startswith("build") or name == ".git" or name.endswith(".mallow"))]


@pytest.fixture
def shell(tmp_path):
    home, clone = tmp_path / "home", tmp_path / "mallow"
    home.mkdir()
    (home / ".curlrc").write_text("silent\nshow-error\n")  # as on a terminal: no progress
    shutil.copytree(TOP, clone, ignore=not_of_a_clone)
    environment = clean_environment({"HOME": home, "PREFIX": None, "PKG_CONFIG_PATH": None})
    if shutil.which("go"):
        # New versions of Go compile pprof when it is first used.
        environment["GOCACHE"] = subprocess.run(["go", "env", "GOCACHE"], capture_output=True,
                                                text=True).stdout.strip()
    shell = Shell(clone, environment, tmp_path / "output")
    yield shell
    shell.end()


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


@pytest.mark.long
def test_every_command(shell):
    for program in ("go", "g++", "curl", "pkg-config"):
        need(program)
    ports = collections.defaultdict(free_port)
    wrong = []
    core_is_here = pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == "core\n"
    for command, lines in commands(README):
        if command.startswith("mallow core ") and not core_is_here:
            continue
        typed = PORT.sub(lambda found: ports[found[0]], command)
        if command.startswith("mallow serve "):
            typed = typed.replace("serve", f"serve --port {ports['8080']}", 1)
        status, printed = shell.run(typed, lines)
        if status is None:
            wrong.append(f"$ {command}\ndoes not end:\n{printed}")
            break
        if (status == 0) == (FAILS in command) or (lines and not matches(lines, printed)):
            shown = "\n".join(lines)
            wrong.append(f"$ {command}\nstatus {status}; README shows:\n{shown}\nprinted:\n{printed}")
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("lines,output,same", [
    (["peak   481 KB  at 8.59 ms"], "peak  1.2 MB at 10 s\n", True),
    (["peak 1 KB"], "total 1 KB\n", False),
    (["main  examples/a.cpp:5"], "main /tmp/x/examples/a.cpp:71", True),
    (["a<…>::b(…)  x.h:1"], "a<int>::b(char) /usr/x.h:2", True),
    (["…", "b", "…"], "a\na\nb\n", True),
    (["…", "b", "…"], "a\n", False),
    (["a"], "a\nb\n", False),
])
def test_shapes(lines, output, same):
    assert matches(lines, output) == same


def test_commands_are_found():
    assert commands("```\n$ a b\n1\n\n$ c\n```\ntext\n```\n$ d\n```\n") == [
        ("a b", ["1", ""]), ("c", []), ("d", [])]
    assert len(commands(README)) > 20
