/* The index file: says what the events say, and is not believed when anything about it is wrong. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/index/index_file.h"
#include "analysis/index/index_file_layout.h"
#include "analysis/index/index_pack.h"
#include "analysis/index/index_read.h"
#include "check.h"
#include "hosted/cleanup.h"
#include "sample_recordings.h"

#define NEEDS   (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS | RECORDING_RUN_FACTS)
#define THREADS 4

static char folder[PATH_MAX], caches[PATH_MAX], recording_path[PATH_MAX], index_path[PATH_MAX];

static void empty_folder(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		char name[PATH_MAX + 300];

		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && unlink(name) < 0)
			assert_int_equal(rmdir(name), 0);
	}
	closedir(directory);
}

static unsigned int files_in(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(directory);
	while ((entry = readdir(directory)))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	return count;
}

static int make_folders(void **state)
{
	strcpy(folder, "/tmp/mallow_index_XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(caches, sizeof(caches), "%s/caches", folder);
	assert_int_equal(mkdir(caches, 0700), 0);
	setenv("XDG_CACHE_HOME", caches, 1);
	strcat(caches, "/mallow");
	assert_int_equal(mkdir(caches, 0700), 0);
	snprintf(recording_path, sizeof(recording_path), "%s/r.mallow", folder);
	snprintf(index_path, sizeof(index_path), "%s/r.mallow.index", folder);
	return 0;
}

static int remove_folders(void **state)
{
	empty_folder(caches);
	rmdir(caches);
	*strrchr(caches, '/') = 0;
	empty_folder(folder);
	return rmdir(folder);
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *path, uint8_t **ret)
{
	FILE *file = fopen(path, "re");
	struct stat status;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	*ret = malloc((size_t)status.st_size + 1);
	assert_non_null(*ret);
	assert_int_equal(fread(*ret, 1, (size_t)status.st_size, file), status.st_size);
	fclose(file);
	return (size_t)status.st_size;
}

static void write_sample(const struct sample_recording *sample)
{
	struct trace_writer writer;

	sample->write(&writer);
	write_file(recording_path, writer.data, writer.size);
	trace_writer_deinit(&writer);
	unlink(index_path);
}

static struct recording *open_it(unsigned int more)
{
	struct recording *recording = NULL;

	assert_ok(recording_open(recording_path, NEEDS | more, NULL, NULL, &recording));
	return recording;
}

static struct recording *open_events(void)
{
	return open_it(RECORDING_FROM_EVENTS);
}

/* Of the recording as it stands. false: none was written. */
static bool write_index(void)
{
	struct recording *recording = open_events();
	auto_free char *path = NULL;

	assert_ok(index_file_write(recording, &path));
	recording_close(recording);
	return path;
}

static void check_orders(const struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);

	for (int order = 0; order < BLOCK_ORDER_STORED; order++) {
		const uint64_t *keys = order == BLOCK_ORDER_SIZE ? blocks->size : blocks->address;
		const uint32_t *rows;

		assert_ok(recording_block_order(recording, (enum block_order)order, &rows));
		// Strictly ascending by key and row: then each row is there once.
		for (uint64_t i = 1; i < blocks->count; i++)
			assert_true(keys[rows[i]] > keys[rows[i - 1]] ||
				    (keys[rows[i]] == keys[rows[i - 1]] && rows[i] > rows[i - 1]));
	}
}

