#include "cli/options/compress_option.h"

#include <string.h>

#include "base/compiler.h"
#include "cli/cli.h"

bool compress_option(const struct command *command, const struct options *options, size_t id,
		     enum finish_compress *ret)
{
	static const char *const words[] = {
		[FINISH_COMPRESS_AUTO] = "auto",
		[FINISH_COMPRESS_ALWAYS] = "always",
		[FINISH_COMPRESS_NEVER] = "never",
	};
	const char *typed = options->values[id];

	*ret = FINISH_COMPRESS_AUTO;
	for (size_t i = 0; typed && i < ARRAY_COUNT(words); i++) {
		if (strcmp(typed, words[i]) == 0) {
			*ret = (enum finish_compress)i;
			return true;
		}
	}
	if (!typed)
		return true;
	cli_error(CLI_USAGE, "'%s' is no value of --%s: allowed is one of %s", typed,
		  command->body->options[id].name, COMPRESS_CHOICES);
	return false;
}
