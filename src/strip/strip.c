#include "strip/strip.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "analysis/recording_source.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "strip/strip_stream.h"
#include "strip/strip_sums.h"
#include "trace/chunk_check.h"
#include "write/sealed_chunk.h"
#include "write/still_written.h"

/* The chunks of a stream in the index: first to end - 1. */
struct strip_stream {
	size_t first, end;
	const struct strip_bits *bits; /* NULL: all operations stay */
	bool omitted;                  /* it began after the part */
};

struct strip {
	const char *path;
	const struct strip_options *options;
	struct recording_source source;
	uint8_t page[TRACE_PAGE]; /* the header's page */
	struct trace_header header;
	struct chunk_index index;
	struct damage damage;
	struct tick_clock clock;
	uint64_t last_ticks;
	uint64_t from_ns; /* of a part */
	struct strip_choice choice;
	struct strip_copy copy;
	VEC(struct strip_stream) streams; /* of the index */
	uint32_t omitted;                 /* streams that began after the part */
};

static void strip_deinit(struct strip *strip)
{
	vec_deinit(&strip->streams);
	strip_choice_deinit(&strip->choice);
	strip_copy_deinit(&strip->copy);
	chunk_index_deinit(&strip->index);
	recording_source_close(&strip->source);
}

static struct err *refuse(const struct strip *strip, const char *why)
{
	return err_create("'%s' %s", strip->path, why);
}

/* A recording where all events stay, and which is copied alone, needs none of what we refuse. */
static bool wants_all(const struct strip_options *options)
{
	return !options->threshold_ns && !options->from && !options->to;
}

static struct err *check(const struct strip *strip)
{
	const struct trace_header *header = &strip->header;
	const struct strip_options *options = strip->options;

	if (header->flags & TRACE_LIVE)
		return refuse(strip, "is the live table of a program, which has no events: there "
				     "is nothing to strip");
	if (wants_all(options))
		return NULL;
	if (header->flags & TRACE_AGGREGATE)
		return refuse(strip, "has sums of stacks alone: there is nothing to strip "
				     "(--threshold 0 copies it)");
	// What a block of a sample stands for depends on how many were recorded before it.
	if (header->sample_mean)
		return refuse(strip, "is a sample: it is small, and its estimates need all of its "
				     "blocks (--threshold 0 copies it)");
	if (header->cull_ns && !(header->flags & TRACE_STRIPPED))
		return refuse(strip, "was recorded with --cull: short-lived blocks are in sums "
				     "only already (--threshold 0 copies it)");
	if (header->cull_ns && (options->from || options->to))
		return refuse(strip, "is stripped: when its sums were allocated is not known, so "
				     "no part can be taken of it");
	return NULL;
}

static struct err *open_recording(struct strip *strip)
{
	struct err *err = recording_source_open(strip->path, &strip->source);
	size_t got;

	if (!err && strip->source.core)
		err = refuse(strip, "is a core dump, which cannot be stripped");
	if (!err)
		err = byte_source_read(strip->source.bytes, 0, strip->page, sizeof(strip->page),
				       &got);
	if (err)
		return err;
	switch (header_check(strip->page, got, &strip->header)) {
	case HEADER_VALID:
		break;
	case HEADER_NEWER:
		return err_create("%s: version %u.%u of the format, this mallow reads up to %u",
				  strip->path, strip->header.version_major,
				  strip->header.version_minor, TRACE_VERSION_MAJOR);
	default:
		return refuse(strip, "is not a recording");
	}
	err = check(strip);
	return err ? err : chunk_index_build(strip->source.bytes, &strip->damage, &strip->index);
}

/* The latest tick that is not later than that many nanoseconds after the start. */
static uint64_t ticks_at(const struct strip *strip, uint64_t ns)
{
	const struct tick_clock *clock = &strip->clock;
	uint64_t span = tick_clock_span(clock, ns + 1);

	while (span && tick_clock_ns(clock, clock->start + span) > ns)
		span--;
	return clock->start + span;
}

static struct err *resolve(const struct strip *strip, const struct moment *moment,
			   const char *option, const struct recording *recording, bool last,
			   uint64_t *ret)
{
	int64_t ns;
	struct err *err = moment_resolve(moment, recording, last, &ns);

	if (err)
		return err_prefix(err, "%s: %s", strip->path, option);
	*ret = ns > 0 ? (uint64_t)ns : 0;
	return NULL;
}

