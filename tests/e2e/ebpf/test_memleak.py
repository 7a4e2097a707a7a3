"""mallow memleak: what a running process has allocated and not freed."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import expect
from conftest import clean_environment, need
from traced_process import Memleak, Target, by_keeper, functions, need_bpf

ALL = ("-o", "0", "-T", "0")


@pytest.fixture(autouse=True)
def bpf():
    need_bpf()


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])


@pytest.fixture(scope="module")
def wanted():
    stated = expect.expectations("outstanding", "GLIBC")
    assert len(stated) > 15
    return {name: (fields["bytes"], fields["blocks"]) for name, fields in stated.items()}


def assert_sound(report):
    assert report["whole_stacks"] == report["stack_count"] == len(report["stacks"])
    assert report["warnings"] == []
    for stack in report["stacks"]:
        assert functions(stack)[-1] in ("_start", "clone3", "__clone3"), functions(stack)


@pytest.mark.parametrize("options", [(), ("--probes", "multi"), ("--probes", "perf"), ("-C",)])
def test_every_function_is_counted_to_the_byte(mallow, program, wanted, options):
    """What fails allocates nothing, what is nested counts once, and of mappings what is left."""
    ages = () if "-C" in options else ("-o", "0")
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, "-T", "0", *ages,
                                              *options) as memleak:
        target.do("all")
        report = memleak.report()
    assert by_keeper(report) == wanted
    assert report["bytes"] == sum(size for size, _ in wanted.values())
    assert_sound(report)


def test_twice_on_threads_and_what_is_freed(mallow, program, wanted):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("all", "thread", "2000", "thread", "all")
        report = memleak.report()
    doubled = {name: (size * 2, count * 2) for name, (size, count) in wanted.items()}
    doubled["keep_malloc"] = (4 * 1001, 4)
    found = by_keeper(report)
    # A thread's own memory is allocated by pthread_create, and kept for the next one.
    assert {name: found[name] for name in doubled} == doubled
    (kept,) = [s for s in report["stacks"] if "run_thread" in functions(s) and "keep_malloc" not in functions(s)]
    assert kept["allocations"] == 1 and len(found) == len(doubled) + 1
    assert_sound(report)


def test_what_an_allocator_maps_for_itself_does_not_count(mallow, program):
    """Within malloc it is nested; free of a thread's first block maps an arena, too."""
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("freeing-thread")
        report = memleak.report()
    # What is left is the thread's own memory.
    (stack,) = report["stacks"]
    assert "run_freeing_thread" in functions(stack) and stack["bytes"] < 1000


def test_stacks_have_the_whole_way_to_main(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("all")
        report = memleak.report()
    strdup = next(s for s in report["stacks"] if "keep_strdup" in functions(s))
    assert functions(strdup)[:2] == ["strdup", "keep_strdup"] and "main" in functions(strdup)
    assert functions(strdup)[-1] == "_start"


def test_a_stack_that_is_too_deep_says_so(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("deep")
        report = memleak.report()
    (stack,) = report["stacks"]
    assert (stack["bytes"], stack["allocations"], stack["whole"]) == (31, 1, False)
    assert "deeper than is kept" in stack["cut"]
    assert len(stack["frames"]) == 256 and report["whole_stacks"] == 0


def test_bounds_are_inclusive(mallow, program, wanted):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "-z", "505", "-Z",
                                              "1010") as memleak:
        target.do("all")
        report = memleak.report()
    within = {name: sums for name, sums in wanted.items()
              if 505 <= sums[0] // sums[1] <= 1010}
    assert len(within) == 6 + 1
    assert by_keeper(report) == within


def test_a_filter_loses_nothing(mallow, program):
    """A call that is not recorded is over, though its return address is still on the stack."""
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "-z", "1000") as memleak:
        target.do("cover")
        report = memleak.report()
    assert by_keeper(report) == {"keep_below_old_frames": (5_000_000, 1000)}


def test_signal_handlers_on_a_stack_that_lies_higher(mallow, program, tmp_path):
    """For the kernel the call that is interrupted would be over; its return would kill the process. Return
    probes of other tests at the same place of the same file do that, too: the program has a libc of its own."""
    libc = next(line.split()[-1] for line in open("/proc/self/maps") if "/libc.so.6" in line)
    shutil.copy(libc, tmp_path / "libc.so.6")
    with Target([program], environment={"LD_LIBRARY_PATH": str(tmp_path)}) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("interrupted", "leak")
        report = memleak.report()
    assert by_keeper(report)["keep_malloc"] == (1001, 1)
    assert "keep_large" not in by_keeper(report)


@pytest.mark.parametrize("way", ["session", "multi", "perf"])
def test_stacks_of_threads_do_not_count(mallow, program, way):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "--probes", way) as memleak:
        target.do("thread")
        report = memleak.report()
    assert report["bytes"] < 3000


