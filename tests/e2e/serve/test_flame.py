"""mallow serve's /flame against the slow, obvious way: each stack as a list of names, folded, grouped and cut
by itself; and against what `mallow report` says of the same blocks."""
import collections
import itertools
import json
import random
import re

import pytest

from servers import program, served  # noqa: F401

METRICS = ["peak", "total", "calls", "temporary", "leaked", "slack"]
FOLDS = ["none", "plumbing", "trunk", "plumbing,trunk", "recursion", "plumbing,recursion", "trunk,recursion",
         "plumbing,trunk,recursion"]
LINE = re.compile(r" \S+:\d+$")


class Stack:
    """One stack and what it adds to a graph. frames: (name, plumbing, own), outermost first."""

    def __init__(self, frames, blocks, value, run):
        self.frames, self.value, self.blocks = frames, value, len(blocks)
        self.leaked = sum(block.event.size for block in blocks if block.freed is None)
        self.lived = sum((run if block.freed is None else block.freed) - block.time for block in blocks)


def frame_of(frame, merge):
    """(name, plumbing, own, the frame's pc)"""
    gone = frame["function"] is None
    name = f"[libgone.so]+0x{frame['address'] - 0x70000000:x}" if gone else frame["function"]
    if merge == "modules":
        name = frame["library"] or name
    elif merge == "files":
        name = frame["source"] or name
    plumbing = not gone and frame["function"].startswith("_mi_")
    return name, plumbing, not gone and not plumbing, frame["address"]


def blocks_of(made, conditions, metric):
    """The matching blocks that a metric is about."""
    matching = made.matching(conditions)
    if metric == "peak":
        live = {block.index for block in made.blocks.sums(matching)["peak_live"]}
        return [block for block in matching if block.index in live]
    return [block for block in matching if (metric != "temporary" or block.temporary)
            and (metric != "leaked" or block.freed is None)]


def value_of(metric, block):
    if metric in ("calls", "temporary"):
        return 1
    return block.event.usable - block.event.size if metric == "slack" else block.event.size


def stacks_of(made, conditions, metric, merge):
    found = collections.defaultdict(list)
    for block in blocks_of(made, conditions, metric):
        found[made.blocks.stack(block)].append(block)
    for stack, blocks in found.items():
        value = sum(value_of(metric, block) for block in blocks)
        # What has no width has no place below the root, but counts there: blocks of no bytes.
        frames = [frame_of(frame, merge) for frame in made.frames(stack)] if value else []
        yield Stack(frames, blocks, value, made.blocks.run)


def fold_plumbing(stacks):
    """A run is its outermost frame, in stacks that have own code, or go on to it in another stack."""
    whole = {tuple(frame[3] for frame in stack.frames): any(frame[2] for frame in stack.frames)
             for stack in stacks}
    own = {pcs[:i] for pcs, has in whole.items() if has for i in range(len(pcs) + 1)}
    for stack in stacks:
        pcs, kept, run = tuple(frame[3] for frame in stack.frames), [], False
        for i, frame in enumerate(stack.frames):
            folds = frame[1] and pcs[:i + 1] in own
            if not (folds and run):
                kept.append(frame)
            run = folds
        stack.frames = kept


def join_places(stacks):
    for stack in stacks:
        stack.frames = [next(group) for _, group in itertools.groupby(stack.frames, key=lambda frame: frame[0])]


def cut_recursion(names):
    kept, at = [], 0
    while at < len(names):
        kept.append(names[at])
        at = len(names) - names[::-1].index(names[at])
    return kept


