"""`mallow export --to pprof`: profile.proto, as pprof itself reads it."""
import collections
import gzip
import json
import re
import subprocess

import pytest

import pprof_reader
import report_json
from cells import every_other
from conftest import TOP, built, need
from made_recording import Made

START = ["_start", "__libc_start_call_main", "main"]
TYPES = {"alloc_objects": "calls", "alloc_space": "total_bytes", "inuse_objects": "leaked_blocks",
         "inuse_space": "leaked_bytes", "peak_objects": "peak_blocks", "peak_space": "peak_bytes",
         "temporary": "temporary"}
PYTHON = "import json; json.dumps([str(i) for i in range(20000)])"


def export(tool, recording, *options):
    path = recording.parent / "out.pb.gz"
    tool("export", "--to", "pprof", "-o", path, *options, recording)
    return pprof_reader.read(path)


def stack_of_report(site):
    """Of a script's function the module is its source, which is no mapping in profiles."""
    return tuple((int(frame["address"], 16), frame["module"] if frame["module"] != frame["file"] else None,
                  frame["function"], frame["file"],
                  frame["line"] or 0) for frame in site["stack"]) or \
        ((0, None, "[no stack]", None, 0),)


def stack_of_profile(locations):
    frames = []
    for address, module, lines in locations:
        for function, file, line, _ in lines or [(None, None, 0, None)]:
            frames.append((address, module, function, file, line))
    return tuple(frames)


def without_names(stack, nameless):
    """A frame without a symbol has a name of ours in reports, and none in profiles."""
    return tuple((address, module, None if (address, module) in nameless else function, file, line)
                 for address, module, function, file, line in stack)


def assert_same(profile, report):
    """Every stack, with all ways of counting."""
    assert [name for name, _ in profile.types] == list(TYPES)
    assert all(unit == ("bytes" if name.endswith("space") else "count")
               for name, unit in profile.types)
    assert (profile.default, profile.period_type) == ("inuse_space", ("space", "bytes"))
    nameless = {(address, module) for address, module, lines in profile.locations.values()
                if not lines}
    assert all(module for _, module in nameless)
    ours, theirs = (collections.defaultdict(lambda: [0] * len(TYPES)) for _ in range(2))
    for locations, values in profile.samples:
        for i, value in enumerate(values.values()):
            ours[stack_of_profile(locations)][i] += value
    for site in report["sites"]:
        for i, field in enumerate(TYPES.values()):
            theirs[without_names(stack_of_report(site), nameless)][i] += site[field]
    assert dict(ours) == dict(theirs)
    assert report["calls"] == profile.sum("alloc_objects")
    assert report["peak_bytes"] == profile.sum("peak_space")


@pytest.mark.parametrize("name", ["totals", "totals_cpp", "hand_over", "stack_shapes"])
def test_samples(name, compile_sample, record, tool):
    recorded = record([compile_sample(name, "gcc", "-O2")], check=False)
    profile = export(tool, recorded.path)
    assert_same(profile, recorded.report_json)
    assert profile.period == 1
    assert profile.mappings[0][0] == recorded.report_json["program"]


