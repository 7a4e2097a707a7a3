#include "agent/report/thread_report.h"

#include "agent/ground/libc.h"
#include "agent/ground/state.h"
#include "agent/live/live_state.h"
#include "agent/report/report_sort.h"
#include "agent/report/report_weight.h"

/* The distinct names of the table's threads. of[]: the index of a number's name. */
struct names {
	uint32_t count;
	uint32_t of[LIVE_THREADS];
	char text[LIVE_THREADS][sizeof(((struct live_thread *)0)->name)];
};

/*
 * A report being made. freed: what threads of one name freed of another's blocks, at [freeing name
 * * count + owner's name].
 */
struct making {
	struct report_memory *memory;
	struct report_memory scratch;
	const struct live *live;
	uint32_t numbers; /* of threads in the table */
	struct names *names;
	struct mallow_thread *threads; /* by name */
	struct live_freed *freed;
};

static uint32_t find_name(struct names *names, const char *name)
{
	uint32_t i = 0;

	while (i < names->count && strncmp(names->text[i], name, sizeof(names->text[i]) - 1))
		i++;
	if (i == names->count) {
		size_t length = strlen(name);

		memcpy(names->text[names->count++], name,
		       length < sizeof(names->text[i]) ? length : sizeof(names->text[i]) - 1);
	}
	return i;
}

static bool make_room(struct making *making)
{
	struct names *names = report_memory_take(making->memory, sizeof(*names));
	size_t count;

	if (!names)
		return false;
	for (uint32_t i = 0; i < making->numbers; i++)
		names->of[i] = find_name(names, making->live->threads.entries[i].name);
	count = names->count;
	making->names = names;
	making->threads = report_memory_take(making->memory, count * sizeof(*making->threads));
	making->freed =
		report_memory_take(&making->scratch, count * count * sizeof(*making->freed));
	return making->threads && making->freed;
}

/* Before add_allocated(): a block that is freed meanwhile must not count as freed only. */
static void add_freed(struct making *making, uint32_t freeing)
{
	const struct live_freed *row = live_threads_row(&making->live->threads, freeing);
	const struct names *names = making->names;
	struct mallow_thread *by = &making->threads[names->of[freeing]];

	for (uint32_t owner = 0; row && owner < making->numbers; owner++) {
		uint64_t bytes = __atomic_load_n(&row[owner].bytes, __ATOMIC_RELAXED);
		uint64_t calls = __atomic_load_n(&row[owner].calls, __ATOMIC_RELAXED);
		struct mallow_thread *of = &making->threads[names->of[owner]];
		struct live_freed *cell =
			&making->freed[names->of[freeing] * names->count + names->of[owner]];

		by->freed += bytes;
		by->freed_calls += calls;
		of->allocated_freed += bytes;
		of->allocated_freed_calls += calls;
		cell->bytes += bytes;
		cell->calls += calls;
	}
}

static void add_allocated(struct making *making, uint32_t number)
{
	const struct live_thread *entry = &making->live->threads.entries[number];
	struct mallow_thread *thread = &making->threads[making->names->of[number]];

	thread->allocated += __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
	thread->calls += __atomic_load_n(&entry->calls, __ATOMIC_RELAXED);
}

static bool frees_more(const void *a, const void *b, int by)
{
	const struct mallow_freed_by *first = a, *second = b;

	return first->bytes != second->bytes ? first->bytes > second->bytes : a < b;
}

static const struct live_freed *freed_by(const struct making *making, uint32_t freeing,
					 uint32_t owner)
{
	return &making->freed[freeing * making->names->count + owner];
}

/* Copies the rows in order. The pointers for sorting are in scratch memory. */
static bool copy_sorted(struct making *making, const struct mallow_freed_by *rows, size_t count,
			struct mallow_freed_by *ret)
{
	const void **order = report_memory_take(&making->scratch, count * sizeof(*order));

	if (!order)
		return false;
	for (size_t i = 0; i < count; i++)
		order[i] = &rows[i];
	report_sort(order, count, frees_more, 0);
	for (size_t i = 0; i < count; i++)
		ret[i] = *(const struct mallow_freed_by *)order[i];
	return true;
}

static bool set_freed_by_others(struct making *making, uint32_t owner)
{
	uint32_t names = making->names->count;
	struct mallow_freed_by *rows = report_memory_take(&making->scratch, names * sizeof(*rows));
	struct mallow_freed_by *sorted;
	size_t count = 0;

	if (!rows)
		return false;
	for (uint32_t i = 0; i < names; i++) {
		const struct live_freed *cell = freed_by(making, i, owner);

		if (i == owner || !cell->calls)
			continue;
		rows[count++] = (struct mallow_freed_by){.name = making->names->text[i],
							 .bytes = cell->bytes,
							 .calls = report_calls(cell->calls)};
	}
	sorted = report_memory_take(making->memory, count * sizeof(*sorted));
	if (!sorted || !copy_sorted(making, rows, count, sorted))
		return false;
	making->threads[owner].freed_by_others = sorted;
	making->threads[owner].freed_by_others_count = count;
	return true;
}

static void finish(struct making *making, uint32_t name)
{
	struct mallow_thread *thread = &making->threads[name];

	thread->name = making->names->text[name];
	thread->calls = report_calls(thread->calls);
	thread->freed_calls = report_calls(thread->freed_calls);
	thread->allocated_freed_calls = report_calls(thread->allocated_freed_calls);
	thread->in_use = report_rest(thread->allocated, thread->allocated_freed);
	thread->in_use_calls = report_rest(thread->calls, thread->allocated_freed_calls);
}

static bool fill(struct making *making, struct thread_report *report)
{
	uint32_t names = making->names->count;

	for (uint32_t i = 0; i < making->numbers; i++)
		add_freed(making, i);
	for (uint32_t i = 0; i < making->numbers; i++)
		add_allocated(making, i);
	report->open.threads =
		report_memory_take(making->memory, names * sizeof(*report->open.threads));
	if (!report->open.threads)
		return false;
	for (uint32_t i = 0; i < names; i++) {
		struct mallow_thread *thread = &making->threads[i];

		finish(making, i);
		if (!set_freed_by_others(making, i))
			return false;
		if (thread->calls || thread->freed_calls)
			report->open.threads[report->open.count++] = thread;
	}
	return true;
}

struct thread_report *thread_report_make(struct report_memory *memory)
{
	struct thread_report *report = report_memory_take(memory, sizeof(*report));
	struct making making = {.memory = memory, .live = process->live};
	bool made;

	making.numbers = __atomic_load_n(&making.live->header->threads, __ATOMIC_ACQUIRE);
	made = report && make_room(&making) && fill(&making, report);
	report_memory_release(&making.scratch);
	return made ? report : NULL;
}
