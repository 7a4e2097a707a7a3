/* The plugin of plugin_host.c: plain, array, nothrow and aligned operators, and a bad_alloc. */
#include "sample.h"

#include <cstdint>
#include <new>

struct alignas(64) Line {
	char bytes[64];
};

static volatile std::size_t huge = static_cast<std::size_t>(PTRDIFF_MAX) + 1;

/* Too much memory throws, here as elsewhere. */
static NOINLINE int plugin_fail()
{
	int caught = 0;

	try {
		keep(::operator new(huge));
	} catch (const std::bad_alloc &) {
		caught++;
	}
	if (!::operator new(huge, std::nothrow))
		caught++;
	STAY();
	return caught;
}

/* The object of an exception; libstdc++'s thread-local state is made at the first one. */
static NOINLINE void plugin_throw()
{
	try {
		throw 1;
	} catch (int) {
	}
	STAY();
}

static NOINLINE int plugin_succeed();

extern "C" NOINLINE int plugin_work()
{
	int result = plugin_succeed();

	plugin_throw();
	if (plugin_fail() != 2)
		result = 1;
	STAY();
	return result;
}

/* Six blocks; one of 48 bytes is left. */
static NOINLINE int plugin_succeed()
{
	int *number = static_cast<int *>(keep(new int(42)));
	char *text = static_cast<char *>(keep(new char[100]));
	int *quiet = static_cast<int *>(keep(new (std::nothrow) int(1)));
	Line *line = static_cast<Line *>(keep(new Line));
	char *zero = static_cast<char *>(keep(new char[0]));
	int result = *number;

	keep(::operator new(48));
	delete number;
	delete[] text;
	delete quiet;
	delete line;
	delete[] zero;
	STAY();
	return result;
}
