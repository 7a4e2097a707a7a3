"""`mallow diff`: what changed between two recordings, two builds, two moments of one. Random pairs are
compared with what the reports of both say, subtracted here."""
import csv
import io
import json
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

import pprof_reader
import report_json
from made_recording import NAMES, Made, random_made

SUMS = ("peak_bytes", "peak_blocks", "leaked_bytes", "leaked_blocks", "total_bytes", "calls",
        "temporary")
FIELD = {"peak": "peak_bytes", "leaked": "leaked_bytes", "total": "total_bytes", "calls": "calls",
         "temporary": "temporary"}


def diff(tool, *words):
    return report_json.load(tool("diff", "--json", *words).stdout)


def sums_of(row):
    return {name: row[name] for name in SUMS}


def by_stack(tool, path, *words):
    """{functions, innermost first: sums} of a report."""
    found = {}
    for site in report_json.load(tool("report", "--json", *words, path).stdout)["sites"]:
        sums = found.setdefault(tuple(frame["function"] for frame in site["stack"]),
                                dict.fromkeys(SUMS, 0))
        for name in SUMS:
            sums[name] += site[name]
    return found


def expected(before, after, metric):
    """What a diff says: of each key that changed, the sums of both sides."""
    nothing = dict.fromkeys(SUMS, 0)
    pairs = {key: (before.get(key, nothing), after.get(key, nothing)) for key in {*before, *after}}
    return {key: pair for key, pair in pairs.items() if pair[0][FIELD[metric]] != pair[1][FIELD[metric]]}


def check_order(rows, metric):
    changes = [row["after"][FIELD[metric]] - row["before"][FIELD[metric]] for row in rows]
    assert [row["change"] for row in rows] == changes
    assert sorted(map(abs, changes), reverse=True) == [abs(change) for change in changes]


@pytest.mark.parametrize("seed", range(6))
def test_random_pairs(seed, tool, tmp_path):
    """Two builds: functions lie elsewhere, some are new and some are gone."""
    choose = random.Random(seed)
    builds = [choose.sample(NAMES[1:], choose.randrange(2, 6)) + ["main"] for _ in range(2)]
    paths = [random_made(tmp_path / name, f"{seed} {name}", names)
             for name, names in zip(("before", "after"), builds)]
    sides = [by_stack(tool, path) for path in paths]
    for metric in FIELD:
        said = diff(tool, "--by", "site", "--sort", metric, *paths)
        found = {tuple(frame["function"] for frame in row["stack"]):
                 (sums_of(row["before"]), sums_of(row["after"])) for row in said["rows"]}
        assert len(found) == len(said["rows"]) == said["row_count"]
        assert found == expected(*sides, metric)
        check_order(said["rows"], metric)
        assert said["change"] == said["after"][FIELD[metric]] - said["before"][FIELD[metric]]
    check_functions(tool, paths)


def check_functions(tool, paths):
    """By function a diff has what `report --by function` of both has."""
    sides = []
    for path in paths:
        rows = report_json.load(tool("report", "--json", "--by", "function", path).stdout)["rows"]
        sides.append({row["name"]: sums_of(row) for row in rows})
    said = diff(tool, "--sort", "total", *paths)
    assert {row["name"]: (sums_of(row["before"]), sums_of(row["after"])) for row in said["rows"]} == \
        expected(*sides, "total")


@pytest.mark.parametrize("seed", range(3))
def test_moments(seed, tool, tmp_path):
    """FILE@MOMENT is what `report --at` shows."""
    path = random_made(tmp_path / "one", f"moments {seed}", NAMES)
    moments = ["20%", "80%"]
    sides = [by_stack(tool, path, "--at", moment) for moment in moments]
    said = diff(tool, "--by", "site", *[f"{path}@{moment}" for moment in moments])
    assert {tuple(frame["function"] for frame in row["stack"]):
            (sums_of(row["before"]), sums_of(row["after"])) for row in said["rows"]} == \
        expected(*sides, "peak")
    assert [said[side]["moment"] for side in ("before", "after")] == [True, True]