/* Whether recording was off when the part begins: then since when. */
static uint64_t off_at(const struct recording *recording, uint64_t from_ns)
{
	uint32_t count;
	const struct recorded_switch *switches = recording_switches(recording, &count);
	uint64_t off = UINT64_MAX;

	for (uint32_t i = 0; i < count && switches[i].time_ns <= from_ns; i++)
		off = switches[i].on ? UINT64_MAX : switches[i].time_ns;
	return off;
}

static struct err *find_part(struct strip *strip, const struct recording *recording)
{
	const struct strip_options *options = strip->options;
	const uint64_t duration = recording_facts(recording)->duration_ns;
	struct strip_copy *copy = &strip->copy;
	uint64_t to_ns = duration;
	struct err *err = NULL;

	if (options->from)
		err = resolve(strip, options->from, "--from", recording, false, &strip->from_ns);
	if (!err && options->to)
		err = resolve(strip, options->to, "--to", recording, true, &to_ns);
	if (err)
		return err;
	if (strip->from_ns >= duration && strip->from_ns)
		return err_create("%s: --from is not before the recording's end", strip->path);
	if (to_ns <= strip->from_ns)
		return err_create("%s: --to is not after --from", strip->path);
	copy->part = strip->from_ns > 0;
	copy->from = copy->part ? ticks_at(strip, strip->from_ns) : 0;
	copy->off_ns = copy->part ? off_at(recording, strip->from_ns) : UINT64_MAX;
	if (to_ns < duration) {
		copy->cut = true;
		copy->until = ticks_at(strip, to_ns);
	}
	return NULL;
}

/* Reads all events for the clock, which an end record may set, and for the moments of a part. */
static struct err *look_through(struct strip *strip)
{
	cleanup(load_walk_deinit) struct load_walk walk = {.index = &strip->index,
							   .until = UINT64_MAX};
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct err *err = load_walk(strip->source.bytes, &walk, strip->options->progress,
				    strip->options->argument, &recording);

	if (err)
		return err;
	strip->clock = walk.clock;
	strip->last_ticks = walk.last_ticks;
	return find_part(strip, recording);
}

static struct err *choose(struct strip *strip)
{
	const struct strip_options *options = strip->options;
	struct strip_choice *choice = &strip->choice;
	struct err *err;

	*choice = (struct strip_choice){
		.source = strip->source.bytes,
		.index = &strip->index,
		.threshold = options->threshold_ns,
		.temporary = !strip->header.cull_ns,
		.part = strip->copy.part,
		.from = strip->copy.from,
		.until = strip->copy.cut ? strip->copy.until : UINT64_MAX,
		.progress = options->progress,
		.argument = options->argument,
	};
	if (options->threshold_ns && options->threshold_ns != TRACE_CULL_ALL)
		choice->threshold = tick_clock_span(&strip->clock, options->threshold_ns);
	err = strip_choose(choice);
	if (err)
		return err;
	strip->copy.choice = choice;
	if (!strip->copy.cut)
		strip->last_ticks = choice->walk.last_ticks;
	return NULL;
}

/* Whether all of a stream is later than the part. The lowest stream stays: it has the sums. */
static bool is_omitted(const struct strip *strip, const struct strip_stream *stream)
{
	const struct indexed_chunk *chunks = strip->index.chunks.items;

	return strip->copy.cut && stream->first && !stream->bits->count &&
	       chunks[stream->first].header.open_ticks > strip->copy.until;
}

static struct err *find_streams(struct strip *strip)
{
	const struct indexed_chunk *chunks = strip->index.chunks.items;
	const struct strip_choice *choice = strip->copy.choice;
	size_t count = strip->index.chunks.count;

	for (struct strip_stream stream = {0}; stream.end < count;) {
		stream.first = stream.end++;
		while (stream.end < count &&
		       chunks[stream.end].header.stream == chunks[stream.first].header.stream)
			stream.end++;
		stream.bits = choice ? &choice->streams[strip->streams.count] : NULL;
		stream.omitted = is_omitted(strip, &stream);
		strip->omitted += stream.omitted;
		if (!vec_push(&strip->streams, stream))
			return err_no_memory();
	}
	return NULL;
}

/* What the header says of the part, or of the moment up to which the program had come. */
static void change_part(const struct strip *strip, struct trace_header *header)
{
	const struct strip_copy *copy = &strip->copy;
	struct trace_memory memory;

	if (copy->part) {
		header->start_ticks = copy->from;
		header->start_monotonic_ns += strip->from_ns;
		header->start_realtime_ns += strip->from_ns;
	}
	if (copy->cut) {
		header->state = TRACE_STATE_ENDED;
		header->end_reason = TRACE_END_CUT;
		header->end_status = 0;
	}
	if (!copy->part && !copy->cut)
		return;
	// The peak is that of the whole run.
	memcpy(&memory, strip->page + TRACE_MEMORY_OFFSET, sizeof(memory));
	memory.peak = 0;
	memory.peak_source = 0;
	memcpy((uint8_t *)strip->page + TRACE_MEMORY_OFFSET, &memory, sizeof(memory));
}

