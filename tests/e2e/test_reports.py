"""Reports that a program makes of itself by the C API: tests/samples/reports.c says what they hold."""
import csv
import io
import json
import re
import subprocess

import pytest

from conftest import LINKED, clean_environment

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
