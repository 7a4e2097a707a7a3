/*
 * Frees that are errors, of the kinds that glibc lets pass; with an argument also one that it does
 * not: "twice", "inside" (an address within a block), "stack".
 */
#include "sample.h"

#include <new>

static NOINLINE void free_what_new_made()
{
	for (int i = 0; i < 5; i++)
		free(keep(::operator new(20)));
	STAY();
}

static NOINLINE void delete_what_malloc_made()
{
	::operator delete(keep(malloc(33)));
	STAY();
}

static NOINLINE void delete_an_array()
{
	::operator delete(keep(::operator new[](60)));
	STAY();
}

static NOINLINE void realloc_what_new_made()
{
	free(keep(realloc(keep(::operator new(44)), 4000)));
	STAY();
}

/* All of these are as they should be. */
static NOINLINE void free_rightly()
{
	void *block = nullptr;

	free(keep(aligned_alloc(64, 128)));
	if (posix_memalign(&block, 64, 100) == 0)
		free(keep(block));
	free(keep(realloc(keep(calloc(3, 5)), 300)));
	free(nullptr);
	::operator delete(keep(::operator new(10, std::nothrow)));
	::operator delete(keep(::operator new(10)), std::size_t(10));
	::operator delete[](keep(::operator new[](10, std::nothrow)));
	::operator delete(keep(::operator new(10, std::align_val_t(64))), std::align_val_t(64));
	for (int i = 0; i < 3; i++) // the same address again and again
		free(keep(malloc(77)));
	STAY();
}

static NOINLINE void *give()
{
	void *block = malloc(2000);

	STAY();
	return block;
}

static NOINLINE void take(void *block)
{
	free(keep(block));
	STAY();
}

int main(int count, char **arguments)
{
	char local[64] = "";

	free_what_new_made();
	delete_what_malloc_made();
	delete_an_array();
	realloc_what_new_made();
	free_rightly();
	if (count < 2)
		return 0;
	char *block = static_cast<char *>(give());
	void *behind =
		keep(malloc(10)); // so that the block is not merged with the rest of the heap
	if (!strcmp(arguments[1], "twice")) {
		take(block);
		take(block);
	} else if (!strcmp(arguments[1], "inside")) {
		take(block + 8);
	} else {
		take(static_cast<char *>(keep(local)) + 16); // the size in front of it is 0
	}
	free(behind);
	return 0;
}
