"""Core dumps of programs in live mode: every command opens them, and mallow core reports on them."""
import collections
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import time

import pytest

import cores
import real_programs
from servers import serve  # noqa: F401
from conftest import need
from identities import shape_of
from mallow_reader import CHUNK_MAGIC, MAGIC, PAGE

HEADER = MAGIC + b"\1\0"  # of a recording, of any minor version
ODD = [131071, 131073] * 4


def own(frames):
    """The innermost function of a sample's stack."""
    return frames[0]["function"]


def core_json(tool, *arguments):
    return json.loads(tool("core", "--json", *arguments).stdout)


def sizes_of(report):
    """{innermost function: sizes of its sites}"""
    found = collections.defaultdict(list)
    for site in report["sites"]:
        assert site["shape_id"] == shape_of(site["stack"]) and site["weak_id"] is False
        found[own(site["stack"])] += site["sizes"]
    return found


def assert_sizes(report):
    found = sizes_of(report)
    assert sorted(found["keep_odd"]) == sorted(ODD)
    assert found["keep_large"] == [1048576]
    assert sorted(found["keep_aligned"]) == [96, 1000]


@pytest.fixture(scope="module")
def sizes_core(agent, compile_sample, tmp_path_factory):
    """A kernel's core of core_sizes, after a write to NULL."""
    folder = tmp_path_factory.mktemp("sizes")
    return cores.crash([compile_sample("core_sizes"), "null"], agent, folder)


