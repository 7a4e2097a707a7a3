"""Heap dumps of gperftools, a minute apart, whose sums a test knows."""
import os

# What each dump has live, in blocks of 1,000 bytes: of the stack 0x1000, and of 0x2000 called by 0x3000.
LIVE = [(1, 30), (2, 70), (3, 10)]


def write_dumps(folder):
    """Returns their paths, in order."""
    paths = []
    for i, (one, other) in enumerate(LIVE):
        paths.append(folder / f"dump.{i}.heap")
        paths[-1].write_text(f"heap profile: {one + other}: {one + other}000 [99: 99000] @ heapprofile\n"
                             f"{one}: {one}000 [9: 9000] @ 0x1000\n{other}: {other}000 [90: 90000] @ 0x2000 0x3000\n")
        os.utime(paths[-1], (1_700_000_000 + 60 * i,) * 2)
    return paths
