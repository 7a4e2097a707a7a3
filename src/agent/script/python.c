#include "agent/script/python.h"

#include "agent/ground/config.h"
#include "agent/ground/link_map.h"
#include "agent/ground/log.h"
#include "agent/ground/next_functions.h"
#include "agent/unwind/stack_bounds.h"
#include "base/compiler.h"

#define NONE PYTHON_NONE

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

const struct python_layout *python_layout;
uint8_t python_frames;

/* A function of the interpreter's without arguments. */
typedef uint64_t question(void);

static question *this_state, *is_finalizing;
static uint64_t loop_start, loop_end;

static const struct python_layout *layout_of(unsigned minor)
{
	for (size_t i = 0; i < ARRAY_COUNT(layouts); i++)
		if (layouts[i].minor == (int)minor)
			return &layouts[i];
	return NULL;
}

static uint64_t symbol(const char *name)
{
	uint64_t start, end;

	return link_map_find_symbol(name, &start, &end) ? start : 0;
}

/*
 * The version, by a variable since 3.11. Those before have only a function for it, which writes to
 * memory of its own: which functions there are tells them apart. 0: none that is known.
 */
static unsigned minor_version(void)
{
	uint64_t version = symbol("Py_Version");

	if (version)
		return python_half(version, 0) >> 24 == 3 ? python_half(version, 0) >> 16 & 255 : 0;
	if (symbol("PyIter_Send"))
		return 10;
	return symbol("PyObject_CallNoArgs") ? 9 : 0;
}

static bool is_free_threaded(unsigned minor)
{
	uint64_t runtime = minor >= 13 ? symbol("_PyRuntime") : 0;

	return runtime && python_word(runtime, 0) == bytes_u64((const uint8_t *)COOKIE) &&
	       python_word(runtime, 16) != 0;
}

static void say_unknown(const char *what)
{
	if (config_is_child() || !config.value[SETTING_SCRIPT_FRAMES])
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("Python's functions and lines are not shown: ");
	log_string(what);
	log_end();
}

/* Whether the loader has bound the interpreter's object, after which it can be found by address. */
static bool is_bound(void)
{
	struct unwind_module module;

	if (!unwind_module_at((uintptr_t)this_state, &module))
		return false;
	__atomic_store_n(&python_frames, PYTHON_SHOWN, __ATOMIC_RELEASE);
	return true;
}

void python_find(bool opening)
{
	static uint32_t looked; // 1: an interpreter was found, known or not
	uint64_t state;
	unsigned minor;

	if (__atomic_load_n(&looked, __ATOMIC_RELAXED))
		return;
	state = symbol("PyGILState_GetThisThreadState");
	if (!state || __atomic_exchange_n(&looked, 1, __ATOMIC_RELAXED))
		return;
	minor = minor_version();
	if (sizeof(void *) != 8 || BYTES_BIG_ENDIAN)
		return say_unknown("this machine is not known");
	if (!layout_of(minor))
		return say_unknown("this version of it is not known");
	if (opening && !real.dl_find_object)
		return say_unknown("it was opened late, and this C library says nothing of it");
	if (is_free_threaded(minor))
		return say_unknown("this build of it has no lock (free-threaded)");
	this_state = (question *)(uintptr_t)state;
	is_finalizing =
		(question *)(uintptr_t)symbol(minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing");
	if (minor == 9)
		link_map_find_symbol("_PyEval_EvalFrameDefault", &loop_start, &loop_end);
	__atomic_store_n(&python_layout, layout_of(minor), __ATOMIC_RELEASE);
	if (config.value[SETTING_SCRIPT_FRAMES])
		__atomic_store_n(&python_frames, opening ? PYTHON_UNBOUND : PYTHON_SHOWN,
				 __ATOMIC_RELEASE);
}

bool python_is_loop(uint64_t pc)
{
	return pc - 1 - loop_start < loop_end - loop_start;
}

bool python_state(bool first, uint64_t *state)
{
	if (unlikely(__atomic_load_n(&python_frames, __ATOMIC_ACQUIRE) == PYTHON_UNBOUND) &&
	    !is_bound())
		return false;
	// Whoever finalises is the first thread, nearly always.
	if (!first && is_finalizing && (uint32_t)is_finalizing())
		return false;
	*state = this_state();
	return *state != 0;
}

bool python_can_read(const struct unwind_stack *stack, uint64_t address, uint64_t size)
{
	return address % sizeof(void *) == 0 && address >= STACK_PAGE && address < UINT64_MAX / 2 &&
	       stack_bounds_can_read(stack, address, address + size);
}
