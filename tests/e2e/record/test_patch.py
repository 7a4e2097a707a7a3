"""Allocators that are linked into a program or library are recorded by patching the entries of their
functions: every call is seen, in each mode, and nothing is patched where that would be wrong."""
import contextlib
import ctypes
import json
import os
import pathlib
import subprocess

import pytest

import expect
from command_line import on_terminal
from conftest import clean_environment, need
from processes import wait_for
from samples import run_sample
from traced_process import need_bpf

# Names of functions that one of the known allocators has, in 1 MB of memory of its own.
MEMORY = r"""
#include <stddef.h>
#include <string.h>
static char memory[1 << 20];
static size_t used;
static void *take(size_t size, size_t alignment)
{
	size_t at = (used + 16 + alignment - 1) & -alignment; // a handler that interrupts this may get the same

	if (at + size > sizeof(memory))
		at = alignment;
	used = at + size;
	return memory + at;
}
"""
OWN = MEMORY + r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
void *malloc(size_t size) { return take(size, 16); }
void free(void *block) { if (block) ((volatile char *)block)[-1] = 1; }
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *block, size_t size)
{
	void *made = malloc(size);
	if (block)
		memcpy(made, block, size < 100 ? size : 100);
	return made;
}
static volatile long in_handler;
static void on_alarm(int number) { free(malloc(40)); in_handler++; }
int main(int argc, char **argv)
{
	struct itimerval every = {{0, 100}, {0, 100}};
	long count = argc > 1 ? atol(argv[1]) : 1000;
	char text[64];

	if (argc > 2) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &every, NULL);
	}
	for (long i = 0; i < count; i++)
		free(realloc(malloc(20 + i % 50), 100));
	every.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	(void)!malloc(777);
	fprintf(stderr, "%s", (snprintf(text, sizeof(text), "%ld\n", in_handler), text));
	return 0;
}
"""
# A library that is opened and closed, beside threads that allocate.
TABLE = MEMORY + r"""
#include <unistd.h>
void mi_free(void *block) { if (getppid()) ((volatile char *)block)[-2] = 1; }
void *mi_malloc_aligned(size_t size, size_t alignment) { return take(size, alignment); }
void *mi_malloc(size_t size) { return take(size, getppid() ? 16 : 32); }
void *mi_zalloc(size_t size) { return take(size, getppid() ? 8 : 32); }
void *table(void) { return mi_malloc_aligned(100, 32); }
void untable(void *block) { mi_free(block); }
"""
OPENS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static int stop;
static void *work(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		free(malloc(100));
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 100; i++) {
		void *library = dlopen(argv[1 + i % (argc - 1)], RTLD_NOW);
		void *(*table)(void) = (void *(*)(void))dlsym(library, "table");
		void (*untable)(void *) = (void (*)(void *))dlsym(library, "untable");

		for (int j = 0; j < 30; j++)
			untable(table());
		dlclose(library);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def archive(name):
    found = subprocess.run([need("gcc"), f"-print-file-name={name}"], capture_output=True, text=True,
                           check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"{name} is not installed")
    return ["-Wl,--whole-archive", found, "-Wl,--no-whole-archive", "-lm", "-lstdc++"]


def compiled(folder, name, text, *options):
    (folder / f"{name}.c").write_text(text)
    subprocess.run([need("gcc"), "-O1", "-g", "-fno-builtin", "-o", folder / name, folder / f"{name}.c", *options],
                   check=True)
    return folder / name


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("own"), "own", OWN)


@pytest.mark.parametrize("allocator", ["libjemalloc.a", "libtcmalloc_minimal.a"])
@pytest.mark.parametrize("name", ["c_family", "cpp_operators", "realloc_races", "fork_threads", "thread_local"])
def test_linked(allocator, name, compile_sample, record, functions_of):
    """All is recorded as with the C library's allocator; it is said whose functions were patched."""
    program = compile_sample(name, "gcc", "-O1", archive(allocator))
    recorded = run_sample(record, [program])
    for reader in recorded.readers:
        assert not reader.damages and reader.header.lost == 0
    wanted = expect.expectations(name)
    # free() and delete are one function in them: nobody can tell which of them was called.
    for fields in wanted.values():
        fields.pop("entries", None)
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    info = recorded.info_json
    [patched] = info["patched"]
    assert patched["object"] == str(program) and patched["functions"] > 15 and patched["not_patched"] == 0
    assert patched["name"] in allocator and info["unseen"] == []
    report = recorded.report_json
    assert report["patched"] == info["patched"]
    assert not [one for one in report["findings"] if one["kind"] in ("mismatched", "double_free", "unknown_free")]
    recorded.tool("finish", recorded.path, check=False)
    assert recorded.tool.info(recorded.path)["patched"] == info["patched"]


