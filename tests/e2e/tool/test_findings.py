"""What `mallow report` says that stands out: of programs with one known fault, and without it."""
import json
import pathlib
import re
import subprocess

import pytest

import json_schema
from cells import every_other
from made_recording import Made

TOP = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = json.loads((TOP / "docs" / "report.schema.json").read_text())

# Of each finding: a number of it, and the sum of the report by its conditions that must equal it.
SHOWN = {
    **{f"never_freed_{shape}": {"bytes": "leaked_bytes", "blocks": "leaked_blocks"}
       for shape in ("grows", "steps", "stopped", "flat", "once", "late")},
    "grows_to_teardown": {"bytes": "peak_bytes"},
    "large_block": {"bytes": "total_bytes"},
    "slack": {"live_bytes": "peak_bytes", "blocks": "peak_blocks"},
    "temporary": {"calls": "temporary"},
    "churn": {"calls": "calls", "bytes": "total_bytes"},
    "realloc_chains": {"calls": "calls"},
    "freed_by_others": {"calls": "calls"},
    "sparse_pages": {"bytes": "peak_bytes", "blocks": "peak_blocks"},
    "stayed_resident": {"live_bytes": "peak_bytes"},
    "untouched": {"live_bytes": "peak_bytes"},
}

SAMPLES = {"MEMORY_SAMPLES": "5ms"}


def report(tool, path, *words):
    """What a report says; it is as the schema has it."""
    said = json.loads(tool("report", "--json", "--stacks", "inline", *words, path).stdout)
    json_schema.check(SCHEMA, SCHEMA, said)
    return said


def words_of(finding):
    return [word for name, value in finding["conditions"].items()
            for word in (f"--{name.replace('_', '-')}", value)]


def check_conditions(tool, path, finding):
    """The filter's report shows the finding's numbers."""
    shown = SHOWN[finding["kind"]]
    filtered = report(tool, path, *words_of(finding))
    assert {name: finding["numbers"][name] for name in shown} == \
        {name: filtered[sum_name] for name, sum_name in shown.items()}, finding
    return filtered


def findings_of(tool, path):
    """The findings, which are the same before and after `mallow finish`, and agree with filters."""
    found = report(tool, path)
    tool("finish", path)
    assert {key: report(tool, path)[key] for key in ("headline", "findings")} == \
        {key: found[key] for key in ("headline", "findings")}
    for finding in found["findings"]:
        if finding["conditions"]:
            check_conditions(tool, path, finding)
    return found


@pytest.fixture
def stands_out(tool, record, compile_sample):
    """stands_out(name, *words): the report of that run of the sample."""
    def run(*words, settings=None):
        program = compile_sample("stands_out", "gcc", "-O1")
        for _ in range(20):
            recorded = record([program, *words], check=False, settings={**SAMPLES, **(settings or {})})
            if recorded.returncode == 7:
                return findings_of(tool, recorded.path)
            # It says so if the machine was too busy for its times: the curve is another one then.
            assert recorded.returncode == 8, recorded.stderr
        pytest.skip("the machine is too busy for a program's times")
    return run


