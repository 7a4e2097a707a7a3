"""Python's frames in stacks, beside what Python itself says."""
import json
import os
import pathlib
import shutil
import subprocess
import textwrap

import pytest

import mallow_reader
from conftest import clean_environment

HERE = pathlib.Path(__file__).parent
DEBIANS = "/usr/bin/python3"


def interpreters():
    """Debian's, and others that lie where pyenv puts them."""
    yield pytest.param(DEBIANS, id="debian")
    for minor in range(9, 16):
        found = sorted(pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3.{minor}"))
        yield pytest.param(str(found[0]) if found else f"python3.{minor}", id=f"3.{minor}", marks=pytest.mark.long)


CUT = 1000  # names of more than a thousand bytes lose their ends


def script_frames(recording, node):
    """[file, line, function] of those frames of a stack that are Python's, innermost first."""
    return [[recording.modules[frame[1]]["path"], recording.scripts[frame][1], recording.scripts[frame][0][:CUT]]
            for frame in recording.stack(node) if frame in recording.scripts]


def assert_as_said(recording, said):
    stacks = {event.size: script_frames(recording, event.node) for event in recording.events
              if isinstance(event, mallow_reader.Alloc) and str(event.size) in said}
    different = {}
    for size, frames in said.items():
        frames = [[file, line, name[:CUT]] for file, line, name in frames]
        got = stacks.get(int(size))
        if got != frames:
            different[size] = (got, frames)
    for size, (got, frames) in list(different.items())[:3]:
        print(size, *(got or ["nothing"]), "instead of", *frames, sep="\n  ")
    assert not different, f"{len(different)} of {len(said)} differ"


def assert_well_placed(recording, said):
    """Inside of each run of Python's frames stands the interpreter; what C code called back stands inside of that."""
    called_back = 0
    for event in recording.events:
        if not isinstance(event, mallow_reader.Alloc) or str(event.size) not in said:
            continue
        names = [recording.scripts[frame][0] if frame in recording.scripts
                 else pathlib.Path(recording.modules[frame[1]]["path"]).name for frame in recording.stack(event.node)]
        are = [frame in recording.scripts for frame in recording.stack(event.node)]
        for i, script in enumerate(are[1:], 1):
            assert not script or are[i - 1] or "python" in names[i - 1], names
        lambdas = [i for i, name in enumerate(names) if name.endswith("<lambda>")]
        inner = lambdas[0] if lambdas and "foreign" in names else len(names)
        if any(name.startswith("libffi") for name in names[inner:]):
            assert any(name.startswith("libffi") for name in names[inner:names.index("foreign")]), names
            called_back += 1
    return called_back


@pytest.mark.parametrize("python", interpreters())
def test_frames_are_those_of_python(python, agent, mallow, tmp_path):
    python = shutil.which(python) or pytest.skip(f"{python} is not installed")
    environment = clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "%p.mallow", "PYTHONHASHSEED": "0"})
    ran = subprocess.run([python, HERE / "probes.py", tmp_path / "said", "fork"], env=environment, timeout=120,
                         capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stderr == ""
    said = sorted(tmp_path.glob("said.*"))
    assert len(said) == 2
    called_back = probes = 0
    for path in said:
        recording, frames = mallow_reader.read(tmp_path / f"{path.suffix[1:]}.mallow"), json.loads(path.read_text())
        assert recording.header.losses["broken_stacks"] == 0
        assert_as_said(recording, frames)
        called_back += assert_well_placed(recording, frames)
        probes += len(frames)
    assert probes > 400 and called_back > 2


GREENLETS = """
import greenlet, json, os
from probes import probe, recursion, said
def work(n):
    probe()
    if n:
        greenlet.greenlet(work).switch(n - 1)
    probe()
    greenlet.getcurrent().parent.switch()
    probe()
def outer():
    all = [greenlet.greenlet(work) for i in range(4)]
    for one in all:
        one.switch(3)
    for one in all:
        one.switch()
        recursion(4)
outer()
with open("said", "w") as file:
    json.dump(said, file)
os._exit(0)
"""


def test_frames_of_greenlets(agent, tmp_path):
    """A greenlet's chain ends where it began, though its native stack goes on outwards in frames that others run."""
    pytest.importorskip("greenlet")
    (tmp_path / "app.py").write_text(GREENLETS)
    shutil.copy(HERE / "probes.py", tmp_path)
    environment = clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "g.mallow"})
    subprocess.run([DEBIANS, "app.py"], env=environment, cwd=tmp_path, timeout=60, check=True)
    assert_as_said(mallow_reader.read(tmp_path / "g.mallow"), json.loads((tmp_path / "said").read_text()))


