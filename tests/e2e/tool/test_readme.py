"""README.md, followed by the letter in a copy of the tree: each command works, and prints what is shown.

A fenced block holds commands, "$ …" in a line, each with what it prints, or nothing of it. Numbers,
addresses and folders of sources may differ; "…" stands for anything within its line, and alone in a
line for any lines.
"""
import collections
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import TOP, clean_environment, need

README = (TOP / "README.md").read_text()
PORT = re.compile(r"\b80[89]\d\b")
# What go tool pprof is told about a finished recording is an error, and shown as one.
FAILS = "heap?seconds="
PATIENCE = 1800


def commands(text):
    """[(command, lines it prints)]"""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


UNITS = "B|KB|MB|GB|kB|bytes|ns|us|ms|s|secs"


def shape(line):
    """The line with N for each number and its unit, without folders of source files, and with the
    same curve for all: when a program does what differs."""
    line = re.sub(r"(?<= %)  [ ▁-█]{8}  ", "  ", line)
    line = re.sub(r"[\w.+/…-]*/(?=[\w.+-]+:\d)", "", line)
    line = re.sub(rf"0x[0-9a-f]+|\d[\d,]*(\.\d+)?( ?({UNITS})\b)?", "N", line)
    return " ".join(line.split())


def pattern(lines):
    """Of the shapes of what is printed."""
    return "".join(r"(?:.*\n)*?" if line.strip() == "…" else
                   ".*".join(map(re.escape, shape(line).split("…"))) + r"\n" for line in lines)


def matches(lines, output):
    printed = "".join(shape(line) + "\n" for line in output.strip("\n").splitlines())
    while lines and not lines[-1]:
        lines = lines[:-1]
    return re.fullmatch(pattern(lines), printed) is not None


class Shell:
    """A shell that is given one command after the other, as somebody types them."""

    END = "--- status "

    def __init__(self, folder, environment, output):
        self.output = output
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=output.open("w"),
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, command, lines):
        """(status, what was printed). What goes on in the background has time to print its lines."""
        begin = self.output.stat().st_size
        self.process.stdin.write(f"{command}\nstatus=$?; echo; echo '{self.END}'$status\n")
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up and self.process.poll() is None:
            text = self.output.read_bytes()[begin:].decode(errors="replace")
            ended = re.search(rf"\n{self.END}(\d+)\n", text)
            if ended:
                text = text[:ended.start()] + text[ended.end():]
                if not command.endswith("&") or not lines or matches(lines, text):
                    # Whoever types has seen the line, and the program has done something by then.
                    time.sleep(command.endswith("&"))
                    return int(ended[1]), text
                give_up = min(give_up, time.monotonic() + 60)
            time.sleep(0.05)
        return None, text

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


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
