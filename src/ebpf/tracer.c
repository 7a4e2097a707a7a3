/* Making and driving a tracer. See tracer.h. */
#include "ebpf/tracer.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ebpf/bpf_support.h"
#include "hosted/page_size.h"
#include "ebpf/target/loader_state.h"
#include "ebpf/tracer_data.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
// Made by bpftool out of bpf/memleak.bpf.c; it names types of bpf_shared.h.
#include <memleak.skel.h>

/* Rows for libraries that the process opens later: as many as it has, and at least these. */
#define SPARE_ROWS 262144

/* PROC_PID_INIT_INO of the kernel. */
#define FIRST_PID_NAMESPACE 0xeffffffc

/* How many events one tracer_poll() handles. */
#define EVENTS_AT_ONCE 16384

/* How long stacks that come to unknown code cannot ask again after nothing new was found. */
#define QUIET_NS 100000000ull

/* The ring with options->record: some tenths of a second of calls, as fast as they can come. */
#define RECORD_RING (32u << 20)

/* Words of `stacks` for each: as deep as stacks of large programs are on average. */
#define WORDS_PER_STACK 32

CLEANUP_DEFINE(struct tracer *, tracer_destroy);

static struct probe_programs programs_of(const struct memleak_bpf *bpf)
{
	return (struct probe_programs){
		.session = bpf->progs.on_session,
		.entry = bpf->progs.on_entry,
		.ret = bpf->progs.on_return,
		.exit = bpf->progs.on_exit,
		.release = bpf->progs.on_free,
	};
}

/* Puts our PID namespace there, unless it is the first one, by whose numbers the kernel counts. */
static void pid_namespace(struct bpf_settings *settings)
{
	struct stat own;

	if (stat("/proc/self/ns/pid", &own) || own.st_ino == FIRST_PID_NAMESPACE)
		return;
	settings->pid_ns_device = own.st_dev;
	settings->pid_ns_inode = own.st_ino;
}

/* What is fixed once the programs are loaded: constants and the sizes of tables. */
static void set_up(struct tracer *tracer)
{
	const struct tracer_options *options = &tracer->options;
	struct memleak_bpf *bpf = tracer->bpf;
	uint32_t rows = (uint32_t)tracer->code.rows.list.count;

	tracer->row_count = rows + (rows > SPARE_ROWS ? rows : SPARE_ROWS);
	tracer->stack_words = (uint64_t)options->stacks_max * WORDS_PER_STACK + STACK_HEAD_WORDS +
			      STACK_FRAMES_MAX;
	bpf->rodata->settings = (struct bpf_settings){
		.min_size = options->min_size,
		.max_size = options->max_size,
		.sample_rate = options->sample_rate,
		.process = (uint32_t)tracer->target->pid,
		.combined = options->combined,
		.trace = options->trace,
		.record = options->record,
		.glibc = tracer_is_glibc(tracer),
		.depth = options->depth,
		.rows = tracer->row_count,
		.stack_words = (uint32_t)tracer->stack_words,
		.page = (uint32_t)page_size(),
	};
	pid_namespace(&bpf->rodata->settings);
	bpf->bss->state.stopped = 1;
	// Numbers of stacks are indices, and 0 is none.
	bpf->bss->state.words_used = STACK_HEAD_WORDS;
	bpf_map__set_max_entries(bpf->maps.blocks, options->record ? 1 : options->blocks_max);
	if (options->record)
		bpf_map__set_max_entries(bpf->maps.events, RECORD_RING);
	bpf_program__set_autoload(bpf->progs.on_thread_end, options->record);
	bpf_map__set_max_entries(bpf->maps.stack_ids, options->stacks_max);
	bpf_map__set_value_size(bpf->maps.stacks, (uint32_t)(tracer->stack_words * 8));
	bpf_map__set_value_size(bpf->maps.rows_map,
				tracer->row_count * (uint32_t)sizeof(struct unwind_row));
}

