"""docs/production.md, followed by the letter, with the tarball: each command works, and prints what is shown.

Each part of the page has the surroundings that it speaks of: namespaces, stand-ins for docker and kubectl
(lib/containers.py), and a systemd that boots in namespaces. What the page's tables say is tried below.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from conftest import TOP, clean_environment, need
from documents import Shell, commands, matches

PAGE = (TOP / "docs/production.md").read_text()
PARTS = dict(zip(*[iter(re.split(r"^#{2,3} (.*)$", PAGE, flags=re.MULTILINE)[1:])] * 2))
STAND_INS = pathlib.Path(__file__).parents[1] / "lib/containers.py"
KERNEL = pathlib.Path("/sys/kernel/btf/vmlinux")
PRELOAD = "/opt/mallow/lib/mallow/libmallow.so"

SERVER = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile scratch;
static void *sessions[100000];
static void open_session(int request)
{
	sessions[request] = memset(malloc(1000), 1, 1000);
}
static void answer(void)
{
	scratch = memset(malloc(20000), 1, 20000);
	free(scratch);
}
int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 100000, pause = argc > 2 ? atoi(argv[2]) : 1000;
	for (int i = 0; i < requests; i++) {
		open_session(i);
		answer();
		usleep(pause);
	}
	return 0;
}
"""

# A root with this machine's programs and /opt/mallow, whose changes are lost, and processes of its own.
HOST = """mount -t tmpfs tmpfs /opt && mkdir /opt/mallow && mount --bind "$1" /opt/mallow &&
mount -t tmpfs tmpfs /var/tmp && shift && exec "$@" """

