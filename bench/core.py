"""A report of a large core dump: ten million live blocks of twenty thousand sites, in 4 GB. And what the live
table adds to a core dump."""
import dataclasses
import pathlib
import re
import resource
import shutil
import subprocess
import time

import measuring
import table
from profilers import BenchError

BLOCKS, SITES = 10_000_000, 20_000
FAST = 1_000_000
COMMANDS = {"mallow core": ["core", "--top", "10"], "mallow report": ["report"]}


@dataclasses.dataclass
class Figures:
    size: int       # of the core dump
    blocks: int
    added: int      # bytes that the table adds to a core dump
    table: int      # its own size
    wall: dict      # {command: seconds of each round}
    private: dict   # {command: the most private memory, in bytes}


def missing():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not pattern.startswith("core") or "/" in pattern:
        return f"the kernel's core dumps go elsewhere: core_pattern is {pattern!r}"
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        return "core dumps are limited"
    return None


def crash(place, blocks, live):
    """The folder with the core dump of a run."""
    folder = place.run_folder()
    env = {"LD_PRELOAD": place.agent, "MALLOW_MODE": "live", "MALLOW_OUTFILE": "/dev/null"} if live else {}
    subprocess.run([place.program("core_sites"), str(blocks), str(SITES)], cwd=folder,
                   env=measuring.clean_environment({name: str(value) for name, value in env.items()}),
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    found = list(folder.glob("core*"))
    if len(found) != 1:
        raise BenchError("the kernel wrote no core dump")
    return found[0]


def run(command):
    """(wall seconds, the most private memory in bytes)"""
    start = time.monotonic()
    most = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            found = re.search(r"RssAnon:\s+(\d+)", status)
            most = max(most, int(found[1]) * 1024 if found else 0)
            time.sleep(0.01)
    if process.returncode:
        raise BenchError(f"{command[1]}: status {process.returncode}")
    return time.monotonic() - start, most


def table_size(place, core):
    """What the table's file takes, as mallow info says it."""
    said = subprocess.run([place.mallow, "info", "--json", core], capture_output=True, text=True, check=True).stdout
    return int(re.search(r'"file_size": (\d+)', said)[1])


def measure(place, progress, fast):
    """(lines, Figures or None)"""
    absent = missing()
    if absent:
        return [f"Not measured: {absent}"], None
    blocks, rounds = (FAST, 1) if fast else (BLOCKS, 3)
    progress("a large core dump")
    bare = crash(place, blocks, live=False)
    without = bare.stat().st_size
    shutil.rmtree(bare.parent)
    core = crash(place, blocks, live=True)
    try:
        figures = Figures(core.stat().st_size, blocks, core.stat().st_size - without, table_size(place, core), {}, {})
        run([place.mallow, "info", core])
        for _ in range(rounds):
            for name, words in COMMANDS.items():
                wall, private = run([place.mallow, *words, core])
                figures.wall.setdefault(name, []).append(wall)
                figures.private[name] = max(private, figures.private.get(name, 0))
    finally:
        shutil.rmtree(core.parent, ignore_errors=True)
    lines = table.rows(["", "wall s", "private MB"], [
        [name, table.pair(figures.wall[name], 1), table.megabytes(figures.private[name])] for name in COMMANDS],
        first=16)
    lines += ["", f"The core dump has {figures.size / 1e9:.2f} GB. The table adds {figures.added / 1e6:.0f} MB to it; "
                  f"its own size is {figures.table / 1e6:.0f} MB."]
    return lines, figures
