#include "server/http/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "hosted/now.h"
#include "server/http/security.h"

#define CODE_NS UINT64_C(30000000000)

static struct err *draw_number(char ret[SESSION_TEXT])
{
	uint8_t random[SESSION_TEXT / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_create_errno(errno, "cannot get random numbers");
	hex_put(ret, random, sizeof(random));
	return NULL;
}

struct err *session_init(struct session *session)
{
	*session = (struct session){0};
	pthread_mutex_init(&session->mutex, NULL);
	return draw_number(session->cookie);
}

void session_deinit(struct session *session)
{
	pthread_mutex_destroy(&session->mutex);
}

void session_name(struct session *session, const char *port)
{
	snprintf(session->name, sizeof(session->name), "mallow_%s=", port);
}

struct err *session_code(struct session *session, char ret[SESSION_TEXT])
{
	struct err *err;

	pthread_mutex_lock(&session->mutex);
	err = draw_number(session->code);
	session->code_end_ns = now_ns() + CODE_NS;
	session->code_used = false;
	memcpy(ret, session->code, SESSION_TEXT);
	pthread_mutex_unlock(&session->mutex);
	return err;
}

bool session_redeem(struct session *session, const char *code)
{
	bool good;

	pthread_mutex_lock(&session->mutex);
	good = session->code_end_ns && security_equal(session->code, code, strlen(code));
	if (good && session->code_used) {
		struct err *err = draw_number(session->cookie);

		// Without random numbers nobody is let in any more: no cookie is that short.
		if (err)
			session->cookie[0] = '\0';
		err_destroy(err);
		good = false;
	} else if (good) {
		session->code_used = true;
		good = now_ns() < session->code_end_ns;
	}
	pthread_mutex_unlock(&session->mutex);
	return good;
}

void session_field(struct session *session, char ret[SESSION_FIELD])
{
	pthread_mutex_lock(&session->mutex);
	snprintf(ret, SESSION_FIELD, "%s%s; Path=/; HttpOnly; SameSite=Strict", session->name,
		 session->cookie);
	pthread_mutex_unlock(&session->mutex);
}

bool session_has(struct session *session, const char *cookies)
{
	const size_t name = strlen(session->name);
	bool has = false;

	pthread_mutex_lock(&session->mutex);
	while (cookies && *cookies && !has) {
		size_t length;

		cookies += strspn(cookies, "; ");
		length = strcspn(cookies, ";");
		has = strncmp(cookies, session->name, name) == 0 && *session->cookie &&
		      security_equal(session->cookie, cookies + name, length - name);
		cookies += length;
	}
	pthread_mutex_unlock(&session->mutex);
	return has;
}
