/*
 * The unwind tables of modules, compiled for the unwinder in BPF: for each module a list of rows
 * (struct unwind_row), sorted by address.
 */
#ifndef MALLOW_EBPF_UNWIND_UNWIND_TABLE_H
#define MALLOW_EBPF_UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/unwind_rule.h"
#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/target/target.h"

/*
 * The wide rules of all modules of a process, each once: the number of a rule is its place in the
 * list, and what rows hold (cfi/unwind_rule.h).
 *
 * All 2,460 programs and libraries of a system with five compilers together have 1,509.
 */
#define UNWIND_RULES_MAX RULE_PLAIN

/* This machine's registers in rules. */
extern const struct unwind_registers unwind_rules_registers;

/* Zeroed: empty. */
struct unwind_rules {
	struct unwind_rule list[UNWIND_RULES_MAX]; /* entry 0 is not used: it is RULE_NONE */
	uint32_t count;                            /* of the list, with entry 0; 0: empty */
	uint16_t index[2 * UNWIND_RULES_MAX];      /* a hash table of numbers; 0: none */

	/* Rows, counted as they were added: */
	uint32_t lost;      /* there was no room for their rule: they have RULE_BROKEN's */
	uint32_t broken;    /* no rule can express them, or the tables are damaged: RULE_BROKEN */
	uint32_t untracked; /* they need a register besides sp and fp, which BPF does not know */
};

/*
 * Packs the rule of a row and counts the row. NULL: RULE_BROKEN's. Never RULE_NONE: a rule for
 * which there is no room becomes RULE_BROKEN's.
 */
uint16_t unwind_rules_pack(struct unwind_rules *rules, const struct unwind_rule *rule);

/* Zeroed: empty. */
struct unwind_rows {
	VEC(struct unwind_row) list;
};

/*
 * Appends the rows of a module to *ret: of .eh_frame and, for code that this leaves out, of
 * .debug_frame. Addresses without an entry have a row of RULE_NONE (follow the frame pointer, as
 * code without tables is built with it), equal neighbours are one row, and code in front of the
 * first entry has no row. Code whose tables make no sense has RULE_BROKEN's rule.
 *
 * No error if the file is gone, or has no tables or damaged ones: then there are fewer rows, or
 * none. An error: no memory, or no descriptor; *ret is as it was.
 */
struct err *unwind_table_add(const struct target_module *module, struct unwind_rules *rules,
			     struct unwind_rows *ret);

#endif
