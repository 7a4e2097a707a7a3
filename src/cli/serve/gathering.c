#include "cli/serve/gathering.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options/stream_options.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/file_name.h"
#include "hosted/now.h"
#include "hosted/vec.h"
#include "report/words/format.h"
#include "stream/link/link_set.h"
#include "stream/link/token.h"

extern char **environ;

struct gathering {
	struct gather *gather;
	const char *const *debug_paths; /* borrowed; NULL ends the list */
	const char *tables;             /* borrowed */
	bool terminal, no_finish;
	pthread_t finisher;
	bool has_finisher;
	pthread_mutex_t mutex; /* of all below, and of what is printed */
	pthread_cond_t changed;
	bool ending;
	VEC(char *) complete; /* paths of recordings to be finished, or made tables of */
	bool shown;           /* a line of progress is on the terminal */
	uint64_t shown_ns, shown_bytes;
};

static void clear_locked(struct gathering *gathering)
{
	if (gathering->shown)
		fputs("\r\033[K", stdout);
	gathering->shown = false;
}

static void say_line(void *argument, const char *line)
{
	struct gathering *gathering = argument;
	time_t now = time(NULL);
	char clock[16] = "";
	struct tm parts;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;

	buf_shown(&text, line, strlen(line));
	if (localtime_r(&now, &parts))
		strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
	pthread_mutex_lock(&gathering->mutex);
	clear_locked(gathering);
	printf("%s %s\n", clock, buf_string(&text) ? buf_string(&text) : "(out of memory)");
	fflush(stdout);
	pthread_mutex_unlock(&gathering->mutex);
}

void gathering_show(struct gathering *gathering)
{
	struct gather_state state;
	uint64_t now = now_ns();

	if (!gathering->terminal)
		return;
	gather_look(gathering->gather, &state);
	pthread_mutex_lock(&gathering->mutex);
	clear_locked(gathering);
	if (state.senders) {
		uint64_t ns = now - gathering->shown_ns + 1;
		uint64_t speed = (uint64_t)((double)(state.bytes - gathering->shown_bytes) * 1e9 /
					    (double)ns);

		printf("%s, %s arriving, %s received",
		       format_counted(state.senders, "sender", true).text,
		       format_counted(state.recordings, "recording", true).text,
		       format_bytes(state.bytes, false).text);
		printf(", %s/s", format_bytes(speed, false).text);
		gathering->shown = true;
	}
	gathering->shown_ns = now;
	gathering->shown_bytes = state.bytes;
	fflush(stdout);
	pthread_mutex_unlock(&gathering->mutex);
}

/* Prints what a process said, which has no terminal for a progress bar of its own. */
static void print_all(int fd)
{
	char text[4096];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	if (got > 0)
		fwrite(text, 1, (size_t)got, stderr);
}

#define FIRST_WORDS 6 /* of a command, in front of places for names */

/*
 * Runs a command of mallow's on a recording, in a process of its own: that takes memory by the size
 * of the recording. Its errors go to our standard error. first: at most FIRST_WORDS, ended by NULL.
 */
static void run_received(const struct gathering *gathering, const char *const *first,
			 const char *path)
{
	auto_close int said = memfd_create("mallow-finish", MFD_CLOEXEC);
	const char *words[2 * OPTIONS_MANY_MAX + FIRST_WORDS + 4] = {"mallow"};
	posix_spawn_file_actions_t actions;
	int number, status, count = 1;
	pid_t child;

	while (*first)
		words[count++] = *first++;
	for (const char *const *place = gathering->debug_paths; place && *place; place++) {
		words[count++] = "--sysroot"; // the same as --debug-symbols
		words[count++] = *place;
	}
	words[count++] = "--";
	words[count] = path;

	// It inherits that this thread blocks all signals: Ctrl-C lets it end its work.
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (said >= 0)
		posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
	number = posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)words,
			     environ);
	posix_spawn_file_actions_destroy(&actions);
	if (number) {
		cli_error(CLI_FAILED, "cannot start '%s' of '%s': %s", words[1], path,
			  strerror(number));
		return;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	print_all(said);
}

