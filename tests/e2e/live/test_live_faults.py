"""MODE=live where things go wrong: no memory, no file, system calls that fail or are forbidden, forks
and handlers at any moment. The program does what it does without mallow, and what is counted is true."""
import errno
import re
import resource

import pytest

from cells import every_other
import expect
from faults import ENDLESS, STORM, numbers_of_calls
from live_programs import by_function, check, run_live
from variants import variant


@pytest.fixture(scope="session")
def all_calls(compile_sample):
    return compile_sample("all_calls", "gcc", "-O1")


def count_calls(program, folder):
    log = folder / "calls"
    run_live([program], variant("fail"), folder / "counted", TEST_FAIL_LOG=log)
    return max(int(number) for number in re.findall(r"calls=(\d+)", log.read_text()))


def fail_in_turn(program, folder, steps, error):
    for number in range(1, count_calls(program, folder) + 20, steps):
        outcome = run_live([program], variant("fail"), folder / "failed", TEST_FAIL_AT=number,
                           TEST_FAIL_ERROR=error)
        outcome.assert_unharmed(number)
        outcome.assert_sound()


def test_some_system_calls_fail(all_calls, tmp_path):
    fail_in_turn(all_calls, tmp_path, 11, errno.ENOMEM)


@pytest.mark.long
@pytest.mark.parametrize("error", [errno.ENOMEM, errno.EIO, errno.EINTR])
def test_each_system_call_fails(error, all_calls, tmp_path):
    fail_in_turn(all_calls, tmp_path, 1, error)


@pytest.mark.parametrize("name,number", every_other(numbers_of_calls().items()))
def test_a_system_call_that_never_works(name, number, all_calls, tmp_path):
    for first in (1, 3):
        outcome = run_live([all_calls], variant("fail"), tmp_path / "failed", TEST_FAIL_AT=first,
                           TEST_FAIL_ERROR=errno.EPERM, TEST_FAIL_COUNT=ENDLESS, TEST_FAIL_CALL=number)
        outcome.assert_unharmed((name, first))
        outcome.assert_sound()


def test_no_file_in_memory(all_calls, tmp_path):
    """One line of each image that would have had a table, and nothing is kept."""
    outcome = run_live([all_calls], variant("fail"), tmp_path / "failed", TEST_FAIL_AT=1,
                       TEST_FAIL_ERROR=errno.EPERM, TEST_FAIL_COUNT=ENDLESS,
                       TEST_FAIL_CALL=numbers_of_calls()["memfd_create"])
    outcome.assert_unharmed()
    assert not outcome.tables
    assert outcome.lines and len(outcome.lines) <= 4
    for line in outcome.lines:
        assert re.fullmatch(r"mallow: cannot write 'mallow-live:\d+': Operation not permitted; "
                            r"the program runs unrecorded", line)


def test_malloc_in_each_system_call(all_calls, tmp_path):
    outcome = run_live([all_calls], variant("reenter"), tmp_path / "tables")
    outcome.assert_unharmed()
    assert len(outcome.tables) == 4
    for table in outcome.tables:
        table.assert_consistent()
        # What comes while the table gets memory goes without, and more than can wait.
        assert table.header.lost == (table.header.losses["no_memory"] +
                                     table.header.losses["reentered"]) < 100, table.header.losses


def test_little_address_space(all_calls, agent, tmp_path, monkeypatch):
    """Also where a table finds no room at all, the program does what it does."""
    # A second arena of glibc takes 64 MiB where the kernel happens to place it aligned, which leaves
    # none for the threads' stacks: at 67 MiB that ended 16 of 600 runs without mallow, too.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    for mib in range(8, 80, 6):

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))
            resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

        outcome = run_live([all_calls], agent, tmp_path / "little", limit)
        assert outcome.status in (3, 7), (mib, outcome.status, outcome.lines)
        assert outcome.status == 7 or mib < 20, (mib, outcome.lines)
        if outcome.status == 7:
            outcome.assert_sound()


