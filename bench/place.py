"""Where the benchmark finds what it needs: the tool, the agent, and programs built on demand."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
BENCH = TOP / "bench"
# The unwinder, as the agent is built of it.
UNWINDER = [TOP / "src" / "agent" / "unwind", TOP / "src" / "cfi"]

FLAGS = ["-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter"]
CC = [os.environ.get("CC", "gcc"), "-std=gnu17", *FLAGS]
CXX = [os.environ.get("CXX", "g++"), "-std=c++17", *FLAGS]
# How each program is built: its sources and what differs from the flags above.
PROGRAMS = {
    "measure": (["bench/measure.c"], ["-static"]),
    "pairs": (["bench/workloads/pairs.c"], ["-pthread"]),
    "blocks": (["bench/workloads/blocks.c"], []),
    "heaptrace_way": (["bench/workloads/heaptrace_way.cpp"],
                      ["-fPIC", "-fno-omit-frame-pointer", "-shared", "-ldl"]),
    "even_pace": (["tests/samples/even_pace.c"], ["-O1", "-fno-builtin", "-pthread"]),
    "core_sites": (["bench/workloads/core_sites.c"], ["-O1", "-g"]),
    # With frame pointers and every call, so that bcc's memleak sees whole stacks, too.
    "traced": (["bench/workloads/traced.c"],
               ["-fno-omit-frame-pointer", "-fno-builtin", "-fno-optimize-sibling-calls"]),
    "kernel_calls": (["bench/workloads/kernel_calls.c"], []),
    "many": (["bench/workloads/many.c"], ["-O1", "-pthread", "-ldl"]),
    "many_library": (["bench/workloads/many.c"], ["-DLIBRARY", "-fPIC", "-shared"]),
    "many_sites": (["bench/many_sites.c"], ["-O1"]),
    "make_recording": (["bench/make_recording.c", "src/write/record_stream.c",
                        "src/write/sealed_chunk.c", "src/hosted/buf.c", "src/hosted/err.c"],
                       ["-Isrc"]),
    "unwind_capture": (["bench/unwind_capture.c", *sorted(
        str(path.relative_to(TOP)) for folder in UNWINDER for path in folder.rglob("*.c"))],
        ["-fno-omit-frame-pointer", "-Isrc"]),
}


class Place:
    """Folders and programs. MALLOW names another tool than build/mallow, its agent beside it."""

    def __init__(self):
        self.mallow = pathlib.Path(os.environ.get("MALLOW") or TOP / "build" / "mallow")
        self.agent = self.mallow.with_name("libmallow.so")
        self.folder = TOP / "build" / "bench"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch = tempfile.TemporaryDirectory(prefix=f"run-{os.getpid()}-", dir=self.folder)

    def run_folder(self):
        """A new folder for one run, on the file system of the build; gone at our end."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.scratch.name))

    def program(self, name):
        """The path of a program of ours, compiled again when its sources or flags changed."""
        sources, extra = PROGRAMS[name]
        compiler = CXX if sources[0].endswith(".cpp") else CC
        command = [*compiler, *extra, *sources]
        headers = sorted((TOP / "src").rglob("*.h")) if "-Isrc" in extra else []
        digest = hashlib.sha256(" ".join(command).encode())
        for path in [TOP / source for source in sources] + headers:
            digest.update(path.read_bytes())
        target = self.folder / f"{name}-{digest.hexdigest()[:12]}"
        if not target.exists():
            partial = f"{target}.{os.getpid()}"
            subprocess.run([*command, "-o", partial], cwd=TOP, check=True)
            os.rename(partial, target)
        return target

    def repository(self):
        """The repository of the git workload."""
        source = BENCH / "workloads" / "repository.py"
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
        target = self.folder / f"repository-{digest}.git"
        if not target.exists():
            subprocess.run([sys.executable, source, target], check=True)
        return target
