#include "agent/script/python.h"

#include "agent/script/python_code.h"
#include "base/compiler.h"

#define NONE SCRIPT_NONE

/* clang-format off */
static const struct python_layout layouts[] = {
	/*  frame  cur    marker prev  code prev instr own  ent  instr          file name 1st lines  byte ver   text */
	{9,  24, NONE,  NONE, NONE,  32, 24, 104, NONE, NONE, PYTHON_BYTES,   104, 112, 40, 120, NONE, NONE, 48, 72},
	{10, 24, NONE,  48,   8,     32, 24,  96, NONE, NONE, PYTHON_UNITS,   104, 112, 40, 120, NONE, NONE, 48, 72},
	{11, 56, 8,     56,   16,    32, 48,  56, NONE, 68,   PYTHON_POINTER, 112, 128, 72, 136, 184,  NONE, 48, 72},
	{12, 56, 0,     NONE, NONE,   0,  8,  56, 70,   NONE, PYTHON_POINTER, 112, 128, 68, 136, 192,  92,   40, 56},
	{13, 72, NONE,  NONE, NONE,   0,  8,  56, 70,   NONE, PYTHON_POINTER, 112, 128, 68, 136, 200,  92,   40, 56},
	{14, 72, NONE,  NONE, NONE,   0,  8,  56, 74,   NONE, PYTHON_POINTER, 112, 128, 68, 136, 208,  92,   40, 56},
	{15, 72, NONE,  NONE, NONE,   0,  8,  56, 74,   NONE, PYTHON_POINTER, 112, 128, 68, 136, 208,  92,   40, 56},
};
/* clang-format on */

/* _Py_DebugOffsets at the start of _PyRuntime, since 3.13: a cookie, the version, and whether
 * threads run without the lock. */
#define COOKIE "xdebugpy"

/* So much is read of things. */
#define FRAME_SIZE(layout) ((layout)->minor >= 11 ? 80u : 112u)
#define STATE_SIZE         128u
#define MARKER_SIZE        24u

#define SHIM 3 /* a frame's owner, at least: it is no frame of a function */

const struct python_layout *python_layout;
static struct script_runtime runtime;

/* A function of the interpreter's without arguments. */
typedef uint64_t question(void);

static question *this_state, *is_finalizing;

static const struct python_layout *layout_of(unsigned minor)
{
	for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
		if (layouts[i].minor == (int)minor)
			return &layouts[i];
	return NULL;
}

/*
 * The version, by a variable since 3.11. Those before have only a function for it, which writes to
 * memory of its own: which functions there are tells them apart. 0: none that is known.
 */
static unsigned minor_version(void)
{
	uint64_t version = script_symbol("Py_Version");

	if (version)
		return script_half(version, 0) >> 24 == 3 ? script_half(version, 0) >> 16 & 255 : 0;
	if (script_symbol("PyIter_Send"))
		return 10;
	return script_symbol("PyObject_CallNoArgs") ? 9 : 0;
}

static bool is_free_threaded(unsigned minor)
{
	uint64_t at = minor >= 13 ? script_symbol("_PyRuntime") : 0;

	return at && script_word(at, 0) == bytes_u64((const uint8_t *)COOKIE) &&
	       script_word(at, 16) != 0;
}

static bool state_of(bool first, uint64_t *state)
{
	// Whoever finalises is the first thread, nearly always.
	if (!first && is_finalizing && (uint32_t)is_finalizing())
		return false;
	*state = this_state();
	return *state != 0;
}

static struct script_chain chain_of(const struct unwind_stack *stack, uint64_t state)
{
	const struct python_layout *layout = python_layout;
	uint64_t frame = script_word(state, layout->state_frame);

	if (layout->current != NONE)
		frame = script_can_read(stack, frame, MARKER_SIZE)
				? script_word(frame, layout->current)
				: 0;
	return (struct script_chain){.top = frame};
}

/* A code reference, without the tags that 3.14 keeps in its low bits. */
static uint64_t code_of(const struct python_layout *layout, uint64_t frame)
{
	return script_word(frame, layout->code) & ~UINT64_C(3);
}

