"""The cache of programs and debug files, which receivers fill: names of a program that is not here."""
import os
import re
import shutil
import subprocess

import pytest

import report_json
from conftest import clean_environment

SOURCE = """#include <stdlib.h>
static __attribute__((noinline)) void *kept_back(void) { return malloc(77); }
static __attribute__((noinline)) void *outer(void) { return kept_back(); }
int main(void) { return !outer(); }
"""
LINE = 2
# A program of another build, in which other functions have the addresses.
OTHER = SOURCE.replace("kept_back", "not_this_one").replace("77", "78")


def build(folder, name, source):
    """A stripped program and its debug file."""
    program, debug = folder / name, folder / f"{name}.debug"
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-g", "-fno-builtin", "-Wl,--build-id", "-o", program, folder / f"{name}.c"], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    return program, debug


class Absent:
    """A recording whose program is not on this machine any more, and a cache that is empty."""

    def __init__(self, mallow, folder):
        self.mallow, self.folder = mallow, folder
        self.path = folder / "s.mallow"
        self.cache = folder / "cache" / "mallow" / "modules" / ".build-id"
        self.program, self.debug = build(folder, "s", SOURCE)
        notes = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True, check=True).stdout
        self.build_id = re.search(r"Build ID: (\w+)", notes)[1]
        self.run("run", "--no-finish", "-o", self.path, self.program)
        self.program = self.program.rename(folder / "kept")

    def run(self, *arguments):
        environment = clean_environment({"XDG_CACHE_HOME": self.folder / "cache", "DEBUGINFOD_URLS": ""})
        return subprocess.run([self.mallow, *arguments], check=True, capture_output=True, text=True,
                              env=environment, timeout=60).stdout

    def put(self, file, suffix="", strip=None):
        """Into the cache, under the recorded program's build id."""
        target = self.cache / self.build_id[:2] / (self.build_id[2:] + suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        if strip:
            subprocess.run(["objcopy", strip, target], check=True)
        os.chmod(target, 0o600)
        return target

    def frame(self, path=None):
        """(function, line) of the allocation; None: not known."""
        [report] = [report_json.load(self.run("report", "--json", path or self.path))]
        [site] = [site for site in report["sites"] if site["total_bytes"] == 77]
        function = site["stack"][0].get("function")
        if function and function.startswith("[s]+0x"):
            function = None
        return function, site["stack"][0].get("line")


@pytest.fixture
def absent(mallow, tmp_path):
    return Absent(mallow, tmp_path)


def test_nothing_is_cached(absent):
    assert absent.frame() == (None, None)


def test_a_program_alone(absent):
    """Its symbol table gives names, without lines."""
    absent.put(absent.program, strip="--strip-debug")
    assert absent.frame() == ("kept_back", None)


def test_a_program_with_its_debug_information(absent):
    absent.put(absent.program)
    assert absent.frame() == ("kept_back", LINE)


@pytest.mark.parametrize("with_program", [False, True])
def test_a_debug_file(absent, with_program):
    absent.put(absent.debug, ".debug")
    if with_program:
        absent.put(absent.program, strip="--strip-all")
    assert absent.frame() == ("kept_back", LINE)


def test_finished(absent):
    """The names are in the recording then: the cache may be lost."""
    absent.put(absent.program, strip="--strip-all")
    absent.put(absent.debug, ".debug")
    absent.run("finish", absent.path)
    shutil.rmtree(absent.cache)
    assert absent.frame() == ("kept_back", LINE)


def test_exported(absent):
    absent.put(absent.debug, ".debug")
    assert "kept_back" in absent.run("export", "--to", "collapsed", absent.path)


def test_a_file_of_another_build(absent):
    """What lies under a build id is not believed."""
    program, debug = build(absent.folder, "other", OTHER)
    absent.put(program)
    absent.put(debug, ".debug")
    assert absent.frame() == (None, None)



def test_a_fifo_in_the_cache(absent):
    target = absent.put(absent.debug, ".debug")
    target.unlink()
    os.mkfifo(target)
    os.mkfifo(target.with_suffix(""))
    assert absent.frame() == (None, None)


def test_a_program_by_build_id_in_a_named_place(absent, tmp_path):
    """-d takes programs of that layout, too: another machine's cache, for instance."""
    absent.put(absent.program)
    place = tmp_path / "elsewhere"
    absent.cache.parent.rename(place)
    assert absent.frame() == (None, None)
    assert "kept_back" in absent.run("report", "-d", place, absent.path)
