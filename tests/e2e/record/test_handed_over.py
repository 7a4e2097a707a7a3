"""Allocators whose calls a program hands over are recorded as malloc is, once, wherever their code is."""
import json
import pathlib
import subprocess

import pytest

from conftest import TOP, clean_environment, flags_to_link, need

# An allocator of 1 MB, which nothing knows. It takes 24 bytes of malloc's for each block, and may
# be asked by a signal handler: but malloc may not, if malloc is what the signal came in.
PROGRAM = r"""
#include <mallow/mallow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static char memory[1 << 20];
static size_t used;
static volatile int in_malloc;
struct wanted { void *old; size_t size, alignment; };

static void *take(void *argument)
{
	const struct wanted *wanted = argument;
	size_t alignment = wanted->alignment > 16 ? wanted->alignment : 16, at = (used + alignment - 1) & -alignment;
	void *block;

	if (wanted->size > sizeof(memory))
		return NULL;
	if (at + wanted->size > sizeof(memory))
		at = 0;
	used = at + wanted->size + 16;
	block = memory + at;
	if (!in_malloc) {
		in_malloc = 1;
		free(malloc(24));
		in_malloc = 0;
	}
	return wanted->old ? memmove(block, wanted->old, wanted->size / 2) : block;
}

static void release(void *block)
{
	((volatile char *)block)[0] = 1;
}

void *own_alloc(size_t size, size_t alignment)
{
	struct wanted wanted = {NULL, size, alignment};

	return mallow_call_allocate(take, &wanted, size, alignment);
}

void *own_resize(void *old, size_t size)
{
	struct wanted wanted = {old, size, 0};

	return mallow_call_reallocate(take, &wanted, old, size);
}

void own_free(void *block)
{
	mallow_call_free(release, block, block);
}

static volatile long in_handler;

static void on_alarm(int number)
{
	own_free(own_alloc(40, 0));
	in_handler++;
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 100}, {0, 100}};
	long count = atol(argv[1]);

	if (argc > 2) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (long i = 0; i < count; i++)
		own_free(own_resize(own_alloc(20 + i % 50, i % 2 ? 64 : 0), 100));
	every = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	own_resize(NULL, 777);
	printf("%ld %d\n", in_handler, own_alloc(1 << 30, 0) == NULL);
	return 0;
}
"""
PRELOADED = ["-I", TOP / "include"]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed_over")
    (folder / "program.c").write_text(PROGRAM)

    def build(name, *options):
        subprocess.run([need("gcc"), "-g", "-O1", "-fno-builtin", "-o", folder / name, folder / "program.c", *PRELOADED,
                        *options], check=True)
        return folder / name

    return build


@pytest.fixture(scope="module")
def program(build):
    return build("program")


def check(report, count, in_handler=0):
    """Each call once: of each round two, the last one, the handler's; not the allocator's own malloc. The C
    library has some of its own."""
    assert 0 <= report["calls"] - (2 * count + 1 + in_handler) <= 6
    assert 777 <= report["leaked_bytes"] <= 777 + 8192 and report["leaked_blocks"] <= 7
    assert not [one for one in report["findings"] if one["kind"] in ("mismatched", "double_free", "unknown_free")]


@pytest.mark.parametrize("settings", [{}, {"CULL": "1ms"}, {"FREE_STACKS": 1}, {"SLOTS": "private"}, {"SAMPLE": 1},
                                      {"BACKTRACE": "none"}, {"ZERO_MEMORY": 1}, {"PATCH": "off"}])
def test_settings(settings, program, record):
    recorded = record([program, "500"], settings=settings)
    check(recorded.report_json, 500)
    for reader in recorded.readers:
        assert not reader.damages and reader.header.lost == 0


@pytest.mark.parametrize("way", ["shared", "static", "static-pie"])
def test_linked(way, build, agent, record):
    recorded = record([build(way, *flags_to_link(agent, way)), "500"], linked=True)
    check(recorded.report_json, 500)


