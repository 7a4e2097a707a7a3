"""Finished recordings say what they said before, are smaller, and the old file is never lost."""
import os
import random
import re
import resource
import signal
import subprocess
import time

import pytest
import xxhash

import mallow_reader
import mallow_sums
from conftest import Tool, clean_environment, need
from recording_writer import ChunkWriter, Writer
from stories import Story, definitions
from stories import boundaries

WAYS = ("always", "never")
# Finishing may change the offsets of damaged places, and so which of them is the first one and
# what is wrong there; of nothing else anything.
FACTS_OF_THE_FILE = {"file_size", "format_minor", "first_damage", "finished", "compressed",
                     "bytes_per_event"}


DAMAGED_PLACE = re.compile(r"at offset \d+.*$|^# damage.*$", re.M)


def views(tool, path):
    """What the tool shows of a recording, every number of it."""
    info = tool.info(path)
    return {"report": tool("report", "--json", path).stdout,
            "tree": DAMAGED_PLACE.sub("", tool("report", "--tree", "--bytes", path).stdout),
            "dump": DAMAGED_PLACE.sub("", tool("trace", "dump", "--stacks", path).stdout),
            "info": {key: value for key, value in info.items() if key not in FACTS_OF_THE_FILE}}


def assert_same(tool, path, before, way):
    """Finishes the recording and compares; its new bytes."""
    old = path.read_bytes()
    assert "finished" in tool("finish", "--compress", way, path).stdout
    assert views(tool, path) == before
    data = path.read_bytes()
    assert mallow_reader.Header(data.ljust(4096, b"\0")).finished
    assert [entry.name for entry in path.parent.iterdir() if entry.name.startswith(".")] == []
    path.write_bytes(old)
    return data


def kinds(data):
    return {chunk.kind for chunk in mallow_reader.Recording(data).chunks}


@pytest.mark.parametrize("command", [
    ["totals"], ["hand_over", "1000", "4"], ["marks"], ["mappings"], ["deep", "50"], ["life_cycle"]])
def test_same_views(command, record, compile_sample, tool):
    """Byte by byte the same report and dump; the independent reader agrees."""
    recorded = record([compile_sample(command[0]), *command[1:]], check=False)
    before = views(tool, recorded.path)
    for way in WAYS:
        data = assert_same(tool, recorded.path, before, way)
        assert (mallow_reader.PACKED in kinds(data)) == (way == "always")
        recording = mallow_reader.Recording(data)
        assert not recording.damages
        sums = mallow_sums.Sums(recording)
        assert (sums.calls, sums.total_bytes) == (recorded.sums.calls, recorded.sums.total_bytes)
        assert mallow_reader.read(recorded.path).events == recording.events


@pytest.mark.parametrize("seed", range(8))
def test_random_recordings(seed, tool, tmp_path):
    """All kinds of records, chunks of many threads, slots: both storages give all of it back."""
    path = tmp_path / "story.mallow"
    path.write_bytes(Story(seed, glibc=seed % 3 != 0).image(steps=600))
    before = views(tool, path)
    for way in WAYS:
        path.write_bytes(assert_same(tool, path, before, way))
        tool.assert_equal_sums(path)


def test_records_that_do_not_end(tool, tmp_path):
    """Payloads that are no whole records cannot be split into columns: one frame, same damage."""
    writer = Writer()
    for sequence in range(3):
        chunk = ChunkWriter(1, sequence, 1000)
        if not sequence:
            definitions(chunk)
        for number in range(200):
            chunk.allocate(1, 1001 + number, 0x10000 + sequence * 0x10000 + 16 * number, 10,
                           change=(0, [1]) if not number else None)
        if sequence == 1:
            chunk.payload += bytes([0x37, 0xF0]) + b"\xff\xff\xff\xff\xff\xff\xff\x7f"
        writer.add(chunk.image())
    path = tmp_path / "odd.mallow"
    path.write_bytes(writer.image())
    before = views(tool, path)
    assert before["info"]["damaged_chunks"] == 1
    data = assert_same(tool, path, before, "always")
    pack, = mallow_reader.Recording(data).packs
    assert pack.storage == 1


