/* When each site had most memory live. */
#ifndef MALLOW_ANALYSIS_BLOCKS_SITE_USAGE_H
#define MALLOW_ANALYSIS_BLOCKS_SITE_USAGE_H

#include "analysis/recording.h"

/* The usage of a site without blocks: --cull only counted them. */
#define SITE_USAGE_NEVER UINT64_MAX

/*
 * *ret: for each of recording_sites() the nanoseconds since the start at which its live blocks had
 * most usable bytes for the first time; owned by the caller (free()). recording: must have blocks.
 * The only error: no memory.
 */
struct err *site_usage_most(const struct recording *recording, uint64_t **ret);

#endif
