"""The web interface as one file (mallow export --to html): opened from file://, it shows what a server shows of the
same recording, asks nobody, and says of the rest who has it."""
import json
import os
import re
import signal
import subprocess
import urllib.parse

import pytest

from conftest import clean_environment, need
from firefox import Firefox
from made_recording import Made
from page_answers import answers
from page_sound import assert_sound
from servers import serve  # noqa: F401

PAGES = ["overview", "flame", "tree", "sites", "source", "leaks", "churn", "distributions", "space", "mappings", "threads",
         "errors", "mallopts"]
# What a page says, but for controls that only one of both has.
SAID = """const main = document.querySelector('main').cloneNode(true);
main.querySelectorAll('.chips .plain, .chips .menu, .view-bar, .space > p, .strip-foot, .drawer-foot, .space-page, .bars-ends, .strip-note, .doubts')
    .forEach((one) => one.remove());
// The file's graphs have more nodes than a server sends.
if (main.querySelector('.flame-view, [role=treegrid]')) return main.querySelector('h1').textContent + main.querySelector('.chips').textContent;
return main.textContent.replace(/Click a cell: who keeps it alive\\./, '').replace(/\\s+/g, ' ');"""


@pytest.fixture(scope="session")
def exported(tool, recording, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "web_server.html"
    tool("export", "--to", "html", "--sources", "-o", path, recording)
    return path


@pytest.fixture
def file(browse, exported):
    """The page in the file: open(place)."""
    page = browse(f"file://{exported.parent}")
    to = page.open
    page.open = lambda place="": to(f"{exported.name}{place}")
    return page


@pytest.fixture(scope="session")
def sourced(mallow, recording):
    """A server that shows sources, as the file does."""
    from servers import Server
    server = Server(mallow, recording, "--sources")
    yield server
    server.end()


DRAWER = """const drawer = document.querySelector('.drawer').cloneNode(true);
drawer.querySelectorAll('.drawer-foot, .bars-ends').forEach((one) => one.remove());
return drawer.textContent.replace(/\\s+/g, ' ').replace(/worker-\\d/g, 'worker');"""


def difference(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return a[max(0, at - 60):at + 100], b[max(0, at - 60):at + 100]


def said(page, places, script=SAID):
    texts = {}
    for place in places:
        page.open(f"#/{place}")
        assert not page.texts(".failure"), place
        texts[place] = page.run(script)
    page.check()    # tabs share what the browser logs
    return texts


def test_each_page_says_what_the_server_says(file, browse, sourced):
    """Word by word, number by number."""
    texts = said(file, PAGES)
    for place, text in said(browse(sourced), PAGES).items():
        assert texts[place] == text, (place, difference(texts[place], text))


@pytest.mark.long
def test_moments_and_metrics(file, browse, sourced):
    peak = sourced.json("/data/last/summary")["peak"]["at_ns"]
    views = ("flame?", "tree?", "sites?", "sites?by=function&", "sites?by=module&sort=calls&", "distributions?")
    settings = (f"range=moment:{peak}ns", *(f"metric={name}" for name in ("leaked", "calls", "temporary", "blocks", "slack")))
    places = [view + setting for view in views for setting in settings]
    texts = said(file, places)
    for place, text in said(browse(sourced), places).items():
        assert texts[place] == text, (place, difference(texts[place], text))


@pytest.mark.long
def test_a_site_in_full(file, browse, sourced):
    """The drawers of the largest sites and functions: sums, sizes, lifetimes, threads, stack. Workers do the same: which
    of them comes first is chance."""
    places = []
    for by, column in (("site", "backtrace_id"), ("function", "name")):
        sums = sourced.json(f"/data/last/sums?by={by}&count=5")
        places += [f"sites?by={by}&sel={urllib.parse.quote(str(sums['keys'][0][column][key]), safe='')}" for key in sums["key"]]
    texts = said(file, places, DRAWER)
    for place, text in said(browse(sourced), places, DRAWER).items():
        assert texts[place] == text, (place, difference(texts[place], text))


def test_the_brush_has_the_moments_of_the_file(file, exported):
    """A click takes the nearest one; a range is refused by a line; the menu names them."""
    facts, _ = answers(exported.read_text())
    times = [moment["at_ns"] for moment in facts["moments"]]
    assert {moment["name"] for moment in facts["moments"]} >= {"peak", "end", "serving", "report job", "report done"}
    file.open("#/sites")
    file.drag(".strip-field", 0.3, 0.3)
    found = re.search(r"range=moment:(\d+)ns", file.hash.replace("%3A", ":"))
    assert found and int(found[1]) in times
    file.drag(".strip-field", 0.3, 0.6)
    assert "range=kept" not in file.hash
    assert "mallow serve web_server.mallow" in file.text(".said")
    file.click(".chips .menu > button")
    file.click(".chips [role=menuitem]", "report done")
    assert f"moment:{[one['at_ns'] for one in facts['moments'] if one['name'] == 'report done'][0]}ns" in file.hash.replace("%3A", ":")
    assert not file.texts(".failure")


def test_what_is_not_there_is_said(file):
    for place, where in (("allocations", "h1"), ("processes", "h1"), ("compare", "h1"), ("sites?size_min=100", ".failure"),
                         ("flame?merge=lines", ".failure")):
        file.open(f"#/{place}")
        assert "mallow serve web_server.mallow" in file.text(where), place
        assert not file.texts(".failure button"), place


def test_search(file, browse, sourced):
    """What is found is what the server finds, also of functions that are folded."""
    places = [f"#/flame?find={name}{metric}" for name in ("cache_put", "report_job", "main") for metric in ("", "&metric=leaked")]
    found = []
    for place in places:
        file.open(place)
        found.append(file.text(".flame-switches.muted b"))
    file.check()
    served = browse(sourced)
    for place, amount in zip(places, found):
        served.open(place)
        assert served.text(".flame-switches.muted b") == amount, place
    served.check()      # before the file's tab reads what the browser logged of both


@pytest.mark.long
def test_no_link_leads_to_nothing(file):
    """Every link and every switch that is not disabled, of every page."""
    seen = set()
    for name in PAGES:
        file.open(f"#/{name}")
        links = file.run("return [...document.querySelectorAll('main a[href^=\"#/\"]')].map((link) => link.getAttribute('href'))")
        for link in set(links) - seen:
            file.open(link)
            assert not file.texts(".failure"), (name, link)
        seen |= set(links)
    assert len(seen) > 30
    for name in ("flame", "tree"):
        file.open(f"#/{name}")
        for text in file.texts("main [role=radiogroup] button:not(:disabled), main .switch button:not(:disabled)"):
            file.click("main button:not(:disabled)", text)
            file.settle()
            assert not file.texts(".failure"), (name, text)


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_sound(file, name):
    assert_sound(file, f"#/{name}")


@pytest.mark.long
def test_firefox(browse, exported, tmp_path):
    """Another browser: the same words on each page, and nothing that failed."""
    need("firefox-esr")
    page = browse(f"file://{exported.parent}")
    with Firefox(tmp_path) as firefox:
        page.size(*firefox.run("return [innerWidth, innerHeight]"))     # as many rows of tables
        for name in PAGES:
            page.open(f"{exported.name}#/{name}")
            firefox.open("about:blank")
            firefox.open(f"file://{exported}#/{name}")
            firefox.wait("return document.body.dataset.busy === '0' && document.querySelector('h1')?.textContent.trim() && "
                         "!document.querySelector('[aria-busy=true]')")
            assert not firefox.run("return document.querySelector('.failure')?.textContent"), name
            assert firefox.wait(SAID) == page.run(SAID), name


def test_filtered(tool, browse, recording, tmp_path):
    """Conditions hold for the whole file, and the page says so."""
    path = tmp_path / "some.html"
    tool("export", "--to", "html", "--size-min", "1000", "-o", path, recording)
    report = json.loads(tool("report", "--json", "--size-min", "1000", recording).stdout)
    page = browse(f"file://{tmp_path}")
    page.open("some.html#/sites")
    assert "size ≥ 1000" in page.text(".chips")
    assert int(re.sub(r"\D", "", page.run("return document.querySelector('.sum').title"))) == report["peak_bytes"]


def test_anonymous(tool, recording, tmp_path):
    """No path, no argument, no host; functions and file names stay."""
    path = tmp_path / "anonymous.html"
    tool("export", "--to", "html", "--anonymous", "-o", path, recording)
    info = json.loads(tool("info", "--json", recording).stdout)
    facts, found = answers(path.read_text())
    text = json.dumps(found) + json.dumps(facts)
    assert info["host"] and info["host"] not in text
    for secret in (info["directory"], info["program"], str(recording.parent), "/usr/lib", "/home/"):
        assert secret and secret not in text, secret
    assert not re.search(r'"/(?!list)[^"]*/', text), "a text that begins as a path"
    assert "web_server.cpp" in text and "cache_put" in text
    shown = found["summary"]["facts"]
    assert shown["arguments"] == [] and shown["environment"] is None and shown["host"] is None


BUSY = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[5000];
int main(void)
{
	for (unsigned i = 0;; i++) {
		free(kept[i * 7919 % 5000]);
		kept[i * 7919 % 5000] = malloc(i % 3000);
		if (i == 400000) {
			puts("busy");
			fflush(stdout);
		}
		if (i > 400000)
			usleep(100);
	}
}
"""


def test_a_program_that_runs(mallow, tool, browse, tmp_path):
    """All answers are of one moment, though making them takes longer than a server waits before it looks again; and
    the page says that the program goes on."""
    (tmp_path / "busy.c").write_text(BUSY)
    subprocess.run(["gcc", "-o", tmp_path / "busy", tmp_path / "busy.c"], check=True)
    running = subprocess.Popen([mallow, "run", "--no-finish", "-o", tmp_path / "busy.mallow", "--", tmp_path / "busy"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment(), start_new_session=True)
    try:
        assert running.stdout.readline() == b"busy\n"
        path = tmp_path / "running.html"
        tool("export", "--to", "html", "-o", path, tmp_path / "busy.mallow")
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    _, found = answers(path.read_text())
    sums = [answer["all"]["calls"] for of, answer in found.items()
            if re.fullmatch(r"sums\?by=[a-z,]+(&(sort_by|spark|count|skip|shapes)=\w+)*", of) and not isinstance(answer, str)]
    assert len(sums) > 10 and set(sums) == {found["summary"]["matched"]["calls"]}
    page = browse(f"file://{tmp_path}")
    page.open("running.html")
    assert "The program still runs" in page.text(".doubts")


def test_a_file_from_a_server_is_about_one_recording(tool, mallow, serve, recording, tmp_path):  # noqa: F811
    """Others that the server has are nobody's business."""
    tool("run", "-o", tmp_path / "other.mallow", "--", "/bin/true")
    server = serve(recording, tmp_path / "other.mallow")
    names = {one["id"]: one["executable"] for one in server.json("/list")}
    for id_, name in names.items():
        status, _, body = server.request(f"/data/{id_}/export/html")
        assert status == 200
        _, found = answers(body.decode())
        [only] = found[f"/list?id={id_}"]
        assert only["id"] == id_
        text = json.dumps(found)
        assert name in text and not any(other in text for other in set(names.values()) - {name})


def test_sources_and_anonymous_exclude_each_other(tool, recording):
    run = tool("export", "--to", "html", "--anonymous", "--sources", recording, check=False)
    assert run.returncode == 2 and "exclude each other" in run.stderr


def test_what_cannot_be_made(tool, recording, tmp_path):
    """A condition about paths without paths, one that the recording cannot answer, and a file over what is read."""
    for option in ("--module-regex=web", "--source-regex=cpp", "--suppress=leak:main"):
        run = tool("export", "--to", "html", "--anonymous", option, recording, check=False)
        assert run.returncode == 2 and "exclude each other" in run.stderr
    sample = tmp_path / "sample.mallow"
    tool("run", "--sample", "64", "-o", sample, "--", "/bin/ls", "/")
    run = tool("export", "--to", "html", "--temporary", "yes", "-o", tmp_path / "x.html", sample, check=False)
    assert run.returncode == 1 and "temporary" in run.stderr and not (tmp_path / "x.html").exists()
    before = sample.read_bytes()
    for words in (["export", "--to", "html", "-o"], ["export", "--to", "flamegraph", "-o"], ["check", "--max-calls", "1", "--html"],
                  ["check", "--max-calls", "1", "-o"]):
        run = tool(*words, sample, sample, check=False)
        assert run.returncode == 2 and "would be overwritten" in run.stderr, words
    assert sample.read_bytes() == before


def test_at_one_moment(tool, browse, recording, tmp_path):
    """What lives at a moment has no other moments to choose."""
    tool("export", "--to", "html", "--alive-at", "peak", "-o", tmp_path / "peak.html", recording)
    facts, found = answers((tmp_path / "peak.html").read_text())
    assert facts["moments"] == [] and not any("alive_at" in of for of in found)
    page = browse(f"file://{tmp_path}")
    page.open("peak.html#/flame")
    page.drag(".strip-field", 0.4, 0.4)
    assert not page.texts(".failure") and "range=" not in page.hash


def test_killed_at_its_peak(tool, browse, tmp_path):
    """The peak and the end are one moment, which has both names."""
    made = Made(tmp_path, ["main", "grow"])
    for _ in range(3):
        made.allocate(["main", "grow"], 1000)
    tool("export", "--to", "html", "-o", tmp_path / "killed.html", made.write(end=False))
    facts, _ = answers((tmp_path / "killed.html").read_text())
    assert [one["name"] for one in facts["moments"]] == ["peak and end"]
    page = browse(f"file://{tmp_path}")
    for moment in ("peak", "end"):
        page.open(f"killed.html#/sites?alive_at={moment}")
        assert not page.texts(".failure") and "grow" in page.text("h1")


def test_only_for_html(tool, recording):
    for option in ("--nodes=10", "--anonymous", "--sources"):
        run = tool("export", "--to", "pprof", "-o", "/dev/null", option, recording, check=False)
        assert run.returncode == 2 and "is not for --to pprof" in run.stderr
    run = tool("export", "--to", "html", "--nodes", "0", recording, check=False)
    assert run.returncode == 2


def test_nodes(tool, recording, tmp_path):
    """So many of each graph, and what is left out is a number of its parent."""
    path = tmp_path / "small.html"
    tool("export", "--to", "html", "--nodes", "5", "-o", path, recording)
    _, found = answers(path.read_text())
    graphs = {of: graph for of, graph in found.items() if of.startswith("flame?")}
    assert graphs and all(len(graph["parent"]) <= 5 for graph in graphs.values())
    graph = next(graph for of, graph in graphs.items() if "metric=total&fold=none" in of)
    children = [0] * len(graph["parent"])
    for node, parent in enumerate(graph["parent"]):
        if parent >= 0:
            children[parent] += graph["bytes"][node]
    for node, value in enumerate(graph["bytes"]):
        assert children[node] + graph["own"][node] + graph["rest"][node] == value


def test_what_check_leaves(tool, browse, recording, tmp_path):
    """The page of a gate that broke begins with what broke; the exit status is the gate's."""
    path = tmp_path / "gate.html"
    run = tool("check", "--max-peak", "1M", "--max-leaked", "1G", "--html", path, recording, check=False)
    assert run.returncode == 1
    page = browse(f"file://{tmp_path}")
    page.open("gate.html")
    assert page.text(".checked pre").split() == run.stdout.split()
    assert page.run("return document.querySelector('.checked').classList.contains('broken')")
    assert not page.axe()
    two = tool("check", "--max-peak", "1G", "--html", path, recording, recording.parent, check=False)
    assert two.returncode == 3 and "--html wants one recording" in two.stderr
