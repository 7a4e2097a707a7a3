"""`mallow top` in a terminal: tmux presses the keys and reads the screen."""
import re
import subprocess
import time

import pytest

from conftest import clean_environment, need
from made_live import MadeLive
from made_recording import Made
from live_programs import started
from terminals import Terminal

START = ["_start", "main"]


@pytest.fixture
def terminal():
    need("tmux")
    terminals = []

    def start(*words, **size):
        terminals.append(Terminal(*words, **size))
        return terminals[-1]

    yield start
    for one in terminals:
        one.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    made = MadeLive(tmp_path_factory.mktemp("top"),
                    ["_start", "main", "handle", "cache_put", "parse", "malloc"])
    made.site([*START, "handle", "cache_put", "malloc"], 60, 60_000, freed=(17, 37_296),
              peak=(60, 31_680))
    made.site([*START, "handle"], 300, 1_005)
    made.site([*START, "parse"], 1_003, 2_005, freed=(1_001, 1_005))
    main, worker = made.thread("main", 303, 2_010), made.thread("worker", 60, 60_000)
    made.freed_by(main, worker, 17, 37_296)
    made.tick(12_345_000_000)
    return made.write()


def rows(screen):
    """The numbers and the name of each line of the table."""
    return [re.split(r"  +", line.strip()) for line in screen.splitlines()
            if re.match(r" +[\d.]+ ?[KM]?B ", line)]


def test_the_screen(mallow, table, terminal):
    """All of it, of a table whose every number is known; it has ended, and stands still."""
    screen = terminal(mallow, "top", table).wait("q quit")
    assert screen == """\
mallow top  toyd (pid 4000000)  12.3 s  by size  ENDED
live 24.7 KB in 345 blocks   0 B since the mark, 0 ns ago   63.0 KB in 1,363 calls
█
     live      blocks      peak     change       calls  function  place > its call < its callers
  22.7 KB          43   31.7 KB        0 B          60  cache_put < handle < main
  1.00 KB         300   1.00 KB        0 B         300  handle < main
  1.00 KB           2   1.00 KB        0 B       1,003  parse < main
""" + "\n" * 12 + """\
s size  c count  d change  a calls  m mark  / find  t threads  f freeze  q quit  Enter stack
"""


def test_eighty_columns(mallow, table, terminal):
    """What changed since the mark and how to leave are there; no number is cut."""
    screen = terminal(mallow, "top", table, width=80).wait("^s size").splitlines()
    assert screen[1] == "live 24.7 KB in 345 blocks   0 B since the mark, 0 ns ago"
    assert screen[-1].endswith("  q quit")


def test_keys(mallow, table, terminal):
    shown = terminal(mallow, "top", table)
    shown.wait("by size")
    shown.press("c")
    assert [row[-1] for row in rows(shown.wait("by count"))][0] == "handle < main"
    shown.press("a")
    assert [row[-1] for row in rows(shown.wait("by calls"))][0] == "parse < main"
    shown.press("t")
    assert rows(shown.wait("  threads")) == [
        ["2.01 KB", "303", "2.01 KB", "37.3 KB", "0 B", "main"],
        ["22.7 KB", "43", "60.0 KB", "0 B", "37.3 KB", "worker"]]
    shown.press("t", "s", "Enter")
    assert re.search(r"^-{100}\nmalloc \+0x5\ncache_put \+0x5\nhandle \+0x5\nmain \+0x5\n\n",
                     shown.wait("malloc"), re.M)
    shown.press("Down")
    assert "\nhandle +0x5\nmain +0x5\n\n" in shown.wait(r"^-+\nhandle \+0x5")
    shown.press("f")
    shown.wait("ENDED")
    shown.press("q")
    shown.wait("status 0")


def test_filter(mallow, table, terminal):
    shown = terminal(mallow, "top", table)
    shown.wait("by size")
    shown.press("/", "C", "a", "c", "h", "x")
    shown.wait("only with: Cachx_")
    shown.press("BSpace", "Enter")
    assert [row[-1] for row in rows(shown.wait("only Cach "))] == ["cache_put < handle < main"]
    shown.press("/", "Escape")
    assert len(rows(shown.wait("parse < main"))) == 3


