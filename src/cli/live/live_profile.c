#include "cli/live/live_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/merge/merge.h"
#include "cli/cli.h"
#include "hosted/proc.h"
#include "hosted/vec.h"
#include "trace/chunk_check.h"

/* After so many new tables those of ended processes are forgotten, though nobody looks. */
#define TIDY_EVERY 16
/* Descriptors that are left for connections. */
#define SPARE      16

/* A process, and its table. */
struct kept_table {
	int fd;
	pid_t pid; /* here; 0: it has no number here */
	uint64_t process_start;
};

struct live_profile {
	pthread_mutex_t lock;
	VEC(struct kept_table) tables;
	size_t added;  /* since the last tidying */
	bool short_of; /* it was said that a table was not taken in */
	pid_t program; /* that `mallow live` started; 0: not known yet */
	struct site_ledger gone;
	uint64_t gone_calls, gone_bytes;
	/* Keeps files open, and names that were found: most stacks of a look were there before. */
	struct symbolizer *symbolizer;
};

struct err *live_profile_create(struct live_profile **ret)
{
	cleanup(live_profile_destroy_at) struct live_profile *profile = calloc(1, sizeof(*profile));
	struct err *err;

	if (!profile)
		return err_no_memory();
	pthread_mutex_init(&profile->lock, NULL);
	err = symbolizer_create(&profile->symbolizer);
	if (!err)
		*ret = steal(&profile);
	return err;
}

void live_profile_destroy(struct live_profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->tables.count; i++)
		close(profile->tables.items[i].fd);
	vec_deinit(&profile->tables);
	site_ledger_deinit(&profile->gone);
	symbolizer_destroy(profile->symbolizer);
	pthread_mutex_destroy(&profile->lock);
	free(profile);
}

static bool read_header(int fd, struct trace_header *ret)
{
	uint8_t data[sizeof(*ret)];
	ssize_t got = pread(fd, data, sizeof(data), 0);

	return got > 0 && header_check(data, (size_t)got, ret) == HEADER_VALID;
}

/* A process that was killed has not said that it ended, but is no more. */
static bool has_ended(const struct live_profile *profile, const struct kept_table *table)
{
	struct trace_header header;

	if (!read_header(table->fd, &header))
		return true;
	if (table->pid && table->pid == profile->program && header.end_reason != TRACE_END_EXEC)
		return false; // the last profile is of it
	return header.state == TRACE_STATE_ENDED ||
	       (table->pid && process_start_time((uint32_t)table->pid) != table->process_start);
}

/* Adds what an ended process allocated to the sums of what is gone. */
static struct err *add_gone(struct live_profile *profile, const struct recording *recording)
{
	const struct naming naming = {.symbolizer = profile->symbolizer};
	cleanup(symbolized_destroy_at) struct symbolized *symbolized = NULL;
	struct err *err = symbolized_create(recording, &naming, &symbolized);

	profile->gone_calls += recording_summary(recording)->calls;
	profile->gone_bytes += recording_summary(recording)->total_bytes;
	return err ? err : site_ledger_add(&profile->gone, recording, symbolized, true);
}

/* Forgets the tables of processes that have ended. Call it under the lock. */
static struct err *tidy(struct live_profile *profile)
{
	struct err *err = NULL;

	profile->added = 0;
	for (size_t i = profile->tables.count; !err && i-- > 0;) {
		cleanup(recording_close_at) struct recording *recording = NULL;
		int fd = profile->tables.items[i].fd;

		if (!has_ended(profile, &profile->tables.items[i]))
			continue;
		// One that cannot be read costs only itself.
		err_destroy(recording_open_descriptor("the live table", fd, RECORDING_SUMS,
						      &recording));
		if (recording)
			err = add_gone(profile, recording);
		close(fd);
		profile->tables.items[i] = profile->tables.items[--profile->tables.count];
	}
	return err;
}

/* Copies a descriptor, unless too few would be left. -1: errno says why not. */
static int copy_descriptor(int fd)
{
	struct rlimit limit;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    (rlim_t)own + SPARE >= limit.rlim_cur) {
		close(own);
		errno = EMFILE;
		return -1;
	}
	return own;
}

void live_profile_add(struct live_profile *profile, int fd, pid_t pid)
{
	struct kept_table table = {
		.pid = pid, .process_start = pid > 0 ? process_start_time((uint32_t)pid) : 0};
	struct trace_header header;

	pthread_mutex_lock(&profile->lock);
	// Orphans may be our children, too, but the program was there first.
	if (!profile->program && read_header(fd, &header) &&
	    header.parent_pid == (uint32_t)getpid())
		profile->program = pid;
	table.fd = copy_descriptor(fd);
	if (++profile->added >= TIDY_EVERY || table.fd < 0)
		err_destroy(tidy(profile));
	if (table.fd < 0)
		table.fd = copy_descriptor(fd);
	if (table.fd >= 0 && !vec_push(&profile->tables, table)) {
		close(table.fd);
		table.fd = -1;
		errno = ENOMEM;
	}
	if (table.fd < 0 && !profile->short_of) {
		profile->short_of = true;
		cli_error(CLI_OK, "some processes are in no profile: %s", strerror(errno));
	}
	pthread_mutex_unlock(&profile->lock);
}

/* Adds the tables of processes that run. One that cannot be read costs only itself. */
static void add_tables(const struct live_profile *profile, struct merge *merge)
{
	for (size_t i = 0; i < profile->tables.count; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", profile->tables.items[i].fd);
		err_destroy(merge_add(merge, path, NULL, NULL));
	}
}

static uint64_t resident(const struct live_profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->tables.count; i++) {
		const struct kept_table *table = &profile->tables.items[i];
		struct process_memory memory;

		if (table->pid && process_memory_read((uint32_t)table->pid, &memory))
			sum += memory.resident;
	}
	return sum;
}

/* Tells of what was merged. */
static struct err *show(const struct live_profile *profile, const struct merge *merge,
			profile_use *use, void *use_argument)
{
	const struct prometheus_facts facts = {
		.processes = merge_count(merge),
		.resident = resident(profile),
		.ended_calls = profile->gone_calls,
		.ended_bytes = profile->gone_bytes,
	};
	cleanup(site_ledger_deinit) struct site_ledger sums = {0};
	const struct profile_look look = {
		.recording = merge_recording(merge),
		.symbolized = merge_symbolized(merge),
		.sums = &sums,
		.facts = &facts,
	};
	struct err *err = site_ledger_join(&sums, &profile->gone);

	if (!err)
		err = site_ledger_add(&sums, look.recording, look.symbolized, false);
	return err ? err : use(use_argument, &look);
}

/* Looks, under the lock. */
static struct err *look_locked(struct live_profile *profile, profile_use *use, void *use_argument,
			       bool *any)
{
	const struct naming naming = {.symbolizer = profile->symbolizer};
	cleanup(merge_destroy_at) struct merge *merge = NULL;
	struct err *err = tidy(profile);

	if (!err)
		err = merge_create(&naming, &merge);
	if (err)
		return err;
	add_tables(profile, merge);
	*any = merge_count(merge);
	if (!*any)
		return NULL;
	err = merge_run(merge, NULL, NULL);
	return err ? err : show(profile, merge, use, use_argument);
}

struct err *live_profile_look(void *argument, profile_use *use, void *use_argument, bool *any)
{
	struct live_profile *profile = argument;
	struct err *err;

	*any = false;
	pthread_mutex_lock(&profile->lock);
	err = look_locked(profile, use, use_argument, any);
	pthread_mutex_unlock(&profile->lock);
	return err;
}