def test_a_busy_process_does_not_keep_it_from_ending(mallow, program):
    """Lines of -t come faster than they are printed; signals and the end of the time still count."""
    with Target([program]) as target:
        target.process.stdin.write("100000000\n")
        target.process.stdin.flush()
        run = subprocess.run([str(mallow), "memleak", "-t", "-p", str(target.pid), "0.5", "1"],
                             stdout=subprocess.DEVNULL, timeout=30, env=clean_environment())
        assert run.returncode == 0
        with open(os.devnull, "w") as nothing:
            memleak = subprocess.Popen([str(mallow), "memleak", "-t", "-p", str(target.pid)], stdout=nothing)
            time.sleep(1)
            memleak.send_signal(signal.SIGINT)
            assert memleak.wait(timeout=30) == 0


def test_a_command_that_ignores_signals_is_ended(mallow):
    run = run_text(mallow, "-c", "sh -c 'trap \"\" TERM; while :; do sleep 1; done'", "0.2", "1")
    assert run.returncode == 0


def test_samples_are_scaled_up(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "-s", "10") as memleak:
        target.do(*["leak"] * 20000)
        report = memleak.report()
    assert report["sample_rate"] == 10
    # The standard deviation is 2 %.
    assert 0.87 < report["allocations"] / 20000 < 1.13
    assert report["bytes"] == 1001 * report["allocations"]
    assert report["allocations"] % 10 == 0


def test_young_ones_are_left_out(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, "-o", "600000") as memleak:
        target.do("all")
        report = memleak.report()
    assert report["stacks"] == [] and report["bytes"] == 0 and report["young_allocations"] == 31


def test_addresses_are_listed(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "-a") as memleak:
        target.do("all")
        report = memleak.report()
    sizes = [block["size"] for block in report["blocks"]]
    assert sizes == sorted(sizes) and len(sizes) == 31 and sum(sizes) == report["bytes"]
    assert len({block["address"] for block in report["blocks"]}) == 31


def test_top_and_order(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, "-o", "0", "-T", "2",
                                              "--sort", "count") as memleak:
        target.do("all")
        report = memleak.report()
    assert [s["allocations"] for s in report["stacks"]] == [13, 2]
    assert report["stack_count"] == 18


def test_tables_that_are_full_say_so(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "--blocks",
                                              "100") as memleak:
        target.do(*["leak"] * 5000)
        report = memleak.report()
    (warning,) = report["warnings"]
    lost = int(warning.split()[0].replace(",", ""))
    assert "the table of live blocks was full" in warning and "--blocks" in warning
    assert report["allocations"] + lost == 5000


def test_stacks_without_room_are_counted(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "--stack-storage-size",
                                              "1") as memleak:
        target.do("all")
        report = memleak.report()
    assert report["bytes"] == 2660350
    assert any(not stack["frames"] for stack in report["stacks"])
    assert any("--stack-storage-size" in warning for warning in report["warnings"])


def test_code_without_room_is_counted(mallow, program):
    with Target([program]) as target:
        target.do("code")
        with Memleak(mallow, "-p", target.pid, *ALL) as memleak:
            target.do("leak")
            report = memleak.report()
    (warning,) = report["warnings"]
    assert "pieces of code have no unwind tables" in warning
    # Five thousand, and the program's few files, are more than 4,096.
    assert 900 <= int(warning.split()[0].replace(",", "")) < 1000
    # Code in files is not what is left out.
    assert report["bytes"] == 1001 and report["whole_stacks"] == 1


def test_no_stacks(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL,
                                              "--perf-max-stack-depth", "0") as memleak:
        target.do("all")
        report = memleak.report()
    assert report["bytes"] == 2660350 and report["allocations"] == 31


