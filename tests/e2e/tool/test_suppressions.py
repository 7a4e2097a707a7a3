"""`mallow report --suppressions`: LeakSanitizer's language, what it hides and what is said of it,
and those that a program has in itself, as compilers make them."""
import json
import re
import subprocess

import pytest

from conftest import clean_environment
from made_recording import Made
from queries import example, program, run_tool  # noqa: F401


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """Leaks of 100, 200, 300 and 1000 bytes by known stacks, 7 without one; 5000 are freed."""
    made = Made(tmp_path_factory.mktemp("leaky"), ["main", "cache", "parse", "third"],
                libraries=[("/usr/lib/libknown.so.1", ["dark"])])
    made.allocate(["main", "cache"], 100)
    made.allocate(["main", "cache", "parse"], 200)
    made.allocate(["main", "third", "dark"], 300)
    made.allocate(["main", "third"], 1000)
    made.allocate([], 7)
    made.free(made.allocate(["main", "third"], 5000))
    return made.write()


def suppressed(tool, path, text, folder, *options):
    file = folder / "known.supp"
    file.write_text(text)
    return json.loads(tool("report", "--json", "--suppressions", file, *options, path).stdout)


@pytest.mark.parametrize("text, hidden", [
    ("", []),
    ("# leak:main\n\n", []),
    ("leak:parse\n", [("parse", 1, 200)]),
    ("leak:cache", [("cache", 2, 300)]),
    ("leak:^main$\n", [("^main$", 4, 1600)]),
    ("leak:libknown.so\n", [("libknown.so", 1, 300)]),
    ("leak:/toyd$\n", [("/toyd$", 4, 1600)]),
    ("leak:nothing\nleak:third\n", [("nothing", 0, 0), ("third", 2, 1300)]),
    # The innermost frame counts, and there the first that matches, the module before the function.
    ("leak:^main$\nleak:parse\nleak:pars*\n", [("^main$", 3, 1400), ("parse", 1, 200), ("pars*", 0, 0)]),
    ("leak:parse\nleak:toyd\n", [("parse", 0, 0), ("toyd", 4, 1600)]),
    ("leak:", [("", 4, 1600)]),
    ("leak:unknown module", [("unknown module", 0, 0)]),
])
def test_what_is_hidden(tool, leaky, tmp_path, text, hidden):
    before, report = tool.report(leaky), suppressed(tool, leaky, text, tmp_path)
    assert [(one["pattern"], one["blocks"], one["bytes"]) for one in report["suppressions"]] == \
        hidden
    blocks, size = (sum(one[i] for one in hidden) for i in (1, 2))
    assert (report["suppressed_blocks"], report["suppressed_bytes"]) == (blocks, size)
    assert report["leaked_bytes"] == before["leaked_bytes"] - size == 1607 - size
    assert report["leaked_blocks"] == before["leaked_blocks"] - blocks == 5 - blocks
    for field in ("calls", "total_bytes", "peak_bytes", "live_bytes", "temporary", "site_count"):
        assert report[field] == before[field]
    assert sum(site["leaked_bytes"] for site in report["sites"]) == report["leaked_bytes"]
    assert sum(site["total_bytes"] for site in report["sites"]) == before["total_bytes"]


@pytest.mark.parametrize("pattern, hidden", [
    ("^visit$", 100), ("visit", 100), ("^visit.isra", 100), ("visit.constprop$", 0),
    ("^walk(int)$", 20), ("^walk(int) [.part.0]", 20), ("alk(int)$", 20), ("(int) [.isra", 0),
])
def test_copies_of_a_function(tool, tmp_path, pattern, hidden):
    """The compiler's names for them hide nothing: the program's source has one name."""
    made = Made(tmp_path, ["main", "visit.isra.0", "_Z4walki.part.0.cold"])
    made.allocate(["main", "visit.isra.0"], 100)
    made.allocate(["main", "_Z4walki.part.0.cold"], 20)
    path = made.write()
    assert suppressed(tool, path, f"leak:{pattern}", tmp_path)["suppressed_bytes"] == hidden


