"""The rules that reading code gives (cfi/scan.h), and those of ARM's own unwind tables (cfi/exidx.h), beside those of
DWARF's tables, which are hidden from both: every return point of every function that has a table, and every
instruction."""
import array
import bisect
import collections
import functools
import pathlib
import re
import struct
import subprocess

import pytest

import expect
import mallow_reader
from conftest import ARCH, COMPILERS, FOREIGN, SYSROOT, TOP, TRIPLE, names_of_stack, need
from samples import check_sample, run_sample

Row = collections.namedtuple("Row", "pc register offset ra saved")
Function = collections.namedtuple("Function", "start end rows")
NOT_KNOWN = -1 << 31

# cpu: of src/cfi; unit: SCAN_UNIT; delay: bytes behind a call that belong to it; frames: registers that frames are made by
Machine = collections.namedtuple("Machine", "cpu unit delay calls sp frames names")
MIPS = Machine("mips64", 4, 4, r"jalr?|b(al|gezal|ltzal)", 29, (30,), {"sp": 29, "s8": 30, "fp": 30})
ARM = Machine("arm", 2, 0, r"blx?([a-z][a-z])?(\.w)?", 13, (7, 11), {})
MACHINES = {"mips64": MIPS, "mips64el": MIPS, "armhf": ARM, "armel": ARM}
MACHINE = MACHINES.get(ARCH)

pytestmark = pytest.mark.skipif(not MACHINE, reason="make check ARCH=mips64el, armhf or armel")


def build(program, *sources):
    subprocess.run(["gcc", "-O2", "-g", "-std=gnu17", f"-DMALLOW_CPU={MACHINE.cpu}", f"-I{TOP}/src", *sources, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def scanner(tmp_path_factory):
    return build(tmp_path_factory.mktemp("scan") / "scan_functions", TOP / "tests/ports/scan_functions.c", TOP / "src/cfi/scan.c",
                 *(TOP / "src/cfi" / MACHINE.cpu).glob("scan_*.c"))


@pytest.fixture(scope="module")
def exidx(tmp_path_factory):
    return build(tmp_path_factory.mktemp("exidx") / "exidx_rules", TOP / "tests/ports/exidx_rules.c", TOP / "src/cfi/exidx.c",
                 TOP / "src/cfi/eh_cursor.c")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True).stdout.splitlines()


def saved_at(row, name):
    return int(row[name][1:]) if row.get(name, "u")[0] == "c" else 0


def make_row(words, columns):
    row = dict(zip(columns, words))
    match = re.fullmatch(r"([a-z]+)(\d*)([+-]\d+)", row["CFA"])
    register = MACHINE.names.get(match[1]) or int(match[2] or 0) if match else None
    names = [name for number in MACHINE.frames for name in (f"r{number}", *(key for key, value in MACHINE.names.items() if value == number)) if name in row]
    saved = tuple(next((saved_at(row, name) for name in names if name == f"r{number}" or MACHINE.names.get(name) == number), 0) for number in MACHINE.frames)
    return Row(int(words[0], 16), register, int(match[3]) if match else 0, saved_at(row, "ra"), saved)


@functools.cache
def functions(file):
    """Each function with a table, as readelf interprets it. Not those that are entered with a frame: ld.so's, whose
    callers have pushed something."""
    found, columns, first = {}, [], None
    for line in readelf("--debug-dump=frames-interp", file):
        words = line.split()
        if " FDE " in line:
            start, end = (int(word, 16) for word in re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line).groups())
            rows, columns = [], []
            # A function without a frame has no row of its own.
            found[start] = Function(start, end, rows)
            found[start].rows.extend([Row(start, MACHINE.sp, 0, 0, (0,) * len(MACHINE.frames))] if MACHINE is ARM else [])
        elif " CIE " in line:
            rows, columns = [], []
        elif words[:1] == ["LOC"]:
            columns = words
        elif columns and len(words) == len(columns):
            rows.append(make_row(words, columns))
    return sorted(one for one in found.values() if one.end > one.start and one.rows and [row for row in one.rows if row.pc == one.start][-1].offset == 0)


@functools.cache
def text_of(file):
    """(what the file's bytes of code lie behind its addresses, address, size)."""
    for line in readelf("-l", file):
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            offset, address, _, size = (int(word, 16) for word in words[1:5])
            return offset - address, address, size
    raise AssertionError(file)


