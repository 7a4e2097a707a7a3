"""`mallow live` as users run it: sample programs, real ones, signals, children, ends of all kinds."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

import expect
from command_line import on_terminal
from conftest import Functions, SAMPLES, clean_environment, need
from live_programs import started

PYTHON = "/usr/bin/python3"
SIMPLE = ["c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain", "hand_over",
          "alone_and_together", "deep", "life_cycle", "exceptions", "live_threads"]
HEADER = r"=== backtrace #(\d+) === \[count/peak: (\d+)/(\d+)\] \[size/peak: (.*?)/(.*?)\] \[age: (.*?)\]"
FRAME = re.compile(r"^(\d+) \[ *(0x[0-9a-f]+)\] (.+?) \+0x([0-9a-f]+)(?:  +(.*))?$", re.M)


@pytest.fixture(scope="session")
def sample(compile_sample):
    return compile_sample("live_report")


@pytest.fixture
def live(mallow, agent):
    """live(words…): `mallow live` with these words, to its end."""

    def run(*words, env=None, status=7, **options):
        options.setdefault("timeout", 120)
        result = subprocess.run([str(mallow), "live", *map(str, words)], capture_output=True,
                                text=True, env=clean_environment(env), **options)
        assert result.returncode == status, result.stderr
        return result

    return run


def split(report):
    """The blocks of backtraces, and the lines of the summary."""
    return re.split(r"\n(?==== backtrace)|\n\n(?=\[mallow\])", report)


def line_of(mark):
    """The line of the sample with that comment."""
    lines = (SAMPLES / "live_report.c").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith(f"// line of {mark}"))


def wait_until(path, word, count=1):
    """Until a file holds a word so often; what it holds."""
    for _ in range(1200):
        text = path.read_text() if path.exists() else ""
        if text.count(word) >= count:
            return text
        time.sleep(0.05)
    raise AssertionError(f"{word} did not come {count} times: {text}")


# --- what is printed ---

def test_a_report(live, sample):
    """Of a program whose numbers are known, at its end."""
    ran = live(sample)
    assert ran.stdout == ""
    title, first, second, summary = split(ran.stderr)
    assert re.fullmatch(rf"={{65}}\n\[mallow\] live allocations of live_report \(pid \d+\), by size",
                        title)
    assert re.match(HEADER, first).groups()[:5] == ("1", "43", "60", "22.704 KB", "31.680 KB")
    assert re.match(HEADER, second).groups()[:5] == ("2", "1", "1", "1.005 KB", "1.005 KB")
    assert re.fullmatch(r"\d+\.\d{3} [mu]s", re.match(HEADER, first).group(6))
    places = [(function, place.split("/")[-1] if place else "")
              for _, _, function, _, place in FRAME.findall(first)]
    assert places[:2] == [("make", f"live_report.c:{line_of('make')}"),
                          ("list", f"live_report.c:{line_of('list')}")]
    assert places[2][0] == "main" and f"main +0x" in second
    assert f"live_report.c:{line_of('main')}" in second
    assert re.fullmatch(r"""\[mallow\] backtraces with live blocks  : 2
