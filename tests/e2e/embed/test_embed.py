"""embed/: a program as the device, on several machines; its table as the independent reader and the
tool read it, against what the program says itself (host.c, known.c).
"""
import collections
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import cores
import live_reader
from cells import diagonals, mostly_long
from conftest import TOP, clean_environment, need
from made_live import packed_time

HERE = pathlib.Path(__file__).parent
EMBED = TOP / "embed"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wundef", "-pedantic", "-Werror"]
BUILD_ID = b"twenty bytes: build "
# Where gcc has its files for -m32; gcc answers with the mere name if it has none.
MULTILIB = pathlib.Path(subprocess.run(["gcc", "-print-file-name=32/crtbegin.o"], capture_output=True,
                                       text=True, check=True).stdout.strip())

Target = collections.namedtuple("Target", "compiler flags runner prefix pointer machine big stacks")
# stacks: mallow_embed_frame_pointers() knows the machine.


def cross(machine, prefix, *facts):
    return Target(prefix + "gcc", ["-static"], ["qemu-" + machine], prefix, *facts)


TARGETS = {
    "x86-64": Target("", [], [], "", 8, 62, False, True),
    "i386": Target("", ["-m32"], [], "", 4, 3, False, True),
    "aarch64": cross("aarch64", "aarch64-linux-gnu-", 8, 183, False, True),
    "riscv64": cross("riscv64", "riscv64-linux-gnu-", 8, 243, False, True),
    "armhf": cross("arm", "arm-linux-gnueabihf-", 4, 40, False, False),
    "s390x": cross("s390x", "s390x-linux-gnu-", 8, 22, True, False),
}
NATIVE = [(name, compiler) for name in ("x86-64", "i386") for compiler in ("gcc", "clang")]
CROSS = [(name, "gcc") for name in TARGETS if TARGETS[name].runner]
# What needs other compilers, or a C library for 32 bits, is of check-long.
WAYS = [way if way.values[0] == "x86-64" else pytest.param(*way.values, marks=pytest.mark.long)
        for way in diagonals(NATIVE + CROSS, ["-O0", "-O2"])]
# Calls, bytes, bytes of the live blocks, each in all sites of the function.
KNOWN = {
    "keep_fixed": (5, 500, [100] * 5), "churn": (20, 640, []), "keep_aligned": (2, 210, [200]),
    "keep_zeroed": (1, 120, [120]), "keep_grown": (3, 560, [500]), "keep_nothing": (2, 40, [0]),
    "keep_failed": (1, 24, [24]), "keep_deep": (1, 7, [7])}


def run(command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                            env=clean_environment(), **options)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


class Symbols:
    """The functions of a program."""

    def __init__(self, nm, program):
        listing = run([need(nm), "-n", program])
        self.symbols = [(int(address, 16), symbol) for address, symbol in
                        re.findall(r"^([0-9a-f]+) [tT] ([a-z]\w*)$", listing, re.MULTILINE)]

    def function(self, pc):
        """Of a return address."""
        return [symbol for address, symbol in self.symbols if address < pc][-1]


class Device(Symbols):
    """The program, built for a machine."""

    def __init__(self, folder, name, compiler, opt, extra=()):
        self.target = target = TARGETS[name]
        if name == "i386" and not MULTILIB.exists():
            pytest.skip("gcc's multilib is not installed")
        for program in target.runner:
            need(program)
        driver = need(target.compiler or compiler)
        self.folder = folder
        self.program = folder / "host"
        common = [driver, "-g", opt, "-fno-omit-frame-pointer", f"-I{EMBED}", *target.flags, *extra]
        run([*common, "-std=c99", "-ffreestanding", *WARNINGS, "-c", EMBED / "mallow_embed.c",
             "-o", folder / "embed.o"])
        run([*common, "-std=gnu17", "-no-pie", "-Wall", "-Wextra", f"-Wl,--build-id=0x{BUILD_ID.hex()}",
             folder / "embed.o", *sorted(HERE.glob("[hk]*.c")), "-o", self.program])
        super().__init__(target.prefix + "nm", self.program)

    def run(self, *words):
        return Dump(self, run([*self.target.runner, self.program, self.folder / "dump", *words]))


