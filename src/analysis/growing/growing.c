#include "analysis/growing/growing.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analysis/load/load.h"
#include "coredump/turned.h"
#include "import/import.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"

/*
 * How late an event may be written without the recording being read again from its start. Twice as
 * late each time that this happened.
 */
#define LATE_NS UINT64_C(100000000)

/* So often it is read from its start; after that it is read when it is needed. */
#define STARTS_MAX 4

struct growing {
	char *name; /* its path, or what messages call it */
	bool named; /* it is a path */
	bool core;  /* of a core dump, a big-endian machine, or imported: it is opened again by its
		       path */
	struct byte_source source;
	unsigned int needs;
	struct recording *recording; /* NULL: nothing is taken */
	struct load load;            /* of the recording */
	struct block_times times;    /* of looks at it */
	uint64_t late_ns;
	unsigned int starts;
	bool whole;                   /* the recording is to be read as a whole */
	bool looked;                  /* growing_look() was called */
	bool ending;                  /* growing_finish() was called */
	recording_progress *progress; /* NULL: nobody is told */
	void *argument;
};

CLEANUP_DEFINE(struct growing *, growing_close);

static struct err *make(const char *name, unsigned int needs, struct growing **ret)
{
	cleanup(growing_close_at) struct growing *growing = calloc(1, sizeof(*growing));

	if (!growing)
		return err_no_memory();
	growing->source.fd = -1;
	growing->needs = needs;
	growing->late_ns = LATE_NS;
	growing->name = strdup(name);
	if (!growing->name)
		return err_no_memory();
	*ret = steal(&growing);
	return NULL;
}

struct err *growing_open(const char *path, unsigned int needs, struct growing **ret)
{
	cleanup(growing_close_at) struct growing *growing = NULL;
	struct err *err = make(path, needs, &growing);
	const char *format = NULL;

	if (err)
		return err;
	assert(growing);
	growing->named = true;
	err = byte_source_open(growing->name, &growing->source);
	if (!err)
		err = import_format(&(struct import_file){growing->name, growing->source.fd},
				    &format);
	growing->core = format;
	if (!err && !growing->core)
		err = coredump_is(growing->name, growing->source.fd, &growing->core);
	if (!err && !growing->core)
		err = turned_is_needed(&growing->source, &growing->core);
	if (err)
		return err;
	growing->whole = growing->core;
	*ret = steal(&growing);
	return NULL;
}

struct err *growing_open_descriptor(const char *name, int fd, unsigned int needs,
				    struct growing **ret)
{
	cleanup(growing_close_at) struct growing *growing = NULL;
	struct err *err = make(name, needs, &growing);
	int copy;

	if (err)
		return err;
	assert(growing);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return err_create_errno(errno, "%s: descriptor %d", name, fd);
	err = byte_source_take(growing->name, copy, &growing->source);
	if (!err)
		*ret = steal(&growing);
	return err;
}

/* Forgets all that was taken. */
static void forget(struct growing *growing)
{
	load_deinit(&growing->load);
	block_times_deinit(&growing->times);
	growing->load = (struct load){0};
	recording_close(steal(&growing->recording));
}

void growing_close(struct growing *growing)
{
	if (!growing)
		return;
	forget(growing);
	byte_source_close(&growing->source);
	free(growing->name);
	free(growing);
}

void growing_tell(struct growing *growing, recording_progress *progress, void *argument)
{
	growing->progress = progress;
	growing->argument = argument;
	growing->load.progress = progress;
	growing->load.argument = argument;
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
	return !(load->header.flags & (TRACE_LIVE | TRACE_FINISHED | TRACE_AGGREGATE)) &&
	       !load->header.cull_ns && !load->damage.chunks && !load->index.missing &&
	       !load->index.packs.count;
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
	err = recording_create(&growing->recording);
	if (err)
		return err;
	load->progress = growing->progress;
	load->argument = growing->argument;
	load->recording = growing->recording;
	load->source = &growing->source;
	err = load_begin(load, growing->needs);
	if (!err && !can_grow(load)) {
		give_up(growing);
		return NULL;
	}
	growing->recording->blocks->store.leisurely = !growing->ending;
	growing->recording->blocks->store.followed = growing->looked;
	return err ? err : load_open_streams(load);
}

/* Whether the path now leads to another file than the one that is read. */
static bool is_replaced(const struct growing *growing)
{
	struct stat old, new;

	if (!growing->named)
		return false;
	return fstat(growing->source.fd, &old) < 0 || stat(growing->name, &new) < 0 ||
	       old.st_dev != new.st_dev || old.st_ino != new.st_ino;
}

