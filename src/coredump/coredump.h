/*
 * The live table in a core dump, as bytes that are read like any recording. A program that ran in
 * live mode (MODE=live) has the table in its memory, so a core dump has it, too: whatever ended the
 * program, nothing had to be written.
 *
 * A core dump is read where the table's pages are, never as a whole. One that is compressed (zstd,
 * lz4, gzip, xz) is decompressed into a file without a name first.
 */
#ifndef MALLOW_COREDUMP_COREDUMP_H
#define MALLOW_COREDUMP_COREDUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/files/byte_source.h"

struct coredump;

struct coredump_facts {
	uint32_t pid;    /* of the process; 0: not known */
	uint32_t owner;  /* whose table it is: the process, or the one that it was forked from */
	uint32_t signal; /* that ended it; 0: none, or not known */
	bool raw;        /* a raw dump, which says nothing about the process */
	uint64_t
		missing; /* bytes of the table that are not in the dump: what was in them is lost */
	uint64_t cut;    /* bytes by which the dump is shorter than it should be */
};

/*
 * *ret: whether the file at fd is a core dump, or is compressed and may be one. name: for messages.
 */
struct err *coredump_is(const char *name, int fd, bool *ret);

/*
 * Opens the core dump at fd, which stays the caller's and must stay open. name: for messages,
 * borrowed. The error says why there is no table in it, and what to do.
 *
 * *ret NULL: the program was recorded (mallow run) and *recording is the path of its recording,
 * which the caller frees.
 */
struct err *coredump_open(const char *name, int fd, struct coredump **ret, char **recording);

/*
 * Opens raw dumps of one process: memory without headers, from a debug probe or /proc/PID/mem.
 * Where two dumps have the same bytes, those of the first are used.
 */
struct err *coredump_open_raw(const char *const *names, const int *fds, size_t count,
			      struct coredump **ret);

/* Accepts NULL. */
void coredump_close(struct coredump *coredump);

/* The table. It lives as long as the coredump, and its name is that of the first dump. */
const struct byte_source *coredump_table(const struct coredump *coredump);
const struct coredump_facts *coredump_facts(const struct coredump *coredump);

#endif