class Dump:
    """What a run left: the table, and what the program says of it."""

    def __init__(self, device, output):
        self.device, self.path, self.recording = device, device.folder / "dump", device.folder / "table"
        lines = [line.split() for line in output.splitlines()]
        offset, size = map(int, lines[0][1:])
        self.recording.write_bytes(self.path.read_bytes()[offset:offset + size])
        self.sites = {int(line[1]): tuple(map(int, line[2:])) for line in lines if line[0] == "site"}
        self.blocks = sorted(tuple(map(int, line[1:])) for line in lines if line[0] == "block")
        self.lost, = [int(line[1]) for line in lines if line[0] == "lost"]
        self.table = live_reader.read(self.recording)
        self.assert_sound()

    def assert_sound(self):
        table, header, target = self.table, self.table.header, self.device.target
        assert (header.major, header.minor, header.flags, header.clock) == (1, 6, 32, 2)
        assert (header.pointer_size, header.machine) == (target.pointer, target.machine)
        assert self.recording.read_bytes()[71] == target.big
        assert not table.recording.damages
        table.assert_consistent()
        addresses = table.assert_places()
        assert len({address - at for at, address in addresses.items()}) == 1
        assert sum(chunk.size for chunk in table.recording.chunks) == self.recording.stat().st_size - 4096

    def function_of(self, site):
        """The innermost function of a site's stack."""
        return self.device.function(self.table.stack(self.table.sites[site].node)[0][0])

    def tool_sites(self, tool):
        """{function: (live blocks, live bytes, bytes in all)}, as `mallow report` and `mallow core` say."""
        told = collections.defaultdict(lambda: [0, 0, 0])
        for site in tool.report(self.recording)["sites"]:
            sums = told[self.device.function(int(site["stack"][0]["address"], 0) + 1) if site["stack"] else None]
            for index, field in enumerate(["leaked_blocks", "leaked_bytes", "total_bytes"]):
                sums[index] += site[field]
        return {function: tuple(sums) for function, sums in told.items()}


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    """device(target, compiler, opt): built once."""
    built = {}

    def build(*way, extra=()):
        if (way, extra) not in built:
            built[way, extra] = Device(tmp_path_factory.mktemp("device"), *way, extra)
        return built[way, extra]
    return build


def core_sizes(tool, program, dump):
    """{innermost function: sizes of live blocks}, by the program's names."""
    report = json.loads(tool("core", "--raw", "--json", program, dump).stdout)
    sizes = collections.defaultdict(list)
    for site in report["sites"]:
        sizes[site["stack"][0]["function"]] += site["sizes"]
    return sizes


def assert_known(table, symbols):
    """The sums and blocks of known.c."""
    sums = collections.defaultdict(lambda: [0, 0, []])

    def of(site):
        return sums[symbols.function(table.stack(table.sites[site].node)[0][0])]
    for number, site in table.sites.items():
        of(number)[0] += site.calls
        of(number)[1] += site.bytes
    for block in table.blocks():
        of(block.site)[2].append(block.size)
        assert block.address % (64 if block.size == 200 else 8) == 0
    assert {name: tuple(values) for name, values in sums.items()} == KNOWN
    assert table.header.lost == 0


@pytest.mark.parametrize("target,compiler,opt", WAYS)
def test_known(tool, device, target, compiler, opt):
    dump = device(target, compiler, opt).run("known")
    table = dump.table
    assert_known(table, dump.device)
    assert [(thread.name, thread.calls) for thread in table.threads] == \
        [("(not known)", 4), ("main", 27), ("a name that is ", 4)]
    assert table.freed == {(0, 0): (1, 40), (0, 1): (21, 650), (0, 2): (2, 60)}
    deepest = max((table.stack(site.node) for site in table.sites.values()), key=len)
    if dump.device.target.stacks:
        assert [dump.device.function(pc) for pc, _ in deepest[:16]] == ["keep_deep"] * 16
        assert deepest[16:] == [(1, 0)]
        assert table.header.losses["truncated_stacks"] == 1 and table.header.losses["broken_stacks"] == 0
    else:
        assert deepest[1:] == [(2, 0)] and table.header.losses["broken_stacks"] == 35
    process = table.recording.process
    assert process[1] == "/device/firmware.elf"
    module, = table.recording.modules.values()
    assert (module["bias"], module["start"], module["build_id"]) == (0, 0, BUILD_ID.hex())
    assert module["end"] == (1 << 8 * dump.device.target.pointer) - 1
    assert {name: sorted(sizes) for name, sizes in core_sizes(tool, dump.device.program, dump.path).items()} == \
        {name: sizes for name, (_, _, sizes) in KNOWN.items() if sizes}
    if not dump.device.target.big:
        assert dump.tool_sites(tool) == {name: (len(sizes), sum(sizes), size)
                                         for name, (_, size, sizes) in KNOWN.items()}


