"""What a report of what is live costs: the CPU of the one at the end of ordinary programs, and how long one
takes of a program with a great many backtraces.

That program is bench/many_sites.c; the table that it leaves is copied, and `mallow live-report`, which
the agent starts for each report, reads that."""
import dataclasses
import json
import shutil
import subprocess
import time

import measuring
import table
import workloads
from profilers import BenchError

LEVELS, LEVELS_FAST = 17, 13
ROUNDS = 5
PROGRAMS = ("sqlite", "git", "python", "node")
HELPER = """#!/bin/sh
exec cp --sparse=always "/proc/self/fd/$3" "$MALLOW_TABLE"
"""
# What the agent starts in place of the tool: the tool, measured.
MEASURING_HELPER = """#!/bin/sh
exec {measure} {result} 60 {mallow} "$@"
"""


@dataclasses.dataclass
class Figures:
    sites: int
    text: list          # wall seconds of each round
    collapsed: list
    json: list
    cpu: dict           # {program: CPU milliseconds of its report, of each round}


def make_table(place, folder, levels):
    """The path of a table, as the program leaves it."""
    helper, path = folder / "helper", folder / "table.mallow"
    helper.write_text(HELPER)
    helper.chmod(0o755)
    environment = measuring.clean_environment({
        "LD_PRELOAD": str(place.agent), "MALLOW_MODE": "live", "MALLOW_HELPER": str(helper),
        "MALLOW_TABLE": str(path)})
    run = subprocess.run([place.program("many_sites"), str(levels)], env=environment,
                         capture_output=True, text=True)
    if run.returncode or not path.exists():
        raise BenchError(f"no live table: {run.stderr}")
    return path


def report(place, path, *words):
    """(wall seconds, what was printed)"""
    with open(path, "rb") as file:
        begin = time.monotonic()
        run = subprocess.run([place.mallow, "live-report", "--fd", str(file.fileno()), *words],
                             env=measuring.clean_environment({}), stderr=subprocess.PIPE,
                             pass_fds=[file.fileno()])
        wall = time.monotonic() - begin
    if run.returncode or not run.stderr:
        raise BenchError(f"no report of a live table: {run.stderr.decode()}")
    return wall, run.stderr


def cpu_of_report(place, workload):
    """Milliseconds of CPU that the report at the end of the program takes."""
    folder = place.run_folder()
    helper, result, report = folder / "helper", folder / "measured.json", folder / "report"
    try:
        helper.write_text(MEASURING_HELPER.format(measure=place.program("measure"), result=result,
                                                  mallow=place.mallow))
        helper.chmod(0o755)
        environment = measuring.clean_environment({
            **workload.env, "LD_PRELOAD": str(place.agent), "MALLOW_MODE": "live",
            "MALLOW_HELPER": str(helper), "MALLOW_OUTFILE": str(report)})
        subprocess.run([str(word) for word in workload.command(place, folder)], env=environment,
                       cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        if not report.exists():
            raise BenchError(f"no report at the end of {workload.name}")
        used = json.loads(result.read_text())
        return 1000 * (used["user"] + used["system"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cpu(place, progress, fast):
    """{program: milliseconds of each round}"""
    figures = {}
    for workload in workloads.WORKLOADS:
        if workload.name in PROGRAMS[:1 if fast else None] and not workloads.missing(workload):
            progress(f"live: report at the end of {workload.name}")
            figures[workload.name] = [cpu_of_report(place, workload) for _ in range(1 if fast else ROUNDS)]
    return figures


def measure(place, progress, fast=False):
    """(lines, Figures)"""
    folder = place.run_folder()
    rounds = range(1 if fast else ROUNDS)
    try:
        progress("a live table")
        path = make_table(place, folder, LEVELS_FAST if fast else LEVELS)
        sites = json.loads(report(place, path, "--json", "--top", "1")[1])["site_count"]
        figures = Figures(sites, *([report(place, path, *words)[0] for _ in rounds]
                                   for words in ([], ["--flame-graph"], ["--json"])),
                          cpu(place, progress, fast))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return table.rows(["", "seconds"], [
        ["text, 10 backtraces", table.pair(figures.text)],
        ["collapsed stacks of all", table.pair(figures.collapsed)],
        ["JSON of all", table.pair(figures.json)]], first=14), figures