def test_live(program, mallow):
    run = subprocess.run([mallow, "live", "--json", program, "500"], capture_output=True, text=True,
                         env=clean_environment(), check=True)
    [line] = [line for line in run.stderr.splitlines() if line.startswith("{")]
    said = json.loads(line)
    assert said["calls"] in (1001, 1002) and 777 <= said["live_bytes"] <= 777 + 4096


def test_handlers(program, record):
    recorded = record([program, "200000", "handlers"])
    in_handler = int(recorded.stdout.split()[0])
    assert in_handler > 20
    check(recorded.report_json, 200_000, in_handler)


OPERATORS = r"""
#include <mallow/mallow.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile long in_handler;

static void on_alarm(int)
{
	delete[] new char[40];
	in_handler = in_handler + 1;
}

int main()
{
	struct itimerval every = {{0, 100}, {0, 100}};
	static char pool[100];

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, nullptr);
	while (in_handler < 1000) {
		mallow_pool_alloc(pool, pool + in_handler % 50, 1);
		mallow_pool_reset(pool);
	}
	every = {};
	setitimer(ITIMER_REAL, &every, nullptr);
	printf("%ld\n", in_handler);
	return 0;
}
"""


def test_operators_of_handlers(tmp_path, record):
    """An operator that has interrupted the agent itself waits, and what it calls is a part of it."""
    (tmp_path / "operators.cpp").write_text(OPERATORS)
    subprocess.run([need("g++"), "-O1", "-o", tmp_path / "operators", tmp_path / "operators.cpp", *PRELOADED], check=True)
    recorded = record([tmp_path / "operators"])
    in_handler = int(recorded.stdout)
    report = recorded.report_json
    assert 0 <= report["calls"] - in_handler <= 6
    assert not [one for one in report["findings"] if one["kind"] in ("mismatched", "double_free", "unknown_free")]


# Leaves the allocator by longjmp once, and goes on. What is allocated next is recorded, from the same frame
# and from deeper ones.
LEAVES = r"""
#include <mallow/mallow.h>
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf out;
static void *leave(void *argument) { longjmp(out, 1); return argument; }
static void *take(void *argument) { return malloc((size_t)argument); }
static void release(void *block) { free(block); }
static __attribute__((noinline)) void parse(void)
{
	void *block = mallow_call_allocate(take, (void *)100, 100, 0);

	free(malloc(10));
	mallow_call_free(release, block, block);
}
int main(void)
{
	if (!setjmp(out))
		mallow_call_allocate(leave, NULL, 100, 0);
	for (int i = 0; i < 1000; i++)
		parse();
	return 0;
}
"""


def test_left_by_longjmp(tmp_path, record):
    (tmp_path / "leaves.c").write_text(LEAVES)
    subprocess.run([need("gcc"), "-O1", "-fno-builtin", "-o", tmp_path / "leaves", tmp_path / "leaves.c", *PRELOADED], check=True)
    report = record([tmp_path / "leaves"]).report_json
    assert report["calls"] == 2000 and report["leaked_blocks"] == 0


def test_stacks(program, record, tool):
    """They begin with the call that is handed over; what failed has one, too."""
    path = record([program, "5000"]).path
    stacks = tool("export", "--to", "collapsed", "--metric", "calls", path).stdout
    assert stacks.count("main;own_alloc;mallow_call_allocate 5000\n") == 1, stacks
    assert "main;own_resize;mallow_call_reallocate" in stacks
    [temporary] = [one for one in json.loads(tool("report", "--json", path).stdout)["findings"] if one["kind"] == "temporary"]
    assert temporary["conditions"] == {"allocated_by": "^own_alloc$"}
    dump = tool("trace", "dump", path).stdout
    assert dump.count(" memalign ") == 2500 and "alignment=64" in dump
    [failed] = [line for line in dump.splitlines() if " failed " in line]
    assert f"size={1 << 30}" in failed


