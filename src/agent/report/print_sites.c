#include "agent/report/report_json.h"
#include "agent/report/report_names.h"
#include "agent/report/report_print.h"
#include "base/compiler.h"

struct printing {
	struct report_writer writer;
	struct report_names names;
};

/* "main +0x1b (/bin/program)", "(/bin/program +0x1234)", "?" */
static void put_frame(struct printing *printing, uint64_t pc)
{
	struct report_writer *writer = &printing->writer;
	struct report_name name = report_names_find(&printing->names, pc);

	if (name.function) {
		report_put_shown(writer, name.function);
		report_put(writer, " +");
		report_put_hex(writer, name.offset, 1);
		report_put(writer, " (");
		report_put_shown(writer, name.module);
		report_put_char(writer, ')');
	} else if (*name.module) {
		report_put_char(writer, '(');
		report_put_shown(writer, name.module);
		report_put(writer, " +");
		report_put_hex(writer, name.address, 1);
		report_put_char(writer, ')');
	} else {
		report_put_char(writer, '?');
	}
}

static void put_sum(struct report_writer *writer, const char *name, uint64_t bytes)
{
	report_put(writer, name);
	report_put(writer, ": ");
	report_put_size(writer, bytes);
	report_put_char(writer, '\n');
}

static void put_text(struct printing *printing, const struct mallow_site *site)
{
	struct report_writer *writer = &printing->writer;

	put_sum(writer, "allocated", site->allocated);
	report_put(writer, "allocations: ");
	report_put_number(writer, site->calls);
	report_put_char(writer, '\n');
	put_sum(writer, "avg_allocation", site->average);
	put_sum(writer, "freed", site->freed);
	put_sum(writer, "total_used", site->in_use);
	report_put(writer, "backtrace: ");
	report_put_hex(writer, site->hash, 16);
	report_put_char(writer, '\n');
	for (size_t i = 0; i < site->depth; i++) {
		report_put(writer, i < 10 ? "   " : "  ");
		report_put_number(writer, i);
		report_put(writer, " [");
		report_put_hex(writer, site->stack[i], 12);
		report_put(writer, "] ");
		put_frame(printing, site->stack[i]);
		report_put_char(writer, '\n');
	}
	report_put_char(writer, '\n');
}

/* The stack in one field, its lines ended by a backslash and n. */
static void put_csv(struct printing *printing, const struct mallow_site *site)
{
	const uint64_t columns[] = {site->allocated, site->calls, site->average, site->freed,
				    site->in_use};
	struct report_writer *writer = &printing->writer;

	for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
		report_put_number(writer, columns[i]);
		report_put_char(writer, ',');
	}
	report_put_char(writer, '"');
	writer->quoted = true;
	for (size_t i = 0; i < site->depth; i++) {
		if (i)
			report_put(writer, "\\n");
		put_frame(printing, site->stack[i]);
	}
	writer->quoted = false;
	report_put(writer, "\"\n");
}

static void put_json_frame(struct printing *printing, uint64_t pc)
{
	struct report_writer *writer = &printing->writer;
	struct report_name name = report_names_find(&printing->names, pc);

	report_json_open(writer, NULL, '{');
	report_json_hex(writer, "address", pc, 1);
	report_json_text(writer, "function", name.function);
	if (name.function)
		report_json_number(writer, "function_offset", name.offset);
	report_json_text(writer, "module", *name.module ? name.module : NULL);
	if (*name.module)
		report_json_number(writer, "module_offset", name.address);
	report_json_close(writer, '}');
}

/* Named as in the live reports (report/json/live_json.c). */
static void put_json(struct printing *printing, const struct mallow_site *site)
{
	struct report_writer *writer = &printing->writer;

	report_json_open(writer, NULL, '{');
	report_json_hex(writer, "hash", site->hash, 16);
	report_json_number(writer, "live_bytes", site->in_use);
	report_json_number(writer, "live_blocks", site->in_use_calls);
	report_json_number(writer, "total_bytes", site->allocated);
	report_json_number(writer, "calls", site->calls);
	report_json_number(writer, "freed_bytes", site->freed);
	report_json_number(writer, "freed_blocks", site->freed_calls);
	report_json_number(writer, "average_bytes", site->average);
	report_json_open(writer, "stack", '[');
	for (size_t i = 0; i < site->depth; i++)
		put_json_frame(printing, site->stack[i]);
	report_json_close(writer, ']');
	report_json_close(writer, '}');
}

int report_print_sites(const struct mallow_site_report *report, int fd, enum mallow_format format)
{
	struct printing printing = {0};
	int result;

	report_writer_begin(&printing.writer, fd, &printing.names.memory);
	if (format == MALLOW_CSV)
		report_put(&printing.writer,
			   "allocated,allocations,avg_allocation,freed,total_used,backtrace\n");
	if (format == MALLOW_JSON) {
		report_json_open(&printing.writer, NULL, '{');
		report_json_open(&printing.writer, "sites", '[');
	}
	for (size_t i = 0; i < report->count; i++) {
		if (format == MALLOW_CSV)
			put_csv(&printing, report->sites[i]);
		else if (format == MALLOW_JSON)
			put_json(&printing, report->sites[i]);
		else
			put_text(&printing, report->sites[i]);
	}
	if (format == MALLOW_JSON)
		report_put(&printing.writer, "]}\n");
	result = report_writer_end(&printing.writer);
	report_names_release(&printing.names);
	return result;
}
