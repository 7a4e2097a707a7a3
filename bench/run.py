#!/usr/bin/python3
"""The benchmark: mallow beside the bare program and other public heap profilers.

    bench/run.py [--only python,clang] [--tools bare,mallow,heaptrack] [--rounds 5] [--fast]

Prints its result and keeps it in bench/results/. docs/benchmarks.md says how to read it.
MALLOW=…/mallow measures another build than build/mallow.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True
import bundle  # noqa: E402
import formats  # noqa: E402
import core  # noqa: E402
import deep  # noqa: E402
import engine  # noqa: E402
import growing  # noqa: E402
import live  # noqa: E402
import goals  # noqa: E402
import machine  # noqa: E402
import many  # noqa: E402
import memleak  # noqa: E402
import memleak_kernel  # noqa: E402
import micro  # noqa: E402
import profilers as tools  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import serving  # noqa: E402
import streaming  # noqa: E402
import table  # noqa: E402
import web  # noqa: E402
import workloads as programs  # noqa: E402
from place import BENCH, Place  # noqa: E402

SMALL = ("micro", "live", "core", "engine", "growing", "deep", "web", "memleak", "memleak_kernel",
         "streaming", "many", "bundle", "formats")
IDLE = 0.5                  # a load average above this disturbs the figures


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help=f"workloads and {', '.join(SMALL)}, separated by commas")
    parser.add_argument("--tools", default=",".join(tools.BY_DEFAULT), help="[%(default)s]")
    parser.add_argument("--rounds", type=int, default=5, help="[%(default)s]")
    parser.add_argument("--compare-rounds", type=int, default=1,
                        help="for tools that are only there to compare [%(default)s]")
    parser.add_argument("--compare-all", action="store_true",
                        help="these tools also run what takes them minutes")
    parser.add_argument("--fast", action="store_true",
                        help="one round of bare, mallow and heaptrack: a check, no reference")
    parser.add_argument("--no-micro", action="store_true", help=f"only the programs: no {', '.join(SMALL)}")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="the result's file [bench/results/DATE.txt]")
    parser.add_argument("--json", type=pathlib.Path, help="also every single run, as JSON")
    return parser.parse_args()


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def available(place, arguments):
    """(workloads, profilers, lines about what is left out)."""
    known = {workload.name: workload for workload in programs.WORKLOADS}
    names = [name for name in (arguments.only or "").split(",") if name not in ("", *SMALL)]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"bench: no workload {unknown[0]}; there are: {' '.join(known)}")
    if not arguments.only:
        names = [name for name, workload in known.items() if workload.by_default]
    wanted = ["bare", "mallow", "heaptrack"] if arguments.fast else arguments.tools.split(",")
    profilers = tools.by_names(wanted, place)
    lacking = [(one.name, one.missing()) for one in profilers if one.missing()]
    lacking_workloads = [(name, programs.missing(known[name])) for name in names
                         if programs.missing(known[name])]
    absent = {name for name, _ in lacking + lacking_workloads}
    if absent & {"bare", "mallow"}:
        raise SystemExit(f"bench: {lacking[0][1]}")
    return ([known[name] for name in names if name not in absent],
            [one for one in profilers if one.name not in absent],
            report.left_out(lacking, lacking_workloads))


def wanted(arguments, small):
    """Whether to measure this one of SMALL."""
    return not arguments.no_micro and (not arguments.only or small in arguments.only.split(","))


def run_micro(place, arguments):
    """(sections, micro.Pairs, scaling)."""
    if not wanted(arguments, "micro"):
        return [], None, None
    capture_lines, captured = micro.captures(place, progress)
    pair_lines, pairs = micro.pairs_table(place, progress, captured)
    live_lines, live_pairs = micro.live_pairs(place, progress)
    scaling_lines, scaling = micro.scaling(place, progress)
    return [["ns for capturing a stack (bench/unwind_capture.c)", "", *capture_lines],
            ["ns for a malloc/free pair, always of the same stack, minimum", "", *pair_lines],
            ["ns for a malloc/free pair in MODE=live, 15 frames, minimum", "", *live_lines],
            ["ns for a malloc/free pair of each thread", "", *scaling_lines]], \
        micro.Pairs(pairs, live_pairs), scaling


def run_live(place, arguments):
    """(sections, live.Figures or None)."""
    if not wanted(arguments, "live"):
        return [], None
    return live.measure(place, progress, arguments.fast)


def run_core(place, arguments):
    """(sections, core.Figures or None)."""
    if not wanted(arguments, "core"):
        return [], None
    lines, found = core.measure(place, progress, arguments.fast)
    blocks = table.count(found.blocks) if found else "many"
    return [[f"A core dump with {blocks} live blocks of {core.SITES:,} sites, minimum/median", "", *lines]], found


def run_engine(place, arguments):
    """(sections, engine.Figures or None)."""
    if not wanted(arguments, "engine"):
        return [], None
    lines, served, huge, found = engine.measure(place, progress, arguments.fast)
    title = (f"Opening a recording of {table.count(found.allocations)} allocations with its blocks, "
             "wall seconds, minimum/median")
    serving_title = (f"Pages of {serving.PAGE} of it by `mallow serve`, filtered and sorted, wall milliseconds, "
                     "minimum/median")
    huge_title = f"A recording of {table.count(engine.HUGE)} allocations by `mallow serve`, the same"
    return [[title, "", *lines], [serving_title, "", *served], [huge_title, "", *huge]], found


def run_growing(place, arguments):
    """(sections, growing.Figures or None)."""
    if not wanted(arguments, "growing"):
        return [], None
    lines, found = growing.measure(place, progress, arguments.fast)
    title = (f"A program of {table.count(found.allocations)} allocations in "
             f"{found.allocations * growing.EACH_NS / 1e9:.3g} s, read while it is written, seconds, minimum/median")
    return [[title, "", *lines]], found


def run_streaming(place, arguments):
    """(sections, streaming.Figures or None)."""
    if not wanted(arguments, "streaming"):
        return [], None
    lines, found = streaming.measure(place, progress, arguments.fast)
    title = ("Recordings that are sent while they are made, seconds, and arrival by the program's own time, "
             "minimum/median")
    return [[title, "", *lines]], found


def run_deep(place, arguments):
    """(sections, deep.Figures or None)."""
    if not wanted(arguments, "deep"):
        return [], None
    lines, whole, found = deep.measure(place, progress, arguments.fast)
    if not found:
        return [["A recording of clang++ by `mallow serve`", "", *lines]], None
    title = (f"A recording of clang++, {table.count(found.stacks)} stacks of {found.depth:.0f} frames: "
             f"pages of {serving.PAGE} of it")
    return [[title, "by `mallow serve`, wall milliseconds, minimum/median", "", *lines],
            ["All stacks of it in one answer, wall seconds, minimum/median", "", *whole]], found


def run_web(place, arguments):
    """(sections, web.Figures or None)."""
    if not wanted(arguments, "web"):
        return [], None
    lines, found = web.measure(place, progress, arguments.fast)
    return [["A recording of ten million allocations with an index file in the web interface, headless chromium, "
             "milliseconds, minimum/median", "", *lines]], found


def run_memleak(place, arguments):
    """(sections, memleak.Figures or None)."""
    if not wanted(arguments, "memleak"):
        return [], None
    return memleak.measure(place, progress, arguments.fast)


def run_memleak_kernel(place, arguments):
    """(sections, memleak_kernel.Figures or None)."""
    if not wanted(arguments, "memleak_kernel"):
        return [], None
    return memleak_kernel.measure(place, progress, arguments.fast)


def run_many(place, arguments):
    """Sections."""
    if not wanted(arguments, "many"):
        return []
    return [["What programs do thousands of times, processor seconds with all children, minimum/median", "",
             *many.measure(place, progress, arguments.fast)]]


def run_bundle(place, arguments):
    """(sections, bundle.Figures or None)."""
    if not wanted(arguments, "bundle"):
        return [], None
    lines, found = bundle.measure(place, progress, arguments.fast)
    return [["Starts of the tool, wall milliseconds, minimum/median", "", *lines]], found


def run_formats(place, arguments):
    """(sections, formats.Figures or None)."""
    if not wanted(arguments, "formats"):
        return [], None
    lines, found = formats.measure(place, progress, arguments.fast)
    return [["Other programs' formats, of a recording of clang++, minimum/median", "", *lines]], found


def as_json(results):
    return {"failures": results.failures, "samples": {
        workload: {profiler: [dict(dataclasses.asdict(sample), cpu=sample.cpu)
                              for sample in samples] for profiler, samples in cells.items()}
        for workload, cells in results.samples.items()}}


def main():
    arguments = parse()
    place = Place()
    workloads, profilers, absent = available(place, arguments)
    started, load = report.utc_now(), machine.load()
    number = 1 if arguments.fast else arguments.rounds
    results = rounds.run_all(
        place, workloads, profilers, number, lambda workload: arguments.compare_rounds if
        workload.compare or arguments.compare_all else 0, progress)
    sections, pairs, scaling = run_micro(place, arguments)
    live_sections, lived = run_live(place, arguments)
    core_sections, dumped = run_core(place, arguments)
    engine_sections, opened = run_engine(place, arguments)
    growing_sections, grown = run_growing(place, arguments)
    deep_sections, deeply = run_deep(place, arguments)
    web_sections, seen = run_web(place, arguments)
    memleak_sections, traced = run_memleak(place, arguments)
    kernel_sections, traced_kernel = run_memleak_kernel(place, arguments)
    streaming_sections, streamed = run_streaming(place, arguments)
    many_sections = run_many(place, arguments)
    bundle_sections, bundled = run_bundle(place, arguments)
    format_sections, converted = run_formats(place, arguments)
    progress("")
    busy = float(load) > IDLE
    text = report.text_of([
        report.head(place, started, number, load, busy) + absent,
        *(report.programs(results) if workloads else []), *sections, *live_sections,
        *core_sections, *engine_sections, *growing_sections, *deep_sections, *web_sections, *memleak_sections,
        *kernel_sections, *streaming_sections, *many_sections, *bundle_sections, *format_sections,
        goals.section(results, pairs, scaling, lived, opened, deeply, grown, seen, dumped, traced,
                      traced_kernel, streamed, bundled, converted)])
    print(text, end="")
    output = arguments.output or BENCH / "results" / f"{started:%Y-%m-%d-%H%M}.txt"
    output.parent.mkdir(exist_ok=True)
    output.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(results), indent=1))
    return 1 if results.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except tools.BenchError as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(os.EX_TEMPFAIL)
