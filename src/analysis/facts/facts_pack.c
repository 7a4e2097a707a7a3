#include "analysis/facts/facts_pack.h"

#include "analysis/recording_data.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "trace/cursor.h"

/* The numbers of a site beside its curves, in their order. */
#define SITE_NUMBERS(X)                                                                            \
	X(late_bytes)                                                                              \
	X(late_blocks)                                                                             \
	X(peak_slack)                                                                              \
	X(handed_bytes)                                                                            \
	X(handed_blocks)                                                                           \
	X(few_pages)
#define SITE_NUMBER_COUNT 6

#define CHAIN_CLASSES (sizeof(((struct chain_facts *)NULL)->ends) / sizeof(uint64_t))

static void put(struct buf *buf, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_put(buf, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

/* A set of those numbers that are not 0, then these. */
static void put_sparse(struct buf *buf, const uint64_t *numbers, unsigned int count)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < count; i++)
		set |= (uint64_t)(numbers[i] != 0) << i;
	put(buf, set);
	for (unsigned int i = 0; i < count; i++)
		if (numbers[i])
			put(buf, numbers[i]);
}

static void put_run(struct buf *buf, const struct recording *recording,
		    const struct run_facts *facts)
{
	const struct page_facts *pages = &facts->pages;

	put(buf, (uint32_t)(facts->peak_site + 1));
	put(buf, (uint32_t)(facts->peak_thread + 1));
	put(buf, pages->at_ns);
	put(buf, pages->pages);
	put(buf, pages->blocks);
	put(buf, pages->bytes);
	put(buf, pages->few_pages);
	put(buf, pages->few_blocks);
	put(buf, pages->few_bytes);
	put(buf, facts->errors.known);
	put(buf, facts->errors.frees);
	put(buf, facts->errors.places);
	put(buf, (uint32_t)(facts->errors.stack + 1));
	for (size_t i = 0; i < recording->tables->memory.count; i++)
		put(buf, facts->sampled_live[i]);
	for (size_t i = 0; i < recording->tables->threads.count; i++) {
		put(buf, facts->threads[i].handed_bytes);
		put(buf, facts->threads[i].handed_blocks);
	}
}

static void put_large(struct buf *buf, const struct run_facts *facts)
{
	put(buf, facts->large_count);
	for (uint32_t i = 0; i < facts->large_count; i++) {
		const struct large_block *block = &facts->large[i];

		put(buf, block->site);
		put(buf, block->size);
		put(buf, block->allocated_ns);
		put(buf, block->freed_ns + 1); // TIME_NEVER becomes 0.
		put(buf, block->without_bytes);
		put(buf, block->without_ns);
	}
}

static void put_chains(struct buf *buf, const struct run_facts *facts)
{
	put(buf, facts->chain_count);
	for (uint32_t i = 0; i < facts->chain_count; i++) {
		put(buf, facts->chains[i].site);
		put(buf, facts->chains[i].steps);
		put(buf, facts->chains[i].copied);
		put_sparse(buf, facts->chains[i].ends, CHAIN_CLASSES);
	}
}

static void put_site(struct buf *buf, const struct site_facts *site)
{
#define SITE_NUMBER(name) site->name,
	const uint64_t numbers[] = {SITE_NUMBERS(SITE_NUMBER)};
#undef SITE_NUMBER
	uint64_t steps[FACTS_POINTS], before = 0;

	_Static_assert(ARRAY_COUNT(numbers) == SITE_NUMBER_COUNT, "");
	for (unsigned int i = 0; i < FACTS_POINTS; i++) {
		steps[i] = zigzag((int64_t)(site->live[i] - before));
		before = site->live[i];
	}
	put_sparse(buf, steps, FACTS_POINTS);
	put_sparse(buf, site->kept, FACTS_POINTS);
	put_sparse(buf, numbers, SITE_NUMBER_COUNT);
}

void facts_pack(const struct recording *recording, const struct run_facts *facts, struct buf *ret)
{
	put_run(ret, recording, facts);
	put_large(ret, facts);
	put_chains(ret, facts);
	for (size_t i = 0; i < recording->sites.sites.count; i++)
		put_site(ret, &facts->sites[i]);
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		put(ret, facts->ends_ns[i] - (i ? facts->ends_ns[i - 1] : 0));
}

/* An index plus 1, or 0 for none. */
static uint32_t take_index_or_none(struct cursor *cursor, size_t count)
{
	uint64_t value = cursor_varint(cursor);

	if (value > count)
		cursor_fail(cursor);
	return cursor->failed ? RECORDING_NONE : (uint32_t)value - 1;
}

static uint32_t take_below(struct cursor *cursor, uint64_t limit)
{
	uint64_t value = cursor_varint(cursor);

	if (value >= limit)
		cursor_fail(cursor);
	return cursor->failed ? 0 : (uint32_t)value;
}

