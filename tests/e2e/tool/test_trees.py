"""Several recordings: directories, trees of processes, and reports that merge them."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import pytest

import report_json
from made_recording import Made
from stories import Story

SUMS = ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "temporary")
START = ["_start", "main"]


def report(tool, *paths):
    return report_json.load(tool("report", "--json", *paths).stdout)


def merged(tool, *paths):
    return report(tool, "--merge", *paths)


def stack_names(site):
    return tuple(frame["function"] for frame in site["stack"])


def by_names(found, field):
    sums = collections.Counter()
    for site in found["sites"]:
        sums[stack_names(site)] += site[field]
    return +sums


def chain(*ids):
    """Recording ids of a parent, a child, …: [(id, parent's id)]"""
    names = [bytes([number]) * 16 for number in ids]
    return list(zip(names, [bytes(16), *names]))


class Process:
    """A made recording whose live bytes over time are known, too."""

    def __init__(self, folder, name, began, ids, **facts):
        folder.mkdir(exist_ok=True)
        self.began = began
        realtime = 1_700_000_000_000_000_000 + began
        self.made = Made(folder, ["_start", "main", "grow", "shrink"], id=ids[0],
                         parent_id=ids[1], monotonic=1000 + began, realtime=realtime, **facts)
        self.made.chunk.monotonic = 1000 + began
        self.name, self.steps = name, []

    def at(self, time):
        """Goes on to that time of the common clock, nanoseconds."""
        self.made.tick(time - self.began - (self.made.time - 1000))

    def allocate(self, time, function, size):
        self.at(time)
        block = self.made.allocate([*START, function], size, wait=0)
        self.steps.append((time, function, size))
        return block, function, size

    def free(self, time, block):
        self.at(time)
        self.made.free(block[0], wait=0)
        self.steps.append((time, block[1], -block[2]))

    def write(self, time, folder):
        self.at(time)
        self.end = time + 1000
        made = self.made
        made.chunk.other(0x91, made.chunk.at(made.tick()), made.time + self.began, 1, 0)
        made.write("unused", end=False)
        path = folder / self.name
        (made.folder / "unused").rename(path)
        return path


def highest(processes):
    """(bytes, time, {function: bytes}) of the highest moment of all of them, by brute force."""
    events = [(time, 1, function, size) for process in processes
              for time, function, size in process.steps]
    for process in processes:
        left = collections.Counter()
        for _, function, size in process.steps:
            left[function] += size
        events += [(process.end, 0, function, -size) for function, size in left.items()]
    live, best = collections.Counter(), (0, 0, {})
    for time, _, function, size in sorted(events, key=lambda event: event[:2]):
        live[function] += size
        if live.total() > best[0]:
            best = live.total(), time, dict(live)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_peak_of_a_tree(seed, tool, tmp_path):
    """The most that was live at once in all processes, whose memory goes when they end."""
    dice, ids = random.Random(seed), chain(1, 2, 3, 4)
    processes, recordings = [], tmp_path / "tree"
    recordings.mkdir()
    for number in range(4):
        process = Process(tmp_path / "made", f"{number}.mallow",
                          dice.randrange(0, 3_000_000), ids[number])
        time, blocks = process.began, []
        for _ in range(60):
            time += dice.randrange(1, 60_000)
            if blocks and dice.random() < 0.4:
                process.free(time, blocks.pop(dice.randrange(len(blocks))))
            else:
                blocks.append(process.allocate(time, dice.choice(["grow", "shrink"]),
                                               dice.randrange(1, 9999)))
        process.write(time + 1, recordings)
        processes.append(process)
    found = merged(tool, recordings)
    size, time, shares = highest(processes)
    assert found["peak_bytes"] == size and found["peak_is"] == "of all processes together"
    start = min(process.began for process in processes)
    assert found["peak_time_s"] == pytest.approx((time - start) / 1e9, abs=2e-9)
    assert by_names(found, "peak_bytes") == {
        (function, "main", "_start"): share for function, share in shares.items() if share}
    each = [report(tool, path) for path in sorted(recordings.iterdir())]
    assert [part["peak_bytes"] for part in found["processes"]] == [
        part["peak_bytes"] for part in each]
    for field in SUMS:
        assert found[field] == sum(part[field] for part in each)
    assert found["site_count"] == 2, "equal stacks of different processes are one site"
    assert max(part["peak_bytes"] for part in each) <= size <= sum(
        part["peak_bytes"] for part in each)


@pytest.mark.parametrize("seed", range(4))
def test_one_is_itself(seed, tool, tmp_path):
    """Merging one recording changes no number of it: any kind of records, several threads."""
    path = tmp_path / "story.mallow"
    path.write_bytes(Story(seed).image(steps=500))
    one, alone = report(tool, path), merged(tool, path)
    for field in (*SUMS, "peak_bytes", "peak_blocks", "peak_time_s"):
        assert alone[field] == one[field], field
    for field in (*SUMS, "peak_bytes", "peak_blocks", "own_peak_bytes"):
        if field in one["sites"][0]:
            assert by_names(alone, field) == by_names(one, field), field
    assert merged(tool, path, path, tmp_path)["processes"] == alone["processes"]


def test_other_machines_have_other_clocks(tool, tmp_path):
    """Without a common clock the peaks are added up, and that is said."""
    paths = []
    for number in range(2):
        process = Process(tmp_path / str(number), f"{number}.mallow", 0, chain(number + 1)[0])
        process.made.chunk.other(0x87, 5, text=b"host%d" % number)
        block = process.allocate(10_000, "grow", 1000)
        process.free(20_000 + number, block)
        paths.append(process.write(30_000, tmp_path))
    found = merged(tool, *paths)
    assert found["peak_bytes"] == 2000 and found["peak_is"] == "sum of the peaks of the processes"
    text = tool("report", "--merge", *paths).stdout
    assert "the processes' own added up, 2 blocks: no common clock\n" in text
    assert by_names(found, "peak_bytes") == {("grow", "main", "_start"): 2000}


def test_what_merged_numbers_do_not_hold(tool, tmp_path):
    """The second of two was begun by a start, off for a while, and a sample: that is said of both."""
    plain = Process(tmp_path / "0", "0.mallow", 0, chain(1)[0])
    plain.allocate(10_000, "grow", 1000)
    other = Process(tmp_path / "1", "1.mallow", 0, chain(2)[0], flags=16, minor=2)
    other.at(10_000)
    for kind in (0x93, 0x94):
        other.made.chunk.other(kind, other.made.chunk.at(other.made.tick()))
    paths = [process.write(30_000, tmp_path) for process in (plain, other)]
    sampled = bytearray(paths[1].read_bytes())
    sampled[112:120] = (4000).to_bytes(8, "little")
    paths[1].write_bytes(sampled)
    for order in (paths, paths[::-1]):
        text = tool("report", "--merge", *order).stdout
        assert "  a sample, one in 4.00 KB: all numbers are estimates\n" in text
        assert "  begun by a start: what was allocated before is not counted\n" in text
        assert "  off 1 time, for 1.00 us: what was allocated then is not counted\n\n" in text
        assert "temporary" not in text, "not known of a sample"


def test_merged_fits_into_a_terminal(tool, tmp_path):
    """Nothing but names of functions is wider than 80 columns."""
    paths = []
    for number in range(12):
        process = Process(tmp_path / str(number), f"{number}.mallow", number, chain(number + 1)[0],
                          losses=[number] + [0] * 15, pid=4194000 + number)
        process.allocate(123_456_000 + number, "grow", 999_999)
        paths.append(process.write(223_456_789, tmp_path))
    text = tool("report", "--merge", *paths).stdout
    assert "  1 of 12 recordings complete: mallow info tells more\n" in text
    assert "live at once in all of them, 12 blocks, at 123 ms\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_two_runs_of_one_program(record, compile_sample, tool, tmp_path):
    """Addresses differ from run to run; files and places in them do not."""
    program, folder = compile_sample("totals"), tmp_path / "both"
    record([program], folder=folder, settings={"OUTPUT": folder / "a.mallow"})
    record([program], folder=folder, settings={"OUTPUT": folder / "b.mallow"})
    one, both = report(tool, folder / "a.mallow"), merged(tool, folder)
    assert both["site_count"] == one["site_count"]
    for field in ("calls", "total_bytes", "leaked_bytes"):
        assert both[field] == 2 * one[field]
        assert by_names(both, field) == {stack: 2 * value
                                         for stack, value in by_names(one, field).items()}
    # One was gone when the other began.
    assert both["peak_bytes"] == one["peak_bytes"]
    tool("finish", folder / "a.mallow")
    assert merged(tool, folder) == both


def test_tree_of_a_shell(record, tool, tmp_path):
    """A real tree: every process is in it, each below the one that began it."""
    recorded = record(["bash", "-c", "ls / >/dev/null; (true; echo x | cat >/dev/null); exec ls /"])
    infos = json.loads(tool("info", "--json", recorded.folder).stdout)
    assert len(infos) == len(recorded.paths) >= 5
    parents = {info["id"]: info["parent_id"] for info in infos}
    assert sum(parent not in parents for parent in parents.values()) == 1
    lines = tool("info", recorded.folder).stdout.splitlines()
    assert len(lines) == len(infos) + 1
    depth = {}
    for line in lines[1:]:
        program = re.search(r"complete +(.*)", line)[1]
        indent = len(re.match("[│├└─ ]*", program)[0]) // 3
        info = next(info for info in infos if line.endswith("  " + os.path.basename(info["path"])))
        depth[info["id"]] = indent
        assert indent == (depth[info["parent_id"]] + 1 if info["parent_id"] in depth else 0)
    assert tool("info", "--tree", *reversed(recorded.paths)).stdout.splitlines() == lines
    found, each = merged(tool, recorded.folder), [report(tool, path) for path in recorded.paths]
    for field in SUMS:
        assert found[field] == sum(part[field] for part in each), field
    assert sum(by_names(found, "peak_bytes").values()) == found["peak_bytes"]
    assert found["peak_bytes"] <= sum(part["peak_bytes"] for part in each)
    text = tool("report", "--merge", "--bytes", recorded.folder).stdout
    assert f"and {len(infos) - 1} more recordings\n" in text
    assert "all recordings are complete\n" in text and "live at once in all of them" in text
    assert f"{found['peak_bytes']:,} B" in text
    tree = tool("report", "--merge", "--tree", recorded.folder).stdout
    assert "Call tree by peak" in tree and len(re.findall(" %  ", tree)) > 3
    stacks = tool("export", "--to", "collapsed", "--merge", "--metric", "total",
                  recorded.folder).stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks.splitlines()) == found["total_bytes"]
    assert tool("export", "--to", "flamegraph", "--merge", recorded.folder).stdout.startswith("<?xml")


@pytest.fixture
def mixed(tmp_path):
    """A directory of two recordings, what is called like one and is none or is not whole, and others."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number, ids in enumerate(chain(1, 2)):
        process = Process(tmp_path / str(number), f"good{number}.mallow", number * 1000, ids,
                          pid=100 + number)
        process.allocate(50_000, "grow", 100)
        process.write(60_000, folder)
    whole = (folder / "good0.mallow").read_bytes()
    (folder / "cut.mallow").write_bytes(whole[:100])
    (folder / "new.mallow").write_bytes(whole[:8] + b"\x09\0" + whole[10:])
    (folder / "notes.txt").write_text("hello")
    (folder / "notes.mallow.txt").write_text("hello")
    (folder / "empty.mallow.71.0").write_text("")
    (folder / "text.mallow").write_text("hello")
    for ending in "", ".mallow":
        (folder / f"below{ending}").mkdir()
        (folder / f"dangling{ending}").symlink_to("nowhere")
        os.mkfifo(folder / f"pipe{ending}")
    return folder


WRONG = {"below.mallow": "it is a directory", "cut.mallow": "cut short: ends at offset 100 within its header",
         "dangling.mallow": "No such file or directory", "empty.mallow.71.0": "it is empty",
         "new.mallow": "version 9.0 of the format", "pipe.mallow": "it is a pipe", "text.mallow": "it is a text file"}


def check_wrong(stderr):
    """Each is named by one line, which says what it is."""
    named = {name: line for line in stderr.splitlines() for name in WRONG if f"/mixed/{name}" in line}
    assert stderr.count("\n") == len(WRONG) and all(WRONG[name] in named[name] for name in WRONG), stderr


@pytest.mark.parametrize("words", [["info"], ["info", "--json"], ["info", "--modules"],
                                   ["report"], ["report", "--json"], ["report", "--merge"],
                                   ["report", "--merge", "--json"], ["report", "--errors"],
                                   ["export", "--to", "collapsed", "--merge"]])
def test_bad_ones_among_good_ones(words, mixed, tool):
    """One line each, the rest is shown, the status says so; what is not called a recording is passed over."""
    run = tool(*words, mixed, check=False)
    assert run.returncode == 1
    check_wrong(run.stderr)
    if "--json" not in words:
        assert run.stdout.count("grow 200" if "export" in words else "toyd") >= 1
        return
    found = json.loads(run.stdout)
    if "--merge" in words:
        found = found["processes"]
    assert [one["pid"] for one in found] == [100, 101]


@pytest.mark.parametrize("words", [[], ["--merge"]])
def test_gate_of_bad_ones(words, mixed, tool):
    """`mallow check` cannot judge them, whatever is allowed; each is a test that failed."""
    run = tool("check", "--max-peak", "1G", "--allow-incomplete", *words, mixed, check=False)
    assert run.returncode == 3 and "holds   peak" in run.stdout
    check_wrong(run.stderr)
    assert run.stdout.count("the recording could not be read") == (0 if words else len(WRONG))


def test_damaged_ones_are_named(mixed, tool, tmp_path):
    """One that was cut behind its header opens: merged with others, it is named all the same."""
    for name in WRONG:
        entry = mixed / name
        entry.rmdir() if entry.is_dir() else entry.unlink()
    path = mixed / "good0.mallow"
    assert tool("report", "--merge", mixed).stderr == ""
    path.write_bytes(path.read_bytes()[:-4096])
    said = f"mallow: '{path}': the recording is incomplete: "
    for words in ["report", "--merge"], ["export", "--to", "collapsed", "--merge"], ["diff", "--merge", mixed]:
        run = tool(*words, mixed)
        assert run.stderr.startswith(said) and run.stderr.count("\n") == (2 if words[0] == "diff" else 1)
    run = tool("check", "--max-peak", "1G", "--merge", mixed, check=False)
    assert run.returncode == 3 and run.stderr.startswith(said) and run.stderr.count("\n") == 1


def test_diff_names_both(mixed, tool):
    run = tool("diff", mixed / "text.mallow", mixed / "pipe.mallow", check=False)
    assert run.returncode == 1 and run.stderr.count("\n") == 2
    assert "it is a text file" in run.stderr and "it is a pipe" in run.stderr


def test_files_of_others(mixed, tool):
    """What may not be read may be a recording: it is not passed over in silence."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        program = shutil.copy(tool.path, name)
        folder = pathlib.Path(name) / "folder"
        folder.mkdir()
        shutil.copy(mixed / "good1.mallow", folder)
        secret = pathlib.Path(shutil.copy(mixed / "good0.mallow", folder))
        secret.chmod(0)
        as_other = {"user": 65534} if os.getuid() == 0 else {}
        run = subprocess.run([program, "info", folder], capture_output=True, text=True, **as_other)
    assert run.stderr == f"mallow: cannot open '{secret}': Permission denied\n"
    assert run.returncode == 1 and run.stdout.count("toyd") == 1


def test_one_after_the_other(mixed, tool):
    """Of several files one report each, under the file's name; JSON is an array."""
    files = [mixed / "good1.mallow", mixed / "good0.mallow"]
    text = tool("report", *files).stdout
    assert re.findall("^== (.*) ==$", text, re.M) == [str(path) for path in files]
    assert [one["pid"] for one in report(tool, *files)] == [101, 100]
    assert report(tool, files[0])["pid"] == 101, "of one file an object"
    assert "==" not in tool("report", files[0]).stdout
    both = report_json.load(tool("report", "--errors", "--json", *files).stdout)
    assert [one["error_count"] for one in both] == [0, 0]


def test_all_bad(mixed, tool):
    for name in ("good0.mallow", "good1.mallow"):
        (mixed / name).unlink()
    run = tool("report", "--merge", mixed, check=False)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", len(WRONG))
    assert tool("report", mixed, check=False).stdout == ""
    assert report_json.load(tool("report", "--json", mixed, check=False).stdout) == []
    assert tool("info", mixed, check=False).stdout == ""


def test_circle_of_parents(tool, tmp_path):
    """Ids that claim each other for parents, and one its own: all are shown, once."""
    folder = tmp_path / "circle"
    folder.mkdir()
    ids = [bytes([number]) * 16 for number in (1, 2, 3, 4)]
    for number, parent in enumerate([ids[1], ids[0], ids[2], ids[0]]):
        process = Process(tmp_path / str(number), f"{number}.mallow", number, (ids[number], parent),
                          pid=100 + number)
        process.write(50_000, folder)
    lines = tool("info", folder).stdout.splitlines()[1:]
    assert sorted(int(line.split()[0]) for line in lines) == [100, 101, 102, 103]
    assert len(merged(tool, folder)["processes"]) == 4


def test_deep_tree_fits(tool, tmp_path):
    """Forty generations: the branches stop growing, nothing is lost."""
    folder = tmp_path / "deep"
    folder.mkdir()
    for number, ids in enumerate(chain(*range(1, 41))):
        process = Process(tmp_path / "made", f"{number:02}.mallow", number, ids, pid=number + 1)
        process.write(50_000, folder)
    lines = tool("info", folder).stdout.splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == list(range(1, 41))
