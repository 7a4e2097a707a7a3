/* Reading what is outstanding out of the kernel's tables. See kernel_tracer.h. */
#include <string.h>

#include "ebpf/kernel/kernel_tracer_data.h"
#include "hosted/page_size.h"
#include "hosted/cleanup.h"
// Made by bpftool out of bpf/kernel.bpf.c; it names types of kernel_shared.h.
#include <kernel.skel.h>

/* Objects that are larger are whole pages, in no slab. */
#define SLAB_OBJECT_MAX 8192

void kernel_outstanding_deinit(struct kernel_outstanding *outstanding)
{
	outstanding_deinit(&outstanding->all);
	vec_deinit(&outstanding->doubts);
}

/* A reading in progress. */
struct reading {
	struct kernel_tracer *tracer;
	struct kernel_outstanding *result;
	struct outstanding_index index;
	VEC(struct stack_facts) facts; /* of each stack of the result */
	struct page_flags *flags;
	uint64_t of_kmalloc[KMALLOC_SIZES];
	uint64_t until_ns; /* younger blocks are left out */
	bool list_blocks;
	bool looked_again;   /* for names … */
	struct err *failure; /* … which failed */
};

static void reading_deinit(struct reading *reading)
{
	outstanding_index_deinit(&reading->index);
	vec_deinit(&reading->facts);
	page_flags_destroy(reading->flags);
	err_destroy(reading->failure);
}

