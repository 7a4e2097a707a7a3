"""-d/--debug-symbols of the commands that show names: of a program that was stripped."""
import lzma
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


# --- where names were looked for ---

def reported(mallow, stripped, *options, environment=None):
    run = subprocess.run([mallow, "report", *options, stripped.path], capture_output=True, text=True,
                         env=clean_environment(environment))
    assert run.returncode == 0, run.stderr
    return run


def looked(mallow, stripped, *options, environment=None):
    """What `report --log debug` says of the program's names, without the beginnings of the lines."""
    run = reported(mallow, stripped, "--log", "debug", *options, environment=environment)
    begin = f"mallow: names of {stripped.path.parent}/s: "
    return [line[len(begin):] for line in run.stderr.splitlines() if line.startswith(begin)]


def other_build(stripped):
    """A debug file of another build."""
    source, program = stripped.path.parent / "other.c", stripped.path.parent / "other"
    source.write_text(SOURCE.replace("77", "78"))
    subprocess.run(["gcc", "-g", "-fno-builtin", "-Wl,--build-id", "-o", program, source], check=True)
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return program.read_bytes(), re.search(r"Build ID: (\w+)", notes)[1]


def test_where_names_were_looked_for(mallow, tool, stripped, tmp_path):
    """Each place is a line on stderr; the report is the same."""
    environment = {"DEBUGINFOD_URLS": None, "XDG_CACHE_HOME": tmp_path}
    plain = reported(mallow, stripped, environment=environment)
    assert plain.stderr == ""
    program, file = tmp_path / "s", f".build-id/{stripped.build_id[:2]}/{stripped.build_id[2:]}.debug"
    assert looked(mallow, stripped, environment=environment) == [
        f"{program} has no debug information",
        f"/usr/lib/debug/{file}: No such file or directory",
        f"{tmp_path}/mallow/modules/{file}: No such file or directory",
        "debuginfod is not asked: DEBUGINFOD_URLS is not set",
        f"{program} names no debug file: it has no .gnu_debuglink",
        f"{program} has no .gnu_debugdata",
        "the file has no symbols"]
    assert looked(mallow, stripped, "-d", stripped.debug, environment=environment) == [
        f"{program} has no debug information", f"{stripped.file} is taken"]
    by_variable = reported(mallow, stripped, environment={**environment, "MALLOW_LOG": "debug"})
    assert by_variable.stdout == plain.stdout
    assert "the file has no symbols\n" in by_variable.stderr
    silent = reported(mallow, stripped, "--log", "off", environment={"MALLOW_LOG": "debug"})
    assert silent.stderr == ""
    wrong = tool("report", "--log", "loud", stripped.path, check=False)
    assert wrong.returncode == 2 and "'loud' is no value of --log" in wrong.stderr


def test_a_debug_file_of_another_build(mallow, stripped):
    other, build_id = other_build(stripped)
    stripped.file.write_bytes(other)
    assert (f"{stripped.file} is of another build: its build id is {build_id}, wanted is {stripped.build_id}"
            in looked(mallow, stripped, "-d", stripped.debug))


def test_a_program_of_another_build(mallow, stripped):
    other, build_id = other_build(stripped)
    program = stripped.path.parent / "s"
    program.write_bytes(other)
    lines = looked(mallow, stripped)
    assert lines[:2] == [f"{program} is of another build: its build id is {build_id}, wanted is {stripped.build_id}",
                         "file changed since the recording"]


def test_a_debuglink_of_another_build(mallow, tool, stripped):
    """Its checksum tells, where a program has no build id."""
    program, linked = stripped.path.parent / "s", stripped.path.parent / "s.linked"
    linked.write_bytes(stripped.file.read_bytes())
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", f"--add-gnu-debuglink={linked}", program],
                   check=True)
    linked.write_bytes(other_build(stripped)[0])
    stripped.path = program.with_name("without.mallow")
    tool("run", "--no-finish", "-o", stripped.path, "--", program)
    lines = looked(mallow, stripped)
    assert f"{linked} is of another build: its checksum is not the one in .gnu_debuglink" in lines
    assert f"{linked.parent}/.debug/s.linked: No such file or directory" in lines


@pytest.mark.parametrize("content,reason", [
    (b"", "{} has an empty .gnu_debugdata"),
    (b"\x28\xb5\x2f\xfd" + bytes(60), "{}: .gnu_debugdata is compressed in an unknown way, not by xz"),
    (lzma.compress(bytes(1000))[:-20], "{}: .gnu_debugdata is cut short, or has more than 256 MiB"),
    (lzma.compress(b"no ELF"), ".gnu_debugdata: {} is not an ELF file")])
def test_mini_debug_information_that_is_none(mallow, stripped, content, reason):
    program, data = stripped.path.parent / "s", stripped.path.parent / "data"
    data.write_bytes(content)
    subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={data}", program], check=True)
    assert reason.format(program) in looked(mallow, stripped)


