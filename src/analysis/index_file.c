#include "analysis/index_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/index_file_layout.h"
#include "analysis/index_read.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Indices in a column must be below `limit`, unless they are that of none. */
struct column_limit {
	uint64_t limit;
	bool none;
};

/* What is found out about the sections, each by one thread. */
struct inspection {
	const struct index_file_header *header;
	const uint8_t *data;
	struct {
		bool sound; /* its checksum is right */
		uint64_t
			top; /* of columns of indices: the highest one plus 1, NONE counting as 0 */
		bool none;   /* NONE is among them */
	} found[INDEX_SECTION_COUNT];
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
	return section == BLOCK_COLUMN_free_stack || section >= INDEX_SECTION_ORDERS;
}

/* Whether header and sizes are of a whole file of this recording. */
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
	if (memcmp(&expected, header, sizeof(expected)) != 0 || header->rows > file_size)
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

#define FIND_TOP(type, section_data, section_size, result)                                         \
	do {                                                                                       \
		const type *values_ = (const type *)(section_data);                                \
		type top_ = 0, none_ = 0;                                                          \
		for (size_t i_ = 0; i_ < (section_size) / sizeof(type); i_++) {                    \
			type next_ = (type)(values_[i_] + 1);                                      \
			top_ = next_ > top_ ? next_ : top_;                                        \
			none_ |= !next_;                                                           \
		}                                                                                  \
		(result).top = top_;                                                               \
		(result).none = none_;                                                             \
	} while (0)

static void inspect_section(void *argument, size_t number)
{
	struct inspection *inspection = argument;
	const uint8_t *data = inspection->data + index_file_offset(inspection->header, number);
	size_t size = inspection->header->sections[number].size;

	inspection->found[number].sound =
		index_file_checksum(data, size) == inspection->header->sections[number].checksum;
	switch (number) {
	case BLOCK_COLUMN_successor:
		FIND_TOP(uint64_t, data, size, inspection->found[number]);
		break;
	case BLOCK_COLUMN_site:
	case BLOCK_COLUMN_thread:
	case BLOCK_COLUMN_free_thread:
	case BLOCK_COLUMN_free_stack:
	case INDEX_SECTION_ORDERS + BLOCK_ORDER_SIZE:
	case INDEX_SECTION_ORDERS + BLOCK_ORDER_ADDRESS:
		FIND_TOP(uint32_t, data, size, inspection->found[number]);
		break;
	case BLOCK_COLUMN_entry:
	case BLOCK_COLUMN_heap_flags:
		FIND_TOP(uint8_t, data, size, inspection->found[number]);
		break;
	default:
		break;
	}
}

/* Whether all that is used as an index is one. */
static bool indices_fit(const struct inspection *inspection, const struct recording *recording)
{
	uint64_t rows = inspection->header->rows;
	const struct column_limit limits[INDEX_SECTION_SPANS] = {
		[BLOCK_COLUMN_successor] = {rows, true},
		[BLOCK_COLUMN_site] = {recording->sites.sites.count, false},
		[BLOCK_COLUMN_thread] = {recording->threads.count, false},
		[BLOCK_COLUMN_free_thread] = {recording->threads.count, true},
		[BLOCK_COLUMN_free_stack] = {recording->stacks.nodes.count, true},
		[BLOCK_COLUMN_entry] = {TRACE_OP_REALLOCARRAY + 1, false},
		[BLOCK_COLUMN_heap_flags] = {4, false},
		[INDEX_SECTION_ORDERS + BLOCK_ORDER_SIZE] = {rows, false},
		[INDEX_SECTION_ORDERS + BLOCK_ORDER_ADDRESS] = {rows, false},
	};

	for (size_t i = 0; i < INDEX_SECTION_SPANS; i++)
		if (inspection->found[i].top > limits[i].limit ||
		    (inspection->found[i].none && !limits[i].none))
			return false;
	return true;
}

static const void *section(const struct index_mapping *mapping, size_t number)
{
	const struct index_file_header *header = mapping->data;

	if (!header->sections[number].size)
		return NULL;
	return (const uint8_t *)mapping->data + index_file_offset(header, number);
}

/* The columns and what was made of them are where the mapping has them. */
static void show(struct recording *recording)
{
	const struct index_mapping *mapping = &recording->index_mapping;
	struct block_columns *columns = &recording->blocks.columns;
	struct block_views *views = recording->views;

	columns->count = ((const struct index_file_header *)mapping->data)->rows;
#define BLOCK_COLUMN(name, type) columns->name = section(mapping, BLOCK_COLUMN_##name);
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	for (size_t i = 0; i < BLOCK_ORDER_COUNT; i++)
		views->orders[i] = section(mapping, INDEX_SECTION_ORDERS + i);
	views->spans = section(mapping, INDEX_SECTION_SPANS);
}

/* The tables, which say how far the indices may go. */
static struct err *read_tables(struct recording *recording, const struct inspection *inspection,
			       const struct index_mapping *mapping, bool *used)
{
	const struct index_file_header *header = inspection->header;
	struct recording_facts facts = recording->facts;
	struct err *err;

	err = index_read(recording, section(mapping, INDEX_SECTION_SUMS),
			 header->sections[INDEX_SECTION_SUMS].size, used);
	if (err || !*used)
		return err;
	*used = indices_fit(inspection, recording) &&
		header->sections[INDEX_SECTION_SPANS].size ==
			recording->sites.sites.count * sizeof(struct site_span);
	if (*used && recording->heap_errors.wanted)
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
	    (recording->heap_errors.wanted && !section(mapping, INDEX_SECTION_ERRORS)))
		return NULL;
	parallel_run(inspect_section, &inspection, INDEX_SECTION_COUNT);
	for (size_t i = 0; i < INDEX_SECTION_COUNT; i++)
		if (!inspection.found[i].sound)
			return NULL;
	err = read_tables(recording, &inspection, mapping, used);
	if (err || !*used)
		return err;
	recording->index_mapping = *mapping;
	*mapping = (struct index_mapping){0};
	show(recording);
	return NULL;
}

/*
 * Maps the file at path if its header is right. What is mapped must not be cut short while it is
 * read: a file of ours is never written in place, and one of somebody else's is none.
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
	// What was checked is what is used, or the sizes may be others.
	if (memcmp(data, &header, sizeof(header)) == 0)
		return true;
	index_mapping_deinit(ret);
	return false;
}

static struct err *try_file(struct recording *recording, const char *path, bool *used)
{
	cleanup(index_mapping_deinit) struct index_mapping mapping = {0};

	if (!path || !map(recording, path, &mapping))
		return NULL;
	return use(recording, &mapping, used);
}

struct err *index_file_read(struct recording *recording, bool *used)
{
	auto_free char *beside = NULL, *cached = NULL;
	struct err *err;

	*used = false;
	if (!recording->modified)
		return NULL;
	beside = index_file_beside(recording);
	err = try_file(recording, beside, used);
	if (err || *used)
		return err;
	cached = index_file_cached(recording, false);
	return try_file(recording, cached, used);
}
