"""Patching in programs whose surroundings are not quiet: signals, filters of system calls, no /proc, new
images, debuggers."""
import json
import os
import shutil
import subprocess

import pytest

from conftest import clean_environment, need
from test_patch import MEMORY, OPENS, OWN, TABLE, archive, compiled

# A handler calls one library's allocator, while another library comes and goes.
SIGNALS = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
void *table(void);
void untable(void *block);
static volatile long in_handler;
static void on_alarm(int number)
{
	untable(table());
	in_handler++;
}
int main(int argc, char **argv)
{
	struct itimerval every = {{0, 100}, {0, 100}};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 1000; i++) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void *(*its_table)(void) = (void *(*)(void))dlsym(library, "table");
		void (*its_untable)(void *) = (void (*)(void *))dlsym(library, "untable");

		for (int j = 0; j < 30; j++)
			its_untable(its_table());
		dlclose(library);
	}
	every = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &every, NULL);
	printf("%ld\n", in_handler);
	return 0;
}
"""


def calls_by_module(recorded):
    modules = json.loads(recorded.tool("report", "--by", "module", "--json", recorded.path).stdout)
    return {one["module"].rpartition("/")[2]: one["calls"] for one in modules["rows"] if one["module"]}


def test_signals_while_patching(tmp_path, record):
    """At 10 kHz, each of which allocates: every call of both libraries is there."""
    for name in ("first", "second"):
        compiled(tmp_path, f"lib{name}.so", TABLE, "-O0", "-shared", "-fPIC")
    program = compiled(tmp_path, "signals", SIGNALS, tmp_path / "libfirst.so", f"-Wl,-rpath,{tmp_path}")
    recorded = record([program, tmp_path / "libsecond.so"])
    assert recorded.reader.header.lost == 0 and not recorded.reader.damages
    calls = calls_by_module(recorded)
    in_handler = int(recorded.stdout)
    assert in_handler > 100
    assert (calls["libfirst.so"], calls["libsecond.so"]) == (in_handler, 30_000)


# Its own malloc, and what it goes on with: under a filter that kills, or as a new image.
GOES_ON = OWN[:OWN.index("static volatile long")].replace("1 << 20", "1 << 23") + r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	if (argc > 2)
		return execl(argv[2], argv[2], argv[1], NULL);
	if (*argv[1] == 'f' && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		return 1;
	for (int i = 0; i < 2000; i++)
		free(malloc(200));
	_exit(0);
}
"""


def test_under_a_filter(tmp_path, record):
    """A system call would kill: what is patched goes on without one."""
    recorded = record([compiled(tmp_path, "goes_on", GOES_ON), "filter"])
    assert recorded.report_json["calls"] == 3000
    assert recorded.reader.header.lost == 0 and recorded.report_json["unseen"] == []


def test_exec(tmp_path, record):
    """Each image is patched anew, the same file or another one."""
    program = compiled(tmp_path, "goes_on", GOES_ON)
    other = shutil.copy(program, tmp_path / "other")
    for image in (program, other):
        recorded = record([program, "on", image])
        infos = [recorded.tool.info(path) for path in recorded.paths]
        assert [info["patched"][0]["functions"] for info in infos] == [4, 4]
        assert [recorded.tool.report(path)["calls"] for path in recorded.paths] == [1000, 3000]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_without_proc(tmp_path, agent, tool):
    """Code cannot be written: the program runs, and its allocator is said to be unseen."""
    root = tmp_path / "root"
    for file in ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", agent):
        (root / str(file)[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / str(file)[1:])
    shutil.copy(compiled(tmp_path, "goes_on", GOES_ON), root)
    subprocess.run(["/goes_on", "on"], preexec_fn=lambda: os.chroot(root), check=True,
                   env={"LD_PRELOAD": str(agent), "MALLOW_OUTPUT": "/r.mallow"})
    info = tool.info(root / "r.mallow")
    [patched] = info["patched"]
    assert patched["functions"] == 0 and "malloc: the kernel does not let it be changed" in patched["why"]
    assert [one["kind"] for one in info["unseen"]] == ["not_patched"]


def gdb(program, preload, *commands):
    words = [need("gdb"), "-nx", "-q", "-batch", "-iex", "set startup-with-shell off", "-iex", "set debuginfod enabled off"]
    for name, value in preload.items():
        words += ["-iex", f"set environment {name}={value}"]
    for command in commands:
        words += ["-ex", command]
    return subprocess.run([*words, "--args", program, "on"], capture_output=True, text=True, timeout=60,
                          env=clean_environment()).stdout


def test_breakpoints(tmp_path, preload, tool):
    """On a function's first instruction: set when it is patched already it is hit at each call; one that
    was there first leaves the allocator alone."""
    program = compiled(tmp_path, "goes_on", GOES_ON, "-no-pie")
    settings = {name: value for name, value in preload(OUTPUT=tmp_path / "r.mallow").items()
                if name.startswith(("MALLOW_", "LD_PRELOAD"))}
    count = ["ignore 2 100000", "continue", "info breakpoints"]
    shown = gdb(program, settings, "break main", "run", "break *(long)malloc", *count)
    assert "exited normally" in shown and "already hit 3000 times" in shown, shown
    assert [one["functions"] for one in tool.info(tmp_path / "r.mallow")["patched"]] == [4]
    assert tool.report(tmp_path / "r.mallow")["calls"] == 3000
    (tmp_path / "r.mallow").unlink()
    shown = gdb(program, settings, "break main", "break *(long)malloc", "ignore 2 100000", "run", *count[1:])
    assert "exited normally" in shown, shown
    [patched] = tool.info(tmp_path / "r.mallow")["patched"]
    assert patched["functions"] == 0 and "malloc: a debugger, a probe or a patch has changed it" in patched["why"]
