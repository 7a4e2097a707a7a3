"""`mallow sql`: what is asked of recordings in SQL, and what is refused."""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import TOP, built, clean_environment, need
from made_recording import Made
from parquet_files import TABLES, library
from terminals import Terminal
from test_untrusted_text import assert_harmless, evil  # noqa: F401

START = ["main", "run"]


@pytest.fixture(scope="module")
def duckdb():
    return library()


def made(folder, name, sizes):
    """A recording with an allocation of each size below `run`."""
    folder.mkdir(exist_ok=True)
    recording = Made(folder, [*START, "put", "get"])
    for number, size in enumerate(sizes):
        recording.allocate([*START, "put" if number % 2 else "get"], size)
    return recording.write(name)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return made(tmp_path_factory.mktemp("small"), "small.mallow", [10, 20, 30])


@pytest.fixture
def sql(tool, duckdb, tmp_path):
    """Asks, in a working directory, with places for temporary files that are empty before and after."""
    for name in "cwd", "tmp", "cache":
        (tmp_path / name).mkdir()

    def ask(*arguments, **options):
        run = subprocess.run([str(word) for word in (tool.path, "sql", *(options.pop("library", ("--duckdb", duckdb))), *arguments)],
                             capture_output=True, text=True, cwd=tmp_path / "cwd", errors="backslashreplace",
                             env=clean_environment({"TMPDIR": tmp_path / "tmp", "XDG_CACHE_HOME": tmp_path / "cache",
                                                    **options.pop("env", {})}), timeout=100, **options)
        assert left(tmp_path) == []
        return run
    return ask


def left(folder):
    """What is in the places for temporary files, and in the working directory."""
    return [path for name in ("cwd", "tmp", "cache") for path in (folder / name).rglob("*") if not path.is_dir() or name == "tmp"]


def answer(sql, *arguments, **options):
    run = sql("--json", *arguments, **options)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    return json.loads(run.stdout)


def refused(sql, *arguments, status=1, **options):
    run = sql(*arguments, **options)
    assert (run.returncode, run.stdout) == (status, ""), run
    assert run.stderr.count("\n") == 1 and run.stderr.startswith("mallow: ")
    return run.stderr


def test_a_table(sql, small):
    run = sql("SELECT own_function, sum(live_bytes) bytes, count(*) > 0 AS \"any\", NULL AS none "
              "FROM sites JOIN stacks USING (site_id) GROUP BY 1 ORDER BY 2 DESC -- all", small)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == ("  own_function  bytes  any   none\n"
                          "  get              40  true  NULL\n"
                          "  put              20  true  NULL\n")


def test_width(sql, small):
    query = "SELECT repeat('x', 300) AS long, 'short' AS short, repeat('ä', 90) AS more, 123456789 AS number"
    for width in 80, 60:
        lines = sql("--width", width, query, small).stdout.splitlines()
        assert [len(line) for line in lines] == [width] * 2 and "…" in lines[1] and "123456789" in lines[1]
        assert "short" in lines[1]
    assert "x" * 300 in sql("--width", "0", query, small).stdout


def test_forms(sql, small):
    query = ("SELECT 1::HUGEINT << 100 AS huge, -1.50::DECIMAL(9,2) AS exact, 0.5::DOUBLE AS half, 'nan'::DOUBLE AS nan, "
             "true AS yes, NULL AS none, '=1+1' AS text, [1, 2] AS list, DATE '2026-01-02' AS day, {'a': 1} AS struct")
    row, = answer(sql, query, small)
    assert row == {"huge": 1 << 100, "exact": -1.5, "half": 0.5, "nan": None, "yes": True, "none": None, "text": "=1+1",
                   "list": "[1, 2]", "day": "2026-01-02", "struct": "{'a': 1}"}
    row, = csv.DictReader(io.StringIO(sql("--csv", query, small).stdout))
    assert row == {"huge": str(1 << 100), "exact": "-1.50", "half": "0.5", "nan": "nan", "yes": "true", "none": "",
                   "text": "'=1+1", "list": "[1, 2]", "day": "2026-01-02", "struct": "{'a': 1}"}
    assert ",=1+1," in sql("--csv=raw", query, small).stdout
    assert answer(sql, "SELECT 1 AS a WHERE false", small) == []
    assert sql("SELECT 1 AS a WHERE false", small).stdout == "  a\n"
    assert answer(sql, "CREATE TEMP TABLE t AS SELECT 7 AS n; SELECT n FROM t;", small) == [{"n": 7}]