def test_gaps_are_said(tool, tmp_path):
    """What is missing on a side may be the whole difference."""
    path = random_made(tmp_path / "one", "gaps", NAMES)
    cut = tmp_path / "cut.mallow"
    cut.write_bytes(path.read_bytes()[:-100])
    lines = tool("diff", path, cut).stdout.splitlines()
    assert lines[1].startswith("after") and re.match(r"  ! .*damaged", lines[2]), lines[:4]


def test_itself_is_empty(tool, tmp_path):
    path = random_made(tmp_path / "one", "itself", NAMES)
    for words in ([], ["--by", "site"], ["--by", "file"], ["--by", "module"], ["--sort", "calls"]):
        assert diff(tool, *words, path, path)["rows"] == []
    text = tool("diff", path, path).stdout
    assert "Nothing changed: " in text and "By function" not in text
    assert tool("diff", "--csv", path, path).stdout.count("\n") == 1


def test_filters_narrow_both_sides(tool, tmp_path):
    paths = [random_made(tmp_path / name, f"filter {name}", NAMES) for name in ("before", "after")]
    words = ["--size-min", "1000", "--function-regex", "parse"]
    sides = [by_stack(tool, path, *words) for path in paths]
    said = diff(tool, "--by", "site", *words, *paths)
    assert {tuple(frame["function"] for frame in row["stack"]) for row in said["rows"]} == \
        set(expected(*sides, "peak"))


def check_sites(tool, sides, metric, *words):
    """By site a diff has what both sides are, subtracted."""
    said = diff(tool, "--by", "site", "--sort", metric, *words)
    assert {tuple(frame["function"] for frame in row["stack"]):
            (sums_of(row["before"]), sums_of(row["after"])) for row in said["rows"]} == \
        expected(*sides, metric)
    return said


def test_suppressions_of_both_sides(tool, tmp_path):
    """What leaks is as `report --suppressions` says it, also behind a filter and at a moment."""
    paths = [random_made(tmp_path / name, f"known {name}", NAMES) for name in ("before", "after")]
    known = tmp_path / "known.supp"
    known.write_text("leak:parse\nleak:^cache_\n")
    hide = ["--suppressions", known]
    for words in ([], ["--size-min", "1000"]):
        sides = [by_stack(tool, path, *words, *hide) for path in paths]
        said = check_sites(tool, sides, "leaked", *words, *hide, *paths)
        assert said["rows"] and not any(
            frame["function"] in ("parse", "cache_put") for row in said["rows"] for frame in row["stack"])
        for path, side in zip(paths, ("before", "after")):
            report = report_json.load(tool("report", "--json", *words, *hide, path).stdout)
            assert said[side]["leaked_bytes"] == report["leaked_bytes"]
            assert said[side]["suppressions"] == report["suppressions"]
    moments = [f"{paths[1]}@{moment}" for moment in ("30%", "90%")]
    sides = [by_stack(tool, paths[1], "--at", moment, *hide) for moment in ("30%", "90%")]
    check_sites(tool, sides, "peak", *hide, *moments)
    lines = tool("diff", "--bytes", *hide, *paths).stdout.splitlines()
    hidden = report_json.load(tool("report", "--json", *hide, paths[0]).stdout)
    assert re.fullmatch(rf"  suppressed +{hidden['suppressed_bytes']:,} B  of leaks left out, in "
                        rf"{hidden['suppressed_blocks']:,} blocks \(--suppressions\)", lines[1])


def test_merged_sides(tool, tmp_path):
    """All recordings of a directory are one, as of `report --merge`."""
    folders = []
    for name, count in (("before", 2), ("after", 3)):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        for i in range(count):
            shutil.move(random_made(tmp_path / f"{name} {i}", f"merged {name} {i}", NAMES),
                        folders[-1] / f"{i}.mallow")
    sides = [by_stack(tool, folder, "--merge") for folder in folders]
    for metric in FIELD:
        said = check_sites(tool, sides, metric, "--merge", *folders)
        assert [len(said[side]["processes"]) for side in ("before", "after")] == [2, 3]
    assert diff(tool, "--merge", folders[0], folders[0])["rows"] == []
    one = folders[0] / "0.mallow"
    check_sites(tool, [by_stack(tool, one), sides[1]], "total", "--merge", one, folders[1])
    lines = tool("diff", "--merge", *folders).stdout.splitlines()
    assert re.match(r"before  \S+  2 recordings, .* in all, peak", lines[0]), lines[0]
    (folders[1] / "0.mallow").write_bytes((folders[1] / "0.mallow").read_bytes()[:100])
    run = tool("diff", "--merge", *folders, check=False)
    assert run.returncode == 1 and "0.mallow" in run.stderr and re.search("^after .* 2 recordings", run.stdout, re.M)


