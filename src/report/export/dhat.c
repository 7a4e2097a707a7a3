#include "report/export/dhat.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/blocks/block_events.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "report/export/export_text.h"
#include "report/export/live_points.h"
#include "report/export/stack_sums.h"

#define FILE_VERSION 2
#define NS_PER_US    1000
#define SHORT_US     500 /* DHAT's own: blocks that lived shorter are short-lived */
#define NO_STACK     1   /* in the table of frames; 0 is the root */

/* What blocks of a site say besides its sums. */
struct life {
	uint64_t bytes, blocks;           /* live now, on the walk over the events */
	uint64_t most_bytes, most_blocks; /* when most bytes were */
	uint64_t lived_ns;
};

struct dhat {
	const struct export_subject *subject;
	struct json_writer json;
	struct buf scratch;
	struct life *lives; /* by stack; the last: the empty stack's. NULL: not known */
	uint32_t
		*first; /* for each frame: the number of its first line in the table; 0: none yet */
	VEC(const struct named_frame *) table; /* from number NO_STACK + 1 on */
};

static void dhat_deinit(struct dhat *dhat)
{
	buf_deinit(&dhat->scratch);
	free(dhat->lives);
	free(dhat->first);
	vec_deinit(&dhat->table);
}

/* --- lives of blocks --- */

static struct life *life_of_stack(const struct dhat *dhat, uint32_t stack)
{
	uint32_t count;

	recording_stacks(dhat->subject->blocks, &count);
	return &dhat->lives[stack == RECORDING_NONE ? count : stack];
}

static void take_event(const struct dhat *dhat, const struct block_event *event)
{
	const struct recording *recording = dhat->subject->blocks;
	const struct recording_facts *facts = recording_facts(recording);
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t i = event->block, size = blocks->size[i];
	uint64_t weight = facts->sample_mean ? sample_weight(facts->sample_mean, size, i + 1) : 1;
	uint32_t stack = recording_sites(recording, NULL)[blocks->site[i]].stack;
	struct life *life = life_of_stack(dhat, stack);
	uint64_t end_ns = blocks->freed_ns[i];

	if (event->kind == BLOCK_FREED) {
		life->bytes -= size * weight;
		life->blocks -= weight;
		return;
	}
	life->bytes += size * weight;
	life->blocks += weight;
	if (life->bytes > life->most_bytes) {
		life->most_bytes = life->bytes;
		life->most_blocks = life->blocks;
	}
	if (end_ns == TIME_NEVER)
		end_ns = facts->duration_ns;
	if (end_ns > blocks->allocated_ns[i])
		life->lived_ns += weight * (end_ns - blocks->allocated_ns[i]);
}

static struct err *find_lives(struct dhat *dhat)
{
	const struct export_subject *subject = dhat->subject;
	struct block_events *events = NULL;
	struct block_event event = {0};
	struct err *err;
	uint32_t count;

	if (!live_points_have_events(subject))
		return NULL;
	recording_stacks(subject->blocks, &count);
	dhat->lives = calloc((size_t)count + 1, sizeof(*dhat->lives));
	if (!dhat->lives)
		return err_no_memory();
	err = block_events_create(subject->blocks, subject->match ? subject->match->words : NULL,
				  &events);
	while (!err && event.kind != BLOCK_EVENTS_END) {
		err = block_events_next(events, &event);
		if (!err && event.kind != BLOCK_EVENTS_END)
			take_event(dhat, &event);
	}
	block_events_destroy(events);
	return err;
}

/* --- the file --- */

/* Writes the numbers of a frame's lines, innermost first. */
static struct err *put_frame_numbers(struct dhat *dhat, uint32_t frame)
{
	const struct named_frame *lines;
	struct err *err;
	size_t count;

	err = symbolized_frame(dhat->subject->symbolized, frame, &lines, &count);
	if (err)
		return err;
	if (!dhat->first[frame]) {
		dhat->first[frame] = NO_STACK + 1 + (uint32_t)dhat->table.count;
		for (size_t i = 0; i < count; i++)
			if (!vec_push(&dhat->table, &lines[i]))
				return err_no_memory();
	}
	for (size_t i = 0; i < count; i++)
		json_u64(&dhat->json, dhat->first[frame] + i);
	return NULL;
}

static struct err *put_stack(struct dhat *dhat, uint32_t stack)
{
	const struct stack_node *nodes = recording_stacks(dhat->subject->recording, NULL);
	struct err *err = NULL;

