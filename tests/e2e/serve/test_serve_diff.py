"""Conditions with b. in front make an answer a difference: each side is what a request of its own says, and
two recordings are matched as `mallow diff` matches them."""
import collections
import itertools
import json
import pathlib
import random
import urllib.parse

import pytest

import mallow_reader
import report_json
import test_flame
from made_recording import NAMES, random_made
from cells import BUILDS
from servers import FILTERS, example, program, serve, served, stepping, until  # noqa: F401

COLUMNS = ["bytes", "blocks", "leaked", "total", "calls", "temporary", "slack"]
REPORTED = {"bytes": "peak_bytes", "blocks": "peak_blocks", "leaked": "leaked_bytes", "total": "total_bytes",
            "calls": "calls", "temporary": "temporary"}
METRICS = {"peak": "bytes", "leaked": "leaked", "total": "total", "calls": "calls", "temporary": "temporary"}
KEYS = ["site", "function", "file", "module", "thread", "free_thread", "size", "lifetime", "entry"]
PLACES = ["name", "file", "line", "call", "thread", "backtrace_id", "least", "largest"]


def key_of(answer, row):
    """What the row is called; of two recordings backtrace_id is about common stacks."""
    found = []
    for table, column in zip(answer["keys"], ("key", "second")):
        index = answer[column][row]
        if index is None:
            return None
        found.append(tuple(table[place] and table[place][index] for place in PLACES))
    return tuple(found)


def rows_of(answer):
    """[(key, {column: number})], the key None where a side has none of its own"""
    return [(key_of(answer, i), {column: answer[column][i] for column in COLUMNS})
            for i in range(len(answer["key"]))]


def changed_rows(answer):
    """{key: (before, after)}; each row has its change."""
    before, after = rows_of(answer["before"]), rows_of(answer["after"])
    found = {}
    for i, ((old, then), (new, now)) in enumerate(zip(before, after, strict=True)):
        for column in COLUMNS:
            assert answer["change"][column][i] == now[column] - then[column]
        key = old if new is None else new
        assert key not in found and (old is None or new is None or old == new)
        found[key] = then, now
    for column in COLUMNS:
        assert answer["change"]["all"][column] == \
            answer["after"]["all"][column] - answer["before"]["all"][column]
    return found


def expected(before, after, column):
    nothing = dict.fromkeys(COLUMNS, 0)
    before, after = dict(rows_of(before)), dict(rows_of(after))
    pairs = {key: (before.get(key, nothing), after.get(key, nothing)) for key in {**before, **after}}
    return {key: pair for key, pair in pairs.items() if pair[0][column] != pair[1][column]}


def both(conditions, before):
    """The query of a difference; a side without a condition of the other one says so."""
    left_out = {name: "" for name in conditions if name not in before}
    return {**conditions, **{f"b.{name}": value for name, value in {**before, **left_out}.items()}}


def pairs_of(made, count):
    """Conditions of both sides, never quite alike."""
    for conditions in made.filters(count):
        for before in made.filters(1):
            if before or conditions:
                yield conditions, before


def test_sums_of_two_conditions(served):
    """Of one recording: both sides as each alone, row by row, by any key."""
    changed = 0
    for number, made in enumerate(served.made):
        dice = random.Random(number)
        for conditions, before in pairs_of(made, 8):
            column = dice.choice(COLUMNS)
            asked = {"by": dice.choice(KEYS + ["thread,size", "function,entry"]), "sort_by": column}
            if asked["by"] in ("function", "file", "module") and dice.random() < 0.5:
                asked["inclusive"] = "true"
            target = f"/data/{made.id}/sums"
            answer = served.json(target, **asked, **both(conditions, before))
            old, new = served.json(target, **asked, **before), served.json(target, **asked, **conditions)
            assert changed_rows(answer) == expected(old, new, column), (asked, conditions, before)
            for side, alone in (("before", old), ("after", new)):
                assert answer[side]["all"] == alone["all"] and answer[side]["at_ns"] == alone["at_ns"]
            sizes = [abs(change) for change in answer["change"][column]]
            assert sizes == sorted(sizes, reverse=True)
            assert answer["after"]["rows"] == answer["before"]["rows"] == len(sizes)
            changed += len(sizes)
    assert changed > 200


