#include <errno.h>

#include "analysis/recording_source.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "server/data/catalog_data.h"

/* For so long, what is known of a recording is used without a look at its file. */
#define FRESH_NS UINT64_C(1000000000)

struct err *catalog_read_header(const char *path, struct trace_header *ret)
{
	cleanup(recording_source_close) struct recording_source source = {0};
	uint8_t head[sizeof(*ret)];
	struct err *err;
	size_t size;

	err = recording_source_open(path, &source);
	if (!err)
		err = byte_source_read(source.bytes, 0, head, sizeof(head), &size);
	if (err)
		return err;
	switch (header_check(head, size, ret)) {
	case HEADER_VALID:
		return NULL;
	case HEADER_NEWER:
		return err_create("'%s' is a recording of a later version of mallow", path);
	case HEADER_CUT:
		return err_create("'%s' is a recording that is cut short within its header", path);
	default:
		return err_create("'%s' is not a recording", path);
	}
}

struct err *catalog_see(const char *path, struct seen *ret)
{
	struct seen seen = {.at_ns = now_ns()};

	if (stat(path, &seen.status) < 0)
		return err_create_errno(errno, "cannot open '%s'", path);
	*ret = seen;
	return NULL;
}

bool catalog_is_stale(const char *path, const struct seen *seen)
{
	const struct stat *then = &seen->status;
	struct stat now;

	if (now_ns() - seen->at_ns < FRESH_NS || stat(path, &now) < 0)
		return false;
	return seen->writing || now.st_size != then->st_size || now.st_ino != then->st_ino ||
	       now.st_dev != then->st_dev || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}
