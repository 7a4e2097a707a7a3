#include "cli/recordings/loaded.h"

#include <errno.h>
#include <string.h>

#include "analysis/index/index_file.h"
#include "analysis/views/series_stored.h"
#include "cli/cli.h"
#include "cli/output/terminal.h"
#include "cli/recordings/file_kind.h"
#include "hosted/cleanup.h"
#include "hosted/files/spill.h"

/* fd: the open file; -1: path is opened. ahead: what was loaded already, or NULL. *ret: empty. */
static struct err *load_recording(const char *path, int fd, unsigned int needs,
				  struct growing *ahead, struct progress *progress,
				  struct loaded *ret)
{
	struct err *err;

	spill_use_free_memory();
	if (ahead)
		err = growing_finish(ahead, progress_update, progress, &ret->recording);
	else if (fd >= 0)
		err = recording_open_descriptor(path, fd, needs, &ret->recording);
	else
		err = recording_open(path, needs, progress_update, progress, &ret->recording);
	if (!err && fd < 0)
		index_file_renew(ret->recording);
	if (err)
		loaded_close(ret);
	return err;
}

/* Says which recording was opened, if a core dump led to one. */
static void say_followed(const char *path, const struct recording *recording)
{
	const char *opened = recording_facts(recording)->path;

	if (strcmp(opened, path) != 0)
		cli_error(CLI_OK, "'%s' is of a program that was recorded: reading '%s'", path,
			  opened);
}

static bool open_with(const char *path, int fd, unsigned int needs, struct growing *ahead,
		      const struct naming *naming, struct loaded *ret)
{
	cleanup(progress_deinit) struct progress progress = {0};
	struct loaded loaded = {0};
	struct err *err;

	progress_init(&progress, "loading");
	err = fd < 0 ? file_kind_check(path) : NULL;
	if (!err)
		err = load_recording(path, fd, needs, ahead, &progress, &loaded);
	// Errors of the heap need every block, sums do not: better a report without findings than
	// none.
	if (err && err_number(err) == ENOMEM && needs & RECORDING_RUN_FACTS) {
		err_destroy(err);
		growing_close(steal(&ahead));
		err = load_recording(path, fd, needs & ~(unsigned int)RECORDING_RUN_FACTS, NULL,
				     &progress, &loaded);
	}
	if (!err && naming)
		err = symbolized_create(loaded.recording, naming, &loaded.symbolized);
	growing_close(ahead);
	progress_deinit(&progress);
	if (!err)
		say_followed(path, loaded.recording);
	if (err) {
		loaded_close(&loaded);
		cli_report_err(err);
		return false;
	}
	*ret = loaded;
	return true;
}

bool loaded_open_needs(const char *path, unsigned int needs, const struct naming *naming,
		       struct loaded *ret)
{
	return open_with(path, -1, needs, NULL, naming, ret);
}

bool loaded_open(const char *path, const struct naming *naming, struct loaded *ret)
{
	return loaded_open_needs(path, RECORDING_SUMS, naming, ret);
}

bool loaded_open_filterable(const char *path, const struct naming *naming, struct loaded *ret)
{
	return loaded_open_needs(path, RECORDING_BLOCKS, naming, ret);
}

bool loaded_open_errors(const char *path, const struct naming *naming, struct loaded *ret)
{
	return loaded_open_needs(path, RECORDING_HEAP_ERRORS, naming, ret);
}

bool loaded_open_blocks(const char *path, struct loaded *ret)
{
	return loaded_open_needs(
		path, RECORDING_BLOCKS | RECORDING_HEAP_ERRORS | RECORDING_RUN_FACTS, NULL, ret);
}

bool loaded_open_facts(const char *path, const struct naming *naming, struct loaded *ret)
{
	return loaded_open_needs(path, RECORDING_RUN_FACTS, naming, ret);
}

bool loaded_open_checked(const char *path, const struct naming *naming, struct loaded *ret)
{
	return loaded_open_needs(path, RECORDING_CHECKED, naming, ret);
}

bool loaded_open_to_finish(const char *path, struct growing *ahead, const struct naming *naming,
			   struct loaded *ret)
{
	return open_with(path, -1, LOADED_TO_FINISH, ahead, naming, ret);
}

bool loaded_open_descriptor(const char *name, int fd, const struct naming *naming,
			    struct loaded *ret)
{
	return open_with(name, fd, LOADED_TO_FINISH, NULL, naming, ret);
}

void loaded_close(struct loaded *loaded)
{
	if (loaded->symbolized)
		symbolized_destroy(loaded->symbolized);
	if (loaded->recording)
		recording_close(loaded->recording);
	*loaded = (struct loaded){0};
}

struct err *loaded_finish(const char *path, struct loaded *loaded, enum finish_compress compress,
			  struct finish_result *ret)
{
	cleanup(progress_deinit) struct progress progress = {0};
	const struct finish_options options = {
		.compress = compress,
		.progress = progress_update,
		.argument = &progress,
	};

	progress_init(&progress, "finishing");
	if (loaded->recording) {
		struct err *err = series_keep(loaded->recording);

		if (err)
			return err;
	}
	return finish_recording(path, loaded->recording, loaded->symbolized, &options, ret);
}
