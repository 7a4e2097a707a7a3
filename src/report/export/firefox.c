#include "report/export/firefox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/export/export_text.h"
#include "report/export/firefox_events.h"
#include "report/export/live_points.h"
#include "report/export/stack_sums.h"

#define VERSION          57 /* of the processed format: an older one, which does not change any more */
#define GECKO_VERSION    28
#define BLOCKS_OF_NODE   10 /* so many blocks for each of --nodes have events of their own */
#define CURVE_STEPS      1000
#define GROUP_ADDRESS    ((uint64_t)1 << 52) /* of group 0: no block of a process is there */
#define RESOURCE_LIBRARY 1

enum category { OTHER, OWN_CODE };

struct firefox {
	const struct export_subject *subject;
	struct stack_sums stacks;
	struct firefox_events events;
	struct live_points memory;
	uint32_t *stand; /* for each node the one that stands for it: stack_sums_cut() */
	/* Rows of the table of stacks; RECORDING_NONE: none. */
	uint32_t *row;               /* of each node that stands for itself */
	uint32_t *folded_row;        /* of each node: all that was left out below it */
	uint32_t *row_of_site;       /* of each site of the recording that has the blocks */
	uint32_t folded;             /* how many nodes were left out */
	VEC(const char *) libraries; /* paths, interned by the names' owner */
	uint32_t *library_of;        /* of each frame; RECORDING_NONE: none */
	VEC(uint32_t) row_frames;    /* the table of stacks: frames … */
	VEC(uint32_t) row_prefixes;  /* … and callers; RECORDING_NONE: outermost */
	struct json_writer json;
	struct buf scratch;
};

static void firefox_deinit(struct firefox *fox)
{
	stack_sums_deinit(&fox->stacks);
	firefox_events_deinit(&fox->events);
	live_points_deinit(&fox->memory);
	free(fox->stand);
	free(fox->row);
	free(fox->folded_row);
	free(fox->row_of_site);
	vec_deinit(&fox->libraries);
	free(fox->library_of);
	vec_deinit(&fox->row_frames);
	vec_deinit(&fox->row_prefixes);
	buf_deinit(&fox->scratch);
}

/* Numbers of two frames that are of no function: behind those of the stacks. */
static uint32_t no_stack_frame(const struct firefox *fox)
{
	return (uint32_t)fox->stacks.frames.count;
}

static uint32_t folded_frame(const struct firefox *fox)
{
	return no_stack_frame(fox) + 1;
}

static size_t frame_count(const struct firefox *fox)
{
	return fox->stacks.frames.count + 2;
}

/* --- stacks --- */

static bool add_row(struct firefox *fox, uint32_t *row, uint32_t frame, uint32_t prefix)
{
	*row = (uint32_t)fox->row_frames.count;
	return vec_push(&fox->row_frames, frame) && vec_push(&fox->row_prefixes, prefix);
}

static struct err *make_rows(struct firefox *fox)
{
	const struct tree *tree = fox->stacks.tree;
	size_t size = tree->count * sizeof(uint32_t);

	fox->row = malloc(size);
	fox->folded_row = malloc(size);
	if (!fox->row || !fox->folded_row)
		return err_no_memory();
	for (uint32_t i = 0; i < tree->count; i++) {
		uint32_t stand = fox->stand[i], parent = tree->nodes[i].parent;
		bool done = true;

		fox->row[i] = fox->folded_row[i] = RECORDING_NONE;
		if (!i)
			done = add_row(fox, &fox->row[0], no_stack_frame(fox), RECORDING_NONE);
		else if (stand == i)
			done = add_row(fox, &fox->row[i], stack_sums_frame(&fox->stacks, i),
				       parent ? fox->row[parent] : RECORDING_NONE);
		else if (fox->folded_row[stand] == RECORDING_NONE)
			done = add_row(fox, &fox->folded_row[stand], folded_frame(fox),
				       stand ? fox->row[stand] : RECORDING_NONE);
		if (!done)
			return err_no_memory();
	}
	return NULL;
}

