"""A real browser for the web interface: Debian's chromium, by python3-selenium. Tests use it by the fixtures
of tests/e2e/web/conftest.py, bench/web.py and tools/screenshots.py directly.

    driver = browser.start(folder)
    page = browser.Page(driver, 8080)                         a tab of its own
    page.open("#/flame")                                      … and all that it loads
    page.drag(".strip-field", 0.2, 0.6)
    page.check()                                              raises if anything went wrong behind it

Nothing here waits for time: only for what a page shows, and for answers that it waits for."""
import http.client
import json
import pathlib
import re
import time

# Both are packages of Debian, see tools/packages.txt.
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
WEB = pathlib.Path(__file__).resolve().parents[3] / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
# All pages, as web/src/state/place.ts lists them.
PAGES = re.findall(r"'(\w+)'", re.search(r"PAGES = \[(.*?)\]", (WEB / "src" / "state" / "place.ts").read_text(), re.DOTALL)[1])
PATIENCE = 20               # seconds
SWITCHES = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--lang=en-US",
    "--force-device-scale-factor=1", "--disable-background-networking", "--disable-component-update", "--no-first-run",
    # Tabs in the background keep their pace.
    "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
    # There are no other hosts, for no part of the browser.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]

# In each document before its own scripts: what the main thread was busy with for 50 ms and more.
ON_NEW_DOCUMENT = """
(() => {
	const tasks = [];
	const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries()));
	observer.observe({ type: 'longtask', buffered: true });
	window.tasksSince = (mark) => {
		tasks.push(...observer.takeRecords());
		return tasks.filter((task) => task.startTime + task.duration > mark).map((task) => task.duration);
	};
})();
"""
# Done when the page has said for three frames in a row that nothing is under way: an answer may lead to the next
# question in the next frame. A page without such a word is done when it has a heading.
SETTLED = """
const [patience, done] = arguments;
const end = performance.now() + 1000 * patience;
let quiet = 0;
const look = () => {
	const busy = document.readyState !== 'complete' || document.body.dataset.busy === '1' ||
		!document.querySelector('h1, .failure');
	quiet = busy ? 0 : quiet + 1;
	if (quiet > 3 || performance.now() > end)
		done(quiet > 3);
	else
		requestAnimationFrame(() => setTimeout(look));
};
look();
"""
# Where a part of an element is in the window, which scrolls there if need be.
POINT = """
const [css, across, down] = arguments;
const found = document.querySelector(css);
const place = () => {
	const box = found.getBoundingClientRect();
	return [Math.floor(box.left + across * box.width), Math.floor(box.top + down * box.height)];
};
if (!found) return null;
const inside = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
if (!inside(place())) found.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
if (!inside(place())) scrollBy({ top: place()[1] - innerHeight / 2, behavior: 'instant' });
return place();
"""
FIND = """
const seen = (one) => one.getClientRects().length && getComputedStyle(one).visibility !== 'hidden';
return [...document.querySelectorAll(arguments[0])].find((one) => seen(one) &&
	(arguments[1] === null || one.innerText.includes(arguments[1]))) ?? null;
"""


def start(folder, width=1440, height=900, logs=True):
    """A headless browser with a profile, and downloads, in `folder`. logs: of requests, which check() needs."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    options = Options()
    options.binary_location = CHROMIUM
    for switch in (*SWITCHES, f"--window-size={width},{height}", f"--user-data-dir={folder}"):
        options.add_argument(switch)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    if logs:
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True, "enablePage": False})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    driver.set_script_timeout(3 * PATIENCE)
    driver.logs = logs
    return driver


def sent(port, target):
    """A file of the page as a browser gets it: packed."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", target, headers={"Accept-Encoding": "gzip"})
    body = connection.getresponse().read()
    connection.close()
    return body


