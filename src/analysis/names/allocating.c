#include "analysis/names/allocating.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Whether it is an entry function of an allocator, which a program may define itself. */
static bool is_entry(const char *name)
{
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"reallocarray",
		"posix_memalign",
		"aligned_alloc",
		"memalign",
		"valloc",
		"pvalloc",
		"__libc_malloc",
		"__libc_calloc",
		"__libc_realloc",
		"__libc_memalign",
		"mallow_call_allocate",
		"mallow_call_reallocate",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return begins(name, "operator new(") || begins(name, "operator new[](");
}

/* Whether it is a class's own operator new. Who makes the object chooses to allocate. */
static bool is_of_class(const char *name)
{
	return strstr(name, "::operator new(") || strstr(name, "::operator new[](");
}

/*
 * Whether it is __rust_alloc or below alloc::alloc: functions of the language, not of its
 * collections. Or a function of a global allocator.
 */
static bool is_of_rust(const char *name)
{
	static const char *const starts[] = {
		"__rust_alloc",   "__rust_realloc",
		"__rdl_alloc",    "__rdl_realloc",
		"__rg_alloc",     "__rg_realloc",
		"alloc::alloc::", "<alloc::alloc::Global as ",
		"std::alloc::",   "<std::alloc::System as ",
	};

	for (size_t i = 0; i < ARRAY_COUNT(starts); i++)
		if (begins(name, starts[i]))
			return true;
	return strstr(name, " as core::alloc::global::GlobalAlloc>::") != NULL;
}

/*
 * The last part of a C++ function's name, without parameters and template arguments: "bar" of "int*
 * std::foo<a::b>::bar<c>(d::e)". *standard: the first part is std, or the GNU library's own
 * namespace.
 */
static const char *last_part(const char *name, size_t *length, bool *standard)
{
	const char *start = name, *part = name;
	size_t depth = 0;

	*length = 0;
	for (const char *c = name; *c; c++) {
		depth += *c == '<';
		depth -= *c == '>' && depth;
		if (depth)
			continue;
		if (*c == '(')
			break;
		if (*c == ' ')
			start = part = c + 1; // what was before is the return type
		else if (c[0] == ':' && c[1] == ':')
			part = ++c + 1;
	}
	*standard = begins(start, "std::") || begins(start, "__gnu_cxx::");
	*length = strcspn(part, "<(");
	return part;
}

static bool is_of_cpp(const char *name)
{
	size_t length;
	bool standard;
	const char *part = last_part(name, &length, &standard);

	return standard && memmem(part, length, "allocate", strlen("allocate")) &&
	       !memmem(part, length, "deallocate", strlen("deallocate"));
}

bool allocating_entry(const char *name)
{
	return is_entry(name) || begins(name, "__rg_alloc") || begins(name, "__rg_realloc");
}

bool allocating_function(const char *name)
{
	return is_entry(name) || is_of_class(name) || is_of_rust(name) || is_of_cpp(name);
}
