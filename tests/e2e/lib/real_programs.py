"""Commands of real programs that allocate a lot, by name, for tests that run them all."""
import socket
import subprocess
import time

import pytest

from conftest import TOP, clean_environment, need

NAMES = ["python3", "clang++", "sqlite3", "perl", "git", "node"]


def command(name, folder):
    """The command and the additions to its environment; files go to the folder."""
    if name == "python3":
        return (["/usr/bin/python3", "-c", PYTHON],
                {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    if name == "clang++":
        source = folder / "twice.cpp"
        source.write_text("#include <string>\nstd::string twice(std::string s) { return s + s; }\n")
        return [need("clang++"), "-O0", "-c", source, "-o", folder / "twice.o"], {}
    if name == "sqlite3":
        return [need("sqlite3"), ":memory:", SQL], {}
    if name == "perl":
        return [need("perl"), "-e", PERL], {"PERL_HASH_SEED": "0"}
    if name == "git":
        return ([need("git"), "-C", TOP, "log", "--stat", "--no-merges", "--no-color", "-200"],
                {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_PAGER": "cat"})
    assert name == "node"
    return [need("node"), "-e", NODE], {}


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
# hex() calls malloc in every version of SQLite; that of Debian 13 does the rest nearly without.
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, 'text number ' || hex(i), i * 0.5 from n;
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
