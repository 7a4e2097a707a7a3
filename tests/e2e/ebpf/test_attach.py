"""mallow attach: a recording of a process that was started without mallow."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request

import pytest

import expect
import mallow_reader
import pprof_reader
from conftest import clean_environment, need
from servers import Server
from terminals import Terminal
from traced_process import MAPPED, Attach, Target, need_bpf

DETACHED = 6


@pytest.fixture(autouse=True)
def bpf():
    need_bpf()


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])


@pytest.fixture(scope="module")
def wanted():
    """{function: fields of a report} of the blocks, without mappings."""
    stated = expect.expectations("outstanding", "GLIBC")
    return {name: {"leaked_bytes": fields["bytes"], "leaked_blocks": fields["blocks"]}
            for name, fields in stated.items() if name not in MAPPED}


def recorded(mallow, target, path, *words, options=()):
    """Attaches to a Target while it does this."""
    with Attach(mallow, target.pid, path, *options) as attach:
        target.do(*words)
        attach.end()
    return attach


def assert_sound(path):
    """What holds for every recording of a process that was attached to."""
    reader = mallow_reader.read(path)
    assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
    assert not any(reader.header.losses.values()), reader.header.losses
    assert reader.header.attached and reader.header.begun_by_start and reader.header.ended
    return reader


def live_of(report, names):
    """{function: (bytes, blocks)} of those functions."""
    found = {}
    for site in report["sites"]:
        for name in {expect.plain(frame["function"]) for frame in site["stack"]} & set(names):
            size, blocks = found.get(name, (0, 0))
            found[name] = (size + site["leaked_bytes"], blocks + site["leaked_blocks"])
    return found


@pytest.mark.parametrize("options", [(), ("--no-finish",), ("--probes", "multi"), ("--probes", "perf")])
def test_every_function_is_recorded_to_the_byte(mallow, tool, program, wanted, tmp_path, options):
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        recorded(mallow, target, path, "all", options=options)
    expect.check_report(wanted, tool.report(path))
    tool.assert_equal_sums(path)
    reader = assert_sound(path)
    assert reader.header.end_reason == DETACHED
    # A realloc that fails frees nothing and allocates nothing; each call that failed is recorded.
    assert tool.info(path)["failed_allocations"] == 6


def test_the_same_as_under_mallow_live(mallow, tool, program, wanted, tmp_path):
    """The same program, the same time: sums by function, bytes and blocks."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        recorded(mallow, target, path, "all", "thread", "deep", "all")
    live = subprocess.run([mallow, "live", "--json", program], input="all thread deep all end", capture_output=True,
                          text=True, env=clean_environment(), timeout=60)
    assert live.returncode == 7, live.stderr
    report = json.loads(live.stderr)
    there = {}
    for site in report["sites"]:
        for name in {expect.plain(frame["function"]) for frame in site["stack"]} & {*wanted, "deep"}:
            size, blocks = there.get(name, (0, 0))
            there[name] = (size + site["live_bytes"], blocks + site["live_blocks"])
    assert there["keep_malloc"] == (3003, 3) and len(there) == len(wanted) + 1
    assert live_of(tool.report(path), there) == there


def test_operations_usable_sizes_and_stacks(mallow, program, tmp_path):
    """As the agent records them."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        recorded(mallow, target, path, "all")
    reader = assert_sound(path)
    by_size = {event.size: event for event in reader.events if isinstance(event, mallow_reader.Alloc)}
    names = {size: mallow_reader.ENTRIES[event.op] for size, event in by_size.items()}
    # In glibc before 2.38 memalign and aligned_alloc are one function.
    assert names[808] in ("memalign", "aligned_alloc")
    assert [names[size] for size in (1001, 1212, 303, 4040, 505, 606, 704, 909, 1010)] == [
        "malloc", "calloc", "realloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "valloc", "pvalloc"]
    assert [by_size[size].alignment for size in (606, 704, 808)] == [64, 64, 128]
    # glibc's: rounded up to 16 with 8 bytes of its own; of a mapped block, to pages, with 16.
    assert by_size[1001].usable == 1016
    assert by_size[200000].usable == -(-200016 // 4096) * 4096 - 16 and by_size[200000].flags & 1
    maps = [(fact["kind"], fact["length"] // 4096) for fact in reader.facts if fact["kind"] in ("mmap", "munmap", "mremap")]
    assert maps.count(("mmap", 16)) == maps.count(("munmap", 15)) == maps.count(("mremap", 5)) == 1


def test_threads_have_their_names_and_streams(mallow, tool, compile_sample, tmp_path):
    """Threads that come and go share streams; the name is the last one that a thread had."""
    path = tmp_path / "r.mallow"
    source = tmp_path / "threads.c"
    source.write_text(r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
static void *work(void *name)
{
	kept = malloc(100);
	pthread_setname_np(pthread_self(), name);
	kept = malloc(200);
	return NULL;
}
int main(void)
{
	char word[16];
	puts("ready"), fflush(stdout);
	while (scanf("%15s", word) == 1) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, word);
		pthread_join(thread, NULL);
		printf("done %s\n", word), fflush(stdout);
	}
}
""")
    program = tmp_path / "threads"
    subprocess.run(["gcc", "-O1", "-g", "-o", program, source, "-lpthread"], check=True)
    with Target([program]) as target:
        recorded(mallow, target, path, *(f"worker-{i}" for i in range(20)))
    reader = assert_sound(path)
    assert {f"worker-{i}" for i in range(20)} <= {thread.name for thread in reader.threads.values()}
    assert len(reader.streams) <= 3, "streams of threads that have ended are used again"
    assert tool.info(path)["threads"] >= 20


