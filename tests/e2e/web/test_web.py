"""The web interface in a real browser: what pages show is what the server and the command line say."""
import json
import random
import re
import shutil
import subprocess
import urllib.parse

import pytest

from browser import PAGES
from heap_dumps import write_dumps
from processes import wait_for
from streams import Process
from page_sound import CUT, assert_sound

NBSP = "\u00a0"


def size(text):
    """The first amount of a text in bytes, as far as it is told: (least, most)."""
    found = re.search(r"([\d.,]+)\s(B|KB|MB|GB)\b", text.replace(NBSP, " "))
    assert found, text
    number = found[1].replace(",", "")
    unit = 1000 ** ["B", "KB", "MB", "GB"].index(found[2])
    half = 0.5 * 10 ** -len(number.partition(".")[2]) * unit
    return float(number) * unit - half, float(number) * unit + half


def exact(page, css):
    """The number to the byte, in the title of an element."""
    return int(re.sub(r"[^\d-]", "", page.wait("return document.querySelector(arguments[0])?.title", css)))


def test_smoke(page, server, tool, recording):
    """The overview: its sentence is that of the report, its numbers are those of the server."""
    page.open()
    report = tool("report", recording).stdout
    headline = server.json("/data/last/findings")["headline"]["sentence"]
    assert page.text("h1").replace(NBSP, " ") == " ".join(headline.split())
    assert " ".join(headline.split()) in " ".join(report.split())
    summary = server.json("/data/last/summary")
    assert exact(page, ".sum") == summary["matched"]["peak_bytes"]
    assert "register_label" in page.text(".findings")
    assert [text.strip() for text in page.texts(".flag-name")][0] == "⚑ serving"
    assert page.run("return document.querySelectorAll('.strip canvas').length") == 1
    assert not page.axe()


ROW = re.compile(r" +([\d.,]+ \S+) +[\d.]+ %  .{8}  (\S+)  \S+?:(\d+)(?: +(\S.*))?$")


@pytest.mark.parametrize("number, sort", enumerate(["peak", "leaked"]))
def test_the_overview_has_the_rows_of_the_report(page, tool, recording, number, sort):
    """Places, a line of own code and its call: amounts, functions, lines, and what is left out."""
    page.open()
    report = tool("report", "--sort", sort, "--top", "6", "--width", "200", recording).stdout
    table = re.search(r"over run  allocated by.*?\n\n", report, re.S)[0].splitlines()
    told = [ROW.match(line).groups("") for line in table[1:7]]
    rows = [[cell.replace(NBSP, " ") for cell in row] for row in page.run(
        "return [...document.querySelectorAll('.top-sites')[arguments[0]].querySelectorAll('tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))", number)]
    shown = [(cells[0], *re.match(r"(\S+) \S+?:(\d+)(.*)", cells[3]).groups()) for cells in rows[:6]]
    assert [(*row[:3], row[3].removeprefix(" · ")) for row in shown] == told
    assert len({row[1:] for row in shown}) == 6
    assert (rows[6][0], rows[6][3]) == (re.search(r" more, ([\d.,]+ \S+), ", table[7])[1], "other places")


@pytest.mark.long
@pytest.mark.parametrize("name", [*PAGES, "compare?alive_at=end&b.alive_at=peak"])
def test_each_page_is_sound(page, name):
    assert_sound(page, f"#/{name}")


@pytest.mark.long
def test_the_brush_rules_every_page(page, server):
    """A drag on one page; then the same range, and the same numbers, on each."""
    page.open("#/sites")
    page.drag(".strip-field", 0.2, 0.6)
    found = re.search(r"range=kept:(\d+)ns\.\.(\d+)ns", urllib.parse.unquote(page.hash))
    assert found, page.hash
    begin, end = map(int, found.groups())
    conditions = {"from": f"{begin}ns", "to": f"{end}ns", "lifetime": "only_not_deallocated_in_current_range"}
    peak = server.json("/data/last/summary", **conditions)["matched"]["peak_bytes"]
    for name in ("sites", "flame", "allocations", "leaks", "overview"):
        page.run(f"document.querySelector('.rail a[href*=\"#/{name}\"]').click()")
        page.settle()
        assert exact(page, ".sum") == peak, name
    page.run("document.querySelector('.rail a[href*=\"#/sites\"]').click()")
    page.settle()
    sums = server.json("/data/last/sums", **conditions)
    assert sums["all"]["bytes"] == peak
    low, high = size(page.text("h1").split("·")[1])
    assert low <= peak <= high
    page.run("history.back()")
    page.settle()
    assert "#/overview" in page.hash


