#include "agent/script/script_stack.h"

#include "agent/ground/libc.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/state.h"
#include "agent/script/frame_ids.h"
#include "agent/script/python_code.h"
#include "agent/unwind/leaf_cache.h"
#include "base/compiler.h"
#include "trace/format.h"

#define FIRST_FRAMES 256u
#define FRAMES_MAX   65536u /* deeper chains end there, and are counted as broken */
#define PLACES       256u   /* a power of two */
#define NATIVE_LEAST 4096u
#define MARKERS_MAX  64u /* one after the other that runs nothing */

/* A frame of the chain, as it was read last. */
struct script_frame {
	uint64_t address, code, instr, previous;
	uint64_t lines;  /* the code's table of them */
	uint64_t pc;     /* TRACE_PC_SCRIPT and a hash; 0: it has no function, and is not shown */
	uint32_t id;     /* in the recording; 0: not known */
	uint8_t mark;    /* see mark_offset() */
	bool ends_run;   /* the outermost frame of a run, or its shim */
	uint32_t unseen; /* how many of those outside of it are not shown */
};

/* Frames that one native frame runs. */
struct script_run {
	uint64_t marker;
	uint32_t first, count; /* in script_stack.frames */
	uint32_t native;       /* its native frame; 0: not found */
	uint32_t merged;       /* how many of its frames the merged stack shows */
};

struct script_stack {
	uint64_t interpreter;        /* the state of the thread there; it can be read */
	struct script_frame *frames; /* outermost first */
	struct script_frame *fresh;  /* of the chain that is being read: innermost first */
	struct script_run *runs;     /* outermost first */
	struct script_run *before;   /* the runs of the capture before */
	uint32_t capacity;           /* of all four */
	uint32_t depth, run_count, count_before;
	uint32_t scripts;     /* frames of all runs that the merged stack shows */
	uint32_t last_native; /* the native frame of the innermost run */
	struct stack_cache native;
	uint16_t places[PLACES]; /* by a frame's address: its index, perhaps */
	struct python_code codes[PYTHON_CODES];
	struct python_lines lines; /* of the frame that was defined last */
};

static bool grow(struct script_stack *own, uint32_t capacity)
{
	size_t frame = sizeof(*own->frames), run = sizeof(*own->runs);
	struct script_frame *frames = own_pages_allocate(capacity * 2 * (frame + run));
	void *old = own->frames;
	size_t size = own->capacity * 2 * (frame + run);

	if (!frames)
		return false;
	// The fresh ones may be half of a chain.
	if (own->capacity) {
		memcpy(frames, own->frames, own->depth * frame);
		memcpy(frames + capacity, own->fresh, own->capacity * frame);
	}
	own->frames = frames;
	own->fresh = frames + capacity;
	own->runs = (struct script_run *)(own->fresh + capacity);
	own->before = own->runs + capacity;
	own->run_count = 0; // all are found anew
	own->capacity = capacity;
	if (old && !process_system_calls_forbidden())
		own_pages_release(old, size);
	return true;
}

static never_inline struct script_stack *create(const struct stack_cache *stack)
{
	struct script_stack *own = own_pages_allocate(sizeof(*own));

	if (!own || !grow(own, FIRST_FRAMES))
		return NULL;
	// A few native frames are not enough to find the script's by.
	own->native.depth_max = stack->depth_max > NATIVE_LEAST ? stack->depth_max : NATIVE_LEAST;
	own->native.broken_pc = stack->broken_pc;
	own->native.truncated_pc = stack->truncated_pc;
	return own;
}

static uint16_t *place_of(struct script_stack *own, uint64_t address)
{
	return &own->places[(address >> 4 ^ address >> 12) & (PLACES - 1)];
}

static uint8_t byte_at(uint64_t address, int offset)
{
	return *(const uint8_t *)(uintptr_t)(address + (uint64_t)offset);
}

static bool is_shim(const struct python_layout *layout, uint64_t address)
{
	return layout->owner != PYTHON_NONE && byte_at(address, layout->owner) >= 3;
}

