"""Children that come into being in the middle of a hook: forked by a handler, by a new_handler."""
import pytest

import expect
import mallow_reader
import mallow_sums
from variants import variant
from faults import run_program


@pytest.fixture
def fork_in_allocation(compile_sample, tmp_path):
    """fork_in_allocation(agent, how): the recordings, the program's first."""

    def run(agent, how):
        raising = compile_sample("raising_allocator", "gcc", "-O1",
                                 ["-fno-builtin", "-shared", "-fPIC"])
        return run_program([compile_sample("fork_in_allocation", "gcc", "-O1"), how], tmp_path,
                           LD_PRELOAD=f"{agent}:{raising}")

    return run


def sound(path):
    recording = mallow_reader.read(path)
    assert not recording.damages and recording.missing == 0
    assert recording.dangling() == ([], [])
    return recording


def assert_child(path, how, functions_of):
    recording = sound(path)
    assert recording.header.lost == 0
    wanted = expect.expectations("fork_in_allocation")
    if how == "nothing":
        del wanted["in_handler"]
    expect.check(wanted, expect.by_function(mallow_sums.Sums(recording), functions_of))


@pytest.mark.parametrize("how", ["nothing", "handler"])
def test_child_returns_into_an_allocation(how, agent, fork_in_allocation, tool, functions_of):
    """The rest of the hook finds its thread wiped, or begun anew by the handler."""
    children = [path for path in fork_in_allocation(agent, how) if sound(path).header.begun_by_fork]
    assert len(children) == 20
    for path in children:
        assert_child(path, how, functions_of)
    tool.assert_equal_sums(children[0])


@pytest.mark.parametrize("how", ["nothing", "handler"])
def test_child_that_reenters_returns_into_an_allocation(how, fork_in_allocation, tool):
    """The same where malloc is called in each system call: in those of the hook's rest, too."""
    children = [path for path in fork_in_allocation(variant("reenter"), how)
                if sound(path).header.begun_by_fork]
    assert len(children) == 20
    for path in children[:3]:
        tool.assert_equal_sums(path)


def test_handlers_at_each_instruction_of_a_child(agent, fork_in_allocation, tool, functions_of):
    """The child's own handler allocates at each place of what is left of the hook: that event is
    recorded, and none is damaged by it."""
    paths = fork_in_allocation(agent, "step")
    children = [path for path in paths if mallow_reader.read(path).header.begun_by_fork]
    whole = [path for path in children if mallow_sums.Sums(mallow_reader.read(path)).calls >= 100]
    assert len(whole) > 50 and len(children) <= len(whole) + 1  # the last one was beyond the hook
    for path in whole:
        assert_child(path, "step", functions_of)
        tool.assert_equal_sums(path)


def test_fork_in_a_new_handler(agent, compile_sample, tool, functions_of, tmp_path):
    """Parent and child go on in operator new: its block is one allocation for each."""
    paths = run_program([compile_sample("fork_in_new_handler", "gcc", "-O1")], tmp_path,
                        LD_PRELOAD=agent)
    assert len(paths) == 2
    for path in paths:
        expect.check(expect.expectations("fork_in_new_handler"),
                     expect.by_function(mallow_sums.Sums(sound(path)), functions_of))
        tool.assert_equal_sums(path)
