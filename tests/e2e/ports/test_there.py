"""The tool that is built for another architecture, under its kernel: what it says of programs there is what they state,
and of a recording what this machine's tool says."""
import json

import pytest

import expect
from conftest import ARCH, EMULATED, GUEST

pytestmark = pytest.mark.skipif(not GUEST and (EMULATED or not ARCH), reason="make check ARCH=aarch64")

COMMANDS = ["report", "report --json", "info", "export --to collapsed", "export --to heaptrack"]


@pytest.mark.parametrize("name", ["c_family", "cpp_operators", "hand_over", "exceptions"])
def test_live(name, there, compile_sample, tmp_path):
    there(f"$mallow live --json --outfile {tmp_path}/report {compile_sample(name)}; [ $? = 7 ]")
    expect.check_live(name, json.loads((tmp_path / "report").read_text()))


def test_says_what_this_machines_tool_says(there, tool, compile_sample, tmp_path):
    """Of a process that forked, finished there: nothing of the machine is in the words."""
    path = tmp_path / "r.mallow"
    program = compile_sample("fork_threads", "gcc", "-O2")
    script = f"cd {tmp_path}; $mallow run -o {path} {program} > said 2>&1; [ $? = 7 ] || exit 1\n"
    there(script + "".join(f"$mallow {command} {path} > {number} || exit 2\n" for number, command in enumerate(COMMANDS)))
    assert tool.info(path)["finished"] and len(list(tmp_path.glob("r.mallow*"))) == 6
    for number, command in enumerate(COMMANDS):
        files = [] if command.startswith("info") else ["--sysroot", GUEST or "/"]
        here = tool(*command.split(), *files, path).stdout
        assert (tmp_path / str(number)).read_text() == here and len(here) > 200, command
