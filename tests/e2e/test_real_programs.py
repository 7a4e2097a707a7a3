"""Real programs, recorded: what they print and how they end is the same with and without the agent,
and both readers agree on what was recorded."""
import shutil
import socket
import subprocess
import time

import pytest

from conftest import clean_environment, need

PYTHON = """
import json
data = [{"name": "n%d" % i, "value": [i] * (i % 10)} for i in range(3000)]
text = json.dumps(data)
back = json.loads(text)
print(len(text), back == data, sum(len(d["value"]) for d in back))
"""

PERL = """
my %count;
for my $i (0 .. 20000) { $count{"key" . ($i % 3000)} .= "x" x ($i % 7); }
my $total = 0;
$total += length $count{$_} for sort keys %count;
print scalar(keys %count), " $total\\n";
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'text number ' || i, i * 0.5 from n;
create index tb on t(b);
select count(*), sum(c), max(b) from t where b like '%7%';
select substr(b, 1, 13), count(*) from t group by 1 order by 2 desc, 1 limit 5;
"""

NODE = """
const items = [];
for (let i = 0; i < 20000; i++) items.push({name: 'n' + i, data: Buffer.alloc(i % 64)});
const text = JSON.stringify(items.map(x => x.name));
console.log(items.length, text.length, require('crypto').createHash('md5').update(text).digest('hex'));
"""

REGEX = """
#include <regex>
#include <string>
bool matches(const std::string &text)
{
	return std::regex_match(text, std::regex("([a-z]+)-([0-9]+)"));
}
"""


def run_bare(command, env=None, timeout=120, **options):
    return subprocess.run([str(word) for word in command], env=clean_environment(env),
                          capture_output=True, text=True, timeout=timeout, **options)


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
    source = tmp_path / "regex.cpp"
    source.write_text(REGEX)
    plain, traced = tmp_path / "plain.o", tmp_path / "traced.o"
    subprocess.run([compiler, option, "-c", source, "-o", plain], check=True)
    recorded = record([compiler, option, "-c", source, "-o", traced])
    assert plain.read_bytes() == traced.read_bytes()
    assert recorded.stdout == recorded.stderr == ""
    biggest = max(recorded.paths, key=lambda path: path.stat().st_size)
    report = recorded.tool.assert_equal_sums(biggest)
    assert report["calls"] > 100000


def test_sqlite(record):
    need("sqlite3")
    check_real(record, ["sqlite3", ":memory:", SQL], calls=10000)


def test_perl(record):
    check_real(record, [need("perl"), "-e", PERL], env={"PERL_HASH_SEED": "0"}, calls=5000)


@pytest.fixture
def repository(tmp_path):
    """A git repository with fifty commits."""
    need("git")
    folder = tmp_path / "repository"
    folder.mkdir()
    env = clean_environment({
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "HOME": str(tmp_path)})

    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True)

    git("init", "-q")
    for number in range(50):
        for file in range(5):
            (folder / f"file{(number + file) % 20}").write_text(f"line {number}\n" * (file + 1) * 20)
        git("add", "-A")
        git("commit", "-qm", f"commit {number}")
    return folder


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    for _ in range(200):
        assert process.poll() is None, "the server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not listen")


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
