#include "analysis/growing/growing.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

/* How late an event may be written without the recording being read again from its start. */
#define LATE_NS UINT64_C(100000000)

/* So often it is read from its start; after that it is read when it is needed. */
#define STARTS_MAX 4

struct growing {
	char *path;
	struct byte_source source;
	unsigned int needs;
	struct recording *recording; /* NULL: nothing is taken */
	struct load load;            /* of the recording */
	unsigned int starts;
	bool whole;                   /* the recording is to be read as a whole */
	bool ending;                  /* growing_finish() was called */
	recording_progress *progress; /* since then */
	void *argument;
};

CLEANUP_DEFINE(struct growing *, growing_close);

struct err *growing_open(const char *path, unsigned int needs, struct growing **ret)
{
	cleanup(growing_close_at) struct growing *growing = calloc(1, sizeof(*growing));
	struct err *err;

	if (!growing)
		return err_no_memory();
	growing->source.fd = -1;
	growing->needs = needs;
	growing->path = strdup(path);
	if (!growing->path)
		return err_no_memory();
	err = byte_source_open(growing->path, &growing->source);
	if (err)
		return err;
	*ret = steal(&growing);
	return NULL;
}

/* Forgets all that was taken. */
static void forget(struct growing *growing)
{
	load_deinit(&growing->load);
	growing->load = (struct load){0};
	recording_close(steal(&growing->recording));
}

void growing_close(struct growing *growing)
{
	if (!growing)
		return;
	forget(growing);
	byte_source_close(&growing->source);
	free(growing->path);
	free(growing);
}

bool growing_has_begun(const struct growing *growing)
{
	return growing->recording;
}

static void give_up(struct growing *growing)
{
	forget(growing);
	growing->whole = true;
}

static bool can_grow(const struct load *load)
{
	return !(load->header.flags & (TRACE_LIVE | TRACE_FINISHED)) && !load->header.cull_ns &&
	       !load->damage.chunks && !load->index.missing && !load->index.packs.count;
}

static struct err *start(struct growing *growing)
{
	struct load *load = &growing->load;
	struct err *err;

	forget(growing);
	if (growing->starts++ == STARTS_MAX) {
		give_up(growing);
		return NULL;
	}
	growing->recording = calloc(1, sizeof(*growing->recording));
	if (!growing->recording)
		return err_no_memory();
	load->progress = growing->progress;
	load->argument = growing->argument;
	load->recording = growing->recording;
	load->source = &growing->source;
	err = load_begin(load, growing->needs);
	if (!err && !can_grow(load)) {
		give_up(growing);
		return NULL;
	}
	growing->recording->blocks.leisurely = !growing->ending;
	return err ? err : load_open_streams(load);
}

/* Finds what came since the last reading. *ret false: it cannot go on from there. */
static struct err *renew(struct growing *growing, bool *ret)
{
	struct load *load = &growing->load;
	struct err *err = load_header_again(load, ret);

	if (!err && *ret)
		err = load_streams_grow(load, ret);
	if (!err && *ret)
		load_set_clock(load);
	return err;
}

/* Until when all events are surely there. */
static uint64_t sure_until(const struct load *load)
{
	uint64_t late = tick_clock_span(&load->clock, LATE_NS);

	return load->index.latest_ticks > late ? load->index.latest_ticks - late : 0;
}

/* Takes events: all, or what is sure. Begins anew if it has to. */
static struct err *take(struct growing *growing, bool all)
{
	struct load *load = &growing->load;
	struct err *err = NULL;
	bool good = false;

	if (growing->recording)
		err = renew(growing, &good);
	while (!err && !growing->whole) {
		if (good) {
			err = load_merge(load, all ? UINT64_MAX : sure_until(load));
			if (!err && load->damage.chunks)
				give_up(growing);
			if (err || !load->late)
				return err;
		}
		err = start(growing);
		good = true;
	}
	return err;
}

struct err *growing_advance(struct growing *growing)
{
	struct err *err = growing->whole ? NULL : take(growing, false);

	if (err)
		give_up(growing);
	return err;
}

struct err *growing_finish(struct growing *growing, recording_progress *progress, void *argument,
			   struct recording **ret)
{
	struct load *load = &growing->load;
	struct err *err = NULL;

	if (!growing->whole && growing->recording) {
		growing->ending = true;
		growing->recording->blocks.leisurely = false;
		growing->progress = load->progress = progress;
		growing->argument = load->argument = argument;
		err = take(growing, true);
	}
	if (!err && growing->recording) {
		load_note_file(load);
		err = load_end(load);
	}
	if (err)
		return err;
	if (!growing->recording)
		return recording_open(growing->path, growing->needs, progress, argument, ret);
	*ret = steal(&growing->recording);
	forget(growing);
	return NULL;
}
