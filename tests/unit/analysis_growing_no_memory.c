/* Follows a recording with allocation n failing, for every n: an error or all of it, and no leak.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/growing/growing.h"
#include "check.h"
#include "failing_malloc.h"
#include "living_writer.h"
#include "often.h"
#include "random_recording.h"
#include "recordings_compare.h"

#define STATES 4

static char path[] = "/tmp/mallow_growing_XXXXXX";
static int fd;
static unsigned int looks;

/* What was made, if there was memory for it, is the same as reading the whole file. Closes it. */
static void check(unsigned int needs, struct recording *recording, struct err *err)
{
	struct recording *whole = NULL;

	if (err) {
		assert_int_equal(err_number(err), ENOMEM);
		assert_null(recording);
	} else {
		assert_ok(recording_open(path, needs, NULL, NULL, &whole));
		assert_null(recordings_compare(recording, whole));
	}
	err_destroy(err);
	recording_close(whole);
	recording_close(recording);
}

static void go_on(struct random_recording *random)
{
	random_recording_go_on(random, random->item_count / STATES + 1);
	living_writer_ticks = random->items[random->next_item - 1].visible;
	assert_int_equal(pwrite(fd, random->file, random->size, 0), random->size);
}

/* To be called as the last step of a state: sets the count of allocations aside for what follows.
 */
static long set_aside(void)
{
	long left = failing_malloc_countdown;

	failing_malloc_countdown = -1;
	return left;
}

static long look(struct growing *growing)
{
	struct recording *recording = NULL;
	struct err *err = growing_look(growing, &recording);
	long left = set_aside();

	looks += growing_goes_on(growing);
	check(RECORDING_BLOCKS, recording, err);
	return left;
}

static long finish(struct growing *growing, unsigned int needs)
{
	struct recording *recording = NULL;
	struct err *err = growing_finish(growing, NULL, NULL, &recording);
	long left = set_aside();

	check(needs, recording, err);
	return left;
}

/* Follows it with allocation n failing. false: none did. looking: each state is looked at. */
static bool fails(uint64_t seed, long n, bool looking)
{
	unsigned int needs = looking ? RECORDING_BLOCKS : RECORDING_BLOCKS | RECORDING_HEAP_ERRORS;
	struct growing *growing = NULL;
	struct random_recording random;
	struct err *err;

	random_recording_init(&random, seed);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, random.file, random.size, 0), random.size);
	failing_malloc_countdown = n;
	err = growing_open(path, needs, &growing);
	n = set_aside();
	for (int i = 0; !err && i < STATES; i++) {
		go_on(&random);
		failing_malloc_countdown = n;
		// After an error the recording is read as a whole.
		err_destroy(growing_advance(growing));
		n = looking ? look(growing) : set_aside();
	}
	failing_malloc_countdown = n;
	if (err)
		check(needs, NULL, err);
	else
		n = finish(growing, needs);
	failing_malloc_countdown = -1;
	growing_close(growing);
	random_recording_deinit(&random);
	return n < 0;
}

static void follow(void **state)
{
	// Looks at a recording with pools cannot go on: the other two have none.
	static const uint64_t finished[] = {1, 2}, looked_at[] = {22, 20};

	fd = mkstemp(path);
	assert_true(fd >= 0);
	for (int i = 0; i < OFTEN(4); i++) {
		uint64_t seed = i % 2 ? looked_at[i / 2] : finished[i / 2];
		long n = 0;

		while (fails(seed, n, i % 2))
			n++;
		assert_true(n > 100);
	}
	assert_true(looks > 50);
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