# name: kind, function, numbers
FAULTS = {
    "grows": ("never_freed_grows", "cache_put", {"bytes": 640000, "blocks": 1280}),
    "late_begin": ("never_freed_grows", "cache_put", {"bytes": 300000, "blocks": 600}),
    "steps": ("never_freed_steps", "cache_put", {"bytes": 300000, "blocks": 600, "steps": 3}),
    "flat": ("never_freed_flat", "cache_put", {"bytes": 400000, "blocks": 800}),
    "once": ("never_freed_once", "cache_put", {"bytes": 500000, "blocks": 1000}),
    # 150 of 160 ticks are over by the end of the last part but one, and three fifths are values.
    "teardown": ("grows_to_teardown", "make_value", {}),
    "late": ("never_freed_late", "cache_put", {"bytes": 500000, "blocks": 1000}),
    "stopped": ("never_freed_stopped", "cache_put", {"bytes": 400000, "blocks": 800}),
    "large_block": ("large_block", "make_peak", {"bytes": 8000000}),
    "slack": ("slack", "waste", {"slack_bytes": 1500000, "live_bytes": 2500000, "blocks": 100000}),
    "temporary": ("temporary", "churn", {"calls": 32000}),
    "churn": ("churn", "handle_messages", {"calls": 160000, "bytes": 16000000, "live_bytes": 400}),
    "realloc_chains": ("realloc_chains", "append", {"calls": 990, "chains": 10, "reserve_bytes": 131072,
                                                    "reserved_chains": 10}),
    "freed_by_others": ("freed_by_others", "hand_over", {"blocks": 40000, "all_blocks": 40000}),
    "sparse_pages": ("sparse_pages", "scatter", {}),
    "stayed_resident": ("stayed_resident", None, {}),
    "untouched": ("untouched", None, {}),
    "mapped": ("mapped", "map_tiles", {"mappings": 4}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(stands_out, name):
    kind, function, numbers = FAULTS[name]
    found = stands_out(name)
    assert [finding["kind"] for finding in found["findings"]] == [kind], found["findings"]
    finding = found["findings"][0]
    assert finding["function"] == function
    assert {number: finding["numbers"][number] for number in numbers} == numbers
    if kind == "grows_to_teardown":
        assert 1_500_000 <= finding["numbers"]["bytes"] <= 1_920_000
    if kind == "freed_by_others":
        assert " freed by drain: " in finding["sentence"]
    if function:
        assert function in [frame["function"] for frame in finding["stack"]]
        assert function in finding["sentence"] and "stands_out.c:" in finding["sentence"]


@pytest.mark.parametrize("name", every_other(FAULTS))
def test_without_the_fault(stands_out, name):
    found = stands_out(name, "clean")
    assert found["findings"] == []
    # glibc keeps what it needs of a thread's stack.
    assert re.fullmatch(r"Everything of your own code was freed; libraries keep \d+ B\."
                        if name == "freed_by_others" else r"Everything was freed\.",
                        found["headline"]["second"])


def test_cpp(tool, record, compile_sample):
    """Own code behind constructors, templates and operators; of two overloads the right one."""
    program = compile_sample("leaky_cache", "gcc", "-O1")
    found = findings_of(tool, record([program], check=False).path)
    kinds = {finding["kind"]: finding for finding in found["findings"]}
    assert list(kinds) == ["never_freed_grows", "temporary"]
    grows, temporary = kinds.values()
    assert grows["function"].startswith("Cache::put(std::")
    assert list(grows["conditions"]) == ["lifetime", "function_regex"]
    assert r"^Cache::put\(std::" in grows["conditions"]["function_regex"]
    assert re.search(" never freed, growing to the end: Cache::put  leaky_cache.cpp:2[6-9], "
                     "most for std::make_shared<Session>$", grows["sentence"])
    assert grows["lines"] == 1 and grows["call"].startswith("std::shared_ptr<")
    assert temporary["function"] == "churn()"
    assert temporary["conditions"] == {"allocated_by": r"^churn\("}
    assert " % of it for Cache::put  leaky_cache.cpp:" in found["headline"]["sentence"]
    clean = findings_of(tool, record([program, "clean"], check=False).path)
    # It frees all when it ends, and not before.
    assert [finding["kind"] for finding in clean["findings"]] == ["grows_to_teardown", "temporary"]


LINES = """
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <vector>
std::vector<void *> kept;
__attribute__((noinline)) void fill(bool more)
{
	kept.push_back(malloc(1000)); // line 9 has most, by two stacks
	if (more)
		kept.push_back(malloc(1500)); // the stack that has most
	asm volatile("");
}
struct Many { std::vector<long> of; };
__attribute__((noinline)) void one_type(Many *many) { many->of.assign(1000, 0); asm volatile(""); }
struct Task { char of[4000]; };
__attribute__((noinline)) void letter(int) { kept.push_back(new std::shared_ptr<Task>(std::make_shared<Task>())); }
int main()
{
	kept.reserve(1000);
	for (int i = 0; i < 60; i++)
		fill(true);
	for (int i = 0; i < 60; i++)
		fill(false);
	for (int i = 0; i < 40; i++)
		one_type(new Many), letter(i);
	_exit(0);
}
"""


def test_lines_and_calls(tool, record, tmp_path):
    """The line that has most, how many there are, and the type that was asked for."""
    (tmp_path / "lines.cpp").write_text(LINES)
    subprocess.run(["g++", "-g", "-O0", "-o", tmp_path / "lines", tmp_path / "lines.cpp"], check=True)
    found = {finding["function"]: finding for finding in findings_of(tool, record([tmp_path / "lines"], check=False).path)["findings"]}
    lines, typed = found["fill(bool)"], found["one_type(Many*)"]
    assert (lines["function"], lines["line"], lines["lines"], lines["call"]) == ("fill(bool)", 9, 2, None)
    assert lines["sentence"].endswith(": fill  lines.cpp:9 and 1 line more")
    assert {frame["line"] for frame in lines["stack"] if frame["function"] == "fill(bool)"} == {9}
    assert (typed["function"], typed["lines"]) == ("one_type(Many*)", 1)
    assert re.search(r": one_type  lines\.cpp:\d+, for std::vector<long>::assign$", typed["sentence"])
    assert re.search(r": letter  lines\.cpp:\d+, for std::make_shared<Task>$", found["letter(int)"]["sentence"])


SMALL_LEAK = """
#include <iostream>
void *volatile kept;
__attribute__((noinline)) static void lose() { kept = operator new(70000); asm volatile(""); }
int main() { lose(); std::cout << "done\\n"; }
"""


def test_a_library_hides_nothing(tool, record, tmp_path):
    """libstdc++ keeps 72,704 bytes for itself: more than that own code, and no finding."""
    (tmp_path / "small.cpp").write_text(SMALL_LEAK)
    subprocess.run(["g++", "-g", "-O1", "-o", tmp_path / "small", tmp_path / "small.cpp"], check=True)
    [finding] = findings_of(tool, record([tmp_path / "small"]).path)["findings"]
    assert (finding["kind"], finding["function"], finding["bytes"]) == ("never_freed_once", "lose()", 70000)


LIBRARY_STATE = """
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <string>
#include <vector>
static void *work(void *number) { printf("in a thread\\n"); return number; }
int main(int count, char **)
{
	std::vector<std::string> names(1000, "a name that is too long for its string");
	time_t now = time(nullptr);
	setlocale(LC_ALL, "C.UTF-8");
	atexit([] {});
	pthread_t thread;
	pthread_create(&thread, nullptr, work, nullptr);
	pthread_join(thread, nullptr);
	FILE *file = fopen("/etc/passwd", "r");
	printf("%s %zu %c\\n", ctime(&now), names.size(), fgetc(file));
	if (count == 1)
		fclose(file);
}
"""


@pytest.mark.parametrize("stripped", [False, True])
def test_what_libraries_keep_is_theirs(tool, record, tmp_path, stripped):
    """stdout's buffer and other state of libraries is no leak of own code's; a FILE is."""
    (tmp_path / "state.cpp").write_text(LIBRARY_STATE)
    subprocess.run(["g++", "-g", "-O1", *(["-s"] if stripped else []), "-o", tmp_path / "state",
                    tmp_path / "state.cpp", "-pthread"], check=True)
    clean, leaky, bare = (
        findings_of(tool, record([tmp_path / "state", *words], settings=settings).path)
        for words, settings in (([], {}), (["leak"], {}), ([], {"BACKTRACE": "none"})))
    assert clean["findings"] == leaky["findings"] == []
    assert re.fullmatch(r"Everything of your own code was freed; libraries keep [\d.]+ KB\.",
                        clean["headline"]["second"])
    for found in leaky, bare:  # without stacks nobody knows
        assert re.fullmatch(r"[\d.]+ KB was never freed, in \d+ blocks\.", found["headline"]["second"])


def test_wrong_frees(tool, record, compile_sample):
    found = findings_of(tool, record([compile_sample("wrong_frees")], check=False).path)
    [finding] = found["findings"]
    errors = json.loads(tool("report", "--json", "--errors", record(
        [compile_sample("wrong_frees")], check=False).path).stdout)["errors"]
    assert (finding["kind"], finding["view"]) == ("wrong_frees", "errors")
    assert finding["numbers"] == {"calls": sum(error["count"] for error in errors),
                                  "places": len(errors)}
    assert finding["function"] == "free_what_new_made()"


def test_doubts(stands_out):
    """What the recording cannot tell is said, and what it can is found all the same."""
    sample = stands_out("grows", settings={"SAMPLE": "4096"})["findings"]
    assert [finding["kind"] for finding in sample] == ["never_freed_grows", "sampled"]
    assert sample[1]["numbers"] == {"mean_bytes": 4096}
    assert abs(sample[0]["numbers"]["bytes"] - 640000) < 200000
    culled = stands_out("grows", settings={"CULL": "1ms"})["findings"]
    assert [finding["kind"] for finding in culled] == ["never_freed_grows", "culled"]
    assert culled[0]["numbers"]["bytes"] == 640000
    assert culled[1]["numbers"]["cull_ns"] == 1000000 and culled[1]["numbers"]["calls"] > 0


def test_python_hides_its_blocks(tool, record):
    """The headline says so if what is hidden is more than what is seen; else it does not."""
    script = "[str(i) for i in range(100000)]"
    hidden, mostly_seen, seen = (
        report(tool, record(["/usr/bin/python3", "-c", text], env=env, settings={"PYTHON_POOLS": 0}).path)
        for text, env in ((script, {}), (script + "; bytes(10 ** 8)", {}),
                          (script, {"PYTHONMALLOC": "malloc"})))
    said = r"Up to [\d.]+ MB more is in blocks that Python hides: --force-malloc shows them\."
    assert re.match(said, hidden["headline"]["second"])
    kinds = [[finding["kind"] for finding in found["findings"]] for found in (hidden, mostly_seen, seen)]
    assert ["hidden_heap" in of for of in kinds] == [True, True, False]
    assert not any(re.match(said, found["headline"]["second"]) for found in (mostly_seen, seen))


def kinds_of(tool, path):
    return [finding["kind"] for finding in report(tool, path)["findings"]]


def test_gaps(tool, tmp_path):
    """Lost events, damage, and stacks that end too early."""
    made = Made(tmp_path, ["main", "work"], losses=[0, 3] + [0] * 14)
    made.allocate(["main", "work"], 1000)
    assert kinds_of(tool, made.write()) == ["lost_events"]
    made = Made(tmp_path, ["main", "work"])
    made.chunk.other(0x81, 9, 2, 0)  # [broken]
    made.frames["broken"] = 9
    made.allocate(["broken", "work"], 1000)
    [finding] = report(tool, made.write())["findings"]
    assert (finding["kind"], finding["numbers"]) == ("broken_stacks", {"bytes": 1000, "calls": 1})
    made = Made(tmp_path, ["main", "work"])
    made.allocate(["main", "work"], 1000)
    path = made.write()
    data = bytearray(path.read_bytes())
    data[4096 + 100] ^= 1
    path.write_bytes(data)
    assert kinds_of(tool, path) == ["damaged"]


def grown(folder, name="grow", **facts):
    """1,000 blocks of 100 bytes, one each millisecond, never freed."""
    made = Made(folder, ["main", "run", name], **facts)
    for _ in range(1000):
        made.allocate(["main", "run", name], 100, wait=1000000)
    return made


def test_numbers_by_hand(tool, tmp_path):
    """A run of one second, to the nanosecond."""
    [finding] = findings_of(tool, grown(tmp_path).write())["findings"]
    assert finding["kind"] == "never_freed_grows" and finding["confidence"] == "clear"
    assert finding["numbers"] == {"bytes": 100000, "blocks": 1000, "bytes_per_second": 99999,
                                  "since_ns": 0, "until_ns": 1000001000}
    assert finding["bytes"] == 100000


@pytest.mark.parametrize("idle_ns", [0, 500_000_000])
def test_long_teardown(tool, tmp_path, idle_ns):
    """Freeing takes a third of the run, and empties pages slowly: what grew until then is told, and
    nothing of the freeing. If the program goes on afterwards, it was no teardown."""
    made = Made(tmp_path, ["main", "run", "grow"])
    blocks = []
    for _ in range(10000):
        made.allocate(["main", "run", "grow"], 400, wait=100000)
        blocks.append(made.heap)
    for first in range(10):
        for block in blocks[first::10]:
            made.free(block, wait=50000)
    if idle_ns:
        made.allocate(["main", "run"], 16, wait=idle_ns)
    report = findings_of(tool, made.write())
    found = report["findings"]
    if idle_ns:
        assert [finding["kind"] for finding in found] == ["sparse_pages"]
        return
    assert re.fullmatch(r"\S+ MB grew until it was freed at the end\.", report["headline"]["second"])
    assert [(finding["kind"], finding["function"]) for finding in found] == [("grows_to_teardown", "grow")]
    assert 3_500_000 < found[0]["numbers"]["bytes"] <= 4_000_000


def test_teardown_beside_work(tool, tmp_path):
    """What comes and goes is live at the end of the 14th of 16 parts, and not at that of the 15th: memory falls
    to the end of the run from there on, but what grows still grew."""
    made = Made(tmp_path, ["main", "run", "grow", "work"])
    blocks, working = [], []
    for number in range(15900):
        made.allocate(["main", "run", "grow"], 400, wait=100000)
        blocks.append(made.heap)
        if 13800 <= number < 13900:
            working.append(made.allocate(["main", "run", "work"], 40000))
        if 14100 <= number < 14200:
            made.free(working.pop())
    for block in blocks:
        made.free(block, wait=500)
    report = findings_of(tool, made.write())
    assert [(finding["kind"], finding["function"]) for finding in report["findings"]] == [("grows_to_teardown", "grow")]


def test_headlines(tool, tmp_path):
    """The clause is the first that holds."""
    def headline(blocks, last=False):
        made = Made(tmp_path, ["main", "run", "a", "b", "c", "d"])
        for name, size, wait in blocks:
            made.allocate(["main", "run", name], size, wait=wait)
        if last:
            made.free(made.heap, wait=1000000)
        return report(tool, made.write())["headline"]

    many = [(name, 10, 1000) for _ in range(30) for name in "abcd"]
    block = headline([("a", 10, 1000)] * 7 + [("b", 30, 1000)], last=True)
    assert (block["clause"], block["block_bytes"], block["block_lived_ns"]) == ("block", 30, 1000000)
    assert "100 B live, of which 30 B is one block that lived 1.00 ms, of b" in block["sentence"]
    spread = headline(many)
    assert (spread["clause"], spread["peak_bytes"]) == ("function", 1200)
    assert " 100 % of it for run" in spread["sentence"]
    assert spread["second"] == "1.20 KB was never freed, in 120 blocks."


def test_conditions_are_quoted(tool, tmp_path):
    """Names with all that means something in a pattern: the pattern means this name alone."""
    name = "Odd<(a)1>::operator+[].*^$|?{2}\\\\x(int)"
    made = grown(tmp_path, name)
    made.chunk.other(0x85, made.chunk.at(made.time), text=b"x")
    [finding] = findings_of(tool, made.write())["findings"]
    assert finding["function"] == name


def test_of_some_of_the_blocks_nothing_is_found(tool, tmp_path):
    path = grown(tmp_path).write()
    for words in (["--size-min", "1"], ["--merge"], ["--at", "50%"]):
        narrowed = report(tool, path, *words)
        assert narrowed["findings"] == [] and narrowed["findings_missing"]
        assert "B live" in narrowed["headline"]["sentence"]


def test_tables_fit_the_schema(tool, tmp_path):
    path = grown(tmp_path).write()
    known = tmp_path / "known.supp"
    known.write_text("leak:nobody\n")
    for words in ([], ["--merge"], ["--suppressions", known], ["--size-min", "5", "--at", "50%"]):
        json_schema.check(SCHEMA, SCHEMA, json.loads(tool("report", "--json", *words, path).stdout))


def test_every_kind_is_explained():
    kinds = SCHEMA["$defs"]["finding"]["properties"]["kind"]["enum"]
    text = (TOP / "docs" / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [kind for kind in kinds if not any(line.startswith(f"| `{kind}` |") for line in rows)] == []
    assert set(kinds) >= {kind for kind, *_ in FAULTS.values()}


def test_a_short_run_is_all_start_up(tool, tmp_path):
    """No growth is seen in a run of 40 ms."""
    made = Made(tmp_path, ["main", "run", "grow"])
    for _ in range(1000):
        made.allocate(["main", "run", "grow"], 100, wait=40000)
    [finding] = findings_of(tool, made.write())["findings"]
    assert (finding["kind"], finding["confidence"]) == ("never_freed_once", "unclear")
    assert finding["numbers"]["bytes"] == 100000


def test_without_own_code(tool, tmp_path):
    """A program without symbols: the C library's function is not taken for the reader's."""
    made = Made(tmp_path, ["_mi_fill"], libraries=[("/no/such/program", ["nameless"])])
    for _ in range(20000):
        made.free(made.allocate(["_mi_fill", "nameless"], 100, wait=10000), wait=10000)
    large = made.allocate(["_mi_fill", "nameless"], 20000000, wait=10000)
    made.free(large)
    found = findings_of(tool, made.write())
    assert [(finding["kind"], finding["function"]) for finding in found["findings"]] == \
        [("large_block", None), ("temporary", None)]
    assert [finding["sentence"] for finding in found["findings"]] == \
        ["20.0 MB in one block makes the peak, 100 B without", "20,001 temporary calls"]
    assert re.fullmatch("Most memory at [^:]*: 20.0 MB live, of which 20.0 MB is one block that lived "
                        "1.00 us.", found["headline"]["sentence"])
    assert found["headline"]["function"] is None
