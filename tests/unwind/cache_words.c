/*
 * A model of a program's stack: frames are pushed and popped as calls and returns would, but with
 * the frame shapes of the table below, of which the unwind rules are known. Between captures one
 * word is changed, at the leaf, in the middle or at the root, to what might lie there as well; or
 * pages of it cannot be read for a while. What is right is what the plain walk finds.
 *
 * Words that a walk may take for an address are 0, small, of this program's code (below the
 * stack's memory, so a CFA there ends the walk) or in the stack's memory itself: it cannot fault.
 */
#include "cache_words.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/unwind/stack_bounds.h"
#include "trace/format.h"

#define STACKS 3
#define WORDS  16384
#define FRAMES 1600
#define BELOW  4096   /* red zone: fp slots and locals */
#define PAGES  4      /* hidden at a time */
#define ABOVE  131072 /* more than a step can be wide: zero, which ends the walk */

enum shape_kind {
	BY_SP,
	BY_FP,
	REALIGNED, /* CFA = *(fp - 8), the caller's fp at *fp */
	FP_IS_VALUE,
	FP_LOST,
	RA_BELOW, /* the return address is at CFA - 24 */
	SIGNAL,
	NO_TABLE,
	OUTERMOST,
};

/* Return addresses in four bytes of no meaning with unwind tables of our choice. */
#define CODE(name, directives)                                                                     \
	extern const char name[];                                                                  \
	__asm__(".text\n\t.p2align 4\n"                                                            \
		"\t.globl " #name "\n\t.hidden " #name "\n" #name ":\n"                            \
		"\t.cfi_startproc\n" directives "\tnop\n\tnop\n\tnop\n\tnop\n\t.cfi_endproc\n")
#define SP(offset)   "\t.cfi_def_cfa rsp, " #offset "\n"
#define FP(offset)   "\t.cfi_def_cfa rbp, " #offset "\n"
#define SLOT(offset) "\t.cfi_offset rbp, -" #offset "\n"

CODE(words_sp_16, SP(16));
CODE(words_sp_16_slot, SP(16) SLOT(16));
CODE(words_sp_32, SP(32));
CODE(words_sp_32_slot, SP(32) SLOT(16));
CODE(words_sp_64_slot, SP(64) SLOT(56));
CODE(words_sp_wide, SP(20000) SLOT(16));
CODE(words_fp_16, FP(16) SLOT(16));
CODE(words_fp_48, FP(48) SLOT(24));
CODE(words_fp_32_no_slot, FP(32));
CODE(words_realigned, "\t.cfi_escape 0x0f, 3, 0x76, 0x78, 6\n\t.cfi_escape 0x10, 6, 2, 0x76, 0\n");
// DW_CFA_val_offset rbp, -64: the assembler of clang 14 has no directive for it.
CODE(words_fp_value, SP(32) "\t.cfi_escape 0x14, 6, 8\n");
CODE(words_fp_lost, SP(24) "\t.cfi_undefined rbp\n");
CODE(words_ra_below, SP(40) "\t.cfi_offset rip, -24\n");
CODE(words_signal, "\t.cfi_signal_frame\n" SP(32));
CODE(words_outermost, SP(16) "\t.cfi_undefined rip\n");
extern const char words_no_table[];
__asm__(".text\n\t.p2align 4\n"
	"\t.globl words_no_table\n\t.hidden words_no_table\n"
	"words_no_table:\n\tnop\n\tnop\n\tnop\n\tnop\n");

static const struct shape {
	const char *code;
	enum shape_kind kind;
	uint16_t offset, slot;
	uint8_t weight; /* how often it is pushed */
} shapes[] = {
	{words_sp_16, BY_SP, 16, 0, 8},          {words_sp_16_slot, BY_SP, 16, 16, 12},
	{words_sp_32, BY_SP, 32, 0, 12},         {words_sp_32_slot, BY_SP, 32, 16, 12},
	{words_sp_64_slot, BY_SP, 64, 56, 6},    {words_sp_wide, BY_SP, 20000, 16, 1},
	{words_fp_16, BY_FP, 16, 16, 12},        {words_fp_48, BY_FP, 48, 24, 4},
	{words_fp_32_no_slot, BY_FP, 32, 0, 1},  {words_realigned, REALIGNED, 0, 0, 3},
	{words_fp_value, FP_IS_VALUE, 32, 0, 1}, {words_fp_lost, FP_LOST, 24, 0, 1},
	{words_ra_below, RA_BELOW, 40, 0, 1},    {words_signal, SIGNAL, 32, 0, 1},
	{words_no_table, NO_TABLE, 0, 0, 1},
};
#define SHAPES      (sizeof(shapes) / sizeof(shapes[0]))
#define WEIGHTS_SUM 76