static bool begins_with(const char *name, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(name, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* Leaves out the frames of the tracing itself, up to the allocator's function. */
static void skip_tracing(const struct kernel_symbols *symbols, struct outstanding_stack *stack)
{
	static const char *const own[] = {"bpf_prog_",    "bpf_trace_run",  "__traceiter_",
					  "__bpf_trace_", "bpf_trampoline", NULL};
	struct kernel_name name;

	while (stack->frame_count && kernel_symbols_find(symbols, stack->frames[0], &name) &&
	       begins_with(name.function, own)) {
		stack->frames++;
		stack->frame_count--;
	}
}

/*
 * What the pages of a stack are for, by its functions. Of the flags of pages, only slabs and page
 * tables have one, and not in all kernels.
 */
static enum page_use use_by_names(const struct kernel_tracer *tracer,
				  const struct outstanding_stack *stack)
{
	static const char *const slab[] = {"allocate_slab", "alloc_slab_page", "new_slab", NULL};
	static const char *const object[] = {"___kmalloc_large", "__kmalloc_large", "kmalloc_large",
					     "kmalloc_order", NULL};
	static const char *const percpu[] = {"pcpu_", NULL};
	static const char *const table[] = {"pte_alloc",   "__pte_alloc", "__pmd_alloc",
					    "__pud_alloc", "__p4d_alloc", "pgd_alloc",
					    "_pgd_alloc",  "__pgd_alloc", NULL};
	struct kernel_name name;

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		if (!kernel_symbols_find(tracer->symbols, stack->frames[i], &name))
			continue;
		if (begins_with(name.function, slab))
			return PAGE_SLAB;
		if (begins_with(name.function, object) ||
		    (tracer->options.percpu && begins_with(name.function, percpu)))
			return PAGE_SLAB_PART;
		if (begins_with(name.function, table))
			return PAGE_TABLE;
	}
	return PAGE_KERNEL;
}

/* Reads the kernel's names again, once, if the stack has an address that is in no function. */
static void look_for_names(struct reading *reading, const struct outstanding_stack *stack)
{
	struct kernel_name name;

	for (uint32_t i = 0; !reading->looked_again && i < stack->frame_count; i++) {
		if (kernel_symbols_find(reading->tracer->symbols, stack->frames[i], &name))
			continue;
		reading->looked_again = true;
		reading->failure = kernel_symbols_reread(reading->tracer->symbols);
	}
}

/* Completes a stack that is new in the result, and finds out about it. False: no memory. */
static bool learn_stack(struct reading *reading, struct outstanding_stack *stack)
{
	struct stack_facts facts = {.use = PAGE_KERNEL};

	if (stack->frame_count) {
		stack->source = stack->frames[0];
		stack->frames++;
		stack->frame_count--;
		look_for_names(reading, stack);
		skip_tracing(reading->tracer->symbols, stack);
	}
	facts.pages = stack->source == SOURCE_PAGES || stack->source == SOURCE_MOVABLE;
	if (facts.pages)
		facts.use = use_by_names(reading->tracer, stack);
	return vec_push(&reading->facts, facts);
}

/* The facts about the stack of that number, and the stack in the result. NULL: no memory. */
static struct stack_facts *find_stack(struct reading *reading, uint32_t number,
				      struct outstanding_stack **stack)
{
	struct outstanding *all = &reading->result->all;

	*stack = outstanding_stack_of(&reading->index, all, number);
	if (!*stack || (all->stacks.count > reading->facts.count && !learn_stack(reading, *stack)))
		return NULL;
	return &reading->facts.items[*stack - all->stacks.items];
}

/* What the pages of a block are for. */
static enum page_use use_of_pages(const struct reading *reading, uint64_t key,
				  const struct stack_facts *facts)
{
	const struct kernel_places *places = &reading->tracer->places;
	enum page_use use = PAGE_UNKNOWN;

	// What the functions tell is certain.
	if (facts->use != PAGE_KERNEL)
		return facts->use;
	if (places->page_base)
		use = page_flags_use(reading->flags, (key - places->page_base) / places->page_size);
	return use == PAGE_SLAB_PART || use == PAGE_UNKNOWN ? PAGE_KERNEL : use;
}

/* Whether an object is gone: its page is no slab any more. */
static bool is_gone(const struct reading *reading, uint64_t address, uint64_t size, uint64_t source)
{
	uint64_t base = reading->tracer->places.direct_base;
	enum page_use use;

	if (!base || source == SOURCE_PERCPU || size > SLAB_OBJECT_MAX)
		return false;
	use = page_flags_use(reading->flags, (address - base) / page_size());
	return use != PAGE_SLAB && use != PAGE_SLAB_PART && use != PAGE_UNKNOWN;
}

/* Whether pages that are used so are among the stacks. */
static bool is_shown(const struct reading *reading, enum page_use use)
{
	return use == PAGE_KERNEL ||
	       (reading->tracer->options.all_pages &&
		(use == PAGE_PROGRAM || use == PAGE_FILE || use == PAGE_TABLE));
}

static void add_pages(struct reading *reading, enum page_use use, uint64_t bytes)
{
	reading->result->pages[use].bytes += bytes;
	reading->result->pages[use].pages += bytes / page_size();
}

static struct err *add_block(void *argument, uint64_t key, const struct block *block)
{
	struct reading *reading = argument;
	struct kernel_outstanding *result = reading->result;
	uint64_t weight = reading->tracer->options.sample_rate;
	struct outstanding_stack *stack;
	struct stack_facts *facts = find_stack(reading, block->stack, &stack);

	if (!facts)
		return err_no_memory();
	if (facts->pages) {
		enum page_use use = use_of_pages(reading, key, facts);

		if (use == PAGE_FREE)
			result->gone += weight;
		else if (!is_shown(reading, use))
			add_pages(reading, use, block->size * weight);
		if (!is_shown(reading, use))
			return NULL;
	} else if (is_gone(reading, key, block->size, stack->source)) {
		result->gone += weight;
		return NULL;
	} else if (stack->source == SOURCE_KMALLOC) {
		uint32_t size = kmalloc_size_index(block->size);

		if (size < KMALLOC_SIZES)
			reading->of_kmalloc[size] += weight;
	}
	if (block->time_ns > reading->until_ns) {
		result->all.young += weight;
		facts->young += weight;
		return NULL;
	}
	stack->bytes += block->size * weight;
	stack->blocks += weight;
	if (reading->list_blocks &&
	    !vec_push(&result->all.blocks, (struct outstanding_block){.address = key,
								      .size = block->size,
								      .time_ns = block->time_ns,
								      .stack = block->stack}))
		return err_no_memory();
	return NULL;
}

static struct err *add_sum(void *argument, uint32_t number, const struct stack_head *sums)
{
	struct reading *reading = argument;
	uint64_t weight = reading->tracer->options.sample_rate;
	uint64_t bytes = sums->bytes * weight;
	struct outstanding_stack *stack;
	struct stack_facts *facts = find_stack(reading, number, &stack);

	if (!facts)
		return err_no_memory();
	if (facts->pages && stack->source == SOURCE_MOVABLE)
		facts->use = PAGE_PROGRAM;
	if (facts->pages && !is_shown(reading, facts->use)) {
		add_pages(reading, facts->use, bytes);
		return NULL;
	}
	stack->bytes = bytes;
	stack->blocks = sums->blocks * weight;
	return NULL;
}

/* Pages that can be moved are marked in a table of bits, and have no stacks. */
static void read_movable(struct reading *reading)
{
	const struct kernel_tracer *tracer = reading->tracer;
	const uint64_t *movable = tracer->movable.address;

	for (uint64_t i = 0; tracer->places.page_base && i < tracer->frame_words; i++) {
		uint64_t bits = __atomic_load_n(&movable[i], __ATOMIC_RELAXED);

		for (; bits; bits &= bits - 1) {
			uint64_t frame = i * 64 + (uint64_t)__builtin_ctzll(bits);
			enum page_use use = page_flags_use(reading->flags, frame);

			if (use != PAGE_FREE)
				add_pages(reading, use == PAGE_SLAB_PART ? PAGE_PROGRAM : use,
					  page_size());
		}
	}
}

/* Stacks of which nothing is left are dropped. */
static void drop_empty(struct outstanding *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->stacks.count; i++)
		if (all->stacks.items[i].blocks)
			all->stacks.items[kept++] = all->stacks.items[i];
	all->stacks.count = kept;
}