def test_said(build, record):
    """Where an allocator would be said to be unseen, it is said that some of its calls are handed over; a call
    of any kind tells that."""
    source = "void *_rjem_malloc(unsigned long size) { return take(&(struct wanted){0, size, 0}); }\n" \
             "void _rjem_sdallocx(void *block) { release(block); }\n"
    path = pathlib.Path(build("said")).with_name("program.c")
    text = PROGRAM.replace("int main(", source + "int main(").replace("own_alloc(20 + i % 50, i % 2 ? 64 : 0)",
                                                                    "own_resize(NULL, 20 + i % 50)")
    path.with_name("said.c").write_text(text)
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-builtin", "-o", path.with_name("said"), path.with_name("said.c"),
                    *PRELOADED], check=True)
    recorded = record([path.with_name("said"), "500"], bare=False, settings={"PATCH": "off"}, check=False)
    [unseen] = recorded.report_json["unseen"]
    end = "is seen where the program hands calls over, and only there"
    assert unseen["kind"] == "linked_allocator" and unseen["text"].endswith(end)
    merged = recorded.tool("report", "--merge", "--json", recorded.path, recorded.path, check=False)
    other = recorded.path.with_name("other.mallow")
    if merged.returncode:  # one recording is not merged with itself
        data = bytearray(recorded.path.read_bytes())
        data[16] ^= 1  # of its id
        other.write_bytes(data)
        merged = recorded.tool("report", "--merge", "--json", recorded.path, other)
    assert end in merged.stdout


def test_without_the_agent(program):
    run = subprocess.run([program, "500"], capture_output=True, text=True, check=True)
    assert run.stdout == "0 1\n"


# A program that hands a part of the list to the tool, and one whose report it does not have.
EXPORTS = r"""
#include <mallow/mallow.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static inline __attribute__((always_inline)) void *inlined(size_t size) { return malloc(size); }
__attribute__((noinline)) void *holds(size_t size) { void *block = inlined(size); return block ? block : NULL; }
int main(int argc, char **argv)
{
	struct mallow_site_report *report;

	(void)!holds(1234);
	report = mallow_site_report(NULL, NULL);
	if (report)
		fprintf(stderr, "%llx\n", (unsigned long long)report->sites[0]->stack[0]);
	mallow_site_report_free(report);
	fprintf(stderr, "%d\n", mallow_export(argv[1], STDOUT_FILENO));
	return 0;
}
"""


def test_export(tmp_path, record, mallow, agent):
    """A program names its own addresses, by the tool; and has its table in any format."""
    (tmp_path / "exports.c").write_text(EXPORTS)
    program = tmp_path / "exports"
    subprocess.run([need("gcc"), "-g", "-O1", "-o", program, tmp_path / "exports.c", *PRELOADED], check=True)

    def run(form, **settings):
        env = {**clean_environment(), **settings}
        return subprocess.run([program, form], capture_output=True, text=True, env=env, check=True)

    live = {"LD_PRELOAD": str(agent), "MALLOW_MODE": "live", "MALLOW_HELPER": str(mallow), "MALLOW_OUTPUT": str(tmp_path / "t")}
    found = run("frames", **live)
    address, result = found.stderr.split()[:2]
    rows = [line.split("\t") for line in found.stdout.splitlines()]
    assert result == "0" and all(len(row) == 5 for row in rows)
    there = [row for row in rows if row[0] == "0x" + address]
    assert [row[1] for row in there] == ["inlined", "holds"]
    assert [pathlib.Path(row[2].rpartition(":")[0]).name for row in there] == ["exports.c"] * 2
    assert [row[3:] for row in there] == [[str(program), ""]] * 2
    assert [row[4] for row in rows if row[1] == "__libc_start_main"] in ([], ["plumbing"])
    assert "holds" in run("collapsed", **live).stdout
    wrong = run("nothing", **live)
    assert wrong.stderr.splitlines()[-1] != "0" and wrong.stdout == "" and "nothing" in wrong.stderr
    assert run("frames").stderr == "-1\n"
