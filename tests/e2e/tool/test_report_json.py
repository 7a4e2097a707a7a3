"""The stacks of `mallow report --json`: once in tables, or in each site."""
import json

import report_json
from made_recording import Made
from command_line import made  # noqa: F401


def test_tables_are_the_stacks(tool, made, record, compile_sample):
    """Both forms say the same, with inlined functions, too."""
    optimised = record([compile_sample("totals_cpp", "gcc", "-O2")], check=False).path
    for path in made, optimised:
        table = tool("report", "--json", path).stdout
        inline = tool("report", "--json", "--stacks", "inline", path).stdout
        assert report_json.load(table) == json.loads(inline)
        assert any(frame["inlined"] for frame in json.loads(table)["frames"]) == (path == optimised)
        frames = [json.dumps(frame) for frame in json.loads(table)["frames"]]
        assert len(frames) == len(set(frames)) > 3
    assert tool("report", "--json", "--stacks", "table", made).stdout == \
        tool("report", "--json", made).stdout


def test_tables_have_what_is_shown(tool, made):
    """The rows of sites that --top leaves out are left out."""
    one = json.loads(tool("report", "--json", "--top", 1, made).stdout)
    row, frames = one["sites"][0]["stack"], 0
    while row is not None:
        row, frames = one["stacks"][row]["parent"], frames + 1
    assert len(one["stacks"]) == frames > 1


def test_no_stack(tool, tmp_path):
    made = Made(tmp_path, ["main"])
    made.allocate([], 7)
    made.allocate(["main"], 8)
    sites = json.loads(tool("report", "--json", made.write()).stdout)["sites"]
    assert [(site["total_bytes"], site["stack"]) for site in sites] == [(8, 0), (7, None)]


def test_recursion(tool, tmp_path):
    """Sites at each depth: 1,200 stacks of 1 to 1,200 frames are 1,201 rows."""
    made = Made(tmp_path, ["main", "visit"])
    for depth in range(1, 1201):
        made.allocate(["main"] + ["visit"] * depth, 16)
    text = tool("report", "--json", made.write()).stdout
    report = json.loads(text)
    assert len(report["sites"]) == 1200 and len(report["stacks"]) == 1201
    assert len(report["frames"]) == 2
    assert len(text) < 600000
    inline = json.loads(tool("report", "--json", "--stacks", "inline", tmp_path / "made.mallow").stdout)
    whole = report_json.load(text)
    for site, shown in zip(whole["sites"], inline["sites"]):
        stack, ends = site["stack"], shown["stack"]
        if len(stack) > 1000:
            assert ends.pop(500)["function"] == f"[{len(stack) - 1000} frames left out]"
            del stack[500:-500]
        assert ends == stack


def test_tables_of_several(tool, made, tmp_path):
    """Of each recording its own; of errors and pools, too."""
    both = json.loads(tool("report", "--json", made, made).stdout)
    assert both[0]["stacks"] == both[1]["stacks"] != []
    bad = Made(tmp_path, ["main", "work"])
    block = bad.allocate(["main", "work"], 10)
    bad.free(block)
    bad.free(block)
    path = bad.write()
    for words in ["--errors"], ["--pools"], ["--merge"]:
        table = tool("report", "--json", *words, path).stdout
        inline = tool("report", "--json", "--stacks=inline", *words, path).stdout
        assert report_json.load(table) == json.loads(inline)


def test_stacks_of_no_json(tool, made):
    run = tool("report", "--stacks", "inline", made, check=False)
    assert (run.returncode, run.stderr) == (2, "mallow: --stacks needs --json\n")
