"""The command line as a person sees it."""
import os
import pty
import subprocess

import pytest

from conftest import clean_environment
from made_recording import Made, NEW

START = ["_start", "__libc_start_call_main", "main"]
LONG = ("_ZNSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EE17_M_realloc_"
        "insertIJRKS5_EEEvN9__gnu_cxx17__normal_iteratorIPS5_S7_EEDpOT_")
EVIL = 'evil;<b>&"name"\t\x1b[31m'


def read_until(master, word):
    """What comes from a terminal until that word, None: until its end."""
    output = b""
    while word is None or word not in output:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    return output


def unwrapped(text):
    """A text whose warnings ("  ! …") are a line each, however wide the terminal was."""
    return text.replace("\n    ", " ")


def on_terminal(command, columns=80, env=None, rows=50):
    """Runs a command with a terminal as output; what it printed, lines without carriage return."""
    import fcntl
    import struct
    import termios
    child, master = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execvpe(str(command[0]), [str(word) for word in command], {"PAGER": "cat", **(env or clean_environment())})
    output = read_until(master, None)
    os.waitpid(child, 0)
    os.close(master)
    return output.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A recording whose every number is known: see the asserts below."""
    folder = tmp_path_factory.mktemp("made")
    made = Made(folder, [*START, "handle", "cache_put", "parse", "fib", LONG, EVIL],
                libraries=[(f"/usr/lib/{EVIL}.so", ["unknown"])], pid=4242)
    for _ in range(50):
        made.allocate([*START, "handle", "cache_put"], 60_000)
    blocks = [made.allocate([*START, "handle"], 400_000) for _ in range(5)]
    made.tick(100_000_000)
    for block in blocks:
        made.free(block)
    for _ in range(10):
        made.free(made.allocate([*START, "handle", "parse"], 1_000))
    made.allocate([*START, *["fib"] * 60, LONG], 20_000, op=NEW)
    made.allocate([*START, EVIL], 10_000)
    made.allocate([*START, "unknown"], 10_000)
    made.tick(100_000_000)
    return made.write()


def made_from_tables(mallow, name):
    for folder in (mallow.parent, mallow.parent / "meson" / "src" / "cli"):
        if (folder / name).exists():
            return folder / name
    return pytest.skip(f"{name} is not in the build tree beside {mallow}")


def completions(script, *words):
    run = subprocess.run(
        ["bash", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mallow; '
                       'printf "%s\\n" "${COMPREPLY[@]}"', "-", str(script), *words],
        capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout.split()