/* A frame as a walk should meet it. */
struct frame {
	uint64_t sp, pc, fp;
	bool needs_fp;
};

struct stack {
	char *memory;
	uint64_t low, high; /* of the words */
	struct frame frames[FRAMES];
	unsigned depth;
};

static uint64_t *word_at(uint64_t address)
{
	return (uint64_t *)address;
}

static const struct shape *any_shape(struct cache_check *check)
{
	unsigned n = (unsigned)cache_check_below(check, WEIGHTS_SUM);
	const struct shape *shape = shapes;

	while (n >= shape->weight)
		n -= shape++->weight;
	return shape;
}

/* A return address in the shape's code: three of one rule. */
static uint64_t any_pc(struct cache_check *check, const struct shape *shape)
{
	return (uint64_t)shape->code + 1 + cache_check_below(check, 3);
}

/* What may lie in a word that nobody has written just now. */
static uint64_t junk(struct cache_check *check, const struct stack *stack)
{
	switch (cache_check_below(check, 8)) {
	case 0:
		return cache_check_below(check, 3);
	case 1:
	case 2:
		return any_pc(check, any_shape(check));
	case 3:
		return (uint64_t)words_outermost + 1;
	default:
		return stack->low + cache_check_below(check, WORDS) * 8;
	}
}

static uint64_t fp_or_junk(struct cache_check *check, const struct stack *stack,
			   const struct frame *frame)
{
	return frame->needs_fp ? frame->fp : junk(check, stack);
}

static void put(const struct stack *stack, uint64_t address, uint64_t value)
{
	if (address >= stack->low && address < stack->high)
		*word_at(address) = value;
}

/* A frame of that shape inside of the innermost one. false: there is no room, or it cannot be. */
static bool push(struct cache_check *check, struct stack *stack, const struct shape *shape)
{
	const struct frame outer = stack->frames[stack->depth - 1];
	uint64_t ra = outer.sp - 8, gap = 8 * cache_check_below(check, 8);
	struct frame inner = {.pc = any_pc(check, shape), .sp = outer.sp - shape->offset};

	switch (shape->kind) {
	case BY_FP:
		inner.fp = outer.sp - shape->offset;
		inner.needs_fp = true;
		inner.sp = outer.sp - 24 - gap;
		if (shape->slot == 0 && outer.needs_fp && outer.fp != inner.fp)
			return false;
		break;
	case NO_TABLE:
		inner.fp = outer.sp - 16;
		inner.needs_fp = true;
		inner.sp = inner.fp - gap;
		break;
	case REALIGNED:
		inner.fp = outer.sp - 16 - gap;
		inner.needs_fp = true;
		inner.sp = inner.fp - 8 - gap;
		break;
	case FP_IS_VALUE:
		if (outer.needs_fp && outer.fp != outer.sp - 64)
			return false;
		break;
	case FP_LOST:
		if (outer.needs_fp)
			return false;
		break;
	default:
		if (shape->slot == 0) {
			inner.fp = outer.fp;
			inner.needs_fp = outer.needs_fp;
		}
	}
	if (inner.sp < stack->low + BELOW || stack->depth == FRAMES)
		return false;
	put(stack, shape->kind == RA_BELOW ? outer.sp - 24 : ra,
	    shape->kind == SIGNAL ? outer.pc - 1 : outer.pc);
	if (shape->kind == REALIGNED)
		put(stack, inner.fp - 8, outer.sp);
	if (shape->kind == REALIGNED || shape->kind == NO_TABLE)
		put(stack, inner.fp, fp_or_junk(check, stack, &outer));
	else if (shape->slot)
		put(stack, outer.sp - shape->slot, fp_or_junk(check, stack, &outer));
	stack->frames[stack->depth++] = inner;
	return true;
}

static void push_some(struct cache_check *check, struct stack *stack, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		push(check, stack, any_shape(check));
}

static void pop_some(struct stack *stack, uint64_t count)
{
	stack->depth -= count < stack->depth ? (unsigned)count : stack->depth - 1;
}

