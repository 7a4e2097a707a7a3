/* Finishes a loaded recording for a command, with a progress bar. */
#ifndef MALLOW_CLI_RECORDINGS_FINISHED_H
#define MALLOW_CLI_RECORDINGS_FINISHED_H

#include "cli/recordings/loaded.h"
#include "finish/finish.h"

/* loaded: the recording at path with its names; zeroed if finish_recording() wants none. */
struct err *finished_write(const char *path, struct loaded *loaded, enum finish_compress compress,
			   struct finish_result *ret);

#endif
