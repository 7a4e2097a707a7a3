#include "agent/record/event_write.h"

#include "agent/event/capture.h"
#include "agent/event/compare.h"
#include "agent/event/sink.h"
#include "agent/ground/next_functions.h"
#include "agent/record/fact_record.h"
#include "agent/record/modules.h"
#include "agent/record/recording.h"
#include "agent/record/slot.h"
#include "agent/unwind/leaf_cache.h"
#include "trace/encode_event.h"

#define PIECE_FRAMES 256 /* frames in one record, where a stack is too large for that */
#define INLINE_MAX   (SLOT_FIRST_SIZE / 2)

/*
 * The stream has a current stack of thread->depth frames, outermost first; the event to be written
 * has thread->stack. Their outermost stack.shared frames are the same. So the record drops the
 * others from the stream's stack, and pushes those that thread->stack has:
 *
 *   the stream's stack     main  f  g  h       depth 4
 *   thread->stack          main  f  k          stack.depth 3
 *   shared                 2: drop g and h, push k
 */
static uint32_t frames_to_push(const struct thread *thread, uint32_t depth)
{
	return depth - thread->stack.shared;
}

/*
 * Finds the ids of the frames to push, and defines those that have none. false: nothing can be
 * written (no cursor), or a definition began a new chunk: the caller must start over.
 */
static bool find_ids(struct thread *thread, uint32_t depth)
{
	uint32_t sequence = thread->sequence;

	for (uint32_t i = thread->stack.shared + 1; i <= depth; i++) {
		struct cached_frame *frame = &thread->stack.frames[i];

		if (frame->id || frame->pc <= TRACE_PC_LAST_SPECIAL)
			continue;
		frame->id = modules_frame_id(frame->pc);
		if (frame->id)
			continue;
		frame->id = modules_define_frame(thread, frame->pc);
		if (!thread->cursor || thread->sequence != sequence)
			return false;
	}
	return true;
}

/* Always copies LEAF_TEXT bytes to p, of which text_size count. */
static inline uint8_t *put_text(const struct leaf_segment *segment, uint8_t *p)
{
	__builtin_memcpy(p, segment->text, sizeof(segment->text));
	return p + segment->text_size;
}

/* Encodes the frames of stack->top, which was met again, for the next time: they have ids. */
static void make_text(struct stack_cache *stack)
{
	struct leaf_segment *top = stack->top;
	uint8_t text[TRACE_STACK_CHANGE_MAX(LEAF_FRAMES)], *p = text;

	for (uint32_t i = 0; i < top->count; i++) {
		const struct cached_frame *frame = &stack->frames[top->joined + 1 + i];

		top->frames[i].id = frame->id;
		p = trace_put_frame(p, frame->id, frame->pc);
	}
	if (p - text > LEAF_TEXT)
		return;
	__builtin_memcpy(top->text, text, LEAF_TEXT);
	top->text_size = (uint8_t)(p - text);
}

static inline uint8_t *put_change(const struct thread *thread, uint32_t depth, uint8_t *p)
{
	const struct stack_cache *stack = &thread->stack;
	const struct leaf_segment *segment = leaf_cache_text(stack);

	p = trace_put_stack_change(p, thread->depth - stack->shared, depth - stack->shared);
	if (segment)
		return put_text(segment, p);
	for (uint32_t i = stack->shared + 1; i <= depth; i++)
		p = trace_put_frame(p, stack->frames[i].id, stack->frames[i].pc);
	return p;
}

/* The stream's stack is now the outermost depth frames of thread->stack. After the commit. */
static inline void remember_depth(struct thread *thread, uint32_t depth)
{
	thread->stack.shared = depth;
	thread->depth = depth;
}

/* The fields of the event that are encoded. */
static inline struct trace_event encoded_event(const struct event *event)
{
	return (struct trace_event){
		.operation = event->operation,
		.heap_flags = event->heap_flags,
		.ticks = event->ticks,
		.duration = event->duration,
		.old_address = event->old_address,
		.address = event->address,
		.size = event->size,
		.alignment = event->alignment,
		.slack = event->slack,
	};
}

/* The stream's stack is empty, or about to be. */
static void forget_stream_stack(struct thread *thread)
{
	thread->depth = 0;
	thread->stack.shared = 0;
}

/*
 * Writes a resync record if an interrupted write may have left the encoder half changed, and a step
 * back in time if the event is older than the last one.
 */
static inline __attribute__((always_inline)) uint8_t *
put_corrections(struct thread *thread, struct trace_encoder *encoder,
		const struct trace_event *event, uint8_t *p)
{
	if (unlikely(thread->resync)) {
		forget_stream_stack(thread);
		return trace_put_resync(p, encoder, event->ticks);
	}
	return event->operation == TRACE_OP_STACK ? p
						  : trace_put_correction(p, encoder, event->ticks);
}