static struct err *find_rows_of_sites(struct firefox *fox)
{
	uint32_t stack_count, count, all_count;
	const struct site *sites = recording_sites(fox->subject->recording, &count);
	const struct site *all = recording_sites(fox->subject->blocks, &all_count);
	auto_free uint32_t *by_stack = NULL;
	auto_free uint32_t *rows = calloc((size_t)all_count + 1, sizeof(*rows));

	recording_stacks(fox->subject->blocks, &stack_count);
	by_stack = calloc((size_t)stack_count + 1, sizeof(*by_stack));
	if (!by_stack || !rows)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = fox->stacks.tree->leaves[i];

		if (node == RECORDING_NONE || sites[i].stack == RECORDING_NONE)
			continue;
		by_stack[sites[i].stack] = fox->stand[node] == node
						   ? fox->row[node]
						   : fox->folded_row[fox->stand[node]];
	}
	for (uint32_t i = 0; i < all_count; i++)
		rows[i] = all[i].stack == RECORDING_NONE ? fox->row[0] : by_stack[all[i].stack];
	fox->row_of_site = steal(&rows);
	return NULL;
}

/* Finds the files of the frames' code. The path of one file is one text: few are compared. */
static struct err *find_libraries(struct firefox *fox)
{
	size_t count = fox->stacks.frames.count;

	fox->library_of = malloc((count + 1) * sizeof(*fox->library_of));
	if (!fox->library_of)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		const char *path = fox->stacks.frames.items[i].named->module;
		uint32_t library = 0;

		while (library < fox->libraries.count && path &&
		       strcmp(fox->libraries.items[library], path) != 0)
			library++;
		fox->library_of[i] = path ? library : RECORDING_NONE;
		if (path && library == fox->libraries.count && !vec_push(&fox->libraries, path))
			return err_no_memory();
	}
	return NULL;
}

/* --- tables: an array for each column --- */

/* Writes the value of a row of a column. */
typedef void put_cell(struct firefox *fox, size_t row);

struct column {
	const char *name;
	put_cell *put;        /* NULL: */
	const char *constant; /* … all rows have this */
};
#define EACH(name, put)                                                                            \
	{                                                                                          \
		name, put, NULL                                                                    \
	}
#define ALL(name, text)                                                                            \
	{                                                                                          \
		name, NULL, text                                                                   \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, NULL, NULL                                                                   \
	}

static void put_made(struct firefox *fox, const char *key, const char *made)
{
	json_key(&fox->json, key);
	json_made(&fox->json, made, strlen(made));
}

/* Leaves the table open for what is no column. */
static void put_table(struct firefox *fox, const char *name, size_t rows,
		      const struct column *columns)
{
	json_field_object(&fox->json, name);
	for (; columns->name; columns++) {
		json_field_array(&fox->json, columns->name);
		for (size_t i = 0; i < rows; i++)
			if (columns->put)
				columns->put(fox, i);
			else
				json_made(&fox->json, columns->constant, strlen(columns->constant));
		json_end(&fox->json);
	}
	json_field_u64(&fox->json, "length", rows);
}

static void put_row_number(struct firefox *fox, size_t row)
{
	json_u64(&fox->json, row);
}

static void put_index(struct firefox *fox, uint32_t index)
{
	if (index == RECORDING_NONE)
		json_null(&fox->json);
	else
		json_u64(&fox->json, index);
}

/* Milliseconds, to the nanosecond. */
static void put_ms(struct firefox *fox, uint64_t ns)
{
	char text[40];
	int size =
		snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);

	json_made(&fox->json, text, (size_t)size);
}

static void put_pid(struct firefox *fox)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, recording_facts(fox->subject->recording)->pid);
	json_text(&fox->json, text);
}

/* --- stacks and what they are of --- */

/* NULL: a frame that is of no function. */
static const struct stack_frame *frame_of(const struct firefox *fox, size_t row)
{
	return row < fox->stacks.frames.count ? &fox->stacks.frames.items[row] : NULL;
}

static void put_stack_frame(struct firefox *fox, size_t row)
{
	json_u64(&fox->json, fox->row_frames.items[row]);
}

static void put_stack_prefix(struct firefox *fox, size_t row)
{
	put_index(fox, fox->row_prefixes.items[row]);
}

