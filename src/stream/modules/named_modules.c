#include "stream/modules/named_modules.h"

#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "stream/link/message.h"
#include "trace/byte_order.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"
#include "trace/live.h"

struct named_modules {
	struct arena arena; /* build ids and paths */
	size_t bytes;       /* of them */
	VEC(struct named_module) list;

	/*
	 * From the hash of a build id to its index. If two have one hash, the second one has the
	 * next number as its key, and so on. The seed is random, so that nobody can make many of
	 * these.
	 */
	struct map index;
	uint64_t seed;

	/*
	 * The frames of decode_stream.stack. They are written, never read: modules do not depend on
	 * the stack.
	 */
	struct decode_frame *frames;
	uint32_t frames_count;
};

struct err *named_modules_create(struct named_modules **ret)
{
	struct named_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return err_no_memory();
	// Without random numbers the list works as well: it may be slow if a sender is hostile.
	if (getrandom(&modules->seed, sizeof(modules->seed), GRND_NONBLOCK) < 0)
		modules->seed = (uintptr_t)modules;
	*ret = modules;
	return NULL;
}

void named_modules_destroy(struct named_modules *modules)
{
	if (!modules)
		return;
	free(modules->frames);
	map_deinit(&modules->index);
	vec_deinit(&modules->list);
	arena_deinit(&modules->arena);
	free(modules);
}

size_t named_modules_count(const struct named_modules *modules)
{
	return modules->list.count;
}

const struct named_module *named_modules_at(const struct named_modules *modules, size_t index)
{
	return &modules->list.items[index];
}

/*
 * Looks the build id up. Returns its index, or MAP_NONE; *key is then where it belongs.
 */
static uint64_t find_module(const struct named_modules *modules, const uint8_t *build_id,
			    size_t size, uint64_t *key)
{
	*key = XXH3_64bits_withSeed(build_id, size, modules->seed);
	for (;; ++*key) {
		uint64_t index = map_get(&modules->index, *key);

		if (index == MAP_NONE)
			return MAP_NONE;

		const struct named_module *module = &modules->list.items[index];

		if (module->build_id_size == size && !memcmp(module->build_id, build_id, size))
			return index;
	}
}

const char *named_modules_find(const struct named_modules *modules, const uint8_t *build_id,
			       size_t size)
{
	uint64_t key, index = find_module(modules, build_id, size, &key);

	return index == MAP_NONE ? NULL : modules->list.items[index].path;
}

/* Notes a module, if it is a new one and there is room. */
static struct err *note_module(struct named_modules *modules, const struct decode_event *event)
{
	const struct decode_text *path = &event->module.path;
	size_t size = event->module.build_id_size;
	uint64_t key;

	if (!size || size > MESSAGE_BUILD_ID_MAX || path->size > NAMED_MODULES_PATH_MAX ||
	    memchr(path->data, '\0', path->size))
		return NULL;
	if (modules->list.count == NAMED_MODULES_MAX ||
	    modules->bytes + size + path->size > NAMED_MODULES_BYTES)
		return NULL;
	if (find_module(modules, event->module.build_id, size, &key) != MAP_NONE)
		return NULL;
	if (!vec_reserve(&modules->list, 1))
		return err_no_memory();

	const char *id = arena_copy(&modules->arena, event->module.build_id, size);
	const char *text = arena_copy(&modules->arena, path->data, path->size);
	uint64_t *value = id && text ? map_put(&modules->index, key) : NULL;

	if (!value)
		return err_no_memory();
	*value = modules->list.count;
	modules->list.items[modules->list.count++] = (struct named_module){
		.build_id = (const uint8_t *)id, .build_id_size = size, .path = text};
	modules->bytes += size + path->size;
	return NULL;
}

/* Makes room for so many frames. */
static struct err *grow_frames(struct named_modules *modules, struct decode_stream *stream)
{
	uint32_t count = modules->frames_count ? modules->frames_count : 1024;

	while (count < stream->needed)
		count *= 2;

	struct decode_frame *frames = realloc(modules->frames, count * sizeof(*frames));

	if (!frames)
		return err_no_memory();
	modules->frames = stream->stack = frames;
	modules->frames_count = stream->capacity = count;
	return NULL;
}

