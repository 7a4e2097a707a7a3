/* /allocations, /raw_allocations and /export/allocations.csv: one entry for each block. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/views/jemalloc.h"
#include "report/csv/blocks_csv.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"
#include "server/data/selection.h"
#include "trace/operation.h"

/* The rows of a page of blocks, in the order that the request asks for. */
struct rows {
	uint32_t *chosen; /* the rows of the page; NULL: `walk` finds them */
	uint64_t next;    /* index into chosen */
	struct block_cursor walk;
	uint64_t left; /* how many rows of the page are left */
};

/* Accepts a zeroed struct. */
static void rows_deinit(struct rows *rows)
{
	free(rows->chosen);
	*rows = (struct rows){0};
}

/* Copies the rows: another request may replace them while this page is being written. */
static struct err *copy_rows(const uint32_t *chosen, struct rows *rows)
{
	rows->chosen = malloc(rows->left * sizeof(*chosen));
	if (!rows->chosen)
		return err_no_memory();
	memcpy(rows->chosen, chosen, rows->left * sizeof(*chosen));
	return NULL;
}

/*
 * Begins the page that the request asks for. The selection must outlive it. Call it under the lock.
 */
static struct err *begin_rows(struct request *request, struct selection *selection,
			      struct rows *ret)
{
	enum selection_order order = request->choices[PARAMETER_BLOCK_SORT];
	bool descending = request_descends(request, order >= SELECTION_BY_SIZE);
	const struct block_pages *ranks;
	const uint32_t *chosen;
	uint64_t first, end;
	struct err *err;

	request_page(request, selection->count, &first, &end);
	*ret = (struct rows){.left = end - first};
	if (!ret->left)
		return NULL;
	err = selection_top(request->dataset, selection, order, descending, first, end, &chosen);
	if (err)
		return err;
	if (chosen)
		return copy_rows(chosen, ret);
	err = selection_ranks(request->dataset, selection, order, &ranks);
	if (!err)
		block_cursor_begin(ranks, first, descending, &ret->walk);
	return err;
}

/* *ret: the next row. false: there is none left. */
static bool next_row(struct rows *rows, uint64_t *ret)
{
	if (!rows->left)
		return false;
	rows->left--;
	*ret = rows->chosen ? rows->chosen[rows->next++] : block_cursor_next(&rows->walk);
	return true;
}

struct format;

/* What is left to be written. */
struct page {
	struct dataset *dataset;
	struct selection *selection;
	struct rows rows;
	const uint32_t *chains; /* recording_block_chains(); NULL: not known */
	struct chain_places places;
	enum stack_form form;
	bool jemalloc; /* blocks are jemalloc's */
	bool strip;
	const struct format *format;
	bool begun;
	struct json_writer json;
	struct csv_writer csv;
	struct csv_frames frames; /* of csv */
	VEC(uint64_t) path;       /* return addresses of the present stack, innermost first */
};

static void drop_page(void *state)
{
	struct page *page = state;

	selection_release(page->selection);
	dataset_release(page->dataset);
	rows_deinit(&page->rows);
	vec_deinit(&page->path);
	csv_frames_deinit(&page->frames);
	free(page);
}

static void put_heap_flag(struct json_writer *json, const struct page *page, const char *key,
			  uint8_t flags, uint8_t flag, bool set)
{
	json_key(json, key);
	// A live table does not have them.
	if (page->dataset->facts->allocator == TRACE_ALLOCATOR_GLIBC && !page->dataset->facts->live)
		json_bool(json, !!(flags & flag) == set);
	else
		json_null(json);
}

/* Writes where, when and by whom a block was freed, or null. */
static struct err *put_free(struct json_writer *json, const char *key, const struct page *page,
			    uint64_t row)
{
	const struct block_columns *blocks = page->dataset->blocks;
	uint32_t stack = blocks->free_stack ? blocks->free_stack[row] : RECORDING_NONE;
	struct err *err;

	json_key(json, key);
	if (blocks->freed_ns[row] == TIME_NEVER) {
		json_null(json);
		return NULL;
	}
	json_object(json);
	rest_json_field_time(json, "timestamp",
			     page->dataset->facts->start_realtime_ns + blocks->freed_ns[row]);
	rest_json_field_thread(json, page->dataset->recording, blocks->free_thread[row]);
	json_key(json, "backtrace_id");
	if (stack == RECORDING_NONE)
		json_null(json);
	else
		json_u64(json, stack);
	err = dataset_field_stack(page->dataset, json, stack,
				  stack == RECORDING_NONE ? STACK_NUMBER : page->form, page->strip);
	json_end(json);
	return err;
}

