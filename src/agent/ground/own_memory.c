#include "agent/ground/own_memory.h"

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/own_code.h"
#include "agent/ground/own_place.h"
#include "base/bytes.h"
#include "base/compiler.h"

#define PAGE_PIECES 254 /* so many fill a struct piece_page */
#define PAGES_MAX   128 /* pages that are asked for at once */
#define PRESENT     (UINT64_C(1) << 63)

struct piece {
	void *start;
	size_t size;
};

/* A page of pieces, filled from its start. The first is static: most processes need no more. */
struct piece_page {
	struct piece_page *next;
	uint64_t used; /* atomic; more than PAGE_PIECES if threads tried in vain */
	struct piece pieces[PAGE_PIECES];
};

/* Sums over the pieces that were looked at. */
struct measured {
	uint32_t pieces;
	uint64_t size, resident;
};

static struct piece_page first_page;
static struct piece_page *last_page = &first_page; // atomic

// Atomic: the piece that was forgotten last, for the next one to be noted. A program that starts
// others all day must not make the list grow.
static struct piece *vacant;

/* Adds a page after a full one. If several threads do so at once, one wins. */
static never_inline struct piece_page *add_page_slow(struct piece_page *full)
{
	struct piece_page *page = own_place_map_memory(sizeof(*page));
	struct piece_page *none = NULL;

	if (!page)
		return NULL;
	page->pieces[0] = (struct piece){page, sizeof(*page)};
	page->used = 1;
	if (!__atomic_compare_exchange_n(&full->next, &none, page, false, __ATOMIC_RELEASE,
					 __ATOMIC_ACQUIRE)) {
		own_place_unmap(page, sizeof(*page));
		page = none;
	}
	__atomic_store_n(&last_page, page, __ATOMIC_RELEASE);
	return page;
}

/* Takes a free piece of the list. NULL: no memory. */
static struct piece *claim_piece(void)
{
	struct piece *piece = __atomic_exchange_n(&vacant, NULL, __ATOMIC_ACQUIRE);
	struct piece_page *page;

	if (piece)
		return piece;
	page = __atomic_load_n(&last_page, __ATOMIC_ACQUIRE);
	while (page) {
		uint64_t at = __atomic_fetch_add(&page->used, 1, __ATOMIC_RELAXED);

		if (likely(at < PAGE_PIECES))
			return &page->pieces[at];
		page = add_page_slow(page);
	}
	return NULL;
}

void own_memory_note(void *start, size_t size)
{
	struct piece *piece = claim_piece();

	if (!piece)
		return;
	piece->size = size;
	__atomic_store_n(&piece->start, start, __ATOMIC_RELEASE);
}

bool own_memory_forget(const void *start, size_t size)
{
	for (struct piece_page *page = &first_page; page;
	     page = __atomic_load_n(&page->next, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < PAGE_PIECES; i++) {
			struct piece *piece = &page->pieces[i];

			if (__atomic_load_n(&piece->start, __ATOMIC_ACQUIRE) != start ||
			    piece->size != size)
				continue;
			__atomic_store_n(&piece->start, NULL, __ATOMIC_RELAXED);
			__atomic_store_n(&vacant, piece, __ATOMIC_RELEASE);
			return true;
		}
	}
	return false;
}

int own_memory_open(void)
{
	return sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
}

uint64_t own_memory_resident(int pages, const void *start, size_t size)
{
	uint64_t entries[PAGES_MAX], page = arch_page(), at = (uintptr_t)start / page;
	uint64_t end = ((uintptr_t)start + size + page - 1) / page, count = 0;

	while (pages >= 0 && at < end) {
		uint64_t part = end - at < PAGES_MAX ? end - at : PAGES_MAX;
		long got =
			sys_pread(pages, entries, part * sizeof(*entries), at * sizeof(*entries));

		if (got < (long)sizeof(*entries))
			break;
		part = (uint64_t)got / sizeof(*entries);
		for (uint64_t i = 0; i < part; i++)
			count += (entries[i] & PRESENT) != 0;
		at += part;
	}
	return count * page;
}

/*
 * Adds a piece. After many pieces the others are not looked at: they count as resident in the same
 * proportion. Most are the memory of threads, and one is like another.
 */
static void add_piece(struct own_memory *ret, int pages, struct measured *measured,
		      const void *start, size_t size)
{
	uint64_t bytes, page = arch_page();

	if (measured->pieces < OWN_MEMORY_LOOKS) {
		bytes = own_memory_resident(pages, start, size);
		measured->pieces++;
		measured->size += size;
		measured->resident += bytes;
	} else {
		bytes = size / page * (measured->resident / page) / (measured->size / page) * page;
	}
	ret->virtual_size += size;
	ret->anonymous += bytes;
}

static void add_pages(struct own_memory *ret, int pages)
{
	struct measured measured = {0};

	for (struct piece_page *page = &first_page; page;
	     page = __atomic_load_n(&page->next, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < PAGE_PIECES; i++) {
			void *start = __atomic_load_n(&page->pieces[i].start, __ATOMIC_ACQUIRE);

			if (start)
				add_piece(ret, pages, &measured, start, page->pieces[i].size);
		}
	}
}

/* Adds our static data. The code is shared with every other recorded process. */
static void add_image(struct own_memory *ret, int pages)
{
	uint64_t start = bytes_round_up((uintptr_t)OWN_BSS_START, arch_page());
	uint64_t end = bytes_round_up((uintptr_t)OWN_BSS_END, arch_page());

	ret->virtual_size += end - start + (uintptr_t)OWN_CODE_END - (uintptr_t)OWN_CODE_START;
	if (start < end)
		ret->anonymous +=
			own_memory_resident(pages, (const void *)(uintptr_t)start, end - start);
}

void own_memory_measure(int pages, struct own_memory *ret)
{
	*ret = (struct own_memory){0};
	add_pages(ret, pages);
	add_image(ret, pages);
}
