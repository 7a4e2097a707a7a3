"""A large recording and the engine: how long it takes to open with all of its blocks, from its events
and by its index file, and what memory of its own the tool takes for that. Then serving.py has it.

The recording is made by bench/make_recording.c. It is opened by `mallow report --errors`, which needs
every block and writes next to nothing. One ten times as large is loaded by `mallow serve` alone."""
import dataclasses
import pathlib
import shutil
import subprocess
import time

import measuring
import serving
import table
from profilers import BenchError

ALLOCATIONS, ALLOCATIONS_FAST = 10_000_000, 1_000_000
HUGE, HUGE_ROOM = 100_000_000, 16 << 30     # allocations, and bytes of the disk: the file, the columns
STACKS = 20_000
COMPARED = 3_000_000        # allocations of each of two recordings
ROUNDS = 5
INTERVAL_S = 0.002


@dataclasses.dataclass
class Figures:
    allocations: int
    events: list            # wall seconds of each round
    index: list
    findings: list          # of a report with what stands out, by the index file
    private: int            # bytes, at most, while it is opened from events
    serving: serving.Figures
    flame: list             # milliseconds of a flame graph of 2,000 pixels, by index file
    diff: list              # wall seconds of each round, of two recordings of COMPARED allocations
    huge: serving.Figures   # of HUGE allocations; None: not measured

    @property
    def private_each(self):
        return self.private / self.allocations


def private_bytes(pid):
    """Memory of the process that is no file's; 0 when it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def open_recording(place, path, *words):
    """(wall seconds, the most private memory that was seen)"""
    most, begin = 0, time.monotonic()
    process = subprocess.Popen([place.mallow, "report", *(words or ["--by", "size"]), path], text=True,
                               env=measuring.clean_environment({}), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    while process.poll() is None:
        most = max(most, private_bytes(process.pid))
        time.sleep(INTERVAL_S)
    wall = time.monotonic() - begin
    if process.returncode:
        raise BenchError(f"the large recording cannot be opened: {process.stderr.read()}")
    return wall, most


def write_index(place, path):
    run = subprocess.run([place.mallow, "finish", "--compress=never", "--index-file", path],
                         env=measuring.clean_environment({}), capture_output=True, text=True)
    if run.returncode:
        raise BenchError(f"no index file of the large recording: {run.stderr}")


def measure_huge(place, progress):
    """(lines, serving.Figures or None)"""
    folder = place.run_folder()
    path = folder / "huge.mallow"
    try:
        room = shutil.disk_usage(folder).free
        if room < HUGE_ROOM:
            return [f"Not measured: {room >> 30} GiB are free on the disk, {HUGE_ROOM >> 30} are needed"], None
        progress("a huge recording")
        make_recording(place, path, HUGE)
        lines, served = serving.measure(place, path, 2)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"Loaded in {served.load:.1f} s.", "", *lines], served


def make_recording(place, path, allocations, *more):
    subprocess.run([place.program("make_recording"), path, str(allocations), str(STACKS), *more], check=True)


def measure_diff(place, allocations, rounds):
    """Wall seconds of each round, of two recordings that are not finished."""
    folder = place.run_folder()
    try:
        paths = [folder / name for name in ("before.mallow", "after.mallow")]
        for path, seed in zip(paths, "12"):
            make_recording(place, path, allocations, "4", seed)
        walls = []
        for _ in range(rounds):
            begin = time.monotonic()
            run = subprocess.run([place.mallow, "diff", *paths], capture_output=True, text=True,
                                 env=measuring.clean_environment({}))
            walls.append(time.monotonic() - begin)
            if run.returncode:
                raise BenchError(f"two recordings cannot be compared: {run.stderr}")
        return walls
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(place, progress, fast=False):
    """(lines of opening, lines of serving, lines of the huge one, Figures)"""
    folder = place.run_folder()
    allocations = ALLOCATIONS_FAST if fast else ALLOCATIONS
    path = folder / "large.mallow"
    try:
        progress("a large recording")
        make_recording(place, path, allocations)
        cold = [open_recording(place, path) for _ in range(1 if fast else ROUNDS)]
        progress("a large recording, served")
        served_lines, served = serving.measure(place, path, len(cold))
        progress("a large recording, by its index file")
        write_index(place, path)
        indexed = [open_recording(place, path) for _ in cold]
        flame = serving.measure_flame(place, path, len(cold))
        found = [open_recording(place, path, "--json", "--top", "1") for _ in cold]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    progress("two recordings, compared")
    compared = COMPARED * allocations // ALLOCATIONS
    diff = measure_diff(place, compared, len(cold))
    huge_lines, huge = (["Not measured: --fast"], None) if fast else measure_huge(place, progress)
    figures = Figures(allocations, [wall for wall, _ in cold], [wall for wall, _ in indexed],
                      [wall for wall, _ in found], max(most for _, most in cold), served, flame, diff, huge)
    lines = table.rows(["", "seconds", "private MB", "bytes an allocation"], [
        ["from events", table.pair(figures.events), table.megabytes(figures.private),
         f"{figures.private_each:.1f}"],
        ["by index file", table.pair(figures.index),
         table.megabytes(max(most for _, most in indexed)), "-"],
        ["what stands out", table.pair(figures.findings),
         table.megabytes(max(most for _, most in found)), "-"]], first=15)
    lines += ["", f"diff of two of {table.count(compared)}: {table.pair(diff)} s"]
    served_lines.append(f"/flame of 2,000 pixels, by index file: {table.pair(flame, 0)} ms")
    return lines, served_lines, huge_lines, figures
