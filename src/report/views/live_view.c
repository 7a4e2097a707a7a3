#include "report/views/live_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/leaks/suppressed.h"
#include "analysis/trees/tree.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "report/export/collapsed.h"
#include "report/views/site_order.h"

static const char suppression[] = "leak:";

void live_ignore_deinit(struct live_ignore *ignore)
{
	vec_deinit(&ignore->texts);
	suppressions_destroy(ignore->suppressions);
	arena_deinit(&ignore->arena);
	*ignore = (struct live_ignore){0};
}

static struct err *add_line(struct live_ignore *ignore, const char *origin, const char *line)
{
	struct err *err = NULL;

	if (!*line || *line == '#')
		return NULL;
	if (strncmp(line, suppression, strlen(suppression)) != 0)
		return vec_push(&ignore->texts, line) ? NULL : err_no_memory();
	if (!ignore->suppressions)
		err = suppressions_create(&ignore->suppressions);
	return err ? err : suppressions_add(ignore->suppressions, origin, line, strlen(line));
}

struct err *live_ignore_add(struct live_ignore *ignore, const char *origin, const char *text,
			    size_t size)
{
	char *line = arena_copy(&ignore->arena, text, size);
	struct err *err = line ? NULL : err_no_memory();

	while (!err && line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = 0;
		line[strcspn(line, "\r")] = 0;
		err = add_line(ignore, origin, line);
		line = end ? end + 1 : NULL;
	}
	return err;
}

/* Whether text contains one of the lines (but not leak:PATTERN). */
static bool live_ignore_has_text(const struct live_ignore *ignore, const char *text)
{
	for (size_t i = 0; i < ignore->texts.count; i++)
		if (strstr(text, ignore->texts.items[i]))
			return true;
	return false;
}

struct err *live_frame_lines(const struct style *style, struct symbolized *symbolized,
			     uint32_t stack, uint32_t depth, struct stack_lines *ret)
{
	struct err *err = stack_lines_make(style, symbolized, stack, ret);
	size_t printed = 0;

	while (!err && printed < ret->list.count &&
	       (style->full ? ret->list.items[printed].number : printed) < depth)
		printed++;
	ret->list.count = printed;
	return err;
}

/* "0 [0x7fe72e46476c] ", "12 [      0xf27811] "; what is no code has no address. */
static size_t put_address(struct buf *buf, unsigned number, uint64_t pc, bool shown)
{
	char text[40], address[24] = "";

	if (pc > TRACE_PC_LAST_SPECIAL && !(pc & TRACE_PC_SCRIPT))
		snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	snprintf(text, sizeof(text), "%u [%14s] ", number, address);
	if (shown)
		buf_text(buf, text);
	else
		buf_repeat(buf, ' ', strlen(text));
	return strlen(text);
}

void live_frame_put(struct buf *buf, const struct style *style, const struct recording *recording,
		    const struct stack_line *line, const struct stack_line *before)
{
	uint32_t frame = recording_stacks(recording, NULL)[line->node].frame;
	uint64_t pc = recording_frames(recording, NULL)[frame].pc;
	size_t column =
		put_address(buf, line->number, pc, !before || before->number != line->number);

	stack_line_put(buf, style, line, column);
	buf_char(buf, '\n');
}

void live_view_deinit(struct live_view *view)
{
	free(view->order);
	*view = (struct live_view){0};
}

const char *live_key_name(enum live_key key)
{
	return key == LIVE_BY_COUNT ? "count" : "size";
}

/*
 * Which frames the file of --ignore names. Thousands of backtraces share frames: each is looked up
 * by its number in the stack and its index, as both are in its text, and becomes text once.
 */
struct ignored_frames {
	struct map known; /* 1: it is named */
	struct buf text;
};

static void ignored_frames_deinit(struct ignored_frames *frames)
{
	map_deinit(&frames->known);
	buf_deinit(&frames->text);
}

/* Writes the frame of a node as it is printed, and as it would be with --full. */
static struct err *put_texts(const struct live_view *view, struct buf *buf, uint32_t node,
			     unsigned number)
{
	static const struct style forms[] = {{.offsets = true}, {.offsets = true, .full = true}};
	struct stack_line line = {.node = node, .number = number, .repeated = 1};
	const struct named_frame *frames;
	size_t count;
	struct err *err = symbolized_frame(view->symbolized,
					   recording_stacks(view->recording, NULL)[node].frame,
					   &frames, &count);

	for (size_t form = 0; !err && form < ARRAY_COUNT(forms); form++)
		for (size_t i = 0; i < count; i++) {
			line.frame = &frames[i];
			live_frame_put(buf, &forms[form], view->recording, &line, i ? &line : NULL);
		}
	return err;
}

