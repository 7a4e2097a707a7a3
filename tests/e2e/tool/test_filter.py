"""The filter: the worked example row by row, thousands of random filters on random recordings
against filter_reference.py, the command line, and patterns that take for ever."""
import json
import random
import re
import resource
import subprocess

import pytest

import made_recording
import mallow_reader
from conftest import TOP, built, clean_environment
from filter_reference import Blocks
from queries import (CULLED, MARK, NAMES, ROWS, Recorded, SECOND, STACK, example, filter_lines, program, random_condition, random_recording, run_tool)
from recording_writer import varint


def query(path, filters):
    """The tool's answers: a filter is a dict of conditions."""
    helper = built("MALLOW_FILTER_QUERY", TOP / "build" / "meson" / "tests" / "unit" / "filter_query")
    run = subprocess.run([str(helper), str(path)], input=filter_lines(filters), capture_output=True, text=True,
                         env=clean_environment(), timeout=120)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("conditions, wanted", ROWS, ids=[str(row[0]) for row in ROWS])
def test_the_worked_example(example, conditions, wanted):
    answer, = query(example, [conditions])
    assert sorted(NAMES[index] for index in answer["blocks"]) == sorted(wanted.split())


def compare(blocks, conditions, answer):
    numbers = blocks.matching(conditions)
    assert answer.get("blocks") == numbers, (conditions, answer.get("error"))
    sums, sites = blocks.report(numbers)
    report = answer["report"]
    assert report["matched"] == len(numbers) and report["matched_of"] == len(blocks.blocks)
    for field in ("calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes",
                  "leaked_blocks", "temporary"):
        assert report[field] == sums[field], (conditions, field)
    assert report["peak_time_s"] == pytest.approx(sums["peak_time"] / 1e9), conditions
    found = {tuple(int(line["address"], 16) for line in site["stack"]): site
             for site in report["sites"]}
    assert found.keys() == sites.keys(), conditions
    for stack, site in sites.items():
        for field in ("calls", "total_bytes", "peak_bytes", "peak_blocks", "own_peak_bytes",
                      "leaked_bytes", "leaked_blocks", "temporary"):
            assert found[stack][field] == site[field], (conditions, stack, field)


def test_random_filters_on_random_recordings(program, tmp_path):
    """Blocks, sums and sites of some thousands of filters are those of the slow, obvious filter."""
    dice = random.Random(20261122)
    path = tmp_path / "random.mallow"
    matching = compared = 0
    for _ in range(300):
        unit = random_recording(program, path, dice)
        blocks = Blocks(mallow_reader.read(path), program.frames_of)
        filters = [{}] + [dict(random_condition(dice, unit) for _ in range(dice.randrange(1, 4)))
                          for _ in range(30)]
        for conditions, answer in zip(filters, query(path, filters), strict=True):
            compare(blocks, conditions, answer)
            compared += 1
            matching += 0 < len(answer["blocks"]) < len(blocks.blocks)
    assert matching > compared / 4


def test_the_report_says_what_it_is_of(tool, example):
    text = tool("report", "--size-min", "50", "--lifetime", "only_leaked", example).stdout
    assert "\n  only lifetime=only_leaked, size_min=50: 2 of 6 allocations, 33.3 %\n" in text
    assert "  leaked         200 B  live at the end, in 2 blocks never freed\n" in text
    assert "\nAt the peak " in text and "read_one" in text and "write_all" not in text
    report = json.loads(tool("report", "--json", "--function-regex", "^write", example).stdout)
    assert report["filter"] == {"function_regex": "^write"}
    assert (report["matched"], report["matched_of"], report["total_bytes"]) == (1, 6, 1000)
    assert "filter" not in json.loads(tool("report", "--json", example).stdout)


def test_suppressions_are_those_of_leaks(tool, program, tmp_path):
    """As much leaks as with a file of suppressions."""
    dice = random.Random(7)
    path, file = tmp_path / "random.mallow", tmp_path / "known"
    smaller = 0
    for _ in range(10):
        random_recording(program, path, dice)
        file.write_text("leak:read_all\nleak:libgone*\n")
        one, other, all_of_it = (json.loads(tool("report", "--json", *words, path).stdout) for words in (
            ["--suppress", file.read_text()], ["--suppressions", file], []))
        for field in "leaked_bytes", "leaked_blocks":
            assert one[field] == other[field], path
        smaller += one["leaked_blocks"] < all_of_it["leaked_blocks"]
    assert smaller > 5


def test_a_filter_of_several_lines_is_shown_in_one(tool, example):
    text = tool("report", "--suppress", "leak:read_one\nleak:\x1b[31m", example).stdout
    assert "\n  only suppress=leak:read_one\\x0aleak:\\x1b[31m: 4 of 6 allocations" in text


