"""Stacks of real programs on other architectures, each frame compared with what libgcc's unwinder finds
in the same malloc. It knows no code that a program makes as it runs: node's stacks are only to reach their ends."""
import collections
import pathlib
import subprocess

import pytest

import mallow_reader
from conftest import ARCH, COMPILERS, PACKAGES, SYSROOT, TOP, by_emulator, clean_environment, need

pytestmark = pytest.mark.skipif(not ARCH or not PACKAGES, reason="make check ARCH=aarch64; mips64 has no programs")

# Debian's libraries there have few: the rules come from reading the code (test_scan.py).
WITHOUT_TABLES = ["mips64el", "armhf", "armel"]
BROKEN = {"armhf": 0.001, "armel": 0.02}  # how many stacks may be, of code that is read
FIRST = 987654  # as tests/ports/backtraces.c has it
SQL = "create table t(a, b); insert into t select value, hex(randomblob(20)) from generate_series(1, 2000);" \
      "create index i on t(b); select count(*), max(b) from t group by a % 7;"
PROGRAMS = {
    "sqlite3": ["sqlite3", ":memory:", SQL],
    "perl": ["perl", "-e", 'my %h; $h{"k$_"} = [1 .. 5] for 1 .. 2000; print length join ",", map {"$_=@{$h{$_}}"} sort keys %h'],
    "python3": ["python3", "-c", "import json, re; print(len(re.findall('a.*b', open(json.__file__).read())))"],
}


@pytest.fixture(scope="module")
def backtraces(tmp_path_factory):
    library = tmp_path_factory.mktemp("backtraces") / "backtraces.so"
    subprocess.run([need(COMPILERS["gcc", "c"]), f"--sysroot={SYSROOT}", "-O2", "-fno-builtin", "-shared", "-fPIC",
                    "-fasynchronous-unwind-tables", "-o", library, TOP / "tests/ports/backtraces.c"], check=True)
    return library


def stacks_of_libgcc(path):
    words = memoryview(path.read_bytes()).cast("Q")
    at, found = 0, []
    while at < len(words):
        count = words[at + 1]
        found.append((words[at], list(words[at + 2:at + 2 + count])))
        at += 2 + count
    return found


def run_program(name, guest, environment, folder):
    if guest:
        run = guest.run(PROGRAMS[name], environment, folder, 300)
    else:
        program = (SYSROOT / "usr/bin" / PROGRAMS[name][0]).resolve()
        command = by_emulator([str(program), *PROGRAMS[name][1:]], environment)
        run = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr
    recording = mallow_reader.read(folder / "r.mallow")
    assert recording.header.lost == 0
    return recording


@pytest.mark.skipif(ARCH in WITHOUT_TABLES, reason="libgcc has no tables there")
@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_to_libgcc(name, backtraces, agent, guest, tmp_path):
    environment = clean_environment({"LD_PRELOAD": f"{agent}:{backtraces}", "MALLOW_OUTPUT": tmp_path / "r.mallow",
                                     "BACKTRACES": tmp_path / "backtraces", "PYTHONMALLOC": "malloc"})
    recording = run_program(name, guest, environment, tmp_path)
    events = [event for event in recording.events if isinstance(event, mallow_reader.Alloc)]
    assert recording.header.losses["broken_stacks"] == 0
    begin = next(i for i, event in enumerate(events) if event.size == FIRST)
    ours = [event for event in events[begin:] if mallow_reader.ENTRIES[event.op] == "malloc"]
    theirs = stacks_of_libgcc(tmp_path / "backtraces")
    assert len(theirs) > 4000
    assert [event.address for event in ours[:len(theirs)]] == [address for address, _ in theirs]
    for event, (_, frames) in zip(ours, theirs):
        # Two frames are of what is between the program and libgcc: this malloc, and the agent's.
        assert [pc for pc, _ in recording.stack(event.node)] == frames[2:]
    print(f"{len(theirs)} stacks")


@pytest.mark.skipif(ARCH not in WITHOUT_TABLES, reason="libgcc says more")
@pytest.mark.parametrize("name", PROGRAMS)
def test_reaches_the_start_without_tables(name, agent, guest, tmp_path):
    recording = run_program(name, guest, clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "r.mallow",
                                                            "PYTHONMALLOC": "malloc"}), tmp_path)
    stacks = [recording.stack(event.node) for event in recording.events if isinstance(event, mallow_reader.Alloc)]
    ends = collections.Counter(stack[-1] for stack in stacks if stack[-1][1])  # of a broken one: a mark, of no module
    # main's caller and, before main, the loader.
    usual = dict(ends.most_common(2))
    modules = {pathlib.Path(recording.modules[module]["path"]).name for _, module in usual}
    guesses = {recording.frames[identity] for identity in recording.guesses}
    guessed = sum(not guesses.isdisjoint(stack) for stack in stacks)
    print(f"{len(stacks)} stacks of {sum(map(len, stacks)) / len(stacks):.1f} frames, {guessed} with one of {len(guesses)} guesses of "
          f"{len(recording.frames)} places, their ends {dict(ends)} in {modules}")
    assert len(stacks) > 1000 and modules <= {"ld.so.1", "ld-linux-armhf.so.3", "ld-linux.so.3", pathlib.Path(SYSROOT / "usr/bin" / name).resolve().name}
    assert sum(usual.values()) >= (1 - max(BROKEN.get(ARCH, 0), 0.0001)) * len(stacks)
    assert recording.header.losses["broken_stacks"] <= BROKEN.get(ARCH, 0) * len(stacks)


@pytest.mark.skipif(ARCH != "aarch64", reason="node is not tried there")
def test_node_reaches_the_start(agent, tmp_path):
    """Through code without tables: that which V8 brings, and that which it makes."""
    program = (SYSROOT / "usr/bin/node").resolve()
    script = "const m = new Map(); for (let i = 0; i < 30000; i++) m.set('k' + i, [i].map(x => ({x})).concat(JSON.parse('[1,2]')));" \
             "console.log(m.size, require('zlib').gzipSync(JSON.stringify([...m])).length > 0)"
    environment = clean_environment({"LD_PRELOAD": agent, "MALLOW_OUTPUT": tmp_path / "r.mallow"})
    command = by_emulator([str(program), "-e", script], environment)
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=300)
    assert run.stdout == "30000 true\n"
    recording = mallow_reader.read(tmp_path / "r.mallow")
    ends = collections.Counter(recording.stack(event.node)[-1] for event in recording.events
                               if isinstance(event, mallow_reader.Alloc))
    # main's caller, that of threads, and the loader, before main.
    usual = dict(ends.most_common(3))
    modules = {pathlib.Path(recording.modules[module]["path"]).name for _, module in usual if module}
    print(f"{ends.total()} stacks, their ends {usual}, in {modules}")
    assert ends.total() > 20_000 and len(modules) == 3
    assert sum(usual.values()) >= 0.9999 * ends.total(), ends
