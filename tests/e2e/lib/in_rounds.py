"""tests/samples/in_rounds.c: a program that is recorded, and does a round when it is told to."""
import subprocess

import pytest

from conftest import clean_environment


class Rounds:
    """It under mallow run; between two steps nothing happens."""

    def __init__(self, mallow, program, path, blocks):
        self.mallow, self.path = mallow, path
        self.run = subprocess.Popen([mallow, "run", "-o", path, "--", program, str(blocks)], bufsize=0,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    env=clean_environment())

    def step(self):
        self.run.stdin.write(b"x")
        assert self.run.stdout.read(1) == b"x"

    def end(self):
        self.run.stdin.close()
        assert self.run.wait(timeout=60) == 0


@pytest.fixture
def rounds(mallow, compile_sample, tmp_path):
    """rounds(blocks): the program after its first round."""
    started = []

    def start(blocks):
        program = compile_sample("in_rounds", "gcc", "-O1")
        started.append(Rounds(mallow, program, tmp_path / "r.mallow", blocks))
        started[-1].step()
        return started[-1]

    yield start
    for one in started:
        one.run.kill()
        one.run.wait()
