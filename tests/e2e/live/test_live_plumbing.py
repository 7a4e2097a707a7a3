"""Own code first in reports of live allocations: a run of plumbing is one line, and --depth counts
lines. What is printed is compared with what follows from the JSON, which has every frame."""
import itertools
import json
import re
import subprocess

import pytest

from conftest import clean_environment
from live_programs import live_report
from made_live import TRUNCATED, MadeLive
from session_cache import SESSION_CACHE

START = ["_start", "__libc_start_main", "main"]
NEW, PUSH, GROW = "_Znwm", "_ZNSt6vectorIiSaIiEE9push_backEi", "_ZNSt6vectorIiSaIiEE4growEv"
LINE = re.compile(r"^(?:(\d+) \[ *(0x[0-9a-f]+)?\]| {19,}) ?(.+?)(?: \+0x[0-9a-f]+)?(?:  +(.*))?$")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    made = MadeLive(tmp_path_factory.mktemp("live"),
                    [*START, "handle", "cache_put", "walk", NEW, PUSH, GROW])
    made.site([*START, "cache_put", PUSH, GROW, NEW], 4, 4_000)
    made.site([*START, PUSH, "handle", PUSH, NEW], 3, 3_000)
    made.site([*START, *["walk"] * 30, NEW], 2, 2_000)
    made.site([TRUNCATED, PUSH, GROW, NEW], 1, 1_000)
    return made.write()


def stacks(report):
    """Of each backtrace its lines, without addresses."""
    return [re.sub(r"\[.{14}\]", "[]", block) for block in re.findall(
        r"^=== .*\n((?:[\d ].*\n)+)", report, re.M)]


def test_folded(mallow, table):
    """Of a run stands the outermost frame with its number in the stack; without own code all do."""
    assert stacks(live_report(mallow, table)) == [
        """\
2 [] std::vector<int>::push_back +0x5  … 3 frames
3 [] cache_put +0x5
4 [] main +0x5
""", """\
1 [] std::vector<int>::push_back +0x5  … 2 frames
2 [] handle +0x5
3 [] std::vector<int>::push_back +0x5
4 [] main +0x5
""", """\
0 [] operator new +0x5
1 [] walk +0x5             × 30
31 [] main +0x5
""", """\
0 [] operator new +0x5
1 [] std::vector<int>::grow +0x5
2 [] std::vector<int>::push_back +0x5
3 [] [truncated]
"""]


@pytest.mark.parametrize("how", ["option", "variable"])
def test_full(mallow, table, how):
    """Each frame is a line with its whole name."""
    report = live_report(mallow, table, *(["--full"] if how == "option" else []),
                         env={"MALLOW_FULL": "1"} if how == "variable" else None)
    assert stacks(report)[:2] == [
        """\
0 [] operator new(unsigned long) +0x5
1 [] std::vector<int, std::allocator<int>>::grow() +0x5
2 [] std::vector<int, std::allocator<int>>::push_back(int) +0x5
3 [] cache_put +0x5
4 [] main +0x5
5 [] __libc_start_main +0x5
6 [] _start +0x5
""", """\
0 [] operator new(unsigned long) +0x5
1 [] std::vector<int, std::allocator<int>>::push_back(int) +0x5
2 [] handle +0x5
3 [] std::vector<int, std::allocator<int>>::push_back(int) +0x5
4 [] main +0x5
5 [] __libc_start_main +0x5
6 [] _start +0x5
"""]
    assert len(stacks(report)[2].splitlines()) == 8  # --depth counts frames then


@pytest.mark.parametrize("depth", range(1, 5))
def test_depth_counts_lines(mallow, table, depth):
    whole = stacks(live_report(mallow, table))
    assert stacks(live_report(mallow, table, "--depth", str(depth))) == [
        "".join(lines.splitlines(keepends=True)[:depth]) for lines in whole]


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_file_adds(mallow, table, tmp_path, how):
    words = tmp_path / "plumbing.txt"
    words.write_text("# not mine\nfunction:^cache_\n")
    report = live_report(mallow, table, *(["--plumbing", str(words)] if how == "option" else []),
                         env={"MALLOW_PLUMBING": str(words)} if how == "variable" else None)
    assert stacks(report)[0] == "3 [] cache_put +0x5        … 4 frames\n4 [] main +0x5\n"
    assert stacks(report)[1:] == stacks(live_report(mallow, table))[1:]


