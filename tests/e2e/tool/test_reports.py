"""Reports that a program makes of itself by the C API: tests/samples/reports.c says what they hold."""
import csv
import io
import json
import re
import signal
import subprocess
import time

import pytest

from conftest import LINKED, TOP, clean_environment
from processes import catches, wait_for

WAYS = ["preloaded", *LINKED]
THREADS = {"maker": (100500, 500, 40500, 60000), "taker": (0, 40000, 0, 0)}
SITES = {"make_block": (100000, 100, 1000, 40000, 60000), "make_and_free": (500, 50, 10, 500, 0)}


@pytest.fixture
def report(compile_sample, compile_linked, agent):
    """report(way, arguments…): what the sample prints."""

    def run(way, *arguments, opt="-O1", **settings):
        environment = clean_environment({"MALLOW_MODE": "live", "MALLOW_HELPER": "/bin/true"})
        environment.update({f"MALLOW_{name}": value for name, value in settings.items()})
        if way == "preloaded":
            program = compile_sample("reports", "gcc", opt)
            environment["LD_PRELOAD"] = str(agent)
        else:
            program = compile_linked("reports", way, opt)
        result = subprocess.run([program, *arguments], env=environment, capture_output=True,
                                text=True, timeout=60)
        assert (result.returncode, result.stderr) == (7, "")
        return result.stdout

    return run


def own(rows):
    """Without the C library's own blocks."""
    return {name: values for name, values in rows.items() if name in {**THREADS, **SITES}}


@pytest.mark.parametrize("way", WAYS)
def test_threads(way, report):
    parsed = json.loads(report(way, "threads", "json"))["threads"]
    rows = {thread["name"]: (thread["allocated_bytes"], thread["freed_bytes"],
                             thread["allocated_freed_bytes"], thread["in_use_bytes"])
            for thread in parsed}
    assert own(rows) == THREADS
    assert len(rows) == len(parsed), "threads of one name are one"
    maker = next(thread for thread in parsed if thread["name"] == "maker")
    assert maker["freed_by_others"] == [{"name": "taker", "bytes": 40000, "blocks": 40}]
    assert (maker["allocated_blocks"], maker["in_use_blocks"]) == (150, 60)
    table = list(csv.DictReader(io.StringIO(report(way, "threads", "csv"))))
    rows = {row["thread"]: tuple(int(row[name]) for name in
                                 ("total_alloc", "total_did_free", "total_freed", "current_used"))
            for row in table}
    assert own(rows) == THREADS
    assert [row["freed_by_others"] for row in table if row["thread"] == "maker"] == ["taker=40000"]


@pytest.mark.parametrize("way", WAYS)
def test_sites(way, report):
    parsed = json.loads(report(way, "sites", "json"))["sites"]
    rows = {site["stack"][0]["function"]:
            (site["total_bytes"], site["calls"], site["average_bytes"], site["freed_bytes"],
             site["live_bytes"]) for site in parsed}
    assert own(rows) == SITES
    block = next(site for site in parsed if site["stack"][0]["function"] == "make_block")
    assert [frame["function"] for frame in block["stack"][:2]] == ["make_block", "maker"]
    assert block["stack"][0]["module"].endswith("/reports")
    table = list(csv.DictReader(io.StringIO(report(way, "sites", "csv"))))
    rows = {row["backtrace"].split(" ")[0]: tuple(int(value) for value in list(row.values())[:5])
            for row in table}
    assert list(table[0]) == ["allocated", "allocations", "avg_allocation", "freed", "total_used",
                              "backtrace"]
    assert own(rows) == SITES
    assert rows == dict(sorted(rows.items(), key=lambda row: -row[1][4])), "most in use first"


@pytest.mark.parametrize("way", ["preloaded", "static"])
def test_text(way, report):
    text = report(way, "threads", "text")
    assert ("maker:\n  total_alloc: 101 KB\n  total_did_free: 500 B\n  total_freed: 40.5 KB\n"
            "  current_used: 60.0 KB\n  freed by taker: 40.0 KB\n") in text
    text = report(way, "sites", "text")
    assert re.match(r"allocated: 100 KB\nallocations: 100\navg_allocation: 1.00 KB\n"
                    r"freed: 40.0 KB\ntotal_used: 60.0 KB\nbacktrace: 0x[0-9a-f]{16}\n"
                    r"   0 \[0x[0-9a-f]{12}\] make_block \+0x[0-9a-f]+ \(/.*/reports\)\n"
                    r"   1 \[0x[0-9a-f]{12}\] maker \+0x[0-9a-f]+ \(/.*/reports\)\n", text), text


@pytest.mark.parametrize("way", ["preloaded", "static", "static-pie"])
def test_hash_is_stable(way, report):
    """Addresses move from run to run, the hash of a stack does not."""
    def hashes():
        return {site["hash"] for site in json.loads(report(way, "sites", "json"))["sites"]}
    first = hashes()
    assert first == hashes() and len(first) >= 2


