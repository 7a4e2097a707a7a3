"""Files of other profilers, made here by the real ones of a program whose answers are known, are what
those profilers say of them; several dumps are a curve; what is malformed costs one line."""
import gzip
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import mallow_reader
import report_json
from conftest import clean_environment, need
from heap_dumps import write_dumps
from servers import Server

IMPORTS = pathlib.Path(__file__).with_name("imports")

SOURCE = r"""
#include <mcheck.h>
#include <stdlib.h>
#include <string.h>

static void *kept[10];

__attribute__((noinline)) static void *grab(size_t size)
{
	char *block = malloc(size);

	memset(block, 1, size);
	return block;
}

__attribute__((noinline)) static void leak(void)
{
	for (int i = 0; i < 5; i++)
		kept[i] = grab(100);
}

int main(void)
{
	if (getenv("MALLOC_TRACE"))
		mtrace();
	leak();
	void *block = grab(1000);
	block = realloc(block, 5000);
	free(block);
	kept[9] = calloc(3, 16);
	__asm__ volatile("" : : "r"(kept) : "memory");
	leak();
	memset(kept, 0, sizeof(kept));
	return 0;
}
"""
CALLS, TOTAL, LEAKED, LEAKED_BLOCKS, PEAK = 13, 7048, 1048, 11, 5500


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The program, and beside it the folder for what profilers write of it."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "known.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", "known", "known.c"], cwd=folder, check=True)
    return folder / "known"


def run(known, *command, env=None):
    return subprocess.run([*map(str, command)], cwd=known.parent, env=clean_environment(env), check=True,
                          capture_output=True, text=True)


def load(tool, *words):
    return report_json.load(tool("report", "--json", *words).stdout)


def of_function(report, function, field):
    return sum(site[field] for site in report["sites"] if function in [frame["function"] for frame in site["stack"]])


def sums(report, *fields):
    return tuple(report[field] for field in fields)


@pytest.fixture(scope="module")
def heaptracks(known):
    """What heaptrack writes, interpreted and raw."""
    need("heaptrack")
    run(known, "heaptrack", "-o", "made", known)
    run(known, "heaptrack", "-r", "-o", "raw", known)
    return known.with_name("made.zst"), known.with_name("raw.raw.zst")


@pytest.mark.parametrize("raw", [False, True])
def test_heaptrack(tool, known, heaptracks, raw):
    need("heaptrack_print")
    path = heaptracks[raw]
    printed = run(known, "heaptrack_print", heaptracks[0]).stdout
    report = load(tool, path)
    assert report["calls"] == int(re.search(r"calls to allocation functions: (\d+)", printed)[1])
    # heaptrack brings libstdc++, which allocates, too.
    assert [of_function(report, "main", field) for field in (
        "calls", "total_bytes", "leaked_bytes", "leaked_blocks", "peak_bytes")] == \
        [CALLS, TOTAL, LEAKED, LEAKED_BLOCKS, PEAK]
    assert of_function(report, "leak", "leaked_bytes") == 1000
    assert report["imported"] and report["known"] is None
    text = tool("report", path).stdout
    assert "recorded by heaptrack 1." in text.splitlines()[1]


