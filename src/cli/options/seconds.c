#include "cli/options/seconds.h"

#include <math.h>
#include <stdlib.h>

#include "settings/settings.h"

bool seconds_read(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end != text && !*end) {
		if (!isfinite(seconds) || seconds < 0.001 || seconds > 1e9)
			return false;
		*ret_ns = (uint64_t)(seconds * 1e9);
		return true;
	}
	return setting_parse(SETTING_INTERVAL, text, ret_ns) && *ret_ns >= 1000000;
}
