"""What programs do thousands of times: threads at once, children, libraries loaded, frames. Costs that grow
with the square of such a number show here, and nowhere else."""
import os
import resource
import shutil
import subprocess

import measuring
import table
from profilers import BenchError

ROUNDS = 3
MODES = {
    "bare": None,
    "recorded": {},
    "live": {"MALLOW_MODE": "live", "MALLOW_OUTFILE": os.devnull},
    "culled": {"MALLOW_CULL": "10ms"},
}
CASES = {                   # the argument of the program, how many, with --fast, and of what
    "threads": (12_000, 1_000, "threads at once"),
    "forks": (300, 30, "children, one after the other"),
    "loads": (16_000, 1_000, "dlopen() and dlclose()"),
    "frames": (60_000, 6_000, "frames of recursion"),
}


def seconds(place, case, count, settings):
    """Processor time of the program, its children, and in live mode of their reports."""
    folder = place.run_folder()
    words = [str(place.program("many")), case, str(count)]
    if case == "loads":
        for name in "ab":
            shutil.copy(place.program("many_library"), folder / f"{name}.so")
            words.append(str(folder / f"{name}.so"))
    env = measuring.clean_environment({} if settings is None else {
        "LD_PRELOAD": str(place.agent), "MALLOW_OUTPUT": str(folder / "r.mallow"),
        "MALLOW_HELPER": str(place.mallow), **settings})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(folder)
    if run.returncode:
        raise BenchError(f"many {case} {count}: status {run.returncode}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(place, progress, fast):
    """Lines of a table: processor seconds, minimum/median."""
    lines = []
    for case, (count, few, what) in CASES.items():
        count = few if fast else count
        found = {}
        for number in range(1 if fast else ROUNDS):
            for mode, settings in MODES.items():
                progress(f"many {case}, {mode}, round {number + 1}")
                found.setdefault(mode, []).append(seconds(place, case, count, settings))
        lines.append([f"{count:,} {what}", *(table.pair(found[mode]) for mode in MODES)])
    return table.rows(["", *MODES], lines)
