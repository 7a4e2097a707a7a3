"""How a program is run bare and under each profiler, and what the profiler says it saw.

A profiler is used as its manual says for a full recording: every allocation, whole stacks where it
has them, no sampling. A run that leaves no profile, or an empty one, is an error.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess


class BenchError(Exception):
    """A run that must not become a figure."""


class Profile:
    """What a run left behind. events: None where the profiler does not count them."""

    def __init__(self, allocations=None, events=None, size=0, path=None):
        self.allocations, self.events, self.size, self.path = allocations, events, size, path


class Bare:
    name, title = "bare", "bare"
    main = True         # False: only there to compare, run less often
    own_output = True   # standard output is the program's alone

    def __init__(self, place):
        self.place = place

    def missing(self):
        """Why it cannot run here, or None."""
        return None

    def wrap(self, command, env, folder):
        """The command and environment under the profiler; its files go to the folder."""
        return command, env

    def profile(self, folder, errors):
        """What was recorded; errors: what the run wrote to standard error."""
        return Profile()


class Mallow(Bare):
    """The program alone under the preloaded agent: what it costs while it runs."""
    name, title = "mallow", "mallow"

    def missing(self):
        lacking = [path for path in (self.place.mallow, self.place.agent) if not path.exists()]
        return f"{lacking[0]} is not built: make build" if lacking else None

    def wrap(self, command, env, folder):
        return command, dict(env, LD_PRELOAD=str(self.place.agent),
                             MALLOW_OUTPUT=str(folder / "r.mallow"))

    def profile(self, folder, errors):
        paths = sorted(folder.glob("r.mallow*"))
        if not paths:
            raise BenchError("no recording")
        events = allocations = 0
        for path in paths:
            text = subprocess.run([self.place.mallow, "info", "--json", path], check=True,
                                  capture_output=True).stdout
            info = json.loads(text)
            info = info[0] if isinstance(info, list) else info
            if info["lost"] or not info["complete"]:
                raise BenchError(f"{path.name} is not complete: {info['losses']}")
            events += info["events"]
            allocations += info["allocations"]
        return Profile(allocations, events, sum(path.stat().st_size for path in paths),
                       max(paths, key=lambda path: path.stat().st_size))


class MallowRun(Mallow):
    """`mallow run`: the program, then what the tool does with the recording."""
    name, title = "finish", "mallow run"

    def wrap(self, command, env, folder):
        return [self.place.mallow, "run", "-o", folder / "r.mallow", "--", *command], env


def refuse_complaints(errors):
    """The agent's, not what the program itself writes to standard error."""
    if "mallow" in errors:
        raise BenchError(errors[-300:])


class Live(Mallow):
    """`mallow live`: no recording, a report of what is live at the end."""
    name, title = "live", "mallow live"

    def wrap(self, command, env, folder):
        return [self.place.mallow, "live", "--outfile", folder / "live.txt", "--",
                *command], env

    def profile(self, folder, errors):
        refuse_complaints(errors)
        if not list(folder.glob("live.txt*")):
            raise BenchError("no report")
        return Profile()


class LiveSampled(Mallow):
    """The agent in live mode with samples, as it would stay on in production: what it costs while the
    program runs, without a report."""
    name, title = "sampled", "512 KiB"

    def wrap(self, command, env, folder):
        return command, dict(env, LD_PRELOAD=str(self.place.agent), MALLOW_MODE="live",
                             MALLOW_SAMPLE="512K", MALLOW_HELPER="/bin/true")

    def profile(self, folder, errors):
        refuse_complaints(errors)
        return Profile()


class Heaptrack(Bare):
    """heaptrack as its manual says, its interpreter included; it writes to stdout itself."""
    name, title, own_output = "heaptrack", "heaptrack", False

    def missing(self):
        return None if shutil.which("heaptrack") else "not installed"

    def wrap(self, command, env, folder):
        return ["heaptrack", "-o", folder / "ht", *command], env

    def profile(self, folder, errors):
        paths = list(folder.glob("ht*"))
        count = re.search(r"allocations:\s+(\d+)", errors)
        if not paths or not count:
            raise BenchError("no recording, or heaptrack does not say how many allocations")
        return Profile(int(count.group(1)), None, paths[0].stat().st_size, paths[0])


class Preloaded(Bare):
    """Another allocator with a profiler, preloaded: compared with the bare program, which runs on
    its own allocator."""
    main, library = False, ""

    def found(self):
        for folder in ("/usr/lib/*-linux-gnu", "/usr/lib", "/usr/lib64"):
            for path in glob.glob(f"{folder}/{self.library}"):
                return path
        return None

    def missing(self):
        return None if self.found() else f"{self.library} not installed"


