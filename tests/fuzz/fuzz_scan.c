/*
 * libFuzzer target: code of MIPS64 that holds anything, read as the agent reads it (cfi/scan.h):
 * for an address, and as a function from its first instruction. Each rule must be one that a walk
 * can take. The first eight bytes say which address, and where gp's anchor is; the rest is the
 * code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cfi/abi.h"
#include "cfi/scan.h"

#define ADDRESS  UINT64_C(0x120000000)
#define CODE_MAX 40000 /* bytes: all of it is read a few times */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_so)
{
	if (!is_so)
		abort();
}

static void check_rule(const struct unwind_rule *rule)
{
	require(rule->kind == RULE_STEP && !rule->signal && !rule->cfa_deref);
	require(rule->cfa_base == ARCH_DWARF_SP || rule->cfa_base == ARCH_DWARF_FP);
	require(rule->ra.how == RULE_AT
			? rule->ra.base == RULE_BASE_CFA && rule->ra_offset < 0 &&
				  rule->ra_offset % 8 == 0
			: rule->ra.how == RULE_VALUE && rule->ra.base == ARCH_DWARF_PC);
	require(rule->fp.how == RULE_SAME ||
		(rule->fp.how == RULE_AT && rule->fp.base == RULE_BASE_CFA && rule->fp_offset < 0 &&
		 rule->fp_offset % 8 == 0));
}

/* The states are allocated as large as they may be, so that a sanitizer sees writing behind them.
 */
static void run(const struct scan_code *code)
{
	struct scan_state *states = malloc(code->count * sizeof(*states) + 1);
	struct unwind_rule rule;

	require(states);
	scan_run(code, states);
	for (size_t i = 0; i < code->count; i++)
		if (scan_rule(&states[i], &rule))
			check_rule(&rule);
	free(states);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan_text text = {.address = ADDRESS};
	struct scan_code code;
	uint64_t at;

	if (size < 12 || size > CODE_MAX)
		return 0;
	text.size = (size - 8) & ~(size_t)3;
	text.bytes = data + 8;
	text.anchor = ADDRESS + (uint64_t)(int64_t)(int32_t)bytes_u32(data + 4);
	at = ADDRESS + bytes_u32(data) % (text.size / 4) * 4;
	scan_place(&text, at, &code);
	require(code.address >= ADDRESS && code.address <= at &&
		at - code.address < code.count * 4);
	require(code.address - ADDRESS + code.count * 4 <= text.size);
	run(&code);
	code = (struct scan_code){text.bytes, ADDRESS, text.size / 4, .open = false};
	run(&code);
	return 0;
}
