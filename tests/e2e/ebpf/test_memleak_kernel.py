"""mallow memleak without a process: the kernel's own memory."""
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import clean_environment, need
from traced_kernel import (BTF_TYPEDEF, RETURN_0, Caller, KernelMemleak, blocks, kernel_type, refusal_of_fentry,
                           slab_objects, through)
from traced_process import functions, need_bpf

ALL = ("-o", "0", "-T", "0")
OPEN = "fds = [old_eventfd() for _ in range(1000)]"
OLD = "__x64_sys_eventfd"
PAGE = 4096


@pytest.fixture(autouse=True)
def bpf():
    """One test at a time on this machine: a trace of the kernel sees the eventfds of all."""
    need_bpf()
    # A file that is there on every such machine, in each chroot the same, and that nobody else can replace.
    with open("/sys/kernel/btf/vmlinux", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def of_eventfds(report):
    """The stacks of the old system call: eventfd2 is used by others."""
    return [stack for stack in report["stacks"] if OLD in functions(stack)]


def contexts(report):
    """Those of the eventfd_ctx itself."""
    return [stack for stack in of_eventfds(report) if functions(stack)[1] == "do_eventfd"]


@pytest.mark.parametrize("options", [("-o", "0"), ("-C",)])
def test_what_is_open_is_found_to_the_object(mallow, options):
    """And gone once it is closed, though most of it is freed later, by RCU."""
    with Caller() as caller, KernelMemleak(mallow, "-T", "0", *options, interval=0.5) as memleak:
        caller.do(OPEN)
        report = memleak.wait_until(lambda report: blocks(contexts(report)) == 1000)
        (context,) = contexts(report)
        assert context["bytes"] % 1000 == 0 and context["whole"]
        assert functions(context)[-1].startswith("entry_SYSCALL_64")
        by_cache = {stack["cache"]: stack["allocations"] for stack in of_eventfds(report) if stack["cache"]}
        assert by_cache["filp"] == by_cache["dentry"] == 1000
        assert all(frame["module"] == "kernel" for frame in context["frames"])
        assert report["pid"] == 0 and report["name"] == "kernel"

        caller.do("close(fds)")
        report = memleak.wait_until(lambda report: not contexts(report))
        memleak.wait_until(lambda report: not any(stack["cache"] in ("filp", "dentry")
                                                  for stack in of_eventfds(report)))


def test_sums_agree_with_those_of_the_kernel(mallow):
    """Sockets, files, epoll items: what the table says, and what /proc/slabinfo does."""
    made = {
        "sock_inode_cache": "s = [socket.socket(socket.AF_UNIX) for _ in range(4000)]",
        "filp": "f = [os.open('/dev/null', os.O_RDONLY) for _ in range(4000)]",
        "eventpoll_epi": "e = old_eventfd(); p = [select.epoll() for _ in range(4000)]; [x.register(e, 1) for x in p]",
    }
    with Caller() as caller, KernelMemleak(mallow, *ALL) as memleak:
        before = {cache: slab_objects(cache) for cache in made}
        caller.do(*made.values())
        grown = {cache: slab_objects(cache) - count for cache, count in before.items() if count is not None}
        report = memleak.report()
    assert len(grown) >= 2
    for cache, growth in grown.items():
        found = blocks(stack for stack in report["stacks"] if stack["cache"] == cache)
        # Each of these makes a file, too.
        made_of_it = 12000 if cache == "filp" else 4000
        assert made_of_it <= found < made_of_it * 1.1, cache
        assert abs(found - growth) < 0.25 * found, cache


def test_frees_in_bulk_are_no_leak(mallow):
    """Fault 13 of memleak: 48,000 epoll items are freed by RCU in bulk, which has no tracepoint."""
    with Caller() as caller, KernelMemleak(mallow, *ALL, interval=1) as memleak:
        caller.do("fds = [old_eventfd() for _ in range(8000)]")
        for _ in range(6):
            caller.do("p = select.epoll()", "for fd in fds: p.register(fd, 1)", "p.close()")

        def is_honest(report):
            items = through(report, "do_epoll_ctl")
            return blocks(stack for stack in items if not stack["doubt"]) < 4000

        report = memleak.wait_until(is_honest)
    if "Frees of many objects" in "".join(memleak.notes):
        assert report["gone_allocations"] > 20_000 or report["caches"]
    doubted = {cache["name"] for cache in report["caches"]}
    for stack in report["stacks"]:
        if stack["doubt"]:
            assert stack["cache"] in doubted
    for name in doubted:
        assert any(warning.startswith(f"{name}: ") for warning in report["warnings"])


def uses(report):
    return {pages["use"]: pages["bytes"] for pages in report["pages"]}


def test_pages_of_programs_and_files_do_not_drown_it(mallow, tmp_path):
    """Fault 14: 100 MB of a program's memory, and 60 MB of a file, are a line each."""
    with Caller() as caller, KernelMemleak(mallow, *ALL) as memleak:
        caller.do("m = mmap.mmap(-1, 100 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
                  "for at in range(0, 100 << 20, 4096): m[at] = 1",
                  f"open({str(tmp_path / 'big')!r}, 'wb').write(b'x' * (60 << 20))")
        report = memleak.report()
    found = uses(report)
    assert found["program"] >= 100 << 20 and found["file"] >= 60 << 20
    for names in (("do_anonymous_page",), ("vfs_write",)):
        # What is left are the kernel's notes about these pages.
        assert sum(stack["bytes"] for stack in through(report, *names)) < 10 << 20
    sizes = [pages["bytes"] for pages in report["pages"]]
    assert sizes == sorted(sizes, reverse=True) and all(pages["bytes"] == pages["pages"] * PAGE
                                                       for pages in report["pages"])


def test_all_pages_have_stacks_if_asked(mallow):
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--all-pages") as memleak:
        caller.do("m = mmap.mmap(-1, 50 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
                  "for at in range(0, 50 << 20, 4096): m[at] = 1")
        report = memleak.report()
    faults = [stack for stack in report["stacks"] if any("fault" in (name or "") for name in functions(stack))]
    assert sum(stack["bytes"] for stack in faults) >= 50 << 20
    assert "program" not in uses(report)


def test_pages_behind_objects_do_not_count_again(mallow):
    """Slabs are a line of their own; a kmalloc() of whole pages is no pages."""
    with Caller() as caller, KernelMemleak(mallow, *ALL) as memleak:
        # 256 slots of 40 bytes: more than kmalloc's largest cache has.
        caller.do("s = [socket.socket(socket.AF_UNIX) for _ in range(5000)]", "p = [os.pipe() for _ in range(100)]",
                  "for r, w in p: fcntl.fcntl(w, 1031, 1 << 20)")
        report = memleak.report()
    assert uses(report)["slab"] > 1 << 20
    rings = through(report, "pipe_resize_ring")
    assert blocks(rings) == 100 and sum(stack["bytes"] for stack in rings) == 100 * 16384
    for stack in report["stacks"]:
        names = functions(stack)
        assert not ("allocate_slab" in names and names[0].startswith(("__alloc_pages", "__alloc_frozen_pages"))), names


BPF_CREATE = ("k = (ctypes.c_uint * 32)(6, 4, 64, 100)",
              "m = libc.syscall(321, 0, k, ctypes.sizeof(k))", "assert m >= 0, ctypes.get_errno()")


def test_memory_by_processor(mallow):
    """A BPF array of 100 values for each processor."""
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--percpu", interval=0.5) as memleak:
        caller.do(*BPF_CREATE)
        report = memleak.wait_until(lambda report: blocks(through(report, "pcpu_alloc", "array_map_alloc")) >= 100)
        found = [s for s in through(report, "pcpu_alloc", "array_map_alloc") if s["allocations"] == 100]
        assert found and found[0]["bytes"] >= 100 * 64 * (os.cpu_count() or 1)
        caller.do("os.close(m)")
        memleak.wait_until(lambda report: not through(report, "pcpu_alloc", "array_map_alloc"))


PIPES = 1000


def of_pipes(report):
    """What each pipe of the old system call has: neither the table of descriptors nor notes about slabs.

    Few others call it, and open few.
    """
    return [stack for stack in through(report, "create_pipe_files")
            if "__x64_sys_pipe" in functions(stack) and "allocate_slab" not in functions(stack)
            and blocks([stack]) > PIPES // 10]


def test_pipes(mallow):
    """Each has an inode, a ring of 16 slots of 40 bytes, two files; and a page once something is in it."""
    with Caller() as caller, KernelMemleak(mallow, *ALL, interval=0.5) as memleak:
        caller.do(f"pipes = [old_pipe() for _ in range({PIPES})]")

        def are_all_found(report):
            return of_pipes(report) and all(PIPES <= blocks([stack]) < 1.1 * PIPES for stack in of_pipes(report))

        stacks = of_pipes(memleak.wait_until(are_all_found))
        (ring,) = (stack for stack in stacks if functions(stack)[:2] == ["__kmalloc_noprof", "alloc_pipe_info"])
        assert ring["bytes"] == blocks([ring]) * 1024
        caches = [stack["cache"] for stack in stacks]
        assert caches.count("filp") == 2 and caches.count("dentry") == 1 and len(stacks) >= 6

        caller.do("for pipe in pipes: os.write(pipe[1], b'x')")
        memleak.wait_until(lambda report: blocks(through(report, "anon_pipe_write")) >= PIPES)
        caller.do("for pipe in pipes: close(list(pipe))")
        memleak.wait_until(lambda report: not of_pipes(report)
                           and blocks(through(report, "anon_pipe_write")) < PIPES // 2)


PROGRAMS = 1000


def of_programs(report):
    """The kernel keeps its notes about virtual memory that is free again (vmap_area) for later."""
    return [stack for stack in through(report, "bpf_prog_load", "bpf_prog_alloc")
            if stack["cache"] != "vmap_area" and "allocate_slab" not in functions(stack)]


def test_bpf_programs_come_and_go(mallow):
    """A thousand programs of two instructions, whose memory a work queue frees some time after they are closed."""
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--percpu", interval=0.5) as memleak:
        caller.do(f"code = ctypes.create_string_buffer({RETURN_0!r}, {len(RETURN_0)})",
                  "terms = ctypes.create_string_buffer(b'GPL')",
                  f"programs = [load_program(code, terms) for _ in range({PROGRAMS})]")

        def are_found(report):
            # Others may load some, too.
            stacks = [stack for stack in of_programs(report) if PROGRAMS <= blocks([stack]) < 1.2 * PROGRAMS]
            return {"__kmalloc", "pcpu_alloc"} <= {functions(stack)[0][:len(name)] for stack in stacks
                                                   for name in ("__kmalloc", "pcpu_alloc")}

        report = memleak.wait_until(are_found)
        files = [stack for stack in through(report, "bpf_prog_load") if stack["cache"] == "filp"]
        assert PROGRAMS <= blocks(files) < 1.2 * PROGRAMS
        caller.do("close(programs)")
        memleak.wait_until(lambda report: blocks(of_programs(report)) < PROGRAMS // 10)


def test_whether_frees_in_bulk_are_visible_is_said(mallow):
    """Where the kernel refuses fentry, which is tried here, and has no tracepoint for them: tracing goes on."""
    reason = refusal_of_fentry("kmem_cache_free_bulk")
    if kernel_type("btf_trace_rcu_invoke_kfree_bulk_callback", BTF_TYPEDEF):
        reason = None
    with Caller() as caller, KernelMemleak(mallow, *ALL, interval=0.5) as memleak:
        caller.do(OPEN)
        memleak.wait_until(lambda report: blocks(contexts(report)) == 1000)
        caller.do("close(fds[:400])", "del fds[:400]")
        memleak.wait_until(lambda report: blocks(contexts(report)) == 600)
        memleak.report()
    said = [note for note in memleak.notes if "at once are not visible" in note]
    assert len(said) == (reason is not None), (reason, memleak.notes)
    for note in said:
        assert re.fullmatch(r"Frees of many objects at once are not visible: .* \(.+\)\.\n", note) and reason in note


def test_addresses_order_and_top(mallow):
    with Caller() as caller, KernelMemleak(mallow, "-o", "0", "-T", "2", "-a", "--sort", "count") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    sizes = [block["size"] for block in report["blocks"]]
    assert sizes == sorted(sizes) and len(sizes) == report["allocations"] and sum(sizes) == report["bytes"]
    assert len(report["stacks"]) == 2 and report["stack_count"] > 5
    assert all(int(block["address"], 16) >= 1 << 63 for block in report["blocks"])


def test_filters(mallow):
    """-z and -Z, and samples that are scaled up."""
    with Caller() as caller, KernelMemleak(mallow, *ALL, "-z", "100", "-Z", "200") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    assert not contexts(report) and report["stacks"]
    assert all(100 <= stack["bytes"] / stack["allocations"] <= 200 for stack in report["stacks"])
    with Caller() as caller, KernelMemleak(mallow, *ALL, "-s", "10") as memleak:
        caller.do("fds = [old_eventfd() for _ in range(15000)]")
        report = memleak.report()
    # The standard deviation is 2.5 %.
    assert 0.87 < blocks(contexts(report)) / 15000 < 1.13


def test_young_ones_are_left_out(mallow):
    with Caller() as caller, KernelMemleak(mallow, "-T", "0", "-o", "600000") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    assert report["stacks"] == [] and report["young_allocations"] >= 4000


def test_what_is_lost_is_counted(mallow):
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--blocks", "100", "--stack-storage-size", "1") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    words = "".join(report["warnings"])
    assert "--blocks" in words and "--stack-storage-size" in words
    assert report["allocations"] <= 110


def test_depths(mallow):
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--perf-max-stack-depth", "6") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    cut = [stack for stack in report["stacks"] if not stack["whole"]]
    assert cut and all("deeper" in stack["cut"] for stack in cut)
    with Caller() as caller, KernelMemleak(mallow, *ALL, "--perf-max-stack-depth", "0") as memleak:
        caller.do(OPEN)
        report = memleak.report()
    assert report["allocations"] >= 4000 and not any(stack["frames"] for stack in report["stacks"])


def test_each_call_is_printed(mallow):
    with Caller() as caller, KernelMemleak(mallow, "-t", json=False) as memleak:
        caller.do(OPEN, "close(fds)")
        out = memleak.end()
        pid = caller.process.pid
    allocated = set(re.findall(rf"-{pid} +\[\d{{3}}\] \d+\.\d{{6}}: alloc exited, size = \d+, result = (\w+)", out))
    freed = set(re.findall(rf"-{pid} +\[\d{{3}}\] \d+\.\d{{6}}: free entered, address = (\w+), size = \d+", out))
    assert len(allocated) > 1000 and len(allocated & freed) > 1000


def test_nothing_but_lines_is_printed_with_trace(mallow):
    """No reports, though their time comes; and nothing that mallow allocates to print the lines."""
    with Caller() as caller, KernelMemleak(mallow, "-t", interval=0.2, json=False) as memleak:
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            caller.do(OPEN, "close(fds)")
        lines = memleak.end().splitlines()
        pid = memleak.process.pid
    line = re.compile(r".{1,16}-(\d+) +\[\d{3}\] \d+\.\d{6}: (alloc exited, size = \d+, result = [0-9a-f]+|"
                      r"free entered, address = [0-9a-f]+, size = \d+)")
    matches = [line.fullmatch(text) for text in lines if not text.startswith(("Frees of many", "WARNING: "))]
    assert len(matches) > 10_000 and all(matches)
    assert all(re.match(r"WARNING: \d+ lines are missing", text) for text in lines if text.startswith("WARNING: "))
    assert not any(int(match[1]) == pid for match in matches)


@pytest.mark.parametrize("option", ["-C", "--combined-only"])
def test_sums_only(mallow, option):
    """Fault 18: memleak's dies when it prints them."""
    with Caller() as caller, KernelMemleak(mallow, *("-T", "0", option), json=False) as memleak:
        caller.do(OPEN)
        out = memleak.end()
    stacks = re.findall(r"^\t(\d+) bytes in (\d+) allocations from stack\n((?:\t\t.*\n)+)", out, re.M)
    (context,) = ((int(size), int(count)) for size, count, frames in stacks
                  if re.match(rf"\t\t\S+ \[kernel\]\n\t\tdo_eventfd\+.*(?s:.*)\t\t{OLD}\+0x", frames))
    assert context[1] == 1000 and context[0] % 1000 == 0
    assert "younger" not in out and "addr = " not in out
    assert re.search(r"^\tIn all \d+ bytes in \d+ allocations from \d+ stacks", out, re.M)


def run_text(mallow, *arguments, before=()):
    return subprocess.run([*before, str(mallow), "memleak", *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, env=clean_environment())


def test_layout(mallow):
    with Caller() as caller:
        caller.do(OPEN)     # not seen: it is older
        run = run_text(mallow, "-o", "0", "-T", "3", "0.5", "2")
    assert run.returncode == 0 and run.stderr == ""
    assert run.stdout.startswith("Attaching to kernel allocators, Ctrl+C to quit.\n")
    assert len(re.findall(r"^\[\d\d:\d\d:\d\d\] Top \d stacks with outstanding allocations:$", run.stdout, re.M)) == 2
    assert re.search(r"^\t\d+ bytes in \d+ allocations from stack\n(\t\t\S+\+0x[0-9a-f]+ \[\w+\]\n)+", run.stdout, re.M)
    # No stack begins in the tracing itself. Deeper, such names are another tracer's that loads programs meanwhile.
    assert not re.search(r"from stack\n\t\t(bpf_prog_|bpf_trace_run|__traceiter)", run.stdout)
    assert OLD not in run.stdout.split()


@pytest.mark.parametrize("arguments, words", [
    (("-O", "c"), "--obj is about a process"), (("-S", "je_"), "--symbols-prefix is about a process"),
    (("--probes", "perf"), "--probes is about a process"), (("--follow",), "--follow is about a process"),
    (("-p", "1", "--all-pages"), "--all-pages is about the kernel's memory"),
    (("-C", "-a"), "exclude each other"),
])
def test_what_is_refused(mallow, arguments, words):
    run = run_text(mallow, *arguments)
    assert run.returncode == 2
    assert words in run.stderr and run.stderr.count("\n") == 1 and run.stderr.startswith("mallow: ")


@pytest.mark.parametrize("dropped, named", [
    ("-bpf,-sys_admin", "CAP_BPF"), ("-perfmon,-sys_admin", "CAP_PERFMON"), ("-syslog", "CAP_SYSLOG"),
])
def test_a_missing_capability_is_named(mallow, dropped, named):
    run = run_text(mallow, before=[need("setpriv"), "--bounding-set", dropped])
    assert run.returncode == 1
    assert named in run.stderr and "setcap cap_bpf,cap_perfmon,cap_syslog+ep" in run.stderr
    assert run.stderr.count("\n") == 1


def test_addresses_that_are_hidden_are_said_to_be(mallow, tmp_path):
    """What sysctl kernel.kptr_restrict=2 does to /proc/kallsyms."""
    hidden = tmp_path / "kallsyms"
    hidden.write_text("0000000000000000 T _stext\n0000000000000000 T do_one_initcall\n")
    run = run_text(mallow, before=[need("unshare"), "-m", "sh", "-c",
                                   f"mount --bind {hidden} /proc/kallsyms && exec \"$@\"", "sh"])
    assert run.returncode == 1
    assert "kptr_restrict" in run.stderr and run.stderr.count("\n") == 1


def traced_by(command, last_note):
    """The report of a memleak that is started in some way, while 1,000 eventfds are opened; and its mounts."""
    with Caller() as caller:
        # Unbuffered: what is behind the lines that are read here is left to communicate().
        memleak = subprocess.Popen([*command, "memleak", "--json", "-o", "0", "-T", "0", "1000"], bufsize=0,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
        note = " "
        while note and not note.startswith(last_note):
            note = memleak.stderr.readline().decode()
        assert note, memleak.communicate()
        with open(f"/proc/{memleak.pid}/mounts") as mounts:
            mounted = mounts.read()
        caller.do(OPEN)
        memleak.send_signal(signal.SIGINT)
        out, _ = memleak.communicate(timeout=60)
    return json.loads(out.splitlines()[-1]), mounted


def test_no_more_capabilities_than_named_are_needed(mallow):
    """But for what pages are used for, which only CAP_SYS_ADMIN may know."""
    report, _ = traced_by([need("setpriv"), "--bounding-set", "-all,+bpf,+perfmon,+syslog", str(mallow)],
                          "What pages are used for is unknown")
    assert blocks(contexts(report)) == 1000
    assert "program" not in uses(report)


def test_no_file_system_of_tracing_is_needed(mallow):
    """tracefs, debugfs and bpffs, where they are mounted, are hidden."""
    hide = ("for at in /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf; do "
            "umount -l $at 2>/dev/null; done; exec \"$@\"")
    report, mounts = traced_by([need("unshare"), "-m", "sh", "-c", hide, "sh", str(mallow)], "Tracing")
    assert not re.search(r" (tracefs|debugfs|bpf) ", mounts)
    assert blocks(contexts(report)) == 1000


def test_a_busy_kernel_does_not_keep_it_from_ending(mallow):
    """Lines of -t come faster than they are printed."""
    busy = subprocess.Popen(["/usr/bin/python3", "-c", "import os\nwhile True: os.close(os.eventfd(0))"])
    try:
        run = subprocess.run([str(mallow), "memleak", "-t", "0.5", "1"], stdout=subprocess.DEVNULL, timeout=30,
                             env=clean_environment())
        assert run.returncode == 0
    finally:
        busy.kill()
        busy.wait()


CHANGING = """
import os, select, sys
fds = [os.eventfd(0) for _ in range(10000)]
sets = [select.epoll() for _ in range(int(sys.argv[1]))]
for one in sets:
    for fd in fds: one.register(fd, 1)
print("ready", flush=True)
while True:
    for one in sets[:3]:
        for fd in fds: one.unregister(fd)
        for fd in fds: one.register(fd, 1)
"""


@pytest.mark.parametrize("sets", [6, pytest.param(60, marks=pytest.mark.long)])
def test_a_million_changing_objects(mallow, sets):
    """Fault 17: a report comes back though the table changes all the time, and Ctrl+C works at once."""
    with KernelMemleak(mallow, "-o", "0", "-T", "3", "--blocks", "4000000") as memleak:
        busy = subprocess.Popen(["/usr/bin/python3", "-c", CHANGING, str(sets)], stdout=subprocess.PIPE, text=True)
        try:
            assert busy.stdout.readline() == "ready\n"
            begun = time.monotonic()
            report = memleak.report()
            taken = time.monotonic() - begun
        finally:
            busy.kill()
            busy.communicate()
    # An item, and its place in the list of who waits.
    assert report["allocations"] > sets * 17_000
    assert taken < 20, taken
