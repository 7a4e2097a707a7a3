"""What is computed out of the samples: added CPU, slowdown, shares of heaptrack's, means.

Everything is computed twice, from minima (noise only adds) and from medians.
"""
import statistics

import table

STATISTICS = {"minima": min, "medians": statistics.median}


def cpu(results, workload, profiler, statistic=min):
    values = results.values(workload, profiler, "cpu")
    return statistic(values) if values else None


def added(results, workload, profiler, statistic=min):
    """CPU seconds more than bare. None where either is missing."""
    mine, bare = (cpu(results, workload, name, statistic) for name in (profiler, "bare"))
    return None if mine is None or bare is None else mine - bare


def slowdown(results, workload, profiler, statistic=min):
    mine, bare = (cpu(results, workload, name, statistic) for name in (profiler, "bare"))
    return None if mine is None or not bare else mine / bare


def share(results, workload, profiler, statistic=min, of="heaptrack"):
    """Added CPU as a share of heaptrack's. None where there is none, or where the noise is larger
    than what was added: such a workload says nothing, and is left out of means."""
    mine, other = (added(results, workload, name, statistic) for name in (profiler, of))
    return mine / other if mine is not None and other and mine > 0 and other > 0 else None


def mean_share(results, profiler, statistic=min):
    """Geometric, of the workloads that count."""
    shares = [share(results, workload.name, profiler, statistic) for workload in results.workloads
              if workload.counts]
    return table.geometric_mean([value for value in shares if value is not None])


def allocations(results, workload):
    for profiler in ("mallow", "finish", "heaptrack", "jemalloc", "tcmalloc", "dhat"):
        value = table.median(results.values(workload, profiler, "allocations"))
        if value:
            return value
    return None


def ns_per_allocation(results, workload, profiler, statistic=min):
    more, number = added(results, workload, profiler, statistic), allocations(results, workload)
    return None if more is None or not number else more / number * 1e9


def bare_ns(results, workload):
    """ns of the bare program's own CPU per allocation: how densely it allocates."""
    number, bare = allocations(results, workload), cpu(results, workload, "bare")
    return bare / number * 1e9 if number and bare else None


def bytes_per_event(results, workload, profiler):
    size, events = (table.median(results.values(workload, profiler, field))
                    for field in ("size", "events"))
    return size / events if events else None


def added_peak(results, workload, profiler):
    mine, bare = (table.median(results.values(workload, name, "peak"))
                  for name in (profiler, "bare"))
    return None if mine is None or bare is None else mine - bare
