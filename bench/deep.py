"""A recording with many deep stacks, served: clang++ compiling templates that need each other
(bench/workloads/deep.cpp). Beside the large recording it has half the allocations, but ten times the stacks,
each fifteen times as deep.

The pages are those of serving.py. Answers about all stacks at once are long: of each, how soon it begins and
how fast it comes."""
import contextlib
import dataclasses
import shutil
import subprocess

import measuring
import serving
import table
import workloads
from profilers import BenchError

# What is asked for in whole: {n} is another number in each round.
WHOLE = {
    "tree": "tree?size_min={n}",
    "groups at a moment": "allocation_groups?alive_at=5{n}%",
    "timeline": "timeline",
    "flamegraph.pl": "export/flamegraph.pl?size_min={n}",
    "flame graph": "export/flamegraph?size_min={n}",
    "flame": "flame?metric=total&cut=200{n}",
    "flame, callers": "flame?metric=total&direction=callers&cut=200{n}",
    "flame, folded": "flame?fold=plumbing,trunk,recursion&cut=200{n}",
    "flame at a moment": "flame?metric=total&alive_at=5{n}%",
    "sums by site": "sums?count=10{n}&spark=64",
    "sums by function": "sums?by=function&count=10{n}&spark=64",
    "sums by line, inclusive": "sums?by=line&inclusive=true&count=10{n}",
    "sums at a moment": "sums?by=function&alive_at=5{n}%&count=100",
    "ASCII tree": "allocation_ascii_tree?size_min={n}",
}


@dataclasses.dataclass
class Whole:
    begins: list = dataclasses.field(default_factory=list)  # seconds until the first byte, of each round
    lasts: list = dataclasses.field(default_factory=list)   # … until the last
    size: int = 0

    def speed(self):
        """MB/s of its best round, from the first byte on."""
        return max(self.size / 1e6 / max(last - begin, 1e-6) for begin, last in zip(self.begins, self.lasts))


@dataclasses.dataclass
class Figures:
    stacks: int
    depth: float            # frames of a stack, on average
    serving: serving.Figures
    whole: dict             # {what: Whole}


def record(place, folder):
    path = folder / "deep.mallow"
    run = subprocess.run([place.mallow, "run", "-o", path, "--", "clang++", "-std=c++17", "-O2", "-c",
                          workloads.SOURCES / "deep.cpp", "-o", folder / "deep.o"],
                         env=measuring.clean_environment({}), capture_output=True, text=True)
    if run.returncode:
        raise BenchError(f"clang++ cannot be recorded: {run.stderr}")
    return path


def stacks_of(place, path):
    """(how many stacks, how many frames all of them have)"""
    stacks = frames = 0
    with subprocess.Popen([place.mallow, "export", "--to", "collapsed", "--metric", "calls", path],
                          env=measuring.clean_environment({}), stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            stacks += 1
            frames += line.count(b";") + 1
    if process.returncode:
        raise BenchError("the recording of clang++ cannot be exported")
    return stacks, frames


def ask_whole(server, rounds):
    found = {what: Whole() for what in WHOLE}
    for i in range(rounds):
        for what, target in WHOLE.items():
            seconds, size, begin = server.ask(target.format(n=i))
            found[what].lasts.append(seconds)
            found[what].begins.append(begin)
            found[what].size = size
    return found


def measure(place, progress, fast):
    """(lines of pages, lines of whole answers, Figures or None)"""
    if not shutil.which("clang++"):
        return ["Not measured: clang++ not installed"], [], None
    folder, rounds = place.run_folder(), 1 if fast else 5
    try:
        progress("a recording with deep stacks")
        path = record(place, folder)
        stacks, frames = stacks_of(place, path)
        progress("a recording with deep stacks, served")
        lines, served = serving.measure(place, path, rounds)
        with contextlib.closing(serving.Server(place, path)) as server:
            server.ask("allocations?count=1")
            whole = ask_whole(server, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = Figures(stacks, frames / max(stacks, 1), served, whole)
    return lines, table.rows(["", "MB", "begins after", "ends after", "MB/s"], [
        [what, table.megabytes(one.size), table.pair(one.begins), table.pair(one.lasts), f"{one.speed():.0f}"]
        for what, one in whole.items()], first=22), figures
