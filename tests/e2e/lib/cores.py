"""Core dumps of programs in live mode: by the kernel, and by gcore."""
import os
import pathlib
import resource
import subprocess

import pytest

from conftest import clean_environment, need


def kernel_dumps():
    """Skips the test where the kernel does not write a file "core" into the working directory."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if "/" in pattern or "|" in pattern or not pattern.startswith("core"):
        pytest.skip(f"the kernel's core dumps go elsewhere: core_pattern is {pattern!r}")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("core dumps are limited here")


def allow_cores():
    """For preexec_fn."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def live_environment(agent, env=None, **settings):
    environment = clean_environment(env)
    environment.update({"LD_PRELOAD": str(agent), "MALLOW_MODE": "live", "MALLOW_OUTFILE": os.devnull})
    environment.update({f"MALLOW_{name}": str(value) for name, value in settings.items()})
    return environment


def crash(command, agent, folder, **settings):
    """Runs a program that the kernel dumps. Returns the core's path."""
    kernel_dumps()
    run = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True,
                         env=live_environment(agent, **settings), preexec_fn=allow_cores, timeout=120)
    assert run.returncode < 0, (run.returncode, run.stderr)
    found = list(pathlib.Path(folder).glob("core*"))
    assert len(found) == 1, found
    return found[0]


def gcore(pid, folder):
    """Dumps a running process by gdb. Returns the core's path."""
    prefix = pathlib.Path(folder) / "gcore"
    run = subprocess.run([need("gcore"), "-o", str(prefix), str(pid)], capture_output=True, text=True, timeout=120)
    path = pathlib.Path(f"{prefix}.{pid}")
    assert path.exists(), run.stderr
    return path
