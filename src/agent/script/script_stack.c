#include "agent/script/script_stack.h"

#include "agent/ground/libc.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/state.h"
#include "agent/script/frame_ids.h"
#include "agent/script/script_codes.h"
#include "agent/script/script_find.h"
#include "agent/unwind/leaf_cache.h"
#include "base/compiler.h"
#include "trace/format.h"

#define FIRST_FRAMES 256u
#define FRAMES_MAX   65536u /* deeper chains end there, and are counted as broken */
#define PLACES       256u   /* a power of two */
#define NATIVE_LEAST 4096u
#define MARKERS_MAX  64u /* one after the other that runs nothing */
#define CALLERS      32u

/* A frame of the chain, as it was read last. */
struct script_frame {
	uint64_t address, code, instr, link;
	uint64_t same;    /* what tells its code object from another one there */
	uint64_t mark_at; /* where its mark lies */
	uint64_t pc;      /* TRACE_PC_SCRIPT and a hash; 0: it has no function, and is not shown */
	uint32_t id;      /* in the recording; 0: not known */
	uint8_t mark;     /* by which runs end */
	bool ends_run;    /* the outermost frame of a run, or its shim */
	uint32_t unseen;  /* how many of those outside of it are not shown */
};

/* Frames that one native frame runs. */
struct script_run {
	uint64_t marker;
	uint32_t first, count; /* in script_stack.frames */
	uint32_t native;       /* its native frame; 0: not found */
	uint32_t found;        /* the same, of runtimes with a loop, while it is looked for */
	uint32_t merged;       /* how many of its frames the merged stack shows */
};

struct script_stack {
	uint64_t interpreter; /* the state of the thread there; it can be read */
	struct script_chain chain;
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
	struct script_codes codes;
	struct script_lines lines; /* of the frame that was defined last */
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

static uint64_t instr_of(const struct script_runtime *runtime, uint64_t frame)
{
	return script_word(frame, runtime->instr) & runtime->instr_bits;
}

/* A code reference, without the tags that CPython 3.14 keeps in its low bits. */
static uint64_t code_of(const struct script_runtime *runtime, uint64_t frame)
{
	return script_word(frame, runtime->code) & ~UINT64_C(3);
}

/* The address of the next frame outwards. */
static uint64_t outside_of_frame(const struct script_runtime *runtime,
				 const struct script_frame *frame)
{
	return runtime->stride ? frame->address + runtime->stride : frame->link;
}

/* Finds what a frame shows, with its words as they were read. false: that cannot be read. */
static bool find_pc(const struct script_runtime *runtime, struct script_stack *own,
		    const struct unwind_stack *bounds, struct script_frame *frame)
{
	uint64_t hash;
	enum script_kind kind = runtime->identify(bounds, &own->codes, frame->address, &hash);
	bool ends = runtime->end_is_bit ? frame->mark & runtime->end_mark
					: frame->mark >= runtime->end_mark;

	frame->id = 0;
	frame->pc = hash ? TRACE_PC_SCRIPT | hash : 0;
	frame->ends_run = ends && kind != SCRIPT_NATIVE;
	if (kind == SCRIPT_UNREADABLE)
		return false;
	if (frame->pc)
		frame->same = script_word(frame->code, runtime->same);
	if (unlikely(kind == SCRIPT_LOOP_AGAIN))
		frame->same = ~frame->same;
	return true;
}

/* Reads a frame anew. false: it, or its code, cannot be read. */
static bool read_frame(const struct script_runtime *runtime, struct script_stack *own,
		       const struct unwind_stack *bounds, uint64_t address,
		       struct script_frame *ret)
{
	if (!script_can_read(bounds, address, runtime->frame_size))
		return false;
	ret->address = address;
	ret->code = code_of(runtime, address);
	ret->instr = instr_of(runtime, address);
	ret->link = script_word(address, runtime->link);
	ret->mark_at = (runtime->stride ? ret->link : address) + (uint64_t)runtime->mark;
	if (runtime->stride && !script_can_read(bounds, ret->link, sizeof(uint64_t)))
		return false;
	ret->mark = script_byte(ret->mark_at, 0);
	return find_pc(runtime, own, bounds, ret);
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
static bool still_hold(const struct script_runtime *runtime, struct script_stack *own,
		       const struct unwind_stack *bounds, struct reading *reading)
{
	// In registers: most captures end with this loop.
	const int link_at = runtime->link, code_at = runtime->code, instr_at = runtime->instr;
	const int same_at = runtime->same;
	const uint64_t instr_bits = runtime->instr_bits;

	for (uint32_t i = reading->joined; i-- > 0;) {
		struct script_frame *frame = &own->frames[i];
		uint64_t address = frame->address;
		bool shown = frame->pc, ended_run = frame->ends_run;

		if (script_word(address, link_at) != frame->link)
			return false;
		if (likely(!(((script_word(address, code_at) & ~UINT64_C(3)) ^ frame->code) |
			     ((script_word(address, instr_at) & instr_bits) ^ frame->instr) |
			     (script_byte(frame->mark_at, 0) ^ frame->mark)) &&
			   (!shown || script_word(frame->code, same_at) == frame->same)))
			continue;
		frame->code = code_of(runtime, address);
		frame->instr = instr_of(runtime, address);
		frame->mark = script_byte(frame->mark_at, 0);
		if (!find_pc(runtime, own, bounds, frame) || shown != (frame->pc != 0) ||
		    frame->ends_run != ended_run)
			return false;
		reading->kept = i;
	}
	return true;
}

/*
 * Reads the chain from its innermost frame outwards until it joins the one that is known. *count:
 * how many fresh frames there are. anew: it may join nowhere.
 */
static void read_fresh(const struct script_runtime *runtime, struct script_stack *own,
		       const struct unwind_stack *bounds, bool anew, uint32_t *count,
		       struct reading *reading)
{
	uint64_t at = own->chain.top;

