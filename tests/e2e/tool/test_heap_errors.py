"""`mallow report --errors`: wrong frees are found, and right ones are not called wrong."""
import collections

import pytest

import report_json
from conftest import need
from made_recording import FREE, MALLOC, NEW, Made
from recording_writer import ChunkWriter

DELETE, DELETE_ARRAY, OFF, ON = 21, 22, 0x93, 0x94
NEVER, TWICE, MISMATCH = "never_allocated", "double_free", "mismatch"


def errors_of(tool, path):
    return report_json.load(tool("report", "--errors", "--json", path).stdout)


def names(stack):
    return [frame["function"].split("(")[0] for frame in stack]


def told(report):
    """[(kind, allocated by, freed by, how many)], whatever the places in the code"""
    counts = collections.Counter()
    for error in report["errors"]:
        counts[error["kind"], error["allocated_by"], error["freed_by"]] += error["count"]
    return [(*key, count) for key, count in counts.items()]


def first_of_each(report):
    """One error of each kind and pair of functions: a loop may have become several places."""
    found = {}
    for error in report["errors"]:
        found.setdefault((error["kind"], error["allocated_by"], error["freed_by"]), error)
    return list(found.values())


WRONG = [(MISMATCH, "operator new", "free", 5), (MISMATCH, "malloc", "operator delete", 1),
         (MISMATCH, "operator new[]", "operator delete", 1),
         (MISMATCH, "operator new", "realloc", 1)]


@pytest.mark.parametrize("compiler, opt", [("gcc", "-O0"), ("clang", "-O2")])
def test_sample(compiler, opt, record, compile_sample, tool):
    """Mismatches, with where the blocks came from; equally so when the recording is finished."""
    program = compile_sample("wrong_frees", compiler, opt)
    recorded = record([program])
    report = errors_of(tool, recorded.path)
    assert told(report) == WRONG
    assert report["unjudged_frees"] == 0 and report["error_count"] == len(report["errors"])
    errors = first_of_each(report)
    assert [names(error["allocation_stack"])[0] for error in errors] == [
        "free_what_new_made", "delete_what_malloc_made", "delete_an_array",
        "realloc_what_new_made"]
    assert [error["size"] for error in errors] == [20, 33, 60, 44]
    assert len(errors[0]["addresses"]) == min(3, errors[0]["count"])
    # A realloc has a stack, a free only where it was asked for.
    assert [error["free_stack"] is None for error in errors] == [True, True, True, False]
    text = tool("report", "--errors", recorded.path).stdout
    assert text.count("8 wrong frees in all, of ") == 1
    assert "free of a block made by operator new" in text
    assert "mallow run --free-stacks" in text
    tool("finish", recorded.path)
    assert errors_of(tool, recorded.path) == report


def test_of_a_sample(record, compile_sample, tool):
    """A block that is not in the sample is freed unseen, and so is one for the second time."""
    program = compile_sample("wrong_frees")
    recorded = record([program, "twice"], check=False, settings={"SAMPLE": "1"})
    text = tool("report", "--errors", recorded.path).stdout
    assert "8 wrong frees in all, of " in text and "freed before" not in text
    assert "Of a sample only frees by the wrong function are seen" in text
    few = record([program], settings={"SAMPLE": "1G"})
    text = tool("report", "--errors", few.path).stdout
    assert "No wrong frees of the blocks that were recorded." in text and "none" not in text


@pytest.mark.parametrize("argument, kind", [("twice", TWICE), ("inside", NEVER), ("stack", NEVER)])
def test_what_glibc_aborts(argument, kind, record, compile_sample, tool):
    """The last thing that the program did is in the recording: with free stacks all of it."""
    program = compile_sample("wrong_frees")
    recorded = record([program, argument], check=False, settings={"FREE_STACKS": "1"})
    assert recorded.returncode == -6, recorded.stderr
    *mismatches, error = errors_of(tool, recorded.path)["errors"]
    assert [found["kind"] for found in mismatches] == [MISMATCH] * 4
    assert names(mismatches[0]["free_stack"])[0] == "free_what_new_made"
    assert error["kind"] == kind and error["count"] == 1 and error["freed_by"] == "free"
    assert names(error["free_stack"])[:2] == ["take", "main"]
    if kind == TWICE:
        assert error["allocated_by"] == "malloc" and error["size"] == 2000
        assert names(error["allocation_stack"])[:2] == ["give", "main"]
        assert names(error["first_free_stack"])[:2] == ["take", "main"]
        assert error["first_free_stack"][1]["line"] + 1 == error["free_stack"][1]["line"]
    elif argument == "inside":
        assert (error["allocated_by"], error["size"], error["offset"]) == ("malloc", 2000, 8)
        assert names(error["allocation_stack"])[:2] == ["give", "main"]
        text = tool("report", "--errors", recorded.path).stdout
        assert "free of an address within a block\n" in text and "(2.00 KB), 8 B behind its" in text
    else:
        assert error["allocated_by"] is error["allocation_stack"] is None


