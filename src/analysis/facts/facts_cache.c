#include "analysis/facts/facts_cache.h"

#include <stdlib.h>

#include "analysis/facts/facts_pack.h"
#include "analysis/recording_data.h"
#include "hosted/cleanup.h"

static void cache_deinit(void *object)
{
	struct facts_cache *cache = object;

	owned_facts_deinit(&cache->owned);
	pthread_mutex_destroy(&cache->lock);
}

struct err *facts_cache_create(struct facts_cache **ret)
{
	struct facts_cache *cache = shared_create(sizeof(*cache), cache_deinit);

	if (!cache)
		return err_no_memory();
	pthread_mutex_init(&cache->lock, NULL);
	*ret = cache;
	return NULL;
}

struct err *owned_facts_reserve(const struct recording *recording, struct owned_facts *ret)
{
	ret->sites = calloc(recording->sites.sites.count + 1, sizeof(*ret->sites));
	ret->threads = calloc(recording->tables->threads.count + 1, sizeof(*ret->threads));
	ret->sampled_live = calloc(recording->tables->memory.count + 1, sizeof(*ret->sampled_live));
	ret->facts.peak_site = ret->facts.peak_thread = RECORDING_NONE;
	ret->facts.errors.stack = RECORDING_NONE;
	return ret->sites && ret->threads && ret->sampled_live ? NULL : err_no_memory();
}

void owned_facts_deinit(struct owned_facts *owned)
{
	free(owned->sites);
	free(owned->threads);
	free(owned->sampled_live);
	vec_deinit(&owned->chains);
	*owned = (struct owned_facts){0};
}

void owned_facts_show(struct owned_facts *owned)
{
	owned->facts.sites = owned->sites;
	owned->facts.threads = owned->threads;
	owned->facts.sampled_live = owned->sampled_live;
	owned->facts.chains = owned->chains.items;
	owned->facts.chain_count = (uint32_t)owned->chains.count;
}

void facts_cache_forget(struct facts_cache *cache)
{
	owned_facts_deinit(&cache->owned);
	cache->made = cache->known = false;
}

struct err *recording_run_facts(const struct recording *recording, const struct run_facts **ret)
{
	struct facts_cache *cache = recording->facts_cache;
	struct err *err = NULL;

	*ret = NULL;
	if (!cache || recording->facts.aggregate) // which has no events
		return NULL;
	pthread_mutex_lock(&cache->lock);
	if (!cache->made) {
		if (recording->tables->packed_facts)
			err = facts_unpack(recording, recording->tables->packed_facts,
					   recording->tables->packed_facts_size, &cache->owned,
					   &cache->known);
		if (err)
			owned_facts_deinit(&cache->owned);
		cache->made = !err;
		owned_facts_show(&cache->owned);
	}
	if (!err && cache->known)
		*ret = &cache->owned.facts;
	pthread_mutex_unlock(&cache->lock);
	return err;
}
