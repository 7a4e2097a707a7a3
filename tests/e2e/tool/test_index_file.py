"""The index file beside a recording: made when asked for, used when it holds, and never in the way."""
import json
import os
import resource
import shutil
import struct
import subprocess
import sys

import pytest
import xxhash

from conftest import TOP, Tool, clean_environment

sys.path.insert(0, str(TOP / "bench"))
from place import Place  # noqa: E402

SEVERAL_FILES = 200_000         # allocations: their wider columns are too large for the heap


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording whose columns are files while it is loaded."""
    path = tmp_path_factory.mktemp("made") / "made.mallow"
    subprocess.run([Place().program("make_recording"), path, str(SEVERAL_FILES), "500"], check=True)
    return path


@pytest.fixture
def caches(tmp_path, monkeypatch):
    folder = tmp_path / "caches"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copy(made, tmp_path / "r.mallow")


def errors_of(tool, path):
    return tool("report", "--errors", "--json", path).stdout


def index_of(path):
    return path.with_name(path.name + ".index")


def nothing_in(caches):
    return not (caches / "mallow").exists() or not os.listdir(caches / "mallow")


def reads(tool, path):
    """The bytes that the tool reads of the recording: of events, unless an index serves."""
    trace = subprocess.run(["strace", "-f", "-qq", "-e", "trace=pread64", "-P", path, tool.path,
                            "report", "--errors", path], env=clean_environment(),
                           capture_output=True, text=True, check=True)
    return sum(int(line.rsplit("=", 1)[1]) for line in trace.stderr.splitlines() if "pread64" in line)


def test_made_and_used(tool, copy, caches):
    """`mallow finish --index-file`: equal views, and the events are not read any more."""
    before = errors_of(tool, copy)
    assert set(os.listdir(copy.parent)) <= {"caches", "r.mallow"}, "a report leaves no file behind"
    assert nothing_in(caches)
    said = tool("finish", "--index-file", copy).stdout.splitlines()
    assert len(said) == 2 and said[1] == f"{index_of(copy)}: written"
    assert index_of(copy).stat().st_mode & 0o7777 == 0o600
    inode = index_of(copy).stat().st_ino
    assert json.loads(errors_of(tool, copy))["errors"] == json.loads(before)["errors"]
    # One that holds is left alone.
    assert len(tool("finish", "--index-file", copy).stdout.splitlines()) == 1
    assert index_of(copy).stat().st_ino == inode
    with_index = errors_of(tool, copy)
    index_of(copy).unlink()
    assert errors_of(tool, copy) == with_index
    assert nothing_in(caches)


def test_events_are_not_read(tool, copy, caches):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    tool("finish", "--index-file", copy)
    with_index = reads(tool, copy)
    index_of(copy).unlink()
    without = reads(tool, copy)
    assert without > 5 * with_index


def test_stale(tool, copy, caches):
    """A recording that changed is read anew, and the index is made anew when asked for."""
    tool("finish", "--index-file", copy)
    right = errors_of(tool, copy)
    with open(copy, "r+b") as file:
        file.seek(40960)
        file.write(b"damage in the middle of a chunk")
    damaged = tool("report", "--errors", "--json", copy).stdout
    assert damaged != right
    index_of(copy).unlink()
    assert errors_of(tool, copy) == damaged
    run = tool("finish", "--index-file", copy, check=False)
    assert run.returncode == 1 and "is damaged" in run.stderr
    assert not index_of(copy).exists()


def test_kept(tool, made, copy, caches):
    """Who has one keeps one: what reads the blocks of a recording that is another by now renews it."""
    tool("finish", "--index-file", copy)
    right, size = errors_of(tool, copy), index_of(copy).stat().st_size
    index_of(copy).write_bytes(b"")
    assert errors_of(tool, copy) == right
    assert index_of(copy).stat().st_size == size
    shutil.copy(made, copy)
    os.utime(copy, ns=(1, 1))
    inode = index_of(copy).stat().st_ino
    assert errors_of(tool, copy) == right
    assert index_of(copy).stat().st_ino != inode
    inode = index_of(copy).stat().st_ino
    assert errors_of(tool, copy) == right
    assert index_of(copy).stat().st_ino == inode, "the new one holds"
    # Not where the blocks are not needed, and nobody else's.
    index_of(copy).write_bytes(b"")
    tool("report", "--tree", copy)
    assert not index_of(copy).stat().st_size
    if os.geteuid() == 0:
        os.chown(index_of(copy), 1, 1)
        assert errors_of(tool, copy) == right
        assert not index_of(copy).stat().st_size
    assert nothing_in(caches)


def test_another_version(tool, copy, caches):
    """A whole file of another version of the layout is not used, and made anew."""
    tool("finish", "--index-file", copy)
    right, whole = errors_of(tool, copy), index_of(copy).read_bytes()
    version, = struct.unpack_from("<I", whole, 8)
    for other in (version - 1, version + 1):
        head = whole[:8] + struct.pack("<I", other) + whole[12:408]
        index_of(copy).write_bytes(head + struct.pack("<Q", xxhash.xxh3_64_intdigest(head)) + whole[416:])
        inode = index_of(copy).stat().st_ino
        assert errors_of(tool, copy) == right
        assert index_of(copy).read_bytes()[:64] == whole[:64] and index_of(copy).stat().st_ino != inode


def test_under_sanitizers(tool, asan_mallow, copy, caches):
    tool("finish", "--index-file", copy)
    right = errors_of(tool, copy)
    sanitized = Tool(asan_mallow)
    assert errors_of(sanitized, copy) == right
    size = index_of(copy).stat().st_size
    data = index_of(copy).read_bytes()
    for at in (8, 60, 300, 4097, size // 3, size // 2, size - 4096):
        index_of(copy).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        assert errors_of(sanitized, copy) == right
        index_of(copy).write_bytes(data[:at])
        assert errors_of(sanitized, copy) == right
    index_of(copy).unlink()
    assert errors_of(sanitized, copy) == right
    sanitized("finish", "--index-file", copy)
    assert errors_of(tool, copy) == right


def test_among_the_caches(tool, made, tmp_path, caches):
    """A name that leaves no room for `.index`, as in a folder that must not be written to."""
    path = shutil.copy(made, tmp_path / ("r" * 248 + ".mallow"))
    said = tool("finish", "--index-file", path).stdout.splitlines()[1]
    assert said.startswith(str(caches / "mallow")) and said.endswith(".index: written")
    assert len(os.listdir(caches / "mallow")) == 1
    assert oct((caches / "mallow").stat().st_mode)[-3:] == "700"
    assert len(tool("finish", "--index-file", path).stdout.splitlines()) == 1


def test_nowhere(tool, made, tmp_path, monkeypatch):
    """No folder for it at all: one line, status 1, and the recording is finished all the same."""
    path = shutil.copy(made, tmp_path / ("r" * 248 + ".mallow"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    run = tool("finish", "--index-file", path, check=False)
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1 and "cannot write the index file" in run.stderr
    assert tool.info(path)["finished"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", folder],
                                     stderr=subprocess.DEVNULL).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_disk_full(tool, made, small_disk, tmp_path, monkeypatch):
    """The caches' disk is full: loading does without a file, and nothing is left of an index."""
    right = errors_of(tool, made)
    monkeypatch.setenv("XDG_CACHE_HOME", str(small_disk))
    assert errors_of(tool, made) == right
    path = shutil.copy(made, small_disk / "r.mallow")
    run = tool("finish", "--compress=always", "--index-file", path, check=False)
    assert run.returncode == 1 and "cannot write the index file" in run.stderr, run.stderr
    assert sorted(os.listdir(small_disk)) == ["mallow", "r.mallow"]
    assert os.listdir(small_disk / "mallow") == []
    assert json.loads(errors_of(tool, path))["errors"] == json.loads(right)["errors"]


