/*
 * mallow: what a program can tell its heap profiler. Optional: a program that includes this header
 * links and runs without mallow, also linked statically, and its calls then do nothing. C99 and
 * C++.
 *
 * All functions can be called by any thread, before main() and after exit() began, and by a child
 * after fork(). errno is kept. Those that say so can be called by signal handlers.
 */
#ifndef MALLOW_MALLOW_H
#define MALLOW_MALLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the preloaded library; NULL without it. Use the functions below instead. */
extern void mallow_api_mark(const char *name) __attribute__((weak));
extern void mallow_api_start(void) __attribute__((weak));
extern void mallow_api_stop(void) __attribute__((weak));
extern int mallow_api_is_running(void) __attribute__((weak));
extern int mallow_api_sync(void) __attribute__((weak));
extern void mallow_api_set_tag(uint32_t tag) __attribute__((weak));
extern void mallow_api_pool_alloc(const void *pool, const void *block, size_t size)
	__attribute__((weak));
extern void mallow_api_pool_free(const void *pool, const void *block) __attribute__((weak));
extern void mallow_api_pool_reset(const void *pool) __attribute__((weak));
extern void mallow_api_pool_name(const void *pool, const char *name) __attribute__((weak));

/*
 * Names this moment in the recording: "loaded", "request 17". name is copied, at most 1,000 bytes
 * of it. Not from signal handlers. Does nothing while nothing is recorded.
 */
static inline void mallow_mark(const char *name)
{
	if (mallow_api_mark)
		mallow_api_mark(name);
}

/*
 * Recording goes on: of the whole process, whichever thread calls. It is on from the start unless
 * MALLOW_DISABLE_BY_DEFAULT=1, where the first start opens the recording's file; with
 * MALLOW_NEW_FILE_PER_START=1 each does. Nothing if it is on, or if mallow could not write its
 * file. When it returns, what the caller allocates is recorded; unless another thread stopped or
 * started at the same time: then one of them is last. Blocks that were allocated before are
 * not known, and their frees are not recorded. Signal handlers may call it.
 */
static inline void mallow_start(void)
{
	if (mallow_api_start)
		mallow_api_start();
}

/*
 * Recording stops until the next start: of all threads. Blocks recorded until now remain known:
 * their reallocs and frees are still recorded, and nothing else. Signal handlers may call it.
 */
static inline void mallow_stop(void)
{
	if (mallow_api_stop)
		mallow_api_stop();
}

/* 1: allocations are being recorded. 0: they are not, or there is no mallow. Signal handlers, too.
 */
static inline int mallow_is_running(void)
{
	return mallow_api_is_running ? mallow_api_is_running() : 0;
}

/*
 * Everything that was recorded before the call, by all threads, is in the file when it returns: who
 * reads the file finds it, whatever becomes of this process. (Not of the machine: it does not wait
 * for the disk.) By default that holds at any moment and the call costs nothing; with
 * MALLOW_SLOTS=private it writes. Returns 0, or -1: there is no recording, or not all of it could
 * be written. Signal handlers may call it.
 */
static inline int mallow_sync(void)
{
	return mallow_api_sync ? mallow_api_sync() : -1;
}

/*
 * The calling thread's allocations carry this number from now on, 0 being none, with which every
 * thread begins: which request, which tenant, which phase. Kept over stops and starts, and in the
 * child of a fork. Signal handlers may call it.
 */
static inline void mallow_set_tag(uint32_t tag)
{
	if (mallow_api_set_tag)
		mallow_api_set_tag(tag);
}

/*
 * Pools of the program's own, arenas and slabs, shown as what they hold: mallow report --pools. A
 * pool is an address, mostly that of its struct; the address of a block tells it from others of its
 * pool. Blocks may have any size and alignment, one may lie in another's of another pool, and be
 * where malloc's block begins. What malloc gave the pool counts as malloc's, as ever.
 *
 * The order in which threads say so is that of the calls: say pool_alloc before anybody else may
 * free the block, and pool_free and pool_reset before anybody may be given its memory again. Signal
 * handlers may do so, but what one says that interrupted mallow is lost, and counted. While
 * recording is stopped blocks are not recorded, and the ends of recorded ones are; SAMPLE leaves
 * none out.
 */

/*
 * The pool has handed out [block, block + size). A block that it holds there already ends with
 * that; mallow counts how often that happened. Nothing where block is NULL.
 */
static inline void mallow_pool_alloc(const void *pool, const void *block, size_t size)
{
	if (mallow_api_pool_alloc)
		mallow_api_pool_alloc(pool, block, size);
}

/* The block is free again. One that the pool does not hold is an error, which is counted. */
static inline void mallow_pool_free(const void *pool, const void *block)
{
	if (mallow_api_pool_free)
		mallow_api_pool_free(pool, block);
}

/* All blocks of the pool are free again. It may go on, or be gone. */
static inline void mallow_pool_reset(const void *pool)
{
	if (mallow_api_pool_reset)
		mallow_api_pool_reset(pool);
}

/*
 * What to call the pool from its next block on: say it before the first. All pools of one name are
 * shown as one, those that come and go ("request") as those of each thread. name is copied, at most
 * 1,000 bytes of it. To be said again by the child of a fork, and when a new recording begins.
 */
static inline void mallow_pool_name(const void *pool, const char *name)
{
	if (mallow_api_pool_name)
		mallow_api_pool_name(pool, name);
}

#ifdef __cplusplus
}
#endif

#endif
