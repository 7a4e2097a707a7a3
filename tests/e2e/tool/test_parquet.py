"""`mallow export --to parquet`: DuckDB reads the tables, and they say what the reports say."""
import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

import cores
import report_json
from conftest import TOP, clean_environment
from gates import Coded
from made_live import MadeLive
from parquet_files import TABLES, Files
from test_export_formats import SOURCE, START
from test_untrusted_text import texts

NEVER = 2 ** 63 - 1
SUMS = {"live_bytes": "leaked_bytes", "live_blocks": "leaked_blocks", "alloc_bytes": "total_bytes",
        "alloc_blocks": "calls", "peak_bytes": "peak_bytes"}
COLLAPSED = "main;run;put 300\nmain;run;get 50\nmain;other 7\nmain;run;put 4\n"


@pytest.fixture(scope="module")
def recorded(tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parquet")
    (folder / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", folder / "p", folder / "p.c"], check=True)
    tool("run", "-o", folder / "r.mallow", "--", folder / "p")
    return folder / "r.mallow"


def live_table(folder):
    made = MadeLive(folder, [*START, "keep"])
    site = made.site([*START, "keep"], calls=5, size=500, freed=(3, 300))
    for number in range(2):
        made.small_block(0x5000_0000 + number * 0x100, 100, site, 0, 1000)
    return made.write()


@pytest.fixture(params=["recording", "table", "core", "aggregate"])
def any_recording(request, tmp_path):
    """A recording of each kind."""
    if request.param == "recording":
        return request.getfixturevalue("recorded")
    if request.param == "table":
        return live_table(tmp_path)
    if request.param == "core":
        program = request.getfixturevalue("compile_sample")("core_sizes")
        return cores.crash([program, "null"], request.getfixturevalue("agent"), tmp_path)
    (tmp_path / "x.collapsed").write_text(COLLAPSED)
    return tmp_path / "x.collapsed"


def export(tool, path, folder, *options):
    tool("export", "--to", "parquet", "-o", folder, *options, path)
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(f"{table}.parquet" for table in TABLES)
    return Files(folder)


def report(tool, path, *options):
    return report_json.load(tool("report", "--json", "--top", "100000", *options, path).stdout)


def assert_sites(files, said):
    """Sums of each stack, and its functions, are those of a report."""
    wanted, stacks = collections.defaultdict(collections.Counter), {}
    for site in said["sites"]:
        wanted[site["site_id"]].update({ours: site[theirs] for ours, theirs in SUMS.items()})
        stacks[site["site_id"]] = site
    found = files.ask("SELECT * FROM sites")
    assert len({row["site_id"] for row in found}) == len(found) == len(wanted)
    assert [row["site_id"] for row in found] == sorted(wanted)
    for row in found:
        assert {name: row[name] for name in SUMS} == dict(wanted[row["site_id"]])
    frames = collections.defaultdict(list)
    for row in files.ask("SELECT * FROM frames ORDER BY site_id, depth"):
        assert row["depth"] == len(frames[row["site_id"]])
        frames[row["site_id"]].append((row["function"], row["file"] or None, row["line"] or None, row["module"] or None))
    assert {row["site_id"] for row in files.ask("SELECT site_id FROM stacks")} == set(stacks)
    for row in files.ask("SELECT * FROM stacks"):
        site = stacks[row["site_id"]]
        assert (row["shape_id"], row["weak_id"]) == (site["shape_id"], site["weak_id"])
        assert frames[row["site_id"]] == [(frame["function"], frame["file"], frame["line"], frame["module"])
                                          for frame in site["stack"]]
        assert row["own_function"] in [frame["function"] for frame in site["stack"]] or not site["stack"]


def test_every_kind(tool, any_recording, tmp_path):
    said, info = report(tool, any_recording), tool.info(any_recording)
    files = export(tool, any_recording, tmp_path / "tables", "--label", "version=1.2", "--label", "zone=a'b\"",
                   "--label", "zone=c", "--label", "empty=")
    run, = files.ask("SELECT * FROM runs")
    assert (run["pid"], run["complete"], run["lost"]) == (said["pid"], said["complete"], said["lost"])
    assert (run["version"], json.loads(run["labels"])) == ("1.2", {"zone": "c", "empty": ""})
    assert run["known"].split() == (said["known"] or ["peak", "leaked", "total", "calls", "temporary"])
    assert run["host"] == (info["host"] or "")
    if any_recording.suffix != ".collapsed":  # an imported file gets a new id each time
        assert run["run_id"] == said["id"]
        assert run["service"] == pathlib.Path(said["program"]).name
    assert_sites(files, said)
    for table in "sites", "series":
        assert files.ask(f"SELECT DISTINCT run_id, service FROM {table}") == [{"run_id": run["run_id"], "service": run["service"]}]
    blocks, = files.ask("SELECT count(*) n, sum(size)::BIGINT AS bytes FROM blocks")
    live, = files.ask(f"SELECT count(*) n, sum(size)::BIGINT AS bytes FROM blocks WHERE t_free_ns = {NEVER}")
    if any_recording.suffix == ".collapsed":
        assert blocks["n"] == 0
    else:
        assert (live["n"], live["bytes"]) == (said["leaked_blocks"], said["leaked_bytes"])
    if any_recording.name == "r.mallow":
        assert (blocks["n"], blocks["bytes"]) == (said["calls"], said["total_bytes"])
        assert not files.ask("SELECT * FROM blocks LEFT JOIN threads USING (run_id, tid) WHERE name IS NULL")
    assert not files.ask("SELECT site_id FROM blocks EXCEPT SELECT site_id FROM sites")
    series = files.ask("SELECT * FROM series ORDER BY ts")
    assert (series[-1]["live"], max(row["live"] for row in series)) == (said["leaked_bytes"], said["peak_bytes"])
    threads = files.ask("SELECT * FROM threads")
    assert len({row["tid"] for row in threads}) == len(threads)


@pytest.mark.parametrize("conditions", [["--size-min", "300"], ["--lifetime", "only_leaked"], ["--at", "50%"],
                                        ["--size-min", "64G"]], ids=" ".join)
def test_a_filter(tool, recorded, tmp_path, conditions):
    said = report(tool, recorded, *conditions)
    files = export(tool, recorded, tmp_path / "tables", *conditions)
    said["sites"] = [site for site in said["sites"] if any(site[name] for name in SUMS.values())]
    assert_sites(files, said)
    assert files.ask("SELECT count(*) n FROM blocks") == [{"n": said["calls"]}]


def test_frames_are_found_again(tool, recorded, tmp_path):
    """build_id and offset: addr2line finds the function there."""
    files = export(tool, recorded, tmp_path / "tables")
    program = recorded.with_name("p")
    build_id, = files.ask("SELECT build_id FROM runs")
    rows = files.ask(f"SELECT DISTINCT function, \"offset\" FROM frames WHERE build_id = '{build_id['build_id']}'")
    assert {"leaf", "main", "deep"} <= {row["function"] for row in rows}
    for row in rows:
        said = subprocess.run(["addr2line", "-fe", program, hex(row["offset"])], capture_output=True, text=True, check=True)
        assert said.stdout.splitlines()[0] == row["function"]


def test_texts_of_strangers(tool, tmp_path):
    """Quotes, newlines, what is no UTF-8: as JSON has them."""
    names = [*texts(), "it's \"quoted\", \\ and ; -- more", "\t", "ä€😀"]
    code = {f"f{i}": (name, f"/src/{name}", 7) for i, name in enumerate(names)}
    made = Coded(tmp_path / "made", code, program="to'y\"\nd")
    for i in range(len(names)):
        made.allocate([f"f{i}", "f0"], 100)
    path = made.write()
    files = export(tool, path, tmp_path / "tables")
    assert_sites(files, report(tool, path))

def test_texts_that_fill_a_row_group(tool, tmp_path):
    """More distinct texts than a group holds: 200 names of half a megabyte."""
    code = {f"f{i}": (f"g{i}" * 100000, None, 0) for i in range(200)}
    made = Coded(tmp_path / "made", code)
    for i in range(200):
        made.allocate([f"f{i}"], 1 + i)
    files = export(tool, made.write(), tmp_path / "tables")
    rows = files.ask("SELECT own_function, alloc_bytes FROM stacks JOIN sites USING (site_id)")
    assert {row["own_function"]: row["alloc_bytes"] for row in rows} == {f"g{i}" * 100000: 1 + i for i in range(200)}
    groups, = files.ask(f"SELECT max(row_group_id) + 1 AS n FROM parquet_metadata('{tmp_path}/tables/frames.parquet')")
    assert groups["n"] > 1


def refused(tool, *arguments):
    run = tool("export", "--to", "parquet", *arguments, check=False)
    assert run.returncode and not run.stdout and run.stderr.count("\n") == 1
    return run.stderr


def test_the_folder(tool, recorded, tmp_path):
    folder = tmp_path / "tables"
    assert "writes files into a folder: -o DIR" in refused(tool, recorded)
    assert "writes files into a folder: -o DIR" in refused(tool, "-o", "-", recorded)
    assert "is a file: a folder is wanted" in refused(tool, "-o", recorded.with_name("p.c"), recorded)
    assert "cannot make" in refused(tool, "-o", tmp_path / "none" / "x", recorded)
    assert "wants NAME=VALUE, with a name of letters, digits and _, not 'x'" in refused(tool, "-o", folder, "--label", "x", recorded)
    assert "--merge is not for --to parquet" in refused(tool, "-o", folder, "--merge", recorded)
    assert not folder.exists()
    folder.mkdir()
    export(tool, recorded, folder)
    (folder / "runs.parquet.Xy12ab").touch()  # of an export that was killed
    (folder / "runs.parquet").write_text("old")
    tool("export", "--to", "parquet", "-o", folder, recorded)
    assert (folder / "runs.parquet").read_bytes()[:4] == b"PAR1"
    (folder / "notes").touch()
    assert "has other files, such as 'notes'" in refused(tool, "-o", folder, recorded)
    run = tool("export", "--to", "csv", "--label", "a=b", recorded, check=False)
    assert run.returncode == 2 and "--label is not for --to csv" in run.stderr


def test_a_full_disk(tool, recorded, tmp_path):
    """What was there stays, and nothing is left behind."""
    folder = tmp_path / "tables"
    export(tool, recorded, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    script = f"ulimit -f 1; trap '' XFSZ; exec {tool.path} export --to parquet -o {folder} {recorded}"
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=clean_environment())
    assert run.returncode == 1 and "cannot write" in run.stderr and run.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Three million blocks."""
    folder = tmp_path_factory.mktemp("large")
    sources = ["bench/make_recording.c", "src/write/record_stream.c", "src/write/sealed_chunk.c", "src/hosted/buf.c",
               "src/hosted/err.c"]
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-DMALLOW_CPU=x86_64", "-Isrc", "-o", folder / "make", *sources],
                   cwd=TOP, check=True)
    subprocess.run([folder / "make", folder / "large.mallow", "3000000", "2000"], check=True)
    return folder / "large.mallow"


def peak_of(*command):
    """The most memory that it had, in bytes."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, env=clean_environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    return usage.ru_maxrss * 1024


def test_memory_is_that_of_a_row_group(tool, large, tmp_path):
    """Not that of all rows: a hundred bytes for each of a million, beyond what the engine needs."""
    engine = peak_of(tool.path, "report", "--csv", "--top", "1", "--size-min", "0", large)
    used = peak_of(tool.path, "export", "--to", "parquet", "-o", tmp_path / "tables", large)
    assert used - engine < 100 << 20
    files = Files(tmp_path / "tables")
    assert files.ask("SELECT count(*) n FROM blocks") == [{"n": 3000000}]
    assert sum(path.stat().st_size for path in (tmp_path / "tables").iterdir()) < large.stat().st_size


# Reads with each engine, and prints what each says of each table.
READERS = """
import json, sys
folder, found = sys.argv[1], {}
import pyarrow, pyarrow.parquet, duckdb
from chdb import session
ask = session.Session()
for name in sys.argv[2:]:
    path = f"{folder}/{name}.parquet"
    table = pyarrow.parquet.read_table(path)
    assert not any(field.nullable for field in table.schema), table.schema
    numbers = [field.name for field in table.schema if field.type == pyarrow.int64()]
    assert all(field.type in (pyarrow.int64(), pyarrow.string()) for field in table.schema), table.schema
    texts = [field.name for field in table.schema if field.name not in numbers]
    arrow = [sum(table[column].to_pylist()) for column in numbers] + [len(set(table[column].to_pylist())) for column in texts]
    columns = ", ".join([f'sum("{c}"::HUGEINT)' for c in numbers] + [f'count(DISTINCT "{c}")' for c in texts])
    duck = [int(value or 0) for value in duckdb.sql(f"SELECT {columns} FROM '{path}'").fetchone()]
    columns = ", ".join([f'toString(sum(toInt256("{c}")))' for c in numbers] + [f'toString(uniqExact("{c}"))' for c in texts])
    house = [int(value) for value in json.loads(str(ask.query(f"SELECT {columns} FROM file('{path}', Parquet)", "JSONCompact")))["data"][0]]
    assert arrow == duck == house, (name, arrow, duck, house)
    print(name, table.num_rows)
"""


@pytest.mark.long
def test_readers_of_others(tool, recorded, large, tmp_path):
    """pyarrow, DuckDB and ClickHouse (chdb) find the same types and sums."""
    made = subprocess.run([sys.executable, "-m", "venv", tmp_path / "e"], capture_output=True)
    pip = [tmp_path / "e/bin/pip", "install", "-q", "duckdb==1.5.6", "pyarrow", "chdb"]
    if made.returncode or subprocess.run(pip, capture_output=True).returncode:
        pytest.skip("duckdb, pyarrow and chdb are not installed: PyPI does not give them")
    for path in recorded, large:
        export(tool, path, tmp_path / path.stem)
        run = subprocess.run([tmp_path / "e/bin/python", "-c", READERS, tmp_path / path.stem, *TABLES], capture_output=True,
                             text=True)
        assert run.returncode == 0, run.stderr
        assert len(run.stdout.splitlines()) == len(TABLES)
