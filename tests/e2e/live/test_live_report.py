"""What a report of live allocations says, of tables whose every number is known."""
import json
import os
import re
import socket
import subprocess
import threading

import pytest

from conftest import clean_environment
from identities import shape_of
from live_programs import live_report
from made_live import TRUNCATED, MadeLive

START = ["_start", "main"]
RULE = "=" * 65
SECOND = 1_000_000_000


def headers(report):
    return re.findall(r"^=== backtrace #(\d+) === (.*)$", report, re.M)


def functions(report):
    """Of each backtrace its innermost function."""
    return re.findall(r"^0 \[.{14}\] (\S+)", report, re.M)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    made = MadeLive(tmp_path_factory.mktemp("live"),
                    ["_start", "main", "handle", "cache_put", "parse", "save", "load"],
                    libraries=[("/usr/lib/libnone.so", ["unknown"])])
    made.site([*START, "handle", "cache_put"], 60, 60_000, freed=(17, 37_296), peak=(60, 31_680),
              since=5 * SECOND, last=6 * SECOND)
    made.site([*START, "handle"], 300, 1_005)
    made.site([*START, "parse"], 3, 1_005, freed=(3, 1_005))
    made.site([*START, "save"], 3, 2_121_999, since=12_338_000_000)
    made.site([*START, "unknown"], 2, 0)
    made.site([TRUNCATED, *["load"] * 20, "parse"], 1, 999)
    main, worker = made.thread("main", 300, 2_100_000), made.thread("worker", 69, 85_008)
    made.thread("worker", 0, 0)
    made.freed_by(main, worker, 20, 38_301)
    made.tick(12_345_000_000)
    return made.write()


def test_full_text(mallow, table):
    """The whole of it, each frame a line."""
    assert live_report(mallow, table, "--full") == f"""\
{RULE}
[mallow] live allocations of toyd (pid 4000000), by size
=== backtrace #1 === [count/peak: 3/3] [size/peak: 2.121 MB/2.121 MB] [age: 7.001 ms]
0 [    0x10001055] save +0x5
1 [    0x10001015] main +0x5
2 [    0x10001005] _start +0x5

=== backtrace #2 === [count/peak: 43/60] [size/peak: 22.704 KB/31.680 KB] [age: 7.345 secs]
0 [    0x10001035] cache_put +0x5
1 [    0x10001025] handle +0x5
2 [    0x10001015] main +0x5
3 [    0x10001005] _start +0x5

=== backtrace #3 === [count/peak: 300/300] [size/peak: 1.005 KB/1.005 KB] [age: 12.345 secs]
0 [    0x10001025] handle +0x5
1 [    0x10001015] main +0x5
2 [    0x10001005] _start +0x5

=== backtrace #4 === [count/peak: 1/1] [size/peak: 999 bytes/999 bytes] [age: 12.345 secs]
0 [    0x10001045] parse +0x5
1 [    0x10001065] load +0x5
2 [    0x10001065] load +0x5
3 [    0x10001065] load +0x5
4 [    0x10001065] load +0x5
5 [    0x10001065] load +0x5
6 [    0x10001065] load +0x5
7 [    0x10001065] load +0x5

=== backtrace #5 === [count/peak: 2/2] [size/peak: 0 bytes/0 bytes] [age: 12.345 secs]
0 [    0x70001000] [libnone.so] +0x1000
1 [    0x10001015] main +0x5
2 [    0x10001005] _start +0x5

[mallow] backtraces with live blocks  : 5
[mallow] live bytes of all of them    : 2.146 MB
[mallow] taken by mallow's own table  : {os.stat(table).st_blocks * 512 / 1000:.3f} KB
{RULE}
"""


