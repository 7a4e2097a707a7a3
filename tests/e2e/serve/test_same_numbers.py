"""The same thing has the same number everywhere: in the headline, the page, JSON, the curve, the flame graph."""
import json
import re
import urllib.parse

import pytest

import json_schema
from conftest import TOP
from servers import serve  # noqa: F401

PROGRAMS = {"grows": ["grows"], "large_block": ["large_block"], "temporary": ["temporary"]}


def words(text):
    return " ".join(text.split())


@pytest.fixture(params=PROGRAMS, ids=str)
def recording(request, record, compile_sample):
    program = compile_sample("stands_out", "gcc", "-O1")
    return record([program, *PROGRAMS[request.param]], check=False, settings={"MEMORY_SAMPLES": "5ms"}).path


def test_findings_of_a_finished_one(tool, serve, recording):  # noqa: F811
    """The index tells them before anybody needs blocks; they are those of the blocks."""
    tool("finish", recording)
    server = serve(recording)
    by_index = json.loads(server.text("/data/last/findings"))
    assert by_index["findings"]
    server.text("/data/last/sums?by=site")
    assert json.loads(server.text("/data/last/findings")) == by_index


def rows(tool, path):
    """The bytes of every place of the page."""
    text = tool("report", "--bytes", "--top", "0", "--width", "0", path).stdout
    table = text[text.index("\nAt the peak") + 1:].split("\n\n")[0]
    return [int(value.replace(",", "")) for value in re.findall(r"^ +([\d,]+) B ", table, re.M)]


def test_findings(tool, serve, recording):  # noqa: F811
    """Sentences, numbers, functions and stacks are those of the report."""
    server = serve(recording)
    answer = json.loads(server.text("/data/last/findings"))
    report = json.loads(tool("report", "--json", recording).stdout)
    assert {"headline", "findings", "frames", "stacks"} <= set(answer) and answer["findings"]
    schema = json.loads((TOP / "docs" / "report.schema.json").read_text())
    json_schema.check(schema, schema, report)

    def plain(said):
        """Without the numbers of stacks, which are those of the answer's own tables."""
        return [{key: value for key, value in one.items() if key != "stack"}
                for one in [said["headline"], *said["findings"]]]

    assert plain(answer) == plain(report)
    text = words(tool("report", recording).stdout)
    for sentence in (answer["headline"]["sentence"], answer["headline"]["second"],
                     *(finding["sentence"] for finding in answer["findings"][:6])):
        assert words(sentence) in text, sentence


def test_peak(tool, serve, recording):  # noqa: F811
    server = serve(recording)
    report = json.loads(tool("report", "--json", recording).stdout)
    peak = report["peak_bytes"]
    assert report["headline"]["peak_bytes"] == peak == sum(rows(tool, recording))
    assert sum(site["peak_bytes"] for site in report["sites"]) == peak
    flame = json.loads(server.text("/data/last/flame?metric=peak"))
    assert flame["bytes"][0] == peak
    for by in ("site", "function", "thread", "size", "line,lifetime"):
        sums = json.loads(server.text(f"/data/last/sums?by={by}"))
        assert (sums["all"]["bytes"], sums["at_ns"]) == (peak, report["headline"]["peak_ns"]), by
        assert sum(sums["bytes"]) == peak
    series = json.loads(server.text("/data/last/series?points=7"))
    assert series["peak"]["bytes"] == max(series["live_most"]) == peak
    assert series["peak"]["at_ns"] == report["headline"]["peak_ns"]


def test_a_moment(tool, serve, recording):  # noqa: F811
    """Curve, flame graph, space and report at the ends of seven steps."""
    server = serve(recording)
    series = json.loads(server.text("/data/last/series?points=7"))
    for at, live in zip(series["at_ns"], series["live_last"]):
        moment = urllib.parse.quote(f"{at}ns")
        flame = json.loads(server.text(f"/data/last/flame?metric=total&alive_at={moment}"))
        space = json.loads(server.text(f"/data/last/space?at={moment}"))
        sums = json.loads(server.text(f"/data/last/sums?by=function&alive_at={moment}"))
        assert sum(sums["bytes"]) == sum(sums["total"]) == sums["all"]["bytes"] == live
        report = json.loads(tool("report", "--json", "--at", f"{at}ns", recording).stdout)
        assert flame["bytes"][0] == space["used"] == report["peak_bytes"] == live, at


def test_sums(tool, serve, recording):  # noqa: F811
    """Tables by a key are those of the report; the sums of other metrics are the flame graph's."""
    server = serve(recording)
    fields = {"bytes": "peak_bytes", "blocks": "peak_blocks", "leaked": "leaked_bytes", "total": "total_bytes",
              "calls": "calls", "temporary": "temporary"}
    for by in ("function", "file", "line", "module"):
        report = json.loads(tool("report", "--json", "--by", by, "--top", "0", recording).stdout)
        for inclusive in ("false", "true"):
            sums = json.loads(server.text(f"/data/last/sums?by={by}&inclusive={inclusive}"))
            names = [sums["keys"][0]["name"][key] for key in sums["key"]]
            rows = {name: {field: sums[field][i] for field in fields} for i, name in enumerate(names)}
            wanted = {row["name"]: row["inclusive"] if inclusive == "true" else row for row in report["rows"]}
            assert rows == {name: {field: row[word] for field, word in fields.items()}
                            for name, row in wanted.items() if row["calls"]}, by
    sums = json.loads(server.text("/data/last/sums?by=thread,size"))
    for metric in ("total", "calls", "temporary", "leaked", "slack"):
        flame = json.loads(server.text(f"/data/last/flame?metric={metric}"))
        assert flame["bytes"][0] == sums["all"][metric] == sum(sums[metric]), metric
