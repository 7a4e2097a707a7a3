#include "symbols/addr2line.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

#define PATIENCE_MS 20000 /* to read a large program may take a while */
#define TEXT_MAX    65536

/*
 * Asked behind each address. Nothing is there, so the answer has three lines, and how many
 * functions were inlined at the address before is known once they have come:
 *
 *	0x0000000000001234
 *	inner
 *	/src/a.c:10
 *	outer
 *	/src/a.c:20 (discriminator 3)
 *	0xffffffffffffffff
 *	??
 *	??:0
 */
#define NOWHERE UINT64_MAX

struct addr2line {
	const char *command; /* for messages */
	pid_t pid;
	int fd; /* its standard input and output */
	char text[TEXT_MAX];
	size_t size; /* of what came and is not taken yet */
	struct arena arena;
	VEC(struct symbol) symbols; /* of the address being asked for */
};

void addr2line_end(struct addr2line *tool)
{
	if (!tool)
		return;
	if (tool->fd >= 0)
		close(tool->fd);
	// It ends at the end of its input, unless it is none that reads it.
	if (tool->pid > 0)
		kill(tool->pid, SIGKILL);
	if (tool->pid > 0)
		while (waitpid(tool->pid, NULL, 0) < 0 && errno == EINTR)
			;
	arena_deinit(&tool->arena);
	vec_deinit(&tool->symbols);
	free(tool);
}

static int spawn(struct addr2line *tool, const char *program, int fd)
{
	auto_free char *line = NULL;
	posix_spawn_file_actions_t actions;
	char *arguments[] = {"sh", "-c", NULL, "sh", (char *)program, NULL};
	int failure;

	if (asprintf(&line, "exec %s -a -f -i -e \"$1\"", tool->command) < 0) {
		line = NULL;
		return ENOMEM;
	}
	arguments[2] = line;
	failure = posix_spawn_file_actions_init(&actions);
	if (failure)
		return failure;
	failure = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	if (!failure)
		failure = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	if (!failure)
		failure = posix_spawn(&tool->pid, "/bin/sh", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

struct err *addr2line_start(const char *command, const char *program, struct addr2line **ret)
{
	cleanup(addr2line_end_at) struct addr2line *tool = calloc(1, sizeof(*tool));
	int pair[2], failure;

	if (!tool)
		return err_no_memory();
	tool->fd = -1;
	tool->command = arena_text(&tool->arena, command);
	if (!tool->command)
		return err_no_memory();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_create_errno(errno, "cannot start '%s'", command);
	tool->fd = pair[0];
	failure = spawn(tool, program, pair[1]);
	close(pair[1]);
	if (failure)
		return err_create_errno(failure, "cannot start '%s'", command);
	*ret = steal(&tool);
	return NULL;
}

static struct err *ask(const struct addr2line *tool, uint64_t address)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "0x%" PRIx64 "\n0x%" PRIx64 "\n", address, NOWHERE);

	// It has read what was asked before, so there is room for all of it.
	if (send(tool->fd, text, (size_t)size, MSG_NOSIGNAL) != size)
		return err_create("'%s' has ended without an answer", tool->command);
	return NULL;
}

/* Waits for more text. */
static struct err *hear(struct addr2line *tool)
{
	struct pollfd waiting = {.fd = tool->fd, .events = POLLIN};
	ssize_t got;

	if (tool->size == sizeof(tool->text))
		return err_create("'%s' answers with a line that is too long", tool->command);
	if (poll(&waiting, 1, PATIENCE_MS) == 0)
		return err_create("'%s' does not answer", tool->command);
	got = recv(tool->fd, tool->text + tool->size, sizeof(tool->text) - tool->size, 0);
	if (got < 0 && errno == EINTR)
		return NULL;
	if (got <= 0)
		return err_create("'%s' has ended without an answer", tool->command);
	tool->size += (size_t)got;
	return NULL;
}

/* *ret: the next line, of the arena, without its end. */
static struct err *read_line(struct addr2line *tool, char **ret)
{
	const char *end;
	struct err *err = NULL;
	size_t length;

	while (!err && !(end = memchr(tool->text, '\n', tool->size)))
		err = hear(tool);
	if (err)
		return err;
	length = (size_t)(end - tool->text);
	*ret = arena_copy(&tool->arena, tool->text, length);
	if (!*ret)
		return err_no_memory();
	tool->size -= length + 1;
	memmove(tool->text, end + 1, tool->size);
	return NULL;
}

static const char *known(const char *text)
{
	return *text && strncmp(text, "??", 2) != 0 ? text : NULL;
}

/* Takes "FILE:LINE", "FILE:LINE (discriminator N)" or "??:0" apart. */
static void take_place(struct symbol *symbol, char *place)
{
	char *colon = strrchr(place, ':');

	if (!colon)
		return;
	symbol->line = (uint32_t)strtoul(colon + 1, NULL, 10);
	*colon = 0;
	symbol->file = known(place);
	if (!symbol->file)
		symbol->line = 0;
}

/* Adds the function whose name was read; its place follows. */
static struct err *take_function(struct addr2line *tool, const char *name)
{
	struct symbol symbol = {.raw_function = known(name)};
	char *place;
	struct err *err = read_line(tool, &place);

	if (err)
		return err;
	take_place(&symbol, place);
	if (tool->symbols.count)
		tool->symbols.items[tool->symbols.count - 1].inlined = true;
	return vec_push(&tool->symbols, symbol) ? NULL : err_no_memory();
}

static bool is_address(const char *line)
{
	return strncmp(line, "0x", 2) == 0;
}

struct err *addr2line_find(struct addr2line *tool, uint64_t address, const struct symbol **ret,
			   size_t *count)
{
	struct symbol *symbols;
	struct err *err = ask(tool, address);
	char *line;

	tool->symbols.count = 0;
	if (!err)
		err = read_line(tool, &line);
	if (!err && !is_address(line))
		err = err_create("'%s' does not answer as addr2line does: \"%s\"", tool->command,
				 line);
	while (!err && !(err = read_line(tool, &line)) && !is_address(line))
		err = take_function(tool, line);
	// The answer about nowhere.
	for (int i = 0; !err && i < 2; i++)
		err = read_line(tool, &line);
	if (!err && !tool->symbols.count && !vec_push(&tool->symbols, (struct symbol){0}))
		err = err_no_memory();
	if (err)
		return err;
	symbols = arena_array(&tool->arena, tool->symbols.count, sizeof(*symbols));
	if (!symbols)
		return err_no_memory();
	memcpy(symbols, tool->symbols.items, tool->symbols.count * sizeof(*symbols));
	*ret = symbols;
	*count = tool->symbols.count;
	return NULL;
}
