#include "ebpf/hooks/hook_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ebpf/bpf/hook.h"
#include "trace/format.h"

enum leaves { RETURNS, STORES, THROWS, ONLY };

/* The words of the list. */
enum {
	PLAIN = HOOK_PLAIN,
	JE = HOOK_JE,
	TC = HOOK_TC,
	MI = HOOK_MI,
	RP = HOOK_RP,
	SN = HOOK_SN,
	LIBC = HOOK_LIBC,
	ANY = HOOK_ANY,
	CXX = HOOK_CXX,
	RUST = HOOK_RUST,
	MAP = HOOK_MAP,
};

#define TRACE_OP_NONE 0 /* of mappings: no operation on a block */

#define WHERE(leaves)                                                                              \
	((leaves) == RETURNS || (leaves) == STORES ? HOOK_WHERE_ENTRY : HOOK_WHERE_ONLY)
#define RESULT(leaves) ((leaves) == STORES ? HOOK_RESULT_MEMORY : HOOK_RESULT_VALUE)

static const struct hook_name functions[] = {
#define HOOK(name_, groups_, leaves, act, size, times, pointer, operation, alignment)              \
	{.name = name_,                                                                            \
	 .groups = groups_,                                                                        \
	 .cookie = HOOK_COOKIE(HOOK_##act, size, times, pointer, RESULT(leaves)) |                 \
		   HOOK_WHERE(WHERE(leaves)) | HOOK_OPERATION(TRACE_OP_##operation, alignment),    \
	 .throws = (leaves) == THROWS},
#define PREFIX(prefix, group)
#define SIGN(symbol, allocator)
#include "symbols/allocator_functions.def"
#undef HOOK
#undef PREFIX
#undef SIGN
};
#define FUNCTIONS (ARRAY_COUNT(functions))

static const struct {
	const char *text;
	uint32_t group;
} prefixes[] = {
#define HOOK(name, groups, leaves, act, size, times, pointer, operation, alignment)
#define PREFIX(prefix, group) {prefix, group},
#define SIGN(symbol, allocator)
#include "symbols/allocator_functions.def"
#undef HOOK
#undef PREFIX
#undef SIGN
};
#define PREFIXES (ARRAY_COUNT(prefixes))

static const struct {
	const char *symbol, *allocator;
} signs[] = {
#define HOOK(name, groups, leaves, act, size, times, pointer, operation, alignment)
#define PREFIX(prefix, group)
#define SIGN(symbol, allocator) {symbol, allocator},
#include "symbols/allocator_functions.def"
#undef HOOK
#undef PREFIX
#undef SIGN
};
#define SIGNS (ARRAY_COUNT(signs))

static int compare_names(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return strcmp(functions[*x].name, functions[*y].name);
}

static int compare_name(const void *name, const void *index)
{
	const uint16_t *i = index;

	return strcmp(name, functions[*i].name);
}

bool hook_names_init(struct hook_names *names, const char *prefix)
{
	*names = (struct hook_names){.prefix = prefix};
	names->sorted = malloc(FUNCTIONS * sizeof(*names->sorted));
	if (!names->sorted)
		return false;
	for (size_t i = 0; i < FUNCTIONS; i++)
		names->sorted[i] = (uint16_t)i;
	qsort(names->sorted, FUNCTIONS, sizeof(*names->sorted), compare_names);
	return true;
}

void hook_names_deinit(struct hook_names *names)
{
	free(names->sorted);
	*names = (struct hook_names){0};
}

/* Looks a name up without its prefix, as one of these groups. place: of the prefix. */
static bool look_up(const struct hook_names *names, const char *name, uint32_t groups, size_t place,
		    struct hook_match *ret)
{
	const uint16_t *found =
		bsearch(name, names->sorted, FUNCTIONS, sizeof(*names->sorted), compare_name);

	if (!found || !(functions[*found].groups & groups))
		return false;
	*ret = (struct hook_match){
		.function = &functions[*found],
		.rank = (uint32_t)(*found * (PREFIXES + 1) + place),
		.group = functions[*found].groups & groups,
	};
	return true;
}

/*
 * The name within a mangled name of Rust, of crate __rustc, such as
 * _RNvCs3ZXlgpFdUOq_7___rustc12___rust_alloc. A number is the length of what follows; _ stands
 * between a number and a name that begins with _. NULL: it is none of these.
 */
static const char *rust_name(const char *symbol)
{
	static const char crate[] = "_7___rustc";
	const char *at = strncmp(symbol, "_RN", 3) == 0 ? strstr(symbol, crate) : NULL;
	char *end;

	if (!at)
		return NULL;

	unsigned long length = strtoul(at + strlen(crate), &end, 10);

	return length && *end == '_' && strlen(end + 1) == length ? end + 1 : NULL;
}

bool hook_names_match(const struct hook_names *names, const char *symbol, struct hook_match *ret)
{
	const char *rust = rust_name(symbol);
	size_t length = names->prefix ? strlen(names->prefix) : 0;

	if (rust)
		return look_up(names, rust, HOOK_RUST, 0, ret);
	if (length && strncmp(symbol, names->prefix, length) == 0 &&
	    look_up(names, symbol + length, HOOK_USER, PREFIXES, ret))
		return true;
	for (size_t i = 0; i < PREFIXES; i++) {
		uint32_t groups = prefixes[i].group;

		length = strlen(prefixes[i].text);
		if (!length)
			groups |= HOOK_CXX | HOOK_RUST | HOOK_MAP;
		if (strncmp(symbol, prefixes[i].text, length) == 0 &&
		    look_up(names, symbol + length, groups, i, ret))
			return true;
	}
	return false;
}

const char *hook_names_allocator(const char *symbol, uint32_t *rank)
{
	for (uint32_t i = 0; i < SIGNS; i++) {
		if (strcmp(symbol, signs[i].symbol) == 0) {
			*rank = i;
			return signs[i].allocator;
		}
	}
	return NULL;
}
