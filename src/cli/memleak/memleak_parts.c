#include "cli/memleak/memleak_parts.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "report/json/memleak_json.h"
#include "report/text/memleak_text.h"
#include "report/words/format.h"

void memleak_parts_deinit(struct memleak_parts *parts)
{
	vec_deinit(&parts->frames);
	vec_deinit(&parts->stacks);
	vec_deinit(&parts->blocks);
	vec_deinit(&parts->warnings);
	arena_deinit(&parts->arena);
}

struct err *memleak_parts_add_blocks(struct memleak_parts *parts, const struct outstanding *all)
{
	for (size_t i = 0; i < all->blocks.count; i++)
		if (!vec_push(&parts->blocks, (struct memleak_block){all->blocks.items[i].address,
								     all->blocks.items[i].size}))
			return err_no_memory();
	return NULL;
}

struct err *memleak_parts_warn_text(struct memleak_parts *parts, const char *text)
{
	const char *copy = arena_text(&parts->arena, text);

	return copy && vec_push(&parts->warnings, copy) ? NULL : err_no_memory();
}

struct err *memleak_parts_warn(struct memleak_parts *parts, uint64_t count, const char *text)
{
	struct buf line = BUF_EMPTY;
	struct err *err = NULL;

	if (!count)
		return NULL;
	buf_printf(&line, "%s %s", format_count(count, true).text, text);
	err = buf_string(&line) ? memleak_parts_warn_text(parts, buf_string(&line))
				: err_no_memory();
	buf_deinit(&line);
	return err;
}

void memleak_parts_sum(const struct outstanding *all, struct memleak_view *view)
{
	view->all_stacks = all->stacks.count;
	view->all_whole = 0;
	for (size_t i = 0; i < all->stacks.count; i++)
		view->all_whole += all->stacks.items[i].number != STACK_NONE &&
				   all->stacks.items[i].end == STACK_WHOLE;
	view->all_bytes = all->bytes;
	view->all_blocks = all->block_count;
	view->young = all->young;
}

void memleak_parts_write(const struct memleak_parts *parts, const struct memleak_wanted *wanted,
			 struct memleak_view *view, struct buf *out)
{
	time_t now = time(NULL);

	localtime_r(&now, &view->time);
	view->frames = parts->frames.items;
	view->stacks = parts->stacks.items;
	view->stack_count = parts->stacks.count;
	view->blocks = parts->blocks.items;
	view->block_count = parts->blocks.count;
	view->warnings = parts->warnings.items;
	view->warning_count = parts->warnings.count;
	if (wanted->json)
		memleak_json_write(out, view);
	else
		memleak_text_write(out, &(struct memleak_style){wanted->addresses}, view);
}

void hooked_text_put(struct buf *buf, const struct tracer *tracer)
{
	const struct target *target = tracer_target(tracer);
	const struct hooks *hooks = tracer_hooks(tracer);

	for (size_t i = 0; i < hooks->modules.count; i++) {
		const struct hooked_module *module = &hooks->modules.items[i];

		buf_printf(buf, "Probing %s in %s at %u places (%s).\n", module->allocator,
			   target->modules.items[module->module].path, module->probes,
			   probe_way_name(tracer_way(tracer)));
	}
	for (size_t i = 0; i < hooks->unprobed.count; i++) {
		const struct unprobed_function *function = &hooks->unprobed.items[i];

		buf_printf(buf, "Not probed: %s in %s (%s); its blocks are not seen.\n",
			   function->name, target->modules.items[function->module].path,
			   function->why);
	}
}

void memleak_line_write(struct buf *out, const struct event *event)
{
	buf_shown(out, event->name, strnlen(event->name, sizeof(event->name)));
	buf_printf(out, "-%u [%03u] %" PRIu64 ".%06u: ", event->tid, event->cpu,
		   event->time_ns / 1000000000, (unsigned)(event->time_ns / 1000 % 1000000));
	switch (event->kind) {
	case EVENT_ENTERED:
		buf_printf(out, "alloc entered, size = %" PRIu64 "\n", event->size);
		break;
	case EVENT_EXITED:
		buf_printf(out, "alloc exited, size = %" PRIu64 ", result = %" PRIx64 "\n",
			   event->size, event->address);
		break;
	default:
		buf_printf(out, "free entered, address = %" PRIx64 ", size = %" PRIu64 "\n",
			   event->address, event->size);
	}
}
