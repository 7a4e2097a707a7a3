#!/usr/bin/python3
"""Runs every check and test that is built, and prints one line at the end: N passed, N failed.
Before it: what failed, and why tests were skipped. Each step says how long it takes. Interrupted by
Ctrl-C or SIGTERM it says what had failed until then, and does not end with that line.

    check.py [--long] [--no-sanitizer]      as `make check` calls it, after building

Each check of the source counts as one test; unit tests count by their own cases (Meson's JUnit
file), end to end tests by pytest's. A step that dies without naming a failed case is one failure.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build"
PYTHON = "/usr/bin/python3"
# Other versions lay out some 80 lines otherwise.
FORMATTER = "clang-format version 14."
OTHER_FORMATTER = "clang-format is another version than 14, whose layout the source has"
# The machine may be busy: no unit test is given up before this many times its limit.
PATIENCE = ["--timeout-multiplier", "10"]
# What runs under AArch64's kernel, of tests/e2e/record/test_samples.py.
ARM_SAMPLES = ["test_simple[exceptions-gcc--O2]", "test_simple[deep-gcc--O2]", "test_simple[cpp_operators-gcc--O0]",
               "test_inside_the_allocator[longjmp-gcc--O0]", "test_inside_the_allocator[signal_handler-gcc--O2]",
               "test_fork_with_threads[-O2]", "test_exec_chain", "test_seccomp_filter", "test_mappings[-O2]",
               "test_threads_that_never_allocate[-O2]"]
# Of the end to end tests on two idle processors, measured; of all of them, roughly.
SECONDS, SECONDS_LONG = 720, 2400


class Totals:
    """The sum of all steps."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.failures = []
        self.reasons = collections.Counter()  # of skipped tests

    def add(self, step, name, result):
        setattr(self, result, getattr(self, result) + 1)
        if result == "failed":
            self.failures.append(f"{step}: {name}")

    def add_junit(self, step, path):
        """Counts the cases of a JUnit file; a case is failed, skipped, or has passed."""
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            if not case.get("name"):
                continue  # pytest's, of a test that an interruption ended
            kinds = {child.tag for child in case}
            result = "failed" if kinds & {"failure", "error"} else \
                "skipped" if "skipped" in kinds else "passed"
            self.add(step, f'{case.get("classname", "")} {case.get("name")}', result)
            if result == "skipped":
                self.reasons[case.find("skipped").get("message") or "unit test, no reason given"] += 1

    def print_reasons(self):
        """Why tests were skipped: one line for all that `make check-long` does not run either."""
        others = 0
        for reason, count in self.reasons.most_common():
            if reason == "takes long" or "not installed" in reason or reason == OTHER_FORMATTER:
                print(f"skipped: {count}: {reason}")
            else:
                others += count
        if others:
            print(f"skipped: {others}: cannot hold there, mostly under sanitizers (pytest -rs)")
        if self.reasons["takes long"]:
            print("make check-long runs what takes long, and installs large packages for it")

    def print_failures(self):
        for failure in self.failures:
            print(f"failed: {failure}")

    def line(self):
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


def run(command, **options):
    return subprocess.run([str(word) for word in command], cwd=TOP, **options)


def check_source(totals):
    """Fast checks of the source and of the built library: silent when all is well."""
    sources = run(["tools/sources.sh"], capture_output=True).stdout.decode().split("\0")[:-1]
    scripts = ["tools/setup.sh", "tools/build.sh", "tools/demo.sh", "tools/lint.sh", "tools/fuzz.sh",
               "tools/sources.sh", "tools/static_library.sh", "tools/cross/sysroot.sh", "tools/check_distributions.sh", "debian/tests/smoke", "web/build.sh", "web/node.sh", ".ci/run"]
    checks = {
        "direction of the rooms, headers": [PYTHON, "tools/check_rooms.py", "--headers", "--objects",
                                            BUILD / "meson"],
        "variables that clean up": [PYTHON, "tools/check_cleanup.py"],
        "what the agent asks for": [PYTHON, "tools/check_agent.py", BUILD / "libmallow.so",
                                       BUILD / "libmallow.a"],
        "clang-format": ["clang-format", "--dry-run", "--Werror", *sources],
        "shellcheck": ["shellcheck", *scripts],
        "python compiles": [PYTHON, "-m", "compileall", "-q", "tools", "tests", "bench", "python"],
    }
    if FORMATTER not in run(["clang-format", "--version"], capture_output=True, text=True).stdout:
        del checks["clang-format"]
        totals.add("source", "clang-format", "skipped")
        totals.reasons[OTHER_FORMATTER] += 1
    for name, command in checks.items():
        result = run(command)
        totals.add("source", name, "failed" if result.returncode else "passed")
        print(f"  {name}: {'FAILED' if result.returncode else 'ok'}", flush=True)
    said = check_minutes()
    totals.add("source", "documents say how long make check takes", "passed" if said else "failed")
    print(f"  documents say how long this takes: {'ok' if said else 'FAILED'}", flush=True)


