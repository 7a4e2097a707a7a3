"""What `make deb rpm tarball wheel` has left in build/release: what it needs, puts, does and leaves in a bare Debian."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import TOP, clean_environment, need

pytestmark = [pytest.mark.long, pytest.mark.native("they are this machine's packages")]
RELEASE = TOP / "build" / "release"
HOST = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())[1]
# What Debian adds to each package, and where its zsh looks.
DEBIANS = re.compile(r"/usr/share/(doc/[^/]+/(copyright|changelog)|lintian/.*|zsh/vendor-completions/_mallow)")
# What apt keeps for itself, and what was copied there.
KEPT = re.compile(r"/(srv|var/(log|lib/apt|cache)|var/lib/dpkg/(triggers|status|available|lock)\S*)(/|$)")
IN_ROOT = """root=$1; shift
mount --bind "$root" "$root"; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"; mount -t tmpfs tmpfs "$root/tmp"
exec chroot "$root" "$@" """


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **{"env": clean_environment(), **options})
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def packages(pattern):
    found = sorted(RELEASE.glob(pattern))
    assert found, "make deb rpm tarball wheel was not run"
    return found


def files_below(root):
    return {f"/{path.relative_to(root)}" for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture
def installed(tmp_path):
    """What `make install` puts."""
    run("make", "-s", "-C", TOP, "install", "-o", "build", f"DESTDIR={tmp_path}/installed", "PREFIX=/usr", "ARCH=")
    return files_below(tmp_path / "installed")


class Root:
    """A bare Debian, and the packages in its /srv."""

    def __init__(self, folder, release):
        self.folder = folder
        run("unshare", "--mount", need("debootstrap"), "--variant=minbase", release, folder)  # it leaves mounts where it fails
        shutil.copy("/etc/resolv.conf", folder / "etc")
        self.run("apt-get", "-q", "update")

    def command(self, *command):
        return ["unshare", "--mount", "sh", "-euc", IN_ROOT, "-", str(self.folder), "env", "DEBIAN_FRONTEND=noninteractive",
                "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *command]

    def run(self, *command):
        return run(*self.command(*command))

    def files(self):
        return {path for path in self.run("find", "/", "-xdev", "-printf", "%p\n").splitlines() if not KEPT.match(path)}

    def sizes(self):
        """In KiB on disk, of all packages that are installed."""
        return dict(line.split() for line in self.run("dpkg-query", "-W", "-f", "${Package} ${Installed-Size}\n").splitlines())

    def install(self, debs):
        for deb in debs:
            shutil.copy(deb, self.folder / "srv")
        self.run("apt-get", "-qy", "install", *(f"/srv/{deb.name}" for deb in debs))


def earlier(deb, folder):
    """The package as that of an earlier version, each file of which is another."""
    tree = folder / deb.stem
    run("dpkg-deb", "-R", deb, tree)
    control = tree / "DEBIAN" / "control"
    version = re.search(r"^Version: (.*)", control.read_text(), re.M)[1]
    control.write_text(re.sub(rf"^(Version: |Depends: .*= ){re.escape(version)}", r"\g<1>0.0.1", control.read_text(), flags=re.M))
    for path in tree.glob("usr/**/*"):
        if path.is_file() and not path.is_symlink():
            with open(path, "ab") as file:
                file.write(b"\n")
    target = folder / f"earlier-{deb.name}"
    run("dpkg-deb", "--root-owner-group", "-b", tree, target)
    return target


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_debian(release, tmp_path, installed):
    """Debian 12's packages are for 13, too."""
    if os.geteuid() or (release == "bookworm" and HOST != release):
        pytest.skip("root is needed" if os.geteuid() else "Debian 13's packages are for 13 alone")
    *ours, dev = sorted(packages(f"*_{run('dpkg', '--print-architecture').strip()}.deb"), key=lambda path: "-dev" in path.name)
    root = Root(tmp_path / "root", release)
    files, sizes = root.files(), root.sizes()
    root.install([earlier(deb, tmp_path) for deb in ours])
    further = {name: int(size) for name, size in root.sizes().items() if name not in sizes and "mallow" not in name}
    assert release != "bookworm" or (len(further) <= 25 and sum(further.values()) < 25_000), further

    # A program goes on under the library that an upgrade replaces.
    with subprocess.Popen(root.command("mallow", "run", "-o", "/srv/r.mallow", "--", "perl", "-e",
                                       '$| = 1; print "on\n"; <STDIN>; @a = map { "x" x 1000 } 1 .. 1000; exit 7'),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "on\n"
        root.install([*ours, dev])
        program.communicate("\n")
    assert program.returncode == 7
    assert "Perl_sv_grow" in root.run("mallow", "report", "/srv/r.mallow")
    assert root.run("dpkg", "--verify", "mallow", "libmallow", "libmallow-dev") == ""
    shutil.copy(TOP / "debian/tests/smoke", root.folder / "srv")
    assert root.run("sh", "/srv/smoke") == ""

    listed = {path.removesuffix(".gz") for path in root.run("dpkg", "-L", "mallow", "libmallow", "libmallow-dev").splitlines()
              if not (root.folder / path[1:]).is_dir()}
    assert {path for path in listed if not DEBIANS.fullmatch(path)} == installed
    root.run("apt-get", "-qy", "purge", "mallow", "libmallow", "libmallow-dev", *further)
    assert root.files() ^ files == set()
    run("rm", "-rf", "--one-file-system", root.folder)


APP = """import json
def load():
    return [json.loads("[1, 2, 3]") for _ in range(30000)]
kept = load()
"""


@pytest.mark.parametrize("release,python", [("bullseye", "3.9"), ("bookworm", "3.11"), ("trixie", "3.13")])
def test_wheel_and_tarball(release, python, tmp_path):
    """As a new user would, on a root that has only Python: from the file to the faulty line. Debian 11's glibc is older than
    the one that they were built with."""
    if os.geteuid():
        pytest.skip("root is needed")
    machine = os.uname().machine
    root = Root(tmp_path / "root", release)
    root.run("apt-get", "-qy", "install", "python3-venv")
    (root.folder / "srv/app.py").write_text(APP)
    shutil.copy(packages(f"*{machine}.whl")[0], root.folder / "srv")
    run("tar", "-C", root.folder / "srv", "-xf", packages(f"*-linux-{machine}.tar.zst")[0])
    root.run("sh", "-euc", "python3 -m venv /srv/venv; /srv/venv/bin/pip install --no-index /srv/*.whl")
    assert root.run("/srv/venv/bin/python", "--version").startswith(f"Python {python}.")
    for tool in "/srv/venv/bin/mallow", f"/srv/{packages(f'*-linux-{machine}.tar.zst')[0].name.removesuffix('.tar.zst')}/bin/mallow":
        said = root.run("sh", "-euc", f"cd /srv; {tool} run -o /tmp/r.mallow venv/bin/python app.py 2>&1; {tool} report /tmp/r.mallow")
        assert re.search(r"MB live, [0-9.]+ % of it\s+for\s+(load|<listcomp>)  app.py:3", said), said
    root.run("/srv/venv/bin/python", "-c", "import mallow, sys; sys.exit(mallow.available())")
    run("rm", "-rf", "--one-file-system", root.folder)


def test_rpm(tmp_path, installed):
    rpms = packages(f"*.{os.uname().machine}.rpm")
    root = tmp_path / "root"
    rpm = ["rpm", "--root", root, "--dbpath", "/db"]
    run(*rpm, "-i", "--nodeps", *rpms)
    assert {path for path in files_below(root) if not path.startswith("/db/")} == installed
    required = {line.split("(")[0] for line in run("rpm", "-qp", "--requires", *rpms).splitlines()}
    assert required >= set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", root / "usr/bin/mallow")))
    run(root / "usr/bin/mallow", "run", "-o", tmp_path / "r.mallow", "--", "perl", "-e", '@a = map { "x" x 1000 } 1 .. 1000')
    assert "Perl_sv_grow" in run(root / "usr/bin/mallow", "report", tmp_path / "r.mallow")
    run(*rpm, "-e", "mallow", "libmallow", "libmallow-devel")
    assert not [path for path in files_below(root) if not path.startswith("/db/")]


def test_built_elsewhere(tmp_path):
    """Of what is committed the same bytes come out in another folder, and of another architecture what lintian likes."""
    if run("git", "status", "--porcelain", cwd=TOP):
        pytest.skip("the tree has changes that are not committed")
    clone, foreign = tmp_path / "clone", TOP / "build/aarch64"
    run("git", "clone", "-q", TOP, clone)
    run("make", "-C", clone, "deb", "rpm", "tarball", "wheel")
    assert run("git", "status", "--porcelain", cwd=clone) == ""
    kinds = [*(f"*{os.uname().machine}{kind}" for kind in (".rpm", ".tar.zst", ".whl")),
             f"*_{run('dpkg', '--print-architecture').strip()}.deb"]
    for path in [path for kind in kinds for path in packages(kind)]:
        assert (clone / "build/release" / path.name).read_bytes() == path.read_bytes(), path.name
    if (foreign / "sysroot.made").exists():
        (clone / "build/aarch64").mkdir()
        for name in "sysroot", "sysroot.made":
            (clone / "build/aarch64" / name).symlink_to(foreign / name)
        run("make", "-C", clone, "deb", "rpm", "ARCH=aarch64")
        tool = run("dpkg-deb", "-f", *(clone / "build/release").glob("mallow_*_arm64.deb"))
        assert "Architecture: arm64" in tool and "libdw1" in tool
    assert "W:" not in run("lintian", "--allow-root", "--fail-on", "error,warning", *(clone / "build/release").glob("*.deb"))
    mistaken = subprocess.run(["make", "-s", "-C", clone, "deb", "version=9"], capture_output=True, text=True)
    assert mistaken.stderr.startswith("deb: meson.build has version 9, debian/changelog ") and mistaken.returncode
    shutil.rmtree(clone)