static struct err *upload_code(struct tracer *tracer)
{
	const struct code_maps maps = {
		.rules = bpf_map__fd(tracer->bpf->maps.rules_map),
		.spans = bpf_map__fd(tracer->bpf->maps.spans_map),
		.rows = tracer->rows.address,
		.row_count = tracer->row_count,
		.rule_cache = tracer->rule_cache.address,
		.state = &tracer->bpf->bss->state,
	};
	struct err *err = code_tables_compile(&tracer->code, tracer->target);

	return err ? err : code_tables_upload(&tracer->code, tracer->target, &maps);
}

/*
 * Whether it is code of a library that has an allocator. One that is linked into the program cannot
 * be told from the program by the module.
 */
static bool is_allocator_library(const struct tracer *tracer, const struct target_span *span)
{
	if (span->module == TARGET_NO_MODULE ||
	    !strcmp(tracer->target->modules.items[span->module].path, tracer->target->program))
		return false;
	for (size_t i = 0; i < tracer->hooks.modules.count; i++)
		if (tracer->hooks.modules.items[i].module == span->module)
			return true;
	return false;
}

/* Tells the programs where the code of the allocators is that are libraries. */
static void upload_allocators(struct tracer *tracer)
{
	struct bpf_range *ranges = tracer->bpf->bss->state.allocators;
	size_t count = 0;

	for (size_t i = 0; i < tracer->target->spans.count; i++) {
		const struct target_span *span = &tracer->target->spans.items[i];

		// To the programs an empty range is none: its end is written last.
		if (count == ALLOCATORS_MAX || !is_allocator_library(tracer, span))
			continue;
		__atomic_store_n(&ranges[count].end, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&ranges[count].start, span->start, __ATOMIC_SEQ_CST);
		__atomic_store_n(&ranges[count++].end, span->end, __ATOMIC_SEQ_CST);
	}
	for (; count < ALLOCATORS_MAX; count++)
		__atomic_store_n(&ranges[count].end, 0, __ATOMIC_SEQ_CST);
}

static uint32_t generation_now(const struct tracer *tracer)
{
	return __atomic_load_n(&tracer->bpf->bss->state.generation, __ATOMIC_SEQ_CST);
}

/* The process has mapped code that is in no table yet. */
static struct err *new_code(struct tracer *tracer)
{
	size_t modules = tracer->target->modules.count, hooks = tracer->hooks.list.count;
	const struct probe_programs programs = programs_of(tracer->bpf);
	bool changed = false;
	uint32_t generation;
	struct err *err;

	// Asked for again from here on: what is mapped while we look is not missed.
	__atomic_store_n(&tracer->bpf->bss->state.code_asked, 0, __ATOMIC_SEQ_CST);
	generation = generation_now(tracer);
	err = target_refresh(tracer->target, &changed);
	tracer->generation = generation == generation_now(tracer) ? generation : TRACER_UNSETTLED;
	if (!changed) {
		__atomic_store_n(&tracer->bpf->bss->state.code_asked, 1, __ATOMIC_SEQ_CST);
		tracer->quiet_until = now_ns() + QUIET_NS;
	}
	if (err && err_number(err) == ESRCH) {
		err_destroy(err); // who owns the tracer watches for its end
		return NULL;
	}
	if (err || !changed)
		return err;
	err = upload_code(tracer);
	if (tracer->events.on_code)
		tracer->events.on_code(tracer->events.argument);
	if (tracer->stopped)
		return err;
	if (!err && !tracer->options.hooks.object)
		err = hooks_find(tracer->target, (uint32_t)modules, &tracer->options.hooks,
				 &tracer->hooks);
	upload_allocators(tracer);
	if (!err)
		err = probe_links_add(&tracer->links, &programs, tracer->way, tracer->target,
				      &tracer->hooks, hooks);
	return err;
}

/*
 * Whether a mapping was asked for by an allocator: memory that it hands out later. Most are nested
 * in its functions, but not those that free or a constructor makes for itself.
 */
