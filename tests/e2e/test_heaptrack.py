"""Totals equal those of Debian's heaptrack, another profiler, on deterministic programs."""
import collections
import subprocess

import pytest

from conftest import need

PROGRAMS = ["totals", "totals_cpp", "realloc_chain"]
# libstdc++ takes an emergency pool of this size at its start. heaptrack's library needs libstdc++, so
# the pool is there in C programs too, and heaptrack gives it back at the program's exit, which
# the program itself never does. It is left out of both sides.
POOL = 72704


def heaptrack(program, folder):
    """(calls, leaked bytes, leaked blocks, total bytes), out of heaptrack's own file: its printer
    rounds. Each `a` line describes an allocation, each `+` makes one and each `-` frees one."""
    need("heaptrack")
    output = folder / "heaptrack.out"
    subprocess.run(["heaptrack", "-o", output, program], capture_output=True)
    text = subprocess.run(["zstdcat" if next(folder.glob("heaptrack.out*")).suffix == ".zst"
                           else "zcat", next(folder.glob("heaptrack.out*"))],
                          capture_output=True, text=True, check=True).stdout
    sizes, live, calls, total = [], collections.Counter(), 0, 0
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        fields = rest.split()
        if kind == "a":
            sizes.append(int(fields[0], 16))
        elif kind == "+":
            index = int(fields[0], 16)
            if sizes[index] != POOL:
                live[index] += 1
                calls += 1
                total += sizes[index]
        elif kind == "-" and sizes[int(fields[0], 16)] != POOL:
            live[int(fields[0], 16)] -= 1
    return (calls, sum(count * sizes[index] for index, count in live.items()), sum(live.values()),
            total)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_totals(name, compile_sample, record, tmp_path):
    program = compile_sample(name, "gcc", "-O2")
    calls, leaked_bytes, leaked_blocks, total = heaptrack(program, tmp_path)
    assert calls > 1000
    recorded = record([program], check=False)
    pools = sum(1 for event in recorded.reader.events if getattr(event, "size", 0) == POOL)
    report = recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    assert (report["calls"] - pools, report["leaked_bytes"] - pools * POOL,
            report["leaked_blocks"] - pools, report["total_bytes"] - pools * POOL) == \
        (calls, leaked_bytes, leaked_blocks, total)
