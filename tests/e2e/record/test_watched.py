"""What `mallow run` sees of a program from outside: its memory while it does nothing, its end, its files."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import mallow_reader
import symbols_reader
from conftest import SAMPLES

SIZE = 64 << 20
CLOSE = 4 << 20
PATIENCE_S = 60


class Watched:
    """tests/samples/watched.c under `mallow run`."""

    def __init__(self, mallow, program, path, *arguments, command=(), **options):
        self.path = path
        self.run = subprocess.Popen([mallow, "run", "-o", path, "--memory-samples", "20ms", *arguments, "--",
                                     *command, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, **options)
        self.begun = self.answer()

    def answer(self):
        return int(self.run.stdout.readline())

    def tell(self, line):
        """When the program had done it, ns."""
        self.run.stdin.write(line + "\n")
        self.run.stdin.flush()
        return self.answer()

    def _rounds(self):
        """How often the thread that takes the samples has waited. Its name comes a moment after it."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for task in pathlib.Path(f"/proc/{self.run.pid}/task").iterdir():
                if (task / "comm").read_text() == "mallow-watch\n":
                    [line] = [line for line in (task / "status").read_text().split("\n")
                              if line.startswith("voluntary_ctxt_switches:")]
                    return int(line.split()[1])
            time.sleep(0.01)
        raise AssertionError("no thread samples memory")

    def let_sample(self):
        """Waits until a whole round of samples was taken."""
        before, until = self._rounds(), time.monotonic() + PATIENCE_S
        while self._rounds() < before + 5:
            assert time.monotonic() < until
            time.sleep(0.01)

    def end(self, line=None, number=None):
        """Ends the program. Returns what the tool said."""
        if number:
            self.run.send_signal(number)
            self.run.wait(timeout=PATIENCE_S)  # not the end of its input, which ends it, too
        elif line:
            self.run.stdin.write(line + "\n")
        self.run.stdin.close()
        self.run.stdin = None
        _, said = self.run.communicate(timeout=PATIENCE_S)
        return said


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("watched", "gcc", "-O1")


def samples_of(reader):
    """Pairs of ns (CLOCK_MONOTONIC) and anonymous bytes."""
    return [(reader.header.monotonic + reader.seconds(fact["time"]) * 1e9, fact["anonymous"])
            for fact in reader.facts if fact["kind"] == "memory"]


def test_memory_of_an_idle_program(mallow, program, tmp_path, tool):
    """It touches and unmaps 64 MB, and allocates nothing. Then a signal ends it, which it was not told of."""
    watched = Watched(mallow, program, tmp_path / "r.mallow")
    watched.let_sample()
    before = watched.tell("touch")
    touched = before
    watched.let_sample()
    dropped = watched.tell("drop")
    watched.let_sample()
    last = time.monotonic_ns()
    said = watched.end(number=signal.SIGTERM)
    assert watched.run.returncode == 128 + signal.SIGTERM
    assert "  ended by signal 15 (Terminated)\n" in said
    reader = mallow_reader.read(watched.path)
    assert not reader.damages and not reader.missing
    samples = samples_of(reader)
    assert any(anonymous > SIZE for at, anonymous in samples if touched < at < dropped)
    assert all(anonymous < CLOSE for at, anonymous in samples if at > dropped)
    assert any(at > dropped for at, _ in samples)
    assert SIZE < reader.header.peak_resident < SIZE + 4 * CLOSE
    header = reader.header
    assert (header.end_reason, header.end_status, header.ended) == (7, 15, False)
    assert reader.seconds(reader.end_ticks) * 1e9 >= last - header.monotonic
    info = tool.info(watched.path)
    assert (info["complete"], info["ended"], info["end_reason"], info["end_status"]) == (False, False, "signal", 15)
    assert (info["watched"], info["peak_resident"], info["peak_resident_from"]) == \
        (True, header.peak_resident, "samples" if header.peak_source == 1 else "wait")
    assert info["duration_s"] == pytest.approx(reader.seconds(reader.end_ticks), abs=1e-6)
    text = tool("info", watched.path).stdout
    assert ", ended by signal 15 (Terminated)\n" in text and "alone" not in text
    tool.assert_equal_sums(watched.path)
    # No thread was made up, and the samples are what reports show.
    assert len(reader.threads) == 1


