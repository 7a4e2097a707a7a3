/*
 * mallow for firmware: around any allocator, what is live and which stacks allocated it.
 *
 *	your code ──► mallow_embed_malloc() ──► your allocator
 *	                      │
 *	                      ▼
 *	     the table, in memory that you give: a recording
 *
 * The memory that mallow_embed_start() was given is the recording, byte by byte. A debug probe, or
 * the firmware itself, copies it into a file at any moment. `mallow report FILE` and `mallow core
 * --raw FIRMWARE.elf FILE` open that file.
 *
 * Blocks stay as the allocator makes them: nothing is put in front of them, and their alignment is
 * the allocator's. This file and mallow_embed.c need C99 and memcpy(), no operating system. They
 * never allocate, print or wait.
 *
 * Threads: with the callbacks lock and unlock all functions but mallow_embed_start() may be called
 * at any time by any thread, and by interrupt handlers if lock holds these off. Without them, by
 * one thread.
 */
#ifndef MALLOW_EMBED_H
#define MALLOW_EMBED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most frames of a stack. Each takes a pointer's size on the stack of who allocates. */
#ifndef MALLOW_EMBED_DEPTH
#define MALLOW_EMBED_DEPTH 16
#endif

/*
 * The smallest memory for mallow_embed_start(); 8192 bytes more with the callback `thread`. It
 * holds 146 blocks, and some 60 sites: stacks that allocate.
 */
#define MALLOW_EMBED_MEMORY_MIN 20480

/*
 * What mallow_embed_start() is told. A member that may be NULL or 0 has a sensible meaning then, so
 * an initializer needs to name only allocate and release. Callbacks must not call functions of this
 * file. Texts and functions must stay; the struct need not.
 */
struct mallow_embed_options {
	/* The allocator: as malloc() and free(). Never called with the lock held. */
	void *(*allocate)(size_t size);
	void (*release)(void *block);
	/*
	 * As realloc(). NULL: reallocations are made of allocate, memcpy and release. These need
	 * the old block's size, so a block that the table does not have cannot be reallocated then.
	 */
	void *(*reallocate)(void *block, size_t size);
	/* As memalign(). NULL: mallow_embed_memalign() returns NULL. */
	void *(*allocate_aligned)(size_t alignment, size_t size);

	/*
	 * Stores the return addresses of the calling stack, innermost first, at most max, and
	 * returns how many. Frames inside of mallow_embed.c may be among them, and are left out. A
	 * frame that was interrupted counts as its pc + 1. NULL: a stack is its innermost frame.
	 */
	size_t (*backtrace)(uintptr_t *pcs, size_t max);
	/* Nanoseconds, never less than before. NULL: no times. */
	uint64_t (*clock)(void);
	/*
	 * Holds off all others who may call these functions; unlock gets what lock returned, such
	 * as the processor's interrupt mask. The lock is held for some thousand instructions at
	 * most, and never nested. NULL, both: nobody else calls.
	 */
	uintptr_t (*lock)(void);
	void (*unlock)(uintptr_t state);
	/*
	 * The calling thread's number, 1 to 61; 0: none. *name: it may set this to the thread's
	 * name, of which 15 bytes are copied when the thread allocates first. NULL: no threads.
	 */
	unsigned int (*thread)(const char **name);

	/* The firmware's ELF file, for reports; a path where these are made is best. NULL: "". */
	const char *executable;
	/* Its build id, if it has one: a report then refuses names of another build. */
	const void *build_id;
	size_t build_id_size;
	/*
	 * Where its code is, end exclusive, 0: all memory; and what was added to the addresses that
	 * the ELF file says, 0: nothing.
	 */
	uintptr_t start, end, bias;
	/*
	 * 16 bytes, random ones at best: they tell recordings apart. NULL: made of the clock,
	 * addresses and build id, so two runs of a device may have the same.
	 */
	const void *id;
};

/*
 * Begins a recording in `memory`, which must be a multiple of 8. Its pieces are whole pages of 4096
 * bytes; more than 256 MiB are not used. README.md says how much fits into how much memory. The
 * memory is the recording's until the next start, from which on that one's is. Blocks that were
 * allocated before are not known.
 *
 * Call it before the first allocation: until then mallow_embed_malloc() and the others return NULL.
 * Nobody may be in one of them meanwhile.
 *
 * Returns how many bytes of the memory are the recording. 0: there is none, because the memory is
 * too small or at an odd address, or a text of the options too long. Then the other functions pass
 * all calls to the allocator.
 */
size_t mallow_embed_start(void *memory, size_t size, const struct mallow_embed_options *options);

/*
 * As the functions of the C library. What does not fit into the table is not recorded but counted:
 * the recording says how many allocations that were. A block whose stack does not fit is recorded
 * without a stack.
 */
void *mallow_embed_malloc(size_t size);
void *mallow_embed_calloc(size_t count, size_t size);
void *mallow_embed_realloc(void *block, size_t size);
void *mallow_embed_memalign(size_t alignment, size_t size);
void mallow_embed_free(void *block);

/*
 * A backtrace for the options, by frame pointers: on x86, AArch64 and RISC-V, if the firmware and
 * mallow_embed.c are compiled with -fno-omit-frame-pointer, and frame pointers are 0 where stacks
 * begin. It ends where a frame pointer is none of a frame further out, at most 64 KiB away. On
 * others it finds nothing.
 */
size_t mallow_embed_frame_pointers(uintptr_t *pcs, size_t max);

#ifdef __cplusplus
}
#endif

#endif
