"""Documents that are followed: the commands of their fenced blocks, run as somebody types them.

A fenced block holds commands, "$ …" in a line, each with what it prints, or nothing of it. Numbers,
addresses and folders of sources may differ; "…" stands for anything within its line, and alone in a
line for any lines.
"""
import os
import re
import signal
import subprocess
import time

PATIENCE = 1800


def commands(text, prompt="$"):
    """[(command, lines it prints)]"""
    found = []
    for block in re.findall(rf"^```\n({re.escape(prompt)} .*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if found and found[-1][0].endswith("\\"):
                found[-1] = (found[-1][0][:-1] + line.strip(), [])
            elif line.startswith(prompt + " "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


UNITS = "B|KB|MB|GB|kB|bytes|ns|us|ms|s|secs"


def shape(line):
    """The line with N for each number and its unit, without folders of source files, and with the
    same curve for all: when a program does what differs."""
    line = re.sub(r"(?<= %)  [ ▁-█]{8}  ", "  ", line)
    line = re.sub(r"[\w.+/…-]*/(?=[\w.+-]+:\d)", "", line)
    line = re.sub(rf"0x[0-9a-f]+|\d[\d,]*(\.\d+)?( ?({UNITS})\b)?", "N", line)
    return " ".join(line.split())


def pattern(lines):
    """Of the shapes of what is printed."""
    return "".join(r"(?:.*\n)*?" if line.strip() == "…" else
                   ".*".join(map(re.escape, shape(line).split("…"))) + r"\n" for line in lines)


def matches(lines, output):
    printed = "".join(shape(line) + "\n" for line in output.strip("\n").splitlines())
    while lines and not lines[-1]:
        lines = lines[:-1]
    return re.fullmatch(pattern(lines), printed) is not None


class Shell:
    """A shell that is given one command after the other, as somebody types them."""

    END = "--- status "

    def __init__(self, folder, environment, output, within=()):
        """within: the words before `bash`, which run it elsewhere."""
        self.output = output
        self.process = subprocess.Popen([*within, "bash"], cwd=folder, env=environment, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=output.open("w"),
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, command, lines):
        """(status, what was printed). What goes on in the background has time to print its lines."""
        begin = self.output.stat().st_size
        self.process.stdin.write(f"{command}\nstatus=$?; echo; echo '{self.END}'$status\n")
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up and self.process.poll() is None:
            text = self.output.read_bytes()[begin:].decode(errors="replace")
            ended = re.search(rf"\n{self.END}(\d+)\n", text)
            if ended:
                text = text[:ended.start()] + text[ended.end():]
                if not command.endswith("&") or not lines or matches(lines, text):
                    # Whoever types has seen the line, and the program has done something by then.
                    time.sleep(command.endswith("&"))
                    return int(ended[1]), text
                give_up = min(give_up, time.monotonic() + 60)
            time.sleep(0.05)
        return None, text

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