def test_while_it_is_attached(mallow, tool, program, tmp_path):
    """Each command reads it as it grows; a server follows it to its finished end."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all")
        until(lambda: calls(tool, path) > 20)
        info = tool.info(path)
        assert info["writing"] and info["attached"] and info["end_reason"] == "unknown"
        refused = tool("finish", path, check=False)
        assert refused.returncode and "still being written" in refused.stderr
        server = Server(mallow, path)
        before = server.json("/data/last/summary")["all"]["calls"]
        target.do("all", "1000")
        until(lambda: server.json("/data/last/summary")["all"]["calls"] >= before + 1000)
        attach.end()
        until(lambda: not server.json("/list")[0].get("writing", False) and server.json("/list")[0]["finished"])
        assert server.json("/data/last/summary")["all"]["calls"] == tool.report(path)["calls"]
        server.end()
        target.do("leak")  # it goes on
    info = tool.info(path)
    assert (info["finished"], info["end_reason"], info["complete"]) == (True, "detached", True)
    text = tool("info", path).stdout
    assert "still running when mallow detached" in text
    assert "by mallow attach: blocks from before are not in it" in text
    assert "what it allocated before is not counted" in tool("report", path).stdout


def calls(tool, path):
    return tool.report(path)["calls"]


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("word, reason, status, words", [
    ("end", "exit", 7, "exited with status 7"), ("kill", "signal", 9, "ended by signal 9 (Killed)"),
    ("exec", "exec", 0, "has executed another program")])
def test_how_it_ends(mallow, tool, program, tmp_path, word, reason, status, words):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all")
        if word == "kill":
            target.process.kill()
        else:
            target.process.stdin.write(f"{word}\n")
            target.process.stdin.flush()
        said = attach.wait()
    info = tool.info(path)
    assert (info["end_reason"], info["end_status"], info["complete"]) == (reason, status, True)
    assert words in said + tool("info", path).stdout


def test_another_users_process(mallow, tool, program, tmp_path):
    """What its files name as sources is that user's word: root shows none of them."""
    os.chmod(tmp_path, 0o755)
    shutil.copy(program, tmp_path / "program")
    with Target(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tmp_path / "program"]) as target, \
            Attach(mallow, target.pid, tmp_path / "r.mallow") as attach:
        target.do("all")
        attach.end()
    assert tool.info(attach.path)["foreign"]
    server = Server(mallow, "--sources", attach.path)
    number = server.json("/list")[0]["id"]
    assert not server.json(f"/data/{number}/summary")["sources"]
    server.end()


