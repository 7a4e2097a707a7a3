/* The inside of struct sight: for the files that make it, and find what is in it. */
#ifndef MALLOW_ANALYSIS_SIGHT_SIGHT_DATA_H
#define MALLOW_ANALYSIS_SIGHT_SIGHT_DATA_H

#include <pthread.h>

#include "analysis/recording.h"
#include "analysis/sight/sight.h"
#include "hosted/arena.h"
#include "hosted/vec.h"

struct sight {
	const struct recording *recording; /* NULL: of a merged recording */
	pthread_mutex_t lock;
	bool made;
	struct arena arena; /* texts that are not the recording's */
	VEC(struct unseen) list;
	VEC(struct patched_object) patched;
};

#endif
