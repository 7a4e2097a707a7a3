#include "agent/report/site_report.h"

#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/state.h"
#include "agent/live/live_state.h"
#include "agent/report/report_frames.h"
#include "agent/report/report_writer.h"
#include "agent/report/report_weight.h"
#include "base/compiler.h"

/* Each site is made in `site` and `stack`, and copied to the report if the filter wants it. */
struct making {
	struct report_memory *memory;
	struct report_memory scratch;
	struct live *live;
	struct report_frames frames;
	struct mallow_site site;
	uint64_t *stack; /* room for the deepest */
	size_t stack_room;
	site_report_filter *filter;
	void *argument;
	struct site_report *report;
};

static void set_sums(struct mallow_site *site, uint64_t calls, uint64_t freed_calls)
{
	site->calls = report_calls(calls);
	site->freed_calls = report_calls(freed_calls);
	site->in_use = report_rest(site->allocated, site->freed);
	site->in_use_calls = report_rest(site->calls, site->freed_calls);
	site->average = site->calls ? (site->allocated + site->calls / 2) / site->calls : 0;
}

/* Reads the sums of a site, with those of its parts. */
static void read_sums(struct making *making, uint32_t number)
{
	struct sites *sites = &making->live->sites;
	struct mallow_site *site = &making->site;
	uint64_t calls = 0, freed_calls = 0;
	uint32_t part = 0;

	do {
		const struct live_site *entry = sites_at(sites, part ? part : number);

		// Freed sums first: a block that is freed meanwhile must not count as freed but not
		// allocated.
		freed_calls += __atomic_load_n(&entry->freed_calls, __ATOMIC_RELAXED);
		site->freed += __atomic_load_n(&entry->freed_bytes, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		site->allocated += __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
		calls += __atomic_load_n(&entry->calls, __ATOMIC_RELAXED);
	} while ((part = site_parts_next(sites, number, part)));
	set_sums(site, calls, freed_calls);
}

/* BACKTRACE=none: the only site has no sums of its own. */
static void read_all_threads(struct making *making)
{
	const struct live_threads *threads = &making->live->threads;
	uint32_t count = __atomic_load_n(&making->live->header->threads, __ATOMIC_ACQUIRE);
	uint64_t calls = 0, freed_calls = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct live_freed *row = live_threads_row(threads, i);

		for (uint32_t owner = 0; row && owner < count; owner++) {
			making->site.freed += __atomic_load_n(&row[owner].bytes, __ATOMIC_RELAXED);
			freed_calls += __atomic_load_n(&row[owner].calls, __ATOMIC_RELAXED);
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++) {
		making->site.allocated +=
			__atomic_load_n(&threads->entries[i].bytes, __ATOMIC_RELAXED);
		calls += __atomic_load_n(&threads->entries[i].calls, __ATOMIC_RELAXED);
	}
	set_sums(&making->site, calls, freed_calls);
}

static void read_stack(struct making *making, uint32_t node)
{
	struct mallow_site *site = &making->site;

	while (node && site->depth < making->stack_room) {
		const struct live_node *entry = sites_node_at(&making->live->sites, node);

		making->stack[site->depth++] = report_frames_pc(&making->frames, entry->frame);
		site->hash = report_frames_hash(site->hash,
						report_frames_key(&making->frames, entry->frame));
		node = entry->parent;
	}
	site->stack = making->stack;
}

/* false: no memory. */
static bool keep_site(struct making *making)
{
	struct mallow_site_report *open = &making->report->open;
	size_t size = making->site.depth * sizeof(*making->stack);
	struct mallow_site *site;
	uint64_t *stack;

	if (making->filter && !making->filter(&making->site, making->argument))
		return true;
	site = report_memory_take(making->memory, sizeof(*site));
	stack = report_memory_take(making->memory, size);
	if (!site || !stack)
		return false;
	*site = making->site;
	memcpy(stack, making->stack, size);
	site->stack = stack;
	open->sites[open->count++] = site;
	return true;
}

static bool add_site(struct making *making, uint32_t number)
{
	const struct live_site *entry;
	uint32_t node;

	// A site gets its number before its memory.
	if (!__atomic_load_n(&making->live->sites.sites[number >> SITES_SITE_BITS],
			     __ATOMIC_ACQUIRE))
		return true;
	entry = sites_at(&making->live->sites, number);
	node = __atomic_load_n(&entry->node, __ATOMIC_ACQUIRE);
	if (node & LIVE_SITE_PART || (!node && number != SITES_STACKLESS))
		return true; // its sums are added to its whole's; or it is not made yet
	making->site = (struct mallow_site){.stack = making->stack};
	if (config_stackless())
		read_all_threads(making);
	else
		read_sums(making, number);
	if (!making->site.calls)
		return true;
	read_stack(making, live_site_node(entry));
	return keep_site(making);
}

static bool make_room(struct making *making, uint32_t sites)
{
	struct mallow_site_report *open;

	making->report = report_memory_take(making->memory, sizeof(*making->report));
	// With room for the mark of a stack that was cut.
	making->stack_room = config.value[SETTING_DEPTH] + 8;
	making->stack =
		report_memory_take(&making->scratch, making->stack_room * sizeof(*making->stack));
	if (!making->report || !making->stack ||
	    !report_frames_make(&making->frames, &making->scratch))
		return false;
	open = &making->report->open;
	open->sites = report_memory_take(making->memory, sites * sizeof(*open->sites));
	return open->sites != NULL;
}

struct site_report *site_report_make(struct report_memory *memory, site_report_filter *filter,
				     void *argument)
{
	struct making making = {
		.memory = memory,
		.live = process->live,
		.filter = filter,
		.argument = argument,
	};
	uint32_t sites = __atomic_load_n(&making.live->header->sites, __ATOMIC_ACQUIRE);
	bool made;

	if (config_stackless())
		sites = SITES_STACKLESS + 1;
	made = make_room(&making, sites);
	for (uint32_t number = SITES_STACKLESS; made && number < sites; number++)
		made = add_site(&making, number);
	report_memory_release(&making.scratch);
	return made ? making.report : NULL;
}

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

int site_report_print(const struct mallow_site_report *report, int fd, enum mallow_format format)
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
