"""`mallow check`: which limits hold, what is said of broken ones, and the exit status."""
import json
import re
import shlex
import subprocess

import pytest

from gates import (BROKEN, CODE, HOLDS, UNSURE, USAGE, Coded, check, fill, junit, killed,  # noqa: F401
                   sarif, shop)
from stories import boundaries

# --- limits ---

SUMS = {"peak": 1500, "leaked": 700, "own-leaked": 700, "calls": 8}


def test_the_sums_are_those_of_the_report(tool, shop):
    said = tool.report(shop)
    assert [said["peak_bytes"], said["leaked_bytes"], said["calls"], said["temporary"]] == [1500, 700, 8, 4]


@pytest.mark.parametrize("name", SUMS)
def test_a_limit_is_broken_by_one(check, shop, name):
    value = SUMS[name]
    unit = "" if name == "calls" else " B"
    said = check(f"--max-{name}", value, shop, status=HOLDS).stdout
    assert f"  holds   {name} {value:,}{unit}: within the limit of {value:,}{unit}\n" in said
    said = check(f"--max-{name}", value - 1, shop, status=BROKEN).stdout
    assert f"  broken  {name} {value:,}{unit}: 1{unit} above the limit of {value - 1:,}{unit}\n" in said


@pytest.mark.parametrize("limit, status", [("50%", HOLDS), ("100%", HOLDS), ("49.999999%", BROKEN), ("0%", BROKEN)])
def test_a_share(check, shop, limit, status):
    said = check("--max-temporary", limit, shop, status=status).stdout
    if status == BROKEN:
        assert "  broken  temporary 4 calls, 50.0 %: " in said
        assert "\n            3 calls  75.0 %  churn  [toyd]\n" in said


def test_sizes_have_units(check, shop):
    check("--max-peak", "1K", "--max-leaked", "1K", shop, status=BROKEN)
    check("--max-peak", "2K", "--max-leaked", "1K", shop, status=HOLDS)


def test_places_and_the_command(check, tool, shop):
    """The places are in own code, the largest first; the command shows the same, also from a script."""
    said = check("--max-leaked", "0", "--max-peak", "9", shop, status=BROKEN, cwd="/").stdout
    assert re.findall(r"^ {12}(.*)", said, re.M) == [
        "900 B  60.0 %  cache_get  src/shop/cache.c:20", "600 B  40.0 %  cache_put  src/shop/cache.c:10",
        "600 B  85.7 %  cache_put  src/shop/cache.c:10", "100 B  14.3 %  cache_get  src/shop/cache.c:20"]
    commands = re.findall(r"^ {10}(\S.*)", said, re.M)
    assert [command.split(" report ")[1] for command in commands] == [
        f"--sort {metric} {shop}" for metric in ("peak", "leaked")]
    shown = subprocess.run(shlex.split(commands[1]), capture_output=True, text=True, check=True).stdout
    assert re.search(r"Never freed.*\n +600 B +85\.7 % .*cache_put  cache\.c:10", shown)


def test_a_filter(check, tool, shop):
    """The limits are about what matches, and the command has the conditions, quoted."""
    words = ["--size-min", 100, "--function-regex", "^cache_(get|put)$"]
    said = json.loads(tool("report", "--json", *words, shop).stdout)
    assert (said["peak_bytes"], said["leaked_bytes"], said["calls"]) == (1500, 700, 4)
    check(*words, "--max-peak", 1500, "--max-leaked", 700, "--max-calls", 4, shop, status=HOLDS)
    words = ["--size-min", 200, *words[2:]]
    said = check(*words, "--max-peak", 1399, "--max-calls", 2, shop, status=BROKEN).stdout
    assert "broken  peak 1,400 B: 1 B above" in said and "broken  calls 3: 1 above" in said
    assert f" report --sort peak --size-min 200 --function-regex '^cache_(get|put)$' {shop}\n" in said
    check(*words, "--max-leaked", 600, shop, status=HOLDS)


