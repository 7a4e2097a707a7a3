#include "server/http/head.h"

#include <string.h>
#include <strings.h>

#include "server/http/mhd_library.h"

#define LINE_END 2u /* CR LF */

/* Fields of which a request has at most one. */
enum single { HOST, AUTHORIZATION, CONTENT_LENGTH, COOKIE, ORIGIN, TRANSFER_ENCODING, SINGLES };

static const char *const singles[SINGLES] = {
	[HOST] = "Host",
	[AUTHORIZATION] = "Authorization",
	[CONTENT_LENGTH] = "Content-Length",
	[COOKIE] = "Cookie",
	[ORIGIN] = "Origin",
	[TRANSFER_ENCODING] = "Transfer-Encoding",
};

struct head {
	const char *at; /* behind what was checked; NULL: the head is not in one piece */
	const char *values[SINGLES];
	struct err *problem;
};

bool head_is_checked_by_library(void)
{
	return mhd.get_version()[0] != '0';
}

/* Whether a name is well formed: tchar of RFC 9110, 5.6.2. */
static bool is_token(const char *text)
{
	static const char characters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *text && !text[strspn(text, characters)];
}

static bool has_control_character(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == '\x7f')
			return true;
	return false;
}

static struct err *bad_line(void)
{
	return err_create("malformed header: each is one line without zero bytes, ended by CR LF");
}

/*
 * Checks where a field lies. libmicrohttpd parses a head in place, and ends its parts with zero
 * bytes:
 *
 *	came	Host: localhost CR LF Accept: text/html CR LF CR LF
 *	left	Host 0  localhost 0 0 Accept 0  text/html 0 0  0 0
 *
 * So a field begins two bytes behind the end of the one before. If it does not, there was a bare
 * LF; or a zero byte, which hides what came behind it; or the field is a copy, made to join the
 * lines of a folded field.
 */
static struct err *check_place(struct head *head, const char *name, const char *value)
{
	const char *expected = head->at + LINE_END;

	if (!head->at)
		return NULL;
	if (name == expected) {
		expected += strlen(name) + 1;
		expected += strspn(expected, " \t");
	}
	if (value != expected)
		return bad_line();
	head->at = value + strlen(value);
	return NULL;
}

static struct err *check_field(struct head *head, const char *name, const char *value)
{
	struct err *err;

	if (!is_token(name))
		return err_create("malformed name of a header: '%s'", name);
	err = check_place(head, name, value);
	if (err)
		return err;
	if (has_control_character(value))
		return err_create("the header '%s' holds a control character", name);
	for (size_t i = 0; i < SINGLES; i++) {
		if (strcasecmp(name, singles[i]) != 0)
			continue;
		if (head->values[i])
			return err_create("two headers '%s': a request has one", singles[i]);
		head->values[i] = value;
	}
	return NULL;
}

static enum MHD_Result take_field(void *argument, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct head *head = argument;

	head->problem = check_field(head, name, value ? value : "");
	return head->problem ? MHD_NO : MHD_YES;
}

/*
 * Checks that it is clear where the body ends. libmicrohttpd has checked that the length is a
 * number.
 */
static struct err *check_framing(const struct head *head, const char *version)
{
	const char *encoding = head->values[TRANSFER_ENCODING];

	if (!encoding)
		return NULL;
	if (head->values[CONTENT_LENGTH])
		return err_create("Content-Length and Transfer-Encoding: one body, one length");
	if (strcmp(version, "HTTP/1.0") == 0 || strcasecmp(encoding, "chunked") != 0)
		return err_create("malformed Transfer-Encoding: '%s' is not chunked of HTTP/1.1",
				  encoding);
	return NULL;
}

struct err *head_check(struct MHD_Connection *connection, const char *method, const char *path,
		       const char *target, const char *version)
{
	struct head head = {0};
	size_t size = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
			      ->header_size;

	if (target[strcspn(target, " \t")] || has_control_character(target))
		return err_create("malformed target: blanks and control characters are to be "
				  "written as %%20");
	if (!head_is_checked_by_library()) {
		if (path + strlen(target) + 1 != version)
			return err_create("malformed target: it holds a zero byte");
		head.at = version + strlen(version);
	}
	mhd.get_connection_values(connection, MHD_HEADER_KIND, take_field, &head);
	if (head.problem)
		return head.problem;
	// The head ends with an empty line.
	if (head.at && head.at + 2 * LINE_END != method + size)
		return bad_line();
	if (!head.values[HOST] && strcmp(version, "HTTP/1.0") != 0)
		return err_create("a header 'Host' is needed");
	return check_framing(&head, version);
}

const char *head_field(struct MHD_Connection *connection, const char *name)
{
	return mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

struct search {
	const char *name;
	head_test *test;
	const void *argument;
	bool found;
};

static enum MHD_Result try_field(void *argument, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	struct search *search = argument;

	if (value && strcasecmp(name, search->name) == 0)
		search->found = (*search->test)(value, search->argument);
	return search->found ? MHD_NO : MHD_YES;
}

bool head_any_field(struct MHD_Connection *connection, const char *name, head_test *test,
		    const void *argument)
{
	struct search search = {.name = name, .test = test, .argument = argument};

	mhd.get_connection_values(connection, MHD_HEADER_KIND, try_field, &search);
	return search.found;
}