static bool ends_run(const struct python_layout *layout, const struct script_frame *frame)
{
	if (layout->owner != PYTHON_NONE)
		return frame->mark >= 3;
	return layout->entry == PYTHON_NONE || frame->mark;
}

/* The byte that says whether a run ends; of versions without one, any that tells nothing new. */
static int mark_offset(const struct python_layout *layout)
{
	return layout->owner != PYTHON_NONE   ? layout->owner
	       : layout->entry != PYTHON_NONE ? layout->entry
					      : layout->previous;
}

/* What a frame shows: of its function and place a hash. false: that cannot be read. */
static bool find_pc(const struct python_layout *layout, struct script_stack *own,
		    const struct unwind_stack *bounds, struct script_frame *frame)
{
	uint64_t hash, offset;

	frame->pc = 0;
	frame->id = 0;
	if (is_shim(layout, frame->address))
		return true;
	hash = frame->code ? python_code_hash(layout, bounds, frame->code, own->codes) : 0;
	if (!hash)
		return false;
	// The interpreter's own, which cleans up behind a constructor (3.12).
	if (unlikely(python_word(frame->code, layout->file) ==
			     python_word(frame->code, layout->name) &&
		     !python_half(frame->code, layout->first_line)))
		return true;
	frame->lines = python_word(frame->code, layout->lines);
	offset = (uint32_t)python_offset(layout, frame->code, frame->instr);
	frame->pc = TRACE_PC_SCRIPT | (hash ^ (offset + 1) * UINT64_C(0x9e3779b97f4a7c15)) *
					      UINT64_C(0xff51afd7ed558ccd);
	return true;
}

/* Reads a frame anew. false: it, or its code, cannot be read. */
static bool read_frame(const struct python_layout *layout, struct script_stack *own,
		       const struct unwind_stack *bounds, uint64_t address,
		       struct script_frame *ret)
{
	if (!python_can_read(bounds, address, PYTHON_FRAME_SIZE(layout)))
		return false;
	ret->address = address;
	ret->code = python_code_of(layout, address);
	ret->instr = python_instr_of(layout, address);
	ret->previous = python_word(address, layout->previous);
	ret->mark = byte_at(address, mark_offset(layout));
	ret->ends_run = ends_run(layout, ret);
	return find_pc(layout, own, bounds, ret);
}

/* What a reading of the chain found. */
struct reading {
	uint32_t kept;   /* outermost frames that are as they were */
	uint32_t joined; /* outermost frames that are where they were */
	bool same_runs;  /* no frame came or went, and runs end where they did */
	bool broken;
};

/*
 * Compares the outermost `joined` frames with memory, from the inside out, and reads those anew
 * that have gone on. false: one has another caller than it had.
 */
static bool still_hold(const struct python_layout *layout, struct script_stack *own,
		       const struct unwind_stack *bounds, struct reading *reading)
{
	// In registers: most captures end with this loop.
	const int previous_at = layout->previous, code_at = layout->code, instr_at = layout->instr;
	const int lines_at = layout->lines, mark_at = mark_offset(layout);
	const uint64_t instr_bits = layout->instr_kind == PYTHON_POINTER ? UINT64_MAX : UINT32_MAX;

	for (uint32_t i = reading->joined; i-- > 0;) {
		struct script_frame *frame = &own->frames[i];
		uint64_t address = frame->address;
		bool shown = frame->pc;

		if (python_word(address, previous_at) != frame->previous)
			return false;
		if (likely(!(((python_word(address, code_at) & ~UINT64_C(3)) ^ frame->code) |
			     ((python_word(address, instr_at) & instr_bits) ^ frame->instr) |
			     (byte_at(address, mark_at) ^ frame->mark)) &&
			   (!shown || python_word(frame->code, lines_at) == frame->lines)))
			continue;
		frame->code = python_code_of(layout, address);
		frame->instr = python_instr_of(layout, address);
		frame->mark = byte_at(address, mark_at);
		if (!find_pc(layout, own, bounds, frame) || shown != (frame->pc != 0) ||
		    frame->ends_run != ends_run(layout, frame))
			return false;
		reading->kept = i;
	}
	return true;
}

