"""python/: the module `mallow`, and pytest --mallow."""
import json
import os
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

import pytest

import mallow_reader
from conftest import TOP, clean_environment

PACKAGE = TOP / "python"
PYTESTS = "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"
OVERHEAD = 6000  # of an empty test: the marks, and what Python needs to call it; Python keeps 80 lists to use them again


class Suite:
    """A folder with tests, and what pytest says of them."""

    def __init__(self, folder, mallow):
        self.folder, self.mallow = folder, mallow
        self.add("pytest.ini", "[pytest]\n")

    def add(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def __call__(self, *words, env=None, tool=True, **options):
        environment = clean_environment({"PYTHONPATH": PACKAGE, "COLUMNS": "80", **dict.fromkeys(PYTESTS), **(env or {})})
        ran = subprocess.run([sys.executable, "-m", "pytest", "-p", "pytest_mallow", *(["--mallow-tool", self.mallow] if tool else []),
                              *map(str, words)], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120,
                             **options)
        assert "INTERNALERROR" not in ran.stdout + ran.stderr and "Traceback" not in ran.stderr, ran.stdout + ran.stderr
        return ran


@pytest.fixture
def suite(tmp_path, mallow):
    return Suite(tmp_path, mallow)


def table(said):
    """{test: (peak, total, calls, place)} of what the summary shows."""
    lines = said.stdout.split(" memory of tests, by mallow =")[1].splitlines()[2:]
    rows = [re.fullmatch(r" *([\d.]+ \w+) +([\d.]+ \w+) +([\d,]+)  (\S+) +(\S.*)", line) for line in lines]
    return {row[4].rsplit("::")[-1]: (row[1], row[2], int(row[3].replace(",", "")), row[5]) for row in rows if row}


TESTS = """
    import gc, os, threading, unittest, warnings
    import mallow, pytest

    kept = []

    def test_nothing():
        pass

    def test_block():
        del [bytearray(10_000_000)][0]
        bytearray(4_000_000)

    def test_objects():
        rows = [None] * 20_000
        for i in range(20_000):
            rows[i] = [None]     # 56 bytes with the collector's head, and 8 for its element

    def test_threads():
        both = threading.Barrier(4)
        def work():
            block = bytearray(3_000_000)
            both.wait()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()

    def test_keeps():
        kept.append(bytearray(20_000_000))

    def test_frees_what_was_there():
        kept.clear()
        bytearray(1_000_000)

    def test_leaves_garbage():
        gc.disable()
        cycle = [bytearray(15_000_000)]
        cycle.append(cycle)

    def test_after_garbage():
        block = bytearray(2_000_000)
        gc.enable()
        gc.collect()

    def test_marks_itself():
        a = bytearray(7_000_000)
        mallow.mark("in between")
        b = bytearray(6_000_000)
        del a
        c = bytearray(500_000)

    @pytest.fixture
    def fixed():
        block = bytearray(30_000_000)
        yield block
        bytearray(40_000_000)

    @pytest.mark.limit_memory("1MiB")
    def test_fixtures_do_not_count(fixed, capsys):
        print("x" * 1000)

    class TestOld(unittest.TestCase):
        def setUp(self):
            self.block = bytearray(2_000_000)
        @pytest.mark.limit_memory("1.5 MB")
        def test_unittest(self):
            pass

    @pytest.mark.limit_memory("12 mb")
    def test_holds():
        bytearray(12 * 1024 * 1024 - 10_000)

    @pytest.mark.limit_memory("12 MB")
    def test_too_much():
        bytearray(12 * 1024 * 1024 + 10)

    @pytest.mark.xfail(strict=True)
    @pytest.mark.limit_memory("10 KB")
    def test_known():
        bytearray(20_000)

    @pytest.mark.limit_memory("1 B")
    def test_fails_by_itself():
        assert 0, "by itself"

    @pytest.mark.limit_memory("24 cm")
    def test_no_size():
        raise SystemError("it must not run")

    @pytest.mark.limit_memory("1 MB")
    def test_fork():
        child = os.fork()
        if not child:
            block = bytearray(9_000_000)
            os._exit(0)
        os.waitpid(child, 0)
"""
PEAKS = {"test_nothing": 0, "test_block": 10_000_000, "test_objects": 20_000 * (8 + 56 + 8) - 5000, "test_threads": 12_000_000,
         "test_keeps": 20_000_000, "test_frees_what_was_there": 1_000_000, "test_leaves_garbage": 15_000_000,
         "test_after_garbage": 2_000_000, "test_fixtures_do_not_count": 0, "test_unittest": 2_000_000,
         "test_holds": 12 * 1024 * 1024 - 10_000, "test_too_much": 12 * 1024 * 1024 + 10}


def test_peaks_and_limits(suite, tool):
    """Known allocations have the peak that they must have; a limit that is broken is a failure like others."""
    suite.add("3d/test_known.py", TESTS)
    suite.add("conftest.py", "open('conftest.ran', 'a').write('once\\n')\n")
    said = suite("--mallow", "--mallow-output", "r.mallow", "--junitxml=r.xml", "--mallow-top", "5", "3d")
    assert said.returncode == 1, said.stdout + said.stderr
    assert (suite.folder / "conftest.ran").read_text() == "once\n"  # not by the process that only starts the other
    # What pytest says.
    failures = {case.get("name"): case.find("failure").text for case in ElementTree.parse(suite.folder / "r.xml").iter("testcase")
                if case.find("failure") is not None}
    assert sorted(failures) == ["test_fails_by_itself", "test_no_size", "test_too_much", "test_unittest"]
    assert failures["test_no_size"] == "limit_memory: '24 cm' is no size such as '24 MB'"
    assert "by itself" in failures["test_fails_by_itself"] and "limit_memory:" not in failures["test_fails_by_itself"]
    line = textwrap.dedent(TESTS).splitlines().index("def test_too_much():") + 2
    first, *places = failures["test_too_much"].splitlines()
    assert re.fullmatch(r"limit_memory: peak 12,58\d,\d{3} B: [\d,]+ B above the limit of 12,582,912 B", first)
    assert re.fullmatch(rf"  12,582,9\d\d B +(99|100)\S* %  test_too_much  3d/test_known.py:{line}", places[0]) and len(places) == 3
    assert "1 xfailed" in said.stdout
    # What the recording says.
    rows = {row["mark"].replace("./3d/test_known.py::", ""): row for row in
            json.loads(tool("report", "--by", "mark", "--json", suite.folder / "r.mallow").stdout)["rows"]}
    for name, peak in PEAKS.items():
        own = rows.get(f"TestOld::{name}") or rows[name]
        # Of each thread Python and the C library have blocks, too.
        assert peak <= own["own_peak_bytes"] < peak + OVERHEAD * (5 if name == "test_threads" else 1), name
    assert rows["end of test_fixtures_do_not_count"]["own_peak_bytes"] > 40_000_000
    # What the table says.
    shown = table(said)
    assert list(shown) == ["test_keeps", "test_leaves_garbage", "test_marks_itself", "test_too_much", "test_holds"]
    assert shown["test_marks_itself"][:2] == ("13.0 MB", "13.5 MB")
    assert shown["test_too_much"][3] == f"3d/test_known.py:{line}"
    assert max(len(line) for line in said.stdout.split("by mallow =")[1].splitlines()) <= 80
    assert "\nmallow report r.mallow, or mallow serve r.mallow\n" in said.stdout


def test_xdist(suite):
    """Each worker has its recording, and judges its tests; one table is of all, also where a worker dies."""
    pytest.importorskip("xdist")
    suite.add("test_many.py", """
        import os, pytest
        @pytest.mark.parametrize("n", range(6))
        @pytest.mark.limit_memory("4 MB")
        def test_grows(n):
            block = bytearray(n * 1_000_000)
        def test_dies():
            block = bytearray(9_000_000)
            os.abort()
        """)
    said = suite("--mallow", "-n", "2", "--mallow-output", "r.mallow")
    assert said.returncode == 1 and "2 failed, 5 passed" in said.stdout, said.stdout + said.stderr
    assert "limit_memory: peak 5,0" in said.stdout and "crashed while running 'test_many.py::test_dies'" in said.stdout
    shown = table(said)
    assert list(shown) == ["test_dies", *(f"test_grows[{n}]" for n in (5, 4, 3, 2, 1, 0))]
    assert shown["test_dies"][0] == "9.00 MB" and shown["test_grows[3]"][3] == "test_many.py:6"
    path, = re.findall(r"^mallow report (\S+), or mallow serve .* \([12] other recordings? beside it\)$", said.stdout, re.M)
    assert (suite.folder / path).exists()


def test_stops_and_talks(suite):
    """A limit counts for -x, with capturing off; the second start of the command reads what the first one was given. Of a
    test that kills the process the recording is there."""
    suite.add("test_first.py", """
        import os, sys, pytest
        def test_reads():
            assert input() == "typed" and sys.argv[-1] == "test_first.py"
        @pytest.mark.limit_memory("1 KB")
        def test_large():
            block = bytearray(2000)
        def test_dies():
            os.abort()
        """)
    said = suite("--mallow", "-x", "-s", "--mallow-output", "x.mallow", "test_first.py", input="typed\n")
    assert said.returncode == 1 and "1 failed, 1 passed" in said.stdout, said.stdout + said.stderr
    # Only collecting needs no recording.
    again = suite("--mallow", "--lf", "--collect-only", "-q", "test_first.py")
    assert again.stdout.split("\n\n")[0] == "test_first.py::test_large"
    died = suite("--mallow", "-p", "no:cacheprovider", "-k", "dies", "--mallow-output", "died.mallow", "test_first.py")
    assert died.returncode == 134 and "Fatal Python error: Aborted" in died.stderr
    assert sorted(path.name for path in suite.folder.glob("*.mallow")) == ["died.mallow", "x.mallow"]
    marks = [fact["name"] for fact in mallow_reader.read(suite.folder / "died.mallow").facts if fact["kind"] == "mark"]
    assert marks == ["test_first.py::test_dies"]


LIMITED = """
    import mallow, pytest
    @pytest.mark.limit_memory("1 KB")
    def test_unseen_and_broken():
        block = bytearray(2000)
    @pytest.mark.limit_memory("1 MB")
    def test_unseen():
        pass
    @pytest.mark.limit_memory("1 MB")
    def test_lost():
        pass
    @pytest.mark.limit_memory("1 KB")
    def test_no_verdict():
        pass
    @pytest.mark.limit_memory("1 KB")
    def test_stops():
        mallow.stop()
"""
# Stands for the tool, and says what it would say of such recordings.
TOOL = """#!/bin/sh
case "$*" in
    check*test_lost*) {mallow} "$@" | sed 's/still running/3 events lost/';;
    check*test_unseen*) {mallow} "$@" | sed '1a\\  doubt   not all memory was seen: it has an arena' | sed 's/holds  .*/unknown peak is not known/';;
    check*test_no_verdict*) echo 'mallow: no memory' >&2; exit 3;;
    *) exec {mallow} "$@"
esac
"""


def test_what_cannot_be_told(suite):
    """It is no failure, and it is said: where recording is off, where something is missing, and without --mallow."""
    suite.add("test_limits.py", LIMITED)
    suite.add("mallow", TOOL.format(mallow=suite.mallow))
    (suite.folder / "mallow").chmod(0o755)
    suite.mallow = "./mallow"
    said = suite("--mallow", "--mallow-output", "r.mallow")
    assert said.returncode == 1 and "1 failed, 4 passed, 4 warnings" in said.stdout, said.stdout + said.stderr
    assert re.search(r"limit_memory: peak [23],\d\d\d B", said.stdout) and "FAILED test_limits.py::test_unseen_and_broken" in said.stdout
    for why in ("not all memory was seen: it has an arena", "the recording is incomplete: 3 events lost (--allow-incomplete)",
                "no memory", "recording was off at the end of the test"):
        assert f"MallowWarning: limit_memory could not be judged: {why}\n" in said.stdout
        assert f"\nmallow: 1 limit_memory() could not be judged: {why}\n" in said.stdout
    strict = suite("--mallow", "--mallow-output", "s.mallow", "-W", "error::pytest_mallow.MallowWarning", "-k", "broken or stops",
                   env={"MALLOW_CULL": "1ms"})
    assert strict.returncode == 1 and "2 failed, 3 deselected" in strict.stdout, strict.stdout + strict.stderr
    assert "judged: the recording is a sample, or without blocks that lived shortly (--sample, --cull)\n" in strict.stdout
    without = suite("-q")
    assert without.returncode == 0 and "\nmallow: 5 limit_memory() not looked at: without --mallow\n" in without.stdout


@pytest.mark.parametrize("words, env, message", [
    (["--mallow", "--mallow-tool", "no/mallow"], {},
     "ERROR: --mallow: no program 'no/mallow' is found (--mallow-tool PATH, or MALLOW_HELPER)"),
    (["--mallow"], {"PATH": "/nowhere"}, "ERROR: --mallow: no program 'mallow' is found (--mallow-tool PATH, or MALLOW_HELPER)"),
    (["--mallow", "--mallow-tool", "/etc"], {}, "ERROR: --mallow: no program '/etc' is found"),
    (["--mallow", "--mallow-top", "-1"], {}, "error: argument --mallow-top: invalid natural value: '-1'"),
    (["--mallow", "--mallow-tool", "/bin/true", "-s"], {"PYTEST_MALLOW_STARTED": "1"},
     "ERROR: --mallow: 'mallow run' has started this process, but cannot record it"),
])
def test_wrong_words(suite, words, env, message):
    said = suite(*words, tool=False, env=env)
    assert said.returncode == 4 and message in said.stderr, said.stdout + said.stderr


MODULE = """
import os, mallow
mallow.set_tag(7)
kept = bytearray(77777)
mallow.set_tag(0)
with mallow.marked("lo\u00e4d"):
    assert mallow.is_running() is True and mallow.sync() is True
mallow.stop()
assert mallow.is_running() is False
lost = bytearray(88888)
mallow.start()
with open(mallow.recording(), "rb") as also_open:
    if not os.fork():
        print(mallow.recording(), flush=True)
        os._exit(0)
    os.wait()
    print(mallow.recording())
"""


def test_module(suite, record):
    """Its functions are those of C. In a program that is not recorded they do nothing."""
    plain = subprocess.run([sys.executable, "-c", MODULE.replace("True", "False").replace("open(mallow.recording(), ", "open('/dev/null', ")],
                           env=clean_environment({"PYTHONPATH": PACKAGE}), capture_output=True, text=True, timeout=60)
    assert (plain.stdout, plain.stderr) == ("None\nNone\n", "")
    ran = record([sys.executable, "-c", MODULE], env={"PYTHONPATH": PACKAGE})
    child, parent = ran.stdout.split()
    assert parent == str(ran.path) and child != parent and os.path.exists(child)
    recording = ran.reader
    assert [fact["name"] for fact in recording.facts if fact["kind"] == "mark"] == ["lo\u00e4d", "end of lo\u00e4d"]
    tags = {event.size: event.tag for event in recording.events if isinstance(event, mallow_reader.Alloc)}
    assert tags[77778] == 7 and 88889 not in tags