def made(folder, allocator=3, **facts):
    """By default with an allocator that need not abort when it is given a wrong address."""
    return Made(folder, ["main", "give", "take"], allocator=allocator, **facts)


def test_made(tool, tmp_path):
    """Addresses used again, frees in between, by other functions of a pair."""
    recording = made(tmp_path)
    chunk, stack = recording.chunk, ["main", "give"]
    for _ in range(4):
        block = recording.allocate(stack, 50)
        recording.free(block)
        chunk.allocate(MALLOC, recording.tick(), block, 60, change=recording.change(stack))
        recording.free(block)
    recording.free(block)                        # twice; and of the block that was there last
    recording.free(block)
    recording.free(0x1234560)                    # never
    fresh = recording.allocate(stack, 70, op=NEW)
    chunk.free(recording.tick(), fresh, op=DELETE_ARRAY)
    chunk.free(recording.tick(), fresh, op=DELETE)
    report = errors_of(tool, recording.write())
    assert told(report) == [(TWICE, "malloc", "free", 2), (NEVER, None, "free", 1),
                            (MISMATCH, "operator new", "operator delete[]", 1),
                            (TWICE, "operator new", "operator delete", 1)]
    assert report["errors"][0]["size"] == 60
    assert report["errors"][0]["addresses"] == [hex(block)] * 2


@pytest.mark.parametrize("flags, never, twice", [(0, 1, 1), (1, 0, 1), (16, 0, 1)])
def test_inherited_blocks(flags, never, twice, tool, tmp_path):
    """Begun by fork (1) or by a start (16): blocks from before are freed rightly."""
    recording = made(tmp_path, flags=flags, minor=2)
    block = recording.allocate(["main", "give"], 50)
    for address in (0x1234560, block, block):
        recording.free(address)
    report = errors_of(tool, recording.write())
    kinds = [error["kind"] for error in report["errors"]]
    assert (kinds.count(NEVER), kinds.count(TWICE)) == (never, twice)
    assert report["unjudged_frees"] == 1 - never


def test_switched_off(tool, tmp_path):
    """What was allocated while the recording was off is not known: nothing is sure from then on."""
    recording = made(tmp_path, minor=2)
    block = recording.allocate(["main", "give"], 50)
    recording.free(block)
    recording.free(0x1234560)
    recording.chunk.other(OFF, recording.chunk.at(recording.tick()))
    recording.chunk.other(ON, recording.chunk.at(recording.tick()))
    recording.free(block)
    recording.free(0x2234560)
    report = errors_of(tool, recording.write())
    assert told(report) == [(NEVER, None, "free", 1)] and report["unjudged_frees"] == 2
    text = tool("report", "--errors", tmp_path / "made.mallow").stdout
    assert "2 frees of unknown blocks may be right: allocations were not recorded" in text


def test_gaps(tool, tmp_path):
    """Of a recording that lost events no unknown free is called wrong."""
    recording = made(tmp_path, losses=[3] + [0] * 15)
    recording.free(recording.allocate(["main", "give"], 50))
    recording.free(0x1234560)
    report = errors_of(tool, recording.write())
    assert report["errors"] == [] and report["unjudged_frees"] == 1


@pytest.mark.parametrize("allocator, names", [(1, "glibc"), (2, "musl")])
def test_blocks_whose_allocation_was_not_seen(allocator, names, tool, tmp_path):
    """glibc and musl abort on what is not theirs: a thread that goes on freed something right."""
    recording = made(tmp_path, allocator=allocator)
    block = recording.allocate(["main", "give"], 100)
    for address in (0x1234560, block, block, 0x1234560):
        recording.free(address)
    report = errors_of(tool, recording.write())
    assert told(report) == [(NEVER, None, "free", 1)], "the last one only"
    assert report["unjudged_frees"] == 2
    text = tool("report", "--errors", tmp_path / "made.mallow").stdout
    assert "2 frees of unknown blocks may be right: the program went on" in text


def test_exceptions_of_operator_new(record, compile_sample, tool):
    """A bad_alloc is allocated within the operator that throws it, where nothing is recorded."""
    recorded = record([compile_sample("exceptions")], check=False)
    report = errors_of(tool, recorded.path)
    assert report["errors"] == [] and report["unjudged_frees"] == 11


