"""Programs whose agent meets system calls that fail, forks and signals."""
import re
import subprocess

import mallow_reader
import mallow_sums
from conftest import TOP, clean_environment

CALLS = 7000  # that the first image of all_calls makes at least: work() in it and its threads
ENDLESS = 1 << 32
# What the program itself asked for, by way of a hook of ours.
PROGRAMS = {"exit_group", "execveat", "seccomp"}


class Outcome:
    """A program that ran into a fault: how it ended, and what is left of its recordings."""

    def __init__(self, run, folder):
        self.status, self.output, self.lines = run.returncode, run.stdout, run.stderr.splitlines()
        self.paths = sorted(folder.glob("r*"), key=lambda path: (len(path.name), path.name))
        self.recordings = [mallow_reader.read(path) for path in self.paths]

    @property
    def lost(self):
        return sum(recording.header.lost for recording in self.recordings)

    @property
    def calls(self):
        return mallow_sums.Sums(self.recordings[0]).calls if self.recordings else 0

    def assert_sound(self, tool, images=4):
        """Undamaged, each image says at most one thing, and what is missing is said or counted."""
        assert all(line.startswith("mallow: ") for line in self.lines), self.lines
        assert len(self.lines) <= images, self.lines
        for recording in self.recordings:
            assert not recording.damages and recording.dangling() == ([], [])
            assert not recording.missing or recording.header.lost
        if self.paths:
            tool("info", *self.paths)
        whole = len(self.paths) == images and self.calls >= CALLS
        assert whole or self.lost or self.lines, (len(self.paths), self.calls)


def run_all_calls(program, library, folder, limits=None, **settings):
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    environment = clean_environment({"LD_PRELOAD": library, "MALLOW_OUTPUT": folder / "r.mallow"})
    environment.update({f"MALLOW_{name}": str(value) for name, value in settings.items()})
    run = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60,
                         preexec_fn=limits)
    return Outcome(run, folder)


def numbers_of_calls():
    """{name: number} of all that the agent makes."""
    text = "".join((TOP / f"src/agent/arch/{name}.h").read_text() for name in ("syscall", "kernel_forms"))
    names = set(re.findall(r"SYS_(\w+)", text)) - PROGRAMS
    listing = subprocess.run(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c",
                              "/dev/null"], capture_output=True, text=True, check=True).stdout
    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", listing))
    # Others are of machines with words of 32 bits.
    return {name: numbers[name] for name in sorted(names & numbers.keys())}


STORM = ["fork", "_Fork", "syscall", "allocate", "jump", "thread", "nested"]


def run_program(command, folder, **variables):
    """The paths of the recordings of a sample that ends as it should, its own first."""
    variables = {name: str(value) for name, value in variables.items()}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300,
                         env=clean_environment({"MALLOW_OUTPUT": folder / "r.mallow", **variables}))
    assert (run.returncode, run.stdout, run.stderr) == (7, "ok\n", "")
    return sorted(folder.glob("r*"), key=lambda path: (len(path.name), path.name))


def fork_storm(program, how, count, agent, folder, **settings):
    return run_program([program, str(count), how], folder, LD_PRELOAD=agent,
                       **{f"MALLOW_{name}": value for name, value in settings.items()})
