"""What a recording cannot show is kept in it, and every view says so: allocators that a program or
library brings itself, and what was not recorded."""
import json
import shutil
import subprocess

import pytest

import mallow_reader
from command_line import on_terminal, unwrapped
from conftest import clean_environment, need
from recording_writer import ChunkWriter, Writer, zigzag
from servers import serve  # noqa: F401

OWN = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t size) { used += (size + 15) & ~15ul; return pool + used - ((size + 15) & ~15ul); }
void free(void *block) {}
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *block, size_t size) { return malloc(size); }
int main(int argc, char **argv)
{
	if (argc > 1)
		return execvp(argv[1], argv + 1);
	return !malloc(10000);
}
"""

# Two functions that both Rust's crate and the library in C have, and what makes use of them; no
# stack leads through it.
LIBRARY = r"""
#include <unistd.h>
static char pool[1 << 20];
static size_t used;
void mi_free(void *block) { if (!block) getppid(); }
void *mi_malloc_aligned(size_t size, size_t alignment)
{
	used = (used + alignment - 1) & -alignment;
	used += size;
	return pool + used - size;
}
void *table(void) { return mi_malloc_aligned(100000, 16); }
"""

OPENS = r"""
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *volatile block = malloc(100);
	void *library = dlopen(argv[1], RTLD_NOW);
	void *(*table)(void) = library ? (void *(*)(void))dlsym(library, "table") : NULL;

	free(block);
	return !table || !table();
}
"""

LINKS = "void *table(void);\nint main(void) { return !table(); }\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sight")
    for name, text in {"own": OWN, "opens": OPENS, "links": LINKS, "libtable": LIBRARY}.items():
        (folder / f"{name}.c").write_text(text)

    def build(name, *options):
        subprocess.run([need("gcc"), "-g", "-fno-builtin", "-o", folder / name, *options], check=True)

    build("own", folder / "own.c")
    build("libtable.so", "-shared", "-fPIC", folder / "libtable.c")
    build("opens", folder / "opens.c")
    build("links", folder / "links.c", folder / "libtable.so", f"-Wl,-rpath,{folder}")
    return folder


def unseen_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return [(one["kind"], one["object"], one["name"], one["symbol"])
            for one in mallow_reader.Recording(data).unseen(data)]


SAYS = "the program defines malloc itself: what that serves is not seen"


def test_a_malloc_of_its_own(programs, record, tool, mallow, serve, tmp_path):
    """All views say so, also where the program is not; no limit holds."""
    program = tmp_path / "own"
    shutil.copy(programs / "own", program)
    recorded = record([program], bare=False, settings={"PATCH": "off"})
    assert recorded.stderr.count(f"  ! {SAYS}") == 1
    live = subprocess.run([mallow, "live", "--patch=off", program], capture_output=True, text=True, env=clean_environment())
    assert live.returncode == 0 and f"  ! {SAYS}" in live.stderr
    path = recorded.path
    program.unlink()
    assert unseen_of(path) == [(1, str(program), "", "malloc")]
    report = tool("report", path).stdout
    assert f"not all of its memory was seen\n  ! {SAYS}" in report and "No allocation was seen." in report
    assert "Nothing was allocated" not in report and "complete" not in report
    shown = on_terminal([mallow, "report", "--color=never", path])
    warning = shown[shown.index("  ! "):shown.index("\n\n")]
    assert SAYS in unwrapped(warning) and max(map(len, warning.splitlines())) <= 80
    info = tool("info", path).stdout
    assert "complete   yes, but not all memory was seen\n" in info and f"  ! {SAYS}" in info
    for said in (tool.info(path), tool.report(path)):
        assert [(one["kind"], one["object"], one["symbol"]) for one in said["unseen"]] == \
            [("own_malloc", str(program), "malloc")]
    both = json.loads(tool("diff", "--json", path, path).stdout)
    assert both["before"]["unseen"] == both["after"]["unseen"] == tool.info(path)["unseen"]
    assert serve(path).json("/data/last/summary")["facts"]["unseen"] == tool.info(path)["unseen"]
    said = tool("check", "--max-peak", "1M", path, check=False)
    assert said.returncode == 3 and "holds" not in said.stdout
    assert f"  doubt   not all memory was seen: {SAYS}" in said.stdout and "(--allow-unseen)\n" in said.stdout
    assert "  unknown peak is not known: not all memory was seen\n" in said.stdout
    said = tool("check", "--max-peak", "1M", "--allow-unseen", path).stdout
    assert f"  doubt   not all memory was seen: {SAYS}" in said and "  holds   peak" in said
    said = tool("check", "--max-peak", "1M", "--baseline", path, path, check=False)
    assert said.returncode == 3 and f"baseline '{path}': not all memory was seen: {SAYS}" in said.stderr
    for form, words in {"junit": 'errors="2"', "sarif": '"ruleId": "unseen"', "github": "::error title=mallow check unseen::"}.items():
        said = tool("check", "--format", form, "--max-peak", "1M", path, check=False)
        assert said.returncode == 3 and words in said.stdout, form


def test_each_recording_of_a_run(programs, record):
    """What another program of the run cannot show is said, too, if a child has the most memory."""
    recorded = record([programs / "own", "sort", "/etc/passwd"], bare=False, settings={"PATCH": "off"})
    assert "mallow: sort /etc/passwd" in recorded.stderr
    assert [line for line in unwrapped(recorded.stderr).splitlines()
            if SAYS in line and line.startswith("  ! own (")]


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("how", ["opens", "links"])
def test_an_allocator_in_a_library(how, bare, programs, record, tool):
    """By two of its functions, in a library that is in no stack; a bare preload is looked at when it is
    read, and `mallow finish` stores it."""
    library = programs / "libtable.so"
    recorded = record([programs / how, *([library] if how == "opens" else [])], bare=bare, settings={"PATCH": "off"})
    recorded.assert_sound()
    assert [(one["kind"], one["object"], one["name"]) for one in tool.info(recorded.path)["unseen"]] == \
        [("linked_allocator", str(library), "mimalloc")]
    if bare:
        assert unseen_of(recorded.path) == []
        tool("finish", recorded.path)
    [(kind, path, name, symbol)] = unseen_of(recorded.path)
    assert (kind, path, name) == (2, str(library), "mimalloc") and symbol in ("mi_free", "mi_malloc_aligned")
    assert f"libtable.so has an allocator of its own, mimalloc ({symbol}())" in tool("report", recorded.path).stdout


def made(tmp_path, *records, chunk=None):
    """A recording with unseen records: of its agent, or as finishing stores them."""
    writer = Writer(minor=9)
    events = ChunkWriter(0, 0, writer.facts["ticks"])
    events.other(0x84, zigzag(0), 4000000, text=b"main")
    events.allocate(1, 1100, 0x5000, 100, change=(0, [("pc", 0x1234)]))
    events.free(1200, 0x5000)
    for kind, bytes_, *texts in records:
        events.other(0x9A, zigzag(5), kind, bytes_, text=b"".join(text.encode() + b"\0" for text in texts))
    events.other(0x91, zigzag(300), writer.facts["ticks"] + 300, 1, 0)
    writer.add(events.image())
    path = tmp_path / f"made{len(list(tmp_path.iterdir()))}.mallow"
    path.write_bytes(writer.image())
    return path


def test_records(tmp_path, tool):
    """Each kind, also one of later versions, in words; equal ones are one; only a started program
    leaves the rest to be judged."""
    path = made(tmp_path, (3, 0, "/lib/front.so", "", "malloc"), (4, 0, "/usr/bin/sudo", "set-uid", ""),
                (2, 5 << 20, "/lib/a.so", "jemalloc", "je_malloc"), (2, 6 << 20, "/lib/a.so", "jemalloc", "je_malloc"),
                (99, 0, "/lib/later.so", "", ""))
    found = {one["object"]: one for one in tool.info(path)["unseen"]}
    assert list(found) == ["/lib/front.so", "/usr/bin/sudo", "/lib/a.so", "/lib/later.so"]
    assert found["/lib/a.so"]["peak_bytes"] == 6 << 20 and "at most 6.29 MB" in found["/lib/a.so"]["text"]
    assert found["/usr/bin/sudo"]["text"] == "sudo was not recorded, nor what it started: set-uid"
    assert found["/lib/front.so"]["text"].startswith("'/lib/front.so' is preloaded, and its malloc comes before")
    assert (found["/lib/later.so"]["kind"], found["/lib/later.so"]["name"]) == ("other", None)
    assert tool("check", "--max-peak", "1M", path, check=False).returncode == 3
    tool("finish", path)
    assert {one["object"]: one for one in tool.info(path)["unseen"]} == found
    started = made(tmp_path, (4, 0, "/usr/bin/sudo", "set-uid", ""))
    judged = tool("check", "--max-peak", "1M", started).stdout
    assert "  holds   peak" in judged and "  note    sudo was not recorded, nor what it started: set-uid\n" in judged
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "r.mallow").write_bytes(started.read_bytes())
    for words in (["--merge", started], [tmp_path / "run"]):
        judged = tool("check", "--max-peak", "1M", *words, check=False)
        assert judged.returncode == 3 and "  doubt   not all programs were seen: sudo was not" in judged.stdout
        assert tool("check", "--allow-unseen", "--max-peak", "1M", *words).returncode == 0
    assert "  ! sudo was not recorded, nor what it started: set-uid\n" in tool("report", started).stdout
    merged = json.loads(tool("report", "--merge", "--json", path, started).stdout)
    assert {one["object"] for one in merged["unseen"]} == set(found)


@pytest.mark.parametrize("unfreed", [2, 3])
def test_missed_frees(tmp_path, tool, unfreed):
    """Blocks that begin where others are live: more than one in a thousand, and what is live is not to be
    trusted."""
    writer = Writer(minor=9)
    events = ChunkWriter(0, 0, writer.facts["ticks"])
    events.other(0x84, zigzag(0), 4000000, text=b"main")
    for number in range(2000):
        events.allocate(1, 1100 + 100000 * number, 0x5000, 100, change=(0, [("pc", 0x1234)]) if not number else None)
        if number % 2 or number >= 2 * unfreed:
            events.free(1200 + 100000 * number, 0x5000)
    events.other(0x91, zigzag(300), writer.facts["ticks"] + 300, 1, 0)
    writer.add(events.image())
    path = tmp_path / "made.mallow"
    path.write_bytes(writer.image())
    info = tool.info(path)
    assert info["implicit_frees"] == unfreed
    said = [one for one in info["unseen"] if one["kind"] == "frees"]
    assert len(said) == (unfreed > 2)
    if said:
        assert f"({unfreed} blocks began where another one was live)" in said[0]["text"]
        assert "what is live or leaked here is not to be trusted" in " ".join(tool("report", path).stdout.split())
        assert tool("check", "--max-leaked", "1G", path, check=False).returncode == 3
        tool("finish", path)
        assert tool.info(path)["unseen"] == info["unseen"]
