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

/* Of the agent, however it came into the program; NULL without it. Use the functions below. */
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
 * MALLOW_DISABLE_BY_DEFAULT=1, or mallow is linked into the program and its environment has no
 * setting of mallow's: then the first start opens the recording's file. Nothing if it is on, or if
 * mallow could not write its file; or if it was loaded by dlopen(), too late to see anything, which
 * it says. When it returns, what the caller allocates is recorded; unless another thread stopped or
 * started at the same time: then one of them is last. Blocks that were allocated before are not
 * known, and their frees are not recorded. Signal handlers may call it.
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

/*
 * Reports of what is live, made by the program itself, while MALLOW_MODE=live keeps a table of it:
 * what each thread and each call stack has allocated since the program's start (or the last
 * baseline), what of it was freed, and what is in use. Sums are of requested bytes; with
 * MALLOW_SAMPLE they are estimates. Without the live mode there is no report: NULL.
 *
 * A report is a snapshot that nobody waited for. Threads go on while it is made, so that what one
 * of them did meanwhile may be in one number and not yet in another. Its memory is not malloc's,
 * and it is the caller's: free it with the function of its kind. Any thread may make one. Signal
 * handlers may not.
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

/* How much of a thread's blocks the threads of another name have freed. */
struct mallow_freed_by {
	const char *name;
	uint64_t bytes;
	uint64_t calls;
};

/* All threads of one name, also those that have ended. Later versions may add members behind. */
struct mallow_thread {
	const char *name;   /* "(others)": threads for which the table had no room */
	uint64_t allocated; /* bytes that it allocated */
	uint64_t calls;     /* by so many calls */
	uint64_t freed;     /* bytes that it freed, whoever allocated them */
	uint64_t freed_calls;
	uint64_t allocated_freed; /* bytes of what it allocated, freed by whomever */
	uint64_t allocated_freed_calls;
	uint64_t in_use; /* bytes: allocated - allocated_freed */
	uint64_t in_use_calls;
	const struct mallow_freed_by *freed_by_others; /* most bytes first */
	size_t freed_by_others_count;
};

/* The caller may lower count, or order threads otherwise. */
struct mallow_thread_report {
	size_t count;
	const struct mallow_thread **threads;
};

/* One call stack. Later versions may add members behind. */
struct mallow_site {
	uint64_t hash;         /* of the stack; the same in every run of the same files */
	const uint64_t *stack; /* return addresses, innermost first; 0: of code that is gone */
	size_t depth;          /* 0: MALLOW_BACKTRACE=none, or there was no room for the stack */
	uint64_t allocated;    /* bytes */
	uint64_t calls;
	uint64_t freed; /* bytes of these */
	uint64_t freed_calls;
	uint64_t in_use; /* bytes: allocated - freed */
	uint64_t in_use_calls;
	uint64_t average; /* bytes of one allocation */
};

struct mallow_site_report {
	size_t count;
	const struct mallow_site **sites;
};

/* Sorted by MALLOW_BY_IN_USE. */
static inline struct mallow_thread_report *mallow_thread_report(void)
{
	return mallow_api_thread_report ? mallow_api_thread_report() : NULL;
}

/*
 * The sites for which filter does not return 0; NULL: all that allocated. It is asked before
 * anything is known of names, so that what it leaves out costs little; it may allocate, and must
 * not keep the site. Sorted by MALLOW_BY_IN_USE.
 */
static inline struct mallow_site_report *
mallow_site_report(int (*filter)(const struct mallow_site *site, void *argument), void *argument)
{
	return mallow_api_site_report ? mallow_api_site_report(filter, argument) : NULL;
}

/* Largest first. report may be NULL here and below. */
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
 * object (docs/api.md has all three). Functions are named by the symbol tables of their files, as
 * these have them: C++ names are for c++filt. 0, or -1: nothing to write, or not all was written.
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
 * The table of the live mode as a recording that every command of the tool reads, while it changes:
 * a descriptor of it, which the caller closes, or -1. /proc/PID/fd/N of it is a file name:
 * mallow export --to pprof /proc/1234/fd/5 (examples/debug_endpoint.c).
 */
static inline int mallow_live_fd(void)
{
	return mallow_api_live_fd ? mallow_api_live_fd() : -1;
}

/*
 * Writes a heap profile to a descriptor, a socket for instance, as `go tool pprof` and its like
 * read it. The tool does that, which is started for it (MALLOW_HELPER); the call returns when it
 * has ended. 0, or -1: there is nothing to write, no tool, or not all was written.
 */
static inline int mallow_pprof(int fd)
{
	return mallow_api_pprof ? mallow_api_pprof(fd) : -1;
}

#define MALLOW_SIZE_TEXT 16

/*
 * bytes as mallow's reports have them, "2.45 MB": three digits, units of 1000. Returns text. Needs
 * no mallow.
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
