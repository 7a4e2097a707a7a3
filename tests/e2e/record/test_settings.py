"""The settings of `mallow run` and of the library alone: each does what the table says of it."""
import csv
import io
import json
import os
import re
import socket
import subprocess

import pytest

import mallow_reader
from cells import mostly_long
from conftest import TOP, clean_environment, need
from mallow_reader import Free
from variants import run_with, variant
from command_line import completions, made_from_tables

PYTHON = "/usr/bin/python3"
DEFINITIONS = TOP / "src" / "settings" / "settings.def"
ROW = re.compile(r'^SETTING\((\w+), "([\w-]+)", (\w+), "([^"]*)", "[^"]*", (\w+)', re.M)
ALL_ROWS = ROW.findall(DEFINITIONS.read_text())
ROWS = [row[:4] for row in ALL_ROWS if row[4] in ("RUN", "BOTH")]
LIVE_ROWS = [row[:4] for row in ALL_ROWS if row[4] in ("LIVE", "BOTH")]
# A word that each kind accepts and one that it does not.
GOOD = {"BOOLEAN": "no", "NUMBER": "7", "NATURAL": "0", "SIZE": "64M", "TIME": "1m30s", "TEXT": "r.%p",
        "SIGNAL": "USR2", "PERIOD": "90"}
# Texts that are not any text.
WORDS = {"SORT": "count,size", "IGNORE": "/dev/null", "PLUMBING": "/dev/null", "OUTFILE": "/dev/null"}
BAD = {"BOOLEAN": "perhaps", "NUMBER": "many", "SIZE": "64X", "TIME": "2 days", "SIGNAL": "USR3",
       "CHOICE": "neither", "PERIOD": "now", "NATURAL": "4294967296"}
OTHER_NAMES = {"PRINT_DEPTH": "depth", "CONNECT": "stream", "BROADCAST": "announce"}
# What these do is for tests/e2e/stream: with them the tool waits for a receiver.
STREAMING = {"CONNECT", "LISTEN"}
STREAMING_FLAGS = {"BROADCAST", "STREAM_ONLY"}
FLAGS = [row for row in ROWS if row[2] == "BOOLEAN" and row[3] == "0" and row[0] not in STREAMING_FLAGS]
HERE_ROWS = [row for row in ROWS if row[0] not in STREAMING]
HERE_NAMES = [row[0] for row in HERE_ROWS]
HERE_LIVE_ROWS = [row for row in LIVE_ROWS if row[0] not in STREAMING]
HERE_LIVE_NAMES = [row[0] for row in HERE_LIVE_ROWS]


def good_word(kind, default):
    return default.split()[-1] if kind == "CHOICE" else GOOD[kind]


def record_sample(record, program, **settings):
    """One of those samples that end with status 7 when all went well."""
    recorded = record([program], settings=settings, check=False)
    assert recorded.returncode == 7, recorded.stderr
    return recorded


def run_tool(mallow, *words, env=None, command="run", **options):
    return subprocess.run([str(mallow), command, *map(str, words)], capture_output=True, text=True,
                          env=clean_environment(env), timeout=60, **options)


# --- the table ---

def test_rows_are_found():
    assert len(ALL_ROWS) == DEFINITIONS.read_text().count("\nSETTING(") >= 15


@pytest.mark.parametrize("command, rows", [("run", ROWS), ("live", LIVE_ROWS)])
def test_each_row_is_documented(mallow, command, rows):
    """In --help, in the man page, in the completion, and those of the page are in the table."""
    text = run_tool(mallow, "--help", command=command).stdout
    page = made_from_tables(mallow, "mallow.1")
    printed = subprocess.run([need("man"), "-l", str(page)], capture_output=True, text=True,
                             env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}).stdout
    script = made_from_tables(mallow, "mallow.bash")
    offered = completions(script, "mallow", command, "--")
    for name, option, _, _ in rows:
        assert option == OTHER_NAMES.get(name, name.lower().replace("_", "-"))
        assert re.search(rf"--{option}\b", text), option
        assert re.search(rf"--{option}\b", printed), option
        assert f"--{option}" in offered


@pytest.mark.parametrize("name,option,kind,default", HERE_ROWS, ids=HERE_NAMES)
def test_each_row_is_an_option(mallow, agent, tmp_path, name, option, kind, default):
    """With a word that it allows the program runs with its variable set, and nobody complains."""
    word = good_word(kind, default)
    run = run_tool(mallow, f"--{option}={word}", "--no-finish", "env", cwd=tmp_path)
    assert run.returncode == 0
    assert f"MALLOW_{name}={word}\n" in run.stdout
    assert "not allowed" not in run.stderr


@pytest.mark.parametrize("name,option,kind,default", HERE_LIVE_ROWS, ids=HERE_LIVE_NAMES)
def test_each_row_is_an_option_of_live(mallow, agent, tmp_path, name, option, kind, default):
    word = WORDS.get(name) or good_word(kind, default)
    run = run_tool(mallow, f"--{option}={word}", "env", cwd=tmp_path, command="live")
    assert run.returncode == 0
    assert f"MALLOW_{name}={word}\n" in run.stdout and "MALLOW_MODE=live\n" in run.stdout
    assert "not allowed" not in run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name,option,kind,default",
                         [row for row in LIVE_ROWS if row[2] != "TEXT" or row[0] == "SORT"])
def test_a_bad_word_of_live(mallow, name, option, kind, default):
    word = BAD.get(kind, "weight")
    run = run_tool(mallow, f"--{option}={word}", "true", command="live")
    assert (run.returncode, run.stdout) == (2, "")
    assert re.fullmatch(rf"mallow: '{word}' is no value of --{option}: .+\n", run.stderr)


