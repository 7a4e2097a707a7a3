"""
Names of functions, from wherever they come: the recording itself once it is finished, separate
debug files in each of their places, and what programs that make code list for perf.
"""
import http.server
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

import mallow_reader
import report_json
import pytest
import symbols_reader

from conftest import SAMPLES, clean_environment, need

NAMED = SAMPLES / "named.c"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True, **options)


def build(folder, *flags, name="program", compiler="gcc"):
    """The sample named.c, in two steps, so that split DWARF leaves its .dwo where it says."""
    need(compiler)
    program = folder / name
    source = ["-O2", "-Wl,--build-id=sha1", *flags]
    run(compiler, *source, "-c", NAMED, "-o", f"{program}.o", cwd=folder)
    run(compiler, *source, f"{program}.o", "-o", program, cwd=folder)
    return program


def line_of(word):
    return next(number for number, line in enumerate(NAMED.read_text().splitlines(), 1)
                if re.search(rf"// AT {word}\b", line))


def report(tool, path, environment=None):
    done = subprocess.run([str(tool.path), "report", "--json", "--top", "100000", str(path)],
                          capture_output=True, text=True, check=True, timeout=60,
                          env=clean_environment(environment))
    return report_json.load(done.stdout)


def stack_of(parsed, size):
    """The stack of the one site that allocated so many bytes."""
    found = [site["stack"] for site in parsed["sites"] if site["total_bytes"] == size]
    assert len(found) == 1, f"{len(found)} sites of {size} bytes"
    return found[0]


def names(stack):
    return [frame["function"] for frame in stack]


def check_chain(parsed, size=1000, functions=("inner", "middle", "local_function", "outer")):
    """The inlined functions, innermost first, with the lines that the source states."""
    stack = stack_of(parsed, size)
    outer = {1000: "outer", 2000: "library_outer"}[size]
    expected = [outer if name == "outer" else name for name in functions]
    assert names(stack)[:len(expected)] == expected
    for frame, name in zip(stack, functions):
        assert pathlib.Path(frame["file"]).name == "named.c"
        assert frame["line"] == line_of(name)
        assert frame["inlined"] == (name in ("inner", "middle"))


def has_lines(parsed):
    """Of the sample: the C library may have lines of its own."""
    return any(frame["line"] and frame["file"].endswith("named.c")
               for frame in stack_of(parsed, 1000))


# --- a finished recording needs no files ---

@pytest.fixture(name="machine")
def fixture_machine(tmp_path):
    """A folder with a program and its library, which can be taken away: (folder, program)."""
    folder = tmp_path / "machine"
    folder.mkdir()
    library = build(folder, "-g", "-DLIBRARY", "-shared", "-fPIC", name="libnamed.so")
    program = folder / "named"
    run("gcc", "-O2", "-g", "-DCALL_LIBRARY", NAMED, library, "-Wl,-rpath,$ORIGIN", "-o", program)
    return folder, program


def test_names_without_the_files(record, tool, machine, tmp_path):
    folder, program = machine
    recorded = record([program])
    raw = tmp_path / "raw.mallow"
    shutil.copy(recorded.path, raw)
    before = report(tool, raw)
    check_chain(before, 1000)
    check_chain(before, 2000)
    text_before = tool("report", "--full", raw).stdout
    graph_before = tool("export", "--to", "flamegraph", raw).stdout

    tool("finish", recorded.path)
    assert report(tool, recorded.path)["sites"] == before["sites"]
    folder.rename(tmp_path / "elsewhere")

    assert report(tool, recorded.path)["sites"] == before["sites"]
    finished = tool("report", "--full", recorded.path).stdout
    assert [line for line in finished.splitlines() if "named.c" in line] == \
           [line for line in text_before.splitlines() if "named.c" in line]
    assert "local_function" in finished
    graph = tool("export", "--to", "flamegraph", recorded.path).stdout
    assert graph.count("library_outer") == graph_before.count("library_outer") > 0
    # What was not finished has lost them.
    lost = report(tool, raw)
    assert not has_lines(lost)
    assert "outer" not in names(stack_of(lost, 1000))


def test_names_of_another_machine_are_kept(record, tool, machine, tmp_path):
    """Finished again where the files are gone, with the other compression: nothing is lost."""
    folder, program = machine
    recorded = record([program])
    before = report(tool, recorded.path)
    tool("finish", "--compress", "never", recorded.path)
    folder.rename(tmp_path / "elsewhere")
    for compress in "always", "never":
        tool("finish", "--compress", compress, recorded.path)
        assert report(tool, recorded.path)["sites"] == before["sites"]