/* The chain that realloc made, as bytehound's clients know it since 0.11. */
static struct err *put_chain(struct json_writer *json, const struct page *page, uint64_t row)
{
	const struct block_columns *blocks = page->dataset->blocks;
	uint64_t first = page->chains ? page->chains[row] : row;
	uint64_t last = page->places.last ? page->places.last[row] : row;
	struct err *err;

	json_field_u64(json, "id", row);
	json_key(json, "is_jemalloc");
	json_bool(json, page->jemalloc);
	json_field_u64(json, "position_in_chain",
		       page->places.position ? page->places.position[row] : 0);
	json_field_u64(json, "chain_length",
		       page->places.position ? page->places.position[last] + 1 : 1);
	if (last == row) {
		// The block's own deallocation is the chain's: clients show both if both are there.
		json_key(json, "chain_deallocation");
		json_null(json);
		err = NULL;
	} else {
		err = put_free(json, "chain_deallocation", page, last);
	}
	if (blocks->freed_ns[last] == TIME_NEVER) {
		json_key(json, "chain_lifetime");
		json_null(json);
	} else {
		rest_json_field_time(json, "chain_lifetime",
				     blocks->freed_ns[last] - blocks->allocated_ns[first]);
	}
	return err;
}

/* Writes what bytehound's clients do not know. */
static void put_more(struct json_writer *json, const struct page *page, uint64_t row)
{
	const struct block_columns *blocks = page->dataset->blocks;

	json_field_u64(json, "number", row);
	json_key(json, "chain");
	if (page->chains)
		json_u64(json, page->chains[row]);
	else
		json_null(json);
	json_field_u64(json, "tag", blocks->tag ? blocks->tag[row] : 0);
	json_field_text(json, "entry",
			page->dataset->facts->live ? NULL : operation_name(blocks->entry[row]));
}

static uint32_t stack_of(const struct page *page, uint64_t row)
{
	uint32_t count;

	return recording_sites(page->dataset->recording, &count)[page->dataset->blocks->site[row]]
		.stack;
}

static struct err *put_block(struct page *page, uint64_t row)
{
	struct json_writer *json = &page->json;
	const struct block_columns *blocks = page->dataset->blocks;
	uint32_t stack = stack_of(page, row);
	struct err *err;

	json_object(json);
	rest_json_field_address(json, "address", blocks->address[row]);
	rest_json_field_moment(json, "timestamp", blocks->allocated_ns[row], page->dataset->facts);
	rest_json_field_thread(json, page->dataset->recording, blocks->thread[row]);
	json_field_u64(json, "size", blocks->size[row]);
	json_field_u64(json, "backtrace_id", stack);
	err = put_free(json, "deallocation", page, row);
	if (!err)
		err = dataset_field_stack(page->dataset, json, stack, page->form, page->strip);
	put_heap_flag(json, page, "is_mmaped", blocks->heap_flags[row], TRACE_HEAP_MMAPPED, true);
	put_heap_flag(json, page, "in_main_arena", blocks->heap_flags[row],
		      TRACE_HEAP_NON_MAIN_ARENA, false);
	json_field_u64(json, "extra_space", blocks->slack[row]);
	if (!err)
		err = put_chain(json, page, row);
	put_more(json, page, row);
	json_end(json);
	return err;
}

/* Writes a stack's addresses, outermost first, as frames are. */
static struct err *put_addresses(struct page *page, uint64_t row)
{
	struct json_writer *json = &page->json;
	uint32_t count;
	const struct stack_node *stacks = recording_stacks(page->dataset->recording, &count);
	const struct recorded_frame *frames = recording_frames(page->dataset->recording, &count);

	page->path.count = 0;
	for (uint32_t at = stack_of(page, row); at != RECORDING_NONE; at = stacks[at].parent)
		if (!vec_push(&page->path, frames[stacks[at].frame].pc))
			return err_no_memory();
	json_object(json);
	json_key(json, "backtrace");
	json_array(json);
	for (size_t i = page->path.count; i-- > 0;) {
		uint64_t pc = page->path.items[i];
		char text[24];

		snprintf(text, sizeof(text), "%016" PRIX64,
			 pc > TRACE_PC_LAST_SPECIAL ? pc - 1 : 0);
		json_text(json, text);
	}
	json_end(json);
	json_end(json);
	return NULL;
}