@pytest.mark.parametrize("name,option,kind,default", HERE_ROWS, ids=HERE_NAMES)
def test_each_row_is_a_variable(record, tmp_path, name, option, kind, default):
    word = good_word(kind, default)
    settings = {"LOG": "debug", "LOGFILE": "/dev/stderr", name: word}
    run = record(["/bin/true"], settings=settings, cwd=tmp_path).run
    assert run.returncode == 0
    assert "not allowed" not in run.stderr


@pytest.mark.parametrize("name,option,kind,default", [row for row in ROWS if row[2] != "TEXT"],
                         ids=[row[0] for row in ROWS if row[2] != "TEXT"])
def test_a_bad_word(mallow, agent, record, name, option, kind, default):
    """The tool refuses it in one line; the library warns once, in the first image, and goes on."""
    run = run_tool(mallow, f"--{option}={BAD[kind]}", "true")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"mallow: '{BAD[kind]}' is no value of --{option}: allowed is ")
    assert run.stderr.count("\n") == 1
    recorded = record(["/bin/sh", "-c", "/bin/true; /bin/true"], settings={name: BAD[kind]})
    assert re.fullmatch(rf"mallow: MALLOW_{name}='{BAD[kind]}' is not allowed; allowed: .+\n",
                        recorded.stderr), recorded.stderr
    assert len(recorded.paths) == 3


def test_a_mistyped_variable(mallow, preload, tmp_path):
    """One line for the run, with the name that was meant; without the tool one from the first image."""
    script = ["/bin/sh", "-c", "/bin/true; /bin/true"]
    line = "mallow: MALLOW_SAMPEL is no setting of mallow, and has no effect"
    for command, options in ("run", ["--no-finish", "-o", "r.%p"]), ("live", []):
        run = run_tool(mallow, *options, *script, command=command, env={"MALLOW_SAMPEL": "1"}, cwd=tmp_path)
        assert [said for said in run.stderr.splitlines() if "SAMPEL" in said] == [f"{line}: did you mean MALLOW_SAMPLE?"]
    assert run_in(tmp_path, preload, "r.%p", script, SAMPEL=1).stderr == f"{line}\n"


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "0", "false", "no", "off"])
def test_booleans(record, word):
    recorded = record(["/bin/true"], settings={"RECORD_ENV": word})
    assert (4 in recorded.reader.process) == (word in ("1", "true", "yes", "on"))


@pytest.mark.parametrize("name,option", [row[:2] for row in FLAGS], ids=[row[0] for row in FLAGS])
def test_flags_need_no_value(mallow, agent, tmp_path, name, option):
    """--flag, --flag=0, --flag 1; a word behind it that is no 0 or 1 is the program."""
    for words, value in ([f"--{option}"], "1"), ([f"--{option}=off"], "off"), \
            ([f"--{option}", "0"], "0"), ([f"--{option}", "1"], "1"):
        run = run_tool(mallow, *words, "--no-finish", "env", cwd=tmp_path)
        assert f"\nMALLOW_{name}={value}\n" in "\n" + run.stdout
    assert run_tool(mallow, f"--{option}", "true", cwd=tmp_path).returncode == 0
    assert run_tool(mallow, f"--{option}", "false", cwd=tmp_path).returncode == 1


# --- MAX_FILE_SIZE ---

THREADS = r"""
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, BLOCKS = 8000 };

static void *work(void *argument)
{
	void *blocks[100] = {0};

	for (int i = 0; i < BLOCKS; i++) {
		if (blocks[i % 100])
			free(blocks[i % 100]);
		blocks[i % 100] = malloc(16 + i % 500);
	}
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""

@pytest.mark.parametrize("slots", ["shared", "private"])
@pytest.mark.parametrize("limit", [8192, 100_000, 1 << 20])
def test_max_file_size(record, tool, limit, slots):
    """The file stops growing there, says so once, and is whole; the program does not notice."""
    recorded = record([PYTHON, "-c", "x = [str(i) for i in range(50000)]; print(len(x))"],
                      settings={"MAX_FILE_SIZE": limit, "SLOTS": slots},
                      env={"PYTHONMALLOC": "malloc"})
    assert recorded.stdout == "50000\n"
    assert re.fullmatch(r"mallow: recording '.*r\.mallow' stopped: .*MAX_FILE_SIZE.*\n",
                        recorded.stderr)
    assert recorded.path.stat().st_size <= limit
    header = recorded.reader.header
    assert header.losses["size_limit"] == header.lost > 50_000
    assert not recorded.reader.damages and recorded.reader.dangling() == ([], [])
    tool.assert_equal_sums(recorded.path, recorded.sums)
    info = recorded.info_json
    assert (info["ended"], info["end_reason"], info["complete"]) == (True, "stopped", False)
    assert info["losses"]["size_limit"] == header.lost
    text = tool("info", recorded.path).stdout
    assert "recording stopped early by the agent" in text and "reached its size limit" in text


@pytest.fixture(scope="module")
def threads_program(tmp_path_factory):
    """Eight threads, in each 8,000 blocks that come and go."""
    folder = tmp_path_factory.mktemp("threads")
    (folder / "threads.c").write_text(THREADS)
    subprocess.run([need("gcc"), "-O1", "-g", "-fno-builtin", "-pthread", "-o", folder / "threads",
                    folder / "threads.c"], check=True)
    return folder / "threads"


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_max_file_size_of_many_threads(record, tool, threads_program, slots):
    """All threads come to the limit, none goes beyond it, and what was kept is whole."""
    limit = 300_000
    recorded = record([threads_program], settings={"MAX_FILE_SIZE": limit, "SLOTS": slots})
    full = record([threads_program])
    assert full.path.stat().st_size > 2 * limit
    assert limit // 2 < recorded.path.stat().st_size <= limit
    assert recorded.stderr.count("\n") == 1
    assert not recorded.reader.damages and recorded.reader.missing == 0
    losses = recorded.reader.header.losses
    assert losses["size_limit"] == recorded.reader.header.lost > 1_000
    # With private slots a frame may be defined in one that came too late.
    undefined, _ = recorded.reader.dangling()
    if slots == "shared" or not undefined:
        tool.assert_equal_sums(recorded.path, recorded.sums)
    else:
        assert "[lost]" in tool("report", recorded.path).stdout
    if slots == "shared":  # else the last events of a thread count as one
        assert abs(len(recorded.reader.events) + losses["size_limit"] -
                   len(full.reader.events)) < 100


def test_max_file_size_and_killed(record, tool):
    """Why the recording stopped is said also where the program was killed later."""
    code = "import os; x = [str(i) for i in range(50000)]; os.kill(os.getpid(), 9)"
    recorded = record([PYTHON, "-c", code], settings={"MAX_FILE_SIZE": "100K"}, check=False,
                      env={"PYTHONMALLOC": "malloc"})
    assert recorded.returncode == -9
    assert not recorded.info_json["ended"] and recorded.info_json["end_reason"] == "stopped"
    assert "recording stopped early by the agent" in tool("info", recorded.path).stdout


def test_max_file_size_and_run(mallow, agent, tool, tmp_path):
    """The summary says what is missing, and the recording is finished all the same."""
    run = run_tool(mallow, "--max-file-size", "200K", "-o", "r.mallow", PYTHON, "-c",
                   "x = [str(i) for i in range(100000)]", cwd=tmp_path,
                   env={"PYTHONMALLOC": "malloc"})
    assert run.returncode == 0
    assert "reached its size limit" in run.stderr
    info = tool.info(tmp_path / "r.mallow")
    assert info["finished"] and info["losses"]["size_limit"] > 0


# --- FREE_STACKS ---

FREES = r"""
#include <stdlib.h>
#define STAY() __asm__ volatile("" ::: "memory")

