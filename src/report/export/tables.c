#include "report/export/tables.h"

#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/blocks/block_bits.h"
#include "analysis/names/own_code.h"
#include "analysis/names/site_identity.h"
#include "base/compiler.h"
#include "hosted/arena.h"
#include "hosted/file_name.h"
#include "hosted/json_writer.h"
#include "hosted/map.h"
#include "report/export/live_points.h"

#define SERIES_STEPS 1000

/* Without their columns. */
static const struct table_info infos[] = {
#define TABLE(NAME, name_, text_) {.name = name_, .file = name_ ".parquet", .text = text_},
#define COLUMN(NAME, name, type, text)
#include "report/export/tables.def"
#undef TABLE
#undef COLUMN
};

/* Of the columns of all tables. */
#define TABLE(NAME, name, text)
static const struct parquet_column columns[] = {
#define COLUMN(NAME, name, type, text) {#name, PARQUET_##type},
#include "report/export/tables.def"
#undef COLUMN
};

static const char *const column_texts[] = {
#define COLUMN(NAME, name, type, text) text,
#include "report/export/tables.def"
#undef COLUMN
};

static const enum table tables_of_columns[] = {
#define COLUMN(NAME, name, type, text) TABLE_##NAME,
#include "report/export/tables.def"
#undef COLUMN
};
#undef TABLE

struct table_info table_info(enum table table)
{
	struct table_info info = infos[table];

	for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
		if (tables_of_columns[i] != table)
			continue;
		if (!info.column_count++) {
			info.columns = &columns[i];
			info.texts = &column_texts[i];
		}
	}
	return info;
}

struct tables {
	struct parquet_writer *writers[TABLE_COUNT];
	struct map seen; /* stacks that were written, by their site_id */
};

/* What stacks of sites are called, in the order of recording_sites(). */
struct site_names {
	struct site_identity *identities;
	struct site_identity_text *texts;
};

/* A recording that is being added. */
struct run {
	struct tables *tables;
	const struct export_subject *subject;
	const struct recording_facts *facts;
	struct site_identities identities;
	const char *service;
	const char **build_ids; /* of each module */
	struct arena arena;
};

static void run_deinit(struct run *run)
{
	site_identities_deinit(&run->identities);
	arena_deinit(&run->arena);
}

void tables_destroy(struct tables *tables)
{
	if (!tables)
		return;
	for (int i = 0; i < TABLE_COUNT; i++)
		parquet_writer_destroy(tables->writers[i]);
	map_deinit(&tables->seen);
	free(tables);
}

struct err *tables_create(struct buf *const bufs[TABLE_COUNT], struct tables **ret)
{
	cleanup(tables_destroy_at) struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return err_no_memory();
	for (int i = 0; i < TABLE_COUNT; i++) {
		struct table_info info = table_info(i);
		struct err *err = parquet_writer_create(bufs[i], info.columns, info.column_count,
							&tables->writers[i]);

		if (err)
			return err;
	}
	*ret = steal(&tables);
	return NULL;
}

/* Columns are signed, because databases subtract them. What is larger is the largest number. */
static void put_u64(struct parquet_writer *writer, uint64_t value)
{
	parquet_i64(writer, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* NULL: empty. */
static void put_text(struct parquet_writer *writer, const char *text)
{
	parquet_text(writer, text ? text : "");
}

/* The value of a label: the last one counts. NULL: it was not given. */
static const char *find_label(const struct export_subject *subject, const char *name)
{
	size_t size = strlen(name);
	const char *found = NULL;

	for (const char *const *label = subject->labels; label && *label; label++)
		if (strncmp(*label, name, size) == 0 && (*label)[size] == '=')
			found = *label + size + 1;
	return found;
}

/* The labels that have no column, as JSON. */
static const char *make_labels(struct run *run)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY, name = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	json_object(&json);
	for (const char *const *label = run->subject->labels; label && *label; label++) {
		const char *value = strchr(*label, '=') + 1;

		name.size = 0;
		buf_put(&name, *label, (size_t)(value - 1 - *label));
		if (!buf_string(&name))
			return NULL;
		if (strcmp(name.data, "service") != 0 && strcmp(name.data, "version") != 0 &&
		    find_label(run->subject, name.data) == value)
			json_field_text(&json, name.data, value);
	}
	json_end(&json);
	return buf_string(&buf) ? arena_text(&run->arena, buf.data) : NULL;
}

static const char *make_known(struct run *run)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (aggregate_knows(run->facts, metric))
			buf_printf(&buf, "%s%s", buf.size ? " " : "", metric_info(metric)->name);
	return buf_string(&buf) ? arena_text(&run->arena, buf.data) : NULL;
}

