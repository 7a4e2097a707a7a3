"""The page that `mallow report` is: it fits 80 columns and 40 lines, its rows are the sites put
together by what a reader sees of them, and its sums are those of everything else."""
import collections
import re
import resource
import subprocess

import pytest

from command_line import on_terminal

ROW = re.compile(r"^ +([\d,]+)(?: B)? +(?:[<\d.]+ %|-)  (?:[ ▁-█]{8}  )?(\S.*)$")
METRICS = {"peak": "peak_bytes", "leaked": "leaked_bytes", "total": "total_bytes", "calls": "calls",
           "temporary": "temporary"}

# Overloads and templates that read the same without their parameters and arguments, functions that
# are called from two places, allocations by own code alone, and recursion.
PROGRAM = """
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
std::vector<void *> kept;
struct Session { std::vector<char> buffer; explicit Session(size_t size) : buffer(size) {} };
__attribute__((noinline)) void keep(int size) { kept.push_back(malloc(size)); asm volatile(""); }
__attribute__((noinline)) void keep(long size) { kept.push_back(malloc(size + 1)); asm volatile(""); }
template <class A, class B> __attribute__((noinline)) void fill(A a, B b)
{
	static std::map<std::string, std::shared_ptr<Session>> all;
	all["number " + std::to_string(a + b)] = std::make_shared<Session>(900);
	asm volatile("");
}
__attribute__((noinline)) void deep(int depth) { if (depth) deep(depth - 1); else keep(300); asm volatile(""); }
int main()
{
	for (int i = 0; i < 40; i++) { keep(1000); keep(2000L); deep(i); fill(i, 2); fill(i, 3L); fill((long)i, 1000); }
	for (int i = 0; i < 40; i++) fill(i, 40L);
	for (int i = 0; i < 500; i++) free(malloc(77));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "page.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "-g", "-O1", "-o", folder / "page", folder / "page.cpp"], check=True)
    return folder / "page"


@pytest.fixture
def recording(record, program):
    return record([program]).path


def key(stack):
    """What a row reads: the slow way, by what JSON says of frames."""
    named = [frame for frame in stack if not re.match(r"\[.*\]\+0x|0x|\[(truncated|broken|lost)\]", frame["function"])]
    own = next((place for place, frame in enumerate(stack) if frame in named and not frame["plumbing"]), None)
    if own is None:
        frame, call = (named or stack or [None])[0], None
    else:
        frame = stack[own]
        call = next((one for one in reversed(stack[:own]) if one in named), None)
    if not frame:
        return None
    return (frame["function"], frame["module"], frame["file"], frame["line"],
            call and (call["function"], call["module"]))


def places(report, field):
    sums = collections.Counter()
    for site in report["sites"]:
        sums[key(site["stack"])] += site[field]
    return sorted(filter(None, sums.values()), reverse=True)


def table(text, title):
    lines = text[text.index(f"\n{title}") + 1:].split("\n\n")[0].splitlines()[1:]
    rest = lines.pop() if "more," in lines[-1] else None
    return [(int(found[1].replace(",", "")), found[2]) for found in map(ROW.match, lines)], rest


@pytest.mark.parametrize("metric,title", [
    ("peak", "At the peak"), ("leaked", "Never freed"), ("total", "Bytes in all"), ("calls", "Calls"),
    ("temporary", "Temporary calls"),
])
def test_rows_are_places(tool, recording, metric, title):
    """Every row, against a slow way to put sites together; and no two rows read the same."""
    report = tool.report(recording)
    words = ["report", "--bytes", "--sort", metric, "--width", "0"]
    rows, rest = table(tool(*words, "--top", "0", recording).stdout, title)
    assert not rest
    assert [value for value, _ in rows] == places(report, METRICS[metric])
    assert sum(value for value, _ in rows) == report[METRICS[metric]]
    assert len({text for _, text in rows}) == len(rows)
    # What is not shown is counted.
    few, rest = table(tool(*words, "--top", "2", recording).stdout, title)
    assert few == rows[:2]
    if len(rows) > 2:
        count, value = re.match(r"  … (\d+) places? more, ([\d,]+)", rest).groups()
        assert int(count) == len(rows) - 2
        assert int(value.replace(",", "")) == sum(value for value, _ in rows[2:])


def test_fits_a_page(tool, recording):
    def report(*options):
        return tool("report", *options, recording.name, cwd=recording.parent).stdout

    text = report()
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 80
    stacks = text[text.index("At the peak"):]
    assert re.findall(r"^ +(\d)\. ", stacks, re.M) == ["1", "2", "3"]
    assert len(report("--width", "200").splitlines()) <= 40


@pytest.mark.parametrize("width", [40, 60, 80])
def test_rows_differ_at_any_width(tool, recording, width):
    text = tool("report", "--width", width, "--top", "0", "--bytes", recording).stdout
    rows, _ = table(text, "At the peak")
    assert len({text for _, text in rows}) == len(rows)


def test_same_on_a_terminal(mallow, tool, recording):
    """A terminal of 80 columns and a pipe read the same, but for colours."""
    shown = on_terminal([mallow, "report", recording], 80)
    assert re.sub(r"\x1b\[\d*m", "", shown) == tool("report", recording).stdout


def test_stacks_are_those_of_the_rows(tool, recording):
    text = tool("report", "--bytes", "--width", "0", "--top", "4", recording).stdout
    rows, _ = table(text, "At the peak")
    values = [int(value.replace(",", ""))
              for value in re.findall(r"^ +\d\. ([\d,]+) B", text[text.index("At the peak"):], re.M)]
    assert values == [value for value, _ in rows]


# The headline names Cache::put: half of the bytes come from each of two functions far below it, and
# it is itself far below main.
DEEP = """
#include <cstdlib>
#include <vector>
std::vector<void *> kept;
struct Cache { void put(int size); };
template <int N> __attribute__((noinline)) void below(int size)
{
	if constexpr (N % 20 == 0) kept.push_back(malloc(size));
	else below<N - 1>(size);
	asm volatile("");
}
__attribute__((noinline)) void Cache::put(int size) { size & 1 ? below<29>(size) : below<9>(size); asm volatile(""); }
template <int N> __attribute__((noinline)) void above(Cache &cache, int size)
{
	if constexpr (N) above<N - 1>(cache, size);
	else cache.put(size);
	asm volatile("");
}
__attribute__((noinline)) void serve(Cache &cache, int size) { above<9>(cache, size); asm volatile(""); }
int main() { Cache cache; for (int i = 0; i < 600; i++) serve(cache, 90000 + i); }
"""


def test_stacks_show_what_the_text_names(tool, record, tmp_path):
    """However many frames are left out: the headline's function, the place's, and the outermost own."""
    (tmp_path / "deep.cpp").write_text(DEEP)
    subprocess.run(["g++", "-g", "-O1", "-std=c++17", "-o", tmp_path / "deep", tmp_path / "deep.cpp"], check=True)
    path = record([tmp_path / "deep"]).path
    for width in (80, 160):
        text = tool("report", "--width", width, path).stdout
        assert re.search(r"\d % of it\s+for\s+Cache::put", text), text
        stack = text[text.index("\n  1. ", text.index("At the peak")):].split("\n\n")[0]
        shown = [line.split()[0] for line in stack.splitlines()[2:]]
        assert [name for name in shown if name in ("below<0>", "below<20>", "Cache::put", "main")][1:] == \
            ["Cache::put", "main"], text
        assert len(text.splitlines()) <= 40


LAMBDAS = """
#include <cstdlib>
#include <vector>
std::vector<void *> kept;
template <class F> __attribute__((noinline)) void each(F f) { for (int i = 0; i < 50; i++) f(i); asm volatile(""); }
struct ServerOfManyNames {
	__attribute__((noinline)) void start()
	{
		each([](int i) { kept.push_back(malloc(9000 + i)); });
		each([](auto i) { kept.push_back(malloc(8000 + i)); });
	}
};
int main()
{
	ServerOfManyNames().start();
	each([](int i) { kept.push_back(malloc(7000 + i)); });
	each([](int i) { kept.push_back(malloc(6000 + i)); });
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_lambdas_have_their_functions_names(tool, record, tmp_path, compiler):
    (tmp_path / "svc.cpp").write_text(LAMBDAS)
    subprocess.run([compiler, "-g", "-O0", "-o", tmp_path / "svc", tmp_path / "svc.cpp"], check=True)
    path = record([tmp_path / "svc"]).path
    for width in (60, 80, 160):
        rows, _ = table(tool("report", "--width", width, "--top", "4", "--bytes", path).stdout, "At the peak")
        named = [re.search(r"(\S*)::\{lambda(?:#\d)?\}", text) for _, text in rows]
        assert all(named), rows
        assert [("…" + found[1]).rstrip(":")[-3:] for found in named] == ["art", "art", "ain", "ain"], rows
        assert not any("operator()" in text for _, text in rows), rows


WRONG_FREE = """
#include <cstdlib>
int main() {
    for (int i = 0; i < 1000000; i++)
        std::free(std::malloc(600));
    int *block = new int;
    asm volatile("" : "+r"(block));
    std::free(block);
}
"""


def test_without_room_for_all_blocks(mallow, record, tmp_path):
    """To judge a wrong free needs every block, and sums need less: a report without findings is better than none."""
    (tmp_path / "wrong.cc").write_text(WRONG_FREE)
    subprocess.run(["g++", "-O0", "-w", "-o", "wrong", "wrong.cc"], cwd=tmp_path, check=True)
    path = record([tmp_path / "wrong"]).path

    def within(mebibytes, *words):
        return subprocess.run([mallow, "report", *words, path], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(
                                  resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20)))

    least = next(size for size in range(16, 512, 2) if within(size, "--tree").returncode == 0)
    enough = within(512).stdout
    assert "1 wrong free" in enough and "the recording's blocks were not read" not in enough
    # The headline's functions take a little more than a tree does.
    page = next((page for page in map(within, (least, least + 2)) if page.returncode == 0), None)
    assert page, within(least + 2).stderr
    assert "not looked for all: the recording's blocks were not read" in page.stdout