@pytest.fixture(scope="module")
def dumped(agent, compile_sample, tmp_path_factory):
    """core_sizes, dumped by gcore while it waits."""
    folder = tmp_path_factory.mktemp("gcore")
    program = compile_sample("core_sizes")
    process = subprocess.Popen([program, "wait"], env=cores.live_environment(agent), cwd=folder,
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield cores.gcore(process.pid, folder), process
    finally:
        process.kill()
        process.wait()


def test_kernel_core(tool, sizes_core):
    report = core_json(tool, sizes_core)
    assert report["signal"] == "SIGSEGV" and report["missing_bytes"] == 0
    assert_sizes(report)
    text = tool("core", "--bytes", sizes_core).stdout
    lines = text.splitlines()
    assert "core_sizes null" in lines[0] and lines[0].endswith("ended by SIGSEGV")
    assert lines[3].startswith("49% 1048576 ["), lines[3]
    assert re.search(r"^ 0x[0-9a-f]+ keep_large .*core_sizes\.c:\d+$", text, re.M), text
    # Sizes are in the order of addresses: alternating, as they were allocated.
    assert re.search(r"^49% 1048576 \[131\d+(, 131\d+){7}\]$", text, re.M), text


def test_gcore(tool, dumped):
    core, process = dumped
    report = core_json(tool, core)
    assert report["pid"] == process.pid and report["missing_bytes"] == 0
    assert_sizes(report)
    assert "still running" not in tool("core", core).stdout.splitlines()[0].replace(
        "still running when its core was dumped", "")


def test_same_as_live_report(tool, dumped, tmp_path):
    """The totals of the core are those of the table while the program waits."""
    core, process = dumped
    fds = f"/proc/{process.pid}/fd"
    table = next(f"{fds}/{fd}" for fd in os.listdir(fds) if "mallow-live" in os.readlink(f"{fds}/{fd}"))
    there, here = tool.report(table), tool.report(core)
    for field in ("calls", "total_bytes", "peak_bytes", "leaked_bytes", "leaked_blocks"):
        assert there[field] == here[field], field
    assert len(there["sites"]) == len(here["sites"])
    for one, other in zip(there["sites"], here["sites"]):
        assert one["stack"] == other["stack"] and one["leaked_bytes"] == other["leaked_bytes"]


def test_threads(tool, agent, compile_sample, tmp_path):
    core = cores.crash([compile_sample("core_threads")], agent, tmp_path)
    found = sizes_of(core_json(tool, core))
    assert found["keep_bytes"] == [1] * 2048
    for name in ("first", "second"):
        assert sizes_of(core_json(tool, "--thread", name, core))["keep_bytes"] == [1] * 1024
    text = tool("core", core).stdout
    assert re.search(r"\[1(, 1){31}, … \d+ more\]", text), text
    assert "more]" not in tool("core", "--sizes", core).stdout


@pytest.mark.parametrize("how", ["abort", "limit"])
def test_abort(tool, agent, compile_sample, tmp_path, how):
    report = core_json(tool, cores.crash([compile_sample("core_sizes"), how], agent, tmp_path))
    assert report["signal"] == "SIGABRT"
    assert_sizes(report)


def test_every_command_opens_it(tool, sizes_core, tmp_path):
    assert tool.report(sizes_core)["leaked_blocks"] >= 11
    info = tool.info(sizes_core)
    assert info["pid"] > 0
    tree = tool("report", "--tree", sizes_core).stdout
    assert "keep_large" in tree and "ended by SIGSEGV" in tree
    assert "keep_odd" in tool("export", "--to", "collapsed", sizes_core).stdout
    tool("export", "--to", "html", "-o", tmp_path / "core.html", sizes_core)
    assert "place offset=" in tool("trace", "dump", sizes_core).stdout
    assert tool("diff", sizes_core, sizes_core).stdout
    assert tool("check", "--max-live", "1K", sizes_core, check=False).returncode in (1, 2)


def test_filters(tool, sizes_core):
    report = core_json(tool, "--size-min", "1000000", sizes_core)
    assert sizes_of(report) == {"keep_large": [1048576]}
    for option in ("--free-thread=main", "--slack-min=1", "--tag=1", "--chain-length-min=2", "--arena=main",
                   "--mmaped=yes", "--pool=x", "--temporary=yes", "--entry=malloc"):
        run = tool("core", option, sizes_core, check=False)
        assert run.returncode == 1, option
        assert f"{option.split(chr(61))[0]}: a live table does not know" in run.stderr, run.stderr
        assert run.stderr.count("\n") == 1


def test_what_is_not_known(tool, sizes_core, compile_sample):
    """A table has no frees and no pools: what asks for them is refused, not answered with nothing."""
    for words, said in ((["report", "--errors"], "--errors"), (["report", "--pools"], "--pools"),
                        (["finish"], "cannot be finished"), (["top"], "does not change"),
                        (["core", sizes_core], "is no program")):
        run = tool(*words, sizes_core, check=False)
        assert run.returncode == 1 and said in run.stderr and run.stderr.count("\n") == 1, (words, run.stderr)
        assert not run.stdout


def test_options(tool, sizes_core, tmp_path):
    tool("core", "-o", tmp_path / "out", "--top", "1", sizes_core)
    assert "--top 0" in (tmp_path / "out").read_text()
    by_count = core_json(tool, "--sort", "count", sizes_core)
    counts = [site["live_blocks"] for site in by_count["sites"]]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("way", ["gzip", "zstd", "lz4"])
def test_compressed(tool, sizes_core, tmp_path, way):
    path = tmp_path / "core.compressed"
    if way == "gzip":
        with open(sizes_core, "rb") as file, gzip.open(path, "wb", 1) as out:
            shutil.copyfileobj(file, out)
    else:
        with open(path, "wb") as out:
            subprocess.run([need(way), "-q", "-c", "-1", str(sizes_core)], stdout=out, check=True)
    assert_sizes(core_json(tool, path))
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 3])
    run = tool("core", path, check=False)
    assert run.returncode in (0, 1) and run.stderr.count("\n") <= 1
    assert run.returncode == 0 or "cut short" in run.stderr, run.stderr


def test_stored(tool, sizes_core, tmp_path):
    """systemd-coredump's folder: the newest of that process."""
    for time, name in ((1, "a"), (2, "b.c")):
        target = tmp_path / f"core.{name}.0.0123456789abcdef.4711.{time}00000"
        target.write_bytes(sizes_core.read_bytes() if time == 2 else b"old")
    other = tmp_path / "core.other.0.0123456789abcdef.4712.900000.zst"
    other.write_bytes(b"other")
    run = subprocess.run([tool.path, "core", "--json", "4711"], cwd="/", capture_output=True, text=True,
                         env={**os.environ, "MALLOW_COREDUMPS": str(tmp_path)})
    assert run.returncode == 0, run.stderr
    assert_sizes(json.loads(run.stdout))
    run = subprocess.run([tool.path, "core", "4713"], cwd="/", capture_output=True, text=True,
                         env={**os.environ, "MALLOW_COREDUMPS": str(tmp_path)})
    assert run.returncode == 1 and "no core dump of process 4713" in run.stderr


