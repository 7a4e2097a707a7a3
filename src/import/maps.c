#include "import/maps.h"

#include <stdlib.h>

#include "hosted/cleanup.h"
#include "hosted/proc.h"
#include "symbols/elf_image.h"
#include "symbols/load_segments.h"

#define LOW (UINT64_C(1) << 28) /* where programs are that cannot be moved */

/*
 * How far a mapping lies from where its file says. If the file is not there: as far as the mapping
 * is from its own place in the file, which is so of nearly all code; not at all of a program that
 * cannot be moved.
 */
static uint64_t find_bias(const char *path, const struct import_mapping *mapping)
{
	struct load_segments segments;
	auto_close int fd = -1;
	uint64_t address;
	auto_err struct err *err = elf_image_open_file(path, &fd);

	if (!err && load_segments_read(fd, NULL, 0, 0, &segments) &&
	    load_segments_address(&segments, mapping->offset, &address))
		return mapping->start - address;
	return mapping->start < LOW ? 0 : mapping->start - mapping->offset;
}

struct err *import_mapping(struct import_sink *sink, const char *path,
			   const struct import_mapping *mapping)
{
	if (mapping->end <= mapping->start)
		return NULL;
	return sink_module(sink, span_of(path),
			   &(struct sink_place){.bias = find_bias(path, mapping),
						.start = mapping->start,
						.end = mapping->end,
						.build_id = mapping->build_id,
						.build_id_size = mapping->build_id_size});
}

struct err *import_maps_line(struct import_sink *sink, struct span line, bool *ret)
{
	auto_free char *copy = strndup(line.data, line.size);
	struct proc_mapping mapping;

	if (!copy)
		return err_no_memory();
	*ret = proc_mapping_read(copy, &mapping);
	if (!*ret || !mapping.executable || *mapping.path != '/')
		return NULL;
	sink_guess_program(sink, span_of(mapping.path));
	return import_mapping(sink, mapping.path,
			      &(struct import_mapping){.start = mapping.start,
						       .end = mapping.end,
						       .offset = mapping.offset});
}
