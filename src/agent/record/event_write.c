#include "agent/record/event_write.h"

#include "agent/cull/cull.h"
#include "agent/ground/compare.h"
#include "agent/ground/config.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_code.h"
#include "agent/ground/signal_bracket.h"
#include "agent/hooks/guard.h"
#include "agent/life/modules.h"
#include "agent/life/process.h"
#include "agent/life/thread.h"
#include "agent/life/toggle.h"
#include "agent/live/live.h"
#include "agent/record/fact_record.h"
#include "agent/record/slot.h"
#include "agent/unwind/leaf_cache.h"

#define PIECE_FRAMES 256 /* pushed at once where a stack is too large for one record */
#define INLINE_MAX   (SLOT_FIRST_SIZE / 2)

/*
 * The stack of the event to be written is thread->stack; the stream's is as deep as thread->depth,
 * and the outermost stack.shared frames of both are the same. So the change to be written is: drop
 * all above them, push those that thread->stack has there.
 */
static uint32_t frames_to_push(const struct thread *thread, uint32_t depth)
{
	return depth - thread->stack.shared;
}

/*
 * Finds the ids of the frames to push. false: a definition was written, and the chunk may have
 * rolled: everything is to be looked at again. Or, without a cursor, nothing can be written.
 */
static bool find_ids(struct thread *thread, uint32_t depth)
{
	uint32_t sequence = thread->sequence;

	for (uint32_t i = thread->stack.shared + 1; i <= depth; i++) {
		struct cached_frame *frame = &thread->stack.frames[i];

		if (frame->id || frame->pc <= TRACE_PC_LAST_SPECIAL)
			continue;
		frame->id = unwind_frame_id(frame->pc);
		if (frame->id)
			continue;
		frame->id = modules_define_frame(thread, frame->pc);
		if (!thread->cursor || thread->sequence != sequence)
			return false;
	}
	return true;
}

/* Room behind p: LEAF_TEXT bytes. */
static inline uint8_t *put_text(const struct leaf_segment *segment, uint8_t *p)
{
	__builtin_memcpy(p, segment->text, sizeof(segment->text));
	return p + segment->text_size;
}

/* The frames of the segment that was met again have ids now. */
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
static inline void remember(struct thread *thread, uint32_t depth)
{
	thread->stack.shared = depth;
	thread->depth = depth;
}

/* What is known of an event when its writer is compiled. */
enum shape {
	SHAPE_ALLOCATION, /* without an alignment, nothing to correct: what it needs is in registers
			   */
	SHAPE_ANY,
};

/* Whether the reader could not know the usable size and the heap flags without being told. */
static inline bool needs_extra(const struct trace_encoder *encoder, const struct event *event)
{
	return !real.allocator_is_glibc || event->heap_flags != encoder->heap_flags ||
	       event->size + event->slack != trace_glibc_usable(event->size);
}

/* By the table, not by the value: an alignment of 0 may be asked for. */
static inline bool carries_alignment(uint8_t operation)
{
	static const uint32_t aligned =
#define ENTRY(number, NAME, name, aligned) (uint32_t)(aligned) << (number) |
#include "trace/entries.def"
#undef ENTRY
		0;

	return aligned >> operation & 1;
}

/* The fields of an event that differ from shape to shape. */
static inline __attribute__((always_inline)) uint8_t *put_body(struct trace_encoder *encoder,
							       const struct event *event,
							       enum shape shape, bool extra,
							       uint8_t *p)
{
	uint8_t operation = event->operation;

	if (shape == SHAPE_ANY && operation == TRACE_OP_STACK)
		return p;
	p = trace_put_time(p, encoder, event->ticks);
	if (shape == SHAPE_ANY &&
	    (operation == TRACE_OP_REALLOC || operation == TRACE_OP_REALLOCARRAY)) {
		p = varint_put(p, event->duration);
		encoder->time += event->duration;
		p = trace_put_address(p, &encoder->address, event->old_address);
	}
	p = trace_put_address(p, &encoder->address, event->address);
	if (shape == SHAPE_ANY && operation > TRACE_OP_REALLOCARRAY)
		return p;
	p = varint_put(p, event->size);
	if (shape == SHAPE_ANY && carries_alignment(operation))
		p = varint_put(p, event->alignment);
	if (unlikely(extra)) {
		encoder->heap_flags = event->heap_flags;
		p = varint_put(p, trace_extra(event->slack, event->heap_flags));
	}
	return p;
}