def test_text(mallow, table):
    """As people read it: without what runs before main, recursion once. All else is as with --full."""
    folded, full = live_report(mallow, table), live_report(mallow, table, "--full")
    assert re.findall(r"^(=== .*)\n((?:\d.*\n)+)", folded, re.M) == [
        (header, frames) for header, frames in zip(
            re.findall(r"^=== .*", full, re.M),
            ["0 [    0x10001055] save +0x5\n1 [    0x10001015] main +0x5\n",
             "0 [    0x10001035] cache_put +0x5\n1 [    0x10001025] handle +0x5\n"
             "2 [    0x10001015] main +0x5\n",
             "0 [    0x10001025] handle +0x5\n1 [    0x10001015] main +0x5\n",
             "0 [    0x10001045] parse +0x5\n1 [    0x10001065] load +0x5             × 20\n"
             "21 [              ] [truncated]\n",
             "0 [    0x70001000] [libnone.so] +0x1000\n1 [    0x10001015] main +0x5\n"])]
    assert re.sub(r"^\d.*\n", "", folded, flags=re.M) == re.sub(r"^\d.*\n", "", full, flags=re.M)


@pytest.mark.parametrize("words, order", [
    (["--sort", "size"], ["save", "cache_put", "handle", "parse", "[libnone.so]"]),
    (["--sort", "count"], ["handle", "cache_put", "save", "[libnone.so]", "parse"]),
    (["--sort=count", "--top", "2"], ["handle", "cache_put"]),
    (["--sort", "count,size", "--top=1"], ["handle", "save"]),
])
def test_order_and_top(mallow, table, words, order):
    report = live_report(mallow, table, *words)
    assert functions(report) == order
    # The sums are of all backtraces, whatever is shown.
    assert report.count("backtraces with live blocks  : 5\n") == report.count("live bytes of all of them    : 2.146 MB\n")


def test_variables_say_the_same(mallow, table):
    """As the agent hands them on; what they should not say is as if they said nothing."""
    report = live_report(mallow, table, env={
        "MALLOW_SORT": "count", "MALLOW_TOP": "2", "MALLOW_PRINT_DEPTH": "1"})
    assert functions(report) == ["handle", "cache_put"]
    assert "\n1 [" not in report
    assert functions(live_report(mallow, table, "--sort", "size",
                                 env={"MALLOW_SORT": "count"}))[0] == "save"
    assert live_report(mallow, table, env={"MALLOW_SORT": "weight", "MALLOW_TOP": "-1"}) == \
        live_report(mallow, table)


WRITERS = 0b101011 << 24  # bits that are the agent's own
HAS_PARTS, PART = 1 << 30, 1 << 31


def test_parts_are_one_backtrace(mallow, tmp_path):
    """Of the parts of a site all is added but their peaks, and its age is of what is live."""
    made = MadeLive(tmp_path, START)
    made.site(START, 100, 10_000, freed=(90, 9_000), peak=(50, 7_000), first=2 * SECOND,
              since=7 * SECOND, last=8 * SECOND, flags=HAS_PARTS | WRITERS)
    made.site(START, 1000, 50_000, freed=(1000, 50_000), peak=(900, 45_000), first=3 * SECOND,
              since=SECOND, flags=PART | WRITERS)
    made.site(START, 35, 3_500, freed=(5, 500), peak=(1, 1), first=4 * SECOND, since=6 * SECOND,
              last=9 * SECOND, flags=PART)
    made.tick(10 * SECOND)
    site, = json.loads(live_report(mallow, made.write(), "--json"))["sites"]
    assert [site[name] for name in ("calls", "total_bytes", "live_blocks", "live_bytes",
                                    "own_peak_blocks", "own_peak_bytes")] == \
        [1135, 63_500, 40, 4_000, 50, 7_000]
    assert [round(site[name], 2) for name in ("first_s", "last_s", "age_s")] == [2, 9, 4]
    plain = MadeLive(tmp_path, START)
    plain.site(START, 1, 1)
    same, = json.loads(live_report(mallow, plain.write(), "--json"))["sites"]
    assert site["stack"] == same["stack"] != []


