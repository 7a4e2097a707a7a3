#include "trace/header_check.h"

#include "base/bytes.h"

enum header_verdict header_check(const void *data, size_t size, struct trace_header *ret)
{
	if (size < sizeof(ret->magic) || bytes_u64(data) != TRACE_MAGIC)
		return HEADER_FOREIGN;
	if (size < sizeof(*ret))
		return HEADER_CUT;
	__builtin_memcpy(ret, data, sizeof(*ret));
	return ret->version_major > TRACE_VERSION_MAJOR ? HEADER_NEWER : HEADER_VALID;
}
