/* See module_cache.h. */
#include "agent/unwind/module_cache.h"

#include <stdatomic.h>

#include "base/compiler.h"

enum { START, END, BIAS, EH_FRAME_HDR, HEADERS, HEADER_COUNT, WORDS };

/* A sequence lock: version is odd while the words change. If it changed, nothing was read. */
struct entry {
	atomic_uint version;
	_Atomic uint64_t words[WORDS];
};

static struct entry entries[128];
static unsigned next_entry;
static atomic_flag write_lock = ATOMIC_FLAG_INIT;

static bool read_entry(struct entry *entry, uint64_t address, struct module_place *ret)
{
	unsigned version = atomic_load_explicit(&entry->version, memory_order_acquire);
	uint64_t words[WORDS];

	for (unsigned i = 0; i < WORDS; i++)
		words[i] = atomic_load_explicit(&entry->words[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (version % 2 != 0 ||
	    atomic_load_explicit(&entry->version, memory_order_relaxed) != version ||
	    address < words[START] || address >= words[END])
		return false;
	*ret = (struct module_place){.start = words[START],
				     .end = words[END],
				     .bias = words[BIAS],
				     .eh_frame_hdr = words[EH_FRAME_HDR],
				     .headers = (const void *)(uintptr_t)words[HEADERS],
				     .header_count = (unsigned)words[HEADER_COUNT]};
	return true;
}

bool module_cache_find(uint64_t address, struct module_place *ret)
{
	for (unsigned i = 0; i < ARRAY_COUNT(entries); i++) {
		if (read_entry(&entries[i], address, ret))
			return true;
	}
	return false;
}

/* Called with write_lock held. */
static void write_entry(struct entry *entry, const struct module_place *place)
{
	const uint64_t words[WORDS] = {
		[START] = place->start,
		[END] = place->end,
		[BIAS] = place->bias,
		[EH_FRAME_HDR] = place->eh_frame_hdr,
		[HEADERS] = (uintptr_t)place->headers,
		[HEADER_COUNT] = place->header_count,
	};
	unsigned version = atomic_load_explicit(&entry->version, memory_order_relaxed) | 1;

	atomic_store_explicit(&entry->version, version, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (unsigned i = 0; i < WORDS; i++)
		atomic_store_explicit(&entry->words[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&entry->version, version + 1, memory_order_release);
}

void module_cache_insert(const struct module_place *place)
{
	if (atomic_flag_test_and_set_explicit(&write_lock, memory_order_acquire))
		return;
	write_entry(&entries[next_entry++ % ARRAY_COUNT(entries)], place);
	atomic_flag_clear_explicit(&write_lock, memory_order_release);
}

void module_cache_forget(uint64_t start, uint64_t end)
{
	static const struct module_place none;

	// The holder is another thread, which does a few stores: see rule_table_forget().
	while (atomic_flag_test_and_set_explicit(&write_lock, memory_order_acquire))
		compiler_barrier();
	for (unsigned i = 0; i < ARRAY_COUNT(entries); i++) {
		uint64_t first =
			atomic_load_explicit(&entries[i].words[START], memory_order_relaxed);

		if (first >= start && first < end)
			write_entry(&entries[i], &none);
	}
	atomic_flag_clear_explicit(&write_lock, memory_order_release);
}

void module_cache_after_fork(void)
{
	atomic_flag_clear_explicit(&write_lock, memory_order_relaxed);
}