def test_a_small_terminal(mallow, table, terminal):
    """Lines are cut, and the selected one is to be seen."""
    shown = terminal(mallow, "top", table, width=60, height=6)
    screen = shown.wait("by size")
    assert max(map(len, screen.splitlines())) <= 60
    shown.press("Down", "Down", "Down", "Enter", "t", "PageUp", "q")
    shown.wait("status 0")


def test_a_running_program(mallow, agent, terminal, tmp_path):
    """By its number, or that of the tool that started it; what comes is seen, and since a mark."""
    script = ("import sys\nkept = []\nprint('ready', flush=True)\nfor line in sys.stdin:\n"
              "    kept.append(bytes(int(line)))\n    print('done', flush=True)")
    process = started(mallow, "--outfile", str(tmp_path / "out"), "/usr/bin/python3", "-c", script)
    assert process.stdout.readline() == "ready\n"
    shown = terminal(mallow, "top", "--interval", "100ms", process.pid)
    shown.wait(r"mallow top  python3 \(pid \d+\)")

    def allocate(size):
        process.stdin.write(f"{size}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    allocate(5_000_000)
    assert rows(shown.wait(r"\+5.0.* since the mark"))[0][3] == "+5.00 MB"
    shown.press("m")
    shown.wait(r"blocks   (\+\d* B|0 B) since the mark")
    shown.press("f")
    shown.wait("FROZEN")
    allocate(7_000_000)
    time.sleep(0.5)
    assert "+7.00 MB" not in shown.screen()
    shown.press("f", "d")
    shown.wait("change since the mark")
    screen = shown.wait(r"  \+7.0.* since the mark")
    assert rows(screen)[0][3] == "+7.00 MB"
    assert re.search("^[▁-█]+$", screen, re.M)
    process.stdin.close()
    process.wait(timeout=60)
    shown.wait("ENDED")


def test_a_sample(mallow, terminal, tmp_path):
    """Numbers that are estimates are said to be."""
    process = started(mallow, "--sample", "64K", "--outfile", str(tmp_path / "out"), "/usr/bin/python3",
                      "-c", "print('ready', flush=True); input()")
    assert process.stdout.readline() == "ready\n"
    shown = terminal(mallow, "top", process.pid)
    shown.wait(r"^mallow top  python3 \(pid \d+\) .*  estimates, by a sample of one in 65\.5 KB$")
    process.communicate("\n", timeout=60)


def test_a_recording(mallow, terminal, tmp_path):
    """One with events, too."""
    made = Made(tmp_path, [*START, "handle"])
    made.allocate([*START, "handle"], 1_234)
    shown = terminal(mallow, "top", made.write())
    assert rows(shown.wait("q quit")) == [["1.23 KB", "1", "1.23 KB", "0 B", "1", "handle < main"]]
    shown.press("t")
    shown.wait("a recording with events: mallow report --by thread")


CACHE = """
#include <memory>
#include <unistd.h>
#include <vector>
struct Session {
	std::vector<char> buffer;
	explicit Session(size_t size) : buffer(size) {}
};
static std::vector<std::shared_ptr<Session>> all;
static __attribute__((noinline)) void put(int count)
{
	all.push_back(std::make_shared<Session>(1000));
	if (count > 1)
		put(count - 1);
}
int main()
{
	put(1);
	put(3);
	_exit(all.size() & 0);
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    (folder / "cache.cpp").write_text(CACHE)
    subprocess.run([need("g++"), "-g", "-O0", "-o", "cache", "cache.cpp"], cwd=folder, check=True)
    return folder


def recorded(mallow, folder):
    path = folder / "r.mallow"
    if not path.exists():
        subprocess.run([mallow, "run", "-o", path, folder / "cache"], check=True, capture_output=True,
                       env=clean_environment())
    return path


def shown_of(screen):
    """What stands behind the numbers of each row."""
    return [line[56:] for line in screen.splitlines() if re.match(r" +[\d.]+ ?[KM]?B ", line)]


def stack_of(screen):
    lines = screen.split("-----\n")[1].splitlines()
    return [line for line in lines[:-1] if line]


def test_own_code_comes_first(mallow, agent, terminal, cache):
    """A row is called after the reader's own code and its line; the stack folds."""
    top = [mallow, "top", recorded(mallow, cache)]
    shown = terminal(*top, width=160, height=40)
    found = shown_of(shown.wait("q quit"))
    session = "Session::Session  cache.cpp:7 > std::vector<char>::vector"
    # Of the first call, and of the three of the second. A call that repeats is one caller.
    assert sorted(line for line in found if "Session::Session" in line) == [
        f"{session} < put < main", f"{session} < put < main",
        f"{session} < put < put < main", f"{session} < put < put < main"]
    assert "put  cache.cpp:12 > std::make_shared<Session> < main" in found
    shown.press("Down", "Enter")
    # The screen is drawn from above: its fourth line comes last of those that are looked at.
    stack = stack_of(shown.wait(r"^Session::Session[\s\S]*put \+0x[0-9a-f]+ .*cache\.cpp:12"))
    assert [re.sub(r" \+0x[0-9a-f]+ +(/.*/)?", " ", line) for line in stack[:4]] == [
        "std::vector<char>::vector … 6 frames", "Session::Session cache.cpp:7",
        "std::make_shared<Session> … 7 frames", "put cache.cpp:12"]
    assert not any("_start" in line for line in stack)
    # On a narrow screen the place stays.
    narrow = shown_of(terminal(*top, width=80).wait("change"))
    assert sum(line.startswith("Session  cache.cpp:7") for line in narrow) == 4


def test_full_and_plumbing(mallow, agent, terminal, cache):
    """Whole stacks and names; other frames that are not own code."""
    top = [mallow, "top", recorded(mallow, cache)]
    full = terminal(*top, "--full", width=160, height=60)
    assert sum(line.startswith("Session::Session(unsigned long)  cache.cpp:7 > std::vector<char, std::alloc")
               for line in shown_of(full.wait("q quit"))) == 4
    full.press("Down", "Enter")
    stack = stack_of(full.wait("^Session::Session"))
    assert len(stack) > 15 and stack[0].startswith("std::__new_allocator<char>::allocate(unsigned long, ")
    assert any(line.startswith("_start +0x") for line in stack)
    assert max(map(len, full.screen().splitlines())) <= 160
    (cache / "plumbing.txt").write_text("function:^Session::\n")
    other = terminal(*top, "--plumbing", cache / "plumbing.txt", width=160)
    found = shown_of(other.wait("q quit"))
    assert not any("Session::" in line for line in found)
    assert sum(line.startswith("put  cache.cpp:12 > std::make_shared<Session>") for line in found) == 8


@pytest.mark.parametrize("words, message", [
    (["top"], "'top' needs a process id or a recording: mallow top [OPTION…] PID|RECORDING"),
    (["top", "--interval", "0", "1"], "'0' is no value of --interval: allowed is seconds"),
    (["top", "4194304"], "process 4194304 is not under mallow live or mallow run"),
    (["top", "--plumbing", "/no/such", "1"], "/no/such: No such file or directory"),
    (["top", "/no/such"], "cannot open '/no/such': No such file or directory"),
])
def test_wrong_words(mallow, words, message):
    run = subprocess.run([str(mallow), *words], capture_output=True, text=True, timeout=60,
                         env=clean_environment())
    assert run.stderr.startswith(f"mallow: {message}") and run.returncode in (1, 2)


def test_without_a_terminal(mallow, table):
    run = subprocess.run([str(mallow), "top", str(table)], capture_output=True, text=True,
                         timeout=60, env=clean_environment(), stdin=subprocess.DEVNULL)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "mallow: 'top' needs a terminal; 'mallow report' does not\n"


def test_a_recording_that_grows(mallow, tool, compile_sample, preload, terminal, tmp_path):
    """What each round of the program brought is seen, and is what a report of the whole says."""
    path = tmp_path / "r.mallow"
    with subprocess.Popen([compile_sample("in_rounds", "gcc", "-O1"), "1000"], bufsize=0, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=preload(OUTPUT=path)) as process:
        for number in range(1, 4):
            process.stdin.write(b"x")
            assert process.stdout.read(1) == b"x"
            if number == 1:
                shown = terminal(mallow, "top", "--interval", "100ms", path)
            report = tool.report(path)
            assert report["calls"] >= number * 4 * 1000
            shown.wait(rf"^live .* in {report['leaked_blocks']:,} blocks .* in {report['calls']:,} calls$")
        process.stdin.close()
    shown.wait("ENDED")
