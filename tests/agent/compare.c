/*
 * Every stack that the cache gave is taken by a plain walk, too, and must be the same.
 *
 * One stack in MALLOW_TEST_COMPARE_EVERY (1000) is taken by libgcc's and by libunwind's unwinder,
 * too, and must be the same, frame by frame. What they cannot unwind is not compared: from the
 * first frame on that has no unwind table (code made by V8) libgcc stops and libunwind guesses.
 *
 * At exit one line goes to the file MALLOW_TEST_COMPARE_LOG, and one for each of the first
 * differences.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <unwind.h>

#include "agent/arch/syscall.h"
#include "agent/event/compare.h"
#include "agent/ground/config.h"
#include "agent/ground/own_code.h"
#include "agent/ground/text.h"
#include "agent/event/thread.h"
#include "base/compiler.h"
#include "../unwind/cached_frame.h"

#define STACK_MAX 4096
#define SHOWN_MAX 5

struct dwarf_eh_bases {
	void *tbase, *dbase, *func;
};
extern const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

static uint64_t captures, cached, cache_differs;
static uint64_t compared, skipped, gcc_differs, unw_differs, frames_compared;
static uint64_t those[STACK_MAX]; // one comparison at a time: `busy`
static uint32_t depth;
static uint32_t busy;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
	int before = 0;
	uint64_t pc = _Unwind_GetIPInfo(context, &before);

	if (depth == STACK_MAX || !pc)
		return _URC_END_OF_STACK;
	// A frame that a signal interrupted is stored one further, see docs/trace-format.md.
	those[depth++] = before ? pc + 1 : pc;
	return _URC_NO_REASON;
}

static never_inline void walk_libunwind(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;

	if (unw_getcontext(&context) || unw_init_local(&cursor, &context))
		return;
	do {
		bool signal_frame = depth && unw_is_signal_frame(&cursor) > 0;

		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
			break;
		those[depth++] = pc;
		// The frame behind a signal frame is the one that was interrupted.
		if (signal_frame && unw_step(&cursor) > 0 &&
		    !unw_get_reg(&cursor, UNW_REG_IP, &pc) && depth < STACK_MAX)
			those[depth++] = pc + 1;
	} while (depth < STACK_MAX && unw_step(&cursor) > 0);
}

static void log_text(struct text *text)
{
	const char *path = config_environment("MALLOW_TEST_COMPARE_LOG");
	int fd = path ? sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	sys_write(fd, text->start, text->length);
	sys_close(fd);
}

static void show(const char *who, const uint64_t *frames, uint32_t count, uint32_t start)
{
	static char line[4096]; // one comparison at a time
	struct text text;

	text_init(&text, line, sizeof(line));
	text_string(&text, "differs ");
	text_string(&text, who);
	text_string(&text, " ours");
	for (uint32_t i = 0; i < count && i < 60; i++) {
		text_char(&text, ' ');
		text_hex(&text, frames[i], 12);
	}
	text_string(&text, " theirs");
	for (uint32_t i = start; i < depth && i < start + 60; i++) {
		text_char(&text, ' ');
		text_hex(&text, those[i], 12);
	}
	text_char(&text, '\n');
	log_text(&text);
}

/* Theirs begins in our own frames: the stack proper starts at our caller. */
static bool same(const char *who, const uint64_t *frames, uint32_t count, uint32_t to_compare,
		 uint64_t *differs)
{
	uint32_t start = 0;

	while (start < depth && those[start] != frames[0])
		start++;
	for (uint32_t i = 0; i < to_compare; i++) {
		if (start + i < depth && those[start + i] == frames[i])
			continue;
		if (__atomic_fetch_add(differs, 1, __ATOMIC_RELAXED) < SHOWN_MAX)
			show(who, frames, count, start);
		return false;
	}
	// All the rest is compared, so theirs must end where ours does.
	if (to_compare == count && depth > start + count && those[start + count]) {
		if (__atomic_fetch_add(differs, 1, __ATOMIC_RELAXED) < SHOWN_MAX)
			show(who, frames, count, start);
		return false;
	}
	return true;
}

