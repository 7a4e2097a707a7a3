#include "analysis/views/map_sites.h"
#include "analysis/blocks/block_bits.h"

#include <string.h>
#include <sys/mman.h>

#include "analysis/names/allocating.h"
#include "analysis/sight/sight.h"
#include "analysis/views/hidden_heaps.h"
#include "analysis/views/resident.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* What a call mapped or took away at a site. */
struct step {
	uint32_t operation;
	uint32_t site;
	uint64_t bytes;
	bool made; /* else taken */
	bool last; /* nothing of the mapping is left */
};

struct summing {
	const struct recording *recording;
	struct symbolized *symbolized;
	const struct mapping_operation *calls;
	bool shares; /* the process had shared memory */
	const struct unseen *unseen;
	uint32_t unseen_count;
	const struct patched_object *patched;
	uint32_t patched_count;
	const char *allocator;
	struct map callers; /* by stack: enum map_kind, as far as the stack tells */
	struct map numbers; /* of sites, by stack and kind */
	VEC(struct site) sites;
	VEC(enum map_kind) kinds;
	VEC(struct step) steps;
	struct map_sum of[MAP_KINDS];
};

/* An allocator that is known to be in a module. */
struct known_allocator {
	const char *object, *name;
	const char *symbol; /* a function of it; "": not known */
	bool recorded;      /* its functions are patched */
};

static const struct {
	const char *name, *text;
} kinds[] = {
#define MAP_KIND(NAME, name, text) {name, text},
#include "analysis/views/map_kinds.def"
#undef MAP_KIND
};

const char *map_kind_name(enum map_kind kind)
{
	return kinds[kind].name;
}

const char *map_kind_text(enum map_kind kind)
{
	return kinds[kind].text;
}

static void summing_deinit(struct summing *summing)
{
	map_deinit(&summing->callers);
	map_deinit(&summing->numbers);
	vec_deinit(&summing->sites);
	vec_deinit(&summing->kinds);
	vec_deinit(&summing->steps);
}

/*
 * Whether a frame that called mmap is a library's, not the program's. An instance of one of the
 * library's templates may have code of the program inlined.
 */
static bool is_library(const struct named_frame *frame)
{
	return frame->plumbing && !(frame->in_program && strchr(frame->function, '<'));
}

/* The allocator that is known to be in the module of a frame. false: none. */
static bool allocator_in(const struct summing *summing, uint32_t frame, struct known_allocator *ret)
{
	const struct recording *recording = summing->recording;
	uint32_t module = recording_frames(recording, NULL)[frame].module;
	const char *path =
		module == RECORDING_NONE ? "" : recording_modules(recording, NULL)[module].path;

	for (uint32_t i = 0; i < summing->unseen_count; i++) {
		const struct unseen *one = &summing->unseen[i];

		if (one->kind != TRACE_UNSEEN_LINKED || strcmp(one->object, path))
			continue;
		*ret = (struct known_allocator){path, one->name, one->symbol, false};
		return true;
	}
	for (uint32_t i = 0; i < summing->patched_count; i++) {
		const struct patched_object *one = &summing->patched[i];

		if (strcmp(one->object, path))
			continue;
		*ret = (struct known_allocator){path, one->name, "", one->functions > 0};
		return true;
	}
	return false;
}

/* Whether functions have a prefix in common: mi_os_alloc and _mi_malloc. */
static bool is_akin(const char *function, const char *symbol)
{
	function += strspn(function, "_");
	symbol += strspn(symbol, "_");

	size_t length = strcspn(symbol, "_");

	return symbol[length] && strncmp(function, symbol, length + 1) == 0;
}

/* Whether a frame's code is an allocator's: a library maps for it alone, a program for itself, too.
 */
static bool is_of(const struct summing *summing, const struct known_allocator *allocator,
		  const struct named_frame *frame)
{
	return strcmp(allocator->object, recording_facts(summing->recording)->program) ||
	       strstr(frame->function, allocator->name) ||
	       is_akin(frame->function, allocator->symbol) ||
	       (frame->file && strstr(frame->file, allocator->name));
}

/*
 * *ret: who mapped memory, by the stack. Calls of a recorded allocator are not in the recording: an
 * allocator that is met here serves blocks that no hook sees.
 */