def test_tree_and_exports_are_of_the_matching_alone(tool, example):
    tree = tool("report", "--tree", "--function-regex", "read_one", example).stdout
    assert "read_one" in tree and "read_all" not in tree
    collapsed = tool("export", "--to", "collapsed", "--metric", "total", "--until", "5s",
                     "--source-regex", "reader", example).stdout
    assert sorted(collapsed.splitlines()) == ["outer;inner;read_all 32", "outer;inner;read_one 100"]
    assert "write_all" not in tool("export", "--to", "flamegraph", "--lifetime", "only_leaked",
                                   example).stdout


MOMENT = ("UNIX seconds, a time since the start such as 500ms or 1m30s, a percentage of the run such as "
          "12.5%, peak, end, on#2 or off#2 where recording went on and off for the second time, or the "
          "name of a mark is wanted")


@pytest.mark.parametrize("words, message", [
    (["--size-min", "12x"], "'12x' is no value of --size-min: a size such as 4096, 64K, 10M or 1G "
                            "is wanted"),
    (["--size-max", ""], "'' is no value of --size-max: a size such as 4096, 64K, 10M or 1G is "
                         "wanted"),
    (["--tag", "-1"], "'-1' is no value of --tag: a whole number is wanted"),
    (["--lifetime-min", "1.5s"],
     "'1.5s' is no value of --lifetime-min: a time such as 500ms, 2s or 1h2m3s is wanted"),
    (["--group-interval-min", "5%%"], "'5%%' is no value of --group-interval-min: a time such as "
                                      "500ms, 2s or 1h2m3s, or a percentage of the run such as "
                                      "12.5% is wanted"),
    (["--freed-from", "12x"], "'12x' is no value of --freed-from: " + MOMENT),
    (["--freed-to", ""], "'' is no value of --freed-to: " + MOMENT),
    (["--temporary", "true"], "'true' is no value of --temporary: one of yes no is wanted"),
    (["--entry", "mallok"], "'mallok' is no value of --entry: one of malloc, calloc, realloc, reallocarray, "
                            "posix_memalign, aligned_alloc, memalign, valloc, pvalloc, operator new, "
                            "operator new[], operator new(nothrow), operator new[](nothrow), operator "
                            "new(aligned), operator new[](aligned), operator new(aligned, nothrow), "
                            "operator new[](aligned, nothrow) is wanted"),
    (["--entry", ""], "'' is no value of --entry: one of malloc, calloc, realloc, reallocarray, "
                      "posix_memalign, aligned_alloc, memalign, valloc, pvalloc, operator new, "
                      "operator new[], operator new(nothrow), operator new[](nothrow), operator "
                      "new(aligned), operator new[](aligned), operator new(aligned, nothrow), "
                      "operator new[](aligned, nothrow) is wanted"),
    (["--chain", "first"], "'first' is no value of --chain: a whole number is wanted"),
    (["--chain", "18446744073709551616"],
     "'18446744073709551616' is no value of --chain: a whole number is wanted"),
    (["--suppress", "leak:a\nb"], "--suppress: line 2, 'b', is not leak:PATTERN"),
    (["--suppress", ""], "'' is no value of --suppress: leak:PATTERN, a line for each pattern, is wanted"),
    (["--free-thread", ""], "'' is no value of --free-thread: a text that is not empty is wanted"),
    (["--negative-module-regex", "*"], "'*' is no value of --negative-module-regex: quantifier does "
                                       "not follow a repeatable item, at character 1"),
    (["--arena", "mian"], "'mian' is no value of --arena: one of main non_main is wanted"),
    (["--function-regex", "f("], "'f(' is no value of --function-regex: missing closing "
                                 "parenthesis, at character 3"),
    (["--function-regx", "f"],
     "unknown option '--function-regx' of 'report': did you mean '--function-regex'?"),
    (["--from"], "option '--from' of 'report' needs a value: --from MOMENT"),
    (["--merge", "--tag", "1"], "--merge and --tag exclude each other"),
    (["--errors", "--tag", "1"], "--errors and --tag exclude each other"),
    (["--pools", "--tag", "1"], "--pools and --tag exclude each other"),
])
def test_wrong_words(mallow, example, words, message):
    run = run_tool(mallow, "report", example, *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mallow: {message}\n")


def test_a_mark_that_is_not_there(mallow, program, example, tmp_path):
    """The other recordings are shown all the same."""
    made = Recorded(program)
    made.allocate(1, 0x1000, 7, ["read_all"])
    made.other(2, MARK, text=b"loaded")
    other = made.write(tmp_path / "marked.mallow", 3)
    run = run_tool(mallow, "report", "--json", "--to", "loaded", example, other)
    assert (run.returncode, [part["path"] for part in json.loads(run.stdout)]) == (1, [str(other)])
    assert run.stderr == f"mallow: {example}: --to: 'loaded': the recording has no marks\n"
    run = run_tool(mallow, "export", "--to", "collapsed", "--from", "unloaded", other)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (f"mallow: {other}: --from: 'unloaded': the recording has no such mark; "
                          "its first one is 'loaded'\n")


def test_a_finished_recording_gives_the_same(tool, program, tmp_path):
    dice = random.Random(5)
    path = tmp_path / "random.mallow"
    for _ in range(5):
        unit = random_recording(program, path, dice)
        filters = [dict(random_condition(dice, unit) for _ in range(2)) for _ in range(40)]
        before = query(path, filters)
        tool("finish", "--compress", "always", path)
        assert query(path, filters) == before


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"^(\w+\s?)*$", "^(([a-z])+.)+[A-Z]$"])
def test_costly_patterns_end_soon(mallow, tmp_path, pattern):
    made = made_recording.Made(tmp_path, ["a" * 500 + "-1"])
    made.allocate(["a" * 500 + "-1"], 10)
    path = made.write()
    # The limit is one of steps, and a second of the processor a hundred times what they take.
    run = subprocess.run([str(mallow), "report", "--function-regex", pattern, str(path)],
                         capture_output=True, text=True, env=clean_environment(), timeout=60,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 1)))
    assert run.returncode == 1, run.stderr
    assert run.stderr.startswith(
        f"mallow: {path}: --function-regex: the pattern is too costly for 'aaa")
    assert run.stderr.count("\n") == 1


