/* libmicrohttpd, opened when a server starts (hosted/late_library.h). */
#ifndef MALLOW_SERVER_HTTP_MHD_LIBRARY_H
#define MALLOW_SERVER_HTTP_MHD_LIBRARY_H

#include <microhttpd.h>

#include "hosted/err.h"

/* MHD_X() is mhd.X(). */
struct mhd_library {
#define LATE(name) typeof(MHD_##name) *name;
#include "server/http/mhd_library.def"
#undef LATE
};

/* Only after mhd_library_open(). */
extern struct mhd_library mhd;

/* Opens it, unless it is open. Any thread. */
struct err *mhd_library_open(void);

#endif