def test_no_difference(served):
    """A side that is the same leaves no rows."""
    for made in served.made[:4]:
        answer = served.json(f"/data/{made.id}/sums", **{"to": "100%", "b.to": "100%"})
        assert answer["before"] == answer["after"] and answer["after"]["rows"] == 0
        graph = served.json(f"/data/{made.id}/flame", **{"show": "grew", "to": "100%", "b.to": "100%"})
        assert graph["flame"]["bytes"] == graph["before"] == graph["after"] == [0]


def test_pages_and_curves(served):
    """Pages are cut out of the whole; curves are those of each side alone."""
    made = max(served.made, key=lambda one: len(one.blocks.blocks))
    target, asked = f"/data/{made.id}/sums", {"by": "site", "to": "100%", "b.to": "30%"}
    whole = served.json(target, **asked, spark=3)
    assert whole["after"]["rows"] >= 3
    for skip, count in itertools.product((0, 1, 2, 90), (0, 1, 2)):
        page = served.json(target, **asked, spark=3, skip=skip, count=count)
        for side in ("before", "after"):
            assert page[side]["curve"] == whole[side]["curve"][skip:skip + count]
            assert page[side]["bytes"] == whole[side]["bytes"][skip:skip + count]
        assert page["change"]["bytes"] == whole["change"]["bytes"][skip:skip + count]
        assert page["after"]["rows"] == whole["after"]["rows"]
    for side, to in (("before", "30%"), ("after", "100%")):
        alone = served.json(target, by="site", to=to, spark=3)
        curves = dict(zip((key for key, _ in rows_of(alone)), alone["curve"]))
        for (key, _), curve in zip(rows_of(whole[side]), whole[side]["curve"]):
            assert curve == curves.get(key, [0, 0, 0])


# --- the same numbers as `mallow diff` ---

@pytest.fixture(params=BUILDS)
def builds(request, tmp_path, serve):
    """builds(seed): a server of two recordings whose functions lie elsewhere; (server, ids, paths)"""
    def start(seed):
        choose = random.Random(seed)
        orders = [choose.sample(NAMES[1:], choose.randrange(2, 6)) + ["main"] for _ in range(2)]
        paths = [random_made(tmp_path / name, f"{seed} {name}", names)
                 for name, names in zip(("before", "after"), orders)]
        server = serve(*paths, path=request.getfixturevalue(request.param))
        return server, [mallow_reader.read(path).header.id for path in paths], paths

    return start


def reported(side):
    return {column: side[name] for column, name in REPORTED.items()}


def names_of_rows(answer):
    """{name: (before, after)} without what reports do not have"""
    return {key[0][0]: tuple({column: side[column] for column in REPORTED} for side in sides)
            for key, sides in changed_rows(answer).items()}


@pytest.mark.parametrize("seed", range(3))
def test_two_builds(seed, builds, tool):
    server, (old, new), paths = builds(seed)
    for by, (metric, column) in itertools.product(("function", "module", "file"), METRICS.items()):
        said = report_json.load(tool("diff", "--json", "--by", by, "--sort", metric, *paths).stdout)
        answer = server.json(f"/data/{new}/sums", **{"by": by, "sort_by": column, "b.id": old})
        assert names_of_rows(answer) == {
            row["name"]: (reported(row["before"]), reported(row["after"])) for row in said["rows"]}
        assert answer["change"][column] == [row["change"] for row in said["rows"]]
        assert answer["change"]["all"][column] == said["change"]


@pytest.mark.parametrize("seed", range(3))
def test_sites_of_two_builds(seed, builds, tool):
    """By stack, as columns: a stack is known by its number on the common stacks."""
    server, (old, new), paths = builds(seed)
    said = report_json.load(tool("diff", "--json", "--by", "site", "--sort", "total", *paths).stdout)
    answer = server.json(f"/data/{new}/sums", **{"by": "site", "sort_by": "total", "b.id": old})
    pairs = list(zip((row for _, row in rows_of(answer["before"])),
                     (row for _, row in rows_of(answer["after"]))))
    as_said = collections.Counter(json.dumps([reported(row["before"]), reported(row["after"])])
                                  for row in said["rows"])
    assert as_said == collections.Counter(
        json.dumps([{column: side[column] for column in REPORTED} for side in pair]) for pair in pairs)
    graph = server.json(f"/data/{new}/flame", **{"metric": "total", "b.id": old, "cut": 0})
    assert (graph["before"][0], graph["after"][0]) == \
        (said["before"]["total_bytes"], said["after"]["total_bytes"])