def test_costly_patterns_end_soon_for_many_names(mallow, tmp_path):
    """Each of the searches is within the limit of steps, all together would take seconds."""
    names = ["a" * 17 + f"-{i}" for i in range(5000)]
    made = made_recording.Made(tmp_path, names)
    for name in names:
        made.allocate([name], 10)
    path = made.write()
    run = subprocess.run([str(mallow), "report", "--function-regex", "^(a+)+$", str(path)],
                         capture_output=True, text=True, env=clean_environment(), timeout=60,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)))
    assert run.returncode == 1, run.stderr
    assert "--function-regex: the pattern is too costly for so many names" in run.stderr
    assert run.stderr.count("\n") == 1


def test_culled_blocks_are_in_groups_alone(tool, program, tmp_path):
    """They are allocations of their site, but of no filtered sum; nothing is said of temporary ones."""
    made = Recorded(program, cull_ns=SECOND, minor=3)
    made.allocate(1, 0x1000, 10, ["read_all"])
    made.allocate(2, 0x2000, 100, ["read_one"])
    made.other(3, STACK, 1, 0, b"".join([varint(made.ids["read_all"])]))
    made.chunks[0].other(CULLED, 1, 8, 800, 3)
    path = made.write(tmp_path / "culled.mallow", 10)
    answers = query(path, [{"group_allocations_min": "9"}, {"group_allocations_max": "8"},
                           {"group_leaked_allocations_min": "12%"},
                           {"lifetime": "only_whole_group_leaked"}])
    assert [answer["blocks"] for answer in answers] == [[0], [1], [1], [1]]
    assert [answer["report"]["total_bytes"] for answer in answers] == [10, 100, 100, 100]
    text = tool("report", "--tag", "0", path).stdout
    assert "8 blocks that lived shorter than 1.00 s are left out\n" in text
    assert "2 of 2 allocations\n" in text and "temporary" not in text


@pytest.mark.parametrize("facts, option", [({"cull_ns": SECOND, "minor": 3}, "--cull"),
                                           ({"sample_mean": 100}, "--sample")])
def test_temporary_is_refused_where_allocations_are_missing(mallow, program, tmp_path, facts, option):
    made = Recorded(program, **facts)
    made.allocate(1, 0x1000, 10, ["read_all"])
    path = made.write(tmp_path / "some.mallow", 10)
    run = run_tool(mallow, "report", "--temporary", "no", path)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (f"mallow: {path}: --temporary: this is not known of a recording that "
                          f"lacks allocations, as with {option}\n")


def test_the_page_has_the_table(mallow):
    """docs/filter.md holds what `manual filter` prints, word for word."""
    manual = built("MALLOW_MANUAL", TOP / "build" / "meson" / "src" / "cli" / "manual")
    table = subprocess.run([str(manual), "filter"], capture_output=True, text=True,
                           check=True).stdout
    assert table.count("\n") > 40
    assert table in (TOP / "docs" / "filter.md").read_text(), \
        "put the output of build/meson/src/cli/manual filter into docs/filter.md"


@pytest.mark.parametrize("command", ["report", "export"])
def test_help_has_every_condition(mallow, command):
    """Once each; but export's own --to is a format, and a moment is --at."""
    text = run_tool(mallow, command, "--help").stdout
    table = (TOP / "src" / "analysis" / "filter" / "filter.def").read_text()
    names = re.findall(r'^FILTER\(\w+, "(\w+)"', table, re.M)
    assert len(names) > 40
    for name in names:
        option = "--at" if name == "alive_at" else "--" + name.replace("_", "-")
        assert len(re.findall(rf"^ +(-\w, )?{option}( |$)", text, re.M)) == 1, option
