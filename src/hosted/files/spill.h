/*
 * Memory that grows, for tables that may become larger than RAM. When it is large it is a mapped
 * file without a name in the cache folder: the kernel writes its pages to the disk when memory is
 * short. If no file can be made, or the disk is full, it is ordinary memory.
 */
#ifndef MALLOW_HOSTED_FILES_SPILL_H
#define MALLOW_HOSTED_FILES_SPILL_H

#include <stdbool.h>
#include <stddef.h>

#define SPILL_FILE_SIZE ((size_t)1 << 20) /* below this it is on the heap */

enum spill_kind { SPILL_HEAP, SPILL_FILE, SPILL_PAGES };

/* Zeroed: empty. */
struct spill {
	void *data; /* moves when it grows */
	size_t size;
	enum spill_kind kind;
	int fd; /* of SPILL_FILE until spill_settle() */
};

/*
 * Grows to at least size bytes. The old content stays; the new bytes may hold anything. False: no
 * memory, and nothing changed.
 */
bool spill_grow(struct spill *spill, size_t size);

/*
 * Ends growing: keeps only the first size bytes, in whole pages, frees the disk space behind them,
 * and closes the descriptor. Changes nothing if the memory is on the heap, or size is 0.
 */
void spill_settle(struct spill *spill, size_t size);

void spill_deinit(struct spill *spill);

#endif