/*
 * Reads the chain from its innermost frame outwards until it joins the one that is known. *count:
 * how many fresh frames there are. anew: it may join nowhere.
 */
static void read_fresh(const struct python_layout *layout, struct script_stack *own,
		       const struct unwind_stack *bounds, uint64_t at, bool anew, uint32_t *count,
		       struct reading *reading)
{
	*reading = (struct reading){0};
	*count = 0;
	if (likely(!anew && own->depth && own->frames[own->depth - 1].address == at)) {
		reading->kept = reading->joined = own->depth;
		reading->same_runs = true;
		return;
	}
	for (; at; at = own->fresh[(*count)++].previous) {
		uint32_t place = *place_of(own, at);

		if (!anew && place < own->depth && own->frames[place].address == at) {
			reading->kept = reading->joined = place + 1;
			return;
		}
		if (unlikely(*count == own->capacity)) {
			reading->broken =
				own->capacity >= FRAMES_MAX || !grow(own, own->capacity * 2);
			if (reading->broken)
				return;
		}
		if (unlikely(!read_frame(layout, own, bounds, at, &own->fresh[*count]))) {
			reading->broken = true;
			return;
		}
	}
}

static struct reading read_chain(const struct python_layout *layout, struct script_stack *own,
				 const struct unwind_stack *bounds, uint64_t top)
{
	struct reading reading;
	uint32_t count;

	read_fresh(layout, own, bounds, top, false, &count, &reading);
	if (unlikely(!still_hold(layout, own, bounds, &reading)))
		read_fresh(layout, own, bounds, top, true, &count, &reading);
	while (unlikely(reading.joined + count > own->capacity)) {
		if (own->capacity >= FRAMES_MAX || !grow(own, own->capacity * 2)) {
			// The outermost ones are left out.
			reading = (struct reading){.broken = true};
			break;
		}
	}
	own->depth = reading.joined;
	while (count > 0) {
		uint32_t at = own->depth++;

		*place_of(own, own->fresh[--count].address) = (uint16_t)at;
		own->frames[at] = own->fresh[count];
		own->frames[at].unseen =
			at ? own->frames[at - 1].unseen + !own->frames[at - 1].pc : 0;
	}
	return reading;
}

/*
 * The marker outside of this one, in which the frames from `frame` on run; 0: there is none. 3.11
 * keeps some that run nothing.
 */
static uint64_t next_marker(const struct python_layout *layout, const struct unwind_stack *bounds,
			    uint64_t marker, uint64_t frame)
{
	for (unsigned i = 0; i < MARKERS_MAX; i++) {
		if (!python_can_read(bounds, marker, PYTHON_MARKER_SIZE))
			return 0;
		if (layout->current == PYTHON_NONE || python_word(marker, layout->current) == frame)
			return marker;
		marker = python_word(marker, layout->marker_previous);
	}
	return 0;
}

/* How many of the frames [from, to) are shown. */
static uint32_t shown(const struct script_stack *own, uint32_t from, uint32_t to)
{
	if (from >= to)
		return 0;
	return to - from - (own->frames[to - 1].unseen - own->frames[from].unseen) -
	       !own->frames[to - 1].pc;
}

static void add_run(struct script_stack *own, uint32_t first, uint32_t end, uint64_t marker)
{
	if (first < end)
		own->runs[own->run_count++] =
			(struct script_run){.marker = marker, .first = first, .count = end - first};
}

/* Runs were added from the innermost one outwards. What is known of those before stays. */
static void turn_runs(struct script_stack *own)
{
	for (uint32_t i = 0, j = own->run_count; i + 1 < j; i++) {
		struct script_run run = own->runs[--j];

		own->runs[j] = own->runs[i];
		own->runs[i] = run;
	}
	for (uint32_t i = 0; i < own->run_count && i < own->count_before &&
			     own->runs[i].marker == own->before[i].marker;
	     i++) {
		own->runs[i].native = own->before[i].native;
		own->runs[i].merged = own->before[i].merged;
	}
}

