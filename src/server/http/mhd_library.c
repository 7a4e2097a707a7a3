#include "server/http/mhd_library.h"

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
		.count = sizeof(names) / sizeof(names[0]),
		.table = &mhd,
	};

	return late_library_open(&library);
}
