#include "cli/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output/pager.h"
#include "hosted/cleanup.h"

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

static void release(struct output *output)
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
	release(output);
	return err;
}
