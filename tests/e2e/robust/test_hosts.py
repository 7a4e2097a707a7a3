"""What programs and file systems do to the recording itself: it is cut, cannot grow, hangs. And programs
that handle system calls by themselves."""
import os
import subprocess

import pytest


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