	*reading = (struct reading){0};
	*count = 0;
	if (likely(!anew && own->depth && own->frames[own->depth - 1].address == at)) {
		reading->kept = reading->joined = own->depth;
		reading->same_runs = true;
		return;
	}
	for (; at != own->chain.end; at = outside_of_frame(runtime, &own->fresh[(*count)++])) {
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
		if (unlikely(!read_frame(runtime, own, bounds, at, &own->fresh[*count]))) {
			reading->broken = true;
			return;
		}
	}
}

static struct reading read_chain(const struct script_runtime *runtime, struct script_stack *own,
				 const struct unwind_stack *bounds)
{
	struct reading reading;
	uint32_t count;

	read_fresh(runtime, own, bounds, false, &count, &reading);
	if (unlikely(!still_hold(runtime, own, bounds, &reading)))
		read_fresh(runtime, own, bounds, true, &count, &reading);
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
static uint64_t next_marker(const struct script_runtime *runtime, const struct unwind_stack *bounds,
			    uint64_t marker, uint64_t frame)
{
	for (unsigned i = 0; i < MARKERS_MAX; i++) {
		if (!script_can_read(bounds, marker, runtime->marker_size))
			return 0;
		if (runtime->marker_frame == SCRIPT_NONE ||
		    script_word(marker, runtime->marker_frame) == frame)
			return marker;
		marker = script_word(marker, runtime->marker_previous);
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

/* Runs were added from the innermost one outwards. Each takes the place of the one before. */
static void turn_runs(struct script_stack *own)
{
	for (uint32_t i = 0, j = own->run_count; i + 1 < j; i++) {
		struct script_run run = own->runs[--j];

		own->runs[j] = own->runs[i];
		own->runs[i] = run;
	}
	for (uint32_t i = 0; i < own->run_count && i < own->count_before; i++) {
		own->runs[i].native = own->before[i].native;
		own->runs[i].merged = own->before[i].merged;
	}
}

/* Divides the chain into runs. */
static void find_runs(const struct script_runtime *runtime, struct script_stack *own,
		      const struct unwind_stack *bounds)
{
	bool has_markers = runtime->marker_previous != SCRIPT_NONE;
	uint64_t marker = has_markers ? script_word(own->interpreter, runtime->state_marker) : 0;
	struct script_run *runs = own->before;
	uint32_t end = own->depth;

	own->before = own->runs;
	own->count_before = own->run_count;
	own->runs = runs;
	own->run_count = 0;
	for (uint32_t i = own->depth; i-- > 0;) {
		if (!own->frames[i].ends_run)
			continue;
		if (runtime->end_is_beyond) {
			add_run(own, i + 1, end, own->frames[i].address);
		} else {
			if (has_markers)
				marker = next_marker(runtime, bounds, marker,
						     own->frames[end - 1].address);
			add_run(own, i, end, marker);
			if (marker)
				marker = script_word(marker, runtime->marker_previous);
		}
		end = i;
	}
	turn_runs(own);
}

/*
 * Whether the markers of all runs are those that they were. Each names the next one, so that all of
 * them can be read.
 */
static bool markers_hold(const struct script_runtime *runtime, const struct script_stack *own)
{
	uint64_t marker;

	if (runtime->marker_previous == SCRIPT_NONE)
		return true;
	marker = script_word(own->interpreter, runtime->state_marker);
	for (uint32_t i = own->run_count; i-- > 0;) {
		if (!marker || marker != own->runs[i].marker)
			return false;
		marker = script_word(marker, runtime->marker_previous);
	}
	return true;
}

/* Whether the address lies in a native frame: between its sp and its caller's. */
static bool is_within(const struct stack_cache *native, uint32_t at, uint64_t address)
{
	uint64_t sp = leaf_cache_frame(native, at)->sp;

	return sp && sp <= address && (at == 1 || leaf_cache_frame(native, at - 1)->sp > address);
}

/*
 * Return addresses of calls of the loop, as stacks have shown them. What such a call runs is the
 * loop, also where its code stands apart from the rest (gcc's .cold), which no table tells. Atomic;
 * two threads may add the same.
 */
static uint64_t callers[CALLERS];
static uint32_t caller_count;

static bool is_caller(uint64_t pc)
{
	uint32_t count = __atomic_load_n(&caller_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count && i < CALLERS; i++)
		if (__atomic_load_n(&callers[i], __ATOMIC_RELAXED) == pc)
			return true;
	return false;
}

/* Notes where the loop in that native frame was called from. */
static void note_caller(const struct stack_cache *native, uint32_t at)
{
	uint64_t pc = at > 1 ? leaf_cache_frame(native, at - 1)->pc : 0;
	uint32_t count = __atomic_load_n(&caller_count, __ATOMIC_RELAXED);

	if (!pc || count >= CALLERS || is_caller(pc))
		return;
	__atomic_store_n(&callers[count], pc, __ATOMIC_RELAXED);
	__atomic_store_n(&caller_count, count + 1, __ATOMIC_RELEASE);
}

/* Whether a native frame is one of the loop. apart: also one that only its caller tells. */
static bool is_loop(const struct stack_cache *native, uint32_t at, bool apart)
{
	return script_is_loop(leaf_cache_frame(native, at)->pc) ||
	       (apart && at > 1 && is_caller(leaf_cache_frame(native, at - 1)->pc));
}

/* Whether that native frame runs the run. */
static bool is_at(const struct script_runtime *runtime, const struct stack_cache *native,
		  const struct script_run *run, uint32_t at)
{
	if (runtime->has_loop)
		return is_loop(native, at, runtime->loops_have_runs);
	return run->marker && is_within(native, at, run->marker);
}

/*
 * The native frame of a run by its marker, outside of which are those up to `outer`. 0: it is not
 * on the stack.
 */
static uint32_t native_of_marker(const struct script_runtime *runtime,
				 const struct stack_cache *native, const struct script_run *run,
				 uint32_t outer)
{
	if (run->native > outer && run->native <= native->depth &&
	    likely(is_at(runtime, native, run, run->native)))
		return run->native;
	for (uint32_t at = outer + 1; at <= native->depth; at++)
		if (is_at(runtime, native, run, at))
			return at;
	return 0;
}

/* The next native frame of the loop outside of that one. 0: there is none. */
static uint32_t loop_outside(const struct stack_cache *native, uint32_t at, bool apart)
{
	while (--at > 0)
		if (is_loop(native, at, apart))
			return at;
	return 0;
}

/*
 * Gives each run a native frame of the loop, from the innermost ones outwards. Where each of these
 * must have a run, and each run one of these, and that is not so, then one was not recognized, and
 * which belongs to which is not known. false: that is so.
 */
static bool match_loops(const struct script_runtime *runtime, struct script_stack *own, bool apart)
{
	uint32_t at = own->native.depth + 1;

	for (uint32_t i = own->run_count; i-- > 0;) {
		at = at ? loop_outside(&own->native, at, apart) : 0;
		own->runs[i].found = at;
		if (!at && runtime->loops_have_runs && !own->chain.is_split &&
		    own->native.end == UNWIND_COMPLETE)
			return false;
	}
	return !at || !runtime->loops_have_runs || !loop_outside(&own->native, at, apart);
}

static bool find_loops(const struct script_runtime *runtime, struct script_stack *own)
{
	// Where some may be missing anyway, their number tells nothing: look for those apart, too.
	bool split = own->chain.is_split || own->native.end != UNWIND_COMPLETE;

	if (!match_loops(runtime, own, split))
		return !split && match_loops(runtime, own, true);
	for (uint32_t i = 0; runtime->loops_have_runs && !split && i < own->run_count; i++)
		note_caller(&own->native, own->runs[i].found);
	return true;
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
static bool place_as_before(const struct script_runtime *runtime, const struct script_stack *own,
			    uint32_t native_kept, const struct reading *reading, uint32_t *kept,
			    uint32_t *total)
{
	const struct script_run *last = &own->runs[own->run_count - 1];

	// The innermost run's native frame goes on, and is at another pc.
	if (!own->run_count || !last->native || own->native.seen + 1 < last->native ||
	    (own->native.seen < last->native && !is_at(runtime, &own->native, last, last->native)))
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

/* The outer one of two native frames, of which one may be 0. */
static uint32_t first_of(uint32_t a, uint32_t b)
{
	return !a || (b && b < a) ? b : a;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Finds the native frame of each run. Returns how many of the outermost frames of the merged stack
 * are as they were. *total: its depth.
 */
static uint32_t place_runs(const struct script_runtime *runtime, struct script_stack *own,
			   uint32_t native_kept, const struct reading *reading, uint32_t *total,
			   bool *broken)
{
	uint32_t outside = 0; // script frames outside of the run
	uint32_t outer = 0;   // the native frame of the run before
	uint32_t kept = UINT32_MAX;
	bool matched = !runtime->has_loop || find_loops(runtime, own);

	*broken |= !matched;
	for (uint32_t i = 0; i < own->run_count; i++) {
		struct script_run *run = &own->runs[i];
		uint32_t native = !matched ? 0
				  : runtime->has_loop
					  ? run->found
					  : native_of_marker(runtime, &own->native, run, outer);
		uint32_t end = run->first + run->count, count = shown(own, run->first, end);
		uint32_t same = shown(own, run->first, reading->kept < end ? reading->kept : end);

		*broken |= !native && is_missing(&own->native, run);
		if (kept == UINT32_MAX && native != run->native)
			kept = outside +
			       least(native_kept, outside_of(first_of(native, run->native)));
		if (kept == UINT32_MAX && native > native_kept + 1)
			kept = outside + native_kept;
		if (kept == UINT32_MAX && native && (same < count || run->merged != count))
			kept = outside + outside_of(native) + least(same, run->merged);
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

/*
 * Whether some native frame runs a script. Where that can be told, the interpreter's memory is not
 * touched otherwise: a thread that is about to end may have a state that was freed.
 */
static bool runs_script(const struct script_runtime *runtime, const struct script_stack *own)
{
	if (!runtime->has_loop)
		return true;
	if (own->last_native && own->last_native <= own->native.depth &&
	    script_is_loop(leaf_cache_frame(&own->native, own->last_native)->pc))
		return true;
	return loop_outside(&own->native, own->native.depth + 1, runtime->loops_have_runs) != 0;
}

/* Finds where the thread's chain begins. false: it runs no script. */
static bool find_chain(const struct script_runtime *runtime, struct script_stack *own,
		       const struct script_thread *thread, uint64_t interpreter)
{
	if (interpreter != own->interpreter &&
	    !script_can_read(thread->bounds, interpreter, runtime->state_size))
		return false;
	own->interpreter = interpreter;
	own->chain = runtime->chain(thread->bounds, interpreter);
	return own->chain.top != 0;
}

never_inline enum unwind_end script_stack_capture(struct script_stack **place,
						  const struct script_thread *thread,
						  const struct unwind_state *state, bool *broken)
{
	const struct script_runtime *runtime = __atomic_load_n(&script_runtime, __ATOMIC_ACQUIRE);
	struct script_stack *own = *place;
	struct reading reading;
	uint32_t native_kept, kept, total;
	uint64_t interpreter;
	enum unwind_end end;

	if (unlikely(__atomic_load_n(&script_frames, __ATOMIC_ACQUIRE) == SCRIPT_UNBOUND) &&
	    !script_is_bound_slow())
		return UNWIND_REFUSED;
	if (!runtime->state(thread->first, &interpreter)) {
		thread->stack->merged = false;
		return UNWIND_REFUSED;
	}
	if (unlikely(!own) && !(own = *place = create(thread->stack)))
		return UNWIND_REFUSED;
	if (!runtime->has_loop && !find_chain(runtime, own, thread, interpreter)) {
		thread->stack->merged = false;
		return UNWIND_REFUSED;
	}
	end = stack_cache_capture(&own->native, state, thread->bounds);
	if (unlikely(end == UNWIND_REFUSED) ||
	    (runtime->has_loop &&
	     (!runs_script(runtime, own) || !find_chain(runtime, own, thread, interpreter)))) {
		thread->stack->merged = false;
		return UNWIND_REFUSED;
	}
	native_kept = own->native.shared;
	reading = read_chain(runtime, own, thread->bounds);
	*broken = reading.broken;
	if (unlikely(!reading.same_runs || !markers_hold(runtime, own))) {
		find_runs(runtime, own, thread->bounds);
		kept = place_runs(runtime, own, native_kept, &reading, &total, broken);
	} else if (unlikely(!place_as_before(runtime, own, native_kept, &reading, &kept, &total))) {
		own->count_before = own->run_count;
		kept = place_runs(runtime, own, native_kept, &reading, &total, broken);
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
	memset(&own->codes, 0, sizeof(own->codes));
	own->depth = own->run_count = 0;
	own->interpreter = 0;
}

bool script_stack_place(struct script_stack *own, const struct unwind_stack *bounds, uint64_t pc,
			struct script_place *ret)
{
	const struct script_runtime *runtime = __atomic_load_n(&script_runtime, __ATOMIC_ACQUIRE);

	for (uint32_t i = own ? own->depth : 0; i-- > 0;) {
		const struct script_frame *frame = &own->frames[i];

		if (frame->pc != pc)
			continue;
		ret->line = runtime->line(bounds, &own->codes, &own->lines, frame->address);
		ret->code = frame->code;
		return true;
	}
	return false;
}