static void take_sparse(struct cursor *cursor, uint64_t *ret, unsigned int count)
{
	uint64_t set = cursor_varint(cursor);

	if (count < 64 && set >> count)
		cursor_fail(cursor);
	for (; set && !cursor->failed; set &= set - 1)
		ret[__builtin_ctzll(set)] = cursor_varint(cursor);
}

static void take_run(struct cursor *cursor, const struct recording *recording,
		     struct owned_facts *owned)
{
	struct run_facts *facts = &owned->facts;
	struct page_facts *pages = &facts->pages;

	facts->peak_site = take_index_or_none(cursor, recording->sites.sites.count);
	facts->peak_thread = take_index_or_none(cursor, recording->tables->threads.count);
	pages->at_ns = cursor_varint(cursor);
	pages->pages = cursor_varint(cursor);
	pages->blocks = cursor_varint(cursor);
	pages->bytes = cursor_varint(cursor);
	pages->few_pages = cursor_varint(cursor);
	pages->few_blocks = cursor_varint(cursor);
	pages->few_bytes = cursor_varint(cursor);
	facts->errors.known = take_below(cursor, 2);
	facts->errors.frees = cursor_varint(cursor);
	facts->errors.places = cursor_varint(cursor);
	facts->errors.stack = take_index_or_none(cursor, recording->tables->stacks.count);
	for (size_t i = 0; i < recording->tables->memory.count; i++)
		owned->sampled_live[i] = cursor_varint(cursor);
	for (size_t i = 0; i < recording->tables->threads.count; i++) {
		owned->threads[i].handed_bytes = cursor_varint(cursor);
		owned->threads[i].handed_blocks = cursor_varint(cursor);
	}
}

static void take_large(struct cursor *cursor, const struct recording *recording,
		       struct run_facts *facts)
{
	facts->large_count = take_below(cursor, FACTS_SHARE + 1);
	for (uint32_t i = 0; i < facts->large_count; i++) {
		struct large_block *block = &facts->large[i];

		block->site = take_below(cursor, recording->sites.sites.count);
		block->size = cursor_varint(cursor);
		block->allocated_ns = cursor_varint(cursor);
		block->freed_ns = cursor_varint(cursor) - 1;
		block->without_bytes = cursor_varint(cursor);
		block->without_ns = cursor_varint(cursor);
	}
}

/* false: no memory. */
static bool take_chains(struct cursor *cursor, const struct recording *recording,
			struct owned_facts *owned)
{
	size_t sites = recording->sites.sites.count;
	uint32_t count = take_below(cursor, sites + 1), next = 0;

	for (uint32_t i = 0; i < count && !cursor->failed; i++) {
		struct chain_facts chain = {.site = take_below(cursor, sites)};

		if (chain.site < next)
			cursor_fail(cursor); // by site, each once
		next = chain.site + 1;
		chain.steps = cursor_varint(cursor);
		chain.copied = cursor_varint(cursor);
		take_sparse(cursor, chain.ends, CHAIN_CLASSES);
		if (!vec_push(&owned->chains, chain))
			return false;
	}
	return true;
}

static void take_site(struct cursor *cursor, struct site_facts *site)
{
	uint64_t numbers[SITE_NUMBER_COUNT] = {0}, before = 0;
	unsigned int at = 0;

	take_sparse(cursor, site->live, FACTS_POINTS);
	for (unsigned int i = 0; i < FACTS_POINTS; i++) {
		before += (uint64_t)unzigzag(site->live[i]);
		site->live[i] = before;
	}
	take_sparse(cursor, site->kept, FACTS_POINTS);
	take_sparse(cursor, numbers, SITE_NUMBER_COUNT);
#define SITE_NUMBER(name) site->name = numbers[at++];
	SITE_NUMBERS(SITE_NUMBER)
#undef SITE_NUMBER
}

/* Earlier versions had equal parts, and do not say where they end. */
static void take_ends(struct cursor *cursor, const struct recording *recording,
		      struct run_facts *facts)
{
	uint64_t end = 0;

	if (cursor->at == cursor->end) {
		facts_equal_ends(recording->facts.duration_ns, facts->ends_ns);
		return;
	}
	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		facts->ends_ns[i] = end += cursor_varint(cursor);
}

struct err *facts_unpack(const struct recording *recording, const uint8_t *data, size_t size,
			 struct owned_facts *ret, bool *used)
{
	struct cursor cursor = cursor_make(data, size);
	struct err *err = owned_facts_reserve(recording, ret);

	*used = false;
	if (err)
		return err;
	take_run(&cursor, recording, ret);
	take_large(&cursor, recording, &ret->facts);
	if (!take_chains(&cursor, recording, ret))
		return err_no_memory();
	for (size_t i = 0; i < recording->sites.sites.count && !cursor.failed; i++)
		take_site(&cursor, &ret->sites[i]);
	take_ends(&cursor, recording, &ret->facts);
	*used = !cursor.failed && cursor.at == cursor.end;
	if (!*used)
		owned_facts_deinit(ret);
	return NULL;
}