static void put_category(struct firefox *fox, size_t row)
{
	const struct stack_frame *frame = frame_of(fox, row);

	json_u64(&fox->json, frame && named_frame_is_own(frame->named) ? OWN_CODE : OTHER);
}

static void put_line(struct firefox *fox, size_t row)
{
	const struct stack_frame *frame = frame_of(fox, row);

	put_index(fox, frame && frame->named->file && frame->line ? frame->line : RECORDING_NONE);
}

static void put_library(struct firefox *fox, size_t row)
{
	uint32_t library = frame_of(fox, row) ? fox->library_of[row] : RECORDING_NONE;

	json_i64(&fox->json, library == RECORDING_NONE ? -1 : (int64_t)library);
}

/*
 * All texts are in one array: names of the frames, then the file of each one's source, then the
 * libraries.
 */
static void put_file(struct firefox *fox, size_t row)
{
	const struct stack_frame *frame = frame_of(fox, row);

	if (frame && frame->named->file)
		json_u64(&fox->json, frame_count(fox) + row);
	else
		json_null(&fox->json);
}

static void put_library_name(struct firefox *fox, size_t row)
{
	json_u64(&fox->json, 2 * frame_count(fox) + row);
}

static void put_library_type(struct firefox *fox, size_t row)
{
	json_u64(&fox->json, RESOURCE_LIBRARY);
}

static void put_texts(struct firefox *fox)
{
	struct json_writer *json = &fox->json;
	char folded[STACK_SUMS_FOLDED_NAME];

	json_field_object(json, "shared");
	json_field_array(json, "stringArray");
	for (size_t i = 0; frame_of(fox, i); i++)
		json_text(json, frame_of(fox, i)->named->function);
	json_text(json, STACK_SUMS_NO_STACK);
	json_text(json, stack_sums_folded_name(fox->subject->nodes, folded, sizeof(folded)));
	for (size_t i = 0; i < frame_count(fox); i++)
		json_text(json, frame_of(fox, i) && frame_of(fox, i)->named->file
					? frame_of(fox, i)->named->file
					: "");
	for (size_t i = 0; i < fox->libraries.count; i++)
		json_text(json, file_name(fox->libraries.items[i]));
	json_end(json);
	json_end(json);
}

static void put_stacks(struct firefox *fox)
{
	static const struct column stacks[] = {EACH("frame", put_stack_frame),
					       EACH("prefix", put_stack_prefix), END};
	static const struct column frames[] = {
		ALL("address", "-1"),           ALL("inlineDepth", "0"),
		EACH("category", put_category), ALL("subcategory", "0"),
		EACH("func", put_row_number),   ALL("nativeSymbol", "null"),
		ALL("innerWindowID", "0"),      EACH("line", put_line),
		ALL("column", "null"),          END,
	};
	static const struct column functions[] = {
		EACH("name", put_row_number),  ALL("isJS", "false"),
		ALL("relevantForJS", "false"), EACH("resource", put_library),
		EACH("fileName", put_file),    ALL("lineNumber", "null"),
		ALL("columnNumber", "null"),   END,
	};
	static const struct column resources[] = {
		EACH("lib", put_row_number),
		EACH("name", put_library_name),
		ALL("host", "null"),
		EACH("type", put_library_type),
		END,
	};
	const struct {
		const char *name;
		size_t rows;
		const struct column *columns;
	} tables[] = {
		{"stackTable", fox->row_frames.count, stacks},
		{"frameTable", frame_count(fox), frames},
		{"funcTable", frame_count(fox), functions},
		{"resourceTable", fox->libraries.count, resources},
	};

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		put_table(fox, tables[i].name, tables[i].rows, tables[i].columns);
		json_end(&fox->json);
	}
	put_made(fox, "nativeSymbols",
		 "{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}");
}

/* --- events --- */

static void put_event_time(struct firefox *fox, size_t row)
{
	put_ms(fox, fox->events.list.items[row].time_ns);
}

static void put_event_weight(struct firefox *fox, size_t row)
{
	const struct firefox_event *event = &fox->events.list.items[row];
	uint64_t bytes = event->grouped ? fox->events.groups.items[event->of].bytes
					: firefox_events_bytes(fox->subject->blocks, event->of);

	json_i64(&fox->json, event->freed ? -(int64_t)bytes : (int64_t)bytes);
}