void event_lose(struct thread *thread)
{
	// With a cursor: the file is full, for now (STREAM_ONLY).
	if (!thread->cursor)
		thread->limit = NULL;
	fact_record_lost(thread, 1);
}

/* Writes the outer frames of a stack that is too large for one record, in records of their own. */
static never_inline bool write_pieces_slow(struct thread *thread)
{
	uint32_t depth;

	while (frames_to_push(thread, thread->stack.depth) > PIECE_FRAMES) {
		const size_t need = 1 + TRACE_STACK_CHANGE_MAX(PIECE_FRAMES);
		uint8_t *p;

		if (!fact_record_reserve(thread, need))
			return false;
		depth = thread->stack.shared + PIECE_FRAMES;
		if (!find_ids(thread, depth)) {
			if (!thread->cursor)
				return false;
			continue;
		}
		if ((size_t)(thread->limit - thread->cursor) < need)
			continue;
		p = thread->cursor;
		*p++ = TRACE_OP_STACK | TRACE_STACK_CHANGE;
		p = put_change(thread, depth, p);
		thread_commit(thread, p);
		remember_depth(thread, depth);
	}
	return true;
}

/*
 * STREAM_ONLY: writes the tag, if there was no room for it when it was set. false: there is none
 * yet.
 */
static bool make_up_for_tag(struct thread *thread)
{
	if (likely(!recording->file.bounded || thread->tag == thread_tag))
		return true;
	thread_record_tag(thread);
	return thread->tag == thread_tag;
}

/*
 * Makes room for the event and writes what must precede it. false: recording stopped, or the file
 * is full (STREAM_ONLY).
 */
static never_inline bool prepare_slow(struct thread *thread)
{
	for (;;) {
		size_t need;

		if (TRACE_EVENT_MAX(frames_to_push(thread, thread->stack.depth)) > INLINE_MAX &&
		    !thread->resync && !write_pieces_slow(thread))
			return false;
		need = TRACE_EVENT_MAX(frames_to_push(thread, thread->stack.depth));
		if (!fact_record_reserve(thread, need))
			return false;
		if (find_ids(thread, thread->stack.depth)) {
			// Computed again: a new chunk begins with another stack. And definitions
			// took room.
			need = TRACE_EVENT_MAX(frames_to_push(thread, thread->stack.depth));
			if ((size_t)(thread->limit - thread->cursor) >= need)
				return true;
		}
		if (!thread->cursor)
			return false;
	}
}

/* Whether the event fits into the chunk, and all ids are known. */
static inline bool is_prepared(const struct thread *thread)
{
	uint32_t push = frames_to_push(thread, thread->stack.depth);
	size_t need = TRACE_EVENT_MAX(push);
	uint32_t missing = 0;

	if (unlikely((size_t)(thread->limit - thread->cursor) < need || need > INLINE_MAX))
		return false;
	if (!push || leaf_cache_text(&thread->stack))
		return true;
	if (unlikely(thread->stack.settled != thread->stack.depth))
		return false;
	for (uint32_t i = thread->stack.shared + 1; i <= thread->stack.depth; i++)
		missing |= !thread->stack.frames[i].id;
	return likely(!missing);
}

/*
 * Writes one record. The thread's encoder changes only after the commit (event_write.h), so this
 * works on a copy, which lives in registers. change: the stream's stack becomes thread->stack.
 */
static inline __attribute__((always_inline)) void
put_event(struct thread *thread, const struct event *event, enum trace_shape shape, bool change)
{
	const struct trace_event record = encoded_event(event);
	struct trace_encoder encoder = thread->encoder;
	uint8_t *p = thread->cursor;
	bool extra;

	if (shape == TRACE_SHAPE_ANY)
		p = put_corrections(thread, &encoder, &record, p);
	// Compared with what the reader knows after a resync.
	extra = trace_event_needs_extra(&encoder, &record, shape, real.allocator_is_glibc);
	*p++ = trace_event_head(&record, change, extra);
	if (change)
		p = put_change(thread, thread->stack.depth, p);
	p = trace_put_event(p, &encoder, &record, shape, extra);
	thread_commit(thread, p);
	thread->encoder.time = encoder.time;
	thread->encoder.address = encoder.address;
	if (shape == TRACE_SHAPE_ANY || unlikely(extra))
		thread->encoder.heap_flags = encoder.heap_flags;
	if (shape == TRACE_SHAPE_ANY)
		thread->resync = 0;
}

/* Writes the event with the stack of thread->stack. */
static inline __attribute__((always_inline)) void
write_event(struct thread *thread, const struct event *event, enum trace_shape shape)
{
	const struct stack_cache *stack = &thread->stack;

	if (shape == TRACE_SHAPE_ANY) {
		if (thread->resync)
			forget_stream_stack(thread);
		if (!thread->cursor || !make_up_for_tag(thread) || !prepare_slow(thread))
			return event_lose(thread);
	}
	put_event(thread, event, shape,
		  thread->depth != stack->shared || stack->shared != stack->depth ||
			  (shape == TRACE_SHAPE_ANY && event->operation == TRACE_OP_STACK));
	remember_depth(thread, stack->depth);
}

