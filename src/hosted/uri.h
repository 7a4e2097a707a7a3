/* Text in a URI (RFC 3986). */
#ifndef MALLOW_HOSTED_URI_H
#define MALLOW_HOSTED_URI_H

#include "hosted/buf.h"

/*
 * Writes a path, or a value of a query, so that whoever decodes the URI reads it back: all but
 * letters, digits and -._~/ as %41.
 */
void uri_put(struct buf *buf, const char *text);

#endif
