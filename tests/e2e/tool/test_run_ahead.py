"""A large recording is loaded while the program runs, and its report is that of all its events."""
import os
import pathlib
import signal
import subprocess

import report_json
from conftest import clean_environment
from processes import wait_for

SCHED_IDLE = "5"
TICKS = 3  # of processor time, 10 ms each: looking whether files have grown takes a thousandth


def idle_ticks(pid):
    """The processor time of the process's threads that run only when nobody else wants to."""
    ticks = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        fields = path.read_text().rpartition(")")[2].split()
        if fields[38] == SCHED_IDLE:
            ticks += int(fields[11]) + int(fields[12])
    return ticks


def sites(tool, path, *options):
    report, = [report_json.load(tool("report", "--json", "--top", "1000", *options, path).stdout)]
    return {str(site.pop("stack")): site for site in report["sites"]}


def test_a_large_recording(compile_sample, mallow, tool, tmp_path):
    """The sample waits for the end of its input before it allocates for the last time."""
    path = tmp_path / "r.mallow"
    command = [mallow, "run", "-o", path, "--", compile_sample("shared_table", "gcc", "-O1")]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=clean_environment()) as process:
        wait_for(lambda: idle_ticks(process.pid) >= TICKS, seconds=300)
        _, errors = process.communicate("", timeout=120)
    of_index, of_events = sites(tool, path), sites(tool, path, "--size-min", "0")

    assert not process.returncode, errors
    assert "finished" in tool("info", path).stdout
    assert {600000, 100} <= {site["calls"] for site in of_events.values()}
    assert of_index == of_events


def test_a_small_one_is_left_alone(compile_sample, mallow, tmp_path):
    """As all are with --no-finish: there is no such thread, nor the one that watches programs, only the one that is
    told of recordings."""
    program = compile_sample("hand_over", "gcc", "-O1")

    for options, threads in ((["--no-finish"], 2), ([], 4)):
        command = [mallow, "run", *options, "-o", tmp_path / "%e.mallow", "--", "sh", "-c", '"$0" 2; echo; read x',
                   program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, env=clean_environment()) as process:
            process.stdout.readline()
            assert len(list(pathlib.Path(f"/proc/{process.pid}/task").iterdir())) == threads
            assert idle_ticks(process.pid) < TICKS
            process.communicate("\n", timeout=120)


def test_a_program_that_is_killed(compile_sample, mallow, tool, tmp_path):
    """While it allocates and its recording is loaded: the report says so, and is that of all events."""
    path = tmp_path / "r.mallow"
    program = compile_sample("even_pace", "gcc", "-O1")
    command = [mallow, "run", "-o", path, "--", program, "4", "120000000", "300000"]

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
        wait_for(lambda: idle_ticks(process.pid) >= TICKS, seconds=300)
        child, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
    of_index, of_events = sites(tool, path), sites(tool, path, "--size-min", "0")
    facts = tool.info(path)

    assert process.returncode == 128 + signal.SIGKILL
    assert "ended by signal 9 (Killed)" in errors
    assert facts["finished"] and not facts["complete"] and not facts["ended"]
    assert sum(site["calls"] for site in of_events.values()) == facts["allocations"] > 0
    assert of_index == of_events
