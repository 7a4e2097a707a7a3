// As outstanding.c, for the operators of C++, whose allocator may be linked in or preloaded.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define KEEP __attribute__((noinline, noclone)) void

static void *volatile kept;
static volatile std::size_t huge = static_cast<std::size_t>(1) << 60;

struct alignas(128) wide {
	char bytes[640];
};

extern "C" {
// EXPECT keep_new: bytes=1001 blocks=1
KEEP keep_new()
{
	kept = operator new(1001);
}
// EXPECT keep_array: bytes=707 blocks=1
KEEP keep_array()
{
	kept = new char[707];
}
// EXPECT keep_nothrow: bytes=505 blocks=1
KEEP keep_nothrow()
{
	kept = new (std::nothrow) char[505];
}
// EXPECT keep_aligned: bytes=640 blocks=1
KEEP keep_aligned()
{
	kept = new wide;
}
// EXPECT keep_large: bytes=9000000 blocks=3
KEEP keep_large()
{
	for (int i = 0; i < 3; i++)
		kept = new char[3000000];
}
// EXPECT keep_malloc: bytes=303 blocks=1
KEEP keep_malloc()
{
	kept = std::malloc(303);
}
// EXPECT keep_calloc: bytes=404 blocks=1
KEEP keep_calloc()
{
	kept = std::calloc(4, 101);
}
// EXPECT keep_realloc: bytes=909 blocks=1
KEEP keep_realloc()
{
	kept = std::realloc(std::malloc(9), 909);
}
// Many of one size: an allocator's slow path is one of them.
// EXPECT keep_many: bytes=480000 blocks=10000
KEEP keep_many()
{
	for (int i = 0; i < 10000; i++)
		kept = operator new(48);
}
// Deeper than the operator that threw: what is left of that must not hide this.
// EXPECT keep_after_throw: bytes=111 blocks=1
__attribute__((noinline, noclone)) void keep_after_throw(int depth)
{
	volatile char here[64] = {1};

	if (depth)
		keep_after_throw(depth - 1);
	else
		kept = std::malloc(111);
	here[1] = here[0];
}
}

static void fail()
{
	for (int i = 0; i < 100; i++) {
		try {
			kept = operator new(huge);
			std::abort();
		} catch (const std::bad_alloc &) {
		}
	}
	if (new (std::nothrow) char[huge])
		std::abort();
}

static void give_back()
{
	delete[] new char[10];
	delete new wide;
	delete static_cast<char *>(operator new(11));
	operator delete(operator new(12), static_cast<std::size_t>(12));
	std::free(std::malloc(13));
}

int main()
{
	char word[64];

	std::setvbuf(stdin, nullptr, _IONBF, 0);
	std::setvbuf(stdout, nullptr, _IONBF, 0);
	std::printf("ready\n");
	while (std::scanf("%63s", word) == 1) {
		if (!std::strcmp(word, "end"))
			return 7;
		keep_new(), keep_array(), keep_nothrow(), keep_aligned(), keep_large();
		keep_malloc(), keep_calloc(), keep_realloc(), keep_many();
		give_back();
		// mimalloc ends the program instead of throwing.
		if (std::strcmp(word, "all") == 0)
			fail();
		keep_after_throw(20);
		std::printf("done %s\n", word);
	}
	return 7;
}
