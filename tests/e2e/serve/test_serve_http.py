"""mallow serve and its clients: mistakes, tokens, slow and hostile ones; how it starts, follows and
ends."""
import gzip
import http.client
import itertools
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

from conftest import TOP, clean_environment, need
from servers import (FILTERS, example, fails, large, parameters_of, program, raw, serve,  # noqa: F401
                     served, stepping, until)
from queries import Recorded


def test_the_page_needs_no_token_and_may_do_little(example, serve):
    """Its files hold no data. They come whole, packed if the client likes that, or not again."""
    server = serve(example, env={"MALLOW_TOKEN": "s3cret-of-twenty-one"})
    for target, kind in (("/", "text/html"), ("/?x=1", "text/html"), ("/app.js", "text/javascript"),
                         ("/app.css", "text/css"), ("/flame_worker.js", "text/javascript")):
        status, headers, body = server.request(target)
        assert (status, headers["Content-Type"]) == (200, f"{kind}; charset=utf-8"), target
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'") and "unsafe" not in policy
        assert server.request(target, If_None_Match=headers["ETag"])[0] == 304
        assert gzip.decompress(server.request(target, Accept_Encoding="gzip")[2]) == body
        assert server.request(target, "HEAD")[2] == b""
    assert server.request("/list")[0] == 401
    assert server.request("/", Host="elsewhere")[0] == 403


def test_mistakes_are_named(example, serve):
    server = serve(example)
    path = "/data/last/allocations"
    for query, wanted in [
            ("lifetme=all", "unknown parameter 'lifetme': did you mean 'lifetime'?"),
            ("srot_by=size", "unknown parameter 'srot_by': did you mean 'sort_by'?"),
            ("zzzzzz=1", "unknown parameter 'zzzzzz': /openapi.json lists those of each path"),
            ("from=", "parameter 'from' has no value"),
            ("from", "parameter 'from' has no value"),
            ("count=-1", "invalid 'count': '-1' is not a whole number"),
            ("count=1x", "invalid 'count': '1x' is not a whole number"),
            ("skip=18446744073709551616", "invalid 'skip': '18446744073709551616' is not a whole number"),
            ("order=desc", "invalid 'order': 'desc' is none of asc dsc"),
            ("sort_by=only_matched.size", "invalid 'sort_by': 'only_matched.size' is none of "
                                          "timestamp address size lifetime slack"),
            ("stacks=no", "invalid 'stacks': 'no' is none of all none sites"),
            ("entry=free", "'free' is no value of entry: one of malloc, calloc, …"),
            ("entry=operator", "'operator' is no value of entry: one of malloc, calloc, …"),
            ("chain=-1", "'-1' is no value of chain: a whole number is wanted"),
            ("temporary=1", "'1' is no value of temporary: one of yes no is wanted"),
            ("suppress=a%0Ab", "suppress: line 1, 'a', is not leak:PATTERN"),
            ("suppress=leak:a%0Aleak", "suppress: line 2, 'leak', is not leak:PATTERN"),
            ("freed_from=5%25%25", "'5%%' is no value of freed_from: UNIX seconds, a time…"),
            ("freed_to=nomark", "freed_to: 'nomark': the recording has no marks"),
            ("lifetime=a%0Ab%1b%7f", "'a\\x0ab\\x1b\\x7f' is no value of lifetime: one of all …"),
            ("a%00b=1", "the query holds a zero byte")]:
        text = server.refused(f"{path}?{query}")
        assert text == wanted or (wanted.endswith("…") and text.startswith(wanted[:-1]))
    for query in ["function_regex=(", "from=50%%", "from=-5%", "size_min=x", "lifetime=some",
                  "group_leaked_allocations_min=%", "to=nomark", "size_min=1&size_min=99999999999999999999"]:
        assert query.split("=")[0].split("&")[0] in server.refused(f"{path}?{query}"), query
    assert server.refused("/data/last/timeline?size_min=1").startswith("unknown parameter 'size_min'")
    for target in ("/data/00000000000000000000000000000000/mmaps", "/data/lost/mmaps",
                   "/data/" + "a" * 5000 + "/mmaps", "/data/../mmaps"):
        assert server.refused(target, 404) == "data not found"
    for target in ("/index.html", "/app.js/", "/data", "/data/last", "/data/last/", "/data/last/mmaps/", "/list/x", "//list",
                   "/data/last/../../../etc/passwd", "/../../etc/passwd", "/data//mmaps",
                   "/data/..%2f..%2fetc/passwd", "/data/last/export/flamegraph/a/b"):
        assert server.refused(target, 404) == "no such path: /openapi.json lists them"