static bool is_allocators_own(const struct tracer *tracer, uint64_t caller)
{
	const struct target_span *span = target_find(tracer->target, caller - 1);
	uint64_t address = span ? caller - 1 - span->bias : 0;

	if (!span || is_allocator_library(tracer, span))
		return span;
	for (size_t i = 0; i < tracer->hooks.mappers.count; i++) {
		const struct mapper_code *range = &tracer->hooks.mappers.items[i];

		if (range->module == span->module && address >= range->start &&
		    address < range->end)
			return true;
	}
	return false;
}

/* Lets stacks ask again for a look at the mappings, some time after one that found nothing. */
static void let_stacks_ask(struct tracer *tracer)
{
	if (tracer->quiet_until && now_ns() >= tracer->quiet_until) {
		tracer->quiet_until = 0;
		__atomic_store_n(&tracer->bpf->bss->state.code_asked, 0, __ATOMIC_SEQ_CST);
	}
}

static struct err *handle_event(struct tracer *tracer, const struct event *event)
{
	switch (event->kind) {
	case EVENT_MAP:
		if (is_allocators_own(tracer, event->caller))
			return NULL;
		return mapped_ranges_add(&tracer->mapped, event->address, event->size,
					 event->time_ns, event->stack, event->tid);
	case EVENT_UNMAP:
		if (tracer->options.trace && tracer->events.on_call)
			tracer->events.on_call(tracer->events.argument, event);
		return mapped_ranges_remove(&tracer->mapped, event->address, event->size,
					    event->tid);
	case EVENT_RESTORE:
		return mapped_ranges_restore(&tracer->mapped, event->tid);
	case EVENT_NEW_CODE:
		return new_code(tracer);
	case EVENT_THREAD_END:
		if (tracer->events.on_thread_end)
			tracer->events.on_thread_end(tracer->events.argument, event);
		return NULL;
	case EVENT_FORK:
		if (tracer->events.on_fork)
			tracer->events.on_fork(tracer->events.argument, (pid_t)event->address);
		return NULL;
	case EVENT_EXEC:
		if (tracer->events.on_exec)
			tracer->events.on_exec(tracer->events.argument);
		return NULL;
	default:
		if (tracer->events.on_call)
			tracer->events.on_call(tracer->events.argument, event);
		return NULL;
	}
}

static int on_event(void *argument, void *data, size_t size)
{
	struct tracer *tracer = argument;
	const struct recorded *head = data;

	if (size < sizeof(*head) || tracer->failure)
		;
	else if (head->kind >= EVENT_RECORD_ALLOC)
		tracer->events.on_recorded(tracer->events.argument, head);
	else
		tracer->failure = handle_event(tracer, data);
	// A process may send events faster than they are handled: then this would never end.
	return ++tracer->handled == EVENTS_AT_ONCE || tracer->failure ? -ECANCELED : 0;
}

/* Loads the programs and sets the probes in one way. */
static struct err *attach_probes(struct tracer *tracer, enum probe_way way)
{
	struct probe_programs programs;
	struct err *err;

	tracer->bpf = memleak_bpf__open();
	if (!tracer->bpf)
		return err_create_errno(errno, "the BPF programs");
	tracer->way = way;
	programs = programs_of(tracer->bpf);
	probe_programs_prepare(&programs, way);
	set_up(tracer);
	err = bpf_support_load(tracer->bpf->skeleton);
	if (!err)
		err = shared_map_init(&tracer->stacks, tracer->bpf->maps.stacks,
				      tracer->stack_words * 8);
	if (!err)
		err = shared_map_init(&tracer->rows, tracer->bpf->maps.rows_map,
				      tracer->row_count * sizeof(struct unwind_row));
	if (!err)
		err = shared_map_init(&tracer->rule_cache, tracer->bpf->maps.rule_cache,
				      RULE_CACHE_SIZE * 8);
	if (!err)
		err = upload_code(tracer);
	if (err)
		return err;
	upload_allocators(tracer);
	tracer->ring =
		ring_buffer__new(bpf_map__fd(tracer->bpf->maps.events), on_event, tracer, NULL);
	if (!tracer->ring)
		return err_create_errno(errno, "the ring of events");
	if (memleak_bpf__attach(tracer->bpf))
		return err_create_errno(errno, "the tracepoints of fork and exec");
	return probe_links_add(&tracer->links, &programs, way, tracer->target, &tracer->hooks, 0);
}