@pytest.mark.parametrize("text, message", [
    (None, "No such file or directory"),
    ("function:a\nfuncion:b\n", "line 2, 'funcion:b', is not module:PATTERN"),
])
def test_wrong_files(mallow, table, tmp_path, text, message):
    """No report, and one line. mallow live says so before it starts the program."""
    path = tmp_path / "plumbing.txt"
    if text:
        path.write_text(text)
    ran = [live_report(mallow, table, "--plumbing", str(path), check=False),
           subprocess.run([str(mallow), "live", "--plumbing", str(path), "touch", str(tmp_path / "ran")],
                          capture_output=True, text=True, timeout=60, env=clean_environment())]
    for run in ran:
        assert run.returncode == 1 and re.fullmatch(f"mallow: {path}: .*{re.escape(message)}.*\n", run.stderr)
    assert not (tmp_path / "ran").exists()


def test_json_has_every_frame(mallow, table, tmp_path):
    words = tmp_path / "plumbing.txt"
    words.write_text("function:^cache_\n")
    report = live_report(mallow, table, "--json")
    assert live_report(mallow, table, "--json", "--full") == report
    sites = json.loads(report)["sites"]
    assert [(frame["short"], frame["plumbing"]) for frame in sites[0]["stack"]] == [
        ("operator new", True), ("std::vector<int>::grow", True), ("std::vector<int>::push_back", True),
        ("cache_put", False), ("main", False), ("__libc_start_main", True), ("_start", True)]
    sites = json.loads(live_report(mallow, table, "--json", "--plumbing", str(words)))["sites"]
    assert [frame["plumbing"] for frame in sites[0]["stack"]] == [True] * 4 + [False, True, True]


@pytest.mark.parametrize("words, line, left", [
    # In a frame that a printed line stands for; by its short name and by its whole one.
    ([], "std::vector<int>::grow +0x5", ["std::vector<int>::push_back", "operator"]),
    ([], "std::vector<int, std::allocator<int>>::grow()", ["std::vector<int>::push_back", "operator"]),
    ([], "operator new", []),
    # Only as far as lines are printed.
    (["--depth", "1"], "cache_put", ["std::vector<int>::push_back"] * 2 + ["operator"] * 2),
    (["--depth", "2"], "cache_put", ["std::vector<int>::push_back"] + ["operator"] * 2),
    (["--full", "--depth", "3"], "cache_put", ["operator"] * 4),
    (["--full", "--depth", "4"], "cache_put", ["operator"] * 3),
    # Numbers and addresses are those of the frame.
    ([], "30 [    0x10001055] walk", ["std::vector<int>::push_back"] * 2 + ["operator"]),
    (["--depth", "2"], "walk +0x5", ["std::vector<int>::push_back"] * 2 + ["operator"]),
    (["--depth", "2"], "main", ["std::vector<int>::push_back"] * 2 + ["operator"] * 2),
    # What runs before main is not printed.
    ([], "_start", ["std::vector<int>::push_back"] * 2 + ["operator"] * 2),
])
def test_ignore(mallow, table, tmp_path, words, line, left):
    (tmp_path / "ignored").write_text(line + "\n")
    report = live_report(mallow, table, *words, "--ignore", str(tmp_path / "ignored"))
    assert [re.search(r"\] (\S+)", lines)[1] for lines in stacks(report)] == left


# --- real programs ---

@pytest.mark.parametrize("alone", [False, True])
def test_the_file_is_where_the_program_was_started(mallow, agent, compile_sample, tmp_path, alone):
    """By `mallow live` or the library alone, wherever the program goes."""
    (tmp_path / "plumbing.txt").write_text("function:^make$\nfunction:^list$\n")
    (tmp_path / "elsewhere").mkdir()
    program = ["sh", "-c", f"cd elsewhere; exec {compile_sample('live_report')}"]
    settings = {"MALLOW_MODE": "live", "LD_PRELOAD": agent, "MALLOW_HELPER": mallow,
                "MALLOW_PLUMBING": str(tmp_path / "plumbing.txt")}
    command = program if alone else [mallow, "live", "--plumbing", "plumbing.txt", *program]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=60,
                         env=clean_environment(settings if alone else None))
    assert run.returncode == 7
    assert re.search(r"^1 \[0x[0-9a-f]+\] list \+0x[0-9a-f]+ +… 2 frames\n2 .* main ", run.stderr, re.M)