def check_web(totals):
    """The web interface: its lock file, its types, and the unit tests of its logic."""
    node = run(["web/node.sh"], capture_output=True, text=True).stdout.strip()
    os.environ["PATH"] = f"{node}:{os.environ['PATH']}"
    check_lock_file(totals)
    for name, command in {"generated types": ["node", "generate.mjs"],
                          "typescript": ["node_modules/.bin/tsc", "--noEmit"]}.items():
        result = subprocess.run(command, cwd=TOP / "web")
        totals.add("web", name, "failed" if result.returncode else "passed")
    junit = BUILD / "web.junit.xml"
    check_with_junit(totals, "web", ["web/node_modules/.bin/vitest", "run", "--root", "web", "--reporter=junit",
                                     f"--outputFile={junit}"], junit)


def check_lock_file(totals):
    """`npm ci` refuses a lock file that lacks a package, but where one is installed already nobody
    runs it. Tried without installing, in a folder of its own: npm 9 empties it nevertheless."""
    folder = BUILD / "npm-lock"
    folder.mkdir(exist_ok=True)
    for name in ["package.json", "package-lock.json"]:
        shutil.copy(TOP / "web" / name, folder)
    result = subprocess.run(["npm", "ci", "--dry-run", "--no-audit", "--no-fund"], cwd=folder,
                            stdout=subprocess.DEVNULL)
    totals.add("web", "lock file", "failed" if result.returncode else "passed")


def check_with_junit(totals, step, command, junit):
    """A step that leaves a JUnit file. What it prints is shown as it comes, in a pipe, too."""
    junit.unlink(missing_ok=True)
    failed_before = totals.failed
    process = subprocess.Popen([str(word) for word in command], cwd=TOP,
                               env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1"))
    try:
        process.wait()
    except KeyboardInterrupt:
        end_with_results(process)
        raise
    finally:
        if junit.exists():
            totals.add_junit(step, junit)
    if not junit.exists() or (process.returncode and totals.failed == failed_before):
        totals.add(step, f"ended with status {process.returncode}", "failed")


def end_with_results(process):
    """Meson and pytest (tests/e2e/conftest.py) take a signal, or several, for an order to end with what they know."""
    process.terminate()
    try:
        process.wait(timeout=30)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def check_units(totals, step, directory, *options):
    check_with_junit(totals, step,
                     ["meson", "test", "-C", directory, "--print-errorlogs", *PATIENCE, *options],
                     directory / "meson-logs" / "testlog.junit.xml")


def check_end_to_end(totals, long):
    junit = BUILD / "e2e.junit.xml"
    # Most tests wait for programs: two at a time for each processor.
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", 2 * (os.cpu_count() or 2),
               "--junitxml", junit, "tests/e2e"]
    check_with_junit(totals, "end to end", command + (["--long"] if long else []), junit)


def check_arm(totals):
    """The agent of AArch64: sample programs under that architecture's kernel, which qemu boots once."""
    junit, folder = BUILD / "arm.junit.xml", BUILD / "aarch64"
    if not (folder / "guest.made").exists():
        totals.add("AArch64", "sample programs", "skipped")
        totals.reasons["AArch64's compiler, kernel or qemu are not installed"] += 1
        return
    check_with_junit(totals, "AArch64", [
        "env", "MALLOW_ARCH=aarch64", f"MALLOW_LIBRARY={folder}/agent/src/agent/libmallow.so", f"MALLOW_GUEST={folder}/guest",
        PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", junit,
        *(f"tests/e2e/record/test_samples.py::{name}" for name in ARM_SAMPLES)], junit)


