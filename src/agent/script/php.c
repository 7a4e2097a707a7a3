#include "agent/script/php.h"

#include "agent/script/script_codes.h"
#include "agent/script/script_text.h"
#include "base/compiler.h"

/* Where things lie, by version: offsets in bytes. */
struct php_layout {
	uint32_t version;
	/* executor_globals: the fiber that runs; the instruction that has thrown, while PHP cleans
	 * up; 0: none. */
	int fiber, thrown;
	int count, code, file, first; /* zend_op_array: of instructions; the first line */
	uint32_t function_size;       /* so much is read of one */
};

static const struct php_layout layouts[] = {
	{802, 1680, 880, 80, 88, 152, 160, 168},
	{804, 1752, 952, 96, 104, 168, 176, 184},
};

/* executor_globals */
#define CURRENT_OFFSET 488

/* zend_execute_data */
#define OPLINE_OFFSET   0
#define FUNCTION_OFFSET 24
#define MARK_OFFSET     42 /* bits 16 to 23 of This.u1.type_info */
#define MARK_TOP        2  /* ZEND_CALL_TOP: native code called it */
#define PREVIOUS_OFFSET 48
#define FRAME_SIZE      80

/* zend_function, of code and of native functions */
#define NAME_OFFSET  8
#define CLASS_OFFSET 16
#define TYPE_NATIVE  1
#define TYPE_USER    2
#define TYPE_EVAL    4
#define CLASS_NAME   8
#define INSTRUCTION  32 /* bytes of a zend_op */
#define LINE_OFFSET  24 /* in it */

/* zend_string */
#define LENGTH_OFFSET 16
#define TEXT_OFFSET   24

/* What PHP's own traces call code that stands in no function, and functions in no file. */
#define MAIN     "{main}"
#define INTERNAL "<internal>"
#define EVAL     "eval()'d code"

static const struct php_layout *layout;
static struct script_code_words words;
static uint64_t globals; /* executor_globals */

static struct script_bytes string_of(const struct unwind_stack *stack, uint64_t object)
{
	struct script_bytes ret = {0};

	if (!object || !script_can_read(stack, object, TEXT_OFFSET))
		return ret;
	return script_bytes_at(stack, object + TEXT_OFFSET, script_word(object, LENGTH_OFFSET));
}

/* The name of the class that a function belongs to; empty: it belongs to none. */
static struct script_bytes class_of(const struct unwind_stack *stack, uint64_t function)
{
	uint64_t class = script_word(function, CLASS_OFFSET);

	if (!class || !script_word(function, NAME_OFFSET) || !script_can_read(stack, class, 16))
		return (struct script_bytes){0};
	return string_of(stack, script_word(class, CLASS_NAME));
}

/* 0: what it says cannot be read. *again: its memory may soon be another code's. */
static uint64_t hash_of(const struct unwind_stack *stack, struct script_codes *codes,
			uint64_t function, bool *again)
{
	uint64_t hash = script_codes_find(&words, codes, function);
	struct script_code *known;
	struct script_bytes texts[3];

	*again = false;
	if (likely(hash))
		return hash;
	known = script_codes_learn(&words, codes, function);
	texts[0] = string_of(stack, known->file);
	texts[1] = class_of(stack, function);
	texts[2] = string_of(stack, known->name);
	if (!texts[0].start || (known->name && !texts[2].start))
		return 0;
	hash = script_bytes_hash(known->first_line, texts, ARRAY_COUNT(texts));
	*again = script_bytes_end(texts[0], EVAL);
	known->hash = *again ? 0 : hash;
	return hash;
}

static uint64_t native_hash(const struct unwind_stack *stack, uint64_t function)
{
	const struct script_bytes texts[] = {
		class_of(stack, function),
		string_of(stack, script_word(function, NAME_OFFSET)),
	};

	return texts[1].start ? script_bytes_hash(0, texts, ARRAY_COUNT(texts)) : 0;
}

/* The line of an instruction. 0: it is none of that function. */
static uint32_t line_of(const struct unwind_stack *stack, uint64_t at, uint64_t function)
{
	uint64_t offset = at - script_word(function, layout->code);

	if (offset >= (uint64_t)script_half(function, layout->count) * INSTRUCTION ||
	    !script_can_read(stack, at, INSTRUCTION))
		return 0;
	return script_half(at, LINE_OFFSET);
}

/* The line that a frame of that function is at. 0: not known. */
static uint32_t line_at(const struct unwind_stack *stack, uint64_t frame, uint64_t function)
{
	uint32_t line = line_of(stack, script_word(frame, OPLINE_OFFSET), function);

	return line ? line : line_of(stack, script_word(globals, layout->thrown), function);
}

