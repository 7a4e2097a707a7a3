/* Bytes as text of letters, digits, + and / (RFC 4648, section 4), without line breaks. */
#ifndef MALLOW_HOSTED_BASE64_H
#define MALLOW_HOSTED_BASE64_H

#include "hosted/buf.h"

void base64_put(struct buf *buf, const void *data, size_t size);

#endif
