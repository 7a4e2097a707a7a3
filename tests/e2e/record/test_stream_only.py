"""STREAM_ONLY: a recording in memory, bounded by STREAM_BUFFER, and the tool that the library starts to send it."""
import errno
import os
import re
import resource
import signal
import subprocess
import time

import pytest

import mallow_reader
from cells import diagonals, every_other
from conftest import clean_environment
from faults import ENDLESS, numbers_of_calls
from processes import wait_for
from stream_tap import Tap
from variants import variant

BUFFER = 1 << 20
LINE = re.compile(r"mallow: the receiver is slower than the program, or not there: events are lost, counted as "
                  r"stream_buffer; .*\n")


class Streamed:
    """tests/samples/streamed.c under the agent, round by round."""

    def __init__(self, program, environment, threads, tap=None, words=()):
        self.process = subprocess.Popen([program, str(threads), *words], env=environment, text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.threads, self.events = threads, 0
        if tap:
            self.round(1)
            self.recording = tap.next()

    def say(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def round(self, count):
        self.say(count)
        self.events += 2 * count * self.threads
        assert self.process.stdout.readline() == "done\n"

    def end(self, status=0):
        """What the program says on stderr."""
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == status
        return errors


@pytest.fixture(scope="module")
def program(compile_sample):
    return str(compile_sample("streamed", "gcc", "-O1"))


@pytest.fixture
def tap():
    made = Tap()
    yield made
    made.close()


@pytest.fixture
def start(program, preload, tap):
    running = []

    def run(threads=1, words=(), **settings):
        settings = {"STREAM_ONLY": 1, "STREAM_BUFFER": BUFFER, "REGISTRY": tap.registry, **settings}
        running.append(Streamed(program, preload(**settings), threads, tap, words))
        return running[-1]

    yield run
    for streamed in running:
        streamed.process.kill()
        streamed.process.communicate()


def lost(recording):
    losses = mallow_reader.Header(os.pread(recording.fd, 4096, 0)).losses
    assert not any(count for name, count in losses.items() if name != "stream_buffer"), losses
    return losses["stream_buffer"]


def steps(reader):
    """The events of the rounds: blocks of 16 to 603 bytes. Threads, the loader and stdio have a few more."""
    return sum(1 for event in reader.events if event.op in (1, 20))


def assert_bounded(recording, threads):
    """Threads that seal their slots at once may each exceed the bound by one, and once for definitions."""
    slots = 2 * threads + 1  # of threads, and of those that had not quite ended
    assert recording.taken - recording.slots <= BUFFER + 4096 + slots * 65536
    assert recording.slots <= slots * 65536


def assert_whole(streamed, path, tool):
    """All events are there, or were counted, and everything that they refer to is there."""
    reader = mallow_reader.read(path)
    assert not reader.damages and reader.missing == 0
    assert reader.dangling() == ([], [])
    assert reader.header.losses["broken_stacks"] == 0
    assert 0 <= steps(reader) + reader.header.lost - streamed.events < 200
    tool.assert_equal_sums(path)
    return reader


@pytest.mark.parametrize("slots", ["shared", "private"])
@pytest.mark.parametrize("threads", [1, 4])
def test_whole_while_somebody_receives(threads, slots, start, tool, tmp_path):
    streamed = start(threads, SLOTS=slots)
    recording = streamed.recording
    assert "mallow-stream:%d" % streamed.process.pid in recording.name
    pulled = 0
    for _ in range(6):
        streamed.round(20_000 // threads)
        pulled += recording.pull()
    assert streamed.end() == ""
    pulled += recording.pull()  # what threads sealed that had not quite ended
    assert lost(recording) == 0 and pulled > BUFFER
    reader = assert_whole(streamed, recording.save(tmp_path / "r.mallow"), tool)
    assert reader.header.ended and reader.header.private_slots == (slots == "private")
    assert not [name for name in os.listdir(tmp_path) if name != "r.mallow"]


@pytest.mark.parametrize("threads, slots", diagonals([1, 4], ["shared", "private"]))
def test_bounded_while_nobody_receives(threads, slots, start, tool, tmp_path):
    """Memory stays within the bound, each event that does not fit is counted, and definitions are whole. When there
    is room again, recording goes on."""
    streamed = start(threads, SLOTS=slots)
    recording = streamed.recording
    for _ in range(5):
        streamed.round(100_000 // threads)
        assert_bounded(recording, threads)
    before = lost(recording)
    assert before > streamed.events // 2 or slots == "private"  # then the header lags behind
    # The receiver comes back.
    assert recording.pull() > BUFFER // 2
    time.sleep(0.02)  # the agent looks again when the kernel's clock has ticked
    streamed.round(1000)
    assert lost(recording) == before or slots == "private"
    recording.pull()
    streamed.round(300_000 // threads)
    assert lost(recording) > before or slots == "private"
    assert_bounded(recording, threads)
    errors = streamed.end()
    assert LINE.match(errors) and re.fullmatch(rf"{LINE.pattern}mallow: recording '.*' ends; events lost: \d+\n", errors)
    reader = assert_whole(streamed, recording.save(tmp_path / "r.mallow"), tool)
    assert reader.header.ended


def test_what_is_in_memory_is_a_recording(start, tool):
    """Any view can be asked for it by its descriptor, also where chunks have been punched out."""
    streamed = start()
    streamed.round(30_000)
    path = f"/proc/{streamed.process.pid}/fd/{descriptor_of(streamed.process.pid)}"
    assert mallow_reader.read(path).dangling() == ([], [])
    assert "leaf" in tool("report", path).stdout
    assert streamed.end() == ""


def descriptor_of(pid):
    fd, = (fd for fd in os.listdir(f"/proc/{pid}/fd") if "mallow-stream:" in os.readlink(f"/proc/{pid}/fd/{fd}"))
    return int(fd)


def test_nobody_can_make_it_smaller(start):
    """A store through a mapping beyond the file's end would kill the program."""
    streamed = start()
    recording = streamed.recording
    with pytest.raises(PermissionError):
        os.ftruncate(recording.fd, 4096)
    streamed.round(1000)
    assert streamed.end() == ""


def test_fork_and_exec(start, tap, tool, tmp_path):
    """A child and the next image of the program have recordings of their own."""
    streamed = start()
    streamed.say("fork")
    assert streamed.process.stdout.readline() == "done\n"
    child = tap.next()
    streamed.say("exec")
    streamed.round(500)
    image = tap.next()
    assert streamed.end() == ""
    readers = [mallow_reader.read(recording.save(tmp_path / f"{number}.mallow"))
               for number, recording in enumerate((streamed.recording, child, image))]
    first, forked, executed = readers
    assert forked.header.parent_id == executed.header.parent_id == first.header.id
    assert forked.header.begun_by_fork and steps(forked) >= 2000 and steps(executed) >= 1000
    assert all(reader.header.ended and not reader.missing and not reader.header.lost for reader in readers)


def test_killed(start, tool, tmp_path):
    """What was recorded is there for whoever has the descriptor."""
    streamed = start()
    streamed.round(5000)
    streamed.process.send_signal(signal.SIGKILL)
    streamed.process.wait()
    reader = assert_whole(streamed, streamed.recording.save(tmp_path / "r.mallow"), tool)
    assert not reader.header.ended


@pytest.mark.parametrize("settings", [{"CULL": "1h"}, {"FREE_STACKS": 1}, {"BACKTRACE": "none"}, {"UNWINDER": "plain"},
                                      {"SAMPLE": 4096}], ids=lambda settings: "".join(settings))
def test_bounded_with_other_settings(settings, start, tmp_path):
    streamed = start(2, **settings)
    for _ in range(3):
        streamed.round(60_000)
        assert_bounded(streamed.recording, 2)
    streamed.end()
    reader = mallow_reader.read(streamed.recording.save(tmp_path / "r.mallow"))
    assert not reader.damages and not reader.missing and reader.dangling() == ([], [])
    if "CULL" in settings:
        assert reader.header.lost == 0
    elif "SAMPLE" not in settings:
        assert 0 <= steps(reader) + reader.header.losses["stream_buffer"] - streamed.events < 200


def test_tags_are_right_after_losses(start, tmp_path):
    """A tag that found no room is made up for before the next event."""
    streamed = start(2, words=["tags"])
    for _ in range(4):
        streamed.round(60_000)
        assert_bounded(streamed.recording, 2)
        streamed.recording.pull()
        time.sleep(0.02)
        streamed.round(100)
    streamed.end()
    reader = mallow_reader.read(streamed.recording.save(tmp_path / "r.mallow"))
    blocks = [event for event in reader.events if event.op == 1 and 1000 < event.size < 1008]
    assert len(blocks) > 10_000 and reader.header.losses["stream_buffer"] > 100_000
    assert all(event.tag == event.size - 1000 for event in blocks)
    assert 0 <= steps(reader) + reader.header.losses["stream_buffer"] - streamed.events < 200


@pytest.fixture
def run_tapped(preload, tap, tmp_path):
    def run(command, **options):
        environment = preload(STREAM_ONLY=1, REGISTRY=tap.registry, FOLLOW=0)
        run = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True,
                             timeout=60, **options)
        return run, mallow_reader.read(tap.next().save(tmp_path / "r.mallow"))

    return run


@pytest.mark.parametrize("way", ["close", "close_range", "closefrom", "dup2", "raw_close", "raw_close_range"])
def test_descriptors_closed(way, compile_sample, run_tapped, tmp_path):
    """If the program closes ours by a system call of its own, or takes all numbers, the recording ends there: memory
    cannot be opened again."""
    files = tmp_path / "files"
    files.mkdir()
    run, reader = run_tapped([compile_sample("close_all", "gcc", "-O2"), way, files],
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
    assert run.returncode == 7 and not reader.damages and reader.dangling() == ([], [])
    if way.startswith("close"):
        assert run.stderr == "" and reader.header.lost == 0 and reader.header.ended
        return
    assert re.fullmatch("mallow: recording '.*' stopped: the program closed its descriptor .*\n", run.stderr)
    assert steps(reader) > 1000 and reader.header.losses["file_replaced"] > 0


def test_seccomp_filter(compile_sample, run_tapped, tmp_path):
    run, reader = run_tapped([compile_sample("confined", "gcc", "-O2"), "seccomp", tmp_path])
    assert run.stdout == "begin\nok\n" and reader.dangling() == ([], []) and not reader.damages
    assert steps(reader) + reader.header.losses["window_full"] >= 21_000 and steps(reader) > 2000


@pytest.mark.parametrize("name,status", [("fork_threads", 7), ("many_threads", 0)])
def test_other_programs(name, status, compile_sample, run_tapped):
    run, reader = run_tapped([compile_sample(name, "gcc", "-O2")])
    assert run.returncode == status and run.stderr == ""
    assert not reader.damages and not reader.missing and reader.dangling() == ([], []) and reader.header.lost == 0


# --- faults ---

@pytest.fixture
def run_faulty(compile_sample, tap, tmp_path):
    """Runs all_calls under a test build of the agent: it does what it does, and its recordings are sound. Every second
    run has nobody who takes them, and starts the tool."""
    program = compile_sample("all_calls", "gcc", "-O1")

    def run(library, registry=None, **settings):
        settings = {"STREAM_ONLY": 1, "CONNECT": "far", "HELPER": "/bin/true", "REGISTRY": registry or tap.registry,
                    "STREAM_BUFFER": BUFFER, **settings}
        environment = clean_environment({f"MALLOW_{name}": value for name, value in settings.items()})
        run = subprocess.run([program], capture_output=True, text=True, timeout=60,
                             env={**environment, "LD_PRELOAD": str(library)})
        assert (run.returncode, run.stdout) == (7, "ok\n"), (settings, run.stderr)
        lines = run.stderr.splitlines()
        assert all(line.startswith("mallow: ") for line in lines) and len(lines) <= 8, lines
        for recording in tap.rest():
            reader = mallow_reader.read(recording.save(tmp_path / "r.mallow"))
            recording.close()
            assert not reader.damages and reader.dangling() == ([], []), settings
            assert not reader.missing or reader.header.lost
        return lines

    yield run


@pytest.mark.parametrize("name,number", every_other(numbers_of_calls().items(), 1))
def test_a_system_call_that_never_works(name, number, run_faulty):
    for first in (1, 3):
        for registry in (None, "/gone"):
            run_faulty(variant("fail"), registry, TEST_FAIL_AT=first, TEST_FAIL_ERROR=errno.EPERM, TEST_FAIL_COUNT=ENDLESS,
                       TEST_FAIL_CALL=number)


@pytest.mark.parametrize("registry", [None, "/gone"])
def test_some_system_calls_fail(registry, run_faulty):
    for number in range(1, 400, 11):
        run_faulty(variant("fail"), registry, TEST_FAIL_AT=number, TEST_FAIL_ERROR=errno.ENOMEM)


@pytest.mark.parametrize("registry", [None, "/gone"])
def test_handlers_in_system_calls(registry, run_faulty):
    """malloc and free are called in the middle of each system call of the agent."""
    run_faulty(variant("reenter"), registry)


# --- the library alone ---

HELPER = r"""#!/bin/sh
# Stands in for the tool: notes how it was started, and reads the recording when the program has ended.
out={out}
input=$(readlink /proc/$$/fd/0) output=$(readlink /proc/$$/fd/1) fds=$(ls /proc/$$/fd | tr '\n' ' ')
{{
	echo "$@"
	echo "$input"
	echo "$output"
	echo "$fds"
	echo "ppid $(cut -d' ' -f4 /proc/$$/stat) sid $(cut -d' ' -f6 /proc/$$/stat)"
	env | grep -E 'MALLOW|LD_PRELOAD' | sort
}} > "$out/started.$$.new" 2> /dev/null
mv "$out/started.$$.new" "$out/started.$$"
while [ ! -e "$out/go" ]; do sleep 0.02; done
cat "/proc/self/fd/$3" > "$out/read.$$.new"
mv "$out/read.$$.new" "$out/read.$$"
"""


@pytest.fixture
def helper(tmp_path):
    folder = tmp_path / "helper"
    folder.mkdir()
    path = folder / "tool"
    path.write_text(HELPER.format(out=folder))
    path.chmod(0o755)
    yield path
    (folder / "go").touch()
    wait_for(lambda: len(list(folder.glob("read.*[0-9]"))) == len(list(folder.glob("started.*[0-9]"))))


def started(helper, count):
    wait_for(lambda: len(list(helper.parent.glob("started.*[0-9]"))) == count)
    return [path.read_text().splitlines() for path in helper.parent.glob("started.*[0-9]")]


@pytest.mark.parametrize("settings", [{"CONNECT": "far"}, {"LISTEN": "0.0.0.0"}, {"BROADCAST": 1}],
                         ids=lambda settings: "".join(settings))
@pytest.mark.parametrize("mode", ["memory", "file", "live"])
def test_the_library_starts_the_tool(mode, settings, helper, program, preload, tmp_path):
    """Once, with the recording's descriptor and nothing else of the program's. The program does not see it, and does
    not wait for it."""
    made = {"memory": {"STREAM_ONLY": 1}, "file": {"OUTPUT": tmp_path / "r.mallow"}, "live": {"MODE": "live"}}[mode]
    environment = preload({"MALLOW_TOKEN": "secret"}, HELPER=helper, **settings, **made)
    streamed = Streamed(program, environment, 1)
    streamed.round(3000)
    notes, = started(helper, 1)
    words = notes[0].split()
    assert words[:2] == ["stream-recording", "--fd"] and notes[1:3] == ["/dev/null", "/dev/null"]
    assert set(notes[3].split()) - {"3", "10"} == {"0", "1", "2", words[2]}  # sh has a pipe and the script
    pid = next(int(path.suffix[1:]) for path in helper.parent.glob("started.*[0-9]"))
    parent, session = map(int, re.fullmatch(r"ppid (\d+) sid (\d+)", notes[4]).groups())
    assert parent not in (streamed.process.pid, os.getpid()) and session == pid
    variables = dict(line.split("=", 1) for line in notes[5:])
    assert "LD_PRELOAD" not in variables and variables["MALLOW_TOKEN"] == "secret"
    assert {f"MALLOW_{name}": str(value) for name, value in settings.items()}.items() <= variables.items()
    if mode == "live":
        streamed.process.kill()  # its report would be made by the helper, too
        assert streamed.process.wait(10) == -9
        return
    # stderr is the helper's, too, so the pipe does not end: the program does.
    streamed.process.stdin.close()
    assert streamed.process.wait(10) == 0
    assert os.path.exists(f"/proc/{pid}")
    mapped = open(f"/proc/{pid}/maps").read()
    assert "libmallow" not in mapped and "streamed" not in mapped
    (helper.parent / "go").touch()
    wait_for(lambda: (helper.parent / f"read.{pid}").exists())
    reader = mallow_reader.read(helper.parent / f"read.{pid}")
    assert reader.header.ended and reader.header.lost == 0 and steps(reader) >= 6000
    assert (tmp_path / "r.mallow").exists() == (mode == "file")


def test_each_image_has_its_helper(helper, program, preload):
    streamed = Streamed(program, preload(HELPER=helper, CONNECT="far", STREAM_ONLY=1), 1)
    streamed.round(10)
    started(helper, 1)
    streamed.say("fork")
    assert streamed.process.stdout.readline() == "done\n"
    started(helper, 2)
    streamed.say("exec")
    streamed.round(10)
    started(helper, 3)
    streamed.process.stdin.close()
    assert streamed.process.wait(10) == 0
    assert len(started(helper, 3)) == 3


def test_not_by_the_library_under_mallow_run(helper, start, tap):
    """MALLOW_REGISTRY: somebody else sends it."""
    streamed = start(HELPER=helper, CONNECT="far")
    streamed.round(10)
    assert streamed.end() == "" and not list(helper.parent.glob("started*"))


def test_by_the_library_if_nobody_takes_it(helper, program, preload, tmp_path):
    """`mallow run` is gone."""
    streamed = Streamed(program, preload(HELPER=helper, CONNECT="far", STREAM_ONLY=1, REGISTRY="0" * 32 + ":0:0:gone"), 1)
    streamed.round(10)
    started(helper, 1)
    streamed.process.stdin.close()
    assert streamed.process.wait(10) == 0


def test_later_start(helper, preload):
    code = ("import os, signal, time; os.kill(os.getpid(), signal.SIGUSR1)\n"
            "x = [str(i) for i in range(3000)]")
    subprocess.run(["/usr/bin/python3", "-c", "x = [str(i) for i in range(3000)]"], check=True, stderr=subprocess.DEVNULL,
                   env=preload(HELPER=helper, CONNECT="far", STREAM_ONLY=1, DISABLE_BY_DEFAULT=1))
    assert not list(helper.parent.glob("started*"))
    subprocess.run(["/usr/bin/python3", "-c", code], check=True, stderr=subprocess.DEVNULL,
                   env=preload(HELPER=helper, CONNECT="far", STREAM_ONLY=1, DISABLE_BY_DEFAULT=1))
    assert len(started(helper, 1)) == 1


@pytest.mark.parametrize("path,why", [("/nowhere/tool", "No such file or directory"), ("{}", "error 8")])
def test_no_tool(path, why, program, preload, tmp_path):
    """One line, and the recording goes where it would have gone."""
    (tmp_path / "broken").write_text("\0")
    (tmp_path / "broken").chmod(0o755)
    path = path.format(tmp_path / "broken")
    streamed = Streamed(program, preload(HELPER=path, CONNECT="far", OUTPUT=tmp_path / "r.mallow"), 1)
    streamed.round(10)
    assert streamed.end() == (f"mallow: the recording is not sent: '{path}' cannot be executed: {why}; "
                              "MALLOW_HELPER names the tool\n")
    assert mallow_reader.read(tmp_path / "r.mallow").header.ended


def test_nowhere_to_send(program, preload, tmp_path):
    streamed = Streamed(program, preload(STREAM_ONLY=1, OUTPUT=tmp_path / "r.mallow"), 1)
    streamed.round(10)
    assert re.fullmatch("mallow: MALLOW_STREAM_ONLY is ignored, .*\n", streamed.end())
    assert mallow_reader.read(tmp_path / "r.mallow").header.ended
