/*
 * Debug files from debuginfod servers. Asked only where the user named some in DEBUGINFOD_URLS;
 * libdebuginfod is loaded when first needed, so that nothing of it is when it is not.
 */
#ifndef MALLOW_SYMBOLS_DEBUGINFOD_H
#define MALLOW_SYMBOLS_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Path of the debug file in the client's cache, fetched if need be, for free(); NULL: not to be
 * had. All downloads of a thread together take a minute at most, and no more are tried after one
 * during which no byte came for DEBUGINFOD_TIMEOUT seconds (10 where that is not set).
 */
char *debuginfod_fetch(const uint8_t *build_id, size_t size);

#endif
