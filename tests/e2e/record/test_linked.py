"""The agent linked into a program, as a shared library or from libmallow.a: it records as if preloaded."""
import os
import pathlib
import subprocess

import pytest

import expect
import mallow_reader
import mallow_sums
from cells import matrix
from conftest import ARCH, LINKED, TOP, clean_environment, need
from samples import check_report, check_sample, run_sample

GLIBC = [way for way in LINKED if way != "musl"]
SAMPLES = ["c_family", "cpp_operators", "realloc_chain", "hand_over", "alone_and_together", "deep",
           "own_pieces", "life_cycle", "thread_local", "exceptions"]
# glibc_family calls dlopen(). own_operator, as a library, has no libstdc++: libmallow.so has all that
# it calls of one.
CASES = [*matrix([*SAMPLES, "own_operator"], GLIBC), ("glibc_family", "shared")]


@pytest.mark.parametrize("name,way", CASES)
def test_sample(name, way, compile_linked, record, functions_of, reads):
    if (name, way) == ("exceptions", "static") and ARCH in ("armhf", "armel"):
        pytest.xfail("tail calls free an exception as if operator new did: that free is not seen")
    recorded = run_sample(record, [compile_linked(name, way)], linked=True)
    assert recorded.stdout == "ok\n" and recorded.stderr == ""
    assert recorded.info_json["allocator"] == "glibc"
    check_report(recorded, name, "GLIBC")
    if reads:
        check_sample(recorded, name, functions_of, "GLIBC")


@pytest.mark.parametrize("library", ["jemalloc", "tcmalloc_minimal"])
@pytest.mark.parametrize("name", ["c_family", "cpp_operators", "hand_over", "realloc_chain"])
def test_static_allocator(name, library, compile_linked, record, functions_of):
    """Whose malloc it is makes no difference to the linker."""
    if not list(pathlib.Path("/usr/lib").glob(f"**/lib{library}.a")):
        pytest.skip(f"lib{library}.a is not installed")
    program = compile_linked(name, "static", extra=[f"-l{library}", "-lstdc++", "-lm"])
    recorded = run_sample(record, [program], linked=True)
    assert recorded.reader.header.allocator not in (1, 2)
    check_sample(recorded, name, functions_of)


@pytest.mark.parametrize("name", ["c_family", "realloc_chain", "hand_over", "life_cycle"])
def test_static_musl(name, compile_linked, record, functions_of):
    recorded = run_sample(record, [compile_linked(name, "musl")], linked=True)
    assert recorded.reader.header.allocator == 2
    assert recorded.reader.header.ended and recorded.reader.header.lost == 0
    expect.check(expect.expectations(name), expect.by_function(recorded.sums, functions_of))
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)


@pytest.mark.native("memory is not wiped at fork")
@pytest.mark.parametrize("way", LINKED)
def test_fork_with_threads(way, compile_linked, record, functions_of):
    recorded = run_sample(record, [compile_linked("fork_threads", way)], linked=True)
    expect.check(expect.expectations("fork_threads"),
                 expect.by_function(recorded.sums, functions_of))
    wanted = expect.expectations("fork_threads", "CHILD", "ONLY")
    assert len(recorded.paths) == 6
    # Children are in the order of their process ids, which begin anew now and then.
    main, *children = [reader.header.end_status for reader in recorded.readers]
    assert main == 7 and sorted(children) == [0, 1, 2, 3, 4]
    for child in recorded.readers[1:]:
        expect.check(wanted, expect.by_function(mallow_sums.Sums(child), functions_of))
        assert child.header.begun_by_fork
        assert child.header.parent_id == recorded.reader.header.id


