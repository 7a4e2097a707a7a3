/* The mappings of a process, in lines of /proc/PID/maps that a profiler copied into its file. */
#ifndef MALLOW_IMPORT_MAPS_H
#define MALLOW_IMPORT_MAPS_H

#include "import/sink.h"

/* A piece of a file that was mapped, and how the file is told. */
struct import_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	const uint8_t *build_id;
	size_t build_id_size;
};

/* Gives the sink the file that was mapped so. */
struct err *import_mapping(struct import_sink *sink, const char *path,
			   const struct import_mapping *mapping);

/*
 * Gives the sink the file whose code the line maps. Lines of anything else are left out. The first
 * file is that of the program. *ret false: it is no such line.
 */
struct err *import_maps_line(struct import_sink *sink, struct span line, bool *ret);

#endif
