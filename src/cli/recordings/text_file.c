#include "cli/recordings/text_file.h"

#include <errno.h>

#include "hosted/cleanup.h"

#define SIZE_MOST ((size_t)16 << 20) /* a larger file is something else */

struct err *text_file_read(const char *path, const char *what, struct buf *ret)
{
	auto_fclose FILE *file = fopen(path, "re");
	char piece[4096];
	size_t size;

	if (!file)
		return err_create_errno(errno, "%s", path);
	while ((size = fread(piece, 1, sizeof(piece), file))) {
		buf_put(ret, piece, size);
		if (ret->size > SIZE_MOST)
			return err_create("%s is too large for %s", path, what);
	}
	return ferror(file) ? err_create_errno(errno, "%s", path) : buf_finish(ret);
}
