#include "cli/run/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/program_head.h"
#include "cli/cli.h"
#include "hosted/cleanup.h"

#define MACHINE "is built for another machine than the agent"
#define STATIC                                                                                     \
	"is statically linked: no library can be preloaded into it, but libmallow.a can be "       \
	"linked with it (docs/linking.md)"

/* The beginning of a file. */
struct head {
	unsigned char bytes[PROGRAM_HEAD_SIZE];
	size_t size;
	struct stat stat;
};

/* 0, or the errno why the file at path cannot be executed. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(path, X_OK) < 0 ? errno : 0;
}

static int cannot_run(const char *name, int number)
{
	bool by_path = strchr(name, '/') != NULL;

	if (number == ENOENT && *name && !by_path && executable(name) == 0)
		return cli_error(CLI_NOT_FOUND,
				 "cannot run '%s': not found on the PATH: did you mean './%s'?",
				 name, name);
	if (number == ENOENT && *name && !by_path)
		return cli_error(CLI_NOT_FOUND, "cannot run '%s': not found on the PATH", name);
	return cli_error(number == ENOENT || number == ENOTDIR ? CLI_NOT_FOUND : CLI_CANNOT_RUN,
			 "cannot run '%s': %s", name, strerror(number));
}

/*
 * Searches PATH as execvp does: takes the first executable of that name; files that are not
 * executable are remembered for the error.
 */
static int search_path(const char *name, char **ret)
{
	const char *path = getenv("PATH");
	int failure = ENOENT;

	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(path, ":");
		auto_free char *candidate = NULL;
		int number;

		if (asprintf(&candidate, "%.*s/%s", (int)length, length ? path : ".", name) < 0)
			return ENOMEM;
		if (!length) { // an empty entry is the working directory
			free(candidate);
			if (asprintf(&candidate, "./%s", name) < 0)
				return ENOMEM;
		}
		number = executable(candidate);
		if (!number) {
			*ret = steal(&candidate);
			return 0;
		}
		if (number == EACCES)
			failure = EACCES;
		path += length;
		if (!*path++)
			return failure;
	}
}

static bool read_head(const char *path, struct head *head)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0 || fstat(fd, &head->stat) < 0)
		return false;
	got = pread(fd, head->bytes, sizeof(head->bytes), 0);
	if (got < 0)
		return false;
	head->size = (size_t)got;
	return true;
}

/* Whether the program has the agent's ELF class, byte order and machine. */
static bool same_machine(const struct head *program, const char *library)
{
	struct head agent;

	if (!read_head(library, &agent) || !program_head_is_elf(agent.bytes, agent.size))
		return true; // the agent cannot be read: the dynamic loader will say so
	return program_head_machine(program->bytes) == program_head_machine(agent.bytes);
}

/*
 * Whether the program is the dynamic loader: `ld.so PROGRAM` reads LD_PRELOAD, although it has no
 * interpreter.
 */
static bool is_loader(const char *path)
{
	auto_free char *real = realpath(path, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "ld-", 3) == 0 || strncmp(name, "ld.so", 5) == 0 ||
	       strstr(name, "ld-musl") != NULL || strcmp(name, "libc.so") == 0;
}

/* What makes the dynamic loader ignore paths in LD_PRELOAD (AT_SECURE). NULL: nothing. */
static const char *gains_privilege(const char *path, const struct head *head)
{
	struct statvfs fs;
	bool group_exec = head->stat.st_mode & S_IXGRP;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return NULL;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return NULL;
	if ((head->stat.st_mode & S_ISUID) && head->stat.st_uid != getuid())
		return "is setuid: the system ignores preloaded libraries for it";
	if ((head->stat.st_mode & S_ISGID) && group_exec && head->stat.st_gid != getgid())
		return "is setgid: the system ignores preloaded libraries for it";
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "has file capabilities: the system ignores preloaded libraries for it";
	return NULL;
}

