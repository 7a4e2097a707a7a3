#include "cli/serve/serving.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/serve/open_browser.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/encode.h"

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

static struct err *start(const struct serving *serving, struct catalog *catalog,
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
	bool opened;

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
	err = start(serving, catalog, &server);
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

	return pages > 0 ? (uint64_t)pages / 4 * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}