static struct err *make_build_ids(struct run *run)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(run->subject->recording, &count);

	run->build_ids = arena_array(&run->arena, (size_t)count + 1, sizeof(*run->build_ids));
	if (!run->build_ids)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		char *text = arena_alloc(&run->arena, HEX_ROOM(modules[i].build_id_size));

		if (!text)
			return err_no_memory();
		hex_put(text, modules[i].build_id, modules[i].build_id_size);
		run->build_ids[i] = text;
	}
	return NULL;
}

static const char *find_program_build_id(const struct run *run)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(run->subject->recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(symbolized_path(run->subject->symbolized, &modules[i]),
			   run->facts->program) == 0)
			return run->build_ids[i];
	return NULL;
}

static uint64_t end_time(const struct run *run)
{
	return run->facts->start_realtime_ns + run->facts->duration_ns;
}

static struct err *put_runs(struct run *run, struct parquet_writer *writer)
{
	const struct recording_facts *facts = run->facts;
	const char *labels = make_labels(run), *known = make_known(run);

	if (!labels || !known)
		return err_no_memory();
	parquet_text(writer, facts->id);
	parquet_text(writer, file_name(facts->path));
	put_text(writer, facts->host);
	parquet_text(writer, run->service);
	put_text(writer, find_label(run->subject, "version"));
	put_text(writer, find_program_build_id(run));
	put_u64(writer, facts->pid);
	put_u64(writer, facts->start_realtime_ns);
	put_u64(writer, facts->duration_ns);
	put_u64(writer, facts->sample_mean);
	put_u64(writer, facts->complete);
	put_u64(writer, facts->lost);
	parquet_text(writer, known);
	parquet_text(writer, labels);
	return parquet_end_row(writer);
}

/* *ret: of the recording's sites, in memory of the run. */
static struct err *name_sites(struct run *run, const struct recording *recording,
			      struct site_names *ret)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);
	struct err *err = NULL;

	ret->identities = arena_array(&run->arena, (size_t)count + 1, sizeof(*ret->identities));
	ret->texts = arena_array(&run->arena, (size_t)count + 1, sizeof(*ret->texts));
	if (!ret->identities || !ret->texts)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < count; i++) {
		err = site_identities_find(&run->identities, run->subject->symbolized,
					   sites[i].stack, &ret->identities[i]);
		ret->texts[i] = site_identity_text(ret->identities[i].site);
	}
	return err;
}

/* Sites in the order of their ids. */
static int compare_sites(const void *a, const void *b, void *argument)
{
	const struct site_identity *of = argument;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	if (of[left].site != of[right].site)
		return of[left].site < of[right].site ? -1 : 1;
	return left < right ? -1 : left > right;
}

static struct err *put_stacks(const struct run *run, const struct site *site,
			      const struct site_identity *identity, const char *id,
			      struct site_identity_text *shape)
{
	struct parquet_writer *writer = run->tables->writers[TABLE_STACKS];
	struct own_code own;
	struct err *err = own_code_of_stack(run->subject->symbolized, site->stack, &own);

	if (err)
		return err;
	*shape = site_identity_text(identity->shape);
	parquet_text(writer, id);
	parquet_text(writer, shape->digits);
	put_u64(writer, identity->weak);
	put_text(writer, own.frame ? own.frame->function : NULL);
	put_text(writer, own.frame ? own.frame->file : NULL);
	put_u64(writer, own.frame ? own.frame->line : 0);
	return parquet_end_row(writer);
}

/* The address of a frame in its module's file. */
static int64_t offset_in_file(const struct recorded_frame *frame,
			      const struct recorded_module *module)
{
	if (!module || recorded_module_is_script(module))
		return -1;
	return (int64_t)(frame->pc - 1 - module->bias);
}

static struct err *put_frames(const struct run *run, const struct site *site, const char *id)
{
	const struct recording *recording = symbolized_recording(run->subject->symbolized);
	const struct stack_node *nodes = recording_stacks(recording, NULL);
	struct parquet_writer *writer = run->tables->writers[TABLE_FRAMES];
	const struct named_frame *lines;
	struct err *err = NULL;
	int64_t depth = 0;
	size_t count;

