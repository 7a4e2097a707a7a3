"""MODE=live while groups of the table are taken back and handed out again: what is live comes and goes
all over memory, in waves (samples/live_waves.c), and each report is true."""
import collections
import errno
import json
import os
import subprocess
import threading

import pytest

import live_reader
import report_json
from variants import variant
from faults import numbers_of_calls
from live_programs import by_function

THREADS, WAVES, SMALL, LARGE, STAYING, PARTS = 6, 6, 2000, 41, 8, 24
SMALL_SIZES = [24 + i % 4 * 16 for i in range(SMALL)]
LARGE_SIZES = [(1 << 20 if i == 0 else 1500 << i % 6) + i for i in range(LARGE)]
STAYING_SIZE, PART_SIZE = 777, 8000


def sums(sizes, times=1):
    """[how many, bytes] of blocks of these sizes, so many times."""
    return [len(sizes) * times, sum(sizes) * times]


def added(*parts):
    return [sum(column) for column in zip(*parts)]


def known(made, freed, parts, freed_parts):
    """What is true when each thread has made and freed so many waves, and parts between them: by
    function what all threads allocated and what of it is live, and of each thread what it
    allocated, freed, and what of its own was freed."""
    staying = sums([STAYING_SIZE] * STAYING)
    functions = {
        "make_small": (sums(SMALL_SIZES, made), sums(SMALL_SIZES, made - freed)),
        "make_large": (sums(LARGE_SIZES, made), sums(LARGE_SIZES, made - freed)),
        "make_staying": (staying, staying),
        "make_part": (sums([PART_SIZE], parts), sums([PART_SIZE], parts - freed_parts)),
    }
    gone = added(sums(SMALL_SIZES, freed), sums(LARGE_SIZES, freed), sums([PART_SIZE], freed_parts))
    thread = [*added(*(allocated for allocated, _ in functions.values())), *gone, *gone]
    return {name: [[THREADS * value for value in row] for row in rows]
            for name, rows in functions.items()}, thread


def known_at_height(stage):
    """The first is 1."""
    made = stage * WAVES
    return known(made, made - 1, (made - 1) * PARTS, (made - WAVES) * PARTS)


def known_at_end(stages):
    made = stages * WAVES
    return known(made, made, made * PARTS, made * PARTS)


class Looker(threading.Thread):
    """Runs the tool on the table of a process again and again, whatever that does meanwhile: for the
    blocks of one function, which are found by going through the groups."""

    def __init__(self, tool, pid):
        super().__init__()
        path, = [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")
                 if "mallow-live" in os.readlink(f"/proc/{pid}/fd/{name}")]
        self.tool, self.table = tool, open(path, "rb")
        self.path = f"/proc/{os.getpid()}/fd/{self.table.fileno()}"
        self.seen, self.failure, self.over = [], None, False

    def run(self):
        try:
            while not self.over:
                report = report_json.load(self.tool("report", "--json", "--function-regex", "^make_staying$",
                                              self.path).stdout)
                self.seen.append([report["leaked_blocks"], report["leaked_bytes"]])
        except Exception as failure:
            self.failure = failure

    def check(self):
        self.over = True
        self.join()
        self.table.close()
        if self.failure:
            raise self.failure
        assert self.seen
        assert all(seen == sums([STAYING_SIZE], STAYING * THREADS) for seen in self.seen), self.seen


class Waves:
    """The sample under the agent, with a table to be read at the height of each stage."""

    def __init__(self, compile_sample, preload, functions_of, mallow, folder):
        self.program, self.functions_of = compile_sample("live_waves", "gcc", "-O2"), functions_of
        self.reports = folder / "reports"
        self.environment = preload(MODE="live", HELPER=mallow, JSON=1, OUTFILE=self.reports,
                                   INTERVAL="20ms")
        self.homes = collections.defaultdict(set)

    def check(self, table, expected):
        functions, thread = expected
        table.assert_consistent()
        assert table.header.lost == 0, table.header.losses
        assert not table.recording.damages and table.recording.dangling() == ([], [])
        found = by_function(table, self.functions_of)
        assert {name: [[found[name].calls, found[name].total_bytes],
                       [found[name].leaked_blocks, found[name].leaked_bytes]]
                for name in functions} == functions
        threads = table.per_thread()
        for number in range(THREADS):
            assert threads[f"waves {number}"] == thread, number
        for group, region in table.homes():
            self.homes[group].add(region)

    def check_reports(self, stages):
        """Those by signal and by the clock: the last one, which has most, is that of the end."""
        reports = [json.loads(line) for line in self.reports.read_text().splitlines()]
        assert len(reports) >= 2
        assert not any(report["not_counted"] for report in reports)
        functions, _ = known_at_end(stages)
        live = collections.Counter()
        for site in max(reports, key=lambda report: report["calls"])["sites"]:
            for name in {frame.get("function") for frame in site["stack"]} & set(functions):
                live[name] += site["live_bytes"]
        assert {name: live[name] for name in functions} == \
            {name: rows[1][1] for name, rows in functions.items()}

    def moved(self, kind):
        """How many groups were seen in more than one region."""
        assert any(group[0] == kind for group in self.homes)
        return sum(group[0] == kind and len(regions) > 1 for group, regions in self.homes.items())


def run(waves, stages, tool):
    process = subprocess.Popen([waves.program, str(stages)], env=waves.environment, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    looker = None
    with process:
        for stage in range(1, stages + 1):
            assert process.stdout.readline() == "high\n", process.stderr.read()
            waves.check(live_reader.read_process(process.pid), known_at_height(stage))
            if not looker:
                looker = Looker(tool, process.pid)
                looker.start()
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.stdout.read() == "ok\n"
        assert process.stderr.read() == ""
    assert process.returncode == 7
    looker.check()
    waves.check_reports(stages)


@pytest.fixture
def waves(compile_sample, preload, functions_of, mallow, tmp_path):
    return Waves(compile_sample, preload, functions_of, mallow, tmp_path)


def test_groups_move(waves, tool):
    run(waves, 4, tool)
    # Some 1,300 and 950: a test in which nothing moves says nothing.
    assert waves.moved("full") > 300 and waves.moved("cell") > 300


@pytest.mark.long
def test_groups_move_for_long(waves, tool):
    run(waves, 150, tool)
    assert waves.moved("full") > 300 and waves.moved("cell") > 300


def test_no_group_moves_without_barriers(waves, tool):
    """Where the kernel has no membarrier() the same is true, and groups stay."""
    waves.environment.update({"LD_PRELOAD": str(variant("fail")), "MALLOW_TEST_FAIL_AT": "1",
                              "MALLOW_TEST_FAIL_COUNT": "1000000000", "MALLOW_TEST_FAIL_ERROR": str(errno.ENOSYS),
                              "MALLOW_TEST_FAIL_CALL": str(numbers_of_calls()["membarrier"])})
    run(waves, 3, tool)
    assert waves.moved("full") == waves.moved("cell") == 0
