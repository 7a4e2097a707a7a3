#!/usr/bin/python3
"""Makes what runs on any Linux of an installed mallow: bundle.py PREFIX LAUNCHER TRIPLE LIBRARIES…

PREFIX is where `make install` has put mallow. Its bin/mallow becomes the launcher (src/launcher), and the tool goes to
lib/mallow/tool with its dynamic loader and each library that it needs, from the folders LIBRARIES. All are stripped.
Their licences come from the packages of the same names on this machine. Nothing in it names the folder any more.
"""
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# Those that the tool opens when it needs them: src/hosted/late_library.h.
LATE = re.compile(r'(?:LATE_LIBRARY_OPEN\(.*|\.file = )"(lib[\w.-]+)"')
PRELOADS = b"/etc/ld.so.preload"
RPATH = "$ORIGIN/../lib/mallow/tool"


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def needed(objdump, path):
    return re.findall(r"^ +NEEDED +(\S+)", run(objdump, "-p", path), re.M)


def find(name, folders):
    for folder in folders:
        if (folder / name).exists():
            return (folder / name).resolve()
    sys.exit(f"bundle: {name} is in none of {' '.join(map(str, folders))}")


def put_licences(sonames, folder):
    """Where each library comes from, and on what terms: Debian's files about its packages."""
    machine = run("gcc", "-print-multiarch").strip()
    paths = [f"{folder}/{machine}/{name}" for folder in ("/lib", "/usr/lib") for name in sonames]  # in one of the two
    owners = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True).stdout
    packages = sorted(set(re.findall(r"^([^:]+):.* \S+$", owners, re.M)))
    for package in packages:
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / package)
    sources = run("dpkg-query", "-W", "-f", "${Package} ${source:Package} ${source:Version}\n", *packages)
    (folder / "README").write_text("The libraries of lib/mallow/tool are Debian's, by package, source and version; the file of each\n"
                                   "package has its licence. The loader was changed: it reads no /etc/ld.so.preload. Sources:\n"
                                   "https://snapshot.debian.org/package/SOURCE/VERSION/\n\n" + sources)


def main():
    prefix, launcher, triple, *folders = sys.argv[1:]
    prefix, folders = pathlib.Path(prefix), [pathlib.Path(folder) for folder in folders]
    objdump, strip = triple + "-objdump", triple + "-strip"
    to, licences = prefix / "lib/mallow/tool", prefix / "share/doc/mallow/libraries"
    tool = to / "mallow"
    for folder in to, licences:
        folder.mkdir(parents=True)
    shutil.move(prefix / "bin/mallow", tool)
    interpreter = re.search(r"interpreter: (\S+)\]", run("readelf", "-l", tool))[1].rpartition("/")[2]
    loader = find(interpreter, folders).read_bytes()
    # What the system preloads into each program is for its own C library.
    assert loader.count(PRELOADS) == 1, "the loader has no place for what the system preloads"
    (to / "loader").write_bytes(loader.replace(PRELOADS, b"/dev/null/".ljust(len(PRELOADS), b"\0")))
    wanted = needed(objdump, tool)
    for source in (TOP / "src").rglob("*.c"):
        wanted += LATE.findall(source.read_text())
    for name in wanted:  # which grows
        if name == interpreter or (to / name).exists():
            continue
        shutil.copyfile(find(name, folders), to / name)
        wanted += needed(objdump, to / name)
    put_licences([path.name for path in to.glob("lib*")], licences)
    shutil.copytree("/lib/terminfo", to / "terminfo")  # of Debian's ncurses-base
    # DT_RPATH, not DT_RUNPATH: it counts for the libraries' libraries, too, and before LD_LIBRARY_PATH.
    run("patchelf", "--force-rpath", "--set-rpath", RPATH, tool)
    shutil.copyfile(launcher, prefix / "bin/mallow")
    for path in prefix / "bin/mallow", prefix / "lib/mallow/libmallow.so", *filter(pathlib.Path.is_file, to.iterdir()):
        run(strip, path)
        path.chmod(0o755)
    run(strip, "-g", "-D", prefix / "lib/libmallow.a")
    # A static program does not know where the archive was.
    run(TOP / "tools/set_installed_tool.py", "/usr/local/bin/mallow", prefix / "lib/libmallow.a")
    for path in (prefix / "lib/pkgconfig").iterdir():
        path.write_text(re.sub("^prefix=.*", "prefix=${pcfiledir}/../..", path.read_text(), flags=re.M))


if __name__ == "__main__":
    main()
