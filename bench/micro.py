"""Small programs under the agent: what a malloc/free pair costs, and how threads scale.

    pair        bare and recorded. What is added, less what a capture of that many frames costs
                alone, is the rest: guard, clock, encoding, file
    live        pairs in MODE=live, beside bare, also of two threads by one and the same stack
    scaling     one thread and two, bare and recorded, alternating
    capture     bench/unwind_capture.c
"""
import collections
import re
import shutil
import statistics
import subprocess

import measuring
import table
from profilers import BenchError

SCALING_ROUNDS, SCALING_PAIRS = 9, 10_000_000
PAIR_ROUNDS, PAIRS = 7, 2_000_000
FRAMES = [15, 40, 100]      # as in bench/unwind_capture.c
LIVE_FRAMES = 15
LIVE = {"live": {}, "samples of 512 KiB": {"MALLOW_SAMPLE": "512K"},
        "without stacks": {"MALLOW_BACKTRACE": "none"}}
# ns: of recorded pairs without their capture, by frames; added in MODE=live, by its settings.
Pairs = collections.namedtuple("Pairs", "rest live")
START_FRAMES = 4            # pairs, descend, two of the C library; run() jumps to descend


def pair_ns(place, threads, pairs, depth=0, settings=None):
    """Nanoseconds a pair, of the slowest thread. settings None: bare; with a MODE nothing is recorded."""
    folder = place.run_folder()
    try:
        extra = {} if settings is None else {
            "LD_PRELOAD": str(place.agent), "MALLOW_OUTPUT": str(folder / "r.mallow"),
            "MALLOW_OUTFILE": str(folder / "live.txt"), "MALLOW_HELPER": str(place.mallow),
            **settings}
        run = subprocess.run([place.program("pairs"), str(threads), str(pairs), str(depth)],
                             env=measuring.clean_environment(extra), capture_output=True, text=True)
        if run.returncode:
            raise BenchError(f"pairs: status {run.returncode}: {run.stderr}")
        if settings is not None and "MALLOW_MODE" not in settings and \
                not list(folder.glob("r.mallow*")):
            raise BenchError("pairs: no recording")
        return float(run.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pairs_table(place, progress, captured):
    """Returns (lines, {frames: ns of everything but the capture}). captured: {frames: ns}."""
    others, lines = {}, []
    for frames in FRAMES:
        progress(f"malloc/free pairs, {frames} frames")
        found = [[pair_ns(place, 1, PAIRS, frames - START_FRAMES, settings)
                  for settings in (None, {})] for _ in range(PAIR_ROUNDS)]
        bare, recorded = (min(column) for column in zip(*found))
        capture = captured[frames]
        others[frames] = recorded - bare - capture
        lines.append([f"{frames}", *(f"{ns:.1f}" for ns in (
            bare, recorded, recorded - bare, capture, others[frames]))])
    return table.rows(["frames", "bare", "recorded", "added", "of that capture", "the rest"],
                      lines), others


def live_pairs(place, progress):
    """Returns (lines, {name: ns that MODE=live adds to a pair})."""
    progress("malloc/free pairs, live")
    modes = {"bare": None, **{name: {"MALLOW_MODE": "live", "MALLOW_HELPER": "/bin/true", **settings}
                              for name, settings in LIVE.items()}}
    found = [[pair_ns(place, threads, PAIRS, LIVE_FRAMES - START_FRAMES, settings)
              for settings in modes.values() for threads in (1, 2)] for _ in range(PAIR_ROUNDS)]
    best = [min(column) for column in zip(*found)]
    one, two = dict(zip(modes, best[::2])), dict(zip(modes, best[1::2]))
    added = {name: one[name] - one["bare"] for name in LIVE}
    return table.rows(["", "pair", "added", "of two threads"],
                      [[name, f"{one[name]:.1f}", f"{added[name]:.1f}" if name in added else "",
                        f"{two[name]:.1f}"] for name in modes]), added


def scaling(place, progress):
    """Returns (lines, median of recorded scaling / bare scaling). Scaling is the throughput of two
    threads by twice that of one."""
    ratios, columns = [], []
    for number in range(SCALING_ROUNDS):
        progress(f"two threads, round {number + 1} of {SCALING_ROUNDS}")
        row = [pair_ns(place, threads, SCALING_PAIRS, 0, settings)
               for settings in (None, {}) for threads in (1, 2)]
        columns.append(row)
        ratios.append((row[2] / row[3]) / (row[0] / row[1]))
    medians = [statistics.median(column) for column in zip(*columns)]
    minima = [min(column) for column in zip(*columns)]
    ratio = statistics.median(ratios)
    lines = table.rows(
        ["", "bare, 1", "bare, 2", "recorded, 1", "recorded, 2"],
        [["minimum", *(f"{value:.1f}" for value in minima)],
         ["median", *(f"{value:.1f}" for value in medians)]])
    lines.append(f"two threads scale to {ratio:.2f} of what the bare program scales "
                 f"(median of {SCALING_ROUNDS}; {min(ratios):.2f} to {max(ratios):.2f})")
    return lines, ratio


def captures(place, progress):
    """(what bench/unwind_capture.c prints, {frames: ns of the same stack again, cached})."""
    progress("captures")
    run = subprocess.run([place.program("unwind_capture")], capture_output=True, text=True)
    if run.returncode or not run.stdout.strip():
        raise BenchError(f"unwind_capture: status {run.returncode}: {run.stderr}")
    cached = run.stdout[run.stdout.index("with the cache"):]
    same = {int(frames): float(ns) for frames, ns in
            re.findall(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+$", cached, re.M)}
    return run.stdout.rstrip("\n").splitlines(), same