@pytest.mark.long
def test_a_click_chooses_a_moment_with_exact_numbers(page, server):
    """The curve, the chip, the graph's root and the table agree to the byte."""
    page.open("#/flame")
    page.drag(".strip-field", 0.7, 0.7)
    moment = int(re.search(r"range=moment:(\d+)ns", page.hash)[1])
    series = server.json("/data/last/series")
    assert moment in series["at_ns"]
    live = series["live_last"][series["at_ns"].index(moment)]
    flame = server.json("/data/last/flame", alive_at=f"{moment}ns")
    sums = server.json("/data/last/sums", alive_at=f"{moment}ns")
    assert exact(page, ".sum") == live == flame["bytes"][0] == sums["all"]["bytes"]
    low, high = size(page.text("h1"))
    assert low <= live <= high


@pytest.mark.long
def test_keys(page):
    page.open("#/sites")
    page.press("P")
    assert "range=moment:" in page.hash
    page.press("gf")
    assert page.hash.startswith("#/flame")
    page.press("3")
    assert "metric=calls" in page.hash
    page.press("0")
    assert "range" not in page.hash
    page.press("?")
    assert "Keys and words" in page.text("dialog h2")
    page.press("\ue00c")
    assert page.run("return document.querySelector('dialog') === null")


@pytest.mark.long
def test_sites_and_their_drawer(page, server):
    page.open("#/sites?by=function&metric=leaked")
    first = page.texts(".grid-row")[0]
    assert first.startswith("register_label")
    page.click(".grid-row")
    text = page.text(".drawer").replace(NBSP, " ")
    sums = server.json("/data/last/sums", by="function", sort_by="leaked", count=1)
    assert sums["keys"][0]["name"][0] == "register_label()"
    low, high = size(text.split("\n", 1)[1])
    assert low <= sums["leaked"][0] <= high
    assert "worker-" in text and "handle" in text and "Freed by\n\nnowhere" in text
    page.press("j")
    assert "sel=" in page.hash and "register_label" not in urllib.parse.unquote(page.hash)
    page.press("\ue00c")
    assert "sel=" not in page.hash


@pytest.mark.long
def test_sorting_asks_the_server(page, server):
    page.open("#/sites?by=function")
    page.run("[...document.querySelectorAll('[role=columnheader] button')].find((b) => b.innerText.startsWith('calls')).click()")
    page.settle()
    assert "sort=calls" in page.hash
    shown = [text.split("\n")[0].split(" ")[0] for text in page.texts(".grid-row .site-name")]
    sums = server.json("/data/last/sums", by="function", sort_by="calls")
    names = [re.split(r"[(<]| \[", sums["keys"][0]["name"][key])[0].split("::")[-1] for key in sums["key"]]
    assert [name.split("::")[-1] for name in shown] == names[:len(shown)]


@pytest.mark.long
def test_long_names_stay_in_the_window(browse, serve, record, recording, tmp_path):
    """A program's in the menu of recordings, a condition's where nothing matches, and the peak's label."""
    program = tmp_path / "a-service-with-a-rather-long-name-of-its-own"
    shutil.copy("/bin/true", program)
    server = serve(recording, record([program]).path)
    page = browse(server)
    names = {one["executable"]: one["id"] for one in server.json("/list")}
    for width in (380, 700, 780, 860):
        page.size(width, 900)
        page.open(f"#/flame?r={names[str(program)]}&function_regex={'a_long_pattern' * 5}")
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert not page.run(CUT)
        menu, search = page.run("return ['.recording button', '.search'].map((css) => document.querySelector(css)"
                                ".getBoundingClientRect()).map(({left, right, top, bottom}) => [left, right, top, bottom])")
        assert menu[1] <= search[0] or menu[3] <= search[2], (width, menu, search)
        page.open(f"#/overview?r={names[next(name for name in names if 'web_server' in name)]}")
        assert page.run("return document.querySelector('.peak-flag').getBoundingClientRect().right") <= width


@pytest.mark.long
def test_the_filter_form_has_every_condition(page, server):
    page.open("#/sites")
    page.run("[...document.querySelectorAll('.chips button')].find((b) => b.innerText === '+ filter').click()")
    document = server.json("/openapi.json")["components"]["parameters"]
    conditions = {item["name"] for item in document.values()} - {"before"}
    assert set(page.texts(".condition code")) == conditions
    page.run("const field = document.getElementById('condition-size_min'); field.value = '4K';"
             "field.dispatchEvent(new Event('input', {bubbles: true}))")
    page.click(".filter-form button.main")
    assert "size_min=4K" in page.hash
    assert exact(page, ".sum") == server.json("/data/last/summary", size_min="4K")["matched"]["peak_bytes"]
    page.click(".chip .out[aria-label^='without']")
    assert "size_min" not in page.hash