	for (uint32_t at = site->stack; !err && at != RECORDING_NONE; at = nodes[at].parent) {
		const struct recorded_frame *frame =
			&recording_frames(recording, NULL)[nodes[at].frame];
		bool placed = frame->module != RECORDING_NONE;
		int64_t offset = offset_in_file(
			frame, placed ? &recording_modules(recording, NULL)[frame->module] : NULL);

		err = symbolized_frame(run->subject->symbolized, nodes[at].frame, &lines, &count);
		for (size_t i = 0; !err && i < count; i++) {
			parquet_text(writer, id);
			parquet_i64(writer, depth++);
			parquet_text(writer, lines[i].function);
			put_text(writer, lines[i].file);
			put_u64(writer, lines[i].line);
			put_text(writer, lines[i].module);
			put_text(writer, placed ? run->build_ids[frame->module] : NULL);
			parquet_i64(writer, offset);
			err = parquet_end_row(writer);
		}
	}
	return err;
}

/* Writes a stack, unless another recording or site had it. */
static struct err *put_stack_once(const struct run *run, const struct site *site,
				  const struct site_identity *identity, const char *id,
				  struct site_identity_text *shape)
{
	uint64_t *seen = map_put(&run->tables->seen, identity->site);
	struct err *err;

	if (!seen)
		return err_no_memory();
	if (*seen != MAP_NONE)
		return NULL;
	*seen = 1;
	err = put_stacks(run, site, identity, id, shape);
	return err ? err : put_frames(run, site, id);
}

static struct err *put_site(const struct run *run, const struct site *sum, const char *id)
{
	struct parquet_writer *writer = run->tables->writers[TABLE_SITES];

	parquet_text(writer, run->facts->id);
	parquet_text(writer, run->service);
	parquet_text(writer, id);
	put_u64(writer, end_time(run));
	put_u64(writer, sum->leaked_bytes);
	put_u64(writer, sum->leaked_blocks);
	put_u64(writer, sum->total_bytes);
	put_u64(writer, sum->calls);
	put_u64(writer, sum->peak_bytes);
	return parquet_end_row(writer);
}

static void add_site(struct site *sum, const struct site *site)
{
	sum->leaked_bytes += site->leaked_bytes;
	sum->leaked_blocks += site->leaked_blocks;
	sum->total_bytes += site->total_bytes;
	sum->calls += site->calls;
	sum->peak_bytes += site->peak_bytes;
}

/* Whether it has any sums: a filter may have left nothing. */
static bool has_sums(const struct site *site)
{
	return site->calls || site->leaked_blocks || site->leaked_bytes || site->peak_bytes;
}

/* Writes the sites in the order of their ids: so those of many runs take least room. */
static struct err *put_sites(struct run *run, const struct site_names *named)
{
	uint32_t count;
	const struct site *sites = recording_sites(run->subject->recording, &count);
	uint32_t *order = arena_array(&run->arena, (size_t)count + 1, sizeof(*order));
	struct err *err = order ? NULL : err_no_memory();

	for (uint32_t i = 0; !err && i < count; i++)
		order[i] = i;
	if (!err)
		qsort_r(order, count, sizeof(*order), compare_sites, named->identities);
	for (uint32_t i = 0, next; !err && i < count; i = next) {
		uint32_t first = order[i];
		struct site sum = {0};

		for (next = i; next < count; next++) {
			if (named->identities[order[next]].site != named->identities[first].site)
				break;
			add_site(&sum, &sites[order[next]]);
		}
		if (has_sums(&sum))
			err = put_site(run, &sum, named->texts[first].digits);
	}
	return err;
}

/* Writes the stacks that are new, in the order in which they were met, as neighbours are alike. */
static struct err *put_new_stacks(struct run *run, const struct site_names *named)
{
	uint32_t count;
	const struct site *sites = recording_sites(run->subject->recording, &count);
	struct site_identity_text *shapes =
		arena_array(&run->arena, (size_t)count + 1, sizeof(*shapes));
	struct err *err = shapes ? NULL : err_no_memory();

	for (uint32_t i = 0; !err && i < count; i++)
		if (has_sums(&sites[i]))
			err = put_stack_once(run, &sites[i], &named->identities[i],
					     named->texts[i].digits, &shapes[i]);
	// Before blocks take as much memory.
	return err ? err : parquet_end_group(run->tables->writers[TABLE_FRAMES]);
}

static struct err *put_blocks(const struct run *run, const struct site_names *named)
{
	const struct export_subject *subject = run->subject;
	const struct block_columns *blocks = recording_blocks(subject->blocks);
	struct parquet_writer *writer = run->tables->writers[TABLE_BLOCKS];
	uint32_t threads;
	const struct recorded_thread *thread = recording_threads(subject->blocks, &threads);
	struct err *err = NULL;

