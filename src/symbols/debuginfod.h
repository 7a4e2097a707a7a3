/*
 * Fetches debug files from debuginfod servers. Only the servers that the user named in
 * DEBUGINFOD_URLS are asked. libdebuginfod is loaded when it is first needed.
 */
#ifndef MALLOW_SYMBOLS_DEBUGINFOD_H
#define MALLOW_SYMBOLS_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the path of the debug file in the client's cache, downloaded if necessary; for free().
 * NULL: there is none. All downloads of a thread together take at most a minute. After a download
 * in which no byte came for DEBUGINFOD_TIMEOUT seconds (10 if that is not set), the thread asks for
 * no more.
 */
char *debuginfod_fetch(const uint8_t *build_id, size_t size);

#endif