static struct err *caller_of(struct summing *summing, uint32_t stack, enum map_kind *ret)
{
	const struct stack_node *nodes = recording_stacks(summing->recording, NULL);
	struct known_allocator allocator = {0};
	bool known = allocator_in(summing, nodes[stack].frame, &allocator);
	enum map_kind kind = MAP_KIND_MEMORY;

	for (uint32_t node = stack; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err =
			symbolized_frame(summing->symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		if (node == stack && is_library(&lines[0]))
			kind = MAP_KIND_LIBRARY;
		if (node == stack && known && is_of(summing, &allocator, &lines[0]))
			kind = MAP_KIND_ALLOCATOR;
		for (size_t i = 0; i < count && kind != MAP_KIND_ALLOCATOR; i++)
			if (allocating_entry(lines[i].function))
				kind = MAP_KIND_ALLOCATOR;
	}
	if (kind == MAP_KIND_ALLOCATOR && known && allocator.recorded)
		kind = MAP_KIND_HEAP;
	if (kind == MAP_KIND_ALLOCATOR && known && !summing->allocator)
		summing->allocator = allocator.name;
	*ret = kind;
	return NULL;
}

/* The same, looked up once for each stack. */
static struct err *known_caller(struct summing *summing, uint32_t stack, enum map_kind *ret)
{
	uint64_t *known;
	struct err *err;

	*ret = MAP_KIND_MEMORY;
	if (!summing->symbolized || stack == RECORDING_NONE)
		return NULL;
	known = map_put(&summing->callers, stack);
	if (!known)
		return err_no_memory();
	if (*known != MAP_NONE) {
		*ret = (enum map_kind) * known;
		return NULL;
	}
	*known = MAP_KIND_MEMORY;
	err = caller_of(summing, stack, ret);
	*known = *ret;
	return err;
}

/*
 * The kind of a file's mapping. Nothing says which files lie in memory (memfd, /dev/shm). But the
 * kernel counts their pages apart, so a process without such pages has none.
 */
static enum map_kind kind_of_file(const struct summing *summing,
				  const struct mapping_operation *origin)
{
	if (!(origin->protection & PROT_WRITE))
		return MAP_KIND_FILE;
	if (!(origin->flags & MAP_SHARED))
		return MAP_KIND_COPY;
	return summing->shares ? MAP_KIND_SHARED : MAP_KIND_FILE;
}

static struct err *kind_of(struct summing *summing, const struct map_life *life, enum map_kind *ret)
{
	const struct mapping_operation *origin = &summing->calls[life->origin];
	struct err *err = NULL;

	if (origin->kind == TRACE_RECORD_BRK)
		*ret = MAP_KIND_BREAK;
	else if (origin->kind != TRACE_RECORD_MMAP)
		*ret = MAP_KIND_FILE; // an mremap of what the recording does not know
	else if (!(origin->flags & MAP_ANONYMOUS))
		*ret = kind_of_file(summing, origin);
	else if (origin->flags & (MAP_STACK | MAP_GROWSDOWN))
		*ret = MAP_KIND_STACK;
	else if (origin->flags & MAP_SHARED)
		*ret = MAP_KIND_SHARED;
	else if (hidden_heap_of(summing->recording, origin) != HIDDEN_HEAP_COUNT)
		*ret = MAP_KIND_LANGUAGE;
	else
		err = known_caller(summing, origin->stack, ret);
	if ((*ret == MAP_KIND_MEMORY || *ret == MAP_KIND_LIBRARY) &&
	    (!(origin->protection & PROT_WRITE) || origin->flags & MAP_NORESERVE))
		*ret = MAP_KIND_RESERVED;
	return err;
}

/* *ret: the number of the site of a stack and kind. */
static struct err *site_of(struct summing *summing, uint32_t stack, enum map_kind kind,
			   uint32_t *ret)
{
	uint64_t *number = map_put(&summing->numbers, (uint64_t)stack * MAP_KINDS + kind);

	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = summing->sites.count;
		if (!vec_push(&summing->sites, (struct site){.stack = stack}) ||
		    !vec_push(&summing->kinds, kind))
			return err_no_memory();
	}
	*ret = (uint32_t)*number;
	return NULL;
}

