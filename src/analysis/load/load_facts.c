#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/load/load.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "hosted/file_writers.h"
#include "hosted/files/file_lock.h"
#include "trace/chunk_check.h"

static struct err *refuse(const struct byte_source *source, const uint8_t *data, size_t size)
{
	char found[3 * 8 + 1] = "";

	if (!size)
		return err_create("%s: not a recording: the file is empty", source->name);
	for (size_t i = 0; i < 8 && i < size; i++)
		snprintf(found + 3 * i, 4, " %02x", data[i]);
	return err_create("%s: not a recording: begins with%s, expected 89 4d 4c 57 0d 0a 1a 0a",
			  source->name, found);
}

static struct err *check(const struct byte_source *source, const uint8_t *data, size_t size,
			 struct trace_header *header)
{
	switch (header_check(data, size, header)) {
	case HEADER_VALID:
		return NULL;
	case HEADER_NEWER:
		return err_create("%s: version %u.%u of the format, this mallow reads up to %u",
				  source->name, header->version_major, header->version_minor,
				  TRACE_VERSION_MAJOR);
	case HEADER_CUT:
		return err_create("%s: cut short: ends at offset %zu within its header of %u bytes",
				  source->name, size, TRACE_PAGE);
	case HEADER_FOREIGN:
		break;
	}
	return refuse(source, data, size);
}

static void copy_facts(struct recording_facts *facts, const struct trace_header *header)
{
	static const uint8_t no_id[16];

	hex_put(facts->id, header->id, sizeof(header->id));
	if (memcmp(header->parent_id, no_id, sizeof(no_id)) != 0)
		hex_put(facts->parent_id, header->parent_id, sizeof(header->parent_id));
	facts->version_major = header->version_major;
	facts->version_minor = header->version_minor;
	facts->pid = header->pid;
	facts->parent_pid = header->parent_pid;
	facts->machine = header->machine;
	facts->pointer_size = header->pointer_size;
	facts->allocator = header->allocator;
	facts->begun_by_fork = header->flags & TRACE_BEGUN_BY_FORK;
	facts->begun_by_start = header->flags & TRACE_BEGUN_BY_START;
	facts->attached = header->flags & TRACE_ATTACHED;
	facts->sample_mean = header->sample_mean;
	facts->cull_ns = header->cull_ns;
	facts->stripped = header->flags & TRACE_STRIPPED;
	facts->private_slots = header->flags & TRACE_PRIVATE_SLOTS;
	facts->free_stacks = header->flags & TRACE_FREE_STACKS;
	facts->live = header->flags & TRACE_LIVE;
	facts->imported = header->flags & TRACE_IMPORTED;
	facts->foreign = header->flags & TRACE_FOREIGN;
	facts->python_pools = header->flags & TRACE_PYTHON_POOLS;
	facts->hands_over = header->flags & TRACE_HANDS_OVER;
	facts->finished = header->flags & TRACE_FINISHED;
	facts->start_realtime_ns = header->start_realtime_ns;
	facts->start_monotonic_ns = header->start_monotonic_ns;
}

/* No program loses so many events: ten thousand million a second for a day. What says so is
 * damaged. */
#define LOSSES_BITS 50

/*
 * Whether the program runs that writes the file. In another container its pid says nothing here. Of
 * a live table, which is a descriptor of the program's (/proc/PID/fd/N), the path has its pid.
 */
static bool writes_elsewhere(const struct byte_source *source, uint64_t start_time)
{
	uint32_t pid;

	if (sscanf(source->name, "/proc/%" SCNu32 "/fd/", &pid) == 1)
		return load_writer_alive(pid, start_time);
	return file_writers_find(source->fd) == FILE_WRITERS_SOME;
}

/* The facts that change while the recording is written. */
static void copy_state(struct load *load, const struct trace_header *header)
{
	struct recording_facts *facts = &load->recording->facts;

	facts->ended = header->state == TRACE_STATE_ENDED;
	// A core dump stays as it is, also if its process goes on.
	facts->alive = !facts->core && load_writer_alive(header->pid, header->start_time);
	facts->watched = header->flags & TRACE_WATCHED;
	facts->writing =
		!facts->ended && facts->alive &&
		(!facts->attached || load_writer_alive(load->writer.pid, load->writer.start_time));
	// On its way from another machine (mallow gather), whose processes cannot be seen here.
	if (!facts->ended && !facts->core && load->source->fd >= 0 &&
	    (file_lock_is_held(load->source->fd) ||
	     (!facts->alive && writes_elsewhere(load->source, header->start_time))))
		facts->alive = facts->writing = true;
	facts->end_reason = header->end_reason;
	facts->end_status = header->end_status;
	facts->lost = 0;
	for (int i = 0; i < TRACE_LOSS_COUNTERS; i++)
		facts->losses[i] = header->losses[i] >> LOSSES_BITS ? 0 : header->losses[i];
#define LOSS(number, NAME, name, loses_events, text)                                               \
	if (loses_events)                                                                          \
		facts->lost += facts->losses[number];
#include "trace/losses.def"
#undef LOSS
}