\[mallow\] live bytes of all of them    : 23.709 KB
\[mallow\] heap, address space          : [\d.]+ [KM]B
\[mallow\] heap, resident               : [\d.]+ [KM]B
\[mallow\] process, virtual/RSS/shared  : [\d.]+ MB / [\d.]+ MB / [\d.]+ [KM]B
\[mallow\] taken by mallow's own table  : [\d.]+ KB
={65}
""", summary)


def test_offsets_are_those_of_return_addresses(live, sample):
    """address - offset is where the function begins, for all functions with the same load address."""
    functions = {name: start for start, _, name in Functions(sample).spans}
    found = [(name, int(address, 16) - int(offset, 16) - functions[name])
             for _, address, name, offset, _ in FRAME.findall(live("--full", sample).stderr)
             if name in ("make", "list", "main", "_start")]
    bases = {base for _, base in found}
    assert {name for name, _ in found} >= {"make", "list", "_start"} and len(bases) == 1 and bases.pop() % 4096 == 0


def test_words_of_the_command(live, sample):
    report = live("--top", "1", "--sort=count,size", "--depth=1", sample).stderr
    assert [number for number, *_ in re.findall(HEADER, report)] == ["1", "1"]
    assert [number for number, *_ in FRAME.findall(report)] == ["0", "0"]
    assert report.index(", by count\n") < report.index(", by size\n")


@pytest.mark.parametrize("words", [[], ["--json"], ["--flame-graph"]])
def test_nothing_live_is_nothing_printed(live, sample, words):
    ran = live(*words, sample, "freed")
    assert (ran.stdout, ran.stderr) == ("", "")


def test_ignored(live, sample, tmp_path):
    (tmp_path / "known").write_text("list +0x\n")
    report = live("--ignore", "known", "--top", "1", sample, cwd=tmp_path).stderr
    assert re.findall(HEADER, report)[0][:2] == ("1", "1")
    assert "ignored of these             : 1, 22.704 KB\n" in report


def test_flame_graph(live, sample):
    """What a reader of collapsed stacks makes of it."""
    lines = live("--flame-graph", sample).stderr.splitlines()
    stacks = {stack: int(weight) for stack, weight in (line.rsplit(" ", 1) for line in lines)}
    by_leaf = {stack.split(";")[-2]: weight for stack, weight in stacks.items()}
    assert by_leaf == {"list": 43 * 528, "main": 1005}
    assert all(stack.split(";")[-1] == "make" for stack in stacks)
    assert len(live("--flame-graph", "--top", "1", sample).stderr.splitlines()) == 1


def test_json(live, sample):
    report = json.loads(live("--json", sample).stderr)
    assert report["live_bytes"] == 43 * 528 + 1005 and report["live_blocks"] == 44
    assert report["calls"] == 60 + 1 + 1000 and report["not_counted"] == 0
    assert report["memory"]["resident_bytes"] > 1_000_000
    first, second = report["sites"]
    assert (first["calls"], first["own_peak_blocks"], second["own_peak_bytes"]) == (60, 60, 1005)
    frame = first["stack"][0]
    assert frame["function"] == "make" and frame["line"] == line_of("make")
    assert 0 <= first["first_s"] <= first["last_s"] <= report["time_s"]
    thread, = report["threads"]
    assert thread["name"] == "live_report"
    assert thread["freed_blocks"] == 1017 and thread["in_use_bytes"] == 43 * 528 + 1005


def test_times(live, compile_sample):
    """Of allocations of a thread that computes. A site's age is exact: it is no other's."""
    ran = live("--json", compile_sample("live_times"), status=0)
    times = [float(line) for line in ran.stdout.split()]
    sites = json.loads(ran.stderr)["sites"]
    soon = sorted(site["age_s"] for site in sites if site["stack"][0]["function"] == "soon")
    assert len(soon) == 10 and all(later - earlier > 30e-6 for earlier, later in zip(soon, soon[1:])), soon
    found = sorted((site["first_s"], site["stack"][0]["function"])
                   for site in sites
                   if site["stack"][0]["function"] in ("early", "late"))
    assert [function for _, function in found] == ["early", "late", "early"]
    first = found[0][0]
    for at, (later, _) in enumerate(found[1:], 1):
        assert times[at * 2] - times[1] - 0.01 <= later - first <= times[at * 2 + 1] - times[0] + 0.01


@pytest.mark.parametrize("name", SIMPLE)
def test_samples_with_known_answers(live, compile_sample, name):
    """The sums that samples state, by the tool's own reader."""
    expect.check_live(name, json.loads(live("--json", compile_sample(name)).stderr))


