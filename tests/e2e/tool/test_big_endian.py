"""Recordings of big-endian machines: the same bytes but for integers of a fixed size."""
import struct

import pytest
import xxhash

import mallow_reader
from live_reader import CHUNK_FORM, HEADER_FORM


@pytest.fixture
def recorded(record):
    """With sealed chunks and a slot."""
    recorded = record(["perl", "-e", "my @a = map {[$_]} 1 .. 5000"])
    assert {chunk.slot for chunk in recorded.reader.chunks} == {True, False}
    return recorded


def big_endian(reader, data):
    data = bytearray(data)

    def turn(at, form):
        struct.pack_into(">" + form, data, at, *struct.unpack_from("<" + form, data, at))

    turn(0, HEADER_FORM)
    data[71] = 1
    for chunk in reader.chunks:
        turn(chunk.offset, CHUNK_FORM)
        if not chunk.slot:
            end = chunk.offset + chunk.size - mallow_reader.TRAILER
            data[end:end + mallow_reader.TRAILER] = xxhash.xxh64_digest(bytes(data[chunk.offset:end]))
    return data


def test_says_the_same(recorded, tool):
    path = recorded.path.with_name("b.mallow")
    path.write_bytes(big_endian(recorded.reader, recorded.path.read_bytes()))
    assert mallow_reader.read(path).events == recorded.reader.events
    wanted = {**recorded.report_json, "path": None}
    assert {**tool.report(path), "path": None} == wanted
    for command in (["report"], ["info"], ["trace", "dump"]):
        here, there = (tool(*command, name).stdout.replace(str(name), "PATH") for name in (recorded.path, path))
        assert here.splitlines()[1:] == there.splitlines()[1:] and len(here) > 500, command
    assert "Nothing changed" in tool("diff", recorded.path, path).stdout
    tool("finish", path)
    assert mallow_reader.order_of(path.read_bytes()) == "<"
    assert tool.report(path)["sites"] == wanted["sites"]


def test_damage_is_found(recorded, tool):
    """A sealed chunk whose trailer does not match, and a file that ends anywhere."""
    path, small = (recorded.path.with_name(f"{name}.mallow") for name in "bl")
    little = bytearray(recorded.path.read_bytes())
    data = big_endian(recorded.reader, little)
    sealed = next(chunk for chunk in recorded.reader.chunks if not chunk.slot)
    for bytes_of in data, little:
        bytes_of[sealed.offset + sealed.size - 9] ^= 1
    path.write_bytes(data)
    assert not tool.info(path)["complete"]
    for size in (71, 72, 200, 4095, 4096, 4200, sealed.offset + 100, sealed.offset + 5000, len(data)):
        path.write_bytes(data[:size])
        small.write_bytes(little[:size])
        ours, theirs = (tool("report", name, check=False) for name in (path, small))
        assert ours.returncode == theirs.returncode, size
        assert ours.stdout.replace(str(path), "PATH") == theirs.stdout.replace(str(small), "PATH"), size


def core_with_file(path):
    """A core dump of a big-endian machine, which says only that the process had the file mapped."""
    name = bytes(path) + b"\0"
    files = struct.pack(">5Q", 1, 4096, 0x10000, 0x11000, 0) + name
    note = struct.pack(">3I", 5, len(files), 0x46494c45) + b"CORE\0\0\0\0" + files + bytes(-len(files) % 4)
    head = struct.pack(">16sHHIQQQIHHHHHH", b"\x7fELF\2\2\1", 4, 8, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack(">IIQQQQQQ", 4, 0, 120, 0, 0, len(note), 0, 4) + note


def test_a_core_dump_leads_to_it(recorded, tool, tmp_path):
    """As it does on this machine: by the list of mapped files."""
    path, core = recorded.path.with_name("b.mallow"), tmp_path / "core"
    path.write_bytes(big_endian(recorded.reader, recorded.path.read_bytes()))
    core.write_bytes(core_with_file(path))
    out = tool("report", core)
    assert str(path) in out.stderr and "allocations" in out.stdout
    path.unlink()
    run = tool("report", core, check=False)
    assert run.returncode == 1 and "no table of live blocks in it" in run.stderr
