"""Damaged recordings: a partial result or an error that names an offset, never a crash."""
import csv
import io
import json
import os
import random
import re
import subprocess
import xml.etree.ElementTree

import pytest

import mallow_reader
import mallow_sums
from cells import mostly_long
from conftest import Tool
from recording_writer import ChunkWriter, SLOT, Writer
from stories import Story, boundaries
from stories import odd_image_of_slots

FLIPS = 1000
PARTS = 16
COMMANDS = (
    ("info", "--json"), ("report",), ("report", "--json", "--top", "3"), ("trace", "dump"),
    ("report", "--errors"), ("report", "--by", "function"), ("report", "--by", "size", "--csv"),
    ("report", "--by", "frame", "--width", "40"), ("report", "--by", "thread", "--json"),
    ("report", "--histogram", "lifetime"),
    ("report", "--at", "50%"), ("report", "--tree", "--slack-min", "1", "--chain-length-max", "9"),
    ("export", "--to", "flamegraph"), ("export", "--to", "heaptrack"), ("export", "--to", "pprof"),
    ("export", "--to", "replay"),
)


@pytest.fixture(scope="module")
def asan(asan_mallow):
    return Tool(asan_mallow)


def run(asan, words, path, statuses=(0, 1)):
    """A command on a damaged file. A sanitizer's or a signal's end fails the test."""
    result = subprocess.run(
        [str(asan.path), *words, str(path)], capture_output=True, text=True, timeout=60,
        errors="backslashreplace",
        env=dict(os.environ, ASAN_OPTIONS="exitcode=99:abort_on_error=0",
                 UBSAN_OPTIONS="halt_on_error=1:exitcode=99"))
    assert result.returncode in statuses, f"status {result.returncode}\n{result.stderr[-3000:]}"
    if result.returncode == 1 and 3 not in statuses:
        assert result.stderr.startswith("mallow: ") and len(result.stderr.splitlines()) == 1
    return result


def check(asan, path, data, number):
    """One damaged file: the commands that read it take turns."""
    path.write_bytes(data)
    return run(asan, COMMANDS[number % len(COMMANDS)], path)


@pytest.fixture(scope="module")
def sound(compile_sample, agent, tmp_path_factory):
    """A recording with many chunks of several threads, as bytes."""
    path = tmp_path_factory.mktemp("sound") / "r.mallow"
    program = compile_sample("hand_over", "gcc", "-O2")
    subprocess.run([program, "1500", "10"], env=dict(os.environ, LD_PRELOAD=str(agent), MALLOW_OUTPUT=str(path)),
                   stdout=subprocess.DEVNULL)
    return path.read_bytes()


def test_cut_at_every_chunk(asan, sound, tmp_path):
    """Cut at every boundary: what is left is read, and the Python reader reads as much."""
    for number, cut in enumerate(boundaries(sound)):
        info = check(asan, tmp_path / "cut.mallow", sound[:cut], number)
        assert info.returncode == 0
        if number % 5 == 0:
            asan.assert_equal_sums(tmp_path / "cut.mallow")


def test_cut_anywhere(asan, sound, tmp_path):
    """Cut within the header, a chunk's header, a record, a trailer."""
    moments = random.Random(1)
    cuts = [0, 1, 7, 8, 127, 4095, 4096, 4097, 4096 + 63, 4096 + 64, 4096 + 65] + \
        [moments.randrange(len(sound)) for _ in range(40)]
    for number, cut in enumerate(cuts):
        info = check(asan, tmp_path / "cut.mallow", sound[:cut], number)
        # Between them lies the reserved part of the header, which nobody needs.
        if cut < 256 or cut >= 4096:
            assert (info.returncode == 0) == (cut >= 4096), f"cut at {cut}"