static void detach_probes(struct tracer *tracer)
{
	probe_links_deinit(&tracer->links);
	tracer->links = (struct probe_links){0};
	ring_buffer__free(steal(&tracer->ring));
	shared_map_deinit(&tracer->stacks);
	shared_map_deinit(&tracer->rows);
	shared_map_deinit(&tracer->rule_cache);
	memleak_bpf__destroy(steal(&tracer->bpf));
	tracer->code.uploaded = 0;
}

/* Tries the ways from the cheapest on; the error is that of the last, which oldest kernels have. */
static struct err *attach_somehow(struct tracer *tracer)
{
	int first = tracer->options.way < 0 ? PROBE_SESSION : tracer->options.way;
	int last = tracer->options.way < 0 ? PROBE_PERF : tracer->options.way;
	struct err *err = NULL;

	for (int way = first; way <= last; way++) {
		err_destroy(err);
		err = attach_probes(tracer, (enum probe_way)way);
		if (!err || err_is_shortage(err))
			return err;
		detach_probes(tracer);
		if (err_number(err) == ESRCH) {
			err_destroy(err);
			return err_create_errno(ESRCH, "process %d has ended",
						(int)tracer->target->pid);
		}
	}
	return err;
}

/* Whether a function was found that begins with options->hooks.prefix, if that was given. */
static bool has_prefix(const struct tracer *tracer)
{
	const char *prefix = tracer->options.hooks.prefix;
	bool found = !prefix;

	for (size_t i = 0; !found && i < tracer->hooks.list.count; i++)
		found = !strncmp(tracer->hooks.list.items[i].name, prefix, strlen(prefix));
	return found;
}

/* Says why there is nothing to trace, as far as it is known. */
static struct err *nothing_hooked(const struct tracer *tracer)
{
	const struct unprobed_function *first = tracer->hooks.unprobed.items;

	if (tracer->hooks.unprobed.count)
		return err_create("no allocator can be traced in process %d (%s): %s, %s",
				  (int)tracer->target->pid, tracer->target->program, first->name,
				  first->why);
	if (tracer->options.hooks.object)
		return err_create("%s has no allocator in process %d (%s)",
				  tracer->options.hooks.object, (int)tracer->target->pid,
				  tracer->target->program);
	return err_create("no allocator was found in process %d (%s): its symbols may have been "
			  "stripped (--symbols-prefix says what its functions' names begin with)",
			  (int)tracer->target->pid, tracer->target->program);
}

/* So that libraries are known before their first stack. A static program has none. */
static struct err *hook_loader(struct tracer *tracer)
{
	struct loader_state loader;
	struct err *err = loader_state_find(tracer->target, &loader);
	struct hook hook = {
		.module = loader.module,
		.cookie = HOOK_COOKIE(HOOK_CODE, 0, 0, 0, 0) | HOOK_WHERE(HOOK_WHERE_ONLY),
		.file_offset = loader.file_offset,
		.name = "_dl_debug_state",
	};

	if (err || !loader.found)
		return err;
	return vec_push(&tracer->hooks.list, hook) ? NULL : err_no_memory();
}

