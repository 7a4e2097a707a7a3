#include "cli/options/width_option.h"

#include <unistd.h>

#include "cli/output/terminal.h"

bool width_option(const struct command *command, const struct options *options, size_t id,
		  struct style *ret)
{
	struct style style = terminal_page(STDOUT_FILENO);
	uint64_t width = style.width;

	if (!options_number(command, options, id, 0, width, &width))
		return false;
	if (width && width < TERMINAL_LEAST)
		width = TERMINAL_LEAST;
	style.width = width > UINT16_MAX ? 0 : (unsigned)width;
	*ret = style;
	return true;
}