/* Where a free was is not known: the profiler finds what it freed by the address. */
static void put_event_stack(struct firefox *fox, size_t row)
{
	const struct firefox_event *event = &fox->events.list.items[row];
	const struct block_columns *blocks = recording_blocks(fox->subject->blocks);

	if (event->freed)
		json_null(&fox->json);
	else
		json_u64(&fox->json, event->grouped ? fox->events.groups.items[event->of].stack
						    : fox->row_of_site[blocks->site[event->of]]);
}

static void put_event_address(struct firefox *fox, size_t row)
{
	const struct firefox_event *event = &fox->events.list.items[row];

	json_u64(&fox->json, event->grouped
				     ? GROUP_ADDRESS + event->of
				     : recording_blocks(fox->subject->blocks)->address[event->of]);
}

/* The thread that did it. A group is of any. */
static void put_event_thread(struct firefox *fox, size_t row)
{
	const struct firefox_event *event = &fox->events.list.items[row];
	const struct block_columns *blocks = recording_blocks(fox->subject->blocks);
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(fox->subject->blocks, &count);
	uint32_t thread = event->grouped ? RECORDING_NONE
			  : event->freed ? blocks->free_thread[event->of]
					 : blocks->thread[event->of];

	json_u64(&fox->json, thread < count ? threads[thread].tid : 0);
}

static void put_events(struct firefox *fox)
{
	static const struct column columns[] = {
		EACH("time", put_event_time),       EACH("weight", put_event_weight),
		EACH("stack", put_event_stack),     EACH("memoryAddress", put_event_address),
		EACH("threadId", put_event_thread), END,
	};

	put_table(fox, "nativeAllocations", fox->events.list.count, columns);
	json_field_text(&fox->json, "weightType", "bytes");
	json_end(&fox->json);
}

static void put_point_time(struct firefox *fox, size_t row)
{
	put_ms(fox, fox->memory.points[row].time_ns);
}

/* How much more it is than the point before. The first one is only where the profiler begins. */
static void put_point_change(struct firefox *fox, size_t row)
{
	const struct live_point *points = fox->memory.points;

	json_i64(&fox->json, row ? (int64_t)(points[row].bytes - points[row - 1].bytes) : 0);
}

static void put_counter(struct firefox *fox)
{
	static const struct column columns[] = {EACH("time", put_point_time),
						EACH("count", put_point_change), END};
	struct json_writer *json = &fox->json;

	json_field_array(json, "counters");
	json_object(json);
	json_field_text(json, "name", "live");
	json_field_text(json, "category", "Memory");
	json_field_text(json, "description", "bytes live");
	json_key(json, "pid");
	put_pid(fox);
	json_field_u64(json, "mainThreadIndex", 0);
	put_table(fox, "samples", fox->memory.count, columns);
	json_end(json);
	json_end(json);
	json_end(json);
}

/* --- the document --- */

static void put_meta(struct firefox *fox)
{
	const struct recording_facts *facts = recording_facts(fox->subject->recording);
	struct json_writer *json = &fox->json;

	json_field_object(json, "meta");
	json_field_u64(json, "interval", 1);
	json_key(json, "startTime");
	put_ms(fox, facts->start_realtime_ns);
	json_field_u64(json, "processType", 0);
	json_field_u64(json, "stackwalk", 0);
	json_field_u64(json, "version", GECKO_VERSION);
	json_field_u64(json, "preprocessedProfileVersion", VERSION);
	json_key(json, "product");
	export_json_title(json, &fox->scratch, facts);
	json_field_text(json, "importedFrom", "mallow " MALLOW_VERSION);
	json_field_text(json, "oscpu", facts->kernel);
	json_field_bool(json, "symbolicated", true);
	put_made(fox, "markerSchema", "[]");
	// In the order of enum category.
	put_made(fox, "categories",
		 "[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Own code\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}]");
	json_end(json);
}

