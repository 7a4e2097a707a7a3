/*
 * The process that is traced: which code is mapped where, and the files that the code is from.
 *
 * Files are opened through /proc/PID/map_files, so they are the very files that are mapped: in
 * another mount namespace, in a chroot, or deleted since. They stay open, so names can be found
 * after the process has ended.
 */
#ifndef MALLOW_EBPF_TARGET_TARGET_H
#define MALLOW_EBPF_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "hosted/cleanup.h"

#define TARGET_NO_MODULE UINT32_MAX

/* A file with code. Modules are never removed: index and pointers' contents stay valid. */
struct target_module {
	char *path;      /* as the process names it, without " (deleted)"; "[vdso]" */
	char *open_path; /* by which we can open the same file now; NULL: by none (the vdso) */
	/* As /proc/PID/maps has them; some file systems tell stat() others. */
	uint64_t device, inode;
	uint8_t *memory; /* of the vdso: its image, owned; else NULL */
	size_t memory_size;
	int fd;      /* the file, open; -1: the vdso */
	bool mapped; /* now; false: it was once */
};

/* Code that is mapped now: [start, end). */
struct target_span {
	uint64_t start, end;
	uint64_t bias;   /* address in the process - address in the file (p_vaddr) */
	uint32_t module; /* TARGET_NO_MODULE: made at run time; a copy of text is its file's */
};

/* What /proc says of a process, for finding what it wrote itself. */
struct process_facts {
	pid_t own_pid;       /* as it sees itself, in its PID namespace */
	uid_t user;          /* its effective user */
	int64_t started_ns;  /* CLOCK_REALTIME, to a hundredth of a second */
	uint64_t start_time; /* as in /proc/PID/stat, field 22 */
	pid_t parent;
};

struct target {
	pid_t pid;
	int proc; /* /proc/PID, open: never that of a later process with the same PID */
	struct process_facts facts;
	char *program; /* readlink of /proc/PID/exe, without " (deleted)" */
	VEC(struct target_module) modules;
	VEC(struct target_span) spans; /* sorted by start */
};

/*
 * Looks at the process. An error says what is wrong with it: it does not exist, is a kernel thread
 * or one thread of a process, has ended (zombie), is not of this machine, or which capability is
 * missing to look at it.
 */
struct err *target_open(pid_t pid, struct target **ret);
/* Accepts NULL. */
void target_close(struct target *target);
CLEANUP_DEFINE(struct target *, target_close);

/*
 * Looks at the mappings again. *changed: whether spans are different. Modules that are new come
 * behind the others. Code of a new file that cannot be opened has no module. An error: the process
 * has ended (err_number() is ESRCH), or no memory or descriptors.
 */
struct err *target_refresh(struct target *target, bool *changed);

/* The span of an address; NULL: no code is mapped there now. */
const struct target_span *target_find(const struct target *target, uint64_t address);

#endif
