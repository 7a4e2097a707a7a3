"""Recordings and core dumps of another architecture, read by the tool of this one: each of its commands, with the
files of that system below --sysroot."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import cores
import expect
import live_programs
import live_reader
import mallow_reader
import pprof_reader
import report_json
from conftest import ALL, ARCH, EMULATED, GUEST, PACKAGES, SYSROOT, by_emulator, clean_environment
from servers import serve  # noqa: F401
from streams import Gather
from test_stacks import SQL

pytestmark = pytest.mark.skipif(not ARCH, reason="make check ARCH=aarch64")

MACHINE = {"mips64el": "mips64", "armhf": "arm", "armel": "arm"}.get(ARCH, ARCH)  # as the tool names it: recordings do not say the byte order
# A function of a file that this machine has not, at least not at its recorded path.
NAME = "sqlite3_step" if PACKAGES else "grow"
# Whether that file lies elsewhere than where it was recorded: not where sqlite3 itself runs on this processor.
MOVED = EMULATED or not PACKAGES
SIZES = {"keep_odd": [131071, 131073] * 4, "keep_large": [1048576], "keep_aligned": [96, 1000]}


@pytest.fixture(scope="module")
def crashed(agent, compile_sample, guest, tmp_path_factory):
    """(core dump, root): core_sizes in live mode, after a write to NULL. Since then it lies below the root."""
    folder = tmp_path_factory.mktemp("crashed")
    program = shutil.copy(compile_sample("core_sizes"), folder / "core_sizes")
    environment = cores.live_environment(agent)
    if guest:
        shell = "echo core > /proc/sys/kernel/core_pattern; ulimit -c unlimited; cd $1; $2 null; [ $? = 139 ]"
        run = guest.run(["sh", "-c", shell, "sh", folder, program], environment, folder, 120)
        assert run.returncode == 0, run.stderr
    else:
        cores.kernel_dumps()
        subprocess.run(by_emulator([str(program), "null"], environment), env=environment, cwd=folder, timeout=120,
                       capture_output=True, preexec_fn=cores.allow_cores)
    found = list(folder.glob("qemu_*.core" if EMULATED and not guest else "core"))
    if not found and not guest:
        pytest.skip(f"qemu-{ARCH} writes no core dumps; its kernel does: MALLOW_GUEST")
    core, = found
    root = folder / "root"
    (root / str(folder)[1:]).mkdir(parents=True)
    program.rename(root / str(program)[1:])
    return core, root


@pytest.fixture(scope="module")
def recording(agent, guest, compile_sample, tmp_path_factory):
    """(recording, root): of sqlite3; where there are no packages, of a sample, which lies below the root since then."""
    folder = tmp_path_factory.mktemp("recording")
    if guest:
        pytest.skip("the guest has no sqlite3")
    environment = clean_environment({"LD_PRELOAD": str(agent), "MALLOW_OUTPUT": folder / "r.mallow"})
    if PACKAGES:
        command, status, root = [(SYSROOT / "usr/bin/sqlite3").resolve(), ":memory:", SQL], 0, SYSROOT
    else:
        command, status, root = [shutil.copy(compile_sample("realloc_chain"), folder)], 7, folder / "root"
    run = subprocess.run(by_emulator([str(word) for word in command], environment), env=environment,
                         stdout=subprocess.DEVNULL, timeout=120)
    assert run.returncode == status
    if not PACKAGES:
        (root / str(folder)[1:]).mkdir(parents=True)
        pathlib.Path(command[0]).rename(root / str(command[0])[1:])
    return folder / "r.mallow", root


def functions(report):
    return {frame["function"] for site in report["sites"] for frame in site["stack"]}


def test_core(tool, crashed):
    core, root = crashed
    report = json.loads(tool("core", "--json", "--sysroot", root, "--sysroot", GUEST or SYSROOT, core).stdout)
    assert report["signal"] == "SIGSEGV" and report["missing_bytes"] == 0
    found = collections.defaultdict(list)
    for site in report["sites"]:
        own, *_ = site["stack"]
        found[own["function"]] += site["sizes"]
        if own["function"] in SIZES:
            assert own["file"].endswith("/core_sizes.c") and own["line"] > 20
            assert site["stack"][1]["function"] == "main"
    for name, sizes in SIZES.items():
        assert sorted(found[name]) == sorted(sizes)
    # The buffer of puts(): one of the C library's exported names.
    assert "puts" in functions(report)
    text = tool("core", "--sysroot", root, core).stdout
    assert re.search(r"core_sizes null  \(pid \d+\), ended by SIGSEGV\n", text)
    assert "keep_odd" not in tool("core", core).stdout
    assert f"  machine    {MACHINE}\n" in tool("info", core).stdout and tool.info(core)["architecture"] == MACHINE
    for command in ("report", "--tree"), ("export", "--to", "collapsed"):
        assert "keep_large" in tool(*command, "--sysroot", root, core).stdout


@pytest.mark.skipif(EMULATED, reason="the tool that makes the report is this machine's")
@pytest.mark.parametrize("name", ["c_family", "cpp_operators", "realloc_chain", "hand_over", "exceptions"])
def test_live(name, record, mallow, compile_sample, tmp_path):
    """Of blocks of all sizes: in a space of 32 bits the table's maps have no top."""
    ran = record([compile_sample(name)], check=False,
                 settings={"MODE": "live", "JSON": 1, "OUTFILE": tmp_path / "report", "HELPER": mallow})
    assert ran.returncode == 7 and ran.stderr == ""
    expect.check_live(name, json.loads((tmp_path / "report").read_text()))


