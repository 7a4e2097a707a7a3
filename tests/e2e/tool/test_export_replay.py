"""`mallow export --to replay`: done again step by step, it comes to what mallow itself says."""
import array
import json

from conftest import ALL

END, ALLOCATE, FREE, REALLOCATE, CALL, RETURN = range(6)


class Replay:
    """A replayer that only counts. What could not be done again fails."""

    def __init__(self, data):
        numbers = array.array("Q", data)
        self.slot_count = numbers[0]
        self.slots, self.stack, self.stacks = {}, [], set()
        self.calls = self.reallocs = self.total = self.live = self.peak = self.most = 0
        time, ended = 0, False
        for kind, *step in zip(*[iter(numbers[1:])] * 4, strict=True):
            assert not ended, "something behind the end"
            if kind in (ALLOCATE, FREE, REALLOCATE):
                assert step[1] >= time, "time goes back"
                time = step[1]
            ended = kind == END
            self.take(kind, *step)
        assert ended and self.most == self.slot_count

    def take(self, kind, a, _, size):
        if kind == CALL:
            self.stack.append(a)
        elif kind == RETURN:
            self.stack.pop()
        elif kind != END:
            assert a < self.slot_count and (a in self.slots) == (kind != ALLOCATE)
            self.live -= self.slots.pop(a, 0)
            if kind == FREE:
                assert size == 0
                return
            self.calls += 1
            self.reallocs += kind == REALLOCATE
            self.total += size
            self.live += size
            self.peak = max(self.peak, self.live)
            self.slots[a] = size
            self.most = max(self.most, len(self.slots))
            self.stacks.add(tuple(self.stack))


def export(tool, path, *conditions):
    out = path.with_name("out.replay")
    tool("export", "--to", "replay", "-o", out, *conditions, path)
    return Replay(out.read_bytes())


CONDITIONS = [
    (), ("--size-min", "100"), ("--lifetime", "only_leaked"), ("--chain-length-min", "2"),
    ("--position-in-chain-max", "0", "--chain-length-min", "2"), ("--position-in-chain-min", "1"),
    ("--from", "50%"), ("--size-min", "64G")]
PROGRAM = """
import json
lists = [json.loads("[1, 2, 3]") for i in range(3000)]
text = "".join(str(i) for i in range(30000))
del lists[::2]
"""


def test_python(record, tool):
    """Of all blocks, and of those of a filter: of parts of chains of realloc, too."""
    path = record(["/usr/bin/python3", "-c", PROGRAM], env={"PYTHONMALLOC": "malloc"}).path
    for conditions in CONDITIONS:
        report = json.loads(tool("report", "--json", "--top", ALL, *conditions, path).stdout)
        replay = export(tool, path, *conditions)
        assert (replay.calls, replay.total, replay.live, replay.peak, len(replay.slots),
                len(replay.stacks)) == (
                    report["calls"], report["total_bytes"], report["leaked_bytes"],
                    report["peak_bytes"], report["leaked_blocks"], len(report["sites"]))
        if not conditions:
            assert replay.calls > 10000 and replay.reallocs == tool.info(path)["reallocs"] > 100
        if "--position-in-chain-max" in conditions:
            assert replay.calls and not replay.reallocs


def test_threads(record, compile_sample, tool):
    """Blocks that other threads free."""
    path = record([compile_sample("hand_over", "gcc", "-O2"), "2000", "10"], check=False).path
    report = json.loads(tool("report", "--json", path).stdout)
    replay = export(tool, path)
    assert (replay.calls, replay.total, replay.live) == (
        report["calls"], report["total_bytes"], report["leaked_bytes"])