def test_names_are_those_of_the_recorded_build(record, tool, machine):
    """The program is built anew, other functions at the same places: the old names stay."""
    _, program = machine
    recorded = record([program])
    before = report(tool, recorded.path)
    tool("finish", recorded.path)
    run("gcc", "-O0", "-g", "-Douter=renamed", "-DCALL_LIBRARY", NAMED, program.parent /
        "libnamed.so", "-o", program)
    assert report(tool, recorded.path)["sites"] == before["sites"]


def test_run_embeds_the_names(record, tool, machine, tmp_path):
    folder, program = machine
    recorded = record([program], bare=False)
    before = report(tool, recorded.path)
    check_chain(before)
    folder.rename(tmp_path / "elsewhere")
    assert report(tool, recorded.path)["sites"] == before["sites"]


def test_run_keeps_why_names_are_missing(record, tool, tmp_path):
    """Said where the files are gone, too, and harmless at a terminal."""
    folder = tmp_path / "evil\x1b[31m"
    folder.mkdir()
    program = build(folder, "-g", "-gsplit-dwarf")
    (folder / "program.dwo").unlink()
    recorded = record([program], bare=False)
    folder.rename(tmp_path / "elsewhere")
    said = "program: inlined functions are missing: "
    for _ in range(2):
        assert symbols_reader.notes_of(recorded.path)[str(program)].startswith(f"{folder}/{said}")
        text = tool("report", recorded.path).stdout
        assert said in text and "program.dwo' with them is not there" in text
        assert "\x1b" not in text
        tool("finish", "--compress", "never", recorded.path)


def test_many_images_by_one_run(record, tool, machine, tmp_path):
    """A shell that starts the program again and again: all of them carry the names."""
    folder, program = machine
    script = "; ".join([str(program)] * 12)
    recorded = record(["sh", "-c", f"{script}; true"], bare=False)
    folder.rename(tmp_path / "elsewhere")
    found = 0
    for path in recorded.paths:
        parsed = report(tool, path)
        if any(site["total_bytes"] == 1000 for site in parsed["sites"]):
            check_chain(parsed)
            found += 1
    assert found == 12


@pytest.mark.parametrize("compress", ["never", "always"])
def test_what_is_written(record, tool, machine, compress):
    """The names as docs/trace-format.md has them, by an independent reader, against nm."""
    _, program = machine
    recorded = record([program])
    tool("finish", "--compress", compress, recorded.path)
    modules = symbols_reader.symbols_of(recorded.path)
    names_of = {path: positions for (path, _), positions in modules.items()}
    assert names_of[str(program)] and names_of[str(program.parent / "libnamed.so")]
    for path in program, program.parent / "libnamed.so":
        functions = {}
        for line in run("nm", "--defined-only", "-S", path).stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tT":
                functions[fields[3]] = (int(fields[0], 16), int(fields[1], 16))
        for address, position in names_of[str(path)].items():
            outermost = position.functions[-1]
            assert not outermost.inlined
            # Aliases and what has no size (_start) apart.
            if outermost.name in functions:
                start, size = functions[outermost.name]
                assert start <= address < start + size
                assert position.offset == address - start
        assert sum(position.functions[-1].name in functions
                   for position in names_of[str(path)].values()) >= 2
    chain = next(position.functions for position in names_of[str(program)].values()
                 if len(position.functions) == 3)
    assert [(f.name, f.line, f.inlined) for f in chain] == [
        ("inner", line_of("inner"), True), ("middle", line_of("middle"), True),
        ("local_function", line_of("local_function"), False)]
    # All frames of the recording that have a name in the report have one here.
    for frame in (f for site in report(tool, recorded.path)["sites"] for f in site["stack"]):
        if frame["module"] and not frame["function"].startswith("["):
            assert any(frame["function"].split("(")[0] in (f.name or "") or "_Z" in (f.name or "")
                       for position in names_of[frame["module"]].values()
                       for f in position.functions), frame