# Of parameters that take not any text, but are no enum.
TEXTS = {"entry": ["malloc", "calloc"], "suppress": ["leak:a", "leak:b"]}


def test_given_twice(served):
    """Every parameter of every path: neither the first nor the last counts. Encoded it is the same."""
    document = served.json("/openapi.json")
    for path in document["paths"]:
        target = path.replace("{id}", "last").replace("{backtrace}", "0").replace("{name}", "x")
        for name, parameter in parameters_of(document, path).items():
            values = parameter["schema"].get("enum", TEXTS.get(name, ["1", "2"]))
            encoded = f"%{ord(name[0]):x}{name[1:]}"
            for first, last in ((values[0], values[0]), (values[0], values[-1]), (values[-1], values[0])):
                for query in (f"{name}={first}&{name}={last}", f"{name}={first}&{encoded}={last}"):
                    assert served.refused(f"{target}?{query}") == f"parameter '{name}' is given twice", query
    assert served.refused("/data/last/tree?size_min=1&lifetime=all&size_min=") == \
        "parameter 'size_min' is given twice"


def test_huge_numbers_and_odd_percentages(example, serve):
    server = serve(example)
    path = "/data/last/allocations"
    assert len(server.json(f"{path}?count=18446744073709551615&skip=1")["allocations"]) == 5
    assert server.json(f"{path}?skip=18446744073709551615&count=18446744073709551615") == \
        {"allocations": [], "total_count": 6}
    assert server.json(f"{path}?count=0") == {"allocations": [], "total_count": 6}
    assert server.json(f"{path}?from=20%25&to=60%25") == server.json(f"{path}?from=20%&to=60%")
    assert server.json(f"{path}?from=20%&&to=60%&") == server.json(f"{path}?from=20%&to=60%")
    assert server.json(f"{path}?function_regex=wri%74e+*")["total_count"] == 1


def test_methods(example, serve):
    server = serve(example)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
        status, headers, _ = server.request("/list", method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), method
    for target in ("/list", "/data/last/allocations", "/data/last/export/flamegraph"):
        status, headers, body = server.request(target, "HEAD")
        _, whole, _ = server.request(target)
        assert (status, body) == (200, b"")
        same = ("Content-Type", "ETag", "Content-Length", "Cache-Control")
        assert [headers[name] for name in same] == [whole[name] for name in same]
    assert server.request("/nothing", "HEAD")[0] == 404


def test_compression(served):
    """Also of an answer of many pieces."""
    made = max(served.made, key=lambda one: len(one.blocks.blocks))
    for target in ("/list", f"/data/{made.id}/allocations", f"/data/{made.id}/export/flamegraph",
                   f"/data/{made.id}/mallopts", "/openapi.json"):
        _, _, plain = served.request(target)
        for accepted, compressed in [("gzip", True), ("deflate, gzip;q=0.5", True), ("br", False),
                                     ("gzip;q=0", False), ("xgzip, gzipx", False)]:
            _, headers, body = served.request(target, Accept_Encoding=accepted)
            assert headers["Content-Encoding"] == ("gzip" if compressed else None)
            assert (gzip.decompress(body) if compressed else body) == plain


def test_nothing_is_sent_twice(example, serve):
    server = serve(example)
    target = "/data/last/allocations?count=2"
    _, headers, _ = server.request(target)
    tag = headers["ETag"]
    assert tag and "public" not in headers["Cache-Control"] and "max-age" not in headers["Cache-Control"]
    for known in (tag, f'"x", {tag}', tag[2:]):
        status, again, body = server.request(target, If_None_Match=known)
        assert (status, again["ETag"], body) == (304, tag, b"")
    for other in ("/data/last/allocations?count=3", "/data/last/raw_allocations?count=2"):
        status, again, _ = server.request(other, If_None_Match=tag)
        assert status == 200 and again["ETag"] != tag
    assert server.request(target, If_None_Match='"no"')[0] == 200
    assert server.request("/data/last/allocations?x=1", If_None_Match=tag)[0] == 400