@pytest.mark.long
def test_a_wrong_condition_is_the_servers_line(page):
    page.open("#/sites?size_min=much")
    assert "'much' is no value of size_min" in page.text(".failure")
    page.expect("the server responded with a status of 400")


@pytest.mark.long
def test_what_grew(page, server):
    """Both sides and the change, in the table, the graph and the chip."""
    end = int(server.json("/data/last/summary")["facts"]["duration_s"] * 1e9)
    page.open(f"#/sites?range=grew:{end // 4}ns..{end // 2}ns&by=function")
    answer = server.json("/data/last/sums", **{"by": "function", "alive_at": f"{end // 2}ns", "b.alive_at": f"{end // 4}ns"})
    change = answer["change"]["all"]["bytes"]
    assert exact(page, ".sum") == abs(change)
    assert "register_label" in page.text(".changes")
    page.open(f"#/flame?range=grew:{end // 4}ns..{end // 2}ns")
    low, high = size(page.text("h1"))
    assert low <= abs(change) <= high


@pytest.mark.long
def test_compare_two_moments(page):
    page.open("#/compare")
    page.click(".begin button")
    heading = page.text("h1").replace(NBSP, " ")
    assert "before" in heading and "after" in heading
    assert "report_job" in page.text(".changes")
    page.run("[...document.querySelectorAll('button')].find((b) => b.innerText.includes('swap')).click()")
    page.settle()
    assert heading != page.text("h1").replace(NBSP, " ")


@pytest.mark.long
def test_allocations_jump_and_drawer(page, server):
    page.open("#/allocations")
    total = server.json("/data/last/allocations", count=1)["total_count"]
    assert page.text("h1").startswith(f"{total:,} allocations")
    page.run("const field = document.getElementById('jump'); field.value = '2000';"
             "field.dispatchEvent(new Event('input', {bubbles: true}))")
    page.run("document.getElementById('jump').form.requestSubmit()")
    page.settle()
    page.wait("return [...document.querySelectorAll('.grid-row')].some((row) => row.innerText.startsWith('2,000'))")
    page.open("#/allocations?entry=realloc&sort=size")
    page.click(".grid-row")
    assert "Chain of reallocs" in page.text(".drawer")
    assert "Freed by" in page.text(".drawer")


@pytest.mark.long
def test_leaks_by_shape_and_suppressions(page, server):
    page.open("#/leaks")
    assert "Grows to the end" in page.text(".leaks")
    assert "register_label" in page.text(".leak-list")
    sums = server.json("/data/last/sums", by="function", sort_by="leaked", shapes="true")
    shapes = {sums["keys"][0]["name"][key]: (shape, trust) for key, shape, trust in
              zip(sums["key"], sums["shapes"]["shape"], sums["shapes"]["trust"])}
    judged = {found["function"]: (found["kind"].removeprefix("never_freed_"), found["confidence"])
              for found in server.json("/data/last/findings")["findings"]
              # On a busy machine what several functions leak may be told of their caller, who is no row of sums.
              if found["kind"].startswith("never_freed") and not found["inclusive"]}
    assert judged and judged == {name: shapes[name] for name in judged}
    assert {"grows", "flat", "once"} <= {shape for shape, _ in shapes.values()}
    page.open("#/leaks?function_regex=cache_put")
    assert "Filled, then flat" in page.text(".leaks") and "Grows to the end" not in page.text(".leaks")
    page.open("#/leaks")
    page.run("[...document.querySelectorAll('button')].find((b) => b.innerText.startsWith('Suppress')).click()")
    page.run("const field = document.getElementById('suppress'); field.value = 'leak:register_label';"
             "field.dispatchEvent(new Event('input', {bubbles: true}))")
    page.settle()
    summary = server.json("/data/last/summary", suppress="leak:register_label")
    low, high = size(page.text(".suppress p"))
    assert low <= summary["all"]["leaked_bytes"] - summary["matched"]["leaked_bytes"] <= high
    page.click(".suppress button.main")
    assert "suppress=leak" in page.hash


@pytest.mark.long
def test_search_finds_what_is_not_drawn(page, server):
    page.open("#/flame?find=register_label")
    peak = server.json("/data/last/summary")["peak"]["at_ns"]
    sums = server.json("/data/last/sums", alive_at=f"{peak}ns", function_regex="(?i)register_label", by="module")
    line = next(text for text in page.texts(".flame-switches span") if "register_label" in text)
    low, high = size(line)
    assert low <= sums["all"]["bytes"] <= high