static bool has_frame_without_id(const struct thread *thread)
{
	const struct stack_cache *stack = &thread->stack;

	for (uint32_t i = stack->shared + 1; i <= stack->depth; i++)
		if (!stack->frames[i].id)
			return true;
	return false;
}

/*
 * Readers look a frame without an id up by the time of its record. Another thread may have just
 * loaded its module, so that time must not be from before the load: a hook that is still going on
 * (now) reads the clock again.
 */
never_inline void event_write_any(struct thread *thread, const struct event *event, bool now)
{
	struct stack_cache *stack = &thread->stack;
	bool again = stack->settled != stack->depth;
	struct event dated = *event;

	stack_cache_settle(stack);
	if (now && event->operation <= TRACE_OP_LAST_ALLOCATION && has_frame_without_id(thread))
		dated.ticks = event_clock_read_slow(thread, event->address, event->size | 1);
	write_event(thread, &dated, TRACE_SHAPE_ANY);
	if (again && thread->cursor)
		make_text(stack);
}

void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count)
{
	if (!stack_cache_set(&thread->stack, frames, count))
		return process_count_loss(TRACE_LOSS_NO_MEMORY);
	event_write_any(thread, event, false);
}

/* Whether the event needs nothing but its own record. The thread must not be unusual. */
static inline bool is_ordinary(const struct thread *thread, const struct event *event)
{
	return event->operation <= TRACE_OP_LAST_ALLOCATION &&
	       !trace_carries_alignment(event->operation) && event->ticks >= thread->encoder.time &&
	       __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) == thread->epoch;
}

/* BACKTRACE=none: thread->stack is empty, and so is the stream's. */
static void write_stackless(struct thread *thread, const struct event *event)
{
	thread->within = 0;
	if (event->operation == TRACE_OP_STACK)
		return;
	if (!thread->unusual && is_ordinary(thread, event) && is_prepared(thread))
		write_event(thread, event, TRACE_SHAPE_ALLOCATION);
	else
		event_write_any(thread, event, true);
}

void event_write_slow(struct thread *thread, const struct event *event,
		      const struct unwind_state *state)
{
	if (config_stackless())
		return write_stackless(thread, event);
	if (!capture_slow(thread, state))
		return;
	compare_stack(thread, state);
	event_write_any(thread, event, true);
}

never_inline void event_write_end(struct thread *thread, const struct event *event,
				  const struct unwind_state *state)
{
	if (thread->free_stacks)
		return event_write_slow(thread, event, state);
	if (!make_up_for_tag(thread) || !fact_record_reserve(thread, TRACE_EVENT_MAX(0)))
		return event_lose(thread);
	put_event(thread, event, TRACE_SHAPE_ANY, false);
}

bool event_define_frames(struct thread *thread)
{
	while (thread->cursor)
		if (find_ids(thread, thread->stack.depth))
			return true;
	event_lose(thread);
	return false;
}

void event_write_free(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	struct trace_encoder *encoder = &thread->encoder;
	uint64_t address_before = encoder->address;
	uint8_t *p = thread->cursor;

	if (unlikely(thread->unusual || (size_t)(thread->limit - p) < TRACE_EVENT_MAX(0) ||
		     ticks < encoder->time))
		return sink->end(thread, operation, ticks, address);
	*p++ = operation;
	p = varint_put(p, ticks - encoder->time);
	p = trace_put_address(p, &address_before, address);
	thread_commit(thread, p);
	encoder->time = ticks;
	encoder->address = address;
}

bool event_capture_with_ids(struct thread *thread, const struct unwind_state *state)
{
	struct stack_cache *stack = &thread->stack;
	bool again;

	if (config_stackless()) {
		thread->within = 0;
		return true;
	}
	if (!capture_slow(thread, state))
		return false;
	compare_stack(thread, state);
	again = stack->settled != stack->depth;
	stack_cache_settle(stack);
	while (!find_ids(thread, stack->depth)) {
		if (!thread->cursor) {
			event_lose(thread);
			return false;
		}
	}
	if (again)
		make_text(stack);
	return true;
}

void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state)
{
	// First, before anything is set up for the rest.
	if (unlikely(thread->unusual))
		return sink->allocate(thread, event, state);
	if (unlikely(!is_ordinary(thread, event) ||
		     config.value[SETTING_UNWINDER] != SETTING_UNWINDER_FAST ||
		     !capture_cached(thread, state)))
		return sink->allocate(thread, event, state);
	compare_stack(thread, state);
	// If not: making room may begin a chunk, with another time and stack.
	if (likely(is_prepared(thread)))
		write_event(thread, event, TRACE_SHAPE_ALLOCATION);
	else
		event_write_any(thread, event, true);
}
