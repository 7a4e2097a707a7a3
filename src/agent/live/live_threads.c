#include "agent/live/live_threads.h"

#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/live_blocks/live_memory.h"

/* Makes the sums of what the thread frees, if need be. false: no memory. */
static bool has_rows(struct live_threads *threads, uint32_t number)
{
	struct live_freed **rows = &threads->freed[number / LIVE_ROWS];

	return *rows || live_memory_array(rows, LIVE_PART_FREED, sizeof(**rows),
					  (uint64_t)number / LIVE_ROWS * LIVE_ROWS * LIVE_THREADS,
					  LIVE_ROWS * LIVE_THREADS);
}

static void set_name(struct live_thread *entry, const char *name)
{
	size_t length = strlen(name);

	if (length >= sizeof(entry->name))
		length = sizeof(entry->name) - 1;
	memset(entry->name, 0, sizeof(entry->name));
	memcpy(entry->name, name, length);
}

bool live_threads_begin(struct live_threads *threads, struct live_header *header)
{
	header->threads = 1;
	live_memory_array(&threads->entries, LIVE_PART_THREADS, sizeof(*threads->entries), 0,
			  LIVE_THREADS);
	if (!threads->entries || !has_rows(threads, 0))
		return false;
	set_name(&threads->entries[0], "(others)");
	return true;
}

static bool has_name(const struct live_thread *entry, const char *name)
{
	return !strncmp(entry->name, name, sizeof(entry->name) - 1);
}

/* The number of an ended thread of that name; 0: none. Under the lock, like make_number(). */
static uint32_t find_ended(const struct live_threads *threads, const struct live_header *header,
			   const char *name)
{
	for (uint32_t i = 1; i < header->threads; i++) {
		const struct live_thread *entry = &threads->entries[i];

		if (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == LIVE_THREAD_ENDED &&
		    has_name(entry, name))
			return i;
	}
	return 0;
}

/* A new number; 0: there is none left. */
static uint32_t make_number(struct live_threads *threads, struct live_header *header,
			    const char *name)
{
	if (header->threads == LIVE_THREADS || !has_rows(threads, header->threads))
		return 0;
	set_name(&threads->entries[header->threads], name);
	return header->threads++;
}

uint32_t live_threads_claim(struct live_threads *threads, struct live_header *header, int tid,
			    const char *name)
{
	uint32_t number;

	if (!lock_wait(&threads->lock))
		return 0;
	number = find_ended(threads, header, name);
	if (!number)
		number = make_number(threads, header, name);
	if (number) {
		threads->entries[number].tid = (uint32_t)tid;
		threads->entries[number].state = LIVE_THREAD_RUNS;
	}
	lock_release(&threads->lock);
	return number;
}

struct live_sums live_threads_sums(const struct live_threads *threads, uint32_t number)
{
	return (struct live_sums){
		.number = number,
		.allocated = &threads->entries[number],
		.freed = &threads->freed[number / LIVE_ROWS][number % LIVE_ROWS * LIVE_THREADS],
	};
}

void live_threads_leave(struct live_threads *threads, uint32_t number)
{
	if (number)
		__atomic_store_n(&threads->entries[number].state, LIVE_THREAD_ENDED,
				 __ATOMIC_RELEASE);
}
