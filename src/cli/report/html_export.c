#include "cli/report/html_export.h"

#include <string.h>

#include "cli/recordings/file_kind.h"
#include "cli/output/progress.h"
#include "cli/serve/serving.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"

/* What the page calls the recording: /proc/PID/fd/N is nothing without its folders. */
static const char *name_of(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ? path : file_name(path);
}

struct err *html_export_write(struct buf *buf, const struct html_export *wanted)
{
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	cleanup(progress_deinit) struct progress progress = {0};
	const struct catalog_options kept = {
		.debug_paths = wanted->debug_paths,
		.max_open = 1,
		.max_memory = serving_memory(),
		.sources = wanted->sources,
		.still = true, // all answers are of one moment
		.anonymous = wanted->anonymous,
	};
	const struct html_file_options options = {
		.id = "last",
		.sources = wanted->sources.served,
		.nodes = wanted->nodes,
		.anonymous = wanted->anonymous,
		.name = name_of(wanted->path),
		.conditions = wanted->conditions ? wanted->conditions : "",
		.check = wanted->check,
		.progress = progress_update,
		.argument = &progress,
	};
	struct err *err = file_kind_check(wanted->path);

	progress_init(&progress, "exporting");
	if (!err)
		err = catalog_create(&kept, &catalog);
	if (!err)
		err = catalog_add(catalog, wanted->path);
	return err ? err : html_file_write(catalog, &options, buf);
}
