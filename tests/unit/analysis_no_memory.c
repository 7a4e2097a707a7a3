/* Opens recordings with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "failing_malloc.h"
#include "sample_recordings.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_each),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