def test_in_words(tool, leaky, tmp_path):
    file = tmp_path / "known.supp"
    file.write_text("# what we know\nleak:cache\nleak:nothing\nleak:libknown\n")
    text = tool("report", "--sort", "leaked", "--suppressions", file, leaky).stdout
    assert "\n  leaked       1.01 KB  live at the end, in 2 blocks never freed\n" in text
    assert "\n  suppressed     600 B  of leaks left out, in 3 blocks (--suppressions)\n" in text
    assert "\nNever freed " in text and "parse" not in text
    assert text.endswith(f"""
Suppressions: 2 used, 1 not

  blocks  bytes  suppression
       2  300 B  leak:cache  ({file}:2)
       1  300 B  leak:libknown  ({file}:4)
""")
    nothing = tool("report", "--suppressions", "/dev/null", leaky).stdout
    assert nothing.endswith("\nSuppressions: 0 used, 0 not\n")


def test_other_views(tool, leaky, tmp_path):
    """By thread and size it is the blocks that are left out, by function the sites."""
    text = "leak:cache\n"
    for by in ("function", "module", "thread", "size"):
        report = suppressed(tool, leaky, text, tmp_path, "--by", by)
        assert sum(row["leaked_bytes"] for row in report["rows"]) == 1307, by
        assert sum(row["leaked_blocks"] for row in report["rows"]) == 3, by
        assert report["leaked_bytes"] == 1307
    sizes = {row["size_min"]: row["leaked_bytes"]
             for row in suppressed(tool, leaky, text, tmp_path, "--by", "size")["rows"]}
    assert sizes == {100: 0, 200: 0, 300: 300, 1000: 1000, 7: 7, 5000: 0}
    merged = suppressed(tool, leaky, text, tmp_path, "--merge")
    assert merged["leaked_bytes"] == 1307
    filtered = suppressed(tool, leaky, text, tmp_path, "--size-min", "150")
    assert (filtered["leaked_bytes"], filtered["suppressed_bytes"]) == (1300, 200)
    both = suppressed(tool, leaky, text, tmp_path, "--size-min", "150", "--by", "size")
    assert {row["size_min"]: row["leaked_bytes"] for row in both["rows"]} == \
        {200: 0, 300: 300, 1000: 1000, 5000: 0}
    tree = tool("report", "--tree", "--sort", "leaked", "--suppressions",
                tmp_path / "known.supp", leaky).stdout
    assert "third" in tree and "parse" not in tree


LEAKY = """
#include <stdlib.h>
#include <string.h>
char *volatile sink;
__attribute__((noinline)) void first(void) { sink = malloc(11); sink = malloc(12); sink = 0; }
__attribute__((noinline)) void second(int n)
{ if (n) second(n - 1); else { sink = malloc(100); sink = 0; } __asm__ volatile(""); }
__attribute__((noinline)) void third(void) { first(); second(3); __asm__ volatile(""); }
__attribute__((noinline)) void wipe(void) { volatile char room[4096]; memset((char *)room, 0, 4096); }
int main(void)
{ for (int i = 0; i < 5; i++) { first(); second(i); third(); } wipe(); return 0; }
"""


LEAKY_CPP = """
#include <map>
#include <string>
#include <vector>
namespace shop {
template <class T> struct Shelf {
	std::vector<T> *items = nullptr;
	__attribute__((noinline)) void fill(T item)
	{ items = new std::vector<T>; items->push_back(item); items = nullptr; }
};
struct Order { __attribute__((noinline)) explicit Order(int n) { delete[] new char[n]; new char[n]; } };
}
__attribute__((noinline)) void wipe() { volatile char room[8192]; for (char volatile &c : room) c = 0; }
int main()
{
	for (int i = 1; i < 6; i++) {
		shop::Shelf<int>().fill(i);
		shop::Shelf<std::string>().fill(std::string(100, 'x'));
		shop::Order order(i);
		new std::map<int, int>{{i, i}};
	}
	wipe();
	return 0;
}
"""


