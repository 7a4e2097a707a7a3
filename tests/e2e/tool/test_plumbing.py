"""Own code first: what of a stack is not the reader's own code is one line (plumbing.def)."""
import re
import subprocess

import pytest

from made_recording import Made
from session_cache import SESSION_CACHE

PROGRAM = SESSION_CACHE + """
int main()
{
	Cache cache;
	for (int i = 0; i < 500; i++)
		cache.put(i);
}
"""
FOLD = r" +… (\d+) frames$"
FOLDED = re.compile(r"^ {5}(\S.*?)" + FOLD, re.M)


@pytest.fixture
def recording(record, tmp_path):

    source, program = tmp_path / "cache.cpp", tmp_path / "cache"
    source.write_text(PROGRAM)
    subprocess.run(["g++", "-g", "-O0", "-o", program, source], check=True)
    return record([program]).path


def first_site(text):
    """The lines of the first site's stack, without their indent."""
    lines = text[re.search(r"^ *1\. \d", text, re.M).start():].splitlines()[1:]
    return [line.strip() for line in lines[:lines.index("")]]


def test_folded(tool, recording):
    """Calls of own code are seen, and how much is behind each; --full shows every frame."""
    folded = first_site(tool("report", recording).stdout)
    full = first_site(tool("report", "--full", recording).stdout)
    runs = FOLDED.findall("".join(f"     {line}\n" for line in folded))
    assert len(runs) == 2 and "std::vector<" in runs[0][0] and "std::make_shared<" in runs[1][0]
    own = [line.split()[0] for line in folded if not re.search(FOLD, line)]
    assert own == ["Session::Session", "Cache::put", "main"]
    assert len(folded) == 5
    # Nothing is lost: the counts say what --full shows, but for the code that runs before main.
    main = next(number for number, line in enumerate(full) if line.startswith("main"))
    assert sum(int(count) for _, count in runs) + len(own) == main + 1
    assert not any("frames" in line for line in full)


def test_all_frames_in_json(tool, recording):
    """Folding is of texts for people alone."""
    sites = tool.report(recording)["sites"]
    full = first_site(tool("report", "--full", recording).stdout)
    assert len(full) in [len(site["stack"]) for site in sites]


def test_tree(tool, recording):
    """The tree folds as stacks do. Sums stay."""
    folded, full = (tool("report", "--tree", *option, recording).stdout for option in ([], ["--full"]))
    tree = folded[folded.index("Call tree"):]
    assert len(tree.splitlines()) < 16 < len(full[full.index("Call tree"):].splitlines())
    assert re.search(r"std::make_shared<.* … \d+ frames$", tree, re.M)
    shares = re.findall(r"^ *([\d.]+ %) +([\d.]+ .B).* (?:Session::Session|Cache::put|main)\b", tree, re.M)
    assert len(shares) >= 3
    assert all(re.search(rf"^ *{share} +{size}", full, re.M) for share, size in shares)


def collapsed(text):
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in text.splitlines()]


def test_exports_fold_if_asked(tool, recording, tmp_path):
    whole, folded = (collapsed(tool("export", "--to", "collapsed", *option, recording).stdout)
                     for option in ([], ["--fold"]))
    assert sum(value for _, value in whole) == sum(value for _, value in folded)
    cache = [stack for stack, _ in folded if any("Cache::put" in frame for frame in stack)]
    assert cache and max(map(len, cache)) <= 6 < max(len(stack) for stack, _ in whole)
    # No two in a row that are both of the library, where there is own code.
    assert not any("std::" in a.split("(")[0] and "std::" in b.split("(")[0]
                   for stack in cache for a, b in zip(stack, stack[1:]))
    svg = tool("export", "--to", "flamegraph", "--fold", recording).stdout
    assert re.search(r"std::make_shared.*\n.*\nand what it called: \d+ frames", svg)
    words = tmp_path / "plumbing.txt"
    words.write_text("function:^Cache::\n")
    ours = tool("export", "--to", "collapsed", "--fold", "--plumbing", words, recording).stdout
    assert "make_shared" not in ours and "Cache::put" in ours


@pytest.mark.parametrize("arguments,message", [
    (["--to", "pprof", "--fold"], "--fold is not for --to pprof"),
    (["--to", "frames", "--merge"], "--merge is not for --to frames"),
    (["--to", "collapsed", "--plumbing", "p"], "--plumbing needs --fold"),
])
def test_export_options(tool, recording, arguments, message):
    run = tool("export", *arguments, recording, check=False)
    assert run.returncode == 2 and message in run.stderr


