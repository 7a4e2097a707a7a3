/* Core dumps with a live table: put together, cut, apart, big-endian, and without memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/recording_memory.h"
#include "check.h"
#include "core_writer.h"
#include "coredump/coredump.h"
#include "failing_malloc.h"
#include "hosted/cleanup.h"
#include "hosted/files/byte_source.h"
#include "trace/checksum.h"

static char path[40];
static int fd = -1;

/* Makes the first `size` bytes of the core a file at `path`. */
static void make_file(const struct core_writer *core, size_t size)
{
	if (fd >= 0)
		close(fd);
	fd = memfd_create("core", MFD_CLOEXEC);
	assert_int_equal(write(fd, core->data, size), (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static struct err *open_file(bool raw, struct recording **ret)
{
	const char *paths[] = {path};

	return raw ? recording_open_raw(paths, 1, ret)
		   : recording_open(path, RECORDING_BLOCKS, NULL, NULL, ret);
}

static void check_recording(const struct recording *recording, uint32_t signal)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *sum = recording_summary(recording);
	const struct block_columns *blocks = recording_blocks(recording);

	assert_non_null(facts->core);
	assert_int_equal(facts->core->signal, signal);
	assert_int_equal(facts->core->missing, 0);
	assert_int_equal(facts->pid, CORE_WRITER_PID);
	assert_string_equal(facts->program, "/bin/made");
	assert_false(facts->writing);
	assert_int_equal(sum->leaked_bytes, CORE_WRITER_BYTES);
	assert_int_equal(sum->leaked_blocks, CORE_WRITER_BLOCKS);
	assert_int_equal(blocks->count, CORE_WRITER_BLOCKS);
	for (uint64_t i = 0; i < blocks->count; i++) {
		assert_int_equal(blocks->address[i], 0x10000 * (i + 1));
		assert_int_equal(blocks->freed_ns[i], TIME_NEVER);
	}
}

/* A walk over what a core says that is there ends where the file has no more of it. */
static void pieces_without_bytes(void **state)
{
	const uint64_t size = UINT64_C(1) << 45;
	auto_close int file = memfd_create("piece", MFD_CLOEXEC);
	const struct byte_piece piece = {.at = 4096, .size = size - 4096, .from = 0, .fd = file};
	struct byte_source source = byte_source_pieces("pieces", NULL, 0, size);

	assert_int_equal(byte_source_next(&source, 0), size);
	assert_int_equal(byte_source_taken(&source), 0);
	assert_int_equal(pwrite(file, "x", 1, 10000), 1);
	source = byte_source_pieces("pieces", &piece, 1, size);
	assert_int_equal(byte_source_next_unit(&source, 0, 4096), 4096 + 8192);
	assert_int_equal(byte_source_next(&source, 4096 + 10000), 4096 + 10000);
	assert_int_equal(byte_source_next(&source, 4096 + 10001), size);
}

static void opens(void **state)
{
	for (unsigned int flags = 0; flags < 8; flags++) {
		bool raw = flags & CORE_WRITER_RAW;
		struct core_writer core;
		struct recording *recording;

		core_writer_make(&core, flags);
		make_file(&core, core.size);
		assert_ok(open_file(raw, &recording));
		check_recording(recording, raw ? 0 : 11);
		recording_close(recording);
		core_writer_deinit(&core);
	}
}

/* Cut anywhere: what is there, or an error. Nothing is made up. */
static void cut(void **state)
{
	for (unsigned int flags = 0; flags < 8; flags++) {
		struct core_writer core;

		core_writer_make(&core, flags);
		for (size_t size = 1; size < core.size; size += size < 2000 ? 7 : 509) {
			struct recording *recording;
			struct err *err;

			make_file(&core, size);
			err = open_file(flags & CORE_WRITER_RAW, &recording);
			if (err) {
				err_destroy(err);
				continue;
			}
			assert_true(recording_summary(recording)->leaked_bytes <=
				    CORE_WRITER_BYTES);
			if (!(flags & CORE_WRITER_RAW))
				assert_int_not_equal(recording_facts(recording)->core->cut, 0);
			recording_close(recording);
		}
		core_writer_deinit(&core);
	}
}

/* Mappings at places that no kernel gives: every walk over the table ends. */
static void odd_mappings(void **state)
{
	static const uint64_t changes[] = {
		1, 2, 4095, 4096, 4097, 8192, 1ull << 37, 1ull << 45, UINT64_MAX, -UINT64_C(4096)};

	alarm(60);
	for (unsigned int flags = 1; flags < 4; flags += 2) {
		for (size_t i = 0; i < 3 * sizeof(changes) / sizeof(*changes); i++) {
			struct core_writer core;
			struct recording *recording;
			struct err *err;
			uint64_t word;

			core_writer_make(&core, flags);
			memcpy(&word, core.data + core.files_from + 16 + i % 3 * 8, 8);
			word += changes[i / 3];
			memcpy(core.data + core.files_from + 16 + i % 3 * 8, &word, 8);
			make_file(&core, core.size);
			err = open_file(false, &recording);
			if (!err)
				recording_close(recording);
			err_destroy(err);
			core_writer_deinit(&core);
		}
	}
	alarm(0);
}

/* A raw dump with holes, of any size: they are not read. */
static void sparse(void **state)
{
	struct core_writer core;
	struct recording *recording;

	core_writer_make(&core, CORE_WRITER_RAW);
	if (fd >= 0)
		close(fd);
	fd = memfd_create("core", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, INT64_C(1) << 45), 0); // hours, if they were read
	assert_int_equal(pwrite(fd, core.data, core.size, INT64_C(1) << 44), (ssize_t)core.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	alarm(60);
	assert_ok(open_file(true, &recording));
	alarm(0);
	check_recording(recording, 0);
	recording_close(recording);
	core_writer_deinit(&core);
}

/* The dump ends before the first page, or within it: chunks say what was in it. */
static void without_first_page(void **state)
{
	struct core_writer core;

	core_writer_make(&core, CORE_WRITER_FILES | CORE_WRITER_APART);
	for (size_t end = core.table_from; end < core.table_from + 4096; end += 1000) {
		struct recording *recording;

		make_file(&core, end);
		assert_ok(open_file(false, &recording));
		assert_int_equal(recording_facts(recording)->pid, CORE_WRITER_PID);
		assert_true(recording_facts(recording)->core->missing >= 4096);
		// The blocks are in the second half, which stands before the first in the file.
		assert_int_equal(recording_summary(recording)->leaked_bytes, CORE_WRITER_BYTES);
		recording_close(recording);
	}
	core_writer_deinit(&core);
}

/* Two dumps of one process, of which each has what the other lacks; in both orders. */
static void merges(void **state)
{
	struct core_writer core;
	char other_path[40];
	const char *paths[2];
	int other;

	core_writer_make(&core, CORE_WRITER_RAW);
	for (size_t at = 64; at < core.size; at += 1000) {
		struct recording *recording;

		make_file(&core, at);
		other = memfd_create("other", MFD_CLOEXEC);
		assert_int_equal(write(other, core.data + at, core.size - at),
				 (ssize_t)(core.size - at));
		snprintf(other_path, sizeof(other_path), "/proc/self/fd/%d", other);
		for (int i = 0; i < 2; i++) {
			struct err *err;

			paths[i] = path;
			paths[1 - i] = other_path;
			err = recording_open_raw(paths, 2, &recording);
			// The cut may go through the header, or through a chunk's head.
			if (err) {
				assert_true(at < 4096);
				err_destroy(err);
				continue;
			}
			// A dump with no chunk's head does not say where in memory it was.
			if (at % 4096 > 128 && at < core.size - 2 * 4096)
				check_recording(recording, 0);
			recording_close(recording);
		}
		close(other);
	}
	core_writer_deinit(&core);
}

/* Turns a number at `at` around, as a big-endian writer has it. */
static void swap(uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = at[i];

		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
}

static void swap_all(uint8_t *at, size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		swap(at + i * size, size);
}

static void swap_entry(uint8_t *at, uint32_t part)
{
	switch (part) {
	case LIVE_PART_NODES:
		return swap_all(at, 4, 3);
	case LIVE_PART_SITES:
		swap_all(at, 8, 6);
		return swap_all(at + 48, 4, 4);
	case LIVE_PART_THREADS:
		swap_all(at, 8, 2);
		return swap_all(at + 16, 4, 2);
	default:
		return swap_all(at, 8, 3);
	}
}

/* Rewrites the little table of core_writer.h as a big-endian machine would write it. */
static void make_big(struct core_writer *core)
{
	uint8_t *table = core->data + core->table_from;

	swap_all(table + 8, 2, 2);
	swap(table + 12, 4);
	swap_all(table + 48, 4, 2);
	swap(table + 56, 8);
	swap(table + 64, 4);
	table[71] = 1;
	swap_all(table + 72, 4, 2);
	swap_all(table + 80, 8, 3);
	swap_all(table + 104, 4, 2);
	swap_all(table + 112, 8, 18);
	swap_all(table + 256, 4, 4);
	swap_all(table + 272, 8, 3);
	swap_all(table + 296, 4, 2);
	for (size_t at = 4096, size; at < core->table; at += size) {
		uint8_t *chunk = table + at;
		struct live_chunk live;
		struct trace_chunk head;
		uint64_t checksum;

		memcpy(&head, chunk, sizeof(head));
		memcpy(&live, chunk + LIVE_CHUNK_OFFSET, sizeof(live));
		size = head.size;
		swap(chunk, 8);
		swap_all(chunk + 8, 4, 4);
		swap(chunk + 24, 8);
		swap_all(chunk + 32, 8, 2);
		if (head.kind != TRACE_CHUNK_LIVE) {
			swap(chunk + 48, 8);
			swap_all(chunk + 56, 4, 2);
			continue;
		}
		swap_all(chunk + 64, 4, 2);
		swap_all(chunk + 72, 8, 3);
		for (uint64_t i = 0; i < live.count; i++)
			swap_entry(chunk + LIVE_ARRAY_OFFSET + i * live.entry_size, live.part);
		// The checksum is of the bytes as they are now.
		checksum = live_place_checksum(chunk, chunk + LIVE_CHUNK_OFFSET);
		memcpy(chunk + 56, &checksum, sizeof(checksum));
		swap(chunk + 56, 8);
	}
}

static void big_endian(void **state)
{
	struct core_writer core;
	struct recording *recording;

	core_writer_make(&core, CORE_WRITER_RAW);
	make_big(&core);
	make_file(&core, core.size);
	assert_ok(open_file(true, &recording));
	check_recording(recording, 0);
	recording_close(recording);
	core_writer_deinit(&core);
}

static void without_memory(void **state)
{
	for (unsigned int flags = 0; flags < 8; flags++) {
		struct core_writer core;
		struct err *err;
		long n = 0;

		core_writer_make(&core, flags);
		make_file(&core, core.size);
		do {
			struct recording *recording = NULL;

			failing_malloc_countdown = n++;
			err = open_file(flags & CORE_WRITER_RAW, &recording);
			failing_malloc_countdown = -1;
			if (err) {
				assert_int_equal(err_number(err), ENOMEM);
				assert_null(recording);
				err_destroy(err);
			} else {
				check_recording(recording, flags & CORE_WRITER_RAW ? 0 : 11);
				recording_close(recording);
			}
		} while (err);
		assert_true(n > 20);
		core_writer_deinit(&core);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_without_bytes),
		cmocka_unit_test(opens),
		cmocka_unit_test(cut),
		cmocka_unit_test(odd_mappings),
		cmocka_unit_test(sparse),
		cmocka_unit_test(without_first_page),
		cmocka_unit_test(merges),
		cmocka_unit_test(big_endian),
		cmocka_unit_test(without_memory),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