@pytest.mark.long
def test_exports_are_those_of_the_server(page, server):
    page.open("#/sites?function_regex=register_label")
    page.click(".export > button")
    links = page.run("return [...document.querySelectorAll('.export a')].map((a) => a.href)")
    formats = {link.rsplit("/export/")[1].split("?")[0] for link in links if "/export/" in link}
    assert formats == {"svg", "pprof", "collapsed", "sums.csv", "heaptrack", "html", "speedscope", "firefox", "massif",
                       "callgrind", "dhat"}
    assert len(links) == len(formats) + 1  # the page's own answer, as JSON, is no export
    for link in links:
        target = link.removeprefix(page.origin)
        assert "function_regex=register_label" in target
        assert server.request(target)[0] == 200


@pytest.mark.long
def test_the_token_is_kept_for_the_tab(browse, serve, recording):
    page = browse(serve(recording, env={"MALLOW_TOKEN": "a&b=%c"}))
    page.open()
    page.wait_for(".failure")
    page.expect("the server responded with a status of 401")
    page.open("#token=" + urllib.parse.quote("a&b=%c", safe=""))
    assert "token" not in page.run("return location.href")
    assert page.text("h1").strip()
    # For links and events there is a cookie, which no script sees.
    assert page.run("return document.cookie") == ""
    assert page.run("return fetch('/list').then((answer) => answer.status)") == 200


