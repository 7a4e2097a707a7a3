"""The tarball's tool beside the ordinary build's: what the launcher, and its own loader and libraries, cost a start."""
import dataclasses
import pathlib
import shutil
import subprocess
import time

import measuring
import table
from place import TOP

ROUNDS = 40
CASES = {"mallow --version": ["--version"], "mallow run true": ["run", "-o", "r.mallow", "true"]}


@dataclasses.dataclass
class Figures:
    tool: dict              # milliseconds of each start, by case
    bundle: dict
    size: int               # bytes unpacked


def start(tool, words, folder):
    began = time.perf_counter()
    subprocess.run([tool, *words], cwd=folder, env=measuring.clean_environment({}), check=True, capture_output=True)
    taken = time.perf_counter() - began
    (folder / "r.mallow").unlink(missing_ok=True)
    return taken * 1000


def measure(place, progress, fast):
    """(lines, Figures or None)"""
    folder = place.run_folder()
    try:
        made = subprocess.run(["make", "-s", "-C", TOP, "bundle", f"release={folder}"], capture_output=True, text=True)
        if made.returncode:
            return [f"Not measured: {made.stderr.strip().splitlines()[-1]}"], None
        whole, = folder.glob("mallow-*/")
        size = sum(path.stat().st_size for path in pathlib.Path(whole).rglob("*") if path.is_file() and not path.is_symlink())
        found = Figures({}, {}, size)
        for case, words in CASES.items():
            progress(case)
            for _ in range(3 if fast else ROUNDS):
                for tool, taken in (place.mallow, found.tool), (whole / "bin/mallow", found.bundle):
                    taken.setdefault(case, []).append(start(tool, words, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return table.rows(["", "ordinary build", "bundle"], [[case, table.pair(found.tool[case]), table.pair(found.bundle[case])]
                                                         for case in CASES]), found
