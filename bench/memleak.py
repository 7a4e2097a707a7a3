"""What `mallow memleak` costs a running program, beside bcc's memleak: a malloc/free pair, a compiler as a whole, and
what attaching and a report cost mallow itself. And what `mallow attach` costs it, beside `mallow memleak`.

The cost is the traced program's processor time: the kernel does the work of both inside its calls."""
import collections
import dataclasses
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import time

import measuring
import table
from profilers import BenchError

ROUNDS = 5
PAIRS, PAIRS_FAST = 100_000, 20_000
FEW, WHOLE = 0, 20          # calls below main(); WHOLE gives 26 frames
BLOCKS, BLOCKS_FAST = 1_000_000, 100_000
NEVER_S = 100_000           # an interval between reports that does not end
ATTACH_S = 60
# {name: (options of mallow, options of bcc's memleak, where that means the same, depth)}
PAIR_WAYS = {
    "whole stacks": ([], [], WHOLE),
    "few frames": ([], [], FEW),
    "without stacks": (["--perf-max-stack-depth", "0"], None, FEW),
    "--combined-only": (["--combined-only"], ["--combined-only"], FEW),
    "-s 100": (["-s", "100"], ["-s", "100"], FEW),
}
COMPILED = "bench/workloads/heaptrace_way.cpp"
# How the function may be called where a stack begins.
FIRST = re.compile(r"_start|_*clone3?|start_thread")


@dataclasses.dataclass
class Figures:
    frames: dict = dataclasses.field(default_factory=dict)     # {depth: frames of the pairs' stack}
    bare: list = dataclasses.field(default_factory=list)       # ns a pair
    ours: dict = dataclasses.field(default_factory=dict)       # {name of PAIR_WAYS: [ns a pair]}
    theirs: dict = dataclasses.field(default_factory=dict)     # the same
    recorded: list = dataclasses.field(default_factory=list)   # ns a pair under mallow attach, whole stacks
    compiler: dict = dataclasses.field(default_factory=dict)   # {bare, mallow, bcc: [seconds]}
    stacks: int = 0                                            # of the compiler, that are whole
    cut: int = 0                                               # the others
    # {function: whole stacks that begin there, and neither in _start nor in a thread's start}
    odd: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    attach: list = dataclasses.field(default_factory=list)     # CPU seconds of mallow
    attach_theirs: list = dataclasses.field(default_factory=list)
    blocks: int = 0
    report: list = dataclasses.field(default_factory=list)     # wall seconds
    report_cpu: list = dataclasses.field(default_factory=list)

    def against(self, name, statistic=min):
        """The cost of a pair as a share of that under bcc's memleak with its defaults, or with --combined-only."""
        theirs = self.theirs.get(theirs_of(name))
        return statistic(self.ours[name]) / statistic(theirs) if theirs else None


def theirs_of(name):
    """The row of bcc's memleak that a way of mallow is compared with."""
    return name if name in ("whole stacks", "--combined-only") else "few frames"


def refusal(place, tracer):
    """What a tracer says that cannot trace a program of ours, or None."""
    try:
        with Target(place) as target, tracer(place, "-p", target.pid):
            return None
    except BenchError as error:
        return str(error)


def no_bpf():
    """Why there is no eBPF here, or None."""
    if os.geteuid():
        return "eBPF needs root"
    if not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel does not describe its types (no /sys/kernel/btf/vmlinux)"
    return None


def no_bcc():
    """What bcc's memleak lacks here, or None."""
    if not shutil.which("memleak-bpfcc"):
        return "memleak-bpfcc is not installed (Debian's package bpfcc-tools)"
    if not os.environ.get("BCC_KERNEL_SOURCE") and not os.path.exists(f"/lib/modules/{platform.release()}/build"):
        return "bcc's memleak needs the headers of the kernel: set BCC_KERNEL_SOURCE to their folder"
    return None


def missing(place):
    """Why nothing can be traced here, or None."""
    return no_bpf() or refusal(place, Ours)


def theirs_missing(place):
    """Why bcc's memleak cannot run here, or None."""
    return no_bcc() or refusal(place, Theirs)


