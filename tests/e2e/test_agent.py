"""The agent's test builds (tests/agent) on real programs: its stacks are those of other unwinders,
it allocates nothing itself, and malloc may be called in the middle of any of its system calls."""
import re
import subprocess

import pytest

import real_programs
from conftest import TOP, built, clean_environment, need

EVERY = 1000


def variant(name):
    return built(f"MALLOW_{name.upper()}", TOP / "build" / "meson" / "tests" / "agent" /
                 f"libmallow-{name}.so")


def run_with(library, command, folder, log, **environment):
    """Runs the command with the library preloaded; returns the process and the log's lines."""
    log_path = folder / "log"
    preload = {"LD_PRELOAD": library, "MALLOW_OUTPUT": folder / "r.mallow", log: log_path}
    run = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                         env=clean_environment({**preload, **environment}))
    return run, log_path.read_text().splitlines() if log_path.exists() else []


@pytest.mark.parametrize("program", real_programs.NAMES)
def test_stacks_are_those_of_libgcc_and_libunwind(program, tmp_path):
    """1 stack in 1000 is walked by both as well: no difference, up to code without tables."""
    command, environment = real_programs.command(program, tmp_path)
    bare = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                          env=clean_environment(environment))
    run, lines = run_with(variant("compare"), command, tmp_path, "MALLOW_COMPARE_LOG",
                          MALLOW_COMPARE_EVERY=EVERY, **environment)
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout), run.stderr
    totals = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines
              if line.startswith("compared")]
    assert totals, "the agent said nothing"
    differences = [line for line in lines if line.startswith("differs")]
    assert not differences, "\n".join(differences)
    assert sum(int(t["skipped"]) for t in totals) == 0
    captures = sum(int(t["captures"]) for t in totals)
    stacks = sum(int(t["stacks"]) for t in totals)
    # Threads that meet while one compares go without.
    assert stacks >= 0.8 * (captures // EVERY - len(totals)), (captures, stacks)
    assert captures > 5000


@pytest.mark.parametrize("program", ["sqlite3", "python3", "node"])
def test_malloc_in_each_system_call(program, tool, tmp_path):
    command, environment = real_programs.command(program, tmp_path)
    bare = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                          env=clean_environment(environment))
    run, lines = run_with(variant("reenter"), command, tmp_path, "MALLOW_REENTER_LOG",
                          **environment)
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout), run.stderr
    reentered = sum(int(line.split("=")[1]) for line in lines)
    assert reentered > 300
    for path in tmp_path.glob("r.mallow*"):
        info = tool.info(path)
        assert info["damaged_chunks"] == 0 and info["missing_chunks"] == 0
        assert info["events"] > 0
        # Most wait in the pending buffer and are recorded; the first come before there is one.
        assert info["lost"] < reentered


def test_the_agent_allocates_nothing(agent, tool, tmp_path):
    """What reaches the allocator is what was recorded, exactly."""
    counter = tmp_path / "count_malloc.so"
    subprocess.run([need("gcc"), "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", counter,
                    TOP / "tests" / "agent" / "count_malloc.c"], check=True)
    command, environment = real_programs.command("sqlite3", tmp_path)
    run, lines = run_with(f"{agent}:{counter}", command, tmp_path, "COUNT_MALLOC_LOG",
                          **environment)
    assert run.returncode == 0, run.stderr
    counted = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", lines[0])}
    info = tool.info(tmp_path / "r.mallow")
    assert info["allocations"] == counted["allocated"]
    assert info["frees"] == counted["freed"]
