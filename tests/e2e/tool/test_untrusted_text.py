"""Names are bytes of strangers: no command prints one that moves a terminal's cursor, or that a machine obeys."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import clean_environment
from gates import Coded
from recording_writer import zigzag
from streams import Gather
from traced_process import Attach, Memleak, Target, need_bpf

THREAD, MARK, POOL_ALLOCATION, POOL_NAME = 0x84, 0x8d, 0x96, 0x99
PAYLOADS = [
    b"\x1b[2J", b"\x1b]0;pwn\x07", b"\x1b[31mred", b"\x1bP1$tx\x1b\\", b"\x9b31m", b"\xc2\x9b2J", b"\xc2\x85next", b"\x07",
    b"\x08\x08", b"\ra", b"\t=a", b"a\nb", b"\n::error::x", b"::error file=a::x", b"  ::warning::x",
    "\u3000::error::x".encode(), b"##[error]x", b"a##vso[task]x", b"\x7fDEL", b"\x0e\x0fSO", "\u202egpj.exe".encode(),
    "\u2066x\u2069".encode(), "\u200fx\u061c".encode(), "\u200bx\u2060".encode(), "\u2028x\u2029".encode(),
    "a\U000e0061\U000e007f".encode(), "\ufeffx".encode(),
    "\u115fx\u3164".encode(), "a\ufe0fb\u034f".encode(), "::add-mask::x".encode(), b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82",
    b"=1+1", b"+1", b"-1+x", b"@SUM(1)",
]
# What terminals act upon, hide or turn around, besides newlines, tabs and colours of our own.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\u034f\u115f\u3164\U000e0000-\U000e0fff]")
COMMAND = re.compile(r"^\s*::|##", re.M)
DATA = {"junit", "collapsed", "flamegraph"}  # files that other programs read


def texts():
    """One text with all payloads would hide what a single one does at its beginning."""
    return [os.fsdecode(payload) for payload in PAYLOADS]


def assert_harmless(output, said, github=False):
    text = output.decode().replace("\r\n", "\n")  # strictly: no invalid UTF-8
    assert not RAW.search(text), (said, RAW.search(text), text)
    if not github and not DATA & set(said):
        assert not COMMAND.search(text), (said, text)


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A recording whose texts are all payloads, in a folder whose name is one."""
    folder = tmp_path_factory.mktemp("evil") / "e\x1b[2J\n::error::\u202e"
    names = texts()
    code = {f"f{i}": (name, f"/src/{name}", 7) for i, name in enumerate(names)}
    # A text before another one begins with that payload, too.
    made = Coded(folder, code, program="toyd", arguments=[name for name in names],
                 libraries=[(f"/lib/{name}", [f"u{i}"]) for i, name in enumerate(names)])
    chunk = made.chunk
    for i, payload in enumerate(PAYLOADS):
        chunk.other(THREAD, 0, 4000000 + i, text=payload)
        for outer, inner in (f"f{i}", "f0"), ("f0", f"f{i}"), ("f0", f"u{i}"), (f"f{i}", f"u{i}"):
            made.allocate([outer, inner], 100 + i)
        chunk.other(MARK, chunk.at(made.tick()), text=payload)
        chunk.other(POOL_NAME, chunk.at(made.tick()), 0x9000 + i, text=payload)
        chunk.other(POOL_ALLOCATION, chunk.at(made.tick()), 0x9000 + i, zigzag(0x100), 64, b"\0")
    return made.write("r\x1b[31m\n##[x].mallow")


VIEWS = [[], ["--full"], ["--tree"], ["--pools"], ["--errors"], ["--mappings"], ["--histogram", "size"],
         ["--merge"], *(["--by", by] for by in ("function", "file", "line", "frame", "module", "thread"))]


def commands(path):
    for view in VIEWS:
        yield "report", *view, "--top", "0", path
        if view not in (["--tree"], ["--histogram", "size"], ["--full"]):
            yield "report", *view, "--json", path
        if view not in (["--tree"], ["--pools"], ["--errors"], ["--full"]):
            yield "report", *view, "--csv", path
    for form in [], ["--json"], ["--csv"], ["--by", "site"], ["--by", "module", "--csv"], ["--full"]:
        yield "diff", *form, path, f"{path}@50%"
    yield "info", path
    yield "info", "--json", path
    yield "trace", "dump", path
    yield "trace", "dump", "--stacks", path
    for form in "text", "junit", "sarif", "github":
        yield "check", "--format", form, "--max-peak", "1", "--max-leaked", "1", path
    for form in "collapsed", "flamegraph", "speedscope", "firefox", "massif", "callgrind", "dhat", "csv":
        yield "export", "--to", form, path
    for name in texts():
        if "\0" not in name:
            yield "info", name + "\x1b[2J"
    yield "report", "--at", "\x1b[2J\n::x::", path
    yield "report", "--function-regex", "\x1b[2J|\u202e", path
    yield "report", "--\x1b[2J", path
    yield "\x1b[2J",
    yield "core", path
    yield "finish", path


def test_no_output_has_a_raw_byte(mallow, evil):
    for words in commands(evil):
        said = [str(word) for word in words]
        run = subprocess.run([mallow, *said], capture_output=True, env=clean_environment(), timeout=60)
        assert run.stdout or run.stderr
        # A gate for GitHub begins lines with commands: its own, one for each limit.
        github = "github" in said
        assert_harmless(run.stdout, said, github)
        assert_harmless(run.stderr, said)
        if github:
            assert all(line.startswith(b"::error ") for line in run.stdout.splitlines())
            assert len(run.stdout.splitlines()) == 2
        if "--json" in said or "sarif" in said:
            json.loads(run.stdout)


