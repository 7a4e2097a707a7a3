#include "allocators/function_names.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "trace/format.h"

enum leaves { RETURNS, STORES, THROWS, ONLY };

/* The words of the list. */
enum {
	PLAIN = ALLOCATOR_PLAIN,
	JE = ALLOCATOR_JE,
	TC = ALLOCATOR_TC,
	MI = ALLOCATOR_MI,
	RP = ALLOCATOR_RP,
	SN = ALLOCATOR_SN,
	MOZ = ALLOCATOR_MOZ,
	LIBC = ALLOCATOR_LIBC,
	ANY = ALLOCATOR_ANY,
	CXX = ALLOCATOR_CXX,
	RUST = ALLOCATOR_RUST,
	MAP = ALLOCATOR_MAP,
};

#define TRACE_OP_NONE 0 /* of mappings: no operation on a block */

static const struct allocator_function functions[] = {
#define FUNCTION(name_, groups_, leaves, arguments_, act_, size_, times_, pointer_, operation_,    \
		 alignment_)                                                                       \
	{.name = name_,                                                                            \
	 .groups = groups_,                                                                        \
	 .act = ALLOCATOR_##act_,                                                                  \
	 .size = size_,                                                                            \
	 .times = times_,                                                                          \
	 .pointer = pointer_,                                                                      \
	 .alignment = alignment_,                                                                  \
	 .arguments = arguments_,                                                                  \
	 .operation = TRACE_OP_##operation_,                                                       \
	 .stores = (leaves) == STORES,                                                             \
	 .returns = (leaves) == RETURNS || (leaves) == STORES,                                     \
	 .throws = (leaves) == THROWS},
#include "allocators/functions.def"
};
#define FUNCTIONS (ARRAY_COUNT(functions))

struct word {
	const char *text;
	uint32_t group;
};

static const struct word prefixes[] = {
#define PREFIX(prefix, group) {prefix, group},
#include "allocators/functions.def"
};
#define PREFIXES (ARRAY_COUNT(prefixes))

static const struct word allocators[] = {
#define ALLOCATOR(group, name) {name, group},
#include "allocators/functions.def"
};

static const struct word insides[] = {
#define INSIDE(beginning, group) {beginning, group},
#include "allocators/functions.def"
};

static const struct {
	const char *symbol, *allocator;
} signs[] = {
#define SIGN(symbol, allocator) {symbol, allocator},
#include "allocators/functions.def"
};

/* No name in the list is longer: most of a C++ library's are, and are hashed no further. */
#define NAME_MAX_ 48

static_assert(FUNCTIONS < FUNCTION_NAMES_SLOTS / 2, "the table of slots is too small");

/* FNV-1a. */
static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; name[i] && i < NAME_MAX_; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash ^ hash >> 15;
}

void function_names_init(struct function_names *names, const char *prefix)
{
	*names = (struct function_names){.prefix = prefix};
	for (size_t i = 0; i < FUNCTIONS; i++) {
		uint32_t slot = hash_name(functions[i].name);

		while (names->slots[slot % FUNCTION_NAMES_SLOTS])
			slot++;
		names->slots[slot % FUNCTION_NAMES_SLOTS] = (uint16_t)(i + 1);
	}
}

/* Looks a name up without its prefix, as one of these groups. place: of the prefix. */
static bool look_up(const struct function_names *names, const char *name, uint32_t groups,
		    size_t place, struct function_match *ret)
{
	uint32_t slot = hash_name(name), found;

	for (; (found = names->slots[slot % FUNCTION_NAMES_SLOTS]); slot++)
		if (strcmp(functions[found - 1].name, name) == 0)
			break;
	if (!found || !(functions[found - 1].groups & groups))
		return false;
	*ret = (struct function_match){
		.function = &functions[found - 1],
		.rank = (uint32_t)((found - 1) * (PREFIXES + 1) + place),
		.group = functions[found - 1].groups & groups,
	};
	return true;
}

/* What follows `beginning` in the text; NULL: it does not begin so. */
static const char *behind(const char *text, const char *beginning)
{
	while (*beginning && *text == *beginning) {
		text++;
		beginning++;
	}
	return *beginning ? NULL : text;
}

/* The name of a crate begins before this place of a symbol: behind a hash of up to 13 digits. */
#define RUST_CRATE_PLACE 40

/*
 * The name within a mangled name of Rust, of crate __rustc, such as
 * _RNvCs3ZXlgpFdUOq_7___rustc12___rust_alloc. A number is the length of what follows; _ stands
 * between a number and a name that begins with _. NULL: it is none of these.
 */
static const char *rust_name(const char *symbol)
{
	const char *at = behind(symbol, "_RN"), *number = NULL;
	size_t length = 0;

	for (; at && *at && at < symbol + RUST_CRATE_PLACE && !number; at++)
		number = at[0] == '_' && at[1] == '7' ? behind(at, "_7___rustc") : NULL;
	for (; number && *number >= '0' && *number <= '9' && length < NAME_MAX_; number++)
		length = 10 * length + (size_t)(*number - '0');
	return length && *number == '_' && strlen(number + 1) == length ? number + 1 : NULL;
}

bool function_names_match(const struct function_names *names, const char *symbol,
			  struct function_match *ret)
{
	const char *name = rust_name(symbol);

	if (name)
		return look_up(names, name, ALLOCATOR_RUST, 0, ret);
	if (names->prefix && *names->prefix && (name = behind(symbol, names->prefix)) &&
	    look_up(names, name, ALLOCATOR_USER, PREFIXES, ret))
		return true;
	if (function_names_nested(symbol))
		return false;
	for (size_t i = 0; i < PREFIXES; i++) {
		uint32_t groups = prefixes[i].group;

		if (!*prefixes[i].text)
			groups |= ALLOCATOR_CXX | ALLOCATOR_RUST | ALLOCATOR_MAP;
		name = behind(symbol, prefixes[i].text);
		if (name && look_up(names, name, groups, i, ret))
			return true;
	}
	return false;
}

void function_names_prefix(const char *symbol, char ret[FUNCTION_NAMES_PREFIX])
{
	static const char name[] = "mallocx";
	size_t length = function_names_nested(symbol) ? 0 : strlen(symbol), end = sizeof(name) - 1;

	if (length <= end || length - end >= FUNCTION_NAMES_PREFIX ||
	    strcmp(symbol + length - end, name) != 0)
		return;
	memcpy(ret, symbol, length - end);
	ret[length - end] = '\0';
}

const char *function_names_allocator(const char *symbol, uint32_t *rank)
{
	for (uint32_t i = 0; i < ARRAY_COUNT(signs); i++) {
		if (*symbol == *signs[i].symbol && strcmp(symbol, signs[i].symbol) == 0) {
			*rank = i;
			return signs[i].allocator;
		}
	}
	return NULL;
}

const char *function_names_of_group(uint32_t group)
{
	for (size_t i = 0; i < ARRAY_COUNT(allocators); i++)
		if (allocators[i].group == group)
			return allocators[i].text;
	return NULL;
}

uint32_t function_names_inside(const char *symbol)
{
	if (*symbol != '_' && *symbol != 'j')
		return 0;
	for (size_t i = 0; i < ARRAY_COUNT(insides); i++)
		if (behind(symbol, insides[i].text))
			return insides[i].group;
	return 0;
}
