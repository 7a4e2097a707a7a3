"""Recordings that are sent on one machine: by the library alone, of many processes, of live tables; and the web
interface that shows them while they arrive."""
import json
import os
import shutil
import subprocess
import time
import urllib.request

import pytest

import mallow_reader
import mallow_sums
from conftest import build_sample, clean_environment
from parquet_files import Files
from processes import wait_for
from streams import Gather, Process, Streamed, sent_bytes


@pytest.fixture
def gather(mallow, tmp_path):
    with Gather(mallow, tmp_path / "gathered", "--no-finish",
                env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as running:
        yield running


def library_alone(mallow, agent, gathered, words, cwd, **settings):
    env = {"LD_PRELOAD": str(agent), "MALLOW_HELPER": str(mallow), "MALLOW_FOLLOW": "0",
           "MALLOW_CONNECT": f"127.0.0.1:{gathered.port}", **settings}
    return subprocess.run([str(word) for word in words], env=clean_environment(env), cwd=cwd, timeout=60,
                          capture_output=True, text=True)


def test_by_the_library_alone(mallow, agent, gather, tmp_path):
    """The file stays, what arrives is equal, and the program does not wait for that."""
    run = library_alone(mallow, agent, gather, ["/bin/ls", "/"], tmp_path, MALLOW_OUTPUT="own.mallow")
    assert (run.returncode, run.stderr) == (0, "")
    gather.wait_for("complete: ")
    assert sent_bytes(gather.file) == (tmp_path / "own.mallow").read_bytes()


def test_the_library_alone_keeps_nothing(mallow, agent, gather, tmp_path):
    run = library_alone(mallow, agent, gather, ["/bin/ls", "/"], tmp_path, MALLOW_STREAM_ONLY="1")
    assert (run.returncode, run.stderr) == (0, "")
    gather.wait_for("complete: ")
    assert mallow_reader.read(gather.file).header.ended
    assert not list(tmp_path.glob("*.mallow"))


def test_other_machines_are_refused_by_the_library(mallow, agent, gather, tmp_path):
    """One line, and the recording stays here."""
    run = library_alone(mallow, agent, gather, ["/bin/sleep", "0.5"], tmp_path, MALLOW_OUTPUT="own.mallow",
                        MALLOW_CONNECT="192.0.2.1")
    assert run.returncode == 0
    wait_for(lambda: (tmp_path / "own.mallow").exists())
    assert "'192.0.2.1' is another machine" in run.stderr and run.stderr.count("\n") == 1


def test_many_processes_in_memory(mallow, gather, tmp_path):
    """Each sends a descriptor as it begins; the socket holds ten."""
    run = Process([mallow, "run", "--stream", f"127.0.0.1:{gather.port}", "--stream-only", "--", "/bin/sh", "-c",
                   "for i in $(seq 60); do /bin/true & done; wait"], cwd=tmp_path)
    assert run.wait() == 0
    assert run.lines == [line for line in run.lines if "have arrived at" in line] and run.lines
    wait_for(lambda: sum("complete: " in line for line in gather.said) == len(gather.files), 20)
    # The shell, and of each child the shell's copy, if it allocated, and its program.
    assert len(gather.files) >= 61
    for path in gather.files:
        assert not mallow_reader.read(path).missing, path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a namespace of processes")
def test_in_memory_in_a_namespace_of_processes(mallow, gather, tmp_path):
    """The recording names its process by a number that means another one here."""
    steps = build_sample("stream_steps", "gcc", "-O1")
    run = Process([mallow, "run", "--stream", f"127.0.0.1:{gather.port}", "--stream-only", "--", "unshare", "-pf",
                   "--mount-proc", steps], stdin=subprocess.PIPE, cwd=tmp_path)
    with run:
        run.run.stdin.write(b"1000\n")
        run.run.stdin.flush()
        run.wait_for("done 1000")
        gather.wait_for("receiving 'stream_steps")
        time.sleep(0.5)     # several looks: it must not be taken for ended
        run.run.stdin.write(b"2000\n")
        run.run.stdin.flush()
        run.wait_for("done 2000")
        run.run.stdin.close()
        assert run.wait() == 0
    gather.wait_for("complete: .*stream_steps")
    one, = gather.folder.glob("*stream_steps*.mallow")
    reader = mallow_reader.read(one)
    assert reader.header.ended and not reader.missing
    assert mallow_sums.Sums(reader).calls >= 3000


def test_a_file_that_is_deleted_is_not_complete(mallow, gather, tmp_path):
    """It is received once more."""
    with Streamed(mallow, tmp_path / "own.mallow", "--stream", f"127.0.0.1:{gather.port}") as streamed:
        streamed.do("1000")
        gather.wait_for("receiving")
        wait_for(lambda: gather.files)
        gather.file.unlink()
        streamed.run.stdin.close()
        assert streamed.wait() == 0
    gather.wait_for("somebody has deleted")
    gather.wait_for("complete: ")
    assert sent_bytes(gather.file) == (tmp_path / "own.mallow").read_bytes()


@pytest.mark.parametrize("options", [[], ["--no-finish"]], ids=["finished", "as it came"])
def test_tables(mallow, tool, tmp_path, options):
    """`gather --parquet`: each recording that is complete has tables, which say what it says."""
    with Gather(mallow, tmp_path / "gathered", "--parquet", tmp_path / "tables", *options,
                env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as gathered:
        for count in 1000, 2000:
            with Streamed(mallow, None, "--stream", f"127.0.0.1:{gathered.port}", "--stream-only", cwd=tmp_path) as streamed:
                streamed.do(str(count))
                streamed.run.stdin.close()
                assert streamed.wait() == 0
        wait_for(lambda: len(list((tmp_path / "tables").glob("*/threads.parquet"))) == 2)
        assert not [line for line in gathered.said if line.startswith("mallow:")]
        for path in gathered.files:
            run, = Files(tmp_path / "tables" / path.name).ask("SELECT run_id, sum(alloc_blocks)::BIGINT AS calls FROM sites GROUP BY 1")
            assert run == {"run_id": (said := tool.report(path))["id"], "calls": said["calls"]}
    run = tool("gather", "--parquet", tmp_path / "none" / "x", check=False)
    assert run.returncode and "cannot make" in run.stderr


def test_a_live_table(mallow, gather, tmp_path, tool):
    run = Process([mallow, "live", "--stream", f"127.0.0.1:{gather.port}", "--", build_sample("stream_steps", "gcc", "-O1")],
                  stdin=subprocess.PIPE, cwd=tmp_path)
    run.run.stdin.write(b"5000\n")
    run.run.stdin.flush()
    gather.wait_for("receiving")
    # While it grows it can be looked at.
    wait_for(lambda: tool.info(gather.file)["writing"])
    run.run.stdin.close()
    assert run.wait() == 0
    gather.wait_for("complete: ")
    facts = tool.info(gather.file)
    assert facts["complete"] and facts["ended"] and not facts["writing"]


def test_a_file_that_arrives_is_being_written(mallow, gather, tmp_path, tool):
    """Its process is on another machine: a lock tells."""
    streamed = Streamed(mallow, tmp_path / "own.mallow", "--stream", f"127.0.0.1:{gather.port}")
    with streamed:
        streamed.do("1000")
        gather.wait_for("receiving")
        wait_for(lambda: tool.info(gather.file)["allocations"] >= 1000)
        assert tool.info(gather.file)["writing"]
        # It must not be rewritten under its receiver.
        refused = subprocess.run([str(mallow), "finish", str(gather.file)], capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1 and "still being written" in refused.stderr
        streamed.run.stdin.close()
        assert streamed.wait() == 0
    gather.wait_for("complete: ")
    assert not tool.info(gather.file)["writing"]


class Without:
    """A machine that has all but one folder."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, *words):
        return ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none '{self.folder}' && exec \"$@\"", "sh", *words]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide a folder from one process")
def test_names_without_the_program(mallow, tmp_path, tool):
    """The receiver has no file of the program. It asks for it, keeps it, and finishes the recording with its names."""
    folder, cache = tmp_path / "bin", tmp_path / "receiver"
    folder.mkdir()
    program = folder / "steps"
    shutil.copy(build_sample("stream_steps", "gcc", "-O1"), program)
    with Gather(mallow, tmp_path / "gathered", host=Without(folder), env={"XDG_CACHE_HOME": str(cache)}) as gathered:
        with Streamed(mallow, tmp_path / "own.mallow", "--stream", f"127.0.0.1:{gathered.port}", program=program) as streamed:
            streamed.do("100")
            gathered.wait_for("receiving")
            streamed.run.stdin.close()
            assert streamed.wait() == 0
        gathered.wait_for("complete: ")
        wait_for(lambda: tool.info(gathered.file)["finished"], 20)
        kept, = (path for path in (cache / "mallow" / "modules").rglob("*")
                 if path.is_file() and path.read_bytes() == program.read_bytes())
        assert kept.stat().st_mode & 0o111 == 0
        shutil.rmtree(folder)
        report = subprocess.run([str(mallow), "report", str(gathered.file)], capture_output=True, text=True,
                                env=clean_environment({"XDG_CACHE_HOME": str(tmp_path / "none")}), timeout=60)
        assert report.returncode == 0 and "stream_steps.c" in report.stdout, report.stdout + report.stderr


def test_the_web_interface_receives(mallow, tmp_path):
    """mallow serve --gather lists a recording while it arrives, and goes on reading it."""
    server = Process([mallow, "serve", "--port", "0", "--gather", tmp_path / "gathered", "--gather-listen", "127.0.0.1:0"],
                     env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    with server:
        port = server.wait_for(r"listening on 127\.0\.0\.1:(\d+); recordings go to")[1]
        address = server.wait_for(r"listening on (http://\S+)")[1]

        def ask(path):
            with urllib.request.urlopen(address + path, timeout=20) as answer:
                return json.load(answer)

        assert ask("/list") == []
        streamed = Streamed(mallow, tmp_path / "own.mallow", "--stream", f"127.0.0.1:{port}")
        with streamed:
            streamed.do("1000")
            server.wait_for("receiving")
            wait_for(lambda: len(ask("/list")) == 1, 20)
            wait_for(lambda: ask("/data/last/summary")["all"]["calls"] >= 1000, 20)
            assert ask("/data/last/summary")["facts"]["writing"]
            streamed.do("3000")
            wait_for(lambda: ask("/data/last/summary")["all"]["calls"] >= 4000, 20)
            streamed.run.stdin.close()
            assert streamed.wait() == 0
        server.wait_for("complete: ")
        wait_for(lambda: ask("/data/last/summary")["facts"]["ended"], 20)
        assert server.end() == 0


def test_a_wrong_operand_makes_nothing(mallow, tmp_path):
    ran = subprocess.run([mallow, "serve", "--port", "0", "--gather", tmp_path / "gathered", tmp_path / "none"],
                         capture_output=True, text=True, env=clean_environment(), timeout=30)
    assert ran.returncode == 1 and "none" in ran.stderr and not (tmp_path / "gathered").exists()