/* Empty but for the outermost frame, which ends by its rule or by a return address of 0. */
static void begin(struct cache_check *check, struct stack *stack)
{
	bool by_rule = cache_check_below(check, 2);

	for (uint64_t at = stack->low; at < stack->high; at += 8)
		*word_at(at) = junk(check, stack);
	*word_at(stack->high - 8) = 0;
	stack->frames[0] = (struct frame){
		.pc = by_rule ? (uint64_t)words_outermost + 1 : (uint64_t)words_sp_32 + 1,
		.sp = stack->high - 32,
	};
	stack->depth = 1;
}

static void capture(struct cache_check *check, struct stack *stack, const char *what)
{
	const struct frame *leaf = &stack->frames[stack->depth - 1];
	struct unwind_state state = {leaf->pc, leaf->sp, fp_or_junk(check, stack, leaf)};

	check->what = what;
	cache_check_state(check, &state);
}

/* One word is another for one capture, wherever it is read; then it is as it was. */
static void poke(struct cache_check *check, struct stack *stack)
{
	const struct frame *leaf = &stack->frames[stack->depth - 1];
	const struct frame *near = &stack->frames[cache_check_below(check, stack->depth)];
	uint64_t words = (stack->high - leaf->sp) / 8;
	uint64_t *word = word_at(leaf->sp + cache_check_below(check, words) * 8), old;
	const char *what = "one word";

	// Most words that matter lie near where a frame ends.
	if (cache_check_below(check, 4)) {
		word = word_at(near->sp - 8 * (1 + cache_check_below(check, 3)));
		if ((uint64_t)word < leaf->sp - BELOW)
			return;
	}
	old = *word;
	*word = junk(check, stack);
	// The same frames by another place of the same code.
	if (old - (uint64_t)words_sp_16 < 4096 && cache_check_below(check, 2)) {
		*word = old ^ 1;
		what = "another return address of the same function";
	}
	capture(check, stack, what);
	*word = old;
	capture(check, stack, "the word as it was");
}

/* Whether what the frame returns to is the last word of it, and nothing special if that is 0. */
static bool returns_to_word(const struct frame *frame)
{
	return frame->pc - (uint64_t)words_ra_below >= 4 && frame->pc - (uint64_t)words_signal >= 4;
}

/* The walk ends further in, and what lies further out cannot be read. */
static void unmap_outer(struct cache_check *check, struct stack *stack)
{
	uint64_t page = (stack->low + stack->high) / 2 & -UINT64_C(4096);
	uint64_t old, *word;
	unsigned depth = stack->depth;

	while (depth > 0 && stack->frames[depth - 1].sp <= page)
		depth--;
	// frames[depth]: the outermost one below the page. To be left by a return address of 0.
	if (depth + 1 >= stack->depth || depth == 0 || !returns_to_word(&stack->frames[depth + 1]))
		return;
	word = word_at(stack->frames[depth].sp - 8);
	old = *word;
	*word = 0;
	cache_check_protect((void *)page, stack->high - page + ABOVE, PROT_NONE);
	capture(check, stack, "nothing further out");
	cache_check_protect((void *)page, stack->high - page + ABOVE, PROT_READ | PROT_WRITE);
	*word = old;
	capture(check, stack, "all there again");
}

/* Frames of the stack whose words all lie below an address, from the innermost one on. */
static size_t frames_below(const struct stack *stack, uint64_t address)
{
	size_t count = 1;

	while (count < stack->depth && stack->frames[stack->depth - 1 - count].sp <= address)
		count++;
	return count;
}

