#include "agent/script/ruby.h"

#include "agent/ground/link_map.h"
#include "agent/script/script_codes.h"
#include "agent/script/script_text.h"
#include "agent/unwind/arch.h"

/* rb_execution_context_t */
#define STACK_OFFSET      0 /* the stack of values; frames lie at its end */
#define STACK_SIZE_OFFSET 8 /* words */
#define TOP_OFFSET        16
#define STATE_SIZE        64

/* rb_control_frame_t */
#define PC_OFFSET   0
#define ISEQ_OFFSET 16
#define EP_OFFSET   32 /* the word there has flags */
#define FRAME_SIZE  64
#define FLAG_FINISH 0x20 /* the loop was called for this frame */
#define FLAG_CFRAME 0x80 /* a native function's */

/* rb_iseq_t and its body */
#define BODY_OFFSET       16
#define ISEQ_SIZE         24
#define CODE_OFFSET       8
#define PATH_OFFSET       64
#define LABEL_OFFSET      80
#define FIRST_OFFSET      88 /* a number as Ruby has it: twice itself and one */
#define PLACES_OFFSET     120
#define PLACE_COUNT       136
#define PLACE_INDEX       144
#define BODY_SIZE         152
#define CODE_COUNT_OFFSET 4  /* words of code */
#define PLACE_SIZE        12 /* of one place; its line comes first */

/* RString and RArray */
#define TYPE_MASK   31
#define TYPE_STRING 5
#define TYPE_ARRAY  7
#define USER1       (1u << 13) /* a string: its bytes are elsewhere; an array: they are here */
#define EMBED_SHIFT 14
#define OBJECT_SIZE 40
#define LONG_LENGTH 16
#define LONG_START  24
#define ARRAY_START 32
#define IN_OBJECT   16

/* The index of places: see place_of(). */
#define NEAR       54 /* instructions whose ranks are in it directly */
#define NEAR_WORD  9
#define BLOCK_BITS 512
#define BLOCK_SIZE 80 /* of a block: its rank, ranks of its words, 8 words of bits */

static const struct script_code_words words = {
	.file = PATH_OFFSET,
	.name = LABEL_OFFSET,
	.lines = CODE_OFFSET,
	.first_line = FIRST_OFFSET,
	.version = SCRIPT_NONE,
};

static uint64_t context_offset; /* of ruby_current_ec from the thread pointer */

/* Whether a value is an object of that type, which can be read. */
static bool is_object(const struct unwind_stack *stack, uint64_t value, uint32_t type)
{
	return script_can_read(stack, value, OBJECT_SIZE) &&
	       (script_half(value, 0) & TYPE_MASK) == type;
}

static struct script_bytes string_of(const struct unwind_stack *stack, uint64_t value)
{
	uint32_t flags;

	if (!is_object(stack, value, TYPE_STRING))
		return (struct script_bytes){0};
	flags = script_half(value, 0);
	if (flags & USER1)
		return script_bytes_at(stack, script_word(value, LONG_START),
				       script_word(value, LONG_LENGTH));
	return script_bytes_at(stack, value + IN_OBJECT, flags >> EMBED_SHIFT & 31);
}

/* A path is a string, or an array of the path as it was given and the real one, or nil. */
static struct script_bytes path_of(const struct unwind_stack *stack, uint64_t value)
{
	uint64_t paths;
	struct script_bytes real;

	if (!is_object(stack, value, TYPE_ARRAY))
		return string_of(stack, value);
	paths = script_half(value, 0) & USER1 ? value + IN_OBJECT : script_word(value, ARRAY_START);
	if (!script_can_read(stack, paths, 16))
		return (struct script_bytes){0};
	real = string_of(stack, script_word(paths, 8));
	return real.start ? real : string_of(stack, script_word(paths, 0));
}

/* As __builtin_popcountll(), which calls the compiler's library. */
static uint32_t count_bits(uint64_t bits)
{
	uint32_t count = 0;

	for (; bits; bits &= bits - 1)
		count++;
	return count;
}

/*
 * How many of the places begin at or before that instruction: a dictionary that counts bits. The
 * first 54 instructions have their counts of 7 bits, nine in a word; of the others each block of
 * 512 has the count before it, of each of its words of 64 bits that in the block before it, and a
 * bit for each instruction at which a place begins. 0: it cannot be read.
 */
static uint32_t place_of(const struct unwind_stack *stack, uint64_t index, uint32_t at)
{
	uint64_t block, bits, ranks;
	uint32_t word;

	if (!script_can_read(stack, index, NEAR / NEAR_WORD * 8))
		return 0;
	if (at < NEAR)
		return script_word(index, (int)(at / NEAR_WORD * 8)) >> at % NEAR_WORD * 7 & 127;
	at -= NEAR;
	block = index + NEAR / NEAR_WORD * 8 + (uint64_t)(at / BLOCK_BITS) * BLOCK_SIZE;
	if (!script_can_read(stack, block, BLOCK_SIZE))
		return 0;
	word = at % BLOCK_BITS / 64;
	ranks = script_word(block, 8);
	bits = script_word(block, (int)(16 + word * 8)) << (63 - at % 64);
	return script_half(block, 0) + (word ? ranks >> (word - 1) * 9 & 511 : 0) +
	       count_bits(bits);
}

