"""Times of events: cheap while one thread records alone, and never out of order between threads."""
import pytest


@pytest.fixture
def program(compile_sample):
    return compile_sample("alone_and_together", "gcc", "-O2")


def events_with_size(reader, size):
    return [event for event in reader.events if getattr(event, "size", None) == size]


def test_order_between_threads(program, record):
    """Nothing is freed before it was allocated, no address given out twice."""
    recorded = record([program], check=False)
    info = recorded.tool.info(recorded.path)
    assert info["implicit_frees"] == 0 and info["unknown_frees"] == 0
    assert info["complete"]


def assert_reused_alone_only(reader):
    """Alone most events share a time; in turns with another thread each has its own."""
    alone, together, before = [], [], {}
    for event in reader.events:
        if event.op == 1 and event.size in (24, 2000):
            same = before.get(event.stream) == event.time
            (alone if event.size == 24 else together).append(same)
        before[event.stream] = event.time
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
