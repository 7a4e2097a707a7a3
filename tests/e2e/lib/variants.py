"""The test builds of the agent (tests/agent), and what runs programs under them."""
import subprocess

from conftest import TOP, built, clean_environment


def variant(name):
    return built(f"MALLOW_{name.upper()}", TOP / "build" / "meson" / "tests" / "agent" /
                 f"libmallow-{name}.so")


def run_with(library, command, folder, log, **environment):
    """Runs the command with the library preloaded; returns the process and the log's lines."""
    log_path = folder / "log"
    preload = {"LD_PRELOAD": library, "MALLOW_OUTPUT": folder / "r.mallow", log: log_path}
    run = subprocess.run([str(word) for word in command], capture_output=True, timeout=300,
                         env=clean_environment({**preload, **environment}))
    return run, log_path.read_text().splitlines() if log_path.exists() else []