__attribute__((noinline)) void inner(void *block) { free(block); STAY(); }
__attribute__((noinline)) void outer(void *block) { inner(block); STAY(); }
__attribute__((noinline)) void *resize(void *block) { void *b = realloc(block, 5000); STAY(); return b; }
__attribute__((noinline)) void resize_away(void *block) { realloc(block, 0); STAY(); }

int main(void)
{
	for (int i = 0; i < 100; i++) {
		void *a = malloc(1001), *b = malloc(1002), *c = malloc(1003), *d = malloc(1004);

		inner(a);
		outer(b);
		outer(resize(c));
		resize_away(d);
	}
	return 0;
}
"""


def named_stack(recording, node, functions_of):
    from conftest import names_of_stack
    return names_of_stack(recording, recording.stack(node), functions_of)


def stacks_by_size(recorded, functions_of):
    """{size of a block: {functions that freed it, innermost first}}"""
    sizes, stacks = {}, {}
    for event in recorded.reader.events:
        if isinstance(event, Free):
            names = named_stack(recorded.reader, event.node, functions_of)
            stacks.setdefault(sizes.get(event.address), set()).add(tuple(names[:3]))
        else:
            sizes[event.address] = event.size
    return stacks


def test_free_stacks(record, tool, functions_of, tmp_path):
    """A free, and the free half of a realloc, have the stacks of who called them."""
    (tmp_path / "frees.c").write_text(FREES)
    program = tmp_path / "frees"
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-builtin", "-w", "-o", program,
                    tmp_path / "frees.c"], check=True)
    plain = record([program])
    recorded = record([program], settings={"FREE_STACKS": 1})
    recorded.assert_sound()
    assert recorded.reader.header.free_stacks and not plain.reader.header.free_stacks
    stacks = stacks_by_size(recorded, functions_of)
    assert {s[:2] for s in stacks[1001]} == {("inner", "main")}
    assert stacks[1002] == {("inner", "outer", "main")}
    assert {s[:2] for s in stacks[1003]} == {("resize", "main")}
    assert stacks[5000] == {("inner", "outer", "main")}
    assert {s[:2] for s in stacks[1004]} == {("resize_away", "main")}
    for path in plain.path, recorded.path:
        tool.assert_equal_sums(path)
    assert (recorded.sums.calls, recorded.sums.leaked_bytes) == \
        (plain.sums.calls, plain.sums.leaked_bytes)


def test_free_stacks_in_the_dump_and_finished(record, tool, tmp_path):
    """`trace dump` shows them, before and after `finish`, and only where they were recorded."""
    command = [PYTHON, "-c", "x = [str(i) for i in range(20000)]"]
    env = {"PYTHONMALLOC": "malloc"}
    recorded = record(command, settings={"FREE_STACKS": 1}, env=env)
    plain = record(command, env=env)
    assert "free_stacks" in recorded.info_json and recorded.info_json["free_stacks"]
    assert not plain.info_json["free_stacks"]
    before = tool("trace", "dump", recorded.path).stdout
    frees = [line for line in before.splitlines() if " free 0x" in line]
    assert len(frees) > 20000 and all(" depth=" in line for line in frees)
    assert len({line.split(" stack=")[1] for line in frees}) > 10
    assert not re.search(r" free 0x\S+ depth", tool("trace", "dump", plain.path).stdout)
    tool("finish", "--compress", "always", recorded.path)
    assert tool.info(recorded.path)["compressed"]
    assert tool("trace", "dump", recorded.path).stdout == before
    tool.assert_equal_sums(recorded.path)


def test_free_stacks_of_operators(record, compile_sample, functions_of):
    """delete and delete[] have theirs, also where the caller is libstdc++."""
    program = compile_sample("cpp_operators", "gcc", "-O1")
    recorded = record_sample(record, program, FREE_STACKS=1)
    recorded.assert_sound()
    deletes = [event for event in recorded.reader.events
               if isinstance(event, Free) and event.op in (21, 22)]
    assert len(deletes) >= 10
    for event in deletes:
        assert "main" in named_stack(recorded.reader, event.node, functions_of)


# --- BACKTRACE ---

def deepest(recorded):
    return max(len(stack) for stack in recorded.sums.sites)


def test_backtrace(record, compile_sample, tool):
    """short: eight frames and the mark, which is no loss; none: no frame at all."""
    program = compile_sample("deep", "gcc", "-O1")
    full, short, none = (record_sample(record, program, BACKTRACE=kind)
                         for kind in ("full", "short", "none"))
    for recorded in full, short, none:
        recorded.assert_sound()
        assert (recorded.reader.header.losses["truncated_stacks"] > 0) == (recorded == full)
        assert recorded.info_json["complete"]
        tool.assert_equal_sums(recorded.path, recorded.sums)
        assert recorded.sums.calls == full.sums.calls
        assert recorded.sums.total_bytes == full.sums.total_bytes
    assert deepest(full) > 50
    assert deepest(short) == 9
    cut = [stack for stack in short.sums.sites if len(stack) == 9]
    assert all(stack[-1] == (1, 0) for stack in cut)
    whole = {tuple(full.reader.modules[module]["path"] and pc - full.reader.modules[module]["bias"]
                   for pc, module in stack[:8]) for stack in full.sums.sites}
    for stack in cut:
        assert tuple(pc - short.reader.modules[module]["bias"] for pc, module in stack[:8]) in whole
    assert list(none.sums.sites) == [()]
    assert none.path.stat().st_size < full.path.stat().st_size


def test_depth_is_still_counted(record, compile_sample):
    """What DEPTH cuts is a loss of frames; the smaller of both limits holds."""
    program = compile_sample("deep", "gcc", "-O1")
    recorded = record_sample(record, program, DEPTH=12)
    assert deepest(recorded) == 13 and recorded.reader.header.losses["truncated_stacks"] > 0
    recorded = record_sample(record, program, DEPTH=5, BACKTRACE="short")
    assert deepest(recorded) == 6


def test_no_backtrace_of_many_threads(record, threads_program, tool):
    recorded = record([threads_program], settings={"BACKTRACE": "none", "FREE_STACKS": 1})
    recorded.assert_sound()
    assert not recorded.reader.header.free_stacks
    assert list(recorded.sums.sites) == [()]
    assert recorded.sums.calls >= 8 * 8000
    tool.assert_equal_sums(recorded.path, recorded.sums)


# --- ZERO_MEMORY ---

ALLOCATORS = ["glibc", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


def with_allocator(name, agent):
    if name == "glibc":
        return {}
    path = f"/usr/lib/x86_64-linux-gnu/{name}"
    if not os.path.exists(path):
        pytest.skip(f"{name} is not installed")
    return {"LD_PRELOAD": f"{agent}:{path}"}


def run_zeroed(program, environment, agent, tmp_path, **settings):
    environment = clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "r.%n",
                                     **environment, **settings})
    run = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
    return int(run.stdout)


@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", ["zeroed", "zeroed_cpp"])
def test_zero_memory(name, allocator, agent, compile_sample, tmp_path):
    program = compile_sample(name, "gcc", "-O1")
    environment = with_allocator(allocator, agent)
    assert run_zeroed(program, environment, agent, tmp_path) > 0
    assert run_zeroed(program, environment, agent, tmp_path, MALLOW_ZERO_MEMORY=1) == 0


def test_zero_memory_on_musl(agent, compile_sample, tmp_path):
    program = compile_sample("zeroed", "musl", "-O1")
    assert run_zeroed(program, {}, agent, tmp_path, MALLOW_ZERO_MEMORY=1) == 0


def test_zero_memory_records_the_same(record, compile_sample):
    """What the program called is recorded, not what serves it."""
    program = compile_sample("c_family", "gcc", "-O1")
    plain, zeroed = (record_sample(record, program, ZERO_MEMORY=value) for value in (0, 1))
    zeroed.assert_sound()
    assert [event.op for event in zeroed.reader.events] == [event.op for event in plain.reader.events]
    assert zeroed.sums.total_bytes == plain.sums.total_bytes


# --- FORCE_MALLOC ---

POOLS = r"""
#include <ext/mt_allocator.h>
#include <ext/pool_allocator.h>
#include <list>

