"""Situations that break profilers, each a sample program: docs/RELIABILITY.md lists them.

How processes end, replace and multiply themselves; what they close, limit and forbid; threads.
Stacks, code that comes and goes, and allocators: test_hazards_code.py. Other tools that look at a
recorded program: test_hazards_tools.py. The samples built with sanitizers: test_hazards_sanitizers.py.
"""
import collections
import os
import pathlib
import re
import resource
import signal
import subprocess

import pytest

import expect
import mallow_reader
import mallow_sums
from conftest import clean_environment
from processes import wait_for
from samples import check_sample, run_sample


def check(recorded, name, functions_of, *kinds, lost=0):
    """The recording is whole and holds what the sample states; so many events are lost."""
    reader = recorded.reader
    assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
    assert reader.header.lost == lost, reader.header.losses
    expect.check(expect.expectations(name, *kinds), expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


EXIT, FAST_EXIT, UNKNOWN = 1, 2, 0

# How it ends: the status without the agent, what the recording says of it, what else was recorded.
ENDINGS = {
    "return": (7, EXIT, ["EXIT"]), "exit": (7, EXIT, ["EXIT"]), "thread": (7, EXIT, ["EXIT"]),
    "last_thread": (0, EXIT, ["EXIT"]),
    "_exit": (7, FAST_EXIT, []), "_Exit": (7, FAST_EXIT, []), "exit_group": (7, UNKNOWN, []),
    "quick_exit": (7, FAST_EXIT, ["QUICK"]),
    "abort": (-signal.SIGABRT, UNKNOWN, []), "null": (-signal.SIGSEGV, UNKNOWN, []),
    "divide": (-signal.SIGFPE, UNKNOWN, []), "illegal": (-signal.SIGILL, UNKNOWN, []),
    "breakpoint": (-signal.SIGTRAP, UNKNOWN, []), "bus": (-signal.SIGBUS, UNKNOWN, []),
    "overflow": (-signal.SIGSEGV, UNKNOWN, []),
    "overflow_handled": (7, FAST_EXIT, []),
    **{str(int(number)): (-number, UNKNOWN, []) for number in (
        signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGPIPE,
        signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU,
        signal.SIGXFSZ, signal.SIGSYS, signal.SIGRTMIN)},
}


def no_core():
    """And a stack that overflows soon: the Python reader takes its time for deep ones."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (128 << 10, resource.RLIM_INFINITY))


@pytest.mark.parametrize("how", ENDINGS)
def test_endings(how, compile_sample, record, functions_of):
    """Every way to end has the status that it has without the agent, and the recording is whole."""
    program = compile_sample("endings", "gcc", "-O1")
    status, reason, kinds = ENDINGS[how]
    plain = subprocess.run([program, how], capture_output=True, text=True, preexec_fn=no_core,
                           env=clean_environment())
    recorded = record([program, how], check=False, preexec_fn=no_core)
    stderr, lost = recorded.stderr, 0
    if how == "overflow_handled":  # where the agent itself met the end: what its handler allocates
        stderr, lost = re.subn(r"^mallow: recording '.*' ends; events lost: 1\n", "", stderr)
    assert (recorded.returncode, recorded.stdout, stderr) == \
        (plain.returncode, plain.stdout, plain.stderr) == (status, "ok\n", "")
    check(recorded, "endings", functions_of, *kinds, lost=lost)
    header = recorded.reader.header
    assert header.ended == (reason != UNKNOWN)
    if header.ended:
        assert (header.end_reason, header.end_status) == (reason, status)


@pytest.mark.parametrize("how", ["return", "null", "abort", str(int(signal.SIGKILL))])
def test_endings_under_run(how, compile_sample, record, functions_of):
    """`mallow run` ends with the same status, 128 + n for a signal, and finishes the recording."""
    status, _, kinds = ENDINGS[how]
    recorded = record(["/bin/sh", "-c", 'ulimit -c 0; exec "$@"', "sh",
                       compile_sample("endings", "gcc", "-O1"), how], bare=False, check=False)
    assert recorded.returncode == (status if status >= 0 else 128 - status)
    [path] = [path for path in recorded.paths if path != recorded.path]
    assert str(path) in recorded.stderr
    reader = mallow_reader.read(path)
    assert not reader.damages and reader.missing == 0 and reader.header.lost == 0
    sums = mallow_sums.Sums(reader)
    expect.check(expect.expectations("endings", *kinds), expect.by_function(sums, functions_of))
    recorded.tool.assert_equal_sums(path, sums)


def test_every_exec(compile_sample, record):
    """Thirteen images in one process, and one in a child, each linked to the one before."""
    recorded = run_sample(record, [compile_sample("exec_all", "gcc", "-O1")])
    assert recorded.stdout == "ok\n"
    recorded.assert_sound(complete=False)  # an execve() behind our back says no farewell
    images = {sum(e.op == 1 and e.size == 100 for e in reader.events): reader
              for reader in recorded.readers
              if any(m["path"].endswith("exec_all") for m in reader.modules.values())}
    last = max(images)
    assert sorted(images) == list(range(last + 1)) and last == 14
    pids = {reader.header.pid for number, reader in images.items() if number > 11}
    assert len(pids) == 1, "an exec keeps the pid"
    raw = images[14].header
    assert not raw.ended
    for number in range(last):
        parents = [images[number + 1].header.id]
        if number == 13:  # nothing of ours saw the execve(), and in its environment is no parent
            parents = [""]
        if number == 10:  # executed by the child of image 11, which has a recording of its own
            parents += [r.header.id for r in recorded.readers if r.header.begun_by_fork]
        assert images[number].header.parent_id in parents, number
    for number in (*range(1, 11), 12, 13):
        assert images[number].header.end_reason == 3, number


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_clones(opt, compile_sample, record, functions_of):
    """Children by clone() and by raw system calls: on the parent's heap, or with their own."""
    recorded = run_sample(record, [compile_sample("clones", "gcc", opt)])
    assert recorded.stdout == "ok\n" and recorded.stderr == ""
    recorded.assert_sound(complete=False)  # what clone() runs ends by a raw system call
    check(recorded, "clones", functions_of)
    assert len(recorded.paths) == 5, "four children have a heap of their own"
    for child in recorded.readers[1:]:
        sums = mallow_sums.Sums(child)
        expect.check(expect.expectations("clones", "CHILD", "ONLY"),
                     expect.by_function(sums, functions_of))
        assert child.header.begun_by_fork
        assert child.header.parent_id == recorded.reader.header.id


@pytest.mark.parametrize("bare", [True, False])
def test_daemon(bare, compile_sample, record, functions_of, tmp_path, tool):
    """Two forks, setsid, /, no descriptors; outlives `mallow run`, which leaves its file alone."""
    folder = tmp_path / "daemon"
    folder.mkdir()
    recorded = run_sample(record, [compile_sample("daemon", "gcc", "-O1"), folder], bare=bare,
                          folder=folder, cwd=folder, stdin=subprocess.DEVNULL)
    assert recorded.stdout == "started\n"
    (folder / "go").write_text("")
    wait_for(lambda: (folder / "done").exists())
    expect.check(expect.expectations("daemon"), expect.by_function(recorded.sums, functions_of))

    def daemons():
        readers = [(path, mallow_reader.read(path)) for path in recorded.paths[1:]]
        return [(path, reader) for path, reader in readers
                if len(reader.events) > 10000 and reader.header.ended]

    wait_for(daemons)
    [(path, reader)] = daemons()
    assert not reader.damages and reader.missing == 0 and reader.header.lost == 0
    sums = mallow_sums.Sums(reader)
    expect.check(expect.expectations("daemon", "DAEMON", "ONLY"),
                 expect.by_function(sums, functions_of))
    tool.assert_equal_sums(path, sums)


def test_daemon_by_a_relative_name(compile_sample, preload, tmp_path):
    """What it records stands beside its parent's recording, not in the directory it went to."""
    run = subprocess.run([compile_sample("daemon", "gcc", "-O1"), tmp_path], cwd=tmp_path,
                         env=preload(OUTPUT="r.mallow"), stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=60)
    assert run.returncode == 7
    (tmp_path / "go").write_text("")
    wait_for(lambda: (tmp_path / "done").exists())
    assert list(tmp_path.glob("r.mallow.*"))  # the daemon's; the process between may record nothing
    assert not list(pathlib.Path("/").glob("r.mallow*"))


def close_standard():
    for fd in range(3):
        os.close(fd)


@pytest.mark.parametrize("bare", [True, False])
def test_started_without_descriptors(bare, compile_sample, agent, mallow, functions_of, tmp_path,
                                     tool):
    """Descriptors 0 to 2 are closed: the program's files get them, and nothing of ours."""
    files = tmp_path / "files"
    files.mkdir()
    path = tmp_path / "r.mallow"
    command = [compile_sample("descriptors", "gcc", "-O1"), "standard", files]
    environment = {"MALLOW_OUTPUT": path}
    if bare:
        command = ["/usr/bin/env", f"LD_PRELOAD={agent}", *command]
    else:
        command = [mallow, "run", *command]
    closed = subprocess.run(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command],
                            env=clean_environment(environment), timeout=60)
    assert closed.returncode == 7
    assert [(files / str(fd)).read_text() for fd in range(3)] == ["the program's own\n"] * 3
    recording = mallow_reader.read(path)
    assert recording.header.lost == 0 and not recording.damages
    sums = mallow_sums.Sums(recording)
    expect.check(expect.expectations("descriptors"), expect.by_function(sums, functions_of))
    tool.assert_equal_sums(path, sums)


