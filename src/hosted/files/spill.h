/*
 * A growing piece of memory which, when it is large, is a mapped file without a name in the folder
 * for caches: its pages are the kernel's cache, which writes them to the disk where memory is
 * short. Where no file can be made, or the disk is full, it is memory as any.
 */
#ifndef MALLOW_HOSTED_FILES_SPILL_H
#define MALLOW_HOSTED_FILES_SPILL_H

#include <stdbool.h>
#include <stddef.h>

#define SPILL_FILE_SIZE ((size_t)1 << 20) /* smaller ones are from the heap */

enum spill_kind { SPILL_HEAP, SPILL_FILE, SPILL_PAGES };

/* Zeroed: empty. */
struct spill {
	void *data; /* moves when it grows */
	size_t size;
	enum spill_kind kind;
	int fd; /* of SPILL_FILE until it is settled */
};

/*
 * Makes it so large, at least; what it held stays, what is new holds anything. False: no memory,
 * nothing changed.
 */
bool spill_grow(struct spill *spill, size_t size);

/*
 * It does not grow any more beyond the first size bytes, the only ones that are kept: what the disk
 * had reserved behind them is free again, and no descriptor is open.
 */
void spill_settle(struct spill *spill, size_t size);

void spill_deinit(struct spill *spill);

#endif