def test_two_moments(builds, tool):
    server, (_, new), (_, path) = builds("moments")
    said = report_json.load(tool("diff", "--json", f"{path}@20%", f"{path}@80%").stdout)
    answer = server.json(f"/data/{new}/sums", **{"by": "function", "alive_at": "80%", "b.alive_at": "20%"})
    assert {name: [side["bytes"] for side in sides] for name, sides in names_of_rows(answer).items()} == {
        row["name"]: [row[side]["peak_bytes"] for side in ("before", "after")] for row in said["rows"]}
    assert answer["change"]["all"]["bytes"] == said["change"]


def test_conditions_of_two_builds(builds):
    """A condition is about each recording as it was recorded; without b. it holds for both."""
    server, (old, new), _ = builds("conditions")
    for common, before in [({"size_min": 1000}, {}), ({"function_regex": "parse|serve"}, {"size_max": 3000}),
                           ({"lifetime": "only_leaked"}, {"lifetime": "all"})]:
        asked = {"by": "function"}
        answer = server.json(f"/data/{new}/sums", **asked, **common,
                             **{"b.id": old, **{f"b.{name}": value for name, value in before.items()}})
        alone = [server.json(f"/data/{old}/sums", **asked, **{**common, **before}),
                 server.json(f"/data/{new}/sums", **asked, **common)]
        wanted = expected(*[{**one, "keys": [{**one["keys"][0], "file": one["keys"][0]["name"]}]}
                            for one in alone], "bytes")
        assert {key[0][0]: pair for key, pair in changed_rows(answer).items()} == \
            {key[0][0]: pair for key, pair in wanted.items()}


def test_threads_and_classes_of_two_recordings(served):
    """What is no stack matches by its name or its range; several threads of one name count as one."""
    for one, other in zip(served.made, served.made[1:]):
        for by in ("thread", "size", "lifetime", "entry"):
            answer = served.json(f"/data/{one.id}/sums", **{"by": by, "sort_by": "calls", "b.id": other.id})
            found = {}
            for (old, then), (new, now) in zip(rows_of(answer["before"]), rows_of(answer["after"])):
                [key] = old or new
                assert old is None or new is None or old[0][0] == new[0][0]
                key = key[0], key[6], key[7]
                assert key not in found
                found[key] = then["calls"], now["calls"]
            sides = []
            for made in (other, one):
                sums = collections.Counter()
                for [key], row in rows_of(served.json(f"/data/{made.id}/sums", by=by)):
                    sums[key[0], key[6], key[7]] += row["calls"]
                sides.append(sums)
            assert found == {key: (sides[0][key], sides[1][key]) for key in {**sides[0], **sides[1]}
                             if sides[0][key] != sides[1][key]}


# --- flame graphs ---

def values_of(made, conditions, metric):
    """{stack: (its names, outermost first, the value)}"""
    found = {}
    for block in test_flame.blocks_of(made, conditions, metric):
        stack = made.blocks.stack(block)
        names = found.get(stack) or [tuple(test_flame.frame_of(frame, "functions")[0]
                                           for frame in made.frames(stack)), 0]
        found[stack] = [names[0], names[1] + test_flame.value_of(metric, block)]
    return found


def shown(show, before, after):
    if show == "larger":
        return max(before, after)
    return max(after - before if show == "grew" else before - after, 0)


def wanted_nodes(made, before, after, metric, show):
    """{path: [shown, before, after]}"""
    sides = [values_of(made, conditions, metric) for conditions in (before, after)]
    nodes = collections.defaultdict(lambda: [0, 0, 0])
    nodes[()]
    for stack in {**sides[0], **sides[1]}:
        names = next(side[stack][0] for side in sides if stack in side)
        then, now = (side[stack][1] if stack in side else 0 for side in sides)
        value = shown(show, then, now)
        for depth in range(len(names) + 1 if value else 0):
            for i, number in enumerate((value, then, now)):
                nodes[names[:depth]][i] += number
    return dict(nodes)