def test_suppressions(check, shop, tmp_path):
    known = tmp_path / "known leaks.supp"
    known.write_text("leak:^cache_put$\n")
    check("--suppressions", known, "--max-leaked", 100, "--max-peak", 1500, shop, status=HOLDS)
    said = check("--suppressions", known, "--max-leaked", 99, shop, status=BROKEN).stdout
    assert "broken  leaked 100 B: 1 B above the limit of 99 B\n" in said
    assert "cache_get" in said and "cache_put" not in said
    assert f" report --sort leaked --suppressions '{known}' {shop}\n" in said
    check("--suppressions", tmp_path / "none", "--max-leaked", 99, shop, status=UNSURE)
    known.write_text("nonsense\n")
    check("--suppressions", known, "--max-leaked", 99, shop, status=UNSURE)


def test_what_libraries_keep(check, record, tmp_path):
    """stdio's buffer is never freed; it is no leak of own code."""
    (tmp_path / "says.c").write_text(
        '#include <stdio.h>\n#include <stdlib.h>\nvoid *volatile kept;\n'
        'int main(void)\n{\n\tprintf("it says %d\\n", 1);\n\tkept = malloc(100);\n}\n')
    subprocess.run(["gcc", "-g", "-O0", "says.c", "-o", "says"], cwd=tmp_path, check=True)
    path = record([tmp_path / "says"]).path
    said = check("--max-leaked", 100, path, status=BROKEN).stdout
    assert "calling printf" in said and "  says.c:6, calling" in said
    check("--max-own-leaked", 100, path, status=HOLDS)
    said = check("--max-own-leaked", 99, path, status=BROKEN).stdout
    assert re.findall(r"^ {12}(.*)", said, re.M) == ["100 B  100 %  main  says.c:7"]


KEEPS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char texts[1000][16];

