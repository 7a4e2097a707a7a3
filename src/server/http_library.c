#include "server/http_library.h"

#include <dlfcn.h>

#define FILE_NAME "libmicrohttpd.so.12"

struct http_library http_library;

struct err *http_library_load(void)
{
	struct http_library found = {0};
	void *library = dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_create("a server needs libmicrohttpd: %s", dlerror());
#define X(name)                                                                                    \
	*(void **)&found.name = dlsym(library, "MHD_" #name);                                      \
	if (!found.name)                                                                           \
		return err_create("%s has no MHD_%s()", FILE_NAME, #name);
	HTTP_LIBRARY(X)
#undef X
	http_library = found;
	return NULL;
}