static void put_libraries(struct firefox *fox)
{
	struct json_writer *json = &fox->json;

	json_field_array(json, "libs");
	for (size_t i = 0; i < fox->libraries.count; i++) {
		const char *path = fox->libraries.items[i];

		json_object(json);
		json_field_text(json, "arch", "");
		json_field_text(json, "name", file_name(path));
		json_field_text(json, "path", path);
		json_field_text(json, "debugName", file_name(path));
		json_field_text(json, "debugPath", path);
		json_field_text(json, "breakpadId", "");
		put_made(fox, "codeId", "null");
		json_end(json);
	}
	json_end(json);
}

/* One thread, to which the profiler counts all allocations of the process. */
static void put_thread(struct firefox *fox)
{
	const struct recording_facts *facts = recording_facts(fox->subject->recording);
	struct json_writer *json = &fox->json;

	json_field_array(json, "threads");
	json_object(json);
	json_field_text(json, "processType", "default");
	json_field_text(json, "name", file_name(facts->program));
	json_field_bool(json, "isMainThread", true);
	json_field_u64(json, "processStartupTime", 0);
	json_key(json, "processShutdownTime");
	put_ms(fox, facts->duration_ns);
	json_field_u64(json, "registerTime", 0);
	put_made(fox, "unregisterTime", "null");
	put_made(fox, "pausedRanges", "[]");
	json_key(json, "pid");
	put_pid(fox);
	json_field_u64(json, "tid", facts->pid);
	put_made(
		fox, "samples",
		"{\"stack\":[],\"time\":[],\"weight\":[],\"weightType\":\"samples\",\"length\":0}");
	put_made(fox, "markers",
		 "{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
		 "\"category\":[],\"length\":0}");
	put_stacks(fox);
	put_events(fox);
	json_end(json);
	json_end(json);
}

static void put_document(struct firefox *fox)
{
	json_object(&fox->json);
	put_meta(fox);
	put_libraries(fox);
	put_made(fox, "pages", "[]");
	put_texts(fox);
	put_thread(fox);
	put_counter(fox);
	json_end(&fox->json);
}

static struct err *prepare(struct firefox *fox)
{
	const struct export_subject *subject = fox->subject;
	const struct tree_shape shape = {.merge = TREE_BY_LABEL,
					 .plumbing = subject->fold == TREE_FOLDED};
	auto_free uint64_t *values = NULL;
	struct err *err =
		stack_sums_create(subject->recording, subject->symbolized, &shape, &fox->stacks);

	if (!err)
		err = stack_sums_values(&fox->stacks, METRIC_TOTAL, &values);
	if (!err)
		err = stack_sums_cut(&fox->stacks, values, subject->nodes, &fox->stand,
				     &fox->folded);
	if (!err)
		err = make_rows(fox);
	if (!err)
		err = find_rows_of_sites(fox);
	if (!err)
		err = find_libraries(fox);
	if (!err)
		err = firefox_events_create(subject, fox->row_of_site,
					    subject->nodes * BLOCKS_OF_NODE, &fox->events);
	return err ? err : live_points_create(subject, CURVE_STEPS, &fox->memory);
}

static void put_note(const struct firefox *fox)
{
	struct buf *note = fox->subject->note;
	const char *and = "";

	if (!note)
		return;
	if (fox->events.folded) {
		buf_printf(note,
			   "the %" PRIu64
			   " largest allocations are in the file one by one; %" PRIu64
			   " others are joined by stack and step of the run",
			   fox->subject->nodes * BLOCKS_OF_NODE, fox->events.folded);
		and = ", and ";
	}
	if (fox->folded)
		buf_printf(note,
			   "%s%" PRIu32 " narrow nodes of stacks are folded into their callers",
			   and, fox->folded);
	if (fox->events.folded || fox->folded)
		buf_text(note, " (--nodes)");
}

struct err *firefox_write(struct buf *buf, const struct export_subject *subject)
{
	cleanup(firefox_deinit) struct firefox fox = {.subject = subject, .scratch = BUF_EMPTY};
	struct err *err;

	if (recording_facts(subject->recording)->live)
		return err_create("a live table has no events, of which this format is made");
	if (!live_points_have_events(subject) && recording_summary(subject->recording)->calls)
		return err_create("it has no single allocations, only sums");
	err = prepare(&fox);
	if (err)
		return err;
	json_init(&fox.json, buf, false);
	put_document(&fox);
	put_note(&fox);
	return NULL;
}