static void nothing(void)
{
}

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		sprintf(texts[i], "P%d=%d", i, i);
		CALL;
	}
	_exit(0); // exit() frees what atexit() kept
}
"""


@pytest.mark.parametrize("function, call", [
    ("setenv", 'setenv("NAME", texts[i], 1)'), ("putenv", "putenv(texts[i])"), ("atexit", "atexit(nothing)")])
def test_what_a_library_keeps_at_each_call(check, record, tmp_path, function, call):
    """The caller leaks it, although the C library allocates it."""
    (tmp_path / "keeps.c").write_text(KEEPS.replace("CALL", call))
    subprocess.run(["gcc", "-g", "-O0", "keeps.c", "-o", "keeps"], cwd=tmp_path, check=True)
    said = check("--max-own-leaked", "4K", record([tmp_path / "keeps"]).path, status=BROKEN).stdout
    assert re.search(r"^ {12}\S+ B  100 %  main  keeps\.c:16, calling \w+$", said, re.M), said


@pytest.fixture(scope="module")
def growing(tmp_path_factory):
    made = Coded(tmp_path_factory.mktemp("growing"), CODE)
    for _ in range(200):
        made.allocate(["main", "put"], 1000, wait=5_000_000)
        made.allocate(["main", "get"], 500, wait=5_000_000)
    return made.write()


def test_growth(check, tool, growing, tmp_path):
    """The rate is that of the finding, and is broken by one."""
    finding = json.loads(tool("report", "--json", growing).stdout)["findings"][0]
    rate = finding["numbers"]["bytes_per_second"]
    assert finding["kind"] == "never_freed_grows" and 90_000 < rate < 160_000
    check("--max-growth", f"{rate}/s", growing, status=HOLDS)
    check("--max-growth", "1M/s", growing, status=HOLDS)
    check("--max-growth", rate, growing, status=HOLDS)
    said = check("--max-growth", f"{rate - 1}/s", growing, status=BROKEN).stdout
    assert f"broken  growth {rate:,} B a second: 1 B a second above the limit of" in said
    assert f"            {rate:,} B a second  {finding['function']}" in said
    known = tmp_path / "known.supp"
    known.write_text("leak:cache_\n")
    check("--max-growth", 0, "--suppressions", known, growing, status=HOLDS)
    known.write_text("leak:cache_put\n")
    said = check("--max-growth", 0, "--suppressions", known, growing, status=BROKEN).stdout
    assert "cache_get  /src/shop/cache.c:20" in said and "cache_put" not in said


def test_growth_of_some(check, tool, growing, tmp_path):
    """With conditions it is the rate of all that matches together, without what is suppressed."""
    finding = json.loads(tool("report", "--json", growing).stdout)["findings"][0]
    rate, parts = finding["numbers"]["bytes_per_second"], {}
    for words, part in ((["--size-min", 1], 1.5), (["--size-min", 1000], 1), (["--size-max", 999], 0.5),
                        (["--function-regex", "^cache_get$"], 0.5), (["--size-min", 2000], 0)):
        said = check("--max-growth", "1", *words, growing, status=BROKEN if part else HOLDS).stdout
        found = int(re.search(r"growth ([\d,]+) B a second", said)[1].replace(",", "")) if part else 0
        assert abs(found - part * rate) <= rate / 100, (words, said)
        check("--max-growth", found, *words, growing, status=HOLDS)
        if part:
            check("--max-growth", found - 1, *words, growing, status=BROKEN)
        parts[words[-1]] = said
    both = [int(value.replace(",", "")) for value in re.findall(r"^ {12}([\d,]+) B a second  cache_", parts[1], re.M)]
    assert len(both) == 2 and abs(both[0] - 2 * both[1]) <= 2 and abs(sum(both) - 1.5 * rate) <= rate / 100
    assert "cache_put" not in parts[999] and "cache_get" not in parts[1000]
    check("--max-growth", 0, "--lifetime", "only_temporary", growing, status=HOLDS)
    known = tmp_path / "known.supp"
    known.write_text("leak:cache_put\n")
    said = check("--max-growth", 0, "--suppressions", known, "--size-min", 1, growing, status=BROKEN).stdout
    assert "cache_get" in said and "cache_put" not in said
    check("--max-growth", 0, "--suppressions", known, "--size-min", 1000, growing, status=HOLDS)


def test_several(check, shop, growing, tmp_path):
    """Each is judged; the worst counts."""
    said = check("--max-peak", "100K", shop, growing, status=BROKEN).stdout
    assert re.findall(r"^  (\w+) +peak", said, re.M) == ["holds", "broken"]
    assert re.findall(r"^\S*\.mallow(?=:)", said, re.M) == [str(shop), str(growing)]
    check("--max-peak", "10M", shop, growing, status=HOLDS)
    said = check("--max-peak", "1K", shop, tmp_path / "none", status=UNSURE)
    assert "broken  peak" in said.stdout and "the recording could not be read" in said.stdout
    assert said.stderr == f"mallow: cannot open '{tmp_path}/none': No such file or directory\n"


def test_a_directory_and_merge(check, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for name in "ab":
        fill(Coded(tmp_path / name, CODE)).write().rename(folder / f"{name}.mallow")
    check("--max-leaked", 700, folder, status=HOLDS)
    check("--max-leaked", 1400, "--merge", folder, status=HOLDS)
    said = check("--max-leaked", 1399, "--merge", folder, status=BROKEN).stdout
    assert "broken  leaked 1,400 B: 1 B above the limit of 1,399 B\n" in said
    assert f" report --sort leaked --merge {folder}/a.mallow {folder}/b.mallow\n" in said
    (tmp_path / "empty").mkdir()
    check("--max-leaked", 1, tmp_path / "empty", status=UNSURE)
    check("--max-leaked", 1, "--merge", tmp_path / "empty", status=UNSURE)


# --- what cannot be judged ---

@pytest.mark.parametrize("words, message", [
    ([], "'check' needs a recording: mallow check LIMIT… [OPTION…] RECORDING|DIRECTORY…"),
    (["x"], "'check' needs a limit: --max-peak SIZE, --max-leaked SIZE, --max-own-leaked SIZE, --max-calls N, "
            "--max-temporary N%, --max-growth SIZE/s, or --baseline RECORDING"),
    (["--max-peak", "many", "x"], "'many' is no value of --max-peak: a size such as 4096, 64K, 10M or 1G is wanted"),
    (["--max-peak", "-1", "x"], "'-1' is no value of --max-peak: a size such as 4096, 64K, 10M or 1G is wanted"),
    (["--max-calls", "1M", "x"], "'1M' is no value of --max-calls: a whole number from 0 on is wanted"),
    (["--max-temporary", "30", "x"],
     "'30' is no value of --max-temporary: a percentage such as 5% or 12.5% is wanted"),
    (["--max-growth", "1M/min", "x"],
     "'1M/min' is no value of --max-growth: a size a second such as 64K/s or 1M/s is wanted"),
    (["--max-growth", "/s", "x"],
     "'/s' is no value of --max-growth: a size a second such as 64K/s or 1M/s is wanted"),
    (["--max-growth", "1" * 99, "x"],
     f"'{'1' * 99}' is no value of --max-growth: a size a second such as 64K/s or 1M/s is wanted"),
    (["--max-peak", "1", "--tolerance", "5%", "x"], "--tolerance needs --baseline"),
    (["--baseline", "y", "--tolerance", "5", "x"],
     "'5' is no value of --tolerance: a percentage such as 5% or 12.5% is wanted"),
    (["--max-peak", "1", "--format", "xml", "x"],
     "'xml' is no value of --format: one of text junit sarif github is wanted"),
    (["--max-growth", "1", "--merge", "x"], "--max-growth and --merge exclude each other"),
    (["--max-peak", "1", "--merge", "--size-min", "1", "x"], "--merge and --size-min exclude each other"),
    (["--max-peek", "1", "x"], "unknown option '--max-peek' of 'check': did you mean '--max-peak'?"),
])
def test_usage(check, words, message):
    said = check(*words, status=USAGE)
    assert (said.stdout, said.stderr) == ("", f"mallow: {message}\n")


def lossy(folder):
    return fill(Coded(folder, CODE, losses=[0, 0, 3] + [0] * 13)).write()


def unfinished(folder):
    """Its header says that it ended, but its last record is not there."""
    return fill(Coded(folder, CODE)).write(end=False)


def damage(path):
    """A bit of the last chunk, which has the events."""
    data = bytearray(path.read_bytes())
    data[boundaries(bytes(data))[-2] + 100] ^= 1
    path.write_bytes(data)
    return path


def damaged(folder):
    return damage(fill(Coded(folder, CODE)).write())


def test_streams_cut_off(record, compile_sample, tool, check, tmp_path):
    """Of a recording by several threads only the first one's begin is there: no sequence has a gap."""
    whole = record([compile_sample("hand_over")], check=False)
    assert whole.reader.missing == 0 and whole.reader.header.streams == len(whole.reader.streams) > 2
    cut = tmp_path / "cut.mallow"
    cut.write_bytes(whole.path.read_bytes()[:8192])
    info = tool.info(cut)
    assert info["missing_chunks"] >= 1 and not info["complete"]
    check("--max-peak", "1G", cut, status=UNSURE)
    # Nor when it was finished.
    tool("finish", whole.path)
    assert tool.info(whole.path)["complete"]
    data = whole.path.read_bytes()
    for end in (4096, *boundaries(data)[1:-1], len(data) - 4096, len(data) - 1):
        cut.write_bytes(data[:end])
        assert_gaps_are_said(tool, check, cut)


