"""The web interface in headless chromium: how soon a large recording is seen, and how soon every page
follows the brush.

Times are the page's own. A view is there when every question of the page is answered and drawn: the body's
attribute data-busy is 0 then, and the frame after that has been painted."""
import contextlib
import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request

import deep
import engine
import serving
import table
from place import TOP

sys.path.insert(0, str(TOP / "tests" / "e2e" / "lib"))
import browser  # noqa: E402
import page_file  # noqa: E402

ALLOCATIONS, ALLOCATIONS_FAST = 10_000_000, 1_000_000
ROUNDS = 3
BRUSHES = (0.31, 0.52, 0.73)        # parts of the strip that are clicked
SHIFT = 0.0043                      # … a few pixels further each time
ZOOMED = ((0.2, 8), (0.2, 16), (0.4, 12), (0.4, 24))    # parts of the flame graph's width, and rows: clicked
ROW = 20                            # pixels of a row

# Notes, in the page, when it last had everything drawn.
WATCH = """const note = () => requestAnimationFrame(() => { window.drawn = performance.now(); });
new MutationObserver(() => { if (document.body.dataset.busy === '0') note(); })
    .observe(document, {attributes: true, subtree: true, attributeFilter: ['data-busy']});"""
# Jumps in a table, one after the other, and notes how long rows that are seen are blank: not there yet, or grey.
SCROLL = """const grid = document.querySelector('.grid'), parts = [...arguments[0]], box = grid.getBoundingClientRect();
const seen = (y) => document.elementFromPoint(box.left + 20, y)?.closest('.grid-row');
const blank = () => !seen(box.top + box.height / 2) || !seen(box.bottom - 40) || grid.querySelector('.not-here');
window.blank = [];
const jump = () => {
    if (!parts.length) return;
    grid.scrollTop = parts.shift() * (grid.scrollHeight - grid.clientHeight);
    const begin = performance.now();
    const look = () => {
        if (blank()) return requestAnimationFrame(look);
        window.blank.push(performance.now() - begin);
        jump();
    };
    requestAnimationFrame(look);
};
jump();"""
JUMPS = (0.9, 0.1, 0.5, 0.7, 0.3, 0.999, 0.0042, 0.61)
# Notes when frames begin, how long all callbacks for each take, and whether one drew the flame graph.
WATCH_FRAMES = """const ask = window.requestAnimationFrame.bind(window), mark = performance.mark.bind(performance);
let drew = false;
performance.mark = (...words) => { drew ||= words[0] === 'mallow:flame'; return mark(...words); };
window.animated = [];
window.requestAnimationFrame = (work) => ask((at) => {
    const begin = performance.now();
    drew = false;
    work(at);
    if (window.animated.at(-1)?.[0] !== at) window.animated.push([at, 0, false]);
    const frame = window.animated.at(-1);
    frame[1] += performance.now() - begin;
    frame[2] ||= drew;
});"""


@dataclasses.dataclass
class Figures:
    allocations: int
    cold: float = 0     # the first of `first`: the server has just started
    # milliseconds from navigation to the overview with all its data
    first: list = dataclasses.field(default_factory=list)
    # {page: milliseconds from a click on the strip to all of the view}
    brush: dict = dataclasses.field(default_factory=dict)
    # milliseconds from a jump in the table of allocations to all rows that are seen
    scroll: list = dataclasses.field(default_factory=list)
    longest: float = 0  # milliseconds, of all tasks on the page's own thread
    heap: float = 0     # MB of the page's objects, after garbage went
    tab: float = 0      # MB of private memory of the tab's process
    script: float = 0   # kB of its script as it is sent
    zoom: object = None  # a Zoom, of a recording of clang++
    file: object = None  # page_file.Figures, of the same


@dataclasses.dataclass
class Zoom:
    nodes: int          # of the flame graph
    drawn: list         # milliseconds of script in each frame of the animation
    frames: list        # milliseconds from each frame to the next
    longest: float      # milliseconds, of all tasks on the page's own thread meanwhile


def measure_brush(page, shift):
    """From the click, which the page sees at once, to the last thing that follows it. shift: moments that nobody
    asked for before, so that nothing of them is kept in server or browser."""
    taken = []
    for part in BRUSHES:
        page.run("document.querySelector('.strip-field').addEventListener("
                 "'pointerup', () => { window.clicked = performance.now(); }, {capture: true, once: true})")
        page.drag(".strip-field", part + shift, part + shift)
        taken.append(page.run("return window.drawn - window.clicked"))
    return taken


def measure_pages(page, rounds, found):
    page.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    for i in range(rounds):
        page.open("#/overview")
        found.first.append(page.run("return window.drawn"))
        for j, name in enumerate(browser.PAGES):
            page.open(f"#/{name}")
            found.brush.setdefault(name, []).extend(measure_brush(page, SHIFT * (i * len(browser.PAGES) + j)))
            found.longest = max(found.longest, page.longest_task())
            found.tab = max(found.tab, page.tab_bytes() / 1e6)
            found.heap = max(found.heap, page.heap_bytes() / 1e6)
    found.cold = found.first[0]
    for _ in range(rounds):
        found.scroll += measure_scrolling(page)


