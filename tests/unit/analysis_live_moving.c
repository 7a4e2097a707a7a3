/* The blocks of a live table that changes while it is read: what stays where it is, is found. */
#include <string.h>

#include "analysis/recording_memory.h"
#include "check.h"
#include "hosted/files/byte_source.h"
#include "live_writer.h"
#include "trace/live.h"

struct err *__real_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);
struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);

static struct trace_writer writer;
static size_t nodes_at, sites_at, heads_at, cells_at,
	fulls_at; /* where their arrays are in the file */

/* Something happens before an array is read for the nth time. */
static struct {
	size_t array;
	void (*happens)(unsigned int number);
	unsigned int number;
} moment;

struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret)
{
	if (moment.happens && offset == moment.array)
		moment.happens(++moment.number);
	return __real_byte_source_read(source, offset, buffer, size, ret);
}

static void before(size_t array, void (*happens)(unsigned int number))
{
	moment.array = array;
	moment.happens = happens;
	moment.number = 0;
}

#define START  UINT64_C(0x100000000) /* of the memory of the leaf */
#define REGION 5
#define FULL   LIVE_FULL_NAME
#define MORE   LIVE_FULL_CHAIN
#define CELLS  16
#define FULLS  4

static uint64_t entry_of(uint64_t start, uint64_t size)
{
	return (start + 1) | size << LIVE_SIZE_SHIFT |
	       UINT64_C(1) << (LIVE_OWNER_SHIFT + LIVE_THREAD_BITS);
}

static void set_head(uint32_t region, uint32_t name)
{
	trace_writer_poke(&writer, heads_at + 4 * region, name, 4);
}

static void set_cell(uint32_t number, uint32_t next, uint64_t entry)
{
	size_t at = cells_at + (number - 4) * LIVE_CELL_SIZE;

	trace_writer_poke(&writer, at, next, 8);
	trace_writer_poke(&writer, at + 8, entry, 8);
}

static void set_full(uint32_t number, uint32_t chain, uint32_t index, uint64_t entry)
{
	size_t at = fulls_at + (number - 1) * sizeof(struct live_full);

	trace_writer_poke(&writer, at, chain, 4);
	trace_writer_poke(&writer, at + 8 + (size_t)8 * index, entry, 8);
}

static size_t put_part(enum live_part part, uint32_t size, uint64_t first, uint64_t count)
{
	static const uint8_t nothing[4096];
	size_t at;

	live_writer_chunk(&writer, part, size, first, count);
	if (part == LIVE_PART_HEADS)
		trace_writer_poke(&writer, writer.chunk + 88, START + 1, 8);
	at = writer.size;
	live_writer_bytes(&writer, nothing, size * count);
	live_writer_close(&writer);
	return at;
}

/* A site of one frame, and a region with a block of 10 bytes in a chain. */
static void write_table(void)
{
	const uint32_t nodes[6] = {0, 0, 0, 0, 1, 0};
	const uint64_t sites[16] = {[8] = 3, 100, 0, 0, 3, 100, 1};

	moment.happens = NULL;
	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_clock(&writer, 1000, 5000000);
	trace_writer_frame(&writer, 1, 0x1000, 0);
	trace_writer_seal(&writer);
	live_writer_header(&writer, 2, 2, 1);
	live_writer_chunk(&writer, LIVE_PART_NODES, 12, 0, 2);
	nodes_at = writer.size;
	live_writer_bytes(&writer, nodes, sizeof(nodes));
	live_writer_close(&writer);
	live_writer_chunk(&writer, LIVE_PART_SITES, 64, 0, 2);
	sites_at = writer.size;
	live_writer_bytes(&writer, sites, sizeof(sites));
	live_writer_close(&writer);
	heads_at = put_part(LIVE_PART_HEADS, LIVE_LEAF_SIZE, 0, 1);
	cells_at = put_part(LIVE_PART_CELLS, LIVE_CELL_SIZE, 4, CELLS);
	fulls_at = put_part(LIVE_PART_FULLS, sizeof(struct live_full), 1, FULLS);
	set_cell(4, 0, entry_of(0, 10));
	set_head(REGION, 4);
}

