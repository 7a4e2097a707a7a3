"""pytest --mallow: how much memory each test needed, and limits for it. README.md beside it says more.

Each test has a mark in the recording at the begin of its call and one at its end, so that the blocks
that were allocated between these are the test's. The tool judges them: this file only asks.
"""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import time

import mallow
import pytest

END = "end of "
STARTED = "PYTEST_MALLOW_STARTED"  # set from one start of the command to the next
NAME_BYTES = 900  # of marks: the agent keeps 1,000 bytes
UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
RUNNING = "the recording is incomplete: still running"  # what `mallow check` says of each running process
INCOMPLETE = "the recording is incomplete"


class MallowWarning(pytest.PytestWarning):
    """A limit could not be judged."""


def natural(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def pytest_addoption(parser):
    group = parser.getgroup("mallow", "memory of tests, by mallow")
    group.addoption("--mallow", action="store_true", help="record the tests, and hold them to their limit_memory()")
    group.addoption("--mallow-output", metavar="FILE", help="the recording's name [pytest_TIME.mallow]")
    group.addoption("--mallow-tool", metavar="PATH",
                    help="the program mallow [MALLOW_HELPER, else the one beside this Python, else mallow on the PATH]")
    group.addoption("--mallow-top", metavar="N", type=natural, default=10,
                    help="show so many of the tests that needed most [10]")


def find_tool(options):
    wanted = options.mallow_tool or os.environ.get("MALLOW_HELPER")
    # Of an environment with the wheel that is not activated the programs are not on the PATH.
    tool = shutil.which(wanted) if wanted else (
        shutil.which(os.path.join(sysconfig.get_path("scripts"), "mallow")) or shutil.which("mallow"))
    if not tool:
        raise pytest.UsageError("--mallow: no program '%s' is found (--mallow-tool PATH, or MALLOW_HELPER)" % (wanted or "mallow"))
    return os.path.abspath(tool)


def command_line(arguments):
    """What started this process; None: not a command whose arguments are those of pytest."""
    if list(arguments) != sys.argv[1:]:
        return None
    original = getattr(sys, "orig_argv", None)  # since Python 3.10
    if original:
        return [sys.executable, *original[1:]]
    module = os.path.basename(sys.argv[0]) == "__main__.py"
    return [sys.executable, *(["-m", "pytest"] if module else sys.argv[:1]), *sys.argv[1:]]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Starts the same command again under `mallow run`, before any conftest.py has run."""
    options, started = early_config.known_args_namespace, os.environ.pop(STARTED, None)
    if not options.mallow or options.help or options.version or options.collectonly:
        return
    if "PYTEST_XDIST_WORKER" in os.environ:
        return  # its starter is recorded, so it is; or it is on another machine
    if mallow.available():
        output = os.environ.get("MALLOW_OUTPUT")
        if options.mallow_output not in (None, output):
            raise pytest.UsageError(f"--mallow-output: this runs under mallow already, with the output {output}")
        return
    if started:
        raise pytest.UsageError("--mallow: 'mallow run' has started this process, but cannot record it")
    tool, command = find_tool(options), command_line(early_config.invocation_params.args)
    if not command:
        raise pytest.UsageError("--mallow: pytest is no command here; start the whole program by 'mallow run'")
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[STARTED] = "1"
    output = options.mallow_output or f"pytest_{int(time.time())}.mallow"
    try:
        # Recording is off until the first test: what pytest itself and imports need is no test's, and takes its time.
        os.execv(tool, [tool, "run", "-o", output, "--disable-by-default", "--signal-toggle", "none", "--", *command])
    except OSError as error:
        raise pytest.UsageError(f"--mallow: {tool}: {error.strerror}")


def pytest_configure(config):
    config.addinivalue_line("markers", 'limit_memory(size): with --mallow the test fails if blocks that it allocated had '
                                       'more than that live at once: "24 MB"; units are of 1024')
    tests = Tests(config)
    config.pluginmanager.register(tests, "mallow-tests")
    if tests.tool:
        config.pluginmanager.register(Limits(tests), "mallow-limits")


def parse_size(memory_limit=""):
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGTP]?)i?B\s*", str(memory_limit), re.IGNORECASE)
    if not found:
        pytest.fail(f"limit_memory: '{memory_limit}' is no size such as '24 MB'", pytrace=False)
    return int(float(found[1]) * 1024 ** UNITS[found[2].upper()])


def readable(size):
    """As mallow's reports: three digits, units of 1000."""
    unit = 0
    while size >= 999.5:
        size, unit = size / 1000, unit + 1
    return f"{size} B" if not unit else f"{size:#.3g}".rstrip(".") + f" {' KMGTPE'[unit]}B"


def without_name(message):
    """The last line of what the tool says."""
    return re.sub("^mallow: ", "", message.strip().split("\n")[-1])


def cut(text, width):
    """The end of a text, which tells most."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1:]


class Run:
    """One run of a test; its marks are in the recording at `path`."""

    def __init__(self, mark, path):
        self.mark, self.path = mark, path
        self.limit = self.said = None  # said: what came of the limit: "unlooked" or why it cannot be told
        self.lasts = False

    def begin(self):
        mallow.mark(self.mark)
        self.lasts = True

    def end(self):
        if self.lasts:
            mallow.mark(END + self.mark)
        self.lasts = False


STATE = pytest.StashKey[Run]()
UNLOOKED = "unlooked"

Judgement = collections.namedtuple("Judgement", "verdict said peak places why")


class Tests:
    """Marks tests, and collects what their reports say, from other processes, too."""

    def __init__(self, config):
        on = config.option.mallow and mallow.available()
        self.config, self.tool, self.begun = config, find_tool(config.option) if on else None, False
        # The tool is a child of a recorded program, and would be recorded.
        self.environment = dict(os.environ, MALLOW_DISABLE_BY_DEFAULT="1")
        self.marks = collections.Counter()
        self.recordings = collections.defaultdict(dict)  # {path: {mark: name of the test}}
        self.unlooked, self.untold, self.lost = 0, collections.Counter(), 0

    def ask(self, *words):
        return subprocess.run([self.tool, *words], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape")

    def judge(self, path, mark, most, until=None):
        """What `mallow check` says of the blocks between the marks of a test."""
        try:
            ran = self.ask("check", f"--max-peak={most}", f"--from={mark}", f"--until={until or END + mark}", path)
        except OSError as error:
            return Judgement(None, None, None, [], str(error))
        # A program that runs has no end yet; but all until the end of the test is in the file.
        doubts = [text for text in re.findall(r"^  doubt +(.*)", ran.stdout, re.M) if not text.startswith(RUNNING)]
        found = re.search(r"^  (holds|broken|unknown) +(.*)", ran.stdout, re.M)
        if not found:
            said = without_name(ran.stderr or ran.stdout) or f"'mallow check' ended with status {ran.returncode}"
            return Judgement(None, None, None, [], said)
        # What lies beside malloc makes a peak no smaller: a limit that is broken without it is broken.
        why = doubts if found[1] == "unknown" else [text for text in doubts if text.startswith(INCOMPLETE)]
        peak = re.match(r"peak ([\d,]+) B", found[2])
        return Judgement(found[1], found[2], int(peak[1].replace(",", "")) if peak else None,
                         re.findall(r"^ {12}(.*)", ran.stdout, re.M), (why or [found[2]])[0] if why or not peak else None)

    def name(self, nodeid):
        """A mark that no other test of this process has, and that --from takes for a mark."""
        name = ("./" if nodeid[0].isdigit() else "") + nodeid
        name = name.encode("utf-8", "surrogateescape")[:NAME_BYTES].decode("utf-8", "surrogateescape")
        self.marks[name] += 1
        return f"{name} ({self.marks[name]})" if self.marks[name] > 1 else name

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self.tool and not self.begun:
            mallow.start()
            self.begun = True
        path = mallow.recording() if self.tool else None
        item.stash[STATE] = Run(self.name(item.nodeid) if path else None, path)

    # The innermost wrapper: what other plugins do around a test is not the test's.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        test, marker = item.stash[STATE], item.get_closest_marker("limit_memory")
        if marker and not test.path:
            test.said = UNLOOKED
        elif marker:
            test.limit = parse_size(*marker.args, **marker.kwargs)
        if test.path:
            test.begin()
        yield
        if test.path:
            test.end()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        test = item.stash.get(STATE, None)
        if test and (test.path or test.said):
            outcome.get_result().mallow = [test.path, test.mark, test.said if call.when == "call" else None]

    def pytest_runtest_logreport(self, report):
        path, mark, said = getattr(report, "mallow", (None, None, None))
        if path:
            self.recordings[path][mark] = report.nodeid
        if said == UNLOOKED:
            self.unlooked += 1
        elif said:
            self.untold[said] += 1

    def pytest_terminal_summary(self, terminalreporter):
        if hasattr(self.config, "workerinput"):
            return  # of xdist: nobody sees what it says, and the controller has all reports
        if self.recordings:
            self.write_table(terminalreporter)
        if self.unlooked:
            terminalreporter.write_line(f"mallow: {counted(self.unlooked, 'limit_memory()')} not looked at: "
                                        f"{'nothing was recorded' if self.config.option.mallow else 'without --mallow'}")
        for why, count in self.untold.items():
            terminalreporter.write_line(f"mallow: {counted(count, 'limit_memory()')} could not be judged: {why}")

    def tests_of(self, path):
        """[(lower bound of the peak, upper bound, total, calls, mark, until, path)] of each test that allocated."""
        ran = self.ask("report", "--by", "mark", "--json", path)
        if ran.returncode:
            raise ValueError(without_name(ran.stderr))
        said, tests, found, parts, ended = json.loads(ran.stdout), self.recordings[path], [], None, set()
        self.lost += said["lost"]
        for row in sorted((row for row in said["rows"] if row["mark"] is not None), key=lambda row: row["from_ns"]):
            if row["mark"] in tests:
                parts = []
                found.append((row["mark"], parts))
            elif row["mark"].startswith(END) and row["mark"][len(END):] in tests:
                parts = None
                ended.add(row["mark"][len(END):])
            if parts is not None:
                parts.append(row)  # the first, or what follows a mark that the test itself made
        return [(max(row["own_peak_bytes"] for row in parts), sum(row["own_peak_bytes"] for row in parts),
                 sum(row["total_bytes"] for row in parts), sum(row["calls"] for row in parts), mark,
                 None if mark in ended else "end", path)
                for mark, parts in found]

    def largest(self):
        """[(peak, total, calls, place, name, path)], as many as are shown, the largest first."""
        top, found = self.config.option.mallow_top, []
        for path in self.recordings if top else ():
            found += self.tests_of(path)
        least = sorted((low for low, *_ in found), reverse=True)[:top]
        # Of a test that makes marks itself the rows have only bounds: all that may be among the largest are asked for.
        parted = sorted((test for test in found if test[0] < test[1] >= least[-1]), key=lambda test: -test[1])
        found = parted[:4 * top] + sorted((test for test in found if test[0] == test[1]), key=lambda test: -test[0])[:top]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            judged = list(pool.map(lambda test: self.judge(test[6], test[4], 0, test[5]), found))
        return sorted(((low if judgement.peak is None else judgement.peak, total, calls, judgement.places[:1],
                        self.recordings[path][mark], path)
                       for (low, _, total, calls, mark, _, path), judgement in zip(found, judged)),
                      key=lambda test: -test[0])[:top]

    def write_table(self, terminal):
        terminal.write_sep("=", "memory of tests, by mallow")
        try:
            tests = self.largest()
        except (OSError, ValueError) as error:
            terminal.write_line(f"mallow: {error}")
            return
        room = max(terminal._tw.fullwidth, 80) - 32
        names, places = room - room * 2 // 5, room * 2 // 5
        if tests:
            terminal.write_line(f"{'peak':>8} {'total':>8} {'calls':>9}  {'test':{names}}  largest place")
        for peak, total, calls, place, name, _ in tests:
            place = re.sub(r"^[\d,]+ B +(<?[\d.]+ %|-) +", "", place[0]) if place else ""
            if len(place) > places:
                place = place.rsplit("  ", 1)[-1]  # the file and its line, without the function
            terminal.write_line(f"{readable(peak):>8} {readable(total):>8} {calls:>9,}  {cut(name, names):{names}}  "
                                f"{cut(place, places)}")
        if self.lost:
            terminal.write_line(f"{counted(self.lost, 'event')} lost: numbers may be too low, or too high")
        path = os.path.relpath(tests[0][5] if tests else next(iter(self.recordings)))
        others = len(self.recordings) - 1
        terminal.write_line(f"mallow report {path}, or mallow serve {path}" +
                            (f" ({counted(others, 'other recording')} beside it)" if others else ""))


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 or noun.endswith(')') else 's'}"


def not_all(path):
    """(mean bytes between samples, shortest life of a block that is recorded), by docs/trace-format.md; 0: all are."""
    with open(path, "rb") as recording:
        return struct.unpack("<QQ", recording.read(128)[112:])


class Limits:
    """Judges a test that has passed so far, as the last part of its call: so it fails like any other."""

    def __init__(self, tests):
        self.tests = tests

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item):
        test = item.stash[STATE]
        running = mallow.is_running()
        test.end()
        if test.limit is None:
            return
        if not running:
            why = "recording was off at the end of the test"
        elif not mallow.sync():
            why = "the recording could not be written"
        elif any(not_all(test.path)):
            why = "the recording is a sample, or without blocks that lived shortly (--sample, --cull)"
        else:
            judged = self.tests.judge(test.path, test.mark, test.limit)
            why = judged.why
        if why:
            test.said = why
            item.warn(MallowWarning(f"limit_memory could not be judged: {why}"))
        elif judged.verdict == "broken":
            pytest.fail("\n  ".join([f"limit_memory: {judged.said}", *judged.places[:3]]), pytrace=False)
