"""`mallow report --mappings`, and what reports say of memory that the program maps itself."""
import collections
import csv
import io
import json
import re
import shutil
import subprocess

import pytest

from conftest import TOP, need

MAPS = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MB (1 << 20)
#define INLINE_NOT __attribute__((noinline))
static INLINE_NOT char *map(size_t size, int protection, int flags, int fd)
{
	char *at = mmap(NULL, size, protection, MAP_PRIVATE | flags, fd, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}
INLINE_NOT char *arena(size_t size) { return map(size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1); }
INLINE_NOT void moves(void)
{
	char *at = arena(2 * MB);
	at = mremap(at, 2 * MB, 3 * MB, MREMAP_MAYMOVE); // 3 MB, of which the second is taken out
	memset(at, 1, 3 * MB); // what is never resident does not count
	munmap(at + MB, MB);
}
INLINE_NOT void others(void)
{
	map(8 * MB, PROT_NONE, MAP_ANONYMOUS, -1);
	map(4 * MB, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_STACK, -1);
	map(4096, PROT_READ, 0, open_self());
}
int main(int count, char **words)
{
	void *volatile block = malloc(strcmp(words[1], "nothing") ? 1000 : 0);
	free(block);
	if (!strcmp(words[1], "others"))
		others();
	for (int i = 0; !strcmp(words[1], "leaves") && i < 3; i++)
		memset(arena(MB), 1, MB);
	if (!strcmp(words[1], "leaves"))
		moves(), others();
	if (!strcmp(words[1], "gives_back"))
		munmap(arena(MB), MB);
	(void)count;
}
""".replace("INLINE_NOT void others", """#include <fcntl.h>
static int open_self(void) { return open("/proc/self/exe", O_RDONLY); }
INLINE_NOT void others""")
MB = 1 << 20


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    (folder / "maps.c").write_text(MAPS)
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "maps", folder / "maps.c"], check=True)
    return folder / "maps"


def test_sums(tool, record, maps, tmp_path):
    """By kind and site, in all formats, before and after finish; filters of mappings hold."""
    path = record([maps, "leaves"]).path
    found = json.loads(tool("report", "--mappings", "--json", "--stacks", "inline", path).stdout)
    assert found["kinds"] == {
        # The mapping that mremap takes away and the one that it makes are two.
        "memory": {"peak_bytes": 6 * MB, "left_bytes": 5 * MB, "left_mappings": 4, "total_bytes": 8 * MB,
                   "mappings": 5},
        "reserved": {"peak_bytes": 8 * MB, "left_bytes": 8 * MB, "left_mappings": 1, "total_bytes": 8 * MB,
                     "mappings": 1},
        "stack": {"peak_bytes": 4 * MB, "left_bytes": 4 * MB, "left_mappings": 1, "total_bytes": 4 * MB,
                  "mappings": 1},
        "file": {"peak_bytes": 4096, "left_bytes": 4096, "left_mappings": 1, "total_bytes": 4096, "mappings": 1},
    }
    by_function = collections.defaultdict(list)
    for site in found["mapping_sites"]:
        name = next(frame["function"] for frame in site["stack"] if frame["function"] not in ("map", "arena"))
        by_function[name].append((site["kind"], site["peak_bytes"], site["left_bytes"], site["mappings"]))
    assert sorted(by_function["moves"]) == [("memory", 2 * MB, 0, 1), ("memory", 3 * MB, 2 * MB, 1)]
    peaks = [site["peak_bytes"] for site in found["mapping_sites"]]
    assert peaks == sorted(peaks, reverse=True)
    rows = list(csv.DictReader(io.StringIO(tool("report", "--mappings", "--csv", path).stdout)))
    assert [(row["kind"], int(row["peak_bytes"]), int(row["left_bytes"]), int(row["mappings"])) for row in rows] \
        == [(site["kind"], site["peak_bytes"], site["left_bytes"], site["mappings"])
            for site in found["mapping_sites"]]
    text = tool("report", "--mappings", "--sort", "leaked", path).stdout
    assert re.search(r"\n +6\.29 MB +5\.24 MB +5  memory\n", text) and "moves" in text
    large = json.loads(tool("report", "--mappings", "--json", "--size-min", "3M", "--lifetime", "only_leaked",
                            path).stdout)
    assert {kind: of["mappings"] for kind, of in large["kinds"].items()} == {
        "memory": 1, "reserved": 1, "stack": 1}
    tool("finish", path)
    again = json.loads(tool("report", "--mappings", "--json", "--stacks", "inline", path).stdout)
    assert again["kinds"] == found["kinds"] and again["mapping_sites"] == found["mapping_sites"]


def test_only_what_mappings_have(tool, record, maps):
    path = record([maps, "gives_back"]).path
    for words, said in ((["--thread", "1"], "mappings have no condition 'thread'"), (["--by", "line"], "exclude"),
                        (["--merge"], "exclude")):
        run = tool("report", "--mappings", *words, path, check=False)
        assert run.returncode == 2 and said in run.stderr, run.stderr
    empty = tool("report", "--mappings", "--size-min", "1G", path).stdout
    assert "The program mapped nothing itself, as far as is asked for." in empty


@pytest.mark.parametrize("what, second", [
    ("gives_back", "Everything was freed."), ("others", "Everything was freed."),
    ("leaves", "Every block was freed; 5.24 MB of its own mappings were not.")])
def test_everything(tool, record, maps, what, second):
    """It is said only if the program's own mappings are gone, too: not stacks, files and bare addresses."""
    path = record([maps, what]).path
    found = json.loads(tool("report", "--json", path).stdout)
    assert found["headline"]["second"] == second
    line = re.search(r"^  mapped +(.*?)  by the program itself at the end, (.*) at the peak \(--mappings\)$",
                     tool("report", path).stdout, re.M)
    assert (line and line.groups()) == {"gives_back": ("0 B", "1.05 MB"), "others": None,
                                        "leaves": ("5.24 MB", "6.29 MB")}[what]


MEMORY = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define SIZE (60 << 20)
static char table[SIZE] __attribute__((unused));
static void *blocks[SIZE / 1000];
static void *fill(void *count)
{
	for (size_t i = 0; i < (size_t)count; i++)
		blocks[i] = memset(malloc(1000), 1, 1000);
	void *top = malloc(100);
	for (size_t i = 0; i < (size_t)count; i++)
		free(blocks[i]);
	free(top);
	return NULL;
}
/* Each way to get memory without malloc. What is only reserved is far more than any machine has. */
__attribute__((noinline)) static void own(const char *how, size_t size)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;
	const size_t far = 1UL << 43;
	char *at = NULL, *end;
	int fd = -1;

	if (!strcmp(how, "memfd") || !strcmp(how, "copy")) {
		fd = memfd_create("own", 0);
		if (!strcmp(how, "copy")) // of a file that is not in memory
			fd = open("copied", O_RDWR | O_CREAT, 0600);
		if (ftruncate(fd, size))
			abort();
		at = mmap(NULL, size, both, *how == 'c' ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	} else if (!strcmp(how, "shared")) {
		at = mmap(NULL, size, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	} else if (!strcmp(how, "sbrk")) {
		at = sbrk(size);
	} else if (!strcmp(how, "brk")) {
		sbrk(size / 2);
		at = sbrk(0);
		sbrk(-(long)size / 2); // what was there at once counts
		if (brk(at + size / 2))
			abort();
		at -= size / 2;
	} else if (!strcmp(how, "commits") || !strcmp(how, "reserves")) {
		at = mmap(NULL, far, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
		if (!strcmp(how, "reserves"))
			return;
		mprotect(at, size, both);
	} else if (!strcmp(how, "noreserve")) {
		at = mmap(NULL, far, both, flags | MAP_NORESERVE, -1, 0);
	}
	if (at)
		memset(at, 1, size);
	end = at; // keeps it from being a tail call
	__asm__ volatile("" ::"r"(end) : "memory");
}
int main(int count, char **words)
{
	void *volatile block = malloc(100);
	int (*is)(const char *, const char *) = strcmp;
	(void)count;
#ifdef STATIC
	memset(table, 1, SIZE);
#endif
	if (!is(words[1], "raw")) {
		long at = syscall(SYS_mmap, 0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset((void *)at, 1, SIZE);
	}
	own(words[1], SIZE);
	if (!is(words[1], "blocks"))
		fill((void *)(SIZE / 1000));
	for (int i = 0; !is(words[1], "threads") && i < 8; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, fill, (void *)(SIZE / 4000));
		pthread_join(thread, NULL);
	}
	free(block);
	return 0;
}
"""


def make_memory(folder, what):
    (folder / "memory.c").write_text(MEMORY)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", *(["-DSTATIC"] if what == "static" else []), "-o",
                    folder / "memory", folder / "memory.c"], check=True)
    return folder / "memory"


@pytest.mark.parametrize("what", ["raw", "static", "blocks", "threads"])
def test_resident(tool, record, tmp_path, what):
    """Memory that no call made which mallow records is said; static data and arenas are explained."""
    path = record([make_memory(tmp_path, what), what]).path
    found = json.loads(tool("report", "--json", path).stdout)
    unexplained = [one for one in found["findings"] if one["kind"] == "unexplained"]
    check = tool("check", "--max-leaked", "1K", path, check=False)
    assert check.returncode == (3 if what == "raw" else 0), check.stdout
    if what != "raw":
        assert not unexplained and "seen" not in found["headline"]["freed"]
        return
    [finding] = unexplained
    assert 40 * MB < finding["numbers"]["bytes"] <= finding["numbers"]["resident_bytes"]
    assert re.fullmatch(r"[\d.]+ MB or more is resident that no recorded block or mapping explains\.",
                        found["headline"]["second"])
    assert found["headline"]["freed"] == "Every block that was seen was freed."
    [unseen] = found["unseen"]
    assert (unseen["kind"], unseen["peak_bytes"]) == ("resident", finding["numbers"]["bytes"])
    assert "or more resident that no recorded block or mapping explains" in check.stdout
    assert tool("check", "--max-leaked", "1K", "--allow-unseen", path).returncode == 0
    tool("finish", path)
    (tmp_path / "memory").unlink()  # static data would not be known any more: it is stored
    assert json.loads(tool("report", "--json", path).stdout)["unseen"] == found["unseen"]


@pytest.mark.parametrize("what, kind", [
    ("sbrk", "break"), ("brk", "break"), ("shared", "shared"), ("memfd", "shared"), ("copy", "copy"),
    ("commits", "reserved"), ("noreserve", "reserved"), ("reserves", "reserved")])
def test_each_way_to_get_memory(tool, record, tmp_path, what, kind):
    """Where it is said, and how much of it: never more than was resident, whatever is reserved."""
    path = record([make_memory(tmp_path, what), what], cwd=tmp_path).path
    found = json.loads(tool("report", "--json", path).stdout)
    kinds = json.loads(tool("report", "--mappings", "--json", path).stdout)["kinds"]
    check = tool("check", "--max-leaked", "1K", path, check=False)
    mapped = found["mapped"]
    assert list(kinds) == [kind]
    if what == "reserves":
        assert kinds[kind]["peak_bytes"] == 1 << 43 and mapped["peak_bytes"] == 0
        assert found["headline"]["second"] == "Everything was freed." and check.returncode == 0
        return
    [finding] = [one for one in found["findings"] if one["kind"] == "mapped"]
    calls = "sbrk call" if kind == "break" else "mapping"
    assert re.fullmatch(rf"6\d\.\d MB is resident beyond what malloc handed out: [12] {calls}s? by own  memory\.c:\d+\.",
                        found["headline"]["second"])
    for number in (finding["bytes"], mapped["peak_bytes"], mapped["left_bytes"]):
        assert 60 * MB <= number <= 64 * MB
    assert kinds[kind]["left_bytes"] >= 60 * MB
    assert re.fullmatch(r"Every block was freed; 6\d\.\d MB of its own mappings were not\.", found["headline"]["freed"])
    assert "resident beyond what malloc handed out" in check.stdout and check.returncode == 3
    tool("finish", path)
    again = json.loads(tool("report", "--json", path).stdout)
    assert (again["mapped"], again["findings"]) == (mapped, found["findings"])


# What an allocator that is linked in maps for itself; and the program maps something, too.
ALLOCATOR = """
#include <sys/mman.h>
#define MB (1 << 20)
void mi_free(void *block) { (void)block; }
char *mi_malloc_aligned(size_t size, size_t alignment)
{
	char *at = mmap(0, 1UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at + 0 * size * alignment;
}
char *table(void) { return mi_malloc_aligned(100, 16); }
"""
USES = """
#include <string.h>
#include <sys/mman.h>
#define MB (1 << 20)
char *table(void);
__attribute__((noinline)) static char *arena(void)
{
	return mmap(0, 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void)
{
	memset(arena(), 1, 2 * MB);
	memset(table(), 1, 24 * MB);
	return 0;
}
"""


@pytest.mark.parametrize("where", ["program", "library"])
def test_what_an_allocator_maps(tool, record, tmp_path, where):
    """An allocator that is in the program or in a library is told from whoever calls it, and named first."""
    (tmp_path / "mimalloc.c").write_text(ALLOCATOR)
    (tmp_path / "uses.c").write_text(USES)
    own = [tmp_path / "mimalloc.c"]  # without -g: its functions' names tell it
    if where == "library":
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "libtable.so", *own], check=True)
        own = [tmp_path / "libtable.so", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "uses", tmp_path / "uses.c", *own], check=True)
    path = record([tmp_path / "uses"], settings={"PATCH": "off"}).path
    kinds = json.loads(tool("report", "--mappings", "--json", path).stdout)["kinds"]
    assert {kind: of["peak_bytes"] for kind, of in kinds.items()} == {"memory": 2 * MB, "allocator": 1 << 40}
    found = json.loads(tool("report", "--json", path).stdout)
    assert re.fullmatch(r"2\d\.\d MB is resident beyond what malloc handed out: 1 mapping by mimalloc\.",
                        found["headline"]["second"])
    assert found["mapped"]["peak_bytes"] == 2 * MB


RUST = """
#[global_allocator]
static GLOBAL: {of} = {of};
fn main() {{
    let kept: Vec<Vec<u8>> = (0..4000).map(|i| vec![i as u8 | 1; 10000]).collect();
    println!("{{}}", kept.len());
    std::mem::forget(kept);
}}
"""


@pytest.mark.long
@pytest.mark.parametrize("crate, of", [
    ("tikv-jemallocator", "tikv_jemallocator::Jemalloc"), ("mimalloc", "mimalloc::MiMalloc"),
    ("rpmalloc", "rpmalloc::RpMalloc"), ("snmalloc-rs", "snmalloc_rs::SnMalloc")])
def test_allocators_of_rust(tool, record, tmp_path, crate, of):
    """Each is recorded, whole or stripped of what gdb needs; without symbols it is named, no more of it is
    said than is there, and no limit holds."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text(RUST.format(of=of))
    (tmp_path / "src" / "bin").mkdir()
    (tmp_path / "src" / "bin" / "wrapped.rs").write_text(RUST.format(of=of).replace(
        f"GLOBAL: {of} = {of}", f"GLOBAL: mallow::Mallow<{of}> = mallow::Mallow::new({of})"))
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "uses"\nversion = "0.1.0"\nedition = "2021"\n'
                                         f'[dependencies]\n{crate} = "*"\nmallow = {{ path = "mallow" }}\n')
    shutil.copytree(TOP / "rust", tmp_path / "mallow", ignore=shutil.ignore_patterns("target"))
    built = subprocess.run([need("cargo"), "build", "--release", "--target-dir", "target"], cwd=tmp_path,
                           capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"cargo cannot build {crate}: {built.stderr.strip().splitlines()[-1]}")
    program = tmp_path / "target" / "release" / "uses"
    name = next(one for one in ("jemalloc", "mimalloc", "rpmalloc", "snmalloc") if one in crate)
    wrapped = program.with_name("wrapped")
    subprocess.run(["strip", wrapped], check=True)
    for one, option, patched in ((program, None, True), (program, "--strip-debug", True), (wrapped, None, False)):
        if option:
            subprocess.run(["strip", option, program], check=True)
        found = json.loads(tool("report", "--json", record([one], bare=False, check=False).path).stdout)
        assert [(there["name"], there["not_patched"]) for there in found["patched"]] == [(name, 0)] * patched
        assert all("hands calls over, and only there" in there["text"] and not patched for there in found["unseen"])
        # 4,000 blocks and their vector; the runtime has some of its own.
        assert 4001 <= found["leaked_blocks"] < 4020 and 40_096_000 <= found["leaked_bytes"] < 40_200_000
        assert not [one for one in found["findings"] if one["kind"] in ("mismatched", "double_free", "unknown_free")]
    path = record([program], bare=False, settings={"PATCH": "off"}).path
    found = json.loads(tool("report", "--json", path).stdout)
    assert [(one["kind"], one["name"]) for one in found["unseen"]] == [("linked_allocator", name)]
    [finding] = [one for one in found["findings"] if one["kind"] == "mapped"]
    assert 35 * MB < finding["bytes"] < 60 * MB
    assert f"mappings by {name}." in found["headline"]["second"].replace("mapping by", "mappings by")
    assert "Everything" not in found["headline"]["freed"]
    assert tool("check", "--max-peak", "1G", path, check=False).returncode == 3
