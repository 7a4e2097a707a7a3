"""mallow memleak and mallow attach find the allocator wherever it is: preloaded, linked in, static, in a chroot, deleted."""
import collections
import glob
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from cells import diagonals
import expect
from conftest import need
from traced_process import MAPPED, Attach, Memleak, Target, by_keeper, functions, need_bpf

ALL = ("-o", "0", "-T", "0")
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": "libmimalloc.so.2*"}
# Options of the linker for allocators in the program itself.
LINKED = {"jemalloc": ["-l:libjemalloc.a", "-ldl", "-lpthread", "-lm"],
          "tcmalloc": ["-l:libtcmalloc_minimal.a", "-lpthread"]}


@pytest.fixture(autouse=True)
def bpf():
    need_bpf()


def wanted(name, *kinds):
    return {keeper: (fields["bytes"], fields["blocks"])
            for keeper, fields in expect.expectations(name, *kinds).items()}


def check(mallow, command, name, *options, said=None, environment=None, kinds=("GLIBC",), word="all",
          **how):
    with Target(command, environment=environment, **how) as target, \
            Memleak(mallow, "-p", target.pid, *ALL, *options) as memleak:
        target.do(word)
        report = memleak.report()
        target.process.stdin.write("end\n")
        target.process.stdin.flush()
        assert target.process.wait(timeout=60) == 7
    found = by_keeper(report)
    assert {keeper: found.get(keeper) for keeper in wanted(name, *kinds)} == wanted(name, *kinds)
    assert report["warnings"] == []
    if said:
        assert any(said in note for note in memleak.notes), memleak.notes
    return report


def library(name):
    paths = [path for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
             for path in sorted(glob.glob(f"{folder}/{LIBRARIES[name]}"))]
    if not paths:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    return paths[0]


@pytest.fixture(scope="module")
def operators(compile_sample):
    return compile_sample("outstanding_new", "gcc", "-O2", ["-fno-builtin"])


@pytest.mark.parametrize("name, way", diagonals([None, *LIBRARIES], ["session", "multi", "perf"]))
def test_preloaded(mallow, operators, name, way):
    """operator new of these libraries does not call malloc, and throws: no return is probed there."""
    environment = {"LD_PRELOAD": library(name)} if name else None
    report = check(mallow, [operators], "outstanding_new", "--probes", way, said=name or "glibc",
                   environment=environment, word="no-throw" if name == "mimalloc" else "all")
    whole = sum(stack["whole"] for stack in report["stacks"])
    assert whole == len(report["stacks"]), [s["cut"] for s in report["stacks"]]


@pytest.mark.parametrize("name", LINKED)
def test_linked_into_the_program(mallow, compile_sample, name):
    program = compile_sample("outstanding_new", "gcc", "-O2", ["-fno-builtin", *LINKED[name]])
    check(mallow, [program], "outstanding_new", said=name)


def test_what_jemalloc_maps_for_itself(mallow, tmp_path):
    """Its constructor does so before any call of malloc, which -c sees."""
    (tmp_path / "p.c").write_text("""
        #include <stdlib.h>
        void *volatile kept;
        __attribute__((noinline)) void keep_it(void) { kept = malloc(777); }
        int main(void) { keep_it(); return 0; }""")
    subprocess.run(["gcc", "-O1", "-o", "p", "p.c", *LINKED["jemalloc"]], cwd=tmp_path, check=True)
    run = subprocess.run([mallow, "memleak", "--json", *ALL, "-c", tmp_path / "p", "1000"], capture_output=True,
                         text=True, timeout=60)
    assert by_keeper(json.loads(run.stdout.splitlines()[-1])) == {"keep_it": (777, 1)}, run.stderr


@pytest.mark.parametrize("compiler, flags", [("gcc", ["-static"]), ("gcc", ["-static-pie", "-fPIE"]),
                                             ("musl", ["-Wl,--eh-frame-hdr"]),
                                             ("musl", ["-static", "-Wl,--eh-frame-hdr"])])
def test_other_c_libraries(mallow, compile_sample, compiler, flags):
    program = compile_sample("outstanding", compiler, "-O2", ["-fno-builtin", *flags])
    report = check(mallow, [program], "outstanding", kinds=("GLIBC",) if compiler == "gcc" else ())
    if compiler == "gcc":
        assert all(stack["whole"] for stack in report["stacks"])


