#include "cli/output/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_THERE 126 /* what a shell exits with if it cannot execute a command: 126 or 127 */

struct pager {
	const char *command;
	size_t height;   /* lines of the terminal */
	struct buf held; /* what was written until the pager began, kept until it ends */
	size_t lines;    /* of that */
	FILE *pipe;      /* NULL: it has not begun */
	bool left;       /* the user has ended it */
};

static bool forbidden;

void pager_forbid(void)
{
	forbidden = true;
}

/* The command; NULL: none is wanted. */
static const char *find_command(void)
{
	const char *command = getenv("PAGER");
	const char *term = getenv("TERM");

	if (forbidden || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return NULL;
	if (!command)
		return "less";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

struct err *pager_create(struct pager **ret)
{
	const char *command = find_command();
	struct winsize size;

	*ret = NULL;
	if (!command || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row)
		return NULL;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return err_no_memory();
	(*ret)->command = command;
	(*ret)->height = size.ws_row;
	buf_init(&(*ret)->held);
	return NULL;
}

static int write_pipe(struct pager *pager, const void *data, size_t size)
{
	if (pager->left || fwrite(data, 1, size, pager->pipe) == size)
		return 0;
	pager->left = errno == EPIPE;
	return pager->left ? 0 : errno;
}

static int begin(struct pager *pager)
{
	// The terminal sends Ctrl-C to both; the pager decides what it means.
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	// F: it ends where all fits, R: colours, X: the text stays on the screen.
	setenv("LESS", "FRX", 0);
	pager->pipe = popen(pager->command, "we");
	if (!pager->pipe)
		return errno;
	return write_pipe(pager, pager->held.data, pager->held.size);
}

static int take(void *argument, const void *data, size_t size)
{
	struct pager *pager = argument;

	if (pager->pipe)
		return write_pipe(pager, data, size);
	buf_put(&pager->held, data, size);
	if (pager->held.failure)
		return pager->held.failure;
	for (size_t i = 0; i < size; i++)
		pager->lines += ((const char *)data)[i] == '\n';
	return pager->lines < pager->height ? 0 : begin(pager);
}

void pager_take_over(struct pager *pager, struct buf *buf)
{
	buf_init_sink(buf, take, pager, "standard output");
	buf->shown = true;
}

struct err *pager_finish(struct pager *pager)
{
	struct buf out;
	struct err *err;
	int status = 0;

	if (pager->pipe)
		status = pclose(pager->pipe);
	// Without a pager, and where there is none of that name.
	buf_init_fd(&out, STDOUT_FILENO, "standard output");
	if (!pager->pipe || (WIFEXITED(status) && WEXITSTATUS(status) >= NOT_THERE))
		buf_append(&out, &pager->held);
	err = buf_finish(&out);
	buf_deinit(&out);
	buf_deinit(&pager->held);
	free(pager);
	return err;
}
