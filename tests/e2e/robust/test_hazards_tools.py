"""Other tools around a recorded program: debuggers, core dumps, sanitizers, mallow itself."""
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest

from conftest import clean_environment, need
from processes import wait_for
from processes import assert_holds, start_steady


class Steady:
    """A program that allocates in four threads. What it reports is counted all the time, so that what
    is done to it finds it anywhere, and not waiting for a reader."""

    def __init__(self, program, environment, path):
        self.process, self.pipe = start_steady(program, 4, environment)
        self.path, self.done = path, 0
        self.counter = threading.Thread(target=self.count)
        self.counter.start()

    def count(self):
        while data := os.read(self.pipe, 65536):
            self.done += len(data)

    def go_on(self):
        """Until it has reported a thousand more, however long that takes."""
        before = self.done
        wait_for(lambda: self.done >= before + 1000, step=0.001)

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.counter.join()

    def check(self, tool):
        """It goes on, and after its end everything that it reported is recorded."""
        self.go_on()
        self.kill()
        tool.assert_equal_sums(self.path, assert_holds(self.path, self.done))


@pytest.fixture
def steady(compile_sample, preload, tmp_path):
    path = tmp_path / "r.mallow"
    steady = Steady(str(compile_sample("steady", "gcc", "-O2")), preload(OUTPUT=path), path)
    yield steady
    steady.kill()
    os.close(steady.pipe)


def look_at(steady, command):
    """Runs a debugger on it, wherever it is now. Meanwhile it is stopped, lest it record so much that
    the check takes long; the debugger finds each thread where the signal found it."""
    steady.stop()
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                         timeout=100, stdin=subprocess.DEVNULL, env=clean_environment())
    steady.resume()
    return run


def test_gcore(steady, tool, tmp_path):
    """A core dump of the running program: it goes on, and so does its recording."""
    need("gcore")
    steady.go_on()
    pid = steady.process.pid
    run = look_at(steady, ["gcore", "-o", tmp_path / "core", pid])
    assert (tmp_path / f"core.{pid}").exists(), run.stderr
    steady.check(tool)


# One program; the others with --long.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 13))]


@pytest.mark.parametrize("seed", SEEDS)
def test_gdb_attached(seed, steady, tool):
    """A debugger attaches at some moment, its first ones too, looks at every thread's stack, goes."""
    need("gdb")
    moments = random.Random(seed)
    for _ in range(5):
        time.sleep(moments.uniform(0, 0.004))
        run = look_at(steady, ["gdb", "-nx", "-q", "-batch", "-p", steady.process.pid, "-ex",
                               "thread apply all bt 5", "-ex", "detach"])
        assert "#0 " in run.stdout, run.stderr
    steady.check(tool)


@pytest.mark.parametrize("seed", SEEDS)
def test_stopped_and_continued(seed, steady, tool):
    """SIGSTOP and SIGCONT at ten random moments."""
    moments = random.Random(seed)
    for _ in range(10):
        time.sleep(moments.uniform(0, 0.004))
        steady.stop()
        time.sleep(moments.uniform(0, 0.002))
        steady.resume()
    steady.check(tool)


def test_mallow_under_mallow(mallow, record, compile_sample):
    """The analysis tool itself is recorded, while it reads a recording."""
    inner = record([compile_sample("hand_over", "gcc", "-O1")], check=False)
    command = [mallow, "report", "--json", inner.path]
    plain = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
    outer = record(command)
    assert outer.stdout == plain.stdout and len(plain.stdout) > 1000
    assert outer.stderr == plain.stderr
    outer.assert_sound()
    outer.tool.assert_equal_sums(outer.path, outer.sums)
    assert outer.sums.calls > 100


def test_run_under_run(mallow, record):
    """`mallow run` of `mallow run`: both have a summary, the program its status."""
    recorded = record([mallow, "run", "/bin/sh", "-c", "echo hello; exit 3"], bare=False,
                      check=False)
    assert (recorded.returncode, recorded.stdout) == (3, "hello\n")
    for reader in recorded.readers:
        assert not reader.damages and reader.dangling() == ([], [])


