"""mallow serve: whole answers of every path against tests/golden/serve, which people have read.

    MALLOW_ACCEPT=1 pytest tests/e2e/serve/test_serve_golden.py

takes the answers as they are now. Read the difference before you commit it: it is what clients will
see, and a wrong one is a fault of the server.
"""
import array
import json
import os
import re
import urllib.parse

import pytest

from cells import BUILDS
import golden_recording
import json_schema
from page_answers import answers as answers_in
import pprof_reader
from conftest import TOP
from golden_requests import TARGETS
from servers import FILTERS, Server, parameters_of, program, serve, served  # noqa: F401

GOLDEN = TOP / "tests" / "golden" / "serve"
SERVER = TOP / "src" / "server"
# {name: [[member, type]]} of answer.def, and {path: name} of routes that answer so.
REPORTS = {name: [member.split(":") for member in "".join(re.findall(r'"(.*?)"', members)).split()] for name, members
           in re.findall(r'^REPORT\((\w+),\s+((?:"[^"]*"\s*)+),', (SERVER / "routes" / "answer.def").read_text(), re.M)}
REPORT_OF = {path: name for path, name in re.findall(r'^ROUTE\(\w+, "([^"]+)", .*?, JSON, "(\w+)"',
             (SERVER / "routes" / "route.def").read_text(), re.M) if name in REPORTS}
PLAIN = {"unsigned": {"type": "integer", "minimum": 0}, "number": {"type": "number"}, "boolean": {"type": "boolean"},
         "string": {"type": "string"}}


@pytest.fixture(scope="module", params=BUILDS)
def server(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    for name in ("lamp", "shop"):  # the latter is the last one
        (folder / f"{name}.mallow").write_bytes(getattr(golden_recording, name)())
    (folder / "src").mkdir()
    (folder / "src" / "orders.cc").write_text("// three lines,\n\nand <odd> \"letters\"")
    os.utime(folder / "src" / "orders.cc", (1_000_000_000, 1_000_000_000))
    server = Server(request.getfixturevalue(request.param), f"--sources={folder}",
                    folder / "lamp.mallow", folder / "shop.mallow")
    server.folder = str(folder)
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
        return json_schema.parse(body)
    if re.search(r"/pprof\b", target):
        return profile_of(body)
    if "/replay" in target:
        return replay_of(body)
    if media.startswith("text/html"):
        return answers_in(body.decode())[0]["answers"]
    if media.startswith("text/csv"):
        return body.decode().replace("\r\n", "\n")
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
        if media == "application/json":  # before lines are folded by their length
            body = body.replace(json.dumps(server.folder)[1:-1].encode(), b"FOLDER")
        answers[target] = shown(media, target, body)
        if media == "application/json":
            json_schema.check(document, schema, answers[target])
    suffix, text = file_of(answers)
    version = document["info"]["version"]
    text = text.replace(f"mallow {version}", "mallow VERSION").replace(
        f'"version": "{version}"', '"version": "VERSION"')
    text = text.replace(server.folder, "FOLDER")  # in texts
    path = GOLDEN / (name + suffix)
    if os.environ.get("MALLOW_ACCEPT"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"MALLOW_ACCEPT=1 would rewrite {path}"


def test_every_path_and_parameter_is_asked_for(document):
    """But seconds, which needs a program that runs: test_profiles_of_what_changes, and /events, which does not
    end: test_serve_events.py."""
    asked, conditions = {}, set()
    for target in [target for targets in TARGETS.values() for target in targets]:
        path, _, _ = json_schema.schema_of(document, target)
        names = {name for name, _ in urllib.parse.parse_qsl(target.partition("?")[2])}
        asked.setdefault(path, set()).update(names)
        conditions |= names & FILTERS
    assert conditions == FILTERS
    for path in set(document["paths"]) - {"/events"}:
        assert path in asked
        assert set(parameters_of(document, path)) - FILTERS - {"seconds"} <= asked[path], path
    assert {path.stem for path in GOLDEN.iterdir()} == set(TARGETS)


def test_random_answers_fit_their_schemas(served):  # noqa: F811
    """Of recordings that are odd on purpose, both builds."""
    document = served.json("/openapi.json")
    asked = 0
    for path, item in document["paths"].items():
        if path.endswith("/source"):
            continue  # wants the name of a file: test_serve_source.py
        [(media, content)] = item["get"]["responses"]["200"]["content"].items()
        for made in served.made if media == "application/json" else []:
            target = path.replace("{id}", made.id).replace("{backtrace}", "0")
            json_schema.check(document, content["schema"], served.json(target), target)
            asked += 1
    assert asked >= 10 * len(served.made)


def reports_in(document, kind, value, at):
    """The names of all reports in a value, which has the members that answer.def names, and maybe others."""
    if kind.endswith("?"):
        return set() if value is None else reports_in(document, kind[:-1], value, at)
    if kind[-2:] in ("[]", "{}"):
        items = value if kind.endswith("[]") else value.values()
        return {name for item in items for name in reports_in(document, kind[:-2], item, at)}
    if kind not in REPORTS:
        json_schema.check(document, PLAIN.get(kind) or {"$ref": f"#/components/schemas/{kind}"}, value, at)
        return set()
    found = {kind}
    for member, inner in REPORTS[kind]:
        name = member.rstrip("?")
        assert member.endswith("?") or name in value, f"{at}.{name}"
        if name in value:
            found |= reports_in(document, inner, value[name], f"{at}.{name}")
    return found


def test_reports_have_what_the_page_uses(serve, record, compile_sample):  # noqa: F811
    server = serve(*[record([compile_sample(name)], check=False).path for name in ("leaky_cache", "pools", "wrong_frees")])
    document, found = server.json("/openapi.json"), set()
    for recording in server.json("/list"):
        data = f"/data/{recording['id']}"
        found |= reports_in(document, "info", server.json(f"{data}/summary")["facts"], "facts")
        for path, kind in REPORT_OF.items():
            found |= reports_in(document, kind, server.json(path.replace("/data/<id>", data)), path)
    rare = {"core", "unseen"}
    assert len(REPORT_OF) == 4 and found | rare == set(REPORTS), set(REPORTS) - found


@pytest.mark.parametrize("schema, value", [
    ({"type": "integer", "minimum": 0}, -1), ({"type": "integer"}, True), ({"type": "string"}, None),
    ({"type": "array", "items": {"type": "string"}}, ["x", 1]), ({"$ref": "#/a/b/pair"}, {"x": 1}),
    ({"$ref": "#/a/b/pair"}, {"x": 1, "y": None, "z": 1}), ({"$ref": "#/a/b/pair"}, {"y": None, "x": 1}),
    ({"$ref": "#/a/b/pair"}, {"x": 1, "y": 1}), ({"type": "string", "pattern": "x"}, "y"), ({"type": "string", "maxLength": 3}, "x"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1)])
def test_the_checker_can_fail(schema, value):
    pair = {"type": "object", "required": ["x", "y"], "properties": {
        "x": {"type": "integer"}, "y": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    document = {"a": {"b": {"pair": pair}}}
    json_schema.check(document, {"$ref": "#/a/b/pair"}, {"x": 1, "y": None})
    with pytest.raises(json_schema.Wrong):
        json_schema.check(document, schema, value)


def test_a_name_given_twice_is_wrong():
    with pytest.raises(json_schema.Wrong):
        json_schema.parse(b'{"x": 1, "x": 1}')
