"""What mallow serve makes of the head of a request, byte by byte: RFC 9110 and 9112. Each request is
written to the socket as it is here."""
import ctypes
import re
import socket

import pytest

from servers import example, program, raw, serve  # noqa: F401

library = ctypes.CDLL("libmicrohttpd.so.12")
library.MHD_get_version.restype = ctypes.c_char_p
LIBRARY_VERSION = int(library.MHD_get_version().split(b".")[0])
HOST = b"Host: localhost\r\n"
TOKEN = b"Authorization: Bearer s3cret\r\n"
CLOSE = b"Connection: close\r\n"
STREAMED = b"/data/last/allocations"


@pytest.fixture
def server(example, serve, asan_mallow):
    return serve(example, path=asan_mallow, env={"MALLOW_TOKEN": "s3cret"})


class Answer:
    """The one answer in some bytes."""

    def __init__(self, data):
        head, found, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(re.fullmatch(r"HTTP/1\.1 (\d+) [\w ]+", lines[0])[1])
        self.headers = dict(line.split(": ", 1) for line in lines[1:])
        assert found and len(self.headers) == len(lines) - 1


def answered(server, fields=b"", target=b"/list", method=b"GET", version=b"HTTP/1.1", host=HOST, token=TOKEN,
             end=b"\r\n", body=b""):
    return raw(server, b"%s %s %s\r\n" % (method, target, version) + host + token + fields + CLOSE + end + body)


def ask(*arguments, **request):
    return Answer(answered(*arguments, **request))


@pytest.mark.parametrize("accept", [b"", b"Accept-Encoding: gzip\r\n"])
def test_head_has_no_body(server, accept):
    """The headers of GET, but for those of which RFC 9110, 9.3.2, says that the body is needed."""
    for target in (b"/list", STREAMED, b"/data/last/export/flamegraph", b"/data/last/tree", b"/nothing",
                   b"/data/last/export/replay", b"/data/last/export/heaptrack", b"/openapi.json",
                   b"/debug/pprof/heap", b"/data/last/allocation_ascii_tree", b"/data/last/mmaps"):
        for version in (b"HTTP/1.1", b"HTTP/1.0"):
            whole = ask(server, accept, target, version=version)
            head = ask(server, accept, target, b"HEAD", version)
            assert (head.status, head.body) == (whole.status, b""), target
            for answer in (whole, head):
                answer.headers.pop("Transfer-Encoding", None)
                answer.headers.pop("Date")
            assert head.headers == whole.headers, target


def test_requests_behind_a_head(server):
    """What follows on the connection is the next answer, if any."""
    data = raw(server, b"HEAD /list HTTP/1.1\r\n" + HOST + TOKEN
               + b"\r\nGET /nothing HTTP/1.1\r\n" + HOST + TOKEN + CLOSE + b"\r\n")
    first, _, second = data.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200 ") and Answer(second).status == 404


def test_absolute_targets(server):
    """As a proxy gets them: RFC 9112, 3.2.2. The host in them counts, and Host does not."""
    plain = ask(server, target=STREAMED + b"?count=1")
    for start in (b"http://localhost", b"HTTP://127.0.0.1:%d" % server.port, b"http://[::1]:1"):
        same = ask(server, target=start + STREAMED + b"?count=1")
        assert (same.status, same.body, same.headers["ETag"]) == (200, plain.body, plain.headers["ETag"])
        assert ask(server, target=start + STREAMED, host=b"Host: evil.example\r\n").status == 200
        for empty in (b"", b"/", b"?count=1"):
            assert b"<!doctype html>" in ask(server, target=start + empty).body
    for host in (b"evil.example", b"evil.example:80", b"localhost.evil.example", b"localhost@evil.example",
                 b"", b"[::1", b"localhost:x", b"localhost%00"):
        refused = ask(server, target=b"http://" + host + STREAMED, token=b"")
        assert (refused.status, b"evil" in refused.body) == (403, False), host
        # Who knows the token may call the machine by any name, if it is one.
        named = ask(server, target=b"http://" + host + STREAMED)
        assert named.status == (403 if host in (b"", b"[::1", b"localhost:x") else 200), host
    for target in (b"https://localhost/list", b"ftp://localhost/list", b"localhost/list", b"http:/list",
                   b"//localhost/list"):
        assert ask(server, target=target).status == 404, target
    assert ask(server, target=b"http://localhost/list", token=b"").status == 401
    assert ask(server, target=b"http://localhost/list", host=b"", version=b"HTTP/1.0").status == 200


