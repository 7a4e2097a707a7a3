/*
 * What a program can tell mallow, its heap profiler. A program that includes this header also links
 * and runs without mallow (a static program, too); its calls then do nothing. C99 and C++.
 *
 * All functions can be called by any thread, before main() and after exit() began, and by a child
 * after fork(). They do not change errno. Signal handlers may call only those that say so.
 */
#ifndef MALLOW_MALLOW_H
#define MALLOW_MALLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The agent's functions; NULL in a program without the agent. Use the functions below instead. */
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
extern void *mallow_api_call_allocate(void *(*allocate)(void *argument), void *argument,
				      size_t size, size_t alignment) __attribute__((weak));
extern void *mallow_api_call_reallocate(void *(*reallocate)(void *argument), void *argument,
					void *old, size_t size) __attribute__((weak));
extern void mallow_api_call_free(void (*release)(void *argument), void *argument, void *block)
	__attribute__((weak));
struct mallow_thread_report;
struct mallow_site_report;
struct mallow_site;
extern struct mallow_thread_report *mallow_api_thread_report(void) __attribute__((weak));
extern struct mallow_site_report *
mallow_api_site_report(int (*filter)(const struct mallow_site *site, void *argument),
		       void *argument) __attribute__((weak));
extern void mallow_api_thread_report_sort(struct mallow_thread_report *report, int by)
	__attribute__((weak));
extern void mallow_api_site_report_sort(struct mallow_site_report *report, int by)
	__attribute__((weak));
extern int mallow_api_thread_report_print(const struct mallow_thread_report *report, int fd,
					  int format) __attribute__((weak));
extern int mallow_api_site_report_print(const struct mallow_site_report *report, int fd, int format)
	__attribute__((weak));
extern void mallow_api_thread_report_free(struct mallow_thread_report *report)
	__attribute__((weak));
extern void mallow_api_site_report_free(struct mallow_site_report *report) __attribute__((weak));
extern int mallow_api_live_fd(void) __attribute__((weak));
extern int mallow_api_pprof(int fd) __attribute__((weak));
extern int mallow_api_export(const char *format, int fd) __attribute__((weak));

/*
 * Gives this moment a name in the recording: "loaded", "request 17". name is copied, at most 1,000
 * bytes of it. Does nothing while nothing is recorded. Not for signal handlers.
 */
static inline void mallow_mark(const char *name)
{
	if (mallow_api_mark)
		mallow_api_mark(name);
}

/*
 * Starts recording, for all threads of the process. Does nothing if recording is on already. When
 * it returns, the caller's allocations are recorded. (If another thread starts or stops at the same
 * time, the last of them counts.) Blocks that were allocated before are not known, and their frees
 * are not recorded. Signal handlers may call it.
 *
 * Recording is on from the program's start, but for two cases: MALLOW_DISABLE_BY_DEFAULT=1, or
 * mallow is linked into the program and its environment has no setting of mallow's. Then the first
 * call creates the recording's file. The call does nothing if mallow could not write its file. If
 * mallow was loaded by dlopen(), which is too late to see anything, the call prints a message.
 */
static inline void mallow_start(void)
{
	if (mallow_api_start)
		mallow_api_start();
}

/*
 * Stops recording until the next start, for all threads. Reallocs and frees of blocks that were
 * recorded are still recorded, and nothing else. Signal handlers may call it.
 */
static inline void mallow_stop(void)
{
	if (mallow_api_stop)
		mallow_api_stop();
}

/*
 * 1: allocations are being recorded. 0: they are not, or there is no mallow. Signal handlers may
 * call it.
 */
static inline int mallow_is_running(void)
{
	return mallow_api_is_running ? mallow_api_is_running() : 0;
}

/*
 * When this returns, all that any thread recorded before the call is in the file. Readers find it
 * there whatever becomes of this process. (A crash of the machine may still lose it: the call does
 * not wait for the disk.) By default this holds at any moment, and the call costs nothing; with
 * MALLOW_SLOTS=private or MALLOW_CULL it writes to the file. Returns 0, or -1: there is no
 * recording, or not all of it could be written. Signal handlers may call it.
 */
