"""What other programs' formats cost: each export of a recording of clang++, its import from heaptrack's file beside
heaptrack's own report, and `mallow strip` of a hundred million events.

Exports that show blocks read every event; what that alone takes is that of `report --size-min 0`, which shows sums of the
blocks that a filter leaves: all."""
import dataclasses
import shutil
import subprocess

import measuring
import table
import workloads
from profilers import BenchError

EXPORTS = {"speedscope": False, "callgrind": False, "csv": False, "pprof": False, "massif": True, "dhat": True,
           "firefox": True, "heaptrack": True}        # whether blocks are read
STRIPPED = 50_000_000


@dataclasses.dataclass
class Figures:
    exports: dict           # {format: [(CPU seconds, bytes of memory at most)]}
    engine: dict            # {whether blocks are read: the same}
    imports: list           # CPU seconds
    printed: list           # of heaptrack_print
    strip: tuple            # of the large recording, and how many allocations it has


def use_of(place, command, folder):
    """(CPU seconds, peak bytes) of a command that must succeed."""
    used, _ = measuring.use_of(place, command, measuring.clean_environment({}), folder, "/dev/null", folder / "stderr")
    if used["status"]:
        raise BenchError(f"{command[1]}: {(folder / 'stderr').read_text()}")
    return used["user"] + used["system"], used["peak"]


def compile_words(folder):
    return ["clang++", "-std=c++17", "-O2", "-c", workloads.SOURCES / "regex.cpp", "-o", folder / "regex.o"]


def measure_exports(place, folder, rounds, progress):
    progress("a recording of clang++, exported")
    path = folder / "clang.mallow"
    subprocess.run([place.mallow, "run", "-o", path, "--", *compile_words(folder)], capture_output=True, check=True,
                   env=measuring.clean_environment({}))
    exports, engine = {name: [] for name in EXPORTS}, {False: [], True: []}
    for _ in range(rounds):
        engine[False].append(use_of(place, [place.mallow, "report", "--csv", "--top", "1", path], folder))
        engine[True].append(use_of(place, [place.mallow, "report", "--csv", "--top", "1", "--size-min", "0", path], folder))
        for name in EXPORTS:
            exports[name].append(use_of(place, [place.mallow, "export", "--to", name, "-o", folder / "out", path], folder))
    return exports, engine


def measure_imports(place, folder, rounds, progress):
    """CPU seconds of mallow import and of heaptrack_print, in turn."""
    if not shutil.which("heaptrack_print"):
        return [], []
    progress("heaptrack's file of clang++, imported")
    subprocess.run(["heaptrack", "-o", folder / "track", *compile_words(folder)], capture_output=True, check=True,
                   env=measuring.clean_environment({}))
    imports, printed = [], []
    for _ in range(rounds):
        imports.append(use_of(place, [place.mallow, "import", folder / "track.zst", "-o", folder / "track.mallow"], folder)[0])
        (folder / "track.mallow").unlink()
        printed.append(use_of(place, ["heaptrack_print", folder / "track.zst"], folder)[0])
    return imports, printed


def measure_strip(place, folder, allocations, progress):
    progress("a large recording, stripped")
    path = folder / "large.mallow"
    subprocess.run([place.program("make_recording"), path, str(allocations), "2000"], check=True)
    seconds, memory = use_of(place, [place.mallow, "strip", path, "-o", folder / "stripped.mallow"], folder)
    return seconds, memory, allocations


def measure(place, progress, fast):
    """(lines, Figures or None)"""
    if not shutil.which("clang++"):
        return ["Not measured: clang++ not installed"], None
    folder, rounds = place.run_folder(), 1 if fast else 3
    try:
        exports, engine = measure_exports(place, folder, rounds, progress)
        imports, printed = measure_imports(place, folder, rounds, progress)
        strip = measure_strip(place, folder, STRIPPED // 50 if fast else STRIPPED, progress)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [[name, table.pair([cpu for cpu, _ in found]), table.megabytes(min(memory for _, memory in found))]
            for name, found in (("sums alone", engine[False]), ("with blocks", engine[True]), *exports.items())]
    lines = table.rows(["", "CPU s", "MB at most"], rows)
    if imports:
        lines += ["", *table.rows(["", "CPU s"], [["mallow import", table.pair(imports)],
                                                  ["heaptrack_print", table.pair(printed)]])]
    lines += ["", f"strip of {table.count(strip[2])} allocations: {strip[0]:.1f} s, {table.megabytes(strip[1])} MB"]
    return lines, Figures(exports, engine, imports, printed, strip)
