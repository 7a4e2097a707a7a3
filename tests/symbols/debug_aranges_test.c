/* Sets of .debug_aranges, put together here byte by byte: sizes, padding, ends and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/debug_info.h"

#define ROOM 1024

/* A section that grows. */
struct section {
	uint8_t bytes[ROOM];
	size_t size;
};

static void put(struct section *section, size_t size, uint64_t value)
{
	assert_true(section->size + size <= ROOM);
	memcpy(section->bytes + section->size, &value, size);
	section->size += size;
}

/* A set of `count` ranges [low + 0x100 i, … + 0x10), with its ending zeros. */
static void put_set(struct section *section, bool long_format, unsigned version, uint64_t unit,
		    uint64_t low, unsigned count)
{
	size_t begin = section->size, length_at, header;
	uint64_t length;

	if (long_format)
		put(section, 4, UINT32_MAX);
	length_at = section->size;
	put(section, long_format ? 8 : 4, 0);
	header = section->size;
	put(section, 2, version);
	put(section, long_format ? 8 : 4, unit);
	put(section, 2, 8); // bytes of an address, of a segment
	while ((section->size - begin) % 16)
		put(section, 1, 0xaa);
	for (unsigned i = 0; i < count; i++) {
		put(section, 8, low + i * 0x100);
		put(section, 8, 0x10);
	}
	put(section, 8, 0);
	put(section, 8, 0);
	length = section->size - header;
	memcpy(section->bytes + length_at, &length, long_format ? 8 : 4);
}

/* Of bytes of their own, so that a read beyond them is seen. */
static void read_section(const uint8_t *bytes, size_t size, struct debug_aranges *ret)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	*ret = (struct debug_aranges){0};
	assert_null(debug_aranges_read(copy, size, ret));
	free(copy);
}

/* Where the unit of that address begins; -1: none is known. */
static int64_t unit_at(const struct debug_aranges *aranges, uint64_t address)
{
	for (size_t i = 0; i < aranges->ranges.list.count; i++) {
		const struct span_range *range = &aranges->ranges.list.items[i];

		if (address >= range->low && address < range->high)
			return (int64_t)aranges->units.items[range->value];
	}
	return -1;
}

static void sets_of_both_formats(void **state)
{
	struct section section = {0};
	struct debug_aranges aranges;

	put_set(&section, false, 2, 0x11, 0x1000, 2);
	put_set(&section, true, 2, 0x22, 0x2000, 1);
	put_set(&section, false, 2, 0x33, 0x3000, 0);
	put_set(&section, false, 2, 0x44, 0x4000, 3);
	read_section(section.bytes, section.size, &aranges);
	assert_int_equal(aranges.units.count, 4);
	assert_int_equal(unit_at(&aranges, 0x1000), 0x11);
	assert_int_equal(unit_at(&aranges, 0x110f), 0x11);
	assert_int_equal(unit_at(&aranges, 0x1110), -1);
	assert_int_equal(unit_at(&aranges, 0x2005), 0x22);
	assert_int_equal(unit_at(&aranges, 0x3000), -1);
	assert_int_equal(unit_at(&aranges, 0x4205), 0x44);
	debug_aranges_deinit(&aranges);
}

static void what_is_before_the_damage(void **state)
{
	struct section section = {0};
	struct debug_aranges aranges;
	size_t good;

	put_set(&section, false, 2, 0x11, 0x1000, 2);
	good = section.size;
	put_set(&section, false, 3, 0x22, 0x2000, 1); // no such version
	put_set(&section, false, 2, 0x33, 0x3000, 1);
	read_section(section.bytes, section.size, &aranges);
	assert_int_equal(unit_at(&aranges, 0x1000), 0x11);
	assert_int_equal(unit_at(&aranges, 0x2000), -1);
	assert_int_equal(unit_at(&aranges, 0x3000), -1);
	debug_aranges_deinit(&aranges);
	// A set that is not all there is none.
	for (size_t size = 0; size < good; size++) {
		read_section(section.bytes, size, &aranges);
		assert_int_equal(unit_at(&aranges, 0x1000), -1);
		debug_aranges_deinit(&aranges);
	}
}

static void ranges_beyond_the_end_of_memory(void **state)
{
	struct section section = {0};
	struct debug_aranges aranges;

	put_set(&section, false, 2, 0x11, UINT64_MAX - 8, 1);
	read_section(section.bytes, section.size, &aranges);
	assert_int_equal(unit_at(&aranges, UINT64_MAX - 4), -1);
	debug_aranges_deinit(&aranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_of_both_formats),
		cmocka_unit_test(what_is_before_the_damage),
		cmocka_unit_test(ranges_beyond_the_end_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
