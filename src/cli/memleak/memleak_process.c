#include "cli/memleak/memleak_process.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/memleak/memleak_parts.h"
#include "cli/memleak/memleak_trace.h"
#include "ebpf/code_names.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"

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

static struct err *fill_parts(const struct memleak_wanted *wanted, struct tracer *tracer,
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

/* After exec the new program has no allocator yet: how long to look for one. */
#define RETRY_FOR 2000000000ull

static void on_call(void *argument, const struct event *event)
{
	memleak_line_write(((struct memleak_process *)argument)->around->out, event);
}

static void on_fork(void *argument, pid_t child)
{
	const struct memleak_around *around = ((struct memleak_process *)argument)->around;

	around->on_fork(around->argument, child);
}

static void on_exec(void *argument)
{
	((struct memleak_process *)argument)->executed = true;
}

static void read_name(pid_t pid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);

	auto_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(name, (int)size, file))
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = 0;
}

struct err *memleak_process_create(const struct memleak_around *around, pid_t pid,
				   struct memleak_process **ret)
{
	struct memleak_process *process = calloc(1, sizeof(*process));

	if (!process)
		return err_no_memory();
	process->around = around;
	process->pid = pid;
	read_name(pid, process->name, sizeof(process->name));
	process->ended = (int)syscall(SYS_pidfd_open, pid, 0);
	process->retry_until = now_ns() + RETRY_FOR;
	*ret = process;
	return NULL;
}

void memleak_process_destroy(struct memleak_process *process)
{
	if (!process)
		return;
	tracer_destroy(process->tracer);
	code_names_destroy(process->names);
	if (process->ended >= 0)
		close(process->ended);
	free(process);
}

struct err *memleak_process_attach(struct memleak_process *process)
{
	const struct tracer_events events = {
		.argument = process, .on_call = on_call, .on_fork = on_fork, .on_exec = on_exec};
	struct target *target;
	struct err *err = target_open(process->pid, &target);

	if (!err)
		err = tracer_create(target, &process->around->wanted->tracer, &events,
				    &process->tracer);
	if (!err && !process->names)
		err = code_names_create(&process->names);
	if (err)
		return err;
	tracer_start(process->tracer);
	read_name(process->pid, process->name, sizeof(process->name));
	return code_names_look(process->names, tracer_target(process->tracer));
}

void memleak_process_say_hooked(const struct memleak_process *process)
{
	hooked_text_put(process->around->notes, process->tracer);
}

bool memleak_process_has_ended(const struct memleak_process *process)
{
	struct pollfd ended = {.fd = process->ended, .events = POLLIN};

	if (process->ended < 0)
		return kill(process->pid, 0) < 0 && errno == ESRCH;
	return poll(&ended, 1, 0) > 0;
}

struct err *memleak_process_report(const struct memleak_process *process, bool ended)
{
	const struct memleak_wanted *wanted = process->around->wanted;
	cleanup(outstanding_deinit) struct outstanding all = {0};
	cleanup(memleak_parts_deinit) struct memleak_parts parts = {0};
	uint64_t older_ns = ended && !wanted->older_given ? 0 : wanted->older_ns;
	char title[96];
	struct memleak_view view = {.process = wanted->follow ? title : NULL,
				    .pid = (uint32_t)process->pid,
				    .name = process->name,
				    .ended = ended,
				    .no_stacks = !wanted->tracer.depth,
				    .sample_rate = wanted->tracer.sample_rate,
				    .older_ms = older_ns / 1000000};
	struct err *err =
		tracer_read(process->tracer, older_ns, wanted->list_blocks, wanted->by_count, &all);

	snprintf(title, sizeof(title), "pid %d (%s)%s", (int)process->pid, process->name,
		 ended ? ", which has ended" : "");
	if (!err)
		err = fill_parts(wanted, process->tracer, process->names, &all, &parts);
	if (err)
		return err;
	memleak_parts_sum(&all, &view);
	memleak_parts_write(&parts, wanted, &view, process->around->out);
	return NULL;
}

void memleak_process_start_again(struct memleak_process *process)
{
	uint64_t now = now_ns();

	if (process->tracer) {
		tracer_destroy(steal(&process->tracer));
		code_names_destroy(steal(&process->names));
		process->retry_until = now + RETRY_FOR;
	}
	process->executed = false;

	auto_err struct err *err = memleak_process_attach(process);

	if (!err) {
		if (process->fresh)
			buf_printf(process->around->notes,
				   "Process %d (%s), a child, is traced, too.\n", (int)process->pid,
				   process->name);
		else
			buf_printf(process->around->notes, "Process %d executes %s now.\n",
				   (int)process->pid, tracer_target(process->tracer)->program);
		process->fresh = false;
		memleak_process_say_hooked(process);
		return;
	}
	if (now < process->retry_until || process->gone)
		return;
	process->gone = true;
	buf_printf(process->around->notes, "Process %d is not traced any more: %s.\n",
		   (int)process->pid, err_message(err));
}

void memleak_process_add_children(struct memleak_process *process)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/children", (int)process->pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		auto_fclose FILE *file = fopen(found.gl_pathv[i], "re");
		int child;

		while (file && fscanf(file, "%d", &child) == 1)
			on_fork(process, child);
	}
	globfree(&found);
}
