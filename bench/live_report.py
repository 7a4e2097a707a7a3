"""How long a report of what is live takes, of a program with a great many backtraces.

The program is bench/many_sites.c; the table that it leaves is copied, and `mallow live-report`, which
the agent starts for each report, reads that."""
import dataclasses
import json
import shutil
import subprocess
import time

import measuring
import table
from profilers import BenchError

LEVELS, LEVELS_FAST = 17, 13
ROUNDS = 5
HELPER = """#!/bin/sh
exec cp --sparse=always "/proc/self/fd/$3" "$MALLOW_TABLE"
"""


@dataclasses.dataclass
class Figures:
    sites: int
    text: list          # wall seconds of each round
    collapsed: list
    json: list


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


def measure(place, progress, fast=False):
    """(lines, Figures)"""
    folder = place.run_folder()
    rounds = range(1 if fast else ROUNDS)
    try:
        progress("a live table")
        path = make_table(place, folder, LEVELS_FAST if fast else LEVELS)
        sites = json.loads(report(place, path, "--json", "--top", "1")[1])["site_count"]
        figures = Figures(sites, *([report(place, path, *words)[0] for _ in rounds]
                                   for words in ([], ["--flame-graph"], ["--json"])))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return table.rows(["", "seconds"], [
        ["text, 10 backtraces", table.pair(figures.text)],
        ["collapsed stacks of all", table.pair(figures.collapsed)],
        ["JSON of all", table.pair(figures.json)]], first=14), figures
