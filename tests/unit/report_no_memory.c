/* Exports with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>

#include "analysis/recording_memory.h"
#include "check.h"
#include "failing_malloc.h"
#include "report/export/heaptrack_export.h"
#include "report/export/pprof.h"
#include "report/export/replay_export.h"
#include "sample_recordings.h"

static struct err *write_heaptrack(struct buf *buf, const struct recording *recording,
				   struct symbolized *symbolized)
{
	return heaptrack_export_write(buf, symbolized, NULL);
}

static struct err *write_replay(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	return replay_export_write(buf, recording, NULL);
}

static struct err *write_pprof(struct buf *buf, const struct recording *recording,
			       struct symbolized *symbolized)
{
	return pprof_write(buf, recording, symbolized, NULL);
}

static struct err *write_change(struct buf *buf, const struct recording *recording,
				struct symbolized *symbolized)
{
	return pprof_write(buf, recording, symbolized, recording);
}

typedef struct err *write_export(struct buf *buf, const struct recording *recording,
				 struct symbolized *symbolized);

/* Names are found anew each time, and so their memory. */
static struct err *export_once(write_export *write, const struct recording *recording,
			       struct buf *buf)
{
	struct symbolized *symbolized;
	struct err *err = symbolized_create(recording, NULL, &symbolized);

	if (err)
		return err;
	err = write(buf, recording, symbolized);
	symbolized_destroy(symbolized);
	return err ? err : buf_finish(buf);
}

/* Lest what nobody set is NULL by chance. */
static __attribute__((noinline)) void fill_stack(void)
{
	volatile unsigned char bytes[16384];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xa5;
}

static size_t fail_each(write_export *write, const struct recording *recording)
{
	struct err *err = NULL;
	size_t size = 0;
	long n;

	for (n = 0; !size; n++) {
		struct buf buf;

		buf_init(&buf);
		fill_stack();
		failing_malloc_countdown = n;
		err = export_once(write, recording, &buf);
		failing_malloc_countdown = -1;
		if (err)
			assert_int_equal(err_number(err), ENOMEM);
		else
			size = buf.size;
		err_destroy(err);
		buf_deinit(&buf);
	}
	assert_true(n > 10);
	return size;
}

static void exports(void **state)
{
	size_t profiles = 0, changes = 0;

	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		struct recording *recording;

		sample_recordings[i].write(&writer);
		assert_ok(recording_open_memory("x.mallow", writer.data, writer.size,
						RECORDING_BLOCKS, &recording));
		assert_true(fail_each(write_heaptrack, recording) > 20);
		assert_true(fail_each(write_replay, recording) >= 40);
		profiles += fail_each(write_pprof, recording);
		changes += fail_each(write_change, recording);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
	assert_true(profiles > changes); // some have sites, of which nothing changed
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
