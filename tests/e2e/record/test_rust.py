"""The crate in rust/: what a Rust program tells mallow, and asks it about itself."""
import json
import re
import shutil
import subprocess

import pytest

from conftest import TOP, clean_environment, flags_to_link, need

pytestmark = pytest.mark.long

# An allocator that nothing knows, in memory of its own, which counts its calls.
BUMP = """
use mallow::Mallow;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Bump;
static mut MEMORY: [u8; 64 << 20] = [0; 64 << 20];
static USED: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        let start = USED.fetch_add(layout.size() + layout.align(), Relaxed);
        let memory = std::ptr::addr_of_mut!(MEMORY).cast::<u8>();
        let block = memory.add(start);
        block.add(block.align_offset(layout.align()))
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Mallow<Bump> = Mallow::new(Bump);

fn main() {
    mallow::set_tag(7);
    mallow::mark("begin");
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..1000).map(|i| vec![1u8; i]).collect::<Vec<_>>().len()))
        .collect();
    let count: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    std::mem::forget(vec![1u8; 12345]);
    let mut grown = Vec::with_capacity(10);
    grown.resize(100_000, 1u8);
    std::mem::forget(grown);
    mallow::mark("end");
    mallow::stop();
    drop(vec![1u8; 777_777]);
    let stopped = mallow::is_running();
    mallow::start();
    let memory = std::ptr::addr_of!(MEMORY) as usize;
    println!("{count} {} {} {stopped} {} {memory}", CALLS.load(Relaxed) - 1, mallow::is_running(), mallow::sync());
    println!("{}", mallow::sites(|_| true).is_some());
}
"""
ALLOC_TRACK = """
use alloc_track::{{AllocTrack, BacktraceMode}};
#[global_allocator]
static ALLOCATOR: AllocTrack<std::alloc::System> = AllocTrack::new(std::alloc::System, BacktraceMode::Short);
{program}
fn main() {{
    let kept = run();
    println!("{{}}", alloc_track::backtrace_report(|_, site| site.in_use() > 10_000));
    drop(kept);
}}
"""