def grown(folder, name, calls, extra=0, names=("main", "work", "leak"), end=0):
    """A run of `work` with as many blocks, some more of `leak`, and a wait at the end."""
    folder.mkdir(exist_ok=True)
    made = Made(folder, list(names))
    for _ in range(calls):
        made.allocate(["main", "work"], 1000)
    for _ in range(extra):
        made.allocate(["main", "leak"], 100)
    made.tick(end)
    return made.write(name)


def test_one_leak_more_is_named_first(tool, tmp_path):
    before = grown(tmp_path / "1", "before.mallow", 50)
    after = grown(tmp_path / "2", "after.mallow", 50, extra=30, names=("leak", "main", "work"))
    lines = tool("diff", "--sort", "leaked", before, after).stdout.splitlines()
    assert lines[3] == "+3.00 KB (+6.0 %) never freed: 50.0 KB before, 53.0 KB after."
    assert lines[4] == "100 % of it is for leak, which is new: +3.00 KB."
    table = lines.index("By function, never freed")
    assert re.fullmatch(r" +0 B +3\.00 KB +\+3\.00 KB +new +leak", lines[table + 2])
    assert lines[table + 3] == ""
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit(width, tool, tmp_path):
    """Names of functions are cut, sentences are broken."""
    long = "a_function_with_a_rather_long_name_that_nobody_would_type"
    before = grown(tmp_path / "1", "before.mallow", 10)
    after = grown(tmp_path / "2", "after.mallow", 40, extra=300, names=("main", "leak", "work", long))
    for by in ("function", "site", "module"):
        lines = tool("diff", "--width", width, "--by", by, before, after).stdout.splitlines()
        longest = max(lines, key=len)
        assert len(longest) <= width, longest


def test_fallen_and_gone(tool, tmp_path):
    before = grown(tmp_path / "1", "before.mallow", 50, extra=30)
    after = grown(tmp_path / "2", "after.mallow", 40)
    text = tool("diff", before, after).stdout
    assert "-13.0 KB (-25 %) live at the peak: 53.0 KB before, 40.0 KB after." in text
    assert re.search(r"50\.0 KB +40\.0 KB +-10\.0 KB +-20 % +work\n", text)
    assert re.search(r"3\.00 KB +0 B +-3\.00 KB +gone +leak\n", text)


def test_per_second_and_call(tool, tmp_path):
    """Before is as if it had run as long, or allocated as often."""
    before = grown(tmp_path / "1", "before.mallow", 100)
    after = grown(tmp_path / "2", "after.mallow", 200)
    said = diff(tool, "--per", "call", "--sort", "total", before, after)
    assert said["rows"] == [] and said["before"]["scale"] == 2
    said = diff(tool, "--per", "second", "--sort", "calls", before, after)
    scale = said["after"]["duration_s"] / said["before"]["duration_s"]
    assert said["before"]["scale"] == pytest.approx(scale)
    assert said["before"]["calls"] == int(100 * scale + 0.5)
    empty = grown(tmp_path / "3", "empty.mallow", 0)
    refused = tool("diff", "--per", "call", empty, after, check=False)
    assert refused.returncode == 1 and f"{empty}: --per call: it has none" in refused.stderr


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("per", ["second", "call"])
def test_scaled_rows_add_up(tool, tmp_path, seed, per):
    """They are whole numbers, and together what the whole changed by; each is right within one."""
    paths = [random_made(tmp_path / name, f"{per} {name} {seed}", NAMES) for name in ("before", "after")]
    sites = by_stack(tool, paths[0])
    for metric in FIELD:
        for by in ("site", "function", "file", "module"):
            said = diff(tool, "--per", per, "--by", by, "--sort", metric, *paths)
            assert sum(row["change"] for row in said["rows"]) == said["change"], (metric, by)
            for row in said["rows"] if by == "site" else ():
                before = sites.get(tuple(frame["function"] for frame in row["stack"]), {})
                assert abs(row["before"][FIELD[metric]] -
                           before.get(FIELD[metric], 0) * said["before"]["scale"]) <= 1


