/*
 * What may become of a recording while it is read: it gets shorter, is damaged, becomes another
 * one, is finished. And what random recordings (analysis_growing.c) hardly ever have.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/growing/growing.h"
#include "analysis/names/symbolized.h"
#include "check.h"
#include "finish/finish.h"
#include "random_recording.h"
#include "recordings_compare.h"

#define NEEDS (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS)
#define SEEDS 60

static char path[] = "/tmp/mallow_growing_XXXXXX";

static int make_path(void **state)
{
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
	return unlink(path);
}

static void write_bytes(const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

/* What growing comes to is what recording_open() says now, be it an error. Closes it. */
static void finish_growing(struct growing *growing, uint64_t seed)
{
	struct recording *recording = NULL, *whole = NULL;
	struct err *err = growing_finish(growing, NULL, NULL, &recording);
	struct err *expected = recording_open(path, NEEDS, NULL, NULL, &whole);
	const char *different = NULL;

	if (expected) {
		assert_non_null(err);
		assert_string_equal(err_message(err), err_message(expected));
	} else {
		assert_ok(err);
		different = recordings_compare(recording, whole);
	}
	if (different)
		fail_msg("seed %llu: %s", (unsigned long long)seed, different);
	err_destroy(err);
	err_destroy(expected);
	recording_close(recording);
	recording_close(whole);
	growing_close(growing);
}

/* Follows a random recording to a moment at which some of its events are taken. */
static struct growing *follow(struct random_recording *random, uint64_t seed)
{
	struct growing *growing = NULL;

	random_recording_init(random, seed);
	write_bytes(random->file, random->size);
	assert_ok(growing_open(path, NEEDS, &growing));
	for (int i = 0; i < 4; i++) {
		random_recording_go_on(random, random->item_count / 6);
		write_bytes(random->file, random->size);
		assert_ok(growing_advance(growing));
	}
	return growing;
}

static void shorter(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_recording random;
		struct growing *growing = follow(&random, seed);
		uint64_t size = random_recording_draw(&random, random.size);

		assert_int_equal(truncate(path, (off_t)size), 0);
		if (seed % 2)
			err_destroy(growing_advance(growing));
		if (seed % 3 == 0) {
			random_recording_go_on(&random, random.item_count);
			write_bytes(random.file, random.size);
		}
		finish_growing(growing, seed);
		random_recording_deinit(&random);
	}
}

/* A bit of what is new is wrong. */
static void damage(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_recording random;
		struct growing *growing = follow(&random, seed);
		size_t before = random.size, at;

		random_recording_go_on(&random, random.item_count / 8);
		at = random.size > before
			     ? before + random_recording_draw(&random, random.size - before)
			     : 0;
		random.file[at] ^= (uint8_t)(1 << random_recording_draw(&random, 8));
		write_bytes(random.file, random.size);
		if (seed % 2)
			err_destroy(growing_advance(growing));
		random_recording_go_on(&random, random.item_count);
		write_bytes(random.file, random.size);
		if (seed % 3)
			err_destroy(growing_advance(growing));
		finish_growing(growing, seed);
		random_recording_deinit(&random);
	}
}

/*
 * A bit of what was read is wrong now. It is not read again to find out, but nothing worse comes of
 * it.
 */
static void damage_behind(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_recording random;
		struct recording *recording = NULL;
		struct growing *growing = follow(&random, seed);
		size_t at = 4096 + random_recording_draw(&random, random.size - 4096);

		if (seed % 2)
			at = at / 4096 * 4096 + at % 64;
		random.file[at] ^= (uint8_t)(1 << random_recording_draw(&random, 8));
		write_bytes(random.file, random.size);
		assert_ok(growing_advance(growing));
		random_recording_go_on(&random, random.item_count);
		write_bytes(random.file, random.size);
		assert_ok(growing_finish(growing, NULL, NULL, &recording));
		recording_close(recording);
		growing_close(growing);
		random_recording_deinit(&random);
	}
}

/* Another recording is written over this one, or put in its place. */
static void another(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_recording random, other;
		struct growing *growing = follow(&random, seed);

		random_recording_init(&other, seed + 1000);
		other.file[16] ^= 1; // its id
		random_recording_go_on(&other, random_recording_draw(&other, other.item_count));
		if (seed % 2)
			unlink(path);
		write_bytes(other.file, other.size);
		if (seed % 3)
			assert_ok(growing_advance(growing));
		finish_growing(growing, seed);
		random_recording_deinit(&random);
		random_recording_deinit(&other);
	}
}

static void finish_file(void)
{
	const struct finish_options options = {.compress = FINISH_COMPRESS_ALWAYS};
	struct recording *recording = NULL;
	struct symbolized *symbolized = NULL;
	struct finish_result result;

	assert_ok(recording_open(path, RECORDING_RUN_FACTS, NULL, NULL, &recording));
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_ok(finish_recording(path, recording, symbolized, &options, &result));
	symbolized_destroy(symbolized);
	recording_close(recording);
}

/* The recording is finished, by a new file in its place or, as nobody does, within the old one. */
static void finished(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_recording random;
		struct growing *growing = follow(&random, seed);

		random_recording_go_on(&random, random.item_count);
		write_bytes(random.file, random.size);
		if (seed % 2)
			assert_ok(growing_advance(growing));
		finish_file();
		if (seed % 3 == 0)
			assert_ok(growing_advance(growing));
		finish_growing(growing, seed);
		random_recording_deinit(&random);
	}
}

