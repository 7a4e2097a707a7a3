#include "analysis/index/index_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/index/index_file_layout.h"
#include "analysis/index/index_read.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/*
 * The limit of a column of indices: values must be below it. 0: the column has no indices. add: the
 * highest number of the type means "none"; adding 1 to all values makes that the lowest.
 */
struct column_limit {
	uint64_t below;
	bool add;
};

struct inspection {
	const struct index_file_header *header;
	const uint8_t *data;
	struct column_limit limits[INDEX_SECTION_COUNT];
	bool sound[INDEX_SECTION_COUNT]; /* set by the thread that inspects the section */
};

void index_mapping_deinit(struct index_mapping *mapping)
{
	if (mapping->data)
		munmap(mapping->data, mapping->size);
	*mapping = (struct index_mapping){0};
}

static size_t column_width(size_t section)
{
	static const uint8_t widths[INDEX_SECTION_ORDERS] = {
#define BLOCK_COLUMN(name, type) sizeof(type),
		BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	};

	return section < INDEX_SECTION_ORDERS ? widths[section] : sizeof(uint32_t);
}

static bool is_optional(size_t section)
{
	return section == BLOCK_COLUMN_tag || section == BLOCK_COLUMN_free_stack ||
	       section >= INDEX_SECTION_ORDERS;
}

/* Whether the header and the sizes are those of a whole index file of this recording. */
static bool is_of(const struct index_file_header *header, const struct recording *recording,
		  uint64_t file_size)
{
	struct index_file_header expected = *header;

	expected.magic = INDEX_FILE_MAGIC;
	expected.version = INDEX_FILE_VERSION;
	expected.section_count = INDEX_SECTION_COUNT;
	expected.file_size = file_size;
	index_file_set_recording(&expected, recording);
	expected.checksum = index_file_header_checksum(&expected);
	if (memcmp(&expected, header, sizeof(expected)) != 0 || header->rows >= RECORDING_NONE)
		return false;
	for (size_t i = 0; i < INDEX_SECTION_COUNT; i++) {
		uint64_t size = header->sections[i].size;

		if (size > file_size)
			return false;
		if (i < INDEX_SECTION_SPANS && size != header->rows * column_width(i) &&
		    (size || !is_optional(i)))
			return false;
	}
	if (recording->facts.free_stacks && !header->sections[BLOCK_COLUMN_free_stack].size)
		return !header->rows;
	return index_file_offset(header, INDEX_SECTION_COUNT) == file_size;
}

/*
 * all_below_TYPE(): whether all values + add are below the limit. The loop over a block has a
 * constant length and no exit, so that compilers can vectorise it.
 */
#define BLOCK 1024
#define ALL_BELOW(type)                                                                            \
	static bool all_below_##type(const type *values, size_t count, type add, type limit)       \
	{                                                                                          \
		type bad = 0;                                                                      \
		size_t i = 0;                                                                      \
                                                                                                   \
		for (; !bad && i + BLOCK <= count; i += BLOCK)                                     \
			for (int j = 0; j < BLOCK; j++)                                            \
				bad |= (type)(values[i + j] + add) >= limit;                       \
		for (; i < count; i++)                                                             \
			bad |= (type)(values[i] + add) >= limit;                                   \
		return !bad;                                                                       \
	}
ALL_BELOW(uint8_t)
ALL_BELOW(uint32_t)

/*
 * Whether each row's value is a later row, below the limit, or none. Then each chain has an end,
 * and each block was allocated before it was freed.
 */
static bool leads_on(const uint32_t *values, uint64_t rows, uint64_t limit)
{
	bool bad = false;

	for (uint64_t i = 0; i < rows; i++)
		bad |= values[i] <= i || values[i] + UINT32_C(1) > limit;
	return !bad;
}

