"""Clients of bytehound 0.11: a strict one reads every answer, and finds in it what the protocol says."""
import subprocess
import sys

import pytest

from bytehound_client import ANSWERS, REQUESTS, Client
from cells import every_other
from servers import Server, serve  # noqa: F401

SECOND = 10 ** 9
PROGRAMS = ["realloc_chain", "mappings", "totals", "python"]


def nanoseconds(time):
    return SECOND * time.secs + time.fract_nsecs


@pytest.fixture(params=every_other(PROGRAMS))
def client(request, record, compile_sample, serve):  # noqa: F811
    command = ([sys.executable, "-S", "-c", "x = [str(i) for i in range(1000)]"] if request.param == "python"
               else [compile_sample(request.param)])
    settings = {"FREE_STACKS": "1"} if request.param == "realloc_chain" else {}
    return Client(serve(record(command, check=False, settings=settings).path))


# A little of everything: answers to some hundred requests are small.
PROGRAM = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
void *kept;
static void grow(size_t size) { kept = realloc(kept, size); }
static void drop(void *block) { free(block); }
int main(void)
{
	char *map = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 1; i < 8; i++)
		grow(i * 50);
	for (int i = 0; i < 6; i++)
		drop(malloc(i < 3 ? 100 : 1000000));
	munmap(map + 4096, 4096);
	munmap(map, 16384);
	return calloc(3, 5) == NULL;
}
"""


@pytest.fixture(scope="module")
def every_client(request, tmp_path_factory, tool):
    folder = tmp_path_factory.mktemp("every")
    path, source, program = (folder / name for name in ("every.mallow", "every.c", "every"))
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-o", program, source], check=True)
    tool("run", "--free-stacks", "-o", path, "--", program)
    server = Server(request.getfixturevalue("mallow"), path)
    yield Client(server)
    server.end()


def test_every_answer(client):
    assert len(client.list()) == 1
    for path in ANSWERS.keys() - {"/list"}:
        client.ask(path)


@pytest.mark.parametrize("path", REQUESTS)
def test_every_parameter(every_client, path):
    """Nothing that a client can send is refused, each alone, and all answers can be read."""
    every_client.ask(path)
    for name, values in REQUESTS[path].items():
        for value in values:
            every_client.ask(path, **{name: value})


def test_conditions_hold(every_client):
    """Those that nothing else in this file asks for."""
    blocks = every_client.ask("allocations").allocations
    freed = {block.deallocation.backtrace_id for block in blocks if block.deallocation} - {None}
    assert freed
    for stack in freed:
        found = every_client.ask("allocations", deallocation_backtraces=stack).allocations
        assert found == [block for block in blocks if block.deallocation and block.deallocation.backtrace_id == stack]
    assert every_client.ask("allocations", jemalloc="yes").total_count == 0
    assert every_client.ask("allocations", jemalloc="no").total_count == len(blocks)


def test_when_groups_had_most(every_client):
    """The key sorts by what the fields say, and the conditions choose by it. What it should be: test_filter.py."""
    key = "max_total_usage_first_seen"
    groups = every_client.ask("allocation_groups", sort_by=f"all.{key}_at").allocations
    times = [nanoseconds(group.all.max_total_usage_first_seen_at) for group in groups]
    assert times == sorted(times) and len(times) == 3
    blocks = every_client.ask("allocations").allocations
    for group, time in zip(groups, times):
        assert time in {nanoseconds(one.timestamp) for one in blocks if one.backtrace_id == group.backtrace_id}
        assert group.only_matched.max_total_usage_first_seen_at is None
    middle = nanoseconds(groups[1].all.max_total_usage_first_seen_at_relative)
    for end, wanted in (("min", groups[1:]), ("max", groups[:2])):
        found = every_client.ask("allocation_groups", **{f"group_{key}_{end}": f"{middle}ns", "sort_by": f"all.{key}_at"})
        assert found.allocations == wanted


def test_mappings(every_client):
    """Conditions on what a mapping is, and what is known of it alone."""
    maps = every_client.ask("maps").maps
    assert [(one.size, one.is_writable, one.is_shared) for one in maps] == [(16384, True, False), (4096, False, True)]
    for conditions, wanted in [
            ({"writable": "only_true"}, maps[:1]), ({"writable": "only_false"}, maps[1:]),
            ({"readable": "only_false"}, []), ({"executable": "only_false"}, maps), ({"bytehound": "only_true"}, []),
            ({"jemalloc": "only_false"}, maps), ({"peak_rss_max": 1}, maps), ({"peak_rss_min": 0}, []),
            ({"size_min": 5000}, maps[:1]), ({"lifetime": "only_temporary"}, maps[:1]),
            ({"lifetime": "only_leaked"}, maps[1:]), ({"backtraces": maps[1].source.backtrace_id}, maps[1:]),
            ({"deallocation_backtraces": maps[0].deallocation.source.backtrace_id}, maps[:1]),
            ({"alive_at": "100%"}, maps[1:]), ({"function_regex": "^main$"}, maps), ({"id": 1, "size_min": 5000}, maps[1:]),
            ({"negative_function_regex": "main"}, []), ({"address_max": min(one.address for one in maps)}, maps[1:])]:
        assert every_client.ask("maps", **conditions).maps == wanted, conditions
    first = every_client.ask("maps", id=0, with_regions="true", with_usage_history="true").maps[0]
    (whole,), start = first.regions, first.address
    assert (whole.address, whole.size, first.usage_history) == (start, 16384, [])
    assert [(cut.address, cut.length) for cut in whole.deallocation.sources] == [
        (start + 4096, 4096), (start, 4096), (start + 8192, 8192)]
    assert whole.deallocation.timestamp == first.deallocation.timestamp
    for lifetime in ("only_chain_leaked", "only_whole_group_leaked"):  # for these its own server ends
        assert every_client.ask("maps", lifetime=lifetime).maps == maps[1:]


STATICS = """
struct Held { char *held; Held(int size) : held(new char[size]) {} ~Held() {} };
static Held one(1000);
static Held two(50); static Held three(50);
static char *gone = new char[7];
int main() { delete[] gone; delete[] (new char[5000]); return one.held == two.held || three.held == gone; }
"""


def test_what_statics_allocated(serve, tool, tmp_path):  # noqa: F811
    """By the lines that declare them; freed ones do not count."""
    source, program, path = (tmp_path / name for name in ("statics.cc", "statics", "statics.mallow"))
    source.write_text(STATICS)
    subprocess.run(["g++", "-g", "-O0", "-o", program, source], check=True)
    tool("run", "-o", path, "--", program)
    client = Client(serve(path))
    blocks = [one for one in client.ask("allocations", lifetime="only_leaked").allocations if one.size in (1000, 50)]
    used = [one.size + one.extra_space for one in blocks]
    found = client.ask("dynamic_statics")
    (name, whole), = found["per_file"].items()
    assert (found["count"], found["size"]) == (whole["count"], whole["size"]) == (3, sum(used)) and name == str(source)
    assert whole["per_line"] == {"3": {"count": 1, "size": used[0]}, "4": {"count": 2, "size": sum(used[1:])}}
    for path in ("dynamic_constants", "dynamic_constants/constants.json"):
        assert client.ask(path) == {"count": 0, "size": 0, "per_file": {}}
    for path in ("dynamic_statics_ascii_tree", "dynamic_statics_ascii_tree/statics.txt"):
        assert "[statics.cc:4]\n" in client.ask(path).decode() and "[statics.cc:5]" not in client.ask(path).decode()
    assert "main" not in client.ask("dynamic_constants_ascii_tree").decode()


def test_scripts_are_refused(every_client):
    line = "bytehound's scripts are not run here: ask by conditions, which /openapi.json lists"
    server = every_client.server
    for path in ("allocation_filter_to_script", "map_filter_to_script?size_min=1&page=2", "script_files/0f/graph.svg",
                 "execute_script", "allocations?custom_filter=allocations()", "maps?custom_filter=maps()"):
        assert server.refused(f"/data/last/{path}", 501) == line
    status, _, body = server.request("/data/last/execute_script", "POST")
    assert (status, body.decode().strip()) == (501, line)
    assert server.request("/data/last/allocations", "POST")[0] == 405


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
