"""The samples built by gcc with AddressSanitizer and with ThreadSanitizer: their allocators stand behind
the agent, their checks see what the program does, and all is as without the agent.

The agent itself cannot be built so: it runs before a sanitizer has begun, and within its allocator.
"""
import re

import pytest

import expect
from processes import plain_run

OPTIONS = {
    # The first is what `mallow run` sets.
    "address": {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1"},
    "thread": {"TSAN_OPTIONS": "allocator_may_return_null=1:report_signal_unsafe=0:atexit_sleep_ms=0"},
}

# Samples and their arguments; FOLDER is an empty one, @NAME a sample that is a shared library.
RUNS = [
    "all_calls", "allocator_questions", "alone_and_together", "c_family", "clones", "cpp_operators",
    "crowd 1000 1000", "crowd 10000 50", "deep", "exceptions", "exec_all", "exit_busy",
    "fast_fiber", "fiber", "fork_threads", "generations 40", "hand_over", "idle_threads", "jit_code", "life_cycle",
    "load_storm @reload_alpha @reload_beta", "longjmp", "marks", "names", "odd_arguments",
    "own_operator", "own_signals", "plugin_host @plugin", "realloc_chain", "realloc_races",
    "registered_code", "reload @reload_alpha @reload_beta", "signal_handler", "stack_shapes",
    "switch_storm 100", "switched", "switched_fork", "tags", "thread_local", "totals",
    "totals_cpp", "vfork_signals", "wrong_frees", "all_signals", "glibc_family",
    *(f"close_all {how} FOLDER" for how in (
        "close", "close_range", "closefrom", "dup2", "raw_close", "raw_close_range")),
    *(f"confined {how} FOLDER" for how in ("nothing", "chroot", "cwd_removed", "setuid", "seccomp")),
    *(f"descriptors {how} FOLDER" for how in ("lowered", "lost", "full")),
    *(f"endings {how}" for how in (
        "return", "exit", "thread", "last_thread", "_exit", "_Exit", "exit_group", "quick_exit",
        "abort", "9", "15", "31")),
    *(f"fork_storm 30 {how}" for how in (
        "fork", "_Fork", "syscall", "allocate", "jump", "thread", "nested")),
    *(f"little_memory {how}" for how in ("address_space", "data", "locked")),
]
SHORT = ["all_calls", "cpp_operators", "fork_threads", "thread_local"]

# Why a run, or all that begin so, cannot be: mostly it fails without the agent, too.
BEHIND = "an allocator that calls the program back has no place behind the sanitizer's"
BOTH = {
    "all_signals": "the sanitizer has taken some signals before the program looks at them",
    "alone_and_together": "its threads wait for each other in loops, for minutes",
    "confined seccomp": "the sanitizer makes other system calls",
    "descriptors full": "the sanitizer opens files of its own",
    "exceptions": "the sanitizer's operator new does not throw, it ends the program",
    "fiber": BEHIND, "longjmp": BEHIND, "signal_handler": BEHIND,
    "fork_storm 30 allocate": "the handler enters the sanitizer's allocator again",
    "fork_storm 30 jump": "the handler leaves the sanitizer's allocator with its lock held",
    "fork_storm 30 thread": "the child has a lock of the sanitizer's allocator held by another thread",
    "glibc_family": "the sanitizer does not know cfree(), and dies of it without the agent",
    "idle_threads": "the sanitizer is in the program's backtrace()",
    "little_memory": "limits are not for the sanitizer's allocator, or end it",
    "odd_arguments": "what is undefined ends the program",
    "own_operator": "the sanitizer's operator delete[] does not call the program's operator delete",
    "plugin_host": "the plugin throws, or its operator new: the sanitizer ends the program",
}
CANNOT = {
    "address": {**BOTH, "wrong_frees": "the first one ends the program",
                "fork_threads": "the child has a lock of the sanitizer's allocator held by another "
                                "thread, in some runs"},
    "thread": {**BOTH, "clones": "the sanitizer does not know clone()",
               "endings last_thread": "it never ends where main() has left by pthread_exit()",
               "load_storm": "races within the loader are reported"},
}


def reason(run, sanitizer):
    return next((why for begin, why in CANNOT[sanitizer].items()
                 if f"{run} ".startswith(f"{begin} ")), None)


def parameters():
    for run in RUNS:
        for sanitizer in OPTIONS:
            why = reason(run, sanitizer)
            marks = [pytest.mark.skip(reason=f"{sanitizer}: {why}")] if why else \
                [] if run in SHORT else [pytest.mark.long]
            yield pytest.param(run, sanitizer, marks=marks, id=f"{run}-{sanitizer}".replace(" ", "_"))


# Where it is neither 0 nor 7.
STATUS = {"endings abort": -6, "endings 9": -9, "endings 15": -15, "endings 31": -31}


def without_numbers(text):
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)


@pytest.mark.parametrize("run,sanitizer", parameters())
def test_sample(run, sanitizer, compile_sample, record, functions_of, tool, tmp_path):
    """Status, output and what the sanitizer says are those without the agent; the recording holds what
    the sample states."""
    name, *words = run.split()
    build = [f"-fsanitize={sanitizer}"]

    def argument(word, turn):
        if word.startswith("@"):
            return compile_sample(word[1:], "gcc", "-O1", [*build, "-shared", "-fPIC"])
        if word == "FOLDER":
            folder = tmp_path / turn
            folder.mkdir()
            return folder
        return word

    program = compile_sample(name, "gcc", "-O1", build)
    plain = plain_run(program, *(argument(word, "plain") for word in words), env=OPTIONS[sanitizer],
                      timeout=300)
    recorded = record([program, *(argument(word, "recorded") for word in words)], check=False,
                      env=OPTIONS[sanitizer], timeout=300)
    assert (recorded.returncode, recorded.stdout) == (plain.returncode, plain.stdout)
    assert without_numbers(recorded.stderr) == without_numbers(plain.stderr)
    assert plain.returncode in ([STATUS[run]] if run in STATUS else [0, 7]), plain.stderr
    for reader in recorded.readers:
        assert not reader.damages and reader.missing == 0 and reader.dangling() == ([], [])
        assert reader.header.lost == 0, reader.header.losses
    expect.check(expect.expectations(name), expect.by_function(recorded.sums, functions_of))
    tool.assert_equal_sums(recorded.path, recorded.sums)


def test_quarantine(compile_sample, record, tool):
    """What the sanitizer keeps for itself is said to be its own, and the recording can be judged."""
    path = record([compile_sample("totals", "gcc", "-O1", ["-fsanitize=address"])], check=False,
                  env=OPTIONS["address"]).path
    report = tool.report(path)
    [unseen] = report["unseen"]
    assert (unseen["kind"], unseen["name"]) == ("resident", "AddressSanitizer")
    assert "AddressSanitizer's own" in unseen["text"]
    assert "unexplained" not in [finding["kind"] for finding in report["findings"]]
    assert tool("check", "--max-peak", "1G", path).returncode == 0