def test_debug_sections_of_an_unknown_compression(mallow, stripped):
    subprocess.run(["objcopy", "--compress-debug-sections=zlib", stripped.file], check=True)
    image = bytearray(stripped.file.read_bytes())
    sections = subprocess.run(["readelf", "-SW", stripped.file], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r" \.debug_info +PROGBITS +\w+ (\w+)", sections)[1], 16)
    assert image[offset] == 1
    image[offset] = 99
    stripped.file.write_bytes(image)
    assert looked(mallow, stripped, "-d", stripped.debug)[-2:] == [
        f"{stripped.file} is taken",
        f"{stripped.file}: its debug sections are compressed in a way that mallow does not read in such a file"]


def test_debug_files_that_cannot_be_read(mallow, stripped):
    """A directory in its place; no permission; no ELF file; an empty one."""
    stripped.file.unlink()
    stripped.file.mkdir()
    assert f"{stripped.file} is a directory" in looked(mallow, stripped, "-d", stripped.debug)
    stripped.file.rmdir()
    for content, reason in ((b"", "is empty"), (b"#!/bin/sh\n", "is not an ELF file")):
        stripped.file.write_bytes(content)
        assert f"{stripped.file} {reason}" in looked(mallow, stripped, "-d", stripped.debug)
    stripped.file.chmod(0)
    # Root reads it none the less, but for these capabilities.
    bounded = [] if os.geteuid() else [need("setpriv"), "--bounding-set", "-dac_override,-dac_read_search"]
    run = subprocess.run([*bounded, mallow, "report", "--log", "debug", "-d", stripped.debug, stripped.path],
                         capture_output=True, text=True, check=True, env=clean_environment())
    assert f": {stripped.file}: Permission denied\n" in run.stderr


def test_a_name_that_moves_the_cursor(tool, mallow, tmp_path):
    """Paths go through the gate for foreign text."""
    folder = tmp_path / "a\033[2Jb"
    folder.mkdir()
    made = Stripped(mallow, folder)
    run = tool("report", "--log", "debug", made.path)
    assert "\033" not in run.stderr and rf"{tmp_path}/a\x1b[2Jb/s has no debug information" in run.stderr


@pytest.mark.parametrize("command", [["export", "--to", "collapsed"], ["diff", "--full"], ["finish"],
                                     ["check", "--max-peak", "1G"]])
def test_all_commands_that_look_up_names(tool, stripped, command):
    run = tool(*command, "--log", "debug", stripped.path, check=False)
    assert run.returncode == 0
    assert (f"names of {stripped.path.parent}/s: the file has no symbols\n" in run.stderr) == (command[0] != "check")


def test_a_run_says_it_too(tool, tmp_path, stripped):
    run = tool("run", "--log", "debug", "-o", tmp_path / "again.mallow", "--", tmp_path / "s")
    assert f"mallow: names of {tmp_path}/s: the file has no symbols\n" in run.stderr


def test_sysroot(stripped, tmp_path, tool):
    """What was recorded elsewhere: programs lie below the root of that system as they did there, and debug files."""
    program, root = tmp_path / "s", tmp_path / "root"
    (root / "usr/lib").mkdir(parents=True)
    stripped.debug.rename(root / "usr/lib/debug")
    there = root / str(program)[1:]
    there.parent.mkdir(parents=True)
    program.rename(there)
    assert "kept_back" not in tool("report", stripped.path).stdout
    said = tool("report", "--sysroot", root, stripped.path).stdout
    assert f"s.c:{LINE}" in said and "kept_back" in said
    # A file of another build is not taken for it.
    subprocess.run([need("gcc"), "-O2", "-Wl,--build-id", "-o", there, tmp_path / "s.c"], check=True)
    (root / "usr/lib/debug").rename(tmp_path / "elsewhere")
    assert "kept_back" not in tool("report", "--sysroot", root, stripped.path).stdout
    assert "no/such" in tool("report", "--sysroot", "/no/such", stripped.path, check=False).stderr


def test_no_build_id(mallow, tmp_path, tool):
    """Then only the architecture tells that a file at the recorded path is not the one that ran; and what lies below
    a root that the user names is believed before what lies here."""
    program, path, root = tmp_path / "s", tmp_path / "s.mallow", tmp_path / "root"

    def build(source):
        (tmp_path / "s.c").write_text(source)
        subprocess.run([need("gcc"), "-g", "-fno-builtin", "-Wl,--build-id=none", "-o", program, tmp_path / "s.c"], check=True)

    build(SOURCE)
    subprocess.run([mallow, "run", "--no-finish", "-o", path, program], check=True, capture_output=True,
                   env=clean_environment())
    assert "kept_back" in tool("report", path).stdout
    elsewhere = bytearray(path.read_bytes())
    elsewhere[64] = 183  # e_machine of AArch64
    (tmp_path / "elsewhere.mallow").write_bytes(elsewhere)
    said = tool("report", tmp_path / "elsewhere.mallow").stdout
    assert "kept_back" not in said and f"{program} is of another architecture than the recording" in said
    (root / str(tmp_path)[1:]).mkdir(parents=True)
    program.rename(root / str(program)[1:])
    build(SOURCE.replace("kept_back", "never_was"))
    assert "never_was" in tool("report", path).stdout  # nothing tells
    said = tool("report", "--sysroot", root, path).stdout
    assert "kept_back" in said and "never_was" not in said
    assert "kept_back" not in tool("report", "--sysroot", root, tmp_path / "elsewhere.mallow").stdout