static uint64_t cull_ns_of(const struct strip *strip)
{
	uint64_t least = strip->options->threshold_ns;

	// In a part temporary blocks are known by the sums alone.
	if (!least && (strip->copy.part || strip->copy.cut))
		least = 1;
	return strip->header.cull_ns > least ? strip->header.cull_ns : least;
}

static struct err *put_header(struct strip *strip)
{
	struct trace_header header = strip->header;
	uint32_t streams;
	const uint64_t no_size = 0;

	change_part(strip, &header);
	if (getrandom(header.id, sizeof(header.id), 0) != sizeof(header.id))
		return err_create_errno(errno, "no random numbers");
	header.flags &= ~(uint32_t)TRACE_FINISHED;
	if (strip->copy.choice) {
		header.flags |= TRACE_STRIPPED;
		header.cull_ns = cull_ns_of(strip);
	}
	if (header.version_minor < TRACE_VERSION_MINOR)
		header.version_minor = TRACE_VERSION_MINOR;
	memcpy(strip->page, &header, sizeof(header));
	memcpy(strip->page + TRACE_SIZE_OFFSET, &no_size, sizeof(no_size));
	memcpy(&streams, strip->page + TRACE_STREAMS_OFFSET, sizeof(streams));
	streams -= streams > strip->omitted ? strip->omitted : streams;
	memcpy(strip->page + TRACE_STREAMS_OFFSET, &streams, sizeof(streams));
	buf_put(strip->copy.out, strip->page, sizeof(strip->page));
	return NULL;
}

static struct err *copy_stream(struct strip *strip, const struct strip_stream *stream)
{
	const struct trace_chunk *chunk = &strip->index.chunks.items[stream->first].header;

	strip_stream_begin(&strip->copy, chunk->stream, chunk->open_ticks,
			   chunk->open_monotonic_ns);
	return strip_stream_copy(&strip->copy, stream->first, stream->end, stream->bits, false);
}

/* The names of frames that streams after the part define: the part may know them, too. */
static struct err *copy_names(struct strip *strip)
{
	const struct strip_stream *streams = strip->streams.items;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < strip->streams.count; i++)
		if (streams[i].omitted)
			err = strip_stream_copy(&strip->copy, streams[i].first, streams[i].end,
						NULL, true);
	return err;
}

/* The recording's end is our own, if it is a part. */
static void put_end(struct strip *strip)
{
	struct record_stream *stream = &strip->copy.stream;
	uint64_t until = strip->copy.until;
	const uint64_t fields[] = {
		zigzag((int64_t)(until - stream->header.base_ticks)),
		strip->header.start_monotonic_ns + tick_clock_ns(&strip->clock, until),
		TRACE_END_CUT,
		0,
	};

	record_stream_fact(stream, TRACE_RECORD_END, fields, 4, NULL, 0);
}

/*
 * The end of the stream with the lowest number: sums, and what the file needs beside events. Its
 * chunk has the latest readings of the clock, by which all times are told.
 */
static struct err *put_tail(struct strip *strip)
{
	struct strip_copy *copy = &strip->copy;
	struct record_stream *stream = &copy->stream;
	uint64_t ticks = strip->index.latest_ticks, ns = strip->index.latest_monotonic_ns;
	uint64_t base = copy->cut ? copy->until : strip->last_ticks;
	struct err *err;

	if (copy->part || copy->cut) {
		ticks = ticks > base ? ticks : base;
		ns = strip->header.start_monotonic_ns + tick_clock_ns(&strip->clock, ticks);
	}
	err = strip_stream_next(copy, ticks, ns);
	// Damage that belongs to no stream: something is missing here, too.
	if (!err && strip->damage.chunks)
		stream->header.commit = trace_commit_word(chunk_sequence(&stream->header) + 1, 0);
	if (err)
		return err;
	// The recording lasts as long as before, and no longer.
	if (copy->choice) {
		stream->header.base_ticks = base;
		stream->encoder.time = base;
	}
	err = copy_names(strip);
	if (!err && copy->choice)
		err = strip_sums_write(copy);
	if (!err && copy->cut)
		put_end(strip);
	return err ? err : strip_stream_end(copy);
}

static struct err *put_streams(struct strip *strip)
{
	const struct strip_stream *streams = strip->streams.items;
	struct err *err = NULL;

