#include "cli/options/access_options.h"

#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options/shared_options.h"

/* Warns if others can read the file. A pipe is read once, so its permissions do not matter. */
static void warn_if_others_read(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return;
	if (status.st_uid != geteuid() && status.st_uid != 0)
		cli_error(CLI_OK, "%s: this token is another user's (uid %u), who can read it",
			  path, (unsigned int)status.st_uid);
	else if (status.st_mode & (S_IRGRP | S_IROTH))
		cli_error(CLI_OK, "%s: others can read this token (mode %03o): 'chmod 600 %s'",
			  path, (unsigned int)status.st_mode & 0777, path);
}

/* Reads the file. The end of its only line is not part of the token. */
static const char *read_token(const char *path, struct buf *room)
{
	struct err *err = text_file_read(path, "a token", room);

	while (!err && room->size && strchr(" \t\r\n", room->data[room->size - 1]))
		room->size--;
	if (!err && memchr(room->data, 0, room->size))
		err = err_create("%s holds a zero byte: it is no token", path);
	return cli_report_err(err_prefix(err, "--token-file")) == CLI_OK ? buf_string(room) : NULL;
}

/* Whether a client can send the token in a header. */
static bool is_word(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || strchr("\x7f\",;\\", *text))
			return false;
	return true;
}

static char *taken;

void token_variable_take(void)
{
	char *text = getenv(TOKEN_VARIABLE);

	taken = text ? strdup(text) : NULL;
	if (!text)
		return;
	// Who has our user could read it in /proc/PID/environ, as the program that we record can.
	explicit_bzero(text, strlen(text));
	unsetenv(TOKEN_VARIABLE);
}

const char *token_variable(void)
{
	return taken;
}

bool token_option(const struct options *options, int file, struct buf *room, const char **ret,
		  int *status)
{
	const char *path = options->values[file];
	const char *source = path ? path : TOKEN_VARIABLE;
	const char *text = taken;

	*status = CLI_USAGE;
	if (path) {
		*status = CLI_FAILED;
		text = read_token(path, room);
		if (!text)
			return false;
	}
	if (text && !*text) {
		cli_error(*status, "%s: an empty token keeps nobody out", source);
		return false;
	}
	if (text && !is_word(text)) {
		cli_error(*status,
			  "%s: a token has no blanks, line ends or control characters, and none "
			  "of \" , ; \\",
			  source);
		return false;
	}
	if (path)
		warn_if_others_read(path);
	*ret = text;
	return true;
}

bool trust_option(const struct command *command, const struct options *options, int insecure,
		  int allow_user, struct socket_trust *ret)
{
	const char *text = options->values[allow_user];
	struct socket_trust trust = {.all = options->values[insecure] != NULL,
				     .has_user = text != NULL};
	const struct passwd *user = text ? getpwnam(text) : NULL;
	uint64_t number;

	if (user) {
		trust.user = user->pw_uid;
	} else if (text && (!*text || text[strspn(text, "0123456789")])) {
		cli_error(CLI_USAGE, "--allow-user: there is no user '%s'", text);
		return false;
	} else if (text) {
		if (!options_number(command, options, allow_user, 0, 0, &number))
			return false;
		if (number >= UINT32_MAX) {
			cli_error(CLI_USAGE, "--allow-user: '%s' is no user's number", text);
			return false;
		}
		trust.user = (uid_t)number;
	}
	*ret = trust;
	return true;
}
