"""What the files of `mallow export` say, for tests: sums that are compared with mallow's own reports."""
import collections
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import TOP, clean_environment

MODULES = TOP / "web" / "node_modules"
EVENTS = {"TotalBytes": "total_bytes", "Allocations": "calls", "PeakBytes": "peak_bytes", "PeakBlocks": "peak_blocks",
          "LeakedBytes": "leaked_bytes", "LeakedBlocks": "leaked_blocks"}


def node_module(path):
    """A file of a package of web/package.json, or the test is skipped and says so."""
    found = MODULES / path
    if not found.exists():
        pytest.skip(f"web/node_modules has no {path.split('/dist')[0]}")
    return found


# --- speedscope ---

def collapsed(profile, frames):
    """{stack as collapsed stacks have it: weight}."""
    names = [frame["name"] for frame in frames]
    found = collections.Counter()
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        found[";".join(names[index] for index in sample)] += weight
    return dict(found)


# --- callgrind ---

def annotated(path):
    """{function: {event: inclusive sum}} as callgrind_annotate prints them; "": those of the program."""
    run = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--tree=both", "--threshold=100", "--auto=no", path],
                         capture_output=True, text=True, check=True, cwd="/", env=clean_environment())
    assert "WARNING" not in run.stdout + run.stderr
    names = re.search(r"^Events shown: +(.*)$", run.stdout, re.M)[1].split()
    found = {}
    for line in run.stdout.splitlines():
        row = re.match(r"((?: *[\d,]+(?: \([ \d.]+%%\))? +){%d}) *(?:\* +(.*)|PROGRAM TOTALS)$" % len(names), line)
        if row:
            numbers = re.sub(r"\([ \d.]+%\)", "", row[1]).replace(",", "").split()
            name = re.sub(r"^(?:.*?):(?!:)|(?: \[[^\]]*\])?$", "", row[2] or "")
            found[name] = dict(zip(names, map(int, numbers), strict=True))
    return found


# --- massif ---

class Massif:
    """snapshots: dicts of their fields, with `tree`: (bytes, text, children)."""

    def __init__(self, text):
        self.head, *parts = text.split("#-----------\nsnapshot=")
        self.snapshots = [self.snapshot(part.splitlines()) for part in parts]

    def snapshot(self, lines):
        fields = {"snapshot": int(lines[0])}
        assert lines[1] == "#-----------"
        for at, line in enumerate(lines[2:], 2):
            name, _, value = line.partition("=")
            fields[name] = int(value) if value.isdigit() else value
            if name == "heap_tree":
                break
        rest = lines[at + 1:]
        if fields["heap_tree"] != "empty":
            fields["tree"], rest = self.tree(rest, 0)
        assert rest == []
        return fields

    def tree(self, lines, depth):
        row = re.fullmatch(r"( *)n(\d+): (\d+) (.*)", lines[0])
        assert row and len(row[1]) == depth, lines[0]
        rest, children = lines[1:], []
        for _ in range(int(row[2])):
            child, rest = self.tree(rest, depth + 1)
            children.append(child)
        return (int(row[3]), row[4], children), rest


# --- Firefox Profiler ---

class Profile:
    """The one thread of a profile."""

    def __init__(self, text):
        self.whole = json.loads(text)
        assert self.whole["meta"]["preprocessedProfileVersion"] == 57
        self.thread, = self.whole["threads"]
        self.texts = self.whole["shared"]["stringArray"]
        for table in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeAllocations", "nativeSymbols"):
            columns = self.thread[table]
            lengths = {name: len(column) for name, column in columns.items() if isinstance(column, list)}
            assert set(lengths.values()) == {columns["length"]}, (table, lengths)
        self.allocations = self.thread["nativeAllocations"]

    def events(self):
        """(milliseconds, bytes, stack, address, thread); a stack is a tuple of functions, None of a free."""
        table = self.allocations
        for event in zip(table["time"], table["weight"], table["stack"], table["memoryAddress"], table["threadId"]):
            yield event[0], event[1], event[2] is not None and self.stack(event[2]) or None, *event[3:]

    def stack(self, row):
        names = []
        while row is not None:
            prefix = self.thread["stackTable"]["prefix"][row]
            assert prefix is None or prefix < row
            function = self.thread["frameTable"]["func"][self.thread["stackTable"]["frame"][row]]
            names.insert(0, self.texts[self.thread["funcTable"]["name"][function]])
            row = prefix
        return tuple(names)

    def retained(self):
        """{stack: bytes} at the end, as the profiler finds them; each free is of what is there."""
        live = {}
        for _, size, stack, address, _ in self.events():
            if stack is not None:
                assert address not in live
                live[address] = size, stack
            else:
                assert live.pop(address)[0] == -size
        found = collections.Counter()
        for size, stack in live.values():
            found[stack] += size
        return dict(found)

    def curve(self):
        """[(milliseconds, bytes)] of the counter."""
        samples, now = self.whole["counters"][0]["samples"], 0
        for time, change in zip(samples["time"], samples["count"], strict=True):
            now += change
            yield time, now


def profiler(folder, path):
    """profiler(words…): what profiler-cli says of a profile, which it has loaded."""
    script, node = node_module("@firefox-devtools/profiler-cli/dist/profiler-cli.js"), shutil.which("node")
    if not node:
        pytest.skip("node is not installed")

    def run(*words):
        return subprocess.run([node, script, *map(str, words)], capture_output=True, text=True, timeout=120,
                              env=clean_environment({"HOME": str(folder)}))

    def ask(*words):
        done = run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # Its daemon has half a second to begin, which is too short on a busy machine.
    for _ in range(20):
        loaded = run("load", path)
        if loaded.returncode == 0:
            return ask
        slow = re.search(r"still be running as pid (\d+)", loaded.stderr)
        assert slow, loaded.stdout + loaded.stderr
        os.kill(int(slow[1]), signal.SIGKILL)
    pytest.skip("profiler-cli's daemon did not begin in twenty tries")