static inline int mallow_sync(void)
{
	return mallow_api_sync ? mallow_api_sync() : -1;
}

/*
 * From now on the calling thread's allocations carry this number: a request, a tenant, a phase. 0:
 * no tag; every thread begins with it. The tag outlasts stops and starts, and a fork's child has
 * its parent's. Signal handlers may call it.
 */
static inline void mallow_set_tag(uint32_t tag)
{
	if (mallow_api_set_tag)
		mallow_api_set_tag(tag);
}

/*
 * Pools of the program's own, such as arenas and slabs: tell mallow about their blocks, and mallow
 * report --pools shows what they hold. An address identifies a pool, usually that of its struct. A
 * block is identified by its pool and its own address. Blocks may have any size and alignment; a
 * block may lie within a block of another pool, and may begin where malloc's block begins. What
 * malloc gave the pool is counted as malloc's, as always.
 *
 * Calls count in the order in which threads make them. So call pool_alloc before another thread may
 * free the block, and call pool_free and pool_reset before another thread may get the memory again.
 * Signal handlers may call them, but a call by a handler that interrupted mallow is lost, and
 * counted as lost. While recording is stopped new blocks are not recorded, but the ends of recorded
 * ones are. SAMPLE does not apply: every block is recorded.
 */

/*
 * The pool has handed out [block, block + size). If the pool has a block there already, that block
 * ends now; mallow counts how often this happens. Does nothing if block is NULL.
 */
static inline void mallow_pool_alloc(const void *pool, const void *block, size_t size)
{
	if (mallow_api_pool_alloc)
		mallow_api_pool_alloc(pool, block, size);
}

/*
 * The pool has got the block back. If the pool has no such block, that is an error, which mallow
 * counts.
 */
static inline void mallow_pool_free(const void *pool, const void *block)
{
	if (mallow_api_pool_free)
		mallow_api_pool_free(pool, block);
}

/* The pool has got all its blocks back. It may be used again, or be destroyed. */
static inline void mallow_pool_reset(const void *pool)
{
	if (mallow_api_pool_reset)
		mallow_api_pool_reset(pool);
}

/*
 * Names the pool, for blocks that it hands out from now on: call it before the first. All pools
 * with the same name are shown as one: those that come and go ("request"), or one for each thread.
 * name is copied, at most 1,000 bytes of it. Call it again in a fork's child, and when a new
 * recording begins.
 */
static inline void mallow_pool_name(const void *pool, const char *name)
{
	if (mallow_api_pool_name)
		mallow_api_pool_name(pool, name);
}

/*
 * An allocator that mallow does not know, or not everywhere: hand its calls over, and its blocks
 * are recorded as malloc's are. Most need not be handed over: mallow sees malloc and its kin, and
 * the allocators of docs/allocators.md wherever they are linked. Of one that it sees, a call that
 * is handed over is still recorded once.
 *
 * Each function calls the one that it is given, with argument, once, in the calling thread, with or
 * without mallow, and returns what that returned. All memory that is allocated in that call is
 * taken for the allocator's own. A stack ends where these functions are called. Signal handlers may
 * call them.
 */

/* allocate returns a block of size bytes, or NULL. alignment: the one that was asked for, or 0. */
static inline void *mallow_call_allocate(void *(*allocate)(void *argument), void *argument,
					 size_t size, size_t alignment)
{
	return mallow_api_call_allocate
		       ? mallow_api_call_allocate(allocate, argument, size, alignment)
		       : allocate(argument);
}

/*
 * reallocate moves old, or changes its size: returns it or the new block. NULL: old is as it was
 * or, if size is 0, freed.
 */
static inline void *mallow_call_reallocate(void *(*reallocate)(void *argument), void *argument,
					   void *old, size_t size)
{
	return mallow_api_call_reallocate
		       ? mallow_api_call_reallocate(reallocate, argument, old, size)
		       : reallocate(argument);
}

