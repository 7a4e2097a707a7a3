/* GnuTLS, opened when a token is first used (hosted/late_library.h). */
#ifndef MALLOW_STREAM_LINK_GNUTLS_LIBRARY_H
#define MALLOW_STREAM_LINK_GNUTLS_LIBRARY_H

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "hosted/err.h"

/* gnutls_X() is gnutls.X(). */
struct gnutls_library {
#define LATE(name) typeof(gnutls_##name) *name;
#include "stream/link/gnutls_library.def"
#undef LATE
};

/* Only after gnutls_library_open(). */
extern struct gnutls_library gnutls;

/* Opens it, unless it is open. Any thread. */
struct err *gnutls_library_open(void);

#endif
