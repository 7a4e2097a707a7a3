"""The machine and the versions, as the head of a result says them."""
import os
import platform
import re
import subprocess


def first_line(command):
    """What a command prints first, None if it prints nothing, fails or is not there."""
    try:
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return (run.stdout.splitlines() or [None])[0] if run.returncode == 0 else None


def field(path, pattern, otherwise="unknown"):
    try:
        with open(path) as file:
            found = re.search(pattern, file.read(), re.M)
    except OSError:
        found = None
    return found.group(1) if found else otherwise


def memory_gb():
    return int(field("/proc/meminfo", r"^MemTotal:\s+(\d+)", "0")) * 1024 / 1e9


def processor():
    name = field("/proc/cpuinfo", r"^model name\s*:\s*(.+)$")
    hypervisor = " (virtual)" if "hypervisor" in field("/proc/cpuinfo", r"^flags\s*:(.*)$") else ""
    return name + hypervisor


def package(name):
    """The version of a Debian package, None where it is not installed."""
    try:
        run = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True,
                             text=True)
    except FileNotFoundError:
        return None
    return run.stdout or None


def version(command):
    """The number in the first line a program says of itself."""
    found = re.search(r"\d+\.[\d.]+", first_line(command) or "")
    return found.group(0).rstrip(".") if found else None


def versions(place):
    """[(what, version)] of all that is there."""
    git = ["git", "-C", place.mallow.parent]
    commit = first_line([*git, "rev-parse", "--short=10", "HEAD"]) or "of no repository"
    changed = first_line([*git, "status", "--porcelain", "-uno", "--", ":/src"])
    mallow = f"{version([place.mallow, '--version'])} ({commit}{', changed' if changed else ''})"
    found = [
        ("mallow", mallow), ("heaptrack", version(["heaptrack", "--version"])),
        ("jemalloc", package("libjemalloc2")), ("gperftools", package("libgoogle-perftools-dev")),
        ("valgrind", version(["valgrind", "--version"])),
        ("glibc", platform.libc_ver()[1]), ("gcc", version(["gcc", "-dumpfullversion"])),
        ("python3", version(["/usr/bin/python3", "--version"])),
        ("clang++", version(["clang++", "--version"])),
        ("sqlite3", version(["sqlite3", "--version"])),
        ("perl", version(["perl", "-e", "printf '%vd', $^V"])),
        ("git", version(["git", "--version"])), ("node", version(["node", "--version"])),
        ("redis", version(["redis-server", "--version"])),
    ]
    return [(name, text) for name, text in found if text]


def load():
    return "%.2f" % os.getloadavg()[0]


def system():
    name = field("/etc/os-release", r'^PRETTY_NAME="?([^"\n]+)')
    return [f"Linux {platform.release()}", name]


def cores():
    return len(os.sched_getaffinity(0))