@pytest.mark.parametrize("name, text, patterns", [
    ("leaky.c", LEAKY, ["nothing", "thi*d$", "fir*", "^second"]),
    ("leaky.c", LEAKY, ["leaky.c$", "main"]),
    ("leaky.c", LEAKY, ["leaky.c:", "/checked$", "/plain$"]),
    ("leaky.cpp", LEAKY_CPP, ["shop::Shelf<int>", "Order::Order(int)$", "std::map<*>::map"]),
    ("leaky.cpp", LEAKY_CPP, ["push_back(std::*string*", "^shop::*::fill", "stl_map.h", "main"]),
    ("leaky.cpp", LEAKY_CPP, ["^main$"]),
], ids=lambda value: "" if isinstance(value, str) else " ".join(value))
def test_as_the_sanitizer_counts(tool, record, tmp_path, name, text, patterns):
    """The same program, the same file: LeakSanitizer prints count, bytes and template of each."""
    source = tmp_path / name
    source.write_text(text)
    compiler = "g++" if name.endswith("pp") else "gcc"
    for target, options in (("plain", []), ("checked", ["-fsanitize=leak"])):
        subprocess.run([compiler, "-g", "-O0", "-fno-builtin", *options, "-o", tmp_path / target,
                        source], check=True)
    file = tmp_path / "known.supp"
    file.write_text("".join(f"leak:{pattern}\n" for pattern in patterns))
    checked = subprocess.run(
        ["setarch", "-R", str(tmp_path / "checked")], capture_output=True, text=True, timeout=120,
        env=clean_environment({"LSAN_OPTIONS": f"suppressions={file}:print_suppressions=1:"
                                               "fast_unwind_on_malloc=0"}))
    if "LeakSanitizer has encountered a fatal error" in checked.stderr:
        pytest.skip(f"LeakSanitizer does not run here: {checked.stderr[:200]}")
    lines = re.findall(r"^ +(\d+) +(\d+) (\S.*)$", checked.stderr, re.M)
    ours = json.loads(tool("report", "--json", "--suppressions", file,
                           record([tmp_path / "plain"]).path).stdout)
    # Each program has its own name.
    counted = {one["pattern"]: (one["blocks"], one["bytes"]) for one in ours["suppressions"]
               if one["blocks"]}
    theirs = {pattern.replace("/checked$", "/plain$"): (int(count), int(size))
              for count, size, pattern in lines}
    assert counted == theirs and counted


# --- words ---

@pytest.mark.parametrize("text, message", [
    (b"leak:a\nrace:b\n", "{file}: line 2, 'race:b', is not leak:PATTERN"),
    (b"leak", "{file}: line 1, 'leak', is not leak:PATTERN"),
    (b"leak:a\n\n\x7fELF\x02\x01", "{file}: line 3, '\\x7fELF\\x02\\x01', is not leak:PATTERN"),
    (b"leak:a\0b\n", "{file}: line 1 has a byte 0: no text"),
    (None, "{file}: No such file or directory"),
])
def test_wrong_files(mallow, leaky, tmp_path, text, message):
    file = tmp_path / "known.supp"
    if text is not None:
        file.write_bytes(text)
    run = run_tool(mallow, "report", "--suppressions", file, leaky)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"mallow: {message.format(file=file)}\n"


def test_a_folder_and_a_pipe(mallow, leaky, tmp_path):
    run = run_tool(mallow, "report", "--suppressions", tmp_path, leaky)
    assert (run.returncode, run.stderr) == (1, f"mallow: {tmp_path}: Is a directory\n")
    piped = subprocess.run([str(mallow), "report", "--json", "--suppressions", "/dev/stdin",
                            str(leaky)], input="leak:cache\n", capture_output=True, text=True,
                           env=clean_environment(), timeout=60, check=True)
    assert json.loads(piped.stdout)["suppressed_bytes"] == 300


@pytest.mark.parametrize("words, message", [
    (["--errors"], "--suppressions and --errors exclude each other"),
    (["--pools"], "--suppressions and --pools exclude each other"),
    (["--histogram", "size"], "--histogram and --suppressions exclude each other"),
])
def test_wrong_words(mallow, example, words, message):  # noqa: F811
    run = run_tool(mallow, "report", example, "--suppressions", "/dev/null", *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"mallow: {message}\n")
