"""Libraries that a program opens: how they are bound, how they come and go, and mallow among them."""
import errno
import subprocess

import pytest

import expect
from conftest import clean_environment, flags_to_link
from variants import variant
from faults import numbers_of_calls
from processes import plain_run
from samples import check_sample, run_sample

LIBRARY = ["-shared", "-fPIC"]
WRONG = "No wrong frees"


def library(compile_sample, name, *options, opt="-O1"):
    return compile_sample(name, "gcc", opt, [*LIBRARY, *options])


def linked_with(path):
    return [path, f"-Wl,-rpath,{path.parent}"]


# --- libraries that are bound past what is preloaded ---

@pytest.mark.parametrize("bound", ["now", "lazy"])
@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_deepbind(opt, bound, compile_sample, record, functions_of):
    """Constructors, data, slots that are bound lazily, libraries that are needed, dlsym()."""
    needed = library(compile_sample, "deepbind_needed", f"-Wl,-z,{bound}", opt=opt)
    plugin = library(compile_sample, "deepbind_plugin", f"-Wl,-z,{bound}", *linked_with(needed),
                     opt=opt)
    recorded = run_sample(record, [compile_sample("deepbind", "gcc", opt), plugin, bound])
    assert (recorded.stdout, recorded.stderr) == ("ok\n", "")
    check_sample(recorded, "deepbind", functions_of)
    assert recorded.sums.unknown_frees == 0
    assert WRONG in recorded.tool("report", "--errors", recorded.path).stdout


def test_deepbind_live(compile_sample, mallow):
    needed = library(compile_sample, "deepbind_needed")
    plugin = library(compile_sample, "deepbind_plugin", *linked_with(needed))
    run = subprocess.run([mallow, "live", compile_sample("deepbind", "gcc", "-O1"), plugin, "now"],
                         capture_output=True, text=True, env=clean_environment())
    assert (run.returncode, run.stdout) == (7, "ok\n")
    for function in ("plugin_strings", "plugin_table", "plugin_resizes", "needed_strings",
                     "plugin_gives", "by_handle", "by_next"):
        assert function not in run.stderr, "nothing of it is live"
    assert "begin" in run.stderr


def test_dlsym_on_musl(compile_sample, record):
    """Musl has no RTLD_DEEPBIND; its dlsym() has the C library's handle, too."""
    needed = compile_sample("deepbind_needed", "musl", "-O1", LIBRARY)
    plugin = compile_sample("deepbind_plugin", "musl", "-O1", [*LIBRARY, *linked_with(needed)])
    recorded = run_sample(record, [compile_sample("deepbind", "musl", "-O1"), plugin, "now"])
    assert recorded.sums.unknown_frees == 0
    assert recorded.reader.header.allocator == 2
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_tables_that_cannot_be_changed(compile_sample, record):
    """Said once, and the program runs as ever."""
    needed = library(compile_sample, "deepbind_needed")
    plugin = library(compile_sample, "deepbind_plugin", *linked_with(needed))
    settings = {"TEST_FAIL_CALL": numbers_of_calls()["mprotect"], "TEST_FAIL_AT": 1,
                "TEST_FAIL_COUNT": 1000000, "TEST_FAIL_ERROR": errno.EACCES}
    recorded = run_sample(record, [compile_sample("deepbind", "gcc", "-O1"), plugin, "now"],
                          linked=True, settings=settings, env={"LD_PRELOAD": variant("fail")})
    assert recorded.stdout == "ok\n"
    assert recorded.stderr == ("mallow: calls of libraries that are opened with RTLD_DEEPBIND, and by "
                               "way of dlsym(), are not recorded: the loader's tables cannot be "
                               "changed\n")


@pytest.mark.parametrize("ways", ["nn", "dn", "nd", "dd"])
@pytest.mark.parametrize("host", ["c", "c++"])
def test_operators_across(host, ways, compile_sample, record, functions_of):
    """What one library makes with new the other deletes, whichever of them is bound past us, and
    whether libstdc++ was there from the start or came with them."""
    plugins = [library(compile_sample, "operators_plugin", f"-DNUMBER={number}")
               for number in (1, 2)]
    options = ["-Wl,--no-as-needed", "-lstdc++"] if host == "c++" else []
    recorded = run_sample(record, [compile_sample("operators_across", "gcc", "-O1", options),
                                   *plugins, ways])
    check_sample(recorded, "operators_across", functions_of)
    assert recorded.sums.unknown_frees == 0
    assert WRONG in recorded.tool("report", "--errors", recorded.path).stdout


# --- mallow that is opened itself ---

LATE = ("mallow: libmallow.so was loaded by dlopen(), or behind the C library: it sees none of the "
        "program's calls and records nothing; link the program with it, or use mallow run\n")
WORDS = [[], ["close"], ["global", "close"], ["deepbind", "close"], ["start"],
         ["start", "close"], ["start", "deepbind", "close"], ["start", "global"],
         ["namespace"], ["start", "namespace"]]


@pytest.fixture(scope="session")
def late_plugin(compile_sample, agent):
    return library(compile_sample, "late_plugin", *flags_to_link(agent, "shared"))


