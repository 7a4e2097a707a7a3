#!/usr/bin/python3
"""Pictures of the web interface: every page, at three sizes, light and dark.

    tools/screenshots.py MALLOW FOLDER [--only PAGE] [--width WIDTH] [--theme THEME] [--recording NAME|FILE]
    tools/screenshots.py build/mallow /tmp/seen --only flame --width 1440 --theme dark --recording server

An option may come several times. Recordings are made once, beside the pictures, and again after a new build:
server is tests/samples/web_server.cpp, python a small script, clang a compiler with a small file. A FILE is
any other recording. Ends with 1 if a page had an error in its console, or asked somebody else."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "tests" / "e2e"), str(TOP / "tests" / "e2e" / "lib")]
import browser  # noqa: E402
from conftest import build_sample, clean_environment  # noqa: E402
from servers import Server  # noqa: E402

QUERIES = {"compare": "b.id={id}&alive_at=end&b.alive_at=peak"}     # what a page is opened with; others with nothing
SIZES = {380: 820, 1440: 900, 2560: 1440}
THEMES = ("light", "dark")
RECORDINGS = ("server", "python", "clang")
PYTHON = """
import json
kept = [json.loads(json.dumps({"number": i, "words": ["word %d" % (i % 97)] * 5})) for i in range(20000)]
by_number = {one["number"]: [str(word).upper() for word in one["words"]] for one in kept}
del kept
print(len(by_number))
"""
CLANG = "#include <map>\n#include <string>\nint size(const std::map<std::string, int> &map) { return map.size(); }\n"


def command_of(name, folder):
    """What is recorded, or None if it is not here."""
    if name == "server":
        return [build_sample("web_server", "gcc", "-O1")]
    if name == "python":
        (folder / "script.py").write_text(PYTHON)
        return ["/usr/bin/python3", folder / "script.py"]
    (folder / "small.cpp").write_text(CLANG)
    return ["clang++", "-c", folder / "small.cpp", "-o", folder / "small.o"] if shutil.which("clang++") else None


def recording(mallow, name, folder):
    """The path of a recording, or None."""
    if name not in RECORDINGS:
        return pathlib.Path(name).resolve()
    path = folder / f"{name}.mallow"
    if path.exists() and path.stat().st_mtime > mallow.stat().st_mtime:
        return path
    command = command_of(name, folder)
    if not command:
        print(f"{name}: not installed, left out", file=sys.stderr)
        return None
    path.unlink(missing_ok=True)
    run = subprocess.run([mallow, "run", "--follow", "0", "--free-stacks", "--memory-samples", "10ms", "-o", path, "--",
                          *command], env=clean_environment(), capture_output=True, text=True)
    if not path.exists():
        sys.exit(f"{name} cannot be recorded: {run.stderr}")
    return path


def take(page, name, identity, given, folder):
    """Every picture of a recording. Returns how many pages had something wrong."""
    wrong = 0
    for theme in given.theme or THEMES:
        page.theme(theme)
        for width in given.width or SIZES:
            page.size(width, SIZES.get(width, 900), touch=width < 720)
            for place in given.only or browser.PAGES:
                path = folder / f"{name}-{place}-{width}-{theme}.png"
                try:
                    page.open(f"#/{place}?r={identity}&{QUERIES.get(place, '').format(id=identity)}".rstrip("&"))
                    page.check()
                    print(path)
                except AssertionError as error:
                    wrong += 1
                    print(f"{path}: {error}")
                page.screenshot(path)
    return wrong


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mallow", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", action="append", metavar="PAGE", help=f"of {', '.join(browser.PAGES)}")
    parser.add_argument("--width", action="append", type=int, help=f"{', '.join(map(str, SIZES))}, or another")
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--recording", action="append", metavar="NAME|FILE", help=f"{', '.join(RECORDINGS)}, or a file")
    return parser.parse_args()


def identity(mallow, path):
    """How the server calls it."""
    return json.loads(subprocess.run([mallow, "info", "--json", path], capture_output=True, check=True).stdout)["id"]


def main():
    given = parse()
    mallow, folder = given.mallow.resolve(), given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    paths = {pathlib.Path(name).stem: recording(mallow, name, folder) for name in given.recording or RECORDINGS}
    paths = {name: path for name, path in paths.items() if path}
    server = Server(mallow, *paths.values())
    try:
        with tempfile.TemporaryDirectory() as profile:
            driver = browser.start(profile)
            try:
                page = browser.Page(driver, server.port)
                wrong = [take(page, name, identity(mallow, path), given, folder) for name, path in paths.items()]
                return 1 if sum(wrong) else 0
            finally:
                driver.quit()
    finally:
        server.end()


if __name__ == "__main__":
    sys.exit(main())
