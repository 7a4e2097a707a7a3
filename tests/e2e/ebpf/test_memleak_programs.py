"""mallow memleak on real programs: stacks through libraries without frame pointers reach main."""
import glob
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import clean_environment, need
from traced_process import Memleak, Target, functions, need_bpf

ALL = ("-o", "0", "-T", "0")
STARTS = {"_start", "clone3", "__clone3", "start_thread"}


@pytest.fixture(autouse=True)
def bpf():
    need_bpf()


class Script:
    """A program that goes on when it is sent an empty line, and says so."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, cwd=folder,
                                        stdout=subprocess.PIPE, text=True, env=clean_environment())
        assert self.process.stdout.readline() == "ready\n"

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        pathlib.Path(f"/tmp/perf-{self.process.pid}.map").unlink(missing_ok=True)


def report_of(mallow, command, *options, folder=None):
    with Script(command, folder) as script, Memleak(mallow, "-p", script.process.pid, *ALL, *options) as memleak:
        script.go_on()
        return memleak.report()


def through(report, module):
    """The stacks with frames of that library."""
    found = [stack for stack in report["stacks"]
             if any((frame["module"] or "").startswith(module) for frame in stack["frames"])]
    assert found, {frame["module"] for stack in report["stacks"] for frame in stack["frames"]}
    return found


def assert_reach(stacks, *outer):
    for stack in stacks:
        names = functions(stack)
        assert stack["whole"] and names[-1] in STARTS, (stack["cut"], names)
        assert all(any(name in (function or "") for function in names) for name in outer), names


PYTHON = """
import ctypes, sys
{before}
print("ready", flush=True)
sys.stdin.readline()
{then}
print("done", flush=True)
sys.stdin.readline()
"""


def python(before, then):
    return ["/usr/bin/python3", "-c", PYTHON.format(before=before, then=then)]


def test_sqlite(mallow):
    report = report_of(mallow, python(
        "import sqlite3\nc = sqlite3.connect(':memory:')",
        "c.execute('create table t (x)')\n"
        "c.executemany('insert into t values (?)', [('x' * 3000,)] * 300)"))
    assert_reach(through(report, "libsqlite3"), "main")


def test_libxml2(mallow):
    if not glob.glob("/usr/lib/x86_64-linux-gnu/libxml2.so.2*"):
        pytest.skip("libxml2 is not installed")
    report = report_of(mallow, python(
        "xml = ctypes.CDLL('libxml2.so.2')\nxml.xmlReadMemory.restype = ctypes.c_void_p\n"
        "text = b'<a>' + b'<b c=\"d\">e</b>' * 1000 + b'</a>'",
        "xml.xmlReadMemory(text, len(text), b'x', None, 0)"))
    stacks = through(report, "libxml2")
    assert sum(stack["bytes"] for stack in stacks) > 100_000
    assert_reach(stacks, "xml", "main")


def test_libstdcxx(mallow, tmp_path):
    source = tmp_path / "words.cpp"
    source.write_text("""
        #include <iostream>
        #include <map>
        #include <sstream>
        #include <string>
        std::map<std::string, std::string> words;
        int main()
        {
            std::string line;
            std::cout << "ready" << std::endl;
            while (std::getline(std::cin, line)) {
                for (int i = 0; i < 1000; i++) {
                    std::ostringstream text;
                    text << "a word that is longer than what fits into a string itself " << i;
                    words[text.str()] = text.str();
                }
                std::cout << "done" << std::endl;
            }
        }""")
    subprocess.run(["g++", "-O2", "-o", str(tmp_path / "words"), str(source)], check=True)
    report = report_of(mallow, [tmp_path / "words"])
    assert report["allocations"] >= 3000
    assert_reach(report["stacks"], "main")
    assert any("std::" in name for stack in report["stacks"] for name in functions(stack) if name)


def test_copied_text(mallow, tmp_path):
    """A program whose text is a copy in anonymous memory, for huge pages: node --use-largepages=on and others."""
    source = tmp_path / "copied.c"
    source.write_text(r"""
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        void *volatile kept[500];
        __attribute__((noinline)) void keep_all(void)
        {
            for (int i = 0; i < 500; i++)
                kept[i] = malloc(1000);
            __asm__ volatile("");
        }
        static void copy_text(void)
        {
            FILE *maps = fopen("/proc/self/maps", "r");
            char line[512], permissions[8];
            unsigned long start, end;
            while (fgets(line, sizeof(line), maps))
                if (sscanf(line, "%lx-%lx %7s", &start, &end, permissions) == 3 && !strcmp(permissions, "r-xp"))
                    break;
            fclose(maps);
            void *copy = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memcpy(copy, (void *)start, end - start);
            mprotect(copy, end - start, PROT_READ | PROT_EXEC);
            mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
        }
        int main(void)
        {
            char line[64];
            copy_text();
            puts("ready");
            fflush(stdout);
            while (fgets(line, sizeof(line), stdin)) {
                keep_all();
                puts("done");
                fflush(stdout);
            }
        }""")
    subprocess.run(["gcc", "-O1", "-o", str(tmp_path / "copied"), str(source)], check=True)
    report = report_of(mallow, [tmp_path / "copied"])
    stacks = [stack for stack in report["stacks"] if "keep_all" in functions(stack)]
    assert sum(stack["allocations"] for stack in stacks) >= 500
    assert_reach(stacks, "main")


def test_another_stack(mallow, compile_sample):
    """Code without tables calls C on another stack, as Go does: its frame pointer leads back."""
    report = report_of(mallow, [compile_sample("without_tables", "gcc", "-O2"), "wait"])
    stacks = [stack for stack in report["stacks"] if "allocate" in functions(stack)]
    assert sum(stack["allocations"] for stack in stacks) == 100
    assert_reach(stacks, "call_on", "outer", "main")
    assert {name for stack in stacks for name in functions(stack)} >= {"call_keeping", "call_twice"}


CGO = r"""package main
/*
#include <stdlib.h>
static void *c_alloc(size_t n) { return malloc(n); }
*/
import "C"
import ("bufio"; "fmt"; "os"; "unsafe")
var kept []unsafe.Pointer
//go:noinline
func keepFromGo(n int) { kept = append(kept, C.c_alloc(C.size_t(n))) }
func main() {
	fmt.Println("ready")
	input := bufio.NewReader(os.Stdin)
	input.ReadString('\n')
	for i := 0; i < 100; i++ { keepFromGo(10000) }
	fmt.Println("done")
	input.ReadString('\n')
}
"""


@pytest.mark.long
def test_cgo(mallow, tmp_path):
    """The stacks of C that Go has called reach the goroutine's first function."""
    go = need("go")
    (tmp_path / "cg.go").write_text(CGO)
    (tmp_path / "go.mod").write_text("module cg\ngo 1.21\n")
    subprocess.run([go, "build", "-o", "cg", "."], cwd=tmp_path, check=True,
                   env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "GOTOOLCHAIN": "local"})
    report = report_of(mallow, [tmp_path / "cg"])
    [stack] = [stack for stack in report["stacks"] if stack["bytes"] == 1_000_000]
    assert stack["whole"] and {"main.keepFromGo", "main.main"} <= set(functions(stack))
    path = tmp_path / "cg.mallow"
    subprocess.run([mallow, "run", "-o", path, tmp_path / "cg"], input="\n\n", text=True, check=True,
                   capture_output=True)
    text = subprocess.run([mallow, "report", "--full", "--top", "1", "--sort", "leaked", path], text=True, check=True,
                          capture_output=True).stdout
    assert "main.keepFromGo" in text and "runtime.goexit" in text and "[broken]" not in text


