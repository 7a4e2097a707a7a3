/*
 * Allocations that throw, exceptions through frames that hold blocks, and a thread that goes on
 * being recorded afterwards.
 *
 * EXPECT after_bad_alloc: calls=100 total_bytes=1000 leaked_blocks=100
 * EXPECT thrower: calls=100 leaked_blocks=0
 * EXPECT new_handler: calls=1 total_bytes=33 leaked_blocks=1
 */
#include "sample.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

static volatile std::size_t huge = static_cast<std::size_t>(PTRDIFF_MAX) + 1;

static NOINLINE void too_much()
{
	keep(::operator new[](huge));
	STAY();
}

static NOINLINE void after_bad_alloc()
{
	for (int i = 0; i < 100; i++)
		keep(new char[10]);
	STAY();
}

static NOINLINE void new_handler()
{
	std::set_new_handler(nullptr);
	keep(new char[33]); /* an allocation in the middle of one that is failing */
	STAY();
}

static NOINLINE void thrower(int depth)
{
	std::string *text = new std::string();

	if (depth == 0)
		delete text;
	if (depth == 0)
		throw std::runtime_error("a text that is too long to be kept inside of the object");
	try {
		thrower(depth - 1);
	} catch (...) {
		delete text;
		throw;
	}
	STAY();
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 10; i++) {
		try {
			too_much();
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	REQUIRE(caught == 10);
	REQUIRE(!::operator new(huge, std::nothrow));
	after_bad_alloc();
	std::set_new_handler(new_handler);
	try {
		too_much();
	} catch (const std::bad_alloc &) {
		caught++;
	}
	REQUIRE(caught == 11);
	try {
		thrower(97);
	} catch (const std::runtime_error &error) {
		caught++;
	}
	REQUIRE(caught == 12);
	puts("ok");
	return 7;
}
