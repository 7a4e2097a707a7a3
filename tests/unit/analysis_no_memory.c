/* Opens recordings with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "sample_recordings.h"

/* The linker leads malloc() and its kin of this program's objects here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

static long countdown; /* allocations that still succeed; below 0: all */

static int fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

static void open_each(void **state)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		struct recording *recording = NULL;
		struct err *err;
		long n;

		countdown = -1;
		sample_recordings[i].write(&writer);
		for (n = 0;; n++) {
			countdown = n;
			err = recording_open_memory("x.mallow", writer.data, writer.size,
						    RECORDING_BLOCKS, &recording);
			if (!err)
				break;
			assert_int_equal(err_number(err), ENOMEM);
			assert_null(recording);
			err_destroy(err);
		}
		assert_true(n > 3);
		countdown = -1;
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_each),
	};

	countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
