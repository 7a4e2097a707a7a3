#include "agent/report/thread_report.h"

#include "agent/ground/libc.h"
#include "agent/ground/state.h"
#include "agent/live/live_state.h"
#include "agent/report/report_sort.h"
#include "agent/report/report_weight.h"
#include "agent/report/report_writer.h"
#include "base/compiler.h"

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

static void finish_thread(struct making *making, uint32_t name)
{
	struct mallow_thread *thread = &making->threads[name];

	thread->name = making->names->text[name];
	thread->calls = report_calls(thread->calls);
	thread->freed_calls = report_calls(thread->freed_calls);
	thread->allocated_freed_calls = report_calls(thread->allocated_freed_calls);
	thread->in_use = report_rest(thread->allocated, thread->allocated_freed);
	thread->in_use_calls = report_rest(thread->calls, thread->allocated_freed_calls);
}

static bool fill_report(struct making *making, struct thread_report *report)
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

		finish_thread(making, i);
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
	made = report && make_room(&making) && fill_report(&making, report);
	report_memory_release(&making.scratch);
	return made ? report : NULL;
}

static void put_sum(struct report_writer *writer, const char *name, uint64_t bytes)
{
	report_put(writer, "  ");
	report_put(writer, name);
	report_put(writer, ": ");
	report_put_size(writer, bytes);
	report_put_char(writer, '\n');
}

static void put_text(struct report_writer *writer, const struct mallow_thread *thread)
{
	report_put(writer, thread->name);
	report_put(writer, ":\n");
	put_sum(writer, "total_alloc", thread->allocated);
	put_sum(writer, "total_did_free", thread->freed);
	put_sum(writer, "total_freed", thread->allocated_freed);
	put_sum(writer, "current_used", thread->in_use);
	for (size_t i = 0; i < thread->freed_by_others_count; i++) {
		report_put(writer, "  freed by ");
		report_put(writer, thread->freed_by_others[i].name);
		report_put(writer, ": ");
		report_put_size(writer, thread->freed_by_others[i].bytes);
		report_put_char(writer, '\n');
	}
}

static void put_csv(struct report_writer *writer, const struct mallow_thread *thread)
{
	const uint64_t columns[] = {thread->allocated, thread->freed, thread->allocated_freed,
				    thread->in_use};

	report_put_char(writer, '"');
	writer->quoted = true;
	report_put(writer, thread->name);
	writer->quoted = false;
	report_put_char(writer, '"');
	for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
		report_put_char(writer, ',');
		report_put_number(writer, columns[i]);
	}
	report_put(writer, ",\"");
	writer->quoted = true;
	for (size_t i = 0; i < thread->freed_by_others_count; i++) {
		report_put(writer, i ? ";" : "");
		report_put(writer, thread->freed_by_others[i].name);
		report_put_char(writer, '=');
		report_put_number(writer, thread->freed_by_others[i].bytes);
	}
	writer->quoted = false;
	report_put(writer, "\"\n");
}

/* Named as in the live reports (report/json/live_json.c). */
static void put_json(struct report_writer *writer, const struct mallow_thread *thread)
{
	report_json_open(writer, NULL, '{');
	report_json_text(writer, "name", thread->name);
	report_json_number(writer, "allocated_bytes", thread->allocated);
	report_json_number(writer, "allocated_blocks", thread->calls);
	report_json_number(writer, "freed_bytes", thread->freed);
	report_json_number(writer, "freed_blocks", thread->freed_calls);
	report_json_number(writer, "allocated_freed_bytes", thread->allocated_freed);
	report_json_number(writer, "allocated_freed_blocks", thread->allocated_freed_calls);
	report_json_number(writer, "in_use_bytes", thread->in_use);
	report_json_number(writer, "in_use_blocks", thread->in_use_calls);
	report_json_open(writer, "freed_by_others", '[');
	for (size_t i = 0; i < thread->freed_by_others_count; i++) {
		report_json_open(writer, NULL, '{');
		report_json_text(writer, "name", thread->freed_by_others[i].name);
		report_json_number(writer, "bytes", thread->freed_by_others[i].bytes);
		report_json_number(writer, "blocks", thread->freed_by_others[i].calls);
		report_json_close(writer, '}');
	}
	report_json_close(writer, ']');
	report_json_close(writer, '}');
}

int thread_report_print(const struct mallow_thread_report *report, int fd,
			enum mallow_format format)
{
	struct report_memory memory = {0};
	struct report_writer writer;
	int result;

	report_writer_begin(&writer, fd, &memory);
	if (format == MALLOW_CSV)
		report_put(&writer, "thread,total_alloc,total_did_free,total_freed,current_used,"
				    "freed_by_others\n");
	if (format == MALLOW_JSON) {
		report_json_open(&writer, NULL, '{');
		report_json_open(&writer, "threads", '[');
	}
	for (size_t i = 0; i < report->count; i++) {
		if (format == MALLOW_CSV)
			put_csv(&writer, report->threads[i]);
		else if (format == MALLOW_JSON)
			put_json(&writer, report->threads[i]);
		else
			put_text(&writer, report->threads[i]);
	}
	if (format == MALLOW_JSON)
		report_put(&writer, "]}\n");
	result = report_writer_end(&writer);
	report_memory_release(&memory);
	return result;
}