def test_code_made_at_run_time(mallow, tmp_path):
    """Frames of a JIT compiler are walked by frame pointer, and named by perf's map. (Without the option node
    interprets at first, and the interpreter's frames are all alike.)"""
    node = need("node")
    script = ("const kept = [];\n"
              "function keepBuffers() { for (let i = 0; i < 500; i++) kept.push(Buffer.allocUnsafeSlow(30000)); }\n"
              "process.stdin.on('data', () => { keepBuffers(); console.log('done'); });\n"
              "console.log('ready');")
    report = report_of(mallow, [node, "--perf-basic-prof", "--always-sparkplug", "--no-opt", "-e", script], folder=tmp_path)
    # The interpreter's calls are other stacks than those of what it has compiled.
    stacks = [stack for stack in report["stacks"] if any("keepBuffers" in (name or "") for name in functions(stack))]
    assert sum(stack["allocations"] for stack in stacks) >= 500
    assert_reach(stacks, "main")


@pytest.mark.long
def test_a_compiler(mallow, tmp_path):
    """Each stack of cc1plus that is not cut ends at the program's start."""
    compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                              check=True).stdout.strip()
    (tmp_path / "x.cpp").write_text("#include <iostream>\n#include <map>\n#include <regex>\n"
                                    "int main() { std::regex r(\"a+b\"); std::map<int, std::string> m; }\n")
    command = f"{compiler} -quiet -imultiarch x86_64-linux-gnu -O2 {tmp_path}/x.cpp -o {tmp_path}/x.s"
    run = subprocess.run([str(mallow), "memleak", "--json", *ALL, "-c", command, "1000"], capture_output=True,
                         text=True, timeout=600)
    report = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == 0, run.stderr
    assert report["stack_count"] > 3000 and not report["warnings"]
    for stack in report["stacks"]:
        assert functions(stack)[-1] == "_start" if stack["whole"] else "deeper" in stack["cut"], stack


def bcc(pid, *options, reports=1):
    """What bcc's memleak says of a process; skipped where it cannot run."""
    command = need("memleak-bpfcc")
    if not os.environ.get("BCC_KERNEL_SOURCE") and not os.path.isdir(f"/lib/modules/{os.uname().release}/build"):
        pytest.skip("bcc's memleak needs kernel headers: BCC_KERNEL_SOURCE")
    return subprocess.Popen([command, "-p", str(pid), *map(str, options)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def wait_until_attached(pid, patience=60):
    """bcc's memleak does not say when its probes are set: it has some, and for half a second no more."""
    probes, since, deadline = 0, time.monotonic(), time.monotonic() + patience
    while not probes or time.monotonic() - since < 0.5:
        assert time.monotonic() < deadline, f"{probes} probes"
        links = []
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                links.append(os.readlink(entry.path))
            except OSError:     # it has closed it since
                pass
        found = sum("perf_event" in link for link in links)
        if found != probes:
            probes, since = found, time.monotonic()
        time.sleep(0.02)


@pytest.mark.long
def test_beside_the_other_memleak(mallow, compile_sample):
    """The same process, one after the other: what bcc's memleak gets wrong, and what both get right."""
    program = compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])
    with Target([program]) as target:
        other = bcc(target.pid, "-o", "0", "-T", "1000", "100")
        try:
            assert other.stdout.readline().startswith("Attaching to pid"), other.stdout.read()
            wait_until_attached(other.pid)
            target.do("all")
        finally:
            other.send_signal(signal.SIGINT)
        other.communicate()
        with Memleak(mallow, "-p", target.pid, *ALL) as memleak:
            target.do("all")
            report = memleak.report()
    assert report["bytes"] == 2660350 and report["allocations"] == 31