/* Why the agent cannot be loaded into the program; NULL: it can. */
static const char *obstacle(const char *path, const struct head *head, const char *library)
{
	const char *privilege = gains_privilege(path, head);

	if (!same_machine(head, library))
		return MACHINE;
	if (privilege)
		return privilege;
	if (program_head_is_static(head->bytes, head->size) &&
	    !program_head_is_linked(head->bytes, head->size) && !is_loader(path))
		return STATIC;
	return NULL;
}

/* The first operand of a loader that is started as a program. NULL: it only tells something. */
static const char *operand_of_loader(char *const *arguments)
{
	static const char *const with_value[] = {"--argv0",
						 "--audit",
						 "--glibc-hwcaps-mask",
						 "--glibc-hwcaps-prepend",
						 "--inhibit-rpath",
						 "--library-path",
						 "--preload"};

	for (size_t i = 1; arguments[i]; i++) {
		if (strncmp(arguments[i], "--", 2) != 0)
			return arguments[i];
		for (size_t j = 0; j < ARRAY_COUNT(with_value); j++)
			if (strcmp(arguments[i], with_value[j]) == 0 && !arguments[++i])
				return NULL;
	}
	return NULL;
}

/* Checks the program that a loader is told to load: that gains no privilege. */
static int judge_loaded(const char *path, const char *library)
{
	const char *why = NULL;
	struct head head;

	if (!path || !read_head(path, &head) || !program_head_is_elf(head.bytes, head.size))
		return CLI_OK; // the loader will say so
	if (!same_machine(&head, library))
		why = MACHINE;
	else if (program_head_is_static(head.bytes, head.size) &&
		 !program_head_is_linked(head.bytes, head.size))
		why = STATIC;
	return why ? cli_error(CLI_USAGE, "cannot profile '%s': it %s", path, why) : CLI_OK;
}

/* Follows scripts to the ELF file that the kernel will load, and checks that. */
static int judge_program(const char *path, char *const *arguments, const char *library)
{
	auto_free char *current = strdup(path);

	for (int i = 0; i < PROGRAM_SCRIPTS_DEPTH && current; i++) {
		struct head head;
		const char *next;
		size_t length;

		if (!read_head(current, &head))
			return CLI_OK; // executable but not readable: the kernel decides
		if (program_head_is_elf(head.bytes, head.size)) {
			const char *why = obstacle(current, &head, library);

			if (why && i)
				return cli_error(CLI_USAGE,
						 "cannot profile '%s': its interpreter "
						 "'%s' %s",
						 path, current, why);
			if (why)
				return cli_error(CLI_USAGE, "cannot profile '%s': it %s", path,
						 why);
			return i || !is_loader(current)
				       ? CLI_OK
				       : judge_loaded(operand_of_loader(arguments), library);
		}
		next = program_head_interpreter(head.bytes, head.size, &length);
		if (!next)
			return CLI_OK; // as in a shell: execvp() passes it to /bin/sh
		free(current);
		current = strndup(next, length);
		if (!current)
			break;
		if (executable(current))
			return cli_error(CLI_NOT_FOUND, "cannot run '%s': its interpreter '%s': %s",
					 path, current, strerror(executable(current)));
	}
	return CLI_OK;
}

bool run_program_exists(const char *name)
{
	auto_free char *path = NULL;

	return (strchr(name, '/') ? executable(name) : search_path(name, &path)) == 0;
}

int run_program_find(char *const *arguments, const char *library, char **ret)
{
	const char *name = arguments[0];
	auto_free char *path = NULL;
	int number, status;

	if (strchr(name, '/')) {
		number = executable(name);
		path = number ? NULL : strdup(name);
	} else {
		number = *name ? search_path(name, &path) : ENOENT;
	}
	if (!number && !path)
		number = ENOMEM;
	if (number)
		return cannot_run(name, number);
	status = judge_program(path, arguments, library);
	if (status == CLI_OK)
		*ret = steal(&path);
	return status;
}
