"""Reads what `mallow report --json` writes, with each stack where it belongs."""
import json


def load(text):
    """As `--stacks inline` would have it: each stack is the list of its frames, innermost first."""
    parsed = json.loads(text)
    for report in parsed if isinstance(parsed, list) else [parsed]:
        if "stacks" in report:
            put_stacks(report, report.pop("frames"), report.pop("stacks"))
    return parsed


def put_stacks(value, frames, rows):
    if isinstance(value, list):
        for element in value:
            put_stacks(element, frames, rows)
    elif isinstance(value, dict):
        for key, element in value.items():
            if key == "stack" or element is not None and key.endswith("_stack"):
                value[key] = list(frames_of(element, frames, rows))
            else:
                put_stacks(element, frames, rows)


def frames_of(row, frames, rows):
    while row is not None:
        yield frames[rows[row]["frame"]]
        assert rows[row]["parent"] is None or rows[row]["parent"] < row
        row = rows[row]["parent"]