int main(int argc, char **argv)
{
	std::list<int, __gnu_cxx::__pool_alloc<int>> pool;
	std::list<int, __gnu_cxx::__mt_alloc<int>> mt;
	std::list<int> plain;

	for (int i = 0; i < 3000; i++) {
		if (argc == 1 || *argv[1] == 'n')
			plain.push_back(i);
		else if (*argv[1] == 'p')
			pool.push_back(i);
		else
			mt.push_back(i);
	}
}
"""

FORCED = {"PYTHONMALLOC": "malloc", "GLIBCXX_FORCE_NEW": "1", "USE_ZEND_ALLOC": "0", "G_SLICE": "always-malloc",
          "ERL_FLAGS": "+Mea min", "SYSTEMD_MEMPOOL": "0"}
SHOW = f"import json, os; print(json.dumps({{name: os.environ.get(name) for name in {list(FORCED)}}}))"


@pytest.mark.parametrize("words,env,forced", [
    ([], {}, False),
    (["--force-malloc"], {}, True),
    (["--force-malloc=0"], {}, False),
    ([], {"MALLOW_FORCE_MALLOC": "yes"}, True),
    (["--force-malloc=0"], {"MALLOW_FORCE_MALLOC": "yes"}, False),
    (["--force-malloc"], {"PYTHONMALLOC": "pymalloc", "G_SLICE": "debug-blocks"}, True),
    (["--force-malloc"], {"GLIBCXX_FORCE_NEW": "", "ERL_FLAGS": "+c"}, True),
    (["--force-malloc"], {"USE_ZEND_ALLOC": "1", "SYSTEMD_MEMPOOL": "1"}, True),
])
def test_force_malloc(mallow, agent, tmp_path, words, env, forced):
    """The variables are set for the program, where the user has not set them."""
    run = run_tool(mallow, *words, "--no-finish", PYTHON, "-c", SHOW, cwd=tmp_path, env=env)
    assert json.loads(run.stdout) == {name: env.get(name, value if forced else None)
                                      for name, value in FORCED.items()}


@pytest.mark.parametrize("options", [None, "", "--no-warnings"])
def test_script_names(mallow, agent, tmp_path, options):
    """node is told to name its code, beside what the user has told it."""
    show = "import os; print(os.environ.get('NODE_OPTIONS'))"
    env = {} if options is None else {"NODE_OPTIONS": options}
    plain = run_tool(mallow, "--no-finish", PYTHON, "-c", show, cwd=tmp_path, env=env)
    assert plain.stdout == f"{options}\n"
    run = run_tool(mallow, "--script-names", "--no-finish", PYTHON, "-c", show, cwd=tmp_path, env=env)
    assert run.stdout.split() == [*(options or "").split(), "--perf-basic-prof", "--interpreted-frames-native-stack"]


def hidden_lines(text):
    return [line for line in text.splitlines() if line.startswith(("  unseen ", "  hint "))]


def check_hidden(mallow, tool, tmp_path, command, hint, blocks):
    """Both the summary and reports, of a finished recording and of one that is not, say how much memory is in
    pools, at least so many bytes, and how to see it. Then the bytes are in the peak, and nothing is said."""
    for i, finish in enumerate([[], ["--no-finish"]]):
        run = run_tool(mallow, *finish, "-o", f"r{i}", *command, cwd=tmp_path)
        unseen, hinted = hidden_lines(run.stderr)
        assert re.fullmatch(hint, hinted)
        assert hidden_lines(tool("report", tmp_path / f"r{i}").stdout) == [unseen, hinted]
        [exact, _] = hidden_lines(tool("report", "--bytes", tmp_path / f"r{i}").stdout)
        assert int(re.sub(r"\D", "", exact.split(" B ")[0])) >= blocks
        assert not hidden_lines(tool("report", "--size-min", 1, tmp_path / f"r{i}").stdout)
    run = run_tool(mallow, "--force-malloc", "-o", "forced", *command, cwd=tmp_path)
    assert not hidden_lines(run.stderr + tool("report", tmp_path / "forced").stdout)
    hidden, forced = (json.loads(tool("report", "--json", "--top", 1, tmp_path / name).stdout)["peak_bytes"]
                      for name in ("r0", "forced"))
    assert forced >= blocks > hidden


def test_hint_of_python(mallow, agent, tool, tmp_path):
    """Where Python used arenas of its own, and only there."""
    check_hidden(mallow, tool, tmp_path,
                 ["--python-pools", "off", PYTHON, "-c", "x = [str(i) for i in range(200000)]"],
                 r"  hint +Python keeps small blocks in \d+ arenas of its own: --force-malloc shows each", 200000 * 50)
    run = run_tool(mallow, "ls", "-lR", "/usr/share/doc", cwd=tmp_path)
    assert "hint" not in run.stderr


def test_hint_of_php(mallow, agent, tool, tmp_path):
    check_hidden(mallow, tool, tmp_path,
                 [need("php"), "-n", "-r", "for ($i = 0; $i < 200000; $i++) $x[] = \"number $i\";"],
                 r"  hint +PHP keeps its blocks in \d+ chunks of its own: --force-malloc shows each", 200000 * 32)


# As PHP does: to have one at a multiple of its size it maps more, and gives back what is around it. What is
# otherwise mapped is no chunk.
CHUNKS = r"""
#include <stdint.h>
#include <sys/mman.h>

