/*
 * Debug files from the servers in DEBUGINFOD_URLS, by elfutils' client library, which is loaded
 * only when that variable is set: without it nothing here touches the network.
 */
#ifndef MALLOW_SYMBOLS_DEBUGINFOD_H
#define MALLOW_SYMBOLS_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Path of the debug file in the client's cache, fetched if need be, for free(); NULL: not to be
 * had. Takes as long as the servers do, at most DEBUGINFOD_TIMEOUT.
 */
char *debuginfod_fetch(const uint8_t *build_id, size_t size);

#endif
