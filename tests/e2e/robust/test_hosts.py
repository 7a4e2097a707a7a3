"""What programs and file systems do to the recording itself: it is cut, cannot grow, hangs. And programs
that handle system calls by themselves."""
import os
import select
import subprocess
import sys
import time

import pytest

from conftest import TOP, need


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(kilobytes): a folder on a file system of that size."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(size):
        if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder],
                                         capture_output=True).returncode:
            pytest.skip("mounting a small file system is not allowed here")
        return folder

    yield mount
    subprocess.run(["umount", folder], capture_output=True)


@pytest.mark.parametrize("slots,kilobytes", [("shared", 130), ("private", 32), ("private", 130), ("private", 160)])
def test_a_full_disk_loses_what_is_counted(slots, kilobytes, compile_sample, record, small_disk):
    """Events of all slots that can no longer be written are counted, and none twice."""
    command = [compile_sample("allocate_in_threads", "gcc", "-O1"), 2000]
    events = len(record(command, check=False, settings={"SLOTS": slots}).reader.events)
    assert events >= 2 * 20000
    full = record(command, check=False, folder=small_disk(kilobytes), settings={"SLOTS": slots})
    assert full.returncode == 7 and full.stderr.count("\n") == 1 and "cannot write" in full.stderr
    assert not full.reader.damages
    lost = full.reader.header.losses["write_failed"]
    assert lost > 0 and len(full.reader.events) + lost == events
    assert full.info_json["lost"] == lost


WAYS = ["ftruncate", "truncate", "open", "open_link", "creat", "fopen", "freopen", "syscall", "syscall_open"]


@pytest.mark.parametrize("way,slots", [(way, "shared") for way in WAYS] + [("fopen", "private")])
def test_a_program_that_cuts_its_own_recording(way, slots, compile_sample, record):
    """The recording stops, not the program, and nothing is written to the file any more."""
    program = compile_sample("cuts_own_file", "gcc", "-O1", ["-D_FILE_OFFSET_BITS=64"])
    recorded = record([program, way], settings={"SLOTS": slots})
    assert recorded.stdout == "0\n"
    assert recorded.stderr.count("\n") == 1 and "stopped: the program cuts the file" in recorded.stderr
    assert recorded.path.stat().st_size == 0


def test_a_recording_of_which_a_part_is_left(compile_sample, record):
    """Later events are counted in the header, and `mallow run` finishes what there is."""
    recorded = record([compile_sample("cuts_own_file", "gcc", "-O1"), "ftruncate", 8192], bare=False)
    assert recorded.stdout == "0\n"
    assert recorded.info_json["losses"]["file_replaced"] > 3 * 2 * 10000
    longer = record([compile_sample("cuts_own_file", "gcc", "-O1"), "truncate", 1 << 24])
    assert longer.stderr == "" and longer.reader.header.lost == 0


def test_a_program_that_handles_system_calls_itself(compile_sample, record):
    """None of the agent's reaches it. Its child, which is free of that, is recorded."""
    recorded = record([compile_sample("dispatched", "gcc", "-O1")])
    if recorded.stdout == "no such kernel\n":
        pytest.skip("the kernel has no Syscall User Dispatch")
    assert recorded.stdout == "7\n"
    assert recorded.stderr.count("\n") == 1 and "Syscall User Dispatch" in recorded.stderr
    first, child = recorded.readers
    assert len(first.events) + first.header.losses["strict_mode"] >= 2 * 102000
    assert len(child.events) >= 4000 and child.header.lost == 0


