#include "push/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "push/curl_library.h"

#define ANSWER_MAX  400        /* bytes of an answer that are said */
#define HEADERS_MAX (64 << 10) /* bytes of the file of headers */

struct err *push_prepare(void)
{
	return curl_library_open();
}

/* Whether it is a line that a request can have. */
static bool is_header(const char *line)
{
	size_t name = strcspn(line, ":");

	if (!line[name] || !name)
		return false;
	for (const char *at = line; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f || (at < line + name && *at == ' '))
			return false;
	return true;
}

struct err *push_headers_read(const char *path, char ***ret)
{
	auto_fclose FILE *file = fopen(path, "re");
	auto_free char *text = calloc(1, HEADERS_MAX + 1);
	char **lines;
	size_t size, count = 0;

	if (!file)
		return err_create_errno(errno, "%s", path);
	if (!text)
		return err_no_memory();
	size = fread(text, 1, HEADERS_MAX, file);
	if (ferror(file))
		return err_create_errno(errno, "%s", path);
	if (memchr(text, 0, size))
		return err_create("%s: a byte 0 in a line", path);
	if (size == HEADERS_MAX)
		return err_create("%s: longer than %d bytes", path, HEADERS_MAX);
	// Each line takes three bytes at least.
	lines = calloc(1, (size / 3 + 2) * sizeof(*lines) + size + 1);
	if (!lines)
		return err_no_memory();

	char *copy = (char *)(lines + size / 3 + 2), *rest = memcpy(copy, text, size), *line;

	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, "\r")] = 0;
		if (!*line || *line == '#')
			continue;
		if (!is_header(line)) {
			free(lines);
			return err_create("%s: a line is no header: 'Name: value' is", path);
		}
		lines[count++] = line;
	}
	*ret = lines;
	return NULL;
}

static size_t keep_answer(char *data, size_t size, size_t count, void *argument)
{
	struct buf *answer = argument;
	size_t room = answer->size < ANSWER_MAX ? ANSWER_MAX - answer->size : 0;

	buf_put(answer, data, size * count < room ? size * count : room);
	return size * count;
}

/* What an HTTP status means. Too many requests, and errors of the server, pass. */
static enum push_result judge(long status)
{
	if (status >= 200 && status < 300)
		return PUSH_TAKEN;
	return status == 408 || status == 429 || status >= 500 ? PUSH_LATER : PUSH_REFUSED;
}

/* The list of headers; NULL: no memory. */
static void *make_list(const struct push_target *target, char *const *headers)
{
	char type[64];
	void *list;

	snprintf(type, sizeof(type), "Content-Type: %s", push_body_type(target->store));
	list = curl.slist_append(NULL, type);
	// A large body is sent at once: a store need not be asked first.
	for (const char *line = "Expect:"; list && line; line = headers ? *headers++ : NULL) {
		void *longer = curl.slist_append(list, line);

		if (!longer)
			curl.slist_free_all(list);
		list = longer;
	}
	return list;
}

static void perform(void *handle, enum push_result *ret, struct buf *answer, struct buf *why)
{
	char reason[CURL_ERROR_SIZE] = "";
	long status = 0;
	int code;

	curl.easy_setopt(handle, CURL_ERRORBUFFER, reason);
	code = curl.easy_perform(handle);
	if (code) {
		*ret = PUSH_LATER;
		buf_text(why, *reason ? reason : curl.easy_strerror(code));
		return;
	}
	curl.easy_getinfo(handle, CURL_RESPONSE_CODE, &status);
	*ret = judge(status);
	if (*ret == PUSH_TAKEN)
		return;
	buf_printf(why, "HTTP status %ld%s", status, answer->size ? ": " : "");
	while (answer->size && strchr("\r\n ", answer->data[answer->size - 1]))
		answer->size--;
	buf_shown(why, answer->data, answer->size);
}

static struct err *post(const struct push_target *target, const struct buf *body,
			char *const *headers, enum push_result *ret, struct buf *why)
{
	cleanup(buf_deinit) struct buf answer = BUF_EMPTY;
	void *handle = curl.easy_init();
	void *list = handle ? make_list(target, headers) : NULL;

	if (!list) {
		if (handle)
			curl.easy_cleanup(handle);
		return err_no_memory();
	}
	curl.easy_setopt(handle, CURL_URL, target->url);
	curl.easy_setopt(handle, CURL_PROTOCOLS, CURL_PROTO_HTTP | CURL_PROTO_HTTPS);
	curl.easy_setopt(handle, CURL_NOSIGNAL, 1L);
	curl.easy_setopt(handle, CURL_TIMEOUT_MS, (long)PUSH_TIMEOUT_MS);
	curl.easy_setopt(handle, CURL_CONNECTTIMEOUT_MS, (long)PUSH_TIMEOUT_MS);
	curl.easy_setopt(handle, CURL_USERAGENT, "mallow/" MALLOW_VERSION);
	curl.easy_setopt(handle, CURL_HTTPHEADER, list);
	curl.easy_setopt(handle, CURL_WRITEFUNCTION, (curl_write *)keep_answer);
	curl.easy_setopt(handle, CURL_WRITEDATA, &answer);
	curl.easy_setopt(handle, CURL_POSTFIELDSIZE_LARGE, (long long)body->size);
	curl.easy_setopt(handle, CURL_POSTFIELDS, body->data);
	perform(handle, ret, &answer, why);
	curl.slist_free_all(list);
	curl.easy_cleanup(handle);
	return answer.failure || why->failure ? err_no_memory() : NULL;
}

struct err *push_send(const struct push_target *target, const struct push_profile *profile,
		      char *const *headers, enum push_result *ret, struct buf *why)
{
	cleanup(buf_deinit) struct buf body = BUF_EMPTY;
	struct err *err = push_body_put(&body, target->store, profile);

	if (!err)
		err = buf_finish(&body);
	return err ? err : post(target, &body, headers, ret, why);
}
