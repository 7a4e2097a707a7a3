/*
 * How programs with the agent tell `mallow run` and `mallow live` what they record: by messages to
 * a socket, the registry of the run.
 *
 *   mallow run ──MALLOW_REGISTRY, a descriptor to inherit──► program ──► its children …
 *              ◄──descriptor of the recording, kind, path───
 *
 * A program can reach the registry in two ways. The inherited descriptor works in every namespace
 * and for every user. Some programs close it, as sudo does; then the socket's address is left. The
 * address is abstract: it needs no file system and no rights, but works only in the same network
 * namespace. Everybody on the machine can see the address, so each message carries the run's key.
 * The kernel adds the sender's pid and user.
 *
 * MALLOW_REGISTRY is "KEY:DESCRIPTOR:INODE:ADDRESS": REGISTRY_KEY_SIZE characters, two decimal
 * numbers, and the address without its leading NUL. If the descriptor is not the socket with that
 * inode, the program has closed it.
 *
 * A message is struct registry_message and, up to its end, a text without a NUL: the recording's
 * path as its process sees it, or a name for people if the recording is in memory.
 */
#ifndef MALLOW_TRACE_REGISTRY_H
#define MALLOW_TRACE_REGISTRY_H

#define REGISTRY_VARIABLE  "MALLOW_REGISTRY"
#define REGISTRY_KEY_SIZE  32
#define REGISTRY_TEXT_MOST 4096 /* bytes of a message's text; more are cut */

/* The directory of `mallow run`: recordings with a relative name lie there. */
#define RUN_DIRECTORY_VARIABLE "MALLOW_DIRECTORY"

/* With a descriptor: of the recording or table, but for REGISTRY_REPORT. */
enum registry_kind {
	REGISTRY_OPENED = 'o', /* a process begins: to `mallow run`, or `mallow live` */
	/* Without a descriptor; the text: why, a newline, and the program's path. */
	REGISTRY_REFUSED = 'x', /* a program could not create its recording */
	REGISTRY_STARTED = 'u', /* a process without a recording executes a program without one */
	/* To `mallow live` alone. */
	REGISTRY_REPORT = 'r',  /* the descriptor is of a report: print it */
	REGISTRY_MAKE = 'm',    /* no helper could make a report: make it … */
	REGISTRY_BY_SIZE = 's', /* … in this order … */
	REGISTRY_BY_COUNT = 'c',
	REGISTRY_LAST = 'l', /* … as the one at the process's end */
};

struct registry_message {
	char key[REGISTRY_KEY_SIZE];
	char kind; /* enum registry_kind */
};

#endif
