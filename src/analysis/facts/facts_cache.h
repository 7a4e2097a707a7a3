/* Where a recording keeps its run facts: run_facts.h. */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_CACHE_H
#define MALLOW_ANALYSIS_FACTS_FACTS_CACHE_H

#include <pthread.h>

#include "analysis/facts/run_facts.h"
#include "hosted/vec.h"

/* Run facts whose arrays are their own. Zeroed: empty. */
struct owned_facts {
	struct run_facts facts; /* points into the arrays */
	struct site_facts *sites;
	struct thread_facts *threads;
	uint64_t *sampled_live;
	VEC(struct chain_facts) chains;
};

struct facts_cache {
	pthread_mutex_t lock; /* guards what follows */
	bool made;            /* facts were made or read, or found not to be known */
	bool known;
	struct owned_facts owned;
};

/* *ret: empty, with one owner: hosted/shared.h. */
struct err *facts_cache_create(struct facts_cache **ret);

/* Makes room for the arrays, zeroed. */
struct err *owned_facts_reserve(const struct recording *recording, struct owned_facts *ret);
void owned_facts_deinit(struct owned_facts *owned);
/* Makes facts point to the arrays, when these are filled. */
void owned_facts_show(struct owned_facts *owned);

/* Forgets what was read of an index that is not used. */
void facts_cache_forget(struct facts_cache *cache);

#endif
