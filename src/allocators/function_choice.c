#include "allocators/function_choice.h"

#include <string.h>

/* Where the names of Rust's allocator, which may be mangled, begin at the latest, and more. */
#define RUST_NAME_PLACE 40

/* Notes the parts of Rust's allocator. */
static void note_rust(struct file_signs *signs, const char *symbol)
{
	const char *last = symbol + RUST_NAME_PLACE;

	if (symbol[1] != '_' && symbol[1] != 'R')
		return;
	for (; *symbol && symbol < last; symbol++) {
		if (symbol[0] != '_' || symbol[1] != '_' || symbol[2] != 'r')
			continue;
		signs->rust_replaced |= strncmp(symbol, "__rg_alloc", strlen("__rg_alloc")) == 0;
		signs->rust_default |= strncmp(symbol, "__rdl_alloc", strlen("__rdl_alloc")) == 0;
	}
}

void function_choice_note(struct file_signs *signs, const char *symbol, bool exported)
{
	uint32_t rank;
	const char *allocator;

	if (symbol[0] == '_' && symbol[1] == 'R') // nothing else of the lists is Rust's
		return note_rust(signs, symbol);
	allocator = function_names_allocator(symbol, &rank);
	if (allocator && (!signs->allocator || rank < signs->allocator_rank)) {
		signs->allocator = allocator;
		signs->allocator_rank = rank;
	}
	signs->inside |= function_names_inside(symbol);
	if (*symbol != '_')
		return;
	if (exported && strcmp(symbol, "_dl_allocate_tls") == 0)
		signs->is_loader = true;
	if (strcmp(symbol, "__libc_start_main") == 0)
		signs->is_c_library = true;
	note_rust(signs, symbol);
}

/* Which groups have what an allocator needs: of others, calls were inlined, or names are chance. */
static uint32_t complete_groups(const struct file_function *list, size_t count)
{
	uint32_t allocate = ALLOCATOR_USER, release = ALLOCATOR_USER;

	for (size_t i = 0; i < count; i++) {
		const struct allocator_function *function = list[i].match.function;

		// Without a prefix the names are too common: a program may have its own valloc().
		if (list[i].match.group == ALLOCATOR_PLAIN &&
		    strcmp(function->name, "malloc") != 0 && strcmp(function->name, "free") != 0)
			continue;
		if (function->act == ALLOCATOR_ALLOC)
			allocate |= list[i].match.group;
		else if (function->act == ALLOCATOR_FREE)
			release |= list[i].match.group;
	}
	return allocate & release;
}

/* Whether the file stands in for the C library's mmap, as tcmalloc and sanitizers do. */
static bool replaces_mmap(const struct file_function *list, size_t count)
{
	bool map = false, unmap = false;

	for (size_t i = 0; i < count; i++) {
		map |= list[i].exported && list[i].match.function->act == ALLOCATOR_MMAP;
		unmap |= list[i].exported && list[i].match.function->act == ALLOCATOR_MUNMAP;
	}
	return map && unmap;
}

static bool is_libc_allocator(const struct file_signs *signs)
{
	return signs->allocator &&
	       (strcmp(signs->allocator, "glibc") == 0 || strcmp(signs->allocator, "musl") == 0);
}

/* The groups whose functions are to be watched. */
static uint32_t chosen_groups(const struct file_signs *signs, const struct file_function *list,
			      size_t count)
{
	uint32_t complete = complete_groups(list, count), groups = complete & ALLOCATOR_ANY;

	if (signs->is_loader)
		return 0;
	if (groups & ALLOCATOR_PLAIN)
		groups &= ~(uint32_t)ALLOCATOR_LIBC;
	// libstdc++'s operators call malloc. Those that come with an allocator do not.
	if (groups & ~(uint32_t)(ALLOCATOR_LIBC | ALLOCATOR_USER) && !is_libc_allocator(signs))
		groups |= ALLOCATOR_CXX;
	// Rust's own __rdl_alloc calls malloc. If it is not there, the program has another one.
	if (signs->rust_replaced || !signs->rust_default)
		groups |= complete & ALLOCATOR_RUST;
	if (signs->is_c_library || (groups & ALLOCATOR_PLAIN && replaces_mmap(list, count)))
		groups |= ALLOCATOR_MAP;
	return groups;
}

static bool is_before(const struct file_function *a, const struct file_function *b)
{
	return a->address != b->address ? a->address < b->address : a->match.rank < b->match.rank;
}

/* Heap sort: lets the function at `at` sink until none below it comes later. */
static void sink(struct file_function *list, size_t at, size_t count)
{
	for (;;) {
		size_t last = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (is_before(&list[last], &list[child]))
				last = child;
		if (last == at)
			return;
		struct file_function moved = list[at];

		list[at] = list[last];
		list[last] = moved;
		at = last;
	}
}

static void sort(struct file_function *list, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sink(list, i, count);
	for (size_t left = count; left-- > 1;) {
		struct file_function last = list[0];

		list[0] = list[left];
		list[left] = last;
		sink(list, 0, left);
	}
}

size_t function_choice_make(const struct file_signs *signs, struct file_function *list,
			    size_t count)
{
	uint32_t groups = chosen_groups(signs, list, count);
	size_t chosen = 0, kept = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].match.group & groups)
			list[chosen++] = list[i];
	sort(list, chosen);
	for (size_t i = 0; i < chosen; i++) {
		struct file_function *last = kept ? &list[kept - 1] : NULL;

		if (!last || last->address != list[i].address) {
			list[kept] = list[i];
			list[kept++].groups = list[i].match.group;
			continue;
		}
		if (!last->size)
			last->size = list[i].size;
		last->groups |= list[i].match.group;
		last->mixed |= last->match.function->operation != list[i].match.function->operation;
	}
	return kept;
}

bool function_choice_is_sure(const struct file_signs *signs, const struct file_function *list,
			     size_t count, uint32_t group)
{
	size_t found = 0;

	if (group & (ALLOCATOR_PLAIN | ALLOCATOR_CXX | signs->inside))
		return true;
	for (size_t i = 0; i < count; i++)
		found += (list[i].groups & group) != 0;
	return found >= FUNCTION_CHOICE_SURE;
}

const char *function_choice_allocator(const struct file_signs *signs,
				      const struct file_function *list, size_t count)
{
	const char *name = signs->allocator;

	for (size_t i = 0; i < count && !name; i++)
		name = function_names_of_group(list[i].match.group);
	for (size_t i = 0; i < count && !name; i++)
		if (list[i].match.group != ALLOCATOR_RUST)
			name = "its own malloc";
	return name ? name : "its own allocator for Rust";
}
