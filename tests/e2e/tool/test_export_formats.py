"""`mallow export --to speedscope, firefox, massif, callgrind, dhat and csv`: what their own readers make of them is
what mallow's reports say."""
import csv
import gzip
import io
import json
import pathlib
import re
import subprocess

import pytest

import browser
import report_json
from conftest import clean_environment, need
from export_readers import EVENTS, Massif, Profile, annotated, collapsed, node_module, profiler
from made_live import MadeLive
from made_recording import Made

METRICS = {"peak": "peak_bytes", "leaked": "leaked_bytes", "total": "total_bytes", "calls": "calls", "temporary": "temporary"}
FORMATS = ["speedscope", "firefox", "massif", "callgrind", "dhat", "csv"]
START = ["_start", "__libc_start_call_main", "main"]
CONDITIONS = [[], ["--size-min", "300"], ["--lifetime", "only_leaked"], ["--at", "50%"], ["--size-min", "64G"]]

# Recursion, also of two functions; what is freed at once, late and never; blocks of no size; a library's frames.
SOURCE = """
#include <pthread.h>
#include <stdlib.h>
#define APART __attribute__((noinline))
static void *kept[1000];
APART static void *leaf(int n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
APART static void *deep(int d, int n) { void *p = d ? deep(d - 1, n) : leaf(n); __asm__("" : "+r"(p)); return p; }
APART static void lost(int n) { void *p = leaf(700 + n); __asm__("" : "+r"(p)); free(p); }
APART static void pong(int d);
APART static void ping(int d) { void *p = malloc(16); __asm__("" : "+r"(p)); if (d) pong(d - 1); free(p); }
APART static void pong(int d) { void *p = malloc(32); __asm__("" : "+r"(p)); if (d) ping(d - 1); free(p); }
static int compare(const void *a, const void *b) { lost(1); return *(int *)a - *(int *)b; }
static void *thread(void *unused) { free(kept[0]); kept[0] = NULL; return leaf(5000); }
int main(void)
{
	int numbers[] = {3, 1, 2};
	pthread_t other;
	for (int i = 0; i < 400; i++) { kept[i] = leaf(100 + i); lost(i); }
	for (int i = 0; i < 100; i++) kept[400 + i] = deep(5, 1000);
	ping(6);
	qsort(numbers, 3, sizeof(*numbers), compare);
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	for (int i = 100; i < 500; i++) free(kept[i]);
	void *volatile none = malloc(0); (void)none;
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    (folder / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", folder / "p", folder / "p.c"], check=True)
    return folder / "p"


@pytest.fixture(scope="module", params=["finished", pytest.param("unfinished", marks=pytest.mark.long)])
def recording(request, tool, program):
    path = program.with_name(f"{request.param}.mallow")
    tool("run", *([] if request.param == "finished" else ["--no-finish"]), "-o", path, "--", program)
    return path


def export(tool, path, form, *options, check=True):
    run = tool("export", "--to", form, *options, path, check=check)
    return run.stdout if check else run


def report(tool, path, *options):
    return report_json.load(tool("report", "--json", "--top", "100000", *options, path).stdout)


def total_of(form, text):
    """(bytes in all, bytes at the peak, bytes never freed) of a file; None: it does not have them."""
    if form == "speedscope":
        ends = {profile["name"]: profile["endValue"] for profile in json.loads(text)["profiles"]}
        return ends["total"], ends["peak"], ends["leaked"]
    if form == "firefox":
        profile = Profile(text)
        return (sum(size for size in profile.allocations["weight"] if size > 0), max(now for _, now in profile.curve()),
                sum(profile.retained().values()))
    if form == "massif":
        snapshots = Massif(text).snapshots
        peak, = (snapshot for snapshot in snapshots if snapshot["heap_tree"] == "peak")
        return None, peak["mem_heap_B"], snapshots[-1]["mem_heap_B"]
    if form == "callgrind":
        summary = next(line for line in text.splitlines() if line.startswith("summary: ")).split()[1:]
        assert f"totals: {' '.join(summary)}\n" in text
        return int(summary[0]), int(summary[2]), int(summary[4])
    if form == "dhat":
        points = json.loads(text)["pps"]
        return tuple(sum(point[field] for point in points) for field in ("tb", "gb", "eb"))
    rows = list(csv.DictReader(io.StringIO(text)))
    return tuple(sum(int(row[field]) for row in rows) for field in ("total_bytes", "peak_bytes", "leaked_bytes"))


def assert_totals(form, text, said):
    found = total_of(form, text)
    wanted = said["total_bytes"], said["peak_bytes"], said["leaked_bytes"]
    assert [(got, want) for got, want in zip(found, wanted) if got not in (None, want)] == [], form


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("conditions", CONDITIONS, ids=" ".join)
def test_totals_are_those_of_the_report(tool, recording, form, conditions):
    assert_totals(form, export(tool, recording, form, *conditions), report(tool, recording, *conditions))


def test_a_moment_and_a_compressed_file(tool, recording, tmp_path):
    for form in FORMATS:
        tool("export", "--to", form, "-o", tmp_path / "out.gz", f"{recording}@50%")
        text = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().replace("\r\n", "\n")
        assert text == export(tool, recording, form, "--at", "50%")


# --- speedscope ---

def lines_of(text):
    return {stack: int(weight) for stack, _, weight in (line.rpartition(" ") for line in text.splitlines())}


@pytest.mark.parametrize("fold", [[], ["--fold"]], ids=["whole", "folded"])
def test_speedscope(tool, recording, fold):
    """Each profile has the stacks that collapsed stacks of its metric have."""
    whole = json.loads(export(tool, recording, "speedscope", "--metric", "total", *fold))
    assert [profile["name"] for profile in whole["profiles"]] == list(METRICS)
    assert whole["profiles"][whole["activeProfileIndex"]]["name"] == "total"
    for profile in whole["profiles"]:
        lines = export(tool, recording, "collapsed", "--metric", profile["name"], *fold)
        assert collapsed(profile, whole["shared"]["frames"]) == lines_of(lines)
        assert profile["endValue"] == sum(profile["weights"]) and profile["startValue"] == 0
        assert profile["unit"] == ("none" if profile["name"] in ("calls", "temporary") else "bytes")
    leaf = next(frame for frame in whole["shared"]["frames"] if frame["name"] == "leaf")
    assert leaf["file"].endswith("p.c") and leaf["line"] == 6


def test_speedscope_schema(tool, recording):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(node_module("speedscope/dist/release/file-format-schema.json").read_text())
    validator = jsonschema.Draft7Validator({"$ref": "#/definitions/FileFormat.File", **schema})
    whole = json.loads(export(tool, recording, "speedscope"))
    assert list(validator.iter_errors(whole)) == []
    whole["profiles"][0]["unit"] = "furlongs"
    assert list(validator.iter_errors(whole))


@pytest.mark.long
def test_speedscope_itself(tool, recording, tmp_path, chromium):
    """Its page, which the package has, draws the file."""
    page = node_module("speedscope/dist/release/index.html")
    tool("export", "--to", "speedscope", "-o", tmp_path / "out.speedscope.json", recording)
    assert "peak (1/5)" in opened(chromium, page, tmp_path / "out.speedscope.json", "peak (1/5)")


@pytest.mark.parametrize("nodes", [1, 4, 9])
def test_speedscope_of_few_nodes(tool, recording, nodes):
    """What has no place is in a frame that says so, and sums stay whole."""
    run = export(tool, recording, "speedscope", "--nodes", nodes, check=False)
    said, whole = report(tool, recording), json.loads(run.stdout)
    frames = whole["shared"]["frames"]
    for profile in whole["profiles"]:
        assert profile["endValue"] == said[METRICS[profile["name"]]]
        paths = {tuple(sample[:depth]) for sample in profile["samples"] for depth in range(1, len(sample) + 1)}
        names = [frames[path[-1]]["name"] for path in paths]
        kept = [name for name in names if name != f"[all else, folded by --nodes {nodes}]"]
        assert len(kept) <= nodes and len(kept) < len(names)
    assert run.returncode == 0 and f"of each metric {nodes} nodes" in run.stderr and run.stderr.count("\n") == 1


# --- callgrind ---

@pytest.mark.parametrize("fold", [[], ["--fold"]], ids=["whole", "folded"])
def test_callgrind_annotate(tool, recording, tmp_path, fold):
    """Of each function all that it and what it called allocated, also where it calls itself."""
    need("callgrind_annotate")
    tool("export", "--to", "callgrind", *fold, "-o", tmp_path / "out", recording)
    said, found = report(tool, recording), annotated(tmp_path / "out")
    assert found.pop("") == {event: said[field] for event, field in EVENTS.items() if field in said} | {
        event: sum(site[field] for site in said["sites"]) for event, field in EVENTS.items()}
    for name in ("main", "leaf", "deep", "lost", "ping", "pong"):
        sums = {event: sum(site[field] for site in said["sites"] if name in [frame["function"] for frame in site["stack"]])
                for event, field in EVENTS.items()}
        assert found[name] == sums, name
    assert found["deep'6"]["Allocations"] == 100 and "deep'7" not in found
    assert ("__libc_start_main" in " ".join(found)) == (not fold)


def test_callgrind_annotates_the_source(tool, recording, tmp_path):
    need("callgrind_annotate")
    tool("export", "--to", "callgrind", "-o", tmp_path / "out", recording)
    run = subprocess.run(["callgrind_annotate", "--auto=yes", "--threshold=100", tmp_path / "out"], capture_output=True, text=True,
                         check=True, cwd="/", env=clean_environment())
    line = next(line for line in run.stdout.splitlines() if line.endswith('leaf(int n) { void *p = malloc(n); '
                                                                          '__asm__("" : "+r"(p)); return p; }'))
    assert int(line.split()[0].replace(",", "")) == sum(
        site["total_bytes"] for site in report(tool, recording)["sites"] if site["stack"][0]["function"] == "leaf")


# --- massif ---

def assert_tree(node):
    size, text, children = node
    assert sum(child[0] for child in children) <= size, text
    for child in children:
        assert_tree(child)


def test_massif(tool, recording, tmp_path):
    tool("export", "--to", "massif", "-o", tmp_path / "out", recording)
    said, massif = report(tool, recording), Massif((tmp_path / "out").read_text())
    assert 3 < len(massif.snapshots) <= 100
    assert [snapshot["snapshot"] for snapshot in massif.snapshots] == list(range(len(massif.snapshots)))
    times = [snapshot["time"] for snapshot in massif.snapshots]
    assert times == sorted(times) and times[-1] == int(said["duration_s"] * 1000 + 1e-6)
    peak = next(snapshot for snapshot in massif.snapshots if snapshot["heap_tree"] == "peak")
    last = massif.snapshots[-1]
    for snapshot, field in (peak, "peak_bytes"), (last, "leaked_bytes"):
        assert snapshot["tree"][0] == snapshot["mem_heap_B"] == said[field]
        assert sum(child[0] for child in snapshot["tree"][2]) == said[field]
        assert_tree(snapshot["tree"])
        assert snapshot["mem_heap_extra_B"] > 0
    leaf = peak["tree"][2][0]
    assert leaf[1].endswith(": leaf (p.c:6)")
    assert leaf[0] == sum(site["peak_bytes"] for site in said["sites"] if site["stack"][0]["function"] == "leaf")
    assert re.fullmatch(r"in (1 place,|\d+ places, all) below massif's threshold \(1\.00%\)", peak["tree"][2][-1][1])
    assert max(snapshot["mem_heap_B"] for snapshot in massif.snapshots) == said["peak_bytes"]


def test_ms_print(tool, recording, tmp_path):
    need("ms_print")
    tool("export", "--to", "massif", "-o", tmp_path / "out", recording)
    run = subprocess.run(["ms_print", tmp_path / "out"], capture_output=True, text=True, check=True, env=clean_environment())
    assert run.stderr == "" and run.stdout.count("(peak)") == 1
    assert "leaf (p.c:6)" in run.stdout and "Number of snapshots: " in run.stdout


# --- DHAT ---

def lives(tool, recording):
    """{innermost function and line: [nanoseconds of all blocks' lives, blocks at the most bytes]} of single blocks."""
    duration = round(report(tool, recording)["duration_s"] * 1e9)
    rows = list(csv.DictReader(io.StringIO(export(tool, recording, "csv", "--blocks"))))
    found = {}
    for row in rows:
        end = int(row["freed_ns"] or duration)
        found[row["backtrace_id"]] = found.get(row["backtrace_id"], 0) + end - int(row["allocated_ns"])
    return sorted(found.values())


def test_dhat(tool, recording):
    said, whole = report(tool, recording), json.loads(export(tool, recording, "dhat"))
    assert (whole["dhatFileVersion"], whole["mode"], whole["bklt"], whole["bkacc"]) == (2, "heap", True, False)
    assert whole["ftbl"][0] == "[root]" and whole["te"] == int(said["duration_s"] * 1e6 + 1e-3)
    assert whole["tg"] == int(said["peak_time_s"] * 1e6 + 1e-3)
    fields = {"tb": "total_bytes", "tbk": "calls", "mb": "own_peak_bytes", "gb": "peak_bytes", "gbk": "peak_blocks",
              "eb": "leaked_bytes", "ebk": "leaked_blocks"}
    stacks = [tuple(whole["ftbl"][number].split(": ")[1].rpartition(" (")[0] for number in point["fs"]) for point in whole["pps"]]
    assert sorted((*(point[field] for field in fields), stack) for point, stack in zip(whole["pps"], stacks)) == sorted(
        (*(site[field] for field in fields.values()), tuple(frame["function"] for frame in site["stack"]))
        for site in said["sites"])
    assert len({tuple(point["fs"]) for point in whole["pps"]}) == len(whole["pps"])
    own, theirs = sorted(point["tl"] for point in whole["pps"]), lives(tool, recording)
    assert all(abs(ours - other / 1000) <= 1000 for ours, other in zip(own, theirs, strict=True))
    deep = next(point for point, stack in zip(whole["pps"], stacks) if "deep" in stack)
    lost = next(point for point, stack in zip(whole["pps"], stacks) if stack[1:3] == ("lost", "main"))
    assert (deep["mb"], deep["mbk"], lost["mb"], lost["mbk"]) == (100_000, 100, 1099, 1)


DH_VIEW = {"Total": "total_bytes", "At t-gmax": "peak_bytes", "At t-end": "leaked_bytes"}


@pytest.fixture
def chromium(tmp_path):
    need("chromium")
    driver = browser.start(tmp_path / "profile", logs=False)
    yield driver
    driver.quit()


def opened(driver, page, path, text):
    """What a page says of a file that it was given."""
    driver.get(f"file://{page}")
    driver.find_element("css selector", "input[type=file]").send_keys(str(path))
    for _ in range(200):
        shown = driver.execute_script("return document.body.innerText")
        if text in shown or "Error" in shown:
            return shown
        driver.execute_async_script("setTimeout(arguments[0], 50)")
    raise AssertionError(shown)


@pytest.mark.long
@pytest.mark.parametrize("merged", [False, True], ids=["one", "merged"])
def test_dh_view(tool, recording, two, tmp_path, chromium, merged):
    page = pathlib.Path("/usr/libexec/valgrind/dh_view.html")
    if not page.exists():
        pytest.skip("valgrind is not installed")
    source = [two, "--merge"] if merged else [recording]
    tool("export", "--to", "dhat", "-o", tmp_path / "out.json", *source)
    said, shown = report(tool, *source), opened(chromium, page, tmp_path / "out.json", "At t-end")
    for name, field in DH_VIEW.items():
        assert re.search(rf"{name}: +{said[field]:,} bytes", shown), shown[:3000]


@pytest.mark.long
def test_massif_visualizer(tool, recording, tmp_path):
    tool("export", "--to", "massif", "-o", tmp_path / "out", recording)
    massif = Massif((tmp_path / "out").read_text())
    peak = next(snapshot for snapshot in massif.snapshots if snapshot["heap_tree"] == "peak")
    said = of_window("massif-visualizer", tmp_path, "out")
    assert f"snapshots: {len(massif.snapshots)}\n" in said and f"peak: snapshot # {peak['snapshot']} " in said
    assert f'peak cost: "{peak["mem_heap_B"] / 1024:.1f} KiB"' in said and "invalid" not in said
    (tmp_path / "bad").write_text((tmp_path / "out").read_text()[:300])
    assert "invalid line" in of_window("massif-visualizer", tmp_path, "bad")


@pytest.mark.long
def test_kcachegrind(tool, recording, tmp_path):
    tool("export", "--to", "callgrind", "-o", tmp_path / "out", recording)
    assert 'Selected  "' in of_window("kcachegrind", tmp_path, "out")
    (tmp_path / "bad").write_text("bad\n")
    assert "Selected" not in of_window("kcachegrind", tmp_path, "bad")


def of_window(program, folder, path):
    """What a program of KDE's says while its window is open, which is as long as it is let."""
    environment = {"QT_QPA_PLATFORM": "offscreen", "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    run = subprocess.run(["timeout", "8", need("dbus-run-session"), need(program), path], cwd=folder, capture_output=True,
                         text=True, env=clean_environment(environment))
    assert run.returncode == 124, run.stdout + run.stderr
    return run.stdout + run.stderr


# --- Firefox Profiler ---

def test_firefox(tool, recording):
    said, profile = report(tool, recording), Profile(export(tool, recording, "firefox"))
    events = list(profile.events())
    assert sum(stack is not None for _, _, stack, _, _ in events) == said["calls"]
    assert [time for time, *_ in events] == sorted(time for time, *_ in events)
    wanted = {}
    for site in said["sites"]:
        stack = tuple(frame["function"] for frame in reversed(site["stack"]))
        if site["leaked_blocks"]:
            wanted[stack] = wanted.get(stack, 0) + site["leaked_bytes"]
    assert profile.retained() == wanted
    curve = list(profile.curve())
    assert curve[0] == (0, 0) and curve[-1][1] == said["leaked_bytes"]
    assert len({thread for *_, thread in events}) == 2
    # Each event by itself comes to the peak, too.
    now = most = 0
    for _, size, *_ in events:
        now += size
        most = max(most, now)
    assert most == said["peak_bytes"]


def test_firefox_of_few_nodes(tool, recording):
    run = export(tool, recording, "firefox", "--nodes", 4, check=False)
    said, profile = report(tool, recording), Profile(run.stdout)
    events = list(profile.events())
    assert f"the 40 largest allocations are in the file one by one; {said['calls'] - 40} others" in run.stderr
    assert sum(stack is not None for _, _, stack, _, _ in events) < said["calls"] / 2
    assert sum(size for _, size, stack, _, _ in events if stack) == said["total_bytes"]
    assert sum(profile.retained().values()) == said["leaked_bytes"]
    assert max(now for _, now in profile.curve()) == said["peak_bytes"]
    names = {stack[-1] for _, _, stack, _, _ in events if stack}
    assert "[all else, folded by --nodes 4]" in names


def test_profiler_cli(tool, recording, tmp_path):
    """The profiler itself upgrades the file to its version and counts."""
    tool("export", "--to", "firefox", "-o", tmp_path / "p.json", recording)
    said, ask = report(tool, recording), profiler(tmp_path, tmp_path / "p.json")
    try:
        ask("strategy", "native-retained-allocations")
        tree = ask("thread", "samples-top-down")
        for caller in "main", "thread":
            left = sum(site["leaked_bytes"] for site in said["sites"]
                       if [frame["function"] for frame in site["stack"]][:2] == ["leaf", caller])
            assert left and f"!leaf [total: {100 * left / said['leaked_bytes']:.1f}%" in tree
        ask("strategy", "native-allocations")
        lost = 100 * sum(site["total_bytes"] for site in said["sites"] if "lost" in [frame["function"] for frame in site["stack"]]
                         and "compare" not in [frame["function"] for frame in site["stack"]]) / said["total_bytes"]
        assert f"!lost [total: {lost:.1f}%" in ask("thread", "samples-top-down")
        most = said["peak_bytes"] / 1000
        assert re.search(rf"memory range in graph: {most:.0f}KB", ask("counter", "info", "c-0"))
    finally:
        ask("stop")


# --- CSV ---

def test_csv(tool, recording, tmp_path):
    for metric in METRICS:
        assert export(tool, recording, "csv", "--metric", metric) == tool("report", "--csv", "--sort", metric, recording).stdout
    said = report(tool, recording)
    rows = list(csv.DictReader(io.StringIO(export(tool, recording, "csv", "--blocks"))))
    assert len(rows) == said["calls"] and sum(int(row["size"]) for row in rows) == said["total_bytes"]
    assert sum(int(row["size"]) for row in rows if not row["freed_ns"]) == said["leaked_bytes"]
    leaked = list(csv.DictReader(io.StringIO(export(tool, recording, "csv", "--blocks", "--lifetime", "only_leaked"))))
    assert leaked == [row for row in rows if not row["freed_ns"]]
    assert {row["function"] for row in rows} == {site["stack"][0]["function"] for site in said["sites"]}
    assert {row["entry"] for row in rows} >= {"malloc"}


# --- what is not known is not invented ---

@pytest.fixture(scope="module")
def two(tool, program):
    folder = program.parent / "two"
    folder.mkdir()
    for number in range(2):
        tool("run", "-o", folder / f"{number}.mallow", "--", program)
    return folder


def test_merged(tool, two):
    said = report(tool, two, "--merge")
    for form in FORMATS:
        run = export(tool, two, form, "--merge", check=False)
        if form == "firefox":
            assert run.returncode and run.stderr == "mallow: --merge is not for --to firefox\n"
        else:
            assert_totals(form, run.stdout, said)
    points = json.loads(export(tool, two, "dhat", "--merge"))["pps"]
    assert all("tl" not in point and point["mbk"] is None for point in points)
    assert len(Massif(export(tool, two, "massif", "--merge")).snapshots) == 3


@pytest.fixture
def table(tmp_path):
    made = MadeLive(tmp_path, [*START, "keep"])
    site = made.site([*START, "keep"], calls=5, size=500, freed=(3, 300))
    for number in range(2):
        made.small_block(0x5000_0000 + number * 0x100, 100, site, 0, 1000)
    return made.write()


def test_a_live_table(tool, table):
    said = report(tool, table)
    assert said["leaked_bytes"] == 200
    for form in FORMATS:
        run = export(tool, table, form, check=False)
        if form == "firefox":
            assert run.returncode and "a live table has no events" in run.stderr and run.stderr.count("\n") == 1
        else:
            assert run.returncode == 0, run.stderr
            assert_totals(form, run.stdout, said)


def test_a_sample(compile_sample, record, tool):
    recorded = record([compile_sample("sampled", "gcc", "-O2")], settings={"SAMPLE": "64K"})
    for form in FORMATS:
        if form == "speedscope":
            whole = json.loads(export(tool, recorded.path, form))
            assert {profile["name"] for profile in whole["profiles"]} == set(METRICS) - {"temporary"}
            assert "all numbers are estimates" in whole["name"]
            run = export(tool, recorded.path, form, "--metric", "temporary", check=False)
            assert run.returncode and "a sample does not know" in run.stderr
        assert_totals(form, export(tool, recorded.path, form), recorded.report_json)


def test_culled(compile_sample, record, tool):
    """What was only counted is in the sums, and has no events."""
    recorded = record([compile_sample("culled", "gcc", "-O2")], check=False, settings={"CULL": "1h"})
    for form in FORMATS:
        text = export(tool, recorded.path, form)
        if form == "firefox":
            assert "culled: " in json.loads(text)["meta"]["product"]
        else:
            assert_totals(form, text, recorded.report_json)


def test_odd_names_and_no_stack(tool, tmp_path):
    names = [*START, "work", "line\nbreak", "größe;x", "fn=(1) odd", 'quote"d', "(anonymous)", "n1: 5 x"]
    made = Made(tmp_path, names, libraries=[("/usr/lib/a b.so", ["unknown"])], arguments=["a\nb", "c d"])
    for name in names:
        made.free(made.allocate([*START, name], 1000))
        made.allocate([*START, name], 10)
    made.allocate([*START, "unknown"], 20)
    made.allocate([], 77)
    path = made.write()
    said = report(tool, path)
    for form in FORMATS:
        text = export(tool, path, form)
        assert_totals(form, text, said)
        assert "line\nbreak" not in text and "a\nb" not in text
        assert "[no stack]" in text or form in ("csv", "massif")
    need("callgrind_annotate")
    tool("export", "--to", "callgrind", "-o", tmp_path / "out", path)
    assert annotated(tmp_path / "out")["fn=(1) odd"]["TotalBytes"] == 1010


def test_options_that_are_of_no_use(tool, recording):
    for words in (["dhat", "--fold"], ["callgrind", "--metric", "peak"], ["massif", "--nodes", "5"], ["speedscope", "--blocks"],
                  ["csv", "--blocks", "--merge"], ["firefox", "--baseline", "x.mallow"]):
        run = export(tool, recording, *words, check=False)
        assert run.returncode == 2 and run.stdout == "" and run.stderr.count("\n") == 1, words
