#include "report/export/heaptrack_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "report/words/style.h"

/* Numbers are heaptrack's: from 1, in the order of definition. 0: none, or not defined yet. */
struct heaptrack_names {
	struct symbolized *symbolized;
	const struct stack_node *nodes;
	struct intern texts;
	struct map strings;  /* from the address of an interned text to its number */
	uint32_t *positions; /* the number of each frame's position */
	uint32_t *stacks;    /* the number of each node's stack; the last: the empty stack */
	uint32_t node_count;
	uint32_t position_count, stack_count;
	VEC(uint32_t) path; /* nodes of a stack without a number, innermost first */
};

/* Accepts NULL. */
static void heaptrack_names_destroy(struct heaptrack_names *names)
{
	if (!names)
		return;
	intern_deinit(&names->texts);
	map_deinit(&names->strings);
	free(names->positions);
	free(names->stacks);
	vec_deinit(&names->path);
	free(names);
}
CLEANUP_DEFINE(struct heaptrack_names *, heaptrack_names_destroy);

/* For the recording of symbolized, which must outlive it. */
static struct err *heaptrack_names_create(struct symbolized *symbolized,
					  struct heaptrack_names **ret)
{
	cleanup(heaptrack_names_destroy_at) struct heaptrack_names *names =
		calloc(1, sizeof(*names));
	const struct recording *recording = symbolized_recording(symbolized);
	uint32_t frames;

	if (!names)
		return err_no_memory();
	names->symbolized = symbolized;
	names->nodes = recording_stacks(recording, &names->node_count);
	recording_frames(recording, &frames);
	names->positions = calloc((size_t)frames + 1, sizeof(*names->positions));
	names->stacks = calloc((size_t)names->node_count + 1, sizeof(*names->stacks));
	if (!names->positions || !names->stacks)
		return err_no_memory();
	*ret = steal(&names);
	return NULL;
}

static void put_number(struct buf *buf, uint64_t number)
{
	buf_char(buf, ' ');
	buf_hex(buf, number);
}

/* Writes the line of a string, in which line ends become harmless. text NULL: number 0. */
static struct err *define_string(struct heaptrack_names *names, struct buf *buf, const char *text,
				 uint32_t *ret)
{
	cleanup(buf_deinit) struct buf safe = BUF_EMPTY;
	uint64_t *number;

	*ret = 0;
	if (!text)
		return NULL;
	text = intern_text(&names->texts, text);
	number = text ? map_put(&names->strings, (uintptr_t)text) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = names->strings.count;
		style_safe_text(&safe, text, strlen(text));
		buf_char(buf, 's');
		put_number(buf, safe.size);
		buf_char(buf, ' ');
		buf_put(buf, safe.data, safe.size);
		buf_char(buf, '\n');
	}
	*ret = (uint32_t)*number;
	return buf_finish(&safe);
}

/*
 * Appends " FUNCTION FILE LINE" to line for each named line; definitions of their strings go to buf
 * before that.
 */
static struct err *put_lines(struct heaptrack_names *names, struct buf *buf, struct buf *line,
			     const struct named_frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t function, file;
		struct err *err = define_string(names, buf, frames[i].function, &function);

		if (!err)
			err = define_string(names, buf, frames[i].file, &file);
		if (err)
			return err;
		put_number(line, function);
		put_number(line, file);
		put_number(line, file ? frames[i].line : 0);
	}
	return NULL;
}

static struct err *define_position(struct heaptrack_names *names, struct buf *buf,
				   const struct named_frame *frames, size_t count, uint32_t *ret)
{
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	uint32_t module;
	struct err *err;

	err = define_string(names, buf, frames->module, &module);
	if (err)
		return err;
	buf_char(&line, 'i');
	put_number(&line, frames->address);
	put_number(&line, module);
	err = put_lines(names, buf, &line, frames, count);
	if (err)
		return err;
	buf_char(&line, '\n');
	buf_put(buf, line.data, line.size);
	*ret = ++names->position_count;
	return buf_finish(&line);
}

static struct err *position(struct heaptrack_names *names, struct buf *buf, uint32_t frame,
			    uint32_t *ret)
{
	const struct named_frame *frames;
	struct err *err = NULL;
	size_t count;

	if (!names->positions[frame]) {
		err = symbolized_frame(names->symbolized, frame, &frames, &count);
		if (!err)
			err = define_position(names, buf, frames, count, &names->positions[frame]);
	}
	*ret = names->positions[frame];
	return err;
}

static void define_stack(struct heaptrack_names *names, struct buf *buf, uint32_t position,
			 uint32_t caller, uint32_t *ret)
{
	buf_char(buf, 't');
	put_number(buf, position);
	put_number(buf, caller);
	buf_char(buf, '\n');
	*ret = ++names->stack_count;
}