def test_own_malloc(own, record, tool):
    """The program's own malloc, whoever calls it; with the C library's calls."""
    recorded = record([own, "500"], bare=False)
    assert "its own malloc in the program is recorded, by 4 functions patched at the entry" in recorded.stderr
    report = recorded.report_json
    assert report["calls"] >= 1001 and report["unseen"] == []
    assert tool("check", "--max-leaked", "1", recorded.path, check=False).returncode == 1
    off = record([own, "500"], bare=False, settings={"PATCH": "off"})
    assert "the program defines malloc itself" in off.stderr and off.report_json["calls"] == 0


@pytest.mark.parametrize("settings", [{}, {"CULL": "1ms"}, {"FREE_STACKS": 1}, {"SLOTS": "private"}, {"UNWINDER": "plain"},
                                      {"SAMPLE": 1}, {"BACKTRACE": "none"}, {"ZERO_MEMORY": 1}])
def test_settings(settings, own, record):
    """What is recorded is the same whatever becomes of it."""
    recorded = record([own, "500"], settings=settings)
    report = recorded.report_json
    # malloc and realloc of each round, and the last one.
    assert report["calls"] == 1001
    assert (report["leaked_blocks"], report["leaked_bytes"]) == (1, 777)


def test_live(own, mallow):
    run = subprocess.run([mallow, "live", "--json", own, "500"], capture_output=True, text=True, env=clean_environment())
    assert run.returncode == 0, run.stderr
    [line] = [line for line in run.stderr.splitlines() if line.startswith("{")]
    said = json.loads(line)
    assert said["calls"] == 1001 and said["live_bytes"] == 777 and said["unseen"] == []
    assert [one["functions"] for one in said["patched"]] == [4]


def test_handlers(own, record):
    """Signals at 10 kHz allocate in the middle of what is patched: each block of theirs is there."""
    recorded = record([own, "200000", "handlers"])
    in_handler = int(recorded.stderr.splitlines()[-1])
    assert in_handler > 20
    report = recorded.report_json
    assert report["calls"] == 400_001 + in_handler
    assert report["leaked_blocks"] == 1


def test_opened_and_closed(tmp_path, record, mallow):
    """A library's allocator is patched each time that it is opened, wherever it then lies."""
    second = "second_with_a_name_as_long_as_those_of"
    for name in ("first", second):
        compiled(tmp_path, f"lib{name}.so", TABLE, "-O0", "-shared", "-fPIC")
    program = compiled(tmp_path, "opens", OPENS)
    recorded = record([program, tmp_path / "libfirst.so", tmp_path / f"lib{second}.so"], bare=False)
    assert [(one["name"], one["functions"]) for one in recorded.info_json["patched"]] == [("mimalloc", 4)] * 2
    modules = json.loads(recorded.tool("report", "--by", "module", "--json", recorded.path).stdout)
    calls = {one["module"].rpartition("/")[2]: one["calls"] for one in modules["rows"] if one["module"]}
    assert calls["libfirst.so"] == calls[f"lib{second}.so"] == 50 * 30
    shown = on_terminal([mallow, "report", "--color=never", recorded.path])
    assert f"mimalloc in lib{second}.so is recorded, by 4 functions patched at the entry" in " ".join(shown.split())
    lines = shown.splitlines()
    said = next(i for i, line in enumerate(lines) if line.startswith(f"  mimalloc in lib{second}"))
    assert max(map(len, lines[said:said + 2])) <= 80 and lines[said + 1].startswith("    ")


