"""The formats of `mallow check`, read by others; and names that would be commands in them."""
import re
import urllib.parse

import pytest

from gates import BROKEN, HOLDS, UNSURE, Coded, check, here, junit, killed, sarif, shop  # noqa: F401

EVIL = 'f<a, b>::operator()(int)%0A::error x="\'&\n\r]]>{0}\x1b[31m,:'
EVIL_CODE = {"main": ("main", "/src/m.c", 1), "evil": (EVIL, '/src/<&"\'>\n%41 a,b:c.c', 7)}


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil") / 'e<&"\'>,:%\n x'
    made = Coded(folder, EVIL_CODE)
    made.allocate(["main", "evil"], 100)
    made.allocate(["main"], 10)
    return made.write("r;\n$(x).mallow")


def harmless(text):
    """What a terminal would act upon is escaped."""
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text)


def test_hostile_names_in_text(check, evil):
    said = check("--max-peak", 1, evil, status=BROKEN).stdout
    assert len(said.splitlines()) == 5 and "\x1b" not in said
    assert said.splitlines()[0].startswith(harmless(str(evil)) + ": ")
    # JSON, XML and so on have the same text.
    assert harmless("/src/<&\"'>\n%41 a,b:c.c:7") in said.splitlines()[2]


def test_junit(check, shop, tmp_path):
    path = killed(tmp_path / "killed")
    words = ["--format", "junit", "--max-peak", "1K", "--max-calls", 8]
    said = check(*words, shop, path, tmp_path / "none", status=UNSURE).stdout
    suites = junit(said)
    assert [suite[0] for suite in suites] == [str(shop), str(path), str(tmp_path / "none")]
    assert [(test[0], test[1]) for test in suites[0][2]] == [("max-peak", "failure"), ("max-calls", None)]
    assert suites[0][2][0][2] == "peak 1,500 B: 476 B above the limit of 1,024 B"
    assert "cache_put  /src/shop/cache.c:10\n" in suites[0][2][0][3]
    assert [test[:3] for test in suites[1][2]][0] == (
        "incomplete", "error", "the recording is incomplete: cut short: killed or crashed")
    assert [test[:3] for test in suites[2][2]] == [
        ("incomplete", "error", "the recording could not be read")]
    said = junit(check(*words, "--allow-incomplete", path, status=BROKEN).stdout)
    assert [test[1] for test in said[0][2]] == ["skipped", "failure", None]


def test_junit_of_a_reader(check, shop, evil, tmp_path):
    """junitparser finds in the file what is in it."""
    junitparser = pytest.importorskip("junitparser")
    written = tmp_path / "results.xml"
    check("--format", "junit", "--max-peak", "1K", "--max-calls", 8, "-o", written, shop,
          killed(tmp_path / "killed"), evil, status=UNSURE)
    suites = list(junitparser.JUnitXml.fromfile(str(written)))
    assert [suite.name for suite in suites] == [harmless(str(path)) for path in (
        shop, tmp_path / "killed" / "made.mallow", evil)]
    assert [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites] == [
        (2, 1, 0, 0), (3, 1, 1, 0), (2, 0, 0, 0)]
    for suite in suites:
        cases = list(suite)
        assert len(cases) == suite.tests
        results = [result for case in cases for result in case.result]
        assert [type(result).__name__ for result in results] == \
            ["Error"] * suite.errors + ["Failure"] * suite.failures
        assert all(result.message for result in results)
        assert [case.classname for case in cases] == [suite.name] * suite.tests


def test_hostile_names_in_junit(check, evil):
    suite, = junit(check("--format", "junit", "--max-peak", 1, evil, status=BROKEN).stdout)
    assert suite[0] == harmless(str(evil))
    assert len(suite[2][0][3].strip().splitlines()) == 3
    assert harmless("/src/<&\"'>\n%41 a,b:c.c:7") in suite[2][0][3]


