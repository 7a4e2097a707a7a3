/*
 * A receiver's programs, libraries and debug files: those that senders sent, in the user's cache
 * (symbols/debug_files.h), where all look-ups of names find them.
 *
 *	module_store_lacks() ──► ask the sender
 *	module_store_begin() ──► append … append ──► commit     incoming-X1y2Z3 ──►
 *.build-id/ab/cdef… └──► abandon    incoming-X1y2Z3 is removed
 *
 * The sender need not be trusted. It chooses the bytes of a file, nothing else: the name is the
 * build id that was asked for, and a file that does not have this build id is refused. A file is
 * never executable. What is in the cache is not replaced. But a build id is a claim: a sender can
 * send a file with wrong names. So a machine's own files come before those of the cache.
 *
 * Any thread may use a store. An incoming file belongs to one thread.
 */
#ifndef MALLOW_STREAM_MODULES_MODULE_STORE_H
#define MALLOW_STREAM_MODULES_MODULE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"
#include "stream/link/message.h"

#define MODULE_STORE_FILE_MAX (UINT64_C(4) << 30) /* bytes of a file */

struct module_store;
struct incoming_module;

/*
 * Makes the cache's folder, and removes what receivers that were killed left there. places: of
 * programs and debug files (debug_files_add()), a NULL ends the list; NULL: only the system's. An
 * error: there can be no cache.
 */
struct err *module_store_create(const char *const *places, struct module_store **ret);
/* Accepts NULL. Incoming files may outlive the store. */
void module_store_destroy(struct module_store *store);
CLEANUP_DEFINE(struct module_store *, module_store_destroy);

/*
 * *ret: whether to ask for the file: this machine has none with that build id, neither at path, nor
 * in a place of debug files, nor in the cache. Nobody is to be asked for what has no file
 * (the vdso), nor for the debug file of a module that is here and holds its debug information
 * itself. Nothing is downloaded. The only errors: no memory, no descriptor.
 */
struct err *module_store_lacks(const struct module_store *store, enum message_file what,
			       const uint8_t *build_id, size_t build_id_size, const char *path,
			       bool *ret);

/* Begins a file. It ends by module_store_commit() or module_store_abandon(). */
struct err *module_store_begin(const struct module_store *store, enum message_file what,
			       const uint8_t *build_id, size_t build_id_size,
			       struct incoming_module **ret);
/*
 * Appends bytes; offset must be where the file ends by now. After an error the file can only be
 * abandoned.
 */
struct err *module_store_append(struct incoming_module *file, uint64_t offset, const void *data,
				size_t size);
/*
 * Puts the complete file into the cache. An error says why the file is not taken, and it is
 * removed. Frees `file` in either case.
 */
struct err *module_store_commit(struct incoming_module *file);
/* Removes the file and frees it. Accepts NULL. */
void module_store_abandon(struct incoming_module *file);
CLEANUP_DEFINE(struct incoming_module *, module_store_abandon);

#endif
