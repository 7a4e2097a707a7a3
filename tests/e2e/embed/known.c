#include "device.h"

static volatile size_t one = 1; /* no compiler knows what it is */
static int failed;

static void expect(int condition, int number)
{
	if (!condition && !failed)
		failed = number;
}

static NOINLINE void keep_fixed(void)
{
	for (int i = 0; i < 5; i++) {
		device_ns += 1000000;
		expect(mallow_embed_malloc(100) != NULL, 1);
	}
	STAY();
}

static NOINLINE void churn(void)
{
	for (int i = 0; i < 20; i++) {
		device_ns += 1000000;
		mallow_embed_free(mallow_embed_malloc(32));
	}
	STAY();
}

static NOINLINE void keep_aligned(void)
{
	void *block = mallow_embed_memalign(64 * one, 200);
	void *gone = mallow_embed_memalign(256 * one, 10);

	expect(block && (uintptr_t)block % 64 == 0, 2);
	expect(gone && (uintptr_t)gone % 256 == 0, 3);
	mallow_embed_free(gone);
	STAY();
}

static NOINLINE void keep_zeroed(void)
{
	const unsigned char *block = mallow_embed_calloc(10 * one, 12);

	for (int i = 0; i < 120; i++)
		expect(block[i] == 0, 4);
	expect(mallow_embed_calloc(SIZE_MAX / 2 + one, 2) == NULL, 5);
	expect(mallow_embed_calloc(2, SIZE_MAX / 2 + one) == NULL, 6);
	STAY();
}

static NOINLINE void keep_grown(void)
{
	unsigned char *block = mallow_embed_malloc(10 * one);

	for (unsigned char i = 0; i < 10; i++)
		block[i] = i;
	block = mallow_embed_realloc(block, 50);
	block = mallow_embed_realloc(block, 500);
	for (unsigned char i = 0; i < 10; i++)
		expect(block[i] == i, 7);
	STAY();
}

static NOINLINE void keep_nothing(void)
{
	expect(mallow_embed_malloc(0 * one) != NULL, 8);
	mallow_embed_free(NULL);
	// A realloc of NULL is a malloc, one to 0 a free.
	expect(mallow_embed_realloc(mallow_embed_realloc(NULL, 40), 0) == NULL, 9);
	STAY();
}

static NOINLINE void keep_failed(void)
{
	void *block = mallow_embed_malloc(24);

	expect(mallow_embed_malloc(SIZE_MAX / 2) == NULL, 10);
	expect(mallow_embed_realloc(block, SIZE_MAX / 2) == NULL, 11);
	STAY();
}

static NOINLINE void keep_deep(int depth)
{
	if (depth > 1)
		keep_deep(depth - 1);
	else
		expect(mallow_embed_malloc(7) != NULL, 12);
	STAY();
}

int known_run(void)
{
	device_thread = 1;
	keep_fixed();
	churn();
	keep_aligned();
	device_thread = 2;
	keep_zeroed();
	keep_grown();
	device_thread = 0;
	keep_nothing();
	keep_failed();
	keep_deep(30);
	expect(device_locks % 2 == 0 && device_locks < 1u << 30, 13);
	STAY();
	return failed;
}