def test_threads(live, compile_sample):
    """Who allocated, who freed whose: the numbers that the sample states in its comment."""
    report = json.loads(live("--json", compile_sample("live_threads")).stderr)
    threads = {thread["name"]: thread for thread in report["threads"]}
    maker, taker, resizer = threads["maker"], threads["taker"], threads["resizer"]
    assert (maker["allocated_blocks"], maker["allocated_bytes"]) == (1000, 100_000)
    assert (maker["freed_blocks"], maker["freed_bytes"]) == (200, 20_000)
    assert maker["allocated_freed_blocks"] == 200 + 300 + 100
    assert maker["in_use_bytes"] == 40_000
    others = {row["name"]: (row["blocks"], row["bytes"]) for row in maker["freed_by_others"]}
    assert others == {"taker": (300, 30_000), "resizer": (100, 10_000)}
    assert taker["allocated_bytes"] == taker["in_use_bytes"] == 50_000
    assert taker["freed_bytes"] == 30_000 and resizer["in_use_bytes"] == 20_000
    again = threads["again"]
    assert (again["allocated_blocks"], again["allocated_bytes"]) == (21, 336)


def test_more_names_of_threads_than_there_is_room_for(live, compile_sample):
    """The program's name and 1,022 others have sums of their own; all others are one row."""
    report = json.loads(live("--json", compile_sample("thread_churn"), 1200, 10, "worker-",
                             status=7).stderr)
    threads = {thread["name"]: thread for thread in report["threads"]}
    assert len(threads) == 1024
    workers = sum(thread["allocated_blocks"] >= 4 for name, thread in threads.items()
                  if name.startswith("worker-"))
    assert threads["(others)"]["allocated_blocks"] >= 4 * (1200 - workers)
    assert threads["(others)"]["in_use_blocks"] == 0


def test_on_a_terminal(mallow, agent, sample):
    """No line but the headers is longer than the terminal; colours are there, and harmless."""
    screen = on_terminal([mallow, "live", sample])
    plain = re.sub(r"\x1b\[\d*m", "", screen)
    assert plain != screen
    frames = [line for line in plain.splitlines() if re.match(r"^(\d+ \[| {19})", line)]
    assert len(frames) >= 5 and max(map(len, frames)) <= 80
    assert re.search(rf"^0 \[0x[0-9a-f]+\] make \+0x[0-9a-f]+ +.*live_report\.c:{line_of('make')}$",
                     plain, re.M)
    assert "\x1b" not in on_terminal([mallow, "live", sample],
                                     env=clean_environment({"NO_COLOR": "1"}))


# --- how programs end ---

