#include "cli/serving.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/open_browser.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct http_server *, http_stop);

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
 * Opens the page. Its script finds the token behind '#', which browsers send to nobody, and keeps
 * it as a cookie.
 */
static struct err *open_page(const char *address, const char *token)
{
	cleanup(buf_deinit) struct buf page = BUF_EMPTY;
	const char *text;

	buf_printf(&page, "%s/", address);
	if (token)
		buf_text(&page, "#token=");
	for (; token && *token; token++)
		buf_printf(&page, "%%%02X", (unsigned char)*token);
	text = buf_string(&page);
	return text ? open_browser(text) : err_no_memory();
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

int serving_run(const struct serving *serving, struct catalog *catalog)
{
	cleanup(http_stop_at) struct http_server *server = NULL;
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
	if (printf("listening on %s\n", http_address(server)) < 0 || fflush(stdout) != 0)
		return cli_error(CLI_FAILED, "cannot write standard output");
	if (serving->open)
		cli_report_err(open_page(http_address(server), serving->http.token));
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
