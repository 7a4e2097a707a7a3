#include "trace/operation.h"

#include <stddef.h>

#include "base/compiler.h"
#include "trace/format.h"

static const char *const names[] = {
#define ENTRY(number, NAME, name, aligned) [number] = name,
#include "trace/entries.def"
#undef ENTRY
	[TRACE_OP_REALLOC] = "realloc",
	[TRACE_OP_REALLOCARRAY] = "reallocarray",
	[TRACE_OP_FREE] = "free",
	[TRACE_OP_DELETE] = "operator delete",
	[TRACE_OP_DELETE_ARRAY] = "operator delete[]",
	[TRACE_OP_STACK] = "stack",
	[TRACE_OP_TIME] = "time",
	[TRACE_OP_RESYNC] = "resync",
};

const char *operation_name(uint64_t operation)
{
	return operation < ARRAY_COUNT(names) ? names[operation] : NULL;
}