def test_a_stack_without_own_code_is_whole(tool, recording):
    """libstdc++ keeps a block for itself: who asked for it is to be seen."""
    text = tool("report", "--sort", "leaked", "--bytes", recording).stdout
    assert "call_init" in text and "_dl_init" in text


RUST = ["_start", "__libc_start_main", "main", "std::rt::lang_start", "std::panic::catch_unwind", "app::main"]


def test_the_start_of_a_rust_program_is_left_out(tool, tmp_path):
    """Its C main and what calls its own main; a C main that calls a library is not."""
    made = Made(tmp_path, RUST + ["std::sort"])
    made.allocate(RUST, 1000)
    made.allocate(RUST[:3] + ["std::panic::catch_unwind"], 500)
    path = made.write()
    assert first_site(tool("report", path).stdout) == ["app::main"]
    second = tool("report", path).stdout.split("\n  2. ")[1].splitlines()[1:]
    assert [line.strip() for line in second] == ["std::panic::catch_unwind", "main"]
    full = first_site(tool("report", "--full", path).stdout)
    assert full == RUST[::-1]
    tree = tool("report", "--tree", path).stdout
    assert "app::main" in tree and "_start" not in tree


def test_a_file_adds(tool, recording, tmp_path):
    words = tmp_path / "plumbing.txt"
    words.write_text("# not of interest\n\nfunction:^Session::\n  file:/cache.cpp\n")
    assert "Session::Session" in tool("report", recording).stdout
    text = tool("report", "--plumbing", words, "--top", "9", recording).stdout
    # Now nothing is own code, so that all is shown.
    assert "Session::Session" in text and not FOLDED.search(text[text.index("\n  1. "):])
    words.write_text("function:^Session::\n")
    assert first_site(tool("report", "--plumbing", words, recording).stdout)[1].startswith("Cache::put")


@pytest.mark.parametrize("text,message", [
    ("function:a\nfuncion:b\n", "line 2, 'funcion:b', is not module:PATTERN, function:PATTERN or file:PATTERN"),
    ("module:\n", "line 1, 'module:', is not"),
    ("function:a\0b\n", "line 1"),
])
def test_wrong_lines(tool, recording, tmp_path, text, message):
    words = tmp_path / "plumbing.txt"
    words.write_text(text)
    run = tool("report", "--plumbing", words, recording, check=False)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith("mallow: ") and message in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_no_such_file(tool, recording, tmp_path):
    run = tool("report", "--plumbing", tmp_path / "none", recording, check=False)
    assert run.returncode == 1 and "none" in run.stderr


DEEP = """
#include <cstdlib>
#include <vector>
template <int n> struct Deep {
	static __attribute__((noinline)) void go(std::vector<void *> &blocks)
	{
		Deep<n - 1>::go(blocks);
		asm volatile("");
	}
};
template <> struct Deep<0> {
	static __attribute__((noinline)) void go(std::vector<void *> &blocks) { blocks.push_back(malloc(5000)); }
};
int main() { std::vector<void *> blocks; Deep<60>::go(blocks); }
"""


def test_left_out_frames_are_counted(tool, record, tmp_path):
    """Of a deep stack both ends are shown: the number is of frames, those in folded lines, too."""
    source, program, words = (tmp_path / name for name in ("deep.cpp", "deep", "plumbing.txt"))
    source.write_text(DEEP)
    subprocess.run(["g++", "-g", "-O1", "-o", program, source], check=True)
    path = record([program]).path
    # Pairs in the middle, each of which becomes a line.
    words.write_text("".join(f"function:^Deep<{n}>\nfunction:^Deep<{n + 1}>\n" for n in range(28, 49, 3)))
    text = tool("report", "--plumbing", words, "--top", "9", path).stdout
    site = re.search(r"^ +\d+\. (?:4.88|5.00) KB.*?(?:\n\n|\Z)", text, re.M | re.S)[0].rstrip()
    hidden = int(re.search(r"… (\d+) frames \(--full shows them\)", site)[1])
    shown = [line for line in site.splitlines()[1:] if "--full" not in line]
    frames = sum(int(found[1]) if (found := re.search(r"… (\d+) frames$", line)) else 1 for line in shown)
    assert frames + hidden == 62  # Deep<0> to Deep<60>, and main
