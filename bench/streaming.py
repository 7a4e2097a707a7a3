"""A recording that is sent while it is made, on the loopback interface: what that costs the program, the sender and the
receiver. The library alone starts the sender, so that its processor time can be told from the program's."""
import dataclasses
import os
import pathlib
import shutil
import subprocess
import time

import measuring
import table
import workloads
from profilers import BenchError

PAIRS, PAIRS_FAST = 5_000_000, 200_000      # a malloc and a free each
ROUNDS = 5
PROGRAMS = ("python", "sqlite", "perl")     # real ones, beside the pairs
CLOCK = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 60


@dataclasses.dataclass
class Run:
    wall: float             # of the program
    cpu: float
    arrived: float = None   # seconds from its start until all had arrived
    sender: float = None    # processor time


@dataclasses.dataclass
class Figures:
    alone: dict             # {program: [Run]}
    sent: dict
    receiver: int           # the most memory that it had, bytes


class Receiver:
    """mallow gather in a folder of its own."""

    def __init__(self, place, folder):
        self.folder = folder
        self.process = subprocess.Popen([place.mallow, "gather", "--no-finish", "-o", folder, "--listen", "127.0.0.1:0"],
                                        env=measuring.clean_environment({"XDG_CACHE_HOME": str(folder / "cache")}),
                                        stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split(";")[0].rsplit(":", 1)[1])

    def wait_until_complete(self):
        for line in self.process.stdout:
            if "complete: " in line:
                return time.monotonic()
        raise BenchError("mallow gather has ended")

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) * 1024

    def end(self):
        self.process.terminate()
        self.process.wait()


def sender_of(port):
    """The process that sends to that port, or None."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
            if b"stream-recording" in words and f"MALLOW_CONNECT=127.0.0.1:{port}".encode() in path.read_bytes():
                return path.parent
        except OSError:
            pass
    return None


def cpu_until_end(process):
    """Its processor time, as it was last seen."""
    used = 0.0
    while True:
        try:
            fields = (process / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return used
        if fields[0] == "Z":
            return used
        used = (int(fields[11]) + int(fields[12])) / CLOCK
        time.sleep(0.005)


def run(place, command, env, receiver):
    folder = place.run_folder()
    extra = {"LD_PRELOAD": str(place.agent), "MALLOW_OUTPUT": str(folder / "own.mallow"), "MALLOW_FOLLOW": "0",
             "MALLOW_HELPER": str(place.mallow), **env}
    if receiver:
        extra["MALLOW_CONNECT"] = f"127.0.0.1:{receiver.port}"
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], cwd=folder, env=measuring.clean_environment(extra),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status:
        raise BenchError(f"{command[0]}: status {status}")
    found = Run(wall, used.ru_utime + used.ru_stime)
    if receiver:
        sender = sender_of(receiver.port)
        found.arrived = receiver.wait_until_complete() - start
        # It ends just after that; what it used until the program's end can be seen before.
        found.sender = cpu_until_end(sender) if sender else 0.0
    shutil.rmtree(folder, ignore_errors=True)
    return found


def commands(place, fast):
    found = {"pairs": ([place.program("pairs"), "1", str(PAIRS_FAST if fast else PAIRS)], {})}
    for workload in workloads.WORKLOADS:
        if workload.name in PROGRAMS and not workloads.missing(workload):
            found[workload.name] = (workload.command(place, place.run_folder()), workload.env or {})
    return found


def row(name, alone, sent):
    return [name, table.pair([one.cpu for one in alone]), table.pair([one.cpu for one in sent]),
            table.pair([one.arrived / each.wall for one, each in zip(sent, alone)]),
            table.pair([one.sender for one in sent])]


def measure(place, progress, fast=False):
    """(lines, Figures)"""
    folder = place.run_folder()
    receiver = Receiver(place, folder / "gathered")
    alone, sent = {}, {}
    try:
        for name, (command, env) in commands(place, fast).items():
            alone[name], sent[name] = [], []
            for _ in range(1 if fast else ROUNDS):
                progress(f"{name}, sent while it is recorded")
                alone[name].append(run(place, command, env, None))
                sent[name].append(run(place, command, env, receiver))
        memory = receiver.memory()
    finally:
        receiver.end()
        shutil.rmtree(folder, ignore_errors=True)
    lines = table.rows(["", "CPU, kept", "CPU, sent", "arrival", "sender's CPU"],
                       [row(name, alone[name], sent[name]) for name in alone])
    lines += ["", f"memory of the receiver, at most: {memory / 1e6:.1f} MB"]
    return lines, Figures(alone, sent, memory)