/* Site by site, in the slow and obvious way. */
static void check_spans(const struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);
	const struct site_span *spans;
	uint32_t site_count, thread_count;

	recording_sites(recording, &site_count);
	recording_threads(recording, &thread_count);
	assert_ok(recording_site_spans(recording, &spans));
	for (uint32_t site = 0; site < site_count; site++) {
		struct site_span expected = {.smallest = UINT64_MAX};
		uint8_t *seen = calloc(thread_count + 1, 1);

		for (uint64_t i = 0; i < blocks->count; i++) {
			uint64_t life = blocks->freed_ns[i] - blocks->allocated_ns[i];

			if (blocks->site[i] != site)
				continue;
			if (!expected.blocks++)
				expected.first_ns = blocks->allocated_ns[i];
			expected.last_ns = blocks->allocated_ns[i];
			expected.threads += !seen[blocks->thread[i]];
			seen[blocks->thread[i]] = 1;
			if (blocks->size[i] < expected.smallest)
				expected.smallest = blocks->size[i];
			if (blocks->size[i] > expected.largest)
				expected.largest = blocks->size[i];
			if (blocks->freed_ns[i] == TIME_NEVER)
				continue;
			expected.freed++;
			expected.lives_ns += life;
			if (life > expected.longest_life_ns)
				expected.longest_life_ns = life;
		}
		if (!expected.blocks)
			expected.smallest = 0;
		assert_memory_equal(&spans[site], &expected, sizeof(expected));
		free(seen);
	}
}

/* Every column, list and sum. */
static void check_same(const struct recording *a, const struct recording *b)
{
	const struct block_columns *left = recording_blocks(a), *right = recording_blocks(b);
	struct buf first = {0}, second = {0};
	const struct pool_birth *births, *others;
	size_t birth_count, other_count;

	births = recording_pool_births(a, &birth_count);
	others = recording_pool_births(b, &other_count);
	assert_int_equal(birth_count, other_count);
	if (birth_count)
		assert_memory_equal(births, others, birth_count * sizeof(*births));
	assert_int_equal(left->count, right->count);
#define BLOCK_COLUMN(name, type)                                                                   \
	assert_int_equal(!left->name, !right->name);                                               \
	if (left->name)                                                                            \
		assert_memory_equal(left->name, right->name, left->count * sizeof(type));
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	assert_ok(index_pack(a, &first));
	index_pack_errors(a, &first);
	assert_ok(index_pack(b, &second));
	index_pack_errors(b, &second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	buf_deinit(&first);
	buf_deinit(&second);
	assert_memory_equal(recording_summary(a), recording_summary(b),
			    sizeof(struct recording_summary));
	assert_int_equal(a->facts.file_size, b->facts.file_size);
	assert_int_equal(a->facts.complete, b->facts.complete);
	assert_int_equal(a->facts.chunks, b->facts.chunks);
}

static bool is_indexed(void)
{
	struct recording *recording = open_it(0);
	bool indexed = recording_facts(recording)->indexed;

	recording_close(recording);
	return indexed;
}

/* Opens it, which gives what the events give, whether or not an index file is used. */
static bool opens_by_index(const struct recording *expected)
{
	struct recording *recording = open_it(0);
	bool indexed = recording_facts(recording)->indexed;

	check_same(expected, recording);
	recording_close(recording);
	return indexed;
}

static void all_samples(void **state)
{
	unsigned int written = 0;

	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct recording *expected;

		write_sample(&sample_recordings[i]);
		expected = open_events();
		assert_false(opens_by_index(expected));
		// Nothing is written unless somebody asks, and nothing of what is damaged.
		assert_int_equal(access(index_path, F_OK), -1);
		assert_int_equal(write_index(), !expected->facts.damaged_chunks);
		check_orders(expected);
		check_spans(expected);
		if (!expected->facts.damaged_chunks) {
			struct recording *indexed = open_it(0);
			struct stat status;

			written++;
			assert_true(recording_facts(indexed)->indexed);
			check_same(expected, indexed);
			check_orders(indexed);
			check_spans(indexed);
			recording_close(indexed);
			assert_int_equal(stat(index_path, &status), 0);
			assert_int_equal(status.st_mode & 07777, 0600);
		}
		recording_close(expected);
	}
	assert_true(written >= 2);
	assert_int_equal(files_in(caches), 0);
}

/* A sample that has blocks, sites and more than one thread, and is sound; its index is written. */
static struct recording *write_sound(void)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct recording *recording;

		write_sample(&sample_recordings[i]);
		recording = open_events();
		if (!recording->facts.damaged_chunks && recording->sites.sites.count > 1) {
			assert_true(write_index());
			assert_true(opens_by_index(recording));
			return recording;
		}
		recording_close(recording);
	}
	fail_msg("no sample is sound");
	return NULL;
}

