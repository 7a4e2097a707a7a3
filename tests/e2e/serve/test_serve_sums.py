"""/sums against sums_reference.py on random recordings, both builds; bounds and errors of what it takes."""
import collections
import itertools
import os

import pytest

import series_reference
import sums_reference as reference
from many_blocks import many  # noqa: F401
from servers import example, program, serve, served  # noqa: F401
from queries import TAG, Recorded

KEYS = ["site", "function", "file", "line", "module", "thread", "free_thread", "size", "lifetime", "time",
        "mark", "tag", "pool", "entry"]
NUMBERS = ["bytes", "blocks", "leaked", "total", "calls", "temporary", "slack", "own_peak", "first", "last",
           "growth"]
SUMS = ["bytes", "blocks", "leaked", "total", "calls", "temporary", "slack"]
SORTS = {name: name for name in NUMBERS} | {"lifetime": "mean_ns"}



def key_of(table, index, stacks):
    """A key of an answer in the form of the reference."""
    def part(name):
        return table[name][index] if table[name] is not None else None
    stack = part("backtrace_id")
    return (part("name"), part("file"), part("thread"), None if stack is None else stacks[stack],
            part("least"), part("largest"))


def stacks_of(served, made, answer):
    """{backtrace_id: what the reference calls the stack}"""
    ids = {number for table in answer["keys"] for number in table["backtrace_id"] or []}
    named = {tuple(frame["address"] for frame in reversed(made.frames(stack))): stack
             for stack in made.blocks.groups}
    found = {}
    for number in ids:
        frames = served.json(f"/data/{made.id}/backtrace/{number}")["frames"]
        found[number] = named[tuple(frame["address"] for frame in reversed(frames))]
    return found


def rows_of(answer, stacks):
    """[(keys, columns)]"""
    columns = {**{name: answer[name] for name in NUMBERS}, **answer["lifetimes"]}
    assert {len(column) for column in columns.values()} == {len(answer["key"])}
    assert all(len(set(map(str, indices))) == len(table["name"]) for table, indices
               in zip(answer["keys"], (answer["key"], answer["second"])))
    for i in range(len(answer["key"])):
        indices = [answer["key"][i], *answer["second"][i:i + 1]]
        assert len(indices) == len(answer["keys"])
        yield (tuple(key_of(table, index, stacks) for table, index in zip(answer["keys"], indices)),
               {name: column[i] for name, column in columns.items()})


def is_of(got, wanted):
    """Whether a key is that of the reference, which may have several names for one."""
    return all(name in names if isinstance(names, frozenset) else name == names
               for name, names in zip(got, wanted))


def check_rows(got, wanted):
    left = dict(wanted)
    for keys, columns in got:
        found = next((one for one in left if all(map(is_of, keys, one)) and left[one] == columns), None)
        assert found is not None, (keys, columns, left)
        del left[found]
    assert not left


def can_say(made, by):
    """Whether the recording knows such a key of any block."""
    if by == "mark":
        return any(fact["kind"] == "mark" for fact in made.reader.facts)
    if by == "tag":
        return any(block.event.tag for block in made.blocks.blocks)
    return by != "pool" or bool(made.reader.pool_events)


def ask(served, made, keys, **parameters):
    """The answer, or None if the recording cannot say a key."""
    target = f"/data/{made.id}/sums"
    mute = next((by for by in keys if not can_say(made, by)), None)
    if not mute:
        return served.json(target, by=",".join(keys), **parameters)
    refused = served.refused(f"{target}?by={','.join(keys)}")
    assert refused.startswith(f"by={mute}: the recording has no {mute}s"), refused
    return None


def check(served, made, keys, conditions):
    answer = ask(served, made, keys, **conditions)
    blocks = made.matching(conditions)
    if not answer:
        return False
    wanted = reference.rows(made, blocks, keys)
    assert [table["by"] for table in answer["keys"]] == keys and answer["rows"] == len(answer["key"])
    check_rows(rows_of(answer, stacks_of(served, made, answer)), wanted)
    sums = made.blocks.sums(blocks)
    assert answer["at_ns"] == sums["peak_time"]
    assert answer["all"] == {name: sum(row[name] for row in wanted.values()) for name in SUMS}
    assert (answer["all"]["bytes"], answer["all"]["blocks"]) == (sums["peak_bytes"], sums["peak_blocks"])
    return True


@pytest.mark.parametrize("by", KEYS)
def test_one_key(served, by):
    assert sum(check(served, made, [by], conditions)
               for made in served.made for conditions in [{}, *made.filters(3)]) > 8