def test_stripped(tmp_path, record, compile_sample):
    """Names of C alone say too little of a jemalloc without symbols: it is not patched, and that is said."""
    program = compile_sample("c_family", "gcc", "-O1", [*archive("libjemalloc.a"), "-s"])
    recorded = record([program], bare=False, check=False)
    assert recorded.returncode == 7
    said = recorded.info_json
    assert [one["functions"] for one in said["patched"]] == [0]
    assert "jemalloc's own functions have no symbols" in recorded.stderr


def test_what_cannot_be_patched(tmp_path, record):
    """One function that is too short leaves the whole allocator alone: blocks without their frees would
    be leaks that are none."""
    text = OWN.replace("void free(void *block) { if (block) ((volatile char *)block)[-1] = 1; }",
                       '__asm__(".text\\n.globl free\\n.type free, @function\\nfree: ret\\n.size free, 1\\n'
                       '.globl other\\n.type other, @function\\nother: push %rbx\\npop %rbx\\nret\\n.size other, 3\\n");'
                       "void free(void *block);")
    recorded = record([compiled(tmp_path, "short", text)], bare=False)
    assert "its own malloc, with functions that could not be patched (free: " in recorded.stderr.replace("\n    ", " ")
    assert recorded.report_json["calls"] == 0
    assert [one["kind"] for one in recorded.info_json["unseen"]] == ["not_patched"]


def test_no_writable_code(own, record):
    """Where no memory may become executable (PR_SET_MDWE), patching works as ever."""
    def forbid():
        ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)

    libc = ctypes.CDLL(None)
    if libc.prctl(66, 0, 0, 0, 0) < 0:
        pytest.skip("the kernel has no PR_SET_MDWE")
    recorded = record([own, "500"], preexec_fn=forbid)
    assert recorded.report_json["calls"] == 1001


def test_fork(compile_sample, record, functions_of):
    """A child has the patched code, and tells it in its own recording."""
    program = compile_sample("fork_threads", "gcc", "-O1", archive("libjemalloc.a"))
    recorded = run_sample(record, [program])
    children = [path for path, reader in zip(recorded.paths, recorded.readers) if reader.header.begun_by_fork]
    assert children
    for path in children:
        assert [one["name"] for one in recorded.tool.info(path)["patched"]] == ["jemalloc"]


# An allocator that changes no register but the result's, and a caller that has values in all of them.
REGISTERS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__asm__(".data\n.balign 16\nnext: .quad memory\n.bss\n.balign 16\nmemory: .zero 1048576\n.text\n"
	".globl malloc\n.type malloc, @function\nmalloc: mov next(%rip), %rax\nadd %rdi, next(%rip)\nandq $-16, next(%rip)\n"
	"addq $16, next(%rip)\nret\n.size malloc, . - malloc\n"
	".globl free\n.type free, @function\nfree: test %rdi, %rdi\nje 1f\nmovb $1, (%rdi)\n1: ret\n.size free, . - free\n"
	".globl calloc\n.type calloc, @function\ncalloc: push %rbx\nimul %rsi, %rdi\ncall malloc\npop %rbx\nret\n.size calloc, . - calloc\n"
	".globl realloc\n.type realloc, @function\nrealloc: push %rbx\nmov %rsi, %rdi\ncall malloc\npop %rbx\nret\n.size realloc, . - realloc\n");
struct state { uint64_t general[8]; uint8_t vectors[16][32]; };
/* Calls function(rdi) with these registers, and says what they are then. The stack is not aligned. */
uint64_t call(void *function, uint64_t rdi, const struct state *before, struct state *after);
#define EACH(one) one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) \
	one(14) one(15)
