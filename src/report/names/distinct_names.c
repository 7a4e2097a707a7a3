#include "report/names/distinct_names.h"

#include <stdint.h>

void distinct_names_deinit(struct distinct_names *names)
{
	intern_deinit(&names->strings);
	map_deinit(&names->names);
}

bool distinct_names_claim(struct distinct_names *names, const char *text, const char *function)
{
	const char *known, *name;
	uint64_t *owner;

	if (!names)
		return true;
	known = intern_text(&names->strings, text);
	name = intern_text(&names->strings, function);
	owner = known && name ? map_put(&names->names, (uintptr_t)known) : NULL;
	if (!owner)
		return true;
	if (*owner == MAP_NONE)
		*owner = (uintptr_t)name;
	return *owner == (uintptr_t)name;
}
