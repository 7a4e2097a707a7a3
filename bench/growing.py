"""A recording that is read while it is written: when `mallow run` shows its headline, and what looks cost.

The program is tests/samples/even_pace.c, one thread; it says when it ends. The looks are those of
tests/unit/growing_looks.c, which also reads the file once, as a whole, and compares."""
import dataclasses
import json
import shutil
import subprocess
import time

import measuring
import table
from place import TOP
from profilers import BenchError

ALLOCATIONS, ALLOCATIONS_FAST = 10_000_000, 1_000_000
EACH_NS = 1_200             # ten million in 12 s
ROUNDS = 3
PAUSE_MS = 100
LOOKS = TOP / "build" / "meson" / "tests" / "unit" / "growing_looks"
HEADLINE = b"Most memory "


@dataclasses.dataclass
class Figures:
    allocations: int
    headline: list          # seconds of each round, from the program's end
    looks: dict             # {blocks or sums: [processor time of all looks by that of one whole load]}


def program(place, allocations):
    return [place.program("even_pace"), "1", str(allocations), str(allocations * EACH_NS // 1_000_000)]


def measure_headline(place, path, allocations):
    """Seconds from the program's end to the headline."""
    shown = None
    command = [place.mallow, "run", "-o", path, "--", *program(place, allocations)]
    with subprocess.Popen(command, env=measuring.clean_environment({}), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if shown is None and line.startswith(HEADLINE):
                shown = time.monotonic()
        ended = process.stdout.read()
    if process.returncode or shown is None:
        raise BenchError("mallow run of a program of even pace shows no headline")
    return shown - int(ended) / 1e9


def wait_until_begun(path, process):
    """Its first bytes are written last."""
    while not path.exists() or not path.read_bytes()[:1].strip(b"\0"):
        if process.poll() is not None:
            raise BenchError("no recording of a program of even pace")
        time.sleep(0.01)


def measure_looks(place, path, allocations, needs):
    """What growing_looks says."""
    env = measuring.clean_environment({"LD_PRELOAD": str(place.agent), "MALLOW_OUTPUT": str(path)})
    with subprocess.Popen(program(place, allocations), env=env, stdout=subprocess.DEVNULL) as process:
        wait_until_begun(path, process)
        run = subprocess.run([LOOKS, path, str(PAUSE_MS), needs], capture_output=True, text=True)
    if run.returncode:
        raise BenchError(f"looks at a recording that grows: {run.stderr}")
    found = json.loads(run.stdout)
    if found["difference"] or found["events"] < allocations:
        raise BenchError(f"looks at a recording that grows find something else: {found}")
    return found


def in_folder(place, measure_one, *arguments):
    folder = place.run_folder()
    try:
        return measure_one(place, folder / "grows.mallow", *arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def looks_row(needs, found):
    return [f"looks, {needs}", table.pair([one["looks"] for one in found], 0),
            table.pair([one["looks_cpu_s"] for one in found]), table.pair([one["whole_cpu_s"] for one in found])]


def measure(place, progress, fast=False):
    """(lines, Figures)"""
    allocations = ALLOCATIONS_FAST if fast else ALLOCATIONS
    rounds = range(1 if fast else ROUNDS)
    progress("the headline of a program that has ended")
    headline = [in_folder(place, measure_headline, allocations) for _ in rounds]
    lines = [f"headline after the program's end: {table.pair(headline)} s"]
    if not LOOKS.exists():
        return [*lines, "looks: not measured: make build tests=true"], Figures(allocations, headline, {})
    progress("looks at a recording that grows")
    found = {needs: [in_folder(place, measure_looks, allocations, needs) for _ in rounds]
             for needs in ("sums", "blocks")}
    ratios = {needs: [one["looks_cpu_s"] / one["whole_cpu_s"] for one in each] for needs, each in found.items()}
    lines += ["", *table.rows(["", "looks", "CPU of all", "of one load", "ratio"],
                              [[*looks_row(needs, found[needs]), table.pair(ratios[needs])] for needs in found])]
    return lines, Figures(allocations, headline, ratios)
