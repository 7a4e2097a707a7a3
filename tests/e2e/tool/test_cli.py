"""The command line: words, messages, exit statuses, and what each command prints."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

import report_json
from command_line import EVIL, START, completions, made, made_from_tables, on_terminal, read_until
from conftest import clean_environment, need
from made_recording import FRAME, Made


def mallow_run(mallow, *arguments, **options):
    options.setdefault("env", clean_environment())
    return subprocess.run([str(mallow), *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, **options)


# --- words and help ---

def test_no_command(mallow):
    """Ten lines that fit a terminal: what people come for."""
    run = mallow_run(mallow)
    lines = run.stdout.splitlines()
    assert (run.returncode, run.stderr, len(lines)) == (2, "", 10) and max(map(len, lines)) <= 80
    for command in ("run", "top", "attach", "core", "diff", "check", "report", "serve"):
        assert f"mallow {command}" in run.stdout


@pytest.mark.parametrize("words, message", [
    (["reprot"], "unknown command 'reprot': did you mean 'report'?"),
    (["xyzzy"], "unknown command 'xyzzy': 'mallow --help' lists them"),
    (["trace"], "'trace' is not a whole command: did you mean 'trace dump'?"),
    (["trace", "dmup"], "unknown command 'trace dmup': did you mean 'trace dump'?"),
    (["--versoin"], "unknown option '--versoin': did you mean '--version'?"),
    (["report", "--tpo", "3", "x"], "unknown option '--tpo' of 'report': did you mean '--top'?"),
    (["report", "--xyzzy", "x"],
     "unknown option '--xyzzy' of 'report': 'mallow report --help' lists them"),
    (["report", "-x"], "unknown option '-x' of 'report': 'mallow report --help' lists them"),
    (["report", "--json=1", "x"], "option '--json' of 'report' takes no value"),
    (["report", "--top"], "option '--top' of 'report' needs a value: --top N"),
    (["report", "--top", "-3", "x"],
     "'-3' is no value of --top: a whole number from 0 on is wanted"),
    (["report", "--top", "99999999999999999999", "x"],
     "'99999999999999999999' is no value of --top: a whole number from 0 on is wanted"),
    (["report", "--sort", "leeked", "x"],
     "'leeked' is no value of --sort: did you mean 'leaked'?"),
    (["report", "--sort", "leak", "x"], "'leak' is no value of --sort: did you mean 'leaked'?"),
    (["report", "--sort", "leaks", "x"], "'leaks' is no value of --sort: did you mean 'leaked'?"),
    (["ls"], "unknown command 'ls': did you mean 'mallow run ls'?"),
    (["help", "xyzzy"], "unknown command 'xyzzy': 'mallow --help' lists them"),
    (["trace", "--hlep"], "'trace' is not a whole command: did you mean 'trace dump'?"),
    (["report", "--sort", "xyzzy", "x"],
     "'xyzzy' is no value of --sort: one of peak leaked total calls temporary is wanted"),
    (["report", "--json", "--tree", "x"], "--json and --tree exclude each other"),
    (["report", "--errors", "--merge", "x"], "--errors and --merge exclude each other"),
    (["report", "--plumbing", "p", "--histogram", "size", "x"], "--plumbing and --histogram exclude each other"),
    (["report", "--width", "80", "--full", "x"], "--width and --full exclude each other"),
    (["report", "--width", "80", "--json", "x"], "--width and --json exclude each other"),
    (["report", "--csv", "--width", "0", "x"], "--width and --csv exclude each other"),
    (["report", "--width", "wide", "x"],
     "'wide' is no value of --width: a whole number from 0 on is wanted"),
    (["report", "--width", "-1", "x"],
     "'-1' is no value of --width: a whole number from 0 on is wanted"),
    (["report", "--width", "", "x"],
     "'' is no value of --width: a whole number from 0 on is wanted"),
    (["report", "--tree", "--errors", "x"], "--errors and --tree exclude each other"),
    (["info", "--tree", "--json", "x"], "--json and --tree exclude each other"),
    (["info", "--modules", "--tree", "x"], "--tree and --modules exclude each other"),
    (["report"], "'report' needs a recording, and none of yours is here: mallow report [OPTION…] [RECORDING|DIRECTORY…]"),
    (["export", "--to", "collapsed", "x", "y"],
     "'export' takes one recording only, 'y' is too much"),
    (["export", "x"], "'export' needs --to FORMAT: one of html flamegraph collapsed heaptrack pprof speedscope firefox massif callgrind dhat csv replay frames parquet"),
    (["export", "--to", "flamgraph", "x"],
     "unknown format 'flamgraph': did you mean 'flamegraph'?"),
    (["export", "--to", "gif", "x"],
     "unknown format 'gif': one of html flamegraph collapsed heaptrack pprof speedscope firefox massif callgrind dhat csv replay frames parquet is wanted"),
    (["info"], "'info' needs a recording, and none of yours is here: mallow info [OPTION…] [RECORDING|DIRECTORY…]"),
    (["run"], "'run' needs a program: mallow run [OPTION…] [--] PROGRAM [ARG…]"),
    (["run", "--dpeth", "3", "true"], "unknown option '--dpeth' of 'run': did you mean '--depth'?"),
    (["run", "--depth", "0", "true"],
     "'0' is no value of --depth: allowed is a number from 1 to 4294967295"),
    (["run", "--follow", "perhaps", "true"],
     "'perhaps' is no value of --follow: allowed is one of 0 1 false true no yes off on"),
    (["run", "--slots", "pirvate", "true"],
     "'pirvate' is no value of --slots: allowed is one of shared private"),
    (["run", "-o", "", "true"], "'' is no value of --output: allowed is any text but an empty one"),
])
def test_wrong_words(mallow, words, message):
    run = mallow_run(mallow, *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mallow: {message}\n")


def test_version(mallow):
    run = mallow_run(mallow, "--version")
    assert run.returncode == 0 and run.stderr == ""
    assert re.fullmatch(r"mallow \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}\+?|unknown), \w+, (gcc|.*[Cc]lang) .*\)\n", run.stdout)
    assert mallow_run(mallow, "version").stdout == run.stdout


def test_gather_makes_no_directory_for_a_wrong_target(mallow, tmp_path):
    run = mallow_run(mallow, "gather", "-o", "recordings", "/no/such", cwd=tmp_path)
    assert run.returncode == 2 and "is no place in a network" in run.stderr
    assert not list(tmp_path.iterdir())


def test_help_lists_what_exists(mallow, tmp_path):
    overview = mallow_run(mallow, "--help")
    assert overview.returncode == 0 and overview.stderr == ""
    commands = re.findall(r"^  ((?:[a-z]+ )+) +\S", overview.stdout, re.M)
    commands = [command.strip() for command in commands]
    assert commands == ["run", "live", "top", "attach", "memleak", "report", "diff", "export", "push", "sql", "check", "serve", "gather", "core", "info",
                        "finish", "import", "strip", "trace dump"]
    for command in commands:
        run = mallow_run(mallow, *command.split(), "--help")
        assert run.returncode == 0 and run.stderr == ""
        assert f"usage: mallow {command} " in run.stdout
        assert max(map(len, run.stdout.splitlines())) <= 80
        # Every option that help names is one.
        for name in re.findall(r"^  (?:-\w,|   ) --([a-z0-9-]+)", run.stdout, re.M):
            answer = mallow_run(mallow, *command.split(), f"--{name}", "--help", "/no/such", cwd=tmp_path)
            assert "unknown option" not in answer.stderr
    for words in ["report"], ["trace"], ["trace", "dump"]:
        run = mallow_run(mallow, "help", *words)
        assert (run.returncode, run.stdout) == (0, mallow_run(mallow, *words, "--help").stdout)
    assert run.stdout == mallow_run(mallow, "trace", "-h").stdout != ""
    for words in ["help"], ["help", "--help"]:
        assert mallow_run(mallow, *words).stdout == overview.stdout


def test_help_to_a_full_device_fails(mallow):
    with open("/dev/full", "w") as full:
        run = subprocess.run([str(mallow), "report", "--help"], stdout=full,
                             stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1
    assert run.stderr.startswith("mallow: ") and "No space left on device" in run.stderr


# --- files that are no recordings ---

@pytest.mark.parametrize("content, kind", [
    (b"", "empty"), (b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\x3e\0", "an ELF executable"),
    (b"\x1f\x8b\x08\0\0", "gzip data"), (b"\x28\xb5\x2f\xfd\0", "zstd data"),
    (b"#!/bin/sh\n", "a script"),
    (b"hello world\n", "a text file"), (b"\x89\x01\x02", "something else"),
    (b"hello\0world\n", "something else"),
    (bytes(4096), "all zeros, as of a program that was killed before its first event"),
])
@pytest.mark.parametrize("command", [["report"], ["info"], ["trace", "dump"],
                                     ["export", "--to", "collapsed"]])
def test_no_recording(mallow, tmp_path, command, content, kind):
    path = tmp_path / "file"
    path.write_bytes(content)
    run = mallow_run(mallow, *command, path)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith(f"mallow: '{path}' is no recording: it is {kind}")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["report"], ["core"], ["trace", "dump"]])
def test_damaged_core_dump(mallow, tmp_path, command):
    path = tmp_path / "core"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x04\0\x3e\0")
    run = mallow_run(mallow, *command, path)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith(f"mallow: {path}: a damaged core dump: ")
    assert run.stderr.count("\n") == 1


def test_directory_and_missing_file(mallow, tmp_path):
    run = mallow_run(mallow, "trace", "dump", tmp_path)
    assert run.returncode == 1
    assert run.stderr == f"mallow: '{tmp_path}' is no recording: it is a directory\n"
    run = mallow_run(mallow, "report", tmp_path)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr == f"mallow: no recording is in the directory '{tmp_path}'\n"
    run = mallow_run(mallow, "info", tmp_path / "none")
    assert run.returncode == 1
    assert run.stderr == f"mallow: cannot open '{tmp_path}/none': No such file or directory\n"


def test_control_characters_in_a_message(mallow):
    run = mallow_run(mallow, "report", "a\nb\x1b")
    assert run.stderr == "mallow: cannot open 'a\\x0ab\\x1b': No such file or directory\n"


# --- report ---

def test_report_json(tool, made):
    report = report_json.load(tool("report", "--json", made).stdout)
    assert report["calls"] == 50 + 5 + 10 + 3
    assert report["total_bytes"] == 50 * 60_000 + 5 * 400_000 + 10 * 1_000 + 40_000
    assert report["peak_bytes"] == 50 * 60_000 + 5 * 400_000
    assert report["leaked_bytes"] == report["live_bytes"] == 50 * 60_000 + 40_000
    assert report["leaked_blocks"] == 53
    assert report["temporary"] == 11  # the ten, and the last of the five
    assert 0 < report["peak_time_s"] < 0.001 < 0.2 < report["duration_s"] < 0.3
    assert report["site_count"] == len(report["sites"]) == 6
    site = report["sites"][0]
    assert site["peak_bytes"] == site["own_peak_bytes"] == site["leaked_bytes"] == 3_000_000
    assert (site["calls"], site["total_bytes"], site["temporary"]) == (50, 3_000_000, 0)
    assert [frame["function"] for frame in site["stack"]] == ["cache_put", "handle", *START[::-1]]
    frame = site["stack"][0]
    assert set(frame) == {"function", "short", "file", "line", "module", "address", "inlined",
                          "plumbing"}
    assert frame["short"] == "cache_put"
    assert [frame["plumbing"] for frame in site["stack"]] == [False] * 3 + [True] * 2
    long = {frame["function"]: frame["short"] for site in report["sites"] for frame in site["stack"]
            if frame["function"] != frame["short"]}
    assert list(long.values()) == ["std::vector<std::string>::_M_realloc_insert"]
    assert re.match(r"void std::vector<.*>::_M_realloc_insert<.*>\(.*\)$", *long)
    assert frame["file"] is None and frame["line"] is None and frame["inlined"] is False
    assert frame["module"].endswith("/toyd") and re.fullmatch("0x[0-9a-f]+", frame["address"])


@pytest.mark.parametrize("metric", ["peak", "leaked", "total", "calls", "temporary"])
def test_report_json_order(tool, made, metric):
    field = {"peak": "peak_bytes", "leaked": "leaked_bytes", "total": "total_bytes"}
    sites = report_json.load(tool("report", "--json", "--sort", metric, made).stdout)["sites"]
    values = [site[field.get(metric, metric)] for site in sites]
    assert values == sorted(values, reverse=True) and values[0] > 0
    top = report_json.load(tool("report", "--json", "--sort", metric, "--top", "2", made).stdout)
    assert top["sites"] == sites[:2]


def test_report_text(tool, made):
    text = tool("report", made).stdout
    assert text.startswith("toyd --serve  (pid 4242)\n")
    assert "exited with status 0; the recording is complete\n" in text
    assert re.search(r"^ +5\.00 MB  peak, in 55 blocks +68  allocations, 5\.05 MB in all$", text, re.M)
    assert re.search(r"^ +3\.04 MB  never freed, in 53 blocks +16\.2 %  temporary$", text, re.M)
    tree = tool("report", "--tree", made).stdout
    assert re.search(r"^  peak +5\.00 MB  live at once, in 55 blocks, at ", tree, re.M)
    assert re.search(r"^  leaked +3\.04 MB  live at the end, in 53 blocks never freed$", tree, re.M)
    assert re.search(r"^  total +5\.05 MB  allocated in 68 calls$", tree, re.M)
    assert re.search(r"^  temporary +11  calls, 16\.2 %", tree, re.M)
    assert re.search(r"^  1\. 3\.00 MB  60\.0 % of peak  leaked 3\.00 MB, total 3\.00 MB, 50 calls\n"
                     r"     cache_put\n     handle\n     main\n\n", text, re.M)
    assert "\x1b" not in text and "_start" not in text
    exact = tool("report", "--bytes", made).stdout
    assert "5,000,000 B" in exact and "MB" not in exact
    full = tool("report", "--full", "--sort", "leaked", made).stdout
    assert full.count(" fib\n") == 60 and "_start" in full
    folded = tool("report", "--sort", "leaked", made).stdout
    assert re.search(r"^     fib +× 60$", folded, re.M)


def test_report_top(tool, made):
    text = tool("report", "--top", "1", made).stdout
    assert len(re.findall(r"^ +\d+\. ", text[text.index("At the peak"):], re.M)) == 1
    assert re.search(r"^  … 1 place more, 2\.00 MB, 40\.0 % of all \(--top N\)$", text, re.M)
    full = tool("report", "--full", "--top", "1", made).stdout
    assert re.search(r"^     … 1 site more, 2\.00 MB, 40\.0 % of peak", full, re.M)


def test_report_tree(tool, made):
    lines = tool("report", "--tree", "--sort", "total", made).stdout.splitlines()
    tree = lines[lines.index("Call tree by total (bytes allocated in all)") + 2:]
    # What is left out below 1 % draws no branch, so that the chain stays a chain.
    assert tree == ["  100 %    5.05 MB  main",
                    " 99.2 %    5.01 MB  handle",
                    " 59.4 %    3.00 MB  cache_put",
                    "",
                    "Side branches below 1 % are left out: --full shows them"]
    one = tool("report", "--tree", "--top", "1", "--sort", "calls", made).stdout
    assert re.search(r"^ +\d.*… \d+ more$", one, re.M)  # much is left out: it is counted
    full = tool("report", "--tree", "--full", "--sort", "total", made).stdout
    assert full.count(" fib\n") == 60 and "more" not in full


TWO_LINES = """#include <stdlib.h>
static __attribute__((noinline)) void *make(size_t size) { return calloc(1, size); }
static __attribute__((noinline)) void both(void **blocks)
{
	blocks[0] = make(3000);
	blocks[1] = make(5000);
}
int main(void)
{
	void *blocks[2];
	both(blocks);
	return blocks[0] == blocks[1];
}
"""


def test_tree_of_several_lines(record, tool, tmp_path):
    """A function that calls another at two lines is one branch, which is of no single line."""
    (tmp_path / "two.c").write_text(TWO_LINES)
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-optimize-sibling-calls", "-o", "two", "two.c"],
                   cwd=tmp_path, check=True)
    text = tool("report", "--tree", record([tmp_path / "two"], check=False).path).stdout
    assert re.findall(r" (main|both|make) .*/two\.c(:\d+)?$", text, re.M) == [
        ("main", ":11"), ("both", ""), ("make", ":2")]


def test_headline_of_a_wrapper(mallow, agent, tmp_path):
    """The summary is of the program that the memory went to, however much the wrapper calls malloc."""
    wrapper = "for i in range(20000): bytes(600)\nimport os; os.system('$0 -c \"x = bytes(50_000_000)\"')"
    run = mallow_run(mallow, "run", "-o", "r", sys.executable, "-c",
                     wrapper.replace("$0", sys.executable), cwd=tmp_path)
    assert run.returncode == 0
    assert re.search(r"^  peak  +5[01]\.\d MB  ", run.stderr, re.M)
    assert re.search(r"^  recording   r\.\d+\.\d+$", run.stderr, re.M)


@pytest.mark.parametrize("columns, shown", [
    (80, "     std::vector<std::string>::_M_realloc_insert"),
    (50, "     std::vector<std::string>::_M_realloc_insert"),
    (40, "     vector<string>::_M_realloc_insert"),
])
def test_long_names_are_shortened_then_cut(mallow, tool, made, columns, shown):
    """On a terminal and in a pipe."""
    words = ["report", "--sort", "leaked"]
    for text in (on_terminal([mallow, *words, made], columns, clean_environment({"NO_COLOR": "1"})),
                 tool(*words, "--width", columns, made).stdout):
        assert [line for line in text.splitlines()
                if "realloc_insert" in line and line.startswith("     ")] == [shown]


@pytest.mark.parametrize("columns", [50, 80, 132])
def test_places_are_in_one_column(mallow, tool, record, compile_sample, columns):
    """Below each other, however long the names are, and the names are cut for it."""
    path = record([compile_sample("totals_cpp", "gcc", "-O2")], check=False).path
    def stacks(text):
        return text[text.index("\n  1. ", text.index("At the peak")):]

    text = stacks(on_terminal([mallow, "report", path], columns, clean_environment({"NO_COLOR": "1"})))
    place = re.compile(r" {5}(\S.*?) {2,}(?=\S*:\d+|… \d+ frames$)")
    found = [(place.match(line), line) for line in text.splitlines() if place.match(line)]
    assert len(found) > 3 and max(len(line) for _, line in found) <= columns
    assert len({match.end() for match, _ in found}) == 1
    wide = stacks(tool("report", "--width", 0, path).stdout)
    whole = [match[1] for match in map(place.match, wide.splitlines()) if match]
    assert ([match[1] for match, _ in found] == whole) == (columns == 132)


@pytest.mark.parametrize("columns", [80, 50, 200])
@pytest.mark.parametrize("options", [[], ["--tree", "--sort", "leaked"], ["--sort", "leaked"]])
def test_report_fits_a_terminal(mallow, made, columns, options):
    text = on_terminal([mallow, "report", *options, made], columns)
    assert "\x1b[1m" in text
    plain = re.sub(r"\x1b\[\d*m", "", text)
    assert "\x1b" not in plain  # the hostile name's own escape is gone
    frames = [line for line in plain.splitlines() if "_M_realloc_insert" in line or "evil" in line]
    assert max(map(len, frames), default=0) <= columns
    if columns >= 80:
        assert max(map(len, plain.splitlines())) <= columns
    quiet = on_terminal([mallow, "report", *options, made], columns,
                        clean_environment({"NO_COLOR": "1"}))
    assert quiet == plain


def test_title_fits_a_terminal(mallow, tool, tmp_path):
    recording = Made(tmp_path, START, arguments=["ä" * 300])
    recording.allocate(START, 100)
    path = recording.write()
    title = on_terminal([mallow, "report", path], 60, clean_environment({"NO_COLOR": "1"}))
    title = title.splitlines()[0]
    assert len(title) == 60 and title.startswith("toyd ää")
    assert re.search("ä…  \\(pid \\d+\\)$", title)
    assert tool("report", "--width", 60, path).stdout.splitlines()[0] == title
    assert "ä" * 194 + "…" in tool("report", "--width", 0, path).stdout.splitlines()[0]


def test_report_names_modules_without_symbols(tool, tmp_path):
    """Three different nameless frames are worth a hint; the _start of a stripped program is not."""
    recording = Made(tmp_path, START, libraries=[("/usr/lib/libdark.so", ["a", "b", "c"]),
                                                 ("/usr/lib/libdim.so", ["start"])])
    recording.allocate([*START, "a", "b", "c"], 100)
    recording.allocate(["start", *START[1:]], 50)
    text = tool("report", recording.write()).stdout
    assert re.search(r"\n\d+ of \d+ frames have no names\. .*:\n  libdark.so: a build that is not stripped\n", text)
    assert "libdim.so:" not in text
    assert "no names" not in tool("report", "--sort", "leaked", "--top", "1",
                                       Made(tmp_path, START).write("none.mallow")).stdout


def test_report_of_an_empty_recording(tool, tmp_path):
    path = Made(tmp_path, START).write()
    text = tool("report", path).stdout
    assert "No site has a peak: peak is 0." in text
    assert report_json.load(tool("report", "--json", path).stdout)["sites"] == []
    assert "Call tree" in tool("report", "--tree", path).stdout
    assert tool("export", "--to", "collapsed", path).stdout == ""


def test_leaks_of_what_was_cut_short(tool, tmp_path):
    """Nothing is missing, but the program might have freed it."""
    recording = Made(tmp_path, START, state=0, end_reason=0)
    recording.allocate(START, 100)
    text = tool("report", recording.write(end=False)).stdout
    assert "\n     100 B  live when it was cut short, in 1 block " in text
    tree = tool("report", "--tree", tmp_path / "made.mallow").stdout
    assert "\n  leaked         100 B  live when it was cut short, in 1 block: may be no leaks\n" in tree


def test_a_file_that_was_cut_off(tool, tmp_path):
    """Its header says that the program ended; what is not there, it does not say."""
    recording = Made(tmp_path, START)
    recording.allocate(START, 100)
    path = recording.write()
    path.write_bytes(path.read_bytes()[:4096])
    assert not tool.info(path)["complete"] and tool.info(path)["ended"]
    assert "  complete   no: the file was cut off\n" in tool("info", path).stdout
    text = tool("report", path).stdout
    assert "; the recording's file was cut off\n" in text and "missing" not in text


def test_report_says_what_is_missing(tool, tmp_path):
    losses = [0] * 16
    losses[2], losses[7], losses[15] = 12, 3, 1
    recording = Made(tmp_path, START, losses=losses, state=0, end_reason=0)
    recording.allocate(START, 100)
    text = tool("report", recording.write(end=False)).stdout
    assert "cut short: killed or crashed" in text
    assert "\n     100 B  not freed, as far as is known, in 1 block " in text
    tree = tool("report", "--tree", tmp_path / "made.mallow").stdout
    assert "\n  leaked         100 B  in 1 block: may be no leaks, as frees may be missing\n" in tree
    assert "  ! 12 lost: events: the recording could not be written\n" in text
    assert "  ! 3 stacks cut at the depth limit\n" in text


# --- info and dump ---

def test_info_json(tool, made):
    info = json.loads(tool("info", "--json", made).stdout)
    assert info["complete"] is True and info["lost"] == 0 and info["pid"] == 4242
    assert info["program"].endswith("/toyd") and info["arguments"] == ["toyd", "--serve"]
    assert info["format_version"] == 1 and info["threads"] == 1 and info["parent_id"] is None
    assert (info["allocations"], info["frees"], info["events"]) == (68, 15, 83)
    assert re.fullmatch("[0-9a-f]{32}", info["id"])
    assert info["losses"]["write_failed"] == 0 and "modules" not in info
    modules = json.loads(tool("info", "--json", "--modules", made).stdout)["modules"]
    assert [module["build_id"] for module in modules] == [None, None]
    assert modules[0]["path"].endswith("/toyd") and modules[1]["path"] == f"/usr/lib/{EVIL}.so"
    both = json.loads(tool("info", "--json", made, made).stdout)
    assert both == [info, info]


def test_info_of_several_goes_on(mallow, made, tmp_path):
    run = mallow_run(mallow, "info", "--json", tmp_path / "none", made)
    assert run.returncode == 1 and "cannot open" in run.stderr
    assert len(json.loads(run.stdout)) == 1


def test_info_text(tool, made):
    text = tool("info", "--modules", made).stdout
    assert "complete   yes" in text and "68 allocations, 15 frees\n" in text
    assert "\x1b" not in text and text.count("no-build-id") == 2


def test_dump(tool, made):
    lines = tool("trace", "dump", made).stdout.splitlines()
    mallocs = [line for line in lines if " malloc " in line]
    assert len(mallocs) == 67 and len([l for l in lines if " operator new " in l]) == 1
    assert re.fullmatch(r"0\.000001000 t1 malloc 0x[0-9a-f]+ size=60000 usable=\d+ depth=5 "
                        r"stack=[0-9a-f]{16}", mallocs[0])
    assert len({line.split("stack=")[1] for line in mallocs[:50]}) == 1
    frees = [line for line in lines if " free " in line]
    assert len(frees) == 15 and all("stack=" not in line for line in frees)
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    assert any(' process field=2 arguments="toyd --serve"' in line for line in lines)
    stacks = tool("trace", "dump", "--stacks", made).stdout
    assert len(re.findall(r"^    at toyd\+0x[0-9a-f]+$", stacks, re.M)) == \
        50 * 5 + 5 * 4 + 10 * 5 + 64 + 4 + 3
    assert "\x1b" not in stacks


def test_guessed_callers(tool, tmp_path):
    """Marked at the frame, counted in the header. Bits of a later version mean nothing."""
    recording = Made(tmp_path, START)
    recording.allocate(START, 100)
    for flags in 1, 4, 5:
        recording.chunk.other(FRAME, 50 + flags, 0x5000 + flags, 1, flags)
    path = recording.write()
    data = bytearray(path.read_bytes())
    data[308:312] = (2).to_bytes(4, "little")
    path.write_bytes(data)
    for _ in range(2):
        lines = [line for line in tool("trace", "dump", path).stdout.splitlines() if " frame id=" in line]
        assert {int(line.split("id=")[1].split()[0]) for line in lines if line.endswith(" caller=guessed")} == {51, 55}
        assert "\n  stacks     of 2 places the caller is a guess, read from code" in tool("info", path).stdout
        assert tool.info(path)["guessed_frames"] == 2 and tool.info(path)["complete"]
        assert "guess" not in tool("report", path).stdout
        tool("finish", "--compress", "always", path)


def test_dump_of_damage_says_where(tool, made, tmp_path):
    broken = bytearray(made.read_bytes())
    broken[4096 + 64 + 900] = 0
    broken[4096 + 64 + 901:4096 + 64 + 1000] = bytes(99)
    path = tmp_path / "broken"
    path.write_bytes(broken)
    assert re.search(r"^# damage at offset 4\d\d\d: expected ", tool("trace", "dump", path).stdout,
                     re.M)


def test_collapsed(tool, made):
    text = tool("export", "--to", "collapsed", "--metric", "total", made).stdout
    stacks = {}
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[stack] = int(value)
    prefix = ";".join(START)
    assert stacks[f"{prefix};handle;cache_put"] == 3_000_000
    assert stacks[f"{prefix};handle;parse"] == 10_000
    assert stacks[f"{prefix};handle"] == 2_000_000
    assert sum(stacks.values()) == 5_050_000
    evil = [stack for stack in stacks if stack.count(";") == 3 and "evil:<b>" in stack]
    assert evil and "\x1b" not in text and "\t" not in text
    assert tool("export", "--to", "collapsed", "--metric", "calls", made).stdout.count("\n") == 6


def test_output_file_appears_whole(mallow, tool, made, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("old")
    tool("export", "--to", "collapsed", "-o", out, made)
    assert out.read_text() == tool("export", "--to", "collapsed", made).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~current_umask()
    run = mallow_run(mallow, "export", "--to", "collapsed", "-o", tmp_path / "no" / "x", made)
    assert run.returncode == 1
    assert run.stderr == f"mallow: cannot write '{tmp_path}/no/x': No such file or directory\n"
    with open("/dev/full", "w") as full:
        run = subprocess.run([str(mallow), "report", "--json", str(made)], stdout=full,
                             stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and "No space left" in run.stderr


@pytest.mark.parametrize("name, unpack", [("out.gz", "zcat"), ("out.zst", "zstdcat")])
def test_output_file_is_compressed_by_its_name(tool, made, tmp_path, name, unpack):
    tool("export", "--to", "collapsed", "-o", tmp_path / name, made)
    run = subprocess.run([need(unpack), tmp_path / name], capture_output=True, text=True, check=True)
    assert run.stdout == tool("export", "--to", "collapsed", made).stdout != ""


def test_no_binary_on_a_terminal(mallow, made):
    text = on_terminal([mallow, "export", "--to", "pprof", made])
    assert text.startswith("mallow: --to pprof is no text for a terminal: -o FILE\n")


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- run: what cannot be run ---

def test_missing_program(mallow, agent, tmp_path):
    run = mallow_run(mallow, "run", "no-such-program")
    assert run.returncode == 127
    assert run.stderr == "mallow: cannot run 'no-such-program': not found on the PATH\n"
    (tmp_path / "beside").symlink_to("/bin/true")
    run = mallow_run(mallow, "run", "beside", cwd=tmp_path)
    assert run.returncode == 127
    assert run.stderr == ("mallow: cannot run 'beside': not found on the PATH: "
                          "did you mean './beside'?\n")
    (tmp_path / "folder").mkdir()
    run = mallow_run(mallow, "run", "folder", cwd=tmp_path)
    assert run.stderr == "mallow: cannot run 'folder': not found on the PATH\n"
    run = mallow_run(mallow, "run", tmp_path / "none")
    assert run.returncode == 127 and "No such file or directory" in run.stderr


def test_not_executable(mallow, agent, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("text")
    run = mallow_run(mallow, "run", plain)
    assert (run.returncode, run.stderr) == (126, f"mallow: cannot run '{plain}': "
                                                 "Permission denied\n")
    run = mallow_run(mallow, "run", tmp_path)
    assert (run.returncode, run.stderr) == (126, f"mallow: cannot run '{tmp_path}': "
                                                 "Is a directory\n")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    run = mallow_run(mallow, "run", script)
    assert run.returncode == 127
    assert run.stderr == (f"mallow: cannot run '{script}': its interpreter "
                          "'/no/such/interpreter': No such file or directory\n")


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_static_program(mallow, agent, tmp_path, option):
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    program = tmp_path / "program"
    subprocess.run([need("gcc"), option, "-o", str(program), str(source)], check=True)
    run = mallow_run(mallow, "run", program)
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == (f"mallow: cannot profile '{program}': it is statically linked: no library "
                          "can be preloaded into it, but libmallow.a can be linked with it "
                          "(docs/linking.md)\n")
    script = tmp_path / "script"
    script.write_text(f"#! {program} -x\n")
    script.chmod(0o755)
    run = mallow_run(mallow, "run", script)
    assert run.returncode == 2
    assert f"its interpreter '{program}' is statically linked" in run.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to give a file away")
def test_setuid_program(mallow, agent, tmp_path):
    program = tmp_path / "program"
    program.write_bytes(pathlib.Path("/bin/true").read_bytes())
    os.chown(program, 65534, 65534)
    for mode, word in ((0o4755, "setuid"), (0o2755, "setgid")):
        program.chmod(mode)
        run = mallow_run(mallow, "run", program)
        assert run.returncode == 2
        assert run.stderr == (f"mallow: cannot profile '{program}': it is {word}: the system "
                              "ignores preloaded libraries for it\n")


def test_program_of_another_machine(mallow, agent, tmp_path):
    program = tmp_path / "program"
    image = bytearray(pathlib.Path("/bin/true").read_bytes())
    image[18:20] = b"\xb7\0"  # e_machine: AArch64
    program.write_bytes(image)
    program.chmod(0o755)
    run = mallow_run(mallow, "run", program)
    assert run.returncode == 2 and "built for another machine than the agent" in run.stderr


def test_library_is_missing(mallow, tmp_path):
    run = mallow_run(mallow, "run", "true",
                     env=clean_environment({"MALLOW_LIBRARY": tmp_path / "none.so"}))
    assert run.returncode == 1
    assert run.stderr == (f"mallow: MALLOW_LIBRARY: '{tmp_path}/none.so': "
                          "No such file or directory\n")


def test_library_with_a_space_in_its_path(mallow, agent, tmp_path):
    """ld.so would split LD_PRELOAD there: a link in the cache folder has none. Children are recorded, too."""
    folder, caches = tmp_path / "a b:c", tmp_path / "caches"
    folder.mkdir()
    library = shutil.copy(agent, folder)
    words = ["run", "-o", tmp_path / "%e.mallow", "--", "sh", "-c", "ls > /dev/null; :"]
    for _ in range(2):
        run = mallow_run(mallow, *words, env=clean_environment({"MALLOW_LIBRARY": library, "XDG_CACHE_HOME": caches}))
        assert run.returncode == 0 and "cannot be preloaded" not in run.stderr
    assert len(list(tmp_path.glob("ls.mallow*"))) == 2
    assert [path.resolve() for path in caches.rglob("libmallow.so")] == [pathlib.Path(library)]
    run = mallow_run(mallow, *words, env=clean_environment({"MALLOW_LIBRARY": library, "XDG_CACHE_HOME": folder}))
    assert run.returncode == 1 and "LD_PRELOAD cannot carry a path with a space" in run.stderr
    # Nor a link that somebody else could change.
    caches.chmod(0o777)
    run = mallow_run(mallow, *words, env=clean_environment({"MALLOW_LIBRARY": library, "XDG_CACHE_HOME": caches}))
    assert run.returncode == 1 and "others may write in" in run.stderr


# --- run: what is run ---

def test_status_is_the_programs(mallow, agent, tmp_path):
    for status in (0, 1, 7, 255):
        run = mallow_run(mallow, "run", "sh", "-c", f"exit {status}", cwd=tmp_path)
        assert run.returncode == status
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        run = mallow_run(mallow, "run", "sh", "-c", f"kill -{int(number)} $$", cwd=tmp_path)
        assert run.returncode == 128 + number


def test_program_sees_what_it_would_see(mallow, agent, tmp_path):
    script = ("import os, sys, signal; sys.stderr.write('to stderr\\n');"
              "print(sys.stdin.read(), sorted(os.listdir('/proc/self/fd'))[:4], sys.argv[1:]);"
              "print([l for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))])")
    command = [sys.executable, "-c", script, "--help", "-x"]
    bare = subprocess.run(command, input="in", capture_output=True, text=True, cwd=tmp_path,
                          env=clean_environment())
    run = mallow_run(mallow, "run", *command, input="in", cwd=tmp_path)
    assert run.stdout == bare.stdout
    assert run.stderr.startswith("to stderr\n")


def test_environment(mallow, agent, tmp_path):
    run = mallow_run(mallow, "run", "--depth", "99", "-o", tmp_path / "r", "--slots=shared", "env",
                     env=clean_environment({"MALLOW_LOG": "error", "LD_PRELOAD": "libm.so.6"}))
    seen = dict(line.split("=", 1) for line in run.stdout.splitlines() if "=" in line)
    assert seen["LD_PRELOAD"].split(":") == [str(agent.resolve()), "libm.so.6"]
    assert seen["MALLOW_DEPTH"] == "99" and seen["MALLOW_OUTPUT"] == str(tmp_path / "r")
    assert seen["MALLOW_SLOTS"] == "shared" and seen["MALLOW_LOG"] == "error"
    assert "MALLOW_FOLLOW" not in seen
    assert re.fullmatch(r"[0-9a-f]{32}:\d+:\d+:mallow-[0-9a-f]{16}", seen["MALLOW_REGISTRY"])


def test_summary(mallow, agent, tmp_path):
    run = mallow_run(mallow, "run", "-o", tmp_path / "a name.mallow", "ls", "/", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stdout == subprocess.run(["ls", "/"], capture_output=True, text=True).stdout
    assert re.search(r"^mallow: ls /  \(pid \d+\)$", run.stderr, re.M)
    for word in ("peak", "leaked", "total", "temporary"):
        assert re.search(rf"^  {word} +\d", run.stderr, re.M)
    assert "  recording   'a name.mallow'\n" in run.stderr
    assert f"  next        {mallow} report 'a name.mallow'\n" in run.stderr
    assert (tmp_path / "a name.mallow").exists()


def test_summary_of_several_images(mallow, agent, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nls / >/dev/null\nls -lR /usr/share/doc >/dev/null\n")
    script.chmod(0o755)
    run = mallow_run(mallow, "run", script, cwd=tmp_path)
    assert run.returncode == 0
    assert re.search(r"^mallow: ls -lR /usr/share/doc", run.stderr, re.M)
    assert re.search(r"^\d+ more recordings? of this run:$", run.stderr, re.M)
    assert re.search(r"^ +\d+ +\d.* (dash|sh)  \S+\.mallow", run.stderr, re.M)


def test_summary_is_of_the_highest_peak(mallow, agent, tmp_path):
    """Not of the first or the last image, nor of the most events; the table shows the others."""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nsort -S 20M /dev/null\n"
                      "ls -lR /usr/share/doc >/dev/null\n")
    script.chmod(0o755)
    run = mallow_run(mallow, "run", script, cwd=tmp_path)
    assert run.returncode == 0
    assert re.search(r"^mallow: sort -S 20M /dev/null .*\n(?:.+\n)*\n  peak +[2-9]\d\.\d MB  ", run.stderr, re.M)
    assert re.search(r"^ +\d+ +[\d.]+ .B .* ls  .*\n +\d+ .* (dash|sh)  ", run.stderr, re.M)


def test_summary_of_a_second_run(mallow, agent, tmp_path):
    """The name that was asked for is that of the first one: whoever types it reads an old recording."""
    first, second = (mallow_run(mallow, "run", "-o", "r.mallow", "ls", cwd=tmp_path) for _ in range(2))
    assert "\n  recording   r.mallow\n" in first.stderr
    assert "\n  recording   r.mallow.1  (r.mallow is an older one)\n" in second.stderr


def test_summary_names_the_signal(mallow, agent, tmp_path):
    run = mallow_run(mallow, "run", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)",
                     cwd=tmp_path)
    assert run.returncode == 137
    assert re.search(r"^mallow: .*\n  ended by signal 9 \(Killed\)\nMost memory at .*\n(?:.+\n)*\n  peak ", run.stderr, re.M)


@pytest.mark.parametrize("script,status,said", [
    ("rm r.mallow; exit 3", 3, "cannot open '{path}': No such file or directory"),
    (": >r.mallow; kill -9 $$", 137, "recording '{path}' stopped: the program cuts the file; later events are lost\n"
         "mallow: '{path}' is no recording: it is empty"),
    ("rm -r ../folder; exit 3", 3, "cannot open '{path}': No such file or directory")], ids=str)
def test_recording_that_is_gone(script, status, said, mallow, agent, tmp_path):
    """It is said, and the status is the program's."""
    folder = tmp_path / "folder"
    folder.mkdir()
    run = mallow_run(mallow, "run", "--follow=0", "--slots=private", "-o", "r.mallow", "sh", "-c", script,
                     cwd=folder)
    assert run.returncode == status
    assert run.stderr == f"mallow: {said.format(path=folder / 'r.mallow')}\n"


