"""mallow attach in hostile surroundings, and what other writers of recordings would get wrong."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import mallow_reader
from cells import every_other
from conftest import clean_environment, need
from processes import wait_for
from traced_process import Attach, Target, need_bpf


@pytest.fixture(autouse=True)
def bpf():
    need_bpf()


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])


def build(folder, name, source, *flags):
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", folder / name,
                    folder / f"{name}.c", *flags], check=True)
    return folder / name


def frees_of_nothing(path):
    """Frees of blocks that are not live, by the independent reader."""
    live, found = set(), 0
    for event in mallow_reader.read(path).events:
        if isinstance(event, mallow_reader.Alloc):
            live.add(event.address)
        elif event.address in live:
            live.remove(event.address)
        else:
            found += 1
    return found


def tell(target, word):
    """Lets it do that, and does not wait for the answer."""
    target.process.stdin.write(f"{word}\n")
    target.process.stdin.flush()


ENDING_THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *unused)
{
	void *blocks[50];
	for (int i = 0; i < 50; i++)
		blocks[i] = malloc(24 + i % 5 * 32);
	for (int i = 0; i < 50; i++)
		free(blocks[i]);
	return unused;
}
int main(void)
{
	char word[16];
	puts("ready"), fflush(stdout);
	while (scanf("%15s", word) == 1) {
		for (int i = 0; i < 100; i++) {
			pthread_t thread;
			pthread_create(&thread, NULL, work, NULL);
			pthread_join(thread, NULL);
		}
		printf("done %s\n", word), fflush(stdout);
	}
}
"""


def test_a_library_that_frees_what_it_keeps(mallow, tool, tmp_path):
    """glibc empties a thread's cache by free, when it ends: these blocks were freed before."""
    path = tmp_path / "r.mallow"
    with Target([build(tmp_path, "threads", ENDING_THREADS, "-lpthread")]) as target, \
            Attach(mallow, target.pid, path) as attach:
        target.do("once")
        attach.end()
    assert frees_of_nothing(path) == 0
    info = tool.info(path)
    assert info["allocations"] >= 5000 and info["unknown_frees"] == 0
    # Each thread's own memory is freed by the loader, or kept for the next one.
    assert tool.report(path)["leaked_blocks"] <= 2