def test_damaged_names(record, tool, machine, tmp_path):
    """A byte changed anywhere in them: names come from the files, as without."""
    folder, program = machine
    recorded = record([program])
    before = report(tool, recorded.path)
    tool("finish", recorded.path)
    data = recorded.path.read_bytes()
    chunk = next(c for c in mallow_reader.Recording._walk(data)
                 if c.kind == mallow_reader.SYMBOLS)
    damaged = tmp_path / "damaged.mallow"
    places = range(chunk.offset + 64, chunk.offset + 64 + chunk.committed,
                   max(1, chunk.committed // 8))
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 0x40
        damaged.write_bytes(changed)
        assert report(tool, damaged)["sites"] == before["sites"]
    folder.rename(tmp_path / "elsewhere")
    assert "outer" not in names(stack_of(report(tool, damaged), 1000))
    damaged.write_bytes(data)
    assert report(tool, damaged)["sites"] == before["sites"]


# --- debug information in all of its places ---

@pytest.mark.parametrize("flags", ["-g", "-gdwarf-4 -g", "-g -gz", "-g -gsplit-dwarf",
                                   "-gdwarf-4 -g -gsplit-dwarf", "-g1"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_inlined_functions(record, tool, tmp_path, compiler, flags):
    program = build(tmp_path, *flags.split(), compiler=compiler)
    recorded = record([program])
    check_chain(report(tool, recorded.path))
    dwo = tmp_path / "program.dwo"
    assert dwo.exists() == ("split" in flags)
    if dwo.exists():
        # The .dwo is where it comes from, and the finished recording does not need it.
        finished = tmp_path / "finished.mallow"
        shutil.copy(recorded.path, finished)
        tool("finish", finished)
        dwo.unlink()
        check_chain(report(tool, finished))
        assert "middle" not in names(stack_of(report(tool, recorded.path), 1000))


@pytest.fixture(name="separate")
def fixture_separate(tmp_path):
    """(program, debug file, build id): a stripped program and what was taken from it."""
    program = build(tmp_path, "-g")
    debug = tmp_path / "debug" / "program.debug"
    debug.parent.mkdir()
    run("objcopy", "--only-keep-debug", program, debug)
    run("strip", program)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program).stdout)[1]
    return program, debug, build_id


@pytest.mark.parametrize("place", ["program.debug", ".debug/program.debug"])
@pytest.mark.parametrize("with_id", [True, False])
def test_debuglink(record, tool, separate, place, with_id):
    program, debug, _ = separate
    target = program.parent / place
    target.parent.mkdir(exist_ok=True)
    if not with_id:
        for file in program, debug:
            run("objcopy", "--remove-section=.note.gnu.build-id", file)
    shutil.move(debug, target)
    run("objcopy", f"--add-gnu-debuglink={target}", program)
    recorded = record([program])
    check_chain(report(tool, recorded.path))
    target.unlink()
    assert not has_lines(report(tool, recorded.path))


def test_build_id_directory(record, tool, separate):
    """In the system's folder, where the package that holds it would put it."""
    program, debug, build_id = separate
    place = pathlib.Path("/usr/lib/debug/.build-id") / build_id[:2] / f"{build_id[2:]}.debug"
    if not os.access(next(p for p in place.parents if p.exists()), os.W_OK):
        pytest.skip("/usr/lib/debug is not ours to write to")
    recorded = record([program])
    assert not has_lines(report(tool, recorded.path))
    made = [p for p in place.parents if not p.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.move(debug, place)
        check_chain(report(tool, recorded.path))
    finally:
        place.unlink(missing_ok=True)
        for folder in made:
            folder.rmdir()


def test_debug_package_of_the_c_library(record, tool, tmp_path):
    """Debian's libc6-dbg: compressed, by build id, with what qsort() inlines and calls."""
    libc = next((line.split()[2] for line in run("ldd", need("cat")).stdout.splitlines()
                 if line.split()[0] == "libc.so.6"), None)
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", libc).stdout)[1]
    if not pathlib.Path(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug").exists():
        pytest.skip("libc6-dbg is not installed")
    source = tmp_path / "s.c"
    source.write_text("#include <stdio.h>\nint main(void)\n{\n\treturn !fopen(\"/etc/passwd\", "
                      "\"r\");\n}\n")
    program = tmp_path / "s"
    run("gcc", "-O1", "-g", source, "-o", program)
    parsed = report(tool, record([program]).path)
    frames = [frame for site in parsed["sites"] for frame in site["stack"]
              if frame["module"] and "libc" in frame["module"] and "fopen" in frame["function"]]
    assert frames and all(frame["file"].endswith("iofopen.c") and frame["line"]
                          for frame in frames)


def test_mini_debug_information(record, tool, tmp_path):
    """.gnu_debugdata, as Fedora has it: names of local functions in a stripped file."""
    need("xz")
    program = build(tmp_path)
    mini = tmp_path / "mini"
    run("objcopy", "-S", "--keep-symbol=local_function", program, mini)
    run("xz", mini)
    run("strip", program)
    recorded = record([program])
    assert "local_function" not in names(stack_of(report(tool, recorded.path), 1000))
    with_it = tmp_path / "with"
    run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", program, with_it)
    with_it.rename(program)
    assert names(stack_of(report(tool, recorded.path), 1000))[0] == "local_function"


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        self.server.paths.append(self.path)


@pytest.fixture(name="server")
def fixture_server(tmp_path):
    """(url, folder served, paths asked for): a web server with the layout of debuginfod."""
    folder = tmp_path / "served"
    folder.mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: Silent(*a, directory=str(folder)))
    server.paths = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", folder, server.paths
    server.shutdown()
    server.server_close()


def has_client():
    return any(pathlib.Path(folder, "libdebuginfod.so.1").exists()
               for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"))


def test_debuginfod(record, tool, separate, server, tmp_path):
    if not has_client():
        pytest.skip("libdebuginfod is not installed")
    program, debug, build_id = separate
    url, folder, asked = server
    (folder / "buildid" / build_id).mkdir(parents=True)
    shutil.move(debug, folder / "buildid" / build_id / "debuginfo")
    recorded = record([program])
    # Asked only where the user says so.
    assert not has_lines(report(tool, recorded.path, {"DEBUGINFOD_URLS": None}))
    assert not asked
    environment = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": tmp_path / "cache"}
    check_chain(report(tool, recorded.path, environment))
    assert any(build_id in path for path in asked)


def test_debuginfod_of_elfutils(record, tool, separate, tmp_path):
    """The same with the real server, over a folder of debug files."""
    if not has_client():
        pytest.skip("libdebuginfod is not installed")
    daemon = need("debuginfod")
    program, debug, build_id = separate
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{port}/",
                   "DEBUGINFOD_CACHE_PATH": tmp_path / "cache"}
    recorded = record([program])
    server = subprocess.Popen([daemon, "-d", ":memory:", "-p", str(port), "-F", str(debug.parent)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=clean_environment({"DEBUGINFOD_URLS": None}))
    try:
        deadline = time.monotonic() + 30
        while not has_lines(report(tool, recorded.path, environment)):
            assert time.monotonic() < deadline, "the server does not have the file"
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            time.sleep(0.3)
        check_chain(report(tool, recorded.path, environment))
    finally:
        server.terminate()
        server.wait()


def test_debuginfod_that_does_not_answer(record, tool, machine, tmp_path):
    """A server that accepts and says nothing: one wait, and the report is there."""
    if not has_client():
        pytest.skip("libdebuginfod is not installed")
    _, program = machine
    for file in program, program.parent / "libnamed.so":
        run("strip", file)
    recorded = record([program])
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(16)
        environment = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{silent.getsockname()[1]}/",
                       "DEBUGINFOD_CACHE_PATH": tmp_path / "cache", "DEBUGINFOD_TIMEOUT": 2}
        begin = time.monotonic()
        parsed = report(tool, recorded.path, environment)
        taken = time.monotonic() - begin
    assert stack_of(parsed, 1000)
    assert 1.5 < taken < 8


# --- code made at run time ---

def perf_map_of(recorded_info):
    return pathlib.Path(f"/tmp/perf-{recorded_info['pid']}.map")


@pytest.fixture(name="maps")
def fixture_maps():
    """Lists for perf that the test's programs leave: removed."""
    made = []
    yield made
    for path in made:
        path.unlink(missing_ok=True)


def jit_names(parsed, base=1000):
    return [names(stack_of(parsed, base + size))[0] for size in (100, 200, 300)]


EXPECTED_JIT = ["old_code", "new_code in a file.js:12", "mangle_me()"]


@pytest.fixture(name="jit")
def fixture_jit(record, tool, compile_sample, maps):
    recorded = record([compile_sample("jit_code")])
    maps.append(perf_map_of(tool.info(recorded.path)))
    assert maps[0].exists()
    return recorded, maps[0]


def test_jit(tool, jit):
    recorded, perf_map = jit
    parsed = report(tool, recorded.path)
    assert jit_names(parsed) == EXPECTED_JIT
    assert stack_of(parsed, 1100)[0]["module"] is None
    assert "main" in names(stack_of(parsed, 1100))
    tool("finish", recorded.path)
    perf_map.unlink()
    assert jit_names(report(tool, recorded.path)) == EXPECTED_JIT


def test_jit_of_somebody_else(tool, jit):
    """Anyone can put a file into /tmp; and a pid is used again."""
    recorded, perf_map = jit
    times = os.stat(perf_map)
    if os.geteuid() == 0:
        os.chown(perf_map, 65534, 65534)
        assert all(name.startswith("0x") for name in jit_names(report(tool, recorded.path)))
        os.chown(perf_map, 0, 0)
    for wrong in times.st_mtime - 3600, times.st_mtime + 3600:
        os.utime(perf_map, (wrong, wrong))
        assert all(name.startswith("0x") for name in jit_names(report(tool, recorded.path)))
    os.utime(perf_map, ns=(times.st_mtime_ns, times.st_mtime_ns))
    assert jit_names(report(tool, recorded.path)) == EXPECTED_JIT
    perf_map.unlink()
    os.mkfifo(perf_map)
    assert all(name.startswith("0x") for name in jit_names(report(tool, recorded.path)))


def test_jit_of_several_images(record, tool, compile_sample, maps):
    """One process executes itself twice: the list names the image that wrote it last."""
    recorded = record([compile_sample("jit_code"), "3"])
    maps.append(perf_map_of(tool.info(recorded.path)))
    assert len(recorded.paths) == 3
    named = []
    for path in recorded.paths:
        parsed = report(tool, path)
        base = next(base for base in (1000, 2000, 3000)
                    if any(site["total_bytes"] == base + 100 for site in parsed["sites"]))
        found = jit_names(parsed, base)
        assert found == EXPECTED_JIT or all(name.startswith("0x") for name in found)
        named.append((base, found == EXPECTED_JIT))
    assert sorted(named) == [(1000, False), (2000, False), (3000, True)]


def test_jit_of_java(record, tool, maps, tmp_path):
    """The virtual machine lists its code when it exits; both numbers begin with 0x."""
    compiler, machine = need("javac"), need("java")
    (tmp_path / "Blocks.java").write_text("""
public class Blocks {
  static int grab(int n) { return java.nio.ByteBuffer.allocateDirect(n).capacity(); }
  static long work(int n) { long s = 0; for (int i = 0; i < n; i++) s += grab(3000 + i % 7); return s; }
  public static void main(String[] a) {
    long s = 0;
    for (int i = 0; i < 300; i++) s += work(100);
    if (s < 0) System.exit(1);
  }
}
""")
    run(compiler, "Blocks.java", cwd=tmp_path)
    recorded = record([machine, "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                       "-XX:+PreserveFramePointer", "-cp", tmp_path, "Blocks"], bare=False)
    maps.append(perf_map_of(tool.info(recorded.path)))
    maps[0].unlink()
    found = {frame["function"] for site in report(tool, recorded.path)["sites"]
             for frame in site["stack"]}
    assert any("Blocks.grab(int)" in name or "Blocks.work(int)" in name for name in found)
    assert "Interpreter" in found


def test_jit_of_node(record, tool, maps, tmp_path):
    """A real one: functions of JavaScript stand on the stacks of what they allocate."""
    script = tmp_path / "script.js"
    script.write_text("""
function allocatesBuffers(n) {
  const kept = [];
  for (let i = 0; i < n; i++) kept.push(Buffer.allocUnsafeSlow(20000 + i));
  return kept;
}
function callsIt() { return allocatesBuffers(400).length; }
let total = 0;
for (let i = 0; i < 30; i++) total += callsIt();
if (total !== 12000) process.exit(1);
""")
    recorded = record([need("node"), "--perf-basic-prof", "--interpreted-frames-native-stack",
                       script], cwd=tmp_path)  # node leaves a log where it runs
    maps.append(perf_map_of(tool.info(recorded.path)))
    before = report(tool, recorded.path)
    found = {frame["function"] for site in before["sites"] for frame in site["stack"]}
    for function in "allocatesBuffers", "callsIt":
        assert any(re.search(rf"{function} .*script\.js", name) for name in found), function
    tool("finish", recorded.path)
    maps[0].unlink()
    after = report(tool, recorded.path)
    assert {frame["function"] for site in after["sites"] for frame in site["stack"]} == found
