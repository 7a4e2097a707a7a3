"""The benchmark itself: one tiny program through all of it. No time is judged, only whether the
table says what was measured, and whether a run that goes wrong is refused."""
import json
import os
import re
import statistics
import subprocess
import sys

import pytest

from conftest import TOP, clean_environment, need

sys.path.insert(0, str(TOP / "bench"))
import figures  # noqa: E402
import measuring  # noqa: E402
import profilers  # noqa: E402
import rounds  # noqa: E402
import workloads  # noqa: E402
from place import Place  # noqa: E402

ROUNDS, PAIRS = 2, 20000


@pytest.fixture(scope="module")
def result(mallow, tmp_path_factory):
    """(lines of the table, every sample) of the tiny program."""
    need("heaptrack")
    folder = tmp_path_factory.mktemp("bench")
    run = subprocess.Popen(
        ["/usr/bin/python3", TOP / "bench" / "run.py", "--only", "tiny", "--rounds", str(ROUNDS),
         "--tools", "bare,mallow,heaptrack", "--no-micro", "-o", folder / "text",
         "--json", folder / "json"],
        env=clean_environment({"MALLOW": mallow}), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert output == (folder / "text").read_text()
    assert not list((TOP / "build" / "bench").glob(f"run-{run.pid}-*")), "left behind"
    return output.splitlines(), json.loads((folder / "json").read_text())


def cells(lines, title):
    """The cells of the row `tiny` in the table with that title, by column."""
    start = next(i for i, line in enumerate(lines) if line.startswith(title))
    header = next(i for i in range(start, len(lines)) if not lines[i]) + 1
    row = next(line for line in lines[header:] if line.startswith("tiny "))
    columns = re.split(r"\s{2,}", lines[header].strip())
    return dict(zip(columns, re.split(r"\s{2,}", row.strip())[1:]))


def test_every_run_is_there(result):
    lines, data = result
    assert data["failures"] == {}
    samples = data["samples"]["tiny"]
    assert set(samples) == {"bare", "mallow", "finish", "heaptrack"}
    for runs in samples.values():
        assert len(runs) == ROUNDS
        for run in runs:
            assert run["cpu"] == pytest.approx(run["user"] + run["system"])
            assert run["peak"] > 100_000
    assert all(PAIRS <= run["allocations"] <= PAIRS + 20 for run in
               samples["mallow"] + samples["finish"] + samples["heaptrack"])
    for run in samples["mallow"] + samples["finish"]:
        assert run["events"] >= 2 * PAIRS and run["size"] > 0


def test_table_says_what_was_measured(result):
    lines, data = result
    samples = data["samples"]["tiny"]
    titles = {"bare": "bare", "mallow": "mallow", "finish": "mallow run", "heaptrack": "heaptrack"}
    for title, field in (("CPU seconds", "cpu"), ("Wall seconds", "wall")):
        row = cells(lines, title)
        for name, column in titles.items():
            values = [run[field] for run in samples[name]]
            assert row[column] == f"{min(values):.2f}/{statistics.median(values):.2f}"
    added = cells(lines, "ns of CPU")
    lowest = {name: min(run["cpu"] for run in runs) for name, runs in samples.items()}
    expected = (lowest["heaptrack"] - lowest["bare"]) / samples["mallow"][0]["allocations"] * 1e9
    assert added["heaptrack"] == f"{expected:.0f}"
    files = cells(lines, "Files in MB")
    run = samples["mallow"][0]
    assert files["an event"] != "-" and files["recording"] == f"{run['size'] / 1e6:.1f}"


def test_shape(result):
    lines, _ = result
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("mallow benchmark, 20")
    head = {line.split()[0] for line in lines[1:12] if line and line[0] != " "}
    assert {"machine", "versions", "rounds"} <= head
    assert not [line for line in lines if "FAILED" in line]


def cell_of(samples):
    return [measuring.Sample(user=cpu, system=0, wall=cpu, peak=1, allocations=1000)
            for cpu in samples]


def test_figures():
    tiny = next(workload for workload in workloads.WORKLOADS if workload.name == "tiny")
    tiny.counts, counted = True, tiny.counts
    try:
        results = rounds.Results([tiny], [])
        cellsof = results.samples["tiny"]
        cellsof["bare"], cellsof["mallow"] = cell_of([2, 1, 3]), cell_of([1.5, 2.5, 4])
        cellsof["heaptrack"] = cell_of([5, 6, 9])
        assert figures.added(results, "tiny", "mallow") == pytest.approx(0.5)
        assert figures.slowdown(results, "tiny", "mallow", statistics.median) == pytest.approx(1.25)
        assert figures.share(results, "tiny", "mallow") == pytest.approx(0.5 / 4)
        assert figures.mean_share(results, "mallow") == pytest.approx(0.5 / 4)
        assert figures.ns_per_allocation(results, "tiny", "heaptrack") == pytest.approx(4e6)
        # What costs nothing within the noise has no share; a failed cell has no figures at all.
        cellsof["mallow"] = cell_of([0.9])
        assert figures.share(results, "tiny", "mallow") is None
        results.fail("tiny", "heaptrack", "why")
        assert figures.added(results, "tiny", "heaptrack") is None
    finally:
        tiny.counts = counted


def one_run(command, **fields):
    workload = workloads.Workload("one", "", lambda place, folder: command, **fields)
    return measuring.run_once(Place(), workload, profilers.Bare(Place()))


def test_what_outlives_the_command_is_counted(tmp_path):
    script = ("/usr/bin/python3 -c 'sum(range(3000000)); open(\"done\", \"w\")' & exit 0")
    place = Place()
    used, _ = measuring.use_of(place, ["sh", "-c", script], measuring.clean_environment({}),
                               tmp_path, tmp_path / "out", tmp_path / "err")
    assert (tmp_path / "done").exists()
    assert used["reaped"] == 2 and used["status"] == 0 and used["user"] > 0


def test_wrong_runs_are_refused():
    with pytest.raises(profilers.BenchError, match="status 3"):
        one_run(["sh", "-c", "echo out; exit 3"])
    with pytest.raises(profilers.BenchError, match="status 139"):
        one_run(["sh", "-c", "kill -SEGV $$"])
    _, bare = one_run(["echo", "one"])
    _, other = one_run(["echo", "two"])
    _, more = one_run(["printf", "chatter\none\nchatter\n"])
    _, none = one_run(["true"])
    place = Place()
    workload = workloads.Workload("one", "", None)
    own, talks = profilers.Bare(place), profilers.Heaptrack(place)
    measuring.check_same(workload, own, bare, bare)
    measuring.check_same(workload, talks, more, bare)
    for profiler, found, expected in ((own, other, bare), (own, more, bare), (talks, other, bare),
                                      (own, none, bare), (own, none, none)):
        with pytest.raises(profilers.BenchError):
            measuring.check_same(workload, profiler, found, expected)


def test_missing_results_are_refused():
    _, bare = one_run(["sh", "-c", "echo text > made"], files=("made",))
    _, other = one_run(["sh", "-c", "echo other > made"], files=("made",))
    _, none = one_run(["true"], files=("made",))
    place = Place()
    workload = workloads.Workload("one", "", None, files=("made",))
    measuring.check_same(workload, profilers.Bare(place), bare, bare)
    for found, expected in ((other, bare), (none, bare), (none, none)):
        with pytest.raises(profilers.BenchError):
            measuring.check_same(workload, profilers.Bare(place), found, expected)


def test_unknown_words():
    for words, message in ((["--only", "nothing"], "no workload nothing"),
                           (["--tools", "nothing"], "no tool nothing")):
        run = subprocess.run(["/usr/bin/python3", TOP / "bench" / "run.py", *words],
                             capture_output=True, text=True, env=clean_environment())
        assert run.returncode == 1 and message in run.stderr


def test_workloads_have_their_sources(tmp_path):
    place = Place()
    sources = [word for workload in workloads.WORKLOADS if workload.name != "git"
               for word in map(str, workload.command(place, tmp_path))
               if str(workloads.SOURCES) in word]
    assert len(sources) >= 5
    for word in sources:
        assert os.path.exists(word.split()[-1]), word