def test_within_blocks(tool, tmp_path):
    """Only a block that was live at that time, and not behind its end."""
    recording, stack = made(tmp_path), ["main", "give"]
    before = recording.allocate(stack, 100)
    recording.free(before + 100)                 # behind the end
    recording.free(before)
    recording.free(before + 16)                  # not live any more
    recording.allocate(["main", "take"], 4000)
    recording.free(recording.heap + 3999)
    recording.free(recording.heap + 5000)
    recording.allocate(stack, 9000)              # not live yet
    errors = errors_of(tool, recording.write())["errors"]
    assert [(error["kind"], error["count"], error["size"], error["offset"]) for error in errors] == [
        (NEVER, 3, None, 0), (NEVER, 1, 4000, 3999)]
    assert names(errors[1]["allocation_stack"])[0] == "take"


def test_other_threads(tool, tmp_path):
    """A free by another thread, and one that comes late, are no errors; the thread is named."""
    recording = made(tmp_path)
    first = recording.allocate(["main", "give"], 50)
    other = ChunkWriter(2, 0, 1000)
    other.other(0x84, 0, 4000001, text=b"other")
    other.free(recording.tick(), first)
    other.free(recording.tick(), first)
    recording.writer.add(other.image())
    report = errors_of(tool, recording.write())
    assert told(report) == [(TWICE, "malloc", "free", 1)]
    assert report["errors"][0]["thread"] == 4000001


def test_top(tool, tmp_path):
    recording = made(tmp_path)
    for op in (FREE, DELETE, DELETE_ARRAY):
        recording.chunk.free(recording.tick(), 0x1234560, op=op)
    path = recording.write()
    assert len(report_json.load(tool("report", "--errors", "--json", "--top", 2, path).stdout)[
        "errors"]) == 2
    assert "… 1 kind more" in tool("report", "--errors", "--top", 2, path).stdout


PROGRAMS = {
    "python3": ["-c", "import json, decimal, ctypes; json.loads(json.dumps([1.5] * 5000))"],
    "perl": ["-e", "my %h; $h{$_} = [$_] for 1 .. 5000"],
    "git": ["-C", "/", "--help"],
    "sqlite3": [":memory:", "create table t(a); insert into t values (1); select * from t;"],
    "bash": ["-c", "for i in 1 2 3; do x=$(echo $i | cat); done"],
    "clang++": ["-x", "c++", "-fsyntax-only", "-include", "map", "/dev/null"],
    "node": ["-e", "let m = new Map(); for (let i = 0; i < 9999; i++) m.set(i, {i})"],
    "gdb": ["-batch", "-ex", "info functions main", "/bin/cat"],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_real_programs_free_rightly(program, record, tool):
    """The loader's, the C library's and the compilers' own frees are none of these errors."""
    path = "/usr/bin/python3" if program == "python3" else need(program)
    recorded = record([path, *PROGRAMS[program]], env={"PYTHONMALLOC": "malloc"})
    for recording in recorded.paths:
        assert told(errors_of(tool, recording)) == [], recording


def test_fits_into_a_terminal(tool, tmp_path):
    """Of a killed program, with as many addresses as are shown, of large blocks by many threads."""
    recording, stack = made(tmp_path, state=0, end_reason=0), ["main", "give"]
    recording.heap = 0x7fffffff0000
    for _ in range(5):
        block = recording.allocate(stack, 1_048_575_000)
        recording.chunk.free(recording.tick(123_456_789), block, op=DELETE)
    block = recording.allocate(stack, 1_048_575_000)
    recording.free(block + 999_999_999)
    for number in range(100):
        recording.free(0x1000 + number)
    text = tool("report", "--errors", recording.write(end=False)).stdout
    assert "106 wrong frees in all, of 3 kinds" in text and "killed" in text
    assert "behind its beginning" in text and max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("wrong", [None, FREE, DELETE])
def test_finished(tool, tmp_path, wrong):
    """Where no free was wrong, the index says so and no event is read; else the blocks tell what was."""
    made = Made(tmp_path, ["main", "work"])
    for _ in range(100):
        block = made.allocate(["main", "work"], 10)
        made.chunk.free(made.tick(), block, op=wrong or FREE)
    if wrong == FREE:
        made.free(block)
    path = made.write()
    report = errors_of(tool, path)
    assert [error["count"] for error in report["errors"]] == {None: [], FREE: [1], DELETE: [100]}[wrong]
    tool("finish", path)
    assert errors_of(tool, path) == report