def assert_as_model(tool, dump):
    table = dump.table
    found = {}
    for number, site in table.sites.items():
        assert dump.function_of(number) not in found
        found[dump.function_of(number)] = site[:6] + site[7:]
    names = {number: f"site_{number}" if number < 5 else "change" for number in dump.sites}
    assert found == {names[number]: (*sums[:6], *map(packed_time, sums[6:]))
                     for number, sums in dump.sites.items()}
    assert sorted((block.address, block.size, dump.function_of(block.site)) for block in table.blocks()) == \
        [(address, size, names[site]) for address, size, site in dump.blocks]
    assert table.header.losses["no_memory"] == dump.lost
    if not dump.device.target.big:
        assert dump.tool_sites(tool) == {
            names[number]: (sums[0] - sums[2], sums[1] - sums[3], sums[1]) for number, sums in dump.sites.items()}
    assert sum(map(len, core_sizes(tool, dump.device.program, dump.path).values())) == len(dump.blocks)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("target,compiler,opt", WAYS)
def test_random(tool, device, target, compiler, opt, seed):
    """Odd seeds: of an allocator without realloc()."""
    dump = device(target, compiler, opt).run("random", seed, 1 << 16)
    assert dump.lost == 0
    assert_as_model(tool, dump)


@pytest.mark.parametrize("seed", [2, 4])
def test_full(tool, device, seed):
    """The smallest table: what it has is right, and the rest is counted."""
    dump = device("x86-64", "gcc", "-O2").run("random", seed, 20480)
    assert dump.lost > 1000
    assert len(dump.blocks) > 120
    assert_as_model(tool, dump)


@pytest.mark.parametrize("compiler", mostly_long(["gcc", "clang"], 1))
def test_sanitized(device, compiler):
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    if compiler == "clang":
        need("clang")
    dump = device("x86-64", compiler, "-O1", extra=flags).run("random", 2, 20480)
    assert dump.lost > 1000
    device("x86-64", compiler, "-O1", extra=flags).run("known")
    device("x86-64", compiler, "-O1", extra=flags).run("stacks", 3000, 20480)


def everywhere():
    """All targets, of which those that need large packages are of check-long."""
    return [pytest.param(name, marks=() if name == "x86-64" else pytest.mark.long) for name in TARGETS]


@pytest.mark.parametrize("target", everywhere())
@pytest.mark.parametrize("size,sites,blocks", [(20480, 61, 146), (65536, 125, 1341), (1 << 18, 637, 1501)])
def test_stacks(device, target, size, sites, blocks):
    """3000 stacks, of which so many get a site; the others are in site 1."""
    dump = device(target, "gcc", "-O2").run("stacks", 3000, size)
    table = dump.table
    assert table.header.lost == 3001 - sum(site.calls for site in table.sites.values())
    assert len(list(table.blocks())) == blocks
    assert len(table.sites) == sites + 1
    without, = [site for site in table.sites.values() if not site.node]
    assert without.calls == sum(site.calls for site in table.sites.values()) - sites
    for site in table.sites.values():
        frames = [pc for pc, _ in table.stack(site.node)]
        if frames:
            assert len(frames) == 3 and frames[0] - 0x10000 < 6000 and frames[2] == 0x30000
            assert frames[1] == 0x20000 + (frames[0] - 0x10000) % 20


@pytest.mark.parametrize("target", everywhere())
def test_bare(device, target):
    """None of the options that may be left out: no times, and of a stack the innermost frame."""
    dump = device(target, "gcc", "-O2").run("bare")
    assert {dump.function_of(number) for number in dump.table.sites} <= {"run_bare", "main"}
    assert [(block.size, block.time) for block in dump.table.blocks()] == [(33, 0)]
    for site in dump.table.sites.values():
        assert dump.table.stack(site.node)[1:] == [(1, 0)]
    assert dump.table.header.losses["truncated_stacks"] == 0


