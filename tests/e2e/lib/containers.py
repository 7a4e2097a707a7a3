#!/usr/bin/env python3
"""What docs/production.md asks of `docker` and `kubectl`, done by namespaces and chroot: a stand-in for both, by its name.

A container is a root of its own, a copy of $CONTAINERS/images/NAME, with namespaces of its own for mounts and processes.
An ephemeral one has the processes of another. `kubectl patch` is the real one, without a cluster.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import uuid

HOME = pathlib.Path(os.environ["CONTAINERS"])
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def root_of(name):
    return HOME / name / "root"


def pid_of(name):
    return int((HOME / name / "pid").read_text())


def inside(name, *words):
    """The words in that container, with this terminal."""
    os.execvp("nsenter", ["nsenter", "-t", str(pid_of(name)), "-m", "-p", "-r", "-w", *words])


def start(name, image, words, volumes=(), variables=(), read_only=False, within=(), group=None):
    """Starts it in the background; its Popen. It is what `inner` becomes. group: of memory, the folder."""
    folder, root = HOME / name, root_of(name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HOME / "images" / image.partition(":")[0], root, symlinks=True)
    inner = [sys.executable, __file__, "inner", str(root), "1" if read_only else "",
             ",".join(volumes), ",".join(variables), str(group or ""), *words]
    started = subprocess.Popen([*within, "unshare", "-m", *([] if within else ["-p", "--fork", "--kill-child"]), *inner],
                               stdout=open(folder / "log", "w"), stderr=subprocess.STDOUT, start_new_session=True)
    children = pathlib.Path(f"/proc/{started.pid}/task/{started.pid}/children")
    for _ in range(500):
        # The program is there when the root is; it may have ended, too.
        try:
            pid = children.read_text().split()[0]
            if os.readlink(f"/proc/{pid}/root") == str(root):
                (folder / "pid").write_text(pid)
                break
        except (OSError, IndexError):
            pass
        if started.poll() is not None:
            break
        time.sleep(0.02)
    return started


def inner(root, read_only, volumes, variables, group, *words):
    for volume in filter(None, volumes.split(",")):
        source, target, *_ = volume.split(":")
        os.makedirs(source, exist_ok=True)
        os.makedirs(root + target, exist_ok=True)
        run("mount", "--bind", source, root + target)
    for folder in "proc", "sys", "dev", "tmp":
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    run("mount", "--rbind", root, root)
    run("mount", "-t", "proc", "proc", f"{root}/proc")
    run("mount", "-t", "sysfs", "sysfs", f"{root}/sys")
    run("mount", "--rbind", "/dev", f"{root}/dev")
    if read_only:
        run("mount", "-o", "remount,bind,ro", root)
    if group:
        (pathlib.Path(group) / "cgroup.procs").write_text("0")
    os.chroot(root)
    os.chdir("/")
    os.execvpe(words[0], words, {"PATH": "/bin", **dict(text.split("=", 1) for text in variables.split(",") if text)})


def run_to_its_end(given):
    """With a memory limit, if one is given: its status, 137 if it was killed."""
    group = given.m and GROUPS / f"mallow-{uuid.uuid4()}"
    if group:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(given.m)
    try:
        begun = start(given.name, given.image, given.words, given.v, given.e, given.read_only, group=group)
        status = begun.wait()
    finally:
        if group:
            group.rmdir()
    log = (HOME / given.name / "log").read_text()
    # What unshare says of a child that SIGKILL ended, and ends with 1 then.
    said = "unshare: sigprocmask unblock failed: Invalid argument\n"
    print(log.replace(said, ""), end="")
    return 137 if said in log or status < 0 else status


def docker():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command")
    made = commands.add_parser("run")
    for option in "-d", "--rm", "--read-only":
        made.add_argument(option, action="store_true")
    made.add_argument("--name", default="nameless")
    made.add_argument("-m")
    for option in "-v", "-e":
        made.add_argument(option, action="append", default=[])
    made.add_argument("image")
    made.add_argument("words", nargs=argparse.REMAINDER)
    for name in "exec", "logs", "kill", "inspect":
        made = commands.add_parser(name)
        made.add_argument("-s", default="KILL")
        made.add_argument("-f")
        made.add_argument("name")
        made.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.command == "run":
        given.words = given.words or ["server"]
        if not given.d:
            return run_to_its_end(given)
        start(given.name, given.image, given.words, given.v, given.e, given.read_only)
    elif given.command == "exec":
        inside(given.name, *given.words)
    elif given.command == "logs":
        print((HOME / given.name / "log").read_text(), end="")
    elif given.command == "kill":
        log = HOME / given.name / "log"
        before = log.stat().st_size
        os.kill(pid_of(given.name), signal.Signals["SIG" + given.s])
        # Whoever types sees the report soon, but not at once.
        for _ in range(100):
            time.sleep(0.1)
            if log.stat().st_size > before:
                break
    elif given.command == "inspect":
        assert given.f == "{{.State.Pid}}"
        print(pid_of(given.name))
    return 0


def kubectl():
    """web-0 is a pod of one container, `server`, whose processes are those of docker's `web`."""
    words = sys.argv[1:]
    if words[0] == "patch":
        real = [path for path in map(pathlib.Path("/").joinpath, os.environ["PATH"].split(":"))
                if (path / "kubectl").exists() and (path / "kubectl").resolve() != pathlib.Path(__file__).resolve()]
        assert words[1] == "deployment" and words[3] == "--patch-file"
        return run(real[0] / "kubectl", "patch", "--local", "-f", f"{words[2]}.yaml", "-o", "yaml", *words[3:]).returncode
    if words[0] == "debug":
        parser = argparse.ArgumentParser()
        for option in "--image", "--target", "--profile", "-c":
            parser.add_argument(option, required=True)
        parser.add_argument("pod")
        parser.add_argument("words", nargs="+")
        given = parser.parse_args([word for word in words[1:] if word != "--"])
        assert (given.pod, given.target, given.profile) == ("web-0", "server", "sysadmin")
        started = start(given.c, given.image, given.words, within=["nsenter", "-t", str(pid_of("web")), "-p"])
        return started.poll() or 0
    if words[0] == "exec":
        assert words[1:3] == ["web-0", "-c"] and words[4] == "--"
        inside(words[3], *words[5:])
    assert words[0] == "cp" and words[1] == "-c"
    shutil.copy(root_of(words[2]) / words[3].partition(":")[2].lstrip("/"), words[4])
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "inner":
        inner(*sys.argv[2:])
    sys.exit({"docker": docker, "kubectl": kubectl}[pathlib.Path(sys.argv[0]).name]())
