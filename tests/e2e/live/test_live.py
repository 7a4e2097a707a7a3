"""MODE=live: the table of what is live, as an independent reader finds it (live_reader.py)."""
import math
import os
import signal
import subprocess
import time

import pytest

import expect
import live_reader
import mallow_reader
import mallow_sums
import real_programs
from cells import mostly_long
from conftest import clean_environment
from live_programs import KEEPER, by_function, check

PYTHON = "/usr/bin/python3"
SIMPLE = ["c_family", "glibc_family", "cpp_operators", "own_operator", "realloc_chain", "hand_over",
          "alone_and_together", "deep", "own_pieces", "life_cycle", "thread_local", "exceptions",
          "realloc_races", "live_threads"]
INNER = ["longjmp", "signal_handler", "fiber"]


class Ran:
    """A program that ran, and the tables that were kept of it, in their order."""

    def __init__(self, folder, run):
        self.run = run
        self.paths = sorted(folder.glob("*.mallow"), key=lambda path: int(path.name.split(".")[0]))
        self.tables = [live_reader.read(path) for path in self.paths]
        self.arguments = [path.with_suffix(".arguments").read_text().split() for path in self.paths]

    @property
    def table(self):
        """The last one: that of the end."""
        assert self.tables, self.run.stderr
        return self.tables[-1]


@pytest.fixture
def live(agent, tmp_path):
    """live(command, …): runs a program in MODE=live; the helper keeps its tables."""

    def run(command, settings=None, env=None, status=0, **options):
        folder = tmp_path / f"tables{len(list(tmp_path.iterdir()))}"
        environment = clean_environment(env)
        given = {"MODE": "live", "HELPER": KEEPER, "TEST_TABLES": folder, **(settings or {})}
        environment.update({f"MALLOW_{name}": str(value) for name, value in given.items()
                            if value is not None})
        environment["LD_PRELOAD"] = str(agent)
        result = subprocess.run([str(word) for word in command], env=environment, timeout=120,
                                capture_output=True, text=True, **options)
        assert result.returncode == status, result.stderr
        return Ran(folder, result)

    return run


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
@pytest.mark.parametrize("name", SIMPLE)
def test_sample(name, opt, compile_sample, live, functions_of):
    ran = live([compile_sample(name, "gcc", opt)], status=7)
    assert (ran.run.stdout, ran.run.stderr) == ("ok\n", "")
    check(ran.table, name, functions_of, "GLIBC")
    assert ran.table.header.lost == 0, ran.table.header.losses


@pytest.mark.parametrize("name", ["c_family", "realloc_chain", "hand_over", "life_cycle"])
def test_musl(name, compile_sample, live, functions_of):
    ran = live([compile_sample(name, "musl", "-O2")], status=7)
    assert ran.table.header.allocator == 2
    check(ran.table, name, functions_of)


@pytest.mark.parametrize("name", INNER)
def test_inside_the_allocator(name, compile_sample, inner_allocator, live, functions_of):
    """Signals, longjmp and fiber switches in the middle of malloc."""
    ran = live([compile_sample(name, "gcc", "-O2", inner_allocator)], status=7)
    check(ran.table, name, functions_of)
    losses = ran.table.header.losses
    assert sum(losses.values()) == losses["interrupted"], losses


@pytest.mark.parametrize("opt", ["-O0", "-O2"])
def test_stacks_that_cannot_be_read(opt, compile_sample, live, functions_of):
    """Pages of the stack that come and go, and callers beyond the end of a stack."""
    ran = live([compile_sample("hidden_stack", "gcc", opt), "7"], status=7)
    found = by_function(ran.table, functions_of)
    calls = [found[name].calls for name in ("allocate_open", "allocate_hidden")]
    assert calls == [int(number) for number in ran.run.stdout.split()]
    ran = live([compile_sample("switched_stack", "gcc", opt)], status=7)
    check(ran.table, "switched_stack", functions_of)
    losses = ran.table.header.losses
    assert sum(losses.values()) == losses["broken_stacks"] == (0 if opt == "-O0" else 500), losses


@pytest.mark.parametrize("name", ["pools", "marks", "tags"])
def test_what_programs_tell(name, compile_sample, live):
    """Pools, marks and tags are of recordings: a table is neither larger nor wrong for them."""
    ran = live([compile_sample(name, "gcc", "-O1")], status=7)
    ran.table.assert_consistent()
    assert ran.table.header.lost == 0
    assert {chunk.kind for chunk in ran.table.recording.chunks} == {1, 5}


