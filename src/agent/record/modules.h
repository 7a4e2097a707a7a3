/*
 * Modules, which are the loaded files, and the definitions of frames. A frame gets an id when it
 * first occurs in a stack that is written. Its record is committed before the id is used.
 */
#ifndef MALLOW_AGENT_RECORD_MODULES_H
#define MALLOW_AGENT_RECORD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#define MODULES_MAX 4096

struct thread;
struct module;

/* Zero: no module is known. Entries are published one by one and never move. */
struct modules {
	uint32_t lock;
	uint32_t count;         /* under the lock */
	uint32_t loaded;        /* atomic: the id of the module that was loaded last; 0: none */
	struct module *list;    /* an array of MODULES_MAX, of own_pages.h */
	uint32_t next_frame_id; /* atomic */
	uint32_t script_files;  /* how many: their ids as modules come after MODULES_MAX */
};

/*
 * Defines the frame in the recording, and its module if that is new. Returns the id. 0: not now
 * (another thread holds the lock, no memory); the raw pc is written this time.
 */
uint32_t modules_define_frame(struct thread *thread, uint64_t pc);

/* The id of a frame that was defined. 0: none yet. */
uint32_t modules_frame_id(uint64_t pc);

/*
 * Defines the modules that were loaded since the last call, also those that are in no stack: a
 * reader looks into their files for allocators that we do not stand in front of. Call it only while
 * no other thread opens or closes libraries, in a signal bracket, with `busy` set.
 */
void modules_define_loaded(struct thread *thread);

/* Whether the block is the loader's description (struct link_map) of a module that we know. */
bool modules_has(const void *block);

/*
 * The loader frees a block of its memory. If that is the description of a module that we know, the
 * module is gone: forgets the rules and ids of its code.
 */
void modules_loader_freed(struct thread *thread, const void *block);

#endif
