#include "hosted/uri.h"

#include <string.h>

void uri_put(struct buf *buf, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";

	for (; *text; text++) {
		if (strchr(plain, *text))
			buf_char(buf, *text);
		else
			buf_printf(buf, "%%%02X", (unsigned char)*text);
	}
}
