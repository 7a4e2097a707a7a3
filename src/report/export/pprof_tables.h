/*
 * The tables that samples of a pprof profile refer to: strings, functions, locations in the code,
 * and mappings (files). A row is written when it is first needed, but for mappings: these are
 * written at the end, when it is known what names they have. Numbers are positions: 1 is the first
 * row. Mapping 1 is the program's own file, if that is known: pprof takes it for the profile's.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_TABLES_H
#define MALLOW_REPORT_EXPORT_PPROF_TABLES_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

enum pprof_profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum pprof_value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };

enum pprof_sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2 };

enum pprof_mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};

enum pprof_location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
};

enum pprof_line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };

enum pprof_function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

struct pprof_tables;

/* The tables are written into profile. Both must outlive them. */
struct err *pprof_tables_create(struct symbolized *symbolized, struct buf *profile,
				struct pprof_tables **ret);
/* Accepts NULL. */
void pprof_tables_destroy(struct pprof_tables *tables);

/* *ret: the number of a text in the table of strings. NULL or "": 0. */
struct err *pprof_tables_string(struct pprof_tables *tables, const char *text, uint64_t *ret);

/* *ret: the number of a frame's location, which has the functions inlined there. */
struct err *pprof_tables_location(struct pprof_tables *tables, uint32_t frame, uint64_t *ret);

/*
 * Writes a location that stands for no code, such as that of a stack without frames. *ret: its
 * number.
 */
struct err *pprof_tables_word(struct pprof_tables *tables, const char *word, uint64_t *ret);

/* Writes the mappings, in the order of their numbers. */
struct err *pprof_tables_finish(struct pprof_tables *tables);

#endif