def test_small_files(all_calls, agent, tmp_path):
    """RLIMIT_FSIZE holds for a file in memory, too."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    outcome = run_live([all_calls], agent, tmp_path / "small", limit)
    outcome.assert_unharmed()
    assert all(re.match("mallow: cannot write 'mallow-live:|mallow: recording 'mallow-live:", line)
               for line in outcome.lines)


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.long)])
def test_handlers_at_each_instruction(stride, compile_sample, agent, tmp_path, functions_of):
    """What a handler allocates and frees in the middle of the agent is counted as all else is."""
    outcome = run_live([compile_sample("live_steps", "gcc", "-O1"), stride], agent, tmp_path / "t")
    assert outcome.status == 7, outcome.lines
    times = int(outcome.output)
    assert times > 700 / stride
    table, = outcome.tables
    table.assert_consistent()
    found = by_function(table, functions_of)
    assert found["in_handler"].calls == 6 * times
    assert found["in_handler"].leaked_blocks == times + 1
    assert found["stepped"].leaked_blocks == found["in_handler"].leaked_blocks
    assert table.header.lost == 0, table.header.losses


@pytest.mark.long
def test_handlers_between_samples(compile_sample, agent, tmp_path, functions_of):
    """The same where one block in two or three is a sample: it begins and ends as such."""
    outcome = run_live([compile_sample("live_steps", "gcc", "-O1"), 3], agent, tmp_path / "t", SAMPLE=100)
    assert outcome.status == 7, outcome.lines
    times = int(outcome.output)
    table, = outcome.tables
    table.assert_consistent()
    found = by_function(table, functions_of)
    # What stays are blocks of 33 and of 60 bytes, with probabilities of 0.28 and 0.45.
    for name, count, p in ("in_handler", times + 1, 0.28), ("stepped", times + 1, 0.28):
        estimate = found[name].leaked_blocks / table.unit
        assert abs(estimate - count) <= 5 * (count * (1 - p) / p) ** 0.5, (name, estimate, count)
    assert table.header.lost == 0, table.header.losses


def test_fork_with_threads(compile_sample, agent, tmp_path, functions_of):
    """A child begins with an empty table: what it inherited is not in it, nor its end."""
    outcome = run_live([compile_sample("fork_threads", "gcc", "-O1")], agent, tmp_path / "tables")
    outcome.assert_unharmed()
    assert not outcome.lines and len(outcome.tables) == 6
    parent, = [table for table in outcome.tables if not table.header.begun_by_fork]
    check(parent, "fork_threads", functions_of)
    for table in outcome.tables:
        if table is not parent:
            check(table, "fork_threads", functions_of, "CHILD", "ONLY")
            assert table.header.parent_id == parent.header.id


@pytest.mark.parametrize("how", STORM)
def test_fork_in_a_write(how, compile_sample, agent, tmp_path):
    """A handler interrupts the agent anywhere and forks; the child goes on there, beside the parent's
    table, and has one of its own."""
    outcome = run_live([compile_sample("fork_storm", "gcc", "-O1"), 15, how], agent, tmp_path / "t")
    outcome.assert_unharmed()
    assert not outcome.lines
    assert len(outcome.tables) == 1 + 15 * (2 if how == "nested" else 1)
    for table in outcome.tables:
        assert not table.recording.damages and table.header.lost == 0
        if table.header.begun_by_fork:
            calls = sum(site.calls for site in table.sites.values())
            assert 300 <= calls <= 310, calls
        else:
            table.assert_consistent()


@pytest.mark.parametrize("how", STORM)
def test_fork_between_samples(how, compile_sample, agent, tmp_path):
    """What a parent may pass over without asking is nothing to a child: its first allocation begins its
    table, sample or not."""
    outcome = run_live([compile_sample("fork_storm", "gcc", "-O1"), 15, how], agent, tmp_path / "t",
                       SAMPLE="8K")
    outcome.assert_unharmed()
    assert not outcome.lines
    assert len(outcome.tables) == 1 + 15 * (2 if how == "nested" else 1)
    for table in outcome.tables:
        assert not table.recording.damages and table.header.lost == 0
        if not table.header.begun_by_fork:
            table.assert_consistent()


@pytest.mark.parametrize("stride, sampled", [(7, {}), (1, {"SAMPLE": "1G"})], ids=["all", "samples"])
def test_fork_at_each_step(stride, sampled, compile_sample, agent, tmp_path, functions_of):
    """At any instruction of a hook a handler may fork: the child has its own table, also where all
    that it goes on with is passed over."""
    outcome = run_live([compile_sample("fork_steps", "gcc", "-O1"), stride], agent, tmp_path / "t",
                       **sampled)
    assert (outcome.status, outcome.lines) == (7, [])
    times = int(outcome.output)
    assert times >= 20 and len(outcome.tables) == 1 + times
    outcome.assert_sound()
    for table in outcome.tables:
        if table.header.begun_by_fork and not sampled:
            found = by_function(table, functions_of)["in_child"]
            assert (found.calls, found.leaked_blocks) == (100, 0)


def test_children_that_nobody_announces(compile_sample, agent, tmp_path):
    """The same of those by system calls, whatever the mean: their tables are empty, but there."""
    program = compile_sample("clones", "gcc", "-O1")
    counted, sampled = (run_live([program], agent, tmp_path / "tables", **settings)
                        for settings in ({}, {"SAMPLE": "1G"}))
    assert (sampled.status, sampled.output, sampled.lines) == (counted.status, counted.output, [])
    assert len(sampled.tables) == len(counted.tables) == 4
    sampled.assert_sound()


@pytest.mark.parametrize("how", ["nothing", "handler", "step"])
def test_child_returns_into_an_allocation(how, compile_sample, agent, tmp_path, functions_of):
    raising = compile_sample("raising_allocator", "gcc", "-O1", ["-fno-builtin", "-shared", "-fPIC"])
    outcome = run_live([compile_sample("fork_in_allocation", "gcc", "-O1"), how], agent,
                       tmp_path / "tables", preload=raising)
    outcome.assert_unharmed()
    children = [table for table in outcome.tables if table.header.begun_by_fork]
    assert len(children) >= 20
    wanted = {function: {field: value for field, value in fields.items() if field != "temporary"}
              for function, fields in expect.expectations("fork_in_allocation").items()}
    if how == "nothing":
        del wanted["in_handler"]
    whole = 0
    for table in children:
        if sum(site.calls for site in table.sites.values()) >= 100:
            expect.check(wanted, by_function(table, functions_of))
            whole += 1
    assert whole >= 20


def test_an_image_after_another(agent, tmp_path):
    """exec ends a table without a report: nothing of it is a leak."""
    outcome = run_live(["/bin/sh", "-c", "exec sh -c 'exec sh -c \"echo ok; exit 7\"'"], agent,
                       tmp_path / "tables")
    outcome.assert_unharmed()
    assert len(outcome.tables) == 1


@pytest.mark.parametrize("how", ["plain", "listener", "probed", "second", "refused", "descriptors",
                                 "thread", "child", "strict", "counter"])
def test_sandbox(how, compile_sample, agent, tmp_path):
    """Under a filter no system call is made, so there is no report; nor in strict mode."""
    outcome = run_live([compile_sample("sandbox", "gcc", "-O1"), how], agent, tmp_path / "tables")
    assert outcome.status == 0, outcome.lines
    assert how in ("refused", "strict", "counter") or not outcome.lines, outcome.lines


def test_closed_behind_the_back(compile_sample, agent, tmp_path):
    """Who has no descriptor any more cannot give it to a helper: a line says so."""
    files = tmp_path / "files"
    files.mkdir()

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    outcome = run_live([compile_sample("close_all", "gcc", "-O2"), "raw_close", files], agent,
                       tmp_path / "tables", limit)
    outcome.assert_unharmed()
    assert not outcome.tables
    assert all(path.read_text() == "this file is the program's own\n" for path in files.iterdir())


def test_descriptors_are_shielded(compile_sample, agent, tmp_path, functions_of):
    files = tmp_path / "files"
    files.mkdir()
    outcome = run_live([compile_sample("close_all", "gcc", "-O2"), "close_range", files], agent,
                       tmp_path / "tables")
    outcome.assert_unharmed()
    check(outcome.tables[0], "close_all", functions_of)


def test_another_stderr(agent, tmp_path):
    """A report goes to the stderr that the program began with, or nowhere."""
    show = tmp_path / "show.sh"
    show.write_text("#!/bin/sh\necho report >&2\n")
    show.chmod(0o755)
    code = f"import os; os.dup2(os.open('{tmp_path}/own', os.O_WRONLY | os.O_CREAT), 2)"
    run_live(["/usr/bin/python3", "-c", code], agent, tmp_path / "tables", HELPER=show)
    assert (tmp_path / "own").read_text() == ""