@pytest.mark.long
def test_what_open_opens(browse, mallow, recording, tmp_path):
    """`--open` where a token is asked for: the page comes with its data, and stays after a reload."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" >"$0.new"; mv "$0.new" "$0.opened"\n')
    browser.chmod(0o755)
    with Process([mallow, "serve", "--open", "-p", "0", recording],
                 env={"MALLOW_TOKEN": "s3cret", "BROWSER": str(browser)}) as server:
        opened = tmp_path / "browser.opened"
        wait_for(opened.exists)
        origin, code = opened.read_text().strip().split("/?")
        page = browse(origin)
        page.open("?" + code)
        assert page.run("return location.href").startswith(origin + "/") and code not in page.run("return location.href")
        assert page.text("h1").strip() and page.run("return document.cookie") == ""
        page.driver.refresh()
        page.settle()
        assert page.text("h1").strip() and not page.texts(".failure")
        page.check()
        assert server.alive() and "s3cret" not in "".join(server.both)


@pytest.mark.long
def test_a_server_that_is_gone_and_comes_back(browse, serve, recording):
    """What was there stays, the page says so, and asks again by itself."""
    server = serve(recording)
    page = browse(server)
    page.open("#/sites")
    before = page.text("h1")
    server.end()
    page.expect("ERR_CONNECTION_REFUSED")
    page.run("location.hash = '#/sites?size_min=300'")
    assert "not reached" in page.text(".unreached")
    assert page.text("h1").split(";")[1] == before.split(";")[1]
    serve(recording, "-p", server.port)
    page.wait("return document.querySelector('.unreached') === null")
    page.settle()
    assert "size ≥ 300" in page.text(".chips")


@pytest.mark.long
def test_nothing_matches(page):
    """The way out is named."""
    page.open("#/sites?size_min=64G")
    page.click(".nothing button")
    assert "size_min" not in page.hash and page.texts(".grid-row")


@pytest.mark.long
def test_hostile_names_are_text(browse, serve, mallow, tmp_path):
    """Names of functions, files and threads come from the recording."""
    hostile = "<img src=x onerror=\"document.title='owned'\">"
    path = tmp_path / "hostile.mallow"
    source = tmp_path / "hostile.c"
    source.write_text('#include <stdlib.h>\n#include <sys/prctl.h>\nint main(void)\n{\n'
                      f'prctl(PR_SET_NAME, {json.dumps(hostile[:15])});\n'
                      'for (int i = 0; i < 100; i++)\n__asm__ volatile("" :: "r"(malloc(100 + i)));\nreturn 0;\n}\n')
    program = tmp_path / hostile.replace("/", "")
    subprocess.run(["gcc", "-g", "-o", program, source], check=True)
    subprocess.run([mallow, "run", "-o", path, "--", program, hostile], check=True, capture_output=True)
    page = browse(serve(path))
    for name in PAGES:
        page.open(f"#/{name}?function_regex=%3Cimg")
        page.open(f"#/{name}")
        assert page.run("return document.querySelectorAll('main img, .recording img').length") == 0
        assert page.driver.title != "owned"
    assert "<img" in page.text(".recording b")


# Of the middle of the window: how high the flame graph's canvas is, and how many colours it has there.
SEEN_OF_FLAME = """const canvas = document.querySelector('.flame canvas'), box = canvas.getBoundingClientRect();
const y = Math.round((innerHeight / 2 - box.top) * canvas.height / box.height);
const copy = new OffscreenCanvas(canvas.width, 80).getContext('2d');
copy.drawImage(canvas, 0, 40 - y);
const pixels = copy.getImageData(0, 0, canvas.width, 80).data;
return [box.height, new Set(new Uint32Array(pixels.buffer)).size];"""


@pytest.mark.long
def test_a_flame_graph_of_any_depth_is_drawn(browse, serve, tool, compile_sample, tmp_path):
    """13,000 rows: no canvas can be as high as that. It moves with what is seen, and so does what is pointed at."""
    path = tmp_path / "deep.mallow"
    tool("run", "-o", path, "--", compile_sample("deep", "gcc", "-O1"), check=False)
    page = browse(serve(path))
    page.open("#/flame?unfold=all")
    assert page.run("return document.querySelector('.flame-field').clientHeight") > 200_000
    for block in ("end", "center", "start", "end"):
        page.run("document.querySelector('.flame-field').scrollIntoView({block: arguments[0], behavior: 'instant'})", block)
        page.settle()
        height, colours = page.run(SEEN_OF_FLAME)
        assert height < 3000 and colours > 10, block
    page.hover(".flame canvas", (0.55, 0.999))
    assert re.match(r"1 more, .*\nof descend\n", page.text(".flame-box"))


WORDS = ["", "0", "-1", "1e309", "NaN", "9" * 20, "<img onerror=x>", "%", "(", "^(a+)+$", "moment:5ns", "kept:1ns..2ns", "grew:9ns..1ns",
         "kept:NaN..2ns", "moment:", "all", "last", "site", "dsc", "leaked", "\u202eabc", "x" * 5000, "5..1", "-5..-1", "both", "modules",
         "rates", "end", "50%", "only_leaked", "\0", "🙂", "1.1", "null", "__proto__"]
KEYS = ["r", "range", "metric", "by", "sort", "order", "sel", "row", "root", "unfold", "focus", "direction", "merge", "find", "zoom", "late",
        "colour", "tab", "show", "suppress", "size_min", "function_regex", "alive_at", "from", "lifetime", "b.id", "b.to"]


@pytest.mark.long
def test_any_address_leads_somewhere(page):
    """To a view, or to one line that says what is wrong: whatever a link, or whoever edits one, has in it."""
    dice = random.Random(22)
    page.open()
    for _ in range(80):
        name = dice.choice([*PAGES, "nowhere", ""])
        address = f"#/{name}?" + "&".join(f"{dice.choice(KEYS)}={dice.choice([word, urllib.parse.quote(word)])}"
                                          for word in dice.choices(WORDS, k=dice.randint(1, 4)))
        page.run("location.hash = arguments[0]", address)
        page.settle()
        assert page.run("return document.querySelector('main h1, main .failure, main .skeleton') !== null"), address
    page.expect("40[04]|Bad Request|Not Found")


@pytest.mark.long
def test_a_recording_that_is_not_served(page):
    page.open("#/sites?r=0123456789abcdef")
    assert "0123456789abcdef" in page.text("main h1")
    page.expect("404")
    page.click(".failure a")
    assert "allocated by" in page.text(".grid-head") and "r=" not in page.hash


def test_dumps_in_a_row_are_a_curve(browse, serve, tool, tmp_path):
    """What is live at each; a click chooses one of them for every page, which are those that have something to say."""
    recording = tmp_path / "all.mallow"
    tool("import", *write_dumps(tmp_path), "-o", recording)
    page = browse(serve(recording))
    page.open()
    assert page.texts(".rail-text") == ["Overview", "Flame graph", "Call tree", "Sites", "Source"]
    assert page.texts(".legend li") == ["live"] and "72.0 KB" in page.text(".peak-flag").replace(NBSP, " ")
    assert [text.split(" of ")[0] for text in page.texts(".top-sites h2")] == ["Live at the peak", "Live at the end"]
    assert_sound(page, "#/overview")
    page.drag(".strip-field", 0.1, 0.1)
    assert "range=moment:" in page.hash and exact(page, ".sum") == 31000
    page.drag(".strip-field", 0.2, 0.7)  # a range is not known of them: its end is the moment
    assert "range=moment:" in page.hash and exact(page, ".sum") == 72000
    page.open("#/sites?backtrace_depth_min=2")
    assert exact(page, ".sum") == 70000
