/* The name of a recorded program's architecture, as bytehound's clients know it. */
#ifndef MALLOW_REPORT_WORDS_MACHINE_NAME_H
#define MALLOW_REPORT_WORDS_MACHINE_NAME_H

#include "analysis/recording.h"

/* "amd64", "aarch64"; NULL: the recording does not say, or it is none that mallow knows. */
const char *machine_name(const struct recording_facts *facts);

#endif
