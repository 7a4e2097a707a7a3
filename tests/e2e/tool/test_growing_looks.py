"""Many looks at a recording while a program writes it, by tests/unit/growing_looks.c: each costs only
what is new, and the last one is what the whole file says. tests/unit/analysis_growing.c compares
every look, at random recordings."""
import json
import subprocess

import pytest

from conftest import TOP, built
from processes import has_begun, wait_for

THREADS = 4


def looks(path, milliseconds, needs):
    """The process that looks so often, until the recording is no longer written."""
    helper = built("MALLOW_GROWING_LOOKS", TOP / "build" / "meson" / "tests" / "unit" / "growing_looks")
    return subprocess.Popen([helper, path, str(milliseconds), needs], stdout=subprocess.PIPE, text=True)


def follow(compile_sample, preload, path, needs, allocations, milliseconds, pause):
    """What the looks came to."""
    program = compile_sample("even_pace", "gcc", "-O1")
    with subprocess.Popen([program, str(THREADS), str(allocations), str(milliseconds)], env=preload(OUTPUT=path),
                          stdout=subprocess.DEVNULL) as running:
        wait_for(lambda: has_begun(path))
        following = [looks(path, pause, need) for need in needs]
        assert running.wait(timeout=300) == 0
        answers = [json.loads(process.communicate(timeout=300)[0]) for process in following]
    assert not any(process.returncode for process in following)
    for answer in answers:
        assert answer["difference"] is None
        assert answer["events"] >= allocations
    return answers


def test_some_looks(compile_sample, preload, tmp_path):
    for answer in follow(compile_sample, preload, tmp_path / "r.mallow", ["blocks", "sums"], 400_000, 1500, 10):
        assert answer["went_on"] == answer["looks"] > 1


@pytest.mark.long
def test_a_hundred_looks_at_ten_million_events(compile_sample, preload, tmp_path):
    """How many looks there are depends on the machine; so the program takes its time."""
    for answer in follow(compile_sample, preload, tmp_path / "r.mallow", ["blocks", "sums"], 5_100_000, 60_000, 100):
        assert answer["events"] >= 10_000_000 and answer["looks"] >= 100
        assert answer["went_on"] >= answer["looks"] - 3