def test_queries_from_elsewhere(sql, small):
    assert answer(sql, "-", small, input="SELECT 3 AS n\n") == [{"n": 3}]
    assert "needs a query, or - for standard input" in refused(sql, small, status=2, input="")
    assert "needs a query" in refused(sql, status=2, input="")
    assert "is no recording" in refused(sql, "SELECT 1", pathlib.Path(__file__))


def test_typed(tool, duckdb, small):
    need("tmux")
    with Terminal(tool.path, "sql", "--duckdb", duckdb, small) as terminal:
        terminal.wait(r"^mallow> *$")
        terminal.press("SELECT count(*) AS n", "Enter", "FROM blocks\\;", "Enter")
        assert re.search(r"n\n +3\n", terminal.wait(r"^ +3$"))
        terminal.press("SELECT nope\\;", "Enter")
        terminal.wait(r"^mallow: Binder Error: .*nope")
        terminal.press("SELECT 'still ' || 'here' AS t\\;", "Enter")
        terminal.wait("still here")
        terminal.press("C-d")
        terminal.wait(r"^status 0")


def test_several_recordings(sql, tmp_path):
    """Each run has its sums; a stack that all have is one row."""
    folder = tmp_path / "runs"
    for number in range(20):
        made(folder, f"{number}.mallow", [100 + number] * (2 + number % 3))
    sums = answer(sql, "SELECT run_id, sum(live_bytes) AS bytes FROM sites GROUP BY 1", folder)
    assert sorted(row["bytes"] for row in sums) == sorted((100 + n) * (2 + n % 3) for n in range(20))
    counts, = answer(sql, "SELECT (SELECT count(*) FROM stacks) AS stacks, (SELECT count(*) FROM frames) AS frames, "
                          "(SELECT count(*) FROM sites) AS sites, (SELECT count(*) FROM sites JOIN stacks USING (site_id)) AS joined, "
                          "(SELECT count(*) FROM runs) AS runs", folder / "0.mallow", folder)
    assert counts == {"stacks": 2, "frames": 6, "sites": 42, "joined": 42, "runs": 21}


def test_one_that_cannot_be_read(sql, small, tmp_path):
    """The others are asked, and the status says so."""
    (tmp_path / "bad.mallow").write_text("nothing")
    run = sql("SELECT count(*) AS n FROM runs", small, tmp_path / "bad.mallow")
    assert run.returncode == 1 and run.stdout.split() == ["n", "1"] and run.stderr.count("\n") == 1


def test_the_newest(sql, small, tmp_path):
    (tmp_path / "here").mkdir()
    shutil.copy(small, tmp_path / "here")
    run = subprocess.run([built("MALLOW", TOP / "build/mallow"), "sql", "--json", "--duckdb", library(), "SELECT count(*) AS n FROM blocks"],
                         capture_output=True, text=True, cwd=tmp_path / "here", env=clean_environment())
    assert json.loads(run.stdout) == [{"n": 3}] and "small.mallow" in run.stderr


@pytest.mark.parametrize("query, said", [
    ("SELECT sum(x FROM sites", 'Parser Error: syntax error at or near'),
    ("SELECT nope FROM sites", 'Binder Error: Referenced column "nope" not found in FROM clause! Candidate bindings:'),
    ("SELECT * FROM '/etc/passwd'", "Catalog Error"),
    ("SELECT * FROM read_csv('/etc/passwd')", "Permission Error"),
    ("COPY sites TO 'stolen.csv'", "Permission Error"),
    ("ATTACH 'x.db'", "Permission Error"),
    ("SET enable_external_access = true", "Cannot"),
    ("INSTALL httpfs", "Permission Error"),
    ("SELECT 'a\x1b[2J' + 1", "Error"),
], ids=str)
def test_errors(sql, small, query, said):
    assert said in refused(sql, query, small)


def test_wrong_libraries(sql, small, duckdb, tmp_path):
    assert "cannot open" in refused(sql, "SELECT 1", small, library=("--duckdb", "/none/libduckdb.so"))
    (tmp_path / "text.so").write_text("no library")
    assert "cannot be loaded" in refused(sql, "SELECT 1", small, library=("--duckdb", tmp_path / "text.so"))
    (tmp_path / "other.c").write_text("int duckdb_library_version;")
    subprocess.run(["gcc", "-shared", "-o", tmp_path / "other.so", tmp_path / "other.c"], check=True)
    assert "other.so has no duckdb_open" in refused(sql, "SELECT 1", small, library=("--duckdb", tmp_path / "other.so"))


def functions():
    """The functions of DuckDB that the tool wants."""
    return re.findall(r'"(duckdb_\w+)"', (TOP / "src/hosted/sql_database.c").read_text())


