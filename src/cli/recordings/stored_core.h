/* Core dumps that systemd-coredump has stored: core.NAME.UID.BOOT.PID.TIME, compressed or not. */
#ifndef MALLOW_CLI_RECORDINGS_STORED_CORE_H
#define MALLOW_CLI_RECORDINGS_STORED_CORE_H

#include <stdbool.h>

#include "hosted/err.h"

/* Whether this is a process's number, and no file of that name is here. */
bool stored_core_is_pid(const char *word);

/*
 * *ret: the path of the newest core dump of that process; the caller frees it. The folder is
 * /var/lib/systemd/coredump, or $MALLOW_COREDUMPS.
 */
struct err *stored_core_find(const char *pid, char **ret);

#endif