@pytest.mark.parametrize("folder,name", [("folder", "a\nb.mallow"), ("a\nfolder", "r.mallow")])
def test_a_newline_in_a_name(folder, name, mallow, agent, tmp_path):
    folder = tmp_path / folder
    folder.mkdir()
    run = mallow_run(mallow, "run", "-o", name, "sh", "-c", "exit 3", cwd=folder)
    assert run.returncode == 3
    assert re.search(r"^mallow: sh -c exit 3  \(pid \d+\)\n(?:.+\n)*\n  peak ", run.stderr, re.M)
    assert (folder / name).exists()


def test_a_file_in_place_of_a_command(tool, made):
    run = tool("/bin/true", check=False)
    assert run.returncode == 2
    assert run.stderr == "mallow: unknown command '/bin/true': did you mean 'mallow run /bin/true'?\n"
    run = tool(made, check=False)
    assert run.returncode == 2
    assert run.stderr == f"mallow: unknown command '{made}': did you mean 'mallow report {made}'?\n"


def test_nothing_recorded(mallow, agent, tmp_path):
    library = tmp_path / "another.so"
    subprocess.run([need("gcc"), "-shared", "-o", library, "-xc", "/dev/null"], check=True)
    run = mallow_run(mallow, "run", "true", cwd=tmp_path,
                     env=dict(clean_environment(), MALLOW_LIBRARY=library))
    assert run.returncode == 0
    assert run.stderr.startswith("mallow: 'true' left no recording: it or what it executed is ")