def test_in_a_chroot(mallow, compile_sample, tmp_path):
    """The files are those that the process has mapped, not those of that name here."""
    program = compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])
    listing = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    for word in {word for word in listing.split() if word.startswith("/")}:
        to = tmp_path / word.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(word, to)
    shutil.copy(program, tmp_path / "program")
    check(mallow, [need("chroot"), tmp_path, "/program"], "outstanding", said="/libc.so")


def test_a_library_that_was_deleted(mallow, compile_sample, tmp_path):
    program = compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin"])
    listing = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    libc = next(word for word in listing.split() if word.startswith("/") and "libc.so" in word)
    copy = tmp_path / "libc.so.6"
    shutil.copy(libc, copy)
    with Target([program], environment={"LD_LIBRARY_PATH": str(tmp_path)}) as target:
        target.do("1")
        copy.unlink()
        with Memleak(mallow, "-p", target.pid, *ALL) as memleak:
            target.do("all")
            report = memleak.report()
    assert by_keeper(report) == wanted("outstanding", "GLIBC")
    assert all(stack["whole"] and functions(stack)[-1] == "_start" for stack in report["stacks"])


def recorded(mallow, tool, command, path, word="all", environment=None):
    """{function that keeps something: (bytes, blocks)} by mallow attach, of blocks; names are those of the recording."""
    with Target(command, environment=environment) as target, Attach(mallow, target.pid, path) as attach:
        target.do(word)
        attach.end()
    found = collections.defaultdict(lambda: (0, 0))
    for site in tool.report(path)["sites"]:
        name = next((frame["function"] for frame in site["stack"] if frame["function"].startswith("keep_")), None)
        found[name] = (found[name][0] + site["leaked_bytes"], found[name][1] + site["leaked_blocks"])
    assert tool.info(path)["complete"]
    return {name: sums for name, sums in found.items() if name and sums[0]}


@pytest.mark.parametrize("name", [None, *LIBRARIES])
def test_attached_and_preloaded(mallow, tool, operators, tmp_path, name):
    environment = {"LD_PRELOAD": library(name)} if name else None
    found = recorded(mallow, tool, [operators], tmp_path / "r.mallow", "no-throw" if name == "mimalloc" else "all", environment)
    assert {keeper: found.get(keeper) for keeper in wanted("outstanding_new")} == wanted("outstanding_new")


@pytest.mark.parametrize("compiler, flags", [("gcc", ["-static"]), ("musl", ["-Wl,--eh-frame-hdr"])])
def test_attached_with_other_c_libraries(mallow, tool, compile_sample, tmp_path, compiler, flags):
    program = compile_sample("outstanding", compiler, "-O2", ["-fno-builtin", *flags])
    found = recorded(mallow, tool, [program], tmp_path / "r.mallow")
    kept = {name: sums for name, sums in wanted("outstanding", *(["GLIBC"] if compiler == "gcc" else [])).items()
            if name not in MAPPED}
    assert {name: found.get(name) for name in kept} == kept


def test_attached_in_a_chroot(mallow, tool, compile_sample, tmp_path):
    """Names come from the files that the process has mapped."""
    program = compile_sample("outstanding", "gcc", "-O2", ["-fno-builtin", "-static"])
    (tmp_path / "bin").mkdir()
    shutil.copy(program, tmp_path / "bin" / "true")
    found = recorded(mallow, tool, [need("chroot"), tmp_path, "/bin/true"], tmp_path / "r.mallow")
    assert found["keep_malloc"] == (1001, 1) and found["keep_large"] == (2_600_000, 13)


def test_an_object_that_is_named(mallow, operators, tmp_path):
    path = library("jemalloc")
    how = {"environment": {"LD_PRELOAD": path}}
    check(mallow, [operators], "outstanding_new", "-O", "jemalloc", said="jemalloc", **how)
    check(mallow, [operators], "outstanding_new", "-O", path, said="jemalloc", **how)
    with Target([operators], **how) as target, \
            Memleak(mallow, "-p", target.pid, *ALL, "-O", "c") as memleak:
        target.do("all")
        report = memleak.report()
    # jemalloc asks the C library for nothing but mappings.
    assert "keep_malloc" not in by_keeper(report)


