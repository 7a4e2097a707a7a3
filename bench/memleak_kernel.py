"""What `mallow memleak` on the kernel's own memory costs a system call that allocates, beside bcc's memleak, and how
long a report over a million objects takes while they change."""
import dataclasses
import signal
import subprocess
import time

import measuring
import memleak
import table
from profilers import BenchError

ROUNDS = 5
PAIRS, PAIRS_FAST = 200_000, 50_000
OBJECTS, OBJECTS_FAST = 600_000, 60_000     # an epoll item, and what waits for it: two allocations each
# bcc's memleak sets probes of tracefs, which is mounted for it alone.
MOUNTED = ("mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null; mount -t debugfs debugfs /sys/kernel/debug "
           "2>/dev/null; exec \"$@\"")


@dataclasses.dataclass
class Figures:
    bare: list = dataclasses.field(default_factory=list)        # ns a pair of eventfd() and close()
    ours: list = dataclasses.field(default_factory=list)
    combined: list = dataclasses.field(default_factory=list)    # with --combined-only
    theirs: list = dataclasses.field(default_factory=list)
    objects: int = 0                                            # allocations in the report
    report: list = dataclasses.field(default_factory=list)      # wall seconds from Ctrl+C to the end

    def against(self, statistic=min):
        """The cost of a pair as a share of that under bcc's memleak."""
        return statistic(self.ours) / statistic(self.theirs) if self.theirs else None


class Calls(memleak.Target):
    """bench/workloads/kernel_calls.c, which does what each line says."""

    def __init__(self, place):
        self.process = subprocess.Popen([place.program("kernel_calls")], env=measuring.clean_environment({}),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid


class Ours(memleak.Tracer):
    def __init__(self, place, *options):
        super().__init__(place, "mallow memleak", [place.mallow, "memleak", "--json", *options, memleak.NEVER_S])
        self.attached(lambda: "\nTracing " in self.errors.read_text())

    def attached(self, holds):
        try:
            self.wait_until(holds)
        except BenchError:
            self.__exit__()
            raise

    def report(self):
        """(the report at its end, seconds until it was there)"""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        memleak.reap(self.process)
        return self.json(), time.monotonic() - begin


class Theirs(memleak.Tracer):
    """It says that it attaches before it does. Its first report, after a second, shows that it has."""

    def __init__(self, place):
        super().__init__(place, "bcc's memleak", ["unshare", "-m", "sh", "-c", MOUNTED, "sh", "memleak-bpfcc", "-T", "1", "1"])
        try:
            self.wait_until(lambda: "Top 1 stacks" in self.output.read_text(errors="replace"))
        except BenchError:
            self.__exit__()
            raise


def refusal(tracer, place):
    try:
        with tracer(place):
            return None
    except BenchError as error:
        return str(error)


def missing(place):
    """Why the kernel cannot be traced here, or None."""
    return memleak.no_bpf() or refusal(Ours, place)


def theirs_missing(place):
    """Why bcc's memleak cannot run here, or None."""
    return memleak.no_bcc() or refusal(Theirs, place)


def pair_ns(place, count, tracer=None, *options):
    with Calls(place) as calls:
        if not tracer:
            return calls.do(f"pairs {count}")
        with tracer(place, *options):
            return calls.do(f"pairs {count}")


def measure_pairs(place, progress, figures, compare, rounds, count):
    for number in range(rounds):
        progress(f"memleak of the kernel: eventfd() and close(), round {number + 1} of {rounds}")
        figures.bare.append(pair_ns(place, count))
        figures.ours.append(pair_ns(place, count, Ours))
        figures.combined.append(pair_ns(place, count, Ours, "--combined-only"))
        if compare:
            figures.theirs.append(pair_ns(place, count, Theirs))
    for name, values in (("mallow", figures.ours), ("bcc's", figures.theirs)):
        if values and min(values) < 1.2 * min(figures.bare):
            raise BenchError(f"memleak of the kernel: {name} memleak does not trace")


def measure_report(place, progress, figures, rounds, count):
    for number in range(rounds):
        progress(f"memleak of the kernel: a report, round {number + 1} of {rounds}")
        with Ours(place, "-o", "0", "--blocks", 4 * count + 100_000) as tracer, Calls(place) as calls:
            calls.do(f"objects {count}")
            report, seconds = tracer.report()
        figures.report.append(seconds)
        figures.objects = report["allocations"]
        if figures.objects < 2 * count:
            raise BenchError(f"mallow memleak reports {figures.objects} of {2 * count} objects")


def lines(figures):
    bare = min(figures.bare)
    return table.rows(["", "ns", "by bare's", "of bcc's"], [
        [name, table.pair(values, 0), table.times(min(values) / bare),
         table.times(min(values) / min(figures.theirs)) if figures.theirs else ""]
        for name, values in (("bare", figures.bare), ("mallow memleak", figures.ours),
                             ("… --combined-only", figures.combined), ("bcc's memleak", figures.theirs)) if values])


def measure(place, progress, fast=False):
    """(sections, Figures or None)"""
    absent = missing(place)
    if absent:
        return [["mallow memleak on the kernel", "", f"Not measured: {absent}"]], None
    without = theirs_missing(place)
    rounds, count, objects = (1, PAIRS_FAST, OBJECTS_FAST) if fast else (ROUNDS, PAIRS, OBJECTS)
    figures = Figures()
    measure_pairs(place, progress, figures, not without, rounds, count)
    measure_report(place, progress, figures, max(1, rounds // 2), objects)
    why = ["", f"Not compared: {without}"] if without else []
    return [["eventfd() and close() while the kernel is traced, CPU ns of a pair, minimum/median", "",
             *lines(figures), "",
             f"Ctrl+C to the end of its report, {figures.objects:,} objects, some of which change: "
             f"{table.pair(figures.report)} s", *why]], figures