@pytest.mark.parametrize("settings,complete", [((), True), (("--slots", "private"), False), (("--cull", "1ms"), False)])
def test_left_by_a_system_call(mallow, program, tmp_path, tool, settings, complete):
    """Nothing told the agent. `mallow run` knows the status; with private slots and while blocks are held back, what
    the agent would have written at its end is missing all the same."""
    watched = Watched(mallow, program, tmp_path / "r.mallow", *settings)
    last = time.monotonic_ns()
    watched.end("raw 3")
    assert watched.run.returncode == 3
    info = tool.info(watched.path)
    assert (info["end_reason"], info["end_status"]) == ("exit", 3)
    assert info["complete"] == info["ended"] == complete
    assert ", exited with status 3\n" in tool("info", watched.path).stdout
    header = mallow_reader.read(watched.path).header
    assert info["duration_s"] * 1e9 >= last - header.monotonic


def test_a_child_that_its_parent_kills(mallow, program, tmp_path, tool):
    """How it ended only its parent knows. It lasted until then."""
    watched = Watched(mallow, program, tmp_path / "r.%p.mallow",
                      command=["/bin/sh", "-c", 'exec 3<&0; "$0" <&3 & wait; exit 5'])
    watched.let_sample()
    last = time.monotonic_ns()
    [path] = [path for path in tmp_path.glob("r.*") if tool.info(path)["program"] == str(program)]
    os.kill(mallow_reader.read(path).header.pid, signal.SIGKILL)
    watched.end()
    assert watched.run.returncode == 5
    reader = mallow_reader.read(path)
    assert (reader.header.end_reason, reader.header.watched) == (0, True)
    assert reader.seconds(reader.end_ticks) * 1e9 > last - reader.header.monotonic
    assert len(samples_of(reader)) > 1
    assert ", cut short: killed or crashed\n" in tool("info", path).stdout


def test_without_finishing(mallow, program, tmp_path, tool):
    """The file has one writer, the agent."""
    watched = Watched(mallow, program, tmp_path / "r.mallow", "--no-finish")
    watched.end("raw 0")
    header = mallow_reader.read(watched.path).header
    assert (header.watched, header.end_reason, header.ended) == (False, 0, False)
    text = tool("info", watched.path).stdout
    assert "cut short: killed or crashed\n" in text
    assert ", by the agent alone: none while nothing was allocated\n" in text


def test_a_signal_sent_twice(mallow, program, tmp_path):
    """timeout sends it to the tool, and then to the whole group: the second one may come when the program has ended."""
    watched = Watched(mallow, program, tmp_path / "r.mallow", "--compress", "always", start_new_session=True)
    watched.run.send_signal(signal.SIGTERM)
    while watched.run.poll() is None:
        watched.run.send_signal(signal.SIGTERM)
    assert watched.run.returncode == 128 + signal.SIGTERM
    assert mallow_reader.read(watched.path).header.finished


# --- which program it is, and its files ---

LOADER = "/lib64/ld-linux-x86-64.so.2"


@pytest.mark.parametrize("compiler,loader", [("gcc", LOADER), ("musl", "/lib/ld-musl-x86_64.so.1")])
@pytest.mark.parametrize("options", [(), ("--library-path", "/tmp", "--argv0", "other")])
def test_by_an_explicit_loader(mallow, compile_sample, tmp_path, tool, options, compiler, loader):
    """The kernel says that the loader is the program. Names, own code and %e are the program's all the same."""
    program = compile_sample("watched", compiler, "-O1")
    watched = Watched(mallow, program, tmp_path / "%e.mallow", command=[loader, *options])
    watched.end()
    path = tmp_path / "watched.mallow"
    assert tool.info(path)["program"] == str(program)
    main = [frame for site in tool.report(path)["sites"] for frame in site["stack"]
            if frame.get("function") == "main"]
    assert main and main[0]["module"] == str(program)
    # Only code of one's own counts.
    check = tool("check", "--max-own-leaked", 0, path, check=False)
    assert check.returncode == 1 and "watched.c:" in check.stdout


