"""A real browser for the tests of the web interface: Debian's chromium by python3-selenium."""
import http.client
import json
import pathlib
import re
import time

# Both are packages of Debian, see tools/packages.txt.
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
AXE = pathlib.Path(__file__).resolve().parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def start(folder):
    """A headless browser with a profile in `folder`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    options = Options()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                 "--disable-background-networking", f"--user-data-dir={folder}"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def sent(port, target):
    """A file of the page as a browser gets it: packed."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", target, headers={"Accept-Encoding": "gzip"})
    body = connection.getresponse().read()
    connection.close()
    return body


class Page:
    """The web interface of a server, in one window of the browser. check() finds what went wrong."""

    def __init__(self, driver, port):
        self.driver, self.origin = driver, f"http://127.0.0.1:{port}"
        self.size(1440, 900)
        self.theme("light")
        self.messages()
        self.strangers()

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def theme(self, name, still=True):
        """`still`: reduced motion, so that nothing is measured in the middle of a zoom."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        if still:
            features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, place=""):
        """Opens an address behind the origin in a new document, and waits for what it shows."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.origin}/{place}")
        self.settle()

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, *arguments, seconds=20):
        """Waits until a script returns something true, and returns that."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"{script} stayed {value!r}: {self.run('return document.body.innerText')[:600]}")
            time.sleep(0.02)

    def settle(self):
        """Waits until nothing is loaded any more, and all of that is drawn."""
        self.wait("return document.body && document.body.dataset.busy === '0' && document.querySelector('h1, .failure') !== null")
        # An answer may lead to the next question in the next frame.
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))")
        self.wait("return document.body.dataset.busy === '0'")

    def text(self, css):
        found = self.wait("const found = document.querySelector(arguments[0]); return found && (found.innerText || ' ')", css)
        return re.sub(" +", " ", found)

    def texts(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((found) => found.innerText)", css)

    def click(self, css):
        self.wait("const found = document.querySelector(arguments[0]); found && found.click(); return found !== null", css)
        self.settle()

    def press(self, keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(keys).perform()
        self.settle()

    def drag(self, css, start, end):
        """Drags over an element from one part of its width to another; equal parts are a click."""
        from selenium.webdriver.common.action_chains import ActionChains
        box = self.run("const box = document.querySelector(arguments[0]).getBoundingClientRect();"
                       "return [box.left, box.top, box.width, box.height]", css)
        actions = ActionChains(self.driver, duration=0)
        at = [int(box[0] + part * box[2]) for part in (start, (start + end) / 2, end)]
        middle = int(box[1] + box[3] / 2)
        actions.w3c_actions.pointer_action.move_to_location(at[0], middle)
        actions.w3c_actions.pointer_action.pointer_down()
        if start != end:
            actions.w3c_actions.pointer_action.move_to_location(at[1], middle)
            actions.w3c_actions.pointer_action.move_to_location(at[2], middle)
        actions.w3c_actions.pointer_action.pointer_up()
        actions.perform()
        self.settle()

    @property
    def hash(self):
        return self.run("return location.hash")

    def screenshot(self, path):
        self.driver.save_screenshot(str(path))

    def messages(self):
        """What the console said since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def strangers(self):
        """Requests to other origins since the last time."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            url = message.get("params", {}).get("request", {}).get("url", "") if \
                message["method"] == "Network.requestWillBeSent" else ""
            if url and not url.startswith((self.origin, "data:", "about:", "chrome", "blob:" + self.origin)):
                found.append(url)
        return found

    def axe(self):
        """What axe-core finds of serious or critical impact, a line each."""
        self.run(AXE.read_text(encoding="utf-8"))
        result = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)")
        return [f"{violation['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
                for violation in result["violations"] if violation["impact"] in ("serious", "critical")
                for node in violation["nodes"]]

    def check(self):
        """Nothing in the console, and no request to anybody else."""
        messages, strangers = self.messages(), self.strangers()
        assert not messages, messages
        assert not strangers, strangers
