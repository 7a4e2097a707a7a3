#include "report/export/dump_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/words/style.h"

void dump_names_deinit(struct dump_names *names)
{
	for (size_t i = 0; i < names->modules.count; i++)
		free(names->modules.items[i].name);
	vec_deinit(&names->modules);
	vec_deinit(&names->frames);
	map_deinit(&names->frame_by_id);
	map_deinit(&names->module_by_id);
}

static struct err *note_module(struct dump_names *names, const struct decode_event *event)
{
	const struct decode_text *path = &event->module.path;
	const char *slash = path->size ? memrchr(path->data, '/', path->size) : NULL;
	const char *name = slash ? slash + 1 : path->data;
	struct dump_module module = {.id = event->module.id, .bias = event->module.bias};
	uint64_t *place;

	module.name =
		path->size ? strndup(name, (size_t)(path->data + path->size - name)) : strdup("");
	if (!module.name)
		return err_no_memory();
	if (!vec_push(&names->modules, module)) {
		free(module.name);
		return err_no_memory();
	}
	place = map_put(&names->module_by_id, module.id);
	if (!place)
		return err_no_memory();
	*place = names->modules.count - 1;
	return NULL;
}

static struct err *note_frame(struct dump_names *names, const struct decode_event *event)
{
	uint64_t *place;

	if (!vec_push(&names->frames, (struct dump_frame){event->frame.pc, event->frame.module}))
		return err_no_memory();
	place = map_put(&names->frame_by_id, event->frame.id);
	if (!place)
		return err_no_memory();
	*place = names->frames.count - 1;
	return NULL;
}

struct err *dump_names_note(struct dump_names *names, const struct decode_event *event)
{
	if (event->kind == TRACE_RECORD_MODULE)
		return note_module(names, event);
	if (event->kind == TRACE_RECORD_FRAME)
		return note_frame(names, event);
	return NULL;
}

static const struct dump_frame *find(const struct dump_names *names,
				     const struct decode_frame *frame)
{
	uint64_t at = frame->id ? map_get(&names->frame_by_id, frame->id) : MAP_NONE;

	return at == MAP_NONE ? NULL : &names->frames.items[at];
}

uint64_t dump_names_pc(const struct dump_names *names, const struct decode_frame *frame)
{
	const struct dump_frame *found = find(names, frame);

	return found ? found->pc : frame->pc;
}

void dump_names_put(struct buf *buf, const struct dump_names *names,
		    const struct decode_frame *frame)
{
	const struct dump_frame *found = find(names, frame);
	uint64_t pc = dump_names_pc(names, frame);
	uint64_t at =
		found && found->module ? map_get(&names->module_by_id, found->module) : MAP_NONE;

	if (frame->id && !found) {
		buf_printf(buf, "[undefined frame %" PRIu64 "]", frame->id);
	} else if (pc == TRACE_PC_TRUNCATED) {
		buf_text(buf, "[cut at DEPTH]");
	} else if (pc == TRACE_PC_BROKEN) {
		buf_text(buf, "[frames outside not found]");
	} else if (pc == TRACE_PC_LOST) {
		buf_text(buf, "[lost]");
	} else if (at == MAP_NONE) {
		buf_printf(buf, "0x%" PRIx64, pc);
	} else {
		const struct dump_module *module = &names->modules.items[at];

		style_safe_text(buf, module->name, strlen(module->name));
		buf_printf(buf, "+0x%" PRIx64, pc - module->bias);
	}
}