/* How many frames, from the innermost, both others can find: up to the first without a table. */
static uint32_t comparable(const uint64_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct dwarf_eh_bases bases;

		if (frames[i] < 16 || !_Unwind_Find_FDE((void *)(frames[i] - 1), &bases))
			return i < count && frames[i] >= 16 ? i + 1 : i;
	}
	return count;
}

static uint64_t every(void)
{
	static uint64_t number;
	const char *text;

	if (!number) {
		text = config_environment("MALLOW_TEST_COMPARE_EVERY");
		number = text ? text_parse(text, NULL) : 0;
		if (!number)
			number = 1000;
	}
	return number;
}

/* The plain walk's stack goes to thread->frames, innermost first. Returns how many frames. */
static uint32_t compare_plain(struct thread *thread, const struct unwind_state *state)
{
	const struct stack_cache *stack = &thread->stack;
	size_t count = 0;
	enum unwind_end end = unwind_capture(state, &thread->bounds, thread->frames,
					     thread_depth_limit(), &count);
	uint32_t i = 0, natives = 0;

	if (end != UNWIND_COMPLETE)
		thread->frames[count++] =
			end == UNWIND_BROKEN ? TRACE_PC_BROKEN : TRACE_PC_TRUNCATED;
	// The cache cuts in steps.
	if (end == UNWIND_TRUNCATED && stack->end == UNWIND_TRUNCATED && stack->depth < count) {
		count = stack->depth;
		thread->frames[count - 1] = TRACE_PC_TRUNCATED;
	}
	if (stack->merged || (stack->depth && cached_frame(stack, stack->depth)->sp))
		__atomic_add_fetch(&cached, 1, __ATOMIC_RELAXED);
	count = own_code_strip(thread->frames, (uint32_t)count);
	for (uint32_t at = stack->depth; at > 0; at--) {
		uint64_t pc = cached_frame(stack, at)->pc;

		// Only native frames are compared: those of scripts stand between them.
		if (pc & TRACE_PC_SCRIPT)
			continue;
		natives++;
		i += i < count && pc == thread->frames[i];
	}
	if (i == count && i == natives)
		return (uint32_t)count;
	if (__atomic_fetch_add(&cache_differs, 1, __ATOMIC_RELAXED) < SHOWN_MAX &&
	    !__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
		depth = stack->depth < STACK_MAX ? stack->depth : STACK_MAX;
		for (uint32_t j = 0; j < depth; j++)
			those[j] = cached_frame(stack, stack->depth - j)->pc;
		show("cache", thread->frames, (uint32_t)count, 0);
		__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	}
	return (uint32_t)count;
}

static never_inline void compare_others(const uint64_t *frames, uint32_t count)
{
	uint32_t to_compare = comparable(frames, count);

	depth = 0;
	_Unwind_Backtrace(visit, NULL);
	same("libgcc", frames, count, to_compare, &gcc_differs);
	depth = 0;
	walk_libunwind();
	same("libunwind", frames, count, to_compare, &unw_differs);
	compared++;
	frames_compared += to_compare;
}

void compare_stack(struct thread *thread, const struct unwind_state *state)
{
	uint64_t number = __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
	uint32_t count = compare_plain(thread, state);

	if (number % every() || !count)
		return;
	// One at a time: the other unwinders take locks of their own.
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	if (count > STACK_MAX - 64)
		skipped++;
	else
		compare_others(thread->frames, count);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static __attribute__((destructor)) void report(void)
{
	char line[512];
	struct text text;

	text_init(&text, line, sizeof(line));
	text_string(&text, "compared captures=");
	text_number(&text, captures);
	text_string(&text, " cached=");
	text_number(&text, cached);
	text_string(&text, " cache_differs=");
	text_number(&text, cache_differs);
	text_string(&text, " stacks=");
	text_number(&text, compared);
	text_string(&text, " frames=");
	text_number(&text, frames_compared);
	text_string(&text, " skipped=");
	text_number(&text, skipped);
	text_string(&text, " libgcc_differs=");
	text_number(&text, gcc_differs);
	text_string(&text, " libunwind_differs=");
	text_number(&text, unw_differs);
	text_char(&text, '\n');
	log_text(&text);
}
