/* The build id of a file: a note by the linker that tells one build from another. */
#ifndef MALLOW_AGENT_RECORD_BUILD_ID_H
#define MALLOW_AGENT_RECORD_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX 64

struct unwind_module;

/*
 * Finds the build id in a segment of notes; *ret points into the segment. Returns its size in
 * bytes; 0: there is none.
 */
size_t build_id_in_notes(const uint8_t *notes, size_t size, const uint8_t **ret);

/* The same in the module's memory. So no file is opened that may have been replaced meanwhile. */
size_t build_id_of_module(const struct unwind_module *module, const uint8_t **ret);

#endif
