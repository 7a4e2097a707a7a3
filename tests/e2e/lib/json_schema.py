"""Values against a JSON Schema, as far as `mallow serve` and docs/report.schema.json use it.

Stricter than the standard where a mistake would hide: a member that no schema names is wrong, and so
are another order of members, and a keyword that is not known here.
"""
import json
import re

KNOWN = {"$defs", "$ref", "$schema", "anyOf", "description", "enum", "format", "items", "minimum", "oneOf", "pattern",
         "properties", "required", "title", "type"}
TYPES = {"array": list, "boolean": bool, "integer": int, "null": type(None), "number": (int, float),
         "object": dict, "string": str}


class Wrong(Exception):
    pass


def once(members):
    names = [name for name, _ in members]
    if len(set(names)) != len(names):
        raise Wrong(f"a name is given twice: {names}")
    return dict(members)


def parse(body):
    """JSON, in which no object has a name twice."""
    return json.loads(body, object_pairs_hook=once)


def check(document, schema, value, at="answer"):
    """Raises Wrong, which says where."""
    if set(schema) - KNOWN:
        raise Wrong(f"{at}: the schema has {sorted(set(schema) - KNOWN)}")
    if "$ref" in schema:
        named = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            named = named[part]
        check(document, named, value, at)
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            fitting = sum(fits(document, choice, value) for choice in schema[choices])
            if not fitting or (choices == "oneOf" and fitting > 1):
                raise Wrong(f"{at}: {fitting} of {schema[choices]} fit {value!r:.200}")
    if "enum" in schema and value not in schema["enum"]:
        raise Wrong(f"{at}: {value!r} is none of {schema['enum']}")
    if "type" in schema:
        check_type(document, schema, value, at)


def fits(document, schema, value):
    try:
        check(document, schema, value)
    except Wrong:
        return False
    return True


def check_type(document, schema, value, at):
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise Wrong(f"{at}: {value!r:.200} is no {kind}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise Wrong(f"{at}: {value!r:.200} does not match {schema['pattern']}")
    if "minimum" in schema and value < schema["minimum"]:
        raise Wrong(f"{at}: {value} is less than {schema['minimum']}")
    if kind == "array":
        for i, item in enumerate(value):
            check(document, schema["items"], item, f"{at}[{i}]")
    if kind == "object" and "properties" in schema:
        known = [name for name in schema["properties"] if name in value]
        if list(value) != known or not set(schema["required"]) <= set(value):
            raise Wrong(f"{at}: {list(value)} instead of {schema['required']}")
        for key, member in value.items():
            check(document, schema["properties"][key], member, f"{at}.{key}")


def schema_of(document, target):
    """(path, media type, schema) of what the document says that a target is answered with."""
    parts = target.partition("?")[0].split("/")
    for path, item in document["paths"].items():
        wanted = path.split("/")
        if len(wanted) == len(parts) and all(
                want == part or want[0:1] == "{" for want, part in zip(wanted, parts)):
            [(media, content)] = item["get"]["responses"]["200"]["content"].items()
            return path, media, content["schema"]
    raise Wrong(f"no path for {target}")
