#include "cli/options/suppressions_file.h"

#include "cli/recordings/text_file.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct suppressions *, suppressions_destroy);

struct err *suppressions_file_read(const char *path, struct suppressions **ret)
{
	cleanup(suppressions_destroy_at) struct suppressions *suppressions = NULL;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	err = text_file_read(path, "suppressions", &text);
	if (!err)
		err = suppressions_create(&suppressions);
	if (!err)
		err = suppressions_add(suppressions, path, text.data, text.size);
	if (!err)
		*ret = steal(&suppressions);
	return err;
}
