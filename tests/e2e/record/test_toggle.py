"""Start and stop of the recording, by signal and by the C API: include/mallow/mallow.h."""
import collections
import json
import os
import signal
import subprocess
import time

import pytest

import expect
import mallow_reader
import mallow_sums
from conftest import TOP, clean_environment, need
from mallow_reader import Alloc, Free

PYTHON = "/usr/bin/python3"


def run_sample(record, command, **options):
    recorded = record(command, check=False, **options)
    assert recorded.returncode == 7, recorded.stderr or recorded.stdout
    assert recorded.stderr == ""
    return recorded


def switches(reader):
    return [fact["kind"] for fact in reader.facts if fact["kind"] in ("on", "off")]


def sizes(reader):
    return [event.size for event in reader.events if isinstance(event, Alloc)]


def assert_off_is_off(reader):
    """By time: while it is off nothing is allocated but by reallocs of recorded blocks."""
    times = [(fact["time"], fact["kind"] == "on") for fact in reader.facts
             if fact["kind"] in ("on", "off")]
    on, position = True, 0
    for event in reader.events:
        while position < len(times) and times[position][0] <= event.time:
            on = times[position][1]
            position += 1
        assert on or isinstance(event, Free) or event.old is not None, event


@pytest.mark.parametrize("settings", [{}, {"SIGNAL_TOGGLE": "USR2"}, {"SLOTS": "private"},
                                      {"SAMPLE": "1"}])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_switched(settings, compiler, compile_sample, record, functions_of, tool):
    """By the C API, whether the agent was told that there would be stops, or not."""
    program = compile_sample("switched", compiler, "-O2")
    recorded = run_sample(record, [program], settings=settings)
    assert recorded.stdout == "ok\n"
    recorded.assert_sound()
    expect.check(expect.expectations("switched"), expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.unknown_frees == recorded.sums.implicit_frees == 0
    assert switches(recorded.reader) == ["off", "on"]
    assert_off_is_off(recorded.reader)
    assert len(recorded.reader.threads) == 2
    if "SAMPLE" not in settings:
        recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    info = recorded.info_json
    assert info["off_periods"] == 1 and 0 < info["off_s"] < info["duration_s"]
    assert not info["begun_by_start"] and info["complete"]
    assert "  off        1 time, for " in tool("info", recorded.path).stdout
    assert "  off 1 time, for " in tool("report", recorded.path).stdout
    tool("finish", recorded.path)
    finished = tool.info(recorded.path)
    assert finished["finished"] and finished["off_periods"] == 1
    assert finished["off_s"] == info["off_s"]


def test_without_mallow(compile_sample):
    """The same program alone, and linked statically."""
    for extra in ([], ["-static"]):
        program = compile_sample("switched", "gcc", "-O2", extra)
        run = subprocess.run([program], capture_output=True, text=True, env=clean_environment())
        assert (run.returncode, run.stdout, run.stderr) == (7, "ok\n", "")


def test_switched_musl(compile_sample, record, functions_of):
    recorded = run_sample(record, [compile_sample("switched", "musl", "-O2")])
    expect.check(expect.expectations("switched"), expect.by_function(recorded.sums, functions_of))


def test_started(compile_sample, record, functions_of):
    """Nothing before the first start; threads that were there before are recorded from then on. Each
    part can be looked at alone."""
    recorded = run_sample(record, [compile_sample("started", "gcc", "-O2")],
                          settings={"DISABLE_BY_DEFAULT": 1})
    recorded.assert_sound()
    assert len(recorded.paths) == 1
    expect.check(expect.expectations("started"), expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.calls == 9 and recorded.sums.unknown_frees == 0
    assert recorded.sums.leaked_blocks == 0
    assert recorded.reader.header.begun_by_start
    assert switches(recorded.reader) == ["off", "on", "off", "on", "off"]
    assert_off_is_off(recorded.reader)
    info = recorded.info_json
    assert info["begun_by_start"] and info["off_periods"] == 3
    assert "begun by a start" in recorded.tool("report", recorded.path).stdout
    for part, size in enumerate((1501, 1504, 1501), 1):
        words = "report", "--json", "--from", f"on#{part}", "--to", f"off#{part}", recorded.path
        report = json.loads(recorded.tool(*words).stdout)
        assert (report["calls"], report["total_bytes"]) == (3, size)
    run = recorded.tool("report", "--from", "on#4", recorded.path, check=False)
    assert run.returncode == 1 and "--from: 'on#4': the recording was on 3 times\n" in run.stderr


def test_start_is_tried_again(record, tmp_path):
    """No file could be made at the first start: the signal starts, still, when it comes again."""
    folder = tmp_path / "later"
    folder.write_text("in the way")
    recorded = record([PYTHON, "-c", LATER_FOLDER, folder],
                      settings={"DISABLE_BY_DEFAULT": 1, "OUTPUT": folder / "r.mallow"})
    assert recorded.stderr.count("\n") == 1 and "Not a directory" in recorded.stderr
    assert any(size > 1000000 for size in sizes(mallow_reader.read(folder / "r.mallow")))


LATER_FOLDER = """
import os, signal, sys
os.kill(os.getpid(), signal.SIGUSR1)
os.unlink(sys.argv[1])
os.kill(os.getpid(), signal.SIGUSR1)
bytearray(1000000)
"""


def test_signals_of_a_vfork_child(compile_sample, record):
    """A vfork child gives the signal back its default: its parent's handler is still called."""
    recorded = run_sample(record, [compile_sample("vfork_signals", "gcc", "-O1")],
                          settings={"SIGNAL_TOGGLE": "USR1"})
    assert switches(recorded.reader) == ["off", "on"]


def test_never_started(compile_sample, record, tmp_path):
    """No file, no thread, and of all system calls one that says what stderr is, and one who the program is,
    but for those that look for allocators to patch: that cannot wait until there are threads."""
    program = compile_sample("c_family", "gcc", "-O2")
    settings = {"DISABLE_BY_DEFAULT": 1, "PATCH": 0}
    assert run_sample(record, [program], settings=settings).paths == []
    run = record([program], bare=False, settings=settings, check=False)
    assert run.returncode == 7 and run.paths == []
    assert "nothing told" in run.stderr
    trace = tmp_path / "trace"
    record([need("strace"), "-qq", "-o", trace, program], check=False, settings=settings)
    calls = [line.split("(")[0] for line in trace.read_text().splitlines()]
    bare = subprocess.run([need("strace"), "-qq", "-o", trace, program], env=clean_environment(),
                          capture_output=True)
    assert bare.returncode == 7
    plain = [line.split("(")[0] for line in trace.read_text().splitlines()]
    # Loading the library takes a few; each other one would be the agent's.
    more = collections.Counter(calls) - collections.Counter(plain)
    loading = {"openat", "read", "pread64", "newfstatat", "fstat", "mmap", "mprotect", "munmap", "close"}
    # rt_sigprocmask asks whether memory can be read.
    assert set(more) <= loading | {"rt_sigaction", "rt_sigprocmask", "readlinkat"}, more
    assert more["readlinkat"] <= 1, more
    assert more["rt_sigaction"] == 2  # to ask, and to install the handler
    assert more["openat"] <= 1 and more["mmap"] <= 8, more


LOOP = """
import os, select, sys
print(os.getpid(), flush=True)
blocks = []
while True:
    select.select([sys.stdin], [], [])
    word = sys.stdin.readline()
    if not word: break
    blocks.append(bytearray(int(word)))
    print(len(blocks), flush=True)
"""


class Loop:
    """A python3 that waits in select() for a number of bytes to allocate."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen([*command, PYTHON, "-c", LOOP], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline())

    def allocate(self, size):
        self.process.stdin.write(f"{size}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        stderr = self.process.stderr.read()
        assert self.process.wait() == 0, stderr
        return stderr


def wait_for(path):
    for _ in range(500):
        if path.exists() and path.stat().st_size >= 8192:
            return
        time.sleep(0.01)
    raise AssertionError(f"no {path}")


@pytest.mark.parametrize("by_tool", [False, True])
def test_signal_on_a_real_program(by_tool, preload, mallow, tmp_path):
    """It starts within the handler, for the program sits in select(); `mallow run` hands it on."""
    path = tmp_path / "r.mallow"
    environment = preload(OUTPUT=path, DISABLE_BY_DEFAULT=1)
    if by_tool:
        del environment["LD_PRELOAD"]
    loop = Loop([mallow, "run", "--no-finish", "--"] if by_tool else [], environment)
    target = loop.process.pid if by_tool else loop.pid
    loop.allocate(1000001)
    assert not path.exists()
    os.kill(target, signal.SIGUSR1)
    wait_for(path)
    loop.allocate(1000002)
    os.kill(target, signal.SIGUSR1)
    for _ in range(500):
        if switches(mallow_reader.read(path)) == ["off"]:
            break
        time.sleep(0.01)
    loop.allocate(1000003)
    loop.end()
    reader = mallow_reader.read(path)
    found = [size for size in sizes(reader) if 1000000 < size < 1000100]
    assert found and set(found) <= {1000002, 1000003}  # a byte more for the NUL
    assert switches(reader) == ["off"] and reader.header.ended
    assert mallow_sums.Sums(reader).unknown_frees == 0


@pytest.mark.parametrize("settings", [{"SIGNAL_TOGGLE": "SIGUSR1"}, {"SIGNAL_TOGGLE": "10"}])
def test_programs_own_handlers(settings, compile_sample, record):
    """It has its own use for the signal: both are served, and it sees nothing of ours."""
    recorded = run_sample(record, [compile_sample("own_toggle_signal", "gcc", "-O1")],
                          settings=settings)
    recorded.assert_sound()
    assert switches(recorded.reader) == (["off", "on"] * 6)[:11]
    assert 12345 in sizes(recorded.reader) and 54321 not in sizes(recorded.reader)


@pytest.mark.parametrize("value", ["none", ""])
def test_no_signal(value, record):
    """Where the setting names none, the signal does what it does."""
    recorded = record([PYTHON, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGUSR1)"],
                      settings={"SIGNAL_TOGGLE": value} if value else {}, check=False)
    assert recorded.returncode == -signal.SIGUSR1


def test_bad_signal(record):
    recorded = record(["/bin/true"], settings={"SIGNAL_TOGGLE": "KILL"})
    assert recorded.stderr.count("\n") == 1
    assert "MALLOW_SIGNAL_TOGGLE='KILL' is not allowed; allowed: none, or a signal" in recorded.stderr


@pytest.mark.parametrize("word,number", [("RTMIN+1", 35), ("SIGRTMAX", 64), ("USR2", 12), ("34", 34)])
def test_names_of_signals(word, number, record):
    recorded = record([PYTHON, "-c", f"import os; os.kill(os.getpid(), {number})"],
                      settings={"SIGNAL_TOGGLE": word})
    assert switches(recorded.reader) == ["off"]


def test_tags(compile_sample, record, tool):
    """Each thread has its own; kept over stops, and by the child of a fork."""
    recorded = run_sample(record, [compile_sample("tags", "gcc", "-O1")])
    tags = {}
    for reader in recorded.readers:
        for event in reader.events:
            if isinstance(event, Alloc) and 1000 < event.size < 1100:
                tags[event.size] = event.tag
    assert tags == {1001: 0, 1002: 7, 1003: 4294967295, 1004: 0, 1005: 9, 1006: 9, 1007: 0}
    assert " tag value=7" in tool("trace", "dump", recorded.path).stdout


@pytest.mark.parametrize("settings", [{}, {"SIGNAL_TOGGLE": "USR1"}])
def test_started_within_malloc(settings, compile_sample, inner_allocator, record, functions_of):
    """A thread that does not record is in malloc meanwhile: neither the block nor its end counts."""
    program = compile_sample("started_in_malloc", "gcc", "-O1", inner_allocator)
    recorded = record([program], check=False, settings=settings)
    assert recorded.returncode == 7, recorded.stderr
    found = [mallow_sums.Sums(reader) for reader in recorded.readers]
    assert sum(sums.unknown_frees + sums.implicit_frees for sums in found) == 0
    expect.check(expect.expectations("started_in_malloc"), expect.by_function(found[0], functions_of))


@pytest.mark.parametrize("settings,signals", [
    ({}, 0), ({"SIGNAL_TOGGLE": "USR1"}, 100), ({"DISABLE_BY_DEFAULT": 1}, 100),
    ({"SLOTS": "private", "SIGNAL_TOGGLE": "USR1"}, 50)])
def test_storm(settings, signals, compile_sample, record):
    """Eight threads allocate, three and a signal switch: nobody crashes, and the sums agree."""
    program = compile_sample("switch_storm", "gcc", "-O2")
    recorded = run_sample(record, [program, 400, signals], settings=settings)
    reader, sums = recorded.reader, recorded.sums
    recorded.assert_sound(complete=False)
    assert sums.calls > 1000
    assert sums.unknown_frees == sums.implicit_frees == 0
    assert sums.calls == sums.frees + sums.implicit_frees + sums.leaked_blocks
    assert len(switches(reader)) > 50
    info = recorded.info_json
    assert info["off_periods"] > 25 and info["lost"] == 0
    recorded.tool.assert_equal_sums(recorded.path, sums)


def test_a_filter_before_the_start(compile_sample, record, tmp_path):
    """Afterwards no system call of ours is safe, so that nothing can be begun: that is said before."""
    recorded = record([compile_sample("confined", "gcc", "-O2"), "seccomp", tmp_path],
                      settings={"DISABLE_BY_DEFAULT": 1, "LOG": "warn"}, check=False)
    assert recorded.returncode == 7 and not recorded.paths
    assert recorded.stderr.count("mallow: ") == 1
    assert "a start has no effect from now on" in recorded.stderr


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_start_at_each_instruction(slots, compile_sample, record):
    """A handler stops and starts at any place of a malloc, a realloc and a free."""
    program = compile_sample("step_switch", "gcc", "-O2")
    recorded = run_sample(record, [program], settings={"SIGNAL_TOGGLE": "USR1", "SLOTS": slots})
    info = recorded.info_json
    assert info["off_periods"] > 60
    assert info["complete"] and info["lost"] == 0
    assert info["unknown_frees"] == info["implicit_frees"] == 0
    recorded.tool.assert_equal_sums(recorded.path)


def test_fork_and_exec_while_off(compile_sample, record):
    """A child goes on as its parent was; a new image is as the settings say."""
    recorded = run_sample(record, [compile_sample("switched_fork", "gcc", "-O1")])
    found = {tuple(size for size in sizes(reader) if 1000 < size < 1100): reader
             for reader in recorded.readers}
    assert set(found) == {(1001,), (1003,), (1004,)}
    parent, child, image = (found[key] for key in ((1001,), (1003,), (1004,)))
    assert child.header.begun_by_start and child.header.begun_by_fork
    assert child.header.parent_id == parent.header.id
    assert not image.header.begun_by_start
    assert mallow_sums.Sums(parent).leaked_blocks == 0


def test_sync(compile_sample, record):
    """With private slots nothing is in the file until it is asked for."""
    for slots in ("shared", "private"):
        recorded = record([compile_sample("synced", "gcc", "-O1")], settings={"SLOTS": slots},
                          check=False)
        assert recorded.returncode == -signal.SIGKILL
        assert 12345 in sizes(recorded.reader)
        assert (54321 in sizes(recorded.reader)) == (slots == "shared")


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize("static", [False, True])
def test_example(language, static, record, tmp_path):
    """examples/marks.c, as C99 and as C++, with mallow and without."""
    program = tmp_path / "marks"
    standard = ["gcc", "-x", "c", "-std=c99"] if language == "c" else ["g++", "-x", "c++", "-std=c++98"]
    subprocess.run([*standard, "-pedantic-errors", "-Wall", "-Wextra", "-Werror",
                    f"-I{TOP / 'include'}", TOP / "examples" / "marks.c", "-o", program,
                    *(["-static"] if static else [])], check=True)
    run = subprocess.run([program], capture_output=True, text=True, env=clean_environment())
    assert run.returncode == 0 and "without mallow" in run.stdout
    if static:
        return
    recorded = record([program])
    assert "recorded" in recorded.stdout
    assert [fact["name"] for fact in recorded.reader.facts if fact["kind"] == "mark"] == [
        "read", "request 1", "request 2", "request 3", "done"]
    assert {event.tag for event in recorded.reader.events if isinstance(event, Alloc)} >= {1, 2, 3}


def test_pkg_config(mallow, tmp_path):
    """make install puts a file there that compilers can be asked with."""
    need("pkg-config")
    subprocess.run(["make", "-s", "install-headers", f"DESTDIR={tmp_path}", "PREFIX=/opt/m"],
                   cwd=TOP, check=True, capture_output=True)
    folder = tmp_path / "opt" / "m" / "lib" / "pkgconfig"
    environment = clean_environment({"PKG_CONFIG_PATH": folder})
    for question, answer in (("--cflags", "-I/opt/m/include"), ("--modversion", "0.1.0"),
                             ("--variable=libdir", "/opt/m/lib"), ("--libs", "")):
        said = subprocess.run(["pkg-config", question, "mallow"], capture_output=True, text=True,
                              env=environment, check=True).stdout.strip()
        assert said == answer
    assert (tmp_path / "opt/m/include/mallow/mallow.h").exists()
    subprocess.run(["make", "-s", "uninstall", f"DESTDIR={tmp_path}", "PREFIX=/opt/m"],
                   cwd=TOP, check=True, capture_output=True)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