def test_all_parts_have_at_least_what_is_live(mallow, tmp_path):
    """The peak is looked at now and then."""
    made = MadeLive(tmp_path, START)
    made.site(START, 10, 1_000, peak=(20, 2_000), flags=HAS_PARTS)
    made.site(START, 11, 1_100, peak=(0, 0), flags=PART)
    site, = json.loads(live_report(mallow, made.write(), "--json"))["sites"]
    assert (site["own_peak_blocks"], site["own_peak_bytes"]) == (21, 2_100)


def test_depth(mallow, table):
    """Of lines, with --full of frames."""
    report = live_report(mallow, table, "--full", "--depth", "30")
    assert "\n20 [    0x10001065] load +0x5\n21 [              ] [truncated]\n" in report
    assert "\n21 " not in live_report(mallow, table, "--full", "--depth", "21")
    assert "\n21 [              ] [truncated]\n" in live_report(mallow, table, "--depth", "3")
    assert "\n21 " not in live_report(mallow, table, "--depth", "2")


def test_age_is_that_of_now_while_it_runs(mallow, tmp_path):
    made = MadeLive(tmp_path, START, state=0, monotonic=1, end_reason=0, **this_process())
    made.site(START, 1, 1)
    report = live_report(mallow, made.write(end=False), "--json")
    uptime = float(open("/proc/uptime").read().split()[0])
    assert abs(json.loads(report)["time_s"] - uptime) < 60


def this_process():
    """Facts of a recording that is of this very process."""
    with open("/proc/self/stat") as file:
        return {"pid": os.getpid(), "start_time": int(file.read().rpartition(")")[2].split()[19])}


def test_memory_of_the_process(mallow, tmp_path):
    """As its status says, while there is a process."""
    made = MadeLive(tmp_path, START, **this_process())
    made.site(START, 1, 1)
    path = made.write()
    memory = json.loads(live_report(mallow, path, "--json"))["memory"]
    status = dict(re.findall(r"^(\w+):\s+(\d+) kB", open("/proc/self/status").read(), re.M))
    assert memory["virtual_bytes"] == pytest.approx(int(status["VmSize"]) * 1024, rel=0.2)
    assert memory["resident_bytes"] == pytest.approx(int(status["VmRSS"]) * 1024, rel=0.2)
    assert 0 < memory["heap_resident_bytes"] <= memory["heap_virtual_bytes"]
    assert memory["heap_resident_bytes"] < memory["resident_bytes"]
    text = live_report(mallow, path)
    name = open("/proc/self/comm").read().strip()
    assert f"[mallow] live allocations of toyd ({name}) (pid {os.getpid()}), by size\n" in text
    assert re.search(r"""\
\[mallow\] heap, address space          : [\d.]+ [MG]B
\[mallow\] heap, resident               : [\d.]+ [MG]B
\[mallow\] process, virtual/RSS/shared  : [\d.]+ [MG]B / [\d.]+ [MG]B / [\d.]+ [MG]B
""", text), text


def test_a_process_that_has_the_number_of_another(mallow, tmp_path):
    """Its name and memory are not those of the one that ended."""
    made = MadeLive(tmp_path, START, **{**this_process(), "start_time": 1})
    made.site(START, 1, 1)
    report = json.loads(live_report(mallow, made.write(), "--json"))
    assert report["name"] == "toyd" and report["memory"] is None


