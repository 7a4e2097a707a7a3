"""Recordings of more blocks than one thread of the engine looks at."""
import json
import subprocess

import pytest

from conftest import clean_environment

MANY = """
#include <stdlib.h>
static void *blocks[4096];
static unsigned state = 1;
static unsigned draw(void) { return state = state * 1103515245 + 12345, state >> 8; }
int main(void)
{
	for (int i = 0; i < 700000; i++) {
		void **block = &blocks[draw() % 4096];
		if (draw() % 3)
			free(*block), *block = malloc(draw() % 5000);
		else
			*block = realloc(*block, 1 + draw() % 3000);
	}
}
"""


class Many:
    """More blocks than one thread looks at."""

    def __init__(self, mallow, folder):
        self.mallow, self.program = mallow, folder / "many"
        (folder / "many.c").write_text(MANY)
        subprocess.run(["gcc", "-fno-builtin", "-o", self.program, folder / "many.c"], check=True)

    def record(self, name, *options):
        path = self.program.with_name(name)
        subprocess.run([self.mallow, "run", "-o", path, *options, self.program], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean_environment())
        report = subprocess.run([self.mallow, "report", "--json", path], check=True,
                                capture_output=True, env=clean_environment()).stdout
        return path, json.loads(report)


@pytest.fixture(scope="module")
def many(mallow, tmp_path_factory):
    return Many(mallow, tmp_path_factory.mktemp("many"))