	BLOCK_BITS_EACH(subject->match ? subject->match->words : NULL, blocks->count, i)
	{
		if (err)
			break;
		parquet_text(writer, run->facts->id);
		put_u64(writer, blocks->allocated_ns[i]);
		put_u64(writer, blocks->freed_ns[i]);
		parquet_i64(writer, blocks->thread[i] < threads
					    ? (int64_t)thread[blocks->thread[i]].tid
					    : -1);
		parquet_i64(writer, (int64_t)blocks->address[i]);
		put_u64(writer, blocks->size[i]);
		parquet_text(writer, named->texts[blocks->site[i]].digits);
		err = parquet_end_row(writer);
	}
	return err;
}

/* memory: how many of the samples are not later than the last moment; goes on from there. */
static struct err *put_moment(const struct run *run, uint64_t time_ns, uint64_t live,
			      uint32_t *memory)
{
	struct parquet_writer *writer = run->tables->writers[TABLE_SERIES];
	uint32_t count;
	const struct memory_sample *samples = recording_memory(run->subject->recording, &count);

	while (*memory < count && samples[*memory].time_ns <= time_ns)
		++*memory;
	parquet_text(writer, run->facts->id);
	parquet_text(writer, run->service);
	put_u64(writer, run->facts->start_realtime_ns + time_ns);
	if (*memory)
		put_u64(writer, samples[*memory - 1].resident);
	else
		parquet_i64(writer, -1);
	put_u64(writer, live);
	return parquet_end_row(writer);
}

static struct err *put_series(const struct run *run)
{
	const struct aggregate *aggregate = run->facts->aggregate;
	cleanup(live_points_deinit) struct live_points points = {0};
	struct err *err = NULL;
	uint32_t memory = 0;

	if (!aggregate)
		err = live_points_create(run->subject, SERIES_STEPS, &points);
	for (size_t i = 0; !err && i < points.count; i++)
		err = put_moment(run, points.points[i].time_ns, points.points[i].bytes, &memory);
	for (size_t i = 0; !err && aggregate && i < aggregate->moment_count; i++)
		err = put_moment(run, aggregate->moments[i].time_ns,
				 aggregate->moments[i].live_bytes, &memory);
	return err;
}

/* Writes the threads, of those with one tid one. */
static struct err *put_threads(struct run *run, struct parquet_writer *writer)
{
	cleanup(map_deinit) struct map known = {0};
	uint32_t count, rows = 0;
	const struct recorded_thread *threads = recording_threads(run->subject->recording, &count);
	struct recorded_thread *row = arena_array(&run->arena, (size_t)count + 1, sizeof(*row));
	struct err *err = row ? NULL : err_no_memory();

	for (uint32_t i = 0; !err && i < count; i++) {
		uint64_t *at = map_put(&known, threads[i].tid);

		if (!at)
			return err_no_memory();
		if (*at == MAP_NONE) {
			*at = rows;
			row[rows++] = threads[i];
			continue;
		}
		row[*at].events += threads[i].events;
		if (*threads[i].name)
			row[*at].name = threads[i].name;
	}
	for (uint32_t i = 0; !err && i < rows; i++) {
		parquet_text(writer, run->facts->id);
		put_u64(writer, row[i].tid);
		put_text(writer, row[i].name);
		put_u64(writer, row[i].first_ns);
		put_u64(writer, row[i].events);
		err = parquet_end_row(writer);
	}
	return err;
}

struct err *tables_add(struct tables *tables, const struct export_subject *subject)
{
	cleanup(run_deinit) struct run run = {
		.tables = tables,
		.subject = subject,
		.facts = recording_facts(subject->recording),
		.service = find_label(subject, "service"),
	};
	struct site_names named = {0}, of_blocks;
	struct err *err = make_build_ids(&run);

	if (!run.service)
		run.service = file_name(run.facts->program);
	if (!err)
		err = put_runs(&run, tables->writers[TABLE_RUNS]);
	if (!err)
		err = name_sites(&run, subject->recording, &named);
	if (!err)
		err = put_sites(&run, &named);
	if (!err)
		err = put_new_stacks(&run, &named);
	of_blocks = named;
	if (!err && subject->blocks != subject->recording)
		err = name_sites(&run, subject->blocks, &of_blocks);
	if (!err)
		err = put_blocks(&run, &of_blocks);
	if (!err)
		err = put_series(&run);
	if (!err)
		err = put_threads(&run, tables->writers[TABLE_THREADS]);
	// The recording's texts go.
	for (int i = 0; !err && i < TABLE_COUNT; i++)
		err = parquet_end_group(tables->writers[i]);
	return err;
}

struct err *tables_finish(struct tables *tables)
{
	struct err *err = NULL;

	for (int i = 0; !err && i < TABLE_COUNT; i++)
		err = parquet_writer_finish(tables->writers[i]);
	return err;
}