# The same for systemd, with nothing in /etc/systemd/system but what is tried.
BOOT = """mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root || exit 125
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" root && cd root || exit 125
mount -t proc proc proc && mount -t sysfs sysfs sys && mount --rbind /dev dev && mount -t cgroup2 none sys/fs/cgroup || exit 125
mount -t tmpfs tmpfs run && mount -t tmpfs tmpfs tmp && mount -t tmpfs tmpfs opt && mount -t tmpfs tmpfs var/lib || exit 125
mkdir opt/mallow && mount --bind "$2" opt/mallow && rm -rf etc/systemd/system && mkdir -p etc/systemd/system || exit 125
printf '[Unit]\\nDefaultDependencies=no\\n' >etc/systemd/system/page.target
cp "$3" usr/local/bin/server
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /usr/lib/systemd/systemd --system \\
	--unit=page.target --log-target=null --show-status=0"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A program that keeps a block of 1 KB of each request."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "server.c").write_text(SERVER)
    subprocess.run([need("gcc"), "-g", "-O1", "-fno-builtin", "-o", folder / "server", "server.c"], cwd=folder, check=True)
    return folder / "server"


def may_mount():
    probe = ["unshare", "-m", "-p", "--fork", "--mount-proc", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if os.getuid() or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("root is needed, and file systems to be mounted")


def images(folder, server, bundle):
    """The roots of the images `server`, without a shell, and `mallow`."""
    (folder / "server/bin").mkdir(parents=True)
    shutil.copy(server, folder / "server/bin/server")
    for path in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", server], capture_output=True, text=True).stdout):
        (folder / f"server{path}").parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / f"server{path}")
    (folder / "mallow/bin").mkdir(parents=True)
    (folder / "sleep.c").write_text("#include <stdlib.h>\n#include <unistd.h>\n"
                                    "int main(int n, char **words) { return n * !sleep(atoi(words[1])); }\n")
    subprocess.run([need("musl-gcc"), "-static", "-o", folder / "mallow/bin/sleep", folder / "sleep.c"], check=True)
    shutil.copytree(bundle, folder / "mallow/opt/mallow", symlinks=True)


@pytest.fixture
def host(bundle, server, tmp_path):
    """A shell on a machine with /opt/mallow and `server`, with docker and kubectl."""
    may_mount()
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy(server, programs)
    for name in "docker", "kubectl":
        (programs / name).symlink_to(STAND_INS)
    images(tmp_path / "containers/images", server, bundle)
    environment = clean_environment({"HOME": tmp_path, "CONTAINERS": tmp_path / "containers",
                                     "PATH": f"{programs}:{os.environ['PATH']}"})
    shell = Shell(tmp_path, environment, tmp_path / "output",
                  ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "sh", "-c", HOST, "-", bundle])
    yield shell
    shell.end()


class Booted:
    """A systemd as process 1 of namespaces of its own, with a unit server.service."""

    UNIT = "etc/systemd/system/server.service"

    def __init__(self, folder, bundle, server):
        words = ["unshare", "-m", "-p", "-C", "-i", "-u", "--fork", "--kill-child", "sh", "-c", BOOT, "-", folder, bundle, server]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, start_new_session=True)
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up and self.process.poll() is None:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if children and pathlib.Path(f"/proc/{children[0]}/comm").read_text() == "systemd\n":
                self.root = pathlib.Path(f"/proc/{children[0]}/root")
                self.within = ["nsenter", "-t", children[0], "-m", "-p", "-C", "-i", "-u", "-r", "-w"]
                if "running" in self("systemctl", "is-system-running", check=False):
                    return
            time.sleep(0.1)
        self.end()
        pytest.skip(f"systemd does not boot here in namespaces: {self.process.stderr.read().decode()}")

    def __call__(self, *words, check=True):
        run = subprocess.run([*self.within, *words], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 or not check, f"{words}: {run.stdout}{run.stderr}"
        return run.stdout

    def unit(self, *lines):
        """Makes the unit anew, without drop-ins."""
        self("systemctl", "stop", "server.service", check=False)
        for path in self.root / f"{self.UNIT}.d", self.root / "var/lib/private/server":
            shutil.rmtree(path, ignore_errors=True)
        (self.root / "tmp/said").unlink(missing_ok=True)
        (self.root / self.UNIT).write_text("\n".join(["[Service]", "ExecStart=/usr/local/bin/server", "DynamicUser=yes",
                                                      "StateDirectory=server", "StandardError=file:/tmp/said", *lines, ""]))

    def drop_in(self, *lines):
        folder = self.root / f"{self.UNIT}.d"
        folder.mkdir(exist_ok=True)
        (folder / "mallow.conf").write_text("\n".join(lines) + "\n")

    def start(self):
        """(what systemd says of it, the recordings, what was said on standard error)"""
        self("systemctl", "daemon-reload")
        self("systemctl", "restart", "server.service")
        time.sleep(0.7)
        state = dict(line.split("=", 1) for line in self("systemctl", "show", "server.service").splitlines() if "=" in line)
        said = self.root / "tmp/said"
        return state, list((self.root / "var/lib/private/server").glob("*.mallow")), said.read_text() if said.exists() else ""

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def systemd(bundle, server, tmp_path_factory):
    may_mount()
    need("systemctl")
    booted = Booted(tmp_path_factory.mktemp("boot"), bundle, server)
    yield booted
    booted.end()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def follow(shell, part, before=(), statuses=(), without=None):
    """before: pairs of what a command has in it, and what happens before it, though the page does not say so.
    statuses: pairs of what a command has in it, and the status that it ends with, if that is not 0."""
    found, wrong = commands(PARTS[part], "#"), []
    assert found
    for command, lines in found:
        if without and without in command:
            continue
        for mark, hidden in before:
            if mark in command:
                assert shell.run(hidden, [])[0] is not None, hidden
        status, printed = shell.run(command.replace("-d 60", "-d 1"), lines)
        wanted = next((number for mark, number in statuses if mark in command), 0)
        if status != wanted or lines and not matches(lines, printed):
            shown = "\n".join(lines)
            wrong.append(f"# {command}\nstatus {status}; the page shows:\n{shown}\nprinted:\n{printed}")
    assert not wrong, "\n\n".join(wrong)


def can_attach():
    return None if KERNEL.exists() else "attach"


def test_three_situations(host):
    killed = "kill -KILL $(pidof server); wait $! 2>/dev/null; sleep 0.2"
    follow(host, "At three in the morning", without=can_attach(),
           before=[("attach", "server 2>/dev/null & sleep 0.5"), ("LD_PRELOAD", killed), (" report ", killed)])


def test_containers_and_pods(host, tmp_path):
    if shutil.which("kubectl"):
        patch, = re.findall(r"^```yaml\n(.*?)^```$", PARTS["Pods"], re.MULTILINE | re.DOTALL)
        (tmp_path / "mallow.yaml").write_text(patch)
        (tmp_path / "web.yaml").write_text(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n"
            "  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n"
            "        - {name: server, image: 'server:1.0', env: [{name: PORT, value: '80'}]}\n")
    follow(host, "Containers", before=[("docker exec", "sleep 1"), ("docker kill", "sleep 1")])
    follow(host, "Read-only roots, users, sandboxes")
    need("kubectl")
    if not KERNEL.exists():
        pytest.skip("attach: the kernel does not describe its types")
    follow(host, "Pods")
    merged = (tmp_path / "output").read_text()
    assert "image: server:1.0" in merged and "name: PORT" in merged and "name: LD_PRELOAD" in merged
    assert (tmp_path / "web.mallow").stat().st_size > 8192


def test_memory_limit(host):
    if not pathlib.Path("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists():
        pytest.skip("there is no memory controller of version 1; test_process.py tries both versions")
    follow(host, "Memory limits", statuses=[("-m 60m", 137)])


def test_removal(host):
    follow(host, "Sizes, and how to remove it",
           before=[("rm -rf", f"LD_PRELOAD={PRELOAD} MALLOW_OUTPUT=/var/tmp/r.mallow server 1; mkdir -p ~/.cache/mallow/modules")])
    status, left = host.run("ls -A /var/tmp ~/.cache", [])
    assert status == 0 and ".mallow" not in left and not left.endswith("mallow\n")


def drop_in():
    """The page's."""
    text, = re.findall(r"^```ini\n(.*?)^```$", PARTS["A systemd unit"], re.MULTILINE | re.DOTALL)
    return text.splitlines()