def test_a_new_function_is_named_if_it_matters(tool, tmp_path):
    """… in what changed, also if the sum is the same."""
    paths = []
    for name, sizes in (("before", {"parse": 40_000, "render": 60_000}),
                        ("small", {"parse": 60_000, "render": 39_000, "log_line": 1000}),
                        ("large", {"parse": 60_000, "render": 30_000, "log_line": 10_000})):
        (tmp_path / name).mkdir()
        made = Made(tmp_path / name, NAMES)
        for function, size in sizes.items():
            made.allocate(["main", function], size)
        paths.append(made.write())
    before, small, large = paths
    lines = tool("diff", before, small).stdout.splitlines()
    assert lines[3].startswith("The sum is the same: 100 KB") and lines[4] == "render: -21.0 KB."
    lines = tool("diff", before, large).stdout.splitlines()
    assert lines[4] == "render: -30.0 KB; log_line is new: +10.0 KB."


def test_a_file_called_like_a_moment(tool, tmp_path):
    """A file of the whole name wins."""
    path = grown(tmp_path, "run.mallow", 5)
    named = tmp_path / "run.mallow@10s"
    shutil.copy(path, named)
    said = diff(tool, named, path)
    assert not said["before"]["moment"] and said["rows"] == []


@pytest.mark.parametrize("words,status,message", [
    (["--merge", "{path}"], 2, "needs two recordings"),
    (["{path}@9x", "{path}"], 2, "'9x' behind the @ of"),
    (["{path}@nobody", "{path}"], 1, "'nobody'"),
    (["{path}", "{path}.not"], 1, "r.mallow.not"),
    (["--by", "thread", "{path}", "{path}"], 2, "thread"),
    (["--alive-at", "1s", "{path}@2s", "{path}"], 2, "--at exclude"),
    (["--json", "--csv", "{path}", "{path}"], 2, "--csv"),
    (["--merge", "{path}@50%", "{path}"], 2, "--merge and the moment of"),
    (["--merge", "--size-min", "1", "{path}", "{path}"], 2, "--merge and --size-min exclude each other"),
    (["--merge", "{path}", "{path}", "{path}"], 2, "takes two recordings only"),
    (["--suppressions", "{path}.not", "{path}", "{path}"], 1, "r.mallow.not"),
])
def test_wrong_words(words, status, message, tool, tmp_path):
    path = grown(tmp_path, "r.mallow", 5)
    run = tool("diff", *[word.format(path=path) for word in words], check=False)
    assert run.returncode == status and run.stdout == ""
    assert len(run.stderr.splitlines()) == 1 and message in run.stderr, run.stderr


def test_csv(tool, tmp_path):
    paths = [random_made(tmp_path / name, f"csv {name}", NAMES) for name in ("before", "after")]
    for by in ("function", "site", "file", "module"):
        rows = list(csv.DictReader(io.StringIO(tool("diff", "--csv", "--by", by, *paths).stdout)))
        said = diff(tool, "--by", by, *paths)["rows"]
        assert [(int(row["before_peak_bytes"]), int(row["after_calls"])) for row in rows] == \
            [(row["before"]["peak_bytes"], row["after"]["calls"]) for row in said]
        if by == "site":
            assert [row["stack"] for row in rows] == \
                [";".join(frame["function"] for frame in row["stack"]) for row in said]


SOURCE = """
#include <stdlib.h>
{before}
__attribute__((noinline)) void *keep(int n) {{ void *p = malloc(n); __asm__("" :: "r"(p)); return p; }}
__attribute__((noinline)) void *grow(int n) {{ void *p = malloc(n); __asm__("" :: "r"(p)); return p; }}
int main(void)
{{
	for (int i = 0; i < 100; i++) keep(1000);
	for (int i = 0; i < {grows}; i++) grow(500);
	return 0;
}}
"""