def test_threads(compile_sample, live):
    """Who allocated, and who freed whose, to the block."""
    ran = live([compile_sample("live_threads", "gcc", "-O1")], status=7)
    threads = ran.table.per_thread()
    # Blocks of a thread's own start are the C library's; the sample's own are told by their number.
    assert threads["maker"][:2] == [1000, 100000]
    assert threads["maker"][2:] == [200, 20000, 600, 60000]
    assert threads["taker"] == [50, 50000, 300, 30000, 0, 0]
    assert threads["resizer"] == [120, 1000030000, 120, 1000020000, 20, 1000010000]
    assert threads["again"] == [21, 336, 0, 0, 0, 0]
    names = [thread.name for thread in ran.table.threads]
    assert names.count("again") == 1, "an ended thread's entry is the next one's of its name"
    freed = {(ran.table.threads[who].name, ran.table.threads[whose].name): sums
             for (who, whose), sums in ran.table.freed.items()}
    assert freed["taker", "maker"] == (300, 30000)
    assert freed["resizer", "maker"] == (100, 10000)


def test_python(live):
    ran = live([PYTHON, "-c", "x = [str(i) * 100 for i in range(1000)]; print(len(x))"])
    assert ran.run.stdout == "1000\n" and ran.run.stderr == ""
    ran.table.assert_consistent()
    assert ran.table.header.lost == 0
    assert max(len(ran.table.stack(site.node)) for site in ran.table.sites.values()) > 10


@pytest.mark.parametrize("name", mostly_long(real_programs.NAMES, len(real_programs.NAMES) - 1))
def test_real_programs(name, live, record, tmp_path):
    """They do what they do without; what a table says is what a recording of another run says."""
    command, environment = real_programs.command(name, tmp_path)
    bare = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env=clean_environment(environment), timeout=120)
    ran = live(command, env=environment)
    assert (ran.run.stdout, ran.run.stderr) == (bare.stdout, bare.stderr)
    recorded = record(command, env=environment)
    by_program = {table.recording.process[1]: table for table in ran.tables}
    for reader in recorded.readers:
        table = by_program[reader.process[1]]
        sums = mallow_sums.Sums(reader)
        assert table.header.lost == 0, table.header.losses
        assert not table.recording.damages and table.recording.dangling() == ([], [])
        if name == "node":  # its threads have their own time, and go on to the end
            continue
        table.assert_consistent()
        sites = table.sites.values()
        # The environment is longer by some words. clang's tables go by addresses, which are others in each run:
        # without that (setarch -R) it makes 39,982 calls each time, else 39,977 to 40,365.
        spread = 0.02 if name == "clang++" else 0.002
        assert sum(site.calls for site in sites) == pytest.approx(sums.calls, rel=spread, abs=20)
        assert sum(site.bytes for site in sites) == pytest.approx(sums.total_bytes, rel=max(spread, 0.01))
        # A table ends with exit(). A recording goes on: destructors free what libraries hold.
        ends = [fact["time"] for fact in reader.facts if fact["kind"] == "end"]
        freed_later = sum(isinstance(event, mallow_reader.Free) and event.time > ends[0]
                          for event in reader.events if ends)
        assert sum(site.calls - site.freed_calls for site in sites) == \
            pytest.approx(sums.leaked_blocks + freed_later, rel=0.01, abs=20)
        assert len(sites) == pytest.approx(len(sums.sites), rel=0.02, abs=20)


