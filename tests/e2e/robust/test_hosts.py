"""Programs that handle system calls by themselves."""
import pytest


def test_a_program_that_handles_system_calls_itself(compile_sample, record):
    """None of the agent's reaches it. Its child, which is free of that, is recorded."""
    recorded = record([compile_sample("dispatched", "gcc", "-O1")])
    if recorded.stdout == "no such kernel\n":
        pytest.skip("the kernel has no Syscall User Dispatch")
    assert recorded.stdout == "7\n"
    assert recorded.stderr.count("\n") == 1 and "Syscall User Dispatch" in recorded.stderr
    first, child = recorded.readers
    assert len(first.events) + first.header.losses["strict_mode"] >= 2 * 102000
    assert len(child.events) >= 4000 and child.header.lost == 0
