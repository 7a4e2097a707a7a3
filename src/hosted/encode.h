/* Bytes as text of few characters. Hexadecimal digits: base/hex.h. */
#ifndef MALLOW_HOSTED_ENCODE_H
#define MALLOW_HOSTED_ENCODE_H

#include "hosted/buf.h"

/*
 * Writes a path, or a value of a query, in a URI (RFC 3986), so that whoever decodes the URI reads
 * it back: all but letters, digits and -._~/ as %41.
 */
void uri_put(struct buf *buf, const char *text);

/* Writes bytes as letters, digits, + and / (RFC 4648, section 4), without line breaks. */
void base64_put(struct buf *buf, const void *data, size_t size);

#endif