def test_program(tool, sizes_core, compile_sample):
    program = compile_sample("core_sizes")
    assert_sizes(core_json(tool, program, sizes_core))
    run = tool("core", compile_sample("core_threads"), sizes_core, check=False)
    ids = re.findall(r"[0-9a-f]{40}", run.stderr)
    assert run.returncode == 1 and len(set(ids)) == 2, run.stderr


def test_moved_program(tool, agent, compile_sample, tmp_path):
    """PROGRAM has the names of one that is not there any more."""
    moved = tmp_path / "moved"
    shutil.copy(compile_sample("core_sizes"), moved)
    core = cores.crash([moved, "null"], agent, tmp_path)
    moved.unlink()
    assert "keep_large" not in tool("core", core).stdout
    assert_sizes(core_json(tool, compile_sample("core_sizes"), core))


def test_addr2line(tool, sizes_core, compile_sample, tmp_path):
    """Names by another program: the same as by mallow itself, where both can read the file."""
    program = compile_sample("core_sizes")
    ours = core_json(tool, program, sizes_core)
    theirs = core_json(tool, "--addr2line", "addr2line", program, sizes_core)

    def places(report):
        return [[(frame["function"], frame["line"]) for frame in site["stack"] if "core_sizes.c" in (frame["file"] or "")]
                for site in report["sites"]]

    assert places(ours) == places(theirs) and places(ours)[0]
    # A file that mallow cannot read is the other program's business.
    foreign = tmp_path / "foreign"
    foreign.write_text("no ELF file\n")
    script = tmp_path / "names"
    script.write_text("#!/bin/sh\nwhile read a; do echo $a; case $a in 0xffffffffffffffff) echo '??';; *) echo inner; "
                      "echo a.c:7; echo outer;; esac; echo 'b.c:8 (discriminator 2)'; done\n")
    script.chmod(0o755)
    report = core_json(tool, "--addr2line", script, foreign, sizes_core)
    frames = [(frame["function"], frame["file"], frame["line"]) for frame in report["sites"][0]["stack"]]
    assert frames[:2] == [("inner", "a.c", 7), ("outer", "b.c", 8)]
    for command, said in (("true", "has ended"), ("sh -c 'echo hello; cat >/dev/null'", "as addr2line does"), ("/nowhere/at/all", "has ended")):
        run = tool("core", "--addr2line", command, foreign, sizes_core, check=False)
        assert run.returncode == 1 and said in run.stderr, run.stderr
    run = tool("core", "--addr2line", "addr2line", sizes_core, check=False)
    assert run.returncode == 2 and "needs the program" in run.stderr
    # One that never answers, nor ends.
    began = time.monotonic()
    run = tool("core", "--addr2line", "sleep 1000; :", foreign, sizes_core, check=False)
    assert run.returncode == 1 and time.monotonic() - began < 60, run.stderr


def test_no_table(tool, compile_sample, tmp_path):
    cores.kernel_dumps()
    subprocess.run([compile_sample("core_sizes"), "null"], cwd=tmp_path, capture_output=True,
                   preexec_fn=cores.allow_cores)
    core, = tmp_path.glob("core*")
    for command in ("core", "report"):
        run = tool(command, core, check=False)
        assert run.returncode == 1 and run.stderr.count("\n") == 1
        assert "no table of live blocks" in run.stderr and "mallow live" in run.stderr


def test_filtered_out(tool, agent, compile_sample, tmp_path):
    """A process whose filter leaves anonymous shared memory out."""
    cores.kernel_dumps()
    script = f"echo 0x31 >/proc/self/coredump_filter; exec env LD_PRELOAD={agent} {compile_sample('core_sizes')} null"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, preexec_fn=cores.allow_cores,
                   env={**cores.live_environment(agent), "LD_PRELOAD": ""})
    core, = tmp_path.glob("core*")
    run = tool("core", core, check=False)
    assert run.returncode == 1 and "coredump_filter" in run.stderr and "bit 1" in run.stderr, run.stderr


