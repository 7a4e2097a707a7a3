"""-d/--debug-symbols of the commands that show names: of a program that was stripped."""
import os
import re
import subprocess

import pytest

import pprof_reader
import report_json
from conftest import clean_environment, need
from servers import fails, serve  # noqa: F401

SOURCE = """#include <stdlib.h>
static __attribute__((noinline)) void *kept_back(void) { return malloc(77); }
static __attribute__((noinline)) void *outer(void) { return kept_back(); }
int main(void) { return !outer(); }
"""
LINE = 2


class Stripped:
    """A recording of a stripped program, and its debug file in a directory as /usr/lib/debug is."""

    def __init__(self, mallow, folder):
        program, whole = folder / "s", folder / "s.debug"
        (folder / "s.c").write_text(SOURCE)
        self.path, self.debug = folder / "s.mallow", folder / "debug"
        subprocess.run(["gcc", "-g", "-fno-builtin", "-Wl,--build-id", "-o", program, folder / "s.c"],
                       check=True)
        subprocess.run(["objcopy", "--only-keep-debug", program, whole], check=True)
        subprocess.run(["objcopy", "--strip-all", program], check=True)
        notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True,
                               check=True).stdout
        self.build_id = re.search(r"Build ID: (\w+)", notes)[1]
        self.file = self.debug / ".build-id" / self.build_id[:2] / f"{self.build_id[2:]}.debug"
        self.file.parent.mkdir(parents=True)
        whole.rename(self.file)
        subprocess.run([mallow, "run", "--no-finish", "-o", self.path, program], check=True,
                       capture_output=True, env=clean_environment())


@pytest.fixture
def stripped(mallow, tmp_path):
    return Stripped(mallow, tmp_path)


def ways(stripped, tmp_path):
    """(options, whether the names are found): nowhere, in a directory, in the second of two places."""
    return [([], False), (["-d", stripped.debug], True),
            (["--debug-symbols", tmp_path, "-d", stripped.file], True)]


def test_served(mallow, stripped, tmp_path, serve):  # noqa: F811
    for options, known in ways(stripped, tmp_path):
        [row] = serve(*options, stripped.path).json(
            "/data/last/allocations?size_min=77&size_max=77")["allocations"]
        frame = row["backtrace"][-1]
        assert (frame["function"], frame["line"]) == (("kept_back", LINE) if known else (None, None))
    assert "no/such" in fails(mallow, "-d", "/no/such", stripped.path)[1]


@pytest.mark.parametrize("view", [[], ["--merge"], ["--size-min", "70"], ["--tree"],
                                  ["--by", "function"], ["--full"]])
def test_reported(tool, stripped, tmp_path, view):
    for options, known in ways(stripped, tmp_path):
        text = tool("report", *options, *view, stripped.path).stdout
        assert ("kept_back" in text) == known and "77" in text


def test_reported_of_several(tool, stripped, tmp_path):
    """One after the other, by what was opened once. A finished one lacks these names, too."""
    second = tmp_path / "second.mallow"
    second.write_bytes(stripped.path.read_bytes())
    tool("finish", second)
    for options, known in ways(stripped, tmp_path):
        reports = report_json.load(tool("report", "--json", *options, stripped.path, second).stdout)
        for report in reports:
            [site] = [site for site in report["sites"] if site["total_bytes"] == 77]
            frame = site["stack"][0]
            assert (frame["function"] == "kept_back", frame.get("line")) == (known, LINE if known else None)


def test_exported(tool, stripped, tmp_path):
    out = tmp_path / "out"
    for options, known in ways(stripped, tmp_path):
        for more in ([], ["--merge"], ["--size-min", "70"]):
            for name in ("collapsed", "flamegraph"):
                text = tool("export", "--to", name, *more, *options, stripped.path).stdout
                assert ("kept_back" in text) == known and "77" in text
            tool("export", "--to", "pprof", "-o", out, *more, *options, stripped.path)
            functions = {line[0] for _, _, lines in pprof_reader.read(out).locations.values()
                         for line in lines}
            assert ("kept_back" in functions) == known
        text = tool("export", "--to", "heaptrack", *options, stripped.path).stdout
        assert ("s 9 kept_back\n" in text) == known


@pytest.mark.parametrize("command", [["report"], ["export", "--to", "collapsed"],
                                     ["export", "--to", "collapsed", "--merge"]])
def test_a_place_that_is_not_there(tool, stripped, command):
    run = tool(*command, "-d", "/no/such", stripped.path, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "mallow: cannot read '/no/such': No such file or directory\n"


def test_what_would_name_frames(tool, stripped):
    """The build id, until the names are there."""
    text = tool("report", stripped.path).stdout
    assert re.search(rf"\n\d+ of \d+ frames have no names\. .*:\n  s: the debug file of its build, or one .*\n"
                     rf"    build id {stripped.build_id}\n", text)
    assert "DEBUGINFOD_URLS" in text
    named = tool("report", "-d", stripped.debug, stripped.path).stdout
    assert "no names" not in named and stripped.build_id not in named


def test_the_package_that_would_name_frames(mallow, tool, tmp_path):
    """Of libraries, too, that the loader knows by a link's name."""
    owner = subprocess.run(["dpkg-query", "-S", os.path.realpath(need("sqlite3"))], capture_output=True, text=True)
    if owner.returncode:
        pytest.skip("sqlite3 is of no package")
    path = tmp_path / "r.mallow"
    subprocess.run([mallow, "run", "--no-finish", "-o", path, "sqlite3", ":memory:",
                    "create table t(a); insert into t values(1); select * from t order by a;"],
                   check=True, capture_output=True, env=clean_environment({"DEBUGINFOD_URLS": ""}))
    text = tool("report", path).stdout
    assert re.search(r"\n  libsqlite3\.so\.0[\d.]*: package libsqlite3-0-dbgsym or libsqlite3-0-dbg\n    build id \w{40}\n", text)


def test_damaged_symbols_are_said_once(tool, stripped):
    """What is left of them is used."""
    image = bytearray(stripped.file.read_bytes())
    sections = subprocess.run(["readelf", "-SW", stripped.file], capture_output=True, text=True, check=True).stdout
    offset, size = (int(word, 16) for word in re.search(r" \.debug_str +PROGBITS +\w+ (\w+) (\w+)", sections).groups())
    assert image[offset + size - 1] == 0
    image[offset + size - 1] = ord("x")
    stripped.file.write_bytes(image)
    text = tool("report", "-d", stripped.debug, stripped.path).stdout
    assert "kept_back" in text
    assert text.count("damaged debug information") == 1