@pytest.fixture(scope="module")
def cargo(tmp_path_factory):
    """cargo(name, main, …): a program of a project with the crate. Nothing is written into the source tree."""
    folder = tmp_path_factory.mktemp("rust")
    shutil.copytree(TOP / "rust", folder / "mallow", ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    need("cargo")

    def build(name, main, *options, dependencies="", profile="", skip=False):
        project = folder / name
        (project / "src").mkdir(parents=True, exist_ok=True)
        (project / "src" / "main.rs").write_text(main)
        (project / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n'
                                            f'mallow = {{ path = "../mallow" }}\n{dependencies}\n[profile.release]\ndebug = 1\n{profile}\n')
        run = subprocess.run(["cargo", "rustc", "--release", "--target-dir", folder / "target", *options], cwd=project,
                             capture_output=True, text=True)
        if run.returncode and skip:
            pytest.skip(f"cargo cannot build it: {run.stderr.strip().splitlines()[-1]}")
        assert run.returncode == 0, run.stderr
        assert "warning" not in run.stderr, run.stderr
        return next((folder / "target").glob(f"**/release/{name}"))

    build.folder = folder
    return build


def check_bump(recorded):
    """Each call of the allocator once, but for the one while recording was stopped."""
    count, calls, running, stopped, synced, memory = recorded.stdout.splitlines()[0].split()
    assert (count, running, stopped, synced) == ("4000", "true", "false", "true")
    dump = recorded.tool("trace", "dump", recorded.path).stdout
    blocks = [int(address, 16) for address in re.findall(r" (?:malloc|memalign|realloc\S*) (0x[0-9a-f]+) ", dump)]
    there = sum(int(memory) <= block < int(memory) + (64 << 20) for block in blocks)
    assert 0 <= there - int(calls) <= 1  # and the buffer of standard output
    assert [word for word in ("begin", "end") if f'="{word}"' in dump] == ["begin", "end"]
    assert "size=12345" in dump and "size=777777" not in dump and "size=100000" in dump
    report = recorded.report_json
    assert not [one for one in report["findings"] if one["kind"] in ("mismatched", "double_free", "unknown_free")]
    assert report["unseen"] == []


@pytest.mark.parametrize("strip", [False, True])
def test_unknown_allocator(strip, cargo, record):
    program = cargo(f"bump{int(strip)}", BUMP, profile='strip = true\nlto = "fat"' * strip)
    check_bump(record([program]))
    alone = subprocess.run([program], capture_output=True, text=True, check=True)
    assert [word for word in alone.stdout.split() if not word.isdigit()] == ["false"] * 4


def test_static(cargo, agent, record):
    """The agent in the program: the crate finds it without a loader."""
    options = [flag for flag in flags_to_link(agent, "static-pie") if "libmallow.options" in flag]
    program = cargo("linked", BUMP, "--target", "x86_64-unknown-linux-gnu", "--", "-C", "target-feature=+crt-static",
                    "-C", "linker=gcc", "-C", "link-arg=-fuse-ld=bfd", *[f"-Clink-arg={flag}" for flag in options],
                    "-L", f"native={agent.parent}", "-l", "static:+whole-archive=mallow")
    check_bump(record([program], linked=True))


# What bytehound's own tests of jemalloc in Rust programs do.
SEVEN = """
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

extern "C" {
    fn malloc(size: usize) -> *mut u8;
    #[link_name = "realloc"]
    fn c_realloc(block: *mut u8, size: usize) -> *mut u8;
    fn free(block: *mut u8);
}

fn bytes(size: usize) -> Layout {
    Layout::from_size_align(size, 1).unwrap()
}

fn main() {
    unsafe {
        black_box(alloc(bytes(10)));
        let freed = black_box(alloc(bytes(100)));
        let grown = black_box(alloc(bytes(1000)));
        black_box(realloc(grown, bytes(1000), 10000));
        black_box(alloc_zeroed(bytes(100000)));
        dealloc(freed, bytes(100));
        let of_c = black_box(malloc(200));
        free(black_box(c_realloc(of_c, 400)));
    }
}
"""


@pytest.mark.parametrize("features", [[], ["unprefixed_malloc_on_supported_platforms"]])
def test_seven_blocks(features, cargo, record):
    """All seven are seen, wherever jemalloc is: under a prefix or as malloc, and in a program that is one unit."""
    for lto in ("false", '"fat"'):
        program = cargo(f"seven{len(features)}", SEVEN, "--config", f"profile.release.lto={lto}", skip=True,
                        dependencies=f"tikv-jemallocator = {{ version = \"0.6\", features = {json.dumps(features)} }}")
        recorded = record([program], bare=False)
        dump = recorded.tool("trace", "dump", recorded.path).stdout
        blocks = re.findall(r" (\w+) 0x[0-9a-f]+ (?:old=0x[0-9a-f]+ )?size=(10|100|1000|10000|100000|200|400) ", dump)
        assert [int(size) for _, size in blocks] == [10, 100, 1000, 10000, 100000, 200, 400]
        freed = [line for line in dump.splitlines() if " free " in line]
        assert len(freed) >= 2
        [patched] = recorded.info_json["patched"]
        assert (patched["name"], patched["not_patched"]) == ("jemalloc", 0) and recorded.info_json["unseen"] == []
        recorded.path.unlink()


def test_reports(cargo, agent, mallow):
    """The example: without the agent, and with its reports, which name functions and lines."""
    program = cargo("queue", (TOP / "rust" / "examples" / "queue.rs").read_text())

    def run(**settings):
        return subprocess.run([program], capture_output=True, text=True, check=True,
                              env={**clean_environment(), **settings}).stdout

    assert run() == "100 requests are kept; 'mallow live' shows where they come from\n"
    live = {"LD_PRELOAD": str(agent), "MALLOW_MODE": "live"}
    shown = run(**live, MALLOW_HELPER=str(mallow))
    threads, _, sites = shown.partition("allocated:")
    assert re.search(r"producer:\n  total_alloc: 5\d\d KB\n.*\n  total_freed: 48\d KB\n  current_used: \S+ KB\n  freed by consumer: 48", threads)
    assert re.match(r" 500 KB\nallocations: 1000\navg_allocation: 50[01] B\nfreed: 451 KB\ntotal_used: 49.6 KB\n"
                    r"backtrace: 0x[0-9a-f]{16}\n  \S*produce  \S*/main\.rs:\d+\n", sites)
    # Without the tool there are addresses.
    shown = run(**live, MALLOW_HELPER="/bin/false")
    assert re.search(r"total_used: 49.6 KB\nbacktrace: 0x[0-9a-f]{16}\n  0x[0-9a-f]+\n", shown)


def test_beside_alloc_track(cargo, agent, mallow):
    """The same program with the crate whose idea this is: the numbers agree."""
    text = (TOP / "rust" / "examples" / "queue.rs").read_text()
    body = text[text.index("fn produce"):text.index("fn main")] + """
fn run() -> Vec<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    let producer = start("producer", move || produce(&sender));
    let consumer = start("consumer", move || consume(&receiver));
    producer.join().unwrap();
    consumer.join().unwrap()
}
"""
    other = cargo("tracked", "use std::sync::mpsc;\nuse std::thread;\n" + ALLOC_TRACK.format(program=body),
                  dependencies='alloc-track = "0.3"', skip=True)
    said = subprocess.run([other], capture_output=True, text=True, check=True).stdout
    theirs = re.search(r"allocated: (\d+) KB\nallocations: (\d+)\navg_allocation: ([\d.]+) B\nfreed: (\d+) KB\ntotal_used: (\d+) KB",
                       said).groups()
    ours = re.search(r"allocated: (\d+) KB\nallocations: (\d+)\navg_allocation: ([\d.]+) B\nfreed: (\d+) KB\ntotal_used: ([\d.]+) KB",
                     subprocess.run([next(cargo.folder.glob("target/release/queue"))], capture_output=True, text=True, check=True,
                                    env={**clean_environment(), "LD_PRELOAD": str(agent), "MALLOW_MODE": "live",
                                         "MALLOW_HELPER": str(mallow)}).stdout).groups()
    assert theirs[1] == ours[1] == "1000" and abs(float(theirs[2]) - float(ours[2])) <= 0.5
    for i in (0, 3, 4):  # theirs are units of 1024, without fractions
        assert float(theirs[i]) * 1.024 - 0.6 <= float(ours[i]) <= (float(theirs[i]) + 1) * 1.024 + 0.6, (theirs, ours)