@pytest.mark.parametrize("command, status", [
    (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -TERM $$"], 143), (["true"], 0),
    (["/no/such/program"], 127), (["no-such-program"], 127), (["/etc/passwd"], 126),
])
def test_exit_status(live, command, status):
    """The program's own; it is looked for in PATH."""
    live(*command, status=status)


@pytest.mark.parametrize("end, status", [("killed", 137), ("crashed", 139)])
def test_a_program_that_is_killed(live, sample, end, status):
    """Its table is not lost: what was live then is reported."""
    report = live(sample, end, status=status).stderr
    assert "  it was killed: this was live then\n" in report
    assert re.findall(HEADER, report)[0][:5] == ("1", "43", "60", "22.704 KB", "31.680 KB")
    assert "process, virtual" not in report # there is no process any more


def test_left_by_a_system_call(live, compile_sample):
    """The agent was not told of that end. The status is not one of a program that was killed."""
    report = live(compile_sample("watched", "gcc", "-O1"), status=4, input="raw 4\n").stderr
    assert re.findall(HEADER, report)[0][:3] == ("1", "1", "1") and "killed" not in report


def test_killed_and_to_a_file(live, sample, tmp_path):
    live("--outfile", "out.txt", sample, "killed", status=137, cwd=tmp_path)
    assert "it was killed" in (tmp_path / "out.txt").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_what_cannot_be_watched(live, tmp_path):
    """Silence would look as if nothing were live."""
    source, target = tmp_path / "static.c", tmp_path / "static"
    source.write_text("#include <stdlib.h>\nint main(void) { return malloc(5) == 0; }\n")
    subprocess.run([need("gcc"), "-static", "-o", target, source], check=True)
    assert live(target, status=2).stderr.endswith("it is statically linked: no library can be "
                                                  "preloaded into it, but libmallow.a can be linked with "
                                                  "it (docs/linking.md)\n")
    other = subprocess.run([need("gcc"), "-print-file-name=libm.so.6"], capture_output=True,
                           text=True, check=True).stdout.strip()
    without = {"MALLOW_LIBRARY": os.path.realpath(other)}
    assert live("true", env=without, status=0).stderr.startswith(
        "mallow: 'true' could not be watched: it or what it executed is statically linked")
    assert live("--disable-by-default", "true", status=0).stderr == ""


@pytest.mark.parametrize("words, message", [
    ([], "'live' needs a program: mallow live [OPTION…] [--] PROGRAM [ARG…]"),
    (["--flame-graph", "--json", "true"], "--flame-graph and --json exclude each other"),
    (["--output", "x", "true"], "unknown option '--output' of 'live'"),
    (["--top", "0", "true"], "'0' is no value of --top: allowed is a number from 1 to 4294967295"),
])
def test_wrong_words(live, words, message):
    assert live(*words, status=2).stderr.startswith(f"mallow: {message}")


@pytest.mark.parametrize("words, message", [
    (["--ignore", "/no/such", "true"], "/no/such: No such file or directory"),
    (["--outfile", "/no/such/file", "true"], "cannot write '/no/such/file': No such file"),
])
def test_files_that_cannot_be(live, words, message):
    """Said before the program runs, which may take days."""
    ran = live(*words, status=1)
    assert ran.stderr.startswith(f"mallow: {message}")


# --- children, files ---

def test_children(live, sample):
    """What they inherited is not theirs; what they execute reports for itself."""
    report = live(sample, "forked").stderr
    child, program = report.split("[mallow] live allocations of live_report")[1:]
    assert "begun by fork" in child and re.findall(HEADER, child)[0][3] == "2.048 KB"
    assert "begun by fork" not in program and "22.704 KB" in program
    reports = live(sample, "executed").stderr
    assert reports.count("size/peak: 22.704 KB/31.680 KB") == 2
    assert live("--follow=0", sample, "executed").stderr.count("22.704 KB") == 1


def test_files_of_children(live, sample, tmp_path):
    """FILE is the program's, FILE.<pid>.<name> a child's."""
    ran = live("--outfile", "out.txt", sample, "forked", cwd=tmp_path)
    assert ran.stderr == ""
    child, = tmp_path.glob("out.txt.*")
    pid = re.fullmatch(r"out\.txt\.(\d+)\.live_report", child.name).group(1)
    assert f"(pid {pid})" in child.read_text() and "2.048 KB" in child.read_text()
    assert "22.704 KB" in (tmp_path / "out.txt").read_text()
    # What the program executes in its place is the program.
    live("--outfile", "shell.txt", "sh", "-c", f"exec {sample}", cwd=tmp_path)
    assert "22.704 KB" in (tmp_path / "shell.txt").read_text()
    assert not list(tmp_path.glob("shell.txt.*"))


def test_the_library_alone(mallow, agent, sample, tmp_path):
    """By variables, without the tool as parent."""
    run = subprocess.run([sample], capture_output=True, text=True, cwd=tmp_path, timeout=60,
                         env=clean_environment({"LD_PRELOAD": agent, "MALLOW_MODE": "live",
                                                "MALLOW_HELPER": mallow, "MALLOW_TOP": "1",
                                                "MALLOW_OUTFILE": "out.txt"}))
    assert (run.returncode, run.stdout, run.stderr) == (7, "", "")
    report = (tmp_path / "out.txt").read_text()
    assert len(re.findall(HEADER, report)) == 1 and "22.704 KB" in report


def test_a_recording_of_a_running_program(mallow, agent, sample, tool):
    """/proc/PID/fd/N is one that any command opens."""
    process = started(mallow, sample, "waiting")
    assert process.stdout.readline() == "waiting\n"
    child = int(subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                               check=True).stdout)
    table = next(f"/proc/{child}/fd/{name}" for name in os.listdir(f"/proc/{child}/fd")
                 if "mallow-live" in os.readlink(f"/proc/{child}/fd/{name}"))
    report = tool("report", "--tree", "--sort", "leaked", table).stdout
    assert "still running; what was recorded until now" in report and "22.7 KB" in report and "make" in report
    assert json.loads(tool("report", "--histogram", "size", "--json", table).stdout)
    process.communicate("go on\n", timeout=60)
    assert process.returncode == 7


