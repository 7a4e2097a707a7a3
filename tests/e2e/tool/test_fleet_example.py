"""examples/fleet: its questions have the answers that its data was made for, in both engines; the tables are mallow's."""
import json
import subprocess
import sys

import pytest

from conftest import TOP

FLEET = TOP / "examples" / "fleet"
ASK = """
import json, os, pathlib, re, sys
engine, folder, source = sys.argv[1:]
os.chdir(folder)
if engine == "duckdb":
    import duckdb
    ask = lambda query: duckdb.execute(query).fetchall()
else:
    from chdb import session
    made = session.Session(folder + "/house")
    ask = lambda query: [json.loads(line) for line in str(made.query(query, "JSONCompactEachRow")).splitlines()]
answers = []
for part in pathlib.Path(source, engine + ".sql").read_text().split(";"):
    query = re.sub("^--.*$", "", part, flags=re.M).strip()
    rows = ask(query) if query else []
    if re.search(r"^-- \\d+\\. ", part, re.M):
        answers.append([[int(value) if re.fullmatch(r"-?\\d+", str(value)) else value for value in row] for row in rows])
print(json.dumps(answers))
"""
SCHEMA = """
import duckdb, sys
for path in sys.argv[1:]:
    print([row[:2] for row in duckdb.execute(f"DESCRIBE FROM read_parquet('{path}', hive_partitioning = false)").fetchall()])
"""


@pytest.mark.long
def test_ten_questions(tool, record, tmp_path):
    made = subprocess.run([sys.executable, "-m", "venv", tmp_path / "e"], capture_output=True)
    python = tmp_path / "e/bin/python"
    if made.returncode or subprocess.run([tmp_path / "e/bin/pip", "install", "-q", "duckdb==1.5.6", "chdb"],
                                         capture_output=True).returncode:
        pytest.skip("duckdb and chdb are not installed: PyPI does not give them")
    folder = tmp_path / "fleet"
    subprocess.run([python, FLEET / "generate.py", "--hosts", "400", "--minutes", "60", "--sites", "30", folder], check=True)
    answers = []
    for engine in "duckdb", "clickhouse":
        run = subprocess.run([python, "-c", ASK, engine, folder, FLEET], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        answers.append(json.loads(run.stdout))
    assert answers[0] == answers[1] and len(answers[0]) == 10
    growing, _, regressed, everywhere, most, churn, regions, host, broken, _ = answers[0]
    assert abs(growing[0][1]) < 10_000 and 3.5e6 < growing[1][1] < 4e6 and [row[0] for row in growing] == ["1.1", "1.2"]
    assert regressed[0][0] == "function_2" and 2.9 < regressed[0][2] / regressed[0][1] < 3.1
    assert [row[:3] for row in everywhere] == [["service-3", "1.2", "function_7"]]
    assert most[0][:2] == ["service-3", "function_7"] and churn[0][:2] == ["service-5", "function_11"]
    assert len(regions) == 8 and host[0][0] == "function_7" and broken == [["host-00042", "service-2", 1234]]
    # The generated files have the columns of those that mallow writes, and their types.
    tool("export", "--to", "parquet", "-o", tmp_path / "own", record(["/bin/true"]).path)
    paths = [[tmp_path / "own" / f"{name}.parquet", next((folder / name).rglob("*.parquet"))]
             for name in ("runs", "stacks", "sites", "series")]
    run = subprocess.run([python, "-c", SCHEMA, *(path for pair in paths for path in pair)], capture_output=True, text=True,
                         check=True)
    lines = run.stdout.splitlines()
    assert lines[::2] == lines[1::2]