def test_a_running_program(compile_sample, preload):
    """/proc/PID/fd/N is a recording."""
    environment = preload(MODE="live", HELPER="/bin/true")
    program = subprocess.Popen([PYTHON, "-c", "import sys; x = bytearray(5000000); print(1, flush=True);"
                                "sys.stdin.read()"], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    with program:
        program.stdout.readline()
        table = live_reader.read_process(program.pid)
        table.assert_consistent()
        assert [block.size for block in table.blocks() if block.size >= 5000000]
        program.stdin.close()
    assert program.returncode == 0


# --- reports ---

ASKED = """
import os, signal, sys, time
if sys.argv[1] == "own":
    signal.signal(signal.SIGUSR1, lambda *_: print("own handler", flush=True))
kept = bytearray(1000001)
os.kill(os.getpid(), getattr(signal, sys.argv[2]))
time.sleep(0.5)
more = bytearray(1000002)
print("end", flush=True)
os._exit(0)
"""


def has_block(table, size):
    """Of Python's own: the block of a bytearray is one byte larger than that."""
    return size + 1 in [block.size for block in table.blocks()]


@pytest.mark.parametrize("name,sort", [("SIGUSR1", "size"), ("SIGUSR2", "count")])
def test_report_by_signal(live, name, sort):
    ran = live([PYTHON, "-c", ASKED, "none", name])
    assert ran.arguments == [["--sort", sort], []]
    assert [has_block(table, 1000001) for table in ran.tables] == [True, True]
    assert [has_block(table, 1000002) for table in ran.tables] == [False, True]
    assert ran.run.stdout == "end\n" and ran.run.stderr == ""


def test_report_by_a_signal_to_the_group(mallow, agent, tmp_path):
    """As `systemctl kill` sends it: to the process that makes the report, too, which goes on."""
    code = ("import os, signal, time\nkept = bytearray(1000001)\nfor _ in range(20):\n"
            "    os.killpg(0, signal.SIGUSR1)\n    time.sleep(0.01)\nprint('end')")
    run = subprocess.run([PYTHON, "-c", code], start_new_session=True, capture_output=True, text=True, env=clean_environment(
        {"LD_PRELOAD": agent, "MALLOW_MODE": "live", "MALLOW_HELPER": mallow, "MALLOW_OUTFILE": tmp_path / "report"}))
    assert (run.returncode, run.stdout, run.stderr) == (0, "end\n", "")
    assert (tmp_path / "report").read_text().count("live allocations of python3") >= 2


def test_own_handlers_are_called_behind(live):
    ran = live([PYTHON, "-c", ASKED, "own", "SIGUSR1"])
    assert ran.run.stdout == "own handler\nend\n"
    assert len(ran.tables) == 2


def test_other_signals(live):
    settings = {"SIGNAL_DUMP_SIZE": "none", "SIGNAL_DUMP_COUNT": "RTMIN+1"}
    ran = live([PYTHON, "-c", ASKED, "own", "SIGUSR1"], settings=settings)
    assert ran.run.stdout == "own handler\nend\n" and len(ran.tables) == 1
    ran = live([PYTHON, "-c", ASKED, "none", "SIGUSR1"], settings=settings, status=-signal.SIGUSR1)
    assert not ran.tables, "what nobody took for ours ends the program"


def test_baseline(live):
    """What was allocated before counts no more, nor does its end."""
    program = """
import os, signal, time
kept = [bytearray(1000001) for _ in range(10)]
os.kill(os.getpid(), signal.SIGUSR1)
del kept[:5]
more = [bytearray(2000001) for _ in range(3)]
del more[0]
os._exit(0)
"""
    ran = live([PYTHON, "-c", program], settings={"SIGNAL_BASELINE": "USR1",
                                                  "SIGNAL_DUMP_SIZE": "none"})
    ran.table.assert_consistent()
    assert ran.table.baselines == 1 and ran.table.base_ticks > ran.table.header.ticks
    large = [block.size for block in ran.table.blocks() if block.size > 1000000]
    assert large == [2000002, 2000002]
    assert [(site.calls, site.freed_calls) for site in ran.table.sites.values()
            if site.bytes > 1000000] == [(3, 1)]


def test_reports_by_the_clock(live):
    program = ("import time\nend = time.monotonic() + 1.5\n"
               "while time.monotonic() < end: x = [str(i) for i in range(100)]; time.sleep(0.001)")
    ran = live([PYTHON, "-c", program], settings={"INTERVAL": "300ms"})
    assert 2 <= len(ran.tables) <= 6  # 5 and that of the end, on a machine that has the time
    ran = live([PYTHON, "-c", program], settings={"INTERVAL": "1h"})
    assert len(ran.tables) == 1


def test_nothing_is_seen_of_the_helper(live, tmp_path):
    """Neither by wait(), nor by SIGCHLD, nor as open descriptors."""
    program = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, lambda *_: print("a child ended"))
