#include "analysis/checks/check.h"

static const struct check_info checks[] = {
#define CHECK(NAME, name, unit, metric, scope, value, text)                                        \
	{name, "max-" name, value, text, CHECK_UNIT_##unit, METRIC_##metric, CHECK_SCOPE_##scope},
#include "analysis/checks/checks.def"
#undef CHECK
};

const struct check_info *check_info(enum check check)
{
	return &checks[check];
}
