#include "cli/run_serve.h"

#include "cli/cli.h"
#include "cli/serving.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct catalog *, catalog_destroy);

void run_serve(const struct run_registry *registry)
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

	if (!registry->count)
		return; // the summary has said so
	err = catalog_create(&kept, &catalog);
	// The last of the list is the one that the page shows.
	for (size_t i = registry->count; !err && i-- > 0;)
		err = catalog_add(catalog, registry->recordings[i]);
	if (err)
		cli_report_err(err);
	else
		serving_run(&serving, catalog);
}