/* The result's pages have addresses, like objects, instead of those of their struct page. */
static void translate_blocks(const struct kernel_places *places, struct outstanding *all)
{
	for (size_t i = 0; i < all->blocks.count; i++) {
		uint64_t *address = &all->blocks.items[i].address;

		if (places->direct_base && *address - places->page_base < places->page_size << 40)
			*address = places->direct_base +
				   (*address - places->page_base) / places->page_size * page_size();
	}
}

static struct err *read_all(struct reading *reading, bool by_count)
{
	const struct kernel_options *options = &reading->tracer->options;
	struct kernel_outstanding *result = reading->result;
	const struct outstanding_reader reader = {
		.blocks = bpf_map__fd(reading->tracer->bpf->maps.blocks),
		.stack_ids = bpf_map__fd(reading->tracer->bpf->maps.stack_ids),
		.words = reading->tracer->stacks.address,
		.add_block = add_block,
		.add_sum = add_sum,
		.argument = reading,
	};
	struct err *err = page_flags_create(&reading->flags);

	if (!err)
		err = outstanding_read(&reader, options->combined);
	if (!err)
		err = steal(&reading->failure);
	if (!err && !options->all_pages)
		read_movable(reading);
	if (!err)
		err = cache_check(reading->tracer, reading->facts.items, reading->of_kmalloc,
				  result);
	if (err)
		return err;
	drop_empty(&result->all);
	translate_blocks(&reading->tracer->places, &result->all);
	outstanding_sort(&result->all, by_count);
	return NULL;
}

struct err *kernel_tracer_read(struct kernel_tracer *tracer, uint64_t older_ns, bool list_blocks,
			       bool by_count, struct kernel_outstanding *ret)
{
	cleanup(reading_deinit) struct reading reading = {
		.tracer = tracer,
		.result = ret,
		.index = {.words = tracer->stacks.address, .word_count = tracer->stack_words},
		.until_ns = outstanding_until(tracer->options.combined ? 0 : older_ns),
		.list_blocks = list_blocks,
	};
	struct err *err = read_all(&reading, by_count);

	if (err) {
		kernel_outstanding_deinit(ret);
		*ret = (struct kernel_outstanding){0};
	}
	return err;
}
