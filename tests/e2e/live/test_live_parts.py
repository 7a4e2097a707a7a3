"""MODE=live: threads that allocate by one stack at the same time, each in a part of its site. The
processors decide whether they are at it at the same time: so a run that had none is repeated."""
import json
import os
import subprocess

import pytest

from cells import mostly_long
from conftest import clean_environment
from live_programs import check
from live_programs import run_live

TRIES = 60
STEP = 64  # blocks, of each part


@pytest.fixture(scope="session")
def program(compile_sample):
    return compile_sample("live_parts", "gcc", "-O1")


def until_divided(run):
    """What the first run() returned that says that there were parts, or the last one."""
    for _ in range(TRIES):
        divided, *found = run()
        if divided:
            return found
    assert len(os.sched_getaffinity(0)) == 1, f"no part in {TRIES} runs"
    return found


def test_parts_add_up(program, agent, tmp_path, functions_of):
    def run():
        outcome = run_live([program], agent, tmp_path / "t")
        outcome.assert_unharmed()
        table, = outcome.tables
        check(table, "live_parts", functions_of)
        assert table.header.lost == 0, table.header.losses
        return table.parts, table

    table, = until_divided(run)
    parts = [number for number, is_part in table.parts.items() if is_part]
    assert len(parts) <= 4 * (len(table.parts) - len(parts))
    nodes = {table.sites[number].node for number, is_part in table.parts.items() if not is_part}
    assert {table.sites[number].node for number in parts} == nodes


def test_one_backtrace_in_reports(program, mallow, agent):
    """All parts are one row, its peak is no sum of theirs, and its age is that of what is live."""
    def run():
        result = subprocess.run([mallow, "live", "--json", program], capture_output=True, text=True,
                                env=clean_environment(), timeout=120)
        assert (result.returncode, result.stdout) == (7, "ok\n")
        report = json.loads(result.stderr)
        # Numbers of sites begin with two that are none.
        return report["table_site_bytes"] > 64 * (report["site_count"] + 2), report

    report, = until_divided(run)
    rows = [site for site in report["sites"] if site["stack"][0]["function"] == "make"]
    assert len(rows) == 1
    assert (rows[0]["calls"], rows[0]["live_blocks"], rows[0]["live_bytes"]) == (1216040, 40, 2560)
    assert 4000 - 4 * STEP <= rows[0]["own_peak_blocks"] <= 4000
    assert rows[0]["own_peak_bytes"] == rows[0]["own_peak_blocks"] * 64
    assert rows[0]["first_s"] < report["time_s"] / 2
    assert rows[0]["age_s"] < (report["time_s"] - rows[0]["first_s"]) * 0.9


def test_one_site_in_the_programs_own_report(program, agent, tmp_path):
    def run():
        outcome = run_live([program, "sites"], agent, tmp_path / "t")
        assert (outcome.status, outcome.lines) == (7, [])
        return outcome.tables[0].parts, json.loads(outcome.output)

    report, = until_divided(run)
    rows = [site for site in report["sites"] if site["stack"][0]["function"] == "make"]
    assert [(row["calls"], row["live_blocks"], row["live_bytes"], row["freed_blocks"])
            for row in rows] == [(1216040, 40, 2560, 1216000)]


@pytest.mark.parametrize("what", mostly_long(["fork", "jump"], 1))
def test_in_the_middle_of_taking_a_part(what, compile_sample, agent, tmp_path):
    """A part that a handler left half made by longjmp is added to the others all the same; a child
    that goes on with it does so in vain."""
    stepped = compile_sample("parts_steps", "gcc", "-O1")

    def run():
        outcome = run_live([stepped, what], agent, tmp_path / "t")
        assert outcome.status == 7, outcome.lines
        counts, report = outcome.output.split("\n", 1)
        times, sure = map(int, counts.split())
        table, = (each for each in outcome.tables if not each.header.begun_by_fork)
        assert len(outcome.tables) == 1 + (times if what == "fork" else 0)
        return table.parts, outcome, times, sure, json.loads(report)

    outcome, times, sure, report = until_divided(run)
    assert times >= 10
    calls = sum(site["calls"] for site in report["sites"] if site["stack"][0]["function"] == "make")
    assert sure <= calls <= sure + times
    if what == "fork":
        outcome.assert_sound()


@pytest.mark.parametrize("mean", [1, "64K"])
def test_no_parts_of_samples(mean, program, agent, tmp_path):
    """So few are counted that nobody waits."""
    outcome = run_live([program], agent, tmp_path / "t", SAMPLE=mean)
    outcome.assert_unharmed()
    outcome.assert_sound()
    assert not outcome.tables[0].parts
