"""What `make demo` and an interrupted `make check` say."""
import os
import re
import signal
import subprocess
import sys

import pytest

from conftest import TOP, clean_environment


def test_the_demo_answers_with_a_line(mallow, tmp_path):
    said = subprocess.run([TOP / "tools" / "demo.sh", mallow, tmp_path], env=clean_environment(), text=True,
                          capture_output=True, check=True).stdout
    assert re.search(r"^Most memory at .* MB live, .* for index_file  tour\.cpp:\d+\.$", said, re.MULTILINE)
    assert (tmp_path / "demo.svg").exists()


TESTS = """
import threading

def test_good():
    pass

def test_bad():
    assert not "good"

def test_good_again():
    pass

def test_endless():
    threading.Event().wait()
"""
CHECK = """
import pathlib, sys
import check
folder = pathlib.Path.cwd()
sys.exit(check.run_steps([("end to end", 1, lambda totals: check.check_with_junit(
    totals, "e2e", [check.PYTHON, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "-n", "1",
                    "--rootdir", folder, "--junitxml", folder / "junit.xml", folder], folder / "junit.xml"))]))
"""


# Ctrl-C reaches all that the terminal runs, kill check.py alone.
@pytest.mark.parametrize("number,kill", [(signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)])
def test_an_interrupted_check_says_what_had_failed(kill, number, tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    path = ":".join(str(TOP / folder) for folder in ["tools", "tests/e2e", "tests/e2e/lib"])
    with subprocess.Popen([sys.executable, "-c", CHECK], cwd=tmp_path, start_new_session=True, text=True,
                          env=clean_environment({"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": 1}),
                          stdout=subprocess.PIPE) as process:
        said = ""
        while not said.endswith(".F."):
            said += process.stdout.read(1) or pytest.fail(said)
        kill(process.pid, number)
        lines = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == 130
    assert lines[-2] == "failed: e2e: test_some test_bad"
    assert re.fullmatch(r"interrupted in step 1 of 1, end to end; until then [12] passed, 1 failed", lines[-1])
