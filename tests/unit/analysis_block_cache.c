/* Views of some of the blocks, against the slow and obvious way: pages in any order, sums of sites.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_pages.h"
#include "analysis/blocks/site_sums.h"
#include "analysis/recording_memory.h"
#include "base/random.h"
#include "check.h"
#include "trace_writer.h"

#define MANY 70000 /* several steps of the pages, the last one not whole */

/* Bits of which one in 2^sparse is set; 0: all, as NULL says. */
static uint64_t *make_bits(uint64_t count, unsigned int sparse, uint64_t *random)
{
	uint64_t *bits = calloc(count / 64 + 1, sizeof(*bits));

	for (uint64_t i = 0; i < count; i++)
		if (!(random_next(random) & ((UINT64_C(1) << sparse) - 1)))
			bits[i / 64] |= UINT64_C(1) << i % 64;
	return bits;
}

static void check_walk(const struct block_pages *pages, const uint64_t *expected, uint64_t count,
		       uint64_t first, bool descending)
{
	struct block_cursor walk;

	block_cursor_begin(pages, first, descending, &walk);
	for (uint64_t i = first; i < count && i < first + 300; i++)
		assert_int_equal(block_cursor_next(&walk),
				 expected[descending ? count - 1 - i : i]);
}

static void check_ranks(const uint64_t *bits, const uint32_t *order, uint64_t blocks)
{
	uint64_t *expected = malloc((blocks + 1) * sizeof(*expected)), count = 0, random = 3;
	struct block_pages pages;

	for (uint64_t at = 0; at < blocks; at++) {
		uint64_t row = order ? order[at] : at;

		if (block_bits_has(bits, row))
			expected[count++] = row;
	}
	assert_ok(block_pages_create(bits, order, blocks, &pages));
	for (int i = 0; count && i < 100; i++) {
		uint64_t first = i == 0 ? 0 : i == 1 ? count - 1 : random_next(&random) % count;

		check_walk(&pages, expected, count, first, false);
		check_walk(&pages, expected, count, first, true);
	}
	block_pages_deinit(&pages);
	free(expected);
}

static void pages(void **state)
{
	static const uint64_t counts[] = {0, 1, 63, 64, 4095, 4096, 4097, MANY};
	uint32_t *order = malloc(MANY * sizeof(*order));
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (uint32_t j = 0; j < counts[i]; j++) {
			uint32_t other = (uint32_t)(random_next(&random) % (j + 1));

			order[j] = order[other];
			order[other] = j;
		}
		check_ranks(NULL, NULL, counts[i]);
		check_ranks(NULL, order, counts[i]);
		for (unsigned int sparse = 0; sparse <= 15; sparse += 3) {
			uint64_t *bits = make_bits(counts[i], sparse, &random);

			check_ranks(bits, NULL, counts[i]);
			check_ranks(bits, order, counts[i]);
			free(bits);
		}
	}
	free(order);
}

#define ALLOCATIONS 600000 /* more than one piece of what is summed up */
#define SITES       5

/* Each of SITES stacks in turn; every third block is freed, late. */
static void write_allocations(struct trace_writer *writer)
{
	trace_writer_init(writer);
	for (uint32_t i = 0; i < ALLOCATIONS; i++) {
		if (i % 10000 == 0) {
			if (i)
				trace_writer_seal(writer);
			trace_writer_chunk(writer, 0, i / 10000, TRACE_WRITER_SEALED);
			trace_writer_base(writer, 1000 + i * UINT64_C(10));
		}
		if (!i)
			for (uint64_t id = 1; id <= SITES; id++)
				trace_writer_frame(writer, id, 0x1000 * id, 0);
		if (i % 10000 == 0)
			trace_writer_push(writer, 0, 1, i % SITES + 1);
		else
			trace_writer_push(writer, 1, 1, i % SITES + 1);
		trace_writer_allocate(writer, 1, 4, 0x100000 + i * UINT64_C(4096), i % 3000 + 1);
		if (i % 3 == 0 && i > 300000)
			trace_writer_free(writer, 20, 4, 0x100000 + (i - 300000) * UINT64_C(4096));
	}
	trace_writer_seal(writer);
}

static void add_block(struct site_sums *sums, const struct block_columns *blocks, uint64_t i)
{
	struct site_span *span = &sums->span;
	uint64_t size = blocks->size[i], life = blocks->freed_ns[i] - blocks->allocated_ns[i];

	if (!sums->calls++) {
		sums->first = i;
		span->first_ns = blocks->allocated_ns[i];
		span->smallest = span->largest = size;
	}
	sums->size += size;
	span->blocks++;
	span->last_ns = blocks->allocated_ns[i];
	span->smallest = size < span->smallest ? size : span->smallest;
	span->largest = size > span->largest ? size : span->largest;
	if (blocks->freed_ns[i] == TIME_NEVER) {
		sums->leaked++;
		return;
	}
	span->freed++;
	span->lives_ns += life;
	span->longest_life_ns = life > span->longest_life_ns ? life : span->longest_life_ns;
}

static void check_sums(const struct recording *recording, const uint64_t *bits)
{
	const struct block_columns *blocks = recording_blocks(recording);
	struct site_sums expected[SITES] = {0}, *sums;

	for (uint64_t i = 0; i < blocks->count; i++)
		if (block_bits_has(bits, i))
			add_block(&expected[blocks->site[i]], blocks, i);
	for (uint32_t i = 0; !bits && i < SITES; i++)
		expected[i].span.threads = 1;
	assert_ok(site_sums_create(recording, bits, &sums));
	assert_memory_equal(sums, expected, sizeof(expected));
	free(sums);
}

static void sums_of_sites(void **state)
{
	struct recording *recording;
	struct trace_writer writer;
	uint64_t random = 1;
	uint32_t count;

	write_allocations(&writer);
	assert_ok(
		recording_open_memory("x", writer.data, writer.size, RECORDING_BLOCKS, &recording));
	recording_sites(recording, &count);
	assert_int_equal(count, SITES);
	assert_int_equal(recording_blocks(recording)->count, ALLOCATIONS);
	check_sums(recording, NULL);
	for (unsigned int sparse = 0; sparse <= 18; sparse += 6) {
		uint64_t *bits = make_bits(ALLOCATIONS, sparse, &random);

		check_sums(recording, bits);
		free(bits);
	}
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(sums_of_sites),
	};

	// Large columns lie in files: not in the folder of who runs the test.
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