static void gone(void **state)
{
	struct random_recording random;
	struct growing *growing = follow(&random, 7);

	unlink(path);
	assert_ok(growing_advance(growing));
	finish_growing(growing, 7);
	write_bytes("", 0);
	random_recording_deinit(&random);
}

/* Nothing at all, a header that is not whole, then a recording. */
static void from_nothing(void **state)
{
	struct random_recording random;
	struct growing *growing = NULL;

	write_bytes("", 0);
	assert_ok(growing_open(path, NEEDS, &growing));
	err_destroy(growing_advance(growing));
	random_recording_init(&random, 5);
	write_bytes(random.file, 100);
	err_destroy(growing_advance(growing));
	random_recording_go_on(&random, random.item_count);
	write_bytes(random.file, random.size);
	finish_growing(growing, 5);
	random_recording_deinit(&random);
}

/*
 * A block's address is given out again at 2,000 ticks, and its free follows `late` ticks later. A
 * chunk that was opened at 1 s says that a tick is a nanosecond; a later one, that `rate` are.
 */
static void write_late(struct trace_writer *writer, uint64_t late, uint64_t rate, bool later)
{
	trace_writer_init(writer);
	trace_writer_poke(writer, 76, 0, 4);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(writer, 1, 0, 0x1000, 16);
	trace_writer_allocate(writer, 1, 1000, 0x1000, 32);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_free(writer, 20, 1000 + late, 0x1000);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 0, 1, TRACE_WRITER_SEALED);
	trace_writer_clock(writer, 1000001000, 1005000000);
	trace_writer_seal(writer);
	if (!later)
		return;
	trace_writer_chunk(writer, 0, 2, TRACE_WRITER_SEALED);
	trace_writer_clock(writer, 2000001000, 5000000 + 2000000000 / rate * 2);
	trace_writer_seal(writer);
}

/* How late a free may be depends on the clock, which is known better later. */
static void late_frees(void **state)
{
	static const struct {
		uint64_t late, rate; /* rate: ticks in two nanoseconds */
	} cases[] = {{9000, 1},  {9000, 2}, {9000, 3},  {11000, 1}, {11000, 3},
		     {11000, 9}, {4000, 1}, {90000, 4}, {90000, 40}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct growing *growing = NULL;
		struct trace_writer writer;

		write_late(&writer, cases[i].late, cases[i].rate, false);
		write_bytes(writer.data, writer.size);
		trace_writer_deinit(&writer);
		assert_ok(growing_open(path, NEEDS, &growing));
		assert_ok(growing_advance(growing));
		assert_true(growing_has_begun(growing));
		write_late(&writer, cases[i].late, cases[i].rate, true);
		write_bytes(writer.data, writer.size);
		trace_writer_deinit(&writer);
		finish_growing(growing, i);
	}
}

/* The clock says less time has passed than it said before; then an event comes very late. */
static void clock_steps_back(void **state)
{
	struct growing *growing = NULL;
	struct trace_writer writer;

	for (int step = 0; step < 3; step++) {
		trace_writer_init(&writer);
		trace_writer_poke(&writer, 76, 0, 4);
		trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
		trace_writer_allocate(&writer, 1, 850000000, 0x1000, 16);
		trace_writer_seal(&writer);
		trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SEALED);
		trace_writer_clock(&writer, 1000001000, 1005000000);
		trace_writer_seal(&writer);
		if (step > 0) {
			trace_writer_chunk(&writer, 0, 2, TRACE_WRITER_SEALED);
			trace_writer_clock(&writer, 1000002000, 405000000);
			trace_writer_seal(&writer);
		}
		if (step > 1) {
			trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
			trace_writer_allocate(&writer, 1, 840000000, 0x2000, 16);
			trace_writer_seal(&writer);
		}
		write_bytes(writer.data, writer.size);
		trace_writer_deinit(&writer);
		if (!growing)
			assert_ok(growing_open(path, NEEDS, &growing));
		assert_ok(growing_advance(growing));
		assert_true(growing_has_begun(growing));
	}
	finish_growing(growing, 0);
}

/* Events may have the time 0. */
static void no_time(void **state)
{
	struct growing *growing = NULL;
	struct recording *recording = NULL;
	struct trace_writer writer;

	trace_writer_init(&writer);
	trace_writer_poke(&writer, 80, 0, 8);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_base(&writer, 0);
	trace_writer_allocate(&writer, 1, 0, 0x1000, 16);
	trace_writer_allocate(&writer, 1, 1, 0x2000, 16);
	trace_writer_seal(&writer);
	write_bytes(writer.data, writer.size);
	assert_ok(recording_open(path, NEEDS, NULL, NULL, &recording));
	assert_int_equal(recording_facts(recording)->allocations, 2);
	recording_close(recording);
	assert_ok(growing_open(path, NEEDS, &growing));
	assert_ok(growing_advance(growing));
	finish_growing(growing, 0);
	trace_writer_deinit(&writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_path, remove_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shorter),          TEST(damage),  TEST(damage_behind), TEST(another),
		TEST(finished),         TEST(gone),    TEST(from_nothing),  TEST(late_frees),
		TEST(clock_steps_back), TEST(no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
