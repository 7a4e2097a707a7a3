"""Times of events: shared where that does no harm, and never out of order between threads."""
import itertools

import pytest


@pytest.fixture
def program(compile_sample):
    return compile_sample("alone_and_together", "gcc", "-O2")


def events_with_size(reader, size):
    return [event for event in reader.events if getattr(event, "size", None) == size]


@pytest.mark.parametrize("hand_overs", [3000, pytest.param(100000, marks=pytest.mark.long)])
def test_order_between_threads(program, record, hand_overs):
    """Nothing is freed before it was allocated, no address given out twice.

    The time stamp counter, read ahead of the load that brought the address: one in some millions.
    """
    recorded = record([program, str(hand_overs)], check=False)
    info = recorded.tool.info(recorded.path)
    assert info["implicit_frees"] == 0 and info["unknown_frees"] == 0
    assert info["complete"]


def assert_reused_alone_only(reader):
    """Alone most events share a time; in turns with another thread each has its own."""
    alone, together, before = [], [], {}
    for event in reader.events:
        if event.op == 1 and event.size in (24, 2000):
            same = before.get(event.thread) == event.time
            (alone if event.size == 24 else together).append(same)
        before[event.thread] = event.time
    assert sum(alone) > len(alone) / 2
    # The first ones of a turn may still be of the one that was alone.
    assert sum(together) < len(together) / 50


def test_times(program, record):
    """A pause lies between the events around it; what follows a mark is not dated before it."""
    reader = record([program], check=False).reader
    assert_reused_alone_only(reader)
    paused, = events_with_size(reader, 5000)
    freed = next(event for event in reader.events
                 if event.op == 20 and event.address == paused.address and
                 event.time >= paused.time)
    # 60 ms, less a tick of the coarse clock at each end at worst.
    assert reader.seconds(freed.time) - reader.seconds(paused.time) >= 0.040
    mark, = [fact for fact in reader.facts if fact["kind"] == "mark"]
    before, = events_with_size(reader, 7001)
    after, = events_with_size(reader, 7002)
    assert before.time <= mark["time"] <= after.time


# The counter is read without a fence: a processor that guesses that a wait is over may read it
# before it is, some 30 ns in what was seen. A time that is shared is older, up to 10 ms.
CLOCKS_DIFFER = 1e-6


def lives_of(reader, size):
    """[(start, end)] in seconds of all blocks of that size, by start."""
    lives, starts = [], {}
    for event in reader.events:
        if getattr(event, "size", None) == size:
            starts[event.address] = reader.seconds(event.time)
        elif event.op == 20 and event.address in starts:
            lives.append((starts.pop(event.address), reader.seconds(event.time)))
    assert not starts
    return sorted(lives)


def test_pieces_of_ones_own(compile_sample, record):
    """Threads that share nothing share times, each its own; large blocks are in their true order."""
    reader = record([compile_sample("own_pieces", "gcc", "-O2")], check=False).reader
    for stream, events in itertools.groupby(sorted(reader.events, key=lambda event: event.thread),
                                            key=lambda event: event.thread):
        times = [event.time for event in events if getattr(event, "size", None) == 24]
        same = sum(now == before for before, now in itertools.pairwise(times))
        assert same > len(times) / 2, stream
    relayed, lapped = lives_of(reader, 100000), lives_of(reader, 110000)
    assert (len(relayed), len(lapped)) == (400, 400)
    for before, after in itertools.pairwise(relayed):
        assert before[1] <= after[0] + CLOCKS_DIFFER
    for one, other in zip(lapped[::2], lapped[1::2]):
        assert other[0] <= one[1] + CLOCKS_DIFFER
