/* What recording_file.h writes can be read at every flush, whatever fails after it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "check.h"
#include "failing_malloc.h"
#include "write/recording_file.h"

#define STREAMS 3
#define ROUNDS  60000 /* several slots for each stream */

static const struct trace_header header = {
	.pid = 4000000,
	.machine = 62,
	.pointer_size = 8,
	.allocator = TRACE_ALLOCATOR_GLIBC,
	.flags = TRACE_ATTACHED | TRACE_BEGUN_BY_START,
	.start_ticks = 1000,
	.start_monotonic_ns = 1000,
};
static const struct trace_attacher attacher = {.pid = 4000001};
static const uint64_t no_losses[TRACE_LOSS_COUNTERS];

static void put_fact(struct recording_file *file, enum trace_record kind, const uint64_t *fields,
		     size_t count, const char *text)
{
	recording_file_fact(file, 0,
			    &(struct recording_fact){.kind = kind,
						     .has_time = kind != TRACE_RECORD_FRAME,
						     .ticks = 1000,
						     .fields = fields,
						     .count = count,
						     .text = text,
						     .size = strlen(text)});
}

/* The frames 1 … 20 of one module, and the threads of all streams. */
static void begin(struct recording_file *file)
{
	for (uint32_t i = 0; i < STREAMS; i++) {
		const uint64_t tid = 4000000 + i;

		if (recording_file_add_stream(file, 1000) != i)
			return; // no memory, which is told later
		recording_file_fact(file, i,
				    &(struct recording_fact){.kind = TRACE_RECORD_THREAD,
							     .has_time = true,
							     .ticks = 1000,
							     .fields = &tid,
							     .count = 1,
							     .text = "one",
							     .size = 3});
	}
	put_fact(file, TRACE_RECORD_MODULE, (uint64_t[]){1, 0, 0, 0x1000, 0x9000, 0}, 6, "/a");
	for (uint64_t i = 1; i <= 20; i++)
		put_fact(file, TRACE_RECORD_FRAME, (uint64_t[]){i, 0x1000 + i, 1}, 3, "");
}

/* Each stream allocates a block, and frees it in every second round. Mappings have the stack, too.
 */
static void put_round(struct recording_file *file, uint64_t round)
{
	struct record_frame stack[20];

	for (uint32_t i = 0; i < 20; i++)
		stack[i].id = 1 + (uint32_t)((i + (i > 10 ? round : 0)) % 20);
	for (uint32_t i = 0; i < STREAMS; i++) {
		const uint64_t address = 0x10000 + (round * STREAMS + i) * 64;
		const struct trace_event event = {.operation = TRACE_OP_MALLOC,
						  .ticks = 2000 + round * 10 + i,
						  .address = address,
						  .size = 40};
		const struct trace_event end = {.operation = TRACE_OP_FREE,
						.ticks = 2005 + round * 10 + i,
						.address = address};

		recording_file_event(file, i, &event, stack, 20);
		if (round % 2)
			recording_file_event(file, i, &end, NULL, 0);
	}
	if (round % 100 == 0)
		recording_file_fact(file, 1,
				    &(struct recording_fact){
					    .kind = TRACE_RECORD_MUNMAP,
					    .has_time = true,
					    .ticks = 2000 + round * 10,
					    .fields = (uint64_t[]){0x7000000, 4096},
					    .count = 2,
					    .stack = stack,
					    .frames = 15,
				    });
}

static void assert_holds(const char *path, uint64_t rounds, bool ended)
{
	struct recording *recording;
	const struct recording_facts *facts;

	assert_ok(recording_open(path, RECORDING_CHECKED, NULL, NULL, &recording));
	facts = recording_facts(recording);
	assert_int_equal(facts->damaged_chunks, 0);
	assert_int_equal(facts->missing_chunks, 0);
	assert_int_equal(facts->allocations, rounds * STREAMS);
	assert_int_equal(recording_summary(recording)->leaked_blocks,
			 (rounds - rounds / 2) * STREAMS);
	assert_int_equal(facts->complete, ended);
	assert_int_equal(facts->end_reason, ended ? TRACE_END_DETACHED : TRACE_END_UNKNOWN);
	assert_true(facts->attached);
	recording_close(recording);
}

