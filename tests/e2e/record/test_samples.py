"""Sample programs that state what a correct recording of them holds: tests/samples."""
import json
import subprocess

import pytest

import expect
import mallow_reader
import mallow_sums
from cells import MATRIX, matrix
from conftest import ARCH, EMULATED, GUEST, WORD, clean_environment
from samples import assert_own_files_untouched, check_report, check_sample, limit_descriptors, run_sample

# Programs that need no argument and nothing around them.
SIMPLE = ["c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain", "hand_over",
          "alone_and_together", "deep", "own_pieces",
          "life_cycle", "thread_local", "exceptions", "without_tables"]
# Programs linked to an allocator of their own, which calls them back from within malloc.
INNER = ["longjmp", "signal_handler", "fiber"]


# Under an emulator: its clock counts microseconds, so that two threads' events have one time; the memory
# of the process is its own, too.
NOT_EMULATED = ["alone_and_together", "hand_over"] if EMULATED and not GUEST else []
# One program has x86-64's code. The kernel of MIPS has one processor, on which threads that wait for one another
# take minutes.
NOT_THERE = [*(["without_tables"] if ARCH else []), *(["alone_and_together"] if ARCH == "mips64el" else [])]


@pytest.mark.parametrize("name,compiler,opt", matrix([name for name in SIMPLE if name not in NOT_EMULATED + NOT_THERE]))
def test_simple(name, compiler, opt, compile_sample, record, functions_of, reads):
    recorded = run_sample(record, [compile_sample(name, compiler, opt)])
    assert recorded.stdout == "ok\n" and recorded.stderr == ""
    check_report(recorded, name, "GLIBC")
    if reads or opt == "-O2":
        check_sample(recorded, name, functions_of, "GLIBC")


@pytest.mark.parametrize("name", ["c_family", "realloc_chain", "hand_over", "life_cycle"])
def test_musl(name, compile_sample, record, functions_of):
    """The agent needs no library, so it loads into programs of another C library."""
    recorded = run_sample(record, [compile_sample(name, "musl", "-O2")])
    assert recorded.reader.header.allocator == 2
    wanted = expect.expectations(name)
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("name,compiler,opt", matrix(INNER))
def test_inside_the_allocator(name, compiler, opt, compile_sample, inner_allocator, record,
                              functions_of):
    """Signals, longjmp and fiber switches in the middle of malloc."""
    program = compile_sample(name, compiler, opt, [*inner_allocator, *(["-DTICK_US=5000"] if EMULATED else [])])
    recorded = run_sample(record, [program])
    wanted = expect.expectations(name)
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    losses = recorded.reader.header.losses
    assert losses["broken_stacks"] == 0, losses
    assert sum(losses.values()) == losses["interrupted"], losses
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("compiler,opt", MATRIX)
def test_plugin(compiler, opt, compile_sample, record, functions_of):
    """A C program with a C++ plugin loaded RTLD_LOCAL: the next operator new is out of reach."""
    plugin = compile_sample("plugin", compiler, opt, ["-shared", "-fPIC"])
    recorded = run_sample(record, [compile_sample("plugin_host", compiler, opt), plugin])
    check_sample(recorded, "plugin_host", functions_of)


@pytest.mark.parametrize("compiler,opt", MATRIX)
def test_reload_at_the_same_address(compiler, opt, compile_sample, record, functions_of):
    libraries = [compile_sample(name, compiler, opt, ["-shared", "-fPIC"])
                 for name in ("reload_alpha", "reload_beta")]
    recorded = run_sample(record, [compile_sample("reload", compiler, opt), *libraries])
    if recorded.stdout != "same address\n":
        pytest.skip("the loader did not use the same address again")
    check_sample(recorded, "reload", functions_of)


@pytest.mark.parametrize("way", ["close", "close_range", "closefrom", "dup2"])
def test_close_all(way, compile_sample, record, functions_of, tmp_path):
    """Descriptors closed through the C library: the agent keeps its own."""
    files = tmp_path / "files"
    files.mkdir()
    recorded = run_sample(record, [compile_sample("close_all", "gcc", "-O2"), way, files],
                          preexec_fn=limit_descriptors)
    check_sample(recorded, "close_all", functions_of)
    assert_own_files_untouched(files)