/* Whether the process ever had so much shared memory that a mapping of it matters. */
static bool has_shared(const struct recording *recording)
{
	uint32_t count;
	const struct memory_sample *memory = recording_memory(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (memory[i].shared >= RESIDENT_MAPPED_LEAST)
			return true;
	return false;
}

/* Adds the steps of a mapping. */
static struct err *add_life(struct summing *summing, const struct map_lives *lives,
			    const struct map_life *life)
{
	struct step step = {.operation = life->made, .bytes = life->length, .made = true};
	enum map_kind kind = MAP_KIND_MEMORY;
	struct err *err = kind_of(summing, life, &kind);

	if (!err)
		err = site_of(summing, summing->calls[life->made].stack, kind, &step.site);
	if (err)
		return err;
	if (!vec_push(&summing->steps, step))
		return err_no_memory();
	for (uint32_t i = 0; i < life->cuts; i++) {
		const struct map_cut *cut = &lives->cuts[life->first_cut + i];

		step = (struct step){
			.operation = cut->operation,
			.site = step.site,
			.bytes = cut->length,
			.last = life->gone != RECORDING_NONE && i + 1 == life->cuts,
		};
		if (!vec_push(&summing->steps, step))
			return err_no_memory();
	}
	return NULL;
}

/* In the order of the calls. A call that replaces mappings takes first. */
static int by_operation(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->operation != b->operation)
		return a->operation < b->operation ? -1 : 1;
	if (a->made != b->made)
		return a->made ? 1 : -1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static void take_step(const struct step *step, struct site *site, struct map_sum *sum)
{
	if (!step->made) {
		site->leaked_bytes -= step->bytes;
		site->leaked_blocks -= step->last;
		sum->left_bytes -= step->bytes;
		sum->left -= step->last;
		return;
	}
	site->calls++;
	site->total_bytes += step->bytes;
	site->leaked_bytes += step->bytes;
	site->leaked_blocks++;
	sum->mappings++;
	sum->bytes += step->bytes;
	sum->left_bytes += step->bytes;
	sum->left++;
	if (site->leaked_bytes > site->peak_bytes) {
		site->peak_bytes = site->own_peak_bytes = site->leaked_bytes;
		site->peak_blocks = site->leaked_blocks;
	}
	if (sum->left_bytes > sum->peak_bytes)
		sum->peak_bytes = sum->left_bytes;
}

void map_sites_deinit(struct map_sites *sites)
{
	free(sites->sites);
	free(sites->kinds);
	*sites = (struct map_sites){0};
}

struct err *map_sites_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct map_lives *lives, const struct filter_match *match,
			     struct map_sites *ret)
{
	cleanup(summing_deinit) struct summing summing = {
		.recording = recording,
		.symbolized = symbolized,
		.shares = has_shared(recording),
	};
	struct err *err = symbolized ? sight_list(recording_facts(recording), &summing.unseen,
						  &summing.unseen_count)
				     : NULL;

	if (!err && symbolized)
		err = sight_patched(recording_facts(recording), &summing.patched,
				    &summing.patched_count);
	summing.calls = recording_mappings(recording, NULL);
	for (size_t i = 0; !err && i < lives->count; i++)
		if (!match || block_bits_has(match->words, i))
			err = add_life(&summing, lives, &lives->items[i]);
	if (err)
		return err;
	if (summing.steps.count)
		qsort(summing.steps.items, summing.steps.count, sizeof(*summing.steps.items),
		      by_operation);
	for (size_t i = 0; i < summing.steps.count; i++) {
		const struct step *step = &summing.steps.items[i];

		take_step(step, &summing.sites.items[step->site],
			  &summing.of[summing.kinds.items[step->site]]);
	}
	ret->count = (uint32_t)summing.sites.count;
	ret->sites = steal(&summing.sites.items);
	ret->kinds = steal(&summing.kinds.items);
	ret->allocator = summing.allocator;
	memcpy(ret->of, summing.of, sizeof(ret->of));
	return NULL;
}

struct err *map_sites_create_all(const struct recording *recording, struct symbolized *symbolized,
				 struct map_sites *ret)
{
	cleanup(map_lives_deinit) struct map_lives lives = {0};
	struct err *err = map_lives_create(recording, &lives);

	return err ? err : map_sites_create(recording, symbolized, &lives, NULL, ret);
}
