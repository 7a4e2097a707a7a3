"""`mallow serve --open` and `mallow run --open`: a browser at the page, or its address in words."""
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

BROWSER = """#!/bin/sh
env >"$0.env"
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


def get(address, **headers):
    """(status, headers, body) without following anything"""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request("GET", parts.path + ("?" + parts.query if parts.query else ""), headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def argument_lists():
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


@pytest.mark.parametrize("source", ["file", "environment"])
def test_a_code_opens_the_page_once(mallow, tmp_path, browser, source):
    """The token is in no argument list, address, line or environment; the code is good for one use by the own user."""
    token = "a&%=b" + os.urandom(8).hex()
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    words = ["--token-file", tmp_path / "token"] if source == "file" else []
    process = start(mallow, "serve", "--open", "--port", "0", *words, tmp_path, cwd=tmp_path,
                    BROWSER=f"{tmp_path}/none:{browser} %s", **({} if words else {"MALLOW_TOKEN": token}))
    address = opened_by(browser)
    page, code = address.split("?code=")
    assert token not in browser.with_name("browser.env").read_text()
    assert token.encode() not in pathlib.Path(f"/proc/{process.pid}/environ").read_bytes()
    assert not any(token.encode() in words for words in argument_lists())
    assert get(page)[0] == 200 and get(page + "list")[0] == 401
    if os.getuid() == 0 and shutil.which("setpriv"):
        other = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/python3", "-c",
                                "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])", address],
                               capture_output=True, text=True, timeout=60)
        assert "403" in other.stderr
    assert get(address + "0")[0] == get(address[:-1])[0] == 403
    assert get(address, **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 403
    status, headers, _ = get(address)
    cookie, *rest = headers["Set-Cookie"].split("; ")
    assert (status, headers["Location"]) == (303, "/") and sorted(rest) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert get(page + "list", Cookie=cookie)[0] == 200
    status, headers, body = get(address)
    assert (status, headers["Set-Cookie"]) == (403, None) and b"once, within 30 seconds" in body
    assert get(page + "list", Cookie=cookie)[0] == 401
    status, output, errors = end(process, signal.SIGTERM)
    assert (status, output, errors) == (0, f"listening on {page.rstrip('/')}\n", f"opening {page}\n")
    assert code not in output + errors


def test_without_a_browser_the_address_is_printed(mallow, tmp_path):
    process = start(mallow, "serve", "--open", "--port", "0", tmp_path, cwd=tmp_path)
    line = process.stdout.readline()
    address = line.removeprefix("listening on ").strip()
    status, _, errors = end(process)
    assert (status, errors) == (0, f"open {address}/ in a browser\n")
    process = start(mallow, "serve", "--open", "--port", "0", tmp_path, cwd=tmp_path, MALLOW_TOKEN="s3cret")
    address = process.stdout.readline().removeprefix("listening on ").strip()
    assert end(process)[2] == f"open {address}/#token=TOKEN in a browser, with your token for TOKEN\n"


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
