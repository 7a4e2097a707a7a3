#include "report/json/memleak_json.h"

#include <stdio.h>

#include "hosted/json_writer.h"

static void put_frame(struct json_writer *json, const struct memleak_frame *frame)
{
	json_object(json);
	json_field_hex(json, "address", frame->address);
	json_field_text(json, "function", frame->function);
	json_field_u64(json, "offset", frame->offset);
	json_field_text(json, "module", frame->module);
	json_field_text(json, "file", frame->file);
	json_field_u64(json, "line", frame->line);
	json_field_bool(json, "inlined", frame->inlined);
	json_end(json);
}

static void put_stack(struct json_writer *json, const struct memleak_view *view,
		      const struct memleak_stack *stack)
{
	json_object(json);
	json_field_u64(json, "bytes", stack->bytes);
	json_field_u64(json, "allocations", stack->blocks);
	json_field_bool(json, "whole", !stack->cut && !stack->lost);
	json_field_text(json, "cut", stack->lost ? "stack information lost" : stack->cut);
	if (view->kernel) {
		json_field_text(json, "cache", stack->cache);
		json_field_text(json, "doubt", stack->doubt);
	}
	json_field_array(json, "frames");
	for (size_t i = 0; i < stack->frame_count; i++)
		put_frame(json, &view->frames[stack->first_frame + i]);
	json_end(json);
	json_end(json);
}

static void put_blocks(struct json_writer *json, const struct memleak_view *view)
{
	json_field_array(json, "blocks");
	for (size_t i = 0; i < view->block_count; i++) {
		json_object(json);
		json_field_hex(json, "address", view->blocks[i].address);
		json_field_u64(json, "size", view->blocks[i].size);
		json_end(json);
	}
	json_end(json);
}

/* Of the kernel only. */
static void put_kernel(struct json_writer *json, const struct memleak_view *view)
{
	json_field_u64(json, "gone_allocations", view->gone);
	json_field_array(json, "pages");
	for (size_t i = 0; i < view->page_count; i++) {
		json_object(json);
		json_field_text(json, "use", view->pages[i].name);
		json_field_u64(json, "bytes", view->pages[i].bytes);
		json_field_u64(json, "pages", view->pages[i].pages);
		json_end(json);
	}
	json_end(json);
	json_field_array(json, "caches");
	for (size_t i = 0; i < view->cache_count; i++) {
		json_object(json);
		json_field_text(json, "name", view->caches[i].name);
		json_field_u64(json, "outstanding", view->caches[i].outstanding);
		json_field_i64(json, "grew", view->caches[i].grew);
		json_end(json);
	}
	json_end(json);
}

void memleak_json_write(struct buf *buf, const struct memleak_view *view)
{
	struct json_writer json;
	char time[32];

	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S%z", &view->time);
	json_init(&json, buf, false);
	json_object(&json);
	json_field_text(&json, "time", time);
	json_field_u64(&json, "pid", view->pid);
	json_field_text(&json, "name", view->name);
	json_field_bool(&json, "ended", view->ended);
	json_field_u64(&json, "sample_rate", view->sample_rate);
	json_field_u64(&json, "bytes", view->all_bytes);
	json_field_u64(&json, "allocations", view->all_blocks);
	json_field_u64(&json, "young_allocations", view->young);
	json_field_u64(&json, "stack_count", view->all_stacks);
	json_field_u64(&json, "whole_stacks", view->all_whole);
	json_field_array(&json, "warnings");
	for (size_t i = 0; i < view->warning_count; i++)
		json_text(&json, view->warnings[i]);
	json_end(&json);
	if (view->kernel)
		put_kernel(&json, view);
	if (view->blocks)
		put_blocks(&json, view);
	json_field_array(&json, "stacks");
	for (size_t i = 0; i < view->stack_count; i++)
		put_stack(&json, view, &view->stacks[i]);
	json_end(&json);
	json_end(&json);
	buf_char(buf, '\n');
}