/* Finds what came since the last reading. *ret false: it cannot go on from there. */
static struct err *renew(struct growing *growing, bool *ret)
{
	struct load *load = &growing->load;
	struct err *err = load_header_again(load, ret);

	if (!err && *ret)
		err = load_streams_grow(load, ret);
	if (!err && *ret)
		*ret = load_set_clock(load);
	return err;
}

/* Until when all events are surely there. */
static uint64_t sure_until(const struct growing *growing)
{
	const struct load *load = &growing->load;
	uint64_t late = tick_clock_span(&load->clock, growing->late_ns);
	uint64_t now = tick_clock_now(&load->header);

	if (!growing->recording->facts.alive)
		return UINT64_MAX;
	return now > late ? now - late : 0;
}

/* Takes events: what is sure, and all that happened before `least`. Begins anew if it has to. */
static struct err *take(struct growing *growing, uint64_t least)
{
	struct load *load = &growing->load;
	struct err *err = NULL;
	bool good = false;

	if (is_replaced(growing))
		give_up(growing);
	else if (growing->recording)
		err = renew(growing, &good);
	while (!err && !growing->whole) {
		if (good) {
			uint64_t until = sure_until(growing);

			err = load_merge(load, until > least ? until : least);
			if (!err && load->damage.chunks)
				give_up(growing);
			if (err || !load->late)
				return err;
			growing->late_ns *= 2;
		}
		err = start(growing);
		good = true;
	}
	return err;
}

struct err *growing_advance(struct growing *growing)
{
	struct err *err = growing->whole ? NULL : take(growing, 0);

	if (err)
		give_up(growing);
	return err;
}

static struct err *read_whole(const struct growing *growing, struct recording **ret)
{
	if (growing->core || is_replaced(growing))
		return recording_open(growing->name, growing->needs, growing->progress,
				      growing->argument, ret);
	return recording_open_source(&growing->source, growing->needs, growing->progress,
				     growing->argument, ret);
}

static void sleep_until(uint64_t ns)
{
	uint64_t now = now_ns();
	const struct timespec time = {
		.tv_sec = (time_t)((ns - now) / 1000000000),
		.tv_nsec = (long)((ns - now) % 1000000000),
	};

	if (now < ns)
		nanosleep(&time, NULL);
}

/* Takes at least what was written before the call. */
static struct err *take_written(struct growing *growing)
{
	uint64_t asked_ns = now_ns(), asked;
	struct err *err = NULL;

	if (!growing->recording && !growing->whole) {
		err = start(growing);
		// Nothing will be added to it, so that there is nothing to be kept for the next
		// look.
		if (!err && growing->recording && !growing->recording->facts.writing)
			give_up(growing);
	}
	if (err || growing->whole)
		return err;
	asked = tick_clock_now(&growing->load.header);
	err = take(growing, 0);
	if (err || growing->whole || !growing->load.heap_count)
		return err;
	// What happened before the call may still come.
	sleep_until(asked_ns + growing->late_ns);
	return take(growing, asked);
}

struct err *growing_look(struct growing *growing, struct recording **ret)
{
	struct err *err;

	growing->looked = true;
	err = take_written(growing);
	*ret = NULL;
	if (!err && growing->recording) {
		load_note_file(&growing->load);
		err = load_look(&growing->load, &growing->times, ret);
	}
	if (*ret)
		return NULL;
	give_up(growing);
	return err ? err : read_whole(growing, ret);
}

void growing_give_back(const struct growing *growing)
{
	if (!growing->recording)
		return;
	block_store_give_back(&growing->recording->blocks->store);
	block_times_give_back(&growing->times);
}

bool growing_goes_on(const struct growing *growing)
{
	return !growing->whole;
}

struct err *growing_finish(struct growing *growing, recording_progress *progress, void *argument,
			   struct recording **ret)
{
	struct load *load = &growing->load;
	struct err *err = NULL;

	growing->progress = load->progress = progress;
	growing->argument = load->argument = argument;
	if (!growing->whole && growing->recording) {
		growing->ending = true;
		growing->recording->blocks->store.leisurely = false;
		err = take(growing, UINT64_MAX);
	}
	if (!err && growing->recording) {
		load_note_file(load);
		err = load_end(load);
	}
	if (err)
		return err;
	if (!growing->recording)
		return read_whole(growing, ret);
	*ret = steal(&growing->recording);
	forget(growing);
	return NULL;
}