def test_stacks_of_threads_are_no_heap(mallow, tmp_path):
    made = MadeLive(tmp_path, START, **this_process())
    made.site(START, 1, 1)
    path, end = made.write(), threading.Event()
    before = json.loads(live_report(mallow, path, "--json"))["memory"]
    size = threading.stack_size(256 << 20)
    threads = [threading.Thread(target=end.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    threading.stack_size(size)
    memory = json.loads(live_report(mallow, path, "--json"))["memory"]
    end.set()
    for thread in threads:
        thread.join()
    assert memory["virtual_bytes"] > before["virtual_bytes"] + 3 * (256 << 20)
    assert memory["heap_virtual_bytes"] < before["heap_virtual_bytes"] + (32 << 20)


def test_nothing_live_is_nothing_printed(mallow, tmp_path):
    made = MadeLive(tmp_path, START)
    made.site(START, 5, 500, freed=(5, 500))
    path = made.write()
    for words in [], ["--json"], ["--flame-graph"], ["--outfile", str(tmp_path / "out")]:
        assert live_report(mallow, path, *words) == ""
    assert not (tmp_path / "out").exists()


# --- ignored ---

@pytest.mark.parametrize("lines, left", [
    ("cache_put +0x5\n", ["save", "handle", "parse"]),
    ("cache_put\r\n\n# save\nnever\n", ["save", "handle", "parse"]),
    ("handle\n", ["save", "parse", "[libnone.so]"]),
    ("leak:^cache*\n", ["save", "handle", "parse"]),
    ("leak:toyd\n", []),
    ("leak:libnone\nsave", ["cache_put", "handle", "parse"]),
    ("main", ["parse"]),
])
def test_ignore(mallow, table, tmp_path, lines, left):
    """Those that are ignored do not use up --top, and are counted."""
    (tmp_path / "ignored").write_text(lines)
    report = live_report(mallow, table, "--top", "3", "--ignore", str(tmp_path / "ignored"))
    assert functions(report) == left
    if not left:
        assert report == ""
        return
    assert [number for number, _ in headers(report)] == [str(i + 1) for i in range(len(left))]
    assert "backtraces with live blocks  : 5\n" in report and "live bytes of all of them    : 2.146 MB\n" in report
    assert re.search(r"^\[mallow\] ignored of these             : \d, ", report, re.M)


def test_ignore_counts(mallow, table, tmp_path):
    (tmp_path / "ignored").write_text("cache_put\nleak:save\n")
    ignore = ["--ignore", str(tmp_path / "ignored")]
    assert "ignored of these             : 2, 2.144 MB\n" in live_report(mallow, table, *ignore)
    parsed = json.loads(live_report(mallow, table, "--json", *ignore))
    assert (parsed["ignored_sites"], parsed["ignored_bytes"]) == (2, 2_144_703)
    assert len(parsed["sites"]) == 3
    collapsed = live_report(mallow, table, "--flame-graph", *ignore)
    assert "save" not in collapsed and "cache_put" not in collapsed and "handle 1005\n" in collapsed


def test_no_such_file_to_ignore(mallow, table):
    run = live_report(mallow, table, "--ignore", "/no/such", check=False)
    assert run.returncode == 1
    assert run.stderr == "mallow: /no/such: No such file or directory\n"


# --- collapsed stacks, JSON ---

def test_flame_graph(mallow, table):
    """Live bytes by whole stack, of all backtraces, or of --top."""
    lines = live_report(mallow, table, "--flame-graph", "--depth", "1").splitlines()
    assert sorted(lines) == sorted([
        "_start;main;save 2121999", "_start;main;handle;cache_put 22704", "_start;main;handle 1005",
        ";".join(["[truncated]", *["load"] * 20, "parse"]) + " 999"])
    assert live_report(mallow, table, "--flame-graph", "--top", "1") == "_start;main;save 2121999\n"
    assert live_report(mallow, table, "--flame-graph", "--top", "1", "--sort", "count,size") == \
        "_start;main;handle 1005\n"


def test_json(mallow, table):
    report = live_report(mallow, table, "--json", "--sort", "count,size")
    first, second = map(json.loads, report.splitlines())
    assert first["sorted_by"] == "count" and second["sorted_by"] == "size"
    assert second["pid"] == 4000000 and second["name"] == "toyd" and second["memory"] is None
    assert second["site_count"] == 5 and len(second["sites"]) == 5
    assert second["live_bytes"] == 2_121_999 + 22_704 + 1_005 + 999
    assert second["live_blocks"] == 3 + 43 + 300 + 2 + 1
    site = second["sites"][1]
    stack = site.pop("stack")
    assert re.fullmatch("[0-9a-f]{16}", site.pop("site_id")) and site.pop("weak_id") is True
    assert site.pop("shape_id") == shape_of(stack)
    assert site == {
        "live_bytes": 22_704, "live_blocks": 43, "own_peak_bytes": 31_680, "own_peak_blocks": 60,
        "total_bytes": 60_000, "calls": 60, "age_s": pytest.approx(7.345, abs=1e-5), "first_s": 0,
        "last_s": pytest.approx(6, abs=1e-5)}
    assert [frame["function"] for frame in stack] == ["cache_put", "handle", "main", "_start"]
    main, worker = second["threads"]
    assert main == {
        "name": "main", "threads": 1, "allocated_bytes": 2_100_000, "allocated_blocks": 300,
        "freed_bytes": 38_301, "freed_blocks": 20, "allocated_freed_bytes": 0,
        "allocated_freed_blocks": 0, "in_use_bytes": 2_100_000, "in_use_blocks": 300,
        "freed_by_others": []}
    assert worker["threads"] == 2 and worker["in_use_bytes"] == 85_008 - 38_301
    assert worker["freed_by_others"] == [{"name": "main", "bytes": 38_301, "blocks": 20}]


# --- where to ---

def test_one_write(mallow, table):
    """A report, and one for each key, is one datagram."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, open(table, "rb") as file:
        subprocess.run([str(mallow), "live-report", "--fd", str(file.fileno()), "--sort",
                        "size,count"], stderr=theirs, check=True, timeout=60,
                       pass_fds=[file.fileno()], env=clean_environment())
        ours.setblocking(False)
        report = ours.recv(1 << 20)
        assert report.count(b"by size\n") == report.count(b"by count\n") == 1
        with pytest.raises(BlockingIOError):
            ours.recv(1)


def test_outfile_is_appended_to(mallow, table, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("before\n")
    for _ in range(2):
        assert live_report(mallow, table, "--outfile", str(out)) == ""
    assert out.read_text() == "before\n" + 2 * live_report(mallow, table)


def test_outfile_of_a_child(mallow, tmp_path):
    """By the recording's parent, or under `mallow live` by who the process's parent is."""
    made = MadeLive(tmp_path, START, parent_id=os.urandom(16), parent_pid=77, program="a child")
    made.site(START, 1, 1)
    path = made.write()
    out = tmp_path / "out.txt"
    live_report(mallow, path, "--outfile", str(out))
    child = tmp_path / "out.txt.4000000.a child"
    assert "live allocations of a child (pid 4000000)" in child.read_text() and not out.exists()
    live_report(mallow, path, "--outfile", str(out), env={"MALLOW_STARTER": "77"})
    assert out.exists()
    child.unlink()
    live_report(mallow, path, "--outfile", str(out), env={"MALLOW_STARTER": "78"})
    assert child.exists()


def test_outfile_is_in_the_programs_directory(mallow, tmp_path):
    made = MadeLive(tmp_path, START)
    made.chunk.other(0x87, 3, text=os.fsencode(tmp_path))
    made.site(START, 1, 1)
    live_report(mallow, made.write(), "--outfile", "here.txt", cwd="/")
    assert (tmp_path / "here.txt").exists()


def test_outfile_that_cannot_be(mallow, table):
    run = live_report(mallow, table, "--outfile", "/no/such/file", check=False)
    assert run.returncode == 1
    assert run.stderr == "mallow: cannot write '/no/such/file': No such file or directory\n"


# --- what is no table, and other views of one ---

def test_a_recording_with_events(mallow, tmp_path):
    from made_recording import Made
    made = Made(tmp_path, START)
    made.allocate(START, 10)
    run = live_report(mallow, made.write(), check=False)
    assert run.returncode == 1 and "no live table" in run.stderr


@pytest.mark.parametrize("words, message", [
    (["--sort", "weight"], "'weight' is no value of --sort: size, count, or both with a comma "
                           "between them is wanted"),
    (["--sort", "size,"], "'size,' is no value of --sort: size, count, or both with a comma "
                          "between them is wanted"),
    (["--fd", "99"], "the live table: descriptor 99: Bad file descriptor"),
])
def test_wrong_words(mallow, table, words, message):
    run = live_report(mallow, table, *words, check=False)
    assert run.stderr == f"mallow: {message}\n" and run.returncode in (1, 2)


def test_parts_in_several_chunks(mallow, tmp_path):
    reports = []
    for halves in False, True:
        made = MadeLive(tmp_path, [*START, "handle"])
        made.site(START, 5, 50)
        made.site([*START, "handle"], 6, 60)
        made.thread("main", 11, 110)
        report = json.loads(live_report(mallow, made.write(halves=halves), "--json"))
        reports.append([report["sites"], report["threads"]])
    assert reports[0] == reports[1]


def test_other_views(tool, table, mallow):
    """A table is a recording: what is live now is what they call peak and leaked."""
    report = tool.report(table)
    assert report["peak_bytes"] == report["leaked_bytes"] == report["live_bytes"] == 2_146_707
    assert report["calls"] == 60 + 300 + 3 + 3 + 2 + 1
    assert [site["peak_bytes"] for site in report["sites"][:2]] == [2_121_999, 22_704]
    collapsed = tool("export", "--to", "collapsed", table).stdout
    assert "_start;main;handle;cache_put 22704\n" in collapsed
    text = tool("report", table).stdout
    assert "  a live table: what is live now counts as peak and as leaked\n" in text


def test_merged(tool, table, tmp_path):
    """With others: what is live now of each, added up."""
    made = MadeLive(tmp_path, START)
    made.site(START, 5, 500)
    merged = json.loads(tool("report", "--merge", "--json", table, made.write()).stdout)
    assert merged["peak_bytes"] == merged["leaked_bytes"] == 2_146_707 + 500
    assert merged["peak_is"] == "sum of the peaks of the processes"


def test_blocks(tool, tmp_path):
    """Views of single blocks have those that are live."""
    made = MadeLive(tmp_path, [*START, "handle"])
    number = made.site(START, 40, 4_000, freed=(20, 2_000))
    thread = made.thread("worker", 40, 4_000, tid=123)
    start = 0x5000_0000_0000
    for i in range(20):
        made.small_block(start + 112 * i, 100, number, thread, i * 1_000_000)
    path = made.write()
    histogram = json.loads(tool("report", "--histogram", "size", "--json", path).stdout)
    assert "20" in str(histogram) and histogram["live_bytes"] == 2_000
    assert "worker  (tid 123)" in tool("report", "--by", "thread", path).stdout
    assert tool("report", "--size-min", "101", "--json", path, check=False).returncode == 0


@pytest.mark.parametrize("option, value", [
    ("--freed-from", "1s"), ("--freed-to", "1s"), ("--free-thread", "worker"),
    ("--temporary", "no"), ("--entry", "malloc"), ("--chain", "0")])
def test_conditions_that_need_a_recording(mallow, table, option, value):
    """They are refused, rather than that nothing matches."""
    for words in ["report", option, value], ["export", "--to", "collapsed", option, value]:
        run = subprocess.run([str(mallow), *words, str(table)], capture_output=True, text=True,
                             env=clean_environment(), timeout=60)
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr == (f"mallow: {table}: {option}: a live table does not know this of its "
                              "blocks; a recording does\n")


def test_many_sites(mallow, tmp_path):
    """Nothing is quadratic; how long it takes is measured by bench/live.py."""
    names = [f"function_{i}" for i in range(1000)]
    made = MadeLive(tmp_path, [*START, *names])
    stacks = [tuple(START)]
    for i in range(100_000):
        stack = stacks[i * 7919 % len(stacks)][:30] + (names[i * 31 % 1000],)
        stacks.append(stack)
        made.site(stack, i % 100 + 1, i * 3571 % 100_000 + 1)
    path = made.write()
    for words in [], ["--flame-graph"], ["--json", "--top", "100"]:
        before = os.times()
        report = live_report(mallow, path, *words)
        after = os.times()
        assert len(report.splitlines()) > (30 if not words else 0)
        assert after.children_user - before.children_user < 10
