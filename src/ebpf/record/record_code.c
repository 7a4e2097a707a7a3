#include "ebpf/record/record_code.h"

#include <limits.h>
#include <string.h>

#include "base/compiler.h"
#include "symbols/elf_image.h"

/* Below bit 48 are all addresses of programs. */
#define MODULE_SHIFT 48
#define MODULES_MAX  0xffff

void record_code_deinit(struct record_code *code)
{
	vec_deinit(&code->spans);
	vec_deinit(&code->frames);
	vec_deinit(&code->stacks);
	vec_deinit(&code->modules);
	lasting_modules_deinit(&code->lasting);
	map_deinit(&code->by_number);
	map_deinit(&code->frame_ids);
}

static bool is_mapped(const struct target *target, const struct target_span *span)
{
	const struct target_span *now = target_find(target, span->start);

	return now && now->start == span->start && now->bias == span->bias &&
	       now->module == span->module;
}

/* The known span of which this is (a part of) the code. NULL: it is new. */
static const struct recorded_span *find_known(const struct record_code *code,
					      const struct target_span *span)
{
	for (size_t i = 0; i < code->spans.count; i++) {
		const struct target_span *known = &code->spans.items[i].span;

		if (known->module == span->module && known->bias == span->bias &&
		    (span->module != TARGET_NO_MODULE || known->start == span->start))
			return &code->spans.items[i];
	}
	return NULL;
}

/* From the first to the last address of code that the module has at that place. */
static void find_extent(const struct target *target, const struct target_span *span,
			uint64_t *start, uint64_t *end)
{
	*start = span->start;
	*end = span->end;
	for (size_t i = 0; i < target->spans.count; i++) {
		const struct target_span *other = &target->spans.items[i];

		if (other->module != span->module || other->bias != span->bias)
			continue;
		if (other->start < *start)
			*start = other->start;
		if (other->end > *end)
			*end = other->end;
	}
}

/* The module's build id, if it can be read. Returns its size. */
static size_t read_build_id(const struct target_module *module, uint8_t ret[ELF_IMAGE_BUILD_ID_MAX])
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	const uint8_t *id;
	struct err *err = module->open_path ? elf_image_open(module->open_path, &image) : NULL;
	size_t size = image ? elf_image_build_id(image, &id) : 0;

	err_destroy(err);
	if (size > ELF_IMAGE_BUILD_ID_MAX)
		size = 0;
	if (size)
		memcpy(ret, id, size);
	return size;
}

/* Counts earlier modules with the same path. */
static uint64_t generation(const struct record_code *code, const struct target *target,
			   const struct target_module *module)
{
	uint64_t earlier = 0;

	for (size_t i = 0; i < code->modules.count; i++)
		earlier +=
			!strcmp(target->modules.items[code->modules.items[i]].path, module->path);
	return earlier;
}

/* Writes the record of a module that is new at that place. *ret: its id, 0 if there is none left.
 */
static struct err *add_module(struct record_code *code, const struct target *target,
			      const struct target_span *span, uint64_t now_ns,
			      struct recording_file *file, uint32_t *ret)
{
	const struct target_module *module = &target->modules.items[span->module];
	uint8_t text[ELF_IMAGE_BUILD_ID_MAX + PATH_MAX];
	size_t id_size = read_build_id(module, text);
	size_t path_size = strnlen(module->path, PATH_MAX);
	uint64_t start, end;

	*ret = 0;
	if (code->modules.count == MODULES_MAX)
		return NULL;
	memcpy(text + id_size, module->path, path_size);
	find_extent(target, span, &start, &end);

	const uint64_t fields[] = {code->modules.count + 1,
				   generation(code, target, module),
				   span->bias,
				   start,
				   end,
				   id_size};

	recording_file_fact(file, 0,
			    &(struct recording_fact){.kind = TRACE_RECORD_MODULE,
						     .has_time = true,
						     .ticks = now_ns,
						     .fields = fields,
						     .count = ARRAY_COUNT(fields),
						     .text = text,
						     .size = id_size + path_size});
	if (!vec_push(&code->modules, span->module))
		return err_no_memory();
	*ret = (uint32_t)code->modules.count;
	return NULL;
}

static bool has_span(const struct record_code *code, uint32_t id)
{
	for (size_t i = 0; i < code->spans.count; i++)
		if (code->spans.items[i].id == id)
			return true;
	return false;
}

/* Drops spans that are mapped no more. Stacks that came through them mean other code from now on.
 */
static void drop_gone(struct record_code *code, const struct target *target, uint64_t now_ns,
		      struct recording_file *file)
{
	bool dropped = false;

	for (size_t i = code->spans.count; i-- > 0;) {
		const uint64_t id = code->spans.items[i].id;

		if (is_mapped(target, &code->spans.items[i].span))
			continue;
		code->spans.items[i] = code->spans.items[--code->spans.count];
		dropped = true;
		if (id && !has_span(code, (uint32_t)id))
			recording_file_fact(
				file, 0,
				&(struct recording_fact){.kind = TRACE_RECORD_MODULE_GONE,
							 .has_time = true,
							 .ticks = now_ns,
							 .fields = &id,
							 .count = 1});
	}
	if (dropped) {
		map_deinit(&code->by_number);
		code->by_number = (struct map){0};
		code->stacks.count = code->frames.count = 0;
		code->one_off = false;
	}
}

