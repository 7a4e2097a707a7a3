#include "cli/choice_option.h"

#include <string.h>

#include "cli/cli.h"
#include "hosted/nearest.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

static void complain(const char *option, const char *typed, const char *const *words, size_t count)
{
	const char *near = nearest_word(typed, words, count);
	cleanup(buf_deinit) struct buf all;

	if (near) {
		cli_error(CLI_USAGE, "'%s' is no value of --%s: did you mean '%s'?", typed, option,
			  near);
		return;
	}
	buf_init(&all);
	for (size_t i = 0; i < count; i++)
		buf_printf(&all, " %s", words[i]);
	cli_error(CLI_USAGE, "'%s' is no value of --%s: one of%s is wanted", typed, option,
		  buf_string(&all) ? buf_string(&all) : " its words");
}

bool choice_option(const struct command *command, const struct options *options, size_t id,
		   const char *const *words, size_t count, int *ret)
{
	const char *typed = options->values[id];

	for (size_t i = 0; typed && i < count; i++) {
		if (strcmp(typed, words[i]) == 0) {
			*ret = (int)i;
			return true;
		}
	}
	if (typed)
		complain(command->body->options[id].name, typed, words, count);
	return !typed;
}
