"""Situations that break profilers: stacks, code that comes and goes, allocators of all kinds."""
import itertools
import os
import pathlib
import re
import subprocess

import pytest

import expect
import mallow_reader
import mallow_sums
from cells import MATRIX, matrix
from conftest import names_of_stack, need
from processes import plain_run
from samples import check_sample, run_sample
from variants import run_with, variant


@pytest.mark.parametrize("name,compiler,opt", matrix(["stack_shapes", "fast_fiber"]))
def test_stacks(name, compiler, opt, compile_sample, record, functions_of):
    """Frames and stacks of every shape; the program prints what its own backtrace() finds."""
    program = compile_sample(name, compiler, opt)
    recorded = run_sample(record, [program])
    assert recorded.stdout == plain_run(program).stdout
    check_sample(recorded, name, functions_of)


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_registered_code(opt, compile_sample, record, functions_of):
    """Exceptions pass through code that registered its tables, and are caught as ever."""
    recorded = run_sample(record, [compile_sample("registered_code", "gcc", opt)])
    assert recorded.stdout == "ok\n"
    reader = recorded.reader
    assert not reader.damages and reader.dangling() == ([], [])
    losses = reader.header.losses
    assert sum(losses.values()) == losses["broken_stacks"], losses
    expect.check(expect.expectations("registered_code"),
                 expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def only_broken_stacks(recorded):
    """Nothing else is lost, and nothing is damaged. How many stacks are broken."""
    reader = recorded.reader
    assert not reader.damages and reader.dangling() == ([], [])
    losses = reader.header.losses
    assert sum(losses.values()) == losses["broken_stacks"], losses
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    return losses["broken_stacks"]


@pytest.mark.parametrize("seed,compiler,opt", matrix(range(3)))
def test_hidden_stack(seed, compiler, opt, compile_sample, record, functions_of):
    """Pages of the stack come and go: a stack is whole or ends at one, and nothing is read there."""
    recorded = run_sample(record, [compile_sample("hidden_stack", compiler, opt), str(seed)])
    whole, hidden = map(int, recorded.stdout.split())
    assert 0 < only_broken_stacks(recorded) <= hidden
    found = expect.by_function(recorded.sums, functions_of)
    assert found["allocate_open"].calls == whole and found["allocate_hidden"].calls == hidden
    frames = {"allocate_open", "allocate_hidden", "allocate", "act", "act_without", "level", "run"}
    for stack in recorded.sums.sites:
        names = names_of_stack(recorded.reader, stack, functions_of)
        if names[0] not in ("allocate_open", "allocate_hidden"):
            continue
        broken = stack[-1] == (mallow_reader.PC_BROKEN, 0)
        ours = list(itertools.takewhile(frames.__contains__, names))
        assert ours == names[:-1] if broken else ours[-1] == "run", names
        assert names[0] == "allocate_hidden" or not broken, names


PLACES = {"record": {}, "private": {"SLOTS": "private"}, "cull": {"CULL": "10ms"},
          "live": {"MODE": "live", "HELPER": "/bin/true"}}


@pytest.mark.parametrize("mode", PLACES)
def test_holes(mode, compile_sample, record, functions_of):
    """Nothing of ours lies where the program has just unmapped something, or where its stack grows to."""
    program = compile_sample("holes")
    recorded = run_sample(record, [program], settings=PLACES[mode])
    assert recorded.stdout == "ok\n" and "hole" not in recorded.stderr
    if mode == "record":
        recorded.assert_sound()
        found = expect.by_function(recorded.sums, functions_of)
        expect.check(expect.expectations("holes"), found)
    grown = run_sample(record, [program, "grows"], settings=PLACES[mode])
    assert grown.stdout == "ok\n"


@pytest.mark.parametrize("compiler,opt", MATRIX)
def test_switched_stack(compiler, opt, compile_sample, record, functions_of):
    """What the tables say to be beyond the end of a stack is not read; across stacks it may go on."""
    recorded = run_sample(record, [compile_sample("switched_stack", compiler, opt)])
    broken = only_broken_stacks(recorded)
    found = expect.by_function(recorded.sums, functions_of)
    expect.check(expect.expectations("switched_stack"), found)
    if opt == "-O0":
        assert broken == 0 and found["main"].calls == 500
    else:
        assert broken == 500


@pytest.mark.parametrize("name,compiler,opt", matrix(["deep", "without_tables"]))
def test_tables_without_a_header(name, compiler, opt, compile_sample, record, functions_of):
    """ld --no-eh-frame-hdr: the tables are found by the file's sections."""
    program = compile_sample(name, compiler, opt, ["-Wl,--no-eh-frame-hdr"])
    assert "EH_FRAME" not in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True,
                                            check=True).stdout
    check_sample(run_sample(record, [program]), name, functions_of)


def test_library_without_a_header(compile_sample, record, functions_of):
    """Loaded and unloaded again and again, another one at the same address."""
    libraries = [compile_sample(name, "gcc", "-O2", ["-shared", "-fPIC", "-Wl,--no-eh-frame-hdr"])
                 for name in ("reload_alpha", "reload_beta")]
    recorded = run_sample(record, [compile_sample("reload", "gcc", "-O2"), *libraries])
    check_sample(recorded, "reload", functions_of)