@pytest.mark.parametrize("mode", [None, "record", "live"])
@pytest.mark.parametrize("what", ["plugin", "mallow"])
def test_opened_late(what, mode, compile_sample, late_plugin, agent, tmp_path):
    """It stays when it is closed, records nothing, and says so once where somebody asks."""
    program = compile_sample("late", "gcc", "-O1")
    path = late_plugin if what == "plugin" else agent
    for words in WORDS:
        if what == "mallow" and "namespace" in words:
            continue  # alone there, without a C library that would know the environment
        run = subprocess.run([program, path, *words], cwd=tmp_path, capture_output=True, text=True,
                             env=clean_environment({"MALLOW_MODE": mode}))
        uses = 2 if "close" in words else 1
        assert (run.returncode, run.stdout) == (7, "running: 0\n" * uses + "ok\n"), (words, run)
        assert run.stderr == (LATE if mode or "start" in words else ""), words
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["close"], ["start", "deepbind", "close"], ["start", "namespace"]])
def test_opened_late_under_run(words, compile_sample, late_plugin, record):
    """The one that is preloaded records, whatever the library asks for."""
    recorded = run_sample(record, [compile_sample("late", "gcc", "-O1"), late_plugin, *words],
                          bare=False)
    assert "loaded by dlopen" not in recorded.stderr
    running = 0 if "namespace" in words else 1
    assert recorded.stdout.startswith(f"running: {running}\n")
    recorded.assert_sound()
    assert recorded.sums.calls >= 4000
    assert recorded.sums.unknown_frees == 0


def test_opened_late_on_musl(compile_sample, agent):
    """Musl opens no library that was not loaded with the program and has such thread-local data."""
    plugin = compile_sample("late_plugin", "musl", "-O1", [*LIBRARY, *flags_to_link(agent, "shared")])
    needed = compile_sample("deepbind_needed", "musl", "-O1", LIBRARY)
    program = compile_sample("deepbind", "musl", "-O1")
    run = plain_run(program, plugin, "now")
    assert run.returncode and "initial-exec TLS" in run.stderr
    assert plain_run(program, needed, "now").returncode


# --- at random ---

SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 40))]


@pytest.fixture(scope="session")
def random_libraries(compile_sample, agent):
    """Six, of which two are linked with mallow, two are bound lazily, one needs another."""
    options = [[], ["-Wl,-z,lazy"], ["-Wl,-z,now"], flags_to_link(agent, "shared"),
               ["-Wl,-z,lazy", *flags_to_link(agent, "shared")]]
    paths = [library(compile_sample, "load_random_library", f"-DNUMBER={number}", *extra)
             for number, extra in enumerate(options, 100)]
    paths.append(library(compile_sample, "load_random_library", "-DNUMBER=200",
                         "-Wl,--no-as-needed", *linked_with(paths[0])))
    return paths


@pytest.mark.parametrize("seed", SEEDS)
def test_random(seed, compile_sample, random_libraries, record, functions_of):
    """Opened in all ways and closed, blocks made by one and freed by another: each is recorded."""
    program = compile_sample("load_random", "gcc", "-O1")
    recorded = run_sample(record, [program, seed, *random_libraries])
    recorded.assert_sound()
    assert recorded.stderr == ""
    count, size = map(int, recorded.stdout.split())
    made = expect.by_function(recorded.sums, functions_of)["make"]
    assert (made.calls, made.total_bytes, made.leaked_blocks) == (count, size, 0)
    assert (recorded.sums.unknown_frees, recorded.sums.implicit_frees) == (0, 0)
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert WRONG in recorded.tool("report", "--errors", recorded.path).stdout


@pytest.mark.parametrize("seed", SEEDS)
def test_random_without(seed, compile_sample, random_libraries, tmp_path):
    """The same where nothing is preloaded, and in the live mode of one that is."""
    program = compile_sample("load_random", "gcc", "-O1")
    for variables in ({}, {"MALLOW_MODE": "record"}, {"MALLOW_MODE": "live"}):
        run = subprocess.run([program, str(seed), *random_libraries], cwd=tmp_path, text=True,
                             capture_output=True, env=clean_environment(variables))
        assert run.returncode == 7, run.stderr
        assert run.stderr == (LATE if variables else "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", SEEDS)
def test_random_live(seed, compile_sample, random_libraries, mallow):
    program = compile_sample("load_random", "gcc", "-O1")
    run = subprocess.run([mallow, "live", program, str(seed), *random_libraries], text=True,
                         capture_output=True, env=clean_environment())
    assert run.returncode == 7, run.stderr
    assert " make " not in run.stderr and "library_takes" not in run.stderr


# --- the kernel's own library ---

@pytest.fixture(scope="session")
def plugin(compile_sample):
    return library(compile_sample, "plugin")


@pytest.mark.parametrize("how", ["munmap", "mremap", "syscall", "mmap"])
def test_unmapped_vdso(how, compile_sample, plugin, record, mallow, functions_of):
    """Its clock is not called any more, its symbols are not read."""
    program = compile_sample("unmapped_vdso", "gcc", "-O1")
    assert plain_run(program, how, plugin).returncode == 7
    recorded = run_sample(record, [program, how, plugin], bare=False)
    assert recorded.stdout == "ok\n"
    check_sample(recorded, "unmapped_vdso", functions_of)
    live = subprocess.run([mallow, "live", program, how, plugin], capture_output=True, text=True,
                          env=clean_environment())
    assert (live.returncode, live.stdout) == (7, "ok\n")