/*
 * Where a frame is in its code, as bytes from the start of the bytecode. -1, -2: before its first
 * instruction.
 */
static int32_t offset_of(const struct python_layout *layout, uint64_t frame, uint64_t code)
{
	if (layout->instr_kind == PYTHON_POINTER)
		return (int32_t)(script_word(frame, layout->instr) - code -
				 (uint64_t)layout->bytecode);
	return (int32_t)script_half(frame, layout->instr) *
	       (layout->instr_kind == PYTHON_UNITS ? 2 : 1);
}

static enum script_kind identify(const struct unwind_stack *stack, struct script_codes *codes,
				 uint64_t frame, uint64_t *hash)
{
	const struct python_layout *layout = python_layout;
	uint64_t code;

	*hash = 0;
	if (layout->owner != NONE && script_byte(frame, layout->owner) >= SHIM)
		return SCRIPT_LOOP;
	code = code_of(layout, frame);
	*hash = code ? python_code_hash(stack, codes, code) : 0;
	if (!*hash)
		return SCRIPT_UNREADABLE;
	// The interpreter's own, which cleans up behind a constructor (3.12).
	if (unlikely(script_word(code, layout->file) == script_word(code, layout->name) &&
		     !script_half(code, layout->first_line)))
		*hash = 0;
	else
		*hash = script_place_hash(*hash, (uint32_t)offset_of(layout, frame, code));
	return SCRIPT_LOOP;
}

static uint32_t line(const struct unwind_stack *stack, struct script_codes *codes,
		     struct script_lines *lines, uint64_t frame)
{
	uint64_t code = code_of(python_layout, frame);

	return python_code_line(stack, code, python_code_hash(stack, codes, code),
				offset_of(python_layout, frame, code), lines);
}

static size_t text(const struct unwind_stack *stack, uint64_t code, enum script_text text, char *to,
		   size_t room)
{
	return python_text(
		stack,
		script_word(code, text == SCRIPT_FILE ? python_layout->file : python_layout->name),
		to, room);
}

static void set_runtime(const struct python_layout *layout)
{
	bool has_shims = layout->owner != NONE;

	runtime = (struct script_runtime){
		.code = layout->code,
		.instr = layout->instr,
		.link = layout->previous,
		.instr_bits = layout->instr_kind == PYTHON_POINTER ? UINT64_MAX : UINT32_MAX,
		// Of versions without such a byte each frame is a run, whatever another one says.
		.mark = has_shims               ? layout->owner
			: layout->entry != NONE ? layout->entry
						: layout->previous,
		.frame_size = FRAME_SIZE(layout),
		.same = layout->lines,
		.end_mark = has_shims ? SHIM : layout->entry != NONE,
		.end_is_beyond = has_shims,
		.state_marker = layout->state_marker,
		.marker_previous = layout->marker_previous,
		.marker_frame = layout->current,
		.marker_size = MARKER_SIZE,
		.has_loop = layout->minor == 9,
		.state = state_of,
		.state_size = STATE_SIZE,
		.chain = chain_of,
		.identify = identify,
		.line = line,
		.text = text,
	};
}

struct script_found python_look(bool opening)
{
	struct script_found found = {.code = script_symbol("PyGILState_GetThisThreadState")};
	unsigned minor = found.code ? minor_version() : 0;

	(void)opening;
	if (!found.code)
		return found;
	if (!layout_of(minor))
		found.why_not = "this version of it is not known";
	else if (is_free_threaded(minor))
		found.why_not = "this build of it has no lock (free-threaded)";
	if (found.why_not || !SCRIPT_MACHINE)
		return found;
	this_state = (question *)(uintptr_t)found.code;
	is_finalizing = (question *)(uintptr_t)script_symbol(minor >= 13 ? "Py_IsFinalizing"
									 : "_Py_IsFinalizing");
	if (minor == 9)
		script_set_loop("_PyEval_EvalFrameDefault");
	set_runtime(layout_of(minor));
	found.runtime = &runtime;
	__atomic_store_n(&python_layout, layout_of(minor), __ATOMIC_RELEASE);
	return found;
}