def test_no_recording_where_it_cannot_be(mallow, agent, tmp_path):
    """The agent has said why; that is all."""
    run = mallow_run(mallow, "run", "-o", "/proc/no/such/place", "true", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stderr == ("mallow: cannot write '/proc/no/such/place': No such file or directory; "
                          "the program runs unrecorded\n")


SIGNALS = """
import signal, sys, time
got = []
for number in (1, 2, 3, 10, 12, 14, 15, 18, 28, signal.SIGRTMIN):
    signal.signal(number, lambda n, frame: got.append(int(n)))
print("ready", flush=True)
deadline = time.monotonic() + 20
while 15 not in got and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.2)
print(got, flush=True)
sys.exit(42)
"""


def test_signals_are_handed_on_once(mallow, agent, tmp_path):
    process = subprocess.Popen([str(mallow), "run", sys.executable, "-c", SIGNALS],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=tmp_path, env=clean_environment())
    assert process.stdout.readline() == "ready\n"
    sent = [1, 2, 3, 10, 12, 14, 18, 28, int(signal.SIGRTMIN), 15]
    for number in sent:
        os.kill(process.pid, number)
        time.sleep(0.1)
    output, errors = process.communicate(timeout=30)
    assert json.loads(output.replace("'", '"')) == sent
    assert process.returncode == 42
    assert "  peak " in errors  # the summary came all the same


def test_interrupt_from_the_terminal_comes_once(mallow, agent, tmp_path):
    child, master = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(str(mallow), [str(mallow), "run", sys.executable, "-c", SIGNALS],
                  clean_environment())
    output = read_until(master, b"ready")
    os.write(master, b"\x03")
    time.sleep(0.5)
    os.kill(child, signal.SIGTERM)
    output = read_until(master, None)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 42
    assert b"[2, 15]" in output and b"peak" in output


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def wait_for_state(pid, wanted):
    deadline = time.monotonic() + 10
    while state(pid) not in wanted:
        assert time.monotonic() < deadline, f"state {state(pid)}, not {wanted}"
        time.sleep(0.02)


def test_stop_and_continue(mallow, agent, tmp_path):
    process = subprocess.Popen([str(mallow), "run", "sleep", "20"], cwd=tmp_path,
                               stderr=subprocess.DEVNULL, env=clean_environment(),
                               process_group=0 if sys.version_info >= (3, 11) else None)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 10
    while not children.read_text().split():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    sleeper = int(children.read_text().split()[0])
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGTSTP)
    wait_for_state(sleeper, "T")
    wait_for_state(process.pid, "T")
    os.kill(process.pid, signal.SIGCONT)
    wait_for_state(sleeper, "SR")
    wait_for_state(process.pid, "SR")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=20) == 128 + signal.SIGTERM