# --- while it runs ---

@pytest.fixture
def waiting(mallow, agent, sample, tmp_path):
    """A program that waits, its process id, and the file of its reports."""
    process = started(mallow, "--outfile", "out.txt", "--sort", "count,size", sample, "waiting",
                      cwd=tmp_path)
    assert process.stdout.readline() == "waiting\n"
    child = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                           check=True).stdout
    yield process, int(child), tmp_path / "out.txt"
    process.kill()


def test_reports_by_signal(waiting):
    """USR1 by size, whatever --sort says, USR2 by count; the program's own handler is called, too."""
    process, child, out = waiting
    os.kill(child, signal.SIGUSR1)
    assert process.stdout.readline() == "own handler\n"
    report = wait_until(out, "taken by mallow")
    assert ", by size\n" in report and "by count" not in report
    assert "22.704 KB/31.680 KB" in report
    out.unlink()
    os.kill(process.pid, signal.SIGUSR2) # which the tool hands on
    report = wait_until(out, "taken by mallow")
    assert ", by count\n" in report and "by size" not in report
    out.unlink()
    _, errors = process.communicate("go on\n", timeout=60)
    assert process.returncode == 7 and errors == ""
    report = out.read_text()
    assert report.index(", by count\n") < report.index(", by size\n")


def test_a_report_every_so_often(live, tmp_path):
    """While the program allocates."""
    script = "import time\nend = time.time() + 3\nwhile time.time() < end: bytes(100000)"
    live("--interval", "1", "--outfile", "out.txt", "--top=1", PYTHON, "-c", script, cwd=tmp_path,
         status=0)
    assert 3 <= (tmp_path / "out.txt").read_text().count("live allocations of python3") <= 4


def test_a_baseline(mallow, agent, sample, tmp_path):
    """What was allocated before is forgotten."""
    process = started(mallow, "--outfile", "out.txt", "--signal-baseline", "HUP", sample, "waiting",
                      cwd=tmp_path)
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    process.communicate("go on\n", timeout=60)
    assert process.returncode == 7
    assert not (tmp_path / "out.txt").exists() # nothing is live


def test_without_stacks(live, compile_sample):
    """BACKTRACE=none: the sums are those of all threads."""
    report = json.loads(live("--backtrace=none", "--json", compile_sample("live_threads")).stderr)
    site, = report["sites"]
    assert site["stack"] == [] and site["live_bytes"] == report["live_bytes"]
    assert report["live_bytes"] == sum(thread["in_use_bytes"] for thread in report["threads"])
    assert "(no stack)\n" in live("--backtrace=none", compile_sample("live_threads")).stderr


# --- real programs ---

SQL = ("CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
       "LIMIT 20000) INSERT INTO t SELECT i, hex(i) FROM n; SELECT count(*) FROM t;")