def test_any_tag_is_known(server):
    """If-None-Match: RFC 9110, 13.1.2. Only where there is an answer: 13.2.1."""
    for method in (b"GET", b"HEAD"):
        for target in (b"/list", STREAMED, b"/openapi.json", b"/data/last/export/flamegraph"):
            for value in (b"*", b" * ", b"*\t"):
                same = ask(server, b"If-None-Match:" + value + b"\r\n", target, method)
                assert (same.status, same.body) == (304, b""), (target, value)
                assert "Content-Length" not in same.headers and "Transfer-Encoding" not in same.headers
                assert {"Vary", "Cache-Control", "Date"} <= set(same.headers)
        assert ask(server, b"If-None-Match: *\r\n", b"/nothing", method).status == 404
        assert ask(server, b"If-None-Match: *\r\n", STREAMED + b"?x=1", method).status == 400
        assert ask(server, b"If-None-Match: *\r\n", b"/data/last/backtrace/999999", method).status == 404
    assert ask(server, b"If-None-Match: *\r\n", token=b"").status == 401
    for other in (b'"*"', b"**", b'*"', b'"a*"'):
        assert ask(server, b"If-None-Match: " + other + b"\r\n", STREAMED).status == 200, other


def test_lists_of_several_lines(server):
    tag = ask(server, target=STREAMED).headers["ETag"].encode()
    known = b'If-None-Match: "a"\r\nIf-None-Match: "b", %s\r\n' % tag
    same = ask(server, known, STREAMED)
    assert (same.status, same.headers["ETag"].encode()) == (304, tag)
    assert "Content-Length" not in same.headers
    packed = ask(server, b"Accept-Encoding: br\r\naccept-encoding: deflate, gzip\r\n")
    assert packed.headers["Content-Encoding"] == "gzip"


ONE_LINE = "malformed header: each is one line without zero bytes, ended by CR LF"