def test_ignored_signals_stay_ignored(mallow, agent, tmp_path):
    command = ["nohup", str(mallow), "run", "grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path,
                         env=clean_environment())
    bare = subprocess.run(["nohup", *command[3:]], capture_output=True, text=True,
                          env=clean_environment())
    assert run.stdout == bare.stdout


# --- colours, pager ---


def test_colours(mallow, made):  # noqa: F811
    plain = mallow_run(mallow, "report", made).stdout
    coloured = mallow_run(mallow, "report", "--color=always", made, env=clean_environment({"NO_COLOR": "1"})).stdout
    assert "\x1b[" not in plain and re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain != coloured
    assert "\x1b[" not in on_terminal([mallow, "report", "--color", "never", made], env={"TERM": "xterm"})
    assert "\x1b[" in on_terminal([mallow, "report", "--color", "auto", made], env={"TERM": "xterm"})
    wrong = mallow_run(mallow, "report", "--color=sometimes", made)
    assert wrong.returncode == 2 and "'sometimes' is no value of --color: one of auto always never" in wrong.stderr
    assert "unknown option '--no-pager' of 'check'" in mallow_run(mallow, "check", "--no-pager", made).stderr


def test_pager(mallow, made):  # noqa: F811
    """What is longer than the terminal, of 20 lines, goes through PAGER; what is not does not."""
    long = [mallow, "report", made]

    def shown(command, pager, **env):
        return on_terminal(command, env={"TERM": "xterm", "NO_COLOR": "1", "PAGER": pager, **env}, rows=20)
    plain = shown(long, "cat")
    assert plain.count("\n") > 20
    assert shown(long, "sed s/^/:/") == "".join(f":{line}" for line in plain.splitlines(keepends=True))
    assert shown([*long, "--no-pager"], "sed s/^/:/") == shown(long, "") == plain
    assert shown(long, "sed s/^/:/", TERM="dumb") == plain
    assert ":" not in shown([mallow, "info", made], "sed s/^/:/")[0]
    # A pager that is not there shows nothing, one that is ended early ends nothing else.
    assert shown(long, "/not/there").endswith(plain)
    assert shown(long, "head -n 1") == plain.split("\n")[0] + "\n"