class Page:
    """The web interface of a server, in a new tab: 1440x900, light, with reduced motion.

    at: the server's port, or an origin."""

    def __init__(self, driver, at, width=1440, height=900):
        self.driver, self.origin = driver, at if isinstance(at, str) else f"http://127.0.0.1:{at}"
        self.before = driver.current_window_handle
        self.requests, self.said, self.failed, self.foreign, self.expected = {}, [], [], [], []
        driver.switch_to.new_window("tab")
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=ON_NEW_DOCUMENT)
        self.size(width, height)
        self.theme("light")
        self._read_logs()
        self.said, self.failed, self.foreign = [], [], []

    def close(self):
        """Nothing of it is left for the next tab."""
        self.cdp("Storage.clearDataForOrigin", origin=self.origin, storageTypes="all")
        self.cdp("Network.clearBrowserCookies")
        self.driver.close()
        self.driver.switch_to.window(self.before)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    # What it looks like.

    def size(self, width, height, touch=False):
        """touch: the coarse pointer of a phone."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=touch)

    def theme(self, name, still=True, forced=False):
        """light or dark, by the system's preference. still: reduced motion, so that nothing is measured in the
        middle of a zoom. forced: the colours are the system's."""
        features = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce" if still else "no-preference",
                    "forced-colors": "active" if forced else "none"}
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": key, "value": value} for key, value in features.items()])

    def screenshot(self, path):
        """Of what is seen, as PNG."""
        self.driver.save_screenshot(str(path))

    # Where it is, and waiting.

    def open(self, place="", seconds=PATIENCE):
        """Opens an address behind the origin, as "#/flame", in a new document, and waits for what it shows."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.origin}/{place}")
        self.settle(seconds)

    @property
    def hash(self):
        return self.run("return location.hash")

    def settle(self, seconds=PATIENCE):
        """Waits until nothing is loaded any more, and all of that is drawn."""
        if not self.driver.execute_async_script(SETTLED, seconds):
            raise AssertionError(f"busy for {seconds} s: {self._shown()}")

    def wait_for(self, what, seconds=PATIENCE):
        """Waits until a CSS selector finds something visible, or a function returns something true: that."""
        look = what if callable(what) else lambda: self.run(FIND, what, None)
        end = time.monotonic() + seconds
        while True:
            value = look()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{what} stayed {value!r}: {self._shown()}")
            time.sleep(0.01)

    def wait(self, script, *arguments, seconds=PATIENCE):
        """The same of a script."""
        return self.wait_for(lambda: self.run(script, *arguments), seconds)

    def _shown(self):
        return self.run("return document.body.innerText")[:600]

    # Reading.

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, css):
        """Of the first that a selector finds; waits for it."""
        found = self.wait("const found = document.querySelector(arguments[0]); return found && (found.innerText || ' ')", css)
        return re.sub(" +", " ", found)

    def texts(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((found) => found.innerText)", css)

    def marks(self, name="mallow:view"):
        """When the page set a performance.mark() of that name, in ms since its navigation began."""
        return self.run("return performance.getEntriesByName(arguments[0]).map((mark) => mark.startTime)", name)

    # Acting. Each waits until the page has settled.

    def click(self, css, text=None):
        """On the first visible element that a selector finds, and that has this text in it. Whatever covers
        it fails the click, as it would a reader's."""
        self.wait(FIND, css, text).click()
        self.settle()

    def press(self, keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(keys).perform()
        self.settle()

    def drag(self, css, start, end, keys=(), settle=True):
        """Drags within an element from one part of its width to another, half way down, or from one (x, y)
        to another; equal ones are a click. keys: those held meanwhile, as Keys.SHIFT."""
        points = [self.point(css, start), self.point(css, end)]
        if points[0] != points[1]:
            points.insert(1, tuple((one + other) // 2 for one, other in zip(*points)))
        with self._pointer(keys, settle) as pointer:
            pointer.move_to_location(*points[0])
            pointer.pointer_down()
            for point in points[1:] if points[0] != points[1] else []:
                pointer.move_to_location(*point)
            pointer.pointer_up()

    def hover(self, css, part):
        """Moves the pointer to a part of an element, as drag() has them."""
        with self._pointer((), True) as pointer:
            pointer.move_to_location(*self.point(css, part))

    def wheel(self, css, part, pixels, keys=()):
        """Turns the wheel over a part of an element; up is negative."""
        from selenium.webdriver.common.action_chains import ActionChains
        x, y = self.point(css, part)
        actions = ActionChains(self.driver, duration=0)
        for key in keys:
            actions.key_down(key)
        actions.w3c_actions.wheel_action.scroll(x=x, y=y, delta_x=0, delta_y=pixels)
        for key in keys:
            actions.w3c_actions.wheel_action.pause(0)
            actions.key_up(key)
        actions.perform()
        self.settle()

    def point(self, css, part):
        """(x, y) in the window, of a part of an element."""
        return tuple(self.wait(POINT, css, *(part if isinstance(part, tuple) else (part, 0.5))))

    def _pointer(self, keys, settle):
        return Pointer(self, keys, settle)

    # What it cost.

    def mark(self):
        """The moment from which longest_task() counts."""
        self.run("window.markedAt = performance.now()")

    def longest_task(self):
        """Milliseconds of the main thread's longest task since mark(), else since navigation; 0: each less than 50."""
        return max(self.run("return tasksSince(window.markedAt ?? 0)"), default=0)

    def heap_bytes(self, collected=True):
        """What JavaScript uses. collected: after garbage went."""
        if collected:
            self.cdp("HeapProfiler.collectGarbage")
        self.cdp("Performance.enable")
        metrics = {metric["name"]: metric["value"] for metric in self.cdp("Performance.getMetrics")["metrics"]}
        return int(metrics["JSHeapUsedSize"])

    def tab_bytes(self):
        """Private memory of the tab's process, as the browser's task manager has it. A browser keeps a spare
        process, which is smaller."""
        return max(private_bytes(pid) for pid in descendants(self.driver.service.process.pid) if is_renderer(pid))

    # What went wrong behind it.

    def _read_logs(self):
        if not self.driver.logs:
            return
        self.said += [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            self._note_request(message["method"], message["params"])

    def _note_request(self, method, given):
        if method in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            url = given["url"] if "url" in given else given["request"]["url"]
            self.requests[given["requestId"]] = url
            # Not "…:80" for "…:8080".
            # A page from a file has no origin: what it makes itself is of "null".
            own = "null" if self.origin.startswith("file:") else self.origin
            if not (url + "/").startswith((f"{self.origin}/", "data:", "about:", "chrome", f"blob:{own}/")):
                self.foreign.append(url)
        # The page itself takes back requests whose answers nobody wants any more.
        if method == "Network.loadingFailed" and not given.get("canceled") and given["errorText"] != "net::ERR_ABORTED":
            self.failed.append(f"{given['errorText']}: {self.requests.get(given['requestId'])}")

    def messages(self):
        """What the console said since the last time; check() does not know of it then."""
        self._read_logs()
        said, self.said = self.said, []
        return said

    def expect(self, pattern):
        """From now on check() wants a message like this in the console, instead of none; requests may fail so."""
        self.expected.append(re.compile(pattern))

    def check(self):
        """The console is empty (no error, no violation of the policy, no answer of 400), no request failed, and
        none went to anybody else."""
        self._read_logs()
        missing = [one.pattern for one in self.expected if not any(map(one.search, self.said))]
        wrong = [text for text in self.said if not any(one.search(text) for one in self.expected)]
        failed = [text for text in self.failed if not any(one.search(text) for one in self.expected)]
        foreign = self.foreign
        self.said, self.expected, self.foreign, self.failed = [], [], [], []
        assert not foreign, f"requests to others: {foreign}"
        assert not wrong, f"the console says: {wrong}"
        assert not failed, f"requests failed: {failed}"
        assert not missing, f"the console does not say: {missing}"

    def axe(self):
        """What axe-core finds of serious or critical impact, a line each."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        result = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)")
        return [f"{violation['id']} ({violation['impact']}) at {' '.join(map(str, node['target']))}: "
                f"{' '.join(node.get('failureSummary', '').split())[:200]}"
                for violation in result["violations"] if violation["impact"] in ("serious", "critical")
                for node in violation["nodes"]]


class Pointer:
    """`with`: movements that are done at its end, with keys held."""

    def __init__(self, page, keys, settle):
        from selenium.webdriver.common.action_chains import ActionChains
        self.page, self.keys, self.settle = page, keys, settle
        self.actions = ActionChains(page.driver, duration=0)

    def __enter__(self):
        for key in self.keys:
            self.actions.key_down(key)
        return self.actions.w3c_actions.pointer_action

    def __exit__(self, kind, *_):
        if kind is not None:
            return
        # Keys and pointer have a list each, which run side by side: the keys go up at the pointer's end.
        pointer = self.actions.w3c_actions.pointer_action.source.actions
        keys = self.actions.w3c_actions.key_action
        for _ in range(len(pointer) - len(keys.source.actions) if self.keys else 0):
            keys.pause(0)
        for key in self.keys:
            keys.key_up(key)
        self.actions.perform()
        if self.settle:
            self.page.settle()


def descendants(pid):
    """Processes below one, in no order."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def is_renderer(pid):
    try:
        return b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def private_bytes(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "VmSwap:")))