def test_truncated(tool, sizes_core, tmp_path):
    """What is there is shown, and how much is missing is said."""
    whole = sizes_core.read_bytes()
    cut = tmp_path / "cut"
    outcomes = set()
    for part in (whole.index(HEADER) / len(whole) * 20, *range(1, 20)):
        cut.write_bytes(whole[:int(len(whole) * part / 20)])
        run = tool("core", cut, check=False)
        assert run.returncode in (0, 1), (part, run.stderr)
        if run.returncode:
            assert run.stderr.count("\n") == 1 and "cut short" in run.stderr, run.stderr
        else:
            assert "missing" in run.stdout or "cut short by" in run.stdout, (part, run.stdout[:300])
        outcomes.add(run.returncode)
    assert outcomes == {0, 1}


def test_without_the_first_page(tool, agent, tmp_path):
    """The dump does not have the table's first page. Chunks say what was in it."""
    core = cores.crash(["/usr/bin/python3", "-c",
                        "import os\nkeep = [bytes(1000 + i) for i in range(20000)]\nos.kill(os.getpid(), 11)"],
                       agent, tmp_path)
    whole, data = core_json(tool, core), bytearray(core.read_bytes())
    at = data.index(HEADER)
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for header in range(start, start + size * count, size):
        kind, _, offset, address, physical, held, there, _ = struct.unpack_from("<IIQQQQQQ", data, header)
        if kind == 1 and offset <= at < offset + held:
            left = held - (at - offset) - PAGE  # the segment begins behind that page
            struct.pack_into("<QQQQQ", data, header + 8, at + PAGE, address + (at - offset) + PAGE, physical, left, left)
    core.write_bytes(data)
    cut = core_json(tool, core)
    assert cut["pid"] == whole["pid"] and cut["id"] == whole["id"] and cut["sample_mean"] == 0
    assert 0 < cut["missing_bytes"] and sum(len(site["sizes"]) for site in cut["sites"]) > 15000
    assert set(map(tuple, ([size] for site in cut["sites"] for size in site["sizes"]))) <= \
        set(map(tuple, ([size] for site in whole["sites"] for size in site["sizes"])))


@pytest.mark.parametrize("field, value", [(0, 2 ** 63), (1, 2 ** 64 - 4096), (1, 0), (2, 2 ** 40), (-1, 2 ** 60), (-1, 0)])
def test_damaged_list(tool, sizes_core, tmp_path, field, value):
    """A number of the list of mapped files is wrong: of the table's first mapping, or (-1) the size of pages."""
    data = bytearray(sizes_core.read_bytes())
    at = data.index(struct.pack("<I", 0x46494c45) + b"CORE\0") + 4 + 8
    count, _ = struct.unpack_from("<QQ", data, at)
    paths = data[at + 16 + 24 * count:].split(b"\0")
    number = next(i for i, path in enumerate(paths) if b"mallow-live" in path)
    struct.pack_into("<Q", data, at + 8 if field < 0 else at + 16 + 24 * number + 8 * field, value)
    path = tmp_path / "core"
    path.write_bytes(data)
    run = subprocess.run([tool.path, "core", path], capture_output=True, text=True, timeout=20)
    assert run.returncode in (0, 1) and run.stderr.count("\n") <= 1
    assert run.returncode == 1 or "missing" in run.stdout or "keep_large" in run.stdout, run.stdout


def test_first_page_only(tool, sizes_core, tmp_path):
    data = sizes_core.read_bytes()
    at = data.index(b"\x89MLW\r\n\x1a\n" + b"\1\0")
    path = tmp_path / "page"
    path.write_bytes(data[at:at + 4096])
    run = tool("core", "--raw", path, check=False)
    assert run.returncode == 1 and "only the first page" in run.stderr


def without_files(core):
    """The core with its list of mapped files gone, as of a dumper that writes none."""
    data = bytearray(core.read_bytes())
    at = data.index(struct.pack("<I", 0x46494c45) + b"CORE\0")
    data[at:at + 4] = struct.pack("<I", 0x99999999)
    return data


def test_without_mappings(tool, sizes_core, tmp_path):
    path = tmp_path / "core"
    path.write_bytes(without_files(sizes_core))
    report = core_json(tool, path)
    assert_sizes(report)
    assert report["missing_bytes"] == 0