@pytest.mark.parametrize("way", ["raw_close", "raw_close_range"])
def test_close_all_behind_the_back(way, compile_sample, record, functions_of, tmp_path):
    """Descriptors closed by raw system calls and taken over: the agent notices and reopens."""
    files = tmp_path / "files"
    files.mkdir()
    recorded = run_sample(record, [compile_sample("close_all", "gcc", "-O2"), way, files],
                          preexec_fn=limit_descriptors)
    check_sample(recorded, "close_all", functions_of)
    assert_own_files_untouched(files)


@pytest.mark.native("memory is not wiped at fork")
@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_fork_with_threads(opt, compile_sample, record, functions_of):
    recorded = run_sample(record, [compile_sample("fork_threads", "gcc", opt)])
    recorded.assert_sound()
    expect.check(expect.expectations("fork_threads"),
                 expect.by_function(recorded.sums, functions_of))
    wanted = expect.expectations("fork_threads", "CHILD", "ONLY")
    assert len(recorded.paths) == 6
    ids = {recorded.reader.header.id}
    for path, child in zip(recorded.paths[1:], recorded.readers[1:]):
        sums = mallow_sums.Sums(child)
        expect.check(wanted, expect.by_function(sums, functions_of))
        assert sums.unknown_frees == 1, "the inherited block"
        assert child.header.begun_by_fork
        assert child.header.parent_id == recorded.reader.header.id
        assert child.header.parent_pid == recorded.reader.header.pid
        assert child.header.id not in ids
        ids.add(child.header.id)
        recorded.tool.assert_equal_sums(path, sums)
    forks = {fact["child"] for fact in recorded.reader.facts if fact["kind"] == "fork"}
    assert forks == {child.header.pid for child in recorded.readers[1:]}


@pytest.mark.native("the kernel starts no program of another architecture")
def test_exec_chain(compile_sample, record, functions_of):
    """Images that replace each other, half of them with an emptied environment."""
    recorded = run_sample(record, [compile_sample("exec_chain"), 5])
    assert recorded.stdout == "ok\n"
    recorded.assert_sound()
    readers = {len([e for e in reader.events if e.op == 1 and e.size == 100]): reader
               for reader in recorded.readers}
    assert sorted(readers) == [0, 1, 2, 3, 4, 5]
    assert len({reader.header.pid for reader in recorded.readers}) == 1, "exec keeps the pid"
    for number in range(5):
        assert readers[number].header.parent_id == readers[number + 1].header.id
        assert readers[number + 1].header.end_reason == 3
        assert any(fact["kind"] == "exec" for fact in readers[number + 1].facts)
    assert (readers[0].header.end_reason, readers[0].header.end_status) == (1, 7)


def test_no_token_is_carried(mallow, tmp_path):
    """Settings go on into an emptied environment; the secret of a server does not."""
    run = subprocess.run(
        [mallow, "run", "-o", tmp_path / "r.mallow", "python3", "-c",
         "import os; os.execve('/usr/bin/env', ['env'], {})"], capture_output=True, text=True,
        env=clean_environment({"MALLOW_TOKEN": "s3cret", "MALLOW_DEPTH": "77"}), timeout=60)
    assert run.returncode == 0 and "MALLOW_DEPTH=77\n" in run.stdout
    assert "s3cret" not in run.stdout


@pytest.mark.native("the kernel starts no program of another architecture")
def test_do_not_follow(compile_sample, record):
    recorded = run_sample(record, [compile_sample("spawn"), compile_sample("exec_chain")],
                          settings={"FOLLOW": 0})
    assert len(recorded.paths) == 1
    assert "without the library" in recorded.stdout


@pytest.mark.native("the kernel starts no program of another architecture")
@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_other_ways_to_start(opt, compile_sample, record, functions_of):
    """vfork, posix_spawn, system, popen: the parent's recording is whole, each child has its own."""
    recorded = run_sample(record, [compile_sample("spawn", "gcc", opt), compile_sample("exec_chain")],
                          bare=False)
    assert recorded.stdout == "ok\nok\nok\n"
    check_sample(recorded, "spawn", functions_of)
    programs = [reader.process.get(1, "").rsplit("/", 1)[-1] for reader in recorded.readers]
    assert programs.count("exec_chain") == 2
    assert len(recorded.paths) >= 5, programs
    for reader in recorded.readers[1:]:
        assert reader.header.parent_id == recorded.reader.header.id