def test_duration(mallow, tool, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        begun = time.monotonic()
        with Attach(mallow, target.pid, path, "-d", "700ms") as attach:
            target.do("all")
            attach.wait()
        assert time.monotonic() - begun < 30
    assert 0.7 <= tool.info(path)["duration_s"] < 5


def test_nothing_is_half_seen_at_the_end(mallow, tool, program, tmp_path):
    """Probes go one after the other; allocations and their frees stop at once."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.process.stdin.write("2000000\n")
        target.process.stdin.flush()
        time.sleep(1)
        attach.end()
    reader = mallow_reader.read(path)
    assert tool.report(path)["calls"] > 1000
    assert tool.info(path)["implicit_frees"] == 0 and tool.report(path)["leaked_blocks"] <= 1
    assert not any(reader.header.losses.values())


def test_libraries_that_come_and_go(mallow, tool, tmp_path):
    """Their frames have names, also after the library is gone and another lies at its place."""
    path = tmp_path / "r.mallow"
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(
            f"#include <stdlib.h>\nvoid *volatile {name}_kept;\n"
            f"__attribute__((noinline)) void keep_{name}(void) {{ {name}_kept = malloc(64); }}\n"
            f"void work(void) {{ keep_{name}(); }}\n")
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "-o",
                        tmp_path / f"{name}.so", tmp_path / f"{name}.c"], check=True)
    (tmp_path / "host.c").write_text(r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char word[256];
	void *library = NULL;
	puts("ready"), fflush(stdout);
	while (scanf("%255s", word) == 1) {
		if (*word == '/')
			library = dlopen(word, RTLD_NOW);
		else if (*word == 'w')
			((void (*)(void))dlsym(library, "work"))();
		else
			dlclose(library);
		printf("done %s\n", word), fflush(stdout);
	}
}
""")
    subprocess.run(["gcc", "-O1", "-g", "-o", tmp_path / "host", tmp_path / "host.c", "-ldl"], check=True)
    with Target([tmp_path / "host"]) as target, Attach(mallow, target.pid, path) as attach:
        for name in ("one", "two", "one"):
            target.do(str(tmp_path / f"{name}.so"))
            time.sleep(0.3)  # its tables are read
            target.do("work", "close")
            time.sleep(0.1)
        attach.end()
    report = tool.report(path)
    found = live_of(report, ("keep_one", "keep_two"))
    assert found == {"keep_one": (128, 2), "keep_two": (64, 1)}
    modules = [module for module in assert_sound(path).modules.values() if module["path"].startswith(str(tmp_path))]
    assert [module["path"].rpartition("/")[2] for module in modules if module["gone"]] == ["one.so", "two.so", "one.so"]


def test_a_program_whose_file_is_gone(mallow, tool, program, tmp_path):
    """Names come from the file that is mapped: deleted, and another at its place."""
    copy = tmp_path / "program"
    shutil.copy(program, copy)
    path = tmp_path / "r.mallow"
    with Target([copy]) as target:
        copy.unlink()
        shutil.copy("/bin/true", copy)
        recorded(mallow, target, path, "leak")
    assert live_of(tool.report(path), ["keep_malloc"]) == {"keep_malloc": (1001, 1)}


def test_killed_while_it_records(mallow, tool, program, tmp_path):
    """What was flushed is there, the process goes on, and the recording can be finished."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all")
        until(lambda: calls(tool, path) > 20)
        attach.process.kill()
        attach.process.wait()
        target.do("all", "1000")
        info = tool.info(path)
        assert not info["writing"] and not info["ended"]
        tool("finish", path)
        assert "cut short" in tool("info", path).stdout
    assert live_of(tool.report(path), ["keep_malloc"]) == {"keep_malloc": (1001, 1)}


def test_events_that_are_lost_are_counted(mallow, tool, program, tmp_path):
    """Nobody reads for a while: the program never waits, and the recording says what is missing."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("leak")
        attach.process.send_signal(signal.SIGSTOP)
        target.do("500000")
        attach.process.send_signal(signal.SIGCONT)
        target.do("1000")
        said = attach.end()
    lost = mallow_reader.read(path).header.losses["ring_full"]
    assert lost > 0
    assert tool.report(path)["calls"] + lost >= 500_000
    assert f"{lost:,} lost: events: they came faster than mallow attach could read them" in said + tool("info", path).stdout


