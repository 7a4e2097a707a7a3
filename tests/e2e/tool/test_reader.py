"""The Python reader on recordings built by hand, and the C reader on the same files."""
import pytest

import mallow_reader
from mallow_reader import REALLOC
from mallow_sums import Sums
from recording_writer import ChunkWriter, SLOT, Writer
from stories import Story, definitions


def test_one_chunk():
    """Every sum of a small recording that a person can follow."""
    chunk = ChunkWriter(0, 0, 1000)
    definitions(chunk)
    chunk.allocate(1, 1100, 0x10010, 100, change=(0, [1, 2]))
    chunk.allocate(2, 1200, 0x10090, 50, change=(1, [3]))
    chunk.free(1300, 0x10090)                                        # temporary
    chunk.allocate(REALLOC, 1400, 0x20010, 300, old=0x10010, duration=20)
    chunk.allocate(5, 1500, 0x30000, 64, alignment=4096, usable=80, flags=2)
    chunk.free(1600, 0xdead0)                                        # of nothing recorded
    writer = Writer()
    writer.add(chunk.image())
    recording = mallow_reader.Recording(writer.image())
    sums = Sums(recording)
    assert not recording.damages and not recording.missing
    assert (sums.calls, sums.total_bytes, sums.reallocs) == (4, 514, 1)
    assert (sums.frees, sums.unknown_frees, sums.temporary) == (2, 1, 1)
    assert (sums.leaked_blocks, sums.leaked_bytes) == (2, 364)
    assert (sums.peak_bytes, sums.peak_ticks) == (364, 1500)
    assert recording.seconds(sums.peak_ticks) == pytest.approx(500e-9)
    stacks = {tuple(pc for pc, _ in stack): site for stack, site in sums.sites.items()}
    assert stacks[0x401100, 0x401000].calls == 1
    inner = stacks[0x401200, 0x401000]
    assert (inner.calls, inner.total_bytes, inner.temporary) == (3, 414, 1)
    assert (inner.peak_bytes, inner.own_peak_bytes, inner.live_blocks) == (364, 364, 2)
    last = recording.events[-2]
    assert (last.usable, last.flags, last.alignment) == (80, 2, 4096)


def test_slot_wins_and_gap_counts():
    """A slot beats a sealed chunk of its sequence; a missing chunk is a loss; holes are skipped."""
    writer = Writer(state=0, end_reason=0)
    first = ChunkWriter(5, 0, 1000)
    definitions(first)
    first.allocate(1, 1001, 0x1000, 10, change=(0, [1, 2, 3]))
    writer.add(first.image())
    writer.add(bytes(2 * mallow_reader.PAGE))
    copy = ChunkWriter(5, 2, 2000, carried=2)
    copy.allocate(1, 2001, 0x2000, 20)
    slot = ChunkWriter(5, 2, 2000, carried=2)
    slot.allocate(1, 2001, 0x2000, 20)
    slot.allocate(1, 2002, 0x3000, 30)
    slot.allocate(1, 2003, 0x4000, 40)
    committed = len(slot.payload)
    slot.allocate(1, 2004, 0x5000, 50)                               # not committed
    writer.add(slot.image(flags=SLOT, committed=committed))
    writer.add(copy.image())
    recording = mallow_reader.Recording(writer.image())
    sums = Sums(recording)
    assert recording.missing == 1
    assert (sums.calls, sums.total_bytes) == (4, 100)
    assert recording.stack(recording.events[1].node) == [(3, 0), (3, 0)], "frames of the lost chunk"


def test_carried_stack():
    """The stack of a chunk goes on in the next, cut to its carried outermost frames."""
    writer = Writer()
    first = ChunkWriter(0, 0, 1000)
    definitions(first)
    first.stack(0, [1, ("pc", 0x7F0000002000), 2])
    writer.add(first.image())
    second = ChunkWriter(0, 1, 1100, carried=2)
    second.allocate(10, 1101, 0x1000, 1, change=(0, [4]))
    writer.add(second.image())
    recording = mallow_reader.Recording(writer.image())
    assert recording.stack(recording.events[0].node) == [
        (0x7F0000001000, 2), (0x7F0000002000, 2), (0x401000, 1)]