#define LOAD(n) "vmovdqu 64+32*" #n "(%r12), %ymm" #n "\n"
#define STORE(n) "vmovdqu %ymm" #n ", 64+32*" #n "(%r13)\n"
__asm__(".text\n.type call, @function\ncall: push %r12\npush %r13\npush %r14\npush %rbp\nmov %rdx, %r12\nmov %rcx, %r13\n"
	"mov %rdi, %r14\nmov %rsi, %rdi\n" EACH(LOAD)
	"mov (%r12), %rcx\nmov 8(%r12), %rdx\nmov 16(%r12), %rsi\nmov 24(%r12), %r8\nmov 32(%r12), %r9\nmov 40(%r12), %r10\n"
	"mov 48(%r12), %r11\npush %rdi\npush %rdi\ncall *%r14\nmov %rcx, (%r13)\nmov %rdx, 8(%r13)\nmov %rsi, 16(%r13)\n"
	"mov %r8, 24(%r13)\nmov %r9, 32(%r13)\nmov %r10, 40(%r13)\nmov %r11, 48(%r13)\nmov %rdi, 56(%r13)\n" EACH(STORE)
	"pop %rcx\npop %rcx\nmov %rcx, 56(%r12)\npop %rbp\npop %r14\npop %r13\npop %r12\nret\n");
int main(void)
{
	static struct state before, after;

	for (int i = 0; i < 2000; i++) {
		uint64_t block;

		for (size_t j = 0; j < sizeof(before); j++)
			((uint8_t *)&before)[j] = (uint8_t)(random() >> 8);
		block = call(malloc, 10 + i % 90, &before, &after);
		if (memcmp(&before, &after, sizeof(before)))
			return puts("malloc changed a register"), 1;
		call(free, block, &before, &after);
		if (memcmp(&before, &after, sizeof(before)))
			return puts("free changed a register"), 1;
	}
	return 0;
}
"""


@pytest.mark.parametrize("settings", [{}, {"SAMPLE": 1}, {"CULL": "1ms"}, {"MODE": "live", "HELPER": "/bin/true"}])
def test_registers(settings, tmp_path, record):
    """All are as they were but the result's: a compiler that has seen the function keeps values in them."""
    if "avx" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("the processor has no vectors of 32 bytes")
    program = compiled(tmp_path, "registers", REGISTERS)
    plain = subprocess.run([program], capture_output=True, text=True)
    assert (plain.returncode, plain.stdout) == (0, "")
    recorded = record([program], settings=settings)
    assert recorded.stdout == ""
    if "MODE" not in settings:
        assert recorded.report_json["calls"] >= 2000
        assert [one["functions"] for one in recorded.info_json["patched"]] == [4]