def dynamic(file, name):
    match = re.search(rf"\({name}\)\s+0x([0-9a-f]+)", "\n".join(readelf("-d", file)))
    return int(match[1], 16) if match else 0


def sections(file):
    """{name: (address, offset, size)}"""
    found = {}
    for line in readelf("-S", file):
        match = re.match(r"\s*\[ *\d+\] (\S+) +\S+ +([0-9a-f]{8,}) ([0-9a-f]{6,}) ([0-9a-f]{6,})", line)
        if match:
            found[match[1]] = tuple(int(word, 16) for word in match.groups()[1:])
    return found


@functools.cache
def symbols(file, dynamic_ones=False):
    """(address, size, type, name), sorted."""
    found = []
    for line in readelf("--dyn-syms" if dynamic_ones else "-s", file):
        words = line.split()
        if len(words) >= 8 and words[0][:-1].isdigit() and words[6] != "UND":
            found.append((int(words[1], 16), int(words[2], 0), words[3], words[7]))
    return sorted(found)


@functools.cache
def marks(tables):
    """(address, "$a", "$t" or "$d"): from there on is ARM code, Thumb code, data."""
    return [(address, name[:2]) for address, _, _, name in symbols(tables) if name[:2] in ("$a", "$t", "$d")] if MACHINE is ARM else []


def with_kind(pc, tables):
    """The address of code, bit 0: Thumb code."""
    known = marks(tables)
    at = bisect.bisect(known, (pc, "~")) - 1
    return pc | (MACHINE is ARM and (known[at][1] == "$t" if at >= 0 else ARCH == "armhf"))


@functools.cache
def disassembled(file, tables, scratch):
    """({instructions}, {return address: of the call's last unit})."""
    options = []
    if MACHINE is ARM:
        # What is code and what is data only symbols say.
        inside = sections(file)
        known = [(name, address, section) for address, name in marks(tables)
                 for section, (start, _, size) in inside.items() if 0 < start <= address < start + size]
        (scratch / "symbols").write_text("".join(f"--add-symbol '{name}={section}:{address - inside[section][0]:#x},local'\n" for name, address, section in known))
        if known and file != tables:
            subprocess.run([f"{TRIPLE}-objcopy", f"@{scratch}/symbols", file, scratch / "marked"], check=True)
            file = scratch / "marked"
        options = ["-M", "force-thumb"] if not known and ARCH == "armhf" else []
    text = subprocess.run([f"{TRIPLE}-objdump", "-d", *options, file], capture_output=True, text=True).stdout
    instructions, returns = set(), {}
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) < 3 or not words[0].endswith(":") or words[2].strip().startswith("."):
            continue
        pc, size = int(words[0][:-1], 16), len(words[1].replace(" ", "")) // 2
        # What does nothing is mostly filling between functions, of which a table says what it said before.
        if words[2].strip() != "nop":
            instructions.add(pc)
        if re.fullmatch(MACHINE.calls, words[2].split(" ")[0]):
            back = pc + size + MACHINE.delay
            returns[back] = back - MACHINE.unit
    return instructions, returns


def named_by_all(file):
    """What the agent finds of a module's functions, as scan_functions wants it."""
    _, address, size = text_of(file)
    start, end = dynamic(file, "INIT") & ~1 or address, dynamic(file, "FINI") & ~1 or address + size
    data, inside, thumb = pathlib.Path(file).read_bytes(), sections(file), int(ARCH == "armhf")
    # What the loader adds the module's address to; a program with a fixed address has no such list.
    places = [int(line.split()[0], 16) for line in readelf("-r", file) if "R_ARM_RELATIVE" in line]
    if not places:
        places = [place for name in (".data.rel.ro", ".data", ".init_array") if name in inside for place in range(inside[name][0], sum(inside[name][::2]) - 3, 4)]
    words = [struct.unpack_from("<I", data, offset + place - first)[0] for place in places for first, offset, size in inside.values() if 0 < first <= place < first + size]
    relocated = [word for word in words if start <= word < end and word & 1 == thumb]
    table = sections(file).get(".ARM.exidx")
    entries = [] if not table else [(table[0] + at + ((word << 1 & 0xffffffff) >> 1) - ((word & 0x40000000) << 1)) & 0xfffffffe
                                    for at, word in ((at, struct.unpack_from("<I", data, table[1] + at)[0]) for at in range(0, table[2], 8))]
    lines = [f"{address:x} -1" for address in relocated] + [f"{address | thumb:x} -1" for address in entries]
    lines += [f"{address:x} -2 {size}" for address, size, kind, _ in symbols(file, True) if kind in ("FUNC", "IFUNC")]
    return "".join(f"{line}\n" for line in lines), (start, end - start, thumb)