def test_realloc_to_nothing_frees_once(mallow, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all", "all")
        attach.end()
    assert frees_of_nothing(path) == 0


@pytest.mark.parametrize("way", ["session", "multi", "perf"])
def test_nothing_is_half_seen_at_the_begin(mallow, tool, program, tmp_path, way):
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        tell(target, 300_000_000)
        with Attach(mallow, target.pid, path, "--probes", way) as attach:
            time.sleep(0.3)
            attach.end()
    assert tool.report(path)["calls"] > 100
    assert frees_of_nothing(path) <= 1


@pytest.mark.parametrize("word, reason, status",
                         every_other([("end", "exit", 7), ("kill", "signal", 9), ("exec", "exec", 0)], 1))
def test_the_end_is_known_although_events_are_lost(mallow, tool, program, tmp_path, word, reason, status):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        attach.process.send_signal(signal.SIGSTOP)
        target.do("600000")
        if word == "kill":
            target.process.kill()
        else:
            tell(target, word)
        time.sleep(0.5)
        attach.process.send_signal(signal.SIGCONT)
        attach.wait()
    info = tool.info(path)
    assert info["losses"]["ring_full"] > 0
    assert (info["end_reason"], info["end_status"]) == (reason, status)


IN_A_NAMESPACE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
static void *work(void *unused)
{
	pthread_setname_np(pthread_self(), "worker");
	for (int i = 0; i < 200; i++)
		kept = malloc(100), usleep(5000);
	return unused;
}
int main(int count, char **words)
{
	pthread_t thread;
	while (access(words[1], F_OK)) // until it is attached to
		usleep(10000);
	usleep(300000);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	if (fork() == 0)
		_exit(0);
	execl("/bin/true", "true", NULL);
}
"""


def test_in_a_pid_namespace(mallow, tool, tmp_path):
    """Names of threads, children and exec, where processes have other numbers than the kernel's."""
    need("unshare")
    program = build(tmp_path, "worker", IN_A_NAMESPACE, "-lpthread")
    path = tmp_path / "r.mallow"
    script = f"{program} {path} & sleep 0.3; exec {mallow} attach $! -o {path}"
    run = subprocess.run(["unshare", "-pfm", "--mount-proc", "sh", "-c", script], capture_output=True, text=True,
                         env=clean_environment(), timeout=60)
    assert run.returncode == 0 and "has executed another program" in run.stderr, run.stderr
    reader = mallow_reader.read(path)
    named = {thread.name: thread.tid for thread in reader.threads.values()}
    assert "worker" in named and named["worker"] < 100
    assert any(fact["kind"] == "fork" and fact["child"] < 100 for fact in reader.facts)
    assert tool.info(path)["end_reason"] == "exec"


OPENER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
	void *library = dlopen(words[2], RTLD_NOW);
	puts("ready"), fflush(stdout);
	getchar();
	dlclose(library);
	for (int i = 1;; i++) {
		library = dlopen(words[i % 2 + 2], RTLD_NOW);
		((void (*)(void))dlsym(library, "work"))();
		if (i % 2 == 0)
			usleep(atoi(words[1]));
		dlclose(library);
	}
}
"""


@pytest.mark.parametrize("pause_us", [0, 20000])
def test_libraries_that_take_turns(mallow, tool, tmp_path, pause_us):
    """They lie at the same place: no stack has the name of the other one, although many are cut.

    With a pause, most looks at the mappings find the first library, as if the second had never been there."""
    for name, size in (("one", 1111), ("two", 2222)):
        build(tmp_path, f"{name}.so", f"#include <stdlib.h>\nvoid *volatile {name}_kept;\n"
              f"__attribute__((noinline)) void alloc_{name}(void) {{ {name}_kept = malloc({size}); free({name}_kept); }}\n"
              f"void work(void) {{ alloc_{name}(); }}\n", "-shared", "-fPIC")
    path = tmp_path / "r.mallow"
    with Target([build(tmp_path, "opener", OPENER, "-ldl"), str(pause_us), tmp_path / "one.so",
                 tmp_path / "two.so"]) as target, Attach(mallow, target.pid, path) as attach:
        target.process.stdin.write("go\n")
        target.process.stdin.flush()
        time.sleep(1.5)
        attach.end()

    def calls(function, size):
        words = ("report", "--json", "--size-min", size, "--size-max", size, "--function-regex", f"^alloc_{function}$", path)
        run = tool(*words, check=False)
        return sum(site["calls"] for site in json.loads(run.stdout)["sites"]) if run.stdout else 0

    assert calls("two", 1111) == calls("one", 2222) == 0
    assert tool.report(path)["calls"] > 50


def attach_by_shell(mallow, target, path, before, after="", *options):
    return subprocess.run(["sh", "-c", f"{before} exec {mallow} attach -d 0.5 -o {path} {' '.join(options)} $0 {after}",
                           str(target.pid)], capture_output=True, text=True, env=clean_environment(), timeout=60)


@pytest.mark.parametrize("after", ["2>&-", "2>/dev/full", "2>&1 | true"])
def test_nobody_reads_what_it_says(mallow, tool, program, tmp_path, after):
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        run = subprocess.Popen(["sh", "-c", f"{mallow} attach -d 1.5 -o {path} $0 {after}", str(target.pid)],
                               env=clean_environment())
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        while run.poll() is None:
            target.do("all")
            time.sleep(0.05)
        # What is left of a pipeline may go on.
        while not tool.info(path)["ended"] and time.monotonic() < deadline:
            time.sleep(0.05)
    assert tool.info(path)["end_reason"] == "detached" and tool.report(path)["calls"] > 20


def test_a_full_pipe_does_not_keep_it(mallow, tool, program, tmp_path):
    """It waits for who reads what it says, records no less, and can be ended."""
    path = tmp_path / "r.mallow"
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        fcntl.fcntl(writing, fcntl.F_SETFL, 0)
    with Target([program]) as target:
        run = subprocess.Popen([mallow, "attach", "-o", path, str(target.pid)], stderr=writing,
                               env=clean_environment())
        wait_for(lambda: tool("info", path, check=False).returncode == 0)
        time.sleep(0.5)
        run.terminate()  # it detaches, and wants to say how it went
        deadline = time.monotonic() + 60
        while not tool.info(path)["ended"] and time.monotonic() < deadline:
            time.sleep(0.05)
        while run.poll() is None and time.monotonic() < deadline:
            run.terminate()
            time.sleep(0.2)
        assert run.poll() is not None
        target.do("all")
    assert tool.info(path)["end_reason"] == "detached"
    os.close(reading)
    os.close(writing)


def test_a_file_that_may_not_grow(mallow, tool, program, tmp_path):
    """RLIMIT_FSIZE: one line, status 1; the recording says how much is missing."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target:
        run = subprocess.Popen(["sh", "-c", f"ulimit -f 1000; exec {mallow} attach -o {path} $0", str(target.pid)],
                               stderr=subprocess.PIPE, text=True, env=clean_environment())
        while "Recording into" not in run.stderr.readline():
            assert run.poll() is None
        while run.poll() is None:
            target.do("20000")
        err = run.communicate()[1]
        target.do("all")
    assert run.returncode == 1 and f"mallow: cannot write '{path}': File too large\n" in err
    assert "recording stopped early by mallow" in tool("info", path).stdout
    info = tool.info(path)
    assert info["losses"]["write_failed"] > 0 and not info["complete"] and info["damaged_chunks"] == 0
    assert f"{info['losses']['write_failed']:,} lost: events" in tool("info", path).stdout


