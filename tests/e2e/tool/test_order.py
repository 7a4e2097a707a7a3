"""The order of events across threads (docs/trace-format.md, section 8): both readers see the same."""
import random

import pytest

import mallow_reader
from mallow_reader import REALLOC
from mallow_sums import Sums
from recording_writer import SEALED, SLOT, ChunkWriter, Writer
from stories import definitions

ADDRESSES = [0x10000 + 32 * i for i in range(6)]


class Crowd:
    """Streams that allocate and free the same few blocks at the same few times, which may step back."""

    def __init__(self, seed, tick):
        self.random = random.Random(seed)
        self.tick = tick  # between two times: some are within the 10 µs that a free may be late
        self.writer = Writer(clock=1, monotonic=5000)
        self.depth = 0
        for stream in range(self.random.randint(2, 4)):
            for sequence in range(self.random.randint(1, 3)):
                self._chunk(stream, sequence)

    def _time(self):
        return 1000 + self.tick * self.random.randrange(12)

    def _chunk(self, stream, sequence):
        base = self._time()
        chunk = ChunkWriter(stream, sequence, base)
        chunk.monotonic = 5000 + (base - 1000) * 2 // 5
        if not stream and not sequence:
            definitions(chunk)
        self.depth = 0
        for _ in range(self.random.randrange(25)):
            self._event(chunk)
        self.writer.add(chunk.image(self.random.choice([SEALED, SLOT])))

    def _event(self, chunk):
        r = self.random
        time, address = self._time(), r.choice(ADDRESSES)
        if r.random() < 0.5 or (time < chunk.time and r.random() < 0.7):
            time = chunk.time
        if r.random() < 0.05:
            chunk.resync(time)
            self.depth = 0
        elif time < chunk.time:
            chunk.set_time(time)
        change = self.depth, r.choices([1, 2, 3, 4], k=r.randrange(3))
        kind = r.random()
        if kind < 0.45:
            chunk.free(time, address)
            return
        if kind < 0.85:
            chunk.allocate(1, time, address, r.randrange(200), change)
        else:
            chunk.allocate(REALLOC, time, r.choice(ADDRESSES), r.randrange(200), change, old=address,
                           duration=r.choice([0, 0, self.tick, 3 * self.tick]))
        self.depth = len(change[1])


@pytest.mark.parametrize("frame", [("pc", 0x400080), 4])
def test_a_module_that_is_told_later(frame, tool, tmp_path):
    """What is told by its address alone is of the module recorded there next, as one with an id."""
    chunk, defined = ChunkWriter(1, 0, 1000), ChunkWriter(0, 0, 1000)
    chunk.allocate(1, 1100, 0x100, 50, change=(0, [("pc", 0x400080)]))
    chunk.free(1200, 0x100)
    chunk.allocate(1, 2500, 0x200, 70, change=(1, [frame]))
    defined.other(0x82, defined.at(2000), 1, 0, 0x400000, 0x400000, 0x500000, 0, text=b"/bin/prog")
    defined.other(0x81, 4, 0x400080, 1)
    writer = Writer()
    writer.add(defined.image())
    writer.add(chunk.image())
    path = tmp_path / "late.mallow"
    path.write_bytes(writer.image())
    sums = Sums(mallow_reader.read(path))
    assert [site.own_peak_bytes for site in sums.sites.values()] == [70]
    assert len(tool.assert_equal_sums(path, sums)["sites"]) == 1


def assert_same(tool, path):
    sums = Sums(mallow_reader.read(path))
    tool.assert_equal_sums(path, sums)
    info = tool.info(path)
    assert not info["damaged_chunks"]
    for field in ("frees", "reallocs", "unknown_frees", "implicit_frees"):
        assert info[field] == getattr(sums, field), field


@pytest.mark.parametrize("tick", [0, 1, 9000, 26000])
def test_crowded_times(tick, tool, tmp_path):
    """All at one time; at times within what a free may be late; and beyond it."""
    path = tmp_path / "crowd.mallow"
    for seed in range(60):
        path.write_bytes(Crowd(seed, tick).writer.image())
        assert_same(tool, path)
        if seed % 10 == 0:
            tool("finish", path)
            assert_same(tool, path)


def made(path, *streams, base=1000):
    """A recording; each stream is a list of (time, "+" or "-", address, size)."""
    writer = Writer()
    for number, events in enumerate(streams):
        chunk = ChunkWriter(number, 0, base)
        if number == 0:
            definitions(chunk)
        for time, what, address, *size in events:
            if time < chunk.time:
                chunk.set_time(time)
            if what == "-":
                chunk.free(time, address)
            else:
                chunk.allocate(1, time, address, *size)
        writer.add(chunk.image())
    path.write_bytes(writer.image())
    return Sums(mallow_reader.read(path))


def test_a_step_back_follows_directly(tool, tmp_path):
    """The other thread frees at the time before the step: the block that was allocated in it."""
    path = tmp_path / "step.mallow"
    sums = made(path, [(2000, "-", 0x500), (1900, "+", 0x100, 10)], [(2000, "-", 0x100)])
    assert (sums.unknown_frees, sums.frees, sums.leaked_blocks) == (1, 1, 0)
    assert_same(tool, path)


def test_late_free_behind_an_early_one(tool, tmp_path):
    """The thread that was given the block frees it before the late free is found."""
    path = tmp_path / "late.mallow"
    sums = made(path, [(1100, "+", 0x100, 10), (1500, "-", 0x100)],
                [(1200, "+", 0x100, 20), (1300, "-", 0x100)])
    assert (sums.frees, sums.unknown_frees, sums.implicit_frees, sums.peak_bytes) == (2, 0, 0, 20)
    assert_same(tool, path)


def test_late_frees_of_two_blocks(tool, tmp_path):
    """One address goes through three threads; the frees are found in any order."""
    path = tmp_path / "two.mallow"
    sums = made(path, [(1100, "+", 0x100, 10), (1500, "-", 0x100)],
                [(1200, "+", 0x100, 20), (1400, "-", 0x100)], [(1300, "+", 0x100, 30)])
    assert (sums.frees, sums.unknown_frees, sums.implicit_frees, sums.leaked_bytes) == (2, 0, 0, 30)
    assert_same(tool, path)


def test_a_free_too_late(tool, tmp_path):
    """10 µs are in time, a nanosecond more is not: that is a free of the new block."""
    path = tmp_path / "window.mallow"
    for late, implicit in ((10000, 0), (10001, 1)):
        sums = made(path, [(1100, "+", 0x100, 10), (1200 + late, "-", 0x100)],
                    [(1200, "+", 0x100, 20)])
        assert (sums.implicit_frees, sums.leaked_blocks) == (implicit, 1 - implicit)
        assert_same(tool, path)
