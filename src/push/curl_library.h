/*
 * The few functions of libcurl that are needed: https://curl.se/libcurl/c/. It is opened when it is
 * first needed. Numbers of options are part of its ABI, and never change.
 */
#ifndef MALLOW_PUSH_CURL_LIBRARY_H
#define MALLOW_PUSH_CURL_LIBRARY_H

#include <stddef.h>

#include "hosted/err.h"

struct curl_library {
	void *(*easy_init)(void);
	int (*easy_setopt)(void *handle, int option, ...);
	int (*easy_perform)(void *handle);
	int (*easy_getinfo)(void *handle, int info, ...);
	const char *(*easy_strerror)(int code);
	void (*easy_cleanup)(void *handle);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
	int (*global_init)(long flags);
};

extern struct curl_library curl;

#define CURL_GLOBAL_ALL 3L

enum curl_option {
	CURL_NOSIGNAL = 99,              /* long */
	CURL_PROTOCOLS = 181,            /* long, of these: */
	CURL_TIMEOUT_MS = 155,           /* long */
	CURL_CONNECTTIMEOUT_MS = 156,    /* long */
	CURL_WRITEDATA = 10001,          /* void * */
	CURL_URL = 10002,                /* const char * */
	CURL_ERRORBUFFER = 10010,        /* char [CURL_ERROR_SIZE] */
	CURL_POSTFIELDS = 10015,         /* const char *, not copied */
	CURL_USERAGENT = 10018,          /* const char * */
	CURL_HTTPHEADER = 10023,         /* a list */
	CURL_WRITEFUNCTION = 20011,      /* curl_write * */
	CURL_POSTFIELDSIZE_LARGE = 30120 /* long long */
};

#define CURL_PROTO_HTTP    1L
#define CURL_PROTO_HTTPS   2L
#define CURL_ERROR_SIZE    256
#define CURL_RESPONSE_CODE 0x200002 /* of easy_getinfo(): long */

typedef size_t curl_write(char *data, size_t size, size_t count, void *argument);

/* Opens libcurl, and initializes it, unless that was done. The error says what to install. */
struct err *curl_library_open(void);

#endif