def judge(state, row, rows=()):
    """Whether what the scanner says is what the table says. Where that has a register restored already, the frame may
    still have it, too."""
    def is_same(ours, theirs, column):
        return ours == theirs or (theirs == 0 and row.offset > 0 and ours in {column(other) for other in rows})

    by_sp, by_fp, ra, *saved, flags = state
    frame = MACHINE.frames[flags >> 1 & 1]
    if {MACHINE.sp: by_sp, frame: by_fp}.get(row.register) != row.offset:
        return "cfa"
    if not is_same(ra, row.ra, lambda other: other.ra):
        return "ra"
    return None if all(is_same(saved[i], place, lambda other: other.saved[i]) for i, place in enumerate(row.saved)) else "fp"


def compare(scanner, file, tables, named, scratch, verbose=8):
    """named: the functions' starts are known."""
    (instructions, returns), (offset, address, size) = disassembled(file, tables, scratch), text_of(file)
    last = {unit for back, unit in returns.items()}
    # A walk asks for the last unit of a call; a table means what is true behind it.
    asked = [(pc, one) for one in functions(tables) for pc in range(one.start, one.end, MACHINE.unit) if pc in last and pc + MACHINE.unit < one.end or pc in instructions]
    lines, more = "", []
    if named:
        lines = "".join(f"{with_kind(one.start, tables):x} {(one.end - one.start) // MACHINE.unit}\n" for one in functions(tables))
    elif MACHINE is ARM:
        lines, more = named_by_all(file)
    else:
        more = address, size, dynamic(file, "PLTGOT") + 0x7ff0
    if not named:
        asked = [(pc, one) for pc, one in asked if pc in last]
        lines += "".join(f"{pc:x} 1\n" for pc, _ in asked)
    image = host_order(file, scratch) if ARCH == "mips64" else file
    said = subprocess.run([scanner, image, str(offset), *map(str, more)], input=lines.encode(), capture_output=True, check=True).stdout
    said = struct.iter_unpack("<6i", said)
    if named:
        states = {pc: next(said) for one in functions(tables) for pc in range(one.start, one.end - (one.end - one.start) % MACHINE.unit, MACHINE.unit)}
    else:
        states = {pc: next(said) for pc, _ in asked}
    sums, different = collections.Counter(), []
    for pc, one in asked:
        row = [row for row in one.rows if row.pc <= pc][-1]
        if row.register is None:
            continue
        why, sure, call = judge(states[pc], row, one.rows), states[pc][-1] & 1, pc in last
        for name in ["instructions"] if not call else ["calls"]:
            sums[name] += 1
            sums[f"{name} equal"] += not why
            sums[f"{name} sure"] += sure
            sums[f"{name} surely different"] += bool(sure and why)
        if why:
            sums[f"{'call' if call else 'instruction'}: {why}"] += 1
            different.append((hex(pc), call, why, hex(one.start), row, states[pc]))
    print(pathlib.Path(file).name, "named" if named else "open", dict(sums))
    for one in [one for one in different if one[1]][:verbose] + [one for one in different if not one[1]][:verbose]:
        print("   ", *one)
    return sums


def host_order(file, scratch):
    """Of a big-endian file: each instruction turned around, as scan_functions reads it on this machine."""
    words = array.array("I", file.read_bytes()[:file.stat().st_size & -4])
    words.byteswap()
    (scratch / file.name).write_bytes(words)
    return scratch / file.name


def file_of(name):
    return next((path.resolve() for folder in (f"usr/lib/{TRIPLE}", f"lib/{TRIPLE}", "lib", "usr/bin") for path in (SYSROOT / folder).glob(name)), None)


def tables_of(library):
    build_id = re.search("Build ID: (..)(.*)", "\n".join(readelf("-n", library)))
    return SYSROOT / f"usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug"


