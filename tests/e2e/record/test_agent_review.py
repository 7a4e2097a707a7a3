"""Faults that a review of the agent found, each with the program that shows it."""
import os
import signal
import subprocess

import pytest

import expect
import mallow_reader
import mallow_sums
from conftest import clean_environment

MEMALIGN, ALIGNED_ALLOC = 7, 6


def check(recorded, name, functions_of, *kinds):
    expect.check(expect.expectations(name, *kinds), expect.by_function(recorded.sums, functions_of))


def assert_undamaged(recorded):
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0
        assert reader.dangling() == ([], [])


@pytest.mark.parametrize("compiler", ["gcc", "musl"])
def test_odd_arguments(compiler, compile_sample, record):
    """An alignment of 0 is written as one; sizes that fail are no events; a hint reaches mremap."""
    recorded = record([compile_sample("odd_arguments", compiler, "-O1")])
    assert recorded.stdout == "ok\n"
    assert_undamaged(recorded)
    assert recorded.sums.leaked_bytes == 0
    alignments = {e.alignment for e in recorded.reader.events if e.op in (MEMALIGN, ALIGNED_ALLOC)}
    if compiler == "gcc":
        assert alignments >= {0, 1, 2, 3, 64}
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("how", ["plain", "listener", "probed", "second", "refused", "descriptors",
                                 "thread", "child"])
def test_sandbox(how, compile_sample, record, functions_of):
    """Under a filter no system call is made, whichever way it was installed."""
    recorded = record([compile_sample("sandbox", "gcc", "-O1"), how])
    if how != "refused":
        assert recorded.stdout.endswith("ok\n")
    assert_undamaged(recorded)
    assert len(recorded.paths) == 1
    assert recorded.reader.header.lost == 0
    assert recorded.reader.header.losses["broken_stacks"] == 0
    check(recorded, "sandbox", functions_of)
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


def test_sandbox_asked_for_in_vain_costs_nothing(compile_sample, record):
    """Windows that were prepared and not needed are used by what follows."""
    recorded = record([compile_sample("sandbox", "gcc", "-O1"), "refused"])
    assert recorded.path.stat().st_size < 64 << 20


@pytest.mark.parametrize("how", ["strict", "counter"])
def test_strict_mode(how, compile_sample, record):
    """In strict mode not even the signal mask may be touched, or the time stamp counter read."""
    recorded = record([compile_sample("sandbox", "gcc", "-O1"), how])
    assert "stopped" in recorded.stderr
    assert_undamaged(recorded)
    assert recorded.reader.header.losses["strict_mode"] > 0


def test_title_over_the_environment(compile_sample, record, functions_of):
    """The settings outlive the environment; the agent does not write into what took its place."""
    recorded = record([compile_sample("title", "gcc", "-O1")],
                      env={"MALLOW_PARENT": "0123456789abcdef" * 2})
    # MALLOW_PARENT: a child of `mallow run`, so both names have a suffix.
    assert len(list(recorded.folder.iterdir())) == 2, list(recorded.folder.iterdir())
    child = max((mallow_reader.read(p) for p in recorded.paths), key=lambda r: r.header.pid)
    found = expect.by_function(mallow_sums.Sums(child), functions_of)
    assert found["child"].calls == 1000


@pytest.mark.parametrize("depth,least", [("1", 0), ("100000", 20000), ("4294967295", 20000)])
def test_depths(depth, least, compile_sample, record):
    """From one frame to more than there is memory for."""
    recorded = record([compile_sample("deep", "gcc", "-O0")], check=False, settings={"DEPTH": depth})
    assert recorded.returncode == 7, recorded.stderr
    assert_undamaged(recorded)
    deepest = max(len(stack) for stack in recorded.sums.sites)
    assert deepest > least if least else deepest <= 2
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("name", ["hand_over", "deep", "life_cycle"])
def test_private_slots(name, compile_sample, record, functions_of):
    """Without a shared mapping nothing is missing from a program that ends by itself."""
    recorded = record([compile_sample(name, "gcc", "-O1")], check=False,
                      settings={"SLOTS": "private"})
    assert recorded.returncode == 7, recorded.stderr
    recorded.assert_sound()
    assert recorded.reader.header.private_slots
    check(recorded, name, functions_of, "GLIBC")
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.parametrize("repeat", range(3))
def test_private_slots_of_running_threads(repeat, compile_sample, record):
    """Slots are written out at exit while their threads go on: no chunk is damaged by it."""
    recorded = record([compile_sample("exit_busy", "gcc", "-O1")], settings={"SLOTS": "private"})
    assert_undamaged(recorded)
    assert recorded.reader.header.ended


