/* Reports of what is live, for the program that is recorded: include/mallow/mallow.h. */
#include <mallow/mallow.h>

#include "agent/arch/syscall.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "agent/helper/helper.h"
#include "agent/record/recording.h"
#include "agent/report/report_sort.h"
#include "agent/report/site_report.h"
#include "agent/report/thread_report.h"

#define EXPORT __attribute__((visibility("default")))

/* Whether there is a table, and it is this process's own. */
static bool has_table(void)
{
	return process_state() == PROCESS_RECORDING && !process_is_borrowed() && process->live;
}

static bool comes_before(uint64_t a, uint64_t b, const void *first, const void *second)
{
	return a != b ? a > b : first < second;
}

static uint64_t thread_key(const struct mallow_thread *thread, int by)
{
	switch (by) {
	case MALLOW_BY_ALLOCATED:
		return thread->allocated;
	case MALLOW_BY_FREED:
		return thread->freed;
	case MALLOW_BY_CALLS:
		return thread->calls;
	default:
		return thread->in_use;
	}
}

static bool thread_before(const void *a, const void *b, int by)
{
	return comes_before(thread_key(a, by), thread_key(b, by), a, b);
}

static uint64_t site_key(const struct mallow_site *site, int by)
{
	switch (by) {
	case MALLOW_BY_ALLOCATED:
		return site->allocated;
	case MALLOW_BY_FREED:
		return site->freed;
	case MALLOW_BY_CALLS:
		return site->calls;
	default:
		return site->in_use;
	}
}

static bool site_before(const void *a, const void *b, int by)
{
	return comes_before(site_key(a, by), site_key(b, by), a, b);
}

EXPORT void mallow_api_thread_report_sort(struct mallow_thread_report *report, int by)
{
	report_sort((const void **)report->threads, report->count, thread_before, by);
}

EXPORT void mallow_api_site_report_sort(struct mallow_site_report *report, int by)
{
	report_sort((const void **)report->sites, report->count, site_before, by);
}

EXPORT struct mallow_thread_report *mallow_api_thread_report(void)
{
	struct report_memory memory = {0};
	struct thread_report *report = has_table() ? thread_report_make(&memory) : NULL;

	if (!report) {
		report_memory_release(&memory);
		return NULL;
	}
	report->memory = memory;
	mallow_api_thread_report_sort(&report->open, MALLOW_BY_IN_USE);
	return &report->open;
}

EXPORT struct mallow_site_report *
mallow_api_site_report(int (*filter)(const struct mallow_site *site, void *argument),
		       void *argument)
{
	struct report_memory memory = {0};
	struct site_report *report =
		has_table() ? site_report_make(&memory, filter, argument) : NULL;

	if (!report) {
		report_memory_release(&memory);
		return NULL;
	}
	report->memory = memory;
	mallow_api_site_report_sort(&report->open, MALLOW_BY_IN_USE);
	return &report->open;
}

EXPORT int mallow_api_thread_report_print(const struct mallow_thread_report *report, int fd,
					  int format)
{
	return thread_report_print(report, fd, (enum mallow_format)format);
}

EXPORT int mallow_api_site_report_print(const struct mallow_site_report *report, int fd, int format)
{
	return site_report_print(report, fd, (enum mallow_format)format);
}

EXPORT void mallow_api_thread_report_free(struct mallow_thread_report *report)
{
	// A copy, because the struct lies in the memory that is released.
	struct report_memory memory = ((struct thread_report *)report)->memory;

	report_memory_release(&memory);
}

EXPORT void mallow_api_site_report_free(struct mallow_site_report *report)
{
	struct report_memory memory = ((struct site_report *)report)->memory;

	report_memory_release(&memory);
}

/* Opens the table again, read-only. */
EXPORT int mallow_api_live_fd(void)
{
	char path[64];
	struct text text;
	struct signal_bracket bracket;
	int fd = -1;

	if (!has_table() || process_system_calls_forbidden())
		return -1;
	signal_bracket_begin(&bracket);
	if (file_keep_descriptor(&recording->file)) {
		text_init(&text, path, sizeof(path));
		text_string(&text, "/proc/self/fd/");
		text_number(&text, (uint64_t)recording->file.fd);
		fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	}
	signal_bracket_end(&bracket);
	return fd < 0 ? -1 : fd;
}

EXPORT int mallow_api_pprof(int fd)
{
	return mallow_api_export("pprof", fd);
}

EXPORT int mallow_api_export(const char *format, int fd)
{
	return has_table() && format && helper_export(format, fd) ? 0 : -1;
}
