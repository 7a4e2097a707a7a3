/* Variable-length numbers and encoded pointers of unwind tables. See eh_cursor.h. */
#include "cfi/eh_cursor.h"

#include "cfi/abi.h"

uint64_t eh_cursor_uleb(struct eh_cursor *cursor)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = eh_cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

int64_t eh_cursor_sleb(struct eh_cursor *cursor)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = eh_cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* An address in the machine's space. */
static uint64_t wrapped(uint64_t address)
{
	return ARCH_WORD == 8 ? address : (uint32_t)address;
}

static uint64_t read_format(struct eh_cursor *cursor, uint8_t format)
{
	switch (format) {
	case EH_PE_ABSPTR:
		return ARCH_WORD == 8 ? eh_cursor_u64(cursor) : eh_cursor_u32(cursor);
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return eh_cursor_u64(cursor);
	case EH_PE_ULEB128:
		return eh_cursor_uleb(cursor);
	case EH_PE_SLEB128:
		return (uint64_t)eh_cursor_sleb(cursor);
	case EH_PE_UDATA2:
		return eh_cursor_u16(cursor);
	case EH_PE_SDATA2:
		return (uint64_t)(int16_t)eh_cursor_u16(cursor);
	case EH_PE_UDATA4:
		return eh_cursor_u32(cursor);
	case EH_PE_SDATA4:
		return (uint64_t)(int32_t)eh_cursor_u32(cursor);
	default:
		cursor->bad = true;
		return 0;
	}
}

uint64_t eh_cursor_pointer(struct eh_cursor *cursor, uint8_t encoding, uint64_t data_base)
{
	uint64_t address = eh_cursor_address(cursor);
	uint64_t value = read_format(cursor, encoding & EH_PE_FORMAT);

	// Only personality pointers are indirect, and nobody follows these.
	if (encoding & EH_PE_INDIRECT)
		cursor->bad = true;
	switch (encoding & EH_PE_BASE) {
	case EH_PE_ABSOLUTE:
		return value;
	case EH_PE_PCREL:
		return wrapped(address + value);
	case EH_PE_DATAREL:
		return wrapped(data_base + value);
	default:
		cursor->bad = true;
		return 0;
	}
}
