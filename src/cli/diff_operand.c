#include "cli/diff_operand.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/filter/moment.h"
#include "cli/cli.h"

bool diff_operand_parse(const char *typed, struct diff_operand *ret)
{
	const char *at = access(typed, F_OK) ? strrchr(typed, '@') : NULL;
	struct moment moment;

	if (at && !moment_parse(at + 1, &moment)) {
		cli_error(CLI_USAGE, "'%s' behind the @ of '%s' is no moment: %s is wanted", at + 1,
			  typed, moment_allowed);
		return false;
	}
	ret->moment = at ? at + 1 : NULL;
	ret->path = at ? strndup(typed, (size_t)(at - typed)) : strdup(typed);
	if (ret->path)
		return true;
	cli_report_err(err_no_memory());
	return false;
}

void diff_operand_deinit(struct diff_operand *operand)
{
	free(operand->path);
	*operand = (struct diff_operand){0};
}
