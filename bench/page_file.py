"""The page as one file (mallow export --to html) of a recording of clang++: how large it is, how long it takes to
make, and how soon a large flame graph in it is drawn, from file://."""
import dataclasses
import resource
import subprocess
import tempfile

import browser
from page_answers import parts, unpack

MANY, DRAWN = 1_000_000, 100_000        # nodes of each graph: to weigh, and to draw
PLACE = "#/flame?unfold=all&metric=calls"
# Notes, in the page, when the graph is drawn.
WATCH = """const mark = performance.mark.bind(performance);
performance.mark = (...words) => { if (words[0] === 'mallow:flame') window.drawn ??= performance.now(); return mark(...words); };"""


@dataclasses.dataclass
class Figures:
    nodes: int          # of all graphs in the file
    bytes: int          # that these take in it
    size: int           # of the file with standard settings
    cpu: float          # seconds of the tool to make that
    drawn_nodes: int
    drawn: list         # milliseconds from navigation to the graph


def export(place, recording, output, *options):
    """Seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([place.mallow, "export", "--to", "html", *options, "-o", output, recording], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def graphs(path):
    """(nodes, bytes) of each flame graph in a file, by its question."""
    packed = parts(path.read_text())
    found = {}
    for number, answer in enumerate(unpack(packed["file"])["answers"]):
        part = packed.get(f"answer-{number}")
        if answer["of"].startswith("flame?") and part is not None:
            found[answer["of"]] = len(unpack(part)["parent"]), len(part)
    return found


def draw(path, rounds):
    """Milliseconds of each round, in a browser of its own."""
    with tempfile.TemporaryDirectory() as profile:
        driver = browser.start(profile, logs=False)
        try:
            page = browser.Page(driver, f"file://{path.parent}")
            page.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            taken = []
            for _ in range(rounds):
                page.open(f"{path.name}{PLACE}")
                taken.append(page.wait("return window.drawn"))
            return taken
        finally:
            driver.quit()


def measure(place, recording, rounds):
    output = recording.with_suffix(".html")
    export(place, recording, output, f"--nodes={MANY}")
    many = graphs(output).values()
    cpu = export(place, recording, output)
    size = output.stat().st_size
    export(place, recording, output, f"--nodes={DRAWN}")
    drawn = next(nodes for of, (nodes, _) in graphs(output).items() if "metric=calls&fold=none" in of)
    return Figures(sum(nodes for nodes, _ in many), sum(size for _, size in many), size, cpu, drawn, draw(output, rounds))