def test_a_static_program_by_a_loader(mallow, tmp_path):
    source = tmp_path / "s.c"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-static", "-o", tmp_path / "s", source], check=True)
    run = subprocess.run([mallow, "run", LOADER, "--argv0", "x", tmp_path / "s"], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith(f"mallow: cannot profile '{tmp_path}/s': it is statically linked: "), run.stderr


def test_a_program_that_extracts_itself(mallow, tmp_path, tool):
    """Its file is gone before names are looked up. A later one in its place is another. Why some are missing is
    said of its path, not of where it was read."""
    own = tmp_path / "extracted"
    for command in (["-g", "-gsplit-dwarf", "-c", SAMPLES / "watched.c", "-o", tmp_path / "w.o"],
                    [tmp_path / "w.o", "-o", own]):
        subprocess.run(["gcc", "-O1", *command], cwd=tmp_path, check=True)
    (tmp_path / "w.dwo").unlink()
    watched = Watched(mallow, own, tmp_path / "r.mallow")
    watched.let_sample()
    own.unlink()
    shutil.copy("/bin/true", own)
    watched.end()
    functions = {frame.get("function") for site in tool.report(watched.path)["sites"] for frame in site["stack"]}
    assert "main" in functions, functions
    assert symbols_reader.notes_of(watched.path)[str(own)].startswith(f"{own}: inlined functions are missing: ")


@pytest.mark.parametrize("made", ["os.memfd_create('payload')", "os.open('gone', os.O_RDWR | os.O_CREAT, 0o700)"])
def test_a_program_without_a_name(mallow, program, tmp_path, tool, made):
    """It is executed by its descriptor. Its file never had a name, or has none any more; while it lives, it is read."""
    code = (f"import os, sys\nfile = {made}\nos.write(file, open(sys.argv[1], 'rb').read())\n"
            "if os.path.exists('gone'):\n    os.unlink('gone')\n"
            "ready = os.open(f'/proc/self/fd/{file}', os.O_RDONLY)\nos.close(file)\nos.execve(ready, ['x'], os.environ)")
    watched = Watched(mallow, program, tmp_path / "r.0.mallow", command=["/usr/bin/python3", "-c", code], cwd=tmp_path)
    watched.let_sample()
    watched.end()
    [path] = tmp_path.glob("r.0.mallow.*")
    assert " (deleted)" in tool.info(path)["program"]
    functions = {frame.get("function") for site in tool.report(path)["sites"] for frame in site["stack"]}
    assert "main" in functions, functions


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_without_proc(agent, program, tmp_path, tool):
    """In a chroot there may be no /proc: the program's name is what it was executed by."""
    root = tmp_path / "root"
    for file in (LOADER, "/lib/x86_64-linux-gnu/libc.so.6"):
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    (root / "app").mkdir()
    shutil.copy(program, root / "app")
    shutil.copy(agent, root / "app")
    for number, command in enumerate((["/app/watched"], ["./watched"])):
        def enter():
            os.chroot(root)
            os.chdir("/app")
        subprocess.run(command, preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True,
                       env={"LD_PRELOAD": "/app/libmallow.so", "MALLOW_OUTPUT": f"/app/%e{number}.mallow"})
        path = root / f"app/watched{number}.mallow"
        assert tool.info(path)["program"] == "/app/watched"
        assert "/app/watched" in {module["path"] for module in mallow_reader.read(path).modules.values()}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_names_in_a_chroot(mallow, agent, program, tmp_path, tool):
    """The file is held open as it is seen from here, and is found by the path that it has there."""
    root = tmp_path / "root"
    for file in (LOADER, "/lib/x86_64-linux-gnu/libc.so.6", agent):
        (root / str(file)[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / str(file)[1:])
    shutil.copy(program, root / "watched")
    (root / "tmp").mkdir()
    watched = Watched(mallow, "/watched", f"/tmp/{tmp_path.name}.%e.mallow", command=["chroot", root])
    watched.let_sample()
    watched.end()
    [path] = (root / "tmp").glob("*.watched.mallow*")
    (root / "watched").unlink()
    functions = {frame.get("function") for site in tool.report(path)["sites"] for frame in site["stack"]}
    assert "main" in functions, functions
    for other in pathlib.Path("/tmp").glob(f"{tmp_path.name}.*.mallow*"):
        other.unlink()


GIVES_UP = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char *volatile block = malloc(1000);
	if (KEEPS == 0 && setuid(65534))
		return 1;
	puts("1");
	fflush(stdout);
	return getchar() == 0 || !block;
}
"""


@pytest.mark.parametrize("keeps", [0, 1])
def test_a_program_of_roots_that_gives_up_its_rights(mallow, tool, tmp_path, keeps):
    """From then on its recording is another user's word, whoever owns the file."""
    if os.geteuid():
        pytest.skip("only root has rights to give up")
    (tmp_path / "p.c").write_text(GIVES_UP)
    subprocess.run(["gcc", f"-DKEEPS={keeps}", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    watched = Watched(mallow, tmp_path / "p", tmp_path / "r.mallow")
    watched.let_sample()
    watched.end()
    assert tool.info(watched.path)["foreign"] == (not keeps)