def test_filter(report):
    """It is asked with sums and addresses, and may allocate."""
    sites = json.loads(report("preloaded", "sites", "json", "filtered"))["sites"]
    assert [site["stack"][0]["function"] for site in sites] == ["make_block"]


def test_without_stacks(report):
    """BACKTRACE=none: the threads' sums are exact, and all sites are one."""
    rows = {thread["name"]: (thread["allocated_bytes"], thread["freed_bytes"],
                             thread["allocated_freed_bytes"], thread["in_use_bytes"])
            for thread in json.loads(report("preloaded", "threads", "json",
                                            BACKTRACE="none"))["threads"]}
    assert own(rows) == THREADS
    site, = json.loads(report("preloaded", "sites", "json", BACKTRACE="none"))["sites"]
    assert site["stack"] == [] and site["freed_bytes"] == 40500
    assert site["calls"] == site["live_blocks"] + site["freed_blocks"] > 150


def test_short_stacks(report):
    sites = json.loads(report("preloaded", "sites", "json", BACKTRACE="short"))["sites"]
    assert 0 < max(len(site["stack"]) for site in sites) <= 9


@pytest.mark.parametrize("settings", [{"MODE": "record"}, {}])
def test_no_report(settings, report, compile_sample, tmp_path):
    """Without the live mode, or without mallow, there is none."""
    if settings:
        output = {"OUTPUT": str(tmp_path / "r.mallow")}
        assert report("preloaded", "sites", "text", **settings, **output) == "no report\n"
    else:
        run = subprocess.run([compile_sample("reports", "gcc", "-O1"), "threads", "text"],
                             env=clean_environment(), capture_output=True, text=True)
        assert (run.returncode, run.stdout) == (7, "no report\n")


@pytest.mark.parametrize("way", ["preloaded", "static", "musl"])
@pytest.mark.parametrize("settings", [{}, {"SAMPLE": "2000"}, {"SIGNAL_BASELINE": "USR1"}])
def test_report_storm(way, settings, compile_sample, compile_linked, agent):
    """Reports while threads come, go and have other names: each agrees with itself."""
    environment = clean_environment({"MALLOW_MODE": "live", "MALLOW_HELPER": "/bin/true"})
    environment.update({f"MALLOW_{name}": value for name, value in settings.items()})
    if way == "preloaded":
        program = compile_sample("report_storm", "gcc", "-O1")
        environment["LD_PRELOAD"] = str(agent)
    else:
        program = compile_linked("report_storm", way)
    process = subprocess.Popen([program], env=environment, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    if "SIGNAL_BASELINE" in settings:
        wait_for(lambda: catches(process.pid, signal.SIGUSR1))  # before that it is the program's end
    while "SIGNAL_BASELINE" in settings and process.poll() is None:
        time.sleep(0.02)
        process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (7, "ok\n", "")


LIBRARY = """
#include <stdlib.h>
void *make_in_library(size_t size) { char *block = malloc(size); *block = 1; return block; }
"""
PROGRAM = """
#include <mallow/mallow.h>
#include <stdio.h>
#include <unistd.h>
void *make_in_library(size_t size);
int main(int argc, char **argv)
{
	struct mallow_site_report *report;
	for (int i = 0; i < 10; i++)
		make_in_library(100);
	unlink(argv[1]);
	rename(argv[2], argv[1]);
	report = mallow_site_report(NULL, NULL);
	return mallow_site_report_print(report, 1, MALLOW_JSON);
}
"""


@pytest.mark.parametrize("change", ["none", "gone", "another", "cut", "junk"])
def test_a_file_that_is_another(change, agent, tmp_path):
    """Names of a file that is not the one that was loaded would be wrong: there are none then."""
    library, other, program = tmp_path / "libmake.so", tmp_path / "other", tmp_path / "program"
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "library.c").write_text(LIBRARY)
    command = ["gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", tmp_path / "library.c"]
    subprocess.run([*command, "-o", library], check=True)
    if change == "another":
        subprocess.run([*command, "-DANOTHER", "-fno-omit-frame-pointer", "-o", other], check=True)
    elif change != "gone":
        data = library.read_bytes()
        other.write_bytes({"none": data, "cut": data[:len(data) // 2],
                           "junk": data[:64] + b"\xff" * (len(data) - 64)}[change])
    subprocess.run(["gcc", "-g", "-O1", "-I", TOP / "include", tmp_path / "program.c", library,
                    f"-Wl,-rpath,{tmp_path}", "-o", program], check=True)
    environment = clean_environment({"MALLOW_MODE": "live", "MALLOW_HELPER": "/bin/true",
                                     "LD_PRELOAD": str(agent)})
    run = subprocess.run([program, library, other], env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    site = next(site for site in json.loads(run.stdout)["sites"] if site["total_bytes"] == 1000)
    inner, outer = site["stack"][:2]
    assert inner["module"] == str(library) and inner["module_offset"]
    assert inner["function"] == ("make_in_library" if change == "none" else None)
    assert outer["function"] == "main"
