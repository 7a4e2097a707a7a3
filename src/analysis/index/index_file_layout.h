/* The layout of an index file: docs/index-file.md. For the files that read and write it. */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_FILE_LAYOUT_H
#define MALLOW_ANALYSIS_INDEX_INDEX_FILE_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "analysis/recording_data.h"
#include "base/bytes.h"
#include "trace/checksum.h"

#define INDEX_FILE_MAGIC   0x0a1a0a0d584c4d89ull /* "\x89MLX\r\n\x1a\n" read little-endian */
#define INDEX_FILE_VERSION 2
#define INDEX_FILE_PAGE    4096u

/* The sections. Those of the blocks' columns come first, in the order of enum block_column. */
enum index_section {
	INDEX_SECTION_ORDERS = BLOCK_COLUMN_COUNT,
	INDEX_SECTION_SPANS = INDEX_SECTION_ORDERS + BLOCK_ORDER_STORED,
	INDEX_SECTION_SUMS,   /* the content of an index chunk */
	INDEX_SECTION_ERRORS, /* index_pack_errors() */
	INDEX_SECTION_POOL_BIRTHS,
	INDEX_SECTION_COUNT,
};

struct index_file_header {
	uint64_t magic;
	uint32_t version;
	uint32_t section_count;
	/* The recording that it belongs to. */
	char id[32];
	uint64_t fingerprint;
	uint64_t recording_size;
	uint64_t recording_modified; /* ns */
	uint64_t file_size;          /* the index file's */
	uint64_t rows;
	/* One after the other, each at the beginning of a page. Size 0: missing. */
	struct {
		uint64_t size;
		uint64_t checksum;
	} sections[INDEX_SECTION_COUNT];
	uint64_t checksum; /* of all that stands before it */
};

static_assert(offsetof(struct index_file_header, sections) == 88, "docs/index-file.md");
static_assert(offsetof(struct index_file_header, checksum) == 408, "docs/index-file.md");

static inline uint64_t index_file_checksum(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

static inline uint64_t index_file_header_checksum(const struct index_file_header *header)
{
	return index_file_checksum(header, offsetof(struct index_file_header, checksum));
}

/* Sets what identifies the recording, and the state of its file. */
static inline void index_file_set_recording(struct index_file_header *header,
					    const struct recording *recording)
{
	memcpy(header->id, recording->facts.id, sizeof(header->id));
	header->fingerprint = recording->tables->fingerprint;
	header->recording_size = recording->facts.file_size;
	header->recording_modified = recording->tables->modified;
}

/* Where the section begins. INDEX_SECTION_COUNT: where the file ends. */
static inline uint64_t index_file_offset(const struct index_file_header *header, size_t section)
{
	uint64_t offset = INDEX_FILE_PAGE;

	for (size_t i = 0; i < section; i++)
		offset += bytes_round_up(header->sections[i].size, INDEX_FILE_PAGE);
	return offset;
}

#endif