PROGRAMS = {
    "python3": [PYTHON, "-c", "import json; x = [json.loads('[1, 2, 3]') for i in range(9999)]"],
    "node": ["node", "-e", "a = []; for (i = 0; i < 1e5; i++) a.push({i})"],
    "sqlite3": ["sqlite3", ":memory:", SQL],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs(live, name):
    """Their reports add up, and their output is theirs."""
    need(PROGRAMS[name][0])
    ran = live("--json", *PROGRAMS[name], status=0)
    assert ran.stderr
    for report in map(json.loads, ran.stderr.splitlines()):
        assert report["name"].startswith(name[:4]) and report["live_bytes"] > 1000
        assert sum(site["live_bytes"] for site in report["sites"]) == report["live_bytes"]
        assert sum(site["live_blocks"] for site in report["sites"]) == report["live_blocks"]
        in_use = sum(thread["in_use_bytes"] for thread in report["threads"])
        assert in_use == report["live_bytes"]
        assert report["not_counted"] == 0
    assert ran.stdout == ("20000\n" if name == "sqlite3" else "")


def test_memory_of_the_allocator(live, sample):
    """The program's, who has a few blocks; not what mallow itself takes, which is many times that."""
    memory = json.loads(live("--json", sample).stderr)["memory"]
    assert 100_000 < memory["heap_virtual_bytes"] < 3_000_000
    assert 4096 <= memory["heap_resident_bytes"] < 300_000


def test_without_a_standard_error_at_the_end(live):
    """As ls and whatever else ends by gnulib's close_stdout(): `mallow live` has one."""
    ran = live("--json", "ls", "/", status=0)
    assert [report["name"] for report in map(json.loads, ran.stderr.splitlines())] == ["ls"]


@pytest.mark.parametrize("how", ["os.close(2)",
                                 "os.dup2(os.open('own', os.O_WRONLY | os.O_CREAT), 2)"])
def test_another_standard_error(live, tmp_path, how):
    """The report is not in the program's file, but where `mallow live` has its own."""
    ran = live("--json", PYTHON, "-c", f"import os; {how}", status=0, cwd=tmp_path)
    assert json.loads(ran.stderr)["name"] == "python3"
    assert all(path.read_text() == "" for path in tmp_path.iterdir())


@pytest.mark.parametrize("named, called", [
    # As node does. Its name alone would say nothing of the program.
    ("MainThread", f"{os.path.basename(os.path.realpath(PYTHON))} (MainThread)"), ("python", "python")])
def test_a_thread_that_names_itself(live, named, called):
    ran = live("--json", PYTHON, "-c", f"open('/proc/self/comm', 'w').write('{named}')", status=0)
    assert json.loads(ran.stderr)["name"] == called


def test_redis_by_signal(mallow, agent, tmp_path):
    """A server that handles signals itself, and is asked while it works."""
    need("redis-server")
    socket = tmp_path / "socket"
    process = started(mallow, "--outfile", "out.txt", "--top=3", "redis-server", "--port", "0",
                      "--unixsocket", str(socket), "--save", "", cwd=tmp_path)
    wait_for = time.time() + 60
    while not socket.exists() and time.time() < wait_for:
        time.sleep(0.05)
    ask = ["redis-cli", "-s", str(socket)]
    subprocess.run(ask, input="".join(f"set key:{i} {i:064}\n" for i in range(20000)), text=True,
                   check=True, capture_output=True)
    process.send_signal(signal.SIGUSR2)
    report = wait_until(tmp_path / "out.txt", "taken by mallow")
    assert "live allocations of redis-server" in report and ", by count\n" in report
    first = re.findall(HEADER, report)[0]
    assert int(first[1]) >= 20_000
    assert subprocess.run([*ask, "dbsize"], capture_output=True, text=True).stdout == "20000\n"
    subprocess.run([*ask, "shutdown"], capture_output=True)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "out.txt").read_text().count(", by size\n") == 1