static struct err *is_ignored_frame(const struct live_view *view, struct ignored_frames *frames,
				    uint32_t node, unsigned number, bool *ret)
{
	uint32_t frame = recording_stacks(view->recording, NULL)[node].frame;
	uint64_t *known = map_put(&frames->known, (uint64_t)number << 32 | frame);
	struct err *err = known ? NULL : err_no_memory();
	const char *text;

	if (!err && *known == MAP_NONE) {
		*known = 0;
		frames->text.size = 0;
		err = put_texts(view, &frames->text, node, number);
		text = err ? NULL : buf_string(&frames->text);
		if (text)
			*known = live_ignore_has_text(view->options.ignore, text);
		else if (!err)
			err = err_no_memory();
	}
	*ret = !err && *known;
	return err;
}

/* *ret: for how many frames of a stack the printed lines stand. */
static struct err *count_printed(const struct live_view *view, uint32_t stack, unsigned *ret)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	struct err *err;

	*ret = view->options.depth;
	if (view->options.full)
		return NULL;
	err = live_frame_lines(&(struct style){.offsets = true}, view->symbolized, stack,
			       view->options.depth, &lines);
	if (!err)
		*ret = lines.list.count ? lines.list.items[lines.list.count - 1].last + 1 : 0;
	return err;
}

/* Whether one of the frames that printed lines stand for is ignored. */
static struct err *is_ignored_stack(const struct live_view *view, struct ignored_frames *frames,
				    uint32_t node, bool *ret)
{
	unsigned printed;
	const struct stack_node *nodes = recording_stacks(view->recording, NULL);
	struct err *err = count_printed(view, node, &printed);

	*ret = node == RECORDING_NONE &&
	       live_ignore_has_text(view->options.ignore, LIVE_FRAME_NO_STACK);
	for (unsigned i = 0; !err && !*ret && node != RECORDING_NONE && i < printed; i++) {
		err = is_ignored_frame(view, frames, node, i, ret);
		node = nodes[node].parent;
	}
	return err;
}

/* The sites of order that are ignored go. */
static struct err *leave_out(struct live_view *view, const struct site *sites)
{
	cleanup(ignored_frames_deinit) struct ignored_frames frames = {.text = BUF_EMPTY};
	struct err *err = NULL;
	uint32_t kept = 0;

	for (uint32_t i = 0; !err && i < view->live; i++) {
		const struct site *site = &sites[view->order[i]];
		bool ignored;

		err = is_ignored_stack(view, &frames, site->stack, &ignored);
		if (ignored) {
			view->ignored_sites++;
			view->ignored_bytes += site->leaked_bytes;
		} else {
			view->order[kept++] = view->order[i];
		}
	}
	view->live = kept;
	return err;
}

/* All sites that are to be shown, in their order. */
static struct err *choose(struct live_view *view)
{
	cleanup(suppressed_deinit) struct suppressed suppressed = {0};
	const struct live_ignore *ignore = view->options.ignore;
	const struct recording *recording = view->recording;
	const struct site *sites;
	struct err *err = NULL;
	uint32_t count;

	if (ignore && ignore->suppressions) {
		err = suppressed_create(ignore->suppressions, recording, view->symbolized,
					&suppressed);
		if (err)
			return err;
		recording = suppressed.recording;
		view->ignored_sites = suppressed.all.sites;
		view->ignored_bytes = suppressed.all.bytes;
	}
	sites = recording_sites(recording, &count);
	err = site_order_live(sites, count, view->options.key == LIVE_BY_COUNT, &view->order,
			      &view->live);
	if (!err && ignore && ignore->texts.count)
		err = leave_out(view, sites);
	return err;
}

struct err *live_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct live_view_options *options, struct live_view *ret)
{
	cleanup(live_view_deinit) struct live_view view = {
		.options = *options,
		.recording = recording,
		.symbolized = symbolized,
	};
	struct err *err = choose(&view);

	if (err)
		return err;
	view.shown = options->top && options->top < view.live ? options->top : view.live;
	*ret = view;
	view = (struct live_view){0};
	return NULL;
}

struct err *live_view_collapsed(struct buf *buf, const struct live_view *view)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	auto_free struct site *shown = calloc((size_t)view->shown + 1, sizeof(*shown));
	uint32_t count;
	const struct site *sites = recording_sites(view->recording, &count);
	struct err *err;

	if (!shown)
		return err_no_memory();
	for (uint32_t i = 0; i < view->shown; i++)
		shown[i] = sites[view->order[i]];
	err = tree_create_of_sites(view->recording, view->symbolized, shown, view->shown,
				   METRIC_LEAKED, TREE_WHOLE, &tree);
	return err ? err : collapsed_write(buf, tree);
}
