#include "cli/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/buf.h"

#define NOT_THERE 126 /* what a shell exits with if it cannot execute a command: 126 or 127 */

/*
 * Shows a text that is longer than the terminal, as git does: by what PAGER says, else by less,
 * which ends by itself where all fits. Shorter texts are written as they are.
 */
struct pager {
	const char *command;
	size_t height;   /* lines of the terminal */
	struct buf held; /* what was written until the pager began, kept until it ends */
	size_t lines;    /* of that */
	FILE *pipe;      /* NULL: it has not begun */
	bool left;       /* the user has ended it */
};

static bool pager_forbidden;

void output_forbid_pager(void)
{
	pager_forbidden = true;
}

/* The command; NULL: none is wanted. */
static const char *find_pager(void)
{
	const char *command = getenv("PAGER");
	const char *term = getenv("TERM");

	if (pager_forbidden || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return NULL;
	if (!command)
		return "less";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* *ret: for a text on standard output. NULL: none is wanted, as it goes to no terminal. */
static struct err *pager_create(struct pager **ret)
{
	const char *command = find_pager();
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

static int pager_begin(struct pager *pager)
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

static int pager_take(void *argument, const void *data, size_t size)
{
	struct pager *pager = argument;

	if (pager->pipe)
		return write_pipe(pager, data, size);
	buf_put(&pager->held, data, size);
	if (pager->held.failure)
		return pager->held.failure;
	for (size_t i = 0; i < size; i++)
		pager->lines += ((const char *)data)[i] == '\n';
	return pager->lines < pager->height ? 0 : pager_begin(pager);
}

/* The buf writes through the pager, and lets no hidden character through. */
static void pager_take_over(struct pager *pager, struct buf *buf)
{
	buf_init_sink(buf, pager_take, pager, "standard output");
	buf->shown = true;
}

/* Shows the rest, waits until the user has seen it, and frees the pager. */
static struct err *pager_finish(struct pager *pager)
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

bool output_spares(const struct options *options, size_t id)
{
	const char *path = options->values[id];
	struct stat written, read;

	if (!path || stat(path, &written) < 0 || !S_ISREG(written.st_mode))
		return true;
	for (int i = 0; i < options->operand_count; i++) {
		if (stat(options->operands[i], &read) < 0 || read.st_dev != written.st_dev ||
		    read.st_ino != written.st_ino)
			continue;
		cli_error(CLI_USAGE, "'%s' would be overwritten: it is what is read", path);
		return false;
	}
	return true;
}

static struct err *open_temporary(const char *path, struct output *output)
{
	mode_t mask = umask(0);

	umask(mask);
	if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
		output->temporary = NULL;
		return err_no_memory();
	}
	output->fd = mkostemp(output->temporary, O_CLOEXEC);
	if (output->fd < 0)
		return err_create_errno(errno, "cannot write '%s'", path);
	fchmod(output->fd, 0666 & ~mask);
	return NULL;
}

/*
 * Opens the file. A name that exists and is no regular file, such as /dev/stdout, is written to
 * directly.
 */
static struct err *open_file(const char *path, struct output *output)
{
	struct stat st;
	struct err *err = NULL;

	output->path = strdup(path);
	if (!output->path)
		return err_no_memory();
	if (lstat(path, &st) < 0 || S_ISREG(st.st_mode)) {
		err = open_temporary(path, output);
	} else {
		output->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
		if (output->fd < 0)
			err = err_create_errno(errno, "cannot write '%s'", path);
	}
	return err;
}

static void output_release(struct output *output)
{
	if (output->path && output->fd >= 0)
		close(output->fd);
	buf_deinit(&output->buf);
	free(output->temporary);
	free(output->path);
}

struct err *output_open(const char *path, struct output *ret)
{
	struct output output = {.fd = STDOUT_FILENO};

	if (path && strcmp(path, "-") != 0) {
		struct err *err;

		output.fd = -1;
		err = open_file(path, &output);
		if (err) {
			free(output.temporary);
			free(output.path);
			return err;
		}
	}
	*ret = output;
	buf_init_fd(&ret->buf, ret->fd, ret->path ? ret->path : "standard output");
	ret->buf.shown = true;
	return NULL;
}

struct err *output_open_page(struct output *ret)
{
	struct err *err = output_open(NULL, ret);

	if (!err)
		err = pager_create(&ret->pager);
	if (!err && ret->pager) {
		buf_deinit(&ret->buf);
		pager_take_over(ret->pager, &ret->buf);
	}
	return err;
}

struct err *output_close(struct output *output, struct err *err)
{
	if (!err)
		err = buf_finish(&output->buf);
	if (output->pager && !err)
		err = pager_finish(output->pager);
	else if (output->pager)
		err_destroy(pager_finish(output->pager));
	if (!err && output->temporary && rename(output->temporary, output->path) < 0)
		err = err_create_errno(errno, "cannot write '%s'", output->path);
	if (err && output->temporary)
		unlink(output->temporary);
	output_release(output);
	return err;
}