def assert_gaps_are_said(tool, check, path):
    """Nothing is called complete, held, freed or never freed of a recording that misses something."""
    text = tool("report", path).stdout
    for claim in ("is complete", "everything was freed", "never freed", "Nothing was allocated", "Every block was",
                  "ran 0 ns"):
        assert claim.lower() not in text.lower(), (path, text)
    text = tool("diff", path, path).stdout
    assert "never freed" not in text, text
    assert not tool.info(path)["complete"]
    check("--max-peak", "1G", path, status=UNSURE)


def test_chunks_without_a_header(record, compile_sample, tool, check, tmp_path):
    """Whichever chunk of a finished recording it is: what is left of it is no hole."""
    path = record([compile_sample("hand_over")], check=False).path
    tool("finish", path)
    data = path.read_bytes()
    kinds = set()
    for at in boundaries(data)[:-1]:
        kinds.add(data[at + 8])
        damaged_one = bytearray(data)
        damaged_one[at:at + 8] = b"mistaken"
        path.write_bytes(damaged_one)
        assert_gaps_are_said(tool, check, path)
    assert {3, 4, 7} <= kinds, kinds


@pytest.mark.parametrize("make, why", [
    (lossy, r"3 events lost"), (killed, r"cut short: killed or crashed"),
    (unfinished, r"its last records are missing"),
    (damaged, r"1 chunk of the file missing or damaged")])
def test_incomplete(check, tmp_path, make, why):
    path = make(tmp_path / "made")
    said = check("--max-peak", "1M", path, status=UNSURE).stdout
    assert re.search(rf"^  doubt   the recording is incomplete: {why} \(--allow-incomplete\)\n"
                     r"  holds   peak ", said, re.M), said
    said = check("--allow-incomplete", "--max-peak", "1M", path, status=HOLDS).stdout
    assert re.search(rf"^  doubt   the recording is incomplete: {why}\n", said, re.M)
    if make != damaged:
        check("--allow-incomplete", "--max-peak", "1", path, status=BROKEN)
        check("--max-peak", "1", path, status=UNSURE)