/* The sum of the sizes of the blocks that are found, all of which are in that region. */
static uint64_t read_sizes(void)
{
	const struct block_columns *columns;
	struct recording *recording;
	uint64_t sum = 0;

	assert_ok(recording_open_memory("moving", writer.data, writer.size, RECORDING_BLOCKS,
					&recording));
	columns = recording_blocks(recording);
	for (uint64_t i = 0; i < columns->count; i++) {
		assert_int_equal(columns->address[i] >> 10, (START >> 10) + REGION);
		sum += columns->size[i];
	}
	recording_close(recording);
	trace_writer_deinit(&writer);
	return sum;
}

static void still(void **state)
{
	(void)state;
	write_table();
	set_full(1, 4, 1, entry_of(4, 200));
	set_head(REGION, 1 | FULL | MORE);
	assert_int_equal(read_sizes(), 210);
}

#define MAGIC_SIZE 8
static uint8_t magic[MAGIC_SIZE]; /* of a chunk that is not there yet */

static void hide(size_t array)
{
	memcpy(magic, writer.data + array - LIVE_ARRAY_OFFSET, MAGIC_SIZE);
	memset(writer.data + array - LIVE_ARRAY_OFFSET, 0, MAGIC_SIZE);
}

static void show(size_t array)
{
	memcpy(writer.data + array - LIVE_ARRAY_OFFSET, magic, MAGIC_SIZE);
}

static void make_full(unsigned int number)
{
	if (number > 1)
		return;
	show(fulls_at);
	set_full(1, 4, 1, entry_of(4, 200));
	set_head(REGION, 1 | FULL | MORE);
}

/* A full group in a chunk that was not there when the file was walked, before the heads were read.
 */
static void new_chunk_of_fulls(void **state)
{
	(void)state;
	write_table();
	hide(fulls_at);
	before(heads_at, make_full);
	assert_int_equal(read_sizes(), 210);
}

static void make_group(unsigned int number)
{
	if (number > 1)
		return;
	set_cell(6, 4, entry_of(1, 1000));
	set_full(1, 6, 1, entry_of(4, 200));
}

/* A group in front of a chain, when the full group before that is about to be read. */
static void new_group_behind_a_full_one(void **state)
{
	(void)state;
	write_table();
	set_full(1, 4, 1, entry_of(4, 200));
	set_head(REGION, 1 | FULL | MORE);
	before(fulls_at, make_group);
	assert_int_equal(read_sizes(), 210 + 1000);
}

/* Has left its region, and another one has come, when the heads are looked at again. */
static void change_full(unsigned int number)
{
	if (number != 2)
		return;
	set_full(1, 0, 1, 0);
	set_full(2, 4, 2, entry_of(8, 400));
	set_head(REGION, 2 | FULL | MORE);
}

static void another_full_group(void **state)
{
	(void)state;
	write_table();
	set_full(1, 4, 1, entry_of(4, 200));
	set_head(REGION, 1 | FULL | MORE);
	before(heads_at, change_full);
	assert_int_equal(read_sizes(), 410);
}

/* Another one each time: reading has an end, and what it does not know it does not tell. */
static void always_another(unsigned int number)
{
	set_head(REGION, (1 + number % FULLS) | FULL | MORE);
}

static void always_another_full_group(void **state)
{
	(void)state;
	write_table();
	for (uint32_t i = 1; i <= FULLS; i++)
		set_full(i, 4, i, entry_of(4 * i, 200));
	before(heads_at, always_another);
	assert_int_equal(read_sizes(), 0);
	assert_in_range(moment.number, 2, 10);
}

static void show_nodes(unsigned int number)
{
	if (number == 1)
		show(nodes_at);
}

/* A node in a chunk that was not there before its site was read. */
static void new_chunk_of_nodes(void **state)
{
	struct recording *recording;
	uint32_t count;

	(void)state;
	write_table();
	hide(nodes_at);
	before(sites_at, show_nodes);
	assert_ok(recording_open_memory("moving", writer.data, writer.size, 0, &recording));
	assert_int_equal(recording_sites(recording, &count)->calls, 3);
	assert_int_equal(count, 1);
	recording_stacks(recording, &count);
	assert_int_equal(count, 1);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(still),
		cmocka_unit_test(new_chunk_of_fulls),
		cmocka_unit_test(new_group_behind_a_full_one),
		cmocka_unit_test(another_full_group),
		cmocka_unit_test(always_another_full_group),
		cmocka_unit_test(new_chunk_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
