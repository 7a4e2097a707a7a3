"""mallow serve: whole answers of every path against tests/golden/serve, which people have read.

    MALLOW_ACCEPT=1 pytest tests/e2e/test_serve_golden.py

takes the answers as they are now. Read the difference before you commit it: it is what clients will
see, and a wrong one is a fault of the server.
"""
import array
import json
import os
import re
import urllib.parse

import pytest

import golden_recording
import json_schema
import pprof_reader
from conftest import TOP
from serving import FILTERS, Server, parameters_of, program, served  # noqa: F401

GOLDEN = TOP / "tests" / "golden" / "serve"
LAMP = bytes(range(0x20, 0x30)).hex()

# {file: what is asked for}. A path of the server that none of them asks for fails a test, and so does
# a parameter.
TARGETS = {
    "list": ["/list"],
    "openapi": ["/openapi.json"],
    "allocations": [
        "/data/last/allocations",
        f"/data/{LAMP}/allocations",
        "/data/last/allocations?sort_by=size&order=dsc&count=3",
        "/data/last/allocations?sort_by=size&order=asc&skip=1&count=2",
        "/data/last/allocations?sort_by=address&skip=16",
        "/data/last/allocations?sort_by=timestamp&order=dsc&lifetime=only_temporary&count=1",
        "/data/last/allocations?from=50%&strip_template_args=true&count=1",
        "/data/last/allocations?function_regex=push_back&strip_template_args=true",
        "/data/last/allocations?count=0",
        "/data/last/allocations?skip=18446744073709551615",
    ],
    "raw_allocations": [
        "/data/last/raw_allocations",
        "/data/last/raw_allocations?sort_by=size&order=dsc&skip=1&count=2",
        "/data/last/raw_allocations?size_min=64G",
    ],
    "allocation_groups": [
        "/data/last/allocation_groups",
        "/data/last/allocation_groups?group_allocations_min=2&group_leaked_allocations_min=50%&sort_by=all.size&count=3",
        "/data/last/allocation_groups?sort_by=only_matched.allocated_count&order=dsc&skip=1&count=1",
        "/data/last/allocation_groups?sort_by=all.min_timestamp&order=asc&count=1",
        "/data/last/allocation_groups?lifetime=only_leaked&function_regex=grow|push_back&strip_template_args=true",
        "/data/last/allocation_groups?size_max=0&count=0",
    ],
    "allocation_ascii_tree": ["/data/last/allocation_ascii_tree?" + query for query in (
        "", "strip_template_args=true&function_regex=push_back",
        "lifetime=all&size_min=1000", "lifetime=only_leaked", "lifetime=only_temporary",
        "lifetime=only_not_deallocated_in_current_range&to=40%",
        "lifetime=only_deallocated_in_current_range&to=40%",
        "lifetime=only_whole_group_leaked", "lifetime=only_chain_leaked",
        "from=1700000002&to=1700000004", "from=20%&until=60%", "from=12.5%", "from=open&to=6s",
        "alive_at=peak", "alive_at=2s&alive_at_2=6s", "lifetime_min=250ms&lifetime_max=1s",
        "lifetime_max=50ms", "size_max=48", "slack_min=9&slack_max=40",
        "address_min=0x7f10c0000000&address_max=139711053070336", "mmaped=yes", "arena=non_main",
        "thread=worker", "thread=4100&tag=7", "marker=0&size_max=100", "pool=tickets",
        "pool=0x7f10c0000200", "source_regex=orders", "module_regex=libpaper",
        "negative_function_regex=main|worker", "negative_source_regex=serve",
        "backtrace_depth_min=5&backtrace_depth_max=5", "backtraces=2",
        "group_allocations_min=2&group_allocations_max=2",
        "group_leaked_allocations_min=1&group_leaked_allocations_max=50%",
        "group_interval_min=2%&group_interval_max=5s", "chain_length_min=3&chain_length_max=3",
        "chain_lifetime_min=200ms&chain_lifetime_max=1s",
        "position_in_chain_min=1&position_in_chain_max=1", "first_size_min=64&first_size_max=64",
        "last_size_min=1000&last_size_max=1000")],
    "tree": ["/data/last/tree",
             "/data/last/tree?lifetime=only_leaked&from=open",
             "/data/last/tree?function_regex=orders&strip_template_args=true",
             "/data/last/tree?size_min=64G"],
    "backtrace": [f"/data/last/backtrace/{i}" for i in (0, 3, 5, 4294967295)] +
                 ["/data/last/backtrace/3?strip_template_args=true"],
    "flamegraph": ["/data/last/export/flamegraph?lifetime=only_leaked",
                   "/data/last/export/flamegraph/corner.svg?function_regex=orders",
                   "/data/last/export/flamegraph?size_min=64G"],
    "flamegraph.pl": ["/data/last/export/flamegraph.pl",
                      f"/data/{LAMP}/export/flamegraph.pl/lamp.txt?size_min=20"],
    "heaptrack": ["/data/last/export/heaptrack",
                  "/data/last/export/heaptrack/chains.txt?chain_length_min=2"],
    "replay": ["/data/last/export/replay",
               "/data/last/export/replay/temporary.bin?lifetime=only_temporary"],
    "pprof": ["/debug/pprof/heap", "/debug/pprof/allocs"],
    "mmaps": ["/data/last/mmaps", f"/data/{LAMP}/mmaps?strip_template_args=true"],
    "mallopts": ["/data/last/mallopts", f"/data/{LAMP}/mallopts?strip_template_args=false"],
    "timeline": ["/data/last/timeline", f"/data/{LAMP}/timeline"],
    "fragmentation_timeline": ["/data/last/fragmentation_timeline",
                               f"/data/{LAMP}/fragmentation_timeline"],
    "regions": ["/data/last/regions",
                "/data/last/regions?lifetime=only_not_deallocated_in_current_range&mmaped=no",
                f"/data/{LAMP}/regions"],
}