/* Each byte that means something, and some of those between. */
static void every_byte(void **state)
{
	struct recording *expected = write_sound();
	struct index_file_header *header;
	uint8_t *data;
	size_t size = read_file(index_path, &data), section = 0;

	header = (struct index_file_header *)data;
	for (size_t at = 0; at < size; at++) {
		size_t begin = 0, end = sizeof(*header);
		uint8_t before = data[at];

		while (at >= INDEX_FILE_PAGE && section + 1 < INDEX_SECTION_COUNT &&
		       at >= index_file_offset(header, section + 1))
			section++;
		if (at >= INDEX_FILE_PAGE) {
			begin = index_file_offset(header, section);
			end = begin + header->sections[section].size;
		}
		if (at >= end && at % 509)
			continue;
		data[at] ^= (uint8_t)(1u << at % 8);
		write_file(index_path, data, size);
		data[at] = before;
		assert_true(opens_by_index(expected) == (at >= end));
	}
	free(data);
	recording_close(expected);
}

static void every_length(void **state)
{
	struct recording *expected = write_sound();
	uint8_t *data;
	size_t size = read_file(index_path, &data);

	for (size_t cut = 0; cut < size; cut += cut % 4096 == 0 || cut % 4096 == 4095 ? 1 : 4094) {
		write_file(index_path, data, cut);
		assert_false(opens_by_index(expected));
	}
	data = realloc(data, size + 1);
	data[size] = 0;
	write_file(index_path, data, size + 1);
	assert_false(opens_by_index(expected));
	write_file(index_path, data, size);
	assert_true(opens_by_index(expected));
	free(data);
	recording_close(expected);
}

/* Who knows the format can make checksums match: no number leads out of its table all the same. */
static void crafted(void **state)
{
	static const size_t indices[] = {
		BLOCK_COLUMN_successor,
		BLOCK_COLUMN_free_turn,
		BLOCK_COLUMN_site,
		BLOCK_COLUMN_thread,
		BLOCK_COLUMN_free_thread,
		BLOCK_COLUMN_entry,
		BLOCK_COLUMN_heap_flags,
		INDEX_SECTION_ORDERS + BLOCK_ORDER_SIZE,
		INDEX_SECTION_ORDERS + BLOCK_ORDER_ADDRESS,
		INDEX_SECTION_POOL_BIRTHS,
	};
	struct recording *expected = write_sound();
	uint8_t *data, *copy;
	size_t size = read_file(index_path, &data);
	struct index_file_header *header;

	copy = malloc(size);
	header = (struct index_file_header *)copy;
	for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
		uint64_t offset, section_size;

		memcpy(copy, data, size);
		offset = index_file_offset(header, indices[i]);
		section_size = header->sections[indices[i]].size;
		assert_true(section_size);
		copy[offset + section_size - 1] = 0x7f;
		header->sections[indices[i]].checksum =
			index_file_checksum(copy + offset, section_size);
		header->checksum = index_file_header_checksum(header);
		write_file(index_path, copy, size);
		assert_false(opens_by_index(expected));
	}
	// A chain that leads to itself has no end; nothing is freed before it is allocated.
	for (size_t i = 0; i < 2; i++) {
		size_t section = i ? BLOCK_COLUMN_free_turn : BLOCK_COLUMN_successor;
		uint8_t *values;

		memcpy(copy, data, size);
		values = copy + index_file_offset(header, section);
		memset(values, 0, 8);
		header->sections[section].checksum =
			index_file_checksum(values, header->sections[section].size);
		header->checksum = index_file_header_checksum(header);
		write_file(index_path, copy, size);
		assert_false(opens_by_index(expected));
	}
	// And so do they match: the above was refused for its numbers.
	memcpy(copy, data, size);
	copy[index_file_offset(header, BLOCK_COLUMN_slack)] ^= 1;
	header->sections[BLOCK_COLUMN_slack].checksum =
		index_file_checksum(copy + index_file_offset(header, BLOCK_COLUMN_slack),
				    header->sections[BLOCK_COLUMN_slack].size);
	header->checksum = index_file_header_checksum(header);
	write_file(index_path, copy, size);

	struct recording *changed = open_it(0);

	assert_true(recording_facts(changed)->indexed);
	assert_int_not_equal(recording_blocks(changed)->slack[0],
			     recording_blocks(expected)->slack[0]);
	recording_close(changed);
	free(copy);
	free(data);
	recording_close(expected);
}