def test_thread_names(compile_sample, record):
    recorded = run_sample(record, [compile_sample("names")])
    recorded.assert_sound()
    names = sorted(stream.name for stream in recorded.reader.threads.values())
    assert names == ["by-prctl", "by-pthread", "second-name", "the-main-one"]
    tids = {stream.tid for stream in recorded.reader.threads.values()}
    assert len(tids) == 4 and recorded.reader.header.pid in tids


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_mappings(opt, compile_sample, record, functions_of):
    """mmap and its relatives, brk and mallopt, in order, with all arguments and their stacks."""
    recorded = run_sample(record, [compile_sample("mappings", "gcc", opt)])
    recorded.assert_sound()
    wanted = [json.loads(line) for line in recorded.stdout.splitlines()]
    program = str(compile_sample("mappings", "gcc", opt))
    functions = {"mmap": "map", "munmap": "map", "mremap": "map", "brk": "move_break",
                 "mallopt": "tune"}
    actual = []
    for fact in recorded.reader.facts:
        if fact["kind"] not in functions or fact.get("length", 1) > 1 << 20:
            continue
        names = [functions_of(module["path"]).at(pc - 1 - module["bias"])
                 for pc, identity in recorded.reader.stack(fact["node"])
                 for module in [recorded.reader.modules[identity]] if module["path"] == program]
        if names and names[0] == functions[fact["kind"]]:
            actual.append(fact)
    assert len(actual) == len(wanted)
    for fact, expected in zip(actual, wanted):
        assert {key: fact[key] for key in expected} == expected


