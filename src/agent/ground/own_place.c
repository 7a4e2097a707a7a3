#include "agent/ground/own_place.h"

#include <errno.h>

#include "agent/arch/machine.h"
#include "agent/arch/stretches.h"
#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "base/bytes.h"
#include "base/compiler.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGES (uint32_t)(ARCH_STRETCH_SIZE / arch_page())

#define TRIES        6
#define FAILURES_MAX 16 /* after so many the stretch is asked for no more */
#define VACANT       16

/*
 * The first address of the stretch. 0: not chosen yet. Like all state here it is kept across fork,
 * and a hint at most: what may be mapped where is the kernel's knowledge.
 */
static uint64_t stretch;

// The page behind the last mapping, counted from the start of the stretch. It goes on behind the
// stretch's end: modulo PAGES it begins again.
static uint64_t cursor;

// Ranges that were unmapped: first page << 32 | pages; 0: none. They are used again first, so that
// the stretch stays dense and costs few page tables.
static uint64_t vacant[VACANT];

// How often the stretch was full or refused, and there was memory elsewhere.
static uint32_t failures;

static never_inline uint64_t choose_stretch_slow(void)
{
	uint64_t chosen = ARCH_STRETCH_NEAR, none = 0, random = 0;

	if (sys_getrandom(&random, sizeof(random)) != sizeof(random))
		random = clock_ticks() ^ (uintptr_t)&random >> 12; // both are different each time
	if (sys_brk() > ARCH_STRETCH_NEAR - ARCH_STRETCH_DISTANCE)
		chosen = ARCH_STRETCH_FAR;
	__atomic_compare_exchange_n(&cursor, &none, random % PAGES, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	__atomic_store_n(&stretch, chosen, __ATOMIC_RELEASE);
	return chosen;
}

/* Takes the beginning of a vacant range; -1: none is so large. */
static int64_t take_vacant(uint64_t pages)
{
	for (int i = 0; i < VACANT; i++) {
		uint64_t range = __atomic_load_n(&vacant[i], __ATOMIC_RELAXED);
		uint64_t rest = range + (pages << 32) - pages;

		if ((uint32_t)range < pages)
			continue;
		if (__atomic_compare_exchange_n(&vacant[i], &range, (uint32_t)rest ? rest : 0,
						false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return (int64_t)(range >> 32);
	}
	return -1;
}

/* Takes the next pages of the stretch; -1: they would pass its end. */
static int64_t take_next(uint64_t pages, int try)
{
	uint64_t page = __atomic_fetch_add(&cursor, pages, __ATOMIC_RELAXED) % PAGES;

	// What lies there may be large: steps grow.
	if (try)
		__atomic_fetch_add(&cursor, pages << 4 * try, __ATOMIC_RELAXED);
	return page + pages <= PAGES ? (int64_t)page : -1;
}

static void give_back(uint64_t page, uint64_t pages)
{
	uint64_t range = page << 32 | pages;

	for (int i = 0; i < VACANT; i++) {
		uint64_t none = 0;

		if (__atomic_compare_exchange_n(&vacant[i], &none, range, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	// It comes again when the cursor has gone around.
	__atomic_store_n(&vacant[page % VACANT], range, __ATOMIC_RELEASE);
}

/* Asks for one place. Returns the memory or a negative error; -EEXIST: the place was not free. */
static void *map_at(void *place, size_t size, int protection, int flags, int fd, uint64_t offset)
{
	void *memory = sys_mmap(place, size, protection, flags | MAP_FIXED_NOREPLACE, fd, offset);

	if (syscall_error(memory) || memory == place)
		return memory;
	// A kernel before 4.17, or valgrind: the place was a hint.
	sys_munmap(memory, size);
	return (void *)(long)-EEXIST;
}

/* Returns the memory or a negative error; -EEXIST: no place that was tried is free. */
static void *map_in_stretch(size_t size, int protection, int flags, int fd, uint64_t offset)
{
	uint64_t start = __atomic_load_n(&stretch, __ATOMIC_ACQUIRE);
	uint64_t pages = bytes_round_up(size, arch_page()) / arch_page();

	if (unlikely(!start))
		start = choose_stretch_slow();
	for (int try = 0; pages < PAGES && try < TRIES; try++) {
		int64_t page = take_vacant(pages);
		void *memory;

		if (page < 0)
			page = take_next(pages, try);
		if (page < 0)
			continue;
		memory = map_at((void *)(uintptr_t)(start + (uint64_t)page * arch_page()), size,
				protection, flags, fd, offset);
		if (!syscall_error(memory))
			return memory;
		if ((long)memory != -EEXIST) {
			give_back((uint64_t)page, pages);
			return memory;
		}
	}
	return (void *)(long)-EEXIST;
}

static void *map_anywhere(size_t size, int protection, int flags, int fd, uint64_t offset)
{
	void *memory = (void *)(long)-EEXIST;

	if (likely(__atomic_load_n(&failures, __ATOMIC_RELAXED) < FAILURES_MAX))
		memory = map_in_stretch(size, protection, flags, fd, offset);
	if (likely(!syscall_error(memory)))
		return memory;
	if ((long)memory == -ENOMEM)
		return NULL; // not for the place
	memory = sys_mmap(NULL, size, protection, flags, fd, offset);
	if (syscall_error(memory))
		return NULL;
	__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
	return memory;
}

void *own_place_map(size_t size, int flags, int fd, uint64_t offset)
{
	return map_anywhere(size, PROT_READ | PROT_WRITE, flags, fd, offset);
}

void *own_place_map_file(size_t size, int fd)
{
	return map_anywhere(size, PROT_READ, MAP_SHARED, fd, 0);
}

/*
 * Places near an address that are tried: below it, and if all are taken, above, but not where a
 * heap would grow.
 */
#define NEAR_STEP  (UINT64_C(1) << 20)
#define NEAR_BELOW (UINT64_C(1) << 16)
#define NEAR_ABOVE (UINT64_C(1) << 28)

void *own_place_map_near(uint64_t address, size_t size, int fd, uint64_t offset)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
	uint64_t start = address & -NEAR_BELOW, place = start - NEAR_BELOW - size;
	void *memory = (void *)(long)-EEXIST;

	for (; place < start && place > NEAR_BELOW && start - place < OWN_PLACE_NEAR &&
	       (long)memory == -EEXIST;
	     place -= NEAR_STEP)
		memory = map_at((void *)(uintptr_t)place, size, PROT_READ | PROT_EXEC, flags, fd,
				offset);
	for (place = start + NEAR_ABOVE; place - start < OWN_PLACE_NEAR && (long)memory == -EEXIST;
	     place += NEAR_STEP)
		memory = map_at((void *)(uintptr_t)place, size, PROT_READ | PROT_EXEC, flags, fd,
				offset);
	return syscall_error(memory) ? NULL : memory;
}

void *own_place_map_memory(size_t size)
{
	return own_place_map(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void own_place_unmap(void *memory, size_t size)
{
	uint64_t offset = (uintptr_t)memory - __atomic_load_n(&stretch, __ATOMIC_RELAXED);

	if (!sys_munmap(memory, size) && offset < ARCH_STRETCH_SIZE)
		give_back(offset / arch_page(), bytes_round_up(size, arch_page()) / arch_page());
}
