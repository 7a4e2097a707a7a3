"""Programs in live mode, and the tables and reports that they leave."""
import collections
import subprocess

import expect
import live_reader
from conftest import TOP, clean_environment, names_of_stack

KEEPER = TOP / "tests" / "e2e" / "lib" / "keep_table.sh"
# Fields of EXPECT lines that a table can answer.
FIELDS = ("calls", "total_bytes", "leaked_blocks", "leaked_bytes", "depth")


def by_function(table, functions_of):
    """{function: expect.Found} over the stacks that contain it."""
    found = collections.defaultdict(expect.Found)
    for site in table.sites.values():
        stack = table.stack(site.node)
        for name in set(names_of_stack(table.recording, stack, functions_of)) - {None}:
            function = found[name]
            function.calls += site.calls
            function.total_bytes += site.bytes
            function.leaked_blocks += site.calls - site.freed_calls
            function.leaked_bytes += site.bytes - site.freed_bytes
            function.depth = max(function.depth, len(stack))
    return found


def check(table, name, functions_of, *kinds):
    """The table is sound and holds what the sample states."""
    wanted = {function: {field: value for field, value in fields.items() if field in FIELDS}
              for function, fields in expect.expectations(name, *kinds).items()}
    assert any(wanted.values()), name
    expect.check(wanted, by_function(table, functions_of))
    table.assert_consistent()
    assert not table.recording.events and not table.recording.damages
    assert table.recording.dangling() == ([], [])


class Outcome:
    def __init__(self, run, folder):
        self.status, self.output, self.lines = run.returncode, run.stdout, run.stderr.splitlines()
        self.tables = [live_reader.read(path) for path in sorted(folder.glob("*.mallow"))]

    def assert_unharmed(self, what=None):
        assert (self.status, self.output) == (7, "ok\n"), (what, self.lines)

    def assert_sound(self):
        """Each table is consistent but for what it says is lost."""
        assert all(line.startswith("mallow: ") for line in self.lines), self.lines
        for table in self.tables:
            assert not table.recording.damages
            if not table.header.lost:
                table.assert_consistent()


def run_live(command, library, folder, limits=None, preload="", **settings):
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    given = {"MODE": "live", "HELPER": KEEPER, "TEST_TABLES": folder, **settings}
    environment = clean_environment({f"MALLOW_{name}": value for name, value in given.items()})
    environment["LD_PRELOAD"] = f"{library}:{preload}" if preload else str(library)
    run = subprocess.run([str(word) for word in command], env=environment, capture_output=True,
                         text=True, timeout=300, preexec_fn=limits)
    return Outcome(run, folder)


def started(mallow, *words, env=None, **options):
    """The same in the background, its output as pipes."""
    return subprocess.Popen([str(mallow), "live", *map(str, words)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=clean_environment(env), **options)


def live_report(mallow, path, *words, env=None, check=True, **options):
    """The helper as the agent starts it; what it printed on standard error."""
    with open(path, "rb") as table:
        run = subprocess.run([str(mallow), "live-report", "--fd", str(table.fileno()), *words],
                             capture_output=True, text=True, pass_fds=[table.fileno()], timeout=60,
                             env=clean_environment(env), **options)
    assert run.stdout == ""
    if check:
        assert run.returncode == 0, run.stderr
        return run.stderr
    return run
