/* The rows of one section of a module: .eh_frame or .debug_frame. */
#ifndef MALLOW_EBPF_UNWIND_SECTION_ROWS_H
#define MALLOW_EBPF_UNWIND_SECTION_ROWS_H

#include <stdbool.h>

#include "ebpf/unwind/unwind_rules.h"
#include "ebpf/unwind/unwind_section.h"
#include "ebpf/unwind/unwind_table.h"

/*
 * Appends the rows to *ret, which is empty. Rows of addresses that are no code are left out. Where
 * FDEs overlap, the one that starts last counts, as the search in .eh_frame_hdr finds it. False: no
 * memory.
 */
bool section_rows_compile(const struct unwind_section *section, const struct code_ranges *code,
			  struct unwind_rules *rules, struct unwind_rows *ret);

#endif