@pytest.fixture(scope="module")
def python(tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    path = folder / "python.mallow"
    tool("run", "--force-malloc", "-o", path, "--", "/usr/bin/python3", "-c", PYTHON)
    return path


def folded(report, samples):
    """The report as a profile has it that is to have so many samples: those with most in use, and the rest."""
    sites = sorted((site for site in report["sites"] if any(site[field] for field in TYPES.values())),
                   key=lambda site: (-site["leaked_bytes"], -site["total_bytes"]))
    if len(sites) <= samples:
        return report
    kept, others = sites[:samples - 1], sites[samples - 1:]
    rest = {field: sum(site[field] for site in others) for field in TYPES.values()}
    frame = {"address": "0", "module": None, "function": "(others)", "file": None, "line": 0}
    return {**report, "sites": [*kept, {**rest, "stack": [frame]}]}


def test_python(tool, python):
    """Its 20,000 stacks are more than a profile has: the smallest are one sample."""
    report, run = tool.report(python), tool("export", "--to", "pprof", "-o", python.parent / "out.pb.gz", python)
    profile = pprof_reader.read(python.parent / "out.pb.gz")
    others = len(report["sites"]) - 9_999
    said = f"{others} stacks with least in use are one sample, (others) (--samples 10000)"
    assert run.stderr == f"mallow: {said}\n" and said in profile.comments
    assert len(profile.samples) == 10_000
    assert [profile.sum(name) for name in TYPES] == [report[field] for field in TYPES.values()]
    kept = [values["inuse_space"] for stack, values in profile.samples if stack[0][2] != [("(others)", None, 0, "(others)")]]
    assert sorted(kept) == sorted(site["leaked_bytes"] for site in report["sites"])[others:]
    info = json.loads(tool("info", "--json", "--modules", python).stdout)
    info = info[0] if isinstance(info, list) else info
    modules = {(m["path"], m["build_id"] or "", int(m["start"], 16), int(m["end"], 16))
               for m in info["modules"]}
    assert profile.mappings[0][0] == info["program"] and set(profile.mappings) <= modules
    # What is in use is so at a moment, the end: with a duration Parca would add it up.
    assert profile.raw.duration_nanos == 0
    assert abs(profile.raw.time_nanos / 1e9 - info["started_at"] - info["duration_s"]) < 1e-3
    assert any("import json" in comment for comment in profile.comments)


def test_names(compile_sample, record, tool):
    """Demangled, with the raw name beside it, and inlined frames."""
    profile = export(tool, record([compile_sample("totals_cpp", "gcc", "-O2")], check=False).path)
    lines = [line for _, _, lines in profile.locations.values() for line in lines]
    assert any(name != raw and raw.startswith("_Z") for name, _, _, raw in lines)
    assert any(len(lines) > 1 for _, _, lines in profile.locations.values())


# --- by its own reader ---

def pprof(*arguments):
    go = need("go")
    tool = subprocess.run([go, "tool", "-n", "pprof"], capture_output=True)
    if tool.returncode:
        pytest.skip("go is installed without pprof")
    run = subprocess.run([go, "tool", "pprof", *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_go_tool_pprof(tool, python):
    report = tool.report(python)
    export(tool, python)
    raw = pprof("-raw", python.parent / "out.pb.gz").splitlines()
    rows = [[int(value) for value in line.split(":")[0].split()]
            for line in raw[raw.index("Samples:") + 2:raw.index("Locations")]]
    assert [sum(column) for column in zip(*rows)] == [report[field] for field in TYPES.values()]
    assert "inuse_space/bytes[dflt]" in raw[raw.index("Samples:") + 1]


@pytest.mark.parametrize("name, field", every_other(TYPES.items()))
def test_go_tool_pprof_top(tool, python, name, field):
    export(tool, python)
    unit = ["-unit=bytes"] if name.endswith("space") else []
    text = pprof("-top", f"-sample_index={name}", *unit, python.parent / "out.pb.gz")
    assert f" of {tool.report(python)[field]}{'B' if unit else ''} total\n" in text
    assert text.startswith("File: python3")


def test_protoc(tool, python, tmp_path):
    """Every field is known and of its type."""
    profile = export(tool, python)
    (tmp_path / "profile.proto").write_text(pprof_reader.proto_source())
    run = subprocess.run([need("protoc"), f"-I{tmp_path}", "--decode=perftools.profiles.Profile",
                          "profile.proto"], capture_output=True, check=True,
                         input=gzip.decompress((python.parent / "out.pb.gz").read_bytes()))
    text = run.stdout.decode()
    assert run.stderr == b"" and text.count("\nsample {") == len(profile.samples)
    names = {name for fields in pprof_reader.SCHEMA.values() for name, _ in fields.values()}
    assert {line.split()[0].rstrip(":") for line in text.splitlines()} - {"}"} <= names


# --- what is asked for ---

@pytest.fixture
def made(tmp_path):
    names = [*START, "work", "line\nbreak", "größe;x"]
    made = Made(tmp_path, names, libraries=[("/usr/lib/a b.so", ["unknown"])],
                arguments=["a\nb", "c d"])
    for name in names:
        made.free(made.allocate([*START, name], 1000))
        made.allocate([*START, name], 10)
    made.allocate([*START, "unknown"], 20)
    made.allocate([], 77)
    return made.write()


def test_odd_names_and_no_stack(tool, made):
    report, profile = tool.report(made), export(tool, made)
    texts = [text for text in profile.strings if "line" in text or "größe" in text]
    assert sorted(texts) == ["größe;x", "line\\x0abreak"]
    assert profile.sum("alloc_space") == report["total_bytes"]
    assert "toyd a\\x0ab c d" in profile.comments
    stacks = {stack_of_profile(locations) for locations, _ in profile.samples}
    assert ((0, None, "[no stack]", None, 0),) in stacks
    nameless = [stack[0] for stack in stacks if stack[0][1] == "/usr/lib/a b.so"]
    assert [frame[2] for frame in nameless] == [None]


@pytest.mark.parametrize("conditions", [["--size-min", "15"], ["--function-regex", "^work$"],
                                        ["--lifetime", "only_leaked"]])
def test_filtered(tool, made, conditions):
    report = report_json.load(tool("report", "--json", "--top", "100000", *conditions, made).stdout)
    assert report["calls"]
    profile = export(tool, made, *conditions)
    for name, field in TYPES.items():
        assert profile.sum(name) == report[field], name
    assert "only allocations that a filter matches" in profile.comments


@pytest.fixture
def states(tmp_path):
    """Two states of one recording, and what each stack did between them: allocated, in use."""
    paths, names = [], [*START, "before", "between", "both"]
    for later in (False, True):
        made = Made(tmp_path, names, id=b"0123456789abcdef")
        freed = made.allocate([*START, "before"], 1000)
        made.allocate([*START, "before"], 300)
        made.allocate([*START, "both"], 50)
        if later:
            made.free(freed)
            made.allocate([*START, "both"], 60)
            made.free(made.allocate([*START, "between"], 7))
            made.allocate([], 9)
        paths.append(made.write(f"state{later:d}.mallow", end=later))
    return paths, {"before": (0, -1000), "both": (60, 60), "between": (7, 0),
                   "[no stack]": (9, 9)}


def test_what_changed(tool, states):
    """For one that is being written: pprof_write() with an earlier state of it."""
    paths, expected = states
    helper = built("MALLOW_PPROF_CHANGE", TOP / "build/meson/tests/unit/pprof_change")
    run = subprocess.run([helper, *paths], capture_output=True)
    assert run.returncode == 0, run.stderr
    profile = pprof_reader.Profile(run.stdout)
    found = {locations[0][2][0][0]: (values["alloc_space"], values["inuse_space"])
             for locations, values in profile.samples}
    assert found == expected
    sums = [tool.report(path) for path in paths]
    for name, field in TYPES.items():
        assert profile.sum(name) == sums[1][field] - sums[0][field], name
    seconds = sums[1]["duration_s"] - sums[0]["duration_s"]
    assert abs(profile.raw.duration_nanos - seconds * 1e9) < 2
    paths[0].with_name("change.pb.gz").write_bytes(run.stdout)
    text = pprof("-top", "-unit=bytes", paths[0].with_name("change.pb.gz"))
    assert re.search(r"^ *-1000B .* before$", text, re.M)


@pytest.mark.parametrize("samples", [1, 2, 3, 7, 8, 100])
def test_samples_that_are_wanted(tool, tmp_path, samples):
    """At most so many, with sums that are whole; without any that has nothing."""
    names = ["main", *(f"f{i}" for i in range(7))]
    made = Made(tmp_path, names)
    for i, name in enumerate(names[1:]):
        made.allocate(["main", name], 100 + i)
        made.free(made.allocate(["main", name], 1000 * i))
    made.allocate([], 5)
    path = made.write()
    profile, report = export(tool, path, "--samples", samples), tool.report(path)
    assert len(profile.samples) == min(samples, 8)
    assert_same(profile, folded(report, samples))
    for wrong in ("0", "-1", "x"):
        assert tool("export", "--to", "pprof", "--samples", wrong, path, check=False).returncode == 2
    run = tool("export", "--to", "speedscope", "--samples", "5", path, check=False)
    assert run.returncode == 2 and "--samples is not for --to speedscope" in run.stderr


def test_changes_that_are_folded(tool, states):
    """The largest changes are told apart, whether they rose or fell."""
    (before, after), expected = states
    path = before.with_name("folded.pb.gz")
    tool("export", "--to", "pprof", "--baseline", before, "--samples", "3", "-o", path, after)
    found = {locations[0][2][0][0]: (values["alloc_space"], values["inuse_space"])
             for locations, values in pprof_reader.read(path).samples}
    assert found == {"before": (0, -1000), "both": (60, 60), "(others)": (16, 9)}


def test_nothing(tool, tmp_path):
    profile = export(tool, Made(tmp_path, START).write())
    assert profile.samples == [] and profile.default == "inuse_space"
    pprof("-raw", tmp_path / "out.pb.gz")


def test_merged(compile_sample, record, tool):
    program = compile_sample("totals_cpp", "gcc", "-O2")
    recorded = record(["sh", "-c", f"{program}; {program}; exit 0"])
    assert len(recorded.paths) == 3
    report = report_json.load(tool("report", "--merge", "--json", "--top", "100000",
                             recorded.folder).stdout)
    path = recorded.folder.with_name("merged.pb.gz")
    tool("export", "--to", "pprof", "--merge", "-o", path, recorded.folder)
    assert_same(pprof_reader.read(path), report)


def test_sample(compile_sample, record, tool):
    recorded = record([compile_sample("sampled", "gcc", "-O2")], settings={"SAMPLE": "64K"})
    profile = export(tool, recorded.path)
    assert_same(profile, recorded.report_json)
    assert profile.period == 65536 and any("estimates" in text for text in profile.comments)


def test_culled(compile_sample, record, tool):
    recorded = record([compile_sample("culled", "gcc", "-O2")], check=False,
                      settings={"CULL": "1h"})
    assert_same(export(tool, recorded.path), recorded.report_json)


def test_it_is_compressed_once(tool, made):
    export(tool, made)
    run = subprocess.run([tool.path, "export", "--to", "pprof", made], capture_output=True,
                         check=True)
    assert run.stdout == (made.parent / "out.pb.gz").read_bytes()
    run = tool("export", "--to", "pprof", "--metric", "peak", made, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("mallow: --metric is not for --to pprof\n")