@pytest.mark.parametrize("how", ["nothing", "chroot", "cwd_removed", "setuid"])
def test_changed_surroundings(how, compile_sample, record, functions_of, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    recorded = run_sample(record, [compile_sample("confined", "gcc", "-O2"), how, folder])
    assert recorded.stdout == "begin\nok\n" and recorded.stderr == ""
    check_sample(recorded, "confined", functions_of)


@pytest.mark.native("filters are not there")
def test_seccomp_filter(compile_sample, record, functions_of, tmp_path):
    """A filter that kills for any unexpected system call: what fits the prepared space is there."""
    recorded = run_sample(record, [compile_sample("confined", "gcc", "-O2"), "seccomp", tmp_path])
    assert recorded.stdout == "begin\nok\n"
    found = expect.by_function(recorded.sums, functions_of)
    assert found["before"].calls == 1000
    lost = recorded.reader.header.losses["window_full"]
    assert found["after"].calls + lost >= 20000
    assert found["after"].calls > 1000, "nothing was recorded behind the filter"
    assert recorded.reader.dangling() == ([], [])


@pytest.mark.skipif(ARCH not in ("mips64el", "armhf"), reason="code without tables is not read there")
@pytest.mark.native("filters are not there")
def test_nothing_is_read_behind_a_filter(compile_sample, record, tmp_path):
    """Reading takes a system call for its memory, by which the program would be killed."""
    program = compile_sample("confined", "gcc", "-O2", ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"])
    recorded = record([program, "seccomp", tmp_path], check=False)
    assert (recorded.returncode, recorded.stdout) == (7, "begin\nok\n")
    reader = recorded.reader
    assert not reader.damages and reader.dangling() == ([], [])
    assert reader.header.losses["broken_stacks"] > 0


def test_file_size_limit(compile_sample, record, functions_of, tmp_path):
    """The kernel refuses to let the file grow and would kill by SIGXFSZ: the program notices none
    of it, the losses are counted, and one line on stderr says so."""
    recorded = run_sample(record, [compile_sample("confined", "gcc", "-O2"), "file_size", tmp_path])
    assert recorded.stdout == "begin\nok\n"
    assert len(recorded.stderr.splitlines()) == 1 and "mallow" in recorded.stderr
    found = expect.by_function(recorded.sums, functions_of)
    assert found["before"].calls == 1000
    assert recorded.reader.header.losses["write_failed"] >= 20000 - found["after"].calls > 0


def test_unwritable_directory(compile_sample, record, tmp_path):
    """Nowhere to write: the program runs as ever, and one line on stderr says why."""
    recorded = run_sample(record, [compile_sample("c_family")],
                          settings={"OUTPUT": "/proc/nowhere/r.mallow"})
    assert recorded.stdout == "ok\n"
    assert len(recorded.stderr.splitlines()) == 1
    assert "/proc/nowhere" in recorded.stderr and recorded.paths == []


def test_existing_name_is_kept(compile_sample, record, tmp_path):
    """A recording never overwrites a file: the next free NAME.N is taken."""
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "r.mallow").write_text("precious")
    run_sample(record, [compile_sample("c_family")], folder=folder)
    assert (folder / "r.mallow").read_text() == "precious"
    others = [path for path in folder.iterdir() if path.name != "r.mallow"]
    assert len(others) == 1
    assert mallow_reader.read(others[0]).header.ended
    assert others[0].stat().st_mode & 0o777 == 0o600


def test_depth(compile_sample, record):
    """A limit on frames is kept, marked in the stack, and counted."""
    recorded = run_sample(record, [compile_sample("deep", "gcc", "-O0")], settings={"DEPTH": 100})
    stacks = [recorded.reader.stack(event.node) for event in recorded.reader.events
              if event.op == 1]
    deep = [stack for stack in stacks if len(stack) >= 100]
    assert len(deep) == 39, "all but the first and the last of descend()"
    for stack in deep:
        assert len(stack) <= 101 and stack[-1] == (mallow_reader.PC_TRUNCATED, 0)
    assert recorded.reader.header.losses["truncated_stacks"] == 39


def test_cut_stacks(compile_sample, record):
    """A stack that is cut begins at the same frame for a while: its events are small, its site is
    the same on the way back."""
    recorded = run_sample(record, [compile_sample("cut_stacks", "gcc", "-O1")],
                          settings={"DEPTH": 1024})
    reader = recorded.reader
    stacks = [reader.stack(event.node) for event in reader.events
              if event.op == 1 and event.size == 100]
    cut = [stack for stack in stacks if stack[-1] == (mallow_reader.PC_TRUNCATED, 0)]
    assert len(cut) > 3900 and reader.header.losses["truncated_stacks"] == len(cut)
    assert all(1024 - 128 < len(stack) - 1 <= 1024 for stack in cut)
    assert len({len(stack) for stack in cut}) == 128
    for down, back in zip(stacks, reversed(stacks)):
        assert down[1:] == back[1:]
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert recorded.path.stat().st_size < 1_000_000


@pytest.mark.skipif(ARCH is not None, reason="this kernel starts no program of another architecture")
@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_marks(opt, compile_sample, record, functions_of):
    """mallow_mark() names moments; without the library it does nothing."""
    program = compile_sample("marks", "gcc", opt)
    assert subprocess.run([program], capture_output=True, env=clean_environment()).returncode == 7
    recorded = run_sample(record, [program])
    check_sample(recorded, "marks", functions_of)
    marks = [(fact["time"], fact["name"]) for fact in recorded.reader.facts
             if fact["kind"] == "mark"]
    assert [name for _, name in marks] == ["begin", "round 0", "round 1", "round 2", ""]
    assert marks == sorted(marks)


def test_frames_that_threads_meet_at_once(compile_sample, record, functions_of):
    """Each is defined once: of two ids a reader makes one by reading all events again."""
    recorded = run_sample(record, [compile_sample("met_at_once", "gcc", "-O2")])
    check_sample(recorded, "met_at_once", functions_of)
    frames = list(recorded.reader.frames.values())
    assert len(frames) > 256 and len(frames) == len(set(frames))


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_threads_that_never_allocate(opt, compile_sample, record, functions_of):
    recorded = run_sample(record, [compile_sample("idle_threads", "gcc", opt)])
    check_sample(recorded, "idle_threads", functions_of)
    tids = {stream.tid for stream in recorded.reader.threads.values()}
    assert len(tids) == 5 and recorded.info_json["threads"] == 5
    modules = recorded.reader.modules
    on_stacks = {modules[module]["path"].rsplit("/", 1)[-1] for _, module in recorded.reader.frames.values() if module}
    assert "libc.so.6" in on_stacks and "libmallow.so" not in on_stacks


def test_usable_size_of_reallocs(compile_sample, record):
    """What glibc's header says, as for a malloc: never less than was asked for, seldom just that."""
    recorded = record([compile_sample("realloc_chain", "gcc", "-O2")], check=False)
    grown = [event for event in recorded.reader.events
             if isinstance(event, mallow_reader.Alloc) and event.op in (18, 19)]
    assert len(grown) > 900
    # Behind a header of a word; of one's own mapping, of two.
    assert all(event.usable % (2 * WORD) == (0 if event.flags & 1 else WORD) and event.usable >= event.size
               for event in grown)
