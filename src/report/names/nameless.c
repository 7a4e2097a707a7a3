#include "report/names/nameless.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/words/format.h"
#include "symbols/debug_package.h"

#define SITES_LOOKED_AT 10
#define MODULES_NAMED   4
#define FRAMES_LEAST    3 /* every program has a stripped _start or two */

/* A module with frames that have no names, or with a damaged file. */
struct nameless {
	const struct recorded_module *module;
	const char *path, *name;
	const char *note; /* what is wrong with its file; NULL: nothing known */
	unsigned frames;  /* how many different frames have no names */
};

struct nameless_list {
	VEC(struct nameless) items;
	bool *seen; /* for each frame of the recording */
	unsigned frames, all_frames;
};

static void nameless_list_deinit(struct nameless_list *list)
{
	vec_deinit(&list->items);
	free(list->seen);
}

static struct nameless *find_module(struct nameless_list *list, const char *path)
{
	for (size_t i = 0; i < list->items.count; i++)
		if (strcmp(list->items.items[i].path, path) == 0)
			return &list->items.items[i];
	return NULL;
}

/* Takes note of a frame that was not seen yet. */
static struct err *note_frame(struct nameless_list *list, struct symbolized *symbolized,
			      uint32_t index)
{
	const struct recording *recording = symbolized_recording(symbolized);
	uint32_t counts, module = recording_frames(recording, &counts)[index].module;
	const struct named_frame *frames;
	struct nameless *known;
	const char *note;
	size_t count;
	struct err *err = symbolized_frame(symbolized, index, &frames, &count);

	list->all_frames++;
	if (err || module == RECORDING_NONE || !frames[0].module)
		return err;
	// Who reads Python's lines misses none of the interpreter's names.
	if (frames[0].beside_scripts && frames[0].plumbing)
		return NULL;
	note = symbolized_note(symbolized, module);
	if (frames[0].has_symbol && !note)
		return NULL;
	known = find_module(list, frames[0].module);
	if (!known && !vec_push(&list->items,
				(struct nameless){
					.module = &recording_modules(recording, &counts)[module],
					.path = frames[0].module,
					.name = frames[0].module_name,
					.note = note,
				}))
		return err_no_memory();
	known = known ? known : &list->items.items[list->items.count - 1];
	known->frames += !frames[0].has_symbol;
	list->frames += !frames[0].has_symbol;
	return NULL;
}

static struct err *add_stack(struct nameless_list *list, struct symbolized *symbolized,
			     uint32_t node)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(symbolized_recording(symbolized), &count);
	struct err *err = NULL;

	for (; !err && node != RECORDING_NONE; node = nodes[node].parent) {
		if (!list->seen[nodes[node].frame])
			err = note_frame(list, symbolized, nodes[node].frame);
		list->seen[nodes[node].frame] = true;
	}
	return err;
}

static void put_note(struct buf *buf, const char *indent, const char *note)
{
	buf_text(buf, indent);
	style_safe_text(buf, note, strlen(note));
	buf_char(buf, '\n');
}

/*
 * Writes what would name the frames of a module: its package's symbols, else the file with its
 * build id.
 */
static struct err *put_module(struct buf *buf, const struct nameless *nameless)
{
	const struct recorded_module *module = nameless->module;
	auto_free char *package = NULL;
	struct err *err = debug_package_find(nameless->path, &package);

	buf_text(buf, "  ");
	style_safe_text(buf, nameless->name, strlen(nameless->name));
	if (package)
		buf_printf(buf, ": package %s-dbgsym or %s-dbg", package, package);
	else if (!module->build_id_size)
		buf_text(buf, ": a build that is not stripped");
	else
		buf_text(buf, ": the debug file of its build, or one that is not stripped");
	if (module->build_id_size)
		buf_text(buf, "\n    build id ");
	buf_hex_bytes(buf, module->build_id, module->build_id_size);
	buf_char(buf, '\n');
	if (nameless->note)
		put_note(buf, "    ", nameless->note);
	return err;
}

static struct err *put_modules(struct buf *buf, const struct nameless_list *list)
{
	unsigned named = 0;
	bool by_build_id = false;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < list->items.count && named < MODULES_NAMED; i++) {
		const struct nameless *nameless = &list->items.items[i];

		if (nameless->frames < FRAMES_LEAST)
			continue;
		if (!named++)
			buf_printf(
				buf, "\n%u of %s have no names. Debug symbols would name most:\n",
				list->frames, format_counted(list->all_frames, "frame", true).text);
		by_build_id |= nameless->module->build_id_size != 0;
		err = put_module(buf, nameless);
	}
	if (by_build_id)
		buf_text(buf, "  Found by build id below /usr/lib/debug and -d PATH, or by "
			      "DEBUGINFOD_URLS.\n");
	return err;
}

/* Writes about files that have most names, and lack some: damaged ones, missing parts. */
static void put_damages(struct buf *buf, const struct nameless_list *list)
{
	unsigned said = 0;

	for (size_t i = 0; i < list->items.count && said < MODULES_NAMED; i++) {
		const struct nameless *nameless = &list->items.items[i];

		if (nameless->frames >= FRAMES_LEAST || !nameless->note)
			continue;
		if (!said++)
			buf_char(buf, '\n');
		put_note(buf, "", nameless->note);
	}
}

struct err *nameless_write(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   const uint32_t *order, uint32_t count)
{
	const struct site *sites = recording_sites(recording, &(uint32_t){0});
	cleanup(nameless_list_deinit) struct nameless_list list = {.items = VEC_EMPTY};
	struct err *err = NULL;
	uint32_t frames;

	recording_frames(recording, &frames);
	list.seen = calloc((size_t)frames + 1, sizeof(*list.seen));
	if (!list.seen)
		return err_no_memory();
	for (uint32_t i = 0; i < count && i < SITES_LOOKED_AT && !err; i++)
		err = add_stack(&list, symbolized, sites[order[i]].stack);
	if (err || !list.items.count)
		return err;
	style_begin(buf, style, STYLE_DIM);
	err = put_modules(buf, &list);
	put_damages(buf, &list);
	style_end(buf, style);
	return err;
}