/* The line that a frame is at; 0: not known. */
static uint32_t line_at(const struct unwind_stack *stack, uint64_t frame, uint64_t body)
{
	uint64_t at = (script_word(frame, PC_OFFSET) - script_word(body, CODE_OFFSET)) / 8;
	uint64_t places = script_word(body, PLACES_OFFSET);
	uint32_t count = script_half(body, PLACE_COUNT), place = count;

	if (at > script_half(body, CODE_COUNT_OFFSET))
		return 0;
	// pc is that of the next instruction.
	if (count > 1)
		place = place_of(stack, script_word(body, PLACE_INDEX),
				 (uint32_t)(at ? at - 1 : 0));
	if (!place || place > count)
		return 0;
	places += (uint64_t)(place - 1) * PLACE_SIZE;
	if (!stack_bounds_can_read(stack, places, places + PLACE_SIZE))
		return 0;
	// eval() may begin at a negative line.
	return script_half(places, 0) <= INT32_MAX ? script_half(places, 0) : 0;
}

static uint64_t hash_of(const struct unwind_stack *stack, struct script_codes *codes, uint64_t body,
			bool *again)
{
	uint64_t hash = script_codes_find(&words, codes, body);
	struct script_code *known;
	struct script_bytes texts[2];

	*again = false;
	if (likely(hash))
		return hash;
	known = script_codes_learn(&words, codes, body);
	texts[0] = path_of(stack, known->file);
	texts[1] = string_of(stack, known->name);
	if (!texts[0].start || !texts[1].start)
		return 0;
	hash = script_bytes_hash(known->first_line, texts, ARRAY_COUNT(texts));
	// "(eval)"
	*again = texts[0].size && texts[0].start[0] == '(';
	known->hash = *again ? 0 : hash;
	return hash;
}

static enum script_kind identify(const struct unwind_stack *stack, struct script_codes *codes,
				 uint64_t frame, uint64_t *hash)
{
	uint64_t iseq = script_word(frame, ISEQ_OFFSET), body;
	uint8_t flags = script_byte(script_word(frame, EP_OFFSET), 0);
	bool again;

	*hash = 0;
	if (!iseq || !script_word(frame, PC_OFFSET) || flags & FLAG_CFRAME)
		return SCRIPT_NATIVE;
	if (!script_can_read(stack, iseq, ISEQ_SIZE))
		return SCRIPT_UNREADABLE;
	body = script_word(iseq, BODY_OFFSET);
	if (!script_can_read(stack, body, BODY_SIZE))
		return SCRIPT_UNREADABLE;
	*hash = hash_of(stack, codes, body, &again);
	if (!*hash)
		return SCRIPT_UNREADABLE;
	*hash = script_place_hash(*hash, line_at(stack, frame, body));
	return again ? SCRIPT_LOOP_AGAIN : SCRIPT_LOOP;
}

static uint32_t line(const struct unwind_stack *stack, struct script_codes *codes,
		     struct script_lines *lines, uint64_t frame)
{
	return line_at(stack, frame, script_word(script_word(frame, ISEQ_OFFSET), BODY_OFFSET));
}

static size_t text(const struct unwind_stack *stack, uint64_t iseq, enum script_text text, char *to,
		   size_t room)
{
	uint64_t body = script_word(iseq, BODY_OFFSET);

	return script_bytes_copy(text == SCRIPT_FILE
					 ? path_of(stack, script_word(body, PATH_OFFSET))
					 : string_of(stack, script_word(body, LABEL_OFFSET)),
				 to, room);
}

static bool state_of(bool first, uint64_t *state)
{
	*state = script_word(arch_thread_pointer() + context_offset, 0);
	return *state != 0;
}

static struct script_chain chain_of(const struct unwind_stack *stack, uint64_t state)
{
	uint64_t start = script_word(state, STACK_OFFSET), top = script_word(state, TOP_OFFSET);
	// The outermost frame is there for calls of native code. No loop runs it.
	uint64_t end = start + script_word(state, STACK_SIZE_OFFSET) * 8 - FRAME_SIZE;
	bool within = start && top >= start && top < end && (end - top) % FRAME_SIZE == 0;

	return (struct script_chain){.top = within ? top : 0, .end = end};
}

static const struct script_runtime runtime = {
	.code = ISEQ_OFFSET,
	.instr = PC_OFFSET,
	.link = EP_OFFSET,
	.instr_bits = UINT64_MAX,
	.mark = 0,
	.stride = FRAME_SIZE,
	.frame_size = FRAME_SIZE,
	.same = BODY_OFFSET,
	.end_mark = FLAG_FINISH,
	.end_is_bit = true,
	.state_marker = SCRIPT_NONE,
	.marker_previous = SCRIPT_NONE,
	.marker_frame = SCRIPT_NONE,
	.has_loop = true,
	.loops_have_runs = true,
	.state = state_of,
	.state_size = STATE_SIZE,
	.chain = chain_of,
	.identify = identify,
	.line = line,
	.text = text,
};

struct script_found ruby_look(bool opening)
{
	struct script_found found = {.code = script_symbol("ruby_init")};
	uint64_t version = found.code ? script_symbol("ruby_api_version") : 0;
	uint64_t context = found.code ? link_map_thread_variable("ruby_current_ec") : 0;

	if (!found.code || !version)
		return (struct script_found){0};
	if (script_half(version, 0) != 3 || script_half(version, 4) != 1)
		found.why_not = "this version of it is not known";
	else if (opening)
		found.why_not = "it was opened late, so where its threads are is not known";
	else if (!context)
		found.why_not = "where it keeps its threads is not known";
	else
		found.runtime = &runtime;
	// As far from the thread pointer as here it is in each thread: of what is loaded at start.
	context_offset = context - arch_thread_pointer();
	script_set_loop("rb_vm_exec");
	return found;
}