def run(mallow, folder, program, *options, python=DEBIANS, arguments=(), status=0):
    """The summary that `mallow run` prints, and its recording."""
    script = folder / "app.py"
    script.write_text(program)
    recording = folder / f"run{len(list(folder.iterdir()))}.mallow"
    ran = subprocess.run([mallow, "run", "-o", recording, *options, python, script, *arguments], env=clean_environment(),
                         capture_output=True, text=True, timeout=120)
    assert ran.returncode == status, ran.stderr
    return ran.stderr, recording


FLOATS = """
def make(n):
    return [float(i) for i in range(n)]
kept = make(10000)
"""


def test_blocks_of_pools(mallow, tool, tmp_path):
    """Each float is a block of Python's pool: seen where it was made, once, and the pool not at all."""
    said, path = run(mallow, tmp_path, FLOATS)
    assert "unseen" not in said and "--force-malloc" not in said
    report = json.loads(tool("report", "--json", "--stacks", "inline", "--size-min", 24, "--size-max", 24, "--top", 10**9,
                             path).stdout)
    floats = [site for site in report["sites"] if {"make"} & {frame["function"] for frame in site["stack"]}]
    assert 9950 <= sum(site["calls"] for site in floats) <= 10000  # it keeps a few that are free
    own, = {(frame["file"], frame["line"]) for site in floats for frame in site["stack"][:4]
            if frame["function"] == "make"}
    assert own == (str(tmp_path / "app.py"), 3)
    # As malloc sees them.
    forced = json.loads(tool("report", "--json", "--top", 1, run(mallow, tmp_path, FLOATS, "--force-malloc")[1]).stdout)
    assert report["total_bytes"] < forced["total_bytes"] * 1.1


@pytest.mark.parametrize("name, value, size", [("PYTHONMALLOC", "pymalloc", 24), ("PYTHONMALLOC", "debug", 24),
                                               ("PYTHONDEVMODE", "1", 24), ("PYTHONMALLOC", "malloc_debug", 56)])
def test_blocks_of_pools_behind_others(name, value, size, mallow, tool, tmp_path, monkeypatch):
    """Python's settings put functions in front of its pools after ours: each block is seen, in its own size. But for
    malloc_debug: there are no pools, and malloc sees what these functions ask for."""
    monkeypatch.setenv(name, value)
    said, path = run(mallow, tmp_path, FLOATS)
    assert "unseen" not in said and "--force-malloc" not in said
    report = json.loads(tool("report", "--json", "--size-min", size, "--size-max", size, "--function-regex", "^make$",
                             "--top", 1, path).stdout)
    assert 9500 <= report["calls"] <= 10000
    assert json.loads(tool("report", "--errors", "--json", path).stdout)["error_count"] == 0


def test_pools_left_alone(mallow, tool, tmp_path):
    said, path = run(mallow, tmp_path, FLOATS, "--python-pools", "off")
    assert "--force-malloc" in said
    report = tool.report(path)
    assert report["calls"] < 10000 and any(frame["file"] == str(tmp_path / "app.py") for site in report["sites"]
                                           for frame in site["stack"])


def test_native_frames_alone(mallow, tool, tmp_path):
    report = tool.report(run(mallow, tmp_path, FLOATS, "--script-frames", "off")[1])
    assert report["calls"] > 10000
    assert not any(frame["file"] == str(tmp_path / "app.py") for site in report["sites"] for frame in site["stack"])