def test_a_recording_that_is_removed(mallow, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        path.unlink()
        attach.process.send_signal(signal.SIGINT)
        said = attach.wait(status=1)
    assert f"mallow: '{path}' is gone: somebody has removed or renamed it\n" in said


def test_a_program_that_is_built_anew_meanwhile(mallow, tool, program, tmp_path):
    copy, path = tmp_path / "program", tmp_path / "r.mallow"
    shutil.copy(program, copy)
    with Target([copy]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("leak")
        copy.unlink()
        shutil.copy("/bin/true", copy)
        attach.end()
    assert "keep_malloc" in tool("report", path).stdout


def test_stacks_without_room_say_so(mallow, tool, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path, "--stack-storage-size", "2") as attach:
        target.do("all")
        said = attach.end()
    lost = tool.info(path)["losses"]["lost_stacks"]
    assert lost > 5
    assert f"{lost} stacks for which mallow attach had no room (--stack-storage-size)" in said + tool("info", path).stdout


def test_a_writer_that_nobody_waited_for(mallow, tool, program, tmp_path):
    """A zombie writes no more: the recording can be finished."""
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all")
        time.sleep(0.3)
        attach.process.kill()
        wait_for(lambda: not tool.info(path)["writing"])
        tool("finish", path)


def test_what_is_no_file(tool, program, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with Target([program]) as target:
        for path in ("/dev/null", tmp_path, tmp_path / "fifo"):
            run = tool("attach", "-o", path, target.pid, check=False)
            assert run.returncode == 1 and run.stderr == f"mallow: cannot write '{path}': it is no regular file\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_seconds_with_a_fraction(mallow, tool, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path, "-d", "0.3") as attach:
        attach.wait()
    assert 0.3 <= tool.info(path)["duration_s"] < 3


def test_failed_calls_and_pages_are_as_the_agent_has_them(mallow, program, tmp_path):
    path = tmp_path / "r.mallow"
    with Target([program]) as target, Attach(mallow, target.pid, path) as attach:
        target.do("all")
        attach.end()
    reader = mallow_reader.read(path)
    failed = {(fact["op"], fact["size"]) for fact in reader.facts if fact["kind"] == "failed"}
    assert (2, 2**64 - 1) in failed and (4, 2**64 - 1) in failed
    (pages,) = [event for event in reader.events if isinstance(event, mallow_reader.Alloc) and event.size == 1010]
    assert pages.usable > 4000