def check_i386(totals):
    """The agent of x86 of 32 bits, whose programs this processor runs, if the kernel does."""
    junit, agent = BUILD / "i386.junit.xml", BUILD / "i386/agent/src/agent/libmallow.so"
    loader = next((path for path in (BUILD / "i386/sysroot", pathlib.Path("/usr/i686-linux-gnu")) if path.exists()),
                  BUILD) / "lib/ld-linux.so.2"
    try:
        runs = agent.exists() and subprocess.run([loader, "--version"], capture_output=True).returncode == 0
    except OSError:
        runs = False
    if not runs:
        totals.add("i386", "sample programs", "skipped")
        totals.reasons["i386's compiler is not installed, or this kernel runs no program of 32 bits"] += 1
        return
    check_with_junit(totals, "i386", [
        "env", "MALLOW_ARCH=i386", f"MALLOW_LIBRARY={agent}", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "-n", "auto", "--junitxml", junit, "tests/e2e/record/test_samples.py", "tests/e2e/record/test_small_stacks.py",
        "tests/e2e/ports/test_files.py"], junit)


def steps_of(long, sanitizer=True):
    """Each with the seconds it takes on two idle processors, measured."""
    steps = [("source", 15, check_source), ("the web interface", 8, check_web)]
    if sanitizer:
        steps += [("unit tests under the address and undefined sanitizers", 95, lambda totals:
                   check_units(totals, "sanitizer", BUILD / "meson-asan"))]
    if long:
        steps += [("unit tests, gcc", 60, lambda totals: check_units(totals, "unit", BUILD / "meson")),
                  ("unit tests, clang", 60, lambda totals:
                   check_units(totals, "clang", BUILD / "meson-clang")),
                  ("unit tests under the thread sanitizer", 240, lambda totals:
                   check_units(totals, "thread sanitizer", BUILD / "meson-tsan"))]
    else:
        steps += [("the unwinder beside libgcc's and libunwind's", 10, lambda totals:
                   check_units(totals, "unit", BUILD / "meson", "--suite", "unwind"))]
        if os.uname().machine == "x86_64":
            steps += [("i386's agent on this processor", 45, check_i386), ("AArch64's agent under its kernel", 50, check_arm)]
    return steps + [("end to end", SECONDS_LONG if long else SECONDS, lambda totals:
                     check_end_to_end(totals, long))]


def minutes_of(steps):
    return round(sum(seconds for _, seconds, _ in steps) / 60)


def check_minutes():
    """Whether the documents say how long `make check` takes: one number, that of steps_of()."""
    said = f"{minutes_of(steps_of(long=False))} minutes"
    return all(re.search(r"^.*make check\b.*\b" + said, (TOP / name).read_text(), re.M)
               for name in ("README.md", "CONTRIBUTING.md"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--no-sanitizer", action="store_true")
    arguments = parser.parse_args()
    return run_steps(steps_of(arguments.long, not arguments.no_sanitizer))


def run_steps(steps):
    """[(title, seconds, function of the totals)]: runs them, says what came of it, and returns the exit status."""
    totals = Totals()
    start = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"== {len(steps)} steps, about {minutes_of(steps)} min on two idle processors", flush=True)
    took = []
    for number, (title, seconds, work) in enumerate(steps, 1):
        print(f"== {number} of {len(steps)}: {title}, about {seconds} s "
              f"({time.monotonic() - start:.0f} s so far)", flush=True)
        begun = time.monotonic()
        try:
            work(totals)
        except KeyboardInterrupt:
            totals.print_failures()
            print(f"interrupted in step {number} of {len(steps)}, {title}; until then {totals.line()}")
            return 130
        took.append((time.monotonic() - begun, title))
    print(f"== done in {time.monotonic() - start:.0f} s:")
    for seconds, title in took:
        print(f"  {seconds:5.0f} s  {title}")

    totals.print_reasons()
    totals.print_failures()
    print(totals.line())
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    sys.exit(main())