struct err *tracer_create(struct target *target, const struct tracer_options *options,
			  const struct tracer_events *events, struct tracer **ret)
{
	cleanup(tracer_destroy_at) struct tracer *tracer = calloc(1, sizeof(*tracer));
	struct err *err;

	if (!tracer) {
		target_close(target);
		return err_no_memory();
	}
	tracer->target = target;
	tracer->options = *options;
	tracer->events = *events;
	err = hooks_find(target, 0, &options->hooks, &tracer->hooks);
	if (!err && !has_prefix(tracer))
		err = err_create("no function of process %d (%s) is called %smalloc, or the like",
				 (int)target->pid, target->program, options->hooks.prefix);
	if (!err && !tracer->hooks.list.count)
		err = nothing_hooked(tracer);
	if (!err)
		err = hook_loader(tracer);
	if (!err)
		err = code_tables_compile(&tracer->code, target);
	if (!err)
		err = attach_somehow(tracer);
	// Libraries may have taken each other's place before the loader had its probe.
	if (!err)
		err = new_code(tracer);
	if (err)
		return err;
	*ret = steal(&tracer);
	return NULL;
}

void tracer_destroy(struct tracer *tracer)
{
	if (!tracer)
		return;
	detach_probes(tracer);
	err_destroy(tracer->failure);
	mapped_ranges_deinit(&tracer->mapped);
	code_tables_deinit(&tracer->code);
	hooks_deinit(&tracer->hooks);
	target_close(tracer->target);
	free(tracer);
}

void tracer_start(struct tracer *tracer)
{
	__atomic_store_n(&tracer->bpf->bss->state.stopped, 0, __ATOMIC_SEQ_CST);
}

int tracer_descriptor(const struct tracer *tracer)
{
	return bpf_map__fd(tracer->bpf->maps.events);
}

struct err *tracer_poll(struct tracer *tracer)
{
	int status;

	tracer->handled = 0;
	let_stacks_ask(tracer);
	status = ring_buffer__consume(tracer->ring);
	if (status < 0 && status != -ECANCELED)
		return err_create_errno(-status, "the ring of events");
	return steal(&tracer->failure);
}

bool tracer_is_behind(const struct tracer *tracer)
{
	return tracer->handled == EVENTS_AT_ONCE;
}

struct err *tracer_stop(struct tracer *tracer)
{
	struct err *err;

	tracer->stopped = true;
	// Or the frees of a thread would be missing while its allocations are still seen.
	__atomic_store_n(&tracer->bpf->bss->state.stopped, 1, __ATOMIC_SEQ_CST);
	probe_links_deinit(&tracer->links);
	tracer->links = (struct probe_links){0};
	do
		err = tracer_poll(tracer);
	while (!err && tracer_is_behind(tracer));
	return err;
}

const struct target *tracer_target(const struct tracer *tracer)
{
	return tracer->target;
}

const struct hooks *tracer_hooks(const struct tracer *tracer)
{
	return &tracer->hooks;
}

uint32_t tracer_generation(const struct tracer *tracer)
{
	return tracer->generation;
}

bool tracer_has_executed(const struct tracer *tracer)
{
	return __atomic_load_n(&tracer->bpf->bss->state.executed, __ATOMIC_SEQ_CST);
}

bool tracer_exit_code(const struct tracer *tracer, uint32_t *ret)
{
	*ret = __atomic_load_n(&tracer->bpf->bss->state.exit_code, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&tracer->bpf->bss->state.ended, __ATOMIC_SEQ_CST);
}

bool tracer_is_glibc(const struct tracer *tracer)
{
	for (size_t i = 0; i < tracer->hooks.modules.count; i++)
		if (strcmp(tracer->hooks.modules.items[i].allocator, "glibc") != 0)
			return false;
	return true;
}

enum probe_way tracer_way(const struct tracer *tracer)
{
	return tracer->way;
}

struct bpf_losses tracer_losses(const struct tracer *tracer)
{
	return tracer->bpf->bss->state.losses;
}

uint64_t tracer_code_left_out(const struct tracer *tracer)
{
	return (uint64_t)tracer->code.left_out + tracer->code.spans_left_out;
}
