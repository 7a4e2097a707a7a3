"""What `mallow live` costs beside CPU: the memory of its table, and how long a report of very many
sites takes."""
import dataclasses
import json
import shutil
import subprocess

import live_report
import measuring
import table
import workloads as programs
from profilers import BenchError

# Blocks that stay, and their size; 0: of 16 to 1,024 bytes.
BLOCKS = [(1_000_000, 16), (1_000_000, 64), (500_000, 256), (300_000, 1024), (100_000, 4096),
          (20_000, 40_000), (500_000, 0)]
PROGRAMS = ("python", "clang", "sqlite", "perl", "git", "node")


@dataclasses.dataclass
class Figures:
    each: dict = dataclasses.field(default_factory=dict)    # {what: bytes a live block}
    share: dict = dataclasses.field(default_factory=dict)   # {what: of the heap}
    report: live_report.Figures = None


def reports_of(place, command, env, *options):
    """The JSON reports of a run, one a tenth of a second and one at its end."""
    folder = place.run_folder()
    path = folder / "live.json"
    try:
        run = subprocess.run(
            [place.mallow, "live", "--json", "--top", "1", "--outfile", path, *options, "--",
             *map(str, command(folder))], env=measuring.clean_environment(env), cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if run.returncode or run.stderr:
            raise BenchError(f"mallow live: status {run.returncode}: {run.stderr[-300:]}")
        return [json.loads(line) for line in path.read_text().splitlines()]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def memory_row(what, reports, figures):
    """Of the moment at which most blocks were live."""
    most = max(reports, key=lambda report: report["live_blocks"])
    blocks, heap = most["live_blocks"], most["memory"]["heap_resident_bytes"]
    own = most["table_bytes"] - most["table_site_bytes"] - most["table_stack_bytes"]
    figures.each[what], figures.share[what] = own / blocks, own / heap
    return [what, table.count(blocks), f"{most['live_bytes'] / blocks:.0f}",
            table.count(most["site_count"]), table.megabytes(most["table_bytes"]), table.megabytes(own),
            f"{figures.each[what]:.1f}", f"{figures.share[what]:.1%}"]


def memory(place, progress, figures):
    lines = []
    for count, size in BLOCKS:
        what = f"blocks of {size}" if size else "mixed blocks"
        progress(f"live: {what}")
        lines.append(memory_row(what, reports_of(
            place, lambda folder: [place.program("blocks"), count, size], {}), figures))
    for workload in programs.WORKLOADS:
        if workload.name in PROGRAMS and not programs.missing(workload):
            progress(f"live: memory for {workload.name}")
            lines.append(memory_row(workload.name, reports_of(
                place, lambda folder: workload.command(place, folder), workload.env,
                "--interval", "100ms"), figures))
    return table.rows(["", "blocks", "bytes each", "sites", "table MB", "blocks' MB", "a block", "of the heap"], lines,
                      first=16)


def measure(place, progress, fast=False):
    """(sections, Figures)"""
    figures = Figures()
    sections = []
    if not fast:
        sections = [["Memory of `mallow live` when most was live: the table, and what of it the blocks take, without sums and stacks of sites", "",
                     *memory(place, progress, figures)]]
    lines, figures.report = live_report.measure(place, progress, fast)
    return [*sections, [f"A report of {figures.report.sites:,} backtraces with something live, wall seconds, "
                        "minimum/median", "", *lines],
            ["The report at the end of a program, its CPU in milliseconds, minimum/median", "",
             *table.rows(["", "CPU ms"], [[name, table.pair(each, 1)] for name, each
                                          in figures.report.cpu.items()])]], figures