@pytest.mark.native("no program of that architecture is started")
@pytest.mark.parametrize("way", ["preloaded", "static"])
def test_live_at_exit(way, record, compile_sample, compile_linked, functions_of, tool, tmp_path):
    """The agent starts its helper, which keeps the table."""
    folder = tmp_path / "recording"
    program = compile_sample("c_family", "gcc", "-O1") if way == "preloaded" else compile_linked("c_family", way)
    ran = record([program], linked=way != "preloaded", folder=folder, check=False,
                 settings={"MODE": "live", "HELPER": live_programs.KEEPER, "TEST_TABLES": folder / "tables"})
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "ok\n", "")
    path, = (folder / "tables").glob("*.mallow")
    table = live_reader.read(path)
    live_programs.check(table, "c_family", functions_of, "GLIBC")
    assert table.header.lost == 0, table.header.losses
    assert "use_malloc" in functions(tool.report(path))


def test_live_table(tool, agent, compile_sample, guest, tmp_path):
    """While the program runs, and a copy of the table: in the byte order of the machine."""
    if guest:
        pytest.skip("test_core has it")
    environment = cores.live_environment(agent)
    command = by_emulator([str(compile_sample("core_sizes")), "wait"], environment)
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        folder = f"/proc/{process.pid}/fd"
        table, = (f"{folder}/{name}" for name in os.listdir(folder) if "mallow-live" in os.readlink(f"{folder}/{name}"))
        shutil.copy(table, tmp_path / "copy")
        reports = [tool.report(path) for path in (table, tmp_path / "copy")]
        process.kill()
    for report in reports:
        found = collections.Counter()
        for site in report["sites"]:
            found[site["stack"][0]["function"]] += site["leaked_bytes"]
        assert found["keep_odd"] == found["keep_large"] == 1 << 20
    live_reader.read(tmp_path / "copy").assert_consistent()


def test_each_command(tool, recording, serve, tmp_path):
    recording, root = recording
    report = tool.assert_equal_sums(recording)
    assert report["calls"] > 900
    assert f"  machine    {MACHINE}\n" in tool("info", recording).stdout
    root = ["--sysroot", root] if MOVED else []
    by = [*root, recording]
    assert NAME in functions(report_json.load(tool("report", "--json", "--top", ALL, *by).stdout))
    assert (NAME in functions(report)) == (not MOVED)
    for out in ("html", "flamegraph", "collapsed", "heaptrack", "pprof", "replay", "frames"):
        tool("export", "--to", out, "-o", tmp_path / out, *by)
    for out in ("flamegraph", "collapsed", "heaptrack", "frames"):
        assert NAME in (tmp_path / out).read_text(), out
    profile = pprof_reader.read(tmp_path / "pprof")
    assert any(line[0] == NAME for _, _, lines in profile.locations.values() for line in lines)
    assert NAME in tool("diff", "--full", *root, f"{recording}@0s", f"{recording}@peak").stdout
    assert tool("check", "--max-peak", "1G", *by).returncode == 0
    server = serve(*by)
    listed, = server.json("/list")
    assert listed["architecture"] == MACHINE
    assert NAME in server.text("/data/last/export/flamegraph")


def test_finish(tool, recording, tmp_path):
    """It becomes a recording of this machine's byte order, and says the same."""
    recording, root = recording
    path = shutil.copy(recording, tmp_path)
    tool("finish", "--compress", "always", "--sysroot", root, path)
    assert tool.info(path)["finished"] and mallow_reader.read(path).header.finished
    before = report_json.load(tool("report", "--json", "--top", ALL, "--sysroot", root, recording).stdout)
    assert NAME in functions(before)
    after = tool.assert_equal_sums(path)
    assert after["sites"] == before["sites"]


@pytest.mark.skipif(not EMULATED, reason="its files lie where it has found them")
def test_gather(mallow, tool, recording, tmp_path):
    """What arrives is finished with names from below the root, which the sender does not have."""
    recording, root = recording
    if mallow_reader.order_of(recording.read_bytes()) == ">":
        pytest.skip("recordings of big-endian machines are not sent")
    reports = {}
    for options in (), ("--sysroot", root):
        folder = tmp_path / f"gathered{len(options)}"
        cache = tmp_path / f"cache{len(options)}"
        with Gather(mallow, folder, *options, env={"XDG_CACHE_HOME": cache}) as gather, open(recording, "rb") as file:
            subprocess.run([mallow, "stream-recording", "--fd", str(file.fileno()), "--stream",
                            f"127.0.0.1:{gather.port}"], pass_fds=[file.fileno()], env=clean_environment(),
                           check=True, capture_output=True, timeout=60)
            gather.wait_for("complete: ")
            gather.end()
        reports[options] = tool.report(gather.file)
        assert tool.info(gather.file)["finished"]
    without, with_names = reports.values()
    assert NAME in functions(with_names) and NAME not in functions(without)
    assert with_names["total_bytes"] == without["total_bytes"]