class Fuse:
    """A file system of ours in user space. It hangs on request."""

    def __init__(self, folder):
        self.folder = folder
        self.server = subprocess.Popen([sys.executable, TOP / "tests/e2e/lib/fuse_server.py", folder], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.server.stdout.readline() != "mounted\n":
            pytest.skip("no FUSE file system can be mounted here")

    def tell(self, word):
        self.server.stdin.write(word + "\n")
        self.server.stdin.flush()
        assert self.server.stdout.readline() == "done\n"

    def hang(self):
        self.tell("hang")

    def go_on(self):
        self.tell("go")

    def end(self):
        self.server.stdin.close()
        self.server.wait(60)


class Frozen:
    """An ext4 file system in a file, which is frozen."""

    def __init__(self, folder):
        self.folder = folder
        self.frozen = False
        image = folder.with_name("image")
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        freeze, make = need("fsfreeze"), need("mkfs.ext4")
        if subprocess.run([make, "-q", image], capture_output=True).returncode or \
                subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode:
            pytest.skip("no file system in a file can be mounted here")
        self.command = freeze

    def hang(self):
        subprocess.run([self.command, "--freeze", self.folder], check=True)
        self.frozen = True

    def go_on(self):
        subprocess.run([self.command, "--unfreeze", self.folder], check=True)
        self.frozen = False

    def end(self):
        if self.frozen:
            self.go_on()
        subprocess.run(["umount", self.folder], check=True)


@pytest.fixture(params=[Frozen, Fuse], ids=["frozen", "fuse"])
def hanging(request, tmp_path):
    """A file system that can hang."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    if os.getuid():
        pytest.skip("mounting is not allowed here")
    system = request.param(folder)
    yield system
    system.end()


class GoesOn:
    """The sample goes_on, recorded."""

    def __init__(self, program, environment):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)

    def rounds(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        if not select.select([self.process.stdout], [], [], 60)[0]:
            self.process.kill()
            pytest.fail("the program stands still")
        return int(self.process.stdout.readline())

    def wait_for(self, more):
        """Until it has done so many rounds more."""
        end = self.rounds() + more
        while self.rounds() < end:
            time.sleep(0.001)

    def end(self):
        """The number of rounds, and what it said on standard error."""
        self.process.stdin.close()
        rounds = self.answer()
        assert self.process.wait(60) == 0
        return rounds


def test_a_file_system_that_hangs_for_a_while(hanging, compile_sample, preload, tool):
    """With private slots the program goes on meanwhile; what is lost is counted, and recording goes on."""
    path = hanging.folder / "r.mallow"
    program = GoesOn(compile_sample("goes_on", "gcc", "-O1"), preload(OUTPUT=path, SLOTS="private"))
    program.wait_for(50)
    hanging.hang()
    program.wait_for(500)
    hanging.go_on()
    # A busy machine takes its time until the write that waited is over.
    size, deadline = path.stat().st_size, time.monotonic() + 60
    while path.stat().st_size == size and time.monotonic() < deadline:
        program.wait_for(50)
    program.wait_for(500)
    rounds = program.end()
    assert b"ends; events lost: " in program.process.stderr.read()
    info = tool.info(path)
    assert info["losses"]["write_failed"] > 2 * 1000 * 400
    assert info["events"] + info["lost"] == 2 * 1000 * rounds
    assert info["events"] > 2 * 1000 * 450


def test_a_file_system_that_hangs_at_the_end(hanging, compile_sample, preload):
    """The program's end does not wait for it."""
    program = GoesOn(compile_sample("goes_on", "gcc", "-O1"), preload(OUTPUT=hanging.folder / "r.mallow",
                                                                      SLOTS="private"))
    program.wait_for(50)
    hanging.hang()
    program.end()
    hanging.go_on()
    assert b"the file system hangs" in program.process.stderr.read()


def test_a_hint_where_the_file_system_may_hang(compile_sample, mallow, preload, tmp_path):
    """`mallow run` names --slots private where a recording lies on FUSE."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    if os.getuid():
        pytest.skip("mounting is not allowed here")
    system = Fuse(folder)
    try:
        for options, hinted in ([], True), (["--slots", "private"], False):
            run = subprocess.run([mallow, "run", "-o", folder / "r.mallow", *options, "--",
                                  compile_sample("goes_on", "gcc", "-O1")], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True)
            assert run.returncode == 0
            assert ("lies on FUSE" in run.stderr) == hinted, run.stderr
    finally:
        system.end()
