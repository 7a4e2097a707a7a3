"""What runs on any Linux: the tarball, and the wheel, which has the same files.

The roots here have nothing but what is tried: no C library, no shell. Roots of whole distributions: test_packages.py.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import report_json
from conftest import TOP, clean_environment, need
from roots import run_in

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *keep[100];
static void fill(void)
{
	for (int i = 0; i < 100; i++)
		memset(keep[i] = malloc(10000), 1, 10000);
}
int main(int argc, char **argv, char **environment)
{
	fill();
	while (*environment)
		puts(*environment++);
	return 0;
}
"""


@pytest.fixture(scope="module")
def root(bundle, tmp_path_factory):
    """(root, the tool's path in it): the bundle in a folder with blanks, and a program with musl."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(bundle, root / "opt/my tools", symlinks=True)
    (root / "bin").mkdir()
    (root / "lib").mkdir()
    (root / "program.c").write_text(PROGRAM)
    subprocess.run([need("musl-gcc"), "-g", "-O1", "-o", root / "bin/program", root / "program.c"], check=True)
    for loader in glob.glob("/lib/ld-musl-*"):
        shutil.copy(loader, root / "lib")
    root.chmod(0o755)
    return root, "/opt/my tools/bin/mallow"


@pytest.mark.parametrize("how", [{}, {"read_only": True}, {"user": "1000:1000"}, {"read_only": True, "user": "1000:1000"}])
def test_nothing_else(root, how):
    root, tool = root
    shutil.rmtree(root / "tmp", ignore_errors=True)  # with another user's cache in it
    run = run_in(root, tool, "run", "-o", "/tmp/r.mallow", "/bin/program", **how)
    assert "fill  program.c:9" in run.stderr, run.stderr
    variables = dict(line.split("=", 1) for line in run.stdout.splitlines())
    assert not {"LD_LIBRARY_PATH", "TERMINFO_DIRS"} & set(variables)
    # A link to the library, whose own path LD_PRELOAD cannot carry.
    assert variables["LD_PRELOAD"].startswith("/tmp/.cache/mallow/")
    if not how:
        report = report_json.load(run_in(root, tool, "report", "--json", "/tmp/r.mallow").stdout)
        assert report["sites"][0]["stack"][0]["function"] == "fill"


@pytest.mark.long
def test_busybox_and_musl(root, tmp_path):
    """A system of Debian's packages busybox-static and musl: `mallow run` by a shell that is static itself."""
    root, tool = root
    for package in "busybox-static", "musl":
        if subprocess.run(["apt-get", "-q", "download", package], cwd=tmp_path, capture_output=True).returncode:
            pytest.skip(f"{package} is not to be had")
    system = tmp_path / "system"
    shutil.copytree(root, system, symlinks=True)
    for package in tmp_path.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, system], check=True)
    busybox, = (path for path in (system / "bin/busybox", system / "usr/bin/busybox") if path.exists())
    script = f"cd /tmp; '{tool}' run -o r.mallow /bin/program | /{busybox.relative_to(system)} wc -l; '{tool}' report r.mallow"
    said = run_in(system, f"/{busybox.relative_to(system)}", "sh", "-c", script).stdout
    assert int(said.split()[0]) > 2 and "fill  program.c:9" in said


def test_size_and_licences(bundle):
    files = [path for path in bundle.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < 40e6
    libraries = {path.name for path in bundle.glob("lib/mallow/tool/lib*")}
    licences = {path.name: path.read_text(errors="replace") for path in (bundle / "share/doc/mallow/libraries").iterdir()}
    assert {"libc.so.6", "libdw.so.1", "libmicrohttpd.so.12", "libgnutls.so.30", "libdebuginfod.so.1"} <= libraries
    assert re.search(r"^libc6 glibc 2\.", licences.pop("README"), re.M)
    assert "libc6" in licences and all("icen" in text for text in licences.values())
    # A link of it is the system's loader's or a C library's: each library and what it needs is there.
    for path in bundle.glob("lib/mallow/tool/lib*"):
        needed = subprocess.run(["objdump", "-p", path], capture_output=True, text=True).stdout
        missing = {line.split()[1] for line in needed.splitlines() if "NEEDED" in line} - libraries
        assert all(name.startswith("ld-linux") for name in missing), (path, missing)


def test_preloads_are_the_programs(bundle, agent, compile_sample, tmp_path):
    """Not the tool's, whose C library they may not fit."""
    (tmp_path / "odd.c").write_text("#include <stdio.h>\n__attribute__((constructor)) static void begin(void)\n"
                                    "{ char name[16] = {0}; FILE *f = fopen(\"/proc/self/comm\", \"r\");\n"
                                    "fread(name, 1, 15, f); fprintf(stderr, \"preloaded into %s\", name); }\n")
    odd = tmp_path / "odd.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", odd, tmp_path / "odd.c"], check=True)
    run = subprocess.run([bundle / "bin/mallow", "run", "-o", tmp_path / "r.mallow", compile_sample("c_family")], capture_output=True,
                         text=True, env=clean_environment({"LD_PRELOAD": odd, "LD_LIBRARY_PATH": "/nowhere"}))
    assert run.returncode == 7 and re.findall("preloaded into .*", run.stderr) == ["preloaded into c_family"], run.stderr
    assert b"/etc/ld.so.preload" not in (bundle / "lib/mallow/tool/loader").read_bytes()


