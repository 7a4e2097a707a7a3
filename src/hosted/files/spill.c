#include "hosted/files/spill.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hosted/files/cache_folder.h"
#include "hosted/files/file_room.h"
#include "hosted/page_size.h"
#include "hosted/proc.h"

#define MEMORY_SHARE 16 /* of this machine's memory, tables may have one part as pages */
#define FREE_SHARE   4  /* the same of what is free: spill_use_free_memory() */

size_t spill_pages_max = (size_t)192 << 20;

static size_t pages_taken; /* bytes of all that is SPILL_PAGES; atomic */

static size_t whole_pages(size_t size)
{
	return page_up(size);
}

/* spill_pages_max, or less where memory is small or limited: there is other need of it. */
static size_t pages_max(void)
{
	size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * page_size(), max = spill_pages_max;
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur < memory)
		memory = limit.rlim_cur;
	return max < memory / MEMORY_SHARE ? max : memory / MEMORY_SHARE;
}

void spill_use_free_memory(void)
{
	uint64_t available = available_memory();
	size_t pages = available < SIZE_MAX ? (size_t)available / FREE_SHARE : 0;

	if (pages > spill_pages_max)
		spill_pages_max = pages;
}

/* Whether so many more bytes may be SPILL_PAGES. */
static bool may_be_pages(size_t size)
{
	size_t taken = __atomic_load_n(&pages_taken, __ATOMIC_RELAXED), max = pages_max();

	return taken <= max && size <= max - taken;
}

static void count_pages(const struct spill *spill, size_t size)
{
	if (spill->kind == SPILL_PAGES)
		__atomic_add_fetch(&pages_taken, size - spill->size, __ATOMIC_RELAXED);
}

void spill_deinit(struct spill *spill)
{
	count_pages(spill, 0);
	if (spill->kind == SPILL_HEAP)
		free(spill->data);
	else
		munmap(spill->data, spill->size);
	if (spill->kind == SPILL_FILE && spill->fd >= 0)
		close(spill->fd);
	*spill = (struct spill){0};
}

/*
 * Reserves disk blocks. Without that a full disk would kill the process when it touches a page
 * (SIGBUS).
 */
static bool take_blocks(int fd, size_t size)
{
	return file_room_take(fd, size) == 0;
}

/* Moves the content to memory of another kind. pages: that memory; MAP_FAILED: there is none. */
static bool move_to(struct spill *spill, void *pages, size_t size, enum spill_kind kind, int fd)
{
	bool early = spill->early;

	if (pages == MAP_FAILED)
		return false;
	if (spill->size)
		memcpy(pages, spill->data, spill->size);
	spill_deinit(spill);
	*spill = (struct spill){.data = pages, .kind = kind, .fd = fd, .early = early};
	count_pages(spill, size);
	spill->size = size;
	return true;
}

static bool move_to_file(struct spill *spill, size_t size)
{
	int fd = cache_folder_nameless();

	if (fd < 0)
		return false;
	if (take_blocks(fd, size) &&
	    move_to(spill, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size,
		    SPILL_FILE, fd))
		return true;
	close(fd);
	return false;
}

static bool move_to_pages(struct spill *spill, size_t size)
{
	if (!move_to(spill,
		     mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		     size, SPILL_PAGES, -1))
		return false;
	return true;
}

static bool grow_in_place(struct spill *spill, size_t size)
{
	void *pages;

	if (spill->kind == SPILL_FILE && !take_blocks(spill->fd, size))
		return false;
	pages = mremap(spill->data, spill->size, size, MREMAP_MAYMOVE);
	if (pages == MAP_FAILED)
		return false;
	count_pages(spill, size);
	spill->data = pages;
	spill->size = size;
	return true;
}

/* size: whole pages. */
static bool grow_mapped(struct spill *spill, size_t size)
{
	bool in_place = spill->kind == SPILL_PAGES;

	if (spill->kind == SPILL_FILE)
		return grow_in_place(spill, size) || move_to_pages(spill, size);
	if ((spill->early || !may_be_pages(in_place ? size - spill->size : size)) &&
	    move_to_file(spill, size))
		return true;
	return in_place ? grow_in_place(spill, size) : move_to_pages(spill, size);
}

bool spill_grow(struct spill *spill, size_t size)
{
	void *data;

	if (size <= spill->size)
		return true;
	if (size > PTRDIFF_MAX - page_size())
		return false;
	if (size < SPILL_HEAP_SIZE) {
		data = realloc(spill->data, size);
		if (!data)
			return false;
		spill->data = data;
		spill->size = size;
		return true;
	}
	return grow_mapped(spill, whole_pages(size));
}

void spill_settle(struct spill *spill, size_t size)
{
	size = whole_pages(size);
	// A mapping cannot become empty.
	if (spill->kind == SPILL_HEAP || !size)
		return;
	if (size < spill->size) {
		munmap((char *)spill->data + size, spill->size - size);
		count_pages(spill, size);
		spill->size = size;
	}
	if (spill->kind != SPILL_FILE)
		return;
	// If this fails, the disk has less room for a while, and nothing else happens.
	(void)!ftruncate(spill->fd, (off_t)size);
	close(spill->fd);
	spill->fd = -1;
}

void spill_give_back(const struct spill *spill)
{
	// If this fails, the pages stay where they are, and nothing else happens.
	if (spill->kind == SPILL_FILE)
		(void)madvise(spill->data, spill->size, MADV_DONTNEED);
}
