"""SAMPLE: a part of all allocations is recorded, and the sums are estimated from it."""
import collections
import math

import pytest

from mallow_reader import Alloc

MEAN = 64 * 1024
KIB_OF_GROWN = (1000, 2000, 4000, 8000, 16000, 32000)

# {function: {size: (how many blocks were allocated, how many of them leaked)}} of sampled.c.
TRUE = {
    "small": {64: (160000, 80000)},
    "middle": {6000: (8000, 8000)},
    "large": {1 << 20: (80, 0)},
    "grow": {size: (2000, 0) for size in KIB_OF_GROWN},
}


def probability(size):
    return -math.expm1(-size / MEAN)


def deviation(sizes, column):
    """Of the estimated bytes: each block is in the sample or not, independent of the others; and its
    weight is rounded to a whole number by chance, up to a quarter in variance."""
    variance = 0
    for size, counts in sizes.items():
        p = probability(size)
        variance += counts[column] * size * size * ((1 - p) / p + p / 4)
    return math.sqrt(variance)


def of_functions(report, names):
    """{function: sums of the sites whose stacks contain it}"""
    sums = {name: collections.Counter() for name in names}
    for site in report["sites"]:
        for name in {frame.get("function") for frame in site["stack"]} & set(names):
            sums[name].update({key: site[key] for key in ("calls", "total_bytes", "leaked_bytes")})
    return sums


@pytest.fixture(scope="module")
def program(compile_sample):
    return compile_sample("sampled", "gcc", "-O2")


def test_estimates(program, record):
    recorded = record([program], settings={"SAMPLE": "64K"})
    assert recorded.stdout == "done\n"
    recorded.assert_sound()
    report = recorded.report_json
    found = of_functions(report, TRUE)
    for name, sizes in TRUE.items():
        for column, field in ((0, "total_bytes"), (1, "leaked_bytes")):
            true = sum(size * counts[column] for size, counts in sizes.items())
            # One run in 300,000 is further off in one of these.
            bound = 5 * deviation(sizes, column)
            assert abs(found[name][field] - true) <= bound, (name, field, found[name][field], true)
    assert report["temporary"] == 0


def test_only_samples_are_recorded(program, record):
    """Each block in the file has its end there, and no other has; far fewer than all are."""
    recorded = record([program], settings={"SAMPLE": "64K"})
    sums, reader = recorded.sums, recorded.reader
    assert reader.header.sample_mean == MEAN
    assert sums.unknown_frees == sums.implicit_frees == 0
    small = sum(1 for event in reader.events if isinstance(event, Alloc) and event.size == 64)
    assert 0 < small < 160000 * probability(64) * 3
    assert sum(isinstance(event, Alloc) and event.size == 1 << 20 for event in reader.events) == 80
    info = recorded.info_json
    assert info["sample_bytes"] == MEAN
    assert info["frees"] + len(sums.live) == info["allocations"]


def test_of_one_byte_all(program, record):
    """As good as all: the sums are the true ones, by the filter's way."""
    recorded = record([program], settings={"SAMPLE": "1"})
    found = of_functions(recorded.report_json, TRUE)
    for name, sizes in TRUE.items():
        assert found[name]["calls"] == sum(counts[0] for counts in sizes.values())
        for column, field in ((0, "total_bytes"), (1, "leaked_bytes")):
            assert found[name][field] == sum(size * counts[column]
                                             for size, counts in sizes.items()), (name, field)


def test_report_says_so(program, record, tool):
    recorded = record([program], settings={"SAMPLE": "64K"})
    text = tool("report", recorded.path).stdout
    assert "a sample, one in 65.5 KB: all numbers are estimates" in text
    assert "temporary" not in text.split("\n\n")[1]


def test_summary_says_so(program, record):
    """What `mallow run` prints at the end names its numbers estimates, as the report does."""
    run = record([program], bare=False, settings={"SAMPLE": "64K"})
    assert "  a sample, one in 65.5 KB: all numbers are estimates\n" in run.stderr


def test_a_seed_makes_the_same_samples(compile_sample, record):
    """Of a thread that allocates the same; another seed, or none, makes others."""
    one_thread = compile_sample("estimated", "gcc", "-O1")

    def sampled(seed):
        recorded = record([one_thread], settings={"SAMPLE": "16K", "SEED": seed}, check=False)
        assert recorded.returncode == 7, recorded.stderr
        return [(number, event.size) for number, event in enumerate(recorded.reader.events)
                if isinstance(event, Alloc)]

    samples = [sampled(seed) for seed in (1, 1, 2, 0, 0)]
    assert samples[0] == samples[1] and len(samples[0]) > 300
    assert len({tuple(of_run) for of_run in samples}) == 4
