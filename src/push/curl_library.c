#include "push/curl_library.h"

#include "base/compiler.h"
#include "hosted/late_library.h"

struct curl_library curl;

static const char *const names[] = {
	"curl_easy_init",    "curl_easy_setopt",    "curl_easy_perform",
	"curl_easy_getinfo", "curl_easy_strerror",  "curl_easy_cleanup",
	"curl_slist_append", "curl_slist_free_all", "curl_global_init",
};

/* The usual one, and what Debian calls that with GnuTLS. */
static struct late_library libraries[] = {
	{"libcurl.so.4", names, ARRAY_COUNT(names), &curl, false},
	{"libcurl-gnutls.so.4", names, ARRAY_COUNT(names), &curl, false},
};

struct err *curl_library_open(void)
{
	struct err *err = NULL;

	for (size_t i = 0; i < ARRAY_COUNT(libraries); i++) {
		err_destroy(err);
		err = late_library_open(&libraries[i]);
		if (err)
			continue;
		if (curl.global_init(CURL_GLOBAL_ALL))
			return err_create("%s cannot be used", libraries[i].file);
		return NULL;
	}
	err_destroy(err);
	return err_create("pushing needs libcurl, which cannot be loaded: install Debian's package "
			  "libcurl4, Fedora's libcurl");
}
