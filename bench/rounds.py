"""All runs: workloads and profilers alternating, so that a disturbance hits them all."""
import collections
import sys

import measuring
from profilers import BenchError

# Profilers count the same program's allocations a little differently (what libstdc++ or their own
# start-up takes, a realloc that stays in place). More than this is not the same work.
COUNTS_DIFFER = 0.05


class Results:
    """samples[workload][profiler]: one Sample a round; failures[workload][profiler]: why none."""

    def __init__(self, workloads, profilers):
        self.workloads, self.profilers = workloads, profilers
        self.samples = collections.defaultdict(lambda: collections.defaultdict(list))
        self.failures = {}

    def of(self, workload, profiler):
        """The samples of one cell, none if a run of it failed."""
        return [] if self.failed(workload, profiler) else self.samples[workload][profiler]

    def failed(self, workload, profiler):
        return profiler in self.failures.get(workload, ())

    def values(self, workload, profiler, field):
        return [getattr(sample, field) for sample in self.of(workload, profiler)]

    def fail(self, workload, profiler, reason):
        self.failures.setdefault(workload, {}).setdefault(profiler, str(reason))
        print(f"bench: {workload} under {profiler} FAILED: {reason}", file=sys.stderr, flush=True)


def run_all(place, workloads, profilers, rounds, compare, progress):
    """Runs everything. compare(workload): how often profilers run it that are not `main`."""
    results = Results(workloads, profilers)
    by_name = {profiler.name: profiler for profiler in profilers}
    expected = {}
    for workload in workloads:
        # Not counted: it warms the caches, and says what the program has to print.
        try:
            _, expected[workload.name] = measuring.run_once(place, workload, by_name["bare"])
        except BenchError as error:
            results.fail(workload.name, "bare", error)
    for number in range(rounds):
        for workload in workloads:
            if workload.name not in expected:
                continue
            turn = number % len(profilers)
            for profiler in profilers[turn:] + profilers[:turn]:
                times = rounds if profiler.main else compare(workload)
                if number < times and not results.failed(workload.name, profiler.name):
                    progress(f"round {number + 1} of {rounds}: {workload.name} {profiler.name}")
                    run_cell(place, workload, profiler, expected[workload.name], results)
    for workload in workloads:
        check_counts(workload, results)
    return results


def run_cell(place, workload, profiler, expected, results):
    try:
        sample, result = measuring.run_once(place, workload, profiler)
        measuring.check_same(workload, profiler, result, expected)
        results.samples[workload.name][profiler.name].append(sample)
    except BenchError as error:
        results.fail(workload.name, profiler.name, error)


def check_counts(workload, results):
    """mallow and heaptrack saw the same program: their counts of allocations are close."""
    counts = {name: results.values(workload.name, name, "allocations")
              for name in ("mallow", "finish", "heaptrack")}
    known = [count for values in counts.values() for count in values]
    if known and max(known) - min(known) > COUNTS_DIFFER * max(known):
        results.fail(workload.name, "mallow", f"allocations counted differ: {counts}")