static void other_recording(void **state)
{
	static const struct timespec times[2] = {{1, 0}, {1, 0}};
	struct recording *expected = write_sound();
	uint8_t *data, *index;
	size_t size = read_file(recording_path, &data), index_size = read_file(index_path, &index);

	assert_int_equal(utimensat(AT_FDCWD, recording_path, times, 0), 0);
	assert_false(opens_by_index(expected));
	assert_true(write_index());
	assert_true(opens_by_index(expected));
	// It grew, and has the time it had before; what is behind it are no chunks.
	data = realloc(data, size + 4096);
	memset(data + size, 0, 4096);
	write_file(recording_path, data, size + 4096);
	assert_int_equal(utimensat(AT_FDCWD, recording_path, times, 0), 0);
	assert_false(is_indexed());
	// Another id.
	data[16] ^= 1;
	write_file(recording_path, data, size);
	assert_int_equal(utimensat(AT_FDCWD, recording_path, times, 0), 0);
	assert_false(is_indexed());
	free(index);
	free(data);
	recording_close(expected);
	assert_true(index_size);
}

static void not_ours(void **state)
{
	struct recording *expected = write_sound();
	char aside[PATH_MAX + 8];
	struct stat status;

	assert_int_equal(chmod(index_path, 0620), 0);
	assert_false(opens_by_index(expected));
	assert_int_equal(chmod(index_path, 0600), 0);
	assert_true(opens_by_index(expected));
	if (geteuid() == 0) {
		assert_int_equal(chown(index_path, 12345, (gid_t)-1), 0);
		assert_false(opens_by_index(expected));
		assert_int_equal(chown(index_path, 0, (gid_t)-1), 0);
	}
	// A link is not followed, and is replaced: what it leads to stays.
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(rename(index_path, aside), 0);
	assert_int_equal(symlink(aside, index_path), 0);
	assert_false(opens_by_index(expected));
	assert_int_equal(truncate(aside, 7), 0);
	assert_true(write_index());
	assert_true(opens_by_index(expected));
	assert_int_equal(stat(aside, &status), 0);
	assert_int_equal(status.st_size, 7);
	recording_close(expected);
}

/* Nor does any but a regular file make it wait, or fall. */
static void no_file(void **state)
{
	struct recording *expected = write_sound();

	unlink(index_path);
	assert_int_equal(mkfifo(index_path, 0600), 0);
	assert_false(opens_by_index(expected));
	unlink(index_path);
	assert_int_equal(mkdir(index_path, 0700), 0);
	assert_false(opens_by_index(expected));
	// Where none can be written, it goes among the caches.
	assert_true(write_index());
	assert_int_equal(files_in(caches), 1);
	assert_true(opens_by_index(expected));
	empty_folder(caches);
	rmdir(index_path);
	recording_close(expected);
}

static void *open_and_write(void *argument)
{
	const struct recording *expected = argument;
	unsigned long failures = 0;

	for (int i = 0; i < 25; i++) {
		struct recording *recording = NULL;
		char *path = NULL;

		failures += recording_open(recording_path, NEEDS, NULL, NULL, &recording) != NULL;
		if (!recording)
			continue;
		failures += memcmp(recording_blocks(recording)->address,
				   recording_blocks(expected)->address,
				   recording_blocks(expected)->count * 8) != 0;
		failures += index_file_write(recording, &path) != NULL;
		free(path);
		recording_close(recording);
	}
	return (void *)failures;
}

