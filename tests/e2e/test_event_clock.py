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


def most_at_once(reader, size):
    """Of each round in which both threads had blocks of that size: how many were live at most."""
    live, most, rounds, of_size = 0, 0, [], set()
    for event in reader.events:
        if getattr(event, "size", None) == size:
            of_size.add(event.address)
            live += 1
            most = max(most, live)
        elif event.op == 20 and event.address in of_size:
            of_size.remove(event.address)
            live -= 1
            if not live:
                rounds.append(most)
                most = 0
    return rounds


def test_pieces_of_ones_own(compile_sample, record):
    """Threads that share nothing share times, each its own; large blocks are in their true order."""
    reader = record([compile_sample("own_pieces", "gcc", "-O2")], check=False).reader
    for stream, events in itertools.groupby(sorted(reader.events, key=lambda event: event.thread),
                                            key=lambda event: event.thread):
        times = [event.time for event in events if getattr(event, "size", None) == 24]
        same = sum(now == before for before, now in itertools.pairwise(times))
        assert same > len(times) / 2, stream
    assert most_at_once(reader, 100000) == [1] * 400
    assert most_at_once(reader, 110000) == [2] * 200