PTRACE_TRACEME, PTRACE_CONT, PTRACE_SINGLESTEP = 0, 7, 9
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def tables_after_each_instruction(device):
    """The table whenever an instruction has changed it, between the two SIGSTOPs of the program."""
    listing = run([need("nm"), device.program])
    at = int(re.search(r"^(\w+) B device_memory$", listing, re.MULTILINE)[1], 16) + (1 << 20)
    process = subprocess.Popen([device.program, device.folder / "dump", "halts"], stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: ptrace(PTRACE_TRACEME, 0, None, None))

    def go(how):
        assert ptrace(how, process.pid, None, None) == 0
        _, status = os.waitpid(process.pid, 0)
        return os.WIFSTOPPED(status) and os.WSTOPSIG(status)
    try:
        os.waitpid(process.pid, 0)  # the program is loaded
        assert go(PTRACE_CONT) == signal.SIGSTOP
        with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
            seen = None
            while go(PTRACE_SINGLESTEP) == signal.SIGTRAP:
                memory.seek(at)
                table = memory.read(20480)
                if table != seen:
                    yield table
                seen = table
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("target", mostly_long(["x86-64", "i386"], 1))
@pytest.mark.parametrize("opt", mostly_long(["-O2", "-O0"], 1))
def test_halted_at_any_instruction(device, target, opt):
    """What names something names a whole thing, wherever the processor is stopped."""
    built = device(target, "gcc", opt)
    missing, changes, live = set(), 0, set()
    for data in tables_after_each_instruction(built):
        table = live_reader.Table(data)
        assert not table.recording.damages
        table.assert_places()
        blocks = list(table.blocks())
        assert len({block.address for block in blocks}) == len(blocks)
        for block in blocks:
            assert block.site in table.sites
        for site in table.sites.values():
            assert built.function(table.stack(site.node)[0][0]) in ("site_0", "site_1", "change")
        missing.add(sum(site.calls - site.freed_calls for site in table.sites.values()) - len(blocks))
        live.add(len(blocks))
        changes += 1
    # A block that comes or goes, and one that moves into its place.
    assert missing == {0, 1, 2}
    assert changes > 200 and max(live) == 146 and min(live) < 140


@pytest.mark.long
@pytest.mark.parametrize("opt", ["-Os", "-O0"])
def test_cortex_m3(tool, tmp_path, opt):
    """Without an operating system and a C library: 16 KiB of heap, 32 KiB of table, libgcc's unwinder."""
    compiler, qemu = need("arm-none-eabi-gcc"), need("qemu-system-arm")
    program = tmp_path / "firmware.elf"
    run([compiler, "-mcpu=cortex-m3", "-mthumb", "-g", opt, "-std=gnu17", "-ffreestanding", "-funwind-tables",
         f"-I{EMBED}", "-DARENA=16384", "-DTABLE=32768", "-Wall", "-Wextra", "-Werror", "-nostdlib",
         "-T", HERE / "arm.ld", HERE / "arm.c", HERE / "heap.c", HERE / "known.c", EMBED / "mallow_embed.c", "-lgcc",
         "-o", program])
    run([qemu, "-M", "lm3s6965evb", "-nographic", "-monitor", "none", "-serial", "none", "-kernel", program,
         "-semihosting-config", "enable=on,target=native"], cwd=tmp_path)
    table = live_reader.read(tmp_path / "table")
    table.assert_consistent()
    table.assert_places()
    symbols = Symbols("arm-none-eabi-nm", program)
    assert_known(table, symbols)
    for site in table.sites.values():
        stack = [symbols.function(pc) if pc > 15 else pc for pc, _ in table.stack(site.node)]
        assert stack == ["keep_deep"] * 16 + [1] or stack[1:] == ["known_run", "reset"]
    assert {name: sorted(sizes) for name, sizes in core_sizes(tool, program, tmp_path / "table").items()} == \
        {name: sizes for name, (_, _, sizes) in KNOWN.items() if sizes}


WRAPPED = """
#include <stdio.h>
#include <stdlib.h>
#include "mallow_embed.h"
void *__real_malloc(size_t size);
void __real_free(void *block);
void *__real_realloc(void *block, size_t size);
static uint64_t table[32768 / 8];
int main(int argc, char **argv)
{
	const struct mallow_embed_options options = {
		.allocate = __real_malloc, .release = __real_free, .reallocate = __real_realloc};
	void *block;
	FILE *file;

	mallow_embed_start(table, sizeof(table), &options);
	block = realloc(malloc(33), 55);
	free(malloc(44));
	file = fopen(argv[1], "wb");
	return !block || !file || fwrite(table, sizeof(table), 1, file) != 1 || fclose(file);
}
"""