void load_note_end(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;

	// The header says the same, unless its writer was killed between writing the two.
	if (!facts->ended) {
		facts->end_reason = load->end_reason;
		facts->end_status = load->end_status;
	}
	facts->ended = true;
	facts->writing = false;
}

/* Sets what records may replace later. */
static struct err *set_defaults(struct recording *recording, const char *name)
{
	struct recording_facts *facts = &recording->facts;

	facts->path = arena_text(&recording->tables->arena, name);
	facts->arguments = arena_array(&recording->tables->arena, 1, sizeof(*facts->arguments));
	facts->program = facts->directory = facts->host = "";
	facts->kernel = facts->agent_version = "";
	facts->first_damage_text = "";
	return facts->path && facts->arguments ? NULL : err_no_memory();
}

/* Reads who writes the recording, if that is not the program itself. */
static struct err *read_writer(struct load *load, const struct trace_header *header)
{
	size_t got;

	load->writer = (struct trace_attacher){0};
	if (!(header->flags & TRACE_ATTACHED))
		return NULL;
	return byte_source_read(load->source, TRACE_ATTACHER_OFFSET, &load->writer,
				sizeof(load->writer), &got);
}

static struct err *read_header(struct load *load, struct trace_header *ret)
{
	uint8_t data[sizeof(*ret)];
	struct err *err;
	size_t got;

	load->modified = byte_source_modified(load->source);
	err = byte_source_read(load->source, 0, data, sizeof(data), &got);
	if (!err)
		err = check(load->source, data, got, ret);
	return err ? err : read_writer(load, ret);
}

/*
 * Reads how many frames have guessed callers, the peak, and how many streams an ended recording has
 * at least. Old ones do not say. In live tables these places are the table's.
 */
static struct err *read_rest(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;
	struct trace_memory memory = {0};
	uint8_t number[4] = {0};
	struct err *err = NULL;
	size_t got;

	load->expected_streams = 0;
	err = byte_source_read(load->source, TRACE_GUESSES_OFFSET, number, sizeof(number), &got);
	facts->guesses = !err && got == sizeof(number) ? bytes_u32(number) : 0;
	if (!err && !(load->header.flags & TRACE_LIVE))
		err = byte_source_read(load->source, TRACE_MEMORY_OFFSET, &memory, sizeof(memory),
				       &got);
	if (err)
		return err;
	facts->peak_resident = memory.peak;
	facts->peak_resident_source = memory.peak_source;
	if (load->header.state != TRACE_STATE_ENDED)
		return NULL;
	err = byte_source_read(load->source, TRACE_STREAMS_OFFSET, number, sizeof(number), &got);
	if (!err && got == sizeof(number))
		load->expected_streams = bytes_u32(number);
	return err;
}

struct err *load_header(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;
	struct err *err = read_header(load, &load->header);

	if (!err)
		err = read_rest(load);
	if (err)
		return err;
	copy_facts(facts, &load->header);
	facts->owner = byte_source_owner(load->source);
	copy_state(load, &load->header);
	for (size_t i = 0; i < TRACE_LOSS_COUNTERS; i++)
		if (load->header.losses[i] >> LOSSES_BITS)
			damage_note(&load->damage, offsetof(struct trace_header, losses) + 8 * i,
				    "a number of losses that a program can reach");
	load->free_stacks = facts->free_stacks;
	load->recording->blocks->store.free_stacks =
		load->recording->blocks->store.wanted && facts->free_stacks;
	return set_defaults(load->recording, load->source->name);
}

struct err *load_header_again(struct load *load, bool *ret)
{
	struct trace_header header;
	struct err *err = read_header(load, &header);

	if (err)
		return err;
	*ret = memcmp(header.id, load->header.id, sizeof(header.id)) == 0 &&
	       !((header.flags ^ load->header.flags) & ~(uint32_t)TRACE_WATCHED);
	if (*ret)
		copy_state(load, &header);
	if (*ret && load->end_seen)
		load_note_end(load);
	load->header = header;
	return read_rest(load);
}