def test_who_is_served(example, serve):
    server = serve(example, "--allow-origin", "http://one.example,https://two.example:444")
    for host in ("localhost", "127.0.0.1", "[::1]", "LOCALHOST:80", f"127.0.0.1:{server.port}", "[::1]:9"):
        assert server.request("/list", Host=host)[0] == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::1", "[]", "",
                 "localhost:x", "10.0.0.1", "a" * 300, "localhost@evil.example", "::1"):
        status, _, body = server.request("/list", Host=host)
        assert status in (400, 403) and b"executable" not in body, host
    for origin in ("http://one.example", "https://two.example:444"):
        _, headers, _ = server.request("/list", Origin=origin)
        assert headers["Access-Control-Allow-Origin"] == origin
        status, headers, _ = server.request("/list", "OPTIONS", Origin=origin)
        assert status == 204 and headers["Access-Control-Allow-Headers"] == "Authorization"
    for origin in ("http://one.example.evil", "http://one", "null", "https://two.example",
                   "http://one.example,https://two.example:444"):
        status, headers, body = server.request("/list", Origin=origin)
        assert (status, headers["Access-Control-Allow-Origin"]) == (403, None) and b"executable" not in body


def test_pages_of_other_sites(example, serve):
    """They get nothing; a link of theirs may lead to the page, which holds no data."""
    server = serve(example, "--allow-origin", "http://one.example")
    own = f"http://127.0.0.1:{server.port}"
    for target, page in (("/list", False), ("/data/last/summary", False), ("/", True), ("/app.js", True)):
        for status, headers in (
                (200, {}), (200, {"Sec-Fetch-Site": "none"}), (200, {"Sec-Fetch-Site": "same-origin"}),
                (200, {"Origin": own, "Sec-Fetch-Site": "same-origin"}),
                (200, {"Origin": own.replace("http", "https")}),
                (200, {"Origin": "http://one.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}),
                (403, {"Origin": f"http://127.0.0.1:{server.port + 1}", "Sec-Fetch-Site": "same-site"}),
                (403, {"Origin": "http://two.example"}), (403, {"Origin": "null"}), (403, {"Origin": ""}),
                (403, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
                (403, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}),
                (200 if page else 403, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})):
            assert server.request(target, **headers)[0] == status, (target, headers)
    assert server.request("/list", "OPTIONS", Origin="http://two.example")[0] == 403


def test_a_token(example, serve):
    server = serve(example, "-i", "0.0.0.0", env={"MALLOW_TOKEN": "s3cret-of-twenty-one"})
    for headers in ({}, {"Authorization": "Bearer s3cre"}, {"Authorization": "Bearer s3cret-of-twenty-one1"},
                    {"Authorization": "Basic s3cret-of-twenty-one"}, {"Authorization": "s3cret-of-twenty-one"},
                    {"Cookie": "mallow_token=s3cret-of-twenty-one"}, {"Cookie": f"mallow_{server.port}="}):
        status, answer, body = server.request("/list", **headers)
        assert (status, answer["WWW-Authenticate"]) == (401, "Bearer") and b"executable" not in body
    assert server.request("/session")[:1] == (401,)
    status, answer, _ = server.request("/session", Authorization="Bearer s3cret-of-twenty-one")
    cookie, *rest = answer["Set-Cookie"].split("; ")
    assert status == 204 and sorted(rest) == ["HttpOnly", "Path=/", "SameSite=Strict"] and "s3cret-of-twenty-one" not in cookie
    for headers in ({"Authorization": "Bearer s3cret-of-twenty-one"}, {"Authorization": "bearer s3cret-of-twenty-one"},
                    {"Cookie": cookie}, {"Cookie": f"a=b; {cookie}; c=d"}):
        assert server.request("/list", **headers)[0] == 200
    # Every interface: any address is right. Names are, too, for who sends the token, which no page of another site can.
    assert server.request("/list", Host="10.1.2.3", Authorization="Bearer s3cret-of-twenty-one")[0] == 200
    assert server.request("/list", Host="evil.example", Authorization="Bearer s3cret-of-twenty-one")[0] == 200
    assert server.request("/list", Host="evil.example", Cookie=cookie)[0] == 403
    assert server.request("/", Host="evil.example")[0] == 403


def test_a_token_that_others_can_read(mallow, example, tmp_path):
    """It is said, once, and the server runs: here it cannot, for want of a port."""
    path = tmp_path / "token"
    path.write_text("s3cret-of-twenty-one\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for mode, told in ((0o644, True), (0o640, True), (0o600, False)):
            path.chmod(mode)
            run = subprocess.run([mallow, "serve", "--port", str(taken.getsockname()[1]),
                                  "--token-file", path, example], capture_output=True, text=True,
                                 env=clean_environment(), timeout=60)
            warning = f"mallow: {path}: others can read this token (mode {mode:03o}): 'chmod 600 {path}'\n"
            assert (warning in run.stderr) == told
            assert run.stderr.count("\n") == 1 + told


def test_a_token_that_lists_of_processes_do_not_show(mallow, example, tmp_path, serve):
    """From a file, a pipe or the environment; an option counts more than the environment."""
    def knows(server, token):
        command = pathlib.Path(f"/proc/{server.run.pid}/cmdline").read_bytes()
        assert b"s3cret-of-twenty-one" not in command
        assert server.request("/list")[0] == 401
        assert server.request("/list", Authorization="Bearer other")[0] == 401
        return server.request("/list", Authorization=f"Bearer {token}")[0] == 200

    path = tmp_path / "token"
    path.touch(0o600)
    for text in ("s3cret-of-twenty-one", "s3cret-of-twenty-one\n", "s3cret-of-twenty-one\r\n", "s3cret-of-twenty-one \n\n"):
        path.write_text(text)
        assert knows(serve(example, "-i", "0.0.0.0", "--token-file", path), "s3cret-of-twenty-one"), text
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=(tmp_path / "pipe").write_text, args=("s3cret-of-twenty-one\n",)).start()
    assert knows(serve(example, "--token-file", tmp_path / "pipe"), "s3cret-of-twenty-one")
    assert knows(serve(example, env={"MALLOW_TOKEN": "s3cret-of-twenty-one"}), "s3cret-of-twenty-one")
    assert knows(serve(example, "--token-file", path, env={"MALLOW_TOKEN": "other"}), "s3cret-of-twenty-one")

    for text, wanted in (("", "an empty token keeps nobody out"), ("\n", "an empty token keeps nobody out"),
                         ("a;b", "a token has no blanks"), ("a b", "a token has no blanks"), ("a\nb\n", "a token has no blanks"),
                         ("a\0b", "holds a zero byte"), ("a" * 20_000_000, "is too large for a token")):
        path.write_text(text)
        status, message = fails(mallow, "--token-file", path, example)
        assert status == 1 and str(path) in message and wanted in message
    status, message = fails(mallow, "--token-file", tmp_path / "missing", example)
    assert status == 1 and "missing: No such file" in message
    assert fails(mallow, "--token-file", tmp_path, example)[0] == 1
    # There is no --token any more, and what follows it is not printed.
    status, message = fails(mallow, "--token", "s3cret-of-twenty-one", example)
    assert status == 2 and "give --token-file FILE" in message and "s3cret-of-twenty-one" not in message
    run = subprocess.run([mallow, "serve", example], capture_output=True, text=True, timeout=60,
                         env=clean_environment({"MALLOW_TOKEN": ""}))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "mallow: MALLOW_TOKEN: an empty token keeps nobody out\n"


def test_what_it_does_not_start_with(mallow, example, tmp_path, serve):
    other = tmp_path / "text"
    other.write_text("no recording, but long enough to be one " * 200)
    assert fails(mallow, other)[0] == 1
    status, text = fails(mallow, example, tmp_path / "missing")
    assert status == 1 and "missing" in text
    status, text = fails(mallow, "-i", "0.0.0.0", "-p", 0, example)
    assert status == 1 and "--token-file" in text and "--insecure" in text
    status, text = fails(mallow, "-p", serve(example).port, example)
    assert status == 1 and text.endswith(
        ": Address already in use: choose another by --port N, or any free one by --port 0")
    assert fails(mallow, "-i", "no.such.host.invalid", example)[0] == 1
    for option in (("-p", "65536"), ("-p", "x"), ("-p", "-1"), ("--allow-user", "no such user"), ("--allow-user", "4294967295")):
        assert fails(mallow, *option, example)[0] == 2, option


def test_no_recording_at_all(serve):
    server = serve()
    assert server.json("/list") == []
    assert server.refused("/data/last/allocations", 404) == "data not found"


def test_it_is_described(served):
    """Each path is there, and takes each parameter that is said of it. But the one that does not end, and that
    which wants a file: test_serve_events.py, test_serve_source.py."""
    document = served.json("/openapi.json")
    samples = {"N": "1", "integer": "1", "string": "1"}
    assert document["openapi"].startswith("3.")
    for path in set(document["paths"]) - {"/events", "/data/{id}/source"}:
        target = path.replace("{id}", "last").replace("{backtrace}", "0").replace("{name}", "x")
        assert served.request(target)[0] == 200, target
        assert set(re.findall(r"{(\w+)}", path)) == set(parameters_of(document, path, "path"))
        for name, parameter in parameters_of(document, path).items():
            if name in ("seconds", "root"):
                continue  # of recordings that are being written alone; an id of another answer
            schema = parameter["schema"]
            value = schema["enum"][-1] if "enum" in schema else TEXTS.get(name, [samples[schema["type"]]])[0]
            value = {"by": schema.get("enum", ["thread"])[-1], "inclusive": "true&by=line", "b.id": "last",
                     "show": "fell&b.to=1s"}.get(name, value)
            assert served.request(f"{target}?{name}={value}")[0] == 200, (target, name)
    names = parameters_of(document, "/data/{id}/allocations")
    assert {"from", "lifetime", "function_regex", "sort_by", "order", "count", "skip",
            "strip_template_args"} <= set(names)
    for path in document["paths"]:
        if FILTERS & set(parameters_of(document, path)) and "/maps" not in path:  # which have some of them
            assert FILTERS <= set(parameters_of(document, path)), path


def test_the_documentation_has_every_path(served):
    text = (TOP / "docs" / "rest-api.md").read_text()
    document = served.json("/openapi.json")
    for path in document["paths"]:
        plain = path.replace("{", "<").replace("}", ">").removesuffix("/<name>")
        assert f"`{plain}`" in text, path
        own = set(parameters_of(document, path)) - FILTERS
        assert all(f"`{name}`" in text or f"`{name}=" in text for name in own), own


def copy_as(example, path, identity):
    data = bytearray(example.read_bytes())
    data[16:32] = bytes([identity]) * 16
    path.write_bytes(data)


def test_a_directory_is_watched(example, tmp_path, serve):
    copy_as(example, tmp_path / "a.mallow", 1)
    (tmp_path / "notes.txt").write_text("no recording")
    (tmp_path / "0.mallow").write_bytes(example.read_bytes()[:100])
    server = serve(tmp_path, clean=False)
    assert [row["id"] for row in server.json("/list")] == ["01" * 16]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # a directory's time may be as coarse as the kernel's tick
        copy_as(example, tmp_path / "b.part", 2)
        (tmp_path / "b.part").rename(tmp_path / "b.mallow")
        if len(server.json("/list")) == 2:
            break
    assert [row["id"] for row in server.json("/list")] == ["01" * 16, "02" * 16]
    assert server.json("/data/last/allocations") == server.json(f"/data/{'02' * 16}/allocations")
    server.run.terminate()
    _, stderr = server.run.communicate(timeout=60)  # a bad file costs only itself, and is named once
    assert stderr == f"mallow: '{tmp_path}/0.mallow' is a recording that is cut short within its header\n"


def test_a_file_that_becomes_another_recording(example, tmp_path, serve):
    path = tmp_path / "a.mallow"
    copy_as(example, path, 1)
    server = serve(path)
    assert server.json(f"/data/{'01' * 16}/allocations?count=0")["total_count"] == 6
    copy_as(example, tmp_path / "part", 2)
    (tmp_path / "part").rename(path)
    until(lambda: [row["id"] for row in server.json("/list")] == ["02" * 16])
    assert server.json(f"/data/{'02' * 16}/allocations?count=0")["total_count"] == 6
    assert server.refused(f"/data/{'01' * 16}/allocations", 404) == "data not found"


def test_a_recording_that_grows_is_followed(program, tmp_path, serve):
    path = tmp_path / "grows.mallow"

    def write(count):
        made = Recorded(program, id=b"\7" * 16)
        for i in range(count):
            made.allocate(i * 1000, 0x1000 + 64 * i, 32, ["outer"])
        made.write(tmp_path / "part", count * 1000)
        data = (tmp_path / "part").read_bytes()
        path.write_bytes(data)

    write(3)
    server = serve(path)
    assert server.json("/data/last/allocations")["total_count"] == 3
    tag = server.request("/data/last/allocations")[1]["ETag"]
    write(5)
    deadline = time.monotonic() + 30
    while server.json("/data/last/allocations")["total_count"] != 5:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert server.request("/data/last/allocations", If_None_Match=tag)[0] == 200


def test_a_program_that_runs_is_followed(stepping, serve):
    """From before it is started until after its recording is finished."""
    server = serve(stepping.folder)
    assert server.json("/list") == []

    def seen():
        status, _, body = server.request("/data/last/allocations?size_min=4321&size_max=4321&count=0")
        return status == 200 and json.loads(body)["total_count"]

    for count in range(1, 4):
        stepping.step(1)
        until(lambda: seen() == count)
        [row] = server.json("/list")
        assert row["executable"] == str(stepping.program)
    stepping.end()
    until(lambda: server.json("/list")[0]["final_allocated"] >= 3 * 4321)
    assert seen() == 3


def test_hostile_requests(example, serve, asan_mallow):
    server = serve(example, path=asan_mallow)
    close = b"\r\nConnection: close\r\n\r\n"
    long_query = b"GET /list?" + b"a" * 10_000_000 + b" HTTP/1.1\r\nHost: localhost" + close
    assert raw(server, long_query).startswith(b"HTTP/1.1 414 ")
    many = b"GET /list HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 100_000 + close
    assert raw(server, many).startswith(b"HTTP/1.1 431 ")
    assert re.match(rb"HTTP/1.1 4\d\d ", raw(server, b"GET /list HTTP/1.1" + close))
    for data in (b"\0" * 5000 + b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n",
                 b"GET /list\r\n\r\n", b"GET /data/%ff%fe/mmaps?%zz=%\x80 HTTP/1.1\r\nHost: localhost" + close,
                 b"POST /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n"):
        answer = raw(server, data + b"\r\n") if data != b"GET /list\r\n\r\n" else raw(server, data)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4") or answer.startswith(b"HTTP/1.0 4"), answer
    body = b"POST /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 5_000_000
    assert raw(server, body).startswith(b"HTTP/1.1 405") or raw(server, body) == b""
    # Each of two requests on one connection.
    two = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\nGET /list HTTP/1.1\r\nHost: localhost" + close
    assert re.findall(rb"HTTP/1\.1 \d+", raw(server, two)) == [b"HTTP/1.1 404", b"HTTP/1.1 200"]
    assert server.json("/list")


def test_a_costly_pattern_is_given_up(program, tmp_path, serve):
    made = Recorded(program)
    made.allocate(0, 0x1000, 32, ["outer"])
    server = serve(made.write(tmp_path / "r.mallow", 1000))
    pattern = urllib.parse.quote("^(([a-z])+.)+[A-Z]([a-z])+$|(.*)*x(.*)*y(.*)*z(.*)*!")
    text = server.refused(f"/data/last/allocations?source_regex={pattern}")
    assert text.startswith("source_regex: the pattern is too costly for ")
    long_pattern = "(" * 20000
    assert server.request(f"/data/last/allocations?function_regex={long_pattern}")[0] == 400


@pytest.fixture(scope="module")
def many_names(tmp_path_factory, mallow):
    """Of a program with 3000 functions, for each of which a pattern may take just not too long."""
    folder = tmp_path_factory.mktemp("names")
    names = [f"f{i}_{'a' * 18}" for i in range(3000)]
    (folder / "names.c").write_text(
        "#include <stdlib.h>\n"
        + "".join(f"void {name}(void) {{ void *volatile p = malloc(16); free(p); }}\n" for name in names)
        + "int main(void) {" + "".join(f"{name}();" for name in names) + "}\n")
    subprocess.run(["gcc", "-o", folder / "names", folder / "names.c"], check=True)
    subprocess.run([mallow, "run", "-o", folder / "r.mallow", folder / "names"], check=True,
                   capture_output=True, env=clean_environment())
    return folder / "r.mallow"


def test_costly_patterns_keep_nobody_waiting(many_names, example, serve):
    server = serve(many_names, example)
    [names, other] = [row["id"] for row in server.json("/list")]
    answers = []

    def ask(i):
        pattern = urllib.parse.quote(f"_(a|a)*[bc{i}]")
        answers.append(server.refused(f"/data/{names}/allocations?function_regex={pattern}"))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert server.json(f"/data/{other}/allocations?function_regex=read")["total_count"]
        assert server.json(f"/data/{names}/allocations?count=1")["total_count"] >= 3000
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    for answer in answers:
        assert answer.startswith("function_regex: the pattern is too costly for so many names")
    assert server.json(f"/data/{names}/allocations?function_regex=_a*$&count=1")["total_count"] == 3000


VERSIONED = r"""
#include <stdlib.h>
__asm__(".symver make_it,make_it@@@V1");
__attribute__((noinline)) char *make_it(void)
{
	char *block = malloc(10);

	if (block)
		*block = 1;
	return block;
}
int main(void) { return !make_it(); }
"""


def test_raw_functions_have_no_version(mallow, serve, tmp_path):
    """A linker appends it: make_it@@V1 is no name that a compiler gave, and no readable one."""
    (tmp_path / "p.c").write_text(VERSIONED)
    (tmp_path / "map").write_text("V1 { global: make_it; };\n")
    subprocess.run(["gcc", "-O1", "-o", "p", "p.c", "-Wl,--version-script=map", "-rdynamic"], cwd=tmp_path, check=True)
    assert " make_it@@V1\n" in subprocess.run(["nm", tmp_path / "p"], capture_output=True, text=True, check=True).stdout
    subprocess.run([mallow, "run", "-o", "r.mallow", "./p"], cwd=tmp_path, check=True, capture_output=True,
                   env=clean_environment())
    [row] = serve(tmp_path / "r.mallow").json("/data/last/allocations?function_regex=make_it")["allocations"]
    assert [frame["raw_function"] for frame in row["backtrace"] if frame["function"] == "make_it"] == ["make_it"]


def sockets_of(pid):
    """Those of clients, and the one that listens."""
    inodes = {line.split()[9] for kind in ("tcp", "tcp6")
              for line in pathlib.Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]}
    found = 0
    for name in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += os.readlink(name).removeprefix("socket:[").rstrip("]") in inodes
        except OSError:
            pass  # closed since
    return found