TAKES = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MB = 1 << 20 };

int main(int argc, char **argv)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *memory = 0;

	memset(malloc(1000), 1, 1000);
	if (!strcmp(argv[1], "map"))
		memory = mmap(0, 32 * MB, PROT_READ | PROT_WRITE, flags, -1, 0);
	else if (!strcmp(argv[1], "call"))
		memory = (char *)syscall(SYS_mmap, 0L, 32L * MB, (long)(PROT_READ | PROT_WRITE), (long)flags, -1L, 0L);
	else if (!strcmp(argv[1], "break"))
		memory = sbrk(32 * MB);
	else
		memset(malloc(32 * MB), 1, 32 * MB), memory = mmap(0, 32 * MB, PROT_READ | PROT_WRITE, flags, -1, 0);
	memset(memory, 1, argc == 3 ? 24 * MB : 32 * MB);
}
"""


def test_most_memory_is_elsewhere(check, tool, record, tmp_path):
    """What malloc handed out is judged if it is most of the memory: an arena of the program's own is no block."""
    (tmp_path / "takes.c").write_text(TAKES)
    subprocess.run(["gcc", "-O0", "takes.c", "-o", "takes"], cwd=tmp_path, check=True)
    for way in "map", "call", "break":
        path = record([tmp_path / "takes", way]).path
        said = check("--max-peak", "1M", path, status=UNSURE).stdout
        why = (r"the program has \S+ MB or more resident that no recorded block or mapping explains: .*" if way == "call"
               else r"\S+ MB is resident beyond what malloc handed out, and that is more\. 'mallow report' says what it is")
        assert re.search(rf"^  doubt   not all memory was seen: {why} \(--allow-unseen\)$", said, re.M), said
        assert "unknown peak is not known: not all memory was seen" in said
        check("--max-peak", "1M", "--allow-unseen", path, status=HOLDS)
        check("--max-peak", "1G", "--baseline", path, path, status=UNSURE)
        tool("finish", path)
        check("--max-peak", "1M", path, status=UNSURE)
    both = record([tmp_path / "takes", "both", "less"]).path
    check("--max-peak", "64M", both, status=HOLDS)
    check("--max-peak", "64M", "--merge", both, path, status=UNSURE)
    check("--max-peak", "64M", "--merge", "--allow-unseen", both, path, status=HOLDS)


def test_a_finished_file_is_read_whole(check, tool, shop, tmp_path):
    """The index has the sums; the bytes behind it are compared all the same."""
    path = tmp_path / "finished.mallow"
    path.write_bytes(shop.read_bytes())
    tool("finish", path)
    check("--max-leaked", 700, path, status=HOLDS)
    data = bytearray(path.read_bytes())
    data[4096 + 60] ^= 0xFF
    path.write_bytes(data)
    check("--max-leaked", 700, path, status=UNSURE)


def test_unknown_numbers(check, shop, tmp_path):
    """A sample does not tell which calls are temporary."""
    path = tmp_path / "sample.mallow"
    data = bytearray(shop.read_bytes())
    data[112:120] = (1 << 20).to_bytes(8, "little")  # the header's mean
    path.write_bytes(data)
    why = "temporary is not known: a sample does not tell which calls are temporary"
    said = check("--max-temporary", "1%", "--max-leaked", "1G", path, status=UNSURE).stdout
    assert f"  unknown {why}\n" in said and "holds   leaked" in said
    said = check("--max-temporary", "1%", "--max-leaked", "1G", "--allow-incomplete", path, status=HOLDS).stdout
    assert f"  unknown {why}\n" in said
    said = check("--baseline", path, "--tolerance", "9000000%", shop, status=UNSURE).stdout
    assert f"  unknown {why}\n" in said
    suite, = junit(check("--max-temporary", "1%", "--format", "junit", path, status=UNSURE).stdout)
    assert suite[2] == [("max-temporary", "error", why, "")]
    result, = sarif(check("--max-temporary", "1%", "--format", "sarif", path, status=UNSURE).stdout)["results"]
    assert (result["level"], result["message"]["text"]) == ("error", why)


# --- baseline ---