struct err *record_code_look(struct record_code *code, const struct target *target, uint64_t now_ns,
			     struct recording_file *file)
{
	struct err *err = code->looked ? NULL : lasting_modules_find(target, &code->lasting);

	drop_gone(code, target, now_ns, file);
	for (size_t i = 0; !err && i < target->spans.count; i++) {
		struct recorded_span span = {.span = target->spans.items[i]};
		const struct recorded_span *known = find_known(code, &span.span);

		if (known && known->span.start == span.span.start)
			continue;
		span.lasting = lasting_modules_have(&code->lasting, &span.span);
		if (known)
			span.id = known->id;
		else if (span.span.module != TARGET_NO_MODULE)
			err = add_module(code, target, &span.span, now_ns, file, &span.id);
		if (!err && !vec_push(&code->spans, span))
			err = err_no_memory();
	}
	code->looked = true;
	return err;
}

static const struct recorded_span *span_at(const struct record_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->spans.count; i++) {
		const struct recorded_span *span = &code->spans.items[i];

		if (address >= span->span.start && address < span->span.end)
			return span;
	}
	return NULL;
}

/* The module record in which an address is. 0: in none. */
static uint32_t module_at(const struct record_code *code, uint64_t address)
{
	const struct recorded_span *span = span_at(code, address);

	return span ? span->id : 0;
}

/* How many of the frames, from the innermost on, are in code that was there at any time. */
static uint32_t count_settled(const struct record_code *code, const uint64_t *frames,
			      uint32_t count)
{
	uint32_t settled = 0;

	while (settled < count) {
		const struct recorded_span *span =
			span_at(code, (frames[settled] & ~FRAME_INTERRUPTED) - 1);

		if (!span || !span->lasting)
			break;
		settled++;
	}
	return settled;
}

/* The frame's id, which is written if it is new. */
static struct err *define_frame(struct record_code *code, uint64_t frame,
				struct recording_file *file, uint32_t *ret)
{
	// The format has return addresses: the caller is before it.
	uint64_t pc = frame & FRAME_INTERRUPTED ? (frame & ~FRAME_INTERRUPTED) + 1 : frame;
	uint64_t module = module_at(code, pc - 1);
	uint64_t *id = map_put(&code->frame_ids, module << MODULE_SHIFT | pc);

	if (!id)
		return err_no_memory();
	if (*id == MAP_NONE) {
		*id = code->frame_ids.count;

		const uint64_t fields[] = {*id, pc, module};

		recording_file_fact(file, 0,
				    &(struct recording_fact){.kind = TRACE_RECORD_FRAME,
							     .fields = fields,
							     .count = 3});
	}
	*ret = (uint32_t)*id;
	return NULL;
}

/* What stands in place of the outer frames, if they are missing. */
static enum trace_pc outermost(const struct outstanding_stack *stack)
{
	return stack->end == STACK_TOO_DEEP ? TRACE_PC_TRUNCATED : TRACE_PC_BROKEN;
}

static struct err *add_stack(struct record_code *code, const struct outstanding_stack *from,
			     struct recording_file *file, struct recorded_stack *ret)
{
	bool whole = from->number != STACK_NONE && from->end == STACK_WHOLE;
	struct err *err = NULL;

	*ret = (struct recorded_stack){
		.first = code->frames.count,
		.count = from->frame_count + !whole,
		.end = from->number == STACK_NONE ? STACK_UNREADABLE : from->end,
		.lost = from->number == STACK_NONE,
	};
	if (!vec_reserve(&code->frames, ret->count))
		return err_no_memory();
	if (!whole)
		code->frames.items[code->frames.count++] =
			(struct record_frame){0, outermost(from)};
	for (uint32_t i = from->frame_count; !err && i-- > 0;) {
		struct record_frame *frame = &code->frames.items[code->frames.count++];

		*frame = (struct record_frame){0};
		err = define_frame(code, from->frames[i], file, &frame->id);
	}
	return err;
}

/* A stack that was taken while libraries changed. It is not kept: its number may mean another. */
static struct err *add_one_off(struct record_code *code, struct outstanding_stack stack,
			       struct recording_file *file, struct recorded_stack *ret)
{
	uint32_t settled = count_settled(code, stack.frames, stack.frame_count);

	if (settled < stack.frame_count) {
		stack.frame_count = settled;
		stack.end = STACK_UNMAPPED;
	}
	code->one_off = true;
	code->one_off_first = code->frames.count;
	return add_stack(code, &stack, file, ret);
}

struct err *record_code_stack(struct record_code *code, const struct tracer *tracer,
			      uint32_t number, uint32_t generation, struct recording_file *file,
			      struct recorded_stack *ret)
{
	uint64_t *index;
	struct err *err;

	if (code->one_off)
		code->frames.count = code->one_off_first;
	code->one_off = false;
	if (generation != tracer_generation(tracer))
		return add_one_off(code, tracer_stack(tracer, number), file, ret);
	index = map_put(&code->by_number, number);
	if (!index)
		return err_no_memory();
	if (*index != MAP_NONE) {
		*ret = code->stacks.items[*index];
		return NULL;
	}
	*index = code->stacks.count;

	const struct outstanding_stack stack = tracer_stack(tracer, number);

	err = add_stack(code, &stack, file, ret);
	if (!err && !vec_push(&code->stacks, *ret))
		err = err_no_memory();
	return err;
}
