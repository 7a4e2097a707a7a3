/* libmicrohttpd, opened when a server starts: after mhd_library_open() MHD_X() is mhd.X(). */
#ifndef MALLOW_SERVER_HTTP_MHD_LIBRARY_H
#define MALLOW_SERVER_HTTP_MHD_LIBRARY_H

#include <microhttpd.h>

#include "hosted/late_library.h"

/* clang-format off */
#define MHD_FUNCTIONS(F) \
	F(MHD_, add_response_header) F(MHD_, create_response_from_buffer) \
	F(MHD_, create_response_from_callback) F(MHD_, destroy_response) \
	F(MHD_, get_connection_info) F(MHD_, get_connection_values) F(MHD_, get_version) \
	F(MHD_, lookup_connection_value) F(MHD_, queue_response) \
	F(MHD_, set_response_options) F(MHD_, start_daemon) F(MHD_, stop_daemon)
/* clang-format on */

LATE_LIBRARY(mhd, MHD_FUNCTIONS);

#endif