/* release frees block. NULL: nothing is recorded. */
static inline void mallow_call_free(void (*release)(void *argument), void *argument, void *block)
{
	if (mallow_api_call_free)
		mallow_api_call_free(release, argument, block);
	else
		release(argument);
}

/*
 * Reports of live memory that the program makes itself, with MALLOW_MODE=live. A report is NULL
 * without that mode, and if there is no memory. A report says what each thread, or each call stack,
 * has allocated since the program's start (or the last baseline), how much of it was freed, and how
 * much is in use. Sums are of requested bytes; with MALLOW_SAMPLE they are estimates.
 *
 * A report is a snapshot, but threads do not stop for it: what one of them does meanwhile may be in
 * one number and not yet in another. The caller owns the report and frees it with the function of
 * its kind, and with it all entries and names in it; its memory does not come from malloc. Any
 * thread may make one. Signal handlers may not.
 *
 *	struct mallow_site_report *report = mallow_site_report(NULL, NULL);
 *
 *	mallow_site_report_sort(report, MALLOW_BY_IN_USE);
 *	if (report && report->count > 10)
 *		report->count = 10;
 *	mallow_site_report_print(report, STDOUT_FILENO, MALLOW_TEXT);
 *	mallow_site_report_free(report);
 */
enum mallow_order { MALLOW_BY_IN_USE, MALLOW_BY_ALLOCATED, MALLOW_BY_FREED, MALLOW_BY_CALLS };

enum mallow_format { MALLOW_TEXT, MALLOW_CSV, MALLOW_JSON };

/* What threads of another name have freed of a thread's blocks. */
struct mallow_freed_by {
	const char *name;
	uint64_t bytes;
	uint64_t calls;
};

/*
 * All threads of one name, also those that have ended. Later versions may add members at the end.
 */
struct mallow_thread {
	const char *name;   /* "(others)": threads for which the table had no room */
	uint64_t allocated; /* bytes that it allocated */
	uint64_t calls;     /* how many calls allocated them */
	uint64_t freed;     /* bytes that it freed, whoever allocated them */
	uint64_t freed_calls;
	uint64_t allocated_freed; /* bytes that it allocated and any thread freed */
	uint64_t allocated_freed_calls;
	uint64_t in_use; /* bytes: allocated - allocated_freed */
	uint64_t in_use_calls;
	const struct mallow_freed_by *freed_by_others; /* most bytes first */
	size_t freed_by_others_count;
};

/* The caller may lower count, and may reorder threads. */
struct mallow_thread_report {
	size_t count;
	const struct mallow_thread **threads;
};

/* One call stack. Later versions may add members at the end. */
struct mallow_site {
	uint64_t hash;         /* of the stack; the same in each run of the same files */
	const uint64_t *stack; /* return addresses, innermost first; 0: its code is gone */
	size_t depth;          /* 0: MALLOW_BACKTRACE=none, or there was no room for the stack */
	uint64_t allocated;    /* bytes */
	uint64_t calls;
	uint64_t freed; /* bytes of those allocated */
	uint64_t freed_calls;
	uint64_t in_use; /* bytes: allocated - freed */
	uint64_t in_use_calls;
	uint64_t average; /* bytes of one allocation */
};

struct mallow_site_report {
	size_t count;
	const struct mallow_site **sites;
};

/* A report of all threads, sorted by MALLOW_BY_IN_USE. */
static inline struct mallow_thread_report *mallow_thread_report(void)
{
	return mallow_api_thread_report ? mallow_api_thread_report() : NULL;
}

/*
 * A report of the call stacks for which filter returns another number than 0; filter NULL: all that
 * allocated. Sorted by MALLOW_BY_IN_USE. filter is called before names are looked up, so what it
 * leaves out costs little. It runs in the calling thread and may allocate. The site and its stack
 * are valid only during the call.
 */
static inline struct mallow_site_report *
mallow_site_report(int (*filter)(const struct mallow_site *site, void *argument), void *argument)
{
	return mallow_api_site_report ? mallow_api_site_report(filter, argument) : NULL;
}