/* The stream's stack is empty, or about to be. */
static void forget_stream_stack(struct thread *thread)
{
	thread->depth = 0;
	thread->stack.shared = 0;
}

/* Clears what an interrupted write may have left, and steps back in time where need be. */
static inline __attribute__((always_inline)) uint8_t *put_corrections(struct thread *thread,
								      struct trace_encoder *encoder,
								      const struct event *event,
								      uint8_t *p)
{
	if (unlikely(thread->resync)) {
		*p++ = TRACE_OP_RESYNC;
		p = varint_put(p, event->ticks);
		*encoder = (struct trace_encoder){.time = event->ticks};
		forget_stream_stack(thread);
	} else if (unlikely(event->ticks < encoder->time && event->operation != TRACE_OP_STACK)) {
		*p++ = TRACE_OP_TIME;
		p = varint_put(p, event->ticks);
		encoder->time = event->ticks;
	}
	return p;
}

static void lose(struct thread *thread)
{
	thread->cursor = NULL;
	thread->limit = NULL;
	fact_record_lost(1);
}

static size_t room_for(uint32_t push)
{
	return 2 * (1 + VARINT_MAX) + TRACE_CORE_MAX + TRACE_STACK_CHANGE_MAX(push);
}

/* The outer frames of a stack too large for one record, in records of their own. */
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
		remember(thread, depth);
	}
	return true;
}

/* Makes room, and writes what has to stand before the event. false: recording stopped. */
static never_inline bool prepare_slow(struct thread *thread)
{
	for (;;) {
		size_t need;

		if (room_for(frames_to_push(thread, thread->stack.depth)) > INLINE_MAX &&
		    !thread->resync && !write_pieces_slow(thread))
			return false;
		need = room_for(frames_to_push(thread, thread->stack.depth));
		if (!fact_record_reserve(thread, need))
			return false;
		if (find_ids(thread, thread->stack.depth)) {
			// A new chunk begins with another stack.
			need = room_for(frames_to_push(thread, thread->stack.depth));
			if ((size_t)(thread->limit - thread->cursor) >= need)
				return true;
		}
		if (!thread->cursor)
			return false;
	}
}

