/* See stack_bounds.h. */
#include "agent/unwind/stack_bounds.h"

#include <errno.h>
#include <stdatomic.h>

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/unwind/arch.h"

/*
 * The table. A region is 64 KiB of address space. Its word holds the region's number and a bit for
 * each of its pages. The word may lie anywhere in its bucket of eight words. If two threads add a
 * region at once it has two words; the pages of the second are added to the first when they are
 * wanted.
 *
 *    63         24 23   16 15                0
 *   +-------------+-------+-------------------+
 *   | region      |   0   | pages             |
 *   +-------------+-------+-------------------+
 */
#define REGION_PAGES 16u
#define REGION_SHIFT 24
#define BUCKET_WORDS 8u
#define BUCKETS      1024u /* 64 KiB, touched as far as there are stacks */

/* A range of more regions than this is looked up in all buckets that were ever used. */
#define REGIONS_MAX 64

/* Pages in unwind_stack.known. */
#define KNOWN_MAX (STACK_PAGE - 1u)

/* Hardly any stack that the C library makes is larger. */
#define OWN_STACK_MAX (UINT64_C(1) << 30)

static _Atomic uint64_t table[BUCKETS][BUCKET_WORDS] __attribute__((aligned(64)));
static _Atomic uint64_t used[BUCKETS / 64]; /* a bit for each bucket */

/* Counts the calls that may have taken pages away, when they are over. */
static atomic_uint changes;

static atomic_bool forbidden;
static bool deaf; /* the kernel does not answer as expected */
static void (*forgot)(void);
static uint64_t main_stack;

static uint64_t page_of(uint64_t address)
{
	return address / STACK_PAGE;
}

static unsigned bucket_number(uint64_t region)
{
	return (unsigned)(region * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

static _Atomic uint64_t *bucket_of(uint64_t region)
{
	return table[bucket_number(region)];
}

static uint64_t region_of(uint64_t word)
{
	return word >> REGION_SHIFT;
}

static uint32_t pages_of(uint64_t word)
{
	return word & ((1u << REGION_PAGES) - 1);
}

static uint32_t known_pages(uint64_t region)
{
	_Atomic uint64_t *bucket = bucket_of(region);

	for (unsigned i = 0; i < BUCKET_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&bucket[i], memory_order_acquire);

		if (region_of(word) == region)
			return pages_of(word);
	}
	return 0;
}

static bool is_known(uint64_t page)
{
	return known_pages(page / REGION_PAGES) >> page % REGION_PAGES & 1;
}

/* The first page from `page` on that is not known. */
static uint64_t known_end(uint64_t page)
{
	unsigned run;

	do {
		uint32_t pages = known_pages(page / REGION_PAGES) >> page % REGION_PAGES;

		run = (unsigned)__builtin_ctz(~pages);
		page += run;
	} while (run && page % REGION_PAGES == 0);
	return page;
}

/* The start of the run of known pages that ends below `page`. */
static uint64_t known_start(uint64_t page)
{
	unsigned run;

	do {
		uint64_t last = page - 1;
		uint32_t pages = known_pages(last / REGION_PAGES) << (31 - last % REGION_PAGES);

		run = (unsigned)__builtin_clz(~pages);
		page -= run;
	} while (run && page % REGION_PAGES == 0);
	return page;
}

/* Forgets a region of a full bucket. Caches may hold words of it, so they are emptied. */
static void replace_word(_Atomic uint64_t *bucket, uint64_t word)
{
	atomic_store(&bucket[region_of(word) % BUCKET_WORDS], word);
	if (forgot)
		forgot();
}

static void add_page(uint64_t page)
{
	uint64_t region = page / REGION_PAGES, bit = UINT64_C(1) << page % REGION_PAGES;
	_Atomic uint64_t *bucket = bucket_of(region);
	unsigned number = bucket_number(region);

	atomic_fetch_or(&used[number / 64], UINT64_C(1) << number % 64);
	for (unsigned i = 0; i < BUCKET_WORDS; i++) {
		uint64_t word = atomic_load(&bucket[i]);

		while (region_of(word) == region)
			if (atomic_compare_exchange_weak(&bucket[i], &word, word | bit))
				return;
	}
	for (unsigned i = 0; i < BUCKET_WORDS; i++) {
		uint64_t word = atomic_load(&bucket[i]);

		if (!pages_of(word) &&
		    atomic_compare_exchange_strong(&bucket[i], &word, region << REGION_SHIFT | bit))
			return;
	}
	replace_word(bucket, region << REGION_SHIFT | bit);
}

/* Takes these pages of a region out of the table. Returns whether one was there. */
static bool take_out(uint64_t region, uint32_t pages)
{
	_Atomic uint64_t *bucket = bucket_of(region);
	bool found = false;

	for (unsigned i = 0; i < BUCKET_WORDS; i++) {
		uint64_t word = atomic_load(&bucket[i]);

		while (region_of(word) == region && word & pages)
			if (atomic_compare_exchange_weak(&bucket[i], &word,
							 word & ~(uint64_t)pages))
				found = true;
	}
	return found;
}

/* The bits of the region's pages that are in [first, last]. */
static uint32_t pages_within(uint64_t region, uint64_t first, uint64_t last)
{
	uint64_t start = region * REGION_PAGES;
	uint32_t pages = (1u << REGION_PAGES) - 1;

	if (first > start)
		pages &= pages << (first - start);
	if (last < start + REGION_PAGES - 1)
		pages &= pages >> (start + REGION_PAGES - 1 - last);
	return pages;
}

/* Takes the pages in [first, last] of all regions of the bucket out. */
static bool take_out_of(const _Atomic uint64_t *bucket, uint64_t first, uint64_t last)
{
	bool found = false;

	for (unsigned i = 0; i < BUCKET_WORDS; i++) {
		uint64_t word = atomic_load(&bucket[i]);
		uint64_t region = region_of(word);

		if (pages_of(word) && region >= first / REGION_PAGES &&
		    region <= last / REGION_PAGES)
			found |= take_out(region, pages_within(region, first, last));
	}
	return found;
}

static bool take_out_all(uint64_t first, uint64_t last)
{
	uint64_t start = first / REGION_PAGES, end = last / REGION_PAGES;
	bool found = false;

	if (end - start < REGIONS_MAX) {
		for (uint64_t region = start; region <= end; region++)
			found |= take_out(region, pages_within(region, first, last));
		return found;
	}
	for (unsigned i = 0; i < BUCKETS / 64; i++)
		for (uint64_t bits = atomic_load(&used[i]); bits; bits &= bits - 1)
			found |= take_out_of(table[i * 64 + (unsigned)__builtin_ctzll(bits)], first,
					     last);
	return found;
}

/* What the program takes away goes in whole pages of the kernel's, which may be larger than ours.
 */
static void forget_pages(uint64_t start, uint64_t size)
{
	uint64_t last = (start + size - 1) | (arch_page() - 1);

	if (size && last >= start && take_out_all(page_of(start), page_of(last)) && forgot)
		forgot();
}

void unwind_memory_changes(uint64_t start, uint64_t size)
{
	forget_pages(start, size);
}

void unwind_memory_changed(uint64_t start, uint64_t size)
{
	// A thread in learn_page() may have asked for a page before it was taken away, and not
	// added it yet. It sees this.
	if (size)
		atomic_fetch_add(&changes, 1);
	forget_pages(start, size);
}

/*
 * Whether the page surely lies in the calling thread's stack, without asking the kernel. A thread's
 * stack ends above its thread pointer; the first thread's with the strings that the kernel puts
 * there.
 */
static bool is_own_stack(uint64_t page)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);
	uint64_t end = arch_thread_pointer();

	if (end - here >= OWN_STACK_MAX)
		end = main_stack;
	return end - here < OWN_STACK_MAX && page >= page_of(here) && page <= page_of(end);
}

