"""One run of a workload under a profiler: what it used, what was recorded, and whether it did what
the bare program does. A run that differs is an error, never a figure."""
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import time

from profilers import BenchError

TIMEOUT_S = 900


@dataclasses.dataclass
class Sample:
    user: float             # seconds of the whole process tree
    system: float
    wall: float             # until its last process has ended
    peak: int               # bytes, of its largest process
    allocations: int = None
    events: int = None
    size: int = 0           # bytes of the profile
    read: float = None      # CPU seconds to print a report of it

    @property
    def cpu(self):
        return self.user + self.system


@dataclasses.dataclass
class Result:
    """What a program did, to be compared among profilers."""
    status: int
    output: bytes
    files: dict


def clean_environment(extra):
    """Nothing of the caller's that changes a profiler, an allocator or a program's language."""
    dropped = ("MALLOW", "MALLOC_", "LD_", "HEAP", "DEBUGINFOD", "GIT_", "PYTHON", "NODE_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**env, "LC_ALL": "C.UTF-8", **extra}


def use_of(place, command, env, folder, output, errors, drive=None):
    """Runs a command by the C program `measure`: (what that says, what drive() returned)."""
    report = folder / "measured.json"
    words = [str(word) for word in (place.program("measure"), report, TIMEOUT_S, *command)]
    driven = ""
    with open(output, "wb") as out, open(errors, "wb") as err:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                                   cwd=folder)
        try:
            driven = drive(folder) if drive else ""
        except (RuntimeError, subprocess.SubprocessError) as error:
            process.terminate()
            raise BenchError(f"cannot be used: {error}") from error
        finally:
            process.wait()
    used = json.loads(report.read_text())
    if used["timed_out"]:
        raise BenchError(f"did not end in {TIMEOUT_S} s")
    return used, driven


def read_seconds(place, profiler, path, folder):
    """CPU seconds of the profiler's own text report of its recording, None if it has none."""
    commands = {"finish": [place.mallow, "report", path], "heaptrack": ["heaptrack_print", path]}
    if profiler.name not in commands:
        return None
    used, _ = use_of(place, commands[profiler.name], clean_environment({}), folder,
                     folder / "report", folder / "report-errors")
    if used["status"] or not (folder / "report").stat().st_size:
        raise BenchError("its recording cannot be reported")
    return used["user"] + used["system"]


def run_once(place, workload, profiler):
    """(Sample, Result) of one run, in a folder of its own that is removed."""
    folder = place.run_folder()
    try:
        env = clean_environment(workload.env)
        command, env = profiler.wrap(workload.command(place, folder), env, folder)
        used, driven = use_of(place, command, env, folder, folder / "stdout", folder / "stderr",
                              workload.drive)
        errors = (folder / "stderr").read_text(errors="replace")
        files = {name: digest_of(folder / name) for name in workload.files}
        result = Result(used["status"], (folder / "stdout").read_bytes() + driven.encode(), files)
        if used["status"]:
            raise BenchError(f"status {used['status']}: {errors[-300:]}")
        profile = profiler.profile(folder, errors)
        read = read_seconds(place, profiler, profile.path, folder) if workload.read else None
        sample = Sample(used["user"], used["system"], used["wall"], used["peak"],
                        profile.allocations, profile.events, profile.size, read)
        return sample, result
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)     # what was deleted is gone before the next one starts


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def check_same(workload, profiler, result, bare):
    """Raises unless the program did under the profiler what it does without."""
    if not bare.output and not workload.files:
        raise BenchError("no output")
    same = result.output == bare.output if profiler.own_output else bare.output in result.output
    if not same:
        raise BenchError("another output than without it")
    if None in bare.files.values() or result.files != bare.files:
        raise BenchError("other files than without it")