	json_field_array(&dhat->json, "fs");
	if (stack == RECORDING_NONE)
		json_u64(&dhat->json, NO_STACK);
	for (; !err && stack != RECORDING_NONE; stack = nodes[stack].parent)
		err = put_frame_numbers(dhat, nodes[stack].frame);
	json_end(&dhat->json);
	return err;
}

static struct err *put_site(struct dhat *dhat, const struct site *site)
{
	struct json_writer *json = &dhat->json;
	const struct life *life = dhat->lives ? life_of_stack(dhat, site->stack) : NULL;
	struct err *err;

	json_object(json);
	json_field_u64(json, "tb", site->total_bytes);
	json_field_u64(json, "tbk", site->calls);
	if (life)
		json_field_u64(json, "tl", life->lived_ns / NS_PER_US);
	json_field_u64(json, "mb", site->own_peak_bytes);
	json_key(json, "mbk");
	if (life)
		json_u64(json, life->most_blocks);
	else
		json_null(json);
	json_field_u64(json, "gb", site->peak_bytes);
	json_field_u64(json, "gbk", site->peak_blocks);
	json_field_u64(json, "eb", site->leaked_bytes);
	json_field_u64(json, "ebk", site->leaked_blocks);
	err = put_stack(dhat, site->stack);
	json_end(json);
	return err;
}

/* "0x401136: parse (parse.c:12)", as DHAT itself writes it. */
static void put_line(struct dhat *dhat, const struct named_frame *frame)
{
	struct buf *scratch = &dhat->scratch;

	scratch->size = 0;
	buf_printf(scratch, "0x%" PRIX64 ": ", frame->address);
	export_text(scratch, frame->function);
	buf_text(scratch, " (");
	if (!frame->file)
		buf_text(scratch, "in ");
	export_text(scratch, frame->file ? named_frame_file_name(frame) : frame->module);
	if (frame->file && frame->line)
		buf_printf(scratch, ":%" PRIu32, frame->line);
	buf_char(scratch, ')');
	export_json_made(&dhat->json, scratch);
}

static void put_head(struct dhat *dhat)
{
	const struct recording_facts *facts = recording_facts(dhat->subject->recording);
	const struct recording_summary *sum = recording_summary(dhat->subject->recording);
	struct json_writer *json = &dhat->json;

	json_field_u64(json, "dhatFileVersion", FILE_VERSION);
	json_field_text(json, "mode", "heap");
	json_field_text(json, "verb", "Allocated");
	json_key(json, "bklt");
	json_bool(json, true);
	json_key(json, "bkacc");
	json_bool(json, false);
	json_field_text(json, "tu", "\xc2\xb5s");
	json_field_text(json, "Mtu", "s");
	json_field_u64(json, "tuth", SHORT_US);
	json_key(json, "cmd");
	export_json_title(json, &dhat->scratch, facts);
	json_field_u64(json, "pid", facts->pid);
	json_field_u64(json, "tg", sum->peak_time_ns / NS_PER_US);
	json_field_u64(json, "te", facts->duration_ns / NS_PER_US);
}

static struct err *put_document(struct dhat *dhat)
{
	struct json_writer *json = &dhat->json;
	struct err *err = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(dhat->subject->recording, &count);

	json_object(json);
	put_head(dhat);
	json_field_array(json, "pps");
	for (uint32_t i = 0; !err && i < count; i++)
		err = put_site(dhat, &sites[i]);
	json_end(json);
	json_field_array(json, "ftbl");
	json_text(json, "[root]");
	json_text(json, STACK_SUMS_NO_STACK);
	for (size_t i = 0; i < dhat->table.count; i++)
		put_line(dhat, dhat->table.items[i]);
	json_end(json);
	json_end(json);
	return err;
}

struct err *dhat_write(struct buf *buf, const struct export_subject *subject)
{
	cleanup(dhat_deinit) struct dhat dhat = {.subject = subject, .scratch = BUF_EMPTY};
	struct err *err;
	uint32_t count;

	json_init(&dhat.json, buf, false);
	recording_frames(subject->recording, &count);
	dhat.first = calloc((size_t)count + 1, sizeof(*dhat.first));
	if (!dhat.first)
		return err_no_memory();
	err = find_lives(&dhat);
	return err ? err : put_document(&dhat);
}