def test_frame_pointers_that_are_none(compile_sample, record, functions_of):
    """Code without tables uses the register otherwise: the stack ends there, whatever it leads to."""
    recorded = run_sample(record, [compile_sample("without_tables", "gcc", "-O2"), "garbage"])
    assert only_broken_stacks(recorded) == 11
    found = expect.by_function(recorded.sums, functions_of)
    assert found["allocate"].calls == 11 and not found["garbage"].calls


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_load_storm(opt, compile_sample, record, functions_of):
    """Libraries loaded and unloaded by four threads at once: every frame names the right one."""
    libraries = [compile_sample(name, "gcc", opt, ["-shared", "-fPIC"])
                 for name in ("reload_alpha", "reload_beta")]
    recorded = run_sample(record, [compile_sample("load_storm", "gcc", opt), *libraries])
    assert recorded.stdout == "ok\n"
    check_sample(recorded, "load_storm", functions_of)


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_realloc_races(opt, compile_sample, record, functions_of):
    recorded = run_sample(record, [compile_sample("realloc_races", "gcc", opt)])
    assert recorded.stdout == "ok\n"
    check_sample(recorded, "realloc_races", functions_of)


def test_questions_to_the_allocator(compile_sample, record, functions_of):
    """malloc_usable_size, mallinfo, malloc_trim, errno of every failure: as without the agent."""
    program = compile_sample("allocator_questions", "gcc", "-O1")
    recorded = run_sample(record, [program])
    assert recorded.stdout == plain_run(program).stdout
    check_sample(recorded, "allocator_questions", functions_of)


# What links to it, where Debian has it as a library to preload, and the archive.
ALLOCATORS = {
    "jemalloc": ("-ljemalloc", "libjemalloc.so.2", "libjemalloc.a"),
    "tcmalloc": ("-ltcmalloc_minimal", "libtcmalloc_minimal.so.4", "libtcmalloc_minimal.a"),
    "mimalloc": ("-lmimalloc", "libmimalloc.so.2", "libmimalloc.a"),
}
PORTABLE = ["c_family", "cpp_operators", "realloc_races", "fork_threads", "thread_local"]


def library(name):
    """The path of a file where the linker finds it, or the test is skipped and says so."""
    found = subprocess.run([need("gcc"), f"-print-file-name={name}"], capture_output=True,
                           text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"{name} is not installed")
    return pathlib.Path(found).resolve()


GLIBC, MUSL = 1, 2


def check_allocator(recorded, name, functions_of):
    """Everything is recorded, whatever manages the memory behind."""
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
        assert reader.header.lost == 0, reader.header.losses
    assert recorded.reader.header.allocator not in (GLIBC, MUSL)
    expect.check(expect.expectations(name), expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("allocator,name", itertools.product(ALLOCATORS, PORTABLE))
def test_preloaded_allocator(allocator, name, compile_sample, agent, record, functions_of):
    """Another allocator preloaded behind the agent."""
    preload = f"{agent}:{library(ALLOCATORS[allocator][1])}"
    program = compile_sample(name, "gcc", "-O1")
    plain = plain_run(program, env={"LD_PRELOAD": preload.split(":")[1]})
    if plain.returncode != 7:
        pytest.skip(f"{allocator} alone: {plain.stderr}")
    recorded = run_sample(record, ["/usr/bin/env", f"LD_PRELOAD={preload}", program])
    main = [reader for reader in recorded.readers if reader.process.get(1, "").endswith(name)]
    assert main
    sums = mallow_sums.Sums(next(r for r in main if not r.header.begun_by_fork))
    assert sums.recording.header.allocator not in (GLIBC, MUSL)
    expect.check(expect.expectations(name), expect.by_function(sums, functions_of))


@pytest.mark.parametrize("allocator,name", itertools.product(ALLOCATORS, PORTABLE))
def test_linked_allocator(allocator, name, compile_sample, record, functions_of):
    option = ALLOCATORS[allocator][0]
    library(f"lib{option[2:]}.so")
    program = compile_sample(name, "gcc", "-O1", ["-Wl,--no-as-needed", option])
    plain = plain_run(program)
    if plain.returncode != 7:
        pytest.skip(f"{allocator} alone: {plain.stderr}")
    recorded = run_sample(record, [program])
    check_allocator(recorded, name, functions_of)


def is_without_hooks(line):
    """Whether ours is theirs but for one or two frames: hooks that call the C library, which
    allocates (pthread_create, quick_exit), are on the real stack, and we leave them out."""
    ours, theirs = (words.split() for words in line.split(" ours ")[1].split(" theirs "))
    rest = iter(theirs)
    return all(pc in rest for pc in ours) and 0 < len(theirs) - len(ours) <= 2


@pytest.mark.parametrize("name", ["stack_shapes", "fast_fiber", "exceptions", "thread_local",
                                  "realloc_races", "registered_code"])
def test_stacks_compared(name, compile_sample, tmp_path):
    """Every stack of these programs is the one that libgcc finds, and the cache's are those of a
    walk that remembers nothing. (libunwind has its own mind about the frame that a signal hit.)"""
    program = compile_sample(name, "gcc", "-O2")
    run, lines = run_with(variant("compare"), [program], tmp_path, "MALLOW_TEST_COMPARE_LOG",
                          MALLOW_TEST_COMPARE_EVERY=1)
    assert run.returncode == 7, run.stderr
    differences = [line for line in lines
                   if line.startswith("differs libgcc") and not is_without_hooks(line)]
    assert not differences, "\n".join(differences[:20])
    totals = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines
              if line.startswith("compared")]
    assert totals and all(int(total["cache_differs"]) == 0 for total in totals)
    assert sum(int(total["stacks"]) for total in totals) > 10
