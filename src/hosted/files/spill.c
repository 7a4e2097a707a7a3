#include "hosted/files/spill.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hosted/files/cache_folder.h"
#include "hosted/files/file_room.h"

#define PAGE 4096

static size_t whole_pages(size_t size)
{
	return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

void spill_deinit(struct spill *spill)
{
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
	if (pages == MAP_FAILED)
		return false;
	if (spill->size)
		memcpy(pages, spill->data, spill->size);
	spill_deinit(spill);
	*spill = (struct spill){.data = pages, .size = size, .kind = kind, .fd = fd};
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
	return move_to(spill,
		       mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		       size, SPILL_PAGES, -1);
}

static bool grow_in_place(struct spill *spill, size_t size)
{
	void *pages;

	if (spill->kind == SPILL_FILE && !take_blocks(spill->fd, size))
		return false;
	pages = mremap(spill->data, spill->size, size, MREMAP_MAYMOVE);
	if (pages == MAP_FAILED)
		return false;
	spill->data = pages;
	spill->size = size;
	return true;
}

bool spill_grow(struct spill *spill, size_t size)
{
	void *data;

	if (size <= spill->size)
		return true;
	if (size > PTRDIFF_MAX - PAGE)
		return false;
	if (size < SPILL_FILE_SIZE) {
		data = realloc(spill->data, size);
		if (!data)
			return false;
		spill->data = data;
		spill->size = size;
		return true;
	}
	size = whole_pages(size);
	if (spill->kind != SPILL_HEAP)
		return grow_in_place(spill, size) ||
		       (spill->kind == SPILL_FILE && move_to_pages(spill, size));
	return move_to_file(spill, size) || move_to_pages(spill, size);
}

void spill_settle(struct spill *spill, size_t size)
{
	size = whole_pages(size);
	// A mapping cannot become empty.
	if (spill->kind == SPILL_HEAP || !size)
		return;
	if (size < spill->size) {
		munmap((char *)spill->data + size, spill->size - size);
		spill->size = size;
	}
	if (spill->kind != SPILL_FILE)
		return;
	// If this fails, the disk has less room for a while, and nothing else happens.
	(void)!ftruncate(spill->fd, (off_t)size);
	close(spill->fd);
	spill->fd = -1;
}
