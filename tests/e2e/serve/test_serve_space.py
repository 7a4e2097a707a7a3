"""/space against space_reference.py on random recordings, both builds; known answers; bounds."""
import pytest

import space_reference as reference
from servers import example, program, serve, served, without  # noqa: F401
from queries import SECOND, Recorded, random_moment

SIZES = {"4K": 4096, "64K": 1 << 16, "2M": 1 << 21}
SUMS = ["used", "slack", "blocks", "pages", "kept_pages", "sparse_pages"]
KEEPER = ["used", "blocks", "pages", "kept_by_bytes", "kept_by_blocks"]
CELL = ["used", "slack", "never_freed", "pages", "blocks", "oldest_ns"]


def expanded(lane, size):
    """{cell: (its numbers, backtrace_id)}"""
    result = {}
    cells = lane["cells"]
    for i, (first, count) in enumerate(zip(cells["first"], cells["count"])):
        for number in range(first, first + count):
            cell = lane["start"] // size + number
            assert cell not in result
            result[cell] = [cells[name][i] for name in CELL], cells["backtrace_id"][i]
    return result


def check_lane(made, lane, places, matching, size, stacks):
    """stacks: {backtrace_id: a stack}"""
    own = [place for place in places if place.block.index in matching]
    assert [lane[name] for name in SUMS] == list(reference.sums(places, matching).values())
    assert lane["start"] == own[0].start // 4096 * 4096
    assert lane["end"] == (max(own[-1].start, own[-1].end - 1) // 4096 + 1) * 4096
    got, wanted = expanded(lane, size), reference.cells(made, places, matching, size)
    assert got.keys() == wanted.keys()
    for cell, (numbers, backtrace) in got.items():
        assert numbers == list(wanted[cell][:-1])
        assert stacks[backtrace] in wanted[cell][-1]


def check_keepers(got, wanted, top):
    """Those with equally many pages may come in any order."""
    rows = sorted(wanted.items(), key=lambda row: -row[1][2])
    named = [row for row in got if row["name"] is not None]
    assert len(named) == min(top, len(rows))
    assert [row["pages"] for row in named] == [row[1][2] for row in rows[:top]]
    left = [(name, numbers) for (name, _), numbers in rows]
    for row in named:
        assert row["others"] == 0
        left.remove((row["name"], tuple(row[name] for name in KEEPER)))
    assert len(got) == len(named) + bool(left)
    if left:
        assert got[-1]["others"] == len(left)
        assert [got[-1][name] for name in KEEPER] == [
            sum(column) for column in zip(*(numbers for _, numbers in left))]


def stacks_of(served, made):
    """{backtrace_id: the stack as the reference has it}"""
    rows = served.json(f"/data/{made.id}/allocations")["allocations"]
    return {row["backtrace_id"]: made.blocks.stack(block)
            for row, block in zip(rows, made.blocks.blocks)}


def test_space(served):
    for made in served.made:
        stacks = stacks_of(served, made)
        for conditions in [{}, *made.filters(9)]:
            dice, run = made.dice, made.blocks.run
            text = random_moment(dice, made.unit)
            at = min(max(made.blocks.moment(text), 0), run)
            by = dice.choice(["site", "function", "module", "thread"])
            size, top = dice.choice(list(SIZES)), dice.choice([0, 1, 2, 100])
            got = served.json(f"/data/{made.id}/space", at=text, by=by, cell=size, top=top,
                              **conditions)
            matching = {block.index for block in made.matching(conditions)}
            rows = reference.lanes(made, at)
            wanted = {key: places for key, places in rows.items()
                      if any(place.block.index in matching for place in places)}
            assert (got["at_ns"], got["cell"]) == (at, SIZES[size])
            assert len(got["lanes"]) == len(wanted)
            for lane in got["lanes"]:
                check_lane(made, lane, wanted[lane["kind"], lane["number"]], matching, SIZES[size],
                           stacks)
            sums = [reference.sums(places, matching).values() for places in wanted.values()]
            assert [got[name] for name in SUMS] == ([sum(column) for column in zip(*sums)] or [0] * 6)
            check_keepers(got["kept"], reference.keepers(made, rows, matching, by), top)


def test_the_same_number_everywhere(served):
    """Without a moment it is the peak; what is used then is what alive_at finds."""
    for made in served.made:
        for at in ("peak", "30%", "end"):
            got = served.json(f"/data/{made.id}/space", **({} if at == "peak" else {"at": at}))
            rows = served.json(f"/data/{made.id}/allocations", alive_at=at)["allocations"]
            assert (got["used"], got["blocks"], got["slack"]) == (
                sum(row["size"] for row in rows), len(rows), sum(row["extra_space"] for row in rows))
            curve = served.json(f"/data/{made.id}/series", end=at, points=1)
            assert (curve["live_last"], curve["live_slack"]) == ([got["used"]], [got["slack"]])


HEAP = 0x5550_0000_0000


@pytest.fixture(scope="module")
def sparse(program, tmp_path_factory):
    """A hundred pages, in each of which read_one has 48 bytes; write_all has the rest of all but the
    last ten until half of the run."""
    made = Recorded(program)
    for i in range(100):
        page = HEAP + 4096 * i
        made.allocate(SECOND, page + 16, 48, ["outer", "read_one"], usable=48)
        if i < 90:
            made.allocate(SECOND, page + 80, 4000, ["write_all"], usable=4000)
    for i in range(90):
        made.free(5 * SECOND, HEAP + 4096 * i + 80)
    made.allocate(6 * SECOND, HEAP + 4096 * 200, 8192, ["flush"], usable=8192)
    return made.write(tmp_path_factory.mktemp("sparse") / "sparse.mallow", 10 * SECOND)


def test_few_blocks_keep_many_pages(sparse, serve):
    server = serve(sparse)
    got = server.json("/data/last/space", at="2s", by="function")
    assert [got[name] for name in SUMS] == [364_800, 0, 190, 100, 100, 10]
    assert [(row["name"], *(row[name] for name in KEEPER)) for row in got["kept"]] == [
        ("read_one", 4800, 100, 10, 480, 10)]
    got = server.json("/data/last/space", at="end", by="function", cell="64K")
    assert [got[name] for name in SUMS] == [12_992, 0, 101, 102, 102, 100]
    assert [(row["name"], *(row[name] for name in KEEPER)) for row in got["kept"]] == [
        ("read_one", 4800, 100, 100, 4800, 100), ("flush", 8192, 1, 2, 8192, 1)]
    [lane] = got["lanes"]
    assert (lane["kind"], lane["number"], lane["start_s"]) == ("main_heap", 1, "0000555000000000")
    assert lane["cells"]["first"] == [0, 1, 2, 3, 4, 5, 6, 12]
    assert lane["cells"]["pages"] == [16] * 6 + [4, 2]
    # Of those that match, in pages that hold others, too, none is kept.
    got = server.json("/data/last/space", at="2s", function_regex="write_all")
    assert [got[name] for name in SUMS] == [360_000, 0, 90, 90, 0, 0]
    assert got["kept"] == []


def test_a_part_of_the_addresses(sparse, serve):
    """Chooses cells; sums are those of all."""
    server = serve(sparse)
    whole = server.json("/data/last/space", cell="4K")
    part = server.json("/data/last/space", cell="4K", start=hex(HEAP + 4096 * 50), end=HEAP + 4096 * 52)
    assert part["lanes"][0]["cells"]["first"] == [50, 51]
    assert part["kept"] == whole["kept"]
    assert without(part["lanes"][0], "cells") == without(whole["lanes"][0], "cells")
    assert whole["lanes"][0]["cells"]["first"] == list(range(100))


def test_huge_blocks(program, tmp_path, serve, asan_mallow):
    """Of any size they are a few entries; a block may seem to reach beyond all addresses."""
    made = Recorded(program, allocator=2)
    made.allocate(SECOND, 4096, 0, ["read_all"], usable=0)
    made.allocate(SECOND, HEAP + 100, 1 << 45, ["flush"], usable=1 << 45)
    made.allocate(SECOND, 1 << 61, (1 << 64) - 1, ["read_one"], usable=(1 << 64) - 1)
    path = made.write(tmp_path / "huge.mallow", 2 * SECOND)
    server = serve(path, path=asan_mallow)
    for cell, size in SIZES.items():
        got = server.json("/data/last/space", at="end", cell=cell)
        low, huge, high = got["lanes"]
        assert low["cells"]["blocks"] == [1] and low["pages"] == 1
        assert sum(high["cells"]["count"]) == ((1 << 64) - (1 << 61)) // size
        count = (1 << 45) // size
        assert huge["cells"]["count"] == [1, count - 1, 1]
        assert huge["cells"]["used"] == [size - 100, size, 100]
        assert huge["pages"] == (1 << 33) + 1
    assert server.json("/data/last/space", at="end")["cell"] == 4096
    got = server.json("/data/last/space", at="end", cell="2M", start=HEAP + (1 << 22), end=HEAP + (1 << 23))
    assert got["lanes"][1]["cells"]["first"] == [2] and got["lanes"][1]["cells"]["count"] == [2]


def test_too_many_cells(program, tmp_path, serve):
    """They are not listed; larger ones are, or a part of them."""
    made = Recorded(program, allocator=2)
    for i in range(200_001):
        made.allocate(i, HEAP + 65536 * i, 16, ["flush"], usable=24)
    server = serve(made.write(tmp_path / "many.mallow", SECOND))
    text = server.refused("/data/last/space?cell=4K&at=end")
    assert text == "there are more than 200000 cells of that size: choose larger ones, or a part of " \
                   "the addresses"
    got = server.json("/data/last/space", at="end")
    assert got["cell"] == 2 << 20 and len(got["lanes"][0]["cells"]["first"]) == 6251
    assert got["pages"] == got["sparse_pages"] == 200_001
    got = server.json("/data/last/space", at="end", cell="4K", start=HEAP, end=HEAP + (1 << 20))
    assert got["lanes"][0]["cells"]["first"] == [16 * i for i in range(16)]


@pytest.mark.parametrize("query, message", [
    ("start=0x20&end=32", "invalid 'end': it is not behind 'start'"),
    ("start=-1", "invalid 'start': '-1' is not a whole number"),
    ("start=0x", "invalid 'start': '0x' is not a whole number"),
    ("end=0x10000000000000000", "invalid 'end': '0x10000000000000000' is not a whole number"),
    ("cell=1M", "invalid 'cell': '1M' is none of auto 4K 64K 2M"),
    ("top=101", "invalid 'top': it may be 0 to 100"),
    ("at=nowhere", "at: 'nowhere': the recording has no marks"),
])
def test_mistakes_are_named(example, serve, query, message):
    assert serve(example).refused(f"/data/last/space?{query}").startswith(message)


def test_pages_at_several_moments(example, serve):
    """The pages of /space, in one answer."""
    server = serve(example)
    end = server.json("/data/last/series")["end_ns"]
    moments = [end * part // 7 for part in range(8)]
    for asked in ({}, {"size_min": "100"}):
        each = [server.json("/data/last/space", at=f"{at}ns", **asked)["pages"] for at in moments]
        assert server.json("/data/last/pages", at=",".join(map(str, moments)), **asked) == {"pages": each}
    assert any(each)
    assert server.json("/data/last/pages") == {"pages": []}
    for wrong in ("at=", "at=5s", "at=1,", "at=,1", "at=1-2", "at=" + ",".join("1" * 101)):
        assert server.refused(f"/data/last/pages?{wrong}").startswith(
            "parameter 'at' has no value" if wrong == "at=" else "invalid 'at': it wants 1 to 100")


def test_nothing_lives(program, tmp_path, serve):
    server = serve(Recorded(program).write(tmp_path / "empty.mallow", 0))
    got = server.json("/data/last/space")
    assert [got[name] for name in SUMS] == [0] * 6 and got["lanes"] == got["kept"] == []