def test_by_place(served):
    """Stacks that read the same in a line are one row."""
    several = 0
    for made in served.made:
        for conditions in [{}, *made.filters(3)]:
            answers = [served.json(f"/data/{made.id}/sums", by=by, **conditions) for by in ("site", "place")]
            found = []
            for answer in answers:
                table, sums = answer["keys"][0], collections.defaultdict(lambda: [0] * len(SUMS))
                for row, key in enumerate(answer["key"]):
                    place = tuple(table[part][key] for part in ("name", "file", "line", "call"))
                    sums[place] = [sum(pair) for pair in zip(sums[place], (answer[name][row] for name in SUMS))]
                found.append(dict(sums))
            assert found[0] == found[1] and answers[0]["all"] == answers[1]["all"]
            several += len(found[1]) < answers[0]["rows"]
    assert several


def test_two_keys(served):
    pairs = list(itertools.permutations(KEYS, 2))
    answered = 0
    for made in served.made:
        for keys in made.dice.sample(pairs, 12):
            answered += check(served, made, list(keys), next(made.filters(1)))
    assert answered > 50


@pytest.mark.parametrize("by", ["function", "file", "line", "module"])
def test_inclusive(served, by):
    for made in served.made:
        for conditions in [{}, *made.filters(3)]:
            answer = served.json(f"/data/{made.id}/sums", by=by, inclusive="true", **conditions)
            got = {keys[0][0]: columns for keys, columns in rows_of(answer, {})}
            assert got == reference.inclusive(made, made.matching(conditions), by)


def chains_of(made, members, matching):
    """What `chains` of a row is, of its blocks that match."""
    steps = [block for block in members if block.before and block.index in matching]
    ends = [(block.event.size - 1).bit_length() if block.event.size else 0 for block in steps if not block.after]
    copied = sum(min(block.before.event.size, block.event.size) for block in steps
                 if block.before.event.address != block.event.address)
    least = next((i for i in range(64) if sum(end <= i for end in ends) * 100 >= 95 * len(ends)), 0)
    covered = sum(end <= least for end in ends)
    return len(steps), copied, len(ends), 1 << least if ends else 0, covered


def test_chains(served):
    """The steps of realloc to a row's blocks, and what 95 % of the chains that end there do not exceed."""
    found = 0
    for made in served.made:
        for conditions in [{}, *made.filters(3)]:
            by = made.dice.choice(["site", "function", "thread", "size", "entry"])
            got = served.json(f"/data/{made.id}/sums", by=by, chains="true", **conditions)
            matching = made.matching(conditions)
            members = reference.groups(made, matching, [by])
            numbers = {block.index for block in matching}
            stacks = stacks_of(served, made, got)
            columns = [got["chains"][name] for name in ("steps", "copied", "ended", "reserve", "covered")]
            for (keys, _), chains in zip(rows_of(got, stacks), zip(*columns)):
                assert chains in [chains_of(made, blocks, numbers) for one, blocks in members.items()
                                  if is_of(keys[0], one[0])], (by, conditions)
                found += chains[2] > 0
    assert found > 20
    assert served.json(f"/data/{made.id}/sums")["chains"] is None


def test_orders_and_pages(served):
    """Rows are sorted as asked; pages are the parts of the whole."""
    for made in served.made:
        for sort, column in SORTS.items():
            parameters = {"by": made.dice.choice(["site", "line", "size,thread"]), "sort_by": sort}
            whole = served.json(f"/data/{made.id}/sums", **parameters)
            values = (whole | whole["lifetimes"])[column]
            values = [value or 0 for value in values]
            assert values == sorted(values, reverse=sort not in ("first", "last"))
            turned = served.json(f"/data/{made.id}/sums", order="asc", **parameters)
            values = [value or 0 for value in (turned | turned["lifetimes"])[column]]
            assert values == sorted(values)
            page = served.json(f"/data/{made.id}/sums", count=2, skip=1, **parameters)
            assert page["rows"] == whole["rows"] and page["all"] == whole["all"]
            assert page["total"] == whole["total"][1:3] and page["first"] == whole["first"][1:3]
        for by in ("size", "time", "function"):
            table = served.json(f"/data/{made.id}/sums", by=by, sort_by="key")["keys"][0]
            keys = table["name"] if by == "function" else table["least"]
            assert keys == sorted(keys)


def test_curves(served):
    """Each is what is live of its row at the ends of steps."""
    for made in served.made:
        for conditions in [{}, *made.filters(2)]:
            by = made.dice.choice(["site", "function", "thread", "size", "time", "entry"])
            points = made.dice.choice([1, 3, 64, 256])
            got = served.json(f"/data/{made.id}/sums", by=by, spark=points, count=3, **conditions)
            bounds = series_reference.steps(0, made.blocks.run, points)
            assert got["spark_ns"] == [end for _, end in bounds]
            members = reference.groups(made, made.matching(conditions), [by])
            stacks = stacks_of(served, made, got)
            assert len(got["curve"]) == min(3, len(members))
            for (keys, _), curve in zip(rows_of(got, stacks), got["curve"]):
                curves = [series_reference.points(blocks, bounds)["live_last"]
                          for one, blocks in members.items() if is_of(keys[0], one[0])]
                assert curve in curves


