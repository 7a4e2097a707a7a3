/*
 * How `mallow run` learns what is recorded: every image of the run sends its recording's descriptor
 * (trace/registry.h). A thread takes what comes.
 *
 * A recording is told apart by whose it is, and by whether its path leads to it from here:
 *
 *   path != NULL    our own user's, and path leads to it. All is done by that path.
 *   path == NULL    in memory; another user's; or in another mount namespace or root. Only fd leads
 *                   to it. `label` is the path as its process sees it, or a name: for people, and
 *                   never to be opened with our rights.
 */
#ifndef MALLOW_CLI_RUN_RUN_REGISTRY_H
#define MALLOW_CLI_RUN_RUN_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hosted/buf.h"
#include "hosted/err.h"
#include "hosted/vec.h"

struct run_registry;

/* An image of the run that has begun a recording. */
struct run_image {
	pid_t pid; /* by the number that it has here; 0: it has none here */
	uid_t uid; /* whose the recording is: the rights with which it may be handled */
	gid_t gid;
	const char *label;
	const char *path;
	int fd; /* -1: path leads to it. Open for writing, too, if it is another user's */
};

/* All that a run has left. */
struct run_images {
	struct run_image *items;
	size_t count;
	bool refused; /* an image could not create its recording, and has said why */
	/* Programs that were not recorded, of which no recording says it: "why\npath". */
	const char *const *started;
	size_t started_count;
	size_t missing; /* so many that no path leads to are left out, because they were too many */
};

/* Makes the socket and starts the thread. To be called before there is a child. */
struct err *run_registry_create(struct run_registry **ret);
/* Accepts NULL. */
void run_registry_destroy(struct run_registry *registry);

/* For the program: the value of MALLOW_REGISTRY, and the descriptor that run_child() hands on. */
const char *run_registry_variable(const struct run_registry *registry);
int run_registry_inherited(const struct run_registry *registry);

/*
 * The images until now, in the order of their beginning: their number never shrinks. Any thread
 * may ask, also while the program runs. What *ret points to lives as long as the registry.
 */
size_t run_registry_count(struct run_registry *registry);
void run_registry_get(struct run_registry *registry, size_t i, struct run_image *ret);
/* From now on an eventfd is written to for each new image. It must outlive run_registry_end(). */
void run_registry_notify(struct run_registry *registry, int event);
/* Makes an image's descriptor the caller's. */
int run_registry_take(struct run_registry *registry, size_t i);

/* The program has ended: takes what was sent until now, and ends the thread. */
void run_registry_end(struct run_registry *registry);

/* After run_registry_end(). Borrowed from the registry. */
struct run_images run_registry_images(const struct run_registry *registry);

/*
 * After run_registry_end(), and for the last time: whether a process of the run still lives that
 * has the inherited descriptor. One that has closed it by a system call is not seen.
 */
bool run_registry_is_used(struct run_registry *registry);

/*
 * Opens a file anew, for reading alone, and closes the old descriptor: the file offset is ours
 * then, and we do not count as who writes it. If that is not allowed, *fd stays.
 */
void run_registry_reopen(int *fd);

/*
 * The path that leads to an open file from here (free()): what its process says, or for a process
 * in a chroot what the kernel says. NULL: there is none. It looks these paths up with our rights.
 */
char *run_registry_find_path(const char *label, int fd);

/*
 * Programs of a run that are not recorded, as the agents tell the registry (REGISTRY_STARTED and
 * REGISTRY_REFUSED in trace/registry.h): each once, and no more than a hundred.
 */
struct started_programs {
	VEC(char *) texts; /* "why\npath" */
};

/* Keeps a copy. false: it is there already, is no such text, or they are too many. */
bool started_programs_add(struct started_programs *programs, const char *text);
void started_programs_deinit(struct started_programs *programs);

/* Writes what such a text says, without newline, safe for terminals. */
struct err *started_program_put(struct buf *buf, const char *text);

#endif