def test_a_prefix(mallow, compile_sample, tmp_path):
    source = pathlib.Path(tmp_path / "own.c")
    source.write_text("""
        #include <stdio.h>
        #include <string.h>
        static char room[1 << 20];
        static unsigned long used;
        __attribute__((noinline)) void *zz_malloc(unsigned long size)
        { void *at = room + used; used += (size + 15) & ~15ul; return used > sizeof(room) ? 0 : at; }
        __attribute__((noinline)) void zz_free(void *at) { *(volatile char *)at = 0; }
        void *volatile kept;
        __attribute__((noinline)) void keep_zz(void) { kept = zz_malloc(77); kept = zz_malloc(78); zz_free(kept); }
        int main(void)
        {
            char word[64];
            setvbuf(stdin, NULL, _IONBF, 0), setvbuf(stdout, NULL, _IONBF, 0), puts("ready");
            while (scanf("%63s", word) == 1 && strcmp(word, "end")) keep_zz(), printf("done %s\\n", word);
            return 7;
        }""")
    program = tmp_path / "own"
    subprocess.run(["gcc", "-O1", "-o", str(program), str(source)], check=True)
    with Target([program]) as target, Memleak(mallow, "-p", target.pid, *ALL, "--symbols-prefix",
                                              "zz_") as memleak:
        target.do("all")
        report = memleak.report()
    assert by_keeper(report) == {"keep_zz": (77, 1)}


RUST = """
use std::alloc::{GlobalAlloc, Layout};
use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering};
struct Own;
static mut ROOM: [u8; 1 << 22] = [0; 1 << 22];
static USED: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = USED.fetch_add(layout.size() + 64, Ordering::Relaxed);
        ((std::ptr::addr_of_mut!(ROOM) as usize + at + 63) & !63) as *mut u8
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
#[global_allocator]
static OWN: Own = Own;
#[no_mangle] #[inline(never)]
pub extern "C" fn keep_vector() { std::mem::forget(std::hint::black_box(Vec::<u8>::with_capacity(777))); }
#[no_mangle] #[inline(never)]
pub extern "C" fn keep_grown() {
    let mut v = Vec::<u8>::with_capacity(10);
    v.push(1);
    v.reserve_exact(5000);
    std::mem::forget(std::hint::black_box(v));
}
fn main() {
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let word = line.unwrap();
        if word == "end" { std::process::exit(7); }
        keep_vector();
        keep_grown();
        drop(std::hint::black_box(vec![1u8; 3000]));
        println!("done {word}");
    }
}
"""


def test_rust_with_an_allocator_of_its_own(mallow, tmp_path):
    (tmp_path / "own.rs").write_text(RUST)
    subprocess.run([need("rustc"), "-g", "-o", str(tmp_path / "own"), str(tmp_path / "own.rs")], check=True,
                   capture_output=True)
    with Target([tmp_path / "own"]) as target, Memleak(mallow, "-p", target.pid, *ALL) as memleak:
        target.do("all")
        report = memleak.report()
    found = by_keeper(report)
    assert found["keep_vector"] == (777, 1) and found["keep_grown"] == (5001, 1)
    assert not any("3000" in str(stack["bytes"]) for stack in report["stacks"])
    assert any("Rust" in note for note in memleak.notes), memleak.notes


def test_nothing_to_hook_is_said(mallow, tmp_path):
    """A program without any allocator."""
    source = tmp_path / "bare.c"
    source.write_text("""
        void _start(void) { for (;;) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(34) : "rcx", "r11", "memory"); } }
        """)
    program = tmp_path / "bare"
    subprocess.run(["gcc", "-O1", "-nostdlib", "-static", "-o", str(program), str(source)], check=True)
    process = subprocess.Popen([str(program)])
    try:
        run = subprocess.run([str(mallow), "memleak", "-p", str(process.pid)], capture_output=True, text=True,
                             timeout=60)
    finally:
        process.kill()
        process.wait()
    assert run.returncode == 1
    assert f"no allocator was found in process {process.pid} ({program})" in run.stderr
    assert run.stderr.count("\n") == 1
