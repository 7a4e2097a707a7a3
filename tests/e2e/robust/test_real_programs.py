"""Real programs, recorded: what they print and how they end is the same with and without the agent,
and both readers agree on what was recorded."""
import shutil
import subprocess

import pytest

from conftest import need
from real_programs import (NODE, PERL, PYTHON, SQL, free_port, repository, run_bare, wait_for_port)


def check_real(record, command, env=None, calls=1000, broken=0, **options):
    """The same output and status as without the agent; a sound recording; equal sums."""
    plain = run_bare(command, env, **options)
    assert plain.returncode == 0, plain.stderr
    recorded = record(command, env=env, **options)
    assert recorded.stdout == plain.stdout
    assert recorded.stderr == plain.stderr
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0
        assert reader.dangling() == ([], [])
        assert reader.header.ended and reader.header.lost == 0
        assert reader.header.losses["broken_stacks"] <= broken
    assert recorded.sums.calls >= calls
    # An address handed out twice without a free between would be an event that was missed.
    assert recorded.sums.implicit_frees == 0
    assert recorded.sums.unknown_frees <= recorded.sums.calls // 1000
    recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    return recorded


def test_python(record):
    recorded = check_real(record, ["/usr/bin/python3", "-c", PYTHON],
                          env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, calls=20000)
    functions = {frame["function"] for site in recorded.report_json["sites"]
                 for frame in site["stack"]}
    assert {"_PyEval_EvalFrameDefault", "Py_BytesMain", "__libc_start_main"} & functions
    assert recorded.info_json["complete"]
    assert recorded.info_json["program"].startswith("/usr/bin/python3")


def test_python_threads(record):
    code = ("import threading\n"
            "def work(n):\n    return [bytearray(1000) for _ in range(n)]\n"
            "threads = [threading.Thread(target=work, args=(2000,)) for _ in range(8)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]; print('done')")
    recorded = check_real(record, ["/usr/bin/python3", "-c", code], calls=16000)
    assert recorded.info_json["threads"] in (9, [None] * 9) or len(recorded.reader.threads) >= 9


@pytest.mark.parametrize("option", ["-O0"])
def test_clang(option, record, tmp_path):
    compiler = need("clang++")
    source = tmp_path / "numbers.cpp"
    source.write_text("#include <map>\n#include <string>\nstd::map<std::string, int> numbers;\n")
    plain, traced = tmp_path / "plain.o", tmp_path / "traced.o"
    subprocess.run([compiler, option, "-c", source, "-o", plain], check=True)
    recorded = record([compiler, option, "-c", source, "-o", traced])
    assert plain.read_bytes() == traced.read_bytes()
    assert recorded.stdout == recorded.stderr == ""
    biggest = max(recorded.paths, key=lambda path: path.stat().st_size)
    report = recorded.tool.assert_equal_sums(biggest)
    assert report["calls"] > 40000


def test_sqlite(record):
    need("sqlite3")
    check_real(record, ["sqlite3", ":memory:", SQL], calls=10000)


def test_perl(record):
    check_real(record, [need("perl"), "-e", PERL], env={"PERL_HASH_SEED": "0"}, calls=5000)


def test_git(record, repository):
    check_real(record, ["git", "log", "--stat", "--no-color"],
               env={"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"}, cwd=repository)


def test_node(record):
    """V8's own frames have no unwind tables: stacks through them may end early, and are counted."""
    node = need("node")
    check_real(record, [node, "-e", NODE], calls=5000, broken=1 << 62)


def test_bash(record):
    script = 'a=(); for i in {1..2000}; do a+=("$i"); done; echo ${#a[@]} $(echo sub | tr a-z A-Z)'
    check_real(record, ["/bin/bash", "-c", script], env={"LC_ALL": "C"}, calls=2000)


def test_gdb(record):
    """A big C++ program with Python inside."""
    need("gdb")
    check_real(record, ["gdb", "-nx", "-batch", "-ex", "python print(sum(range(1000)))"],
               calls=10000)


def test_redis(preload, tool, tmp_path):
    """A server with background threads; Debian's is linked to jemalloc, whose malloc it calls."""
    server, benchmark = need("redis-server"), need("redis-benchmark")
    port, path = free_port(), tmp_path / "r.mallow"
    process = subprocess.Popen(
        [server, "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(tmp_path)],
        env=preload(OUTPUT=path, FOLLOW=0), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for_port(port, process)
        run = run_bare([benchmark, "-p", port, "-n", "2000", "-q", "-t", "set,get,lpush,hset"])
        assert run.returncode == 0 and "requests per second" in run.stdout
        run_bare(["redis-cli", "-p", port, "shutdown", "nosave"])
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    report = tool.assert_equal_sums(path)
    assert report["calls"] > 1000
    info = tool.info(path)
    assert info["complete"] and info["lost"] == 0


def test_chromium_version(record):
    """A shell script and a browser that only says its version: exec chains of a real program."""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("chromium is not installed")
    plain = run_bare([chromium, "--version"])
    recorded = record([chromium, "--version"])
    assert recorded.stdout == plain.stdout
    assert len(recorded.paths) >= 1


def test_same_environment(record):
    """A recorded program sees its own environment, and the two variables that carry the agent."""
    recorded = record(["/usr/bin/env"], env={"MARK": "here"})
    added = {line.split("=")[0] for line in recorded.stdout.splitlines()} - set(
        run_bare(["/usr/bin/env"], env={"MARK": "here"}).stdout.replace("=", "\n").splitlines())
    assert added <= {"LD_PRELOAD", "MALLOW_OUTPUT"}