static struct err *define_empty_stack(struct heaptrack_names *names, struct buf *buf, uint32_t *ret)
{
	const struct named_frame frame = {.function = "[no stack]"};
	uint32_t position = 0;
	struct err *err = define_position(names, buf, &frame, 1, &position);

	if (!err)
		define_stack(names, buf, position, 0, ret);
	return err;
}

/*
 * *ret: the number of a stack. node: its innermost, or RECORDING_NONE. The first time, the lines
 * that define it are appended to buf.
 */
static struct err *heaptrack_names_stack(struct heaptrack_names *names, struct buf *buf,
					 uint32_t node, uint32_t *ret)
{
	uint32_t *empty = &names->stacks[names->node_count];
	uint32_t caller = 0;
	struct err *err = NULL;

	if (node == RECORDING_NONE) {
		if (!*empty)
			err = define_empty_stack(names, buf, empty);
		*ret = *empty;
		return err;
	}
	names->path.count = 0;
	for (; node != RECORDING_NONE && !caller; node = names->nodes[node].parent) {
		caller = names->stacks[node];
		if (!caller && !vec_push(&names->path, node))
			return err_no_memory();
	}
	while (names->path.count && !err) {
		uint32_t number;

		node = names->path.items[--names->path.count];
		err = position(names, buf, names->nodes[node].frame, &number);
		if (!err)
			define_stack(names, buf, number, caller, &names->stacks[node]);
		caller = names->stacks[node];
	}
	*ret = caller;
	return err;
}

#define SET_BITS 18
#define WAYS     4

/* The kinds that are remembered for one hash, the last used first. 16 MB in all. */
struct heaptrack_kind_set {
	struct known_kind {
		uint64_t size;
		uint32_t site;
		uint32_t number; /* + 1; 0: none */
	} ways[WAYS];
};

void heaptrack_kinds_deinit(struct heaptrack_kinds *kinds)
{
	heaptrack_names_destroy(kinds->names);
	free(kinds->sets);
	spill_deinit(&kinds->memory);
}

struct err *heaptrack_kinds_init(struct heaptrack_kinds *kinds, struct symbolized *symbolized)
{
	kinds->recording = symbolized_recording(symbolized);
	kinds->sets = calloc((size_t)1 << SET_BITS, sizeof(*kinds->sets));
	if (!kinds->sets || !spill_grow(&kinds->memory, (recording_blocks(kinds->recording)->count +
							 1) * sizeof(*kinds->of)))
		return err_no_memory();
	kinds->of = kinds->memory.data;
	return heaptrack_names_create(symbolized, &kinds->names);
}

static void put_kind(struct buf *buf, uint64_t size, uint32_t stack)
{
	buf_text(buf, "a ");
	buf_hex(buf, size);
	buf_char(buf, ' ');
	buf_hex(buf, stack);
	buf_char(buf, '\n');
}

static struct err *define_kind(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t size,
			       uint32_t site)
{
	uint32_t stack;
	const struct site *sites = recording_sites(kinds->recording, NULL);
	struct err *err = heaptrack_names_stack(kinds->names, buf, sites[site].stack, &stack);

	if (err)
		return err;
	put_kind(buf, size, stack);
	if (!kinds->count++) {
		kinds->first_size = size;
		kinds->first_stack = stack;
	}
	return NULL;
}

/*
 * Moves a kind to the front of its set. If it is not there, it takes the place of the one that was
 * used longest ago.
 */
static struct known_kind *recall(struct heaptrack_kinds *kinds, uint64_t size, uint32_t site)
{
	uint64_t hash = random_mix(size * RANDOM_STEP + site);
	struct known_kind *ways = kinds->sets[hash >> (64 - SET_BITS)].ways;
	struct known_kind found = {.size = size, .site = site};
	size_t way = 0;

	while (way < WAYS - 1 && !(ways[way].size == size && ways[way].site == site))
		way++;
	if (ways[way].size == size && ways[way].site == site)
		found = ways[way];
	memmove(ways + 1, ways, way * sizeof(*ways));
	ways[0] = found;
	return ways;
}

struct err *heaptrack_kinds_take(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t block,
				 uint64_t size)
{
	uint32_t site = recording_blocks(kinds->recording)->site[block];
	struct known_kind *known = recall(kinds, size, site);

	if (!known->number) {
		struct err *err = define_kind(kinds, buf, size, site);

		if (err)
			return err;
		known->number = kinds->count;
	}
	kinds->of[block] = known->number - 1;
	return NULL;
}

void heaptrack_kinds_finish(struct heaptrack_kinds *kinds, struct buf *buf)
{
	if (!kinds->count)
		return;
	put_kind(buf, 0, kinds->first_stack);
	put_kind(buf, kinds->first_size, kinds->first_stack);
}