def test_unit(systemd, tmp_path):
    systemd.unit()
    systemd.drop_in(*drop_in())
    shell = Shell(tmp_path, clean_environment(), tmp_path / "output", systemd.within)
    try:
        follow(shell, "A systemd unit", before=[("find", "sleep 0.5")])
    finally:
        shell.end()
    state, recordings, said = systemd.start()
    assert state["ActiveState"] == "active" and said == "" and len(recordings) == 1, "it is not off"


SANDBOX = ["NoNewPrivileges=yes", "MemoryDenyWriteExecute=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
           "PrivateDevices=yes", "CapabilityBoundingSet=", "RestrictNamespaces=yes", "ProtectProc=invisible"]
ALLOWED = "SystemCallFilter=@system-service"


@pytest.mark.parametrize("lines,records,says", [
    (SANDBOX, True, ""),
    ([*SANDBOX, ALLOWED], True, ""),
    ([ALLOWED, "SystemCallErrorNumber=EPERM"], True, ""),
    (["SystemCallFilter=~membarrier prctl", "SystemCallErrorNumber=EPERM"], True, ""),
    (["SystemCallFilter=~fallocate", "SystemCallErrorNumber=ENOSYS"], True, ""),
    (["SystemCallFilter=~fallocate", "SystemCallErrorNumber=EPERM"], False, "Operation not permitted; the program runs unrecorded"),
    (["SystemCallFilter=~madvise", "SystemCallErrorNumber=EPERM"], False,
     "the kernel cannot wipe memory at fork (MADV_WIPEONFORK); the program runs unrecorded"),
    (["SystemCallFilter=~memfd_create", "SystemCallErrorNumber=EPERM", "Environment=MALLOW_MODE=live"], False,
     "Operation not permitted; the program runs unrecorded"),
    (["ProtectSystem=strict", "Environment=MALLOW_OUTPUT=/var/log/%%p.mallow"], False,
     "Read-only file system; the program runs unrecorded"),
    (["InaccessiblePaths=/opt/mallow"], False, "cannot be preloaded"),
    (["LimitFSIZE=16K"], True, "stopped: cannot write (disk full or a size limit); later events are lost"),
])
def test_options(systemd, lines, records, says):
    systemd.unit(*lines)
    systemd.drop_in(*drop_in(), *[line for line in lines if line.startswith("Environment")])
    state, recordings, said = systemd.start()
    assert state["ActiveState"] == "active" and bool(recordings) == records, (state["ActiveState"], recordings, said)
    assert says in said and (says or not said), said
    if records and not says:
        info = systemd("/opt/mallow/bin/mallow", "info", f"/var/lib/private/server/{recordings[0].name}")
        assert int(re.search(r"events +([\d,]+)", info)[1].replace(",", "")) > 10, info