class Jemalloc(Preloaded):
    """Sums by stack, written at the end; lg_prof_sample:0 is every allocation."""
    name, title, library = "jemalloc", "jemalloc", "libjemalloc.so.2"

    def missing(self):
        reason = super().missing()
        if reason:
            return reason
        # /bin/true may end before it allocates; a library without the profiler says so here.
        run = subprocess.run(["ls", "/dev/null"], capture_output=True, text=True, env=dict(
            os.environ, LD_PRELOAD=self.found(), MALLOC_CONF="prof:true"))
        return "built without its profiler" if "Invalid conf" in run.stderr else None

    def wrap(self, command, env, folder):
        conf = f"prof:true,lg_prof_sample:0,prof_accum:true,prof_final:true,prof_prefix:{folder}/je"
        return command, dict(env, LD_PRELOAD=self.found(), MALLOC_CONF=conf)

    def profile(self, folder, errors):
        return sums_of(folder.glob("je*.heap"), r"t\*: \d+: \d+ \[(\d+): \d+\]")


class Tcmalloc(Preloaded):
    """The heap profiler of gperftools: sums by stack, one dump at the end."""
    name, title, library = "tcmalloc", "gperftools", "libtcmalloc.so.4"

    def wrap(self, command, env, folder):
        return command, dict(env, LD_PRELOAD=self.found(), HEAPPROFILE=str(folder / "tc"),
                             HEAP_PROFILE_ALLOCATION_INTERVAL="0",
                             HEAP_PROFILE_INUSE_INTERVAL="0")

    def profile(self, folder, errors):
        return sums_of(folder.glob("tc*.heap"), r"heap profile: +\d+: +\d+ \[ *(\d+): +\d+\]")


class HeaptraceWay(Preloaded):
    """What heaptrace does, which no distribution has (bench/workloads/heaptrace_way.cpp)."""
    name, title = "heaptrace", "heaptrace*"

    def missing(self):
        return None

    def wrap(self, command, env, folder):
        return command, dict(env, LD_PRELOAD=str(self.place.program("heaptrace_way")),
                             HEAPTRACE_WAY_OUTFILE=str(folder / "ht.txt"))

    def profile(self, folder, errors):
        if not (folder / "ht.txt").exists():
            raise BenchError("no report")
        return Profile()


class Memray(Bare):
    """Of Python programs alone: each block of Python's pools, as mallow has them; no native stacks."""
    name, title = "memray", "memray"
    main = False
    python = "/usr/bin/python3"

    def missing(self):
        found = subprocess.run([self.python, "-c", "import memray"], capture_output=True)
        return "memray is not installed: pip install memray" if found.returncode else None

    def wrap(self, command, env, folder):
        if command[0] != self.python:
            raise BenchError("memray runs Python programs alone: --only python,pools")
        return [self.python, "-m", "memray", "run", "--trace-python-allocators", "-q", "-o",
                folder / "memray.bin", *command[1:]], dict(env, PYTHONPATH=os.environ.get("PYTHONPATH", ""))

    def profile(self, folder, errors):
        return Profile(size=(folder / "memray.bin").stat().st_size)


class Dhat(Bare):
    """valgrind's: simulates the processor. Not run by default: it takes minutes."""
    name, title, main = "dhat", "dhat", False

    def missing(self):
        return None if shutil.which("valgrind") else "valgrind not installed"

    def wrap(self, command, env, folder):
        return ["valgrind", "--quiet", "--tool=dhat", f"--dhat-out-file={folder}/dhat.%p",
                *command], env

    def profile(self, folder, errors):
        paths = list(folder.glob("dhat.*"))
        if not paths:
            raise BenchError("no profile")
        points = json.loads(max(paths, key=lambda path: path.stat().st_size).read_text())["pps"]
        return Profile(sum(point["tbk"] for point in points), None,
                       sum(path.stat().st_size for path in paths))


def sums_of(paths, pattern):
    """The profile of files that say in one line how many allocations there were."""
    paths = [pathlib.Path(path) for path in paths]
    counts = []
    for path in paths:
        with open(path, errors="replace") as file:
            found = re.search(pattern, file.read(4096))
        counts += [int(found.group(1))] if found else []
    if not counts:
        raise BenchError("no profile")
    return Profile(max(counts), None, sum(path.stat().st_size for path in paths))


PROFILERS = [Bare, Mallow, MallowRun, Live, LiveSampled, Heaptrack, HeaptraceWay, Jemalloc, Tcmalloc, Memray, Dhat]
BY_DEFAULT = ["bare", "mallow", "finish", "live", "sampled", "heaptrack", "heaptrace", "jemalloc", "tcmalloc"]


def by_names(names, place):
    """The profilers asked for, in the table's order. `mallow` means both of its rows."""
    wanted = set(names) | {"bare"} | ({"finish"} if "mallow" in names else set())
    unknown = wanted - {kind.name for kind in PROFILERS}
    if unknown:
        raise SystemExit(f"bench: no tool {', '.join(sorted(unknown))}; there are: "
                         f"{' '.join(kind.name for kind in PROFILERS)}")
    return [kind(place) for kind in PROFILERS if kind.name in wanted]
