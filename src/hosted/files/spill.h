/*
 * Memory that grows, for tables that may become larger than RAM.
 *
 *   SPILL_HEAP ──► SPILL_PAGES ──► SPILL_FILE
 *
 * A small table is on the heap, a larger one in pages of its own. When the pages of all tables
 * together would be more than spill_pages_max, a table that grows becomes a mapped file without a
 * name in the cache folder: the kernel writes it to the disk when memory is short. A page of such a
 * file costs several times what a page of memory does, so it is not the first choice. If no file
 * can be made, or the disk is full, the table is in pages whatever their number.
 *
 * A table that grows for as long as some program runs is better a file as soon as it is large
 * (`early`): then the memory that only this process can use does not grow with it. Of a file the
 * kernel may take any page at any time; spill_give_back() says that now is a good time.
 */
#ifndef MALLOW_HOSTED_FILES_SPILL_H
#define MALLOW_HOSTED_FILES_SPILL_H

#include <stdbool.h>
#include <stddef.h>

#define SPILL_HEAP_SIZE ((size_t)1 << 20) /* below this it is on the heap */

/*
 * Bytes of SPILL_PAGES in the process, beyond which tables become files; less where memory is small
 * or RLIMIT_DATA limits it. Tests lower it.
 */
extern size_t spill_pages_max;

/*
 * Raises spill_pages_max to a quarter of what is free now; it stays less where memory is small: for
 * a command that soon ends. Not while another thread uses tables.
 */
void spill_use_free_memory(void);

enum spill_kind { SPILL_HEAP, SPILL_PAGES, SPILL_FILE };

/* Zeroed: empty. */
struct spill {
	void *data; /* moves when it grows */
	size_t size;
	enum spill_kind kind;
	int fd;     /* of SPILL_FILE until spill_settle() */
	bool early; /* the owner may set it: SPILL_FILE comes at once after SPILL_HEAP */
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

/*
 * Takes the pages of SPILL_FILE out of this process's resident memory. The content stays: what is
 * touched again comes from the kernel's cache of files, or from the disk.
 */
void spill_give_back(const struct spill *spill);

void spill_deinit(struct spill *spill);

#endif
