"""Which parameters of a test are of every day, and which only of --long."""
import itertools

import pytest

# Builds of the tool: what is sound under the sanitizers is so without.
BUILDS = ["asan_mallow", pytest.param("mallow", marks=pytest.mark.long)]
MATRIX = list(itertools.product(["gcc", "clang"], ["-O0", "-O2"]))


def mostly_long(values, daily):
    """Parameters of which the first ones are of every day, the others of --long."""
    return [pytest.param(value, marks=() if index < daily else pytest.mark.long)
            for index, value in enumerate(values)]


def every_other(values, first=0):
    """Parameters of which every other one, from the given one on, is of every day, the others of --long."""
    return [pytest.param(*(value if isinstance(value, tuple) else [value]),
                         marks=() if index % 2 == first else pytest.mark.long)
            for index, value in enumerate(values)]


def diagonals(rows, columns):
    """Cells (row, column) of a matrix: every day each row and each column at least once, the others
    with --long. A row may be several parameters."""
    step = min(len(rows), len(columns))
    return [pytest.param(*(row if isinstance(row, tuple) else [row]), column,
                         marks=() if r % step == c % step else pytest.mark.long)
            for r, row in enumerate(rows) for c, column in enumerate(columns)]


def matrix(names, ways=MATRIX):
    """Cells (name, way…) of all names and all ways: half of them every day, each name in two of four
    ways and each way with every other name, all with --long."""
    return [pytest.param(name, *([way] if isinstance(way, str) else way),
                         marks=() if row % 2 == (column + column // 2) % 2 else pytest.mark.long)
            for row, name in enumerate(names) for column, way in enumerate(ways)]
