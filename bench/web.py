"""The web interface in headless chromium: how soon a large recording is seen, and how soon every page
follows the brush.

Times are the page's own: it sets the mark `mallow:view` when a view has been drawn with its data."""
import dataclasses
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import engine
import serving
import table
from place import TOP

sys.path.insert(0, str(TOP / "tests" / "e2e" / "lib"))
import browser  # noqa: E402

ALLOCATIONS, ALLOCATIONS_FAST = 10_000_000, 1_000_000
ROUNDS = 3
PAGES = ("overview", "flame", "sites", "allocations", "leaks")
BRUSHES = (0.31, 0.52, 0.73)        # parts of the strip that are clicked

MARKS = "return performance.getEntriesByName('mallow:view').map((entry) => entry.startTime)"
LONG_TASKS = """return new Promise((done) => {
    new PerformanceObserver((list) => done(list.getEntries().map((entry) => entry.duration)))
        .observe({type: 'longtask', buffered: true});
    setTimeout(() => done([]), 300);
})"""


@dataclasses.dataclass
class Figures:
    allocations: int
    first: list         # milliseconds from navigation to the overview with its data
    brush: dict         # {page: milliseconds from a click on the strip to the view}
    longest: float      # milliseconds, of all tasks on the page's own thread
    heap: float         # MB of the page's objects
    script: float       # kB of its script as it is sent


def measure_brush(page):
    """From the click, which the page sees at once, to the view."""
    taken = []
    for part in BRUSHES:
        page.run("performance.clearMarks(); document.querySelector('.strip-field').addEventListener("
                 "'pointerup', () => { window.clicked = performance.now(); }, {capture: true, once: true})")
        page.drag(".strip-field", part, part)
        drawn = page.wait(MARKS)
        taken.append(max(drawn) - page.run("return window.clicked"))
    return taken


def measure_pages(page, rounds, found):
    for _ in range(rounds):
        page.open("#/overview")
        found.first.append(page.wait(MARKS)[0])
        for name in PAGES:
            page.open(f"#/{name}")
            found.brush.setdefault(name, []).extend(measure_brush(page))
            found.longest = max([found.longest, *page.run(LONG_TASKS)])
    found.heap = page.run("return performance.memory.usedJSHeapSize") / 1e6


def rows(found):
    yield ["first view of the overview", table.pair(found.first, 0)]
    for name, values in found.brush.items():
        yield [f"brush to {name}", table.pair(values, 0)]


def measure(place, progress, fast=False):
    """(lines, Figures or None)"""
    if not (pathlib.Path(browser.CHROMIUM).exists() and pathlib.Path(browser.DRIVER).exists()):
        return ["Not measured: chromium and chromium-driver are not installed"], None
    found = Figures(ALLOCATIONS_FAST if fast else ALLOCATIONS, [], {}, 0, 0, 0)
    folder = place.run_folder()
    path = folder / "web.mallow"
    progress("the web interface in a browser")
    engine.make_recording(place, path, found.allocations)
    subprocess.run([place.mallow, "finish", "--index-file", path], check=True, stdout=subprocess.DEVNULL)
    server = serving.Server(place, path)
    try:
        with tempfile.TemporaryDirectory() as profile:
            driver = browser.start(profile)
            try:
                measure_pages(browser.Page(driver, server.port), 1 if fast else ROUNDS, found)
                found.script = len(browser.sent(server.port, "/app.js")) / 1000
            finally:
                driver.quit()
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    brushes = [value for values in found.brush.values() for value in values]
    return [*table.rows(["", "ms"], list(rows(found))), "",
            f"all brushes: {statistics.median(brushes):.0f} ms (median); longest task {found.longest:.0f} ms; "
            f"{found.heap:.0f} MB of objects; script {found.script:.0f} kB as sent"], found
