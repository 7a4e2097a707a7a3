#include "analysis/sight/sight.h"

#include <stdlib.h>

#include "analysis/recording_data.h"
#include "analysis/sight/sight_data.h"
#include "trace/cursor.h"

struct err *sight_create(struct recording *recording, bool merged)
{
	struct sight *sight = calloc(1, sizeof(*sight));

	if (!sight)
		return err_no_memory();
	pthread_mutex_init(&sight->lock, NULL);
	sight->recording = recording;
	sight->made = merged;
	recording->tables->sight = recording->facts.sight = sight;
	return NULL;
}

void sight_destroy(struct sight *sight)
{
	if (!sight)
		return;
	vec_deinit(&sight->list);
	vec_deinit(&sight->patched);
	arena_deinit(&sight->arena);
	pthread_mutex_destroy(&sight->lock);
	free(sight);
}

bool sight_is_sanitizers(const struct unseen *unseen)
{
	return unseen->kind == TRACE_UNSEEN_RESIDENT && *unseen->name;
}

bool sight_is_whole(const struct unseen *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].kind != TRACE_UNSEEN_STARTED && !sight_is_sanitizers(&list[i]))
			return false;
	return true;
}

static struct err *take_patched(struct recording *recording, const struct decode_event *event)
{
	struct arena *arena = &recording->tables->arena;
	struct patched_object patched = {
		.functions = event->patched.functions,
		.refused = event->patched.refused,
		.object = arena_copy(arena, event->patched.object.data, event->patched.object.size),
		.name = arena_copy(arena, event->patched.name.data, event->patched.name.size),
		.why = arena_copy(arena, event->patched.why.data, event->patched.why.size),
	};

	if (!patched.object || !patched.name || !patched.why ||
	    !vec_push(&recording->tables->patched, patched))
		return err_no_memory();
	return NULL;
}

struct err *sight_take(struct recording *recording, const struct decode_event *event)
{
	if (event->kind == TRACE_RECORD_PATCHED)
		return take_patched(recording, event);

	struct arena *arena = &recording->tables->arena;
	struct unseen unseen = {
		.kind = (enum trace_unseen)event->unseen.kind,
		.bytes_at_most = event->unseen.bytes,
		.object = arena_copy(arena, event->unseen.object.data, event->unseen.object.size),
		.name = arena_copy(arena, event->unseen.name.data, event->unseen.name.size),
		.symbol = arena_copy(arena, event->unseen.symbol.data, event->unseen.symbol.size),
	};

	if (!unseen.object || !unseen.name || !unseen.symbol ||
	    !vec_push(&recording->tables->unseen, unseen))
		return err_no_memory();
	return NULL;
}

struct err *sight_read(struct recording *recording, const uint8_t *data, size_t size)
{
	struct decode_stream stream = {0};
	struct decode_event event;
	enum decode_result result = decode_chunk(&stream, data, (uint32_t)size, 0, 0, true);
	struct err *err = NULL;

	while (!err && result == DECODE_RECORD) {
		result = decode_next(&stream, &event);
		if (result == DECODE_RECORD &&
		    (event.kind == TRACE_RECORD_UNSEEN || event.kind == TRACE_RECORD_PATCHED))
			err = sight_take(recording, &event);
	}
	// Of a damaged one nothing is used: the files are looked at again.
	recording->tables->unseen_stored = !err && result == DECODE_END;
	if (!recording->tables->unseen_stored)
		recording->tables->unseen.count = recording->tables->patched.count = 0;
	return err;
}
