"""Hosts joined by a network of their own, to cut and to slow down: network namespaces and a bridge.

         gatherer 10.77.0.1                 sender 10.77.0.2, 10.77.0.3 …
              eth0                               eth0
               │ port0                            │ port1 …
            ───┴──────────── bridge ──────────────┴───        each box a namespace, each line a veth pair

A namespace lives as long as a process in it: a `cat` that ends when this process, which holds the other
end of its pipe, ends. So they have no names that could collide, and a killed test leaves none behind.
"""
import contextlib
import functools
import os
import shutil
import subprocess

import pytest

from conftest import clean_environment

NET = "10.77.0"


class Host:
    """A network namespace with the loopback interface up."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != b"\n":
            said = self.holder.communicate()[1].decode(errors="replace").strip()
            raise PermissionError(f"no network namespace: {said}")
        self.ip("link set lo up")

    def command(self, *words):
        """What runs there, as a command of this namespace. Its process is the command's: nsenter executes it."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *map(str, words)]

    def popen(self, *words, env=None, **options):
        return subprocess.Popen(self.command(*words), env=clean_environment(env), **options)

    def run(self, *words, env=None, timeout=120, **options):
        options = {"capture_output": True, "text": True, **options}
        return subprocess.run(self.command(*words), env=clean_environment(env), timeout=timeout, **options)

    def ip(self, *lines):
        """Commands of ip, each one a line without its first word."""
        run = self.run("ip", "-batch", "-", input="".join(f"{line}\n" for line in lines))
        if run.returncode:
            raise PermissionError(f"ip: {run.stderr.strip()}")

    @contextlib.contextmanager
    def entered(self):
        """This thread is in the namespace: sockets that it makes meanwhile are of it."""
        with open("/proc/thread-self/ns/net") as before, open(f"/proc/{self.holder.pid}/ns/net") as there:
            _setns(there.fileno())
            try:
                yield
            finally:
                _setns(before.fileno())

    def end(self):
        self.holder.communicate()


def _setns(descriptor):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0x40000000):  # CLONE_NEWNET
        raise OSError(ctypes.get_errno(), "setns")


class Link(Host):
    """A host at a port of the bridge."""

    def __init__(self, bridge, number):
        super().__init__()
        self.bridge, self.address, self.port = bridge, f"{NET}.{number + 1}", f"port{number}"
        try:
            bridge.ip(f"link add {self.port} type veth peer name eth0 netns {self.holder.pid}",
                      f"link set {self.port} master br0 up")
            # No IPv6: its own messages would be on the link, too.
            self.ip("link set eth0 addrgenmode none up", f"addr add {self.address}/24 brd + dev eth0")
        except BaseException:
            self.end()
            raise

    def cut(self):
        """As if the cable were drawn: both sides' interfaces know it."""
        self.bridge.ip(f"link set {self.port} down")

    def mend(self):
        self.bridge.ip(f"link set {self.port} master br0 up")

    def silence(self):
        """What is sent gets lost, and nobody is told: as if the cable were drawn behind the next switch."""
        self.bridge.ip(f"link set {self.port} nomaster")

    def throttle(self, rate):
        """What it sends is limited, as "1mbit"; None: no longer."""
        if rate is None:
            run = self.run("tc", "qdisc", "del", "dev", "eth0", "root")
        else:
            run = self.run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16kb",
                           "latency", "200ms")
        assert run.returncode == 0, run.stderr


class Network:
    """with Network(senders=3) as network: network.gatherer, network.senders[0], …"""

    def __init__(self, senders=1):
        self.hosts = []
        try:
            self.bridge = Host()
            self.hosts.append(self.bridge)
            self.bridge.ip("link add br0 type bridge stp_state 0 forward_delay 0", "link set br0 up")
            for number in range(senders + 1):
                self.hosts.append(Link(self.bridge, number))
        except BaseException:
            self.end()
            raise
        self.gatherer, self.senders = self.hosts[1], self.hosts[2:]

    @property
    def sender(self):
        return self.senders[0]

    def end(self):
        for host in self.hosts:
            host.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


@functools.lru_cache(maxsize=None)
def why_not():
    """Why there can be no such networks here, or None."""
    if os.geteuid():
        return "network namespaces need root"
    for program in ("ip", "tc", "nsenter", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        with Network() as network:
            network.sender.silence()
            network.sender.mend()
            network.sender.throttle("1mbit")
            network.sender.throttle(None)
    except (OSError, AssertionError) as error:
        return f"no network namespaces: {error}"
    return None


def need_networks():
    """The test is skipped, and says so, where there can be none."""
    if why_not():
        pytest.skip(why_not())


@pytest.fixture
def network():
    """A gatherer and one sender."""
    need_networks()
    with Network() as made:
        yield made
