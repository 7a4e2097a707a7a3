"""mallow serve: several recordings are read at the same time, each when it is asked for.

Time is no proof of that. A library in the server notes who opens a recording in a file of that name
and ".opens". Where there is one with ".hold" behind it, the next one to open the recording is held
up: it takes the file away, leaves one with ".held", and waits until that is gone. What happens in
the meantime happens at the same time.
"""
import os
import subprocess
import threading

import pytest

import golden_recording
from servers import serve, until  # noqa: F401

HOLD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int open_function(const char *path, int flags, ...);

static void note(open_function *real, const char *path)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s.opens", path);
	fd = real(name, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
	if (write(fd, "x", 1) != 1)
		_exit(99);
	close(fd);
}

static void wait_if_held(const char *path)
{
	char hold[4096], held[4096];

	snprintf(hold, sizeof(hold), "%s.hold", path);
	snprintf(held, sizeof(held), "%s.held", path);
	if (rename(hold, held) == 0)
		while (access(held, F_OK) == 0)
			usleep(1000);
}

/* The name of open() in programs for files of any size. */
int open64(const char *path, int flags, ...)
{
	open_function *real = (open_function *)dlsym(RTLD_NEXT, "open64");
	size_t length = strlen(path);
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (length > 7 && strcmp(path + length - 7, ".mallow") == 0) {
		note(real, path);
		wait_if_held(path);
	}
	return real(path, flags, mode);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hold")
    (folder / "hold.c").write_text(HOLD)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "hold.so", folder / "hold.c", "-ldl"],
                   check=True)
    return folder / "hold.so"


class Held:
    """Four recordings and their server, without any that it has read but for their headers."""

    def __init__(self, folder, library, serve):  # noqa: F811
        self.ids = [bytes([i] * 16).hex() for i in range(1, 5)]
        self.paths = [folder / f"{i}.mallow" for i in range(1, 5)]
        for path, identity in zip(self.paths, self.ids):
            data = bytearray(golden_recording.lamp())
            data[16:32] = bytes.fromhex(identity)
            path.write_bytes(data)
        self.server = serve(*self.paths, env={"LD_PRELOAD": library})
        self.threads, self.answers = [], {}

    def hold(self, *numbers):
        for number in numbers:
            self.beside(number, "hold").touch()

    def let_go(self, *numbers):
        for number in numbers:
            self.beside(number, "held").unlink()

    def is_held(self, number):
        """Whether somebody is held up who opens it."""
        return self.beside(number, "held").exists()

    def opens(self, number):
        return len(self.beside(number, "opens").read_bytes())

    def beside(self, number, suffix):
        path = self.paths[number]
        return path.with_name(f"{path.name}.{suffix}")

    def allocations(self, number):
        return self.server.json(f"/data/{self.ids[number]}/allocations")["total_count"]

    def ask(self, name, question, *arguments):
        def run():
            self.answers[name] = question(*arguments)
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def end(self):
        for number in range(len(self.paths)):
            self.beside(number, "hold").unlink(missing_ok=True)
            self.beside(number, "held").unlink(missing_ok=True)
        for thread in self.threads:
            thread.join()


@pytest.fixture
def held(tmp_path, library, serve):  # noqa: F811
    held = Held(tmp_path, library, serve)
    yield held
    held.end()


def test_two_are_loaded_while_others_are_served(held):
    held.hold(0, 1)
    held.ask("first", held.allocations, 0)
    held.ask("second", held.allocations, 1)
    until(lambda: held.is_held(0) and held.is_held(1))
    assert held.allocations(2) == 2
    assert [row["id"] for row in held.server.json("/list")] == held.ids
    assert held.answers == {}
    held.let_go(1)
    until(lambda: held.answers == {"second": 2})
    assert held.is_held(0)
    held.let_go(0)
    until(lambda: held.answers == {"first": 2, "second": 2})


def test_several_are_read_for_a_list(held):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor reads one after the other")
    held.hold(0, 1)
    held.ask("list", held.server.json, "/list")
    until(lambda: held.is_held(0) and held.is_held(1))
    assert held.allocations(0) == 2  # nor does who asks for it wait for the list
    held.let_go(0, 1)
    until(lambda: "list" in held.answers)
    assert [row["id"] for row in held.answers["list"]] == held.ids


def test_only_what_is_asked_for_is_read(held):
    """At the start all are treated alike: their headers are read."""
    assert held.allocations(1) == 2 and held.allocations(1) == 2
    held.server.end()
    alike = [held.opens(number) for number in (0, 2, 3)]
    assert len(set(alike)) == 1 and held.opens(1) == alike[0] + 1