@pytest.fixture(scope="module", params=["mallow", "asan_mallow"])
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    for name in ("lamp", "shop"):  # the latter is the last one
        (folder / f"{name}.mallow").write_bytes(getattr(golden_recording, name)())
    server = Server(request.getfixturevalue(request.param), folder / "lamp.mallow", folder / "shop.mallow")
    yield server
    server.end()


@pytest.fixture(scope="module")
def document(server):
    return server.json("/openapi.json")


WIDTH, SHORT = 108, 80


def folded(value, indent=0, taken=0):
    """JSON for people: on one line what fits there behind what is taken of it; else member by member,
    as many short ones on a line as fit."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + taken + len(line) < WIDTH or not value or not isinstance(value, (list, dict)):
        return line
    if isinstance(value, dict):
        keys = [json.dumps(key) + ": " for key in value]
        parts = [key + folded(item, indent + 1, len(key)) for key, item in zip(keys, value.values())]
        first, last = "{}"
    else:
        parts = [folded(item, indent + 1) for item in value]
        first, last = "[\n" + " " * (indent + 1), "]"
    text, width = first + parts[0], indent + 1 + len(parts[0])
    for before, part in zip(parts, parts[1:]):
        if max(len(before), len(part)) > SHORT or "\n" in before + part or width + len(part) > WIDTH:
            text, width = text + ",\n" + " " * (indent + 1), indent - 1
        else:
            text += ", "
        text, width = text + part, width + 2 + len(part)
    return text + last


def profile_of(body):
    profile = pprof_reader.Profile(body)
    return {"types": profile.types, "default": profile.default, "comments": profile.comments,
            "period": [profile.period_type, profile.period], "mappings": profile.mappings,
            "time_nanos": profile.raw.time_nanos, "duration_nanos": profile.raw.duration_nanos,
            "samples": [{"values": list(values.values()), "stack": stack}
                        for stack, values in profile.samples]}


REPLAY = ["end", "allocate", "free", "reallocate", "call", "return"]


def replay_of(body):
    """A line a step."""
    numbers = array.array("Q", body)
    steps = zip(*[iter(numbers[1:])] * 4, strict=True)
    return "".join([f"{numbers[0]} slots\n", *(
        f"{REPLAY[kind]} {' '.join(map(str, step))}\n" for kind, *step in steps)])


def picture_of(text):
    """An SVG without the parts that are the same in all of them, which have files of their own."""
    text = re.sub(r"(<style>).*?(</style>)", r"\1…\2", text, flags=re.S)
    return re.sub(r"(<script>).*?(</script>)", r"\1…\2", text, flags=re.S)


def shown(media, target, body):
    """An answer as the file holds it: a value of JSON, or text."""
    if media == "application/json":
        return json.loads(body)
    if "/pprof/" in target:
        return profile_of(body)
    if "/replay" in target:
        return replay_of(body)
    return picture_of(body.decode()) if media == "image/svg+xml" else body.decode()


def file_of(answers):
    """{target: what is shown of it} as text, and how the file's name ends."""
    if not isinstance(next(iter(answers.values())), str):
        rows = [f"{json.dumps(target)}:\n{folded(value)}" for target, value in answers.items()]
        return ".json", "{\n" + ",\n\n".join(rows) + "\n}\n"
    return ".txt", "\n".join(f"GET {target}\n{text}" for target, text in answers.items())


