"""The web interface in headless chromium: how soon a large recording is seen, and how soon every page
follows the brush.

Times are the page's own. A view is there when every question of the page is answered and drawn: the body's
attribute data-busy is 0 then, and the frame after that has been painted."""
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

# Notes, in the page, when it last had everything drawn.
WATCH = """const note = () => requestAnimationFrame(() => { window.drawn = performance.now(); });
new MutationObserver(() => { if (document.body.dataset.busy === '0') note(); })
    .observe(document, {attributes: true, subtree: true, attributeFilter: ['data-busy']});"""
LONG_TASKS = """return new Promise((done) => {
    new PerformanceObserver((list) => done(list.getEntries().map((entry) => entry.duration)))
        .observe({type: 'longtask', buffered: true});
    setTimeout(() => done([]), 300);
})"""


@dataclasses.dataclass
class Figures:
    allocations: int
    cold: float         # the first of `first`: the server has just started
    first: list         # milliseconds from navigation to the overview with all its data
    brush: dict         # {page: milliseconds from a click on the strip to all of the view}
    longest: float      # milliseconds, of all tasks on the page's own thread
    heap: float         # MB of the page's objects
    script: float       # kB of its script as it is sent


def measure_brush(page):
    """From the click, which the page sees at once, to the last thing that follows it."""
    taken = []
    for part in BRUSHES:
        page.run("document.querySelector('.strip-field').addEventListener("
                 "'pointerup', () => { window.clicked = performance.now(); }, {capture: true, once: true})")
        page.drag(".strip-field", part, part)
        taken.append(page.run("return window.drawn - window.clicked"))
    return taken


def measure_pages(page, rounds, found):
    page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    for _ in range(rounds):
        page.open("#/overview")
        found.first.append(page.run("return window.drawn"))
        for name in PAGES:
            page.open(f"#/{name}")
            found.brush.setdefault(name, []).extend(measure_brush(page))
            found.longest = max([found.longest, *page.run(LONG_TASKS)])
    found.cold = found.first[0]
    found.heap = page.run("return performance.memory.usedJSHeapSize") / 1e6


def rows(found):
    yield ["first view, server just started", f"{found.cold:.0f}"]
    yield ["first view", table.pair(found.first, 0)]
    for name, values in found.brush.items():
        yield [f"brush to {name}", table.pair(values, 0)]


def measure(place, progress, fast=False):
    """(lines, Figures or None)"""
    if not (pathlib.Path(browser.CHROMIUM).exists() and pathlib.Path(browser.DRIVER).exists()):
        return ["Not measured: chromium and chromium-driver are not installed"], None
    found = Figures(ALLOCATIONS_FAST if fast else ALLOCATIONS, 0, [], {}, 0, 0, 0)
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