def test_private_tmp(systemd):
    systemd.unit("PrivateTmp=yes")
    systemd.drop_in(*drop_in(), "Environment=MALLOW_OUTPUT=/tmp/r.mallow")
    state, *_ = systemd.start()
    systemd("ls", f"/proc/{state['MainPID']}/root/tmp/r.mallow")
    systemd("systemctl", "stop", "server.service")
    assert ".mallow" not in systemd("find", "/tmp")


def test_report_by_a_signal(systemd):
    """To the program alone: a signal to all of the unit's processes also ends the one that reports."""
    systemd.unit()
    systemd.drop_in(*drop_in(), "Environment=MALLOW_MODE=live MALLOW_OUTFILE=%S/server/live.txt")
    systemd.start()
    command, = (command for command, _ in commands(PARTS["A systemd unit"], "#") if "systemctl kill" in command)
    systemd(*command.split())
    report = systemd.root / "var/lib/private/server/live.txt"
    give_up = time.monotonic() + 20
    while not report.exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert "open_session" in report.read_text()


@pytest.mark.long
@pytest.mark.parametrize("mode,ends", [("control-group", "it ended the connection before all had come"), ("process", "complete: ")])
def test_a_sender_in_a_unit(systemd, bundle, tmp_path, mode, ends):
    port, said, token = free_port(), tmp_path / "said", tmp_path / "token"
    gather = subprocess.Popen([bundle / "bin/mallow", "gather", "-o", tmp_path / "there", "--listen", f"127.0.0.1:{port}",
                               "--token-file", token], stdout=said.open("w"), stderr=subprocess.STDOUT)

    def wait_for(text):
        give_up = time.monotonic() + 30
        while text not in said.read_text():
            assert time.monotonic() < give_up, said.read_text()
            time.sleep(0.05)

    try:
        wait_for("listening")
        shutil.copy(token, systemd.root / "etc/mallow.token")
        (systemd.root / "etc/mallow.token").chmod(0o644)
        systemd.unit(f"KillMode={mode}")
        systemd.drop_in(*drop_in(), "Environment=MALLOW_STREAM_ONLY=1 MALLOW_TOKEN_FILE=/etc/mallow.token",
                        f"Environment=MALLOW_CONNECT=127.0.0.1:{port}")
        _, recordings, _ = systemd.start()
        wait_for("receiving 'server'")
        systemd("systemctl", "stop", "server.service")
        wait_for(ends)
        assert not recordings
    finally:
        gather.kill()
        gather.wait()


CAPABILITIES = {"bpf": "CAP_BPF", "perfmon": "CAP_PERFMON", "sys_ptrace": "CAP_SYS_PTRACE",
                "checkpoint_restore": "CAP_CHECKPOINT_RESTORE"}


def attach_with(names, bundle, pid, folder):
    """As somebody else's user, with these capabilities alone."""
    given = ",".join(["-all", *(f"+{name}" for name in names)])
    return subprocess.run(["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", f"--inh-caps={given}",
                           f"--ambient-caps={given}", f"--bounding-set={given}", bundle / "bin/mallow", "attach", str(pid),
                           "-d", "0.3", "-o", folder / "r.mallow"], capture_output=True, text=True)


def test_capabilities(bundle, server):
    """The page's are enough, and mallow names the one that is missing."""
    if os.getuid() or not KERNEL.exists():
        pytest.skip("root is needed, and a kernel that describes its types")
    need("setpriv")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:     # which that user can reach
        os.chown(folder, 4321, 4321)
        program = subprocess.Popen([shutil.copy(server, folder)])
        bundle = shutil.copytree(bundle, pathlib.Path(folder, "mallow"), symlinks=True)
        try:
            for names in list(CAPABILITIES), ["sys_admin", "sys_ptrace"]:
                run = attach_with(names, bundle, program.pid, pathlib.Path(folder))
                assert run.returncode == 0 and "open_session" in run.stderr, (names, run.stderr)
            for missing, called in CAPABILITIES.items():
                run = attach_with([name for name in CAPABILITIES if name != missing], bundle, program.pid, pathlib.Path(folder))
                assert run.returncode == 1 and f"the capability {called} is missing" in run.stderr, run.stderr
        finally:
            program.kill()
            program.wait()


