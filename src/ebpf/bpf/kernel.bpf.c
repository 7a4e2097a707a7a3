/*
 * The probes on the kernel's own allocators: kmalloc, its caches, its pages, and memory by
 * processor.
 *
 * The programs run wherever the kernel allocates: in interrupts, with locks held. So nothing here
 * waits or allocates, and all tables have their memory from the start. An allocation is seen after
 * it was made, and a free before it is: nobody else has the address meanwhile, so the table never
 * has it wrong.
 *
 * A program's context is the tracepoint's parameters, a word each.
 */
#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf/kernel_stack.bpf.h"
#include "ebpf/bpf/kernel_types.bpf.h"
#include "ebpf/bpf/outstanding.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define EEXIST 17

/* Below it are no addresses: NULL, and what kmalloc(0) returns. */
#define ADDRESS_MIN 4096

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} movable SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

/* A line of -t. What we do ourselves to print it is left out: it would never end. */
static __always_inline void send_call(uint32_t kind, uint64_t address, uint64_t size)
{
	uint64_t thread = bpf_get_current_pid_tgid();
	struct event *event;

	if (thread >> 32 == settings.process)
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count(&state.losses.events);
		return;
	}
	event->kind = kind;
	event->tid = (uint32_t)thread;
	event->time_ns = bpf_ktime_get_ns();
	event->address = address;
	event->size = size;
	event->stack = STACK_NONE;
	event->caller = 0;
	event->cpu = bpf_get_smp_processor_id();
	bpf_get_current_comm(event->name, sizeof(event->name));
	bpf_ringbuf_submit(event, 0);
}

static __always_inline bool is_wanted(uint64_t size)
{
	return size >= settings.min_size && size <= settings.max_size &&
	       (settings.sample_rate <= 1 || bpf_get_prandom_u32() % settings.sample_rate == 0);
}

/* A global function, so the verifier looks at it once. Returns 0. */
__noinline uint32_t put(uint64_t key, struct block *given)
{
	struct block before, block;
	long status;

	if (!given)
		return 0;
	block = *given; // older kernels want what is stored on the function's own stack
	status = bpf_map_update_elem(&blocks, &key, &block, BPF_NOEXIST);
	if (status == -EEXIST) {
		count(&kernel_losses.missed_frees);
		take_block(key, &before);
		status = bpf_map_update_elem(&blocks, &key, &block, BPF_ANY);
	}
	if (status)
		count(&state.losses.blocks);
	else if (settings.combined)
		add_to_stack(&block, 1);
	return 0;
}

/* caller: the return address of the allocator's function; 0: unknown. */
static __always_inline void note_allocation(const volatile void *context, uint64_t key,
					    uint64_t size, uint64_t source, uint64_t caller)
{
	struct block block = {.size = size};

	if (key < ADDRESS_MIN || !is_wanted(size))
		return;
	if (!settings.combined)
		block.time_ns = bpf_ktime_get_ns();
	block.stack = take_stack(context, source, caller);
	put(key, &block);
	if (settings.trace)
		send_call(EVENT_EXITED, key, size);
}

/*
 * A program does not run while it runs already on that processor: an interrupt that frees, while a
 * free is handled, would be missed, and all that it frees would be leaks. So each free has two
 * programs, one after the other. The second one does what the first one could not: it looks which
 * free the first one handled last. (If that changes in between, a free is handled twice, which does
 * no harm: its memory is not handed out before both are done.)
 */
enum free_kind { FREE_OBJECT, FREE_OF_CACHE, FREE_PAGE, FREE_KINDS };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FREE_KINDS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} handled SEC(".maps");

/* Where the parameters of a call lie tells it from one that interrupted it. */
static __always_inline void note_handled(uint32_t kind, const volatile void *context)
{
	const volatile void *volatile *last = bpf_map_lookup_elem(&handled, &kind);

	if (last)
		*last = context;
}

/* Asked once for each free: the next one may have its parameters at the same place. */
static __always_inline bool is_handled(uint32_t kind, const volatile void *context)
{
	uint64_t *last = bpf_map_lookup_elem(&handled, &kind);

	if (!last || *last != (uint64_t)context)
		return false;
	*last = 0;
	return true;
}

/* Returns whether the address was in the table. */
static __always_inline bool note_free(uint64_t key)
{
	struct block block;

	if (key < ADDRESS_MIN)
		return true;
	if (!settings.combined && !settings.trace)
		return !bpf_map_delete_elem(&blocks, &key);
	if (!take_block(key, &block))
		return false;
	if (settings.trace)
		send_call(EVENT_FREED, key, block.size);
	return true;
}

static __always_inline void on_slab_alloc(const volatile uint64_t *context)
{
	// Read first: the verifier wants loads from constant places, not from a chosen one.
	uint64_t third = context[2], fourth = context[3], fifth = context[4];
	const struct kmem_cache *cache = (const void *)third;

	if (kernel.cache_layout == SLAB_SIZES)
		note_allocation(context, context[1], fourth, SOURCE_ANY_SLAB, context[0]);
	else if (kernel.cache_layout == SLAB_CACHE_SIZES)
		note_allocation(context, context[1], fifth, third, context[0]);
	else
		note_allocation(context, context[1], BPF_CORE_READ(cache, size), third, context[0]);
}

static __always_inline void on_kmalloc_alloc(const volatile uint64_t *context)
{
	uint64_t fourth = context[3], fifth = context[4];

	note_allocation(context, context[1], kernel.kmalloc_layout == SLAB_SIZES ? fourth : fifth,
			SOURCE_KMALLOC, context[0]);
}

SEC("raw_tp/kmalloc")
int on_kmalloc(const volatile uint64_t *context)
{
	on_kmalloc_alloc(context);
	return 0;
}