def test_broken_pipe_on_stderr(compile_sample, agent, tmp_path):
    """A line that nobody reads, as the recording stops: the program must not die of SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        environment = clean_environment({"LD_PRELOAD": agent,
                                         "MALLOW_OUTPUT": tmp_path / "r.mallow"})
        run = subprocess.run([compile_sample("confined", "gcc", "-O1"), "file_size", tmp_path],
                             env=environment, stdout=subprocess.PIPE, stderr=writing, timeout=60,
                             preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    finally:
        os.close(writing)
    assert run.returncode == 7
    recording = mallow_reader.read(tmp_path / "r.mallow")
    assert recording.header.losses["write_failed"] > 0


def test_log_to_a_pipe_without_reader(compile_sample, record, tmp_path):
    """Nobody opens the other end: the line is dropped."""
    os.mkfifo(tmp_path / "log")
    record([compile_sample("odd_arguments", "gcc", "-O1")], timeout=20,
           settings={"LOG": "info", "LOGFILE": tmp_path / "log"})


def test_fork_in_the_middle_of_an_allocation(compile_sample, agent, record, functions_of):
    """A handler's fork is recorded; the allocation that it interrupted is still one."""
    raising = compile_sample("raising_allocator", "gcc", "-O1",
                             ["-fno-builtin", "-shared", "-fPIC"])
    recorded = record(["/usr/bin/env", f"LD_PRELOAD={agent}:{raising}",
                       compile_sample("fork_in_handler", "gcc", "-O1")])
    main = next(r for r in recorded.readers
                if any(m["path"].endswith("fork_in_handler") for m in r.modules.values()))
    dump = recorded.tool("trace", "dump", recorded.paths[recorded.readers.index(main)]).stdout
    assert dump.count(" fork pid=") == 100
    found = expect.by_function(mallow_sums.Sums(main), functions_of)
    expect.check(expect.expectations("fork_in_handler"), found)


@pytest.mark.parametrize("others", ["{agent}:{other}", "{other}:{agent}", "{other} {agent}",
                                    "{other}"])
def test_exec_keeps_the_preloads_of_others(others, compile_sample, agent, record):
    """What the program hands on to be preloaded stays, with or without us in it."""
    other = compile_sample("raising_allocator", "gcc", "-O1", ["-fno-builtin", "-shared", "-fPIC"])
    preload = others.format(agent=agent, other=other)
    recorded = record(["/usr/bin/env", f"LD_PRELOAD={preload}", "/bin/sh", "-c",
                       "cat /proc/$$/maps; echo $LD_PRELOAD"])
    *maps, value = recorded.stdout.splitlines()
    assert sorted(value.replace(":", " ").split()) == sorted([str(agent), str(other)])
    for library in agent, other:
        assert any(line.endswith(str(library)) for line in maps), recorded.stderr


def test_file_that_cannot_be_used_is_removed(compile_sample, agent, tmp_path):
    """No room for as much as the header: the program runs, no empty file stays."""
    program = compile_sample("odd_arguments", "gcc", "-O1")
    run = subprocess.run(["/bin/sh", "-c", 'ulimit -f 1; exec "$0"', program], text=True,
                         capture_output=True, cwd=tmp_path,
                         env=clean_environment({"LD_PRELOAD": agent}) | {"MALLOW_OUTPUT": "r.%p"})
    assert run.returncode == 0 and run.stdout == "ok\n"
    assert "File too large" in run.stderr
    # That of the shell, which had no limit yet, is the same process's.
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_size == 0] == []


def test_kernel_that_cannot_wipe(compile_sample, record):
    """Without MADV_WIPEONFORK nothing is recorded, rather than a child hurt."""
    recorded = record([compile_sample("no_wipe", "gcc", "-O1"),
                       compile_sample("fork_threads", "gcc", "-O1")], check=False)
    assert recorded.returncode == 7, recorded.stderr
    assert "MADV_WIPEONFORK" in recorded.stderr


def test_generations(compile_sample, record):
    """40 forks deep: one descriptor each, and every recording names its parent, across exec too."""
    recorded = record([compile_sample("generations", "gcc", "-O1"), "40"])
    assert recorded.stdout == "ok\n"
    readers = sorted(recorded.readers, key=lambda r: r.header.pid)
    assert len(readers) == 42  # the last one executed itself
    by_id = {reader.header.id: reader for reader in readers}
    last = next(r for r in readers if r.header.id not in {o.header.parent_id for o in readers})
    length = 1
    while last.header.parent_id:
        last = by_id[last.header.parent_id]
        length += 1
    assert length == 42


@pytest.mark.parametrize("slots", ["shared", "private"])
def test_full_disk(slots, compile_sample, record, tmp_path):
    """What did not fit is counted, also when the disk is full as a thread ends."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk],
                      capture_output=True).returncode:
        pytest.skip("cannot mount")
    try:
        recorded = record([compile_sample("hand_over", "gcc", "-O1")], check=False, folder=disk,
                          settings={"SLOTS": slots})
        assert recorded.returncode == 7 and "cannot write" in recorded.stderr
        recording = recorded.reader
        assert recording.header.losses["write_failed"] > 0
        if slots == "shared":  # else slots with definitions may be lost, too
            assert_undamaged(recorded)
    finally:
        subprocess.run(["umount", disk], check=True)
