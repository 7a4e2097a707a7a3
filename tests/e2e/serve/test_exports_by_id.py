"""/export/pprof, /export/collapsed and /export/svg by id: the bytes that the commands write."""
import csv
import io
import json
import re
import subprocess

import pytest

import pprof_reader
from conftest import clean_environment
from servers import serve  # noqa: F401

FILTERS = [{}, {"size_min": "300"}, {"lifetime": "only_leaked", "function_regex": "kept"},
           {"alive_at": "peak"}, {"size_min": "64G"}]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """What is freed, and what is not, on several stacks."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "p.c").write_text("""
#include <stdlib.h>
__attribute__((noinline)) static void *kept(int n) { void *p = malloc(100 + n); __asm__("" : "+r"(p)); return p; }
__attribute__((noinline)) static void lost(int n) { void *p = malloc(700 + n); __asm__("" : "+r"(p)); free(p); }
int main(void) { for (int i = 0; i < 400; i++) { kept(i); lost(i); } return 0; }
""")

    subprocess.run(["gcc", "-g", "-O1", "-o", folder / "p", folder / "p.c"], check=True)
    return folder


@pytest.fixture(scope="module", params=["finished", "unfinished"])
def recording(request, tool, program):
    path = program / f"{request.param}.mallow"
    more = [] if request.param == "finished" else ["--no-finish"]
    tool("run", *more, "-o", path, "--", program / "p")
    return path


def options(conditions):
    return [word for name, value in conditions.items() for word in (f"--{name.replace('_', '-')}", value)]


@pytest.mark.parametrize("conditions", FILTERS, ids=str)
def test_same_bytes_as_the_commands(serve, tool, recording, conditions):  # noqa: F811
    server = serve(recording)

    def asked(name, **more):
        query = "&".join(f"{key}={value}" for key, value in {**conditions, **more}.items())
        status, _, body = server.request(f"/data/last/export/{name}?{query}")
        assert status == 200, body
        return body

    def written(*words):
        return subprocess.run([tool.path, *words, *options(conditions), recording], check=True, capture_output=True,
                              env=clean_environment()).stdout

    for metric in ("peak", "leaked", "total", "calls", "temporary"):
        assert asked("collapsed", metric=metric) == written("export", "--to", "collapsed", "--metric", metric)
        assert asked("svg", metric=metric) == written("export", "--to", "flamegraph", "--metric", metric)
        assert asked("csv", metric=metric) == written("report", "--csv", "--sort", metric)
        assert asked("csv", metric=metric) == written("export", "--to", "csv", "--metric", metric)
        assert asked("speedscope", metric=metric) == written("export", "--to", "speedscope", "--metric", metric)
    assert asked("csv/sites.csv") == asked("csv")
    for form in ("pprof", "firefox", "massif", "callgrind", "dhat"):
        assert asked(form) == written("export", "--to", form)


def test_a_difference_has_both_sides(serve, tool, recording, program):  # noqa: F811
    """Of two moments and of two recordings: the picture that the command draws."""
    other = program / "other.mallow"
    if not other.exists():
        tool("run", "-o", other, "--", program / "p")
    server = serve(recording, other)
    ids = {one["id"]: one for one in server.json("/list")}
    own, before = (tool("info", "--json", path).stdout for path in (recording, other))
    own, before = (json.loads(text)["id"] for text in (own, before))
    assert {own, before} == set(ids)

    def drawn(baseline, after, *words):
        return subprocess.run([tool.path, "export", "--to", "flamegraph", "--baseline", baseline, *words, after],
                              check=True, capture_output=True, env=clean_environment()).stdout.decode()

    svg = server.text(f"/data/{own}/export/svg?alive_at=100%25&b.alive_at=50%25&size_min=100")
    assert svg == drawn(f"{recording}@50%", f"{recording}@100%", "--size-min", "100")
    assert re.search(r"<title>.* at 50% → .* at 100%: peak</title>", svg)
    assert re.search(r'class="note".*[\d.]+ [KM]?B before, [\d.]+ [KM]?B after, [+-][\d.]+ ', svg)
    svg = server.text(f"/data/{own}/export/svg/any.svg?b.id={before}&metric=calls&show=grew")
    assert svg == drawn(other, recording, "--metric", "calls", "--show", "grew")
    # The page sends nanoseconds; people read times.
    svg = server.text(f"/data/{own}/export/svg?alive_at=peak&b.alive_at=300ns")
    assert re.search(r"<title>.* at 300 ns → .* at peak: peak</title>", svg)


def test_their_readers_read_them(serve, recording):  # noqa: F811
    server = serve(recording)
    matched = server.json("/data/last/summary", lifetime="only_leaked")["matched"]
    profile = pprof_reader.Profile(server.request("/data/last/export/pprof?lifetime=only_leaked")[2])
    assert sum(values["alloc_space"] for _, values in profile.samples) == matched["total_bytes"]
    rows = list(csv.DictReader(io.StringIO(server.text("/data/last/export/csv?lifetime=only_leaked"), newline="")))
    assert sum(int(row["leaked_bytes"]) for row in rows) == matched["leaked_bytes"]
    lines = server.text("/data/last/export/collapsed?lifetime=only_leaked&metric=leaked").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == matched["leaked_bytes"]
    assert any(";kept " in line for line in lines)


def test_wrong_metrics_are_refused(serve, recording):  # noqa: F811
    server = serve(recording)
    assert "'most' is none of peak leaked total calls temporary" in server.refused("/data/last/export/csv?metric=most")
    assert server.refused("/data/last/export/pprof?metric=peak").startswith("unknown parameter 'metric'")
