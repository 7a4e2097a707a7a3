"""A command in a terminal: tmux presses the keys and reads the screen."""
import re
import shlex
import subprocess
import time
import uuid

from conftest import clean_environment


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *words, width=100, height=20):
        self.server = ["tmux", "-L", f"mallow-{uuid.uuid4().hex}", "-f", "/dev/null"]
        command = " ".join(map(shlex.quote, map(str, words)))
        self.call("new-session", "-d", "-x", str(width), "-y", str(height),
                  f"{command}; echo status $?; sleep 1000")

    def call(self, *words):
        return subprocess.run([*self.server, *words], capture_output=True, text=True, check=True,
                              env=clean_environment({"LC_ALL": "C.UTF-8", "TMUX": None})).stdout

    def screen(self):
        return self.call("capture-pane", "-p")

    def press(self, *keys):
        self.call("send-keys", *keys)

    def wait(self, pattern):
        """Until the screen has it; the screen then."""
        for _ in range(600):
            screen = self.screen()
            if re.search(pattern, screen, re.M):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{pattern} did not come:\n{screen}")

    def close(self):
        subprocess.run([*self.server, "kill-server"], capture_output=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
