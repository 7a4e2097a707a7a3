/* Where ARM's functions begin: marks, made once for a module. See scan.h. */
#include "cfi/scan.h"

#include "base/bytes.h"
#include "cfi/arm/scan_cpu.h"

/* Two bits for each halfword. */
enum mark { MARK_NONE, MARK_ARM, MARK_THUMB };

#define SEARCH_BACK 100000 /* halfwords */
#define SEARCH_ON   32768

static unsigned mark_at(const struct scan_text *text, size_t i)
{
	return text->marks[i / 4] >> i % 4 * 2 & 3;
}

static void set_mark(const struct scan_text *text, size_t i, unsigned mark)
{
	uint8_t *byte = &text->marks[i / 4];

	*byte = (uint8_t)((*byte & ~(3u << i % 4 * 2)) | mark << i % 4 * 2);
}

/* The number of the halfword at an address. false: it lies elsewhere. */
static bool find_half(const struct scan_text *text, uint64_t address, size_t *ret)
{
	*ret = (size_t)((address - text->address) / 2);
	return address - text->address < (text->size & ~UINT64_C(1)) &&
	       (address & 1 || address % 4 == 0);
}

void scan_mark_start(const struct scan_text *text, uint64_t address)
{
	struct scan_code code = {.address = address & ~UINT64_C(1), .thumb = address & 1};
	size_t i;

	if (!find_half(text, address, &i) || mark_at(text, i))
		return;
	code.bytes = text->bytes + i * 2;
	code.count = text->size / 2 - i;
	if (scan_begins(&code))
		set_mark(text, i, code.thumb ? MARK_THUMB : MARK_ARM);
}

void scan_mark_symbol(const struct scan_text *text, uint64_t address, uint64_t size)
{
	size_t i;

	if (!find_half(text, address, &i))
		return;
	for (uint64_t at = i + 1; at < i + size / 2 && at < text->size / 2; at++)
		set_mark(text, (size_t)at, MARK_NONE);
	set_mark(text, i, address & 1 ? MARK_THUMB : MARK_ARM);
}

void scan_mark_calls(const struct scan_text *text)
{
	struct scan_code code = {text->bytes, text->address, text->size / 2, true, text->thumb};
	struct scan_op op;

	for (size_t i = 0; i + 1 < code.count; i += op.units) {
		scan_op_at(&code, i, &op);
		// blx leads to the other kind of code.
		if (op.flow == SCAN_CALL && op.target)
			scan_mark_start(text, op.target | (op.value ? !text->thumb : text->thumb));
	}
}

void scan_find_starts(const struct scan_text *text, uint64_t pc, uint64_t *start, uint64_t *end)
{
	size_t at = (size_t)((pc - text->address) / 2), count = text->size / 2;
	size_t first = at > SEARCH_BACK ? at - SEARCH_BACK : 0;
	size_t last = count - at > SEARCH_ON ? at + SEARCH_ON : count;

	*start = 0;
	*end = text->address + last * 2;
	for (size_t i = at + 1; i-- > first && !*start;) {
		if (text->marks && mark_at(text, i))
			*start = (text->address + i * 2) | (mark_at(text, i) == MARK_THUMB);
	}
	for (size_t i = at + 1; i < last; i++) {
		if (text->marks && mark_at(text, i)) {
			*end = text->address + i * 2;
			break;
		}
	}
}