def own_libc(place):
    """An environment in which a program has its own copy of the C library. The kernel keeps probes for each file. On
    one that another tracer has probes on, those of bcc's memleak are refused: it asks for another reference counter
    than others (its Python code leaves out that argument, so the value is arbitrary)."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    found = re.search(r"(/\S*/libc\.so\.6)$", maps, re.M)
    if not found:
        return measuring.clean_environment({})
    return measuring.clean_environment({"LD_LIBRARY_PATH": str(pathlib.Path(
        shutil.copy(found[1], place.run_folder())).parent)})


def processor_s(pid):
    """Seconds that a process has used so far, to a hundredth."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reap(process):
    """Waits for a process of ours; returns its CPU seconds."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


class Target:
    """bench/workloads/traced.c, which does what each line says."""

    def __init__(self, place):
        self.process = subprocess.Popen([place.program("traced")], env=own_libc(place), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        self.do(f"pairs {FEW} 1")      # the library is there

    def do(self, words):
        try:
            self.process.stdin.write(words + "\n")
            return float(self.process.stdout.readline())
        except (OSError, ValueError) as error:
            raise BenchError(f"the traced program ended: status {self.process.wait()}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Tracer:
    """A tracer of a process, from the moment at which its probes are set. It writes into files: nobody reads a pipe."""

    def __init__(self, place, name, command, env=None):
        self.name, self.place, self.folder = name, place, place.run_folder()
        self.output, self.errors = self.folder / "stdout", self.folder / "stderr"
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=errors, env=env or measuring.clean_environment({}))

    def wait_until(self, attached):
        deadline = time.monotonic() + ATTACH_S
        while not attached():
            if self.process.poll() is not None or time.monotonic() > deadline:
                last = self.errors.read_text(errors="replace").splitlines()[-1:]
                raise BenchError(f"{self.name} does not trace: {''.join(last) or 'it says nothing'}")
            time.sleep(0.02)

    def json(self):
        """The last report of mallow, which has to have ended."""
        lines = self.output.read_text().splitlines()
        if self.process.returncode or not lines:
            raise BenchError(f"{self.name}: status {self.process.returncode}: {self.errors.read_text()[-300:]}")
        return json.loads(lines[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Ours(Tracer):
    def __init__(self, place, *options, env=None):
        super().__init__(place, "mallow memleak", [place.mallow, "memleak", "--json", *options, NEVER_S], env)
        try:
            self.wait_until(lambda: "\nProbing " in self.errors.read_text())
        except BenchError:
            self.__exit__()
            raise

    def report(self):
        """The report at its end, and its CPU seconds in all."""
        self.process.send_signal(signal.SIGINT)
        used = reap(self.process)
        return self.json(), used


class Recording(Tracer):
    """mallow attach."""

    def __init__(self, place, _, pid):
        self.path = place.run_folder() / "r.mallow"
        super().__init__(place, "mallow attach", [place.mallow, "attach", "--no-finish", "-o", self.path, pid])
        try:
            self.wait_until(lambda: "\nRecording into " in self.errors.read_text())
        except BenchError:
            self.__exit__()
            raise

    def calls(self):
        """How many it has recorded in the end, if none was lost."""
        self.process.send_signal(signal.SIGINT)
        reap(self.process)
        told = subprocess.run([self.place.mallow, "info", "--json", self.path], capture_output=True, text=True, check=True)
        info = json.loads(told.stdout)
        if not info["complete"]:
            raise BenchError(f"mallow attach has lost events: {info['losses']}")
        return info["allocations"]


class Theirs(Tracer):
    def __init__(self, place, *options):
        super().__init__(place, "bcc's memleak", ["memleak-bpfcc", *options, NEVER_S])
        self.probes, self.since = 0, 0
        try:
            self.wait_until(self.settled)
        except BenchError:
            self.__exit__()
            raise

    def settled(self):
        """It does not say when its probes are set: it has some, and for half a second no more."""
        try:
            links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{self.process.pid}/fd")]
        except OSError:     # it has closed one since, or ended
            return False
        probes = sum("perf_event" in link for link in links)
        if probes != self.probes:
            self.probes, self.since = probes, time.monotonic()
        return probes > 0 and time.monotonic() - self.since > 0.5


def pair_ns(place, depths, count, tracer=None, *options):
    """{depth: ns a pair}, bare without a tracer."""
    with Target(place) as target:
        if not tracer:
            return {depth: target.do(f"pairs {depth} {count}") for depth in depths}
        with tracer(place, "-p", target.pid, *options):
            return {depth: target.do(f"pairs {depth} {count}") for depth in depths}


def recorded_ns(place, depth, count):
    """ns a pair under mallow attach."""
    with Target(place) as target, Recording(place, "-p", target.pid) as tracer:
        took = target.do(f"pairs {depth} {count}")
        if tracer.calls() < count:
            raise BenchError("mallow attach: the calls of the program are not recorded")
        return took


def frames_of_pairs(place):
    """{depth: frames of the stack that mallow reports}"""
    found = {}
    for depth in (FEW, WHOLE):
        with Target(place) as target, Ours(place, "-p", target.pid, "-o", "0", "-T", "0") as tracer:
            target.do(f"pairs {depth} 1")
            report, _ = tracer.report()
            found[depth] = next(len(stack["frames"]) for stack in report["stacks"]
                                if stack["frames"][0]["function"] == "pairs")
    return found


def measure_pairs(place, progress, compare, rounds, count):
    """Fills figures of pairs: every round has bare, and each way of both."""
    figures = Figures(frames=frames_of_pairs(place))
    figures.bare, figures.ours, figures.theirs = [], collections.defaultdict(list), collections.defaultdict(list)
    for number in range(rounds):
        progress(f"memleak: malloc/free pairs, round {number + 1} of {rounds}")
        figures.bare.append(pair_ns(place, [FEW], count * 10)[FEW])
        for name, (ours, theirs, depth) in PAIR_WAYS.items():
            figures.ours[name].append(pair_ns(place, [depth], count, Ours, *ours)[depth])
            if compare and theirs is not None:
                figures.theirs[name].append(pair_ns(place, [depth], count, Theirs, *theirs)[depth])
        figures.recorded.append(recorded_ns(place, WHOLE, count))
    untraced = [name for name, values in (*figures.ours.items(), *figures.theirs.items())
                if min(values) < 3 * min(figures.bare)]
    if untraced:
        raise BenchError(f"memleak: the calls of the program are not traced: {untraced[0]}")
    return figures


def pair_lines(figures):
    lines = [["bare", "", table.pair(figures.bare, 1)]]
    for name, (_, _, depth) in PAIR_WAYS.items():
        frames = 0 if name == "without stacks" else figures.frames[depth]
        row = [name, frames, table.pair(figures.ours[name], 0), table.pair(figures.theirs.get(name, []), 0)]
        if figures.theirs:
            row += [theirs_of(name), *(table.times(figures.against(name, statistic))
                                       for statistic in (min, table.median))]
        lines.append(row)
    header = ["", "frames", "mallow memleak", "bcc's memleak"]
    lines = table.rows(header + (["compared with", "share", "of medians"] if figures.theirs else []), lines, first=16)
    ours = figures.ours["whole stacks"]
    return [*lines, "", f"mallow attach, whole stacks: {table.pair(figures.recorded, 0)},"
            f" {min(figures.recorded) / min(ours):.2f} of mallow memleak's"
            f" (of medians {table.median(figures.recorded) / table.median(ours):.2f})"]


def compile_command(folder, level):
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True)
    words = ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-D_GNU_SOURCE", level]
    return [compiler.stdout.strip(), *words, pathlib.Path(__file__).parent.parent / COMPILED, "-o", folder / "out.s"]


def compile_stopped(place, command, attach):
    """CPU seconds of a command that begins stopped, so that attach(pid) has time to set its probes."""
    process = subprocess.Popen(["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *map(str, command)], env=own_libc(place))
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        with attach(process.pid):
            process.send_signal(signal.SIGCONT)
            used = reap(process)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
    if process.returncode:
        raise BenchError(f"cc1plus: status {process.returncode}")
    return used


def compile_traced(place, command, figures):
    """CPU seconds of a command under `mallow memleak -c`, whose own they are not. Looks at the stacks, too."""
    with Ours(place, "-T", "0", "-c", " ".join(map(str, command)), env=own_libc(place)) as tracer:
        pid = int(re.search(r"Attaching to pid (\d+)", tracer.errors.read_text())[1])
        used = 0
        try:
            while True:     # as a zombie, it tells until mallow has waited for it
                used = processor_s(pid)
                time.sleep(0.005)
        except OSError:
            reap(tracer.process)
        every = tracer.json()["stacks"]
    stacks = [stack for stack in every if not stack["cut"]]
    figures.cut = max(figures.cut, len(every) - len(stacks))
    last = [stack["frames"][-1]["function"] or "?" for stack in stacks]
    figures.stacks = max(figures.stacks, len(stacks))
    figures.odd |= collections.Counter(name for name in last if not FIRST.fullmatch(name))
    return used


def measure_compiler(place, progress, compare, rounds, figures, level):
    folder = place.run_folder()
    command = compile_command(folder, level)
    found = collections.defaultdict(list)

    def attach(pid):
        return Theirs(place, "-p", pid)

    for number in range(rounds):
        progress(f"memleak: cc1plus, round {number + 1} of {rounds}")
        run = measuring.use_of(place, command, measuring.clean_environment({}), folder, folder / "o", folder / "e")[0]
        result = measuring.digest_of(folder / "out.s")
        found["bare"].append(run["user"] + run["system"])
        found["mallow memleak"].append(compile_traced(place, command, figures))
        if compare:
            found["bcc's memleak"].append(compile_stopped(place, command, attach))
        if run["status"] or measuring.digest_of(folder / "out.s") != result:
            raise BenchError("cc1plus: another output than without mallow memleak")
    figures.compiler = found


def compiler_lines(figures):
    bare = min(figures.compiler["bare"])
    lines = table.rows(["", "CPU s", "by bare's"], [[name, table.pair(values), table.times(min(values) / bare)]
                                                    for name, values in figures.compiler.items()], first=16)
    begin = ("each whole one begins in _start or a thread's start" if not figures.odd else
             f"{sum(figures.odd.values()):,} whole ones begin elsewhere, most in {figures.odd.most_common(1)[0][0]}")
    return [*lines, "", f"Stacks with live blocks at its end: {figures.stacks:,} whole, {figures.cut:,} cut;", begin]


def attach_cpu(place, command):
    """CPU seconds of a tracer that attaches, makes one report and ends."""
    with Target(place) as target:
        folder = place.run_folder()
        used, _ = measuring.use_of(place, [target.pid if word == "PID" else word for word in command],
                                   measuring.clean_environment({}), folder, folder / "stdout", folder / "stderr")
        if used["status"]:
            raise BenchError(f"{command[0]}: status {used['status']}: {(folder / 'stderr').read_text()[-300:]}")
        shutil.rmtree(folder)
        return used["user"] + used["system"]


def measure_own(place, progress, compare, rounds, figures, blocks):
    """What mallow itself takes to attach, and to report many blocks."""
    figures.blocks = blocks
    for number in range(rounds):
        progress(f"memleak: attaching, round {number + 1} of {rounds}")
        figures.attach.append(attach_cpu(place, [place.mallow, "memleak", "-p", "PID", "0.01", "1"]))
        if compare:
            figures.attach_theirs.append(attach_cpu(place, ["memleak-bpfcc", "-p", "PID", "1", "1"]))
    for number in range(max(1, rounds // 2)):
        progress(f"memleak: a report of {table.count(blocks)} live blocks, round {number + 1} of {max(1, rounds // 2)}")
        options = ["-o", "0", "--blocks", blocks + 1000]
        with Target(place) as target, Ours(place, "-p", target.pid, *options) as tracer:
            target.do(f"keep {blocks}")
            before, start = processor_s(tracer.process.pid), time.monotonic()
            report, used = tracer.report()
            figures.report.append(time.monotonic() - start)
            figures.report_cpu.append(used - before)
        if not blocks <= report["allocations"] <= blocks + 100:
            raise BenchError(f"mallow memleak reports {report['allocations']} of {blocks} blocks")


def own_lines(figures):
    rows = [["attach, one report", table.pair(figures.attach), "", table.pair(figures.attach_theirs)],
            [f"a report of {table.count(figures.blocks)} live blocks", table.pair(figures.report_cpu),
             table.pair(figures.report), ""]]
    return table.rows(["", "CPU s", "wall s", "bcc's CPU s"], rows)


def measure(place, progress, fast=False):
    """(sections, Figures or None)"""
    absent = missing(place)
    if absent:
        return [["mallow memleak", "", f"Not measured: {absent}"]], None
    without = theirs_missing(place)
    rounds, count, blocks, level = (1, PAIRS_FAST, BLOCKS_FAST, "-O0") if fast else (ROUNDS, PAIRS, BLOCKS, "-O2")
    figures = measure_pairs(place, progress, not without, rounds, count)
    measure_compiler(place, progress, not without, rounds, figures, level)
    measure_own(place, progress, not without, rounds, figures, blocks)
    why = ["", f"Not compared: {without}"] if without else []
    return [["ns for a malloc/free pair that is traced, minimum/median", "", *pair_lines(figures), *why],
            [f"cc1plus {level} of {COMPILED}, traced, its own CPU seconds, minimum/median", "",
             *compiler_lines(figures)],
            ["What mallow memleak itself takes, minimum/median", "", *own_lines(figures)]], figures
