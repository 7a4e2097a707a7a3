#include "cli/run/run_serve.h"

#include <unistd.h>

#include "cli/cli.h"
#include "cli/serve/serving.h"
#include "hosted/cleanup.h"

void run_serve(const struct run_images *images)
{
	cleanup(catalog_destroy_at) struct catalog *catalog = NULL;
	const struct catalog_options kept = {
		.max_open = SERVING_MAX_OPEN,
		.max_memory = serving_memory(),
	};
	const struct serving serving = {
		.http =
			{
				.interface = SERVING_INTERFACE,
				.port = SERVING_PORT,
				.timeout_s = SERVING_TIMEOUT_S,
			},
		.any_port = true,
		.open = true,
	};
	struct err *err;
	bool any = false;

	err = catalog_create(&kept, &catalog);
	// The last of the list is the one that the page shows.
	for (size_t i = images->count; !err && i-- > 0;) {
		if (!images->items[i].path || images->items[i].uid != geteuid())
			continue;
		err = catalog_add(catalog, images->items[i].path);
		any = true;
	}
	if (err)
		cli_report_err(err);
	else if (any) // if not, the summary has said so
		serving_run(&serving, catalog);
}