def test_json_has_the_very_text(tool, evil):
    report = json.loads(tool("report", "--json", "--by", "function", evil).stdout)
    names = {row["function"] for row in report["rows"]}
    for payload in PAYLOADS:
        assert any(payload.decode(errors="replace") in name for name in names), payload


def test_csv_runs_nothing(tool, evil):
    rows = list(csv.reader(io.StringIO(tool("report", "--csv", "--by", "thread", evil).stdout)))
    raw = list(csv.reader(io.StringIO(tool("report", "--csv=raw", "--by", "function", evil).stdout, newline="")))
    safe = list(csv.reader(io.StringIO(tool("report", "--csv", "--by", "function", evil).stdout)))
    assert not [field for row in rows + safe for field in row if field[:1] and field[0] in "=+-@\t\r"]
    assert not [field for row in rows + safe for field in row if re.search(r"(^|;)[=+@-]", field)]
    assert {row[0] for row in safe} >= {"'=1+1", "'+1", "'-1+x", "'@SUM(1)", r"\x1b[2J"}
    assert {row[0] for row in raw} >= {"=1+1", "+1", "-1+x", "@SUM(1)", "\x1b[2J"}
    assert tool("report", "--csv=x", evil, check=False).stderr == "mallow: 'x' is no value of --csv of 'report': raw, or none\n"


PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
__attribute__((noinline)) void *evil(size_t size) { void *volatile block = malloc(size); return block; }
int main(void)
{
	char word[64];

	prctl(PR_SET_NAME, "\033[31mc\n::x");
	puts("ready");
	fflush(stdout);
	while (scanf("%63s", word) == 1) {
		evil(1000);
		printf("done %s\n", word);
		fflush(stdout);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "p.c").write_text(PROGRAM)
    path = folder / "p\x1b[2J\n::error::x"
    subprocess.run(["gcc", "-O1", "-o", path, folder / "p.c"], check=True)
    subprocess.run(["objcopy", "--redefine-sym", "evil=\x1b[2J\x1b]0;pwn\x07\u202ef", path], check=True)
    return path


def test_a_run_and_the_agent(mallow, hostile, tmp_path):
    """The summary, what is live, and the library's own lines."""
    for words, settings in (["run"], {}), (["live"], {}), (["run", "--log", "trace"], {}), \
            (["run", "-o", "no\x1b[2J\n::x::/\u202e/%p"], {}):
        run = subprocess.run([mallow, *words, "--", hostile], capture_output=True, cwd=tmp_path, input=b"a b",
                             env=clean_environment(settings), timeout=60)
        assert run.returncode == 0, run.stderr
        assert_harmless(run.stderr, words)
        assert b"pwn" in run.stderr or b"mallow:" in run.stderr


def test_memleak(mallow, hostile):
    need_bpf()
    for options in [], ["-a"], ["-t"]:
        with Target([hostile]) as target, Memleak(mallow, "-p", target.pid, "-o", "0", "-T", "0", *options,
                                                  json=False) as memleak:
            target.do("a")
            text = memleak.end() + "".join(memleak.notes)
        assert_harmless(text.encode(), options)
        assert (r"\x1b[31mc\x0a::x" if "-t" in options else r"\x1b[2J\x1b]0;pwn\x07") in text


def test_attach(mallow, hostile, tmp_path):
    need_bpf()
    with Target([hostile]) as target, Attach(mallow, target.pid, tmp_path / "a\x1b[2J\n::x.mallow") as attach:
        target.do("a")
        said = attach.end()
    assert_harmless(said.encode(), ["attach"])
    assert r"\x1b[2J\x1b]0;pwn\x07" in said


def test_gather(mallow, hostile, tmp_path):
    """What a sender says of its programs, and the name of one that stops in the middle."""
    with Gather(mallow, tmp_path / "g", env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as gather:
        run = subprocess.run([mallow, "run", "--stream", f"127.0.0.1:{gather.port}", "--stream-only", "--", hostile],
                             capture_output=True, cwd=tmp_path, input=b"a", env=clean_environment(), timeout=60)
        assert run.returncode == 0, run.stderr
        gather.wait_for("complete: ")
    assert_harmless(run.stderr, ["run", "--stream"])
    assert_harmless("\n".join(gather.both).encode(), ["gather"])
    assert any("[2J" in line for line in gather.both), gather.both


def test_top(mallow, hostile, tmp_path):
    """A screen moves its own cursor: the names move nothing, and have no line ends."""
    path = tmp_path / "r.mallow"
    subprocess.run([mallow, "run", "-o", path, "--", hostile], capture_output=True, input=b"a", check=True,
                   env=clean_environment(), timeout=60)
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 30, 200, 0, 0))
    os.write(screen, b"q")
    with subprocess.Popen([mallow, "top", "--full", path], stdin=terminal, stdout=terminal, stderr=terminal,
                          env=clean_environment({"TERM": "xterm"})) as top:
        os.close(terminal)
        seen = b""
        try:
            while more := os.read(screen, 65536):
                seen += more
        except OSError:  # the end of a terminal
            pass
    assert top.returncode == 0, seen
    assert rb"\x1b[2J\x1b]0;pwn\x07" in seen, seen
    assert b"\x1b]0;" not in seen and "\u202e".encode() not in seen and b"\n::" not in seen, seen