static enum script_kind identify(const struct unwind_stack *stack, struct script_codes *codes,
				 uint64_t frame, uint64_t *hash)
{
	uint64_t function = script_word(frame, FUNCTION_OFFSET);
	bool again;
	uint8_t type;

	*hash = 0;
	if (!function)
		return SCRIPT_NATIVE;
	if (!script_can_read(stack, function, layout->function_size))
		return SCRIPT_UNREADABLE;
	type = script_byte(function, 0);
	if (type == TYPE_NATIVE) {
		*hash = native_hash(stack, function);
		return SCRIPT_NATIVE;
	}
	if (type != TYPE_USER && type != TYPE_EVAL)
		return SCRIPT_UNREADABLE;
	*hash = hash_of(stack, codes, function, &again);
	if (!*hash)
		return SCRIPT_UNREADABLE;
	*hash = script_place_hash(*hash, line_at(stack, frame, function));
	return again ? SCRIPT_LOOP_AGAIN : SCRIPT_LOOP;
}

static uint32_t line(const struct unwind_stack *stack, struct script_codes *codes,
		     struct script_lines *lines, uint64_t frame)
{
	uint64_t function = script_word(frame, FUNCTION_OFFSET);

	return script_byte(function, 0) == TYPE_NATIVE ? 0 : line_at(stack, frame, function);
}

static size_t text(const struct unwind_stack *stack, uint64_t function, enum script_text text,
		   char *to, size_t room)
{
	bool native = script_byte(function, 0) == TYPE_NATIVE;
	struct script_bytes class;
	size_t size = 0;

	if (text == SCRIPT_FILE)
		return native ? script_bytes_copy(SCRIPT_BYTES(INTERNAL), to, room)
			      : script_bytes_copy(
					string_of(stack, script_word(function, layout->file)), to,
					room);
	if (!script_word(function, NAME_OFFSET))
		return script_bytes_copy(SCRIPT_BYTES(MAIN), to, room);
	class = class_of(stack, function);
	if (class.size) {
		size = script_bytes_copy(class, to, room);
		size += script_bytes_copy(SCRIPT_BYTES("::"), to + size, room - size);
	}
	return size + script_bytes_copy(string_of(stack, script_word(function, NAME_OFFSET)),
					to + size, room - size);
}

/* PHP runs in the process's first thread alone. */
static bool state_of(bool first, uint64_t *state)
{
	*state = globals;
	return first;
}

static struct script_chain chain_of(const struct unwind_stack *stack, uint64_t state)
{
	return (struct script_chain){
		.top = script_word(state, CURRENT_OFFSET),
		.is_split = script_word(state, layout->fiber) != 0,
	};
}

static struct script_runtime runtime;

static void set_runtime(void)
{
	words = (struct script_code_words){
		.file = layout->file,
		.name = NAME_OFFSET,
		.lines = layout->code,
		.first_line = layout->first,
		.version = SCRIPT_NONE,
	};
	runtime = (struct script_runtime){
		.code = FUNCTION_OFFSET,
		.instr = OPLINE_OFFSET,
		.link = PREVIOUS_OFFSET,
		.instr_bits = UINT64_MAX,
		.mark = MARK_OFFSET,
		.frame_size = FRAME_SIZE,
		.same = layout->file,
		.end_mark = MARK_TOP,
		.end_is_bit = true,
		.state_marker = SCRIPT_NONE,
		.marker_previous = SCRIPT_NONE,
		.marker_frame = SCRIPT_NONE,
		.has_loop = true,
		.loops_have_runs = true,
		.state = state_of,
		.state_size = (uint32_t)layout->fiber + 8,
		.chain = chain_of,
		.identify = identify,
		.line = line,
		.text = text,
	};
}

/* The version as 802 is 8.2. 8.2 has no function that says it; earlier ones lack that class. */
static uint32_t version_of(void)
{
	uint64_t version = script_symbol("php_version_id");

	if (version)
		return ((uint32_t(*)(void))(uintptr_t)version)() / 100;
	return script_symbol("zend_ce_sensitive_parameter") ? 802 : 0;
}

struct script_found php_look(bool opening)
{
	struct script_found found = {.code = script_symbol("execute_ex")};
	uint32_t version;

	(void)opening;
	if (!found.code || !script_symbol("zend_execute_ex"))
		return (struct script_found){0};
	globals = script_symbol("executor_globals");
	if (!globals || script_symbol("tsrm_get_ls_cache")) {
		found.why_not = "this build of it is for threads (ZTS)";
		return found;
	}
	version = version_of();
	for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
		if (layouts[i].version == version)
			layout = &layouts[i];
	if (!layout) {
		found.why_not = "this version of it is not known";
		return found;
	}
	set_runtime();
	script_set_loop("execute_ex");
	found.runtime = &runtime;
	return found;
}
