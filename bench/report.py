"""The text of a result: the head, the tables of the real programs, the small ones, the goals."""
import datetime
import textwrap

import figures
import machine
import table


def head(place, started, rounds, load_before, loaded):
    lines = [f"mallow benchmark, {started:%Y-%m-%d %H:%M} UTC", ""]
    lines += table.wrapped("machine", [machine.processor(), f"{machine.cores()} cores",
                                       f"{machine.memory_gb():.0f} GB", *machine.system()])
    lines += table.wrapped("versions", [f"{name} {text}" for name, text in machine.versions(place)])
    lines += [f"rounds    {rounds}, all tools alternating; load average {load_before} before, "
              f"{machine.load()} after"]
    if loaded:
        lines.append("WARNING   the machine was not idle at the start: no reference")
    return lines


def method(profilers):
    """What is compared, in words."""
    text = ("CPU is user plus system time of the whole process tree, all its processes reaped "
            "(heaptrack's interpreter and compressor included). `mallow` is the program with "
            "libmallow.so preloaded: the cost while it runs. `mallow run` is the whole command, "
            "which then finishes the recording. Every tool records every allocation. Each run's "
            "output and status are compared with the bare run's; one that differs fails the row.")
    lines = textwrap.wrap(text, table.WIDTH)
    others = [one.title for one in profilers if one.name in ("jemalloc", "tcmalloc")]
    if others:
        lines += textwrap.wrap(f"{' and '.join(others)}: another allocator, with its own profiler, "
                               "which keeps sums only; compared with the bare program, which runs "
                               "on its own allocator. Fewer rounds, and not what takes them "
                               "minutes (--compare-all).", table.WIDTH)
    return lines


def titles(results, names=None):
    return [one for one in results.profilers if names is None or one.name in names]


def cell(results, workload, profiler, text):
    """A cell, FAILED where a run of it failed."""
    return "FAILED" if results.failed(workload.name, profiler.name) else text


def per_cell(results, profilers, text_of):
    """One row a workload, one column a profiler, by text_of(workload name, profiler name)."""
    lines = [[workload.name] + [cell(results, workload, one, text_of(workload.name, one.name))
                                for one in profilers] for workload in results.workloads]
    return table.rows(["", *(one.title for one in profilers)], lines)


def cpu_table(results):
    return ["CPU seconds, minimum/median", ""] + per_cell(
        results, results.profilers, lambda w, p: table.pair(results.values(w, p, "cpu")))


def slowdown_table(results):
    profilers = [one for one in results.profilers if one.name != "bare"]
    return ["CPU by the bare program's (of minima)", ""] + per_cell(
        results, profilers, lambda w, p: table.times(figures.slowdown(results, w, p)))


def added_table(results):
    """What a recorded allocation costs, and the shares of heaptrack's cost."""
    lines = []
    for workload in results.workloads:
        name = workload.name
        nanoseconds = [figures.bare_ns(results, name)]
        nanoseconds += [figures.ns_per_allocation(results, name, profiler)
                        for profiler in ("mallow", "finish", "heaptrack")]
        shares = [figures.share(results, name, profiler, statistic)
                  for statistic in figures.STATISTICS.values() for profiler in ("mallow", "finish")]
        lines.append([name, table.count(figures.allocations(results, name)),
                      *("-" if value is None else f"{value:.0f}" for value in nanoseconds),
                      *map(table.share, shares)])
    means = [figures.mean_share(results, profiler, statistic)
             for statistic in figures.STATISTICS.values() for profiler in ("mallow", "finish")]
    lines.append(["geometric mean", "", "", "", "", "", *map(table.share, means)])
    aside = [workload.name for workload in results.workloads if not workload.counts]
    besides = [f"The mean and the goals leave out {', '.join(aside)}."] if aside else []
    header = ["", "calls", "bare", "mallow", "mallow run", "heaptrack",
              "running", "finished", "running", "finished"]
    return ["ns of CPU per call (an allocation): the bare program's own, and what is added (of minima).",
            "Then what mallow adds as a share of what heaptrack adds: running, and with finishing, of",
            "minima and again of medians.", *besides, ""] + table.rows(header, lines)


def wall_table(results):
    return ["Wall seconds until the last process has ended, minimum/median", ""] + per_cell(
        results, results.profilers, lambda w, p: table.pair(results.values(w, p, "wall")))


def memory_table(results):
    lines = per_cell(results, results.profilers, lambda w, p: table.megabytes(
        table.median(results.values(w, p, "peak"))))
    return ["Peak memory in MB of the largest process, median. What `mallow` has more than bare is",
            "the agent, with its slots of the file.", ""] + lines


def file_table(results):
    def row(workload):
        name = workload.name

        def size(profiler):
            return table.megabytes(table.median(results.values(name, profiler, "size")))

        def each(profiler):
            value = figures.bytes_per_event(results, name, profiler)
            return "-" if value is None else f"{value:.2f}"
        return [name, table.count(table.median(results.values(name, "mallow", "events"))),
                size("mallow"), each("mallow"), size("finish"), each("finish"), size("heaptrack")]
    return ["Files in MB, bytes an event (an allocation and its free are two)", ""] + table.rows(
        ["", "events", "recording", "an event", "finished", "an event", "heaptrack"],
        [row(workload) for workload in results.workloads])


def read_table(results):
    lines = []
    for workload in results.workloads:
        ours, theirs = (table.pair([value for value in results.values(workload.name, name, "read")
                                    if value is not None]) for name in ("finish", "heaptrack"))
        if (ours, theirs) != ("-", "-"):
            lines.append([workload.name, ours, theirs])
    return ["CPU seconds to print a report of the (finished) recording, minimum/median", ""] + \
        table.rows(["", "mallow report", "heaptrack_print"], lines) if lines else []


def failures_of(results):
    lines = [f"{workload} under {profiler} FAILED: {reason}"
             for workload, found in results.failures.items() for profiler, reason in found.items()]
    return ["Failures: these cells have no figures", "", *lines] if lines else []


def left_out(profilers, workloads):
    """What is not there, with its reason: [(name, reason)]."""
    return [f"left out  {name}: {reason}" for name, reason in profilers + workloads]


def programs(results):
    """All sections of the real programs."""
    about = ["Programs", "", *(f"{workload.name:<11}{workload.about}"
                               for workload in results.workloads)]
    sections = [method(results.profilers), about, failures_of(results), cpu_table(results),
                slowdown_table(results)]
    if {"mallow", "heaptrack"} <= {one.name for one in results.profilers}:
        sections.append(added_table(results))
    sections += [wall_table(results), memory_table(results)]
    if "mallow" in {one.name for one in results.profilers}:
        sections += [file_table(results), read_table(results)]
    return [section for section in sections if section]


def text_of(sections):
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc)
