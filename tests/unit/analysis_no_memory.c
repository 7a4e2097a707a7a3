/* Opens recordings with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/index/index_file.h"
#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "analysis/sums/sums.h"
#include "analysis/views/series.h"
#include "analysis/views/space.h"
#include "check.h"
#include "failing_malloc.h"
#include "sample_recordings.h"

#define NEEDS (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS)

static void open_each(void **state)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		struct recording *recording = NULL;
		struct err *err;
		long n;

		failing_malloc_countdown = -1;
		sample_recordings[i].write(&writer);
		for (n = 0;; n++) {
			failing_malloc_countdown = n;
			err = recording_open_memory("x.mallow", writer.data, writer.size,
						    RECORDING_BLOCKS | RECORDING_HEAP_ERRORS |
							    RECORDING_LIVE_LINE,
						    &recording);
			if (!err)
				break;
			assert_int_equal(err_number(err), ENOMEM);
			assert_null(recording);
			err_destroy(err);
		}
		assert_true(n > 3);
		failing_malloc_countdown = -1;
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
}

static void write_file(const char *path, const struct sample_recording *sample)
{
	struct trace_writer writer;
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	sample->write(&writer);
	assert_int_equal(fwrite(writer.data, 1, writer.size, file), writer.size);
	assert_int_equal(fclose(file), 0);
	trace_writer_deinit(&writer);
}

/* Allocation n fails while an index file is written, and then while it is read. */
static void index_file(void **state)
{
	char path[] = "/tmp/mallow_no_memory_XXXXXX", index[64];
	int fd = mkstemp(path);
	bool written = false;

	assert_true(fd >= 0);
	close(fd);
	snprintf(index, sizeof(index), "%s.index", path);
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct recording *recording = NULL;
		uint64_t blocks;

		failing_malloc_countdown = -1;
		write_file(path, &sample_recordings[i]);
		assert_ok(recording_open(path, NEEDS, NULL, NULL, &recording));
		blocks = recording_blocks(recording)->count;
		for (long n = 0; n < 60; n++) {
			char *where = NULL;

			failing_malloc_countdown = n;
			err_destroy(index_file_write(recording, &where));
			failing_malloc_countdown = -1;
			written |= where != NULL;
			free(where);
		}
		recording_close(recording);
		for (long n = 0; n < 60; n++) {
			struct err *err;

			recording = NULL;
			failing_malloc_countdown = n;
			err = recording_open(path, NEEDS, NULL, NULL, &recording);
			failing_malloc_countdown = -1;
			if (err)
				assert_int_equal(err_number(err), ENOMEM);
			else
				assert_int_equal(recording_blocks(recording)->count, blocks);
			err_destroy(err);
			recording_close(recording);
		}
		unlink(index);
	}
	unlink(path);
	assert_true(written);
}

static struct err *make_views(const struct recording *recording, const struct block_groups *groups)
{
	const struct series_query curves = {.end_ns = 1000, .steps = 9, .groups = groups, .top = 1};
	const struct space_query query = {.end = UINT64_MAX, .groups = groups, .top = 1};
	struct memory_sample *samples = NULL;
	const struct sums_query sums_by = {.first = groups, .second = groups};
	struct series *series = NULL;
	struct space *space = NULL;
	struct sums *sums = NULL;
	uint32_t first = 0;
	size_t count;
	struct err *err = series_create(recording, &curves, &series);

	if (!err)
		err = series_memory(recording, series, 0, &samples, &count);
	if (!err)
		err = space_create(recording, &query, &space);
	if (!err)
		err = sums_create(recording, &sums_by, &sums);
	series_destroy(series);
	series = NULL;
	if (!err)
		err = series_create_of(recording, &curves, &first, groups->count != 0, &series);
	series_destroy(series);
	sums_destroy(sums);
	space_destroy(space);
	free(samples);
	return err;
}

/* Allocation n fails while curves, pages and sums are made, by fate and by thread. */
static void views(void **state)
{
	for (unsigned int i = 0; i < 2 * sample_recording_count; i++) {
		struct block_groups groups = {0};
		struct recording *recording = NULL;
		struct trace_writer writer;
		struct err *err;
		long n = 0;

		failing_malloc_countdown = -1;
		sample_recordings[i / 2].write(&writer);
		assert_ok(recording_open_memory("x.mallow", writer.data, writer.size, NEEDS,
						&recording));
		assert_ok(block_groups_create(recording, NULL,
					      i % 2 ? BLOCK_GROUPS_THREAD : BLOCK_GROUPS_FATE, 1,
					      &groups));
		do {
			failing_malloc_countdown = n++;
			err = make_views(recording, &groups);
			failing_malloc_countdown = -1;
			if (err)
				assert_int_equal(err_number(err), ENOMEM);
			err_destroy(err);
		} while (err);
		assert_true(n > 15);
		block_groups_deinit(&groups);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_each),
		cmocka_unit_test(index_file),
		cmocka_unit_test(views),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
