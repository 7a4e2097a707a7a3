#include "agent/event.h"

#include "agent/compare.h"
#include "agent/modules.h"
#include "agent/own_code.h"
#include "agent/process.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/slow.h"
#include "agent/thread.h"

#define PIECE_FRAMES 256 /* pushed at once where a stack is too large for one record */
#define INLINE_MAX   (SLOT_FIRST_SIZE / 2)

/* A stack change that is about to be written. Frames are innermost first. */
struct change {
	const uint64_t *frames;
	uint32_t count;
	uint32_t common; /* outermost frames that the stream's stack shares */
	uint32_t push;   /* frames that go on top of them */
};

static uint64_t frame_at(const struct change *change, uint32_t from_outermost)
{
	return change->frames[change->count - 1 - from_outermost];
}

static void compare(const struct thread *thread, struct change *change)
{
	uint32_t limit = change->count < thread->depth ? change->count : thread->depth;
	uint32_t i = 0;

	while (i < limit && thread->stack_frames[i] == frame_at(change, i))
		i++;
	change->common = i;
	change->push = change->count - i;
}

/*
 * Finds the ids of the frames to push. false: a definition was written, and the chunk may have
 * rolled: everything is to be looked at again.
 */
static bool find_ids(struct thread *thread, const struct change *change)
{
	uint32_t sequence = thread->sequence;

	for (uint32_t i = 0; i < change->push; i++) {
		uint64_t pc = frame_at(change, change->common + i);

		thread->ids[i] = pc <= TRACE_PC_LAST_SPECIAL ? 0 : unwind_frame_id(pc);
		if (unlikely(!thread->ids[i] && pc > TRACE_PC_LAST_SPECIAL)) {
			thread->ids[i] = modules_define_frame(thread, pc);
			if (!thread->cursor || thread->sequence != sequence)
				return false;
		}
	}
	return true;
}

static uint8_t *put_change(struct thread *thread, const struct change *change, uint8_t *p)
{
	p = trace_put_stack_change(p, thread->depth - change->common, change->push);
	for (uint32_t i = 0; i < change->push; i++)
		p = trace_put_frame(p, thread->ids[i], frame_at(change, change->common + i));
	return p;
}

/* The stream's stack is now the change's, up to what was pushed. After the commit. */
static void remember(struct thread *thread, const struct change *change)
{
	for (uint32_t i = 0; i < change->push; i++)
		thread->stack_frames[change->common + i] = frame_at(change, change->common + i);
	thread->depth = change->common + change->push;
}

/* Whether the reader could not know the usable size and the heap flags without being told. */
static bool needs_extra(const struct trace_encoder *encoder, const struct event *event)
{
	if (event->operation > TRACE_OP_REALLOCARRAY)
		return false;
	return !real.allocator_is_glibc || event->heap_flags != encoder->heap_flags ||
	       event->size + event->slack != trace_glibc_usable(event->size);
}

/* By the table, not by the value: an alignment of 0 may be asked for. */
static bool carries_alignment(uint8_t operation)
{
	static const uint32_t aligned =
#define ENTRY(number, NAME, name, aligned) (uint32_t)(aligned) << (number) |
#include "trace/entries.def"
#undef ENTRY
		0;

	return aligned >> operation & 1;
}

static uint8_t *put_body(struct trace_encoder *encoder, const struct event *event, bool extra,
			 uint8_t *p)
{
	uint8_t operation = event->operation;

	if (operation == TRACE_OP_STACK)
		return p;
	p = trace_put_time(p, encoder, event->ticks);
	if (operation == TRACE_OP_REALLOC || operation == TRACE_OP_REALLOCARRAY) {
		p = varint_put(p, event->duration);
		encoder->time += event->duration;
		p = trace_put_address(p, encoder, event->old_address);
	}
	p = trace_put_address(p, encoder, event->address);
	if (operation <= TRACE_OP_REALLOCARRAY)
		p = varint_put(p, event->size);
	if (unlikely(carries_alignment(operation)))
		p = varint_put(p, event->alignment);
	if (extra) {
		encoder->heap_flags = event->heap_flags;
		p = varint_put(p, trace_extra(event->slack, event->heap_flags));
	}
	return p;
}