# --- what is made from the tables ---


def test_bash_completion(mallow):
    script = made_from_tables(mallow, "mallow.bash")
    assert completions(script, "mallow", "") == ["run", "live", "top", "attach", "memleak", "report", "diff", "export", "push", "sql",
                                                 "check", "serve", "gather", "core", "info", "finish", "import", "strip", "trace", "help", "--help", "--version"]
    assert completions(script, "mallow", "help", "re") == ["report"]
    assert completions(script, "mallow", "trace", "") == ["dump"]
    assert completions(script, "mallow", "report", "--to") == ["--top", "--to"]
    assert completions(script, "mallow", "trace", "dump", "--st") == ["--stacks"]
    assert completions(script, "mallow", "report", "--sort", "t") == ["total", "temporary"]
    for command in "run", "live":
        assert "sh" in completions(script, "mallow", command, "s")


@pytest.fixture
def some_files(tmp_path, monkeypatch):
    for name in ("a.mallow", "b.mallow.71.0", "other.txt"):
        (tmp_path / name).touch()
    (tmp_path / "place").mkdir()
    monkeypatch.chdir(tmp_path)


def test_completion_of_recordings(mallow, some_files):
    """Of files only recordings are offered where one is wanted, and all for an option's value."""
    script = made_from_tables(mallow, "mallow.bash")
    for words in (["report", ""], ["diff", ""], ["trace", "dump", ""], ["check", "--merge", ""]):
        assert sorted(completions(script, "mallow", *words)) == ["a.mallow", "b.mallow.71.0", "place"]
    for words in (["report", "--suppressions", "o"], ["core", "o"], ["export", "-o", "o"]):
        assert completions(script, "mallow", *words) == ["other.txt"]