static void at_once(void **state)
{
	struct recording *expected = write_sound();
	unsigned int before = files_in(folder);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_write, expected), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failures;

		assert_int_equal(pthread_join(threads[i], &failures), 0);
		assert_null(failures);
	}
	assert_true(opens_by_index(expected));
	assert_int_equal(files_in(folder), before);
	recording_close(expected);
}

/* Without wrong frees in it, it serves those who do not ask for them. */
static void without_errors(void **state)
{
	struct recording *expected = write_sound(), *recording = NULL;
	auto_free char *path = NULL;

	unlink(index_path);
	assert_ok(recording_open(recording_path, RECORDING_BLOCKS, NULL, NULL, &recording));
	assert_ok(index_file_write(recording, &path));
	assert_non_null(path);
	recording_close(recording);
	assert_ok(recording_open(recording_path, RECORDING_BLOCKS, NULL, NULL, &recording));
	assert_true(recording_facts(recording)->indexed);
	recording_close(recording);
	assert_false(opens_by_index(expected));
	recording_close(expected);
}

static bool in_range(const struct heap_error *error, const struct recording *recording)
{
	uint32_t nodes = (uint32_t)recording->tables->stacks.count;

	return error->kind <= HEAP_ERROR_MISMATCH && error->entry <= TRACE_OP_DELETE_ARRAY &&
	       error->release <= TRACE_OP_DELETE_ARRAY &&
	       error->thread < recording->tables->threads.count &&
	       (error->allocated < nodes || error->allocated == RECORDING_NONE) &&
	       (error->freed < nodes || error->freed == RECORDING_NONE) &&
	       (error->freed_once < nodes || error->freed_once == RECORDING_NONE);
}

/* Wrong frees by themselves, without a checksum around them. */
static void damaged_errors(void **state)
{
	static const struct heap_error error = {
		.kind = HEAP_ERROR_DOUBLE_FREE,
		.entry = TRACE_OP_NEW,
		.release = TRACE_OP_FREE,
		.freed = RECORDING_NONE,
		.freed_once = RECORDING_NONE,
		.count = 1000,
		.time_ns = 123456789,
		.size = 24,
		.addresses = {0x1000, 0x2000, UINT64_MAX},
	};
	struct recording *recording = write_sound();
	struct heap_errors *errors = &recording->blocks->heap_errors;
	struct buf buf = {0}, again = {0};
	unsigned int refused = 0;
	bool used;

	errors->errors.count = 0;
	errors->unjudged = 7;
	assert_true(vec_push(&errors->errors, error) && vec_push(&errors->errors, error));
	index_pack_errors(recording, &buf);
	errors->unjudged = errors->errors.count = 0;
	assert_ok(index_read_errors(recording, (const uint8_t *)buf.data, buf.size, &used));
	assert_true(used);
	index_pack_errors(recording, &again);
	assert_int_equal(buf.size, again.size);
	assert_memory_equal(buf.data, again.data, buf.size);
	for (size_t cut = 0; cut < buf.size; cut++) {
		errors->errors.count = 0;
		assert_ok(index_read_errors(recording, (const uint8_t *)buf.data, cut, &used));
		assert_false(used);
		assert_int_equal(errors->errors.count, 0);
	}
	for (size_t at = 0; at < buf.size; at++) {
		char before = buf.data[at];

		buf.data[at] = 0x7f;
		errors->errors.count = 0;
		assert_ok(index_read_errors(recording, (const uint8_t *)buf.data, buf.size, &used));
		refused += !used;
		for (size_t i = 0; i < errors->errors.count; i++)
			assert_true(in_range(&errors->errors.items[i], recording));
		buf.data[at] = before;
	}
	assert_true(refused >= 8);
	buf_deinit(&buf);
	buf_deinit(&again);
	recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_samples),     cmocka_unit_test(every_byte),
		cmocka_unit_test(every_length),    cmocka_unit_test(crafted),
		cmocka_unit_test(other_recording), cmocka_unit_test(not_ours),
		cmocka_unit_test(no_file),         cmocka_unit_test(at_once),
		cmocka_unit_test(without_errors),  cmocka_unit_test(damaged_errors),
	};

	return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
