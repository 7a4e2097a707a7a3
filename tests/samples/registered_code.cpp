/*
 * Makes code at run time and registers its unwind tables by __register_frame(), as LLVM's and
 * other compilers do: exceptions pass through that code, which calls back and allocates. The
 * tables are taken back, and other code comes to the same place. (libgcc sorts what is registered
 * at the first throw: two more calls a round below throw_back.)
 *
 * EXPECT call_back: calls=500 total_bytes=50000 leaked_blocks=0
 * EXPECT throw_back: calls=1700 leaked_blocks=0
 * EXPECT after: calls=1000 total_bytes=10000 leaked_blocks=0
 */
#include "sample.h"

#include <cstdint>
#include <stdexcept>
#include <sys/mman.h>

#define ROUNDS 100

extern "C" void __register_frame(void *);
extern "C" void __deregister_frame(void *);

static NOINLINE void call_back()
{
	free(keep(malloc(100)));
	STAY();
}

static NOINLINE void throw_back()
{
	delete static_cast<int *>(keep(new int));
	throw std::runtime_error("x");
}

static NOINLINE void after()
{
	free(keep(malloc(10)));
	STAY();
}

typedef void code(void (*function)());

/* sub rsp, room; call rdi; add rsp, room; ret: no frame pointer, so only the tables know. */
static size_t write_code(uint8_t *at, uint8_t room)
{
	const uint8_t bytes[] = {0x48, 0x83, 0xec, room, 0xff, 0xd7, 0x48, 0x83, 0xc4, room, 0xc3};

	memcpy(at, bytes, sizeof(bytes));
	return sizeof(bytes);
}

/* A CIE, an FDE for the code, and the end. */
static void write_tables(uint8_t *at, const uint8_t *code, size_t size, uint8_t room)
{
	const uint8_t cie[] = {20,   0, 0, 0,    0,  0,    0, 0,
			       1,    0, 1, 0x78, 16, 0x0c, 7, 8, /* CFA = rsp + 8 */
			       0x90, 1, /* the return address is at CFA - 8 */
			       0,    0, 0, 0,    0,  0};
	uint8_t fde[] = {28,   0,    0,
			 0,    28,   0,
			 0,    0,    0,
			 0,    0,    0,
			 0,    0,    0,
			 0,    0,    0,
			 0,    0,    0,
			 0,    0,    0,
			 0x44, 0x0e, (uint8_t)(room + 8), /* 4 bytes on: CFA = rsp + room + 8 */
			 0x46, 0x0e, 8,                   /* 6 bytes on: as in the beginning */
			 0,    0};
	uint64_t start = (uint64_t)code, length = size;

	memcpy(fde + 8, &start, 8);
	memcpy(fde + 16, &length, 8);
	memcpy(at, cie, 24);
	memcpy(at + 24, fde, 32);
	memset(at + 56, 0, 4);
}

static NOINLINE void round_of(uint8_t *page, uint8_t *tables, uint8_t room)
{
	size_t size = write_code(page, room);
	code *made = reinterpret_cast<code *>(page);

	write_tables(tables, page, size, room);
	__register_frame(tables);
	for (int i = 0; i < 5; i++) {
		bool caught = false;

		made(call_back);
		try {
			made(throw_back);
		} catch (const std::runtime_error &) {
			caught = true;
		}
		REQUIRE(caught);
		after();
	}
	__deregister_frame(tables);
	for (int i = 0; i < 5; i++)
		after();
}

int main()
{
	void *memory = mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *page = static_cast<uint8_t *>(memory);

	REQUIRE(memory != MAP_FAILED);
	for (int round = 0; round < ROUNDS; round++)
		round_of(page, page + 4096, static_cast<uint8_t>(8 + round % 4 * 16));
	puts("ok");
	return 7;
}
