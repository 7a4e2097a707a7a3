#include "cli/options/plumbing_option.h"

#include "cli/recordings/text_file.h"
#include "hosted/cleanup.h"

struct err *plumbing_option_read(const char *path, struct plumbing **ret)
{
	cleanup(plumbing_destroy_at) struct plumbing *plumbing = NULL;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	if (!path)
		return NULL;
	err = plumbing_create(&plumbing);
	if (!err)
		err = text_file_read(path, "plumbing", &text);
	if (!err)
		err = plumbing_add(plumbing, path, text.data, text.size);
	if (!err)
		*ret = steal(&plumbing);
	return err;
}
