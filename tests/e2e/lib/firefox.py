"""Firefox, driven by its own remote protocol (Marionette): Debian has no driver for it.

    with Firefox(folder) as firefox:
        firefox.open("file:///tmp/page.html")
        firefox.run("return document.title")

A message is its length, ':' and JSON: [0, number, command, parameters] and [1, number, error, result]."""
import base64
import json
import pathlib
import socket
import subprocess
import time

FIREFOX = "firefox-esr"
PATIENCE = 60               # seconds


class Firefox:
    def __init__(self, folder):
        """folder: empty, for its profile."""
        self.profile, self.number = pathlib.Path(folder), 0
        (self.profile / "user.js").write_text('user_pref("marionette.port", 0);\n')
        self.process = subprocess.Popen([FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", self.profile],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        self.socket = socket.create_connection(("127.0.0.1", self._port()), timeout=PATIENCE)
        self.stream = self.socket.makefile("rwb")
        self._read()
        self.send("WebDriver:NewSession", {})
        self.send("WebDriver:SetWindowRect", {"width": 1440, "height": 900})
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.stream.close()
        self.socket.close()

    def _port(self):
        """It chooses a free one, and writes it there."""
        file, end = self.profile / "MarionetteActivePort", time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            if file.exists() and file.read_text():
                return int(file.read_text())
            time.sleep(0.05)
        raise AssertionError("firefox did not begin")

    def _read(self):
        length = b""
        while not length.endswith(b":"):
            letter = self.stream.read(1)
            assert letter, "firefox has ended"
            length += letter
        return json.loads(self.stream.read(int(length[:-1])))

    def send(self, command, parameters):
        self.number += 1
        message = json.dumps([0, self.number, command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def open(self, address):
        self.send("WebDriver:Navigate", {"url": address})

    def run(self, script):
        return self.send("WebDriver:ExecuteScript", {"script": script, "args": []})["value"]

    def wait(self, script):
        """Until a script returns something true: that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = self.run(script)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"{script} stayed false: {self.run('return document.body.innerText')[:600]}")

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": False})["value"]))
