"""The harness of these tests: what it claims to find is found. Its pages are a few lines of HTML."""
import http.server
import threading
import time

import pytest
from selenium.webdriver.common.keys import Keys

from expect import check_report, expectations

POLICY = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self' data:"
PAGE = """<!doctype html><html lang="en"><title>test</title><link rel="icon" href="data:,">
<style>@media (prefers-color-scheme: dark) { h1 { color: rgb(1, 2, 3) } } #field { width: 400px; height: 100px }</style>
<main><h1>A page</h1>{body}</main>{script}</html>"""
SCRIPTS = {
    "quiet": "",
    "thrown": "setTimeout(() => { throw new Error('planted') }, 50)",
    "rejected": "Promise.reject(new Error('planted'))",
    "said": "console.error('planted')",
    "refused": "fetch('/nothing')",
    "policy": "document.body.append(Object.assign(document.createElement('script'), { text: 'window.owned = 1' }))",
    "stranger": """document.body.dataset.busy = '1';
        fetch('http://127.0.0.1:9/').catch(() => 0).finally(() => document.body.dataset.busy = '0')""",
    "dropped": "fetch('/dropped').catch(() => 0)",
    "taken_back": "const stop = new AbortController(); fetch('/never', { signal: stop.signal }).catch(() => 0); stop.abort()",
    "late": """document.body.dataset.busy = '1'; setTimeout(() => {
        document.querySelector('h1').textContent = 'Late'; document.body.dataset.busy = '0' }, 300)""",
    "busy": "const end = performance.now() + 150; while (performance.now() < end);",
    "pointer": """const seen = window.seen = [], field = document.getElementById('field');
        for (const kind of ['pointerdown', 'pointermove', 'pointerup', 'wheel'])
            field.addEventListener(kind, (event) => seen.push([kind, event.clientX - field.offsetLeft, event.shiftKey]));""",
}
BODIES = {"axe": '<img src="data:,"><button></button>', "covered":
          '<button id="under">b</button><div style="position: fixed; inset: 0"></div>'}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.strip("/").removesuffix(".js")
        if name == "dropped":
            self.connection.close()
        elif name == "never":
            time.sleep(0.2)
        elif self.path.endswith(".js") and name in SCRIPTS:
            self.answer(SCRIPTS[name], "text/javascript")
        elif name in SCRIPTS or name in BODIES:
            body = BODIES.get(name, '<div id="field"></div>')
            script = f'<script src="/{name}.js"></script>' if name in SCRIPTS else ""
            self.answer(PAGE.replace("{body}", body).replace("{script}", script), "text/html")
        else:
            self.send_error(404)

    def answer(self, text, kind):
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        if not self.path.startswith("/stranger"):  # which would not get as far as to ask
            self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def origin():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browse, origin):
    return browse(origin)


@pytest.mark.parametrize("name,message", [
    ("thrown", "planted"), ("rejected", "planted"), ("said", "planted"), ("refused", "404"),
    ("policy", "Content Security Policy"), ("stranger", "requests to others"), ("dropped", "ERR_EMPTY_RESPONSE")])
def test_what_goes_wrong_fails_the_test(page, name, message):
    page.open(name)

    def failure():
        try:
            page.check()
        except AssertionError as error:
            return str(error)
        return None

    assert message in page.wait_for(failure)
    page.messages()


def test_what_is_well_does_not(page):
    page.open("taken_back")
    page.open("quiet")
    page.check()
    page.open("said")
    page.expect("planted")
    page.check()
    page.expect("planted")
    with pytest.raises(AssertionError, match="the console does not say"):
        page.check()


def test_axe_finds_what_is_planted(page):
    page.open("axe")
    found = page.axe()
    assert [line.split(" ")[0] for line in found] == ["button-name", "image-alt"]
    assert "at button: " in found[0]
    page.open("quiet")
    assert not page.axe()


def test_it_waits_for_the_page(page):
    page.open("late")
    assert page.text("h1") == "Late"
    with pytest.raises(AssertionError, match="#nothing stayed None: .*Late"):
        page.wait_for("#nothing", seconds=0.1)
    page.run("document.body.dataset.busy = '1'")
    with pytest.raises(AssertionError, match="busy for 0.1 s: .*Late"):
        page.settle(0.1)


def test_pointer_wheel_and_keys(page):
    page.open("pointer")
    page.drag("#field", 0.25, 0.75, keys=[Keys.SHIFT])
    assert page.run("return seen") == [["pointermove", 100, True], ["pointerdown", 100, True], ["pointermove", 200, True],
                                       ["pointermove", 300, True], ["pointerup", 300, True]]
    page.run("seen.length = 0")
    page.drag("#field", (0.5, 0.1), (0.5, 0.1))
    assert page.run("return seen")[1:] == [["pointerdown", 200, False], ["pointerup", 200, False]]
    page.run("seen.length = 0")
    page.wheel("#field", 0.5, -100, keys=[Keys.SHIFT])
    assert page.run("return seen.at(-1)") == ["wheel", 200, True]
    page.run("window.typed = []; document.addEventListener('keydown', (event) => typed.push(event.key))")
    page.press("gf" + Keys.ESCAPE)
    assert page.run("return typed") == ["g", "f", "Escape"]


def test_a_covered_button_is_not_clicked(page):
    page.open("covered")
    with pytest.raises(Exception, match="click intercepted"):
        page.click("button", text="b")


def test_sizes_and_themes(page, tmp_path):
    for width, height in ((380, 820), (2560, 1440)):
        page.size(width, height)
        page.open("quiet")
        assert page.run("return [innerWidth, innerHeight, devicePixelRatio]") == [width, height, 1]
        page.screenshot(tmp_path / "page.png")
        head = (tmp_path / "page.png").read_bytes()[:24]
        assert [int.from_bytes(head[at:at + 4], "big") for at in (16, 20)] == [width, height]
    colour = "return getComputedStyle(document.querySelector('h1')).color"
    assert page.run(colour) == "rgb(0, 0, 0)"
    page.theme("dark")
    assert page.run(colour) == "rgb(1, 2, 3)"
    for still in (False, True):
        page.theme("light", still=still)
        assert page.run("return matchMedia('(prefers-reduced-motion: reduce)').matches") == still


def test_costs(page):
    page.open("busy")
    assert 140 < page.longest_task() < 10000
    page.mark()
    page.run("performance.mark('mallow:view')")
    assert len(page.marks()) == 1
    page.open("quiet")
    assert page.longest_task() < 140
    before = page.heap_bytes()
    page.run("window.kept = Array.from({ length: 1e6 }, (_, i) => ({ i }))")
    assert page.heap_bytes() - before > 4e6
    assert 10e6 < page.tab_bytes() < 1e9


def test_nothing_is_left_for_the_next_tab(browse, origin):
    first = browse(origin)
    first.open("quiet")
    first.run("localStorage.setItem('a', 'b'); document.cookie = 'a=b'")
    first.close()
    browse.pages.clear()
    second = browse(origin)
    second.open("quiet")
    assert second.run("return localStorage.length + document.cookie") == "0"


def test_the_recording(tool, recording):
    """What the sample states holds in each run."""
    check_report(expectations("web_server"), tool.report(recording))
