#include "cli/memleak/memleak_report.h"

#include "cli/memleak/memleak_parts.h"
#include "hosted/cleanup.h"

/* Why the outer frames of a stack are missing; NULL: they are not. */
static const char *why_cut(const struct outstanding_stack *stack)
{
	switch (stack->end) {
	case STACK_WHOLE:
		return NULL;
	case STACK_TOO_DEEP:
		return "deeper than is kept (--perf-max-stack-depth)";
	case STACK_NO_TABLES:
		return "code without unwind tables and frame pointers";
	case STACK_UNMAPPED:
		return "code that was mapped just before, or an address that is no code";
	default:
		return "the program's stack could not be read";
	}
}

static struct err *add_frame(struct memleak_parts *parts, struct code_names *names,
			     const struct target *target, uint64_t frame)
{
	const struct code_name *found;
	size_t count;
	struct err *err = code_names_find(names, target, frame, &found, &count);

	for (size_t i = 0; !err && i < count; i++)
		if (!vec_push(&parts->frames,
			      (struct memleak_frame){.address = frame & ~FRAME_INTERRUPTED,
						     .function = found[i].function,
						     .offset = found[i].offset,
						     .module = found[i].module,
						     .file = found[i].file,
						     .line = found[i].line,
						     .inlined = found[i].inlined}))
			err = err_no_memory();
	return err;
}

static struct err *add_stack(struct memleak_parts *parts, struct code_names *names,
			     const struct target *target, const struct outstanding_stack *from)
{
	struct memleak_stack stack = {.bytes = from->bytes,
				      .blocks = from->blocks,
				      .lost = from->number == STACK_NONE,
				      .cut = why_cut(from),
				      .first_frame = parts->frames.count};
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < from->frame_count; i++)
		err = add_frame(parts, names, target, from->frames[i]);
	if (err)
		return err;
	stack.frame_count = parts->frames.count - stack.first_frame;
	return vec_push(&parts->stacks, stack) ? NULL : err_no_memory();
}

static struct err *add_warnings(struct memleak_parts *parts, const struct tracer *tracer)
{
	const struct bpf_losses lost = tracer_losses(tracer);
	struct err *err =
		memleak_parts_warn(parts, lost.blocks,
				   "allocations are not counted: the table of live blocks was full "
				   "(--blocks makes it larger)");

	if (!err)
		err = memleak_parts_warn(
			parts, lost.stacks,
			"allocations have no stack: there was no room for more stacks "
			"(--stack-storage-size makes it larger)");
	if (!err)
		err = memleak_parts_warn(
			parts, lost.events,
			"events were lost: sums of mmap may be wrong, and lines of -t missing");
	if (!err)
		err = memleak_parts_warn(parts, lost.calls,
					 "calls were not seen: the kernel had no memory for them");
	if (!err)
		err = memleak_parts_warn(
			parts, tracer_code_left_out(tracer),
			"pieces of code have no unwind tables, as the process has mapped more than "
			"there is room for: stacks end there");
	return err;
}

/* Reads the names of code that was made at run time, for the stacks that are shown. */
static struct err *read_made(struct code_names *names, const struct target *target,
			     const struct outstanding_stack *stacks, size_t count)
{
	VEC(uint64_t) frames = VEC_EMPTY;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		for (uint32_t j = 0; !err && j < stacks[i].frame_count; j++)
			if (!vec_push(&frames, stacks[i].frames[j]))
				err = err_no_memory();
	if (!err)
		err = code_names_read_made(names, target, frames.items, frames.count);
	vec_deinit(&frames);
	return err;
}

static struct err *fill(const struct memleak_wanted *wanted, struct tracer *tracer,
			struct code_names *names, const struct outstanding *all,
			struct memleak_parts *parts)
{
	const struct target *target = tracer_target(tracer);
	size_t shown = all->stacks.count;
	struct err *err = code_names_look(names, target);

	if (wanted->top && shown > wanted->top)
		shown = (size_t)wanted->top;
	if (!err)
		err = read_made(names, target, all->stacks.items, shown);
	for (size_t i = 0; !err && i < shown; i++)
		err = add_stack(parts, names, target, &all->stacks.items[i]);
	if (!err)
		err = memleak_parts_add_blocks(parts, all);
	return err ? err : add_warnings(parts, tracer);
}

struct err *memleak_report(const struct memleak_wanted *wanted,
			   const struct memleak_subject *subject, struct buf *out)
{
	cleanup(outstanding_deinit) struct outstanding all = {0};
	cleanup(memleak_parts_deinit) struct memleak_parts parts = {0};
	struct memleak_view view = {.process = subject->title,
				    .pid = (uint32_t)subject->pid,
				    .name = subject->name,
				    .ended = subject->ended,
				    .no_stacks = !wanted->tracer.depth,
				    .older_ms = subject->older_ns / 1000000};
	struct err *err = tracer_read(subject->tracer, subject->older_ns, wanted->list_blocks,
				      wanted->by_count, &all);

	if (!err)
		err = fill(wanted, subject->tracer, subject->names, &all, &parts);
	if (err)
		return err;
	memleak_parts_sum(&all, &view);
	view.sample_rate = wanted->tracer.sample_rate;
	memleak_parts_write(&parts, wanted, &view, out);
	return NULL;
}
