"""The flame graph: well-formed, exact, and alive in a real browser."""
import re
import shutil
import subprocess
import tempfile
import urllib.parse
import xml.etree.ElementTree

import pytest

from made_recording import Made

SVG = "{http://www.w3.org/2000/svg}"
START = ["_start", "__libc_start_call_main", "main"]
EVIL = 'evil;<b>&"name"]]>\t\x1b[31m</script>'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("flame"),
                [*START, "handle", "cache_put", "parse", EVIL, "tiny"],
                libraries=[("/usr/lib/" + EVIL.replace("/", "|") + ".so", ["unknown"])])
    made.allocate([*START, "handle", "cache_put"], 600_000)
    made.allocate([*START, "handle", "parse"], 200_000)
    made.allocate([*START, "parse"], 100_000)
    made.allocate([*START, EVIL], 50_000)
    made.allocate([*START, "unknown", "parse"], 49_950)
    made.allocate([*START, "tiny", "parse"], 50)
    return made.write()


@pytest.fixture(scope="module")
def graph(tool, made):
    path = made.with_name("graph.svg")
    tool("export", "--to", "flamegraph", "-o", path, made)
    return path


def boxes_of(path):
    """{(label, start, value): (row, x, width)}, and the document's root."""
    root = xml.etree.ElementTree.parse(path).getroot()
    head, row = int(root.get("data-head")), int(root.get("data-row"))
    boxes = {}
    for box in root.iter(f"{SVG}svg"):
        if box.get("class") != "f":
            continue
        label = box.find(f"{SVG}text").text
        key = (label, int(box.get("data-s")), int(box.get("data-v")))
        assert key not in boxes
        boxes[key] = ((int(box.get("y")) - head) // row, box.get("x"), box.get("width"))
    return boxes, root


def test_boxes(graph):
    boxes, _ = boxes_of(graph)
    assert boxes[("all", 0, 1_000_000)] == (0, "0%", "100%")
    assert boxes[("main", 0, 1_000_000)] == (3, "0%", "100%")
    assert boxes[("handle", 0, 800_000)] == (4, "0%", "80%")
    assert boxes[("cache_put", 0, 600_000)] == (5, "0%", "60%")
    assert boxes[("parse", 600_000, 200_000)] == (5, "60%", "20%")
    assert boxes[("parse", 800_000, 100_000)] == (4, "80%", "10%")
    assert not any(label == "tiny" for label, _, _ in boxes)


def test_every_child_lies_in_its_parent(graph):
    boxes, _ = boxes_of(graph)
    for (_, start, value), (row, _, _) in boxes.items():
        if row:
            assert any(other[1] <= start and start + value <= other[1] + other[2]
                       for other, (above, _, _) in boxes.items() if above == row - 1)


def test_heading_and_tooltips(graph):
    _, root = boxes_of(graph)
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert texts[0] == "toyd --serve  (pid 4000000): peak"
    assert "in all 1.00 MB" in texts[1] and "2 frames below 0.01 % left out" in texts[1]
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert "handle\n800 KB peak, 80.0 %, in 2 calls" in titles


def test_a_long_command_leaves_room(tool, tmp_path):
    recording = Made(tmp_path, START, arguments=["x" * 500])
    recording.allocate(START, 100)
    svg = tool("export", "--to", "flamegraph", recording.write()).stdout
    title = re.search('class="title"[^>]*>([^<]*)<', svg).group(1)
    assert len(title) < 100 and re.search(r"x…  \(pid \d+\): peak$", title)


def test_hostile_names(graph):
    text = graph.read_text(encoding="utf-8")
    assert not re.search("[\0-\x08\x0b-\x1f\x7f]", text)
    assert text.count("</script>") == 1 and text.count("<script>") == 1
    boxes, _ = boxes_of(graph)
    labels = [label for label, _, _ in boxes]
    assert sum('<b>&"name"' in label for label in labels) == 2


def test_metrics(tool, made, tmp_path):
    for metric, total in (("total", 1_000_000), ("leaked", 1_000_000), ("calls", 6)):
        path = tmp_path / f"{metric}.svg"
        tool("export", "--to", "flamegraph", "--metric", metric, "-o", path, made)
        boxes, root = boxes_of(path)
        assert ("all", 0, total) in boxes
        assert root.find(f"{SVG}title").text.endswith(f": {metric}")


def test_nothing_to_show(tool, tmp_path):
    path = tmp_path / "empty.svg"
    tool("export", "--to", "flamegraph", "-o", path, Made(tmp_path, START).write())
    _, root = boxes_of(path)
    assert any("nothing to show" in (text.text or "") for text in root.iter(f"{SVG}text"))


def test_same_recording_same_file(tool, made, graph, tmp_path):
    again = tmp_path / "again.svg"
    tool("export", "--to", "flamegraph", "-o", again, made)
    assert again.read_bytes() == graph.read_bytes()


# --- in the browser ---

@pytest.fixture(scope="module")
def browse(graph):
    """browse(**state): the frames that chromium shows with that state in the address."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")

    def show(path=graph, **state):
        with tempfile.TemporaryDirectory() as profile:
            run = subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", f"--user-data-dir={profile}", "--window-size=1200,700",
                 "--dump-dom", f"file://{path}#{urllib.parse.urlencode(state)}"],
                capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        return Page(run.stdout)

    return show


class Page:
    def __init__(self, dom):
        self.dom = dom
        self.boxes = {}
        for tag, label in re.findall(r'<svg (class="f[^>]*)>.*?<text [^>]*?(?:/>|>([^<]*)</text>)',
                                     dom, re.S):
            facts = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
            self.boxes[int(facts["data-s"]), int(facts["data-v"]), int(facts["y"])] = facts, label
        match = re.search(r'id="said"[^>]*>([^<]*)<', dom)
        self.said = match.group(1) if match else None

    def find(self, label):
        return [facts for facts, text in self.boxes.values() if text == label]


def test_browser_whole(browse):
    page = browse()
    assert len(page.boxes) == 11
    assert page.said == ""  # the script ran and has nothing to say
    assert all("display" not in facts.get("style", "") for facts, _ in page.boxes.values())
    assert len(page.find("parse")) == 3 and page.find("handle")[0]["width"] == "80%"
    assert 'id="search"' in page.dom and 'id="reset"' in page.dom


def zoom_number(graph, label):
    boxes, _ = boxes_of(graph)
    return next(i for i, (name, _, _) in enumerate(boxes) if name == label)


def test_browser_zoom(browse, graph):
    page = browse(zoom=zoom_number(graph, "handle"))
    handle = page.find("handle")[0]
    assert (handle["x"], handle["width"]) == ("0%", "100%")
    assert page.find("cache_put")[0]["width"] == "75%"
    parse = [facts for facts in page.find("parse") if "display" not in facts.get("style", "")]
    assert [(facts["x"], facts["width"]) for facts in parse] == [("75%", "25%")]
    assert "above" in page.find("main")[0]["class"]
    assert page.said == "handle: 800 KB, 80.0 %"


def test_browser_search(browse):
    page = browse(search="^parse$")
    matches = [facts for facts, _ in page.boxes.values() if "match" in facts["class"].split()]
    assert sorted(int(facts["data-v"]) for facts in matches) == [49_950, 100_000, 200_000]
    assert page.said == "matched 35.0 % (350 KB, 3 frames)"


def test_browser_search_counts_nested_matches_once(browse):
    page = browse(search="handle|cache_put")
    assert page.said == "matched 80.0 % (800 KB, 2 frames)"


def test_browser_search_is_a_regex_and_may_be_wrong(browse):
    page = browse(search="pa[r")
    assert 'class="wrong"' in page.dom and page.said == ""


def test_browser_zoom_and_search_and_flip(browse, graph):
    page = browse(zoom=zoom_number(graph, "handle"), search="PARSE", flip=1)
    assert page.said == "handle: 800 KB, 80.0 % · matched 0.0 % (0 B, 0 frames)"
    heights = [int(facts["y"]) for facts in page.find("all")]
    assert heights == [max(int(facts["y"]) for facts, _ in page.boxes.values())]


def test_browser_thousands_of_frames(browse, tool, tmp_path):
    names = [f"function_{i}" for i in range(3000)]
    made = Made(tmp_path, [*START, *names])
    for i, name in enumerate(names):
        made.allocate([*START, name, names[-1 - i]], 1000 + i)
    path = tmp_path / "large.svg"
    tool("export", "--to", "flamegraph", "-o", path, made.write())
    page = browse(path, search="function_17")
    assert len(page.boxes) > 5000
    assert re.search(r"matched \d+\.\d % ", page.said)


ACT = """
<script><![CDATA[
const frame = label => Array.from(document.querySelectorAll("svg.f"))
	.find(box => box.getAttribute("aria-label").startsWith(label + "\\n"));
const press = (key, more) => document.documentElement.dispatchEvent(
	new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
const type = text => {
	document.getElementById("search").value = text;
	document.getElementById("search").dispatchEvent(new Event("input"));
};
ACTIONS
document.getElementById("frames").setAttribute("data-hash", location.hash);
]]></script>
</svg>
"""


@pytest.mark.parametrize("actions, said, hash", [
    ('frame("handle").querySelector("rect").dispatchEvent(new MouseEvent("click", {bubbles: true}))',
     "handle: 800 KB, 80.0 %", "#zoom=4"),
    ('type("parse")', "matched 35.0 % (350 KB, 3 frames)", "#search=parse"),
    ('type("parse"); press("Escape")', "", ""),
    ('document.getElementById("flip").click()', "", "#flip=1"),
    # Arrows: the root, three frames down to main, then its largest child.
    ('for (let i = 0; i < 5; i++) press("ArrowDown"); press("Enter")', "handle: 800 KB, 80.0 %",
     "#zoom=4"),
    ('for (let i = 0; i < 5; i++) press("ArrowDown"); press("ArrowRight"); press("Enter")',
     "parse: 100 KB, 10.0 %", "#zoom=5"),
    ('frame("handle").querySelector("rect").dispatchEvent(new MouseEvent("click", {bubbles: true}));'
     'press("Backspace")', "main: 1.00 MB, 100 %", "#zoom=3"),
    ('press("f", {ctrlKey: true}); if (document.activeElement.id !== "search") throw Error("focus");'
     'type("cache")', "matched 60.0 % (600 KB, 1 frame)", "#search=cache"),
])
def test_browser_mouse_and_keys(browse, graph, tmp_path, actions, said, hash):
    path = tmp_path / "acted.svg"
    text = graph.read_text(encoding="utf-8")
    path.write_text(text[:text.rindex("</svg>")] + ACT.replace("ACTIONS", actions),
                    encoding="utf-8")
    page = browse(path)
    assert page.said == said
    assert re.search('id="frames"[^>]* data-hash="([^"]*)"', page.dom).group(1) == hash


def test_browser_tooltip(browse, graph, tmp_path):
    path = tmp_path / "tip.svg"
    text = graph.read_text(encoding="utf-8")
    action = ('frame("handle").querySelector("rect").dispatchEvent('
              'new MouseEvent("mousemove", {bubbles: true, clientX: 20, clientY: 30}))')
    path.write_text(text[:text.rindex("</svg>")] + ACT.replace("ACTIONS", action),
                    encoding="utf-8")
    tip = re.search(r'<div[^>]* id="tip"[^>]*visibility: visible[^>]*>([^<]*)<', browse(path).dom)
    assert tip and tip.group(1) == "handle\n800 KB peak, 80.0 %, in 2 calls"