@pytest.mark.parametrize("query, message", [
    ("by=colour", "invalid 'by': 'colour' is none of site place function file line module thread free_thread size "
                  "lifetime time mark tag pool entry"),
    ("by=site,", "invalid 'by': '' is none of site"),
    ("by=,", "invalid 'by': '' is none of site"),
    ("by=fate", "invalid 'by': 'fate' is none of site"),
    ("by=site,size,thread", "invalid 'by': more than two keys"),
    ("by=size,size", "invalid 'by': 'size' twice"),
    ("by=mark", "by=mark: the recording has no marks"),
    ("by=site,tag", "by=tag: the recording has no tags"),
    ("by=pool", "by=pool: the recording has no pools"),
    ("spark=0", "invalid 'spark': it may be 1 to 256"),
    ("spark=257", "invalid 'spark': it may be 1 to 256"),
    ("spark=4&by=site,size", "invalid 'spark': not by two keys, and not of inclusive sums"),
    ("sort_by=median", "invalid 'sort_by': 'median' is none of bytes blocks"),
    ("by=function&inclusive=true&spark=4", "invalid 'spark': not by two keys, and not of inclusive sums"),
    ("shapes=true&by=site,size", "invalid 'shapes': not by two keys"),
    ("shapes=true&by=function&inclusive=true", "invalid 'shapes': not by two keys, and not of inclusive sums"),
    ("chains=true&by=site,size", "invalid 'chains': not by two keys, and not of inclusive sums"),
    ("inclusive=true", "invalid 'inclusive': only by one of function, file, line and module"),
    ("by=function,module&inclusive=true", "invalid 'inclusive': only by one of"),
    ("inclusive=yes", "invalid 'inclusive': 'yes' is none of false true"),
    ("count=-1", "invalid 'count': '-1' is not a whole number"),
    ("top=3", "unknown parameter 'top'"),
])
def test_mistakes_are_named(example, serve, query, message):
    assert serve(example).refused(f"/data/last/sums?{query}").startswith(message)


def test_nothing_to_sum(program, tmp_path, serve):
    server = serve(Recorded(program).write(tmp_path / "empty.mallow", 0))
    for by in ("site", "function", "size,lifetime", "time", "entry"):
        got = server.json("/data/last/sums", by=by, **({} if "," in by else {"spark": 9}))
        assert got["rows"] == 0 and got["key"] == got["bytes"] == got["curve"] == []
        assert set(got["all"].values()) == {0}


def test_many_rows(program, tmp_path, serve):
    """More than an answer has, or than have curves."""
    made = Recorded(program, minor=3)
    for i in range(100_001):
        made.other(i, TAG, i)
        made.allocate(i, 0x100000 + 64 * i, 32, [])
    server = serve(made.write(tmp_path / "many.mallow", 100_001))
    message = "invalid 'count': 100001 rows are more than 100000 at once; fewer with 'count', the next"
    assert server.refused("/data/last/sums?by=tag").startswith(message)
    page = server.json("/data/last/sums", by="tag", skip=99_999, sort_by="key")
    assert page["rows"] == 100_001 and page["keys"][0]["least"] == [99_999, 100_000]
    message = "invalid 'spark': 30000 rows would have more than 524288 points; fewer rows with 'count'"
    assert server.refused("/data/last/sums?by=tag&count=30000&spark=20") == message


FIELDS = {"bytes": "peak_bytes", "blocks": "peak_blocks", "leaked": "leaked_bytes", "total": "total_bytes",
          "calls": "calls", "temporary": "temporary", "own_peak": "own_peak_bytes"}


def numbers_of(rows, fields):
    return sorted([row[field] for field in fields] for row in rows)


@pytest.mark.parametrize("options", [[], ["--sample", "64K"], ["--cull", "1s"]], ids=str)
def test_many_blocks(many, serve, options):  # noqa: F811
    """By sites of the report, by blocks alone, by one thread and by several the sums are the same."""
    path, report = many.record(f"sums{''.join(options)}.mallow", *options)
    both, one = serve(path), serve(path)
    for task in os.listdir(f"/proc/{one.run.pid}/task"):
        os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
    for query in ("", "by=function&spark=9", "by=size,lifetime", "by=time&size_max=2000", "size_min=0"):
        assert both.text(f"/data/last/sums?{query}") == one.text(f"/data/last/sums?{query}")
    # A filter that all blocks match: no sum is taken from sites.
    known = [field for field in FIELDS
             if options[:1] != ["--cull"] or field not in ("total", "calls", "temporary")]
    for query, fields in (("", list(FIELDS)), ("?size_min=0", known)):
        answer = both.json(f"/data/last/sums{query}")
        rows = [{field: answer[field][i] for field in fields} for i in range(answer["rows"])]
        assert numbers_of(rows, fields) == numbers_of(report["sites"], [FIELDS[field] for field in fields])
    by_size = both.json("/data/last/sums?by=size,thread")
    assert sum(by_size["calls"]) == by_size["all"]["calls"] == report["calls"]
    assert (None in by_size["key"]) == (options[:1] == ["--cull"])