/* Finishes a recording, and makes its tables. */
static void finish_received(const struct gathering *gathering, const char *path)
{
	auto_free char *folder = NULL;

	if (!gathering->no_finish)
		run_received(gathering, (const char *const[]){"finish", NULL}, path);
	if (!gathering->tables)
		return;
	if (asprintf(&folder, "%s/%s", gathering->tables, file_name(path)) < 0) {
		folder = NULL;
		cli_error(CLI_FAILED, "no tables of '%s': out of memory", path);
		return;
	}
	run_received(gathering,
		     (const char *const[]){"export", "--to", "parquet", "-o", folder, NULL}, path);
}

/* Finishes what is complete, one after the other. */
static void *finish_all(void *argument)
{
	struct gathering *gathering = argument;

	pthread_mutex_lock(&gathering->mutex);
	while (!gathering->ending || gathering->complete.count) {
		char *path;

		if (!gathering->complete.count) {
			pthread_cond_wait(&gathering->changed, &gathering->mutex);
			continue;
		}
		path = gathering->complete.items[0];
		memmove(gathering->complete.items, gathering->complete.items + 1,
			--gathering->complete.count * sizeof(path));
		pthread_mutex_unlock(&gathering->mutex);
		finish_received(gathering, path);
		free(path);
		pthread_mutex_lock(&gathering->mutex);
	}
	pthread_mutex_unlock(&gathering->mutex);
	return NULL;
}

/* The connection goes on meanwhile: finishing may take long. */
static void note_complete(void *argument, const char *path)
{
	struct gathering *gathering = argument;
	char *copy = gathering->has_finisher ? strdup(path) : NULL;
	bool noted;

	if (!copy)
		return;
	pthread_mutex_lock(&gathering->mutex);
	noted = vec_push(&gathering->complete, copy);
	pthread_cond_signal(&gathering->changed);
	pthread_mutex_unlock(&gathering->mutex);
	if (!noted)
		free(copy);
}

struct err *gathering_key(const char *file, struct link_key *ret)
{
	struct err *err = NULL;

	if (file && access(file, F_OK) < 0 && errno == ENOENT) {
		err = token_file_make(file);
		if (!err)
			cli_error(CLI_OK,
				  "'%s' has a new random token: copy the file to the senders, for "
				  "their --token-file",
				  file);
	}
	return err ? err : stream_options_key(file, ret);
}

struct err *gathering_start(const struct gathering_options *options, struct gathering **ret)
{
	struct gather_options wanted = options->gather;
	struct gathering *gathering;
	struct err *err;

	if (options->tables && mkdir(options->tables, 0777) < 0 && errno != EEXIST)
		return err_create_errno(errno, "cannot make '%s'", options->tables);
	gathering = calloc(1, sizeof(*gathering));
	if (!gathering)
		return err_no_memory();
	pthread_mutex_init(&gathering->mutex, NULL);
	descriptors_raise(); // each recording that arrives is an open file
	gathering->terminal = isatty(STDOUT_FILENO);
	gathering->debug_paths = wanted.debug_paths;
	wanted.say = say_line;
	wanted.complete = note_complete;
	wanted.argument = gathering;
	pthread_cond_init(&gathering->changed, NULL);
	gathering->no_finish = options->no_finish;
	gathering->tables = options->tables;
	gathering->has_finisher = (!options->no_finish || options->tables) &&
				  link_set_thread(&gathering->finisher, finish_all, gathering) == 0;
	err = gather_create(&wanted, &gathering->gather);
	if (err) {
		gathering_stop(gathering);
		return err;
	}
	if (gather_address(gathering->gather)) {
		char line[512];

		snprintf(line, sizeof(line), "listening on %s; recordings go to '%s'",
			 gather_address(gathering->gather), wanted.directory);
		say_line(gathering, line);
	}
	*ret = gathering;
	return NULL;
}

void gathering_look(struct gathering *gathering, struct gather_state *ret)
{
	gather_look(gathering->gather, ret);
}

void gathering_stop(struct gathering *gathering)
{
	if (!gathering)
		return;
	gather_destroy(gathering->gather);
	pthread_mutex_lock(&gathering->mutex);
	gathering->ending = true;
	pthread_cond_signal(&gathering->changed);
	pthread_mutex_unlock(&gathering->mutex);
	if (gathering->has_finisher)
		pthread_join(gathering->finisher, NULL);
	vec_deinit(&gathering->complete);
	clear_locked(gathering);
	fflush(stdout);
	pthread_cond_destroy(&gathering->changed);
	pthread_mutex_destroy(&gathering->mutex);
	free(gathering);
}