@pytest.mark.parametrize("begin", [b"", b"GET /li", b"GET /list HTTP/1.1\r\nHost: localhost\r\nX: ",
                                   b"GET /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n"])
def test_a_slow_request_is_ended(example, serve, asan_mallow, begin):
    """Byte by byte it is never idle, and never done."""
    server = serve(example, "--timeout", 1, path=asan_mallow)
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.1) as client:
        client.sendall(begin)
        sent = 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if not client.recv(1000):
                    break
            except TimeoutError:
                client.sendall(b"\n" if not begin else b"a")
                sent += 1
            except OSError:
                break
        assert sent and time.monotonic() < deadline
    assert server.json("/list")


def test_a_slow_reader_is_ended(large, serve, asan_mallow):
    """It takes a little now and then; one that takes its time, but reads, has all of it."""
    server = serve(large, "--timeout", 1, path=asan_mallow)
    server.json("/data/last/allocations?count=1")
    until(lambda: sockets_of(server.run.pid) == 1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: client.recv(100) and sockets_of(server.run.pid) == 1)
    assert len(server.text("/data/last/allocations")) > 50_000_000


def test_one_address_does_not_take_all(example, serve, asan_mallow):
    server = serve(example, path=asan_mallow)
    taken = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(140)]
    until(lambda: sockets_of(server.run.pid) >= 128)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60,
                                            source_address=("127.0.0.2", 0))
    connection.request("GET", "/list")
    assert connection.getresponse().status == 200
    connection.close()
    for client in taken:
        client.close()
    until(lambda: sockets_of(server.run.pid) == 1)
    assert server.json("/list")