class Graph:
    """Stacks as lists of names, in the direction of the graph; nodes as nested dicts."""

    def __init__(self, stacks, trunk, cut):
        self.trunk, self.cut = trunk, cut
        self.total = sum(stack.value for _, stack in stacks)
        self.root = self.node("all", stacks, 0, True)

    def children(self, entries, depth):
        below = collections.defaultdict(list)
        for entry in entries:
            if len(entry[0]) > depth:
                below[entry[0][depth]].append(entry)
        return below

    def node(self, name, entries, depth, root=False):
        stacks = [stack for _, stack in entries]
        value, blocks = sum(stack.value for stack in stacks), sum(stack.blocks for stack in stacks)
        node = {"name": name, "bytes": value, "blocks": blocks, "own": 0, "rest": 0, "more": 0, "nodes": [],
                "leaked": sum(stack.leaked for stack in stacks),
                "age": sum(stack.lived for stack in stacks) // blocks if blocks else 0}
        names = [name]
        while True:
            node["own"] += sum(stack.value for names_, stack in entries if len(names_) == depth)
            trunk = None
            for child, below in self.children(entries, depth).items():
                width = sum(stack.value for _, stack in below)
                if width * self.cut < self.total and self.cut:
                    node["rest"] += width
                    node["more"] += 1
                elif self.trunk and not root and width >= 0.95 * value:
                    trunk = child, below
                else:
                    node["nodes"].append(self.node(child, below, depth + 1))
            if not trunk:
                break
            names.append(trunk[0])
            entries, depth = trunk[1], depth + 1
        if len(names) > 1:
            node["name"] = " > ".join(names if len(names) == 2 else [names[0], "…", names[-1]])
        node["nodes"].sort(key=lambda child: (child["name"], child["bytes"], child["own"]))
        return node


def graph_of(answer, strip=lambda name: name):
    """An answer as Graph has it. Parents come first, wider ones before narrower ones."""
    columns = ["parent", "name", "bytes", "blocks", "own", "rest", "more", "leaked", "age"]
    nodes = []
    for parent, name, *rest in zip(*(answer[column] for column in columns)):
        assert -1 <= parent < len(nodes) and (parent == -1) == (not nodes)
        node = dict(zip(columns[1:], [strip(answer["names"][name]), *rest]), nodes=[])
        assert not nodes or 0 < node["bytes"] <= nodes[-1]["bytes"] or parent == 0
        nodes.append(node)
        if parent >= 0:
            nodes[parent]["nodes"].append(node)
    for node in nodes:
        assert node["bytes"] == node["own"] + node["rest"] + sum(child["bytes"] for child in node["nodes"])
        node["nodes"].sort(key=lambda child: (child["name"], child["bytes"], child["own"]))
    return nodes[0]


def wanted(made, conditions, metric="peak", direction="callees", merge="functions", fold="none", cut=0,
           focus=None):
    stacks = list(stacks_of(made, conditions, metric, merge))
    if "plumbing" in fold:
        fold_plumbing(stacks)
    if merge in ("files", "modules"):
        join_places(stacks)
    entries = []
    for stack in stacks:
        names = [frame[0] for frame in stack.frames]
        if "recursion" in fold:
            names = cut_recursion(names)
        if focus and focus not in names:
            continue
        at = names.index(focus) if focus else None
        if direction == "callers":
            names = names[::-1] if at is None else names[:at][::-1]
        elif focus:
            names = names[at + 1:]
        entries.append((names, stack))
    graph = Graph(entries, "trunk" in fold, cut).root
    graph["name"] = focus if focus and entries else "all"
    return graph


def test_random_graphs(served):
    """Every metric, direction, merge and fold, with filters and cuts."""
    for number, made in enumerate(served.made):
        dice = random.Random(number)
        for conditions in [{}, *made.filters(12)]:
            merge = dice.choice(["functions", "functions", "lines", "files", "modules"])
            options = {"metric": dice.choice(METRICS), "direction": dice.choice(["callees", "callers"]),
                       "merge": merge, "cut": dice.choice([0, 0, 3, 20])}
            # How these two follow on one another is for functions to say: a file is many functions.
            options["fold"] = dice.choice(FOLDS if merge in ("functions", "lines") else ["none", "trunk"])
            got = served.json(f"/data/{made.id}/flame", **options, **conditions)
            assert got["metric"] == options["metric"]
            strip = (lambda name: " > ".join(LINE.sub("", part) for part in name.split(" > "))) \
                if merge == "lines" else lambda name: name
            assert graph_of(got, strip) == wanted(made, conditions, **options), (conditions, options)


def test_focus(served):
    """All places of a function: what they called, and who called them."""
    found = 0
    for made in served.made:
        for conditions in [{}, *made.filters(3)]:
            for direction in ["callees", "callers"]:
                for fold in ["none", "recursion"]:
                    options = {"metric": "total", "direction": direction, "cut": 0, "focus": "outer", "fold": fold}
                    got = graph_of(served.json(f"/data/{made.id}/flame", **options, **conditions))
                    assert got == wanted(made, conditions, **options), (conditions, options)
                    found += bool(got["bytes"])
    assert found > 50


def subtree(answer, index):
    """Nodes below one of an answer, as an answer."""
    kept = {index: 0}
    for i, parent in enumerate(answer["parent"]):
        if parent in kept and i != index:
            kept[i] = len(kept)
    return {"names": answer["names"], **{
        key: [column[i] if key != "parent" else kept.get(column[i], -1) if i != index else -1 for i in kept]
        for key, column in answer.items() if key not in ("metric", "names", "modules", "plumbing") and column}}


@pytest.mark.parametrize("options", [
    {}, {"direction": "callers"}, {"focus": "outer"}, {"focus": "outer", "direction": "callers"}])
def test_a_node_as_root(served, options):
    """A node asked for by its id has below it what it had."""
    asked = 0
    for made in served.made:
        options = {"metric": "total", "cut": 0, **options}
        whole = served.json(f"/data/{made.id}/flame", **options)
        for i, identity in enumerate(whole["id"]):
            got = graph_of(served.json(f"/data/{made.id}/flame", root=identity, **options))
            assert got == graph_of(subtree(whole, i))
            asked += 1
        for wrong in ["x", "1", "1.", "01.1", "1.1x", "4294967295.1", "0.4294967295", "1.-1"]:
            assert served.refused(f"/data/{made.id}/flame?root={wrong}").startswith(f"root '{wrong}' is no node")
    assert asked > 15


def test_the_widest_come_first(served):
    """max: the widest nodes, each with what is left out of it."""
    for made in served.made:
        whole = served.json(f"/data/{made.id}/flame", metric="calls", cut=0)
        count = len(whole["id"])
        for most in {1, 2, count // 2 + 1, count, count + 1}:
            got = served.json(f"/data/{made.id}/flame", metric="calls", cut=0, max=most)
            graph_of(got)
            assert got["id"] == whole["id"][:most] and got["bytes"] == whole["bytes"][:most]
            assert sum(got["more"]) == sum(
                parent < most <= i for i, parent in enumerate(whole["parent"]) if i)
        assert served.refused(f"/data/{made.id}/flame?max=0") == "invalid 'max': '0' has no room for the root"


def test_as_reports_say(served, tool):
    """The root is the sum that a report has of the same blocks."""
    fields = {"peak": "peak_bytes", "total": "total_bytes", "calls": "calls", "temporary": "temporary",
              "leaked": "leaked_bytes"}
    for made in served.made:
        for conditions in [{}, *made.filters(3)]:
            option = [f"--{name.replace('_', '-')}={value}" for name, value in conditions.items()]
            report = json.loads(tool("report", "--json", *option, made.path).stdout)
            for metric, field in fields.items():
                got = served.json(f"/data/{made.id}/flame", metric=metric, **conditions)
                assert got["bytes"][0] == report[field], (conditions, metric)
                if metric in ("peak", "leaked"):
                    assert got["blocks"][0] == report[field.replace("bytes", "blocks")], (conditions, metric)


def test_all_columns(served):
    """Calls and temporary are those of /sums, whatever the metric counts; the widths are the same with them."""
    compared = 0
    for made in served.made:
        path = f"/data/{made.id}/flame"
        for number, conditions in enumerate([{}, *made.filters(3)]):
            options = {"metric": METRICS[number], "direction": ["callees", "callers"][number % 2], "cut": number * 5}
            plain = served.json(path, **options, **conditions)
            assert plain["calls"] is plain["temporary"] is None
            full = served.json(path, columns="all", **options, **conditions)
            # Blocks of no bytes have a place below the root, as they have calls.
            same = ["name", "parent", "folded", "bytes", "own", "rest", "more", "leaked"]
            assert [full[column] for column in same] == [plain[column] for column in same]
            sums = served.json(f"/data/{made.id}/sums", by="function", inclusive="true", **conditions)
            assert (full["calls"][0], full["temporary"][0]) == (sums["all"]["calls"], sums["all"]["temporary"])
            names = [sums["keys"][0]["name"][key] for key in sums["key"]]
            for row, name in enumerate(names[:8]):
                focused = served.json(path, columns="all", metric="peak", focus=name, **conditions)
                # What has no name is a row of /sums; plumbing is none; the graph joins functions of several modules.
                if focused["names"][0] == "all" or focused["plumbing"][0] or names.count(name) > 1:
                    continue
                assert (focused["calls"][0], focused["temporary"][0]) == (sums["calls"][row], sums["temporary"][row])
                compared += focused["bytes"][0] == 0
    assert compared  # some of what has no width


def test_what_a_node_stands_for(served):
    """folded: of a run of plumbing its frames in the deepest stack; of a row of frames all of them."""
    for made in served.made:
        path = f"/data/{made.id}/flame"
        whole = served.json(path, metric="calls", cut=0)
        assert set(whole["folded"]) == {1}
        folded = served.json(path, metric="calls", cut=0, fold="trunk")
        for name, count in zip(folded["name"], folded["folded"]):
            parts = folded["names"][name].split(" > ")
            assert count == len(parts) if "…" not in parts else count > 2
        for option in ["plumbing", "recursion"]:
            folded = served.json(path, metric="calls", cut=0, fold=option)
            for name, count in zip(folded["name"], folded["folded"]):
                assert count == 1 or option == "recursion" or folded["plumbing"][name]
