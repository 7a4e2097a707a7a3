/* GnuTLS, opened with the first token: after gnutls_library_open() gnutls_X() is gnutls.X(). */
#ifndef MALLOW_STREAM_LINK_GNUTLS_LIBRARY_H
#define MALLOW_STREAM_LINK_GNUTLS_LIBRARY_H

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "hosted/late_library.h"

/* clang-format off */
#define GNUTLS_FUNCTIONS(F) \
	F(gnutls_, alert_get) F(gnutls_, alert_send_appropriate) F(gnutls_, auth_get_type) \
	F(gnutls_, bye) F(gnutls_, credentials_set) F(gnutls_, deinit) \
	F(gnutls_, error_is_fatal) F(gnutls_, handshake) F(gnutls_, hkdf_expand) \
	F(gnutls_, hkdf_extract) F(gnutls_, init) F(gnutls_, malloc) \
	F(gnutls_, priority_set_direct) F(gnutls_, psk_allocate_client_credentials) \
	F(gnutls_, psk_allocate_server_credentials) F(gnutls_, psk_free_client_credentials) \
	F(gnutls_, psk_free_server_credentials) F(gnutls_, psk_set_client_credentials) \
	F(gnutls_, psk_set_server_credentials_function) F(gnutls_, record_get_direction) \
	F(gnutls_, record_recv) F(gnutls_, record_send) F(gnutls_, session_get_ptr) \
	F(gnutls_, session_set_ptr) F(gnutls_, strerror) F(gnutls_, transport_set_errno) \
	F(gnutls_, transport_set_ptr) F(gnutls_, transport_set_pull_function) \
	F(gnutls_, transport_set_push_function)
/* clang-format on */

LATE_LIBRARY(gnutls, GNUTLS_FUNCTIONS);

#endif
