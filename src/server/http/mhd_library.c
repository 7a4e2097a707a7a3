#include "server/http/mhd_library.h"

#include "base/compiler.h"
#include "hosted/late_library.h"

struct mhd_library mhd;

struct err *mhd_library_open(void)
{
	static const char *const names[] = {
#define LATE(name) "MHD_" #name,
#include "server/http/mhd_library.def"
#undef LATE
	};
	static struct late_library library = {
		.file = "libmicrohttpd.so.12",
		.names = names,
		.count = ARRAY_COUNT(names),
		.table = &mhd,
	};

	return late_library_open(&library);
}