@pytest.mark.long
def test_a_storm_of_requests(large, example, serve, asan_mallow):
    """wrk with 64 connections for 30 s against the sanitizer build: no error, and no leak when it ends."""
    wrk = need("wrk")
    server = serve(large, example, path=asan_mallow)
    targets = ["/list", "/data/last/allocations", "/data/last/allocation_groups?size_min=17",
               "/data/last/export/flamegraph?lifetime=only_leaked", "/data/last/timeline", "/nothing",
               f"/data/{server.json('/list')[0]['id']}/allocations?sort_by=size&count=100&size_min={{i}}"]
    script = large.with_name("storm.lua")
    lines = ", ".join(f'"{target}"' for target in targets)
    script.write_text(f"targets = {{{lines}}}\ni = 0\nfunction request()\n  i = i + 1\n"
                      "  local target = targets[i % #targets + 1]:gsub('{i}', i % 40)\n"
                      "  return wrk.format('GET', target)\nend\n")
    run = subprocess.run([wrk, "-t2", "-c64", "-d30s", "--timeout", "60s", "-s", str(script),
                          f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                         check=True, timeout=300)
    done = int(re.search(r"(\d+) requests in", run.stdout)[1])
    refused = int(re.search(r"Non-2xx or 3xx responses: (\d+)", run.stdout)[1])
    assert done > 500 and "Socket errors" not in run.stdout, run.stdout
    assert abs(refused - done / len(targets)) <= 64
    server.end()  # the sanitizer prints what leaked, and the status is its own


def test_slow_clients_keep_nobody_waiting(example, serve):
    server = serve(example)
    slow = []
    for i in range(40):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"GET /list HTTP/1.1\r\nHo" if i % 2 else
                       b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.append(client)
    assert server.json("/data/last/allocations")["total_count"] == 6
    for client in slow:
        client.close()


def test_many_clients_at_once(served):
    """Threads that ask for everything of every recording get what one alone gets."""
    targets = [f"/data/{made.id}/{what}" for made in served.made for what in (
        "allocations", "allocations?sort_by=size", "allocation_groups?size_min=2", "tree",
        "allocation_ascii_tree?lifetime=only_leaked", "export/flamegraph", "timeline", "regions",
        "summary?b.to=50%", "flame?show=grew&b.size_min=2")]
    # More pairs than are kept, and both ways round.
    targets += [f"/data/{one.id}/{what}&b.id={other.id}" for one, other in itertools.permutations(served.made[:3], 2)
                for what in ("sums?by=function", "flame?metric=total")]
    targets.append("/list")
    alone = {target: served.text(target) for target in targets}
    wrong = []

    def ask(seed):
        order = targets * 2
        random.Random(seed).shuffle(order)
        for target in order:
            try:
                if served.text(target) != alone[target]:
                    wrong.append(target)
            except (AssertionError, OSError) as error:
                wrong.append((target, error))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_while_a_client_reads(large, serve, asan_mallow, number):
    server = serve(large, path=asan_mallow)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 OK")
        server.end(number)


def test_a_client_that_leaves(large, serve, asan_mallow):
    server = serve(large, path=asan_mallow)
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 OK")
    assert server.json("/data/last/allocations?count=1")["total_count"] == 60_000
