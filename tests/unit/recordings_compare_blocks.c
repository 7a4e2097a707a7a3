/* Compares the blocks of two recordings, and what is known of them. */
#include <stdlib.h>

#include "analysis/errors/heap_errors.h"
#include "analysis/facts/run_facts.h"
#include "analysis/recording_data.h"
#include "recordings_compare_inside.h"

const char *recordings_compare_blocks(const struct side *a, const struct side *b)
{
	const struct block_columns *left = recording_blocks(a->recording);
	const struct block_columns *right = recording_blocks(b->recording);

	if (left->count != right->count)
		return recordings_differ("blocks: %llu, %llu", (unsigned long long)left->count,
					 (unsigned long long)right->count);
#define BLOCK_COLUMN(name, type)                                                                   \
	if (!left->name != !right->name)                                                           \
		return recordings_differ("one has no column " #name);                              \
	for (uint64_t i = 0; left->name && i < left->count; i++)                                   \
		if (left->name[i] != right->name[i] &&                                             \
		    BLOCK_COLUMN_##name != BLOCK_COLUMN_free_stack)                                \
			return recordings_differ("column %s, block %llu of %llu: %llu, %llu",      \
						 #name, (unsigned long long)i,                     \
						 (unsigned long long)left->count,                  \
						 (unsigned long long)left->name[i],                \
						 (unsigned long long)right->name[i]);
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	for (uint64_t i = 0; left->free_stack && i < left->count; i++)
		if (recordings_stack_of(a, left->free_stack[i]) !=
		    recordings_stack_of(b, right->free_stack[i]))
			return recordings_differ("block %llu was freed by another stack",
						 (unsigned long long)i);
	return NULL;
}

const char *recordings_compare_errors(const struct side *a, const struct side *b)
{
	uint64_t unjudged, others_unjudged;
	uint32_t count, others;
	const struct heap_error *left = recording_heap_errors(a->recording, &count, &unjudged);
	const struct heap_error *right =
		recording_heap_errors(b->recording, &others, &others_unjudged);

	if (count != others || unjudged != others_unjudged)
		return recordings_differ("heap errors: %u, %u", count, others);
	for (uint32_t i = 0; i < count; i++) {
		SAME(kind);
		SAME(entry);
		SAME(release);
		if (left[i].entry)
			SAME_STACK(allocated);
		SAME_STACK(freed);
		SAME_STACK(freed_once);
		SAME(count);
		SAME(time_ns);
		SAME(size);
		SAME(offset);
		SAME(thread);
		SAME_BYTES("addresses", left[i].addresses, right[i].addresses,
			   sizeof(left[i].addresses));
	}
	return NULL;
}

static const char *compare_chains(const struct run_facts *a, const struct run_facts *b)
{
	const struct chain_facts *left = a->chains, *right = b->chains;

	for (uint32_t i = 0; i < a->chain_count; i++) {
		SAME(site);
		SAME(steps);
		SAME(copied);
		SAME_BYTES("ends", left[i].ends, right[i].ends, sizeof(left[i].ends));
	}
	return NULL;
}

static const char *compare_large(const struct run_facts *a, const struct run_facts *b)
{
	const struct large_block *left = a->large, *right = b->large;

	for (uint32_t i = 0; i < a->large_count; i++) {
		SAME(site);
		SAME(size);
		SAME(allocated_ns);
		SAME(freed_ns);
		SAME(without_bytes);
		SAME(without_ns);
	}
	return NULL;
}

const char *recordings_compare_run_facts(const struct side *a, const struct side *b)
{
	const struct run_facts *left = NULL, *right = NULL;
	uint32_t sites, threads, samples;
	const char *different;
	const int i = 0;

	if (recording_run_facts(a->recording, &left) || recording_run_facts(b->recording, &right))
		abort();
	if (!left || !right)
		return left == right ? NULL : recordings_differ("run facts");
	recording_sites(a->recording, &sites);
	recording_threads(a->recording, &threads);
	recording_memory(a->recording, &samples);
	SAME_BYTES("facts of sites", left->sites, right->sites, sites * sizeof(*left->sites));
	SAME_BYTES("facts of threads", left->threads, right->threads,
		   threads * sizeof(*left->threads));
	SAME_BYTES("live at samples", left->sampled_live, right->sampled_live,
		   samples * sizeof(*left->sampled_live));
	SAME_BYTES("ends of parts", left->ends_ns, right->ends_ns, sizeof(left->ends_ns));
	SAME_BYTES("pages", &left->pages, &right->pages, sizeof(left->pages));
	SAME(peak_site);
	SAME(peak_thread);
	SAME(large_count);
	SAME(chain_count);
	SAME(errors.known);
	SAME(errors.frees);
	SAME(errors.places);
	if (left->errors.frees)
		SAME_STACK(errors.stack);
	different = compare_chains(left, right);
	return different ? different : compare_large(left, right);
}
