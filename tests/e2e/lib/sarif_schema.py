"""What of SARIF 2.1.0 `mallow check` writes, as a JSON schema for json_schema.py: members, which of
them the standard requires, and the words it allows."""


def an_object(required, **properties):
    return {"type": "object", "required": required.split(), "properties": properties}


def array_of(items):
    return {"type": "array", "items": items}


TEXT = {"type": "string"}
NATURAL = {"type": "integer", "minimum": 0}
MESSAGE = an_object("text", text=TEXT)
PHYSICAL = an_object(
    "artifactLocation",
    artifactLocation=an_object("uri", uri=TEXT, uriBaseId=TEXT),
    region=an_object("startLine", startLine={"type": "integer", "minimum": 1}))
LOGICAL = array_of(an_object("fullyQualifiedName", fullyQualifiedName=TEXT, kind={"enum": ["function"]}))
RESULT = an_object(
    "message",
    ruleId=TEXT,
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations=array_of(an_object("", physicalLocation=PHYSICAL, logicalLocations=LOGICAL)),
    relatedLocations=array_of(an_object("", id=NATURAL, physicalLocation=PHYSICAL, logicalLocations=LOGICAL,
                                        message=MESSAGE)),
    properties=an_object("", recording=TEXT, value=NATURAL, limit=NATURAL))
DRIVER = an_object("name", name=TEXT, version=TEXT,
                   rules=array_of(an_object("id", id=TEXT, shortDescription=MESSAGE)))
RUN = an_object(
    "tool",
    tool=an_object("driver", driver=DRIVER),
    originalUriBaseIds=an_object("%SRCROOT%", **{"%SRCROOT%": an_object("uri", uri=TEXT)}),
    results=array_of(RESULT))
SCHEMA = an_object("version runs", **{"$schema": TEXT}, version={"enum": ["2.1.0"]}, runs=array_of(RUN))