/* Clears what an interrupted write may have left, and steps back in time where need be. */
static uint8_t *put_corrections(struct thread *thread, struct trace_encoder *encoder,
				const struct event *event, uint8_t *p)
{
	if (unlikely(thread->resync)) {
		*p++ = TRACE_OP_RESYNC;
		p = varint_put(p, event->ticks);
		*encoder = (struct trace_encoder){.time = event->ticks};
		thread->depth = 0;
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
	process_count_loss(process->loss_if_stopped);
}

/* A stack too large for one record, as several; false: recording stopped. */
static never_inline bool write_pieces_slow(struct thread *thread, struct change change)
{
	const uint32_t count = change.count;
	const uint64_t *frames = change.frames;

	for (;;) {
		size_t need;
		uint8_t *p;

		change.frames = frames;
		change.count = count;
		compare(thread, &change);
		if (change.push <= PIECE_FRAMES)
			return true; // the rest goes with the event
		// The outer part of the stack, as if it were the whole one.
		change.frames = frames + (change.push - PIECE_FRAMES);
		change.count = count - (change.push - PIECE_FRAMES);
		change.push = PIECE_FRAMES;
		need = 1 + TRACE_STACK_CHANGE_MAX(PIECE_FRAMES);
		if ((size_t)(thread->limit - thread->cursor) < need) {
			if (!record_reserve(thread, need))
				return false;
			continue;
		}
		if (!find_ids(thread, &change)) {
			if (!thread->cursor)
				return false;
			continue;
		}
		if ((size_t)(thread->limit - thread->cursor) < need)
			continue;
		p = thread->cursor;
		*p++ = TRACE_OP_STACK | TRACE_STACK_CHANGE;
		p = put_change(thread, &change, p);
		thread_commit(thread, p);
		remember(thread, &change);
	}
}

static size_t room_for(uint32_t push)
{
	return 2 * (1 + VARINT_MAX) + TRACE_CORE_MAX + TRACE_STACK_CHANGE_MAX(push);
}

/* Brings the chunk, the stack and the ids into a state in which the event fits. */
static bool prepare(struct thread *thread, struct change *change)
{
	for (;;) {
		size_t need;

		if (unlikely(thread->resync))
			thread->depth = 0;
		compare(thread, change);
		if (unlikely(room_for(change->push) > INLINE_MAX + room_for(0)) &&
		    change->push > PIECE_FRAMES && !thread->resync) {
			if (!write_pieces_slow(thread, *change))
				return false;
			continue;
		}
		need = room_for(change->push);
		if (unlikely((size_t)(thread->limit - thread->cursor) < need)) {
			if (!record_reserve(thread, need))
				return false;
			continue;
		}
		if (unlikely(!find_ids(thread, change))) {
			if (!thread->cursor)
				return false;
			continue;
		}
		if (likely((size_t)(thread->limit - thread->cursor) >= need))
			return true;
	}
}

void event_write(struct thread *thread, const struct event *event, const uint64_t *frames,
		 uint32_t count)
{
	struct change change = {.frames = frames, .count = count};
	struct trace_encoder encoder;
	bool changed, extra;
	uint8_t *p;

	if (unlikely(!thread->cursor) || unlikely(!prepare(thread, &change)))
		return lose(thread);
	// The thread's own state changes only after the commit: see event.h.
	encoder = thread->encoder;
	p = put_corrections(thread, &encoder, event, thread->cursor);
	changed =
		change.push || thread->depth != change.common || event->operation == TRACE_OP_STACK;
	extra = needs_extra(&encoder, event);
	*p++ = (uint8_t)(event->operation | (changed ? TRACE_STACK_CHANGE : 0) |
			 (extra ? TRACE_EXTRA : 0));
	if (changed)
		p = put_change(thread, &change, p);
	p = put_body(&encoder, event, extra, p);
	thread_commit(thread, p);
	thread->encoder = encoder;
	thread->resync = 0;
	remember(thread, &change);
}

void event_write_plain(struct thread *thread, const struct event *event)
{
	struct trace_encoder encoder;
	uint8_t *p;

	if (unlikely((size_t)(thread->limit - thread->cursor) < room_for(0)) &&
	    !record_reserve(thread, room_for(0)))
		return lose(thread);
	encoder = thread->encoder;
	p = put_corrections(thread, &encoder, event, thread->cursor);
	*p++ = event->operation;
	p = put_body(&encoder, event, false, p);
	thread_commit(thread, p);
	thread->encoder = encoder;
	thread->resync = 0;
}

/* After a module was unloaded a pc may mean other code: the stream's stack matches nothing. */
static never_inline void forget_stack_slow(struct thread *thread, uint32_t epoch)
{
	for (uint32_t i = 0; i < thread->depth; i++)
		thread->stack_frames[i] = 0;
	thread->epoch = epoch;
}

void event_write_here(struct thread *thread, const struct event *event,
		      const struct unwind_state *state)
{
	uint32_t epoch = __atomic_load_n(&process->epoch, __ATOMIC_ACQUIRE);
	size_t count = 0;
	enum unwind_end end;

	if (unlikely(epoch != thread->epoch))
		forget_stack_slow(thread, epoch);
	end = unwind_capture(state, &thread->bounds, thread->frames, thread_depth_limit(), &count);
	compare_stack(thread->frames, (uint32_t)count);
	if (unlikely(end != UNWIND_COMPLETE)) {
		bool cut = end == UNWIND_TRUNCATED;

		thread->frames[count++] = cut ? TRACE_PC_TRUNCATED : TRACE_PC_BROKEN;
		process_count_loss(cut ? TRACE_LOSS_TRUNCATED_STACKS : TRACE_LOSS_BROKEN_STACKS);
	}
	if (unlikely(thread->within || thread->passing)) {
		thread->within = 0;
		count = own_code_strip(thread->frames, (uint32_t)count);
	}
	event_write(thread, event, thread->frames, (uint32_t)count);
}
