#include "cli/serve/serving.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/encode.h"
#include "hosted/page_size.h"

#define ADDRESS "\"$1\"" /* as the shell has it: nothing in it is taken for a command */

/* One browser of the list: its command with the address where %s stands, else behind it. */
static void put_browser(struct buf *script, const char *command, size_t length)
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
static void put_browsers(struct buf *script)
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
		put_browser(script, list, (size_t)(end - list));
	}
}

/* Becomes the shell, in a session of its own. */
static void execute_browsers(const char *script, const char *address)
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
static bool start_browser(const char *script, const char *address)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return false;
	if (child == 0) {
		pid_t browser = fork();

		if (browser == 0)
			execute_browsers(script, address);
		_exit(browser < 0);
	}
	return waitpid(child, &status, 0) == child && status == 0;
}

/*
 * Opens an address in the user's browser: $BROWSER, which may name several with ':' between and has
 * %s where the address belongs, else xdg-open where there is a display. *ret: false: there is none.
 * The browser belongs to no terminal: Ctrl-C does not reach it, and nobody waits for it. Everybody
 * sees the address in its argument list.
 */
static struct err *open_browser(const char *address, bool *ret)
{
	cleanup(buf_deinit) struct buf script = BUF_EMPTY;
	const char *text;

	put_browsers(&script);
	text = buf_string(&script);
	if (!text)
		return err_no_memory();
	*ret = *text && start_browser(text, address);
	return NULL;
}

/* Adds advice: most often another `mallow serve` listens there. */
static struct err *with_advice(struct err *err)
{
	struct err *advice;

	if (err_number(err) != EADDRINUSE)
		return err;
	advice = err_create("%s: choose another by --port N, or any free one by --port 0",
			    err_message(err));
	err_destroy(err);
	return advice;
}

static struct err *start_http(const struct serving *serving, struct catalog *catalog,
			      struct http_server **ret)
{
	struct http_options http = serving->http;
	struct err *err = http_start(&http, catalog, ret);

	if (!err || !serving->any_port || err_number(err) != EADDRINUSE)
		return err;
	err_destroy(err);
	http.port = 0;
	return http_start(&http, catalog, ret);
}

/*
 * Opens the page. Where a token is asked for, the browser gets a code that is good for once,
 * because everybody sees its argument list. What is printed has neither.
 */
static struct err *open_page(struct http_server *server, bool token, const char *place)
{
	cleanup(buf_deinit) struct buf page = BUF_EMPTY;
	const char *address = http_address(server);
	char code[SESSION_TEXT] = "";
	struct err *err = token ? http_code(server, code) : NULL;
	bool opened = false;

	if (err)
		return err;
	buf_printf(&page, token ? "%s/?code=%s%s" : "%s/%s%s", address, code, place);
	err = buf_string(&page) ? open_browser(buf_string(&page), &opened) : buf_finish(&page);
	if (err)
		return err;
	if (opened)
		fprintf(stderr, "opening %s/\n", address);
	else if (token)
		fprintf(stderr, "open %s/#token=TOKEN in a browser, with your token for TOKEN\n",
			address);
	else
		fprintf(stderr, "open %s/ in a browser\n", address);
	return NULL;
}

/*
 * glibc keeps freed memory for the thread that had it: in one arena for each of many threads, and
 * of single blocks as much as the largest one that was ever freed, up to 32 MB. Here each
 * connection is a thread, and most of what it needs is needed for one answer.
 */
#define ARENAS      4
#define BLOCK_LARGE (128 << 10) /* goes back to the kernel at once; as glibc begins */

static void keep_little_freed(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MMAP_THRESHOLD, BLOCK_LARGE);
	mallopt(M_TRIM_THRESHOLD, 2 * BLOCK_LARGE);
}

/* Writes where the page shows a moment, behind the address; NULL: nothing. */
static void put_place(struct buf *buf, const char *moment)
{
	if (!moment)
		return;
	buf_text(buf, "#/overview?alive_at=");
	uri_put(buf, moment);
}

int serving_run(const struct serving *serving, struct catalog *catalog)
{
	cleanup(http_stop_at) struct http_server *server = NULL;
	cleanup(buf_deinit) struct buf place = BUF_EMPTY;
	struct err *err;
	sigset_t ends;
	int number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	keep_little_freed();
	err = start_http(serving, catalog, &server);
	if (err)
		return cli_report_err(with_advice(err));
	put_place(&place, serving->moment);
	if (!buf_string(&place))
		return cli_report_err(buf_finish(&place));
	if (printf("listening on %s%s%s\n", http_address(server), place.size ? "/" : "",
		   buf_string(&place)) < 0 ||
	    fflush(stdout) != 0)
		return cli_error(CLI_FAILED, "cannot write standard output");
	if (serving->open)
		cli_report_err(open_page(server, serving->http.token != NULL, buf_string(&place)));
	sigwait(&ends, &number);
	// From now on a second signal ends the process, for users who do not want to wait for
	// requests under way.
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
	return CLI_OK;
}

uint64_t serving_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 ? (uint64_t)pages / 4 * page_size() : UINT64_MAX;
}
