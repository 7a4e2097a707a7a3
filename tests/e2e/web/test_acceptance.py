"""What the page promises first of all, in the words of its users, on recordings of real programs."""
import json
import re
import shlex
import subprocess

import pytest

from conftest import clean_environment, need

PAGES = ["overview", "flame", "tree", "sites", "allocations", "source", "leaks", "churn", "distributions", "space",
         "threads"]
NBSP = "\u00a0"
# Keeps what the page copies; a test has no clipboard.
CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}});"
SCRIPT = """
kept = [{"number": i, "words": ["word %d" % (i % 97)] * 5} for i in range(20000)]
by_number = {one["number"]: [word.upper() for word in one["words"]] for one in kept}
del kept
"""


def exact(page, css):
    return int(re.sub(r"[^\d-]", "", page.wait("return document.querySelector(arguments[0])?.title", css)))


def copied(page, what):
    page.run(CLIPBOARD)
    page.click(".export > button")
    page.click(".export button", what)
    return page.wait("return window.copied ?? null")


def run_of(program, tmp_path):
    if program == "python3":
        (tmp_path / "script.py").write_text(SCRIPT)
        return ["--force-malloc", "--", "/usr/bin/python3", tmp_path / "script.py"]
    need("clang++")
    (tmp_path / "small.cpp").write_text("#include <map>\n#include <string>\n"
                                        "int size(const std::map<std::string, int> &map) { return map.size(); }\n")
    return ["--", "clang++", "-O1", "-c", tmp_path / "small.cpp", "-o", tmp_path / "small.o"]


@pytest.mark.long
@pytest.mark.parametrize("program", ["python3", "clang++"])
def test_numbers_of_other_programs(browse, serve, tool, tmp_path, program):
    """Each page's number is the server's and the report's."""
    path = tmp_path / "program.mallow"
    tool("run", "-o", path, *run_of(program, tmp_path))
    server = serve(path)
    page = browse(server)
    report = json.loads(tool("report", "--json", path).stdout)
    for name in PAGES:
        page.open(f"#/{name}")
        assert exact(page, ".sum") == report["peak_bytes"], name
    headline = server.json("/data/last/findings")["headline"]["sentence"]
    page.open()
    assert page.text("h1").replace(NBSP, " ") == " ".join(headline.split())
    some = json.loads(tool("report", "--json", "--size-min", "300", "--alive-at", "50%", path).stdout)
    page.open("#/sites?size_min=300&alive_at=50%25")
    assert exact(page, ".sum") == some["peak_bytes"]


@pytest.mark.long
def test_who_made_the_peak(page, server):
    """(a) In one sentence, with thread and stack of the allocation that reached it."""
    page.open()
    peak = server.json("/data/last/summary")["peak"]
    threads = server.json("/data/last/summary")["threads"]
    name = next(thread["name"] for thread in threads if thread["thread"] == peak["thread"])
    line = next(text for text in page.texts("summary") if "The peak was reached" in text)
    assert re.search(rf"by thread {re.escape(name)}( [0-9]+)? in ", line)
    own = line.rsplit(" in ", 1)[1].strip()
    frames = server.json(f"/data/last/backtrace/{peak['backtrace_id']}")
    functions = [frame["function"] for frame, quiet in zip(frames["frames"], frames["plumbing"]) if not quiet]
    assert functions[-1].split("(")[0].endswith(own)
    page.run("[...document.querySelectorAll('summary')].find((one) => one.innerText.includes('The peak')).click()")
    assert own in page.text(".run-facts[open] .stack")


@pytest.mark.long
def test_a_leak_is_a_wedge(page, server):
    """(e) At the right edge of the curve the colour of what is never freed is as high as its share, at the left it is not there."""
    page.open()
    found = page.run("""
const canvas = document.querySelector('.strip canvas'), context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--never-freed');
probe.fillRect(0, 0, 1, 1);
const wanted = probe.getImageData(0, 0, 1, 1).data;
context.canvas.width = canvas.width;
context.canvas.height = canvas.height;
context.drawImage(canvas, 0, 0);
const scale = canvas.width / canvas.clientWidth, left = 64 * scale, right = canvas.width - 10 * scale;
return [0.02, 0.25, 0.5, 0.75, 0.99].map((part) => {
    const pixels = context.getImageData(Math.round(left + part * (right - left)), 0, 1, canvas.height).data;
    let rows = 0;
    for (let i = 0; i < pixels.length; i += 4)
        rows += [0, 1, 2].every((at) => Math.abs(pixels[i + at] - wanted[at]) < 24);
    return rows;
});""")
    assert found == sorted(found) and found[0] <= 2 and found[-1] >= 10 and found[-1] >= 3 * found[1], found


