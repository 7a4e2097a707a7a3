"""What tests of `mallow check` share: a recording whose sums are known, and readers of the formats."""
import os
import xml.etree.ElementTree

import pytest

import json_schema
from made_recording import Made
from recording_writer import symbols_chunk
from sarif_schema import SCHEMA

HOLDS, BROKEN, USAGE, UNSURE = 0, 1, 2, 3


class Coded(Made):
    """A recording that has the names of its functions: {label: (function, file, line)}."""

    def __init__(self, folder, code, **facts):
        folder.mkdir(exist_ok=True)
        self.code = code
        super().__init__(folder, list(code), **facts)

    def write(self, name="made.mallow", end=True):
        self.writer.add(symbols_chunk([(os.fsencode(self.program), {
            self.addresses[label] + 4: [(*where, 0)] for label, where in self.code.items()})]))
        return super().write(name, end)


CODE = {"main": ("main", "/src/shop/main.c", 3), "put": ("cache_put", "/src/shop/cache.c", 10),
        "get": ("cache_get", "/src/shop/cache.c", 20), "churn": ("churn", None, 0)}


def fill(made):
    """8 calls, 4 of them temporary; 1500 bytes at the peak, of which 700 are never freed."""
    made.allocate(["main", "put"], 300)
    made.allocate(["main", "put"], 300)
    block = made.allocate(["main", "get"], 800)
    made.allocate(["main", "get"], 100)
    made.free(block)
    for _ in range(3):
        made.free(made.allocate(["main", "churn"], 50))
    made.free(made.allocate(["main", "get"], 0))
    return made


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return fill(Coded(tmp_path_factory.mktemp("shop"), CODE)).write()


@pytest.fixture
def here(tmp_path):
    """The same; the sources are below the directory where `mallow check` runs."""
    code = {label: (name, file and file.replace("/src/shop", f"{tmp_path}/my shop"), line)
            for label, (name, file, line) in CODE.items()}
    return fill(Coded(tmp_path / "here", code)).write()


@pytest.fixture
def check(tool, tmp_path):
    """check(option, …): the run; it has no error of its own."""
    def run(*words, status=None, **options):
        result = tool("check", *words, check=False, **{"cwd": tmp_path, **options})
        if status is not None:
            assert result.returncode == status, (result.stdout, result.stderr)
        return result
    return run


def killed(folder):
    return fill(Coded(folder, CODE, state=0, pid=2 ** 22 + 1)).write(end=False)


def junit(text):
    """[(suite, its counts, [(test, outcome, message, text)])]; members as Jenkins' schema has them."""
    root = xml.etree.ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites" and not root.attrib
    suites = []
    for suite in root:
        assert suite.tag == "testsuite"
        assert list(suite.attrib) == ["name", "tests", "failures", "errors", "skipped", "time"]
        tests = []
        for case in suite:
            assert case.tag == "testcase" and list(case.attrib) == ["name", "classname", "time"]
            assert case.attrib["classname"] == suite.attrib["name"] and len(case) <= 1
            outcome = case[0] if len(case) else None
            assert outcome is None or outcome.tag in ("failure", "error", "skipped")
            assert outcome is None or set(outcome.attrib) - {"type"} == {"message"}
            tests.append((case.attrib["name"], outcome if outcome is None else outcome.tag,
                          outcome if outcome is None else outcome.attrib["message"],
                          "" if outcome is None else outcome.text or ""))
        counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
        outcomes = [test[1] for test in tests]
        assert counts == {"tests": len(tests), "failures": outcomes.count("failure"),
                          "errors": outcomes.count("error"), "skipped": outcomes.count("skipped")}
        suites.append((suite.attrib["name"], counts, tests))
    return suites


def sarif(text):
    document = json_schema.parse(text)
    json_schema.check(SCHEMA, SCHEMA, document)
    run, = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert {result["ruleId"] for result in run["results"]} <= set(rules)
    return run