def segments(core):
    """(address, bytes) of what a core holds."""
    data = core.read_bytes()
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, at, address, _, held = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if kind == 1 and held:
            yield address, data[at:at + held]


def test_raw(tool, sizes_core, compile_sample, tmp_path):
    """Memory without headers: as a whole, and in two pieces that cut a chunk in two."""
    memory = list(segments(sizes_core))
    whole = tmp_path / "whole"
    whole.write_bytes(b"".join(data for _, data in memory))
    report = core_json(tool, "--raw", whole)
    assert_sizes(report)
    assert_sizes(core_json(tool, "--raw", compile_sample("core_sizes"), whole))
    # Off by three bytes, as a probe may begin anywhere.
    shifted = tmp_path / "shifted"
    shifted.write_bytes(b"xyz" + whole.read_bytes())
    assert_sizes(core_json(tool, "--raw", shifted))
    one, two = tmp_path / "one", tmp_path / "two"
    data = whole.read_bytes()
    one.write_bytes(data[:len(data) // 2])
    two.write_bytes(data[len(data) // 2:])
    assert_sizes(core_json(tool, "--raw", one, two))
    assert_sizes(core_json(tool, "--raw", two, one))
    run = tool("core", "--raw", compile_sample("core_sizes"), check=False)
    assert run.returncode == 2 and "which dump" in run.stderr
    empty = tmp_path / "empty"
    empty.write_bytes(b"\0" * 10000)
    run = tool("core", "--raw", empty, check=False)
    assert run.returncode == 1 and "no table" in run.stderr and run.stderr.count("\n") == 1


def test_raw_pieces_of_a_process(tool, dumped, tmp_path):
    """/proc/PID/mem, a file for each chunk of the table, in any order; some of them cut in two."""
    _, process = dumped
    heads, tails = [], []
    with open(f"/proc/{process.pid}/maps") as maps, open(f"/proc/{process.pid}/mem", "rb") as memory:
        for line in maps:
            if "mallow-live" not in line:
                continue
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            memory.seek(start)
            data = memory.read(end - start)
            begins = [at for at in range(0, len(data), PAGE) if at == 0 or data[at:at + 8] == CHUNK_MAGIC]
            for chunk in (data[at:next_] for at, next_ in zip(begins, [*begins[1:], len(data)])):
                for pieces, part in ((heads, chunk[:16384]), (tails, chunk[16384:])):
                    pieces.append(tmp_path / f"{len(heads)}-{len(tails)}")
                    pieces[-1].write_bytes(part)
    report = core_json(tool, "--raw", *reversed(heads))
    assert_sizes(report)
    assert report["missing_bytes"] > 0
    assert_sizes(core_json(tool, "--raw", *tails, *heads))
    assert tool("core", "--raw", *heads).stdout.splitlines()[0].endswith("as its memory was dumped")


def test_recorded_program(tool, mallow, compile_sample, tmp_path):
    """The core of a program under mallow run leads to its recording."""
    cores.kernel_dumps()
    run = subprocess.run([mallow, "run", "-o", tmp_path / "r.mallow", "--", compile_sample("core_sizes"), "null"],
                         cwd=tmp_path, capture_output=True, text=True, preexec_fn=cores.allow_cores)
    core, = tmp_path.glob("core*")
    for command in ("core", "report"):
        out = tool(command, core)
        assert str(tmp_path / "r.mallow") in out.stderr, out.stderr
        assert "keep_large" in out.stdout
    assert_sizes(core_json(tool, core))


def test_forked_child(tool, agent, tmp_path):
    """A child that allocates has its own table, one that does not has its parent's."""
    source = tmp_path / "forks.c"
    source.write_text("""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile kept;
int main(int argc, char **argv)
{
	kept = malloc(111111);
	if (fork() == 0) {
		if (argc > 1)
			kept = malloc(222222);
		raise(SIGSEGV);
	}
	wait(NULL);
	return 0;
}
""")
    program = tmp_path / "forks"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, source], check=True)
    cores.kernel_dumps()
    for arguments, size in (([], 111111), (["x"], 222222)):
        folder = tmp_path / f"child{len(arguments)}"
        folder.mkdir()
        subprocess.run([program, *arguments], cwd=folder, env=cores.live_environment(agent), check=True,
                       preexec_fn=cores.allow_cores)
        core, = folder.glob("core*")
        report = core_json(tool, core)
        assert [site["sizes"] for site in report["sites"]] == [[size]]
        assert ("no table of its own" in tool("core", core).stdout) == (not arguments)
        # The same without a list of mappings: the scan finds both tables.
        core.write_bytes(without_files(core))
        assert [site["sizes"] for site in core_json(tool, core)["sites"]] == [[size]]


@pytest.mark.parametrize("name", ["python3", pytest.param("clang++", marks=pytest.mark.long), "node"])
def test_real_programs_lose_nothing(tool, agent, tmp_path, name):
    """By gcore in the middle of the run, no frame is lost."""
    command, env = real_programs.command(name, tmp_path)
    if name == "clang++":
        command = [*command[:1], "-fintegrated-cc1", *command[1:]]
    # gdb runs it up to its end, and dumps it there: by then it has all its modules.
    core = tmp_path / "core"
    environment = cores.live_environment(agent, env)
    words = [need("gdb"), "-batch", "-nx", "-ex", f"set exec-wrapper env LD_PRELOAD={agent}", "-ex",
             "set breakpoint pending on", "-ex", "catch syscall exit_group", "-ex", "run", "-ex", f"gcore {core}",
             "--args", *map(str, command)]
    environment.pop("LD_PRELOAD")
    run = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert core.exists(), run.stdout[-2000:] + run.stderr[-2000:]
    report = core_json(tool, core)
    assert report["live_blocks"] > 30 and report["missing_bytes"] == 0
    frames = [frame for site in report["sites"] for frame in site["stack"]]
    assert frames and not [frame for frame in frames if "[lost]" in frame["function"]]
    if name == "python3":
        assert any("libc.so" in (frame["module"] or "") for frame in frames)


def test_kernel_core_of_python(tool, agent, tmp_path):
    core = cores.crash(["/usr/bin/python3", "-c",
                        "import os, json, decimal, ctypes\nkeep = [[i] * 3 for i in range(50000)]\n"
                        "os.kill(os.getpid(), 11)"], agent, tmp_path)
    report = core_json(tool, core)
    assert report["signal"] == "SIGSEGV" and report["live_bytes"] > 1_000_000
    frames = [frame for site in report["sites"] for frame in site["stack"]]
    assert not [frame for frame in frames if "[lost]" in frame["function"]]
    assert "decimal" in " ".join({frame["module"] or "" for frame in frames})


def test_serve_opens_it(serve, sizes_core):
    server = serve(sizes_core)
    listed, = server.json("/list")
    assert listed["kind"] == "live"
    groups = server.json(f"/data/{listed['id']}/allocation_groups")
    assert max(group["all"]["size"] for group in groups["allocations"]) == 1048576


@pytest.mark.parametrize("name", ["python3", pytest.param("clang++", marks=pytest.mark.long), "node"])
def test_kernel_cores_lose_nothing(tool, agent, tmp_path, name):
    """By the kernel, at the end of the run: its exit gets a signal instead."""
    cores.kernel_dumps()
    command, env = real_programs.command(name, tmp_path)
    if name == "clang++":
        command = [*command[:1], "-fintegrated-cc1", *command[1:]]
    environment = cores.live_environment(agent, env)
    environment.pop("LD_PRELOAD")
    words = [need("strace"), "-qq", "-f", "-o", "/dev/null", "-E", f"LD_PRELOAD={agent}",
             "-e", "trace=exit_group", "-e", "inject=exit_group:error=EPERM:signal=SEGV", *map(str, command)]
    subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, preexec_fn=cores.allow_cores, timeout=300)
    core = max(tmp_path.glob("core*"), key=lambda path: path.stat().st_size)
    report = core_json(tool, core)
    assert report["signal"] in ("SIGSEGV", "SIGABRT") and report["live_blocks"] > 30 and report["missing_bytes"] == 0
    frames = [frame for site in report["sites"] for frame in site["stack"]]
    assert frames and not [frame for frame in frames if "[lost]" in frame["function"]]