def measure_scrolling(page):
    page.open("#/allocations")
    page.run(SCROLL, JUMPS)
    page.wait("return blank.length === arguments[0]", len(JUMPS))
    return page.run("return blank")


def zoom_once(page, across, row):
    """[(when a frame began, milliseconds of script in it)] of the animation that a click leads to; none if what
    was clicked fills the width already."""
    height = page.run("return document.querySelector('.flame canvas').clientHeight")
    page.run("window.animated.length = 0")
    page.drag(".flame canvas", *[(across, (row + 0.5) * ROW / height)] * 2, settle=False)
    page.run("window.clicked = performance.now()")
    page.wait("return performance.now() - Math.max(clicked, ...animated.map(([at]) => at)) > 400")
    frames = page.run("return animated")
    page.settle()
    return [(at, taken) for at, taken, drew in frames if drew]


def nodes_of(server, target):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{target}") as answer:
        return len(json.load(answer)["parent"])


def measure_zoom(page, server, rounds):
    """Into a graph with all of its folds open, as many nodes as the server sends at most, and out of it."""
    page.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH_FRAMES)
    page.theme("light", still=False)
    page.open("#/flame?unfold=all")
    cut = page.run("return Math.round((document.documentElement.clientWidth - 40) / 100) * 100")
    found = Zoom(nodes_of(server, f"/data/last/flame?fold=none&cut={cut}"), [], [], 0)
    page.mark()
    for _ in range(rounds):
        for across, row in ZOOMED:
            for frames in zoom_once(page, across, row), zoom_once(page, 0.5, 0):
                found.drawn += [taken for _, taken in frames]
                found.frames += [after - before for (before, _), (after, _) in zip(frames, frames[1:])]
    found.longest = page.longest_task()
    return found


def rows(found):
    yield ["first view, server just started", f"{found.cold:.0f}"]
    yield ["first view", table.pair(found.first, 0)]
    for name, values in found.brush.items():
        yield [f"brush to {name}", table.pair(values, 0)]
    yield ["jump among all allocations", table.pair(found.scroll, 0)]


def browsed(place, path, measure_one, *arguments):
    """measure_one(page, server, …) of a recording, in a browser of its own."""
    with contextlib.closing(serving.Server(place, path)) as server, tempfile.TemporaryDirectory() as profile:
        driver = browser.start(profile, logs=False)
        try:
            return measure_one(browser.Page(driver, server.port), server, *arguments)
        finally:
            driver.quit()


def measure_large(page, server, rounds, found):
    measure_pages(page, rounds, found)
    found.script = len(browser.sent(server.port, "/app.js")) / 1000


def measure(place, progress, fast=False):
    """(lines, Figures or None)"""
    if not (pathlib.Path(browser.CHROMIUM).exists() and pathlib.Path(browser.DRIVER).exists()):
        return ["Not measured: chromium and chromium-driver are not installed"], None
    found = Figures(ALLOCATIONS_FAST if fast else ALLOCATIONS)
    folder, rounds = place.run_folder(), 1 if fast else ROUNDS
    path = folder / "web.mallow"
    try:
        progress("the web interface in a browser")
        engine.make_recording(place, path, found.allocations)
        subprocess.run([place.mallow, "finish", "--index-file", path], check=True, stdout=subprocess.DEVNULL)
        browsed(place, path, measure_large, rounds, found)
        if shutil.which("clang++"):
            progress("a large flame graph in a browser")
            recording = deep.record(place, folder)
            found.zoom = browsed(place, recording, measure_zoom, rounds)
            progress("the page as one file")
            found.file = page_file.measure(place, recording, rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return lines_of(found), found


def lines_of(found):
    brushes = [value for values in found.brush.values() for value in values]
    lines = [*table.rows(["", "ms"], list(rows(found))), "",
             f"all brushes: {statistics.median(brushes):.0f} ms (median); longest task {found.longest:.0f} ms",
             f"{found.heap:.0f} MB of objects, {found.tab:.0f} MB in the tab's process; "
             f"script {found.script:.0f} kB as sent"]
    if not found.zoom:
        return [*lines, "zoom: not measured: clang++ not installed"]
    zoom = found.zoom
    return [*lines, f"zoom in a flame graph of {zoom.nodes:,} nodes: {table.pair(zoom.drawn, 1)} ms of script in a frame, "
            f"{max(zoom.drawn):.0f} at most;",
            f"frames {table.pair(zoom.frames, 0)} ms apart; longest task {zoom.longest:.0f} ms", *lines_of_file(found.file)]


def lines_of_file(file):
    return [f"the same recording as one file: {file.size / 1e6:.1f} MB, made in {file.cpu:.1f} s of processor time;",
            f"{file.nodes:,} nodes of flame graphs take {file.bytes / 1e6:.1f} MB; a graph of {file.drawn_nodes:,} nodes "
            f"is drawn {table.pair(file.drawn, 0)} ms after navigation"]