def jemalloc(known, name, **options):
    settings = {"prof": "true", "prof_final": "true", "lg_prof_sample": "0", "prof_accum": "true",
                "prof_prefix": str(known.with_name(name)), **options}
    library = shutil.which("jeprof") and next(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"), None)
    if not library:
        pytest.skip("libjemalloc is not installed")
    run(known, known, env={"LD_PRELOAD": str(library), "MALLOC_CONF": ",".join(f"{k}:{v}" for k, v in settings.items())})
    return next(known.parent.glob(f"{name}.*.f.heap"))


def test_jemalloc_as_jeprof_says(tool, known):
    """Sums of a sample are scaled: the totals are those of jeprof. A second dump tells what grew."""
    path = jemalloc(known, "sampled", lg_prof_sample="8")
    printed = run(known, "jeprof", "--show_bytes", "--text", known, path).stdout
    total = int(re.search(r"Total: (\d+) B", printed)[1])
    report = load(tool, path)
    assert abs(report["leaked_bytes"] - total) <= len(report["sites"])
    assert report["known"] == ["peak", "leaked", "total", "calls"]
    assert tool("report", path).stdout.splitlines()[1:3] == ["  a heap dump of jemalloc (sums alone)",
                                                            "  estimated from a sample of one in 256 bytes"]
    exact = jemalloc(known, "exact")
    report = load(tool, exact)
    assert (of_function(report, "grab", "leaked_bytes"), of_function(report, "grab", "leaked_blocks")) == (10 * 112, 10)


def gperftools(known, name):
    library = next(pathlib.Path("/usr/lib").glob("*/libtcmalloc.so.4"), None)
    if not library:
        pytest.skip("libtcmalloc is not installed")
    run(known, known, env={"LD_PRELOAD": str(library), "HEAPPROFILE": str(known.with_name(name)),
                           "HEAP_PROFILE_ALLOCATION_INTERVAL": "300"})
    return sorted(known.parent.glob(f"{name}.*.heap"))


def test_dumps_in_a_row(tool, known, tmp_path):
    """Two dumps: what grew. All of them: a curve, whose moments can be asked for."""
    dumps = gperftools(known, "row")
    assert len(dumps) > 3
    grew = tool("diff", dumps[0], dumps[-1]).stdout.splitlines()
    assert re.match(r"\+.* live then: .* before, 1.05 KB after\.", grew[3])
    recording = tmp_path / "row.mallow"
    tool("import", *dumps, "-o", recording)
    report = load(tool, recording)
    live = [int(dump.read_text().split(":")[2].split("[")[0]) for dump in dumps]
    assert (report["peak_bytes"], report["leaked_bytes"]) == (max(live), live[-1] == LEAKED and LEAKED)
    read = mallow_reader.read(recording)
    moments = sorted({ticks for ticks, _, _ in read.sums})
    assert [sum(values["live_bytes"] for ticks, _, values in read.sums if ticks == moment)
            for moment in moments] == live
    assert tool("trace", "dump", recording).stdout.count(" sum stack=") == len(read.sums)
    assert load(tool, f"{recording}@{moments[1]}ns")["peak_bytes"] == live[1]
    server = Server(tool.path, recording)
    series = server.json("/data/last/series")
    assert (max(series["live_most"]), series["live_last"][-1], series["peak"]["bytes"]) == (max(live), live[-1], max(live))
    assert server.json("/list")[0]["kind"] == "sums"
    assert "no single allocations" in server.refused("/data/last/allocations")
    server.end()
    result = tool("import", *dumps, "-o", recording, check=False)
    assert (result.returncode, result.stderr) == (1, f"mallow: cannot write '{recording}': File exists\n")


@pytest.fixture(scope="module")
def valgrind(known):
    """What valgrind's tools write, by their names."""
    need("valgrind")
    made = {}
    for name, words in (("massif", ["--tool=massif", "--time-unit=ms", "--massif-out-file={}"]),
                        ("dhat", ["--tool=dhat", "--dhat-out-file={}"]),
                        ("memcheck", ["--leak-check=full", "--show-leak-kinds=all", "--log-file={}"]),
                        ("trace-malloc", ["--trace-malloc=yes", "--log-file={}"])):
        made[name] = known.with_name(f"{name}.out")
        run(known, "valgrind", *(word.format(made[name]) for word in words), known)
    return made


def test_massif(tool, known, valgrind):
    need("ms_print")
    printed = run(known, "ms_print", valgrind["massif"]).stdout
    report = load(tool, valgrind["massif"])
    assert report["known"] == ["peak", "leaked"]
    assert (report["peak_bytes"], report["leaked_bytes"]) == (PEAK, LEAKED)
    assert of_function(report, "leak", "peak_bytes") == 500
    assert f"{PEAK:,}" in printed
    assert "Most memory at " in tool("report", valgrind["massif"]).stdout


def test_dhat(tool, valgrind):
    report = load(tool, valgrind["dhat"])
    assert sums(report, "calls", "total_bytes", "leaked_bytes", "leaked_blocks", "peak_bytes") == \
        (CALLS, TOTAL, LEAKED, LEAKED_BLOCKS, PEAK)
    result = tool("report", "--sort", "temporary", valgrind["dhat"], check=False)
    assert (result.returncode, result.stderr) == (
        1, f"mallow: {valgrind['dhat']}: 'temporary' is not known of DHAT: peak, leaked, total, calls\n")


def test_memcheck(tool, valgrind):
    report = load(tool, valgrind["memcheck"])
    assert sums(report, "leaked_bytes", "leaked_blocks") == (LEAKED, LEAKED_BLOCKS)
    assert report["known"] == ["peak", "leaked"]
    assert "1.05 KB never freed" in tool("report", valgrind["memcheck"]).stdout.splitlines()[3]


def test_trace_malloc(tool, valgrind):
    report = load(tool, valgrind["trace-malloc"])
    # calloc(3,16) is 48 bytes for valgrind, too.
    assert sums(report, "calls", "total_bytes", "leaked_bytes", "peak_bytes") == (CALLS, TOTAL, LEAKED, PEAK)


def test_mtrace(tool, known):
    library = next(pathlib.Path("/usr/lib").glob("*/libc_malloc_debug.so.0"), None)
    if not library:
        pytest.skip("this glibc has no libc_malloc_debug.so.0")
    path = known.with_name("mtrace.out")
    run(known, known, env={"LD_PRELOAD": str(library), "MALLOC_TRACE": str(path)})
    report = load(tool, path)
    assert sums(report, "calls", "total_bytes", "leaked_bytes", "peak_bytes") == (CALLS, TOTAL, LEAKED, PEAK)
    assert of_function(report, "grab", "leaked_bytes") == 1000


def test_sanitizer(tool, known):
    subprocess.run(["gcc", "-g", "-O1", "-fsanitize=address", "-o", "sanitized", "known.c"], cwd=known.parent, check=True)
    result = subprocess.run([known.with_name("sanitized")], env=clean_environment(), capture_output=True, text=True)
    path = known.with_name("sanitized.txt")
    path.write_text(result.stderr)
    found = re.search(r"SUMMARY: AddressSanitizer: (\d+) byte\(s\) leaked in (\d+) allocation", result.stderr)
    report = load(tool, path)
    assert sums(report, "leaked_bytes", "leaked_blocks") == (int(found[1]), int(found[2]))
    assert "for grab  known.c" in tool("report", path).stdout


def test_kept_files(tool):
    """Of profilers that are not installed here: files that they wrote, and the example of bcc's manual."""
    report = load(tool, IMPORTS / "memray.csv")
    rows = [line.split(",", 5) for line in (IMPORTS / "memray.csv").read_text().splitlines()[1:]]
    assert sums(report, "leaked_bytes", "leaked_blocks") == (sum(int(row[2]) for row in rows), sum(int(row[1]) for row in rows))
    assert of_function(report, "leak", "leaked_bytes") == sum(int(row[2]) for row in rows if "|leak;" in "|" + row[5])
    report = load(tool, IMPORTS / "memray-stats.json")
    assert report["total_bytes"] == json.loads((IMPORTS / "memray-stats.json").read_text())["total_bytes_allocated"]
    assert report["known"] == ["total"]
    report = load(tool, IMPORTS / "memleak.txt")
    assert sums(report, "leaked_bytes", "leaked_blocks", "peak_bytes") == (176, 11, 176)
    assert load(tool, f"{IMPORTS / 'memleak.txt'}@0s")["peak_bytes"] == 80


SUMS = ("calls", "total_bytes", "peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks", "temporary")


def by_functions(report, fields):
    found = {}
    for site in report["sites"]:
        key = tuple(frame["function"] for frame in site["stack"])
        found[key] = [a + b for a, b in zip(found.get(key, [0] * len(fields)), [site[field] for field in fields])]
    return {key: sums for key, sums in found.items() if any(sums)}


@pytest.fixture(scope="module")
def recording(tool, known):
    path = known.with_name("known.mallow")
    tool("run", "-o", path, "--", known)
    return path


@pytest.mark.parametrize("format, ending, fields", [
    ("pprof", "pb.gz", SUMS), ("collapsed", "txt.gz", ("peak_bytes",)),
    ("heaptrack", "gz", ("calls", "total_bytes", "peak_bytes", "leaked_bytes", "leaked_blocks")),
])
def test_round_trips(tool, known, recording, format, ending, fields):
    """mallow → format → mallow keeps the sums of each stack of functions."""
    path = known.with_name(f"trip-{format}.{ending}")
    tool("export", "--to", format, "-o", path, recording)
    before, after = load(tool, recording), load(tool, path)
    if format == "collapsed":  # its functions have their libraries behind them
        assert sorted(map(sum, by_functions(before, fields).values())) == sorted(map(sum, by_functions(after, fields).values()))
    else:
        assert by_functions(before, fields) == by_functions(after, fields)


def test_compressed_and_renamed(tool, known, heaptracks, tmp_path):
    """A file is known by what is in it."""
    plain = subprocess.run(["zstd", "-dc", heaptracks[0]], check=True, capture_output=True).stdout
    report = load(tool, heaptracks[0])
    for name, data in (("a", plain), ("b.mallow", gzip.compress(plain)), ("c.txt", lzma.compress(plain))):
        (tmp_path / name).write_bytes(data)
        assert sums(load(tool, tmp_path / name), *SUMS) == sums(report, *SUMS)


def test_every_command(tool, known, heaptracks, tmp_path):
    """A file of events is a recording for each command; one of sums for those that need no more."""
    events, dump = heaptracks[0], gperftools(known, "each")[-1]
    assert "broken" in tool("check", "--max-leaked", "1K", events, check=False).stdout
    # A dump has what was live then: that is no leak, and the peak is at least that.
    assert "unknown leaked" in tool("check", "--max-leaked", "1K", dump, check=False).stdout
    assert "unknown peak" in tool("check", "--max-peak", "1M", dump, check=False).stdout
    assert "broken  peak" in tool("check", "--max-peak", "1K", dump, check=False).stdout
    assert tool("check", "--baseline", dump, dump).returncode == 0
    assert "unknown temporary" in tool("check", "--max-temporary", "1%", dump, check=False).stdout
    assert "imported   heaptrack 1." in tool("info", events).stdout
    assert "imported   a heap dump of gperftools" in tool("info", dump).stdout
    assert tool("report", "--size-min", "1000", "--tree", events).stdout
    assert "leak" in tool("report", "--function-regex", "leak", "--tree", dump).stdout
    for words, said in ((["report", "--size-min", "1"], "--size-min: this is not known of sums of stacks, which have no single blocks"),
                        (["report", "--histogram", "size"], "this is not known of sums of stacks, which have no single blocks"),
                        (["export", "--to", "heaptrack"], "sums of stacks have no single blocks, which --to heaptrack wants"),
                        (["finish"], "which cannot be finished: mallow import makes a recording of it")):
        result = tool(*words, dump, check=False)
        assert (result.returncode, result.stderr.count("\n")) == (1, 1) and said in result.stderr
    merged = load(tool, "--merge", dump, events)
    assert merged["leaked_bytes"] == 2 * LEAKED
    recording = tmp_path / "kept.mallow"
    assert re.fullmatch(rf"{recording}: \S+ [KM]?B, 14 allocations from heaptrack 1\.\d+\n",
                        tool("import", events, "-o", recording).stdout)
    assert sums(load(tool, recording), *SUMS) == sums(load(tool, events), *SUMS)
    assert "finished" in tool("info", recording).stdout


def test_malformed(tool, known, heaptracks, valgrind, tmp_path):
    """Each file cut anywhere, and with a damaged line, is read as far as it goes or costs one line, which
    names the file."""
    plain = subprocess.run(["zstd", "-dc", heaptracks[0]], check=True, capture_output=True).stdout
    files = [plain, *(path.read_bytes() for path in (gperftools(known, "cut")[-1], *valgrind.values())),
             *((IMPORTS / name).read_bytes() for name in ("memray.csv", "memray-stats.json", "memleak.txt"))]
    path = tmp_path / "bad"
    for data in files:
        for cut in range(1, len(data), max(1, len(data) // 12)):
            for bad in (data[:cut], data[:cut] + b"\xff\0 \n" + data[cut:], data[:cut] + data[cut + 7:]):
                path.write_bytes(bad)
                result = tool("report", path, check=False)
                assert result.returncode in (0, 1), bad
                assert result.stderr.count("\n") <= 1 and (not result.stderr or str(path) in result.stderr), bad
    path.write_bytes(plain.replace(b"\n+ 0\n", b"\n+ zz\n", 1))
    line = plain[:plain.index(b"\n+ 0\n")].count(b"\n") + 2
    result = tool("report", path, check=False)
    assert result.stderr == f"mallow: {path}: line {line}: the number of a line 'a' before it was expected, where 'zz' stands\n"


def test_foreign_text_is_shown_safely(tool, tmp_path):
    path = tmp_path / "names"
    path.write_text("main;\x1b[31mred\x1b[0m;b\ntwo;x 12\n".replace("\n", "", 1))
    assert "\x1b[31m" not in tool("report", path).stdout


def jemalloc_text(live, stacks, mean=1, tail=""):
    return f"heap_v2/{mean}\n  t*: {live} [0: 0]\n" + "".join(
        f"@ {stack}\n  t*: {counts} [0: 0]\n" for stack, counts in stacks) + tail


@pytest.mark.parametrize("text, said", [
    (jemalloc_text("1: 100", [("0x1 " * 1_500_000, "1: 100")]), "line 3: is longer than 4 MiB"),
    (jemalloc_text("1: 100", []), "line 2: '@' and a stack was expected, where it ends"),
    (jemalloc_text("1: 100", [("0x1", "1: 18446744073709551615")]), "line 4: 18446744073709551615 is more than a program can have"),
    ('{"dhatFileVersion":2,"mode":"copy","pps":[],"ftbl":[]}', "DHAT counted something else than the heap"),
    ('{"dhatFileVersion":2,"mode":"heap"}', '"pps" was expected'),
    ('{"dhatFileVersion":2,"mode":"heap","pps":[{"gb":-1}]}', "offset 50: a number from 0 on was expected"),
    ("==1== Memcheck, a memory error detector\n==1== 48 bytes in 1 blocks are definitely lost in loss record 1 of 4\n"
     "==1==    at 0x1: main (x.c:7)\n", "line 3: the summary of leaks was expected, where it ends"),
    ("2026-01-01 INFO request; user=1; latency_ms 3\n" * 500, "it is a text file"),
], ids=range(8))
def test_refused(tool, tmp_path, text, said):
    """One line each; none is taken for something that it is not."""
    path = tmp_path / "file"
    path.write_text(text)
    result = tool("report", path, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert said in result.stderr and str(path) in result.stderr


def test_cut_compressed_sums(tool, valgrind, tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(valgrind["massif"].read_bytes())[:-12])
    result = tool("report", path, check=False)
    assert (result.returncode, result.stderr) == (1, f"mallow: {path}: its compressed data is cut short or damaged\n")


def test_massif_of_what_is_never_freed(tool, known, tmp_path):
    """massif marks a peak only where something is freed: the peak is the largest snapshot."""
    need("valgrind")
    (tmp_path / "grows.c").write_text("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 300; i++) "
                                      "*(void *volatile *)malloc(1000) = 0; return 0; }")
    subprocess.run(["gcc", "-g", "-o", "grows", "grows.c"], cwd=tmp_path, check=True)
    run(tmp_path / "grows", "valgrind", "--tool=massif", "--massif-out-file=out", tmp_path / "grows")
    report = load(tool, tmp_path / "out")
    assert report["peak_bytes"] == report["leaked_bytes"] >= 290_000


def test_dumps_by_their_numbers(tool, tmp_path):
    """A shell lists je.10 before je.2: the files' times, and the numbers in their names, say what came first."""
    for i in range(1, 12):
        path = tmp_path / f"je.{i}.heap"
        path.write_text(jemalloc_text(f"{i}: {i * 100}", [("0x1000", f"{i}: {i * 100}")], mean=0))
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    recording = tmp_path / "all.mallow"
    tool("import", *sorted(tmp_path.glob("je.*.heap")), "-o", recording)
    report = load(tool, recording)
    assert (report["leaked_bytes"], report["peak_bytes"], report["duration_s"]) == (1100, 1100, 10)
    assert load(tool, f"{recording}@4s")["peak_bytes"] == 500
    # Sums without calls have rows, too.
    assert "1.10 KB" in tool("report", "--by", "function", recording).stdout
    server = Server(tool.path, tmp_path / "je.3.heap")
    assert server.json("/data/last/sums")["rows"] == 1
    server.end()
    for path in tmp_path.glob("je.*.heap"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    tool("import", *sorted(tmp_path.glob("je.*.heap")), "-o", tmp_path / "copied.mallow")
    assert tool("report", tmp_path / "copied.mallow").stdout.splitlines()[1:3] == [
        "  a heap dump of jemalloc, the last of 11 within 10.0 s (sums alone)", "  times are not known: a second each"]


def test_conditions_on_dumps_in_a_row(tool, tmp_path):
    """The server and the command choose stacks and moments alike; what no dump knows is refused in one line."""
    recording = tmp_path / "all.mallow"
    tool("import", *write_dumps(tmp_path), "-o", recording)
    server = Server(tool.path, recording)

    def sums(**conditions):
        return server.json("/data/last/sums", **conditions)["all"]

    summary = server.json("/data/last/summary", alive_at="90s")
    assert summary["has_curve"] and not summary["has_blocks"]
    assert (summary["all"]["peak_bytes"], summary["matched"]["peak_bytes"]) == (72000, 72000)
    assert (sums(alive_at="1s")["bytes"], sums(alive_at="1s")["blocks"], sums(alive_at="119s")["bytes"]) == (31000, 31, 72000)
    assert sums(alive_at="0s")["bytes"] == 31000 and sums(alive_at="120s")["bytes"] == 13000
    deep = {"backtrace_depth_min": 2}
    assert sums(**deep)["bytes"] == 70000 and sums(alive_at="1s", **deep)["bytes"] == 30000
    assert server.json("/data/last/series", points=4, **deep)["live_last"] == [30000, 70000, 70000, 10000]
    assert server.json("/data/last/series", points=4)["live_last"] == [31000, 72000, 72000, 13000]
    assert server.json("/data/last/flame", alive_at="1s", **deep)["bytes"][0] == 30000
    assert server.json("/data/last/summary", **deep)["all"]["peak_bytes"] == 72000
    assert server.text("/data/last/export/collapsed?alive_at=1s").split()[1::2] == ["1000", "30000"]
    assert server.refused("/data/last/summary?size_min=3").startswith("size_min: this is not known of sums of stacks")
    assert server.refused("/data/last/allocations").startswith("what was imported has sums of stacks")
    server.end()
    at = load(tool, "--at", "1s", "--backtrace-depth-min", 2, recording)
    assert (at["peak_bytes"], at["leaked_bytes"], at["known"]) == (30000, 30000, ["peak", "leaked"])
    # Which of it was freed later is not known.
    assert "leaked" not in tool("report", "--at", "1s", recording).stdout
    run = tool("report", "--at", "1s", IMPORTS / "memray-stats.json", check=False)
    assert run.returncode and "alive_at: what was live when is not known of this import" in run.stderr
