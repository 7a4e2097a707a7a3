#include "agent/report/report_json.h"
#include "agent/report/report_print.h"
#include "base/compiler.h"

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

int report_print_threads(const struct mallow_thread_report *report, int fd,
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