@pytest.mark.parametrize("way", LINKED)
def test_waits_until_asked(way, compile_linked, tmp_path):
    """It is always there: it records only if the environment says so. The token of a server is no
    such word."""
    program = compile_linked("c_family", way)
    for others in ({}, {"MALLOW_TOKEN": "s3cret"}):
        run = subprocess.run([program], cwd=tmp_path, env=clean_environment(others),
                             capture_output=True, text=True)
        assert (run.returncode, run.stdout, run.stderr) == (7, "ok\n", "")
        assert not list(tmp_path.iterdir())
    run = subprocess.run([program], cwd=tmp_path, env=clean_environment({"MALLOW_MODE": "record"}),
                         capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (7, "ok\n", "")
    assert len(list(tmp_path.glob("*.mallow"))) == 1


@pytest.mark.parametrize("way", ["preloaded", *LINKED])
def test_the_api_comes_first(way, agent, compile_sample, compile_linked, tmp_path):
    """Before any hook: what is behind the hooks is known by then, and ZERO_MEMORY stays in front of it."""
    preload = {"LD_PRELOAD": agent} if way == "preloaded" else {}
    program = compile_sample("api_first") if preload else compile_linked("api_first", way)

    def run(**variables):
        return subprocess.run([program], cwd=tmp_path, capture_output=True, text=True,
                              env=clean_environment({**preload, **variables}))
    idle = run()
    assert (idle.returncode, idle.stderr) == (7, "")
    # musl's blocks come new from the kernel here.
    for zero_memory, wanted in (("0", "clean\n" if way == "musl" else "dirty\n"), ("1", "clean\n")):
        path = tmp_path / f"{zero_memory}.mallow"
        recorded = run(MALLOW_OUTPUT=path, MALLOW_ZERO_MEMORY=zero_memory)
        assert (recorded.returncode, recorded.stdout, recorded.stderr) == (7, wanted, "")
        recording = mallow_reader.read(path)
        assert recording.header.allocator == (2 if way == "musl" else 1)
        assert mallow_sums.Sums(recording).calls >= 1000


@pytest.mark.parametrize("way", LINKED)
def test_mallow_run(way, compile_linked, record):
    """The tool starts it as any program, and there is one recording, not two."""
    recorded = run_sample(record, [compile_linked("c_family", way)], bare=False)
    assert len(recorded.paths) == 1
    assert recorded.reader.header.ended


def test_two_agents(agent, compile_linked, record, tmp_path):
    """A program linked with one version, run under another: the preloaded one records."""
    other = tmp_path / "libmallow.so"
    # With another DT_SONAME it is loaded besides.
    other.write_bytes(agent.read_bytes().replace(b"\0libmallow.so\0", b"\0libmellow.so\0", 1))
    recorded = run_sample(record, [compile_linked("c_family", "shared")], linked=True,
                          env={"LD_PRELOAD": str(other)})
    assert len(recorded.paths) == 1
    recorded.assert_sound()


def test_static_agent_in_a_dynamic_program(agent, tmp_path):
    """It would see half of the program: the linker does not have it."""
    command = ["gcc", TOP / "examples" / "marks.c", "-I", TOP / "include", "-o", tmp_path / "program",
               f"-Wl,@{agent.parent}/libmallow.options", agent.with_name("libmallow.a")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode and "unresolvable symbol `__real_malloc'" in run.stderr


@pytest.fixture(scope="session")
def installed(agent, tmp_path_factory):
    """What `make install PREFIX=…` leaves for programs to be linked with."""
    folder = tmp_path_factory.mktemp("installed")
    # -o: nothing is built.
    subprocess.run(["make", "-s", "-o", "build", "-C", TOP, "install-libraries", "install-headers",
                    f"PREFIX={folder}", f"BUILD={agent.parent}"], check=True, capture_output=True)
    return folder


def link_installed(installed, source, program, arguments=(), option=()):
    """As docs/linking.md says it: the program finds its library by itself."""
    def asked(*words):
        return subprocess.run([need("pkg-config"), *words, "mallow-agent"], check=True, text=True,
                              env={**os.environ, "PKG_CONFIG_PATH": f"{installed}/lib/pkgconfig"},
                              capture_output=True).stdout.split()

    flags = asked(*arguments, "--cflags", "--libs")
    if not arguments:
        flags.append(f"-Wl,-rpath,{asked('--variable=libdir')[0]}")
    subprocess.run(["gcc", *option, source, *flags, "-o", program], check=True)


@pytest.mark.parametrize("arguments,option", [([], []), (["--static"], ["-static"])])
def test_the_installed_tool_makes_the_reports(arguments, option, installed, tmp_path):
    """It is found where it is installed, by what was built without knowing that place."""
    tool = installed / "bin" / "mallow"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text('#!/bin/sh\necho "asked: $1"\n')
    tool.chmod(0o755)
    link_installed(installed, TOP / "examples" / "marks.c", tmp_path / "program", arguments, option)
    run = subprocess.run([tmp_path / "program"], env=clean_environment({"MALLOW_MODE": "live"}),
                         capture_output=True, text=True, check=True)
    assert "asked: live-report" in run.stdout + run.stderr


def test_building_does_not_depend_on_the_prefix():
    """Lest `make build` and `make install PREFIX=…` undo each other's work."""
    built = [[line for line in subprocess.run(
                  ["make", "-n", "-C", TOP, "install", f"PREFIX={prefix}"], check=True,
                  capture_output=True, text=True).stdout.splitlines() if "tools/build.sh" in line]
             for prefix in ("/opt/m", "/usr/local")]
    assert built[0] == built[1] and len(built[0]) == 1


@pytest.mark.parametrize("arguments,option", [([], []), (["--static"], ["-static"]),
                                              (["--static"], ["-static-pie", "-fPIE"])])
def test_pkg_config(arguments, option, installed, tmp_path, record):
    """With what is installed."""
    program = tmp_path / "program"
    link_installed(installed, TOP / "examples" / "marks.c", program, arguments, option)
    recorded = record([program], linked=True)
    recorded.assert_sound()
    assert recorded.reader.header.ended


@pytest.mark.parametrize("way", LINKED)
def test_asked_by_the_program(way, compile_linked, functions_of, tmp_path):
    """mallow_start() begins a recording where the environment says nothing."""
    run = subprocess.run([compile_linked("started", way)], cwd=tmp_path, env=clean_environment(),
                         capture_output=True, text=True)
    assert run.returncode == 7, run.stderr
    path, = tmp_path.glob("*.mallow")
    recording = mallow_reader.read(path)
    assert recording.header.ended and recording.header.lost == 0
    expect.check(expect.expectations("started"),
                 expect.by_function(mallow_sums.Sums(recording), functions_of))
