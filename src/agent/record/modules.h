/*
 * The loaded files that frames lie in, and the definitions of frames: each gets an id when it
 * first occurs in a stack that is written, and its record is committed before the id is used.
 */
#ifndef MALLOW_AGENT_RECORD_MODULES_H
#define MALLOW_AGENT_RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#define MODULES_MAX 4096

struct thread;
struct module;

/* Zero: none known. Entries are published one by one and never move. */
struct modules {
	uint32_t lock;
	uint32_t count;         /* atomic */
	struct module *list;    /* MODULES_MAX, of own_pages.h */
	uint32_t next_frame_id; /* atomic */
};

/*
 * Defines the frame in the recording, and its module if that is new. The id, or 0: not now
 * (another thread is busy with it, no memory): the raw pc is written this time.
 */
uint32_t modules_define_frame(struct thread *thread, uint64_t pc);

/* Whether it is the loader's description of a module we know. */
bool modules_has(const void *block);

/*
 * The loader frees a piece of its memory: if it is the description of a module we know, the
 * module is gone, with all rules and ids of its code.
 */
void modules_loader_freed(struct thread *thread, const void *block);

#endif