/* Divides the chain into runs. */
static void find_runs(const struct python_layout *layout, struct script_stack *own,
		      const struct unwind_stack *bounds, uint64_t state)
{
	bool has_shims = layout->owner != PYTHON_NONE;
	bool has_markers = layout->marker_previous != PYTHON_NONE;
	uint64_t marker = has_markers ? python_word(state, layout->state_marker) : 0;
	struct script_run *runs = own->before;
	uint32_t end = own->depth;

	own->before = own->runs;
	own->count_before = own->run_count;
	own->runs = runs;
	own->run_count = 0;
	for (uint32_t i = own->depth; i-- > 0;) {
		if (!own->frames[i].ends_run)
			continue;
		if (has_shims) {
			add_run(own, i + 1, end, own->frames[i].address);
		} else {
			if (has_markers)
				marker = next_marker(layout, bounds, marker,
						     own->frames[end - 1].address);
			add_run(own, i, end, marker);
			if (marker)
				marker = python_word(marker, layout->marker_previous);
		}
		end = i;
	}
	turn_runs(own);
}

/*
 * Whether the markers of all runs are those that they were. Each names the next one, so that all of
 * them can be read.
 */
static bool markers_hold(const struct python_layout *layout, const struct script_stack *own,
			 uint64_t state)
{
	uint64_t marker;

	if (layout->marker_previous == PYTHON_NONE)
		return true;
	marker = python_word(state, layout->state_marker);
	for (uint32_t i = own->run_count; i-- > 0;) {
		if (!marker || marker != own->runs[i].marker)
			return false;
		marker = python_word(marker, layout->marker_previous);
	}
	return true;
}

/* Whether the address lies in a native frame: between its sp and its caller's. */
static bool is_within(const struct stack_cache *native, uint32_t at, uint64_t address)
{
	uint64_t sp = leaf_cache_frame(native, at)->sp;

	return sp && sp <= address && (at == 1 || leaf_cache_frame(native, at - 1)->sp > address);
}

/* Whether that native frame runs the run. */
static bool is_at(const struct python_layout *layout, const struct stack_cache *native,
		  const struct script_run *run, uint32_t at)
{
	if (layout->owner == PYTHON_NONE && layout->marker_previous == PYTHON_NONE)
		return python_is_loop(leaf_cache_frame(native, at)->pc);
	return run->marker && is_within(native, at, run->marker);
}

/* The native frame of a run, outside of which are those up to `outer`. 0: it is not on the stack.
 */
static uint32_t native_of(const struct python_layout *layout, const struct stack_cache *native,
			  const struct script_run *run, uint32_t outer)
{
	// Without markers any frame of the loop would do: the outermost one is the run's.
	if (layout->minor > 9 && run->native > outer && run->native <= native->depth &&
	    likely(is_at(layout, native, run, run->native)))
		return run->native;
	for (uint32_t at = outer + 1; at <= native->depth; at++)
		if (is_at(layout, native, run, at))
			return at;
	return 0;
}

/* Where the native stack may have the marker, if it is not found. */
static bool is_missing(const struct stack_cache *native, const struct script_run *run)
{
	uint64_t innermost = native->depth ? leaf_cache_frame(native, native->depth)->sp : 0;

	return !run->native && run->marker > innermost &&
	       (!native->depth || run->marker < leaf_cache_frame(native, 1)->sp);
}

/*
 * What place_runs() finds where the runs, and the native frames that they stand in, are those of
 * the capture before. false: it is not known to be so.
 */
static bool place_as_before(const struct python_layout *layout, const struct script_stack *own,
			    uint32_t native_kept, const struct reading *reading, uint32_t *kept,
			    uint32_t *total)
{
	const struct script_run *last = &own->runs[own->run_count - 1];

	// The innermost run's native frame goes on, and is at another pc.
	if (!own->run_count || !last->native || own->native.seen + 1 < last->native ||
	    (own->native.seen < last->native && !is_at(layout, &own->native, last, last->native)))
		return false;
	*total = own->native.depth + own->scripts;
	*kept = own->scripts + native_kept;
	if (likely(reading->kept >= last->first + last->count))
		return true;
	*kept = own->scripts - last->merged + last->native - 1 + reading->kept - last->first;
	return reading->kept >= last->first && last->merged == last->count;
}