/*
 * Asks the kernel whether a word can be read, by a call of sigprocmask with an invalid first
 * argument: the kernel reads the word before it refuses the argument. Every slow path of the agent
 * makes this system call, so a filter that allows the agent allows it.
 */
static bool ask_kernel(const void *word)
{
	return sys_sigprocmask(-1, word, NULL) == -EINVAL;
}

static bool learn_page(uint64_t page)
{
	unsigned before;

	if (deaf || atomic_load_explicit(&forbidden, memory_order_relaxed)) {
		if (!is_own_stack(page))
			return false;
		add_page(page);
		return true;
	}
	do {
		before = atomic_load(&changes);
		if (!ask_kernel((const void *)(uintptr_t)(page * STACK_PAGE))) {
			take_out(page / REGION_PAGES, 1u << page % REGION_PAGES);
			return false;
		}
		add_page(page);
	} while (atomic_load(&changes) != before);
	return true;
}

bool stack_bounds_can_read(const struct unwind_stack *stack, uint64_t start, uint64_t end)
{
	uint64_t known = __atomic_load_n(&stack->known, __ATOMIC_RELAXED);
	uint64_t from = known & ~(uint64_t)(STACK_PAGE - 1);
	uint64_t size = (known & (STACK_PAGE - 1)) * STACK_PAGE;

	if (likely(start - from < size && end - from <= size))
		return true;
	if (end <= start)
		return false;
	for (uint64_t page = page_of(start); page <= page_of(end - 1); page++)
		if (!is_known(page) && !learn_page(page))
			return false;
	return true;
}

never_inline uint64_t stack_bounds_end_slow(struct unwind_stack *stack, uint64_t sp)
{
	uint64_t page = page_of(sp), below = page_of(sp - ARCH_RED_ZONE);
	uint64_t start, end;

	if (!is_known(page) || (!is_known(below) && !learn_page(below)))
		return 0;
	start = known_start(below);
	end = known_end(page);
	// `known` holds KNOWN_MAX pages: at most half of them below sp, the rest above.
	if (start + KNOWN_MAX / 2 < below)
		start = below - KNOWN_MAX / 2;
	if (end > start + KNOWN_MAX)
		end = start + KNOWN_MAX;
	__atomic_store_n(&stack->known, start * STACK_PAGE | (end - start), __ATOMIC_RELAXED);
	return end * STACK_PAGE;
}

void unwind_thread_ends(struct unwind_stack *stack)
{
	uint64_t start = stack->known & ~(uint64_t)(STACK_PAGE - 1);
	uint64_t size = (stack->known & (STACK_PAGE - 1)) * STACK_PAGE;

	if ((uintptr_t)__builtin_frame_address(0) - start < size)
		take_out_all(page_of(start), page_of(start + size - 1));
	stack->known = 0;
}

void stack_bounds_init(const struct unwind_host *host)
{
	deaf = !ask_kernel(&main_stack);
	forgot = host->forgot;
	main_stack = host->main_stack;
}

void stack_bounds_forbid(bool now)
{
	atomic_store_explicit(&forbidden, now, memory_order_relaxed);
}