	if (!strip->streams.count)
		return NULL;
	// The lowest one last: it has the sums.
	for (size_t i = 1; !err && i < strip->streams.count; i++) {
		if (streams[i].omitted)
			continue;
		err = copy_stream(strip, &streams[i]);
		if (!err)
			err = strip_stream_end(&strip->copy);
	}
	if (!err)
		err = copy_stream(strip, &streams[0]);
	return err ? err : put_tail(strip);
}

static struct err *put_extra(struct strip *strip, enum trace_chunk_kind kind, const void *data,
			     size_t size)
{
	const struct trace_chunk like = {0};
	const uint8_t storage = TRACE_STORAGE_RAW;
	cleanup(buf_deinit) struct buf chunk = BUF_EMPTY;

	// Too large for a chunk: readers look the names up anew.
	if (size >= TRACE_CONTENT_MAX - TRACE_PAGE)
		return NULL;
	sealed_chunk_put(&chunk, kind, &like, &storage, 1, data, size);
	if (chunk.failure)
		return err_no_memory();
	buf_append(strip->copy.out, &chunk);
	return NULL;
}

static struct err *put_names(struct strip *strip)
{
	const struct buf *names = strip->options->names;
	auto_free uint8_t *data = NULL;
	struct err *err;
	size_t size;

	if (names)
		return names->size ? put_extra(strip, TRACE_CHUNK_SYMBOLS, names->data, names->size)
				   : NULL;
	err = extra_chunk_fetch(&strip->index.symbols, strip->source.bytes, &data, &size);
	return err || !data ? err : put_extra(strip, TRACE_CHUNK_SYMBOLS, data, size);
}

static struct err *put_unseen(struct strip *strip)
{
	cleanup(buf_deinit) struct buf records = BUF_EMPTY;
	auto_free uint8_t *data = NULL;
	size_t size;
	struct err *err =
		extra_chunk_fetch(&strip->index.unseen, strip->source.bytes, &data, &size);

	if (err || !data)
		return err;
	err = strip_unseen(&strip->copy, data, size, &records);
	return err ? err : put_extra(strip, TRACE_CHUNK_UNSEEN, records.data, records.size);
}

static bool is_running(const struct strip *strip)
{
	int fd = strip->source.bytes->fd;

	return fd >= 0 && still_written(fd, &strip->header);
}

/* A recording that goes on is one up to now: what is not freed may be. */
static struct err *set_part(struct strip *strip, bool running)
{
	const struct strip_options *options = strip->options;
	bool aged = options->threshold_ns && options->threshold_ns != TRACE_CULL_ALL;
	struct err *err = NULL;

	strip->clock = tick_clock_make(&strip->header, strip->index.latest_ticks,
				       strip->index.latest_monotonic_ns);
	if (running || aged || options->from || options->to)
		err = look_through(strip);
	if (!err && running && !strip->copy.cut) {
		strip->copy.cut = true;
		strip->copy.until = strip->last_ticks;
	}
	return err;
}

static struct err *write_all(struct strip *strip)
{
	struct err *err = find_streams(strip);

	if (!err)
		err = put_header(strip);
	if (!err)
		err = put_streams(strip);
	if (!err)
		err = put_names(strip);
	return err ? err : put_unseen(strip);
}

struct err *strip_recording(const char *path, const struct strip_options *options, struct buf *out,
			    struct strip_result *ret)
{
	cleanup(strip_deinit) struct strip strip = {.path = path, .options = options};
	struct strip_result result = {0};
	struct err *err = open_recording(&strip);

	if (err)
		return err;
	result.size_before = strip.index.file_size;
	result.finished = strip.header.flags & TRACE_FINISHED;
	result.compressed = strip.index.packs.count;
	result.running = is_running(&strip);
	strip.copy.off_ns = UINT64_MAX;
	err = set_part(&strip, result.running);
	if (!err && !(wants_all(options) && !result.running))
		err = choose(&strip);
	if (err)
		return err;
	strip.copy.source = strip.source.bytes;
	strip.copy.index = &strip.index;
	strip.copy.header = strip.header;
	strip.copy.clock = &strip.clock;
	strip.copy.anonymity = options->anonymity;
	strip.copy.out = out;
	strip.copy.chunks = strip.copy.text = BUF_EMPTY;
	strip.copy.progress = options->progress;
	strip.copy.argument = options->argument;
	err = write_all(&strip);
	if (err)
		return err;
	result.counted = strip.copy.choice;
	result.kept = strip.choice.blocks;
	result.culled = strip.choice.culled.calls;
	result.culled_bytes = strip.choice.culled.bytes;
	*ret = result;
	return NULL;
}
