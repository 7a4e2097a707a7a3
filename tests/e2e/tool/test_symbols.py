"""
The symbolizer on programs built in many ways, against what their sources state ("AT" comments) and
against llvm-symbolizer.
"""

import collections
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from itertools import product

import pytest

from cells import diagonals
from conftest import TOP, built

HERE = TOP / "tests" / "symbols"
SAMPLES = HERE / "samples"
QUERY = built("SYMBOLS_QUERY", TOP / "build" / "meson" / "tests" / "symbols" / "symbols_query")

DWARF = ["-g", "-g1", "-gdwarf-4 -g", "-g -gz", "-g -gsplit-dwarf", "-gdwarf-4 -g -gsplit-dwarf"]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"no {tool} on this machine")


def build(directory, compiler, source, *flags, name="program"):
    need(compiler)
    program = directory / name
    # In two steps, so that split DWARF leaves its .dwo where it says.
    run(compiler, *flags, "-c", SAMPLES / source, "-o", f"{program}.o", cwd=directory)
    run(compiler, *flags, f"{program}.o", "-o", program, cwd=directory)
    return program


def query(path, addresses, *options, timeout=20):
    done = subprocess.run([QUERY, *map(str, options), str(path)], check=False, timeout=timeout,
                          input="".join(f"{address:x}\n" for address in addresses),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = dict(line.split("\t", 1) for line in done.stderr.splitlines())
    answers = []
    for block in done.stdout.strip("\n").split("\n\n") if addresses else []:
        answers.append([line.split("\t") for line in block.split("\n")])
    return answers, None if summary["note"] == "-" else summary["note"]


def symbols_of(path, *options):
    """name -> (address, size)"""
    text = run("nm", "--defined-only", "-S", *options, path, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 4:
            found[parts[3]] = (int(parts[0], 16), int(parts[1], 16))
        elif len(parts) == 3:
            found[parts[2]] = (int(parts[0], 16), 0)
    return found


def function_addresses(path, *names):
    symbols = symbols_of(path)
    low, size = next(symbols[name] for name in names if name in symbols)
    return range(low, low + size)


def build_id_of(path):
    text = run("readelf", "-n", path, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", text)[1]


def stated_chain(source):
    """[(name, line)] of the chain inner, middle, outer as the source states it."""
    lines = (SAMPLES / source).read_text().splitlines()
    return [(name, next(i for i, line in enumerate(lines, 1)
                        if re.search(rf"(/\*|//) AT {name}\b", line)))
            for name in ("inner", "middle", "outer")]


def chains(path, addresses, *options):
    answers, note = query(path, addresses, *options)
    assert note is None
    return [[(re.sub(r".*::|\(.*", "", frame[5]), int(frame[2])) for frame in frames]
            for frames in answers], answers


def check_chain(path, addresses, source, *options):
    found, answers = chains(path, addresses, *options)
    assert stated_chain(source) in found
    frames = answers[found.index(stated_chain(source))]
    assert [frame[3] for frame in frames] == ["1", "1", "0"]
    for frame in frames:
        assert frame[1] == str(SAMPLES / source)


def check_llvm(program, *options, count=1500, least=98.0, llvm_file=None):
    extra = ["--llvm-file", llvm_file] if llvm_file else []
    done = subprocess.run(
        [sys.executable, str(HERE / "compare_llvm.py"), "--count", str(count), "--least",
         str(least), "--show", "2", *map(str, extra), *map(str, options), QUERY, str(program)],
        capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    if done.returncode == 77:
        pytest.skip("no llvm-symbolizer on this machine")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("compiler,level,dwarf",
                         diagonals(list(product(["gcc", "clang"], ["-O0", "-O2"])), DWARF))
def test_c(tmp_path, compiler, level, dwarf):
    program = build(tmp_path, compiler, "cases.c", level, *dwarf.split())
    check_chain(program, function_addresses(program, "outer"), "cases.c")
    check_llvm(program)


@pytest.mark.parametrize("compiler,level,dwarf",
                         diagonals(list(product(["g++", "clang++"], ["-O0", "-O2"])), DWARF))
def test_cpp(tmp_path, compiler, level, dwarf):
    program = build(tmp_path, compiler, "cases.cc", level, *dwarf.split())
    check_chain(program, function_addresses(program, "_Z5outeri"), "cases.cc")
    check_llvm(program)


@pytest.mark.parametrize("flags", [*(flags for flags in DWARF if flags != "-g1"), "-g -flto",
                                   "-g -O0"])
def test_lambda(tmp_path, flags):
    """gcc names no inlined lambda: it is called by the function that it stands in, and by its number there.
    One that was not inlined has its symbol's name."""
    program = build(tmp_path, "g++", "lambdas.cc", "-O2", *flags.split())
    stated = {i: line.split(" AT ")[1] for i, line in enumerate(
        (SAMPLES / "lambdas.cc").read_text().splitlines(), 1) if " AT " in line}
    addresses = [address for low, size in symbols_of(program).values()
                 for address in range(low, low + size)]
    found = collections.defaultdict(set)
    for frames in query(program, addresses)[0]:
        found[int(frames[0][2])].add(re.sub(
            r"\{lambda\([^)]*\)(#1)?(#[0-9]+)?\}(::operator\(\)(<int>)?\([^)]*\)( const)?)?",
            r"{lambda\2}\4", frames[0][5].removeprefix("auto ")))
    print(dict(found))
    for line, name in stated.items():
        # Names of symbols: gcc 14 numbers lambdas of each signature, gcc 12 all of a function.
        assert name in found[line] or "-O0" in flags and name.replace("::{lambda#2}<", "::{lambda}<") in found[line]


UNITS = 8


def write_units(folder):
    """Sources of a program of several units, in each a function with another one inlined; the last also
    has the first unit's function inlined where the linker optimises."""
    for i in range(UNITS):
        (folder / f"unit{i}.c").write_text(
            "\n" * i + f"static inline int twice{i}(volatile int *p)\n{{\n\t*p += {i};\n\treturn *p * 2;\n}}\n"
            f"int sum{i}(volatile int *p)\n{{\n\tint x = twice{i}(p);\n\treturn x + twice{i}(p);\n}}\n")
    (folder / "last.c").write_text(
        "".join(f"int sum{i}(volatile int *p);\n" for i in range(UNITS))
        + "int main(int count, char **words)\n{\n\tvolatile int n = count;\n"
        + "".join(f"\tn += sum{i}(&n);\n" for i in range(UNITS)) + "\treturn n;\n}\n")
    return [f"unit{i}.c" for i in range(UNITS)] + ["last.c"]


@pytest.mark.parametrize("how,kind", diagonals(["-g", "-g -gdwarf-4", "-g -flto", "mixed", "clang"],
                                               ["zlib", "zstd"]))
def test_compressed(tmp_path, how, kind):
    """Units are found in any order, by their list and by themselves: each function alone, and all of them,
    are as in the same program uncompressed."""
    sources = write_units(tmp_path)
    compilers = {"mixed": ["gcc", "clang"], "clang": ["clang"]}.get(how, ["gcc"])
    flags = ["-O2", *(["-g"] if how in ("mixed", "clang") else how.split())]
    need(*compilers, "objcopy")
    for i, source in enumerate(sources):
        run(compilers[i % len(compilers)], *flags, "-c", source, cwd=tmp_path)
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    run(compilers[0], *flags, *(f"{source[:-2]}.o" for source in sources), "-o", plain, cwd=tmp_path)
    run("objcopy", f"--compress-debug-sections={kind}", plain, packed)
    addresses = [address for name in [*(f"sum{i}" for i in range(UNITS)), "main"]
                 if name in symbols_of(plain) for address in function_addresses(plain, name)]
    expected, _ = query(plain, addresses)
    frames = [frame for frames in expected for frame in frames]
    assert {f"twice{i}" for i in range(UNITS)} <= {frame[0] for frame in frames}
    assert {str(tmp_path / source) for source in sources} <= {frame[1] for frame in frames}
    assert query(packed, addresses) == (expected, None)
    assert query(packed, addresses[::-1]) == (expected[::-1], None)
    for address, frames in zip(addresses[::5], expected[::5]):
        assert query(packed, [address]) == ([frames], None)


def section_header(image, program, name):
    """Where the header of the section is in the image of a program."""
    text = run("readelf", "-SW", program, capture_output=True, text=True).stdout
    number = int(re.search(rf"\[ *(\d+)\] {re.escape(name)} ", text)[1])
    return struct.unpack_from("<Q", image, 40)[0] + 64 * number


@pytest.mark.parametrize("damage", ["data", "checksum", "cut", "longer", "shorter"])
@pytest.mark.parametrize("section", [".debug_info", ".debug_line"])
def test_compressed_section_damaged(tmp_path, section, damage):
    """Nothing of a damaged section is used: it is as in a program without it."""
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g")
    without = tmp_path / "without"
    run("objcopy", "--remove-section", section, program, without)
    addresses = list(function_addresses(program, "outer"))
    expected, _ = query(without, addresses)
    run("objcopy", "--compress-debug-sections=zlib", program)
    whole, _ = query(program, addresses)
    assert whole != expected
    image = bytearray(program.read_bytes())
    header = section_header(image, program, section)
    offset, size = struct.unpack_from("<QQ", image, header + 24)
    claimed, = struct.unpack_from("<Q", image, offset + 8)
    if damage == "data":
        image[offset + size // 2] ^= 0x55
    elif damage == "checksum":
        image[offset + size - 1] ^= 1
    elif damage == "cut":
        struct.pack_into("<Q", image, header + 32, size - 10)
    else:
        struct.pack_into("<Q", image, offset + 8, claimed + (1 if damage == "longer" else -1))
    program.write_bytes(image)
    assert query(program, addresses)[0] == expected


@pytest.mark.parametrize("section", [".debug_info", ".debug_line", ".debug_str", ".shstrtab"])
def test_compressed_section_beyond_the_file(tmp_path, section):
    """A section that claims more bytes than the file has is as one that is not there."""
    program = build(tmp_path, "gcc", "cases.c", "-g", "-gz")
    image = bytearray(program.read_bytes())
    struct.pack_into("<Q", image, section_header(image, program, section) + 32, 1 << 50)
    addresses = list(function_addresses(program, "outer"))
    program.write_bytes(image)
    answers, _ = query(program, addresses)
    assert len(answers) == len(addresses)
    if section != ".shstrtab":
        assert {frames[-1][0] for frames in answers} == {"outer"}


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("mangling", [[], ["-C", "symbol-mangling-version=v0"]],
                         ids=["default", "v0"])
def test_rust(tmp_path, level, mangling):
    need("rustc")
    program = tmp_path / "program"
    run("rustc", "-g", "-C", f"opt-level={level}", *mangling, SAMPLES / "cases.rs", "-o", program)
    check_chain(program, function_addresses(program, "outer"), "cases.rs")
    answers, _ = query(program, function_addresses(program, "main"))
    assert not any("17h" in frame[5] for frames in answers for frame in frames)
    check_llvm(program, count=3000)


@pytest.mark.parametrize("compiler,flags", diagonals(
    ["g++", "clang++"], ["-flto", "-ffunction-sections -fdata-sections -Wl,--gc-sections"]))
def test_link_modes(tmp_path, compiler, flags):
    if compiler == "clang++" and flags == "-flto":
        need("ld.lld")
    program = build(tmp_path, compiler, "cases.cc", "-O2", "-g", *flags.split())
    check_llvm(program)


def test_names(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-fno-ipa-icf")
    symbols = symbols_of(program)

    def name_at(address):
        return query(program, [address])[0][0][-1][5]

    assert name_at(symbols["__aliased"][0]) == "aliased"
    assert name_at(symbols["outer_cold.cold"][0]) == "outer_cold.cold"
    assert name_at(symbols["_start"][0] + 5) == "_start"
    # In no section at all.
    assert name_at(0xffffffff0000) == "-"
    assert name_at(0xffffffffffffffff) == "-"


def test_assembly(tmp_path):
    program = build(tmp_path, "gcc", "bare.c", "-O2", "-g")
    symbols = symbols_of(program)

    def name_at(address):
        return query(program, [address])[0][0][-1][5]

    # Without sizes: up to the next symbol, and no further than the section.
    first, second = symbols["bare_first"][0], symbols["bare_second"][0]
    assert name_at(first + 3) == "bare_first"
    assert name_at(second) == "bare_second"
    assert name_at(second + 2) == "bare_second"
    assert name_at(second + 3) == "-"
    assert name_at(symbols["label_inside"][0]) == "with_label"


def test_offset(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g")
    low, size = symbols_of(program)["outer"]
    answers, _ = query(program, range(low, low + size))
    assert [int(frames[0][4]) for frames in answers] == list(range(size))


def test_stripped(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-fPIC", "-shared", name="lib.so")
    exported, _ = symbols_of(program)["outer"]
    local, _ = symbols_of(program)["local_function"]
    run("strip", program)
    answers, note = query(program, [exported + 4, local])
    assert note is None
    assert answers[0] == [["outer", "-", "0", "0", "4", "outer"]]
    assert answers[1] == [["-", "-", "0", "0", "0", "-"]]


def test_no_symbols_at_all(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-static", "-nostartfiles", "-nodefaultlibs",
                    "-Wl,--unresolved-symbols=ignore-all", "-Wl,-e,main")
    run("strip", program)
    answers, note = query(program, [0x401000])
    assert answers == [[["-", "-", "0", "0", "0", "-"]]]
    assert note == "the file has no symbols"


@pytest.fixture(name="separate")
def fixture_separate(tmp_path):
    """A stripped program, its debug file, the addresses of outer(), and its build id."""
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-Wl,--build-id=sha1")
    addresses = function_addresses(program, "outer")
    debug = tmp_path / "separate" / "program.debug"
    debug.parent.mkdir()
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    return program, debug, addresses, build_id_of(program)


def by_build_id(root, build_id, debug):
    place = root / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.rename(place)
    return place


@pytest.mark.parametrize("place", ["", ".debug"])
@pytest.mark.parametrize("with_id", [True, False])
def test_debuglink(tmp_path, separate, place, with_id):
    program, debug, addresses, _ = separate
    target = program.parent / place / debug.name
    target.parent.mkdir(exist_ok=True)
    if not with_id:
        for file in program, debug:
            run("objcopy", "--remove-section=.note.gnu.build-id", file)
    debug.rename(target)
    run("objcopy", f"--add-gnu-debuglink={target}", program)
    check_chain(program, addresses, "cases.c")


def test_debuglink_of_another_build(tmp_path, separate):
    program, debug, addresses, _ = separate
    run("objcopy", "--remove-section=.note.gnu.build-id", program)
    target = program.parent / debug.name
    debug.rename(target)
    run("objcopy", f"--add-gnu-debuglink={target}", program)
    with open(target, "ab") as file:
        file.write(b"x")
    answers, _ = query(program, addresses)
    assert all(frames[0][2] == "0" for frames in answers)


def test_debuglink_below_a_root(tmp_path, separate):
    program, debug, addresses, _ = separate
    run("objcopy", f"--add-gnu-debuglink={debug}", program)
    root = tmp_path / "root"
    target = pathlib.Path(f"{root}{program.parent}") / debug.name
    target.parent.mkdir(parents=True)
    debug.rename(target)
    check_chain(program, addresses, "cases.c", "-d", root)


def test_build_id_directory(tmp_path, separate):
    program, debug, addresses, build_id = separate
    root = tmp_path / "root"
    place = by_build_id(root, build_id, debug)
    check_chain(program, addresses, "cases.c", "-d", root)
    check_llvm(program, "-d", root, llvm_file=place)


def test_debug_file_named(separate):
    program, debug, addresses, _ = separate
    check_chain(program, addresses, "cases.c", "-d", debug)


def test_changed_program(tmp_path, separate):
    program, debug, addresses, build_id = separate
    other = build(tmp_path, "gcc", "cases.c", "-O0", "-g", "-Wl,--build-id=sha1", name="other")
    shutil.copy(other, program)
    answers, note = query(program, addresses, "-b", build_id)
    assert note == "file changed since the recording"
    assert all(frames == [["-", "-", "0", "0", "0", "-"]] for frames in answers)
    # The debug file of the recorded build still serves; so it does when the program is gone.
    root = tmp_path / "root"
    by_build_id(root, build_id, debug)
    check_chain(program, addresses, "cases.c", "-b", build_id, "-d", root)
    program.unlink()
    check_chain(program, addresses, "cases.c", "-b", build_id, "-d", root)
    check_chain(f"{program} (deleted)", addresses, "cases.c", "-b", build_id, "-d", root)


def test_same_build_id(separate):
    program, _, addresses, build_id = separate
    assert query(program, addresses, "-b", build_id)[1] != "file changed since the recording"


def test_mini_debug_info(tmp_path):
    need("xz")
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-fPIC", "-shared", name="lib.so")
    local, _ = symbols_of(program)["local_function"]
    exported, _ = symbols_of(program)["outer"]
    mini = tmp_path / "mini"
    run("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=local_function", program, mini)
    run("xz", mini)
    run("strip", program)
    assert query(program, [local])[0][0][0][5] == "-"
    run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", program)
    answers, _ = query(program, [local, exported])
    assert [frames[0][5] for frames in answers] == ["local_function", "outer"]


@pytest.mark.parametrize("how,packed", diagonals(
    ["relative", "absolute", "root"], [[], ["program"], ["shared"], ["program", "shared"]]))
def test_dwz(tmp_path, how, packed):
    need("dwz")
    programs = [build(tmp_path, "g++", "cases.cc", "-O2", "-g", level, name=name)
                for name, level in (("one", "-fno-inline"), ("two", "-finline"))]
    addresses = function_addresses(programs[1], "_Z5outeri")
    shared = tmp_path / ".dwz" / "shared.debug"
    shared.parent.mkdir()
    option = ["-r"] if how == "relative" else ["-M", shared]
    run("dwz", "-m", shared, *option, *programs)
    assert shared.exists()
    for file in [programs[1]] * ("program" in packed) + [shared] * ("shared" in packed):
        run("objcopy", "--compress-debug-sections=zlib", file)
    text = run("readelf", "-p", ".gnu_debugaltlink", programs[1], capture_output=True,
               text=True, errors="replace").stdout
    assert "shared.debug" in text
    options = []
    if how == "root":
        root = tmp_path / "root"
        (root / ".dwz").mkdir(parents=True)
        shared.rename(root / ".dwz" / "shared.debug")
        options = ["-d", root]
    check_chain(programs[1], addresses, "cases.cc", *options)
    if how != "root":
        expected = query(programs[1], addresses)[0]
        shared.unlink()
        assert query(programs[1], addresses)[0] != expected


def test_debuginfod(tmp_path, separate):
    need("debuginfod-find")
    program, debug, addresses, build_id = separate
    served = tmp_path / "served"
    (served / "buildid" / build_id).mkdir(parents=True)
    debug.rename(served / "buildid" / build_id / "debuginfo")
    environment = dict(os.environ, DEBUGINFOD_CACHE_PATH=str(tmp_path / "cache"),
                       DEBUGINFOD_URLS=f"file://{served}/", DEBUGINFOD_TIMEOUT="5")
    text = "".join(f"{address:x}\n" for address in addresses)
    with_it, without = (subprocess.run([QUERY, str(program)], input=text, capture_output=True,
                                       text=True, check=True, env=env).stdout
                        for env in (environment, dict(environment, DEBUGINFOD_URLS="")))
    assert "middle" in with_it
    assert "middle" not in without


def test_debuginfod_server_that_is_silent(tmp_path, separate):
    """One wait for all files: a server that accepts and says nothing, asked for two programs."""
    need("debuginfod-find")
    program, _, addresses, _ = separate
    other = build(tmp_path, "gcc", "cases.c", "-O1", "-Wl,--build-id=sha1", name="other")
    run("strip", other)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        environment = dict(os.environ, DEBUGINFOD_CACHE_PATH=str(tmp_path / "cache"),
                           DEBUGINFOD_URLS=f"http://127.0.0.1:{server.getsockname()[1]}/",
                           DEBUGINFOD_TIMEOUT="2")
        begin = time.monotonic()
        done = subprocess.run([QUERY, str(program), str(other)], env=environment, timeout=60,
                              input=f"{addresses[0]:x}\n", capture_output=True, text=True, check=True)
        taken = time.monotonic() - begin
        server.settimeout(5)
        server.accept()[0].close()
    assert done.stdout.count("\n\n") == 2
    # The one that was tried, and not a second time; the client looks once a second, or waits three times itself.
    assert 1.5 < taken < 10


# Files that are none: an answer, a note, and no waiting.

def check_note(path, pattern, *options):
    answers, note = query(path, [0x1000], *options, timeout=5)
    assert answers == [[["-", "-", "0", "0", "0", "-"]]]
    assert note and re.search(pattern, note), note


@pytest.mark.parametrize("path,pattern", [
    ("[vdso]", "vdso"), ("linux-vdso.so.1", "vdso"), ("[heap]", "no file"), ("", "no file"),
    ("/nonexistent/program", "No such file"), ("/nonexistent/x (deleted)", "No such file"),
    ("/dev/zero", "device"), ("/dev/tty", "device|No such"), ("/tmp", "directory"),
    ("/proc/self/maps", "empty"), ("/etc/passwd", "not an ELF"), ("//x" * 5000, "too long"),
])
def test_no_program(path, pattern):
    check_note(path, pattern)
    check_note(path, pattern, "-b", "00112233445566778899")


def test_fifo(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    check_note(tmp_path / "fifo", "FIFO")


@pytest.mark.parametrize("size", [0, 1, 16, 64, 300, 5000])
def test_truncated(tmp_path, size):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g")
    os.truncate(program, size)
    query(program, [0x1000, 0x1180], timeout=5)


def test_object_file(tmp_path):
    build(tmp_path, "gcc", "cases.c", "-O2", "-g")
    check_note(tmp_path / "program.o", "neither a program nor")


def test_fifo_as_debuglink(tmp_path, separate):
    program, debug, addresses, _ = separate
    run("objcopy", f"--add-gnu-debuglink={debug}", program)
    os.mkfifo(program.parent / debug.name)
    query(program, addresses, timeout=5)


def test_fifo_as_dwo(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-gsplit-dwarf")
    addresses = function_addresses(program, "outer")
    dwo = tmp_path / "program.dwo"
    dwo.unlink()
    os.mkfifo(dwo)
    answers, _ = query(program, addresses, timeout=5)
    assert any(frames[0][5] == "outer" and frames[0][2] != "0" for frames in answers)


# Split units: their frames are those of the same program without them, wherever the units are.

def split(folder, compiler, version, *flags):
    need(compiler)
    sources = write_units(folder)
    for source in sources:
        run(compiler, "-O2", f"-gdwarf-{version}", *flags, "-c", source, "-o", f"{source[:-2]}.o", cwd=folder)
    run(compiler, *(f"{source[:-2]}.o" for source in sources), "-o", folder / "program", cwd=folder)
    return folder / "program"


@pytest.mark.parametrize("compiler,version,where", diagonals(
    list(product(["gcc", "clang"], ["4", "5"])), ["dwo", "dwp", "single", "zstd", "elsewhere"]))
def test_split(tmp_path, compiler, version, where):
    if (compiler, where) == ("gcc", "single"):
        pytest.skip("gcc has no such option")
    plain, folder = tmp_path / "plain", tmp_path / "split"
    for each in plain, folder:
        each.mkdir()
    expected = split(plain, compiler, version)
    program = split(folder, compiler, version, f"-gsplit-dwarf{'=single' if where == 'single' else ''}")
    addresses = [address for i in range(UNITS) for address in function_addresses(program, f"sum{i}")]
    options, note = [], None
    if where in ("dwp", "elsewhere"):
        # What makes packages of DWARF 4 crashes at DWARF 5; and the other way round it makes none.
        tool = "dwp" if version == "4" and compiler == "gcc" else "llvm-dwp"
        need(tool)
        made = subprocess.run([tool, "-e", program, "-o", f"{program}.dwp"], cwd=folder, check=False)
        if made.returncode:
            pytest.skip(f"{tool} makes no package of this")
        for file in folder.glob("*.dwo"):
            file.unlink()
    if where == "elsewhere":
        (tmp_path / "debug").mkdir()
        (folder / "program.dwp").rename(tmp_path / "debug" / "program.dwp")
        assert "program.dwp" in query(program, addresses)[1]
        options = ["-d", tmp_path / "debug"]
    if where == "zstd":
        for file in [program, *folder.glob("*.dwo")]:
            run("objcopy", "--compress-debug-sections=zstd", file)
    want, _ = query(expected, addresses)
    assert {f"twice{i}" for i in range(UNITS)} <= {frame[0] for frames in want for frame in frames}
    got = query(program, addresses, *options)
    assert [[[frame[0], *frame[2:]] for frame in frames] for frames in got[0]] == [
        [[frame[0], *frame[2:]] for frame in frames] for frames in want]
    assert got[1] == note
    for file in [*folder.glob("*.o"), *folder.glob("*.dw?"), *tmp_path.glob("debug/*")]:
        file.unlink()
    answers, note = query(program, addresses)
    assert "inlined functions are missing" in note and len(answers) == len(want)
    assert all(frames[-1][0].startswith("sum") for frames in answers)


def test_package_damaged(tmp_path):
    """A package whose index tells nonsense is as one that is not there."""
    need("dwp", "gcc")
    program = split(tmp_path, "gcc", "4", "-gsplit-dwarf")
    run("dwp", "-e", program, "-o", f"{program}.dwp", cwd=tmp_path)
    for file in tmp_path.glob("*.dwo"):
        file.unlink()
    package = tmp_path / "program.dwp"
    image = package.read_bytes()
    offset, size = struct.unpack_from("<QQ", image, section_header(image, package, ".debug_cu_index") + 24)
    addresses = list(function_addresses(program, "sum1"))
    whole, note = query(program, addresses)
    assert note is None
    for at in range(offset, offset + size, 4):
        for value in 0, 1, 0x7fffffff, 0xffffffff:
            damaged = bytearray(image)
            struct.pack_into("<I", damaged, at, value)
            package.write_bytes(damaged)
            answers, _ = query(program, addresses)
            assert [frames[-1][0] for frames in answers] == [frames[-1][0] for frames in whole]


def test_fifo_as_alternate(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g")
    link = tmp_path / "link"
    link.write_bytes(b"fifo\0" + bytes(20))
    run("objcopy", f"--add-section=.gnu_debugaltlink={link}", program)
    os.mkfifo(tmp_path / "fifo")
    answers, _ = query(program, function_addresses(program, "outer"), timeout=5)
    assert answers[0][0][5] == "outer"


# Strings that no NUL ends.

DAMAGED = "its strings have no end"


def end_otherwise(path, section):
    """The section's last byte, a NUL, becomes an x."""
    image = bytearray(path.read_bytes())
    offset, size = struct.unpack_from("<QQ", image, section_header(image, path, section) + 24)
    assert image[offset + size - 1] == 0
    image[offset + size - 1] = ord("x")
    path.write_bytes(image)


def names_in(answers):
    """Without the x, which is part of the section's last string now."""
    return [[frame[0].removesuffix("x") for frame in frames] for frames in answers]


def sections_of(path):
    return re.findall(r"\] (\.\S+)", run("readelf", "-SW", path, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("compiler,dwarf,packed", diagonals(
    list(product(["gcc", "clang"], ["-gdwarf-4", "-gdwarf-5"])), [[], ["zlib"], ["zlib-gnu"]]))
def test_strings_without_end(tmp_path, compiler, dwarf, packed):
    """The last string of the section ends with it, all others are whole, and it is said."""
    program = build(tmp_path, compiler, "cases.c", "-O2", "-g", dwarf)
    addresses = function_addresses(program, "outer")
    expected, note = query(program, addresses)
    assert not note
    sections = {".debug_str", ".debug_line_str"} & set(sections_of(program))
    assert len(sections) == (2 if dwarf == "-gdwarf-5" else 1)
    for section in sections:
        end_otherwise(program, section)
    for how in packed:
        run("objcopy", f"--compress-debug-sections={how}", program)
    answers, note = query(program, addresses)
    assert DAMAGED in note
    assert names_in(answers) == names_in(expected)


def test_strings_of_split_units_without_end(tmp_path):
    program = build(tmp_path, "gcc", "cases.c", "-O2", "-g", "-gsplit-dwarf")
    addresses = function_addresses(program, "outer")
    expected, _ = query(program, addresses)
    end_otherwise(tmp_path / "program.dwo", ".debug_str.dwo")
    assert names_in(query(program, addresses)[0]) == names_in(expected)
    end_otherwise(tmp_path / "program.dwo", ".debug_info.dwo")
    assert names_in(query(program, addresses)[0]) == names_in(expected)


def test_strings_of_a_shared_file_without_end(tmp_path):
    need("dwz")
    programs = [build(tmp_path, "g++", "cases.cc", "-O2", "-g", name=name) for name in ("one", "two")]
    shared = tmp_path / "shared.debug"
    run("dwz", "-m", shared, *programs)
    end_otherwise(shared, ".debug_str")
    answers, note = query(programs[0], function_addresses(programs[0], "_Z5outeri"))
    assert DAMAGED in note and answers[0][-1][0] == "_Z5outeri"


def test_shared_file_of_another_build(tmp_path):
    """It is as if it were missing; libdw alone would take strings from any file of the right name."""
    need("dwz")
    programs = [build(tmp_path, "g++", "cases.cc", "-O2", "-g", name=name) for name in ("one", "two")]
    shared = tmp_path / "shared.debug"
    run("dwz", "-m", shared, "-r", *programs)
    addresses = function_addresses(programs[0], "_Z5outeri")
    expected, _ = query(programs[0], addresses)
    image = bytearray(shared.read_bytes())
    offset, size = struct.unpack_from("<QQ", image, section_header(image, shared, ".note.gnu.build-id") + 24)
    image[offset + size - 1] ^= 1
    shared.write_bytes(image)
    other = query(programs[0], addresses)
    shared.unlink()
    assert other == query(programs[0], addresses) != (expected, None)


# A unit whose last DIE is a function, and whose last attribute is its name, without an end.
ENDLESS = """
	.text
	.globl _start, outer
outer:	nop
_start:	nop
last:
	.section .debug_abbrev, "", @progbits
	.byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0    /* unit: low_pc, high_pc */
	.byte 2, 0x2e, 0, 0x11, 1, 0x12, 7, 3, 8, 0, 0, 0    /* function: and name */
	.section .debug_info, "", @progbits
	.long after - before
before:	.value 4
	.long .debug_abbrev
	.byte 8, 1
	.quad outer, last - outer
	.byte 2
	.quad outer, last - outer
	.ascii "{name}"
after:
"""


@pytest.mark.parametrize("packed", [[], ["--compress-debug-sections=zlib"]], ids=["plain", "packed"])
def test_unit_without_end(tmp_path, packed):
    name = "endless" * 61  # as long as libelf's memory: the next byte is of the heap
    (tmp_path / "endless.s").write_text(ENDLESS.replace("{name}", name))
    program = tmp_path / "endless"
    run("gcc", "-nostdlib", "-static", tmp_path / "endless.s", "-o", program)
    address = int(run("nm", program, capture_output=True, text=True).stdout.split(" T outer")[0].split()[-1], 16)
    run("strip", "-g", "--keep-section=.debug_info", "--keep-section=.debug_abbrev", "-N", "outer", "-N", "_start",
        "-N", "last", program)
    if packed:
        run("objcopy", *packed, program)
    answers, note = query(program, [address])
    assert [frames[0][0] for frames in answers] == [name] and not note


# Real programs.

@pytest.mark.parametrize("name", ["libc.so.6", "libstdc++.so.6", "libpython3.*.so.1.0", "libLLVM*.so*"])
def test_system_libraries(name):
    path = next(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(name), None)
    if path is None:
        pytest.skip(f"{name} is not installed")
    build_id = build_id_of(path)
    debug = pathlib.Path("/usr/lib/debug/.build-id") / build_id[:2] / f"{build_id[2:]}.debug"
    check_llvm(path, count=3000, llvm_file=debug if debug.exists() else None)