@pytest.mark.long
def test_two_recordings_in_one_flame_graph(browse, serve, tool, tmp_path):
    """(f) Of two runs of a program, chosen on the page."""
    (tmp_path / "p.c").write_text("""
#include <stdlib.h>
__attribute__((noinline)) static void *cache(int n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
__attribute__((noinline)) static void *table(int n) { void *p = malloc(n); __asm__("" : "+r"(p)); return p; }
int main(int argc, char **argv) { for (int i = 0; i < 100 * argc; i++) cache(5000); table(300000); return 0; }
""")
    subprocess.run(["gcc", "-g", "-O1", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    paths = [tmp_path / "before.mallow", tmp_path / "after.mallow"]
    for path, words in zip(paths, ([], ["more", "and more"])):
        tool("run", "-o", path, "--", tmp_path / "p", *words)
    server = serve(*paths)
    before, after = [server.json(f"/data/{tool.info(path)['id']}/summary")["facts"]["id"] for path in paths]
    page = browse(server)
    page.open(f"#/compare?r={after}&b.id={before}")
    change = server.json(f"/data/{after}/sums", by="function", **{"b.id": before})["change"]["all"]["bytes"]
    assert change == 200 * 5000
    heading = page.text("h1").replace(NBSP, " ")
    assert heading.startswith("+1.00 MB") and "cache +1.00 MB is 100 % of it" in heading
    page.run("[...document.querySelectorAll('button')].find((one) => one.innerText === 'Show as table').click()")
    page.settle()
    rows = [row.replace(NBSP, " ") for row in page.texts(".flame-table tr")]
    assert any("cache" in row and "+1.00 MB" in row for row in rows), rows


@pytest.mark.long
def test_a_link_opens_exactly_this_view(page, browse, server):
    """(h) With moment, filter, metric and what is open."""
    page.open("#/sites?by=function&metric=leaked&size_min=64")
    page.drag(".strip-field", 0.3, 0.8)
    page.click(".grid-row")
    link = copied(page, "Copy as link")
    other = browse(server)
    other.open(link.split("/", 3)[3])
    for css in ("h1", ".chips", ".grid", ".drawer"):
        assert other.text(css) == page.text(css)


@pytest.mark.long
@pytest.mark.parametrize("place", ["#/sites?size_min=300", "#/flame?range=moment:500000000ns",
                                   "#/leaks?function_regex=%5Eregister_", "#/overview?range=kept:200000000ns..900000000ns"])
def test_the_copied_command_says_the_same(page, tool, place):
    page.open(place)
    words = shlex.split(copied(page, "Copy as command"))
    assert words[0] == "mallow"
    if words[1] == "export":
        words = ["mallow", "report", *words[words.index("-o") + 2:]]
    said = json.loads(tool(*words[1:], "--json").stdout)
    assert said["peak_bytes"] == exact(page, ".sum")


@pytest.mark.long
def test_the_copied_request_is_answered(page, server):
    page.open("#/sites?size_min=300")
    words = shlex.split(copied(page, "Copy as curl"))
    assert words[0] == "curl" and len(words) == 2
    assert json.loads(server.request(words[1].removeprefix(page.origin))[2])["all"]["bytes"] == exact(page, ".sum")


@pytest.mark.long
def test_a_damaged_recording_is_shown_or_refused(browse, serve, mallow, recording, tmp_path):
    """What is left of it, with a doubt; or a line that says what is wrong. Nothing is thrown."""
    whole = recording.read_bytes()
    flipped = bytearray(whole)
    # In the index, too: its sums are right whatever happened to the events, and are shown first.
    for at in (*range(len(whole) // 3, len(whole) // 3 + 4096, 7), *range(len(whole) * 3 // 4, len(whole), 512)):
        flipped[at] ^= 0x55
    opened = 0
    for name, data in (("half", whole[:len(whole) // 2]), ("most", whole[:len(whole) * 9 // 10]), ("flipped", bytes(flipped)),
                       ("head", whole[:4096])):
        path = tmp_path / f"{name}.mallow"
        path.write_bytes(data)
        trial = subprocess.run([mallow, "info", path], capture_output=True, env=clean_environment(), check=False)
        if trial.returncode:
            continue
        opened += 1
        page = browse(serve(path))
        for place in PAGES:
            page.open(f"#/{place}")
            assert page.run("return document.querySelector('main h1') !== null"), (name, place)
            heads = page.run("return Array.from(document.querySelectorAll('main h1, main h1 ~ p, .run-facts, .finding'), "
                             "(element) => element.textContent).join('\\n')")
            for claim in ("is complete", "was never freed", "Every block that", "Everything was freed"):
                assert claim not in heads, (name, place, heads)
        page.open()
        assert page.texts(".doubts li"), name
        page.check()
    assert opened >= 2


@pytest.mark.long
@pytest.mark.parametrize("what,ending,command", [
    ("Flame graph (SVG)", ".svg", ["export", "--to", "flamegraph", "--metric", "leaked"]),
    ("Collapsed stacks", ".txt", ["export", "--to", "collapsed", "--metric", "leaked"]),
    ("pprof", ".pb.gz", ["export", "--to", "pprof"]),
    ("heaptrack", ".heaptrack", ["export", "--to", "heaptrack"]),
    ("speedscope", ".speedscope.json", ["export", "--to", "speedscope", "--metric", "leaked"]),
    ("Firefox Profiler", ".firefox.json", ["export", "--to", "firefox"]),
    ("massif", ".massif", ["export", "--to", "massif"]),
    ("callgrind", ".callgrind", ["export", "--to", "callgrind"]),
    ("DHAT", ".dhat.json", ["export", "--to", "dhat"])])
def test_downloads_are_what_the_command_writes(page, tool, recording, tmp_path, what, ending, command):
    """Their readers read those: tests of exports."""
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.open("#/sites?size_min=300&metric=leaked")
    page.click(".export > button")
    page.click(".export a", what)
    path = tmp_path / f"web_server{ending}"
    page.wait_for(path.exists)
    output = tmp_path / "written"
    tool(*command, "--size-min", "300", "-o", output, recording)
    assert path.read_bytes() == output.read_bytes()


DIFFERENCE = "size_min=300&alive_at=100%25&b.alive_at=50%25"


@pytest.mark.long
@pytest.mark.parametrize("place,what,ending,answer", [
    ("sites?size_min=300&metric=slack&by=function", "Rows as CSV", ".csv",
     "export/sums.csv?size_min=300&by=function&sort_by=slack&count=100000"),
    ("sites?size_min=300&sort=first&order=dsc", "Answer as JSON", ".json",
     "sums?size_min=300&sort_by=first&order=dsc&count=100"),
    (f"sites?{DIFFERENCE}", "Rows as CSV", ".csv", f"export/sums.csv?{DIFFERENCE}&sort_by=bytes&count=100000"),
    ("allocations?size_min=300&sort=size", "Rows as CSV", ".csv", "export/allocations.csv?size_min=300&sort_by=size"),
    ("mappings?sort=size", "Rows as CSV", ".csv", "export/maps.csv?sort_by=size"),
    ("leaks?size_min=300", "Rows as CSV", ".csv", "export/sums.csv?size_min=300&by=function&sort_by=leaked&count=100000"),
    ("leaks?size_min=300&metric=slack", "Collapsed stacks", ".txt", "export/collapsed?size_min=300&metric=leaked"),
    ("flame?size_min=300&metric=calls", "Sites as CSV", ".csv", "export/sums.csv?size_min=300&sort_by=calls&count=100000"),
    ("flame?size_min=300&direction=both", "Answer as JSON", ".json", "flame?size_min=300&metric=peak")])
def test_downloads_are_the_answer(page, server, tmp_path, place, what, ending, answer):
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.open("#/" + place)
    page.click(".export > button")
    page.click(".export a", what)
    path = tmp_path / f"web_server{ending}"
    page.wait_for(path.exists)
    status, _, body = server.request("/data/last/" + answer)
    assert status == 200 and path.read_bytes() == body


@pytest.mark.long
def test_every_page_has_exports(page, server):
    """All that a menu offers is there, also of a difference and of a range."""
    for place in [*PAGES, *(f"{place}?{DIFFERENCE}" for place in ("flame", "sites", "compare")),
                  "sites?range=freed:0ns..50000000ns", "allocations?range=allocated:0ns..50000000ns"]:
        page.open("#/" + place)
        page.click(".export > button")
        for target in page.run("return [...document.querySelectorAll('.export a')].map(link => link.getAttribute('href'))"):
            status, _, body = server.request(target)
            assert status == 200, (place, target, body)


@pytest.mark.long
def test_an_export_says_in_what_it_differs(page):
    for place, text in (
            ("sites?metric=slack", "Flame graph (SVG): by bytes at the peak"), (f"sites?{DIFFERENCE}", "pprof: after alone"),
            (f"flame?{DIFFERENCE}", "Flame graph (SVG)"),
            ("mappings", "heaptrack: the allocations"), ("sites?metric=slack", "pprof"),
            ("flame?direction=callers", "Collapsed stacks: all functions and what they called")):
        page.open("#/" + place)
        page.click(".export > button")
        assert text in page.texts(".export a"), place