def test_go(mallow, tmp_path):
    """Go programs are linked statically: said in one line, nothing is started."""
    need("go")
    go = os.path.realpath(need("go"))
    run = subprocess.run([mallow, "run", go, "version"], capture_output=True, text=True,
                         cwd=tmp_path, env=clean_environment())
    if "go version" in run.stdout:
        pytest.skip("this go is linked dynamically")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (f"mallow: cannot profile '{go}': it is statically linked: no library "
                          "can be preloaded into it, but libmallow.a can be linked with it "
                          "(docs/linking.md)\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("archive", ["libjemalloc.a", "libmimalloc.a"])
def test_static_allocator(archive, compile_sample, record, functions_of):
    """An allocator linked into the program comes before any preloaded library, for everybody: without
    patches none of its calls can be seen. The program runs as ever, the recording says zero, not
    garbage, and the summary why."""
    found = subprocess.run([need("gcc"), f"-print-file-name={archive}"], capture_output=True,
                           text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"{archive} is not installed")
    program = compile_sample("c_family", "gcc", "-O1",
                             ["-Wl,--whole-archive", found, "-Wl,--no-whole-archive", "-lm",
                              "-lstdc++"])
    recorded = record([program], bare=False, check=False, settings={"PATCH": "off"})
    assert recorded.returncode == 7, recorded.stderr
    assert recorded.stdout == "ok\n"
    recorded.assert_sound()
    assert "  ! the program defines malloc itself" in recorded.stderr


# What a program calls in place of malloc, and whose that is; none of it by its real library.
ALLOCATORS = [("_rjem_malloc", "jemalloc"), ("je_malloc", "jemalloc"), ("other_mallocx", "jemalloc"),
              ("mi_malloc", "mimalloc"), ("tc_malloc", "tcmalloc"), ("rpmalloc", "rpmalloc"),
              ("sn_rust_alloc", "snmalloc")]


@pytest.mark.parametrize("function,name", [*ALLOCATORS, ("stripped", "jemalloc"), ("mallocxx", None)])
def test_allocator_with_a_prefix(function, name, compile_sample, record, mallow):
    """One that is linked into the program under names of its own, as Rust's jemalloc is: the summary
    and live reports say that it is there, by what it was found, and that its blocks are not seen."""
    stripped = function == "stripped"
    program = compile_sample("own_allocator", "gcc", "-O1",
                             ["-s"] if stripped else [f"-DALLOCATE={function}"])
    recorded = record([program], bare=False, check=False)
    live = subprocess.run([mallow, "live", program], capture_output=True, text=True,
                          env=clean_environment())
    assert (recorded.returncode, live.returncode) == (7, 7)
    assert recorded.sums.calls >= 1
    assert "live allocations of own_allocator" in live.stderr
    found = f"allocator of its own, {name} ({'by its messages' if stripped else function}"
    for text in (recorded.stderr, live.stderr):
        assert (found in text) == (name is not None), text
        assert text.count("is not seen") == (name is not None), text


def preloaded_sanitizer(name):
    found = subprocess.run([need("gcc"), f"-print-file-name=lib{name}.so"], capture_output=True,
                           text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"lib{name}.so is not installed")
    return os.path.realpath(found)


@pytest.mark.parametrize("how", ["run", "live", "exec"])
@pytest.mark.parametrize("name", ["asan", "tsan", "lsan", "ubsan"])
def test_preloaded_sanitizer(name, how, compile_sample, tmp_path, mallow):
    """A program with a sanitizer by LD_PRELOAD runs as without mallow, and it is said that there is
    nothing to see, also in a live report. exec: by what a program executes with an environment of its own."""
    library = preloaded_sanitizer(name)
    program = compile_sample("own_allocator", "gcc", "-O1", ["-DALLOCATE=taken"])
    options = {f"{name.upper()}_OPTIONS": "detect_leaks=0"} if name in ("asan", "lsan") else {}
    words = [mallow, *(["live"] if how == "live" else ["run", "-o", tmp_path / "r.mallow", "--"])]
    if how == "exec":
        given = {"LD_PRELOAD": library, **options}
        words += [need("env"), "-i", *(f"{key}={value}" for key, value in given.items())]
        environment = clean_environment()
    else:
        environment = clean_environment({"LD_PRELOAD": library, **options})
    result = subprocess.run([*words, program], capture_output=True, text=True, env=environment,
                            timeout=120)
    assert result.returncode == 7, result.stderr
    assert "CHECK failed" not in result.stderr
    if how != "exec":
        hidden = name != "ubsan"
        assert (f"'{library}' is preloaded" in result.stderr) == hidden, result.stderr
        assert ("live allocations of own_allocator" in result.stderr) == (how == "live")


def has_sanitizers(clang):
    """Debian has them in a package of their own."""
    folder = subprocess.run([need(clang), "-print-runtime-dir"], capture_output=True, text=True,
                            check=True).stdout.strip()
    return any(pathlib.Path(folder).glob("libclang_rt.asan*"))


@pytest.mark.parametrize("compiler,option,recorded_calls", [
    ("gcc", "address", 50000), ("gcc", "thread", 50000), ("clang", "address", 0)])
def test_sanitizers(compiler, option, recorded_calls, compile_sample, record):
    """Programs built with a sanitizer run as ever; its allocator is the one behind ours, or, where
    clang has put it into the program, in front of us. gcc's refuses to be behind unless told."""
    if compiler == "clang" and not has_sanitizers("clang"):
        pytest.skip("clang's sanitizers are not installed (libclang-rt-dev)")
    program = compile_sample("totals", compiler, "-O0", [f"-fsanitize={option}"])
    options = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    plain = subprocess.run([program], capture_output=True, text=True,
                           env=clean_environment(options))
    recorded = record([program], env=options, check=False)
    assert (recorded.returncode, recorded.stdout, recorded.stderr) == \
        (plain.returncode, plain.stdout, plain.stderr) == (0, "", "")
    recorded.assert_sound()
    assert recorded.sums.calls >= recorded_calls


def test_address_sanitizer_by_run(compile_sample, record):
    """`mallow run` tells gcc's that another library may come first; what the user says counts."""
    program = compile_sample("totals", "gcc", "-O0", ["-fsanitize=address"])
    recorded = record([program], bare=False, env={"ASAN_OPTIONS": "detect_leaks=0"})
    assert recorded.sums.calls > 50000
    refused = record([program], bare=False, check=False,
                     env={"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=1"})
    assert refused.returncode == 1 and "does not come first" in refused.stderr


def test_address_sanitizer_and_exec(compile_sample, record):
    """Images whose environment is emptied are told, too: they refused to start."""
    program = compile_sample("exec_chain", "gcc", "-O1", ["-fsanitize=address"])
    recorded = record([program, 5], bare=False, check=False)
    assert (recorded.returncode, recorded.stdout) == (7, "ok\n"), recorded.stderr
    assert len(recorded.paths) == 6
    for reader in recorded.readers:
        assert not reader.damages and reader.dangling() == ([], []) and reader.header.ended


def test_sanitizer_that_finds_something(compile_sample, record, tmp_path):
    """What AddressSanitizer reports, it reports with the agent, too."""
    source, program = tmp_path / "wrong.c", tmp_path / "wrong"
    source.write_text("#include <stdlib.h>\nint main(void)\n{\n"
                      "\tvolatile char *block = malloc(10);\n\tblock[10] = 1;\n}\n")
    subprocess.run([need("gcc"), "-g", "-fsanitize=address", "-o", program, source], check=True)
    recorded = record([program], env={"ASAN_OPTIONS": "verify_asan_link_order=0"}, check=False)
    assert recorded.returncode == 1
    assert "heap-buffer-overflow" in recorded.stderr and "wrong.c:5" in recorded.stderr