/* How many native frames stand outside of a run: all outside of its own. native 0: none is known.
 */
static uint32_t outside_of(uint32_t native)
{
	return native ? native - 1 : 0;
}

/*
 * Finds the native frame of each run. Returns how many of the outermost frames of the merged stack
 * are as they were. *total: its depth.
 */
static uint32_t place_runs(const struct python_layout *layout, struct script_stack *own,
			   uint32_t native_kept, const struct reading *reading, uint32_t *total,
			   bool *broken)
{
	uint32_t outside = 0; // script frames outside of the run
	uint32_t outer = 0;   // the native frame of the run before
	uint32_t kept = UINT32_MAX;

	for (uint32_t i = 0; i < own->run_count; i++) {
		struct script_run *run = &own->runs[i];
		uint32_t native = native_of(layout, &own->native, run, outer);
		uint32_t end = run->first + run->count, count = shown(own, run->first, end);
		uint32_t same = shown(own, run->first, reading->kept < end ? reading->kept : end);

		*broken |= !native && is_missing(&own->native, run);
		if (kept == UINT32_MAX && native > native_kept + 1)
			kept = outside + native_kept;
		if (kept == UINT32_MAX && native != run->native)
			kept = outside + outside_of(outer);
		if (kept == UINT32_MAX && native && (same < count || run->merged != count))
			kept = outside + outside_of(native) +
			       (same < run->merged ? same : run->merged);
		run->native = native;
		run->merged = native ? count : 0;
		outer = native ? native : outer;
		outside += run->merged;
	}
	own->scripts = outside;
	own->last_native = outer;
	*total = own->native.depth + outside;
	if (kept == UINT32_MAX)
		kept = outside +
		       (own->count_before > own->run_count ? outside_of(outer) : native_kept);
	return kept;
}

/* Pushes native frames. What is not known of them in the recording is looked up, and kept. */
static void push_native(struct script_stack *own, struct stack_cache *stack,
			struct stack_cache_push *push, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i <= to; i++) {
		struct cached_frame *frame = leaf_cache_frame(&own->native, i);

		if (unlikely(!frame->id))
			frame->id = unwind_frame_id(frame->pc);
		stack_cache_push(stack, push, frame->pc, frame->id);
	}
}

static void push_run(struct script_stack *own, struct stack_cache *stack,
		     struct stack_cache_push *push, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct script_frame *frame = &own->frames[i];

		if (!frame->pc)
			continue;
		if (unlikely(!frame->id))
			frame->id = frame_ids_find(script_ids, frame->pc);
		stack_cache_push(stack, push, frame->pc, frame->id);
	}
}

/* The first frame of a run that is shown behind so many others of it. */
static uint32_t shown_behind(const struct script_stack *own, const struct script_run *run,
			     uint32_t count)
{
	uint32_t at = run->first;

	if (likely(run->merged == run->count))
		return at + count;
	for (; count; at++)
		count -= own->frames[at].pc != 0;
	return at;
}

/* Pushes the frames of the merged stack behind its outermost `skip`. */
static void push_merged(struct script_stack *own, struct stack_cache *stack,
			struct stack_cache_push *push, uint32_t skip)
{
	uint32_t at = 0;   // merged frames so far
	uint32_t next = 1; // native frame

	if (likely(skip >= own->scripts + outside_of(own->last_native)))
		return push_native(own, stack, push, skip - own->scripts + 1, own->native.depth);
	for (const struct script_run *run = own->runs; run < own->runs + own->run_count; run++) {
		uint32_t natives = run->native - next;

		if (!run->native)
			continue;
		if (at + natives > skip)
			push_native(own, stack, push, next + (at < skip ? skip - at : 0),
				    run->native - 1);
		at += natives;
		next = run->native;
		if (at + run->merged > skip)
			push_run(own, stack, push,
				 shown_behind(own, run, at < skip ? skip - at : 0),
				 run->first + run->count);
		at += run->merged;
	}
	push_native(own, stack, push, next + (at < skip ? skip - at : 0), own->native.depth);
}