static const char *make_path(char path[64])
{
	strcpy(path, "/tmp/recording_file_XXXXXX");
	assert_non_null(mkdtemp(path));
	strcat(path, "/r");
	return path;
}

static void remove_path(char path[64])
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static void test_valid_at_every_flush(void **state)
{
	struct recording_file *file;
	char path[64];

	assert_ok(recording_file_create(make_path(path), &header, &attacher, &file));
	assert_string_equal(recording_file_path(file), path);
	begin(file);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		put_round(file, round);
		if (round % (ROUNDS / 4) && round != 3)
			continue;
		assert_ok(recording_file_flush(file, no_losses));
		assert_holds(path, round + 1, false);
	}
	assert_ok(recording_file_end(file, 1000000, TRACE_END_DETACHED, 0));
	assert_holds(path, ROUNDS, true);
	recording_file_close(file);
	assert_holds(path, ROUNDS, true);
	remove_path(path);
}

/* The file may not be longer: what was flushed before stays valid, and the error comes once. */
static void test_no_room(void **state)
{
	const struct rlimit limit = {3 << 20, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct recording_file *file;
	uint64_t flushed = 0;
	struct err *err = NULL;
	char path[64];

	signal(SIGXFSZ, SIG_IGN);
	assert_ok(recording_file_create(make_path(path), &header, NULL, &file));
	begin(file);
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t round = 0; !err; round++) {
		put_round(file, round);
		if (round % 100)
			continue;
		err = recording_file_flush(file, no_losses);
		if (!err)
			flushed = round + 1;
	}
	setrlimit(RLIMIT_FSIZE, &none);
	assert_int_equal(err_number(err), EFBIG);
	err_destroy(err);
	put_round(file, 0);
	assert_ok(recording_file_flush(file, no_losses));
	assert_ok(recording_file_end(file, 1000000, TRACE_END_DETACHED, 0));
	recording_file_close(file);

	struct recording *recording;

	assert_ok(recording_open(path, RECORDING_CHECKED, NULL, NULL, &recording));
	assert_int_equal(recording_facts(recording)->damaged_chunks, 0);
	assert_true(recording_facts(recording)->allocations >= flushed * STREAMS);
	assert_false(recording_facts(recording)->ended);
	recording_close(recording);
	remove_path(path);
}

/* A recording made while allocation n fails. Returns whether it failed. */
static bool write_without(long n, const char *path)
{
	struct recording_file *file = NULL;
	struct err *err;
	bool failed;

	failing_malloc_countdown = n;
	err = recording_file_create(path, &header, NULL, &file);
	if (!err) {
		begin(file);
		put_round(file, 0);
		err = recording_file_flush(file, no_losses);
	}
	if (!err)
		err = recording_file_end(file, 1000000, TRACE_END_DETACHED, 0);
	failing_malloc_countdown = -1;
	failed = err != NULL;
	err_destroy(err);
	recording_file_close(file);
	return failed;
}

static void test_no_memory(void **state)
{
	bool failed = true;
	char path[64];

	make_path(path);
	for (long i = 0; failed; i++) {
		failed = write_without(i, path);
		assert_true(i > 5 || failed);
		assert_true(unlink(path) == 0 || failed);
	}
	remove_path(path);
}

static void test_names(void **state)
{
	struct recording_file *files[3];
	char path[64], wanted[80];

	make_path(path);
	for (int i = 0; i < 3; i++) {
		assert_ok(recording_file_create(path, &header, NULL, &files[i]));
		snprintf(wanted, sizeof(wanted), i ? "%s.%d" : "%s", path, i);
		assert_string_equal(recording_file_path(files[i]), wanted);
	}
	for (int i = 0; i < 3; i++) {
		unlink(recording_file_path(files[i]));
		recording_file_close(files[i]);
	}
	remove_path(path);
	assert_err(recording_file_create("/no/such/folder/r", &header, NULL, &files[0]),
		   "cannot write '/no/such/folder/r'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_at_every_flush),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
