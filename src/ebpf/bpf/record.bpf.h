/* Sends calls to the loader, which writes them into a recording: with settings.record. */
#ifndef MALLOW_EBPF_BPF_RECORD_BPF_H
#define MALLOW_EBPF_BPF_RECORD_BPF_H

#include "ebpf/bpf/hook.h"
#include "ebpf/bpf/maps.bpf.h"

/*
 * A call's place in the ring, with its first fields. The size of each kind is constant, as the
 * verifier wants it. NULL: the ring is full, which is counted.
 */
#define RECORD_RESERVE(size, kind) record_begin(bpf_ringbuf_reserve(&events, (size), 0), (kind))

static __always_inline void *record_begin(void *place, uint32_t kind)
{
	struct recorded *head = place;

	if (!head) {
		__sync_fetch_and_add(&state.losses.events, 1);
		return NULL;
	}
	head->kind = kind;
	head->tid = (uint32_t)current_ids();
	return head;
}

/*
 * Wakes nobody, as that would cost the program more than the rest of the call: the loader looks
 * every few milliseconds (RECORDER_STEP_MS).
 */
static __always_inline void record_submit(void *place)
{
	bpf_ringbuf_submit(place, BPF_RB_NO_WAKEUP);
}

static __always_inline void record_free(uint64_t address, uint64_t time_ns, uint32_t cookie)
{
	struct recorded_call *call = RECORD_RESERVE(RECORDED_FREE_SIZE, EVENT_RECORD_FREE);

	if (!call)
		return;
	call->head.time_ns = time_ns;
	call->address = address;
	call->cookie = cookie;
	record_submit(call);
}

/* The thread's call has returned. address 0: it failed. */
static __always_inline void record_alloc(const struct thread *thread, uint64_t address,
					 uint32_t stack)
{
	struct recorded_call *call = RECORD_RESERVE(sizeof(*call), EVENT_RECORD_ALLOC);

	if (!call)
		return;
	call->head.time_ns = bpf_ktime_get_ns();
	call->address = address;
	call->cookie = thread->cookie;
	call->stack = stack;
	call->generation = thread->generation;
	call->size = thread->size;
	call->old = thread->took_old ? thread->pointer : 0;
	call->began_ns = thread->began_ns;
	call->alignment = thread->alignment;
	call->chunk = 0;
	// glibc keeps the chunk's size, and what kind it is, in the word before the block.
	if (settings.glibc && address)
		bpf_probe_read_user(&call->chunk, 8, (const void *)(address - 8));
	record_submit(call);
}

static __always_inline void record_map(const struct thread *thread, uint32_t kind, uint64_t address,
				       const uint64_t *arguments, uint32_t stack)
{
	struct recorded_map *map = RECORD_RESERVE(sizeof(*map), kind);

	if (!map)
		return;
	map->head.time_ns = bpf_ktime_get_ns();
	map->address = address;
	map->stack = stack;
	map->generation = thread->generation;
	for (int i = 0; i < 6; i++)
		map->arguments[i] = arguments[i];
	record_submit(map);
}

#endif