def built(folder, code, more=0, **facts):
    made = fill(Coded(folder, code, **facts))
    if more:
        made.allocate(["main", "get"], more)
    return made.write()


def test_a_baseline(check, shop, tmp_path):
    """Of another build: other addresses and lines, an older minor version of the format."""
    code = {"before": ("unused", "/src/shop/main.c", 1), **{
        label: (name, file, line + 7 if file else 0) for label, (name, file, line) in CODE.items()}}
    new = built(tmp_path / "new", code, 35, minor=3)
    check("--baseline", shop, shop, status=HOLDS)
    check("--baseline", new, shop, status=HOLDS)
    said = check("--baseline", shop, new, status=BROKEN).stdout
    assert "  broken  leaked 735 B: 35 B above the limit of 700 B, with 700 B in the baseline\n" in said
    assert "            135 B  35 B more  cache_get  /src/shop/cache.c:27\n" in said
    assert "cache_put" not in said
    command, = re.findall(r"^ {10}(\S+ diff --sort leaked .*)", said, re.M)
    assert command.endswith(f" diff --sort leaked {shop} {new}")
    shown = subprocess.run(shlex.split(command), capture_output=True, text=True, check=True).stdout
    assert "\n100 % of it is for cache_get  cache.c:27: +35 B.\n" in shown
    assert "  broken  calls 9: 1 above the limit of 8, with 8 in the baseline\n" in said
    assert "  holds   peak 1,500 B: within" in said and "  holds   temporary 4 calls" in said
    assert "own-leaked" not in said and "growth" not in said
    check("--baseline", shop, "--tolerance", "12.5%", new, status=HOLDS)
    check("--baseline", shop, "--tolerance", "12.4%", new, status=BROKEN)  # 8 calls are whole ones
    said = check("--baseline", shop, "--tolerance", "5%", "--size-max", 40, new, status=BROKEN).stdout
    assert f" diff --sort leaked --size-max 40 {shop} {new}\n" in said
    known = tmp_path / "known.supp"
    known.write_text("leak:cache_put\n")
    said = check("--baseline", shop, "--suppressions", known, new, status=BROKEN).stdout
    assert "broken  leaked 135 B: 35 B above the limit of 100 B, with 100 B in the baseline\n" in said
    assert f" diff --sort leaked --suppressions {known} {shop} {new}\n" in said


def test_the_line_of_a_function_that_grew(check, shop, tmp_path):
    """It is the one that has most of what is limited."""
    made = fill(Coded(tmp_path / "lines", {**CODE, "often": ("cache_get", "/src/shop/cache.c", 25)}))
    made.allocate(["main", "get"], 1000)
    for _ in range(10):
        made.allocate(["main", "often"], 10)
    said = check("--baseline", shop, made.write(), status=BROKEN).stdout
    assert re.findall(r"broken  (\w+).*\n +[^:]* cache_get  /src/shop/cache.c:(\d+)", said) == [
        ("peak", "20"), ("leaked", "20"), ("calls", "25")]


@pytest.mark.parametrize("minor", range(5))
def test_a_baseline_of_an_older_format(check, tool, tmp_path, minor):
    """Recorded before the newer one, by an older version, and perhaps finished by this one."""
    before = built(tmp_path / "before", CODE, minor=minor)
    same, more = built(tmp_path / "same", CODE), built(tmp_path / "more", CODE, 1)
    for finish in (False, True):
        if finish:
            tool("finish", before)
        check("--baseline", before, same, status=HOLDS)
        said = check("--baseline", before, more, status=BROKEN).stdout
        assert "  broken  leaked 701 B: 1 B above the limit of 700 B, with 700 B in the baseline\n" in said
        assert "            101 B  1 B more  cache_get  /src/shop/cache.c:20\n" in said


def test_a_baseline_that_cannot_be_used(check, shop, tmp_path):
    said = check("--baseline", tmp_path / "none", shop, status=UNSURE)
    assert said.stderr == f"mallow: cannot open '{tmp_path}/none': No such file or directory\n"
    path = killed(tmp_path / "killed")
    said = check("--baseline", path, shop, status=UNSURE)
    assert said.stderr == (f"mallow: baseline '{path}': the recording is incomplete: cut short: killed or crashed "
                           "(--allow-incomplete)\n")
    check("--baseline", path, "--allow-incomplete", shop, status=HOLDS)
