#include "cli/suppressions_file.h"

#include <errno.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"

#define SIZE_MOST ((size_t)16 << 20) /* what is larger is something else */

CLEANUP_DEFINE(struct suppressions *, suppressions_destroy);

static struct err *read_all(const char *path, struct buf *ret)
{
	auto_fclose FILE *file = fopen(path, "re");
	char piece[4096];
	size_t size;

	if (!file)
		return err_create_errno(errno, "%s", path);
	while ((size = fread(piece, 1, sizeof(piece), file))) {
		buf_put(ret, piece, size);
		if (ret->size > SIZE_MOST)
			return err_create("%s is too large for suppressions", path);
	}
	return ferror(file) ? err_create_errno(errno, "%s", path) : buf_finish(ret);
}

struct err *suppressions_file_read(const char *path, struct suppressions **ret)
{
	cleanup(suppressions_destroy_at) struct suppressions *suppressions = NULL;
	cleanup(buf_deinit) struct buf text;
	struct err *err;

	buf_init(&text);
	err = read_all(path, &text);
	if (!err)
		err = suppressions_create(&suppressions);
	if (!err)
		err = suppressions_add(suppressions, path, text.data, text.size);
	if (!err)
		*ret = steal(&suppressions);
	return err;
}