/* Pages come and go between captures: the frames are there as far as they can be read. */
static void hide_pages(struct cache_check *check, struct stack *stack)
{
	const uint64_t leaf = stack->frames[stack->depth - 1].sp - ARCH_RED_ZONE;
	uint64_t pages[PAGES], pcs[FRAMES + 1], lowest = UINT64_MAX;
	size_t all, count, there;

	capture(check, stack, "all can be read");
	all = check->count;
	memcpy(pcs, check->plain, all * sizeof(pcs[0]));
	count = all - (pcs[all - 1] <= TRACE_PC_LAST_SPECIAL);
	for (int i = 0; i < PAGES; i++) {
		pages[i] = (leaf + cache_check_below(check, stack->high - leaf)) & -UINT64_C(4096);
		lowest = pages[i] < lowest ? pages[i] : lowest;
		cache_check_protect((void *)pages[i], 4096, PROT_NONE);
		capture(check, stack, "a page that cannot be read");
		there = frames_below(stack, lowest);
		if (check->plain[check->count - 1] == TRACE_PC_TRUNCATED &&
		    there > check->count - 1)
			there = check->count - 1;
		if (cache_check_same(check, pcs, count) < (there < count ? there : count))
			cache_check_fail(check, "frames that can be read are missing");
		capture(check, stack, "the same again");
	}
	for (int i = 0; i < PAGES; i++) {
		cache_check_protect((void *)pages[i], 4096, PROT_READ | PROT_WRITE);
		capture(check, stack, "a page that can be read again");
	}
	if (cache_check_same(check, pcs, all) != all)
		cache_check_fail(check, "not what it was");
}

/* As it was, but for one fp that the leaf begins with. */
static void other_fp(struct cache_check *check, struct stack *stack)
{
	const struct frame *leaf = &stack->frames[stack->depth - 1];
	struct unwind_state state = {leaf->pc, leaf->sp, junk(check, stack)};

	check->what = "another fp";
	cache_check_state(check, &state);
	capture(check, stack, "the fp as it was");
}

/* The leaf calls the same few things again and again: the segments of leaf_cache.h. */
static void repeat(struct cache_check *check, struct stack *stack)
{
	uint64_t calls[3] = {cache_check_random(check) | 1, cache_check_random(check) | 1,
			     cache_check_random(check) | 1};
	unsigned depth = stack->depth;

	for (unsigned i = 0; i < 16; i++) {
		uint64_t random = check->random;

		check->random = calls[i * 7 % 5 % 3];
		push_some(check, stack, 1 + cache_check_below(check, 5));
		check->random = random;
		// One word in one of them differs, now and then.
		if (cache_check_below(check, 8) == 0)
			poke(check, stack);
		capture(check, stack, "called again");
		pop_some(stack, stack->depth - depth);
	}
}

static void act(struct cache_check *check, struct stack *stack)
{
	switch (cache_check_below(check, 64)) {
	case 0:
		begin(check, stack);
		return push_some(check, stack, cache_check_below(check, 100));
	case 1: // deeper than the arrays are at first, sometimes than they may be
		return push_some(check, stack, cache_check_below(check, FRAMES));
	case 2 ... 3:
		pop_some(stack, cache_check_below(check, stack->depth));
		return;
	case 4:
		return unmap_outer(check, stack);
	case 5:
		return hide_pages(check, stack);
	case 6 ... 8:
		return other_fp(check, stack);
	case 9 ... 24:
		return poke(check, stack);
	case 25 ... 32:
		return repeat(check, stack);
	default:
		if (stack->depth > 60)
			pop_some(stack, cache_check_below(check, 8));
		pop_some(stack, cache_check_below(check, 5));
		push_some(check, stack, cache_check_below(check, 5));
		capture(check, stack, "returned and called");
	}
}

static void stack_init(struct stack *stack, bool divided)
{
	size_t size = BELOW + WORDS * 8 + ABOVE;

	stack->memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack->memory == MAP_FAILED)
		abort();
	stack->low = (uint64_t)stack->memory + BELOW;
	stack->high = stack->low + WORDS * 8;
	// Two mappings, of which only what a frame pointer led to is bound to stay in one.
	if (divided && madvise(stack->memory + BELOW + WORDS * 7, WORDS + ABOVE, MADV_DONTDUMP))
		abort();
}

void cache_words_run(struct cache_check *check, unsigned long captures)
{
	struct stack *stacks = calloc(STACKS, sizeof(*stacks));
	unsigned long end = check->captures + captures;

	if (!stacks)
		abort();
	for (unsigned i = 0; i < STACKS; i++) {
		stack_init(&stacks[i], i == 1);
		begin(check, &stacks[i]);
	}
	while (check->captures < end) {
		struct stack *stack = &stacks[cache_check_below(check, STACKS)];

		// Switched between as a thread does between coroutines.
		for (uint64_t n = cache_check_below(check, 40); n > 0; n--)
			act(check, stack);
	}
	for (unsigned i = 0; i < STACKS; i++)
		munmap(stacks[i].memory, BELOW + WORDS * 8 + ABOVE);
	free(stacks);
}
