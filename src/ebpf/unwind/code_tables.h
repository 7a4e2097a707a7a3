/*
 * The unwind tables in the kernel: which code is mapped where (spans), and the rows of each module.
 * The loader fills them when a target is attached, and again when it has mapped new code.
 */
#ifndef MALLOW_EBPF_UNWIND_CODE_TABLES_H
#define MALLOW_EBPF_UNWIND_CODE_TABLES_H

#include "ebpf/bpf/bpf_shared.h"
#include "ebpf/unwind/unwind_table.h"

/* The rows of a module, among all. count 0: it has no tables. */
struct module_rows {
	uint32_t first, count;
};

/* Zeroed: empty. */
struct code_tables {
	struct unwind_rules rules;
	struct unwind_rows rows;
	VEC(struct module_rows) modules; /* of the target's modules, by index */
	uint32_t uploaded;               /* rows that the kernel has already */
	uint32_t left_out;       /* modules whose rows found no room in the kernel's table */
	uint32_t spans_left_out; /* of the last upload: there are more than SPANS_MAX */
};

/* Compiles the tables of modules that are new. An error: no memory. */
struct err *code_tables_compile(struct code_tables *tables, const struct target *target);
void code_tables_deinit(struct code_tables *tables);

/* Where the kernel's copies are. */
struct code_maps {
	int rules, spans;        /* descriptors */
	struct unwind_row *rows; /* shared memory, room for row_count */
	uint32_t row_count;
	uint64_t *rule_cache; /* shared memory */
	struct bpf_state *state;
};

/*
 * Brings the kernel's tables up to date: appends rows, writes the spans that are not in use, lets
 * the programs use those, and empties the cache of rules.
 */
struct err *code_tables_upload(struct code_tables *tables, const struct target *target,
			       const struct code_maps *maps);

#endif