def test_the_library_finds_its_tool(bundle, compile_sample, tmp_path):
    """By where it lies itself, in live mode without MALLOW_HELPER; also through the link for -lmallow."""
    for library in "lib/mallow/libmallow.so", "lib/libmallow.so":
        run = subprocess.run([compile_sample("c_family")], capture_output=True, text=True, cwd=tmp_path,
                             env=clean_environment({"LD_PRELOAD": bundle / library, "MALLOW_MODE": "live"}))
        assert run.returncode == 7 and "c_family" in run.stderr, run.stderr
    assert os.path.realpath(bundle / library) == str(bundle / "lib/mallow/libmallow.so")


def test_it_serves(bundle, tmp_path):
    """By the libraries that are opened when they are needed: libmicrohttpd, and GnuTLS for that."""
    from servers import Server
    subprocess.run([bundle / "bin/mallow", "run", "-o", tmp_path / "r.mallow", "true"], check=True, capture_output=True)
    server = Server(bundle / "bin/mallow", tmp_path / "r.mallow")
    try:
        assert server.json("/list")
        maps = pathlib.Path(f"/proc/{server.run.pid}/maps").read_text()
        libraries = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
        assert libraries and all(str(bundle) in path for path in libraries)
    finally:
        server.run.kill()


def test_damaged(bundle, tmp_path):
    """One line says which file is missing, and no other loader is tried."""
    copy = shutil.copytree(bundle, tmp_path / "copy", symlinks=True)
    for name, text in ("loader", "there is no"), ("mallow", "no file of mallow's"):
        (copy / "lib/mallow/tool" / name).unlink()
        if name == "mallow":
            shutil.copy(bundle / "lib/mallow/tool/loader", copy / "lib/mallow/tool/loader")
            (copy / "lib/mallow/tool/mallow").write_bytes(b"#!/bin/sh\n" * 1000)
        run = subprocess.run([copy / "bin/mallow", "--version"], capture_output=True, text=True)
        assert run.returncode == 127 and run.stderr.count("\n") == 1 and text in run.stderr and name in run.stderr


APP = """import mallow
def load():
    return [bytes(1000) for _ in range(3000)]
kept = load()
mallow.mark("loaded")
assert mallow.available()
"""


def test_wheel(bundle, tmp_path):
    """From the wheel to the faulty line, in an environment without a network, which it leaves as it was."""
    environment, (wheel,), (pip,) = tmp_path / "e", bundle.parent.glob("*.whl"), glob.glob("/usr/share/python-wheels/pip-*.whl")
    python, mallow = environment / "bin/python", environment / "bin/mallow"

    def run(*words):
        variables = {"PYTHONDONTWRITEBYTECODE": 1,
                     **{name: None for name in os.environ if name.startswith("PYTEST_")}}
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True, env=clean_environment(variables))

    run("/usr/bin/python3", "-m", "venv", "--without-pip", "--system-site-packages", environment)
    before = set(environment.rglob("*"))
    run(python, f"{pip}/pip", "install", "-q", "--no-index", wheel)
    assert (environment / "share/man/man1/mallow.1").exists()

    (tmp_path / "app.py").write_text(APP)
    assert "load  app.py:3" in run(mallow, "run", "-o", "r.mallow", python, "app.py").stderr.split("\n", 4)[2]
    assert "loaded" in run(mallow, "report", "--by", "mark", "r.mallow").stdout
    (tmp_path / "test_it.py").write_text("def test():\n    assert bytes(10_000_000)\n")
    tested = run(python, "-m", "pytest", "-p", "no:cacheprovider", "--mallow", "test_it.py")
    assert re.search(r"10\.0 MB .* test_it.py::test ", tested.stdout), tested.stdout
    # The tool is started by a static program, and recorded nevertheless.
    assert "statically linked" not in tested.stderr

    run(python, f"{pip}/pip", "uninstall", "-q", "-y", "mallow")
    assert {path for path in environment.rglob("*") if path.is_file()} <= before


@pytest.mark.long
def test_the_wheels_tags(bundle, tmp_path):
    """auditwheel finds no library that the system must have, in what the system's loader is given: all but what the
    launcher brings its own loader for."""
    run = [sys.executable, "-m", "venv", tmp_path / "e"], [tmp_path / "e/bin/pip", "install", "-q", "auditwheel"]
    for words in run:
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("auditwheel is not to be had")
    wheel, = bundle.parent.glob("*.whl")
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(tmp_path / wheel.name, "w") as part:
        for entry in whole.infolist():
            lines = whole.read(entry).splitlines(keepends=True)
            if entry.filename.endswith("/RECORD"):
                lines = [line for line in lines if b"/lib/mallow/tool/" not in line]
            if "/lib/mallow/tool/" not in entry.filename:
                part.writestr(entry, b"".join(lines))
    said = subprocess.run([tmp_path / "e/bin/auditwheel", "show", tmp_path / wheel.name], capture_output=True, text=True)
    assert "manylinux_2_5_" in said.stdout and "requires no external shared libraries" in said.stdout, said
