"""mallow serve: all processes of a run as one, `<id>.all`, against what `mallow report --merge` says."""
import csv
import io
import json
import shutil

import pytest

from servers import serve, until  # noqa: F401


@pytest.fixture
def family(tool, compile_sample, tmp_path):
    """A shell and what it started."""
    tool("run", "-o", tmp_path / "run.mallow", "--", "sh", "-c", f"{compile_sample('totals')}; true", check=False)
    paths = sorted(tmp_path.glob("run.mallow*"))
    assert len(paths) >= 2
    return paths


def merged(tool, paths, *options):
    return tool("report", "--merge", *options, *paths).stdout


def test_the_sums_are_those_of_the_command_line(serve, tool, family):  # noqa: F811
    server = serve(*family)
    whole = json.loads(merged(tool, family, "--json"))
    ids = [one["id"] for one in server.json("/list")]
    for identity in ids + ["last"]:  # of whichever process
        data = f"/data/{identity}.all"
        sums = server.json(f"{data}/summary")
        assert not sums["has_blocks"]
        for name in ("calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes", "temporary"):
            assert sums["all"][name] == sums["matched"][name] == whole[name]
    for metric, field in (("peak", "peak_bytes"), ("leaked", "leaked_bytes"), ("calls", "calls")):
        assert server.json(f"{data}/flame", metric=metric)["bytes"][0] == whole[field]
    table = server.json(f"{data}/sums", by="function", spark=4, shapes="true", chains="true")
    assert (table["all"]["bytes"], table["all"]["leaked"]) == (whole["peak_bytes"], whole["leaked_bytes"])
    assert table["shapes"] is table["chains"] is None and table["curve"] == [] and set(table["growth"]) == {0}
    rows = csv.DictReader(io.StringIO(merged(tool, family, "--csv", "--by", "function")))
    assert sum(int(row["total_self_bytes" if "total_self_bytes" in row else "total_bytes"]) for row in rows) \
        == table["all"]["total"]
    assert server.text(f"{data}/export/csv").splitlines() == merged(tool, family, "--csv").splitlines()


def test_what_it_does_not_have(serve, family):  # noqa: F811
    server = serve(*family)
    for path in ("allocations", "space", "series", "maps", "timeline", "sums?size_min=1", "flame?alive_at=peak",
                 "flame?b.to=1s", "summary?b.id=last"):
        assert server.refused(f"/data/last.all/{path}").startswith("several recordings as one (….all) have sums")
    for by in ("thread", "size", "function,lifetime"):
        assert server.refused(f"/data/last.all/sums?by={by}").startswith("invalid 'by': several recordings as one")
    for wrong in (".all", "x.all", "last.al", "last.all.all"):
        server.refused(f"/data/{wrong}/summary", 404)


def test_one_that_is_gone_is_left_out(serve, tool, family):  # noqa: F811
    server = serve(*family)
    family[-1].unlink()
    assert server.json("/data/last.all/summary")["all"]["calls"] == json.loads(merged(tool, family[:-1], "--json"))["calls"]


def test_a_recording_that_comes_later(serve, tool, family, tmp_path):  # noqa: F811
    """A family is merged again when another of its recordings is there."""
    folder = tmp_path / "served"
    folder.mkdir()
    root, *others = family
    shutil.copy(root, folder)
    server = serve(folder)
    before = server.json("/data/last.all/summary")["all"]["calls"]
    identity = server.json("/list")[0]["id"]
    for path in others:
        shutil.copy(path, folder)
    wanted = json.loads(merged(tool, family, "--json"))["calls"]
    until(lambda: server.json(f"/data/{identity}.all/summary")["all"]["calls"] == wanted > before)
