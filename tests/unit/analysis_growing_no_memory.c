/* Follows a recording with allocation n failing, for every n: an error or all of it, and no leak.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/growing/growing.h"
#include "check.h"
#include "failing_malloc.h"
#include "random_recording.h"
#include "recordings_compare.h"

#define NEEDS  (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS)
#define STATES 4
#define SEEDS  2

/* Follows it with allocation n failing. false: none did. */
static bool fails(const char *path, int fd, uint64_t seed, long n)
{
	struct growing *growing = NULL;
	struct recording *recording = NULL, *whole = NULL;
	struct random_recording random;
	struct err *err;
	bool failed;

	random_recording_init(&random, seed);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, random.file, random.size, 0), random.size);
	failing_malloc_countdown = n;
	err = growing_open(path, NEEDS, &growing);
	for (int i = 0; !err && i < STATES; i++) {
		long left = failing_malloc_countdown;

		failing_malloc_countdown = -1;
		random_recording_go_on(&random, random.item_count / STATES + 1);
		assert_int_equal(pwrite(fd, random.file, random.size, 0), random.size);
		failing_malloc_countdown = left;
		// After an error the recording is read as a whole.
		err_destroy(growing_advance(growing));
	}
	if (!err)
		err = growing_finish(growing, NULL, NULL, &recording);
	failed = failing_malloc_countdown < 0;
	failing_malloc_countdown = -1;
	if (err) {
		assert_int_equal(err_number(err), ENOMEM);
		assert_null(recording);
	} else {
		assert_ok(recording_open(path, NEEDS, NULL, NULL, &whole));
		assert_null(recordings_compare(recording, whole));
	}
	err_destroy(err);
	recording_close(whole);
	recording_close(recording);
	growing_close(growing);
	random_recording_deinit(&random);
	return failed;
}

static void follow(void **state)
{
	char path[] = "/tmp/mallow_growing_XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		long n = 0;

		while (fails(path, fd, seed, n))
			n++;
		assert_true(n > 100);
	}
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follow),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
