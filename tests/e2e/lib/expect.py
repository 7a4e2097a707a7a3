"""What sample programs say of themselves (tests/samples/sample.h), and whether a recording holds it."""
import collections
import re

from conftest import names_of_stack, sample_source
from mallow_reader import ENTRIES, Alloc

LINE = re.compile(r"EXPECT(-[A-Z]+)? ([\w:~]+): (.*)")


def expectations(name, *kinds):
    """{function: {field: value}} of a sample; kinds: which EXPECT-… lines count, too."""
    wanted = collections.defaultdict(dict)
    for kind, function, words in LINE.findall(sample_source(name)[0].read_text()):
        if kind and kind[1:] not in kinds or (not kind and "ONLY" in kinds):
            continue
        for word in words.split():
            field, value = word.split("=", 1)
            if field == "entry":
                entry, count = value.rsplit(":", 1)
                wanted[function].setdefault("entries", {})[entry] = int(count)
            else:
                wanted[function][field] = int(value)
    return dict(wanted)


class Found:
    """The sums of all stacks that contain one function."""

    def __init__(self):
        self.calls = self.total_bytes = self.leaked_bytes = self.leaked_blocks = 0
        self.temporary = self.depth = 0
        self.entries = collections.Counter()
        self.streams = set()

    @property
    def threads(self):
        return len(self.streams)


def by_function(sums, functions_of):
    """{function: Found}, computed by the independent reader and nm."""
    recording = sums.recording
    found = collections.defaultdict(Found)
    for stack, site in sums.sites.items():
        for name in set(names_of_stack(recording, stack, functions_of)) - {None}:
            function = found[name]
            function.calls += site.calls
            function.total_bytes += site.total_bytes
            function.leaked_bytes += site.live_bytes
            function.leaked_blocks += site.live_blocks
            function.temporary += site.temporary
            function.depth = max(function.depth, len(stack))
    names_of_node = {}
    for event in recording.events:
        if not isinstance(event, Alloc):
            continue
        names = names_of_node.get(event.node)
        if names is None:
            stack = recording.stack(event.node)
            names = set(names_of_stack(recording, stack, functions_of)) - {None}
            names_of_node[event.node] = names
        for name in names:
            found[name].entries[ENTRIES[event.op].replace(" ", "_").replace(",_", ",")] += 1
            found[name].streams.add(event.thread)
    return found


def check(wanted, found):
    """Every stated value, in one list of differences so that a failure shows all of them."""
    differences = []
    for function, fields in wanted.items():
        there = found.get(function) or Found()
        for field, value in fields.items():
            if field == "entries":
                actual = {name: there.entries[name] for name in value}
                good = actual == value
            else:
                actual = getattr(there, field)
                good = actual >= value if field == "depth" else actual == value
            if not good:
                differences.append(f"{function}: {field} is {actual}, expected {value}")
    assert not differences, "\n".join(differences)


REPORTED = ("calls", "total_bytes", "leaked_bytes", "leaked_blocks", "temporary")
LIVE = ("leaked_bytes", "leaked_blocks")


def check_report(wanted, report):
    """The same sums out of the tool's report, by the names that the tool found."""
    found = collections.defaultdict(lambda: collections.Counter())
    for site in report["sites"]:
        for name in {plain(frame["function"]) for frame in site["stack"]}:
            for field in REPORTED:
                found[name][field] += site[field]
    differences = [
        f"report: {function}: {field} is {found[function][field]}, expected {value}"
        for function, fields in wanted.items() for field, value in fields.items()
        if field in REPORTED
        and found[function][field] != value]
    assert not differences, "\n".join(differences)


def check_live(name, report):
    """What the sample states to be leaked is live at its end, in JSON of `mallow live`."""
    sites = [{**dict.fromkeys(REPORTED, 0), "stack": site["stack"], "leaked_blocks": site["live_blocks"],
              "leaked_bytes": site["live_bytes"]} for site in report["sites"]]
    wanted = {function: {field: value for field, value in fields.items() if field in LIVE}
              for function, fields in expectations(name).items()}
    assert any(wanted.values()), name
    check_report(wanted, {"sites": sites})


def plain(function):
    """Without the parameters."""
    return function.split("(")[0] if function else function