def test_sarif(check, here, tmp_path):
    path = killed(tmp_path / "killed")
    words = ["--format", "sarif", "--max-peak", "1K", "--max-calls", 8, "--baseline", here, "--max-growth", "1/s"]
    run = sarif(check(*words, here, path, tmp_path / "none", status=UNSURE).stdout)
    results = run["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("max-peak", "error"), ("incomplete", "error"), ("max-peak", "error"), ("incomplete", "error")]
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"file://{tmp_path}/"}}
    place = results[0]["locations"][0]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20shop/cache.c", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 20}}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "cache_get", "kind": "function"}]
    assert results[0]["relatedLocations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "cache_put"
    assert results[0]["properties"] == {"recording": str(here), "value": 1500, "limit": 1024}
    assert results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == f"file://{path}"
    assert sarif(check("--format", "sarif", "--max-peak", "1M", here, status=HOLDS).stdout)["results"] == []


def test_hostile_names_in_sarif(check, evil):
    result, = sarif(check("--format", "sarif", "--max-peak", 1, evil, status=BROKEN).stdout)["results"]
    place = result["locations"][0]
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii() and urllib.parse.unquote(urllib.parse.urlsplit(uri).path) == EVIL_CODE["evil"][1]
    assert place["logicalLocations"][0]["fullyQualifiedName"] == EVIL
    assert len(result["message"]["text"].splitlines()) == 3
    # Lone braces would be arguments.
    assert not re.search(r"[{}]", re.sub(r"\{\{|\}\}", "", result["message"]["text"]))


def annotations(text):
    """[(level, properties, message)], read as GitHub's runner reads them."""
    found = []
    for line in text.splitlines():
        level, rest = re.fullmatch(r"::(\w+) (.*)", line).groups()
        properties, message = rest.split("::", 1)
        pairs = dict(pair.split("=", 1) for pair in properties.split(","))
        found.append((level, {key: unescape(value, "%3A", "%2C") for key, value in pairs.items()},
                      unescape(message)))
    return found


def unescape(text, *more):
    for code in (*more, "%0D", "%0A", "%25"):
        text = text.replace(code, chr(int(code[1:], 16)))
    return text


def test_github(check, here, tmp_path):
    path = killed(tmp_path / "killed")
    words = ["--format", "github", "--max-peak", "1K", "--max-calls", 8]
    said = annotations(check(*words, here, path, status=UNSURE).stdout)
    assert [(level, properties) for level, properties, _ in said] == [
        ("error", {"file": "my shop/cache.c", "line": "20", "title": "mallow check max-peak"}),
        ("error", {"title": "mallow check incomplete"}),
        ("error", {"file": "/src/shop/cache.c", "line": "20", "title": "mallow check max-peak"})]
    lines = said[0][2].splitlines()
    assert lines[0] == "peak 1,500 B: 476 B above the limit of 1,024 B"
    assert lines[-1].endswith(f" report --sort peak {here}")
    said = annotations(check(*words, "--allow-incomplete", path, status=BROKEN).stdout)
    assert [level for level, _, _ in said] == ["warning", "error"]
    assert check("--format", "github", "--max-peak", "1M", here, status=HOLDS).stdout == ""


def test_hostile_names_in_annotations(check, evil):
    said = check("--format", "github", "--max-peak", 1, evil, status=BROKEN).stdout
    (level, properties, message), = annotations(said)
    assert properties == {"file": EVIL_CODE["evil"][1], "line": "7", "title": "mallow check max-peak"}
    assert len(message.splitlines()) == 4 and "\x1b" not in said


def test_into_a_file(check, shop, tmp_path):
    """The job's log still has a line."""
    file = tmp_path / "out.xml"
    said = check("--format", "junit", "-o", file, "--max-peak", "1K", "--max-calls", 8, shop, status=BROKEN)
    assert (said.stdout, said.stderr) == ("", f"mallow: 1 of 2 limits broken: see '{file}'\n")
    assert len(junit(file.read_text())) == 1
    said = check("--format", "junit", "-o", file, "--max-calls", 8, shop, status=HOLDS)
    assert (said.stdout, said.stderr) == ("", "")
    said = check("-o", tmp_path / "none" / "x", "--max-calls", 8, shop, status=UNSURE)
    assert "cannot write" in said.stderr