@pytest.mark.parametrize("version", ["v2.0.0", "v2.0.1"])
def test_a_version_with_wrong_rows(sql, small, tmp_path, version):
    lines = [f"int {name}(void) {{ return 1; }}" for name in functions() if name != "duckdb_library_version"]
    (tmp_path / "old.c").write_text("\n".join([f'const char *duckdb_library_version(void) {{ return "{version}"; }}', *lines]))
    subprocess.run(["gcc", "-shared", "-o", tmp_path / "old.so", tmp_path / "old.c"], check=True)
    said = refused(sql, "SELECT 1", small, library=("--duckdb", tmp_path / "old.so"))
    assert f"old.so is DuckDB {version}, which is known to give wrong rows" in said


def test_without_the_library(sql, small, tmp_path, duckdb):
    """One line says how to get it. One in the working directory is not taken; kept tables are there all the same."""
    if subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout.count("libduckdb.so"):
        pytest.skip("the system has a libduckdb.so")
    said = refused(sql, "SELECT 1", small, library=())
    assert "libduckdb.so is needed for this" in said and "npm install @duckdb/" in said and "--duckdb FILE" in said
    (tmp_path / "here").mkdir()
    (tmp_path / "here/libduckdb.so").symlink_to(duckdb)
    run = subprocess.run([built("MALLOW", TOP / "build/mallow"), "sql", "--keep", "SELECT 1", small], capture_output=True, text=True,
                         cwd=tmp_path / "here", env=clean_environment({"TMPDIR": tmp_path / "here"}))
    assert run.returncode == 1 and run.stderr.count("\n") == 2 and "npm install" in run.stderr
    kept = pathlib.Path(re.search(r"the tables are in (\S+)\n", run.stderr)[1])
    assert kept.stat().st_mode & 0o777 == 0o700 and kept.parent == tmp_path / "here"
    assert sorted(path.stem for path in kept.iterdir()) == sorted(TABLES)
    # A word is a file here, not what the loader looks for.
    run = subprocess.run([built("MALLOW", TOP / "build/mallow"), "sql", "--json", "--duckdb", "libduckdb.so", "SELECT 1 AS n", small],
                         capture_output=True, text=True, cwd=tmp_path / "here", env=clean_environment())
    assert json.loads(run.stdout) == [{"n": 1}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_one_leaves_nothing(tool, small, duckdb, tmp_path, number):
    for name in "cwd", "tmp", "cache":
        (tmp_path / name).mkdir()
    query = "SELECT sum(a.range) FROM range(100000000) a, range(100000) b"
    process = subprocess.Popen([tool.path, "sql", "--duckdb", duckdb, query, small], cwd=tmp_path / "cwd",
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=clean_environment({"TMPDIR": tmp_path / "tmp", "XDG_CACHE_HOME": tmp_path / "cache"}))
    maps = pathlib.Path(f"/proc/{process.pid}/task")
    while len(list(maps.iterdir())) < 2 and process.poll() is None:  # DuckDB has begun to work
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number
    assert left(tmp_path) == []


def test_strangers_texts(sql, evil):  # noqa: F811
    for form in [], ["--csv"], ["--json"], ["--width", "0"]:
        run = sql(*form, "SELECT * FROM frames", evil)
        assert run.returncode == 0, run.stderr
        assert_harmless(run.stdout.encode(errors="surrogateescape"), ["sql"])
    run = sql("SELECT 1 AS \"a\x1b[2J\nb\", '\u202e' AS c; SELECT chr(27) || '[2J'", evil)
    assert_harmless((run.stdout + run.stderr).encode(), ["sql"])


def test_the_page_has_the_tables(mallow, sql, small):
    """docs/sql.md holds what `manual tables` prints; --tables says the same; so do the files."""
    manual = built("MALLOW_MANUAL", TOP / "build" / "meson" / "src" / "cli" / "manual")
    text = subprocess.run([str(manual), "tables"], capture_output=True, text=True, check=True).stdout
    assert text in (TOP / "docs" / "sql.md").read_text(), "put the output of build/meson/src/cli/manual tables into docs/sql.md"
    columns = re.findall(r"^\| `(\w+)` \| (text|integer) \| (.+) \|$", text, re.M)
    assert len(columns) > 40
    said = " ".join(sql("--tables", library=()).stdout.split())
    for name, _, sentence in columns:
        assert f"{name} {' '.join(sentence.replace(chr(92), '').split())}" in said
    found = answer(sql, "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'main' "
                        "ORDER BY table_name, ordinal_position", small)
    kinds = {"text": "VARCHAR", "integer": "BIGINT"}
    assert sorted((row["column_name"], row["data_type"]) for row in found) == sorted((name, kinds[kind]) for name, kind, _ in columns)
