#include "stream/link/gnutls_library.h"

#include "base/compiler.h"
#include "hosted/late_library.h"

struct gnutls_library gnutls;

struct err *gnutls_library_open(void)
{
	static const char *const names[] = {
#define LATE(name) "gnutls_" #name,
#include "stream/link/gnutls_library.def"
#undef LATE
	};
	static struct late_library library = {
		.file = "libgnutls.so.30",
		.names = names,
		.count = ARRAY_COUNT(names),
		.table = &gnutls,
	};

	return late_library_open(&library);
}