@pytest.mark.parametrize("how", ["lowered", "lost", "full"])
def test_few_descriptors(how, compile_sample, record, functions_of, tmp_path):
    """A limit below the agent's descriptor, that descriptor lost as well, and none left at all."""
    files = tmp_path / "files"
    files.mkdir()
    recorded = run_sample(record, [compile_sample("descriptors", "gcc", "-O1"), how, files],
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert recorded.stderr == ""
    check_sample(recorded, "descriptors", functions_of)


@pytest.mark.parametrize("limit", range(4, 8))
def test_hardly_any_descriptors(limit, compile_sample, record, functions_of):
    """As few as the dynamic loader itself needs: recorded or not, the program runs as ever."""
    program = compile_sample("c_family", "gcc", "-O1")
    recorded = run_sample(
        record, [program],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    assert recorded.stdout == "ok\n"
    if recorded.paths:
        assert recorded.stderr == ""
        check_sample(recorded, "c_family", functions_of, "GLIBC")
    else:
        assert recorded.stderr.count("\n") == 1 and "Too many open files" in recorded.stderr


@pytest.mark.parametrize("how", ["address_space", "data", "locked"])
def test_little_memory(how, compile_sample, record, functions_of):
    """A limit on memory: NULL and ENOMEM where they would be; what is lost, if any, is counted."""
    recorded = run_sample(record, [compile_sample("little_memory", "gcc", "-O1"), how])
    if recorded.stdout.startswith("not allowed"):
        pytest.skip("mlockall is not allowed here")
    assert recorded.stdout == "ok\n"
    assert_recorded_or_counted(recorded, functions_of)


@pytest.mark.parametrize("megabytes", [60, 100, 200])
def test_little_memory_from_the_start(megabytes, compile_sample, record, functions_of):
    size = megabytes << 20
    recorded = run_sample(record, [compile_sample("little_memory", "gcc", "-O1"), "given"],
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
    assert recorded.stdout == "ok\n"
    assert_recorded_or_counted(recorded, functions_of)


def assert_recorded_or_counted(recorded, functions_of):
    reader = recorded.reader
    assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
    found = expect.by_function(recorded.sums, functions_of)
    assert found["before"].calls == 1000
    assert found["after"].calls + reader.header.lost >= 20000
    if reader.header.lost == 0:
        check_sample(recorded, "little_memory", functions_of)
    else:
        assert len(recorded.stderr.splitlines()) <= 1
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("name,kind,counts", [("crowd", "CROWD", (1000, 1000)),
                                              ("crowd", "MANY", (10000, 50))])
def test_crowd(name, kind, counts, compile_sample, record, functions_of):
    """1,000 threads at once, and 10,000 in all: each is a thread of the recording."""
    recorded = run_sample(record, [compile_sample(name, "gcc", "-O1"), *counts])
    assert recorded.stdout == "ok\n"
    check_sample(recorded, name, functions_of, kind)
    assert recorded.info_json["threads"] == counts[0] + 1


@pytest.fixture(scope="session")
def initfirst(compile_sample):
    return compile_sample("early_late", "gcc", "-O1",
                          ["-DLIBRARY", "-shared", "-fPIC", "-Wl,-z,initfirst"])


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_before_and_after_everything(opt, initfirst, compile_sample, record, functions_of):
    """Constructors before ours, destructors and handlers after ours, also before the C library has
    begun, environ not being there yet."""
    program = compile_sample("early_late", "gcc", opt,
                             ["-Wl,--no-as-needed", initfirst, f"-Wl,-rpath,{initfirst.parent}"])
    recorded = run_sample(record, [program])
    assert recorded.stdout == "ok\n" and recorded.stderr == ""
    check_sample(recorded, "early_late", functions_of)


def test_exit_in_a_handler(compile_sample, record):
    """A handler interrupts a malloc anywhere, allocates, and ends the process."""
    recorded = run_sample(record, [compile_sample("exit_in_handler", "gcc", "-O2")])
    found = collections.Counter()
    for path in recorded.paths[1:-1]:
        info = recorded.tool.info(path)
        reader = mallow_reader.read(path)
        blocks = sum(getattr(event, "size", None) == 77 for event in reader.events)
        found[blocks, info["lost"]] += 1
    assert set(found) == {(1, 0), (0, 1)} and sum(found.values()) > 30, found


@pytest.mark.parametrize("bare", [True, False])
def test_signals_are_the_programs(bare, compile_sample, record, functions_of):
    """The agent takes no signal for itself: the program uses all of them, SIGUSR1 too."""
    recorded = run_sample(record, [compile_sample("all_signals", "gcc", "-O1")], bare=bare)
    assert recorded.stdout == "ok\n"
    check_sample(recorded, "all_signals", functions_of)
