/* Merges recordings with allocation n failing, for every n: an error each time, and no leak. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/merge/merge.h"
#include "analysis/merge/merge_sites.h"
#include "base/compiler.h"
#include "check.h"
#include "failing_malloc.h"
#include "sample_recordings.h"

#define ID_OFFSET 16

/* A recording in a file of its own, with an id of its own. */
static void make_file(char *path, unsigned int number)
{
	struct trace_writer writer;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	sample_recordings[number % sample_recording_count].write(&writer);
	trace_writer_poke(&writer, ID_OFFSET, number + 1, 8);
	assert_int_equal(write(fd, writer.data, writer.size), (ssize_t)writer.size);
	close(fd);
	trace_writer_deinit(&writer);
}

static struct err *merge_two(const char *first, const char *second, struct merge **ret)
{
	struct err *err = merge_create(NULL, ret);

	if (!err)
		err = merge_add(*ret, first, NULL, NULL);
	if (!err)
		err = merge_add(*ret, second, NULL, NULL);
	return err ? err : merge_run(*ret, NULL, NULL);
}

static void check(const struct merge *merge)
{
	const struct recording_summary *sums = recording_summary(merge_recording(merge));
	const struct process_list *list = merge_processes(merge);
	uint64_t calls = 0, total = 0, leaked = 0;

	assert_int_equal(merge_count(merge), 2);
	for (size_t i = 0; i < 2; i++) {
		calls += list->items.items[i].summary.calls;
		total += list->items.items[i].summary.total_bytes;
		leaked += list->items.items[i].summary.leaked_bytes;
	}
	assert_int_equal(sums->calls, calls);
	assert_int_equal(sums->total_bytes, total);
	assert_int_equal(sums->leaked_bytes, leaked);
	assert_true(sums->peak_bytes <= list->items.items[0].summary.peak_bytes +
						list->items.items[1].summary.peak_bytes);
}

static void merge_each(void **state)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		char first[] = "/tmp/mallow-merge-XXXXXX", second[] = "/tmp/mallow-merge-XXXXXX";
		struct err *err;
		long n;

		failing_malloc_countdown = -1;
		make_file(first, i);
		make_file(second, i + 1);
		for (n = 0;; n++) {
			struct merge *merge = NULL;

			failing_malloc_countdown = n;
			err = merge_two(first, second, &merge);
			failing_malloc_countdown = -1;
			if (!err)
				check(merge);
			merge_destroy(merge);
			if (!err)
				break;
			assert_int_equal(err_number(err), ENOMEM);
			err_destroy(err);
		}
		assert_true(n > 10);
		unlink(first);
		unlink(second);
	}
}

/* A bit stands for each recording that is matched by name. */
static void too_many_by_name(void **state)
{
	struct recording *empty;
	const struct recording *all[MERGE_SITES_BY_NAME + 1];
	struct merge_sites merge = {0};
	struct err *err;

	assert_null(recording_create(&empty));
	for (size_t i = 0; i < ARRAY_COUNT(all); i++)
		all[i] = empty;
	assert_null(merge_sites_by_name(&merge, all, MERGE_SITES_BY_NAME));
	merge_sites_deinit(&merge);
	merge = (struct merge_sites){0};
	err = merge_sites_by_name(&merge, all, ARRAY_COUNT(all));
	assert_non_null(err);
	assert_string_equal(err_message(err),
			    "64 recordings are too many to be matched by name: at most 63");
	err_destroy(err);
	merge_sites_deinit(&merge);
	recording_close(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merge_each),
		cmocka_unit_test(too_many_by_name),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