def test_a_full_disk(mallow, program, tmp_path):
    """One line, status 1, and the recording is valid up to there; the process goes on."""
    need("unshare")
    script = (f"mount -t tmpfs -o size=2m none {tmp_path} && {mallow} attach -o {tmp_path}/r.mallow $0;"
              f" status=$?; {mallow} info {tmp_path}/r.mallow; exit $status")
    with Target([program]) as target:
        run = subprocess.Popen(["unshare", "-m", "sh", "-c", script, str(target.pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=clean_environment())
        while "Recording into" not in run.stderr.readline():
            assert run.poll() is None
        while run.poll() is None:
            target.do("20000")
        out, err = run.communicate()
        target.do("all")
    assert run.returncode == 1
    assert re.search(r"^mallow: cannot write '.*/r.mallow': No space left on device$", err, re.M), err
    assert "events" in out and "damaged" not in out


def test_two_at_once(mallow, tool, program, wanted, tmp_path):
    with Target([program]) as target, Attach(mallow, target.pid, tmp_path / "a") as one:
        with Attach(mallow, target.pid, tmp_path / "b") as two:
            target.do("all")
            two.end()
        one.end()
    for name in ("a", "b"):
        expect.check_report(wanted, tool.report(tmp_path / name))


def test_names_of_recordings(mallow, program, tmp_path):
    """Placeholders; directories are made; a name that is taken gets a number."""
    with Target([program]) as target:
        for end in ("", ".1"):
            attach = Attach(mallow, target.pid, f"{tmp_path}/new/%e.%p.mallow", "-d", "50ms")
            attach.wait()
            name = tmp_path / "new" / f"{program.name}.{target.pid}.mallow{end}"
            assert name.exists() and f"Recording into {name}." in attach.said
        assert f"new/{program.name}.{target.pid}.mallow.1" in attach.said


def test_open(mallow, program, tmp_path):
    """A browser sees it while it grows; Ctrl-C ends both, and the program goes on."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nprintf %s "$1" >"$0.new"\nmv "$0.new" "$0.opened"\n')
    browser.chmod(0o755)
    with Target([program]) as target:
        process = subprocess.Popen([mallow, "attach", "--open", "-o", tmp_path / "r.mallow", str(target.pid)],
                                   env=clean_environment({"BROWSER": browser}), start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until((tmp_path / "browser.opened").exists)
        address = (tmp_path / "browser.opened").read_text()
        target.do("all")

        def calls():
            with urllib.request.urlopen(f"{address}data/last/summary") as answer:
                return json.load(answer)["all"]["calls"]

        until(lambda: calls() > 20)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0 and "keep_large" in err, err
        target.do("all")


def test_exports(mallow, tool, program, tmp_path):
    """pprof, heaptrack, collapsed stacks, and the page as one file take it as any other recording."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        recorded(mallow, target, path, "all", "deep")
    report = tool.report(path)
    profile = tmp_path / "p.pb.gz"
    tool("export", "--to", "pprof", "-o", profile, path)
    parsed = pprof_reader.read(profile)
    assert parsed.sum("inuse_space") == report["leaked_bytes"]
    lines = tool("export", "--to", "collapsed", "--metric", "leaked", path).stdout.splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == report["leaked_bytes"]
    tool("export", "--to", "html", "-o", tmp_path / "page.html", path)
    assert (tmp_path / "page.html").stat().st_size > 100_000


@pytest.mark.parametrize("arguments, status, text", [
    (["0"], 2, "'0' is no PID"), (["x"], 2, "'x' is no PID"), ([], 2, "a PID"), (["1", "2"], 2, "a PID"),
    (["4194304"], 1, "no process has the PID 4194304"), (["2"], 1, "thread of the kernel"),
    (["-d", "x", "1"], 2, "'x' is no value of --duration"), (["--no-finish", "--compress", "never", "1"], 2, "--compress"),
])
def test_refusals(tool, tmp_path, arguments, status, text):
    run = tool("attach", *arguments, check=False, cwd=tmp_path)
    assert run.returncode == status and run.stderr.count("\n") == 1 and text in run.stderr, run.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_attaching_and_detaching_under_load(mallow, tool, program, tmp_path):
    """Two hundred times, every third time by SIGKILL: the process goes on, each recording can be read."""
    with Target([program]) as target:
        for i in range(200):
            path = tmp_path / f"{i}.mallow"
            target.process.stdin.write("3000\n")
            target.process.stdin.flush()
            with Attach(mallow, target.pid, path, "--no-finish") as attach:
                if i % 3 == 2:
                    attach.process.kill()
                    attach.process.wait()
                else:
                    attach.end()
            assert target.process.stdout.readline() == "done 3000\n"
            assert not mallow_reader.read(path).damages
            path.unlink()
        target.do("all")


def test_top_attaches(mallow, program):
    """A program without mallow is attached to while it is looked at, and let go."""
    need("tmux")
    with Target([program]) as target:
        with Terminal(mallow, "top", target.pid) as shown:
            shown.wait(f"mallow top  outstanding \\(pid {target.pid}\\)")
            target.do("all")
            screen = shown.wait("keep_large")
            assert re.search(r"2\.60 MB +13 .*keep_large", screen), screen
            shown.press("q")
            shown.wait("status 0")
        target.do("all")
        # The recording had no name, and who made it is gone.
        until(lambda: not tracers(target.pid))


def tracers(pid):
    """Processes that were made from mallow top of that PID."""
    found = subprocess.run(["pgrep", "-f", f"mallow top {pid}$"], capture_output=True, text=True)
    return found.stdout.split()


def test_top_says_why_it_cannot(tool):
    run = tool("top", "4194304", check=False)
    assert run.returncode == 1 and run.stderr == (
        "mallow: process 4194304 is not under mallow live or mallow run, and cannot be attached to: no process has the"
        " PID 4194304\n")
