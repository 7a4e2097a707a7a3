"""`mallow serve --open` and `mallow run --open`: a browser at the page, or its address in words."""
import os
import signal
import subprocess
import time
import urllib.request

import pytest

BROWSER = """#!/bin/sh
printf '%s\\n' "$1" >"$0.opened.new"
mv "$0.opened.new" "$0.opened"
"""


@pytest.fixture
def browser(tmp_path):
    """A program that notes which address it was given."""
    path = tmp_path / "browser"
    path.write_text(BROWSER)
    path.chmod(0o755)
    return path


def wait_for_file(path):
    for _ in range(500):
        if path.exists():
            return path.read_text().strip()
        time.sleep(0.02)
    raise AssertionError(f"{path} did not come")


def start(mallow, *words, cwd, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.Popen([mallow, *map(str, words)], cwd=cwd, env={**environment, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process, number=signal.SIGINT):
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    return process.returncode, output, errors


def opened_by(browser):
    return wait_for_file(browser.with_name("browser.opened"))


def record(mallow, tmp_path, *program):
    path = tmp_path / "a.mallow"
    subprocess.run([mallow, "run", "-o", path, "--", *program], check=True, capture_output=True)
    return path


def test_serve_opens_the_page(mallow, tmp_path, browser):
    path = record(mallow, tmp_path, "true")
    process = start(mallow, "serve", "--open", "--port", "0", path, cwd=tmp_path, BROWSER=str(browser))
    address = opened_by(browser)
    with urllib.request.urlopen(address) as page:
        assert b"<title>mallow</title>" in page.read()
    with urllib.request.urlopen(f"{address}list") as answer:
        assert str(path.name).encode() in answer.read() or answer.status == 200
    status, output, errors = end(process)
    assert (status, output) == (0, f"listening on {address.rstrip('/')}\n")
    assert errors == f"opening {address}\n"


def test_the_token_is_behind_the_hash(mallow, tmp_path, browser):
    process = start(mallow, "serve", "--open", "--port", "0", "--token", "a&%=b", tmp_path, cwd=tmp_path,
                    BROWSER=f"{tmp_path}/none:{browser} %s")
    assert opened_by(browser).endswith("/#token=a%26%25%3Db")
    assert end(process, signal.SIGTERM)[0] == 0


def test_without_a_browser_the_address_is_printed(mallow, tmp_path):
    process = start(mallow, "serve", "--open", "--port", "0", tmp_path, cwd=tmp_path)
    line = process.stdout.readline()
    address = line.removeprefix("listening on ").strip()
    status, _, errors = end(process)
    assert (status, errors) == (0, f"open {address}/ in a browser\n")


@pytest.mark.parametrize("script,status", [("exit 7", 7), ("kill -9 $$", 137)])
def test_run_serves_what_it_recorded(mallow, tmp_path, browser, script, status):
    """All processes are there, the program's own is shown, and its status is mallow's."""
    process = start(mallow, "run", "--open", "--", "sh", "-c", f"/bin/true; {script}", cwd=tmp_path, BROWSER=str(browser))
    address = opened_by(browser)
    with urllib.request.urlopen(f"{address}list") as answer:
        assert answer.read().count(b'"id":') == 2
    with urllib.request.urlopen(f"{address}data/last/summary") as answer:
        assert script.encode() in answer.read()
    ended = end(process)
    assert ended[0] == status
    assert "listening on http://127.0.0.1:" in ended[1]


def test_nothing_recorded_is_not_served(mallow, tmp_path, browser):
    process = start(mallow, "run", "--open", "--", "./none", cwd=tmp_path, BROWSER=str(browser))
    process.communicate(timeout=30)
    assert process.returncode == 127
    assert not browser.with_name("browser.opened").exists()
