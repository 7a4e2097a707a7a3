#include "push/push_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
	const char *scheme, *path;
} stores[PUSH_STORES] = {
	[PUSH_PYROSCOPE] = {"pyroscope+", "/push.v1.PusherService/Push"},
	[PUSH_PARCA] = {"parca+", "/profiles/writeraw"},
	[PUSH_OTLP] = {"otlp+", "/v1development/profiles"},
};

void push_target_deinit(struct push_target *target)
{
	free(target->url);
	*target = (struct push_target){0};
}

/* The host and what follows. NULL: it is no URL of http or https, or has no host. */
static const char *host_of(const char *url)
{
	const char *host = !strncmp(url, "https://", 8)  ? url + 8
			   : !strncmp(url, "http://", 7) ? url + 7
							 : NULL;

	return host && *host && *host != '/' && *host != ':' ? host : NULL;
}

struct err *push_target_parse(const char *text, struct push_target *ret)
{
	for (size_t i = 0; i < PUSH_STORES; i++) {
		size_t length = strlen(stores[i].scheme), end;
		const char *url = text + length, *host;

		if (strncmp(text, stores[i].scheme, length) != 0)
			continue;
		host = host_of(url);
		if (!host || strpbrk(url, " \t\r\n?#"))
			break;
		if (memchr(host, '@', strcspn(host, "/")))
			return err_create("'%.*s…': a password in a URL is seen by everybody: "
					  "--push-headers FILE has an Authorization line",
					  (int)(length + (size_t)(host - url)), text);
		for (end = strlen(url); url[end - 1] == '/'; end--)
			;
		ret->store = (enum push_store)i;
		if (asprintf(&ret->url, "%.*s%s", (int)end, url, stores[i].path) < 0) {
			ret->url = NULL;
			return err_no_memory();
		}
		return NULL;
	}
	return err_create("'%s' is no place to push to: pyroscope+https://HOST[:PORT][/PATH], "
			  "parca+https://…, otlp+https://…, or with http",
			  text);
}