def test_each_call_is_printed(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-t", "-p", target.pid, json=False) as memleak:
        target.do("leak", "2")
        out = memleak.end()
    lines = re.findall(r"^outstanding-(\d+) +\[\d{3}\] \d+\.\d{6}: (.*)$", out, re.M)
    assert {int(tid) for tid, _ in lines} == {target.pid}
    texts = [text for _, text in lines]
    assert texts[0] == "alloc entered, size = 1001"
    assert re.fullmatch(r"alloc exited, size = 1001, result = [0-9a-f]+", texts[1])
    assert texts[2] == "alloc entered, size = 64"
    address = re.fullmatch(r"alloc exited, size = 64, result = ([0-9a-f]+)", texts[3])[1]
    assert texts[4] == f"free entered, address = {address}, size = 64"
    assert len(texts) == 8 and "Top" not in out


def test_lines_of_realloc_and_of_what_is_recorded_only(mallow, program):
    """A script that pairs the lines finds what is outstanding."""
    with Target([program]) as target, Memleak(mallow, "-t", "-z", "77", "-Z", "5000", "-p", target.pid,
                                              json=False) as memleak:
        target.do("all")
        out = memleak.end()
    live = {}
    for line in out.splitlines():
        exited = re.search(r"alloc exited, size = (\d+), result = ([0-9a-f]+)", line)
        freed = re.search(r"free entered, address = ([0-9a-f]+), size = (\d+)", line)
        if exited and exited[2] not in ("0", "f" * 16):
            live[exited[2]] = int(exited[1])
        if freed and int(freed[2]) <= 5000:
            assert live.pop(freed[1]) == int(freed[2])
    # A mremap that failed is not taken back in the lines.
    assert sorted(live.values()) == [77, 303, 505, 606, 704, 808, 909, 1001, 1010, 1212, 4040]


def test_lines_that_are_missing_are_counted(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-t", "-p", target.pid, json=False) as memleak:
        memleak.process.send_signal(signal.SIGSTOP)
        target.do("50000")
        memleak.process.send_signal(signal.SIGCONT)
        out = memleak.end()
    printed = len(re.findall(r"^outstanding-", out, re.M))
    missing = re.search(r"^WARNING: (\d+) lines are missing", out, re.M)
    assert printed > 1000 and printed + int(missing[1]) == 150000


def run_text(mallow, *arguments, **options):
    return subprocess.run([str(mallow), "memleak", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, env=clean_environment(), **options)


def test_a_command_is_traced_from_its_first_allocation(mallow, program):
    run = run_text(mallow, "-o", "0", "-T", "0", "-c", f"{program}", input="leak\nend\n")
    assert run.returncode == 7, run.stderr
    assert f"Executing '{program}' and tracing the resulting process.\n" in run.stdout
    assert "Top 1 stacks with outstanding allocations:\n\t1001 bytes in 1 allocations from stack\n" \
        "\t\tkeep_malloc+0x" in run.stdout
    assert "(outstanding) has ended." in run.stdout


def test_age_does_not_count_once_the_process_has_ended(mallow, program):
    run = run_text(mallow, "-c", str(program), input="leak\nend\n")
    assert "\t1001 bytes in 1 allocations from stack\n" in run.stdout
    run = run_text(mallow, "-o", "500", "-c", str(program), input="leak\nend\n")
    assert "\tIn all 0 bytes in 0 allocations from 0 stacks.\n" in run.stdout
    assert "\tNot shown: 1 allocations younger than 500 ms (-o).\n" in run.stdout


def test_a_command_has_arguments_and_quotes(mallow, program, tmp_path):
    run = run_text(mallow, "-c", f"{need('sh')} -c 'printf %s \"$1 $2\" >{tmp_path}/said; exit 3' x 'a  b' c")
    assert run.returncode == 3, run.stderr
    assert (tmp_path / "said").read_text() == "a  b c"
    assert run_text(mallow, "-c", "/nonexistent/program").returncode == 127
    assert run_text(mallow, "-c", "a | b").returncode == 2
    (tmp_path / "data").write_text("no program")
    assert run_text(mallow, "-c", f"{tmp_path}/data").returncode == 126


def test_a_command_that_cannot_be_traced_is_ended(mallow, program, tmp_path):
    mine = shutil.copy(program, tmp_path / "mine")
    run = run_text(mallow, "-c", str(mine), "-O", "nosuchlibrary")
    assert run.returncode == 1 and "nosuchlibrary" in run.stderr
    assert not subprocess.run([need("pgrep"), "-f", f"^{mine}$"], capture_output=True).stdout


def test_the_end_of_the_process_is_noticed(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("all")
        target.process.stdin.write("end\n")
        target.process.stdin.flush()
        out = memleak.output()
    assert f"Process {target.pid} (outstanding) has ended.\n" in memleak.notes
    assert by_keeper(json.loads(out.splitlines()[-1]))["keep_large"] == (2600000, 13)


def test_reports_come_as_often_as_asked(mallow, program):
    with Target([program]) as target:
        run = run_text(mallow, "-p", target.pid, "0.2", "3")
    assert run.returncode == 0 and run.stderr == ""
    assert len(re.findall(r"^\[\d\d:\d\d:\d\d\] Top 0 stacks with outstanding allocations:$", run.stdout,
                          re.M)) == 3


def test_another_program_is_traced_from_then_on(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("all")
        target.process.stdin.write("exec\n")
        target.process.stdin.flush()
        memleak.wait_for(f"Process {target.pid} executes {program} now.")
        memleak.wait_for("Probing")
        target.wait_until_ready()
        target.do("leak", "leak")
        report = memleak.report()
    assert by_keeper(report) == {"keep_malloc": (2002, 2)}


def fork(target):
    """Lets the target fork, and returns the child's PID. The child waits for SIGUSR1."""
    target.process.stdin.write("fork\n")
    target.process.stdin.flush()
    while True:
        with open(f"/proc/{target.pid}/task/{target.pid}/children") as children:
            found = children.read().split()
        if found:
            return int(found[0])
        time.sleep(0.01)


def run_child(target, child):
    os.kill(child, signal.SIGUSR1)
    assert target.process.stdout.readline() == "done fork\n"


@pytest.mark.parametrize("first", ["fork", "attach"])
def test_children_are_followed(mallow, program, first):
    """Those that are there already, and those that it forks."""
    with Target([program]) as target:
        child = fork(target) if first == "fork" else None
        with Memleak(mallow, "-p", target.pid, *ALL, "--follow") as memleak:
            child = child or fork(target)
            memleak.wait_for(f"Process {child} (outstanding), a child, is traced, too.")
            run_child(target, child)
            out = memleak.end()
    report = next(r for r in map(json.loads, out.splitlines()) if r["pid"] == child)
    assert report["ended"] and report["name"] == "outstanding"
    assert by_keeper(report) == {"keep_malloc": (1001, 1), "keep_mmap": (8192, 1)}


def test_children_that_are_not_followed_are_counted(mallow, program):
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        run_child(target, fork(target))
        memleak.end()
    assert "1 child of it is not traced (--follow).\n" in memleak.notes


def test_libraries_that_are_opened_later(mallow):
    """Their code has names, and stacks through it are whole. Until mallow has read their tables, which takes
    some milliseconds, and longer if they come from a disk, stacks end there and say so."""
    subprocess.run(["/usr/bin/python3", "-c", "import sqlite3"], check=True)
    script = ("import sys\nprint('ready', flush=True)\nsys.stdin.readline()\n"
              "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t (x)')\n"
              "print('opened', flush=True)\nsys.stdin.readline()\n"
              "c.executemany('insert into t values (?)', [('x' * 3000,)] * 300)\n"
              "print('filled', flush=True)\nsys.stdin.readline()\n")
    python = subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=clean_environment())
    try:
        assert python.stdout.readline() == "ready\n"
        with Memleak(mallow, "-p", python.pid, *ALL, interval=0.3) as memleak:
            for said in ("opened", "filled"):
                python.stdin.write("\n")
                python.stdin.flush()
                assert python.stdout.readline() == f"{said}\n"
                # The first may have begun before; the second one comes after the tables are read.
                memleak.next_report()
                report = memleak.next_report()
    finally:
        python.kill()
        python.communicate()
    lite = [s for s in report["stacks"]
            if any(f["module"] and f["module"].startswith("libsqlite3") for f in s["frames"])]
    pages = max(lite, key=lambda s: s["bytes"])
    assert pages["bytes"] > 900_000 and pages["whole"]
    assert functions(pages)[-1] == "_start"
    for stack in report["stacks"]:
        assert stack["whole"] or stack["cut"].startswith("code that was mapped just before"), stack


@pytest.mark.parametrize("arguments, words, status", [
    (("-p", "4194304"), "no process has the PID 4194304", 1),
    (("-p", "2"), "kernel", 1),
    (("-p", "0"), "no value of --pid", 2),
    (("-p", "1", "-z", "5", "-Z", "4"), "min_size (-z) can't be greater than max_size (-Z)", 2),
    (("-p", "1", "-C", "-o", "5"), "--older and --combined-only exclude each other", 2),
    (("-p", "1", "-O", "nosuchlibrary"), "nosuchlibrary", 1),
    (("-p", "1", "-S", "nope_"), "is called nope_malloc", 1),
    (("-p", "1", "x"), "'x' is no number of seconds", 2),
    (("-p", "1", "1", "0"), "'0' is no number of reports", 2),
    (("-p", "1", "--percpu"), "--percpu is about the kernel's memory", 2),
    (("-p", "1", "--all-pages"), "--all-pages is about the kernel's memory", 2),
])
def test_what_is_refused(mallow, program, arguments, words, status):
    with Target([program]) as target:
        arguments = [target.pid if word == "1" and before == "-p" else word
                     for before, word in zip(("", *arguments), arguments)]
        run = run_text(mallow, *arguments)
    assert run.returncode == status
    assert words in run.stderr and run.stderr.count("\n") == 1 and run.stderr.startswith("mallow: ")


@pytest.mark.parametrize("dropped, named", [
    ("-bpf,-sys_admin", "CAP_BPF"), ("-perfmon,-sys_admin", "CAP_PERFMON"),
    ("-sys_ptrace", "CAP_SYS_PTRACE"), ("-checkpoint_restore,-sys_admin", "CAP_CHECKPOINT_RESTORE"),
])
def test_a_missing_capability_is_named(mallow, program, dropped, named):
    with Target([program]) as target:
        run = subprocess.run([need("setpriv"), "--bounding-set", dropped, str(mallow), "memleak", "-p",
                              str(target.pid)], capture_output=True, text=True, env=clean_environment())
    assert run.returncode == 1
    assert named in run.stderr and "setcap" in run.stderr and run.stderr.count("\n") == 1


def test_no_more_capabilities_than_named_are_needed(mallow, program, wanted):
    keep = "-all,+bpf,+perfmon,+sys_ptrace,+checkpoint_restore"
    with Target([program]) as target:
        memleak = subprocess.Popen(
            [need("setpriv"), "--bounding-set", keep, str(mallow), "memleak", "--json", "-o", "0", "-T",
             "0", "-p", str(target.pid), "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=clean_environment())
        notes = [memleak.stderr.readline() for _ in range(2)]
        assert notes[1].startswith("Probing"), notes + [memleak.stderr.read()]
        target.do("all")
        memleak.send_signal(signal.SIGINT)
        out, _ = memleak.communicate(timeout=60)
    assert by_keeper(json.loads(out.splitlines()[-1])) == wanted


def test_no_file_system_of_tracing_is_needed(mallow, program, wanted):
    """tracefs, debugfs and bpffs, where they are mounted, are hidden."""
    hide = ("for at in /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf; do "
            "umount -l $at 2>/dev/null; done; exec \"$@\"")
    with Target([program]) as target:
        memleak = subprocess.Popen(
            [need("unshare"), "-m", "sh", "-c", hide, "sh", str(mallow), "memleak", "--json", "-o", "0",
             "-T", "0", "-p", str(target.pid), "1000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=clean_environment())
        notes = [memleak.stderr.readline() for _ in range(2)]
        assert notes[1].startswith("Probing"), notes + [memleak.stderr.read()]
        mounts = open(f"/proc/{memleak.pid}/mounts").read()
        assert not re.search(r" (tracefs|debugfs|bpf) ", mounts)
        target.do("all")
        memleak.send_signal(signal.SIGINT)
        out, _ = memleak.communicate(timeout=60)
    assert by_keeper(json.loads(out.splitlines()[-1])) == wanted


def uprobe_links():
    """How many links of uprobes the kernel has."""
    text = subprocess.run(["bpftool", "link", "list"], capture_output=True, text=True,
                          env={**os.environ, "PATH": "/usr/sbin:/sbin:" + os.environ["PATH"]}).stdout
    return len(re.findall(r"uprobe_multi|perf_event", text))


@pytest.mark.long
def test_attaching_and_detaching_under_load(mallow, program):
    """200 times; the program goes on unharmed, and no probe is left behind."""
    before = uprobe_links()
    with Target([program]) as target:
        for number in range(200):
            target.process.stdin.write("20000\n")
            target.process.stdin.flush()
            with Memleak(mallow, "-p", target.pid, "-o", "0") as memleak:
                if number % 3 == 0:
                    memleak.process.kill()
                else:
                    memleak.end()
        for _ in range(200):
            assert target.process.stdout.readline() == "done 20000\n"
        target.do("all")
    deadline = time.monotonic() + 20
    while uprobe_links() > before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert uprobe_links() == before