def test_a_live_table_of_another_user(bundle, server):
    """Root needs two capabilities for it, and no others."""
    if os.getuid():
        pytest.skip("root is needed, to be another user")
    need("setpriv")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(server, folder)
        shutil.copytree(bundle / "lib", f"{folder}/lib", symlinks=True)
        variables = {"LD_PRELOAD": f"{folder}/lib/mallow/libmallow.so", "MALLOW_MODE": "live", "MALLOW_OUTFILE": "/dev/null"}
        program = subprocess.Popen([f"{folder}/server"], env=clean_environment(variables), user=1000, group=1000, extra_groups=[])
        try:
            time.sleep(0.5)
            table, = (path for path in pathlib.Path(f"/proc/{program.pid}/fd").iterdir()
                      if os.readlink(path).startswith("/memfd:mallow-live:"))
            for given, status in ("-all,+sys_ptrace,+dac_override", 0), ("-all,+sys_ptrace", 1), ("-all,+dac_override", 1):
                run = subprocess.run(["setpriv", f"--inh-caps={given}", f"--bounding-set={given}", bundle / "bin/mallow",
                                      "report", table], capture_output=True, text=True)
                assert run.returncode == status and ("still running" in run.stdout) == (not status), (given, run)
        finally:
            program.kill()
            program.wait()


@pytest.mark.parametrize("how", ["musl", "static"])
def test_images_of_musl(host, bundle, server, tmp_path, how):
    """A program with musl is recorded. A static one is not, and only `mallow run` says so."""
    image = tmp_path / "containers/images/server"
    (image / "bin/server").unlink()
    subprocess.run([need("musl-gcc"), "-g", "-O1", "-fno-builtin", "-Wl,--eh-frame-hdr", *(["-static"] if how == "static" else []),
                    "-o", image / "bin/server", server.with_name("server.c")], check=True)
    for loader in pathlib.Path("/lib").glob("ld-musl-*"):
        shutil.copy(loader, image / "lib")
    run = "docker run -v /opt/mallow:/opt/mallow:ro -v /var/tmp/web:/recordings"
    status, printed = host.run(f"{run} -e LD_PRELOAD={PRELOAD} -e MALLOW_OUTPUT=/recordings/r.mallow server server 10", [])
    assert (status, printed) == (0, "")
    status, printed = host.run("/opt/mallow/bin/mallow info /var/tmp/web/r.mallow", [])
    assert (status == 0) == (how == "musl"), printed
    status, printed = host.run(f"{run} server /opt/mallow/bin/mallow run -o /recordings/run.mallow /bin/server 10", [])
    assert ("Most memory" if how == "musl" else "cannot profile '/bin/server': it is statically linked") in printed


@pytest.mark.parametrize("user", [None, "1000"])
def test_owner_and_mode(bundle, server, user):
    """The file is the program's user's alone, whatever the umask is."""
    if os.getuid():
        pytest.skip("root is needed, to be another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        shutil.copy(server, folder)
        shutil.copytree(bundle / "lib", f"{folder}/lib", symlinks=True)
        os.chmod(folder, 0o777)
        variables = {"LD_PRELOAD": f"{folder}/lib/mallow/libmallow.so", "MALLOW_OUTPUT": f"{folder}/r.mallow"}
        as_user = {"user": int(user), "group": int(user), "extra_groups": []} if user else {}
        subprocess.run([f"{folder}/server", "10"], env=clean_environment(variables), check=True, umask=0, **as_user)
        made = os.stat(f"{folder}/r.mallow")
        assert (made.st_mode & 0o777, made.st_uid) == (0o600, int(user or 0))


def test_every_part_is_followed():
    followed = {"At three in the morning", "Containers", "Pods", "Read-only roots, users, sandboxes", "Memory limits",
                "A systemd unit", "Sizes, and how to remove it"}
    assert {title for title, text in PARTS.items() if commands(text, "#")} == followed