def test_fish_completion(mallow, some_files):
    script = made_from_tables(mallow, "mallow.fish")

    def offered(line):
        run = subprocess.run([need("fish"), "--no-config", "-c", 'source $argv[1]; complete -C$argv[2]', str(script),
                              f"mallow {line}"], capture_output=True, text=True, check=True)
        assert run.stderr == ""
        return [word.split("\t")[0] for word in run.stdout.splitlines()]
    assert offered("re") == ["report"] and offered("trace ") == ["dump"]
    assert offered("report ") == ["a.mallow", "b.mallow.71.0", "place/"]
    assert offered("report --sort t") == ["temporary", "total"]
    assert offered("report --merg") == ["--merge"]
    assert offered("core o") == ["other.txt"] == offered("export --output o")
    assert "ls" in offered("run l")


@pytest.mark.parametrize("typed,completed", [
    ("mallow repo", "mallow report "),
    ("mallow trace d", "mallow trace dump "),
    ("mallow report --sor", "mallow report --sort="),
    ("mallow report --sort lea", "mallow report --sort leaked "),
    ("mallow trace dump --stac", "mallow trace dump --stacks "),
    ("mallow report a", "mallow report a.mallow "),
    ("mallow core oth", "mallow core other.txt "),
    ("mallow run uniq", "mallow run uniq "),
])
def test_zsh_completion(typed, completed, mallow, some_files, tmp_path):
    """What stands in zsh's line after Tab."""
    shutil.copy(made_from_tables(mallow, "_mallow"), tmp_path)
    setup = ("PS1='> '; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; zstyle ':completion:*' menu no; "
             "unsetopt beep prompt_sp; show() { print -r -- \"<$BUFFER>\"; exit }; zle -N show; bindkey '^X' show; echo ready\n")
    zsh = need("zsh")
    child, master = pty.fork()
    if child == 0:
        os.execve(zsh, ["zsh", "-f", "-i"], {**clean_environment(), "TERM": "dumb", "PATH": os.environ["PATH"]})
    os.write(master, setup.encode())
    read_until(master, b"\nready")
    os.write(master, f"{typed}\t\x18".encode())
    text = read_until(master, None).decode()
    os.waitpid(child, 0)
    os.close(master)
    assert f"<{completed}>" in text


