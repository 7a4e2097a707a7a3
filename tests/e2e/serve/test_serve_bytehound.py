"""Clients of bytehound 0.11: a strict one reads every answer, and finds in it what the protocol says."""
import sys

import pytest

from bytehound_client import ANSWERS, Client
from servers import serve  # noqa: F401

SECOND = 10 ** 9
PROGRAMS = ["realloc_chain", "mappings", "totals", "python"]


def nanoseconds(time):
    return SECOND * time.secs + time.fract_nsecs


@pytest.fixture(params=PROGRAMS)
def client(request, record, compile_sample, serve):  # noqa: F811
    command = ([sys.executable, "-S", "-c", "x = [str(i) for i in range(1000)]"] if request.param == "python"
               else [compile_sample(request.param)])
    settings = {"FREE_STACKS": "1"} if request.param == "realloc_chain" else {}
    return Client(serve(record(command, check=False, settings=settings).path))


def test_every_answer(client):
    assert len(client.list()) == 1
    for path in ANSWERS.keys() - {"/list"}:
        client.ask(path)


def test_chains(client):
    """A chain is a block and what realloc made of it; all of its blocks say the same of it."""
    blocks = client.ask("allocations").allocations
    assert [block.id for block in blocks] == list(range(len(blocks)))
    more = {block["id"]: block for block in client.server.json("/data/last/allocations")["allocations"]}
    chains = {}
    for block in blocks:
        chains.setdefault(more[block.id]["chain"], []).append(block)
    for chain in chains.values():
        assert [block.position_in_chain for block in chain] == list(range(len(chain)))
        assert {block.chain_length for block in chain} == {len(chain)}
        for block in chain:
            assert block.chain_deallocation == (None if block is chain[-1] else chain[-1].deallocation)
            if chain[-1].deallocation is None:
                assert block.chain_lifetime is None
            else:
                end, start = nanoseconds(chain[-1].deallocation.timestamp), nanoseconds(chain[0].timestamp)
                assert nanoseconds(block.chain_lifetime) == end - start


def test_milliseconds(client):
    """Since 0.8 clients send moments in milliseconds."""
    blocks = client.ask("allocations").allocations
    start, = client.list()
    end = start.timestamp.secs * 1000 + start.timestamp.fract_nsecs // 10 ** 6 + 10 ** 7
    assert client.ask("allocations", to=end).total_count == len(blocks)
    assert client.ask("allocations", **{"from": end}).total_count == 0
    for block in blocks[:3]:
        at = block.timestamp.secs * 1000 + block.timestamp.fract_nsecs // 10 ** 6
        assert block.id in [one.id for one in client.ask("allocations", **{"from": at, "to": at}).allocations]


def test_timelines(client):
    """They are made of the same blocks."""
    blocks = client.ask("allocations").allocations
    line = client.ask("timeline")
    assert sum(line.allocations) == len(blocks)
    assert sum(line.deallocations) == sum(block.deallocation is not None for block in blocks)
    kept = client.ask("timeline_leaked")
    leaked = [block for block in blocks if block.deallocation is None]
    assert sum(kept.allocations) == len(leaked) and sum(kept.size_delta) == sum(block.size for block in leaked)
    assert kept.allocated_size[-1:] == ([sum(block.size for block in leaked)] if blocks else [])
    assert not any(kept.deallocations)
    assert [x // 1000 for x in kept.xs] == line.xs
    memory = client.ask("timeline_maps")
    assert len({len(values) for values in memory}) == 1 and memory.xs == sorted(memory.xs)


def test_backtraces(client):
    """Each stack of a matching allocation, once."""
    for parameters in ({}, {"lifetime": "only_leaked"}):
        blocks = client.ask("allocations", **parameters).allocations
        answer = client.ask("backtraces", **parameters)
        stacks = {block.backtrace_id: block.backtrace for block in blocks}
        assert answer.total_count == len(answer.backtraces) == len(stacks)
        assert sorted(map(repr, answer.backtraces)) == sorted(map(repr, stacks.values()))


def test_the_reader_can_fail(serve, record, compile_sample):  # noqa: F811
    server = serve(record([compile_sample("totals")]).path)
    answer = server.json("/data/last/allocations")
    for key in ("id", "chain_length", "position_in_chain", "is_jemalloc"):
        broken = {**answer, "allocations": [{k: v for k, v in answer["allocations"][0].items() if k != key}]}
        with pytest.raises(AssertionError):
            ANSWERS["allocations"](broken, "broken")
    for key, value in (("thread", None), ("size", -1), ("chain_length", True), ("extra_space", 2 ** 32)):
        broken = {**answer, "allocations": [{**answer["allocations"][0], key: value}]}
        with pytest.raises(AssertionError):
            ANSWERS["allocations"](broken, "broken")


@pytest.mark.parametrize("seed", range(3))
def test_maps(serve, record, compile_sample, seed):  # noqa: F811
    """Each mapping from the call that made it to the one that took its last page, by replaying the calls."""
    client = Client(serve(record([compile_sample("random_maps"), str(seed)]).path))
    pages, lives = {}, []
    for operation in client.server.json("/data/last/mmaps", stacks="none")["operations"]:
        (name, call), = operation.items()
        for page in range(call["pointer"] // 4096, (call["pointer"] + call["length"] + 4095) // 4096):
            if page in pages:
                life = lives[pages.pop(page)]
                life["left"] -= 4096
                if not life["left"]:
                    life["end"] = call["timestamp"]
            if name == "mmap":
                pages[page] = len(lives)
        if name == "mmap":
            length = -(-call["length"] // 4096) * 4096
            lives.append({"address": call["pointer"], "size": length, "left": length, "end": None})
    answer = client.server.json("/data/last/maps", stacks="none")
    assert answer["total_count"] == len(lives) > 200
    got = [{"address": one["address"], "size": one["size"], "left": one["left"],
            "end": one["deallocation"] and one["deallocation"]["timestamp"]} for one in answer["maps"]]
    assert got == lives
    by_size = client.server.json("/data/last/maps", stacks="none", sort_by="size", count=5, skip=2)["maps"]
    assert [one["size"] for one in by_size] == sorted((one["size"] for one in lives), reverse=True)[2:7]
    by_address = client.ask("maps", sort_by="address", order="dsc").maps
    assert [one.address for one in by_address] == sorted((one["address"] for one in lives), reverse=True)