PROGRAM = SESSION_CACHE + """
#include <algorithm>
#include <unistd.h>
static std::vector<std::string> names;
static __attribute__((noinline)) int walk(int depth)
{
	names.push_back(std::string(100 + depth, 'x'));
	return depth ? walk(depth - 1) + 1 : 0;
}
int main()
{
	Cache cache;
	std::vector<int> numbers(20);
	std::for_each(numbers.begin(), numbers.end(), [&](int &n) { cache.put(n++ + (int)names.size()); });
	walk(30);
	_exit(names.size() & 0);
}
"""
STARTUP = ("_start", "__libc_start_main", "__libc_start_call_main", "_dl_start_user")


def wanted_lines(stack):
    """What is printed of a stack, as [(number, address, name, rest)], from its frames in JSON."""
    numbers, number = [], -1
    for before, frame in zip([None, *stack], stack):
        number += not (before and before["inlined"] and before["address"] == frame["address"])
        numbers.append(number)
    frames = list(zip(numbers, stack))
    while frames and frames[-1][1]["function"].split("@")[0] in STARTUP:
        frames.pop()
    lines = []  # [number, frame, how often]: what repeats is once
    for number, frame in frames:
        key = (frame["function"], frame["file"], frame["line"], frame["inlined"], frame["address"])
        if lines and lines[-1][2] == key:
            lines[-1][3] += 1
        else:
            lines.append([number, frame, key, 1])
    if any(own(frame) for _, frame, _, _ in lines):
        folded = []
        for plumbing, run in itertools.groupby(lines, lambda line: line[1]["plumbing"]):
            run = list(run)
            count = sum(line[3] for line in run)
            if plumbing and count > 1:
                run = [[run[-1][0], run[-1][1], None, f"… {count} frames"]]
            folded += run
        lines = folded
    return [(number, int(frame["address"], 16) + 1, frame["short"],
             rest if isinstance(rest, str) else f"× {rest}" if rest > 1 else None)
            for number, frame, _, rest in lines]


def own(frame):
    return not frame["plumbing"] and not frame["function"].startswith("[")


def printed_lines(text):
    """The same, as it is printed. A line without an address is of the frame above it."""
    lines = []
    for line in text.splitlines():
        number, address, name, rest = LINE.fullmatch(line).groups()
        if number:
            at = int(number), int(address, 16)
        extra = re.search(r"(… \d+ frames|× \d+)$", rest or "")
        lines.append((*at, name, extra[1] if extra else None))
    return lines


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_as_from_json(mallow, tmp_path, opt):
    """Inlined functions, runs that end within a frame, recursion, code of the loader."""
    source, program = tmp_path / "cache.cpp", tmp_path / "cache"
    source.write_text(PROGRAM)
    subprocess.run(["g++", "-g", opt, "-no-pie", "-o", program, source], check=True)
    reports = []
    for words in ["--json"], []:
        run = subprocess.run(["setarch", "-R", str(mallow), "live", *words, "--top", "100", "--depth", "100",
                              str(program)], capture_output=True, text=True, timeout=60,
                             env=clean_environment())
        assert run.returncode == 0
        reports.append(run.stderr)
    sites = json.loads(reports[0])["sites"]
    found = re.findall(r"^=== .*\n((?:[\d ].*\n)+)", reports[1], re.M)
    wanted = [[(number, address, re.sub(r"^(\[.*\])\+0x.*", r"\1", name), rest)
               for number, address, name, rest in wanted_lines(site["stack"])] for site in sites]
    assert len(found) == len(sites) >= 5
    assert sorted(map(printed_lines, found), key=str) == sorted(wanted, key=str)
    extras = [rest or "" for lines in wanted for *_, rest in lines]
    assert any("frames" in rest for rest in extras)
