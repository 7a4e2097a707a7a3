/*
 * Writes a recording that is valid at every moment (docs/trace-format.md): what is flushed can be
 * read at once, and is there if the writer is killed.
 *
 *	recording_file_create(path, &header, NULL, &file);
 *	recording_file_add_stream(file, ticks);                 the first one has number 0
 *	recording_file_event(file, 0, &event, stack, frames);
 *	…
 *	recording_file_flush(file);                             now and then
 *	…
 *	recording_file_end(file, ticks, TRACE_END_EXIT, status);
 *	recording_file_close(file);
 *
 * Each stream fills a slot, a chunk with room at its place in the file. A full one is sealed where
 * it stands, and the next slot begins at the end of the file. Slots are sparse. What is written to
 * stream 0 is committed first: records that others need, such as frames, belong there.
 *
 * Errors are kept until recording_file_flush() or recording_file_end() returns them; after one,
 * nothing more is written. The clock is CLOCK_MONOTONIC in nanoseconds. One thread at a time.
 */
#ifndef MALLOW_WRITE_RECORDING_FILE_H
#define MALLOW_WRITE_RECORDING_FILE_H

#include "hosted/err.h"
#include "write/record_stream.h"

struct recording_file;

/*
 * Creates the file; if there is one of that name, NAME.1, and so on. header: its magic, versions,
 * sizes, clock and id are filled in; all else is the caller's. attacher: with TRACE_ATTACHED who
 * writes, else NULL.
 */
struct err *recording_file_create(const char *path, const struct trace_header *header,
				  const struct trace_attacher *attacher,
				  struct recording_file **ret);
/*
 * The same in an empty file that is open already, which the recording owns from now on, also on
 * failure.
 */
struct err *recording_file_adopt(int fd, const struct trace_header *header,
				 const struct trace_attacher *attacher,
				 struct recording_file **ret);
/* Closes the file, which stays as it was flushed. Accepts NULL. */
void recording_file_close(struct recording_file *file);

/* The file's name, as it was created. Lives as long as the file. */
const char *recording_file_path(const struct recording_file *file);

/* Begins a stream. Returns its number. */
uint32_t recording_file_add_stream(struct recording_file *file, uint64_t ticks);

/* See record_stream.h. frames: at most 4096. */
void recording_file_event(struct recording_file *file, uint32_t stream,
			  const struct trace_event *event, const struct record_frame *stack,
			  uint32_t frames);

/* Any other record (section 4.2), that of kinds with a time, and that of kinds without. */
struct recording_fact {
	enum trace_record kind;
	bool has_time;
	uint64_t ticks;
	const uint64_t *fields; /* without the time */
	size_t count;           /* at most 15 */
	const void *text;
	size_t size; /* of the text, at most 64 KiB */
	/* If it belongs to a stack; NULL: to none. */
	const struct record_frame *stack;
	uint32_t frames;
};
void recording_file_fact(struct recording_file *file, uint32_t stream,
			 const struct recording_fact *fact);

/*
 * Adds a chunk of section 9, whose content is data. It is there with the next flush; size: at most
 * 1 GiB.
 */
void recording_file_add_chunk(struct recording_file *file, enum trace_chunk_kind kind,
			      const void *data, size_t size);

/* Sets pid, flags and start_realtime_ns anew, of which the writer learns late. */
void recording_file_amend(struct recording_file *file, const struct trace_header *header);

/* Commits all that was written, and these losses (section 7). */
struct err *recording_file_flush(struct recording_file *file,
				 const uint64_t losses[TRACE_LOSS_COUNTERS]);

/*
 * After an error of the file: counts what is not in it as lost, and writes that it was stopped. All
 * this has its place in the file already. Then as after recording_file_end().
 */
void recording_file_stop(struct recording_file *file);

/*
 * Writes that the recording has ended, and why, and closes its descriptor: it can be finished then.
 * The last call but recording_file_path() and recording_file_close().
 */
struct err *recording_file_end(struct recording_file *file, uint64_t ticks, enum trace_end reason,
			       uint32_t status);

#endif