def test_damaged_names(mallow, tool, tmp_path):
    """A finished recording has its names in one chunk. Without it Python's frames have none, and all else is there."""
    _, path = run(mallow, tmp_path, FLOATS)
    data = bytearray(path.read_bytes())
    chunk = next(chunk for chunk in mallow_reader.Recording._walk(data) if chunk.kind == mallow_reader.SYMBOLS)
    data[chunk.offset + 64 + chunk.committed // 2] ^= 0x40
    path.write_bytes(data)
    report = tool.report(path)
    assert report["calls"] > 10000 and not any(frame["function"] == "make" for site in report["sites"] for frame in site["stack"])


# (what is wrong with it, program, function and line that it is about)
FAULTS = {
    "cache that grows": ("""
        class Cache:
            entries = {}
            def load(self, i):
                self.entries[i] = "x" * 2000 + str(i)
        for i in range(3000):
            Cache().load(i)
        """, "Cache.load  app.py:4"),
    "closure": ("""
        def handler():
            table = [bytes(100000) for _ in range(60)]
            return lambda: len(table)
        handlers = [handler()]
        """, "handler  app.py:2"),
    "list of records": ("""
        import logging
        class Keep(logging.Handler):
            records = []
            def emit(self, record):
                self.records.append(self.format(record) + "." * 3000)
        logging.getLogger().addHandler(Keep())
        def work():
            for i in range(2000):
                logging.getLogger().warning("step %d", i)
        work()
        """, "Keep.emit  app.py:5"),
    "leak in C": ("""
        import ctypes
        libc = ctypes.CDLL(None)
        def query(n):
            for i in range(n):
                libc.malloc(5000)
        query(1000)
        """, "query  app.py:5"),
    "large import": ("""
        import os, sys
        os.makedirs("lib/site-packages/big", exist_ok=True)
        with open("lib/site-packages/big/__init__.py", "w") as file:
            file.write("table = [b'%d' * 3000 for i in range(2000)]".replace("b'%d'", "str(i).encode()"))
        sys.path.insert(0, os.path.abspath("lib/site-packages"))
        import big
        """, "app.py:6"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_answer_first(fault, mallow, tmp_path, monkeypatch):
    program, answer = FAULTS[fault]
    monkeypatch.chdir(tmp_path)
    said, _ = run(mallow, tmp_path, textwrap.dedent(program).lstrip())
    first = "\n".join(said.splitlines()[:3])
    assert answer in first, said


def test_live(agent, mallow, tmp_path):
    environment = clean_environment({"LD_PRELOAD": str(agent), "MALLOW_MODE": "live", "MALLOW_JSON": "1",
                                     "MALLOW_HELPER": str(mallow), "MALLOW_OUTFILE": str(tmp_path / "live")})
    (tmp_path / "app.py").write_text("import os\ndef make():\n    return bytearray(3000000)\nkept = make()\nos._exit(0)\n")
    subprocess.run([DEBIANS, tmp_path / "app.py"], env=environment, check=True, timeout=60)
    report = json.loads((tmp_path / "live").read_text())
    largest = report["sites"][0]["stack"]
    assert ("make", 3) in [(frame["function"], frame["line"]) for frame in largest]


@pytest.mark.parametrize("options", [("--sample", "1k"), ("--cull", "1ms"), ("--backtrace", "short")], ids=lambda o: o[0])
def test_settings(options, mallow, tool, tmp_path):
    report = tool.report(run(mallow, tmp_path, FLOATS, *options)[1])
    assert any(frame["function"] == "make" and frame["line"] == 3 for site in report["sites"] for frame in site["stack"])


SCRIBBLE = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
libc.mmap.restype = ctypes.c_void_p
gone = libc.mmap(None, 4096, 0, 0x22, -1, 0)
def frame_of(python_frame):
    return ctypes.c_uint64.from_address(id(python_frame) + 24).value
def scribble(offset, value):
    word = ctypes.c_uint64.from_address(frame_of(sys._getframe(0)) + offset)
    kept, make = word.value, libc.malloc
    word.value = kept if value is None else value
    made = make(77777)
    word.value = kept
    return made
inner = frame_of(sys._getframe(0))
for offset in 32, 48:
    for value in None, 0, 1, 8, 0xdeadbeef000, gone, gone + 8, 2**63 + 8, 2**64 - 8, inner + 1, inner, id(sys), id("x"):
        # A caller that is not there is the end of the chain; its own address never ends.
        scribble(offset, value)
# The chain of markers, without an end (3.11).
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_uint64
state = ctypes.pythonapi.PyThreadState_Get()
marker = ctypes.c_uint64.from_address(state + 56).value
word = ctypes.c_uint64.from_address(marker + 16)
kept, word.value = word.value, marker
libc.malloc(66666)
word.value = kept
current = ctypes.c_uint64.from_address(marker + 8)
kept, current.value = current.value, 0xdeadbeef000
libc.malloc(66666)
current.value = kept
print("well")
"""


def test_frames_that_are_scribbled_over(agent, tmp_path):
    """Code and caller of a frame are garbage while C code allocates: Python's frames are lost then, nothing else."""
    (tmp_path / "app.py").write_text(SCRIBBLE)
    environment = clean_environment({"LD_PRELOAD": str(agent), "MALLOW_OUTPUT": str(tmp_path / "r.mallow")})
    ran = subprocess.run([DEBIANS, tmp_path / "app.py"], env=environment, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "well\n", "")
    recording = mallow_reader.read(tmp_path / "r.mallow")
    stacks = [script_frames(recording, event.node) for event in recording.events
              if isinstance(event, mallow_reader.Alloc) and event.size == 77777]
    assert len(stacks) == 26 and [frame[2] for frame in stacks[0]] == ["scribble", "<module>"]
    assert recording.header.losses["broken_stacks"] >= 10


DAEMONS = """
import threading, time
def work():
    while True:
        kept = [bytearray(600) for _ in range(50)]
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.parametrize("runs", [4, pytest.param(100, marks=pytest.mark.long)])
def test_daemon_threads_at_exit(runs, agent, tmp_path):
    """The interpreter frees their states while they run."""
    (tmp_path / "app.py").write_text(DAEMONS)
    environment = clean_environment({"LD_PRELOAD": str(agent), "MALLOW_OUTPUT": str(tmp_path / "%n.mallow")})
    for _ in range(runs):
        ran = subprocess.run([DEBIANS, tmp_path / "app.py"], env=environment, capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.long
def test_unknown_version(mallow, tmp_path):
    found = sorted(pathlib.Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8"))
    if not found:
        pytest.skip("python3.8 is not installed")
    said, _ = run(mallow, tmp_path, "print(1)", python=str(found[0]))
    assert said.startswith("mallow: Python's functions and lines are not shown: this version of it is not known\n")


MULTIPROCESSING = """
import multiprocessing, sys
def child(n):
    global kept
    kept = bytearray(400000)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    started = [context.Process(target=child, args=(i,)) for i in range(2)]
    for process in started: process.start()
    for process in started: process.join()
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(how, mallow, tmp_path):
    """Each child has a recording of its own, with its lines."""
    run(mallow, tmp_path, MULTIPROCESSING, arguments=[how])
    found = 0
    for path in tmp_path.glob("*.mallow*"):
        recording = mallow_reader.read(path)
        for event in recording.events:
            if isinstance(event, mallow_reader.Alloc) and event.size == 400001:
                frames = script_frames(recording, event.node)
                assert frames[0] == [str(tmp_path / "app.py"), 5, "child"]
                found += 1
    assert found == 2


PLUGIN = """
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
	void *python = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);

	if (!python)
		return puts(dlerror()), 1;
	((void (*)(void))dlsym(python, "Py_Initialize"))();
	((int (*)(const char *))dlsym(python, "PyRun_SimpleString"))(
		"def make():\\n  return bytearray(3000000)\\nkept = make()\\n");
	return ((int (*)(void))dlsym(python, "Py_FinalizeEx"))();
}
"""


@pytest.mark.long
def test_interpreter_that_is_opened_later(agent, tmp_path):
    """While the loader has mapped it and bound nothing, none of its code may run."""
    found = sorted(pathlib.Path.home().glob(".pyenv/versions/3.1[1-9].*/lib/libpython3.1?.so.1.0"))
    if not found:
        pytest.skip("no libpython of its own is installed")
    (tmp_path / "plugin.c").write_text(PLUGIN)
    subprocess.run(["gcc", "-o", tmp_path / "plugin", tmp_path / "plugin.c", "-ldl"], check=True)
    environment = clean_environment({"LD_PRELOAD": str(agent), "MALLOW_OUTPUT": str(tmp_path / "r.mallow"),
                                     "PYTHONHOME": str(found[0].parents[1])})
    subprocess.run([tmp_path / "plugin", found[0]], env=environment, check=True, timeout=60)
    recording = mallow_reader.read(tmp_path / "r.mallow")
    stack, = (script_frames(recording, event.node) for event in recording.events
              if isinstance(event, mallow_reader.Alloc) and event.size == 3000001)
    assert stack == [["<string>", 2, "make"], ["<string>", 3, "<module>"]]
