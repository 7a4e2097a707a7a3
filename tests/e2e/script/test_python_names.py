"""What Python's functions, files and import statements are called, alike in every view."""
import json
import re
import subprocess

import pytest

from conftest import clean_environment
from servers import Server

PYTHON = "/usr/bin/python3"
MODELS = """
class Row:
    def __init__(self, n):
        self.data = bytes(SIZE + n)
def load(n):
    return [Row(i) for i in range(n)]
"""
FILES = {
    "app.py": """
import decimal
import xml.dom.minidom
from shop.users import models as users
from shop.orders import models as orders
import importlib, sys, collections, dataclasses
for name in "colorsys", "sched":
    importlib.import_module(name)
def late():
    import shop.late, fractions
Point = collections.namedtuple("Point", "x y")
@dataclasses.dataclass
class Item:
    number: float
def points():
    return [Point(float(i), i) for i in range(3000)]
def items():
    return [Item(float(i)) for i in range(3000)]
late()
kept = points(), items(), users.load(int(sys.argv[1])), orders.load(int(sys.argv[2]))
""",
    "shop/__init__.py": "",
    "shop/late.py": "TABLE = [str(i) * 20 for i in range(400)]",
    "shop/users/__init__.py": "",
    "shop/users/models.py": MODELS.replace("SIZE", "1000"),
    "shop/orders/__init__.py": "",
    "shop/orders/models.py": MODELS.replace("SIZE", "3000"),
}


@pytest.fixture(scope="module")
def recordings(mallow, tmp_path_factory):
    """Of two runs, one with more users and the other with more orders."""
    folder = tmp_path_factory.mktemp("names")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())
    made = [folder / "one.mallow", folder / "two.mallow"]
    for path, numbers in zip(made, (("500", "500"), ("900", "100"))):
        subprocess.run([mallow, "run", "-o", path, PYTHON, folder / "app.py", *numbers], env=clean_environment(),
                       capture_output=True, check=True, timeout=120)
    return made


def functions(tool, *arguments):
    return {row["name"]: row for row in json.loads(
        tool("report", "--by", "function", "--json", "--top", 10**6, *arguments).stdout)["rows"]}


def test_an_import_is_one_place(tool, recordings):
    """It has the name of what it imports, and all of its memory: the search, the code and what that makes."""
    rows = functions(tool, recordings[0])
    named = {name[len("import "):-len(" [app.py]")] for name in rows if name.startswith("import ") and name.endswith(" [app.py]")}
    # Of `import a, b` each has its own place. Python itself may have loaded one of these before.
    assert named - {"collections", "importlib", "sys"} == {"dataclasses", "decimal", "fractions", "shop.late", "shop.orders",
                                                           "shop.users", "xml.dom.minidom"}
    for name, line, caller in ("decimal", 1, "<module>"), ("xml.dom.minidom", 2, "<module>"), ("fractions", 9, "late"):
        row = rows[f"import {name} [app.py]"]
        body = functions(tool, recordings[0], "--function-regex", "^<module>$", "--source-regex", f"/{name.replace('.', '/')}\\.py$")
        assert 0 < body[f"import {name} [app.py]"]["calls"] < row["calls"]
        text = tool("report", "--top", 1, "--allocated-by", f"^import {name}$", recordings[0]).stdout
        assert re.search(rf"\n +import {name} +\S*app\.py:{line}\n +{caller} +\S*app\.py:{line}\n", text), text
        assert len(re.findall(rf"%.*import {name}  app\.py:{line}\n", text)) == 1 and "more, " not in text
    # One function imports two modules, in one place: neither name would be true.
    assert not {"import colorsys", "import sched"} & {name.partition(" [")[0] for name in rows}


def test_code_that_was_made_counts_for_its_caller(tool, recordings, mallow, tmp_path):
    """Of dataclasses and named tuples; but what `python3 -c` runs is the program."""
    assert "<string>" not in tool("report", "--by", "line", "--top", 1000, recordings[0]).stdout
    rows = functions(tool, recordings[0])
    assert rows["points [app.py]"]["calls"] > 6000 and rows["items [app.py]"]["calls"] > 6000
    subprocess.run([mallow, "run", "-o", tmp_path / "c.mallow", PYTHON, "-c", "def f():\n  return [bytes(900)] * 9, bytes(70000)\nk = f()"],
                   env=clean_environment(), capture_output=True, check=True, timeout=60)
    assert "f [<string>]" in functions(tool, tmp_path / "c.mallow")


def test_functions_that_are_named_alike(tool, recordings):
    """Each file has its row, and a difference compares those of one file."""
    rows = functions(tool, recordings[0])
    users, orders = "Row.__init__ [users/models.py]", "Row.__init__ [orders/models.py]"
    assert rows[users]["calls"] == rows[orders]["calls"] == 1000
    assert functions(tool, "--merge", *recordings)[users]["calls"] == 2800
    text = tool("report", "--by", "function", "--top", 50, recordings[0]).stdout
    assert "Row.__init__  users/models.py" in text and "Row.__init__  orders/models.py" in text
    changes = {row["name"]: row["change"] for row in json.loads(tool("diff", "--json", *recordings).stdout)["rows"]}
    assert changes[users] > 400 * 1000 and changes[orders] < -400 * 3000


def test_each_row_can_be_asked_for(mallow, recordings):
    """By its name in `allocated_by`, as the page's links do; the flame graph has it without the interpreter."""
    server = Server(mallow, recordings[0])
    try:
        sums = server.json("/data/last/sums", by="function", count=12)
        for row, key in enumerate(sums["key"]):
            name = sums["keys"][0]["name"][key]
            pattern = "^" + re.sub(r"[.*+?^${}()|\[\]\\]", r"\\\g<0>", name) + "$"
            one = server.json("/data/last/sums", by="function", allocated_by=pattern)
            assert one["all"]["total"] == sums["total"][row], name
        flame = server.json("/data/last/flame", fold="plumbing", cut=0)
        names = [flame["names"][name] for name in flame["name"]]
        called = {(names[flame["parent"][i]], name) for i, name in enumerate(names) if i}
        assert ("<module> [app.py]", "import decimal [app.py]") in called
        assert ("load [users/models.py]", "Row.__init__ [users/models.py]") in called
        assert not any(parent == "import decimal [app.py]" for parent, _ in called)
    finally:
        server.end()