def libraries():
    """(library, file with its tables)."""
    names = {"mips64": ("libstdc++.so.6", "libc.so.6", "ld.so.1", "libm.so.6", "python3.11"), "arm": ("libc.so.6", "ld-linux*.so.3", "libm.so.6")}.get(MACHINE and MACHINE.cpu, ())
    # Of mips64 there are no debug files.
    return [(library, library if library.name.startswith("libstdc++") else tables_of(library)) for library in map(file_of, names)
            if library and (ARCH != "mips64" or library.name.startswith("libstdc++"))]


# (starts known, not known). Of MIPS all. Of ARM all but getcontext() and swapcontext(), if starts are known; else a function
# behind another one's data may be missed.
REACHED = {"mips64": (0.9999, 0.9999), "arm": (0.999, 0.997)}


def name_of(files):
    return files[0].name if isinstance(files, tuple) else None


def check_sums(sums, named):
    assert sums["calls"] > 800 and sums["calls equal"] >= REACHED[MACHINE.cpu][not named] * sums["calls"]
    assert sums["calls surely different"] <= (1 - REACHED[MACHINE.cpu][not named]) * sums["calls"]
    if named:
        assert sums["instructions equal"] >= 0.998 * sums["instructions"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("files", libraries(), ids=name_of)
def test_return_points(files, named, scanner, tmp_path):
    """Whose table is in the library, and those whose tables are in Debian's debug files."""
    check_sums(compare(scanner, *files, named, tmp_path), named)


def ask_exidx(exidx, file, pcs):
    """[(enum exidx_answer, CFA's register, its distance, places of the return address, r7, r11)]"""
    offset, _, _ = text_of(file)
    address, _, size = sections(file)[".ARM.exidx"]
    said = subprocess.run([exidx, file, str(offset), str(address), str(size)], input="".join(f"{pc:x}\n" for pc in pcs).encode(), capture_output=True, check=True)
    return list(struct.iter_unpack("<6i", said.stdout))


@pytest.mark.skipif(MACHINE is not ARM, reason="ARM's")
@pytest.mark.parametrize("files", libraries()[:1] if MACHINE is ARM else [], ids=name_of)
def test_own_tables(files, exidx, tmp_path):
    """ARM's tables beside DWARF's, of the same functions' calls."""
    library, tables = files
    _, returns = disassembled(library, tables, tmp_path)
    last = set(returns.values())
    asked = [(pc, [row for row in one.rows if row.pc <= pc][-1]) for one in functions(tables) for pc in range(one.start, one.end - 2, 2) if pc in last]
    found, different = 0, []
    for (pc, row), (answer, register, distance, *saved) in zip(asked, ask_exidx(exidx, library, [pc for pc, _ in asked])):
        found += answer == 0
        if answer == 3 or answer == 0 and (register, distance, *saved) != (row.register, row.offset, row.ra, *row.saved):
            different.append((hex(pc), answer, register, distance, saved, row))
    print(found, len(asked), different[:10])
    assert found > 1000 and len(different) <= 0.001 * found


@pytest.mark.skipif(MACHINE is not ARM, reason="ARM's")
def test_return_points_by_own_tables(scanner, exidx, tmp_path):
    """Read code beside ARM's tables: C++ has no others."""
    library = file_of("libstdc++.so.6")
    _, returns = disassembled(library, library, tmp_path)
    asked = sorted(set(returns.values()))
    tables = ask_exidx(exidx, library, asked)
    lines, more = named_by_all(library)
    said = subprocess.run([scanner, library, str(text_of(library)[0]), *map(str, more)], input=(lines + "".join(f"{pc:x} 1\n" for pc in asked)).encode(), capture_output=True, check=True)
    sums, different = collections.Counter(), []
    for pc, state, (answer, register, distance, *saved) in zip(asked, struct.iter_unpack("<6i", said.stdout), tables):
        if answer == 0:
            why = judge(state, Row(0, register, distance, saved[0], tuple(saved[1:])))
            sums["calls"] += 1
            sums["equal"] += not why
            sums["surely different"] += bool(why and state[-1] & 1)
            different += [(hex(pc), why, state, register, distance, saved)] if why else []
    print(dict(sums), different[:10])
    assert sums["calls"] > 10000 and sums["equal"] >= 0.995 * sums["calls"]


@pytest.fixture(scope="module", params=["-O0", "-Os", "-O2", "-O3"])
def own_code(request, tmp_path_factory):
    """Rooms of mallow's that need no other library, as one that has tables."""
    library = tmp_path_factory.mktemp("own") / "rooms.so"
    sources = [path for room in ("cfi", "trace", "report/text", "report/names", "report/words")
               for path in (TOP / "src" / room).glob("*.c")]
    subprocess.run([need(COMPILERS["gcc", "c"]), *FOREIGN, "-std=gnu17", request.param, "-w", "-fPIC", "-shared", "-D_GNU_SOURCE",
                    "-DMALLOW_CPU=mips64", f"-I{TOP}/src", *sources, "-o", library], check=True)
    return library


@pytest.mark.skipif(MACHINE is not MIPS, reason="ARM's code has tables of its own")
@pytest.mark.parametrize("named", [True, False])
def test_own_code(own_code, named, scanner, tmp_path):
    check_sums(compare(scanner, own_code, own_code, named, tmp_path), named)


WITHOUT_TABLES = ["-fPIC", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


@pytest.mark.skipif(MACHINE is not MIPS, reason="MIPS's")
def test_guesses_are_marked(record, compile_sample, functions_of, tool):
    """Of five calls that no way leads to; two are reached, and sure. The stacks are whole."""
    program = compile_sample("guessed", "gcc", "-O2", [*WITHOUT_TABLES, "-fno-crossjumping"])
    recorded = run_sample(record, [program])
    check_sample(recorded, "guessed", functions_of)
    reader = recorded.reader
    stacks = {tuple(reader.stack(event.node)) for event in reader.events
              if isinstance(event, mallow_reader.Alloc) and event.size % 100 == 0 and event.size <= 700}
    assert {tuple(names_of_stack(reader, stack, functions_of)[:2]) for stack in stacks} == {("choose", "main")}
    assert {reader.modules[stack[-1][1]]["path"] for stack in stacks} == {str(program)}, "main's caller"
    guesses = [reader.frames[identity] for identity in reader.guesses]
    ours = [names_of_stack(reader, [frame], functions_of) for frame in guesses]
    assert ours.count(["choose"]) == 5 and ["main"] not in ours
    assert len(guesses) == reader.header.guesses == recorded.info_json["guessed_frames"]
    dump = tool("trace", "dump", recorded.path).stdout
    assert dump.count(" caller=guessed\n") == len(guesses)


@pytest.fixture
def bound_lazily(record, compile_sample):
    """A program and two libraries that are bound at their first calls, by .MIPS.stubs."""
    flags = [*WITHOUT_TABLES, "-Wl,-z,lazy"]
    callee, caller = (compile_sample(name, "gcc", "-O2", ["-shared", *flags]) for name in ("lazy_callee", "lazy_caller"))
    recorded = record([compile_sample("lazy_host", "gcc", "-O2", flags), callee, caller], check=False)
    assert (recorded.returncode, recorded.stdout) == (7, "ok\n"), recorded.stderr
    return recorded


@pytest.mark.skipif(MACHINE is not MIPS, reason="MIPS's")
def test_calls_that_are_bound_lazily(bound_lazily, functions_of):
    """By their own allocations' stacks: what is bound comes back as if it had been called at once."""
    reader = bound_lazily.reader
    stacks = {event.size: names_of_stack(reader, reader.stack(event.node), functions_of) for event in reader.events
              if isinstance(event, mallow_reader.Alloc) and event.size in (200, 300)}
    assert stacks[200][:2] == ["lazy_caller", "main"] and stacks[300][:3] == ["lazy_callee", "lazy_caller", "main"]
    ends = {reader.stack(event.node)[-1] for event in reader.events
            if isinstance(event, mallow_reader.Alloc) and event.size in (200, 300)}
    assert len(ends) == 1


@pytest.mark.skipif(MACHINE is not MIPS, reason="MIPS's")
@pytest.mark.xfail(strict=True, reason="_dl_runtime_resolve: its caller is in t3, which it stores and loads into ra")
def test_an_allocation_while_it_is_bound(bound_lazily, functions_of):
    """The loader's own, below lazy_caller()."""
    wanted = expect.expectations("lazy_host")
    expect.check(wanted, expect.by_function(bound_lazily.sums, functions_of))
    bound_lazily.assert_sound()