@pytest.mark.parametrize("part", mostly_long(range(PARTS), 1))
def test_flipped_bits(part, asan, sound, tmp_path):
    """A thousand files with one to four bits flipped; half of the flips hit headers."""
    places = random.Random(part)
    edges = [0, *boundaries(sound)[:-1]]
    for number in range(FLIPS // PARTS):
        data = bytearray(sound[:places.choice([20000, 100000, len(sound)])])
        for _ in range(places.randint(1, 4)):
            at = places.randrange(len(data))
            if places.random() < 0.5:
                at = min(places.choice(edges) + places.randrange(64), len(data) - 1)
            data[at] ^= 1 << places.randrange(8)
        check(asan, tmp_path / "flipped.mallow", bytes(data), number)


LIMITS = ("check", "--max-peak", "1K", "--max-own-leaked", "0", "--max-growth", "1/s", "--max-temporary", "1%")


def test_a_gate_of_flipped_bits(asan, sound, tmp_path):
    """Whatever is in a file, what `mallow check` writes can be read."""
    places = random.Random(7)
    whole, path = tmp_path / "whole.mallow", tmp_path / "flipped.mallow"
    whole.write_bytes(sound)
    for number in range(40):
        data = bytearray(sound[:places.choice([20000, len(sound)])])
        for _ in range(places.randint(1, 4)):
            data[places.randrange(len(data))] ^= 1 << places.randrange(8)
        path.write_bytes(data)
        form = ("junit", "sarif", "github", "text")[number % 4]
        said = run(asan, (*LIMITS, "--format", form, "--baseline", str(whole)), path, (0, 1, 3)).stdout
        if form == "junit":
            xml.etree.ElementTree.fromstring(said)
        elif form == "sarif":
            json.loads(said)
        elif form == "github":
            assert all(line.startswith("::") for line in said.splitlines())


# What is written of two sides, and how it is read back.
DIFFERENCES = (
    (("diff", "--per", "call"), str),
    (("diff", "--json", "--by", "site"), json.loads),
    (("diff", "--csv", "--by", "module"), lambda said: list(csv.DictReader(io.StringIO(said)))),
    (("diff", "--by", "file", "--sort", "leaked", "--size-min", "100"), str),
    (("export", "--to", "flamegraph"), xml.etree.ElementTree.fromstring),
    (("export", "--to", "flamegraph", "--show", "grew", "--metric", "calls"), xml.etree.ElementTree.fromstring),
)


def test_differences_of_flipped_bits(asan, sound, tmp_path):
    """Either side is damaged: what `mallow diff` and export --baseline write can be read."""
    places = random.Random(11)
    whole, path = tmp_path / "whole.mallow", tmp_path / "flipped.mallow"
    whole.write_bytes(sound)
    read = 0
    for number in range(60):
        data = bytearray(sound[:places.choice([20000, 100000, len(sound)])])
        for _ in range(places.randint(1, 4)):
            data[places.randrange(len(data))] ^= 1 << places.randrange(8)
        path.write_bytes(data)
        words, reader = DIFFERENCES[number % len(DIFFERENCES)]
        before, after = (whole, path) if number // len(DIFFERENCES) % 2 else (path, whole)
        said = run(asan, (*words, *(["--baseline"] if words[0] == "export" else []), str(before)), after)
        if said.returncode == 0:
            reader(said.stdout)
            read += 1
    assert read > 30


@pytest.mark.parametrize("seed", mostly_long(range(4), 1))
def test_flipped_bits_in_slots(seed, asan, tmp_path):
    """Slots have no checksum: what is flipped in them reaches the decoder."""
    places = random.Random(seed)
    image = Story(seed).image(steps=300)
    for number in range(60):
        data = bytearray(image)
        for chunk in mallow_reader.Recording(image).chunks:
            data[chunk.offset + 20] = SLOT
            data[places.randrange(chunk.offset + 24, chunk.offset + 64 + chunk.committed)] ^= \
                1 << places.randrange(8)
        check(asan, tmp_path / "slots.mallow", bytes(data), number)


def sums_of_reader(path):
    recording = mallow_reader.read(path)
    sums = mallow_sums.Sums(recording)
    return (len(recording.damages), sums.calls, sums.frees, sums.reallocs, sums.unknown_frees,
            sums.implicit_frees)


@pytest.mark.parametrize("seed", range(4))
def test_readers_agree_on_damage(seed, tool, tmp_path):
    """A bit flipped in a slot: both readers find the same records, and the same chunks damaged."""
    places = random.Random(seed)
    image = Story(seed).image(steps=300)
    path, damaged = tmp_path / "slots.mallow", 0
    for _ in range(40):
        data = bytearray(image)
        for chunk in mallow_reader.Recording(image).chunks:
            data[chunk.offset + 20] = SLOT
            if chunk.committed and places.random() < 0.5:
                data[chunk.payload_at + places.randrange(chunk.committed)] ^= \
                    1 << places.randrange(8)
        path.write_bytes(data)
        info = tool.info(path)
        damaged += info["damaged_chunks"]
        fields = ("damaged_chunks", "allocations", "frees", "reallocs", "unknown_frees",
                  "implicit_frees")
        try:
            assert sums_of_reader(path) == tuple(info[field] for field in fields)
        except mallow_reader.Damage:
            pass  # a frame id that nobody defines: it is not for this reader to go on
    assert damaged > 20


@pytest.mark.parametrize("payload", [
    b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x10",  # time + 2^64 - 1
    b"\x12\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x40\x10",  # the same by a duration
    b"\x01\x05\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",  # a size of 65 bits
    b"\x41\x05\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x04",  # usable: 2^64
    b"\x54\x05\x20\x01", b"\x58\x05", b"\x17", b"\x20\x00", b"\x1a\x05",  # no such first byte
])
def test_numbers_and_first_bytes_that_are_none(payload, tool, tmp_path):
    """Both readers stop there, and say so."""
    chunk = ChunkWriter(1, 0, 1000)
    chunk.allocate(1, 1100, 0x10010, 100, change=(0, [("pc", 1)]))
    chunk.payload += payload
    chunk.payload += bytes([1, 1, 0x20, 10]) * 200
    writer = Writer()
    writer.add(chunk.image())
    path = tmp_path / "odd.mallow"
    path.write_bytes(writer.image())
    assert tool.info(path)["damaged_chunks"] == 1
    assert sums_of_reader(path)[:2] == (1, 1)
    tool.assert_equal_sums(path)


@pytest.mark.parametrize("seed", mostly_long(range(2), 1))
def test_flipped_bits_in_culled_records(seed, asan, tmp_path):
    """The same of survivors, their stacks and sums."""
    places = random.Random(seed)
    image = odd_image_of_slots()
    for number in range(60):
        data = bytearray(image)
        for chunk in mallow_reader.Recording(image).chunks:
            data[places.randrange(chunk.offset + 24, chunk.offset + 64 + chunk.committed)] ^= \
                1 << places.randrange(8)
        check(asan, tmp_path / "slots.mallow", bytes(data), number)


def test_damage_is_reported_with_its_offset(asan, sound, tmp_path):
    """A damaged chunk: the rest is read, info says what is wrong and where."""
    recording = mallow_reader.Recording(sound)
    chunk = next(c for c in recording.chunks if not c.slot)
    data = bytearray(sound)
    data[chunk.offset + 64 + chunk.committed // 2] ^= 0x10
    path = tmp_path / "damaged.mallow"
    path.write_bytes(data)
    text = run(asan, ("info",), path).stdout
    info = asan.info(path)
    assert not info["complete"]
    assert re.search(rf"\b(0x{chunk.offset:x}|{chunk.offset})\b", text), text


def test_losses_beyond_reason(tool, tmp_path):
    """A header of garbage claims no number of lost events; one that a program can reach is shown."""
    chunk = ChunkWriter(1, 0, 1000)
    chunk.allocate(1, 1100, 0x10010, 100, change=(0, [("pc", 1)]))
    path = tmp_path / "losses.mallow"
    for count, lost, damaged in (2_170_205_185_142_300_183, 0, 1), (2**64 - 1, 0, 1), (10**12, 10**12, 0):
        writer = Writer(losses=[0, count] + [0] * 14)
        writer.add(chunk.image())
        path.write_bytes(writer.image())
        info = tool.info(path)
        assert (info["lost"], info["damaged_chunks"], info["complete"]) == (lost, damaged, False)
        text = tool("info", path).stdout
        assert ("offset 136: expected a number of losses that a program can reach" in text) == bool(damaged), text


@pytest.mark.parametrize("data,said", [
    (b"", "empty"), (b"\x7fELF" + bytes(5000), "ELF"), (b"#!/bin/sh\n" + b"x" * 5000, "script"),
    (b"heaptrack", ""), (bytes(8192), "")])
def test_what_was_found_instead(data, said, asan, tmp_path):
    """A file that is no recording: one line that names the file and what it is."""
    path = tmp_path / "other"
    path.write_bytes(data)
    result = run(asan, ("report",), path)
    assert result.returncode == 1 and str(path) in result.stderr
    assert said.lower() in result.stderr.lower()


def test_newer_version_is_refused(asan, tmp_path):
    path = tmp_path / "newer.mallow"
    path.write_bytes(Writer(major=2).image())
    result = run(asan, ("report",), path)
    assert result.returncode == 1 and "2" in result.stderr


def test_huge_counts_are_refused(asan, tmp_path):
    """Numbers that ask for endless memory: lengths, carried frames, drops, sizes."""
    chunks = []
    carried = ChunkWriter(0, 0, 1000, carried=0xFFFFFFF0)
    carried.allocate(1, 1001, 0x1000, 10)
    chunks.append(carried)
    dropped = ChunkWriter(1, 0, 1000)
    dropped.payload += bytes([0x37, 0x0F]) + b"\xff\xff\xff\xff\x0f"
    chunks.append(dropped)
    pushed = ChunkWriter(2, 0, 1000)
    pushed.payload += bytes([0x37, 0xF0]) + b"\xff\xff\xff\xff\xff\xff\xff\x7f"
    chunks.append(pushed)
    big = ChunkWriter(3, 0xFFFFFFFF, 1000)
    for index in range(20):
        big.allocate(1, 1001 + index, 0x1000 * index, (1 << 63) - 1)
    chunks.append(big)
    path = tmp_path / "huge.mallow"
    for number, chunk in enumerate(chunks):
        writer = Writer()
        writer.add(chunk.image())
        check(asan, path, writer.image(), number)
