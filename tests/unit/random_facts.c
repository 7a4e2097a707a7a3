/* Records of a random recording that are no operations on blocks. */
#include "random_recording_inside.h"
#include "trace/format.h"

static uint64_t draw(struct random_recording *random, uint64_t below)
{
	return random_recording_draw(random, below);
}

void random_define_frame(struct random_recording *random, struct random_stream *stream)
{
	size_t from = stream->encoder.size;

	trace_writer_frame(&stream->encoder, ++random->frames, random_some_pc(random),
			   draw(random, random->modules + 1));
	random_finish_record(random, stream, from);
}

/* Loads a module where there is none, or unloads one. Another stream may say the same. */
void random_change_modules(struct random_recording *random, struct random_stream *stream)
{
	uint64_t region = draw(random, RANDOM_REGIONS), start = 0x400000 + 0x10000 * region;
	struct random_stream *other = &random->streams[draw(random, random->stream_count)];
	size_t from = stream->encoder.size;

	if (random->loaded[region]) {
		trace_writer_record(&stream->encoder, TRACE_RECORD_MODULE_GONE, "su",
				    (int64_t)(random->now - stream->encoder.base),
				    random->loaded[region]);
		random->loaded[region] = 0;
		random_finish_record(random, stream, from);
		return;
	}
	random->loaded[region] = ++random->modules;
	trace_writer_module(&stream->encoder, random->now, random->modules, start, start,
			    start + 0x8000, "/usr/lib/libtoy.so");
	random_finish_record(random, stream, from);
	if (!other->begun || other == stream)
		return;
	random->now += draw(random, 50);
	from = other->encoder.size;
	trace_writer_module(&other->encoder, random->now, random->modules, start, start,
			    start + 0x8000, "/usr/lib/libtoy.so");
	random_finish_record(random, other, from);
}

void random_use_pool(struct random_recording *random, struct random_stream *stream)
{
	static const char *const names[] = {"arena", "cache", ""};
	struct trace_writer *encoder = &stream->encoder;
	uint64_t pool = 0x70000 + draw(random, RANDOM_POOLS), what = draw(random, 20);
	int64_t at = (int64_t)(random->now - encoder->base), block = 16 * (int64_t)draw(random, 9);
	size_t from = encoder->size;

	if (what < 2)
		trace_writer_record(encoder, TRACE_RECORD_POOL_NAME, "sut", at, pool,
				    names[draw(random, 3)]);
	else if (what < 3)
		trace_writer_record(encoder, TRACE_RECORD_POOL_RESET, "su", at, pool);
	else if (what < 11)
		trace_writer_record(encoder, TRACE_RECORD_POOL_FREE, "sus", at, pool, block);
	else
		trace_writer_record(encoder, TRACE_RECORD_POOL_ALLOC, "susu", at, pool, block,
				    draw(random, 500));
	random_finish_record(random, stream, from);
}

/* One of the records that are no operations on blocks. */
void random_tell(struct random_recording *random, struct random_stream *stream)
{
	static const char *const names[] = {"main", "worker", "second", "idle"};
	struct trace_writer *encoder = &stream->encoder;
	// No two switches have the same time, and no two samples of memory.
	int64_t at = (int64_t)(++random->now - encoder->base);
	const char *name = names[draw(random, 4)];
	uint64_t length = 4096 * draw(random, 9);
	size_t from = encoder->size;

	switch (draw(random, 17)) {
	case 0:
		trace_writer_record(encoder, TRACE_RECORD_THREAD, "sut", at, draw(random, 99),
				    name);
		break;
	case 1:
		trace_writer_record(encoder, TRACE_RECORD_THREAD_NAME, "st", at, name);
		break;
	case 2:
		trace_writer_record(encoder, TRACE_RECORD_THREAD_END, "s", at);
		break;
	case 3:
		trace_writer_record(encoder, TRACE_RECORD_MARK, "st", at, name);
		break;
	case 4:
		trace_writer_record(encoder, TRACE_RECORD_MMAP, "suuuuusu", at, UINT64_C(0), length,
				    length, UINT64_C(3), UINT64_C(34), INT64_C(-1), UINT64_C(0));
		break;
	case 5:
		trace_writer_record(encoder, TRACE_RECORD_MUNMAP, "suu", at, length, length);
		break;
	case 6:
		trace_writer_record(encoder, TRACE_RECORD_MREMAP, "suuuuu", at, length, length,
				    length, length, UINT64_C(1));
		break;
	case 7:
		trace_writer_record(encoder, TRACE_RECORD_BRK, "ssu", at, INT64_C(-4096), length);
		break;
	case 8:
		trace_writer_record(encoder, TRACE_RECORD_MALLOPT, "ssss", at, INT64_C(-8),
				    INT64_C(2), INT64_C(1));
		break;
	case 9:
		trace_writer_record(encoder, TRACE_RECORD_MEMORY, "suuuuuu", at, length,
				    draw(random, 99), length, length, length, length);
		break;
	case 10:
		trace_writer_record(encoder, TRACE_RECORD_FAILED, "suu", at, UINT64_C(1),
				    UINT64_C(1) << 60);
		break;
	case 11:
		trace_writer_record(encoder, TRACE_RECORD_TAG, "su", at, draw(random, 4));
		break;
	case 12:
		random->off = !random->off;
		trace_writer_record(encoder, random->off ? TRACE_RECORD_OFF : TRACE_RECORD_ON, "s",
				    at);
		break;
	case 13:
		random_change_stack(random, stream);
		trace_writer_stack(encoder);
		break;
	case 14:
		// A kind that this reader does not know.
		trace_writer_record(encoder, 0xf0, "ut", UINT64_C(7), name);
		break;
	case 15:
		trace_writer_time(encoder, TRACE_OP_RESYNC, random->now);
		stream->depth = 0;
		break;
	case 16:
		trace_writer_record(encoder, TRACE_RECORD_UNSEEN, "suut", at, 1 + draw(random, 5),
				    length, name);
		break;
	}
	random_finish_record(random, stream, from);
}
