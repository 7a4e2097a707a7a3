/*
 * How a browser is let in where a token is asked for, so that the token is in no address and no
 * argument list: `--open` gives it a code, which it exchanges for a cookie. Any thread may call
 * these functions.
 */
#ifndef MALLOW_SERVER_HTTP_SESSION_H
#define MALLOW_SERVER_HTTP_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

#define SESSION_TEXT 33 /* a random number of 128 bits, in hexadecimal, and a NUL */

struct session {
	pthread_mutex_t mutex; /* guards all below */
	char code[SESSION_TEXT];
	uint64_t code_end_ns; /* now_ns(); 0: no code was made */
	bool code_used;
	char cookie[SESSION_TEXT]; /* the right value */
	char name[24];             /* of the cookie; does not change */
};

struct err *session_init(struct session *session);
void session_deinit(struct session *session);
/* Before it is used. Cookies of a host go to all of its ports, so each server has its own name. */
void session_name(struct session *session, const char *port);

/* Makes the code. It lives for 30 seconds, and is good for one use. */
struct err *session_code(struct session *session, char ret[SESSION_TEXT]);
/*
 * Uses the code. A second use means that somebody else has it, so the cookie that the first one got
 * counts no more.
 */
bool session_redeem(struct session *session, const char *code);

/* Writes the field Set-Cookie. */
#define SESSION_FIELD 128
void session_field(struct session *session, char ret[SESSION_FIELD]);
/* Whether the field Cookie (NULL: none) has the cookie. */
bool session_has(struct session *session, const char *cookies);

#endif
