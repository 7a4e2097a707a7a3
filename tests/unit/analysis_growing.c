/*
 * A recording that is read while it grows is the same as one that is read as a whole: of random
 * recordings, at random moments of their lives. MALLOW_TEST_SEEDS=n: of n recordings.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/growing/growing.h"
#include "analysis/load/load.h"
#include "check.h"
#include "living_writer.h"
#include "random_recording.h"
#include "recordings_compare.h"

#define SEEDS 250
#define NEEDS (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS)

/* What happened on the way, so that the test can tell that it tested something. */
static struct {
	unsigned int starts;  /* readings from a recording's start */
	unsigned int streams; /* streams that came later */
	unsigned int slots;   /* slots that had grown */
	unsigned int sealed;  /* slots that had been sealed since */
	unsigned int taken;   /* recordings of which events were taken before the end */
	unsigned int anew;    /* those that were read from their start once more */
	unsigned int whole;   /* those that were given up, and read as a whole */
	unsigned int looks;   /* looks at what had been taken … */
	unsigned int grown;   /* … some of it before the last look */
} seen;

struct err *__real_load_begin(struct load *load, unsigned int needs);
struct err *__wrap_load_begin(struct load *load, unsigned int needs);
struct err *__real_load_streams_grow(struct load *load, bool *ret);
struct err *__wrap_load_streams_grow(struct load *load, bool *ret);
struct err *__real_stream_cursor_renew(struct stream_cursor *cursor,
				       const struct chunk_index *index, size_t first, size_t end,
				       bool *ret);
struct err *__wrap_stream_cursor_renew(struct stream_cursor *cursor,
				       const struct chunk_index *index, size_t first, size_t end,
				       bool *ret);

struct err *__wrap_load_begin(struct load *load, unsigned int needs)
{
	seen.starts++;
	return __real_load_begin(load, needs);
}

struct err *__wrap_load_streams_grow(struct load *load, bool *ret)
{
	uint32_t before = load->stream_count;
	struct err *err = __real_load_streams_grow(load, ret);

	if (!err)
		seen.streams += load->stream_count - before;
	return err;
}

struct err *__wrap_stream_cursor_renew(struct stream_cursor *cursor,
				       const struct chunk_index *index, size_t first, size_t end,
				       bool *ret)
{
	bool was_slot =
		cursor->next && cursor->chunks[cursor->next - 1].header.flags & TRACE_CHUNK_SLOT;
	uint32_t size = cursor->decode.size;
	struct err *err = __real_stream_cursor_renew(cursor, index, first, end, ret);

	if (err || !*ret || !cursor->next)
		return err;
	if (!(cursor->chunks[cursor->next - 1].header.flags & TRACE_CHUNK_SLOT))
		seen.sealed += was_slot;
	else
		seen.slots += cursor->decode.size > size;
	return err;
}

static void write_file(int fd, const struct random_recording *random)
{
	living_writer_ticks =
		random->next_item ? random->items[random->next_item - 1].visible : RANDOM_START;
	assert_int_equal(pwrite(fd, random->file, random->size, 0), random->size);
}

/* Compares the recording, and closes it, with what the file is as a whole. */
static void check(const char *path, struct recording *recording, unsigned int needs, uint64_t seed)
{
	struct recording *whole = NULL;
	const char *different;

	assert_ok(recording_open(path, needs, NULL, NULL, &whole));
	different = recordings_compare(recording, whole);
	if (different)
		fail_msg("seed %llu: %s", (unsigned long long)seed, different);
	recording_close(recording);
	recording_close(whole);
}

/* A look is the same as reading the whole file. */
static void look(const char *path, struct growing *growing, unsigned int needs, uint64_t seed)
{
	struct recording *recording;
	unsigned int starts = seen.starts;

	assert_ok(growing_look(growing, &recording));
	seen.looks += growing_goes_on(growing);
	seen.grown += growing_goes_on(growing) && seen.starts == starts;
	check(path, recording, needs, seed);
}

/*
 * One recording, followed until a random moment: perhaps to its end. busy: each state of the file
 * is read; else some are not.
 */
static void follow(const char *path, uint64_t seed, bool busy)
{
	static const unsigned int all_needs[] = {NEEDS, NEEDS, RECORDING_SUMS, RECORDING_BLOCKS,
						 RECORDING_RUN_FACTS};
	struct random_recording random;
	struct growing *growing = NULL;
	struct recording *recording = NULL;
	bool more = true, begun = false, looked;
	unsigned int starts = seen.starts, needs;
	uint64_t end;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	random_recording_init(&random, seed);
	needs = all_needs[random_recording_draw(&random, 5)];
	end = random_recording_draw(&random, 2) ? random_recording_draw(&random, random.item_count)
						: random.item_count;
	looked = random_recording_draw(&random, 2);
	if (looked)
		needs = random_recording_draw(&random, 3) ? RECORDING_BLOCKS | RECORDING_RUN_FACTS
							  : RECORDING_SUMS;
	write_file(fd, &random);
	assert_ok(growing_open(path, needs, &growing));
	while (more && random.next_item < end) {
		more = random_recording_go_on(
			&random,
			1 + random_recording_draw(&random, random_recording_draw(&random, 3)
								   ? random.item_count / 8
								   : 4));
		write_file(fd, &random);
		if (busy || random_recording_draw(&random, 3))
			assert_ok(growing_advance(growing));
		if (looked && random_recording_draw(&random, 2))
			look(path, growing, needs, seed);
		begun |= growing_has_begun(growing);
	}
	seen.taken += begun;
	seen.whole += begun && !growing_has_begun(growing);
	assert_ok(growing_finish(growing, NULL, NULL, &recording));
	seen.anew += seen.starts - starts > 1;
	check(path, recording, needs, seed);
	growing_close(growing);
	random_recording_deinit(&random);
	close(fd);
}

static void random_recordings(void **state)
{
	char path[] = "/tmp/mallow_growing_XXXXXX";
	const char *wanted = getenv("MALLOW_TEST_SEEDS"), *only = getenv("MALLOW_TEST_SEED");
	uint64_t seeds = wanted ? strtoull(wanted, NULL, 10) : SEEDS;
	int fd = mkstemp(path);

	load_look_tolerance_ns = 0;
	assert_true(fd >= 0);
	close(fd);
	if (only)
		follow(path, strtoull(only, NULL, 10), strtoull(only, NULL, 10) % 2);
	for (uint64_t seed = 1; !only && seed <= seeds; seed++)
		follow(path, seed, seed % 2);
	unlink(path);
	if (only)
		return;
	assert_true(seen.taken > seeds / 2 && seen.taken < seeds);
	assert_true(seen.streams > seeds);
	assert_true(seen.slots > 10 * seeds);
	assert_true(seen.sealed > seeds);
	assert_true(seen.anew > seeds / 20);
	assert_true(seen.whole > seeds / 100);
	assert_true(living_writer_waits > seeds / 10);
	assert_true(seen.looks > seeds / 3);
	assert_true(seen.grown > seeds / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
