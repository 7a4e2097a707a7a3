/*
 * Recordings of big-endian machines: their bytes are read into memory and turned around, so that
 * all readers see little-endian ones (trace/byte_order.h).
 */
#ifndef MALLOW_COREDUMP_TURNED_H
#define MALLOW_COREDUMP_TURNED_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/files/byte_source.h"

/* *ret: whether the source is a big-endian recording. */
struct err *turned_is_needed(const struct byte_source *source, bool *ret);

/*
 * Reads a big-endian recording of up to 1 GiB. *bytes: what was read, which the caller frees.
 * *ret: the source of that, with the name of the old one.
 */
struct err *turned_read(const struct byte_source *source, uint8_t **bytes, struct byte_source *ret);

#endif