def test_wrapped(tmp_path):
    """As README.md says: the linker makes calls of malloc() ours."""
    source, program = tmp_path / "wrapped.c", tmp_path / "wrapped"
    source.write_text(WRAPPED)
    wrap = [f"-Wl,--wrap={name},--defsym=__wrap_{name}=mallow_embed_{name}"
            for name in ("malloc", "free", "realloc", "calloc")]
    run(["gcc", "-fno-builtin", f"-I{EMBED}", source, EMBED / "mallow_embed.c", *wrap, "-o", program])
    run([program, tmp_path / "table"])
    table = live_reader.read(tmp_path / "table")
    assert sorted((site.calls, site.bytes) for site in table.sites.values()) == [(1, 33), (1, 44), (1, 55)]
    assert [block.size for block in table.blocks()] == [55]


def test_dumped_by_gdb(device):
    """The command of README.md, while the program is stopped."""
    built = device("x86-64", "gcc", "-O2")
    table = built.folder / "by_gdb"
    run([need("gdb"), "-batch", "-ex", "break print_model", "-ex", f"run {built.folder / 'dump'} known",
         "-ex", f"dump binary memory {table} &device_memory.table[0] &device_memory.table[1 << 15]", built.program])
    assert_known(live_reader.read(table), built)


NEEDED = {"memcpy", "_GLOBAL_OFFSET_TABLE_"}
# Of the compiler's own library, where the processor cannot multiply, divide or shift.
HELPERS = re.compile(r"__aeabi_(u?idiv(mod)?|lmul|ll?s[lr]|mem(cpy|clr|set)[48]?)$")
COMPILERS = ["gcc", "clang"] + [pytest.param(name, marks=pytest.mark.long) for name in [
    "gcc -m32", "clang -m32", *(target.compiler for target in TARGETS.values() if target.compiler),
    "arm-none-eabi-gcc -mthumb -mcpu=cortex-m3", "arm-none-eabi-gcc -mthumb -mcpu=cortex-m0"]]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_needs_nothing(tmp_path, compiler):
    """No warning, and no function of a C library but memcpy(), whatever compilers make of loops."""
    driver, *flags = compiler.split()
    if "-m32" in flags and not MULTILIB.exists():
        pytest.skip("gcc's multilib is not installed")
    for opt in ["-O0", "-Os", "-O2", "-O3"]:
        run([need(driver), *flags, opt, "-std=c99", "-ffreestanding", *WARNINGS, "-c", EMBED / "mallow_embed.c",
             "-o", tmp_path / "embed.o"])
        needed = set(run(["nm", "-u", tmp_path / "embed.o"]).split()) - {"U"} - NEEDED
        assert not {name for name in needed if not HELPERS.match(name)}, opt
    run([need(driver), *flags, "-std=c99", "-fsyntax-only", *WARNINGS, "-x", "c", EMBED / "mallow_embed.h"])


def test_header_in_cpp(tmp_path):
    run([need("g++"), "-std=c++11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
         EMBED / "mallow_embed.h"])


@pytest.mark.parametrize("target", mostly_long(["x86-64", "i386", "s390x", "armhf", "aarch64"], 1))
def test_crash(tool, tmp_path, target):
    """A core dump of a program with the table in it: of this machine's kernel, or as qemu writes that of another."""
    facts = TARGETS[target]
    cores.kernel_dumps()
    if target == "i386" and not MULTILIB.exists():
        pytest.skip("gcc's multilib is not installed")
    program = tmp_path / "crash"
    run([need(facts.compiler or "gcc"), "-g", "-O1", f"-I{EMBED}", *facts.flags, HERE / "crash.c",
         EMBED / "mallow_embed.c", "-o", program])
    subprocess.run([*map(need, facts.runner), program], cwd=tmp_path, preexec_fn=cores.allow_cores)
    core, = tmp_path.glob("qemu_*.core" if facts.runner else "core*")
    report = json.loads(tool("core", "--json", core).stdout)
    assert report["live_bytes"] == 500 and report["missing_bytes"] == 0
    assert [site["sizes"] for site in report["sites"]] == [[100] * 5]