def test_two_builds_of_a_program(tool, record, tmp_path):
    """Real builds whose addresses, lines and paths differ."""
    paths = []
    for name, before, grows in (("old", "", 10), ("new", "\n\nint pad(int x) { return x * 3 + 1; }", 40)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "work.c").write_text(SOURCE.format(before=before, grows=grows))
        subprocess.run(["gcc", "-g", "-O1", "-o", folder / f"work-{name}", folder / "work.c"], check=True)
        paths.append(record([folder / f"work-{name}"]).path)
    [row] = diff(tool, "--by", "site", *paths)["rows"]
    assert [frame["function"] for frame in row["stack"]][:2] == ["grow", "main"]
    assert (row["before"]["calls"], row["after"]["calls"], row["change"]) == (10, 40, 15000)
    assert json.dumps(row["stack"]).count("work-new") >= 2
    said = tool("diff", *paths).stdout
    assert "100 % of it is for grow  work.c:7: +15.0 KB." in said


def test_functions_of_one_name(tool, record, tmp_path):
    """Two files have a static function each: the line is that of the one that changed."""
    for name in "ab":
        (tmp_path / f"{name}.c").write_text(
            "#include <stdlib.h>\nstatic __attribute__((noinline)) void *get(int n)\n{\n\tvoid *p = malloc(n);\n\n"
            f'\t__asm__("" :: "r"(p));\n\treturn p;\n}}\nvoid {name}(int n) {{ while (n--) get(100); }}\n')
    (tmp_path / "main.c").write_text(
        "#include <stdlib.h>\nvoid a(int), b(int);\n"
        "int main(int count, char **words) { a(50); b(atoi(words[1])); return 0; }\n")
    subprocess.run(["gcc", "-g", "-O1", "-o", "both", "a.c", "b.c", "main.c"], cwd=tmp_path, check=True)
    paths = [record([tmp_path / "both", count]).path for count in (10, 40)]
    [site] = diff(tool, "--by", "site", *paths)["rows"]
    assert [frame["function"] for frame in site["stack"]][:2] == ["get", "b"]
    assert (site["before"]["calls"], site["after"]["calls"]) == (10, 40)
    assert "100 % of it is for get  b.c:4: +3.00 KB." in tool("diff", *paths).stdout


def test_two_runs_of_a_build(tool, record, tmp_path):
    """Of one build the lines of a function are told apart."""
    source = tmp_path / "lines.c"
    source.write_text("#include <stdlib.h>\nint main(int count, char **words)\n{\n"
                      "\tfor (int i = 0; i < count; i++)\n\t\twords[0] = malloc(100);\n"
                      "\tfor (int i = 0; i < 3; i++)\n\t\twords[0] = malloc(200);\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O0", "-o", tmp_path / "lines", source], check=True)
    paths = [record([tmp_path / "lines", *["x"] * count]).path for count in (2, 8)]
    [row] = diff(tool, "--by", "site", *paths)["rows"]
    assert row["stack"][0]["line"] == 5 and row["change"] == 600
    assert (row["before"]["calls"], row["after"]["calls"]) == (3, 9)


SVG = "{http://www.w3.org/2000/svg}"
HUES = {"28": "grew", "212": "fell", "0": "same"}


def frames_of(tool, *words):
    """{label: (value, before, after, colour, classes)} of a differential flame graph; labels are different."""
    root = xml.etree.ElementTree.fromstring(tool("export", "--to", "flamegraph", "--bytes", *words).stdout)
    frames = {}
    for box in root.iter(SVG + "svg"):
        if "data-v" in box.attrib:
            label, sides = box.find(SVG + "title").text.split("\n")[:1] + \
                box.find(SVG + "title").text.split("\n")[2:3]
            before, after = (int(text.replace(",", "")) for text in
                             re.match(r"([\d,]+) B before, ([\d,]+) B after", sides).groups())
            colour = HUES[re.match(r"hsl\((\d+)", box.find(SVG + "rect").get("fill"))[1]]
            assert label not in frames
            frames[label] = (int(box.get("data-v")), before, after, colour, box.get("class")[2:],
                             len(box.findall(SVG + "rect")) == 2)
    return frames


