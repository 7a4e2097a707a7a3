"""The rules that reading code gives (cfi/scan.h) beside those of unwind tables, which are hidden from it: every
return point of every function that has a table, and every instruction."""
import collections
import pathlib
import re
import struct
import subprocess

import pytest

import mallow_reader
from conftest import ARCH, SYSROOT, TOP, TRIPLE, names_of_stack
from samples import check_sample, run_sample

pytestmark = pytest.mark.skipif(ARCH not in ("mips64", "mips64el"), reason="make check ARCH=mips64el")

SP, FP = 29, 30
CALL = {"jal", "jalr", "bal", "bgezal", "bltzal"}
Row = collections.namedtuple("Row", "pc register offset ra")


@pytest.fixture(scope="module")
def scanner(tmp_path_factory):
    program = tmp_path_factory.mktemp("scan") / "scan_functions"
    subprocess.run(["gcc", "-O2", "-g", "-std=gnu17", "-DMALLOW_CPU=mips64", f"-I{TOP}/src", TOP / "tests/ports/scan_functions.c",
                    TOP / "src/cfi/scan.c", TOP / "src/cfi/mips64/scan_decode.c", "-o", program], check=True)
    return program


def functions(file):
    """[start, end, rows] of each function with a table, as readelf interprets it."""
    text = subprocess.run(["readelf", "--debug-dump=frames-interp", file], capture_output=True, text=True).stdout
    found, columns = {}, []
    for line in text.splitlines():
        words = line.split()
        if " FDE " in line:
            start, end = (int(word, 16) for word in re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line).groups())
            rows, columns = [], []
            found[start] = (start, end, rows)
        elif " CIE " in line:
            rows, columns = [], []
        elif words[:1] == ["LOC"]:
            columns = words
        elif columns and len(words) == len(columns):
            row = dict(zip(columns, words))
            match = re.fullmatch(r"(?:r|sp|s8|fp)?(\d*)([+-]\d+)", row["CFA"])
            register = {"sp": SP, "s8": FP, "fp": FP}.get(re.match(r"[a-z]+", row["CFA"])[0]) or int(match[1] or 0) if match else None
            ra = row.get("ra", "u")
            rows.append(Row(int(words[0], 16), register, int(match[2]) if match else 0, int(ra[1:]) if ra[0] == "c" else 0))
    return list(found.values())


def text_of(file):
    """(what the file's bytes of code lie behind its addresses, address, size)."""
    for line in subprocess.run(["readelf", "-lW", file], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            offset, address, _, size = (int(word, 16) for word in words[1:5])
            return offset - address, address, size
    raise AssertionError(file)


def anchor_of(file):
    """_gp."""
    text = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True).stdout
    return int(re.search(r"\(PLTGOT\)\s+0x([0-9a-f]+)", text)[1], 16) + 0x7ff0


def calls_of(file):
    """Return addresses."""
    text = subprocess.run([f"{TRIPLE}-objdump", "-d", "--no-show-raw-insn", file], capture_output=True, text=True).stdout
    return {int(words[0][:-1], 16) + 8 for words in map(str.split, text.splitlines()) if len(words) > 1 and words[1] in CALL}


def compare(scanner, file, tables, named):
    """named: the functions' starts are known."""
    table = [one for one in functions(tables) if one[1] > one[0] and one[2]]
    calls, (offset, address, size) = calls_of(file), text_of(file)
    # A walk asks for the delay slot; a table means what is true behind it.
    asked = [(pc, one) for one in table for pc in range(one[0], one[1], 4) if pc + 4 in calls]
    if named:
        lines, more = "".join(f"{start:x} {(end - start) // 4}\n" for start, end, _ in table), []
    else:
        lines, more = "".join(f"{pc:x} 1\n" for pc, _ in asked), map(str, (address, size, anchor_of(file)))
    said = subprocess.run([scanner, file, str(offset), *more], input=lines.encode(), capture_output=True, check=True).stdout
    said = struct.iter_unpack("<5i", said)
    if named:
        states = {pc: next(said) for start, end, _ in table for pc in range(start, end, 4)}
    else:
        states = {pc: next(said) for pc, _ in asked}
    sums, different = collections.Counter(), []
    for pc, (_, _, rows) in asked:
        row = [row for row in rows if row.pc <= pc][-1]
        if row.register is None:
            continue
        by_sp, by_fp, ra, _, sure = states[pc]
        equal = ra == row.ra and {SP: by_sp, FP: by_fp}.get(row.register) == row.offset
        sums["calls"] += 1
        sums["equal"] += equal
        sums["sure"] += sure
        sums["surely different"] += sure and not equal
        if not equal:
            different.append((hex(pc + 4), row, (by_sp, by_fp, ra)))
    print(pathlib.Path(file).name, dict(sums), different[:8])
    return sums


def files():
    """(name, library, file with its tables)."""
    found = []
    for name in ("libstdc++.so.6", "libc.so.6", "ld.so.1", "libm.so.6"):
        library = next((path.resolve() for folder in ("usr/lib", "lib") for path in (SYSROOT / folder / str(TRIPLE)).glob(name)), None)
        if not library or name == "libstdc++.so.6":
            found.append((name, library, library))
            continue
        build_id = re.search("Build ID: (..)(.*)", subprocess.run(["readelf", "-n", library], capture_output=True, text=True).stdout)
        found.append((name, library, SYSROOT / f"usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug"))
    return found


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("files", [one[1:] for one in files()] if ARCH == "mips64el" else [])
def test_return_points(files, named, scanner):
    """Whose table is in the library, and those whose tables are in Debian's debug files."""
    sums = compare(scanner, *files, named)
    assert sums["calls"] > 1000 and sums["equal"] >= 0.9999 * sums["calls"]
    assert sums["surely different"] <= 0.0001 * sums["calls"]


WITHOUT_TABLES = ["-fPIC", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]


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
