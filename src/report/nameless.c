#include "report/nameless.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"

#define SITES_LOOKED_AT 10
#define MODULES_NAMED   4
#define FRAMES_LEAST    3 /* a stripped _start or two are in every program */

/* A module without names, and the last frame that showed it. */
struct nameless {
	const char *module;
	uint64_t address;
	unsigned frames; /* different ones */
};

struct nameless_list {
	VEC(struct nameless) items;
};

static void nameless_list_deinit(struct nameless_list *list)
{
	vec_deinit(&list->items);
}

static struct err *add(struct nameless_list *list, const struct named_frame *frame)
{
	for (size_t i = 0; i < list->items.count; i++) {
		struct nameless *known = &list->items.items[i];

		if (strcmp(known->module, frame->module_name) != 0)
			continue;
		known->frames += known->address != frame->address;
		known->address = frame->address;
		return NULL;
	}
	return vec_push(&list->items, (struct nameless){frame->module_name, frame->address, 1})
		       ? NULL
		       : err_no_memory();
}

static struct err *add_stack(struct nameless_list *list, const struct recording *recording,
			     struct symbolized *symbolized, uint32_t node)
{
	const struct stack_node *nodes = recording_stacks(recording, &(uint32_t){0});

	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *frames;
		size_t count;
		struct err *err = symbolized_frame(symbolized, nodes[node].frame, &frames, &count);

		if (!err && !frames[0].has_symbol && frames[0].module_name)
			err = add(list, &frames[0]);
		if (err)
			return err;
	}
	return NULL;
}

static void put_line(struct buf *buf, const struct style *style, const struct nameless_list *list)
{
	unsigned named = 0;

	for (size_t i = 0; i < list->items.count && named < MODULES_NAMED; i++) {
		const struct nameless *module = &list->items.items[i];

		if (module->frames < FRAMES_LEAST)
			continue;
		if (!named++) {
			buf_char(buf, '\n');
			style_begin(buf, style, STYLE_DIM);
			buf_text(buf, "Functions without names are in: ");
		} else {
			buf_text(buf, ", ");
		}
		style_safe_text(buf, module->module, strlen(module->module));
	}
	if (!named)
		return;
	buf_text(buf, "\nDebug packages, or a build that is not stripped, would name them.\n");
	style_end(buf, style);
}

struct err *nameless_write(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   const uint32_t *order, uint32_t count)
{
	const struct site *sites = recording_sites(recording, &(uint32_t){0});
	cleanup(nameless_list_deinit) struct nameless_list list = {VEC_EMPTY};
	struct err *err = NULL;

	for (uint32_t i = 0; i < count && i < SITES_LOOKED_AT && !err; i++)
		err = add_stack(&list, recording, symbolized, sites[order[i]].stack);
	if (!err)
		put_line(buf, style, &list);
	return err;
}
