"""Totals equal those of Debian's heaptrack, another profiler, on deterministic programs."""
import subprocess

import pytest

import heaptrack_reader
from conftest import need

PROGRAMS = ["totals", "totals_cpp", "realloc_chain"]
# libstdc++ takes an emergency pool of one of these sizes at its start. heaptrack's library needs libstdc++, so
# the pool is there in C programs too, and heaptrack gives it back at the program's exit, which
# the program itself never does. It is left out of both sides.
POOLS = 72704, 73728


def heaptrack(program, folder):
    """(calls, leaked bytes and blocks, total bytes), out of heaptrack's own file: its printer rounds."""
    need("heaptrack")
    subprocess.run(["heaptrack", "-o", folder / "heaptrack.out", program], capture_output=True)
    rows = heaptrack_reader.read(next(folder.glob("heaptrack.out*"))).rows.values()
    rows = [row for row in rows if row[1] not in [pool * row[0] for pool in POOLS]]
    return tuple(sum(row[field] for row in rows) for field in (0, 2, 4, 1))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_totals(name, compile_sample, record, tmp_path):
    program = compile_sample(name, "gcc", "-O2")
    calls, leaked_bytes, leaked_blocks, total = heaptrack(program, tmp_path)
    assert calls > 1000
    recorded = record([program], check=False)
    pools = [event.size for event in recorded.reader.events if getattr(event, "size", 0) in POOLS]
    report = recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert (report["calls"] - len(pools), report["leaked_bytes"] - sum(pools),
            report["leaked_blocks"] - len(pools), report["total_bytes"] - sum(pools)) == \
        (calls, leaked_bytes, leaked_blocks, total)