# What a compiler or programmer may make of an allocator, and what must not be patched; each prints nothing.
HEAP = r"""
#include <stddef.h>
#include <string.h>
#include <unistd.h>
static char heap[64 << 20];
static size_t used;
"""
# gcc puts what is rare into malloc.cold, which jumps back to the second instruction of malloc.
RETRIES = HEAP + r"""
static char *at, *end;
static int lock;
__attribute__((noinline)) static void take_lock(void) { while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)); }
__attribute__((noinline)) static void drop_lock(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }
__attribute__((cold, noinline)) static void refill(size_t size)
{
	drop_lock();
	at = heap + used;
	used += 4096 + size;
	end = heap + used;
	if (used > sizeof(heap))
		_exit(9);
}
__attribute__((noinline, noclone)) void *malloc(size_t size)
{
	for (;;) {
		take_lock();
		char *block = at;

		if (__builtin_expect(size <= (size_t)(end - block), 1)) {
			at = block + size;
			drop_lock();
			return block;
		}
		refill(size);
	}
}
__attribute__((noinline, noclone)) void free(void *block) { if (block) *(char *)block = 1; }
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	return 0;
}
"""
# One entry goes on into the next one.
OVERLAPS = HEAP + r"""
__asm__(".text\n.globl cfree\n.type cfree, @function\ncfree: endbr64\n.globl free\n.type free, @function\n"
	"free: test %rdi, %rdi\nje 1f\nmovb $1, (%rdi)\n1: ret\n.size cfree, . - cfree\n.size free, . - free\n");
void cfree(void *block);
void free(void *block);
void *malloc(size_t size) { used += (size + 15) & -16ul; return heap + used - ((size + 15) & -16ul); }
int main(void)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(10)), cfree(malloc(10));
	return 0;
}
"""
# The loader chooses which function it is.
CHOSEN = HEAP + r"""
static void *one(size_t size) { used += (size + 15) & -16ul; return heap + used - ((size + 15) & -16ul); }
static void *(*choose(void))(size_t) { return one; }
void *je_malloc(size_t size) __attribute__((ifunc("choose")));
void je_free(void *block) { if (block) *(char *)block = 1; }
void *je_calloc(size_t count, size_t size) { return memset(one(count * size), 0, count * size); }
void *je_memalign(size_t alignment, size_t size) { return one(size + alignment); }
void *je_valloc(size_t size) { return one(size + getpagesize()); }
int main(void)
{
	for (int i = 0; i < 1000; i++)
		je_free(je_malloc(10)), je_free(je_calloc(1, 10));
	return 0;
}
"""
# No allocator: menu items, by names that mimalloc has, of blocks of the C library's.
MENU = r"""
#include <stdlib.h>
#include <string.h>
struct item { char *label; int flags; };
__attribute__((noinline)) struct item *mi_new(const char *label, int flags)
{
	struct item *item = malloc(sizeof(*item));

	item->label = strdup(label);
	item->flags = flags;
	return item;
}
__attribute__((noinline)) int mi_free(struct item *item)
{
	int flags = item->flags;

	free(item->label);
	free(item);
	return flags;
}
int main(int argc, char **argv)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += mi_free(mi_new("some label", i * argc));
	return sum != 4950;
}
"""


@pytest.mark.parametrize("text, why", [(RETRIES, "other code jumps into its entry"), (OVERLAPS, "other code jumps into its entry"),
                                       (CHOSEN, "je_malloc: it has a variant"), (MENU, None)], ids=["cold", "overlap", "ifunc", "chance"])
def test_left_alone(text, why, tmp_path, record):
    """The program runs as ever; nothing is patched, and that is said where there is an allocator."""
    program = compiled(tmp_path, "program", text, "-O2")
    recorded = record([program])
    found = recorded.info_json["patched"]
    assert [one["functions"] for one in found] == ([0] if why else [])
    assert not why or why in found[0]["why"]
    if not why:
        assert recorded.report_json["calls"] == 200 and recorded.report_json["unseen"] == []


def test_opened_by_a_program_with_its_own_malloc(tmp_path, record):
    """The loader calls the program's calloc then."""
    compiled(tmp_path, "libtable.so", TABLE, "-O0", "-shared", "-fPIC")
    begin = OWN.index("int main(")
    text = "#include <dlfcn.h>\n" + OWN[:begin] + OPENS[OPENS.index("int main("):]
    for words in ("pthread_t threads[2];", "for (int i = 0; i < 2; i++)\n\t\tpthread_create(&threads[i], NULL, work, NULL);",
                  "__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);", "for (int i = 0; i < 2; i++)\n\t\tpthread_join(threads[i], NULL);"):
        assert words in text
        text = text.replace(words, "")
    program = compiled(tmp_path, "own", text)
    recorded = record([program, tmp_path / "libtable.so"])
    assert {(one["name"], one["functions"]) for one in recorded.info_json["patched"]} == {("its own malloc", 4), ("mimalloc", 4)}
    modules = json.loads(recorded.tool("report", "--by", "module", "--json", recorded.path).stdout)
    calls = {one["module"].rpartition("/")[2]: one["calls"] for one in modules["rows"] if one["module"]}
    assert calls["libtable.so"] == 100 * 30


