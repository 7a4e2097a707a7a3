#include "cli/serve/open_browser.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

#define ADDRESS "\"$1\"" /* as the shell has it: nothing in it is taken for a command */

/* One browser of the list: its command with the address where %s stands, else behind it. */
static void put_command(struct buf *script, const char *command, size_t length)
{
	const char *end = command + length;
	bool placed = false;

	for (const char *at = command; at < end; at++)
		if (at + 1 < end && at[0] == '%' && at[1] == 's') {
			buf_text(script, ADDRESS);
			placed = true;
			at++;
		} else {
			buf_char(script, *at);
		}
	if (!placed)
		buf_text(script, " " ADDRESS);
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_on_path(const char *program)
{
	const char *path = variable("PATH");

	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(path, ":"), path, program);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* A script that tries one browser after the other. "": there is none. */
static void put_script(struct buf *script)
{
	const char *list = variable("BROWSER");
	const char *end;

	if (!list && (variable("DISPLAY") || variable("WAYLAND_DISPLAY")) && is_on_path("xdg-open"))
		list = "xdg-open";
	for (; list && *list; list = end + (*end == ':')) {
		end = strchrnul(list, ':');
		if (end == list)
			continue;
		if (script->size)
			buf_text(script, " || ");
		put_command(script, list, (size_t)(end - list));
	}
}

/* Becomes the shell, in a session of its own. */
static void execute(const char *script, const char *address)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	execl("/bin/sh", "sh", "-c", script, "sh", address, NULL);
	_exit(127);
}

/* Starts it as a child of init, so that no one has to wait for it. false: there is no process. */
static bool start(const char *script, const char *address)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return false;
	if (child == 0) {
		pid_t browser = fork();

		if (browser == 0)
			execute(script, address);
		_exit(browser < 0);
	}
	return waitpid(child, &status, 0) == child && status == 0;
}

struct err *open_browser(const char *address, bool *ret)
{
	cleanup(buf_deinit) struct buf script = BUF_EMPTY;
	const char *text;

	put_script(&script);
	text = buf_string(&script);
	if (!text)
		return err_no_memory();
	*ret = *text && start(text, address);
	return NULL;
}