SEC("raw_tp/kmalloc_node")
int on_kmalloc_node(const volatile uint64_t *context)
{
	on_kmalloc_alloc(context);
	return 0;
}

SEC("raw_tp/kmem_cache_alloc")
int on_cache_alloc(const volatile uint64_t *context)
{
	on_slab_alloc(context);
	return 0;
}

SEC("raw_tp/kmem_cache_alloc_node")
int on_cache_alloc_node(const volatile uint64_t *context)
{
	on_slab_alloc(context);
	return 0;
}

static __always_inline void handle_kfree(const volatile uint64_t *context)
{
	note_free(context[1]);
}

SEC("raw_tp/kfree")
int on_kfree(const volatile uint64_t *context)
{
	handle_kfree(context);
	note_handled(FREE_OBJECT, context);
	return 0;
}

SEC("raw_tp/kfree")
int on_kfree_again(const volatile uint64_t *context)
{
	if (!is_handled(FREE_OBJECT, context))
		handle_kfree(context);
	return 0;
}

static __always_inline void handle_cache_free(const volatile uint64_t *context)
{
	struct cache *cache;

	if (note_free(context[1]) || !kernel.free_names_cache)
		return;
	cache = known_cache(context[2]);
	if (cache)
		count(&cache->old_frees);
}

SEC("raw_tp/kmem_cache_free")
int on_cache_free(const volatile uint64_t *context)
{
	handle_cache_free(context);
	note_handled(FREE_OF_CACHE, context);
	return 0;
}

SEC("raw_tp/kmem_cache_free")
int on_cache_free_again(const volatile uint64_t *context)
{
	if (!is_handled(FREE_OF_CACHE, context))
		handle_cache_free(context);
	return 0;
}

/* Before 5.18: …, the pointer. The size is what was asked for. */
SEC("raw_tp/percpu_alloc_percpu")
int on_percpu_alloc_old(const volatile uint64_t *context)
{
	note_allocation(context, PERCPU_KEY(context[6]), context[2], SOURCE_PERCPU, 0);
	return 0;
}

/* …, the pointer, the size with what is around it, … */
SEC("raw_tp/percpu_alloc_percpu")
int on_percpu_alloc(const volatile uint64_t *context)
{
	note_allocation(context, PERCPU_KEY(context[7]), context[8], SOURCE_PERCPU, context[0]);
	return 0;
}

SEC("raw_tp/percpu_free_percpu")
int on_percpu_free(const volatile uint64_t *context)
{
	note_free(PERCPU_KEY(context[2]));
	return 0;
}

/* No block of pages is larger: 1 << 10 in all kernels so far. */
#define ORDER_MAX 12

/* Marks the frames of a movable page, or removes their marks. Returns 0. */
__noinline uint32_t mark(uint64_t page, uint32_t order, uint32_t set)
{
	uint64_t frame = (page - kernel.page_base) / bpf_core_type_size(struct page);
	uint32_t zero = 0;
	uint64_t *words = bpf_map_lookup_elem(&movable, &zero);
	uint64_t bits = order >= 6 ? ~0ull : ((1ull << (1ull << order)) - 1) << (frame & 63);

	for (uint32_t i = 0; words && i < 1u << (ORDER_MAX - 6); i++) {
		uint64_t at = frame / 64 + i;

		if (at >= kernel.frame_words || (i && i >> (order >= 6 ? order - 6 : 0)))
			return 0;
		// Other frames of the word may be marked on another processor.
		if (set)
			__sync_fetch_and_or(&words[at], bits);
		else if (words[at] & bits)
			__sync_fetch_and_and(&words[at], ~bits);
	}
	return 0;
}

/*
 * A block of pages of which the first ones are freed: the others stay. They are put back as the
 * kernel's page allocator divides them, so that each can be found when it is freed.
 */
static __always_inline void keep_rest(uint64_t page, uint32_t order, struct block *block)
{
	uint64_t size = (uint64_t)settings.page << order;

	for (uint32_t i = 0; i < ORDER_MAX && size < block->size; i++) {
		struct block piece = *block;

		piece.size = size;
		put(page + (size / (uint64_t)settings.page) * bpf_core_type_size(struct page),
		    &piece);
		size *= 2;
	}
}

SEC("raw_tp/mm_page_alloc")
int on_page_alloc(const volatile uint64_t *context)
{
	uint64_t page = context[0];
	uint32_t order = (uint32_t)context[1] & 31;
	bool can_move = (uint32_t)context[2] & GFP_MOVABLE;

	if (!page)
		return 0;
	if (can_move && kernel.page_base)
		mark(page, order, 1);
	if (!can_move || kernel.all_pages)
		note_allocation(context, page, (uint64_t)settings.page << order,
				can_move ? SOURCE_MOVABLE : SOURCE_PAGES, 0);
	return 0;
}

static __always_inline void handle_page_free(const volatile uint64_t *context)
{
	uint64_t page = context[0];
	uint32_t order = (uint32_t)context[1] & 31;
	struct block block;

	if (kernel.page_base)
		mark(page, order, 0);
	if (!take_block(page, &block))
		return;
	if (block.size > (uint64_t)settings.page << order)
		keep_rest(page, order, &block);
	if (settings.trace)
		send_call(EVENT_FREED, page, (uint64_t)settings.page << order);
}

SEC("raw_tp/mm_page_free")
int on_page_free(const volatile uint64_t *context)
{
	handle_page_free(context);
	note_handled(FREE_PAGE, context);
	return 0;
}

SEC("raw_tp/mm_page_free")
int on_page_free_again(const volatile uint64_t *context)
{
	if (!is_handled(FREE_PAGE, context))
		handle_page_free(context);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