@pytest.mark.parametrize("request_, wanted", [
    # A zero byte hides what comes behind it.
    ({"host": b"Host: localhost\0evil.example\r\n"}, ONE_LINE),
    ({"host": b"Host: localhost\0\r\n"}, ONE_LINE),
    ({"host": b"Host: \0localhost\r\n"}, ONE_LINE),
    ({"token": b"Authorization: Bearer s3cret\0x\r\n"}, ONE_LINE),
    ({"token": b"Authorization: Bearer s3cret\0\r\n"}, ONE_LINE),
    ({"token": b"Cookie: mallow_token=s3cret\0x\r\n"}, ONE_LINE),
    ({"end": b"X: a\0b\r\n\r\n"}, ONE_LINE),
    ({"end": b"X: a\0\r\n\r\n"}, ONE_LINE),
    ({"end": b"X: \0\r\n\r\n"}, ONE_LINE),
    ({"target": b"/list\0x"}, "malformed target: it holds a zero byte"),
    ({"target": b"/list?\0"}, "malformed target: it holds a zero byte"),
    ({"target": b"http://localhost\0.evil.example/list"}, "malformed target: it holds a zero byte"),
    # Which of two counts?
    *(({"fields": field}, f"two headers '{field.split(b':')[0].decode()}': a request has one") for field in
      (b"Host: localhost\r\n", b"Host: evil.example\r\n", b"Authorization: Bearer x\r\n",
       b"Authorization: Bearer s3cret\r\n")),
    ({"fields": b"hOST: localhost\r\n"}, "two headers 'Host': a request has one"),
    ({"fields": b"Cookie: a=b\r\nCookie: mallow_token=s3cret\r\n"}, "two headers 'Cookie': a request has one"),
    ({"fields": b"Origin: http://a\r\nOrigin: http://b\r\n"}, "two headers 'Origin': a request has one"),
    ({"fields": b"Content-Length: 0\r\nContent-Length: 0\r\n"},
     "two headers 'Content-Length': a request has one"),
    ({"fields": b"Content-Length: 0\r\nContent-Length: 44\r\n"},
     "two headers 'Content-Length': a request has one"),
    ({"fields": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"},
     "two headers 'Transfer-Encoding': a request has one"),
    # Where does the body end?
    ({"fields": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"},
     "Content-Length and Transfer-Encoding: one body, one length"),
    ({"fields": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"},
     "Content-Length and Transfer-Encoding: one body, one length"),
    *(({"fields": b"Transfer-Encoding: " + coding + b"\r\n"},
       f"malformed Transfer-Encoding: '{coding.decode()}' is not chunked of HTTP/1.1")
      for coding in (b"identity", b"gzip, chunked", b"chunked, chunked", b"xchunked", b"chunkedx", b"")),
    ({"fields": b"Transfer-Encoding: chunked\r\n", "version": b"HTTP/1.0"},
     "malformed Transfer-Encoding: 'chunked' is not chunked of HTTP/1.1"),
    # Where does a header end?
    ({"fields": b"X: a\r\n b\r\n"}, ONE_LINE),
    ({"fields": b"X: a\r\n\tb\r\n"}, ONE_LINE),
    ({"host": b"Host: localhost\r\n .evil.example\r\n"}, ONE_LINE),
    ({"host": b"Host:\r\n localhost\r\n"}, ONE_LINE),
    ({"host": b" X: y\r\nHost: localhost\r\n"}, "malformed name of a header: ' X'"),
    ({"fields": b"X: a\n"}, ONE_LINE),
    ({"host": b"Host: localhost\n"}, ONE_LINE),
    ({"end": b"\n"}, ONE_LINE),
    ({"host": b"Host: localhost\rX: y\r\n"}, "the header 'Host' holds a control character"),
    ({"fields": b"X: a\x01\r\n"}, "the header 'X' holds a control character"),
    ({"fields": b"X: a\x7f\r\n"}, "the header 'X' holds a control character"),
    # Which header is it?
    ({"host": b"Host : localhost\r\n"}, "malformed name of a header: 'Host '"),
    ({"fields": b"Content-Length : 5\r\n"}, "malformed name of a header: 'Content-Length '"),
    ({"fields": b"X Y: 5\r\n"}, "malformed name of a header: 'X Y'"),
    ({"fields": b"X\t: 5\r\n"}, "malformed name of a header: 'X\\x09'"),
    ({"fields": b"X(Y): 5\r\n"}, "malformed name of a header: 'X(Y)'"),
    # Who, and what, is asked?
    ({"host": b""}, "a header 'Host' is needed"),
    ({"host": b"", "target": b"http://localhost/list"}, "a header 'Host' is needed"),
    ({"target": b"/list x"}, "malformed target: blanks and control characters are to be written as %20"),
    ({"target": b"/list "}, "malformed target: blanks and control characters are to be written as %20"),
    ({"target": b"/list\x01"}, "malformed target: blanks and control characters are to be written as %20"),
])
def test_what_is_refused(server, request_, wanted):
    """Some of it is refused by libmicrohttpd itself from version 1 on, in its own words, and a target with a
    zero byte without any."""
    data = answered(server, **request_)
    if data or LIBRARY_VERSION < 1 or b"\0" not in request_.get("target", b""):
        answer = Answer(data)
        assert answer.status == 400
        assert answer.body.decode() == wanted + "\n" or (
            LIBRARY_VERSION >= 1 and answer.body.startswith(b"<html><head><title>"))
        assert answer.headers["Connection"] == "close"
    assert ask(server).status == 200


@pytest.mark.parametrize("data", [b"GET /list HTTP/1.1\r\n" + field + HOST + TOKEN + CLOSE + b"\r\n" for field in (
    b"X\r\n", b"X\0: y\r\n", b"Host\0x: localhost\r\n", b"Content-Length: x\r\n", b"Content-Length: -1\r\n",
    b"Content-Length: +5\r\n", b"Content-Length: 0, 0\r\n", b"Content-Length: 0x5\r\n", b"Content-Length:\r\n",
    b"Content-Length: 5 5\r\n")])
def test_what_libmicrohttpd_refuses(server, data):
    answer = raw(server, data)
    assert answer.startswith(b"HTTP/1.1 400 ") and b"executable" not in answer
    assert ask(server).status == 200


def test_nothing_is_smuggled(server):
    """What was refused ends its connection: no part of it is taken for a request of its own."""
    inner = b"GET /list HTTP/1.1\r\n" + HOST + TOKEN + CLOSE + b"\r\n"
    for fields in (b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(inner),
                   b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(inner),
                   b"Transfer-Encoding: xchunked\r\n", b"Content-Length : %d\r\n" % len(inner),
                   b"X: a\0b\r\n", b"Content-Length: %d\r\n b\r\n" % len(inner)):
        data = raw(server, b"GET /list HTTP/1.1\r\n" + HOST + TOKEN + fields + b"\r\n" + inner)
        assert re.findall(rb"HTTP/1\.1 \d+", data) == [b"HTTP/1.1 400"], fields
    # A body is none either, nor is what trails it a header.
    for body in (b"Content-Length: %d\r\n\r\n%s" % (len(inner), inner),
                 b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nHost: evil.example\r\n\r\n"
                 % (len(inner), inner)):
        data = raw(server, b"GET /nothing HTTP/1.1\r\n" + HOST + TOKEN + CLOSE + body)
        assert re.findall(rb"HTTP/1\.1 \d+", data) == [b"HTTP/1.1 404"], body


def test_heads_that_are_fine(server):
    """Whatever their length, and however they arrive."""
    for fields in (b"X:\r\n", b"X:   \r\n", b"X:y\r\n", b"X: \t y\r\n", b"X: caf\xc3\xa9 \xff\r\n", b"a!#$%&'*+-.^_`|~9: b\r\n",
                   b"Content-Length: 0\r\n", b"X: y\r\n" * 500, b"X: " + b"y" * 50_000 + b"\r\n",
                   b"Accept: a\r\nAccept: b\r\n"):
        assert ask(server, fields).status == 200, fields[:80]
        assert ask(server, fields, method=b"HEAD").status == 200, fields[:80]
    assert ask(server, target=b"/data/last/allocations?count=1&&skip=0&").status == 200
    assert ask(server, target=b"/data/last/export/flamegraph/%20?from=0%&to=100%25").status == 200
    assert ask(server, version=b"HTTP/1.0").status == 200


def test_a_head_that_comes_byte_by_byte(server):
    data = b"GET /list HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 2000 + b"\r\n" + TOKEN
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for again in range(2):
            whole = data + (CLOSE if again else b"") + b"\r\n"
            for at in range(len(whole)):
                client.sendall(whole[at:at + 1])
            assert client.recv(12) == b"HTTP/1.1 200"
            rest = b""
            while b"]" not in rest:
                rest += client.recv(65536)