def test_completion_of_live_programs(mallow, agent, tmp_path):
    """`mallow top` takes the PID of a program under `mallow live`."""
    script = made_from_tables(mallow, "mallow.bash")
    process = subprocess.Popen([str(mallow), "live", "sh", "-c", "echo $$; read wait"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL, env=clean_environment())
    pid = process.stdout.readline().strip()
    offered = completions(script, "mallow", "top", "")
    process.communicate("\n")
    assert pid in offered and str(os.getpid()) not in offered


def test_man_page(mallow):
    page = made_from_tables(mallow, "mallow.1")
    run = subprocess.run([need("man"), "--warnings", "-l", str(page)], capture_output=True,
                         text=True, env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert run.returncode == 0 and run.stderr == ""
    for command in ("run", "live", "report", "diff", "export", "serve", "info", "trace dump"):
        assert f"mallow {command} " in run.stdout
    assert "--sort METRIC" in run.stdout and "MALLOW_LIBRARY" in run.stdout


@pytest.mark.parametrize("library, arguments", [
    ("libgnutls.so.30", ["gather", "--listen", "127.0.0.1:0", "--token-file", "token"]),
    ("libmicrohttpd.so.12", ["serve", "--port", "0", "any.mallow"])])
def test_a_library_that_few_commands_need(library, arguments, mallow, tmp_path):
    """Where it is broken they say so; no other command loads it."""
    (tmp_path / library).write_bytes(b"\x7fELF")
    (tmp_path / "token").write_text("a token of more than sixteen characters\n")
    Made(tmp_path, START).write("any.mallow")
    environment = clean_environment({"LD_LIBRARY_PATH": str(tmp_path)})
    result = mallow_run(mallow, *arguments, env=environment, cwd=tmp_path)
    assert result.returncode == 1 and f"{library} is needed for this, and cannot be loaded: " in result.stderr
    assert mallow_run(mallow, "--version", env=environment).returncode == 0
