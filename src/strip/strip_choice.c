#include "strip/strip_choice.h"

#include <stdlib.h>

#include "base/compiler.h"

static void bits_deinit(struct strip_bits *bits)
{
	vec_deinit(&bits->words);
	bits->count = 0;
}

static void set_bit(struct strip_bits *bits, uint64_t at)
{
	bits->words.items[at / 64] |= UINT64_C(1) << at % 64;
}

/* Appends a bit. */
static struct err *put_bit(struct strip_bits *bits, bool bit)
{
	if (bits->count % 64 == 0 && !vec_push(&bits->words, 0))
		return err_no_memory();
	if (bit)
		set_bit(bits, bits->count);
	bits->count++;
	return NULL;
}

static void streams_deinit(struct strip_choice *choice)
{
	for (uint32_t i = 0; i < choice->stream_count; i++)
		bits_deinit(&choice->streams[i]);
	free(choice->streams);
	choice->streams = NULL;
	choice->stream_count = 0;
}

void strip_choice_deinit(struct strip_choice *choice)
{
	bits_deinit(&choice->kept);
	streams_deinit(choice);
	vec_deinit(&choice->sums);
	vec_deinit(&choice->peak);
	vec_deinit(&choice->heirs);
	load_walk_deinit(&choice->walk);
	recording_close(choice->recording);
}

/*
 * The first walk: which blocks stay. A block that was live at the peak can be told only once the
 * peak is known. So whatever ends, and was live at the latest maximum, is noted until there is a
 * higher one:
 *
 *	live bytes   /\      /\/\          ended since the latest maximum: noted
 *	            /  \/\/\/    \__       at each new maximum the notes are thrown away
 */
static struct err *begin_choosing(void *argument, const struct site_table *sites, uint32_t streams)
{
	struct strip_choice *choice = argument;

	(void)sites;
	(void)streams;
	choice->kept.words.count = choice->kept.count = 0;
	choice->peak.count = choice->heirs.count = 0;
	choice->begun = !choice->part;
	choice->live = choice->most = choice->most_number = 0;
	choice->begun_number = choice->count = 0;
	return NULL;
}

/* What is live when the part begins is its first maximum. */
static inline void pass(struct strip_choice *choice, uint64_t now)
{
	if (likely(choice->begun) || now <= choice->from)
		return;
	choice->begun = true;
	choice->most = choice->live;
	choice->most_number = choice->begun_number = choice->count;
}

static struct err *note_end(struct strip_choice *choice, uint64_t now,
			    const struct live_block *block)
{
	uint64_t lived = now > block->ticks ? now - block->ticks : 0;

	choice->live -= block->size;
	if (!choice->begun)
		return NULL;
	if (block->number <= choice->begun_number || lived >= choice->threshold)
		set_bit(&choice->kept, block->number - 1);
	else if (block->number <= choice->most_number && !vec_push(&choice->peak, block->number))
		return err_no_memory();
	return NULL;
}

static struct err *choose_allocated(void *argument, uint32_t stream, uint64_t now,
				    const struct live_block *block,
				    const struct live_block *displaced)
{
	struct strip_choice *choice = argument;
	struct err *err = NULL;

	(void)stream;
	pass(choice, now);
	if (unlikely(displaced != NULL)) {
		const struct strip_heir heir = {displaced->number, block->number};

		err = note_end(choice, now, displaced);
		if (!err && !vec_push(&choice->heirs, heir))
			err = err_no_memory();
	}
	if (!err)
		err = put_bit(&choice->kept, false);
	choice->count++;
	choice->live += block->size;
	if (choice->begun && choice->live > choice->most) {
		choice->most = choice->live;
		choice->most_number = choice->count;
		choice->peak.count = 0;
	}
	return err;
}

static struct err *choose_freed(void *argument, uint32_t stream, uint64_t now,
				const struct live_block *block, bool late)
{
	struct strip_choice *choice = argument;

	(void)stream;
	pass(choice, now);
	return block && !late ? note_end(choice, now, block) : NULL;
}

static struct err *end_choosing(void *argument, const struct address_table *live)
{
	struct strip_choice *choice = argument;
	const struct live_block *block;
	uint32_t at = 0;

