/* Opens the files of which a process has mapped code. */
#ifndef MALLOW_EBPF_TARGET_MODULE_OPEN_H
#define MALLOW_EBPF_TARGET_MODULE_OPEN_H

#include "ebpf/target/target.h"
#include "hosted/proc.h"

enum module_answer {
	MODULE_IS,
	MODULE_IS_NONE, /* no file, or not an x86-64 ELF file: code that was made at run time */
	MODULE_GONE,    /* the mapping is there no more, or not as it was */
	MODULE_REFUSED, /* the file cannot be opened */
};

/*
 * Opens the file of a mapping of the target, or reads the vdso. With MODULE_IS *module is filled,
 * and the caller owns what is in it; with MODULE_REFUSED *why says why, and the caller owns it. An
 * error: no memory, or no descriptor.
 */
struct err *module_open(const struct target *target, const struct proc_mapping *mapping,
			enum module_answer *answer, struct target_module *module, struct err **why);
void module_close(struct target_module *module);

#endif