reading, writing = os.pipe()
os.set_inheritable(writing, True)
os.kill(os.getpid(), signal.SIGUSR1)
os.close(writing)
print(os.read(reading, 1))
time.sleep(0.5)
try:
    os.wait()
except ChildProcessError:
    print("no children")
"""
    slow = tmp_path / "slow.sh"
    slow.write_text(f"#!/bin/sh\nexec {KEEPER} \"$@\"\n")
    slow.chmod(0o755)
    ran = live([PYTHON, "-c", program], settings={"HELPER": slow})
    assert ran.run.stdout == "b''\nno children\n"
    assert len(ran.tables) == 2


def test_keepers_do_not_stay(live):
    program = """
import os, signal, time
os.kill(os.getpid(), signal.SIGUSR1)
while not (children := open("/proc/self/task/%d/children" % os.getpid()).read()):
    pass
end = time.monotonic() + 30
while children and time.monotonic() < end:
    x = [str(i) for i in range(1000)]
    time.sleep(0.01)
    children = open("/proc/self/task/%d/children" % os.getpid()).read()
print(children == "")
"""
    assert live([PYTHON, "-c", program]).run.stdout == "True\n"


def test_no_helper(live):
    ran = live([PYTHON, "-c", "print(1)"], settings={"HELPER": "/nowhere/mallow"})
    assert ran.run.stdout == "1\n"
    assert ran.run.stderr == ("mallow: no report: '/nowhere/mallow' cannot be executed; "
                              "MALLOW_HELPER names the tool\n")


def test_the_helpers_environment(live, tmp_path):
    """The settings as they were given, whatever became of the program's, and no preload."""
    show = tmp_path / "show.sh"
    show.write_text("#!/bin/sh\nenv | sort >&2\nls /proc/self/fd >&2\n")
    show.chmod(0o755)
    program = "import os; os.environ.clear(); os.environ['MALLOW_TOP'] = '3'; os._exit(0)"
    ran = live([PYTHON, "-c", program], settings={"HELPER": show, "TOP": "17"},
               env={"SECRET": "1", "HOME": "/somewhere"})
    lines = ran.run.stderr.splitlines()
    assert "MALLOW_TOP=17" in lines and "MALLOW_MODE=live" in lines and "HOME=/somewhere" in lines
    assert not [line for line in lines if "PRELOAD" in line or "SECRET" in line]
    descriptors = [int(line) for line in lines if line.isdigit()]
    assert descriptors[:3] == [0, 1, 2] and len(descriptors) == 5  # and ls's own, and the table