/* Whether the event fits as things are, with all ids known. */
static inline bool is_prepared(const struct thread *thread)
{
	uint32_t push = frames_to_push(thread, thread->stack.depth);
	size_t need = room_for(push);
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
 * One record. The thread's own state changes only after the commit (event_write.h), hence the copy
 * of the encoder, which lives in registers. change: the stack's, which is thread->stack now.
 */
static inline __attribute__((always_inline)) void
put_event(struct thread *thread, const struct event *event, enum shape shape, bool change)
{
	struct trace_encoder encoder = thread->encoder;
	uint8_t *p = thread->cursor;
	bool extra;

	if (shape == SHAPE_ANY)
		p = put_corrections(thread, &encoder, event, p);
	// By what the reader knows after a resync.
	extra = (shape == SHAPE_ALLOCATION || event->operation <= TRACE_OP_REALLOCARRAY) &&
		needs_extra(&encoder, event);
	*p++ = (uint8_t)(event->operation | (change ? TRACE_STACK_CHANGE : 0) |
			 (extra ? TRACE_EXTRA : 0));
	if (change)
		p = put_change(thread, thread->stack.depth, p);
	p = put_body(&encoder, event, shape, extra, p);
	thread_commit(thread, p);
	thread->encoder.time = encoder.time;
	thread->encoder.address = encoder.address;
	if (shape == SHAPE_ANY || unlikely(extra))
		thread->encoder.heap_flags = encoder.heap_flags;
	if (shape == SHAPE_ANY)
		thread->resync = 0;
}

/* The event with the stack of thread->stack. */
static inline __attribute__((always_inline)) void
write_event(struct thread *thread, const struct event *event, enum shape shape)
{
	const struct stack_cache *stack = &thread->stack;

	if (shape == SHAPE_ANY) {
		if (thread->resync)
			forget_stream_stack(thread);
		if (!thread->cursor || !prepare_slow(thread))
			return lose(thread);
	}
	put_event(thread, event, shape,
		  thread->depth != stack->shared || stack->shared != stack->depth ||
			  (shape == SHAPE_ANY && event->operation == TRACE_OP_STACK));
	remember(thread, stack->depth);
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
 * now: the event is of a hook that is going on. A frame that cannot be defined is looked up by the
 * time of its record: that must not be one from before its module was loaded, by another thread.
 */
static never_inline void write_any(struct thread *thread, const struct event *event, bool now)
{
	struct stack_cache *stack = &thread->stack;
	bool again = stack->settled != stack->depth;
	struct event dated = *event;

	stack_cache_settle(stack);
	if (now && event->operation <= TRACE_OP_LAST_ALLOCATION && has_frame_without_id(thread))
		dated.ticks = event_clock_read_slow(thread, event->address, event->size | 1);
	write_event(thread, &dated, SHAPE_ANY);
	if (again && thread->cursor)
		make_text(stack);
}

void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count)
{
	if (live_is_on())
		return live_allocated(thread, event, frames, count);
	if (!stack_cache_set(&thread->stack, frames, count))
		return process_count_loss(TRACE_LOSS_NO_MEMORY);
	write_any(thread, event, false);
}

/* A stack that is not whole, and not because nobody asked for more. */
static never_inline void count_incomplete(enum unwind_end end)
{
	if (end == UNWIND_BROKEN)
		process_count_loss(TRACE_LOSS_BROKEN_STACKS);
	else if (end == UNWIND_TRUNCATED &&
		 config.value[SETTING_BACKTRACE] == SETTING_BACKTRACE_FULL)
		process_count_loss(TRACE_LOSS_TRUNCATED_STACKS);
}

/*
 * thread->stack becomes the one that state describes, if the cache can do it: of a thread that is
 * not unusual, in the epoch that it knows.
 */
static inline __attribute__((always_inline)) bool capture_cached(struct thread *thread,
								 const struct unwind_state *state)
{
	enum unwind_end end = stack_cache_capture(&thread->stack, state, &thread->bounds);

	if (likely(end == UNWIND_COMPLETE))
		return true;
	count_incomplete(end);
	return end != UNWIND_REFUSED;
}

/* The stack of state by unwind_capture(), which remembers nothing. false: lost. */
static never_inline bool capture_plain_slow(struct thread *thread, const struct unwind_state *state)
{
	size_t count = 0;
	enum unwind_end end = unwind_capture(state, &thread->bounds, thread->frames,
					     thread_depth_limit(), &count);

	if (unlikely(end != UNWIND_COMPLETE))
		thread->frames[count++] =
			end == UNWIND_TRUNCATED ? TRACE_PC_TRUNCATED : TRACE_PC_BROKEN;
	count_incomplete(end);
	if (thread->within || thread->passing) {
		thread->within = 0;
		count = own_code_strip(thread->frames, (uint32_t)count);
	}
	if (stack_cache_set(&thread->stack, thread->frames, count))
		return true;
	process_count_loss(TRACE_LOSS_NO_MEMORY);
	return false;
}

/* Makes thread->stack the one that state describes. false: lost. */
static never_inline bool capture_slow(struct thread *thread, const struct unwind_state *state)
{
	uint32_t epoch = __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE);

	// After a module was unloaded a pc may mean other code; and pages of the stack may be gone.
	if (epoch != thread->epoch || thread->resync) {
		stack_cache_clear(&thread->stack);
		thread->bounds = (struct unwind_stack){0};
		thread->epoch = epoch;
	}
	if (config.value[SETTING_UNWINDER] == SETTING_UNWINDER_FAST && !thread->within &&
	    !thread->passing && capture_cached(thread, state))
		return true;
	return capture_plain_slow(thread, state);
}

