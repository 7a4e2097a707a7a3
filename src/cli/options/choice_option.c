#include "cli/options/choice_option.h"

#include <assert.h>
#include <string.h>

#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "hosted/nearest.h"

#define WORDS_MAX 16

/* Splits a list in place into its words. */
static size_t split(char *list, const char **words)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *word = strtok_r(list, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert(count < WORDS_MAX);
		words[count++] = word;
	}
	return count;
}

bool choice_option(const struct command *command, const struct options *options, size_t id,
		   int *ret)
{
	const struct option_spec *spec = &command->body->options[id];
	const char *typed = options->values[id], *words[WORDS_MAX], *near;
	auto_free char *list = strdup(spec->choices);
	size_t count;

	if (!list)
		return cli_report_err(err_no_memory()) == CLI_OK;
	count = split(list, words);
	for (size_t i = 0; typed && i < count; i++) {
		if (strcmp(typed, words[i]) == 0) {
			*ret = (int)i;
			return true;
		}
	}
	if (!typed)
		return true;
	near = nearest_word(typed, words, count);
	if (near)
		cli_error(CLI_USAGE, "'%s' is no value of --%s: did you mean '%s'?", typed,
			  spec->name, near);
	else
		cli_error(CLI_USAGE, "'%s' is no value of --%s: one of %s is wanted", typed,
			  spec->name, spec->choices);
	return false;
}
