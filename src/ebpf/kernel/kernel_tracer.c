/* Making and driving a tracer of the kernel. See kernel_tracer.h. */
#include "ebpf/kernel/kernel_tracer.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/bpf_support.h"
#include "ebpf/kernel/kernel_tracer_data.h"
#include "hosted/page_size.h"
#include "hosted/cleanup.h"
// Made by bpftool out of bpf/*.bpf.c; they name types of kernel_shared.h.
#include <bulk_free.skel.h>
#include <kernel.skel.h>

/* How many events one kernel_tracer_poll() handles. */
#define EVENTS_AT_ONCE 16384

/* Words of `stacks` for each. */
#define WORDS_PER_STACK 32

CLEANUP_DEFINE(struct kernel_tracer *, kernel_tracer_destroy);
CLEANUP_DEFINE(struct btf *, btf__free);

/* The parameters of a tracepoint by the kernel's own types. NULL: it has no such tracepoint. */
static const struct btf_type *tracepoint(const struct btf *btf, const char *name)
{
	char full[64];
	const struct btf_type *type;
	int id;

	snprintf(full, sizeof(full), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, full, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL; // a pointer …
	type = type ? btf__type_by_id(btf, type->type) : NULL; // … to a function
	return type && btf_is_func_proto(type) ? type : NULL;
}

/* Whether a parameter (from 0 on, the tracepoint's own) points to a struct of that name. */
static bool is_pointer_to(const struct btf *btf, const struct btf_type *function, int number,
			  const char *name)
{
	const struct btf_type *type;

	// The first is the BPF program's own.
	if (!function || number + 1 >= btf_vlen(function))
		return false;
	type = btf__type_by_id(btf, btf_params(function)[number + 1].type);
	if (!type || !btf_is_ptr(type))
		return false;
	type = btf__type_by_id(btf, type->type);
	while (type && btf_is_mod(type))
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_struct(type) &&
	       !strcmp(btf__name_by_offset(btf, type->name_off), name);
}

static uint32_t layout_of(const struct btf *btf, const char *name)
{
	const struct btf_type *function = tracepoint(btf, name);

	if (!is_pointer_to(btf, function, 2, "kmem_cache"))
		return SLAB_SIZES;
	// call, pointer, cache, requested, allocated, flags; or call, pointer, cache, flags, node
	return btf_vlen(function) - 1 >= 6 ? SLAB_CACHE_SIZES : SLAB_CACHE;
}

/* Leaves out the programs for tracepoints that this kernel has not, or that are not wanted. */
static struct err *choose_programs(struct kernel_bpf *bpf, const struct kernel_options *options)
{
	cleanup(btf__free_at) struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *program;

	if (!btf)
		return err_create_errno(errno, "/sys/kernel/btf/vmlinux");
	bpf_object__for_each_program(program, bpf->obj)
	{
		const char *name = strchr(bpf_program__section_name(program), '/') + 1;

		if (!tracepoint(btf, name) || (!options->percpu && !strncmp(name, "percpu_", 7)))
			bpf_program__set_autoload(program, false);
	}

	const struct btf_type *percpu = tracepoint(btf, "percpu_alloc_percpu");

	bpf->rodata->kernel.kmalloc_layout = layout_of(btf, "kmalloc");
	bpf->rodata->kernel.cache_layout = layout_of(btf, "kmem_cache_alloc");
	bpf->rodata->kernel.free_names_cache =
		is_pointer_to(btf, tracepoint(btf, "kmem_cache_free"), 2, "kmem_cache");
	bpf_program__set_autoload(percpu && btf_vlen(percpu) - 1 >= 9
					  ? bpf->progs.on_percpu_alloc_old
					  : bpf->progs.on_percpu_alloc,
				  false);
	return NULL;
}

/* What is fixed once the programs are loaded: constants and the sizes of tables. */
static void set_up(struct kernel_tracer *tracer)
{
	const struct kernel_options *options = &tracer->options;
	struct kernel_bpf *bpf = tracer->bpf;

	tracer->stack_words = (uint64_t)options->stacks_max * WORDS_PER_STACK + STACK_HEAD_WORDS +
			      STACK_FRAMES_MAX;
	tracer->frame_words = tracer->places.page_base ? page_flags_frames() / 64 + 1 : 1;
	bpf->rodata->settings = (struct bpf_settings){
		.min_size = options->min_size,
		.max_size = options->max_size,
		.sample_rate = options->sample_rate,
		.process = (uint32_t)getpid(),
		.combined = options->combined,
		.trace = options->trace,
		.depth = options->depth,
		.stack_words = (uint32_t)tracer->stack_words,
		.page = (uint32_t)page_size(),
	};
	bpf->rodata->kernel.all_pages = options->all_pages;
	bpf->rodata->kernel.page_base = tracer->places.page_base;
	bpf->rodata->kernel.frame_words = tracer->frame_words;
	bpf->bss->state.words_used = STACK_HEAD_WORDS;
	bpf_map__set_max_entries(bpf->maps.blocks, options->blocks_max);
	bpf_map__set_max_entries(bpf->maps.stack_ids, options->stacks_max);
	bpf_map__set_value_size(bpf->maps.stacks, (uint32_t)(tracer->stack_words * 8));
	bpf_map__set_value_size(bpf->maps.movable, (uint32_t)(tracer->frame_words * 8));
}

static int on_event(void *argument, void *data, size_t size)
{
	struct kernel_tracer *tracer = argument;

	if (size >= sizeof(struct event) && tracer->on_call)
		tracer->on_call(tracer->argument, data);
	// The kernel may allocate faster than events are handled: then this would never end.
	return ++tracer->handled == EVENTS_AT_ONCE ? -ECANCELED : 0;
}

/* Frees of many objects at once: by the function that makes them, or by the tracepoint of RCU's. */
static struct err *attach_bulk_by(struct kernel_tracer *tracer, bool function)
{
	struct bulk_free_bpf *bulk = bulk_free_bpf__open();
	struct kernel_bpf *bpf = tracer->bpf;
	struct err *err;

	if (!bulk)
		return err_create_errno(errno, "the BPF programs");
	bpf_program__set_autoload(function ? bulk->progs.on_rcu_free : bulk->progs.on_bulk_free,
				  false);
	bulk->rodata->settings = bpf->rodata->settings;
	if (bpf_map__reuse_fd(bulk->maps.blocks, bpf_map__fd(bpf->maps.blocks)) ||
	    bpf_map__reuse_fd(bulk->maps.stacks, bpf_map__fd(bpf->maps.stacks)) ||
	    bpf_map__reuse_fd(bulk->maps.stack_ids, bpf_map__fd(bpf->maps.stack_ids)))
		err = err_create_errno(errno, "a BPF map");
	else
		err = bpf_support_load(bulk->skeleton);
	if (!err && bulk_free_bpf__attach(bulk))
		err = err_create_errno(errno, "frees of many objects");
	if (err) {
		bulk_free_bpf__destroy(bulk);
		return err;
	}
	tracer->bulk = bulk;
	return NULL;
}

/* The error is that of the function, which most kernels let be traced. */
static struct err *attach_bulk(struct kernel_tracer *tracer)
{
	struct err *err = attach_bulk_by(tracer, true);

	if (!err)
		return NULL;

	auto_err struct err *second = attach_bulk_by(tracer, false);

	if (second)
		return err;
	err_destroy(err);
	return NULL;
}

static struct err *attach_programs(struct kernel_tracer *tracer)
{
	struct kernel_bpf *bpf = tracer->bpf;
	struct err *err = choose_programs(bpf, &tracer->options);

	if (err)
		return err;
	set_up(tracer);
	err = bpf_support_load(bpf->skeleton);
	if (!err)
		err = shared_map_init(&tracer->stacks, bpf->maps.stacks, tracer->stack_words * 8);
	if (!err)
		err = shared_map_init(&tracer->movable, bpf->maps.movable, tracer->frame_words * 8);
	if (err)
		return err;
	tracer->ring = ring_buffer__new(bpf_map__fd(bpf->maps.events), on_event, tracer, NULL);
	if (!tracer->ring)
		return err_create_errno(errno, "the ring of events");

	// Now, as our programs have names, too.
	err = kernel_symbols_create(&tracer->symbols);
	if (err)
		return err;

	auto_err struct err *refused = attach_bulk(tracer);

	if (refused)
		snprintf(tracer->blind, sizeof(tracer->blind), "%s",
			 err_number(refused) ? strerror(err_number(refused))
					     : err_message(refused));
	// Without it caches are not compared: it needs root.
	err_destroy(slab_caches_read(&tracer->before));
	if (kernel_bpf__attach(bpf))
		return err_create_errno(errno, "the tracepoints of the kernel's allocators");
	return NULL;
}

struct err *kernel_tracer_create(const struct kernel_options *options,
				 void (*on_call)(void *argument, const struct event *event),
				 void *argument, struct kernel_tracer **ret)
{
	cleanup(kernel_tracer_destroy_at) struct kernel_tracer *tracer = calloc(1, sizeof(*tracer));
	struct err *err;

	if (!tracer)
		return err_no_memory();
	tracer->options = *options;
	tracer->on_call = on_call;
	tracer->argument = argument;
	err = page_places_find(&tracer->places);
	if (err)
		return err;
	tracer->bpf = kernel_bpf__open();
	if (!tracer->bpf)
		return err_create_errno(errno, "the BPF programs");
	err = attach_programs(tracer);
	if (err)
		return err;
	*ret = steal(&tracer);
	return NULL;
}

void kernel_tracer_destroy(struct kernel_tracer *tracer)
{
	if (!tracer)
		return;
	ring_buffer__free(tracer->ring);
	shared_map_deinit(&tracer->stacks);
	shared_map_deinit(&tracer->movable);
	bulk_free_bpf__destroy(tracer->bulk);
	kernel_bpf__destroy(tracer->bpf);
	slab_caches_deinit(&tracer->before);
	vec_deinit(&tracer->caches);
	kernel_symbols_destroy(tracer->symbols);
	free(tracer);
}

int kernel_tracer_descriptor(const struct kernel_tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

struct err *kernel_tracer_poll(struct kernel_tracer *tracer)
{
	int status;

	tracer->handled = 0;
	status = ring_buffer__consume(tracer->ring);
	if (status < 0 && status != -ECANCELED)
		return err_create_errno(-status, "the ring of events");
	return NULL;
}

void kernel_tracer_stop(struct kernel_tracer *tracer)
{
	kernel_bpf__detach(tracer->bpf);
	if (tracer->bulk)
		bulk_free_bpf__detach(tracer->bulk);
}

const char *kernel_tracer_blind(const struct kernel_tracer *tracer)
{
	return tracer->bulk ? NULL : tracer->blind;
}

bool kernel_tracer_knows_pages(const struct kernel_tracer *tracer)
{
	return tracer->places.page_base != 0;
}

const struct kernel_symbols *kernel_tracer_symbols(const struct kernel_tracer *tracer)
{
	return tracer->symbols;
}

/* How often a program was not run because it ran already, below what interrupted it. */
static uint64_t misses_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) ? info.recursion_misses : 0;
}

