"""Another user of this machine is let in nowhere without a token, and gets nothing: docs/security.md."""
import json
import os
import signal
import subprocess

import pytest

import stream_peer
from conftest import need
from processes import wait_for
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


def test_links_of_others_are_not_followed(mallow, record, tmp_path):
    """Who can write into the directory does not choose which file of root's is shown."""
    secret, folder = record(["/bin/true"]).path, tmp_path / "theirs"
    folder.mkdir()
    for name, owner in ("own", 0), ("others", NOBODY):
        (folder / f"{name}.mallow").symlink_to(secret)
        os.lchown(folder / f"{name}.mallow", owner, owner)
    for options, shown in ([], ["own"]), (["--allow-user", NOBODY], ["own"]):
        with Process([mallow, "serve", "-p", "0", *options, folder]) as server:
            port = server.wait_for(r"listening on \S*:(\d+)")[1]
            names = [one.get("path") or one for one in json.loads(listed(0, f"http://127.0.0.1:{port}"))]
            assert len(names) == 1, names
            server.wait_for(rf"others\.mallow: it is a symbolic link of another user \(uid {NOBODY}\)")


HOLDS = """import socket, sys
held = []
for i in range(300):
    peer = socket.socket()
    peer.bind((f"127.0.0.{2 + i % 8}", 0))
    held.append(peer)
    try:
        peer.connect(("127.0.0.1", int(sys.argv[1])))
        peer.sendall(b"GET ")
    except OSError:
        pass  # one of those that are too many
print("held", flush=True)
sys.stdin.read()"""


def test_strangers_take_no_more_than_half_of_the_connections(mallow, tmp_path):
    """From however many addresses of this machine: its own user is still answered."""
    with Process([mallow, "serve", "-p", "0", tmp_path]) as server:
        port = server.wait_for(r"listening on \S*:(\d+)")[1]
        with python_as(NOBODY, HOLDS, port) as stranger:
            assert stranger.stdout.readline() == "held\n"
            wait_for(lambda: listed(0, f"http://127.0.0.1:{port}") == "[]")
            for _ in range(5):
                assert listed(0, f"http://127.0.0.1:{port}") == "[]"
            stranger.stdin.close()


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