static bool is_within(size_t number, const void *data, uint64_t rows, struct column_limit limit)
{
	if (number == BLOCK_COLUMN_successor)
		return leads_on(data, rows, rows);
	if (number == BLOCK_COLUMN_free_turn)
		return leads_on(data, rows, rows + 1);
	if (!limit.below)
		return true;
	if (column_width(number) == sizeof(uint8_t))
		return all_below_uint8_t(data, rows, limit.add, (uint8_t)limit.below);
	return all_below_uint32_t(data, rows, limit.add, (uint32_t)limit.below);
}

static void inspect_section(void *argument, size_t number)
{
	struct inspection *inspection = argument;
	const uint8_t *data = inspection->data + index_file_offset(inspection->header, number);
	size_t size = inspection->header->sections[number].size;

	inspection->sound[number] =
		index_file_checksum(data, size) == inspection->header->sections[number].checksum &&
		(!size ||
		 is_within(number, data, inspection->header->rows, inspection->limits[number]));
}

/* Sets the limits of the columns, by the tables that their values are indices of. */
static void set_limits(struct inspection *inspection, const struct recording *recording)
{
	struct column_limit *limits = inspection->limits;
	uint64_t rows = inspection->header->rows, sites = recording->sites.sites.count;
	uint64_t threads = recording->tables->threads.count,
		 nodes = recording->tables->stacks.count;

	limits[BLOCK_COLUMN_site] = (struct column_limit){sites, false};
	limits[BLOCK_COLUMN_thread] = (struct column_limit){threads, false};
	limits[BLOCK_COLUMN_free_thread] = (struct column_limit){threads + 1, true};
	limits[BLOCK_COLUMN_free_stack] = (struct column_limit){nodes + 1, true};
	limits[BLOCK_COLUMN_entry] = (struct column_limit){TRACE_OP_REALLOCARRAY + 1, false};
	limits[BLOCK_COLUMN_heap_flags] = (struct column_limit){4, false};
	for (size_t i = 0; i < BLOCK_ORDER_STORED; i++)
		limits[INDEX_SECTION_ORDERS + i] = (struct column_limit){rows, false};
}

static const void *section(const struct index_mapping *mapping, size_t number)
{
	const struct index_file_header *header = mapping->data;

	if (!header->sections[number].size)
		return NULL;
	return (const uint8_t *)mapping->data + index_file_offset(header, number);
}

/* Makes the recording point to the columns, and to what was made from them, in the mapping. */
static void show(struct recording *recording)
{
	const struct index_mapping *mapping = &recording->blocks->index_mapping;
	struct block_columns *columns = &recording->blocks->store.columns;
	struct block_cache *views = recording->blocks->cache;

	columns->count = ((const struct index_file_header *)mapping->data)->rows;
#define BLOCK_COLUMN(name, type) columns->name = section(mapping, BLOCK_COLUMN_##name);
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	for (size_t i = 0; i < BLOCK_ORDER_STORED; i++)
		views->orders[i] = section(mapping, INDEX_SECTION_ORDERS + i);
	views->spans = section(mapping, INDEX_SECTION_SPANS);
	recording->pools->births = section(mapping, INDEX_SECTION_POOL_BIRTHS);
	recording->pools->birth_count = ((const struct index_file_header *)mapping->data)
						->sections[INDEX_SECTION_POOL_BIRTHS]
						.size /
					sizeof(struct pool_birth);
}

static bool births_are_sound(const struct inspection *inspection, const struct recording *recording)
{
	const struct index_file_header *header = inspection->header;
	const struct pool_birth *births =
		(const struct pool_birth *)(inspection->data +
					    index_file_offset(header, INDEX_SECTION_POOL_BIRTHS));
	size_t size = header->sections[INDEX_SECTION_POOL_BIRTHS].size;

	for (size_t i = 0; i < size / sizeof(*births); i++)
		if (births[i].pool >= recording->pools->pools.count)
			return false;
	return size % sizeof(*births) == 0;
}

