"""Another user of this machine is let in nowhere without a token, and gets nothing: docs/security.md."""
import os
import signal
import subprocess

import pytest

import stream_peer
from conftest import need
from streams import Gather, Process, Streamed

NOBODY, OTHER = 65534, 1234
OWNS = rf"127\.0\.0\.1:\d+: it belongs to another user \(uid {NOBODY}\), so a token is needed \(--token-file\)"
GREETING = "import socket, sys, select; greeting = bytes.fromhex(sys.argv[1]); "


@pytest.fixture(autouse=True)
def root():
    if os.getuid() != 0:
        pytest.skip("this takes the rights of root: to be two users")
    need("setpriv")


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *map(str, words)]


def python_as(uid, script, *arguments, **options):
    """A program of that user that may say one line."""
    return subprocess.Popen(as_user(uid, "/usr/bin/python3", "-c", script, *arguments), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def listed(uid, url):
    script = ("import sys, urllib.request, urllib.error\ntry: print(urllib.request.urlopen(sys.argv[1]).read().decode())"
              "\nexcept urllib.error.HTTPError as error: print(error.code, error.read().decode())")
    out, _ = python_as(uid, script, url + "/list").communicate(timeout=60)
    return out.strip()


def assert_refused(answer):
    assert answer.startswith("403 this server serves its own user alone") and "\n" not in answer, answer


@pytest.mark.parametrize("interface, host", [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("::ffff:127.0.0.1", "127.0.0.1")])
def test_who_is_served(mallow, tmp_path, interface, host):
    words = [mallow, "serve", "-p", "0", "-i", interface, "--max-open", "1"]
    empty = tmp_path / "empty"
    empty.mkdir()

    def answers(*command):
        with Process([*command, empty], cwd="/") as server:
            url = f"http://{host}:" + server.wait_for(r"listening on \S*:(\d+)")[1]
            return [listed(uid, url) for uid in (0, NOBODY, OTHER)]

    for folder in (empty, *empty.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    own, nobody, other = answers(*words)
    assert own == "[]"
    assert_refused(nobody)
    assert_refused(other)
    own, nobody, other = answers(*words, "--allow-user", NOBODY)
    assert (own, nobody) == ("[]", "[]")
    assert_refused(other)
    own, nobody, other = answers(*as_user(NOBODY, *words))
    assert (own, nobody) == ("[]", "[]")
    assert_refused(other)


def gather_of(mallow, tmp_path, *options):
    return Gather(mallow, tmp_path / "gathered", *options, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})


def sender_greeting():
    return stream_peer.greeting(stream_peer.SENDER, os.urandom(16)).hex()


def test_who_may_send(mallow, tmp_path):
    """A sender of another user learns why; one that has closed before it is looked at is nobody's."""
    send = GREETING + "peer = socket.create_connection(('127.0.0.1', int(sys.argv[2]))); peer.sendall(greeting); "
    with gather_of(mallow, tmp_path) as gather:
        with python_as(NOBODY, send + "data = b''\nwhile more := peer.recv(4096): data += more\nprint(data[76:].decode())",
                       sender_greeting(), str(gather.port)) as sender:
            assert f"it belongs to another user (uid {NOBODY})" in sender.communicate(timeout=60)[0]
        gather.wait_for(OWNS)
        os.kill(gather.pid, signal.SIGSTOP)
        with python_as(NOBODY, send, sender_greeting(), str(gather.port)) as sender:
            assert sender.wait(60) == 0
        os.kill(gather.pid, signal.SIGCONT)
        gather.wait_for("nobody on this machine is known to be there")
        assert not gather.files
    with gather_of(mallow, tmp_path, "--allow-user", "nobody") as gather:
        with python_as(NOBODY, send + "print(len(peer.recv(64)))", sender_greeting(), str(gather.port)) as sender:
            assert sender.communicate(timeout=60)[0] == "64\n"


def test_the_receiver_is_another_users(mallow, tmp_path):
    """Nothing is sent: neither while the port's owner does not accept, nor when it has greeted."""
    script = GREETING + """
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
select.select([server], [], [])
print('waits', flush=True)
sys.stdin.readline()
peer = server.accept()[0]
peer.sendall(greeting)
print(peer.recv(4096))
"""
    greeting = stream_peer.greeting(stream_peer.RECEIVER, os.urandom(16)).hex()
    with python_as(NOBODY, script, greeting) as receiver:
        port = receiver.stdout.readline().strip()
        with Streamed(mallow, tmp_path / "r.mallow", "--stream", f"127.0.0.1:{port}") as streamed:
            streamed.do("100")
            assert receiver.stdout.readline() == "waits\n"
            receiver.stdin.write("accept\n")
            receiver.stdin.flush()
            assert receiver.stdout.readline() == "b''\n"
            streamed.wait_for("not sent yet: " + OWNS)


def test_who_may_receive_from_a_sender_that_listens(mallow, tmp_path):
    script = GREETING + ("peer = socket.create_connection(('127.0.0.1', int(sys.argv[2]))); peer.sendall(greeting); "
                         "print(peer.recv(4096))")
    greeting = stream_peer.greeting(stream_peer.RECEIVER, os.urandom(16)).hex()
    with Streamed(mallow, tmp_path / "r.mallow", "--listen", "127.0.0.1") as streamed:
        with python_as(NOBODY, script, greeting, str(streamed.port)) as receiver:
            assert receiver.communicate(timeout=60)[0] == "b''\n"
        streamed.wait_for(OWNS)