@pytest.mark.parametrize("name", TARGETS)
def test_answers(name, server, document):
    answers = {}
    for target in TARGETS[name]:
        _, media, schema = json_schema.schema_of(document, target)
        status, headers, body = server.request(target)
        assert (status, headers["Content-Type"]) == (200, media), (target, body)
        answers[target] = shown(media, target, body)
        if media == "application/json":
            json_schema.check(document, schema, answers[target])
    suffix, text = file_of(answers)
    version = document["info"]["version"]
    text = text.replace(f"mallow {version}", "mallow VERSION").replace(
        f'"version": "{version}"', '"version": "VERSION"')
    path = GOLDEN / (name + suffix)
    if os.environ.get("MALLOW_ACCEPT"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"MALLOW_ACCEPT=1 would rewrite {path}"


def test_every_path_and_parameter_is_asked_for(document):
    """But seconds, which needs a program that runs: test_profiles_of_what_changes."""
    asked, conditions = {}, set()
    for target in [target for targets in TARGETS.values() for target in targets]:
        path, _, _ = json_schema.schema_of(document, target)
        names = {name for name, _ in urllib.parse.parse_qsl(target.partition("?")[2])}
        asked.setdefault(path, set()).update(names)
        conditions |= names & FILTERS
    assert conditions == FILTERS
    for path in document["paths"]:
        assert path in asked
        assert set(parameters_of(document, path)) - FILTERS - {"seconds"} <= asked[path], path
    assert {path.stem for path in GOLDEN.iterdir()} == set(TARGETS)


def test_random_answers_fit_their_schemas(served):  # noqa: F811
    """Of recordings that are odd on purpose, both builds."""
    document = served.json("/openapi.json")
    asked = 0
    for path, item in document["paths"].items():
        [(media, content)] = item["get"]["responses"]["200"]["content"].items()
        for made in served.made if media == "application/json" else []:
            target = path.replace("{id}", made.id).replace("{backtrace}", "0")
            json_schema.check(document, content["schema"], served.json(target), target)
            asked += 1
    assert asked >= 10 * len(served.made)


@pytest.mark.parametrize("schema, value", [
    ({"type": "integer", "minimum": 0}, -1), ({"type": "integer"}, True), ({"type": "string"}, None),
    ({"type": "array", "items": {"type": "string"}}, ["x", 1]), ({"$ref": "#/a/b/pair"}, {"x": 1}),
    ({"$ref": "#/a/b/pair"}, {"x": 1, "y": None, "z": 1}), ({"$ref": "#/a/b/pair"}, {"y": None, "x": 1}),
    ({"$ref": "#/a/b/pair"}, {"x": 1, "y": 1}), ({"type": "string", "pattern": "x"}, "x"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1)])
def test_the_checker_can_fail(schema, value):
    pair = {"type": "object", "required": ["x", "y"], "properties": {
        "x": {"type": "integer"}, "y": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    document = {"a": {"b": {"pair": pair}}}
    json_schema.check(document, {"$ref": "#/a/b/pair"}, {"x": 1, "y": None})
    with pytest.raises(json_schema.Wrong):
        json_schema.check(document, schema, value)
