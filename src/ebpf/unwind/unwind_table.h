/*
 * The unwind tables of modules, compiled for the unwinder in BPF: for each module a list of rows
 * (struct unwind_row), sorted by address.
 */
#ifndef MALLOW_EBPF_UNWIND_UNWIND_TABLE_H
#define MALLOW_EBPF_UNWIND_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/target/target.h"
#include "ebpf/unwind/unwind_rules.h"

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