/* Nothing is to be looked after but this event itself, of a thread that is not unusual. */
static inline bool is_ordinary(const struct thread *thread, const struct event *event)
{
	return event->operation <= TRACE_OP_LAST_ALLOCATION &&
	       !carries_alignment(event->operation) && event->ticks >= thread->encoder.time &&
	       __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) == thread->epoch;
}

/* BACKTRACE=none: thread->stack is empty, and so is the stream's. */
static void write_stackless(struct thread *thread, const struct event *event)
{
	thread->within = 0;
	if (event->operation == TRACE_OP_STACK)
		return;
	if (!thread->unusual && is_ordinary(thread, event) && is_prepared(thread))
		write_event(thread, event, SHAPE_ALLOCATION);
	else
		write_any(thread, event, true);
}

static void write_captured(struct thread *thread, const struct event *event,
			   const struct unwind_state *state)
{
	if (config_stackless())
		return write_stackless(thread, event);
	if (!capture_slow(thread, state))
		return;
	compare_stack(thread, state);
	write_any(thread, event, true);
}

never_inline void event_write_kept_free(struct thread *thread, const struct event *event,
					const struct unwind_state *state)
{
	if (thread->free_stacks)
		return write_captured(thread, event, state);
	if (!fact_record_reserve(thread, room_for(0)))
		return lose(thread);
	put_event(thread, event, SHAPE_ANY, false);
}

bool event_capture(struct thread *thread, const struct unwind_state *state)
{
	bool plain = thread->resync || thread->within || thread->passing ||
		     config.value[SETTING_UNWINDER] != SETTING_UNWINDER_FAST ||
		     __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE) != thread->epoch;

	if (unlikely(plain) || unlikely(!capture_cached(thread, state))) {
		if (!capture_slow(thread, state))
			return false;
		thread->resync = 0;
	}
	compare_stack(thread, state);
	return true;
}

bool event_define_frames(struct thread *thread)
{
	while (thread->cursor)
		if (find_ids(thread, thread->stack.depth))
			return true;
	lose(thread);
	return false;
}

bool event_keep(struct thread *thread, struct event *event)
{
	if (live_is_on()) // the only ends that come here are those of reallocs, which are over
		return false;
	return admission_keeps(thread, event);
}

/* Where there is a filter: whether the end of a block is an event. */
static bool keeps_free(struct thread *thread, struct event *event)
{
	return event_keep(thread, event) &&
	       !(cull_is_on() && cull_ends(thread, event->address, event->ticks, false));
}

/* Of a thread that is unusual, or whose chunk is full. */
static never_inline void write_unusual_free(struct thread *thread, uint8_t operation,
					    uint64_t ticks, uint64_t address)
{
	struct event event = {.operation = operation, .ticks = ticks, .address = address};
	struct unwind_state state;

	// As in write_here_slow(). If the child has begun a recording before it came back, the
	// guard alone is missing, and the block is one that the recording does not know.
	if (!thread->cursor)
		return lose(thread);
	if (!thread->outer)
		return;
	if (!thread->filtered || keeps_free(thread, &event)) {
		state = guard_caller(thread);
		event_write_kept_free(thread, &event, &state);
	}
	if (cull_is_on())
		cull_look_around(thread, ticks);
}

static never_inline void write_free_slow(struct thread *thread, uint8_t operation, uint64_t ticks,
					 uint64_t address)
{
	if (live_is_on() && likely(thread->cursor && thread->outer))
		live_frees(thread, address);
	else
		write_unusual_free(thread, operation, ticks, address);
}