	for (size_t i = 0; i < choice->peak.count; i++)
		set_bit(&choice->kept, choice->peak.items[i] - 1);
	while ((block = address_table_next(live, &at)))
		set_bit(&choice->kept, block->number - 1);
	// Without its heir a block that stays would end too late, or never.
	for (size_t i = 0; i < choice->heirs.count; i++)
		if (strip_bit(&choice->kept, choice->heirs.items[i].old - 1))
			set_bit(&choice->kept, choice->heirs.items[i].heir - 1);
	vec_deinit(&choice->peak);
	vec_deinit(&choice->heirs);
	return NULL;
}

/* The second walk: which operations stay, and the sums of what does not. */
static struct err *begin_marking(void *argument, const struct site_table *sites, uint32_t streams)
{
	struct strip_choice *choice = argument;

	streams_deinit(choice);
	choice->streams = calloc(streams, sizeof(*choice->streams));
	if (!choice->streams)
		return err_no_memory();
	choice->stream_count = streams;
	choice->sites = sites;
	choice->sums.count = 0;
	choice->culled = (struct strip_sum){0};
	choice->blocks = 0;
	choice->begun = !choice->part;
	return NULL;
}

/* The sum of a site; NULL: no memory. */
static struct strip_sum *sum_of(struct strip_choice *choice, size_t site)
{
	while (choice->sums.count <= site)
		if (!vec_push(&choice->sums, (struct strip_sum){0}))
			return NULL;
	return &choice->sums.items[site];
}

/* Temporary blocks are counted at their ends: those of before the part are taken off. */
static struct err *begin_part(struct strip_choice *choice)
{
	const struct site *sites = choice->sites->sites.items;

	choice->begun = true;
	for (size_t i = 0; i < choice->sites->sites.count; i++) {
		struct strip_sum *sum = sum_of(choice, i);

		if (!sum)
			return err_no_memory();
		sum->temporary -= sites[i].temporary;
	}
	return NULL;
}

static struct err *mark_allocated(void *argument, uint32_t stream, uint64_t now,
				  const struct live_block *block,
				  const struct live_block *displaced)
{
	struct strip_choice *choice = argument;
	bool kept = strip_bit(&choice->kept, block->number - 1);
	struct err *err = NULL;

	(void)displaced;
	if (unlikely(!choice->begun) && now > choice->from)
		err = begin_part(choice);
	choice->blocks += kept;
	if (!err && choice->begun && !kept) {
		struct strip_sum *sum = sum_of(choice, block->site);

		if (!sum)
			return err_no_memory();
		sum->calls++;
		sum->bytes += block->size;
		choice->culled.calls++;
		choice->culled.bytes += block->size;
	}
	return err ? err : put_bit(&choice->streams[stream], kept);
}

static struct err *mark_freed(void *argument, uint32_t stream, uint64_t now,
			      const struct live_block *block, bool late)
{
	struct strip_choice *choice = argument;
	struct err *err = NULL;

	(void)late;
	if (unlikely(!choice->begun) && now > choice->from)
		err = begin_part(choice);
	if (err)
		return err;
	return put_bit(&choice->streams[stream],
		       block ? strip_bit(&choice->kept, block->number - 1) : choice->begun);
}

static struct err *end_marking(void *argument, const struct address_table *live)
{
	struct strip_choice *choice = argument;
	const struct site *sites = choice->sites->sites.items;

	(void)live;
	if (!choice->begun) {
		struct err *err = begin_part(choice);

		if (err)
			return err;
	}
	for (size_t i = 0; i < choice->sites->sites.count; i++) {
		struct strip_sum *sum = sum_of(choice, i);

		if (!sum)
			return err_no_memory();
		sum->temporary = choice->temporary ? sum->temporary + sites[i].temporary : 0;
	}
	return NULL;
}

static struct err *go(struct strip_choice *choice)
{
	recording_close(choice->recording);
	choice->recording = NULL;
	return load_walk(choice->source, &choice->walk, choice->progress, choice->argument,
			 &choice->recording);
}

struct err *strip_choose(struct strip_choice *choice)
{
	struct err *err;

	choice->walk = (struct load_walk){
		.index = choice->index,
		.until = choice->until,
		.argument = choice,
		.begin = begin_choosing,
		.allocated = choose_allocated,
		.freed = choose_freed,
		.end = end_choosing,
	};
	err = go(choice);
	if (err)
		return err;
	choice->walk.begin = begin_marking;
	choice->walk.allocated = mark_allocated;
	choice->walk.freed = mark_freed;
	choice->walk.end = end_marking;
	return go(choice);
}