@pytest.fixture
def changed(tmp_path):
    """parse is new, render fell, cache_put grew by its callee, log_line is gone, serve is as it was."""
    paths = []
    for name, sizes in (("before", {"render": 4000, "cache_put": 1000, "log_line": 300, "serve": 500}),
                        ("after", {"render": 1000, "cache_put": 3000, "parse": 2000, "serve": 500})):
        (tmp_path / name).mkdir()
        made = Made(tmp_path / name, [*NAMES, "store"])
        for function, size in sizes.items():
            inside = ["store"] if function == "cache_put" else []
            made.allocate(["main", function, *inside], size)
        paths.append(made.write())
    return paths


def test_flame_graph_of_both(tool, changed):
    before, after = changed
    assert frames_of(tool, "--baseline", before, after) == {
        # The larger of both of each site. A frame that one callee explains is grey.
        "all": (9800, 5800, 6500, "same", "", False),
        "main": (9800, 5800, 6500, "same", "", False),
        "render": (4000, 4000, 1000, "fell", "", False),
        "cache_put": (3000, 1000, 3000, "same", "", False),
        "store": (3000, 1000, 3000, "grew", "", False),
        "parse": (2000, 0, 2000, "grew", "new", False),
        "serve": (500, 500, 500, "same", "", False),
        "log_line": (300, 300, 0, "fell", "gone", True),
    }


def test_flame_graph_says_its_moments(tool, changed):
    before, after = changed
    out = tool("export", "--to", "flamegraph", "--baseline", f"{before}@0", f"{after}@end").stdout
    assert re.search(r"<title>[^<]*\(pid \d+\) at 0 → [^<]*\(pid \d+\) at end: peak</title>", out), out[:600]
    assert " at " not in re.search("<title>(.*?)</title>", tool("export", "--to", "flamegraph", "--baseline", before, after).stdout)[1]


def test_flame_graph_of_what_grew_or_fell(tool, changed):
    """Small leaks are seen although something else was emptied: widths are changes of sites."""
    before, after = changed
    grew = frames_of(tool, "--baseline", before, "--show", "grew", after)
    assert {label: frame[:3] for label, frame in grew.items()} == {
        "all": (4000, 1000, 5000), "main": (4000, 1000, 5000), "cache_put": (2000, 1000, 3000),
        "store": (2000, 1000, 3000), "parse": (2000, 0, 2000)}
    fell = frames_of(tool, "--baseline", before, "--show", "fell", after)
    assert {label: frame[:3] for label, frame in fell.items()} == {
        "all": (3300, 4300, 1000), "main": (3300, 4300, 1000), "render": (3000, 4000, 1000),
        "log_line": (300, 300, 0)}


def test_profile_of_what_changed(tool, changed, tmp_path):
    """Values of pprof are after minus before, and may be negative; what did not change has no sample."""
    before, after = changed
    path = tmp_path / "change.pb.gz"
    tool("export", "--to", "pprof", "--baseline", before, "-o", path, after)
    profile = pprof_reader.Profile(path.read_bytes())
    assert {stack[0][2][0][0]: (values["peak_space"], values["alloc_objects"])
            for stack, values in profile.samples} == \
        {"render": (-3000, 0), "store": (2000, 0), "parse": (2000, 1), "log_line": (-300, -1)}
    # No duration, which is for what changed in one run; and the file of the program is the first.
    assert profile.raw.duration_nanos == 0 and profile.mappings[0][0] == tool.report(after)["program"]
    tool("export", "--to", "pprof", "--baseline", before, "-o", path, before)
    assert pprof_reader.Profile(path.read_bytes()).samples == []


def test_flame_graph_of_nothing_and_wrong_words(tool, changed):
    before, _ = changed
    run = tool("export", "--to", "flamegraph", "--baseline", before, "--show", "grew", before)
    assert "nothing to show" in run.stdout
    for words, message in ((["--to", "collapsed", "--baseline", before], "--baseline is not for --to collapsed"),
                           (["--to", "pprof", "--baseline", before, "--show", "grew"], "--show is not for"),
                           (["--to", "flamegraph", "--show", "grew"], "--show needs --baseline"),
                           (["--to", "flamegraph", "--baseline", before, "--merge"], "exclude"),
                           (["--to", "flamegraph", "--baseline", f"{before}.not"], "made.mallow.not")):
        run = tool("export", *words, before, check=False)
        assert run.returncode in (1, 2) and message in run.stderr and run.stdout == ""
