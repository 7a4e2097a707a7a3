"""examples/ci: the commands of its workflow, run as a server does, before and after a leak."""
import json
import os
import re
import shutil
import subprocess
import textwrap
import xml.etree.ElementTree

import pytest

import json_schema
from conftest import TOP, clean_environment
from sarif_schema import SCHEMA

EXAMPLE = TOP / "examples" / "ci"


def steps():
    """{name: commands} of the workflow."""
    text = (EXAMPLE / "memory.yml").read_text()
    return {name: textwrap.dedent(commands) for name, commands in re.findall(
        r"^      - name: (.*)\n(?:        if: .*\n)?        run: \|\n((?:          .*\n)+)", text, re.M)}


@pytest.fixture
def job(agent, mallow, tmp_path):
    """job(step, **variables): runs it where the project was checked out."""
    shutil.copytree(EXAMPLE, tmp_path / "project" / "examples" / "ci")
    path = f"{mallow.parent}:{os.environ['PATH']}"

    def run(step, **variables):
        return subprocess.run(["bash", "-e", "-c", steps()[step]], cwd=tmp_path / "project",
                              capture_output=True, text=True, timeout=60,
                              env=clean_environment({"PATH": path, "GITHUB_ACTIONS": None, **variables}))

    run.folder = tmp_path / "project" / "memory"
    return run


def test_steps_are_found():
    assert list(steps()) == ["Install mallow", "Build the test", "Run it through the gate",
                             "Keep the recording as the next baseline"]


def results(folder):
    failures = [case.attrib["name"] for case in
                xml.etree.ElementTree.parse(folder / "mallow.xml").iter("testcase") if len(case)]
    document = json.loads((folder / "mallow.sarif").read_text())
    json_schema.check(SCHEMA, SCHEMA, document)
    assert [result["ruleId"] for result in document["runs"][0]["results"]] == failures
    return failures


def test_the_example(job):
    """It holds; with a leak it fails, and says where; against a baseline, too."""
    source = job.folder.parent / "examples" / "ci" / "words_test.c"
    assert job("Build the test").returncode == 0
    run = job("Run it through the gate")
    assert run.returncode == 0 and "broken" not in run.stdout and results(job.folder) == []
    assert job("Keep the recording as the next baseline").returncode == 0
    run = job("Run it through the gate", GITHUB_ACTIONS="true")
    assert run.returncode == 0 and "with 1,200 in the baseline" in run.stdout and "::" not in run.stdout

    source.write_text("#define FORGETS\n" + source.read_text())
    assert job("Build the test").returncode == 0
    line = source.read_text().splitlines().index("\twords->items[words->count++] = strndup(text, length);") + 1
    run = job("Run it through the gate", GITHUB_ACTIONS="true")
    assert run.returncode == 1
    assert results(job.folder) == ["baseline-peak", "baseline-leaked", "max-own-leaked"]
    said = [found for found in run.stdout.splitlines() if found.startswith("::")]
    assert all(found.startswith(f"::error file=examples/ci/words_test.c,line={line},title=mallow check ")
               for found in said) and len(said) == 3
    assert f"5,700 B  100 %  add_word  examples/ci/words_test.c:{line}, calling strndup\n" in run.stdout


def test_a_test_that_fails(job):
    """Its status is the gate's."""
    source = job.folder.parent / "examples" / "ci" / "words_test.c"
    source.write_text(source.read_text().replace("return 0;", "return 9;"))
    assert job("Build the test").returncode == 0
    assert job("Run it through the gate").returncode == 9
