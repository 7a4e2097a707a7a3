#include "cli/recordings/finished.h"

#include "cli/output/progress.h"
#include "hosted/cleanup.h"

struct err *finished_write(const char *path, struct loaded *loaded, enum finish_compress compress,
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
		struct err *err = loaded_settle(loaded);

		if (err)
			return err;
	}
	return finish_recording(path, loaded->recording, loaded->symbolized, &options, ret);
}