/* Whether all sections are as they were written, and have no index out of range. */
static bool is_sound(struct inspection *inspection, const struct recording *recording)
{
	// With empty tables no index can be right.
	if (inspection->header->rows &&
	    (!recording->sites.sites.count || !recording->tables->threads.count))
		return false;
	if (inspection->header->sections[INDEX_SECTION_SPANS].size !=
	    recording->sites.sites.count * sizeof(struct site_span))
		return false;
	set_limits(inspection, recording);
	parallel_run(inspect_section, inspection, INDEX_SECTION_COUNT);
	for (size_t i = 0; i < INDEX_SECTION_COUNT; i++)
		if (!inspection->sound[i])
			return false;
	return births_are_sound(inspection, recording);
}

/* Reads the recording's tables first: they say how far indices may go. */
static struct err *read_all(struct recording *recording, struct inspection *inspection,
			    const struct index_mapping *mapping, bool *used)
{
	const struct index_file_header *header = inspection->header;
	struct recording_facts facts = recording->facts;
	struct err *err;

	inspect_section(inspection, INDEX_SECTION_SUMS);
	if (!inspection->sound[INDEX_SECTION_SUMS])
		return NULL;
	err = index_read(recording, section(mapping, INDEX_SECTION_SUMS),
			 header->sections[INDEX_SECTION_SUMS].size, used);
	if (err || !*used)
		return err;
	*used = is_sound(inspection, recording);
	if (*used && recording->blocks->heap_errors.wanted)
		err = index_read_errors(recording, section(mapping, INDEX_SECTION_ERRORS),
					header->sections[INDEX_SECTION_ERRORS].size, used);
	if (!err && !*used)
		index_forget(recording, &facts);
	return err;
}

static struct err *use(struct recording *recording, struct index_mapping *mapping, bool *used)
{
	struct inspection inspection = {.header = mapping->data, .data = mapping->data};
	struct err *err;

	if (!section(mapping, INDEX_SECTION_SUMS) ||
	    (recording->blocks->heap_errors.wanted && !section(mapping, INDEX_SECTION_ERRORS)))
		return NULL;
	err = read_all(recording, &inspection, mapping, used);
	if (err || !*used)
		return err;
	recording->blocks->index_mapping = *mapping;
	*mapping = (struct index_mapping){0};
	show(recording);
	return NULL;
}

/*
 * Maps the file at path if its header is right. A mapped file must not become shorter while it is
 * read: our own index files are never written in place, and another user's file is not used.
 */
static bool map(const struct recording *recording, const char *path, struct index_mapping *ret)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct index_file_header header;
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid() || status.st_mode & 022)
		return false;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    !is_of(&header, recording, (uint64_t)status.st_size))
		return false;
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	*ret = (struct index_mapping){.data = data, .size = (size_t)status.st_size};
	// Make sure that what is mapped is what was checked: sizes could differ.
	if (memcmp(data, &header, sizeof(header)) == 0)
		return true;
	index_mapping_deinit(ret);
	return false;
}

static bool is_own(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

static struct err *try_file(struct recording *recording, const char *path, bool *used)
{
	cleanup(index_mapping_deinit) struct index_mapping mapping = {0};
	struct err *err = NULL;

	if (path && map(recording, path, &mapping))
		err = use(recording, &mapping, used);
	recording->tables->index_stale |= path && !*used && is_own(path);
	return err;
}

struct err *index_file_read(struct recording *recording, bool *used)
{
	auto_free char *beside = NULL, *cached = NULL;
	struct err *err;

	*used = false;
	if (!recording->tables->modified)
		return NULL;
	beside = index_file_beside(recording);
	err = try_file(recording, beside, used);
	if (err || *used)
		return err;
	cached = index_file_cached(recording, false);
	return try_file(recording, cached, used);
}

void index_file_renew(const struct recording *recording)
{
	auto_free char *path = NULL;

	if (recording->tables->index_stale && !recording->facts.indexed)
		err_destroy(index_file_write(recording, &path));
}