static struct err *add_payload(struct named_modules *modules, const struct trace_chunk *chunk,
			       const void *payload, uint32_t size)
{
	struct decode_stream stream = {.stack = modules->frames, .capacity = modules->frames_count};
	struct decode_event event;
	enum decode_result result;
	struct err *err = NULL;

	do {
		// As if the frames that were carried over were known: so none of them is written.
		stream.depth = stream.kept = chunk->carried;
		result = decode_chunk(&stream, payload, size, chunk->base_ticks, chunk->carried,
				      true);
		if (result == DECODE_NEED_STACK)
			err = grow_frames(modules, &stream);
	} while (!err && result == DECODE_NEED_STACK);
	while (!err && (result == DECODE_RECORD || result == DECODE_NEED_STACK)) {
		result = decode_next(&stream, &event);
		if (result == DECODE_NEED_STACK)
			err = grow_frames(modules, &stream);
		else if (result == DECODE_RECORD && event.kind == TRACE_RECORD_MODULE)
			err = note_module(modules, &event);
	}
	return err;
}

struct err *named_modules_add(struct named_modules *modules, const void *chunk, size_t size)
{
	uint8_t head[LIVE_CHUNK_OFFSET + sizeof(struct live_chunk)] = {0};
	struct trace_chunk header;
	const char *expected;

	if (size < sizeof(header))
		return NULL;
	// Big-endian live tables: records are bytes, only the head is to be turned.
	memcpy(head, chunk, size < sizeof(head) ? size : sizeof(head));
	byte_order_turn_head(head);
	if (chunk_check(head, &header, &expected) != CHUNK_VALID ||
	    header.kind != TRACE_CHUNK_EVENTS)
		return NULL;

	size_t there = size - sizeof(header), committed = chunk_committed(&header);

	return add_payload(modules, &header, (const uint8_t *)chunk + sizeof(header),
			   (uint32_t)(there < committed ? there : committed));
}

void module_walk_deinit(struct module_walk *walk)
{
	vec_deinit(&walk->pages);
}

struct err *module_walk_chunk(struct named_modules *modules, const struct byte_source *source,
			      uint64_t offset, uint32_t size)
{
	auto_free uint8_t *bytes = malloc(size);
	struct err *err;
	size_t got;

	if (!bytes)
		return err_no_memory();
	err = byte_source_read(source, offset, bytes, size, &got);
	return err ? err : named_modules_add(modules, bytes, got);
}

static bool is_known_chunk(const struct module_walk *walk, uint64_t offset)
{
	uint64_t page = offset / TRACE_PAGE;

	return page / 64 < walk->pages.count && walk->pages.items[page / 64] >> page % 64 & 1;
}

static struct err *note_known_chunk(struct module_walk *walk, uint64_t offset)
{
	uint64_t page = offset / TRACE_PAGE;

	while (walk->pages.count <= page / 64)
		if (!vec_push(&walk->pages, 0))
			return err_no_memory();
	walk->pages.items[page / 64] |= UINT64_C(1) << page % 64;
	return NULL;
}

/* Notes the modules of a chunk, unless it is known. */
static struct err *note_chunk(struct named_modules *modules, const struct byte_source *source,
			      struct module_walk *walk, uint64_t offset,
			      const struct trace_chunk *header)
{
	bool sealed = header->flags & TRACE_CHUNK_SEALED;
	struct err *err;

	if (header->kind != TRACE_CHUNK_EVENTS || (sealed && is_known_chunk(walk, offset)))
		return NULL;
	err = module_walk_chunk(modules, source, offset, header->size);
	return !err && sealed ? note_known_chunk(walk, offset) : err;
}

static bool is_goal_found(const struct named_modules *modules, const struct module_walk_goal *goal)
{
	return goal && named_modules_find(modules, goal->build_id, goal->size);
}

struct err *module_walk(struct named_modules *modules, const struct byte_source *source,
			enum module_walk_which which, const struct module_walk_goal *goal,
			struct module_walk *walk)
{
	uint64_t offset = TRACE_PAGE, end;
	struct err *err = byte_source_size(source, &end);

	while (!err && offset < end && !is_goal_found(modules, goal)) {
		uint8_t raw[sizeof(struct trace_chunk)];
		struct trace_chunk header;
		const char *expected;
		bool valid;
		size_t got;

		err = byte_source_read(source, offset, raw, sizeof(raw), &got);
		valid = !err && got == sizeof(raw) &&
			chunk_check(raw, &header, &expected) == CHUNK_VALID;
		if (valid && (which == MODULE_WALK_ALL || header.flags & TRACE_CHUNK_SLOT ||
			      offset >= walk->end))
			err = note_chunk(modules, source, walk, offset, &header);
		offset = byte_source_next_unit(source, offset + (valid ? header.size : TRACE_PAGE),
					       TRACE_PAGE);
	}
	if (!err && offset > walk->end)
		walk->end = offset;
	return err;
}
