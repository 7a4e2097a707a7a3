"""site_id and shape_id: what a stack is called on every host, as docs/identity.md defines it."""
import csv
import io
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import clean_environment
from identities import shape_of, stack_id
from made_recording import NAMES, random_made

SOURCE = r"""
#include <stdlib.h>
#include <stdio.h>
void *volatile kept;
static int steps;
#define NOINLINE __attribute__((noinline))
#ifdef CALLED
#define INLINE NOINLINE
#else
#define INLINE static inline __attribute__((always_inline))
#endif
NOINLINE void changed(void)
{
#ifdef CHANGED
	steps += steps > 3 ? printf("%d", steps) : 2;
#endif
	kept = malloc(100 + steps);
	steps++;
}
INLINE void inner(int size) { kept = malloc(size); steps++; }
NOINLINE void outer(int size) { inner(size); steps++; }
NOINLINE void deep(int depth) { if (depth) deep(depth - 1); else kept = calloc(1, 300); steps++; }
NOINLINE void lives(int size) { kept = realloc(malloc(size), 2 * size); steps++; }
int main(void)
{
	changed();
	outer(200);
	for (int i = 0; i < 5; i++)
		deep(i);
	for (int i = 1; i < 3; i++)
		lives(400 * i);
	outer(6);
	deep(8);
	return 0;
}
"""


def file_part(path):
    return path.rpartition("/")[2]


def place(frame, modules):
    """The text of a frame, by its outermost function."""
    module = modules.get(frame["module"])
    address = int(frame["address"], 16)
    if frame["module"] is None:
        return frame["function"] if not re.fullmatch("0x[0-9a-f]+", frame["function"]) else "[no module]"
    if module is None or frame["module"] == frame["file"]:
        return f"{file_part(frame['module'])}:{frame['line'] or 0}:{frame['function']}"
    return f"{module['build_id'] or file_part(frame['module'])}+{address - int(module['bias'], 16):x}"


def assert_as_defined(tool, path):
    """All ids are those that docs/identity.md defines. Returns the sites."""
    modules = {module["path"]: module for module in json.loads(tool("info", "--json", "--modules", path).stdout)["modules"]
               if int(module["end"], 16)}
    sites = sites_of(tool, path)
    for site in sites:
        frames = site["stack"][::-1]
        places = [place(frame, modules) for frame in frames if not frame["inlined"]]
        assert site["site_id"] == stack_id(places), places
        assert site["shape_id"] == shape_of(site["stack"])
        assert site["weak_id"] == (not frames or any(not re.match(r"[0-9a-f]{16,}\+|[^+]*\.(py|php|rb):|<", text)
                                                     for text in places)), places
    return sites


def sites_of(tool, path):
    return json.loads(tool("report", "--json", "--stacks", "inline", path).stdout)["sites"]


def ids(sites, key="site_id"):
    return sorted(site[key] for site in sites)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("identity")
    (folder / "program.c").write_text(SOURCE)

    def compiled(name, *flags):
        target = folder / name / "program"
        target.parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-fno-builtin", *flags, "-o", target,
                        folder / "program.c"], check=True)
        return target
    return compiled


def test_runs_and_hosts(build, record, tool, tmp_path):
    """Wherever the loader puts the program, and whatever the host is called: 13 of 13 stacks have equal ids."""
    program = build("one")
    paths = [record([program], folder=tmp_path / str(i)).path for i in range(2)]
    if os.geteuid() == 0 and shutil.which("unshare"):
        paths.append(tmp_path / "elsewhere.mallow")
        subprocess.run(["unshare", "--uts", "sh", "-c", f"hostname elsewhere; exec '{tool.path}' run -o '{paths[-1]}' '{program}'"],
                       env=clean_environment(), check=True, capture_output=True)
        assert json.loads(tool("info", "--json", paths[-1]).stdout)["host"] == "elsewhere"
    runs = [assert_as_defined(tool, path) for path in paths]
    addresses = [{frame["address"] for site in sites for frame in site["stack"]} for sites in runs]
    assert not addresses[0] & addresses[1], "the loader chose other addresses"
    for sites in runs:
        assert len(set(ids(sites))) == 13
        assert ids(sites) == ids(runs[0]) and ids(sites, "shape_id") == ids(runs[0], "shape_id")
        assert not any(site["weak_id"] for site in sites)