/* Puts the merged stack together. false: no memory. */
static bool merge_from(struct script_stack *own, struct stack_cache *stack, uint32_t kept,
		       uint32_t total)
{
	uint32_t most = (uint32_t)stack->depth_max;
	struct stack_cache_push push;

	if (unlikely(total > most)) {
		if (!stack_cache_cut(stack, 0, most + 1, &push))
			return false;
		stack_cache_push(stack, &push, stack->truncated_pc, 0);
		push_merged(own, stack, &push, total - most);
	} else {
		if (!stack_cache_cut(stack, kept, total - kept, &push))
			return false;
		push_merged(own, stack, &push, kept);
	}
	stack_cache_pushed(stack, &push);
	stack->end = total > most ? UNWIND_TRUNCATED : own->native.end;
	stack->merged = total <= most;
	return true;
}

never_inline enum unwind_end script_stack_capture(struct script_stack **place,
						  const struct script_thread *thread,
						  const struct unwind_state *state, bool *broken)
{
	const struct python_layout *layout = __atomic_load_n(&python_layout, __ATOMIC_ACQUIRE);
	struct script_stack *own = *place;
	struct reading reading;
	uint32_t native_kept, kept, total;
	uint64_t interpreter, top;
	enum unwind_end end;

	if (!python_state(thread->first, &interpreter) ||
	    ((!own || interpreter != own->interpreter) &&
	     !python_can_read(thread->bounds, interpreter, PYTHON_STATE_SIZE)) ||
	    !(top = python_top(layout, thread->bounds, interpreter))) {
		thread->stack->merged = false;
		return UNWIND_REFUSED;
	}
	if (unlikely(!own) && !(own = *place = create(thread->stack)))
		return UNWIND_REFUSED;
	own->interpreter = interpreter;
	end = stack_cache_capture(&own->native, state, thread->bounds);
	if (unlikely(end == UNWIND_REFUSED)) {
		thread->stack->merged = false;
		return end;
	}
	native_kept = own->native.shared;
	reading = read_chain(layout, own, thread->bounds, top);
	*broken = reading.broken;
	if (unlikely(!reading.same_runs || !markers_hold(layout, own, interpreter))) {
		find_runs(layout, own, thread->bounds, interpreter);
		kept = place_runs(layout, own, native_kept, &reading, &total, broken);
	} else if (unlikely(!place_as_before(layout, own, native_kept, &reading, &kept, &total))) {
		own->count_before = own->run_count;
		kept = place_runs(layout, own, native_kept, &reading, &total, broken);
	}
	own->native.shared = own->native.seen = own->native.depth;
	if (!thread->stack->merged)
		kept = 0;
	if (!merge_from(own, thread->stack, kept, total))
		return UNWIND_REFUSED;
	return thread->stack->end;
}

void script_stack_clear(struct script_stack *own)
{
	if (!own)
		return;
	stack_cache_clear(&own->native);
	own->depth = own->run_count = 0;
	own->interpreter = 0;
}

bool script_stack_place(struct script_stack *own, const struct unwind_stack *bounds, uint64_t pc,
			struct script_place *ret)
{
	const struct python_layout *layout = __atomic_load_n(&python_layout, __ATOMIC_ACQUIRE);

	for (uint32_t i = own ? own->depth : 0; i-- > 0;) {
		const struct script_frame *frame = &own->frames[i];

		if (frame->pc != pc)
			continue;
		ret->line = python_code_line(
			layout, bounds, frame->code,
			python_code_hash(layout, bounds, frame->code, own->codes),
			python_offset(layout, frame->code, frame->instr), &own->lines);
		ret->file = python_word(frame->code, layout->file);
		ret->name = python_word(frame->code, layout->name);
		return true;
	}
	return false;
}
