/* A recording that grew, against its earlier state. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analysis/sites/site_change.h"
#include "check.h"
#include "trace_writer.h"

#define MALLOC 1
#define FREE   20

static struct recording *open_written(const struct trace_writer *writer)
{
	char path[] = "/tmp/analysis_site_change.XXXXXX";
	int fd = mkstemp(path);
	struct recording *recording;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, writer->data, writer->size), writer->size);
	close(fd);
	assert_ok(recording_open(path, RECORDING_SUMS, NULL, NULL, &recording));
	unlink(path);
	return recording;
}

/* Stacks: frame 1 calls 2, and 3. */
static void write_first(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_module(writer, 1, 1, 0x1000, 0x1000, 0x9000, "/bin/toy");
	trace_writer_frame(writer, 1, 0x1011, 1);
	trace_writer_frame(writer, 2, 0x1021, 1);
	trace_writer_frame(writer, 3, 0x1031, 1);
	trace_writer_push(writer, 0, 2, 1, 2);
	trace_writer_allocate(writer, MALLOC, 100, 0x5000, 100);
	trace_writer_push(writer, 1, 1, 3);
	trace_writer_allocate(writer, MALLOC, 100, 0x6000, 1000);
	trace_writer_seal(writer);
}

/*
 * Another thread's chunk with earlier times, so that its site is the first one now, and the first
 * thread's next one.
 */
static void write_more(struct trace_writer *writer)
{
	trace_writer_chunk(writer, 2, 0, TRACE_WRITER_SEALED);
	trace_writer_module(writer, 1, 2, 0x20000, 0x20000, 0x21000, "/lib/more.so");
	trace_writer_frame(writer, 9, 0x20011, 2);
	trace_writer_push(writer, 0, 2, 9, 3);
	trace_writer_allocate(writer, MALLOC, 10, 0x8000, 7);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 1, 1, TRACE_WRITER_SEALED);
	trace_writer_base(writer, 2000);
	trace_writer_push(writer, 0, 2, 1, 2);
	trace_writer_allocate(writer, MALLOC, 10, 0x5800, 50);
	trace_writer_push(writer, 2, 2, 1, 3);
	trace_writer_free(writer, FREE, 10, 0x6000);
	trace_writer_seal(writer);
}

/* The change of the site whose innermost frames have these pcs. */
static const struct site *find(const struct recording *recording, const struct site *changes,
			       uint64_t inner, uint64_t outer)
{
	uint32_t sites, unused;
	const struct recorded_frame *frames = recording_frames(recording, &unused);
	const struct stack_node *nodes = recording_stacks(recording, &unused);

	recording_sites(recording, &sites);
	for (uint32_t i = 0; i < sites; i++) {
		const struct stack_node *node = &nodes[changes[i].stack];

		if (frames[node->frame].pc == inner &&
		    frames[nodes[node->parent].frame].pc == outer)
			return &changes[i];
	}
	fail();
	return NULL;
}

static void grown(void **state)
{
	struct trace_writer writer;
	struct recording *since, *now;
	struct site *changes;
	const struct site *site;
	uint32_t sites;

	write_first(&writer);
	since = open_written(&writer);
	write_more(&writer);
	now = open_written(&writer);
	trace_writer_deinit(&writer);
	recording_sites(now, &sites);
	assert_int_equal(sites, 3);
	assert_ok(site_change_find(now, since, &changes));

	site = find(now, changes, 0x1031, 0x20011); // new
	assert_int_equal(site->calls, 1);
	assert_int_equal(site->leaked_bytes, 7);
	site = find(now, changes, 0x1021, 0x1011); // more
	assert_int_equal(site->calls, 1);
	assert_int_equal(site->total_bytes, 50);
	assert_int_equal(site->leaked_bytes, 50);
	site = find(now, changes, 0x1031, 0x1011); // less
	assert_int_equal(site->calls, 0);
	assert_int_equal((int64_t)site->leaked_bytes, -1000);
	assert_int_equal((int64_t)site->leaked_blocks, -1);
	free(changes);
	recording_close(now);
	recording_close(since);
}

static void nothing_changed(void **state)
{
	struct trace_writer writer;
	struct recording *since, *now;
	struct site *changes;
	uint32_t sites;

	write_first(&writer);
	since = open_written(&writer);
	now = open_written(&writer);
	trace_writer_deinit(&writer);
	recording_sites(now, &sites);
	assert_int_equal(sites, 2);
	assert_ok(site_change_find(now, since, &changes));
	for (uint32_t i = 0; i < sites; i++) {
		assert_int_equal(changes[i].calls, 0);
		assert_int_equal(changes[i].total_bytes, 0);
		assert_int_equal(changes[i].peak_bytes, 0);
		assert_int_equal(changes[i].leaked_bytes, 0);
	}
	free(changes);
	recording_close(now);
	recording_close(since);
}

static void from_nothing(void **state)
{
	struct trace_writer writer;
	struct recording *since, *now;
	struct site *changes;
	uint32_t sites;

	trace_writer_init(&writer);
	since = open_written(&writer);
	trace_writer_deinit(&writer);
	write_first(&writer);
	now = open_written(&writer);
	trace_writer_deinit(&writer);
	recording_sites(now, &sites);
	assert_ok(site_change_find(now, since, &changes));
	assert_int_equal(changes[0].total_bytes + changes[1].total_bytes, 1100);
	free(changes);
	recording_close(now);
	recording_close(since);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grown),
		cmocka_unit_test(nothing_changed),
		cmocka_unit_test(from_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