def got_nodes(answer):
    graph, paths, found = answer["flame"], [], {}
    for i, parent in enumerate(graph["parent"]):
        paths.append(() if parent < 0 else paths[parent] + (graph["names"][graph["name"][i]],))
        found[paths[i]] = [graph["bytes"][i], answer["before"][i], answer["after"][i]]
    return found


def test_random_graphs(served):
    several = 0
    for number, made in enumerate(served.made):
        dice = random.Random(number)
        for conditions, before in pairs_of(made, 8):
            metric, show = dice.choice(test_flame.METRICS), dice.choice(["larger", "grew", "fell"])
            answer = served.json(f"/data/{made.id}/flame", metric=metric, show=show, cut=0,
                                 **both(conditions, before))
            wanted = wanted_nodes(made, before, conditions, metric, show)
            assert got_nodes(answer) == wanted, (metric, show, conditions, before)
            several += len(wanted) > 2
    assert several > 10


# --- the summary ---

def test_summaries(served):
    for made in served.made[:6]:
        other = served.made[-1]
        for conditions, before in pairs_of(made, 3):
            target = f"/data/{made.id}/summary"
            answer = served.json(target, **both(conditions, before))
            old, new = served.json(target, **before), served.json(target, **conditions)
            assert answer["before"]["matched"] == old["matched"]
            assert answer["after"]["matched"] == new["matched"]
            for name, number in answer["change"].items():
                assert number == new["matched"][name] - old["matched"][name]
        answer = served.json(f"/data/{made.id}/summary", **{"b.id": other.id})
        assert [answer[side]["facts"]["id"] for side in ("before", "after")] == [other.id, made.id]


# --- what is refused ---

@pytest.mark.parametrize("query, text", [
    ("b.tp=3s", "unknown parameter 'b.tp': did you mean 'b.to'?"),
    ("b.=3s", "unknown parameter 'b.': did you mean 'b.id'?"),
    ("b.b.to=3s", "unknown parameter 'b.b.to': did you mean 'b.to'?"),
    ("b.by=site", "unknown parameter 'b.by'"),
    ("b.count=3", "unknown parameter 'b.count'"),
    ("b.to=", "parameter 'b.to' has no value"),
    ("b.id=", "parameter 'b.id' has no value"),
    ("b.to=3s&b.to=3s", "parameter 'b.to' is given twice"),
    ("b.size_min=many", "b.size_min: "),
    ("b.to=nomark", "before: to: 'nomark': "),
    ("b.function_regex=(", "b.function_regex: '(' is no value of function_regex: "),
    ("by=mark&b.to=3s", "by=mark: "),
    ("sort_by=lifetime&b.to=3s", "invalid 'sort_by': a difference is sorted by how much "),
    ("inclusive=true&spark=2&by=file&b.to=3s", "invalid 'spark': "),
])
def test_refusals(query, text, example, serve, asan_mallow):
    server = serve(example, path=asan_mallow)
    assert server.refused(f"/data/last/sums?{query}").startswith(text)


def test_refusals_of_recordings(served):
    one, other = (made.id for made in served.made[:2])
    assert served.refused(f"/data/{one}/sums?b.id={'0' * 32}", 404) == \
        "data not found: 'b.id' wants an id of /list"
    assert served.refused(f"/data/{one}/sums?b.id=../{other}", 404)
    for by in ("line", "place"):
        assert served.refused(f"/data/{one}/sums?by={by}&b.id={other}").startswith("invalid 'by': ")
    assert served.refused(f"/data/{one}/flame?show=grew").startswith("'show' is of differences alone")
    assert served.refused(f"/data/{one}/flame?b.to=1s&root=9999.1").startswith("root '9999.1' is no node")
    # Whatever was held is given back: the server answers on, and ends without a leak.
    assert served.json(f"/data/{one}/sums", **{"b.id": other})["after"]["at_ns"] >= 0