/* How an answer is written: what is before its rows, each row, and what is behind them. */
struct format {
	void (*begin)(struct page *page, struct buf *buf);
	struct err *(*put)(struct page *page, uint64_t row);
	void (*end)(struct page *page);
};

static void begin_json(struct page *page, struct buf *buf)
{
	json_init(&page->json, buf, false);
	json_object(&page->json);
	json_key(&page->json, "allocations");
	json_array(&page->json);
}

static void end_json(struct page *page)
{
	json_end(&page->json);
	json_field_u64(&page->json, "total_count", page->selection->count);
	json_end(&page->json);
}

static void begin_raw(struct page *page, struct buf *buf)
{
	json_init(&page->json, buf, false);
	json_array(&page->json);
}

static void end_raw(struct page *page)
{
	json_end(&page->json);
}

static void begin_csv(struct page *page, struct buf *buf)
{
	page->csv = (struct csv_writer){.buf = buf};
	csv_words(&page->csv, BLOCKS_CSV " " CSV_REPORT_STACK);
}

static struct err *put_csv(struct page *page, uint64_t row)
{
	const struct report_subject subject = {.recording = page->dataset->recording,
					       .symbolized = page->dataset->symbolized};
	uint32_t stack = blocks_csv_put(&page->csv, &subject, page->chains, row);
	struct err *err = csv_report_stack(&page->csv, &subject, stack, &page->frames);

	csv_end_row(&page->csv);
	return err;
}

static void end_csv(struct page *page)
{
}

static const struct format json_format = {begin_json, put_block, end_json};
static const struct format raw_format = {begin_raw, put_addresses, end_raw};
static const struct format csv_format = {begin_csv, put_csv, end_csv};

static struct err *make_page(void *state, struct buf *buf, bool *done)
{
	struct page *page = state;
	struct err *err = NULL;
	uint64_t row;

	if (!page->begun)
		page->format->begin(page, buf);
	page->begun = true;
	dataset_lock(page->dataset);
	while (!err && buf->size < BODY_PIECE && !*done) {
		if (!next_row(&page->rows, &row))
			*done = true;
		else
			err = page->format->put(page, row);
	}
	dataset_unlock(page->dataset);
	if (*done)
		page->format->end(page);
	return err;
}

static struct err *answer_blocks(struct request *request, struct reply *reply,
				 const struct format *format)
{
	struct selection *selection = NULL;
	const uint32_t *chains = NULL;
	struct chain_places places = {0};
	struct rows rows = {0};
	struct page *page;
	struct err *err;

	dataset_lock(request->dataset);
	err = request_select(request, reply, &selection);
	if (!err && selection)
		err = begin_rows(request, selection, &rows);
	if (!err && rows.left && format != &raw_format && !request->dataset->facts->live)
		err = recording_block_chains(request->dataset->recording, &chains);
	if (!err && chains && format == &json_format)
		err = recording_chain_places(request->dataset->recording, &places);
	dataset_unlock(request->dataset);
	if (!err && !selection)
		return NULL;
	page = err ? NULL : malloc(sizeof(*page));
	if (!page) {
		rows_deinit(&rows);
		selection_release(selection);
		return err ? err : err_no_memory();
	}
	*page = (struct page){
		.dataset = dataset_hold(request->dataset),
		.selection = selection,
		.rows = rows,
		.chains = chains,
		.places = places,
		.jemalloc = jemalloc_serves(request->dataset->recording),
		.form = request_stack_form(request),
		.strip = request_strips(request),
		.format = format,
	};
	return reply_pieces(reply, make_page, page, drop_page);
}

struct err *route_allocations(struct request *request, struct reply *reply)
{
	return answer_blocks(request, reply, &json_format);
}

struct err *route_raw_allocations(struct request *request, struct reply *reply)
{
	return answer_blocks(request, reply, &raw_format);
}

struct err *route_allocations_csv(struct request *request, struct reply *reply)
{
	return answer_blocks(request, reply, &csv_format);
}