/* The calls that neither of two programs for the same free has seen. All but a few run one of them.
 */
static uint64_t misses_of_both(const struct bpf_program *program, const struct bpf_program *again)
{
	uint64_t first = misses_of(program), second = misses_of(again);

	return first < second ? first : second;
}

/* How many calls were not seen, at most. */
static uint64_t count_interrupted(const struct kernel_bpf *bpf)
{
	return misses_of(bpf->progs.on_kmalloc) + misses_of(bpf->progs.on_kmalloc_node) +
	       misses_of(bpf->progs.on_cache_alloc) + misses_of(bpf->progs.on_cache_alloc_node) +
	       misses_of(bpf->progs.on_page_alloc) + misses_of(bpf->progs.on_percpu_alloc) +
	       misses_of(bpf->progs.on_percpu_alloc_old) + misses_of(bpf->progs.on_percpu_free) +
	       misses_of_both(bpf->progs.on_kfree, bpf->progs.on_kfree_again) +
	       misses_of_both(bpf->progs.on_cache_free, bpf->progs.on_cache_free_again) +
	       misses_of_both(bpf->progs.on_page_free, bpf->progs.on_page_free_again);
}

struct kernel_lost kernel_tracer_lost(const struct kernel_tracer *tracer)
{
	const struct bpf_losses *losses = &tracer->bpf->bss->state.losses;

	return (struct kernel_lost){
		.blocks = losses->blocks,
		.stacks = losses->stacks,
		.events = losses->events,
		.scratch = tracer->bpf->bss->kernel_losses.scratch,
		.mistaken = tracer->bpf->bss->kernel_losses.mistaken,
		.reused = tracer->bpf->bss->kernel_losses.missed_frees,
		.interrupted = count_interrupted(tracer->bpf),
	};
}