def test_late_free_and_implicit_free():
    """Section 8: a free up to 10 µs late belongs to the earlier block; otherwise it is implied."""
    writer = Writer()
    one, two = ChunkWriter(1, 0, 1000), ChunkWriter(2, 0, 1000)
    one.allocate(1, 1000, 0x1000, 10)
    two.allocate(1, 5000, 0x1000, 20)                                # freed by one, a bit late
    one.free(14000, 0x1000)
    two.allocate(1, 50000, 0x1000, 30)                               # no free at all
    writer.add(one.image())
    writer.add(two.image())
    sums = Sums(mallow_reader.Recording(writer.image()))
    assert (sums.frees, sums.implicit_frees, sums.unknown_frees) == (1, 1, 0)
    assert (sums.leaked_bytes, sums.peak_bytes) == (30, 30)


def test_damage_is_found():
    """A trailer that does not match and a record of kind 0 are reported with their offset."""
    writer = Writer()
    chunk = ChunkWriter(0, 0, 1000)
    chunk.allocate(1, 1001, 0x1000, 10)
    chunk.allocate(1, 1002, 0x2000, 10)
    image = bytearray(chunk.image())
    image[100] ^= 1
    writer.add(bytes(image))
    recording = mallow_reader.Recording(writer.image())
    assert recording.damages and recording.damages[0][0] == mallow_reader.PAGE
    chunk.payload.append(0)
    writer.pieces = [chunk.image()]
    recording = mallow_reader.Recording(writer.image())
    assert len(recording.events) == 2
    assert "kind 0" in recording.damages[0][1]


def test_not_a_recording():
    with pytest.raises(mallow_reader.NotARecording, match="begins with"):
        mallow_reader.Recording(b"\x7fELF" + bytes(5000))
    with pytest.raises(mallow_reader.NotARecording, match="newer"):
        mallow_reader.Recording(Writer(major=2).image())


def site_rows(sums):
    """What is compared: one row for each stack."""
    return sorted(
        ([pc for pc, _ in stack], site.calls, site.total_bytes, site.peak_bytes,
         site.own_peak_bytes, site.live_bytes, site.temporary)
        for stack, site in sums.sites.items())


@pytest.mark.parametrize("seed", range(12))
def test_same_sums_as_the_tool(seed, tool, tmp_path):
    """Random recordings: the C reader and this one agree in every sum of every stack."""
    path = tmp_path / "story.mallow"
    path.write_bytes(Story(seed, glibc=seed % 3 != 0).image(steps=400 if seed else 5000))
    tool.assert_equal_sums(path)


@pytest.mark.parametrize("end", [[], [2500, 4000], [2500, 0]])
def test_which_pair_of_clock_readings(end, tool, tmp_path):
    """Threads that read both clocks at once may be interrupted between the two: the latest ticks
    count. A clock that could not be read says nothing, in a chunk and at the end."""
    writer = Writer(clock=1)
    for stream, (ticks, monotonic) in enumerate([(2000, 3050), (2100, 3000), (2200, 0)]):
        chunk = ChunkWriter(stream, 0, ticks)
        chunk.monotonic = monotonic
        definitions(chunk)
        chunk.allocate(1, ticks + 100, 0x1000 * (stream + 1), 10, change=(0, [1]))
        if end and stream == 2:
            chunk.other(0x91, chunk.at(end[0]), end[1], 1, 0)
        writer.add(chunk.image())
    path = tmp_path / "clocks.mallow"
    path.write_bytes(writer.image())
    report = tool.assert_equal_sums(path)
    last, ns_per_tick = (end[0], 3000 / 1500) if end and end[1] else (2500 if end else 2300, 2000 / 1100)
    assert report["duration_s"] == pytest.approx((last - 1000) * ns_per_tick / 1e9, abs=2e-9)


def test_lasts_until_the_latest_record(tool, tmp_path):
    """Of whatever kind: a thread's end may be the last that a recording knows."""
    writer = Writer()
    chunk = ChunkWriter(0, 0, 1000)
    definitions(chunk)
    chunk.allocate(1, 1100, 0x1000, 10, change=(0, [1]))
    chunk.other(0x86, chunk.at(9000))
    writer.add(chunk.image())
    path = tmp_path / "thread_end.mallow"
    path.write_bytes(writer.image())
    assert tool.assert_equal_sums(path)["duration_s"] == pytest.approx(8000e-9, abs=1e-10)