/* Sorts a report, largest first. report may be NULL here and below. */
static inline void mallow_thread_report_sort(struct mallow_thread_report *report,
					     enum mallow_order by)
{
	if (report)
		mallow_api_thread_report_sort(report, by);
}

static inline void mallow_site_report_sort(struct mallow_site_report *report, enum mallow_order by)
{
	if (report)
		mallow_api_site_report_sort(report, by);
}

/*
 * Writes the report to a descriptor: as text, as CSV with a line of column names, or as one JSON
 * object (docs/api.md shows all three). Names of functions are those of symbol tables: pass C++
 * and Rust names through c++filt. Returns 0, or -1: there is nothing to write, or not all was
 * written.
 */
static inline int mallow_thread_report_print(const struct mallow_thread_report *report, int fd,
					     enum mallow_format format)
{
	return report ? mallow_api_thread_report_print(report, fd, format) : -1;
}

static inline int mallow_site_report_print(const struct mallow_site_report *report, int fd,
					   enum mallow_format format)
{
	return report ? mallow_api_site_report_print(report, fd, format) : -1;
}

static inline void mallow_thread_report_free(struct mallow_thread_report *report)
{
	if (report)
		mallow_api_thread_report_free(report);
}

static inline void mallow_site_report_free(struct mallow_site_report *report)
{
	if (report)
		mallow_api_site_report_free(report);
}

/*
 * A new descriptor of the live mode's table, for reading; the caller closes it. -1: there is no
 * table. Every command of the tool can read it as a recording while it changes. /proc/PID/fd/N is
 * its file name: mallow export --to pprof /proc/1234/fd/5 (examples/debug_endpoint.c).
 */
static inline int mallow_live_fd(void)
{
	return mallow_api_live_fd ? mallow_api_live_fd() : -1;
}

/*
 * Writes a heap profile for `go tool pprof` and the like to a descriptor, for instance a socket.
 * Only with MALLOW_MODE=live: the profile is of that mode's table. The call starts the tool
 * (MALLOW_HELPER) and returns when the tool has ended. Returns 0, or -1: there is no table, no
 * tool, or not all was written.
 */
static inline int mallow_pprof(int fd)
{
	return mallow_api_pprof ? mallow_api_pprof(fd) : -1;
}

/*
 * Writes the same table in another format: one of those that `mallow export --to` has, such as
 * "html", "flamegraph", or "frames", which says what function and line each address of a stack is.
 * As mallow_pprof() in all else.
 */
static inline int mallow_export(const char *format, int fd)
{
	return mallow_api_export ? mallow_api_export(format, fd) : -1;
}

#define MALLOW_SIZE_TEXT 16

/*
 * Writes bytes the way mallow's reports do, "2.45 MB": three digits, units of 1000. Returns text.
 * Works without mallow.
 */
static inline char *mallow_format_size(uint64_t bytes, char text[MALLOW_SIZE_TEXT])
{
	static const char units[] = " KMGTPE";
	uint64_t unit = 1, thousandths = bytes, value, scale = 1;
	size_t power = 0, length = 0;
	char digits[MALLOW_SIZE_TEXT];
	char *out = text;

	while (power < 6 && bytes >= unit * 1000 - unit / 2) {
		unit *= 1000;
		power++;
	}
	if (power) {
		thousandths = bytes / (unit / 1000);
		scale = thousandths < 9995 ? 10 : thousandths < 99950 ? 100 : 1000;
	}
	value = (thousandths + scale / 2) / scale;
	do
		digits[length++] = (char)('0' + value % 10);
	while (value /= 10);
	while (length) {
		*out++ = digits[--length];
		if (length && ((scale == 10 && length == 2) || (scale == 100 && length == 1)))
			*out++ = '.';
	}
	*out++ = ' ';
	if (power)
		*out++ = units[power];
	*out++ = 'B';
	*out = '\0';
	return text;
}

#ifdef __cplusplus
}
#endif

#endif