def test_builds(build, record, tool):
    """Another build: other site_ids. Stacks that are the same by their names have equal shape_ids."""
    before, after, inlined = (
        assert_as_defined(tool, record([build(name, *flags)]).path)
        for name, *flags in [("one",), ("two", "-DCHANGED"), ("three", "-DCALLED")])
    assert ids(before, "shape_id") == ids(after, "shape_id") == ids(inlined, "shape_id")
    assert not set(ids(before)) & set(ids(after)) and not set(ids(before)) & set(ids(inlined))


def test_without_build_id(build, record, tool):
    program = build("weak", "-Wl,--build-id=none")
    sites, again = (assert_as_defined(tool, record([program]).path) for _ in range(2))
    assert all(site["weak_id"] for site in sites)
    assert ids(sites) == ids(again) and len(set(ids(sites))) == 13


def test_python(record, tool, tmp_path):
    """A script counts by its file's name, wherever that lies; its lines are in site_id alone."""
    text = """
class Cache:
    def put(self):
        self.kept = bytearray(5_000_000)


def fill():
    [cache.put() for cache in (Cache(), Cache())]


fill()
"""
    found = []
    for folder, script in (("here", text), ("there", text), ("later", "\n" + text)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app.py").write_text(script)
        sites = assert_as_defined(tool, record(["/usr/bin/python3", tmp_path / folder / "app.py"]).path)
        found.append([site for site in sites if site["total_bytes"] >= 5_000_000])
    assert all(len(sites) == 1 and not sites[0]["weak_id"] for sites in found)
    assert any(frame["function"] == "Cache.put" for frame in found[0][0]["stack"])
    here, there, later = ((sites[0]["site_id"], sites[0]["shape_id"]) for sites in found)
    assert here == there and here[0] != later[0] and here[1] == later[1]


@pytest.mark.parametrize("seed", range(3))
def test_random(seed, tool, tmp_path):
    """Recordings as programs do not make them: frames without names, in no file, stacks without frames."""
    path = random_made(tmp_path / "one", f"identity {seed}", NAMES)
    assert_as_defined(tool, path)


def test_other_tables(build, record, tool, tmp_path):
    """A live table, and two recordings as one, have the ids of a recording."""
    recorded = [record([build("one")], folder=tmp_path / name) for name in ("a", "b")]
    sites = assert_as_defined(tool, recorded[0].path)
    never_freed = {(site["site_id"], site["shape_id"], site["leaked_bytes"]) for site in sites if site["leaked_blocks"]}
    live = json.loads(tool("live", "--json", build("one")).stderr)["sites"]
    assert {(site["site_id"], site["shape_id"], site["live_bytes"]) for site in live} == never_freed
    merged = json.loads(tool("report", "--merge", "--json", *(each.path for each in recorded)).stdout)["sites"]
    assert {(site["site_id"], site["shape_id"], site["leaked_bytes"] // 2) for site in merged if site["leaked_blocks"]} == \
        never_freed


def test_csv(build, record, tool):
    recorded = record([build("one")])
    sites = assert_as_defined(tool, recorded.path)
    wanted = {(site["site_id"], site["shape_id"], "false", str(site["total_bytes"])) for site in sites}
    for words in (["report", "--csv"], ["export", "--to", "csv", "-o", "-"]):
        rows = list(csv.DictReader(io.StringIO(tool(*words, recorded.path).stdout)))
        assert {(row["site_id"], row["shape_id"], row["weak_id"], row["total_bytes"]) for row in rows} == wanted