enum { MB = 1 << 20 };

static char *map(size_t size, int flags)
{
	return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static char *chunk(size_t size)
{
	char *begin = map(size + 3 * MB, 0), *aligned = begin + MB;

	munmap(begin, MB);
	munmap(aligned + size, 2 * MB);
	return aligned;
}

int main(void)
{
	char *first = chunk(2 * MB), *second;

	munmap(first, 2 * MB);
	first = chunk(2 * MB);
	second = chunk(5 * MB);
	map(64 * MB, MAP_NORESERVE);
	map(MB, 0);
	munmap(first, 2 * MB);
	munmap(second, 5 * MB);
	chunk(2 * MB);
}
"""


def test_chunks_of_php(mallow, agent, tool, tmp_path):
    (tmp_path / "chunks.c").write_text(CHUNKS)
    subprocess.run(["gcc", "-o", "php-chunks", "chunks.c"], cwd=tmp_path, check=True)
    run_tool(mallow, "-o", "r", "./php-chunks", cwd=tmp_path)
    [unseen, hint] = hidden_lines(tool("report", "--bytes", tmp_path / "r").stdout)
    # When the second one was mapped: 2 MiB, and 5 + 3.
    assert re.sub(r"\D", "", unseen) == str(10 << 20)
    assert "4 chunks" in hint
    report = json.loads(tool("report", "--json", tmp_path / "r").stdout)
    assert report["unseen"] == [{"kind": "heap", "mapped_by": "PHP", "mappings": 4, "peak_bytes": 10 << 20}]


@pytest.mark.parametrize("kind,hinted", [("pool", True), ("mt", True), ("none", False)])
def test_hint_of_libstdcxx(mallow, agent, tool, tmp_path, kind, hinted):
    (tmp_path / "pools.cpp").write_text(POOLS)
    subprocess.run([need("g++"), "-o", "pools", "pools.cpp"], cwd=tmp_path, check=True)
    run = run_tool(mallow, "-o", "r", "./pools", kind, cwd=tmp_path)
    assert ("hint" in run.stderr) == hinted
    assert hidden_lines(tool("report", tmp_path / "r").stdout) == hidden_lines(run.stderr)
    assert (tool.info(tmp_path / "r")["allocations"] < 3000) == hinted
    run = run_tool(mallow, "--force-malloc", "-o", "forced", "./pools", kind, cwd=tmp_path)
    assert "hint" not in run.stderr
    assert tool.info(tmp_path / "forced")["allocations"] >= 3000


SLICES = r"""
#include <glib.h>

static GList *kept;

__attribute__((noinline)) static void keep(void)
{
	for (int i = 0; i < 1000; i++)
		kept = g_list_prepend(kept, &kept);
}

__attribute__((noinline)) static void leak_slices(void)
{
	for (int i = 0; i < 50000; i++)
		g_slice_alloc(24);
}

int main(void)
{
	keep();
	g_list_free(kept);
	leak_slices();
	return (glib_major_version << 8) + glib_minor_version < (2 << 8) + 76;
}
"""


def test_hint_of_glib(mallow, agent, tool, tmp_path):
    """GLib hands out slices of larger blocks, up to version 2.75. What is leaked is charged to who allocates."""
    flags = subprocess.run([need("pkg-config"), "--cflags", "--libs", "glib-2.0"], capture_output=True, text=True)
    if flags.returncode:
        pytest.skip("libglib2.0-dev is not installed")
    (tmp_path / "slices.c").write_text(SLICES)
    subprocess.run(["gcc", "-g", "-O1", "-o", "slices", "slices.c", *flags.stdout.split()], cwd=tmp_path, check=True)
    run = run_tool(mallow, "-o", "r", "./slices", cwd=tmp_path, check=False)
    old = run.returncode == 1
    hint = ["  hint        GLib's slice allocator hides blocks: --force-malloc shows each"]
    assert hidden_lines(run.stderr) == hidden_lines(tool("report", tmp_path / "r").stdout) == (hint if old else [])
    forced = run_tool(mallow, "--force-malloc", "-o", "forced", "./slices", cwd=tmp_path, check=False)
    assert not hidden_lines(forced.stderr + tool("report", tmp_path / "forced").stdout)
    for name in ["forced"] if old else ["forced", "r"]:
        rows = list(csv.DictReader(io.StringIO(tool("report", "--csv", tmp_path / name).stdout)))
        assert sum(int(row["leaked_blocks"]) for row in rows if "leak_slices" in row["stack"]) == 50000
        assert sum(int(row["leaked_bytes"]) for row in rows if "leak_slices" in row["stack"]) == 50000 * 24


def test_hint_of_tcl(mallow, agent, tool, tmp_path):
    """Its threads' pools have no switch; that they are there is said all the same."""
    (tmp_path / "lists.tcl").write_text("for {set i 0} {$i < 20000} {incr i} { lappend kept [list a $i] }\n")
    run = run_tool(mallow, "--force-malloc", "-o", "r", need("tclsh"), "lists.tcl", cwd=tmp_path)
    hint = ["  hint        Tcl's allocator hides blocks: their memory counts for who needed more of it"]
    assert hidden_lines(run.stderr) == hidden_lines(tool("report", tmp_path / "r").stdout) == hint


# --- MEMORY_SAMPLES, RECORD_ARGS, RECORD_ENV ---

def sample_times(recorded):
    return [recorded.reader.seconds(fact["time"]) for fact in recorded.reader.facts
            if fact["kind"] == "memory"]


@pytest.mark.parametrize("slots", mostly_long(["shared", "private"], 1))
def test_memory_samples(record, slots):
    """At least so far apart, but for the last one at the end; none at all with 0. Those of an interval that the run
    is too short for come sooner."""
    code = "import time\nfor i in range(30): x = [str(j) for j in range(1500)]; time.sleep(0.02)"
    command = [PYTHON, "-c", code]
    env = {"PYTHONMALLOC": "malloc"}
    settings = {"BACKTRACE": "none", "SLOTS": slots}
    often, usual, seldom, never = (record(command, env=env, settings={**settings, "MEMORY_SAMPLES": word})
                                   for word in ("20ms", "1s", "1h", "0"))
    times = sample_times(often)
    assert len(times) > 3
    assert all(later - earlier >= 0.0199 for earlier, later in zip(times, times[1:-1]))
    times = sample_times(usual)
    assert len(times) > 5
    assert all(later - earlier >= 0.0199 for earlier, later in zip(times, times[1:-1]))
    assert len(sample_times(seldom)) <= 2
    assert sample_times(never) == []
    for recorded in often, usual, seldom, never:
        recorded.assert_sound()


def test_arguments_and_environment(record, tool):
    """Arguments unless they are not wanted, the environment only if it is; both outlast finish."""
    command = ["/bin/sh", "-c", "exit 0", "first argument", "naïve\nsecond"]
    env = {"SECRET": "a b=c", "LINES": "one\ntwo"}
    usual = record(command, env=env)
    assert usual.info_json["arguments"] == command
    assert usual.info_json["environment"] is None
    assert b"a b=c" not in usual.path.read_bytes()
    assert "SECRET" not in tool("info", usual.path).stdout

    without = record(command, env=env, settings={"RECORD_ARGS": 0})
    assert without.info_json["arguments"] == []
    assert b"first argument" not in without.path.read_bytes()

    with_all = record(command, env=env, settings={"RECORD_ENV": 1})
    for _ in range(2):
        info = tool.info(with_all.path)
        assert info["arguments"] == command
        assert {"SECRET=a b=c", "LINES=one\ntwo", "MALLOW_RECORD_ENV=1"} <= set(info["environment"])
        assert "\n    SECRET=a b=c\n" in tool("info", with_all.path).stdout
        tool("finish", with_all.path)
    assert tool.info(with_all.path)["finished"]


def test_no_arguments_everywhere(mallow, agent, tool, tmp_path):
    """Reports and summaries do without them."""
    run = run_tool(mallow, "--record-args", "0", "-o", "r", "ls", "--color=never", "/", cwd=tmp_path)
    assert run.returncode == 0 and "--color" not in run.stderr
    assert re.search(r"^mallow: .*ls  \(pid \d+\)$", run.stderr, re.M)
    assert "--color" not in tool("report", tmp_path / "r").stdout


# --- OUTPUT, LOG, LOGFILE ---

def names_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def run_in(folder, preload, output, command=("/bin/true",), **settings):
    run = subprocess.run(list(command), env=preload(OUTPUT=output, **settings), cwd=folder,
                         capture_output=True, text=True)
    assert run.returncode == 0
    return run


def test_output_placeholders(preload, tmp_path):
    run_in(tmp_path, preload, "a/%h/%e-%n%%%n/x.%e")
    assert names_of(tmp_path) == [f"a/{socket.gethostname()}/true-0%0/x.true"]
    run_in(tmp_path, preload, "b/%t-%p")
    name, = names_of(tmp_path / "b")
    seconds, pid = map(int, name.split("-"))
    recording = mallow_reader.read(tmp_path / "b" / name)
    assert pid == recording.header.pid
    assert abs(seconds - recording.header.realtime // 10**9) <= 1


@pytest.mark.parametrize("output", ["/dev/null", "/dev/full", "fifo", "folder", "a%n/../folder"])
@pytest.mark.parametrize("by_tool", [True, False])
def test_output_that_is_no_regular_file(preload, mallow, tmp_path, output, by_tool):
    """Refused in one line, in children too; nothing is made beside it, and the program runs on."""
    os.mkfifo(tmp_path / "fifo")
    for folder in ["folder", "a0"]:
        (tmp_path / folder).mkdir()
    devices = sorted(os.listdir("/dev"))
    program = ["/bin/sh", "-c", "/bin/true; exit 3"]
    command = [mallow, "run", "-o", output, *program] if by_tool else program
    run = subprocess.run(command, env=os.environ if by_tool else preload(OUTPUT=output),
                         cwd=tmp_path, capture_output=True, text=True)
    path = re.escape(str(tmp_path / output.replace("%n", "0")))
    assert run.returncode == 3
    (line,) = set(run.stderr.splitlines())
    assert re.fullmatch(f"mallow: cannot write '{path}': it exists, and is no regular file; "
                        "the program runs unrecorded", line)
    assert names_of(tmp_path) == [] and sorted(os.listdir("/dev")) == devices


def test_output_of_an_existing_name(preload, tmp_path):
    """Never truncated: .1, .2; with %n the number counts instead."""
    (tmp_path / "r").write_text("mine")
    run_in(tmp_path, preload, "r")
    run_in(tmp_path, preload, "r")
    assert names_of(tmp_path) == ["r", "r.1", "r.2"]
    assert (tmp_path / "r").read_text() == "mine"
    for _ in range(3):
        run_in(tmp_path, preload, "n%n.mallow")
    assert names_of(tmp_path)[:3] == ["n0.mallow", "n1.mallow", "n2.mallow"]


def test_output_is_no_link(preload, tmp_path):
    """A link that stands there is a name that exists, wherever it leads."""
    (tmp_path / "r").symlink_to(tmp_path / "elsewhere")
    run_in(tmp_path, preload, "r")
    assert not (tmp_path / "elsewhere").exists() and (tmp_path / "r.1").exists()


def test_output_unknown_placeholder(preload, tmp_path):
    """It stays, with one warning for the whole run."""
    run = run_in(tmp_path, preload, "%e.%q.%p", ["/bin/sh", "-c", "/bin/true; /bin/true"])
    assert run.stderr == "mallow: MALLOW_OUTPUT: %q is no placeholder and stays as it is\n"
    names = names_of(tmp_path)
    assert all(re.fullmatch(r"\w+\.%q\.\d+", name) for name in names)
    # Each has the name of the program that its process executed.
    shell = os.path.basename(os.path.realpath("/bin/sh"))
    assert sorted(name.split(".")[0] for name in names) == sorted([shell, "true", "true"])


def test_output_of_children(preload, tmp_path):
    """A name without %p is the first image's; later ones get NAME.<pid>.<n>, linked to parents."""
    script = "(exec /bin/true); /bin/true; exec /bin/ls /"
    run_in(tmp_path, preload, "r", ["/bin/sh", "-c", script])
    names = names_of(tmp_path)
    first = mallow_reader.read(tmp_path / "r").header
    assert first.parent_id == "" and len(names) >= 4
    ids = {first.id}
    for name in names[1:]:
        header = mallow_reader.read(tmp_path / name).header
        assert re.fullmatch(rf"r\.{header.pid}\.\d+", name)
        assert header.parent_id
        ids.add(header.id)
    assert len(ids) == len(names)
    # The image that the shell executed in its own place has its number.
    assert any(name.startswith(f"r.{first.pid}.") for name in names[1:])


def test_output_of_children_with_pid(preload, tmp_path):
    """With %p no suffix is needed, unless an image is executed in the same process."""
    run_in(tmp_path, preload, "r-%p", ["/bin/sh", "-c", "/bin/true; exec /bin/true"])
    names = names_of(tmp_path)
    assert len(names) == 3
    assert sum(bool(re.fullmatch(r"r-\d+", name)) for name in names) == 2
    assert sum(bool(re.fullmatch(r"r-\d+\.1", name)) for name in names) == 1


def test_parent_directories(preload, tmp_path):
    run_in(tmp_path, preload, tmp_path / "new" / "deep" / "er" / "r")
    assert names_of(tmp_path) == ["new/deep/er/r"]


LEVELS = ["error", "warn", "info", "debug", "trace"]  # each says more than the one before


def test_log_levels(preload, tmp_path):
    counts = []
    for level in ["off", *LEVELS]:
        command = [PYTHON, "-c", "x = [str(i) for i in range(100000)]"]
        run_in(tmp_path, preload, "r.%n", command, LOG=level, LOGFILE=f"log-{level}")
        path = tmp_path / f"log-{level}"
        lines = path.read_text().splitlines() if path.exists() else []
        assert all(line.startswith("mallow: ") for line in lines)
        counts.append(len(lines))
    assert counts[:3] == [0, 0, 0] and 0 < counts[3] < counts[4] < counts[5], counts
    info = (tmp_path / "log-info").read_text()
    assert re.fullmatch(r"mallow: recording to .*/r\.\d\nmallow: recording '.*/r\.\d' ends\n", info)
    assert "mallow: MALLOW_LOG=debug\n" in (tmp_path / "log-debug").read_text()


def test_log_on_stderr_and_in_a_file(preload, tmp_path):
    """Without LOGFILE on stderr; with it there alone, appended, placeholders, directories made."""
    run = run_in(tmp_path, preload, "r", [PYTHON, "-c", ""], LOG="info")
    assert run.stderr.startswith("mallow: recording to ")
    for _ in range(2):
        run = run_in(tmp_path, preload, "r", [PYTHON, "-c", ""], LOG="info",
                     LOGFILE="logs/%e.%z.log")
        assert run.stderr == "mallow: MALLOW_LOGFILE: %z is no placeholder and stays as it is\n"
    name, = names_of(tmp_path / "logs")
    assert name.endswith(".%z.log") and "python" in name
    assert (tmp_path / "logs" / name).read_text().count("recording to ") == 2


def test_faults_are_on_stderr_and_in_the_file(preload, tmp_path):
    run = run_in(tmp_path, preload, "/proc/none/r", LOGFILE="log")
    assert run.stderr.startswith("mallow: cannot write '/proc/none/r': ")
    assert (tmp_path / "log").read_text() == run.stderr
    # A log that cannot be written is none; what it would have said is said here.
    run = run_in(tmp_path, preload, "r", [PYTHON, "-c", ""], LOGFILE="/proc/none/log", LOG="info")
    assert run.stderr.startswith("mallow: recording to ")


NO_ROOM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *work(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++)
		free(malloc(24));
	return argument;
}

int main(void)
{
	pthread_t thread;
	unsigned long pages;
	FILE *file;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%lu", &pages) != 1)
		return 3;
	fclose(file);
	setrlimit(RLIMIT_AS, &(struct rlimit){pages * 4096, pages * 4096});
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
"""


def test_lost_events_are_said(record, tmp_path):
    """Without memory for a thread its events are lost: one line, and the count."""
    (tmp_path / "no_room.c").write_text(NO_ROOM)
    program = tmp_path / "no_room"
    subprocess.run([need("gcc"), "-O1", "-fno-builtin", "-pthread", "-o", program,
                    tmp_path / "no_room.c"], check=True)
    recorded = record([program])
    assert recorded.stdout == "done\n"
    lost = recorded.reader.header.lost
    assert lost == recorded.reader.header.losses["no_memory"] >= 100
    assert recorded.stderr == f"mallow: recording '{recorded.path}' ends; events lost: {lost}\n"


NO_SLOT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void work(int pairs)
{
	while (pairs--)
		free(malloc(24));
}

int main(int argc, char **argv)
{
	struct rlimit old, none;
	unsigned long pages;
	FILE *file;

	work(10);
	getrlimit(RLIMIT_AS, &old);
	file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%lu", &pages) != 1)
		return 3;
	fclose(file);
	none = (struct rlimit){pages * 4096, old.rlim_max};
	if (argc > 1)
		setrlimit(RLIMIT_AS, &none);
	work(5000);
	setrlimit(RLIMIT_AS, &old);
	work(100);
	return 0;
}
"""


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_no_address_space_for_a_slot(slots, record, tmp_path):
    """Each event for which there is none is counted, and the file does not grow by them; afterwards
    it goes on."""
    (tmp_path / "no_slot.c").write_text(NO_SLOT)
    program = tmp_path / "no_slot"
    subprocess.run([need("gcc"), "-O1", "-fno-builtin", "-o", program, tmp_path / "no_slot.c"],
                   check=True)
    whole, limited = record([program]).reader, record([program, "limited"], settings={"SLOTS": slots})
    header = limited.reader.header
    assert header.lost == header.losses["no_memory"] == len(whole.events) - len(limited.reader.events)
    # A private slot is used again and again: it needs no more.
    assert (header.lost > 0) == (slots == "shared") and len(whole.events) > 10220
    assert limited.path.stat().st_size < 150000


def test_the_number_of_lost_events_is_said(tool, tmp_path):
    """malloc in the middle of the agent's system calls: where a program's many modules are found, the
    buffer for such events overflows."""
    run, _ = run_with(variant("reenter"), [need("gdb"), "--version"], tmp_path, "MALLOW_TEST_REENTER_LOG")
    lost = tool.info(tmp_path / "r.mallow")["lost"]
    assert lost > 0
    assert run.stderr.decode() == \
        f"mallow: recording '{tmp_path / 'r.mallow'}' ends; events lost: {lost}\n"