void event_write_free(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	struct trace_encoder *encoder = &thread->encoder;
	uint64_t address_before = encoder->address;
	uint8_t *p = thread->cursor;

	if (unlikely(thread->unusual || (size_t)(thread->limit - p) < room_for(0) ||
		     ticks < encoder->time))
		return write_free_slow(thread, operation, ticks, address);
	*p++ = operation;
	p = varint_put(p, ticks - encoder->time);
	p = trace_put_address(p, &address_before, address);
	thread_commit(thread, p);
	encoder->time = ticks;
	encoder->address = address;
}

/* Makes thread->stack the one that state describes, all its frames with ids. false: lost. */
static bool capture_with_ids(struct thread *thread, const struct unwind_state *state)
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
			lose(thread);
			return false;
		}
	}
	if (again)
		make_text(stack);
	return true;
}

/* CULL. replaced: the entry of the block that a realloc has ended, 0: none that is held back. */
static void write_or_hold(struct thread *thread, struct event *event, uint32_t replaced,
			  const struct unwind_state *state)
{
	if (replaced && event->operation == TRACE_OP_FREE) { // the filter has dropped the new block
		if (!cull_ends_taken(thread, replaced, event->address, event->ticks, false))
			event_write_kept_free(thread, event, state);
		return;
	}
	if (!capture_with_ids(thread, state)) {
		if (replaced)
			cull_gives_up(thread, replaced, event->old_address);
		return;
	}
	if (event->operation > TRACE_OP_LAST_ALLOCATION && !replaced) {
		write_any(thread, event, true);
		cull_notes(thread, event);
	} else if (!cull_holds(thread, event, replaced)) {
		write_any(thread, event, true);
	}
}

/* What the filter has made of an event. */
static void write_kept(struct thread *thread, struct event *event, uint32_t replaced,
		       const struct unwind_state *state)
{
	if (cull_is_on() && (replaced || event->operation < TRACE_OP_FREE))
		write_or_hold(thread, event, replaced, state);
	else if (event->operation == TRACE_OP_FREE)
		event_write_kept_free(thread, event, state);
	else
		write_captured(thread, event, state);
}

/* Of a thread that is unusual, or without the caches. */
static never_inline void write_unusual(struct thread *thread, const struct event *event,
				       const struct unwind_state *state)
{
	// A handler that interrupted the real malloc forked, and the child came back here: its
	// thread was wiped.
	if (!thread->cursor) {
		thread->replaced = 0;
		return lose(thread);
	}
	if (thread->filtered) {
		struct event kept = *event;
		uint32_t replaced = thread->replaced;

		thread->replaced = 0;
		if (event_keep(thread, &kept)) {
			toggle_write_tag(thread);
			write_kept(thread, &kept, replaced, state);
		} else {
			thread->within = 0;
			if (replaced)
				cull_gives_up(thread, replaced, event->old_address);
		}
		if (cull_is_on())
			cull_look_around(thread, event->ticks);
	} else {
		write_captured(thread, event, state);
	}
}

static never_inline void write_here_slow(struct thread *thread, const struct event *event,
					 const struct unwind_state *state)
{
	if (live_is_on() && likely(thread->cursor != NULL))
		live_allocates(thread, event, state);
	else
		write_unusual(thread, event, state);
}

void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state)
{
	// First, before anything is set up for the rest.
	if (unlikely(thread->unusual))
		return write_here_slow(thread, event, state);
	if (unlikely(!is_ordinary(thread, event) ||
		     config.value[SETTING_UNWINDER] != SETTING_UNWINDER_FAST ||
		     !capture_cached(thread, state)))
		return write_here_slow(thread, event, state);
	compare_stack(thread, state);
	// Making room may begin a chunk, with another time and stack.
	if (likely(is_prepared(thread)))
		write_event(thread, event, SHAPE_ALLOCATION);
	else
		write_any(thread, event, true);
}