@pytest.fixture(scope="module")
def many_chunks(compile_sample, agent, tmp_path_factory):
    """A recording of several threads with many chunks, as bytes."""
    path = tmp_path_factory.mktemp("many") / "r.mallow"
    subprocess.run([compile_sample("hand_over", "gcc", "-O2"), "1500", "6"],
                   env=clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": path}),
                   stdout=subprocess.DEVNULL)
    return path.read_bytes()


def test_cut_short(tool, many_chunks, tmp_path):
    """Cut at any place: within a header, a slot, a sealed chunk."""
    path, moments = tmp_path / "cut.mallow", random.Random(7)
    edges = boundaries(many_chunks)
    cuts = [4096, 4100, *edges[1::max(1, len(edges) // 6)],
            *(moments.choice(edges) + moments.choice([8, 40, 64, 100, 3000]) for _ in range(8))]
    for number, cut in enumerate(cuts):
        path.write_bytes(many_chunks[:cut])
        assert_same(tool, path, views(tool, path), WAYS[number % 2])


def test_damaged(tool, many_chunks, tmp_path):
    """What is damaged stays found: as many places, and as much lost by them."""
    path, places = tmp_path / "damaged.mallow", random.Random(5)
    found = 0
    for number in range(12):
        data = bytearray(many_chunks)
        for offset in places.sample(boundaries(many_chunks)[:-1], 2):
            at = offset + (places.randrange(8, 64) if number % 2 else places.randrange(64, 4000))
            data[at] ^= 1 << places.randrange(8)
        path.write_bytes(data)
        before = views(tool, path)
        found += before["info"]["damaged_chunks"]
        assert_same(tool, path, before, WAYS[number // 2 % 2])
    assert found > 4


def test_chunks_of_later_versions_are_kept(tool, many_chunks, tmp_path):
    """A chunk of a kind that is not known stands in the finished file as it stood."""
    path = tmp_path / "later.mallow"
    strange = bytearray(ChunkWriter(0, 0, 1000).image(size=8192))
    strange[8] = 77
    strange[64:80] = b"of another time."
    path.write_bytes(many_chunks + bytes(strange))
    for way in WAYS:
        assert bytes(strange) in assert_same(tool, path, views(tool, path), way)


def start_steady(compile_sample, environment):
    """The program, whose reports go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        return subprocess.Popen([compile_sample("steady"), "2"], env=environment, pass_fds=[3],
                                preexec_fn=lambda: os.dup2(null, 3))
    finally:
        os.close(null)


def test_killed(record, compile_sample, tool, preload, tmp_path):
    """Killed while it wrote: the tails in the slots are in the finished file."""
    for slots in ("shared", "private"):
        path = tmp_path / f"{slots}.mallow"
        program = start_steady(compile_sample, preload(OUTPUT=path, SLOTS=slots))
        time.sleep(0.04)
        program.kill()
        program.wait()
        before = views(tool, path)
        assert before["info"]["events"] > 100 and not before["info"]["ended"]
        for way in WAYS:
            assert_same(tool, path, before, way)


def test_forked_images(record, compile_sample, tool):
    recorded = record([compile_sample("fork_threads")], check=False)
    assert len(recorded.paths) > 1
    before = {path: views(tool, path) for path in recorded.paths}
    tool("finish", *recorded.paths)
    for path in recorded.paths:
        assert views(tool, path) == before[path]


def test_already_finished(record, compile_sample, tool):
    """A second time changes nothing; another storage does, there and back."""
    path = record([compile_sample("totals")]).path
    tool("finish", "--compress", "always", path)
    packed, inode = path.read_bytes(), path.stat().st_ino
    for arguments in ((), ("--compress", "always"), ("--compress", "auto")):
        assert "already finished" in tool("finish", *arguments, path).stdout
        assert path.stat().st_ino == inode
    assert ", finished, compressed" in tool("info", path).stdout
    assert "not compressed" in tool("finish", "--compress", "never", path).stdout
    info = tool.info(path)
    assert info["finished"] and not info["compressed"]
    assert path.read_bytes() != packed
    tool("finish", "--compress", "always", path)
    assert path.read_bytes() == packed


def test_live_recording_is_refused(compile_sample, tool, preload, tmp_path):
    """While its program runs a recording keeps its place: one line, status 1, nothing touched."""
    path = tmp_path / "live.mallow"
    program = start_steady(compile_sample, preload(OUTPUT=path))
    try:
        time.sleep(0.3)
        inode = path.stat().st_ino
        result = tool("finish", path, check=False)
        assert result.returncode == 1 and "still being written" in result.stderr
        assert len(result.stderr.splitlines()) == 1 and path.stat().st_ino == inode
    finally:
        program.kill()
        program.wait()
    assert "finished" in tool("finish", path).stdout


def test_mode_and_links(record, compile_sample, tool, tmp_path):
    """Mode as before; a symbolic link goes on naming the file."""
    path = record([compile_sample("totals")]).path
    path.chmod(0o640)
    link = tmp_path / "link.mallow"
    link.symlink_to(path)
    tool("finish", link)
    assert link.is_symlink() and mallow_reader.read(path).header.finished
    assert path.stat().st_mode & 0o7777 == 0o640


def test_attributes_and_hard_links(record, compile_sample, tool, tmp_path):
    """Access control lists and other attributes stay; that other names keep the old file is said."""
    path = record([compile_sample("totals")]).path
    acl = bytes.fromhex("02000000" "01000600ffffffff" "020006001f4e0000" "04000000ffffffff"
                        "10000600ffffffff" "20000000ffffffff")
    try:
        os.setxattr(path, "user.note", b"which run")
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError as error:
        pytest.skip(f"no attributes on this file system: {error}")
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    other = tmp_path / "other"
    os.link(path, other)
    old = other.read_bytes()
    run = tool("finish", path)
    assert run.stderr == (f"mallow: '{path}' has 1 other name (hard links), which keep the file "
                          "as it was\n")
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before
    assert other.read_bytes() == old and path.read_bytes() != old
    assert tool("finish", other).stderr == "", "it has no other name any more"


def giant(size):
    """A recording with one chunk of so many payload bytes that compress to next to nothing."""
    writer, chunk = Writer(), ChunkWriter(1, 0, 1000)
    definitions(chunk)
    chunk.payload += b"\x14\0\1" * (size // 3)                       # frees of address 0
    writer.add(chunk.image())
    return writer


def test_more_than_a_reader_would_unpack(tool, tmp_path):
    """What compresses better than readers believe is not compressed; nothing is lost."""
    path = tmp_path / "giant.mallow"
    path.write_bytes(giant(4 << 20).image())
    before = views(tool, path)
    assert before["info"]["unknown_frees"] == (4 << 20) // 3
    data = assert_same(tool, path, before, "always")
    assert mallow_reader.PACKED not in kinds(data)
    path.write_bytes(giant(1 << 19).image())
    assert mallow_reader.PACKED in kinds(assert_same(tool, path, views(tool, path), "always"))


def bomb(content):
    """A packed chunk that is sound but for what it claims to hold."""
    zeros = subprocess.run(["zstd", "-qc", f"--stream-size={content}"], input=bytes(content),
                           capture_output=True, check=True).stdout
    inner = bytearray(ChunkWriter(1, 0, 1000).image()[:64])
    inner[12:16] = ((content + 72 + 4095) // 4096 * 4096).to_bytes(4, "little")
    inner[24:28] = content.to_bytes(4, "little")
    chunk = ChunkWriter(1, 0, 1000)
    chunk.payload = bytes([1, 1]) + inner + zeros
    image = bytearray(chunk.image())
    image[8] = mallow_reader.PACKED
    return bytes(image[:-8]) + xxhash.xxh64_intdigest(bytes(image[:-8])).to_bytes(8, "little")


@pytest.mark.parametrize("content, taken", [(1 << 20, True), (300 << 20, False)])
def test_small_file_that_claims_much(content, taken, tool, mallow, tmp_path):
    """Memory is asked for in proportion to the file: 256 bytes for one."""
    need("zstd")
    path, writer = tmp_path / "bomb.mallow", Writer(minor=1, flags=4)
    writer.add(bomb(content))
    path.write_bytes(writer.image())
    run = subprocess.run(["/usr/bin/time", "-f", "%M", mallow, "info", path],
                         capture_output=True, text=True, env=clean_environment())
    assert ("expected the headers of the events chunks that it holds" in run.stdout) != taken
    assert int(run.stderr.splitlines()[-1]) < 60_000, "KB"


def test_pages_behind_a_damaged_header_are_kept(tool, many_chunks, tmp_path):
    """A header that cannot be true hides its chunk: all of that chunk is in the finished file."""
    path = tmp_path / "header.mallow"
    chunk = max((chunk for chunk in mallow_reader.Recording(many_chunks).chunks
                 if chunk.flags & mallow_reader.SEALED), key=lambda chunk: chunk.size)
    assert chunk.size > 4096
    data = bytearray(many_chunks)
    data[chunk.offset + 12:chunk.offset + 16] = b"\xff\xff\xff\xff"    # its size
    path.write_bytes(data)
    before = views(tool, path)
    assert before["info"]["damaged_chunks"] == 1
    for way in WAYS:
        path.write_bytes(data)
        new = assert_same(tool, path, before, way)
        hidden = bytes(data[chunk.offset:chunk.offset + chunk.size])
        place = new.find(hidden)
        assert place > 0 and place % 4096 == 0
        mended = bytearray(new)
        mended[place:place + len(hidden)] = many_chunks[chunk.offset:chunk.offset + chunk.size]
        path.write_bytes(mended)
        whole = tmp_path / "whole.mallow"
        whole.write_bytes(many_chunks)
        assert tool.report(path)["calls"] == tool.report(whole)["calls"]


def test_empty_room_is_not_kept(tool, tmp_path):
    """Pages that nobody wrote to are dropped, stray bytes are not."""
    path, writer = tmp_path / "holes.mallow", Writer()
    chunk = ChunkWriter(1, 0, 1000)
    definitions(chunk)
    writer.add(bytes(8 * 4096))
    writer.add(chunk.image())
    writer.add(bytes(4096) + b"stray".ljust(8192, b"\1") + bytes(4096))
    writer.add(b"tail")
    path.write_bytes(writer.image())
    tool("finish", path)
    data = path.read_bytes()
    assert len(data) < 8 * 4096
    assert data.count(b"stray".ljust(8192, b"\1")) == 1 and data.endswith(b"tail")


def small_files(limit):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return prepare


def test_no_room(record, compile_sample, tool):
    """The new file cannot be written: the old one stays, one line says why."""
    path = record([compile_sample("hand_over"), "1000", "4"], check=False).path
    before = path.read_bytes()
    result = tool("finish", "--compress", "never", path, check=False,
                  preexec_fn=small_files(16 << 10))
    assert result.returncode == 1 and "File too large" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


CALLS = "openat,open,read,pread64,write,linkat,rename,fchmod,fchown,fstat,newfstatat,mmap,clone3"


def test_every_system_call_fails_once(record, compile_sample, tool, mallow):
    """Failure n of the calls that finishing makes: the file is the old one or the new one."""
    strace = need("strace")
    path = record([compile_sample("totals")]).path
    old = path.read_bytes()
    tool("finish", path)
    new = path.read_bytes()
    outcomes = {"old": 0, "new": 0}
    for call, number in [("ENOSPC:write", "write"), ("EIO:pread64", "pread64"),
                         ("EACCES:openat", "openat"), ("EPERM:linkat", "linkat"),
                         ("EROFS:rename", "rename"), ("EPERM:fchmod", "fchmod")]:
        for when in range(1, 40):
            path.write_bytes(old)
            error = call.split(":")[0]
            run = subprocess.run(
                [strace, "-f", "-qq", "-o", "/dev/null", "-P", path, "-P", path.parent, "-e",
                 f"inject={number}:error={error}:when={when}", mallow, "finish", path],
                capture_output=True, text=True, env=clean_environment(), timeout=60)
            data = path.read_bytes()
            assert data in (old, new), f"{call} {when}"
            assert run.returncode in (0, 1) and len(run.stderr.splitlines()) == run.returncode
            assert (data == new) == (run.returncode == 0), f"{call} {when}: {run.stderr}"
            assert [p.name for p in path.parent.iterdir()] == [path.name], f"{call} {when}"
            outcomes["new" if data == new else "old"] += 1
            if run.returncode == 0:
                break
    assert outcomes["old"] >= 4 and outcomes["new"] >= 1, outcomes


def test_killed_while_finishing(many_chunks, tool, mallow, tmp_path):
    """At any moment there is one whole recording under the name, and no other file."""
    path, moments = tmp_path / "r.mallow", random.Random(3)
    done = 0
    for _ in range(25):
        path.write_bytes(many_chunks)
        process = subprocess.Popen([mallow, "finish", "--compress", "always", path],
                                   stdout=subprocess.DEVNULL, env=clean_environment())
        time.sleep(moments.random() * 0.06)
        process.kill()
        process.wait()
        data = path.read_bytes()
        if data != many_chunks:
            assert mallow_reader.Header(data).finished
            assert not mallow_reader.Recording(data).damages
            done += 1
        # Between link and rename it has two names: a moment that a kill can hit.
        for rest in tmp_path.glob(".rewrite-*"):
            rest.unlink()
        assert list(tmp_path.iterdir()) == [path]
    assert done < 25


def test_run_finishes(record, compile_sample, tool):
    """`mallow run` leaves finished recordings, of all images; --no-finish leaves them raw."""
    recorded = record([compile_sample("fork_threads")], bare=False, check=False)
    assert len(recorded.paths) > 1 and all(reader.header.finished for reader in recorded.readers)
    recorded.assert_sound()
    raw = recorded.folder / "raw.mallow"
    subprocess.run([tool.path, "run", "--no-finish", "-o", raw, "--", compile_sample("totals")],
                   check=True, capture_output=True, env=clean_environment())
    assert not mallow_reader.read(raw).header.finished


def test_run_keeps_status_and_recording(compile_sample, tool, mallow, tmp_path):
    """Finishing fails: the program's own status, its recording as it was written, one line more."""
    strace = need("strace")
    path = tmp_path / "r.mallow"
    run = subprocess.run(
        [strace, "-qq", "-o", "/dev/null", "-e", "inject=rename,linkat:error=EROFS", mallow, "run", "-o", path, "--", "sh", "-c", "exit 7"],
        capture_output=True, text=True, env=clean_environment(), timeout=60)
    assert run.returncode == 7
    assert len([line for line in run.stderr.splitlines() if "stays as" in line]) == 1
    assert not mallow_reader.read(path).header.finished
    assert "recording   " in run.stderr


def test_run_leaves_a_live_recording_alone(compile_sample, tool, tmp_path):
    """A child that runs on writes to its recording: it must stay what it is."""
    script = f"{compile_sample('steady')} 1 3>/dev/null >/dev/null 2>&1 & echo $!; sleep 0.05"
    run = subprocess.run([tool.path, "run", "-o", tmp_path / "r.mallow", "--", "sh", "-c", script],
                         capture_output=True, text=True, env=clean_environment(), timeout=60)
    child = int(run.stdout.split()[0])
    try:
        assert run.returncode == 0
        headers = {path: mallow_reader.Header(path.read_bytes()) for path in tmp_path.iterdir()}
        assert any(header.finished for header in headers.values())
        live = [path for path, header in headers.items() if header.pid == child
                and not header.finished]
        assert live
        before = max(tool.info(path)["events"] for path in live)
        time.sleep(0.05)
        assert max(tool.info(path)["events"] for path in live) > before
    finally:
        os.kill(child, signal.SIGKILL)


def test_bad_choice(tool, tmp_path):
    for command in (("finish", "--compress", "some", "x"), ("run", "--compress", "some", "true")):
        result = tool(*command, check=False)
        assert result.returncode == 2 and "auto always never" in result.stderr


def test_compression_of_nothing(tool):
    result = tool("run", "--no-finish", "--compress", "always", "true", check=False)
    assert result.returncode == 2 and "--no-finish" in result.stderr


def test_replaced_meanwhile(many_chunks, mallow, tmp_path):
    """A recording that takes the name while another is finished under it is not overwritten."""
    path, other = tmp_path / "r.mallow", tmp_path / "other"
    path.write_bytes(many_chunks)
    other.write_bytes(many_chunks[:8192])
    calls = tmp_path / "calls"
    finishing = subprocess.Popen(
        [need("strace"), "-f", "-qq", "-o", calls, "-e", "trace=openat,linkat",
         "-e", "inject=linkat:delay_enter=2000000", mallow, "finish", path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # The new file is begun once the old one was looked at.
    while not calls.exists() or "O_TMPFILE" not in calls.read_text():
        assert finishing.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    os.replace(other, path)
    _, errors = finishing.communicate(timeout=60)
    assert finishing.returncode == 1 and "replaced meanwhile" in errors
    assert path.read_bytes() == many_chunks[:8192]


def test_flipped_bits_in_a_finished_file(many_chunks, tool, asan_mallow, tmp_path):
    """Packed chunks, their columns and headers, damaged: a partial result, never a crash."""
    path, places = tmp_path / "r.mallow", random.Random(9)
    path.write_bytes(many_chunks)
    tool("finish", "--compress", "always", path)
    sound, asan = path.read_bytes(), Tool(asan_mallow)
    packs = [c for c in mallow_reader.Recording(sound).chunks if c.kind == mallow_reader.PACKED]
    commands = (("report",), ("trace", "dump"), ("info", "--json"), ("finish", "--compress", "never"))
    for number in range(160):
        data = bytearray(sound)
        for _ in range(places.randint(1, 3)):
            pack = places.choice(packs)
            at = places.choice([places.randrange(pack.size),
                                64 + places.randrange(min(pack.committed, 80))])
            data[pack.offset + at] ^= 1 << places.randrange(8)
        if number % 8 == 7:
            data = data[:places.randrange(4096, len(data))]
        path.write_bytes(data)
        result = asan(*commands[number % len(commands)], path, check=False)
        assert result.returncode in (0, 1), result.stderr[-3000:]


def test_a_damaged_pack_is_found(many_chunks, tool, tmp_path):
    """One place, its offset; the events of all other threads are there."""
    path = tmp_path / "r.mallow"
    path.write_bytes(many_chunks)
    whole = tool("trace", "dump", path).stdout
    tool("finish", "--compress", "always", path)
    data = bytearray(path.read_bytes())
    pack = max((c for c in mallow_reader.Recording(bytes(data)).chunks
                if c.kind == mallow_reader.PACKED), key=lambda c: c.committed)
    data[pack.offset + 64 + pack.committed // 2] ^= 0x55
    path.write_bytes(data)
    dump = tool("trace", "dump", path).stdout
    assert f"# damage at offset {pack.offset}:" in dump
    assert mallow_reader.read(path).damages[0][0] == pack.offset
    for stream in {c.stream for c in mallow_reader.Recording(bytes(data)).chunks} - {pack.stream}:
        assert dump.count(f" t{stream} ") == whole.count(f" t{stream} ") > 0
    # A report takes the index, which holds what was there; info looks at every chunk.
    info = tool.info(path)
    assert not info["complete"] and info["damaged_chunks"] >= 1
    before = path.read_bytes()
    result = tool("finish", "--compress", "never", path, check=False)
    assert result.returncode == 1 and "damaged" in result.stderr and path.read_bytes() == before