def storm(compile_sample, preload, functions_of, tmp_path, milliseconds, limits=None):
    environment = preload(MODE="live", HELPER=KEEPER, TEST_TABLES=tmp_path / "tables")
    program = subprocess.Popen([compile_sample("live_storm", "gcc", "-O2"), str(milliseconds)],
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with program:
        assert program.stdout.readline() == b"running\n"
        sent = 0
        while program.poll() is None:
            program.send_signal([signal.SIGUSR1, signal.SIGUSR2][sent % 2])
            sent += 1
            time.sleep(0.01)
        assert program.returncode == 7, program.stderr.read()
        assert (program.stdout.read(), program.stderr.read()) == (b"ok\n", b"")
    tables = sorted((tmp_path / "tables").glob("*.mallow"),
                    key=lambda path: int(path.name.split(".")[0]))
    assert len(tables) >= 3 and sent >= milliseconds / 100
    for path in tables[:-1:max(1, len(tables) // 10)]:
        assert live_reader.read(path).sites
    table = live_reader.read(tables[-1])
    check(table, "live_storm", functions_of)
    assert table.header.lost == 0, table.header.losses


def test_storm(compile_sample, preload, functions_of, tmp_path):
    """A report every 10 ms while eight threads allocate: nobody is hurt, and all is counted."""
    storm(compile_sample, preload, functions_of, tmp_path, 1500)


@pytest.mark.long
def test_storm_of_a_minute(compile_sample, preload, functions_of, tmp_path):
    storm(compile_sample, preload, functions_of, tmp_path, 60000)


# --- switched off, samples, and no stacks ---

@pytest.mark.parametrize("settings", [{}, {"SIGNAL_TOGGLE": "RTMIN"}], ids=["surprise", "known"])
def test_switched(settings, compile_sample, live, functions_of):
    """While it is off nothing begins, but what is there ends, or goes on."""
    ran = live([compile_sample("switched", "gcc", "-O2")], settings=settings, status=7)
    check(ran.table, "switched", functions_of)


def test_off_at_first(live):
    """Nothing is made before it is started."""
    program = ("import os, signal, time\n"
               "print(any('mallow-live' in os.readlink(f'/proc/self/fd/{fd}') for fd in "
               "os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')))\n"
               "os.kill(os.getpid(), signal.SIGRTMIN)\nx = bytearray(1000001)\nos._exit(0)")
    ran = live([PYTHON, "-uc", program], settings={"DISABLE_BY_DEFAULT": 1, "SIGNAL_TOGGLE": "RTMIN"})
    assert ran.run.stdout == "False\n"
    assert has_block(ran.table, 1000001)
    assert not live([PYTHON, "-c", ""], settings={"DISABLE_BY_DEFAULT": 1}).tables


def test_samples_estimate_without_bias(compile_sample, live, functions_of):
    """Over many tables the mean is what was there; each is consistent in itself."""
    program = compile_sample("live_threads", "gcc", "-O1")
    calls, leaked = [], []
    for _ in range(40):
        ran = live([program], settings={"SAMPLE": 1000}, status=7)
        table = ran.table
        table.assert_consistent()
        make = by_function(table, functions_of)["make"]
        calls.append(make.calls / table.unit)
        leaked.append(make.leaked_bytes)
        # 1,000 blocks of 100 bytes: one in ten or so is a sample.
        assert abs(calls[-1] - 1000) < 6 * 300
    # The standard deviation of one is sqrt(n (1 - p) / p), with p = 1 - exp(-0.1): about 97.
    assert abs(sum(calls) / len(calls) - 1000) < 4 * 97 / len(calls) ** 0.5
    # 400 of them, of 100 bytes, are left.
    assert abs(sum(leaked) / len(leaked) - 40000) < 4 * 6200 / len(leaked) ** 0.5


def test_a_sample_of_everything(compile_sample, live, functions_of):
    """At a mean of a byte every block is a sample, and counts for itself."""
    ran = live([compile_sample("live_threads", "gcc", "-O1")], settings={"SAMPLE": 1}, status=7)
    ran.table.assert_consistent()
    found = by_function(ran.table, functions_of)
    assert (found["make"].calls / ran.table.unit, found["make"].total_bytes) == (1000, 100000)
    assert found["take"].leaked_bytes == 50000
    assert sum(block.size for block in ran.table.blocks()) >= 110336


def check_estimates(table, functions_of, sizes, **known):
    """known: {function: (how many blocks of those sizes it allocated, how many are left)}, 5 standard
    deviations about, as in test_sample.py."""
    table.assert_consistent()
    assert table.header.lost == 0, table.header.losses
    found = by_function(table, functions_of)
    for name, counts in known.items():
        p = -math.expm1(-sizes / table.header.sample_mean)
        for count, estimate in zip(counts, (found[name].calls, found[name].leaked_blocks)):
            assert abs(estimate / table.unit - count) <= 5 * (count * (1 - p) / p) ** 0.5, \
                (name, estimate / table.unit, counts)


@pytest.mark.parametrize("compiler", ["gcc", "musl"])
def test_samples_count_once(compiler, compile_sample, live, functions_of):
    """By whatever functions of the allocator a block comes, and whichever of two blocks of a realloc
    is a sample."""
    ran = live([compile_sample("sampled_calls", compiler, "-O1")], settings={"SAMPLE": "8K"}, status=7)
    known = {f"call_{name}": (20000, 10000) for name in (
        "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "posix_memalign")}
    check_estimates(ran.table, functions_of, 96, **known)
    check_estimates(ran.table, functions_of, 48, call_resize=(40000, 10000))


@pytest.mark.parametrize("extra", [[], ["-DOWN"]])
def test_samples_of_operators_count_once(extra, compile_sample, live, functions_of):
    ran = live([compile_sample("sampled_operators", "gcc", "-O1", extra)], settings={"SAMPLE": "8K"},
               status=7)
    known = {f"call_{name}": (20000, 10000) for name in (
        "new", "new_array", "new_nothrow", "new_aligned", "new_sized")}
    check_estimates(ran.table, functions_of, 96, **known)


def test_samples_of_operators_that_ask_others_count_once(compile_sample, live, functions_of):
    """What they do besides allocates, too, and is freed."""
    program = compile_sample("sampled_operators", "gcc", "-O1", ["-DOWN_BY_OTHERS"])
    ran = live([program], settings={"SAMPLE": "8K"}, status=7)
    ran.table.assert_consistent()
    found = by_function(ran.table, functions_of)
    p = -math.expm1(-96 / 8192)
    for name in "call_new", "call_new_array", "call_new_nothrow", "call_new_sized":
        left = found[name].leaked_blocks / ran.table.unit
        assert abs(left - 10000) <= 5 * (10000 * (1 - p) / p) ** 0.5, (name, left)


def test_samples_ask_the_programs_operators(compile_sample, live):
    """What is passed over is handed to them all the same: the program counts its calls."""
    ran = live([compile_sample("own_operator", "gcc", "-O1")], settings={"SAMPLE": "1G"}, status=7)
    assert ran.run.stderr == ""


def test_samples_end_elsewhere(compile_sample, live, functions_of):
    """Freed by another thread, resized: no sample stays whose end was passed over."""
    ran = live([compile_sample("sampled", "gcc", "-O2")], settings={"SAMPLE": "64K"})
    check_estimates(ran.table, functions_of, 64, small=(160000, 80000))
    check_estimates(ran.table, functions_of, 6000, middle=(8000, 8000))
    found = by_function(ran.table, functions_of)
    assert round(found["large"].calls / ran.table.unit) == 80
    assert (found["large"].leaked_blocks, found["grow"].leaked_blocks) == (0, 0)


def test_samples_when_code_is_unloaded(compile_sample, live, functions_of):
    """The loader's frees tell when that is, and are hardly ever samples themselves."""
    library = ["-shared", "-fPIC", "-DSIZE=8000000"]
    libraries = [compile_sample(name, "gcc", "-O1", library) for name in ("reload_alpha", "reload_beta")]
    ran = live([compile_sample("reload", "gcc", "-O1"), *libraries], settings={"SAMPLE": "256K"}, status=7)
    assert ran.run.stdout == "same address\n"
    ran.table.assert_consistent()
    found = by_function(ran.table, functions_of)
    assert {name: round(found[name].calls / ran.table.unit) for name in ("alpha_inner", "beta_inner")} == \
        {"alpha_inner": 22, "beta_inner": 11}


def test_samples_when_code_is_unloaded_after_a_baseline(compile_sample, live, functions_of):
    """Samples are forgotten then, but not which of the loader's frees tell."""
    library = ["-shared", "-fPIC", "-DSIZE=8000000"]
    libraries = [compile_sample(name, "gcc", "-O1", library) for name in ("reload_alpha", "reload_beta")]
    ran = live([compile_sample("reload", "gcc", "-O1"), *libraries, "forget"], status=7,
               settings={"SAMPLE": "256K", "SIGNAL_BASELINE": "USR1", "SIGNAL_DUMP_SIZE": "none"})
    assert ran.run.stdout == "same address\n"
    assert ran.table.baselines == 1
    ran.table.assert_consistent()
    found = by_function(ran.table, functions_of)
    assert {name: round(found[name].calls / ran.table.unit) for name in ("alpha_inner", "beta_inner")} == \
        {"alpha_inner": 12, "beta_inner": 11}


def test_samples_switched(compile_sample, live, functions_of):
    """While it is off nothing begins, but a sample ends, also by a thread that begins then. At a mean of a
    byte nearly each block is one."""
    ran = live([compile_sample("switched", "gcc", "-O2")], settings={"SAMPLE": 1}, status=7)
    ran.table.assert_consistent()
    found = by_function(ran.table, functions_of)
    for name, fields in expect.expectations("switched").items():
        assert (found[name].calls / ran.table.unit, found[name].total_bytes, found[name].leaked_blocks) == \
            (fields["calls"], fields["total_bytes"], fields["leaked_blocks"] * ran.table.unit), name


@pytest.mark.parametrize("name", ["live_threads", "live_storm", "realloc_races", "cpp_operators"])
def test_without_stacks(name, compile_sample, live):
    """The sums of all threads are exact, and the only site there is has them."""
    ran = live([compile_sample(name, "gcc", "-O1")], settings={"BACKTRACE": "none"}, status=7)
    table = ran.table
    blocks = list(table.blocks())
    assert len(table.nodes) == 1 and not table.sites
    assert {block.site for block in blocks} <= {1} and not any(block.time for block in blocks)
    freed = [sum(column) for column in zip(*table.freed.values())]
    assert sum(thread.calls for thread in table.threads) - freed[0] == len(blocks)
    assert sum(thread.bytes for thread in table.threads) - freed[1] == \
        sum(block.size for block in blocks)
    if name == "live_threads":
        assert table.per_thread()["taker"] == [50, 50000, 300, 30000, 0, 0]


# --- memory ---

FILL = """
import sys, ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
count, size = int(sys.argv[1]), int(sys.argv[2])
for _ in range(count):
    libc.malloc(ctypes.c_size_t(size))
print("full", flush=True)
sys.stdin.read()
"""


def table_memory(preload, count, size):
    """Bytes that the kernel gave to a table with so many blocks, and those blocks with all that
    the allocator adds."""
    program = subprocess.Popen([PYTHON, "-c", FILL, str(count), str(size)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=preload(MODE="live", HELPER="/bin/true"))
    with program:
        program.stdout.readline()
        path, = [f"/proc/{program.pid}/fd/{name}" for name in os.listdir(f"/proc/{program.pid}/fd")
                 if "mallow-live" in os.readlink(f"/proc/{program.pid}/fd/{name}")]
        memory = os.stat(path).st_blocks * 512
        program.stdin.close()
    return memory


@pytest.mark.parametrize("size", [8, 24, 56, 120, 200, 240, 330, 500, 600, 1000, 3000, 9000, 31000,
                                  40000, 130000])
def test_memory_is_bounded(size, preload):
    """30 % of the heap and 48 bytes a block at most, whatever the blocks are like, beyond what any
    table has."""
    few, many = 1000, max(2000, 40_000_000 // (size + 16))
    added = table_memory(preload, many, size) - table_memory(preload, few, size)
    heap = (many - few) * (max(size + 8, 32) + 15 & ~15)
    pages = 8 * 4096  # that are not full
    assert added <= 0.30 * heap + pages, (added, heap)
    assert added <= 48 * (many - few) + pages, added / (many - few)


def test_memory_goes_by_what_is_live(preload):
    """Many small blocks, each time elsewhere, what the table had for them serves the next ones,
    and each block is where it should be."""
    program = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype, libc.free.argtypes = [ctypes.c_size_t], ctypes.c_void_p, [ctypes.c_void_p]
libc.mallopt(-4, 0)  # M_MMAP_MAX: what is large comes from the heap, too
for round in range(30):
    blocks = [libc.malloc(40) for _ in range(10000)]
    for block in blocks:
        libc.free(block)
    libc.malloc(470000)  # where they were
print(libc.malloc(123456), flush=True)
sys.stdin.readline()
"""
    process = subprocess.Popen([PYTHON, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=preload(MODE="live", HELPER="/bin/true"))
    with process:
        kept = int(process.stdout.readline())
        table = live_reader.read_process(process.pid)
        process.kill()
        blocks = {block.address: block.size for block in table.blocks()}
        assert blocks[kept] == 123456
        assert sum(size == 470000 for size in blocks.values()) == 30
        # 480 groups for each round's blocks.
        assert 0 < table.full_groups_made() < 3000


def test_nothing_grows_with_time(preload):
    """Threads that come and go, blocks that come and go, names that change: the table stays."""
    program = """
import threading, sys
def work(number):
    blocks = [bytearray(100 + i % 50) for i in range(200)]
for round in range(3):
    for number in range(150):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    print(round, flush=True)
    sys.stdin.readline()
"""
    process = subprocess.Popen([PYTHON, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=preload(MODE="live", HELPER="/bin/true"))
    sizes = []
    with process:
        for _ in range(3):
            process.stdout.readline()
            table = live_reader.read_process(process.pid)
            sizes.append((len(table.nodes), len(table.threads), len(table.recording.chunks)))
            process.stdin.write(b"\n")
            process.stdin.flush()
    # Python goes on before a thread has quite ended: on a busy machine several of 450 are about to.
    assert max(sizes[1][1], sizes[2][1]) <= 32
    assert sizes[2][2] <= sizes[1][2] + 1 and sizes[2][0] <= sizes[1][0] * 1.1
