/* What tells one build of a file from another: the note of the linker. */
#ifndef MALLOW_AGENT_RECORD_BUILD_ID_H
#define MALLOW_AGENT_RECORD_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BUILD_ID_MAX 64

struct unwind_module;

/* In a segment of notes. *ret points into it. Its size, 0: there is none. */
size_t build_id_in_notes(const uint8_t *notes, size_t size, const uint8_t **ret);

/* The same in memory: no file has to be opened, and none can have been replaced. */
size_t build_id_of_module(const struct unwind_module *module, const uint8_t **ret);

#endif