def test_hostile_parameters(served):
    """Anything with b. in front is answered, or refused in one line; nothing breaks."""
    dice = random.Random(9)
    ids = [made.id for made in served.made]
    names = [*FILTERS, "id", "by", "show", "", ".", "b.", "b.id", "\0", "a" * 3000, "to%", "é"]
    values = ["", "1", "-1", "18446744073709551616", "50%", "peak", "last", "only_leaked", "(", "a" * 3000, "%s%n",
              "\n", "é", "leak:*", "../..", "0x", *ids]
    answered = refused = 0
    for _ in range(500):
        what = dice.choice(["sums?by=function", "sums?by=thread,size", "sums?spark=3", "flame?show=fell", "summary?"])
        items = [("b." + dice.choice(names), dice.choice(values)) for _ in range(dice.randrange(1, 4))]
        items += [(dice.choice(sorted(FILTERS)), dice.choice(values)) for _ in range(dice.randrange(2))]
        if dice.random() < 0.5:
            items = [("b.id", dice.choice(ids)), *items[1:]]
        target = f"/data/{dice.choice(ids)}/{what}&{urllib.parse.urlencode(items)}"
        status, _, body = served.request(target)
        assert status in (200, 400, 404), (target, body)
        if status == 200:
            assert json.loads(body)
            answered += 1
        else:
            assert body.endswith(b"\n") and body.count(b"\n") == 1, (target, body)
            refused += 1
    assert answered > 30 and refused > 30


def test_routes_without_differences(served):
    """Each says so in one line that names those which have one."""
    document = served.json("/openapi.json")
    have = {path for path, item in document["paths"].items() if any(
        "$ref" in one and one["$ref"].endswith("/before") for one in item["get"]["parameters"])}
    assert have == {"/data/{id}/sums", "/data/{id}/export/sums.csv", "/data/{id}/export/svg",
                    "/data/{id}/export/svg/{name}", "/data/{id}/summary", "/data/{id}/flame"}
    for path in set(document["paths"]) - have:
        target = path.replace("{id}", "last").replace("{backtrace}", "0").replace("{name}", "x")
        text = served.refused(f"{target}?b.to=1s")
        assert text.startswith("'b.to' asks for a difference, and /"), path
        assert all(one.replace("{id}", "<id>") in text for one in have if "{name}" not in one)


def test_pairs_are_given_back(example, tmp_path, serve, asan_mallow):
    """With room for one recording each answer is still right, and no file stays mapped for a pair."""
    paths = [tmp_path / f"{i}.mallow" for i in range(3)]
    for i, path in enumerate(paths):
        data = bytearray(example.read_bytes())
        data[16:32] = bytes([i + 1]) * 16
        path.write_bytes(data)
    server = serve("--max-open", "1", *paths, path=asan_mallow)
    ids = [f"{i + 1:02x}" * 16 for i in range(3)]
    for one, other in list(itertools.permutations(ids, 2)) * 2:
        answer = server.json(f"/data/{one}/sums", **{"to": "5s", "b.to": "2s", "b.id": other})
        assert answer["change"]["all"]["calls"] == 4 - 2
    assert server.json(f"/data/{ids[0]}/summary")["all"]["calls"] == 6
    maps = pathlib.Path(f"/proc/{server.run.pid}/maps").read_text()
    assert sum(str(path) in maps for path in paths) <= 1


def test_a_recording_that_grows(example, stepping, serve, asan_mallow):
    """The pair is made anew: an answer is about what the file holds by now."""
    stepping.step(1)
    server = serve(example, stepping.folder, path=asan_mallow)
    old, new = (row["id"] for row in server.json("/list"))

    def seen():
        answer = server.json(f"/data/{new}/sums", **{"size_min": 4321, "size_max": 4321, "b.id": old})
        assert answer["before"]["all"]["calls"] == 0
        return answer["change"]["all"]["calls"]

    for count in range(1, 4):
        until(lambda: seen() == count)
        stepping.step(1)


def test_entity_tags(served):
    """An answer is the same only if both recordings are."""
    one, other, third = (made.id for made in served.made[:3])
    tags = set()
    for query in (f"b.id={other}", f"b.id={third}", "b.to=1s"):
        _, headers, _ = served.request(f"/data/{one}/sums?{query}")
        status, _, _ = served.request(f"/data/{one}/sums?{query}", If_None_Match=headers["ETag"])
        assert status == 304
        tags.add(headers["ETag"])
    assert len(tags) == 3
