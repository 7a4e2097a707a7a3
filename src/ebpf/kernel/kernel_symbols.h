/* Names for the kernel's addresses, from /proc/kallsyms: its own, those of its modules, and of BPF
 * programs. */
#ifndef MALLOW_EBPF_KERNEL_KERNEL_SYMBOLS_H
#define MALLOW_EBPF_KERNEL_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

struct kernel_symbols;

struct kernel_name {
	const char *function;
	uint64_t offset;    /* of the address from the function's start */
	const char *module; /* "kernel", or the name of a module; "bpf" for BPF programs */
};

/* Reads them all. An error says so if the kernel hides the addresses from us. */
struct err *kernel_symbols_create(struct kernel_symbols **ret);
/* Accepts NULL. */
void kernel_symbols_destroy(struct kernel_symbols *symbols);

/*
 * Reads them again: modules and BPF programs come and go. Names that were found before are not
 * valid any more.
 */
struct err *kernel_symbols_reread(struct kernel_symbols *symbols);

/* The function that an address is in. False: it is in none that is known. */
bool kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			 struct kernel_name *ret);

#endif