# Allocates for ever, and says when it has begun.
RUNS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
	struct timespec pause = {0, 1000000};

	puts("running");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 20; i++)
			free(realloc(malloc(100 + i), 300));
		nanosleep(&pause, NULL);
	}
}
"""
TRACING = pathlib.Path("/sys/kernel/tracing")


def code_offset(program, function):
    """Where a function's first instruction stands in the file."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    address = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.split()[-1] == function)
    segments = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for words in map(str.split, segments.splitlines()):
        if words[:1] == ["LOAD"] and int(words[2], 16) <= address < int(words[2], 16) + int(words[4], 16):
            return address - int(words[2], 16) + int(words[1], 16)
    raise AssertionError(function)


@contextlib.contextmanager
def probes(program, *functions):
    """Probes of the kernel on the entries, and on malloc's return: each() says how often they were hit."""
    events, group = TRACING / "uprobe_events", f"mallow{os.getpid()}"
    try:
        events.read_text()
    except OSError as error:
        pytest.skip(f"no probes of the kernel: {error}")

    def write(line):
        file = os.open(events, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)

    names = [f"on_{name}" for name in functions] + ["returns"]
    for name, function in zip(names, [*functions, functions[0]]):
        write(f"{'r' if name == 'returns' else 'p'}:{group}/{name} {program}:{code_offset(program, function):#x}")
    try:
        (TRACING / "events" / group / "enable").write_text("1")

        def hits():
            lines = [line.split() for line in (TRACING / "uprobe_profile").read_text().splitlines()]
            return {words[1]: int(words[2]) for words in lines if words[1] in names}

        yield hits
    finally:
        (TRACING / "events" / group / "enable").write_text("0")
        for name in names:
            write(f"-:{group}/{name}")


def start(program, preload, tmp_path):
    run = subprocess.Popen([program], stdout=subprocess.PIPE, text=True,
                           env=preload(OUTPUT=tmp_path / "r.mallow"))
    assert run.stdout.readline() == "running\n"
    return run


def test_probes(tmp_path, preload, tool):
    """Of the kernel, on entries that are patched: the program runs on, and they are hit. Where they were
    there first the allocator is left alone, and that is said."""
    program = compiled(tmp_path, "runs", RUNS, *archive("libjemalloc.a"))
    run = start(program, preload, tmp_path)
    try:
        with probes(program, "malloc", "free", "realloc") as hits:
            wait_for(lambda: min(hits().values()) > 200)
        assert run.poll() is None
    finally:
        run.terminate()
        run.wait()
    assert [one["functions"] > 0 for one in tool.info(tmp_path / "r.mallow")["patched"]] == [True]
    (tmp_path / "r.mallow").unlink()
    with probes(program, "malloc", "free") as hits:
        run = start(program, preload, tmp_path)
        try:
            wait_for(lambda: min(hits().values()) > 200)
            assert run.poll() is None
        finally:
            run.terminate()
            run.wait()
    [patched] = tool.info(tmp_path / "r.mallow")["patched"]
    assert patched["functions"] == 0 and "malloc: a debugger, a probe or a patch has changed it" in patched["why"]


def test_memleak_refuses(tmp_path, preload, mallow):
    """What runs under mallow already, and has been patched, in one line."""
    need_bpf()
    program = compiled(tmp_path, "runs", RUNS, *archive("libjemalloc.a"))
    run = start(program, preload, tmp_path)
    try:
        for command in (["memleak", "-p", str(run.pid), "1", "1"], ["attach", "-o", tmp_path / "a.mallow", str(run.pid)]):
            said = subprocess.run([mallow, *command], capture_output=True, text=True, env=clean_environment())
            assert said.returncode == 1 and "runs under mallow already, which has patched its" in said.stderr
        assert run.poll() is None
    finally:
        run.terminate()
        run.wait()