def test_file_size_limit(tool, copy, caches):
    """A limit on the size of files neither kills, nor keeps a recording from being opened."""
    right = errors_of(tool, copy)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))

    assert tool("report", "--errors", "--json", copy, preexec_fn=limited).stdout == right
    tool("finish", copy)
    run = tool("finish", "--index-file", copy, check=False, preexec_fn=limited)
    assert run.returncode == 1 and "cannot write the index file" in run.stderr
    assert not index_of(copy).exists()


def test_columns_are_not_private(tool, tmp_path, caches):
    """A million blocks, whose columns are 66 MB, within 48 MB of memory of the process's own."""
    path = tmp_path / "r.mallow"
    subprocess.run([Place().program("make_recording"), path, "1000000"], check=True)

    def limited():
        resource.setrlimit(resource.RLIMIT_DATA, (48 << 20, 48 << 20))

    assert tool("report", "--errors", "--json", path,
                preexec_fn=limited).stdout == errors_of(tool, path)


def test_many_at_once(tool, mallow, copy, caches):
    """Who writes and who reads at the same time get right numbers."""
    tool("finish", copy)
    right = errors_of(tool, copy)
    env = {**clean_environment(), "XDG_CACHE_HOME": str(caches)}
    commands = [[mallow, "finish", "--index-file", copy],
                [mallow, "report", "--errors", "--json", copy]] * 4
    running = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
               for command in commands]
    for command, process in zip(commands, running):
        output = process.communicate(timeout=120)[0]
        assert process.returncode == 0
        assert command[1] == "finish" or output == right
    assert errors_of(tool, copy) == right
    assert {name for name in os.listdir(copy.parent) if name != "caches"} == {
        "r.mallow", "r.mallow.index"}


def test_generator_is_deterministic(made, tmp_path):
    again = tmp_path / "again"
    subprocess.run([Place().program("make_recording"), again, str(SEVERAL_FILES), "500"], check=True)
    assert again.read_bytes() == made.read_bytes()
    subprocess.run([Place().program("make_recording"), again, "1000", "50", "2", "7"], check=True)
    small = again.read_bytes()
    subprocess.run([Place().program("make_recording"), again, "1000", "50", "2", "8"], check=True)
    assert again.read_bytes() != small


def test_generated_recording(tool, tmp_path):
    """What it makes is sound: the independent reader agrees on every sum."""
    path = tmp_path / "r.mallow"
    subprocess.run([Place().program("make_recording"), path, "20000", "300", "5"], check=True)
    tool.assert_equal_sums(path)
    facts = tool.info(path)
    assert facts["complete"]