def test_run_records_whatever_the_variable_says(mallow, agent, tmp_path):
    run = subprocess.run([str(mallow), "run", "-o", "r.mallow", "true"], capture_output=True,
                         text=True, cwd=tmp_path, timeout=60,
                         env=clean_environment({"MALLOW_MODE": "live"}))
    assert run.returncode == 0 and "live allocations" not in run.stderr
    assert (tmp_path / "r.mallow").exists()


# --- where the program can start no helper ---

CORNERS = ["nothing", "stack", "descriptors", "namespace", "landlock", "chroot", "processes"]
NO_KERNEL = 77  # of the sample: this one cannot do that


def corner(program, how):
    """Its words; skips what cannot be had here."""
    if how in ("namespace", "chroot", "processes") and os.getuid() != 0:
        pytest.skip("this takes the rights of root")
    if how == "landlock" and subprocess.run([program, how], check=False).returncode == NO_KERNEL:
        pytest.skip("this kernel has no Landlock")
    return [program, how]


def orders(text):
    """Of all reports, each whole and with what is live."""
    for report in text.split("[mallow] live allocations of ")[1:]:
        assert re.search(r"\[count/peak: 10/10\] \[size/peak: 50.000 KB/50.000 KB\]", report), text
        assert "backtraces with live blocks" in report
    return re.findall(r"live allocations of cornered \(pid \d+\), by (\w+)", text)


@pytest.mark.parametrize("how", CORNERS)
def test_no_process_for_the_last_report(how, live, compile_sample, tmp_path):
    """`mallow live` makes it: one, whatever kept the helper from it."""
    words = corner(compile_sample("cornered"), how)
    ran = live(*words)
    assert orders(ran.stderr) == ["size"], ran.stderr
    assert "error while loading" not in ran.stderr
    live("--outfile", tmp_path / "reports", *words)
    assert orders((tmp_path / "reports").read_text()) == ["size"]


@pytest.mark.parametrize("how", CORNERS)
def test_no_process_for_reports_by_signal(how, live, compile_sample):
    """It makes these, too: the socket by which it is asked is open already, wherever the program went."""
    ran = live(*corner(compile_sample("cornered"), how), "signals")
    assert sorted(orders(ran.stderr)) == ["count", "size", "size"], ran.stderr
    assert "no report" not in ran.stderr


def read_reports(process, count):
    """What it writes until there are so many reports."""
    text = ""
    while text.count("taken by mallow's own table") < count:
        line = process.stderr.readline()
        assert line, text
        text += line
    return text


def test_no_process_for_reports_by_the_clock(mallow, compile_sample):
    process = started(mallow, "--interval", "1ms", compile_sample("cornered"), "stack", "spin")
    text = read_reports(process, 3) + process.communicate("\n", timeout=60)[1]
    assert process.returncode == 7
    assert set(orders(text)) == {"size"} and "no report" not in text


def test_report_of_a_child_comes_when_it_ends(mallow, compile_sample):
    """Not when the program does, which may run for weeks."""
    process = started(mallow, "bash", "-c", f"{compile_sample('cornered')} descriptors; read; exit 7")
    text = read_reports(process, 1)
    assert orders(text) == ["size"]
    rest = process.communicate("\n", timeout=60)[1]
    assert process.returncode == 7 and "of cornered" not in rest


@pytest.mark.parametrize("how,why", [
    ("descriptors", "ended with status 126"),
    ("namespace", "no process can be started for it: Cannot allocate memory")])
def test_no_process_without_mallow_live(how, why, mallow, preload, compile_sample):
    """The library alone says why there is no report, and what to do, once."""
    ran = subprocess.run([*corner(compile_sample("cornered"), how), "signals"], capture_output=True,
                         text=True, env=preload(MODE="live", HELPER=mallow))
    assert ran.returncode == 7
    assert ran.stderr.startswith("mallow: no report: ") and why in ran.stderr, ran.stderr
    assert ran.stderr.endswith("; 'mallow live' makes reports in its stead\n")
    assert ran.stderr.count("\n") == 1
