#include "server/http/exchange.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "server/http/head.h"
#include "server/http/mhd_library.h"
#include "server/page/page.h"
#include "server/routes/route.h"
#include "trace/checksum.h"

#define METHODS "GET, HEAD"

/* A request from its first line to its last byte. */
struct exchange {
	char *asked;                  /* the target as it came */
	char *target;                 /* its path and query */
	char *host;                   /* the host in an absolute target; NULL: in the header Host */
	bool begun;                   /* its headers were checked */
	bool head;                    /* the method is HEAD: answer without the body */
	const struct page_file *page; /* the file that is asked for; NULL: an answer of a route */
	unsigned int admitted;        /* the status of an answer that is but a cookie; 0: another */
	struct request request;
	struct reply reply;
	char etag[24]; /* "": none */
};

static void exchange_destroy(struct exchange *exchange)
{
	if (!exchange)
		return;
	request_deinit(&exchange->request);
	reply_deinit(&exchange->reply);
	free(exchange->asked);
	free(exchange->target);
	free(exchange->host);
	free(exchange);
}
CLEANUP_DEFINE(struct exchange *, exchange_destroy);

/*
 * Takes a target apart. Proxies get an absolute one: "http://localhost:8080/list" is /list of
 * localhost:8080 (RFC 9112, 3.2.2).
 */
static bool take_target(struct exchange *exchange, const char *target)
{
	bool absolute = strncasecmp(target, "http://", 7) == 0;
	const char *path = absolute ? strpbrk(target + 7, "/?") : target;

	exchange->asked = strdup(target);
	if (absolute) {
		path = path ? path : strchr(target, 0);
		exchange->host = strndup(target + 7, (size_t)(path - target) - 7);
	}
	if (asprintf(&exchange->target, "%s%s", absolute && *path != '/' ? "/" : "", path) < 0)
		exchange->target = NULL;
	if (!exchange->asked || !exchange->target || (absolute && !exchange->host))
		return false;
	exchange->page = page_find(exchange->target);
	return true;
}

/* Keeps the target as it came, because libmicrohttpd's own decoding would change a stray '%'. */
void *exchange_begin(void *argument, const char *target, struct MHD_Connection *connection)
{
	cleanup(exchange_destroy_at) struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange || !target)
		return NULL;
	buf_init(&exchange->request.filter_key);
	return take_target(exchange, target) ? steal(&exchange) : NULL;
}

static const struct exchange_client *client_of(struct MHD_Connection *connection)
{
	static const struct exchange_client none;
	const struct exchange_client *client =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;

	return client ? client : &none;
}

static struct deadline *deadline_of(struct MHD_Connection *connection)
{
	return client_of(connection)->deadline;
}

void exchange_end(void *argument, struct MHD_Connection *connection, void **state,
		  enum MHD_RequestTerminationCode code)
{
	const struct exchange_context *context = argument;

	exchange_destroy(*state);
	*state = NULL;
	catalog_trim(context->catalog);
	deadline_set(context->deadlines, deadline_of(connection));
}

/* Whether a header's list, separated by commas, has the word, and not with weight 0. */
static bool accepts_word(const char *list, const void *argument)
{
	const char *word = argument;
	size_t length = strlen(word);

	while (list && *list) {
		const char *quality;
		size_t here;

		list += strspn(list, " ,");
		here = strcspn(list, ",");
		quality = memmem(list, here, "q=", 2);
		if (strncasecmp(list, word, length) == 0 && strcspn(list, " ,;") == length)
			return !quality || strtod(quality + 2, NULL) > 0;
		list += here;
	}
	return false;
}

/* A body that is being sent. */
struct sending {
	struct body *body;
	struct catalog *catalog;
	struct deadlines *deadlines;
	struct deadline *deadline;
};

static ssize_t read_body(void *argument, uint64_t position, char *data, size_t size)
{
	struct sending *sending = argument;
	ssize_t got;

	// libmicrohttpd asks for more once the client has taken the last piece.
	deadline_lift(sending->deadlines, sending->deadline);
	got = body_read(sending->body, data, size);
	deadline_set(sending->deadlines, sending->deadline);
	if (got < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	return got ? got : MHD_CONTENT_READER_END_OF_STREAM;
}

static ssize_t read_nothing(void *argument, uint64_t position, char *data, size_t size)
{
	return MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_sending(void *argument)
{
	struct sending *sending = argument;

	body_destroy(sending->body);
	catalog_trim(sending->catalog);
	free(sending);
}

/*
 * A response without a body that says nothing about a body's length. A HEAD's body was not made, so
 * its length is not known; a 304 needs none. Other responses of libmicrohttpd would say that the
 * body is empty, or announce chunks and end them.
 */
static struct MHD_Response *create_bodiless(void)
{
	struct MHD_Response *response = mhd.create_response_from_callback(
		MHD_SIZE_UNKNOWN, BODY_PIECE, read_nothing, NULL, NULL);

	if (response)
		mhd.set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	return response;
}

/* Makes a response that sends *body and owns it then; *body becomes NULL. NULL: no memory. */
static struct MHD_Response *create_response(const struct exchange_context *context,
					    struct body **body, struct MHD_Connection *connection)
{
	struct sending *sending = malloc(sizeof(*sending));
	uint64_t size = body_size(*body);
	struct MHD_Response *response;

	if (!sending)
		return NULL;
	*sending = (struct sending){*body, context->catalog, context->deadlines,
				    deadline_of(connection)};
	response = mhd.create_response_from_callback(size == UINT64_MAX ? MHD_SIZE_UNKNOWN : size,
						     BODY_PIECE, read_body, sending, free_sending);
	if (response)
		*body = NULL;
	else
		free(sending);
	return response;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	mhd.add_response_header(response, name, value);
}

/* An answer that a browser shows by itself, as the flame graph, may only use what is in it. */
#define ANSWER_POLICY "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

/* Adds the headers that each answer has. */
static void add_common_headers(struct MHD_Response *response,
			       const struct exchange_context *context,
			       const struct exchange *exchange, struct MHD_Connection *connection)
{
	const char *origin = head_field(connection, "Origin");

	// Recordings are private: no proxy may keep them, no other site may embed them.
	add_header(response, "Cache-Control", "private, no-cache");
	add_header(response, "Vary", "Accept-Encoding, Origin");
	add_header(response, "X-Content-Type-Options", "nosniff");
	add_header(response, "Referrer-Policy", "no-referrer");
	add_header(response, "Content-Security-Policy",
		   exchange->page ? PAGE_POLICY : ANSWER_POLICY);
	if (!security_origin(&context->security, origin)) {
		add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
		return;
	}
	add_header(response, "Access-Control-Allow-Origin", origin);
	add_header(response, "Access-Control-Allow-Methods", METHODS);
	add_header(response, "Access-Control-Allow-Headers", "Authorization");
}

static enum MHD_Result send_reply(const struct exchange_context *context, struct exchange *exchange,
				  struct MHD_Connection *connection)
{
	struct reply *reply = &exchange->reply;
	bool compress = !reply->packed &&
			head_any_field(connection, "Accept-Encoding", accepts_word, "gzip");
	struct MHD_Response *response;
	enum MHD_Result result;

	if (compress) {
		struct err *err =
			reply->small ? body_pack(reply->body) : body_compress(reply->body);

		compress = !err;
		err_destroy(err);
	}
	if (exchange->head && body_size(reply->body) == UINT64_MAX)
		response = create_bodiless();
	else
		response = create_response(context, &reply->body, connection);
	if (!response)
		return MHD_NO;
	add_common_headers(response, context, exchange, connection);
	add_header(response, "Content-Type",
		   reply->type ? reply->type : exchange->request.route->type);
	if (compress)
		add_header(response, "Content-Encoding", "gzip");
	if (reply->status == MHD_HTTP_OK && exchange->etag[0])
		add_header(response, "ETag", exchange->etag);
	if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(response, "Allow", METHODS);
	// Only with this header does `go tool pprof` show the message, and not just the status.
	if (reply->status != MHD_HTTP_OK)
		add_header(response, "X-Go-Pprof", "1");
	if (reply->status == MHD_HTTP_UNAUTHORIZED)
		add_header(response, "WWW-Authenticate", "Bearer");
	result = mhd.queue_response(connection, reply->status, response);
	mhd.destroy_response(response);
	return result;
}

/* Sends a response without a body, and destroys it. NULL: there was no memory for it. */
static enum MHD_Result send_empty(const struct exchange_context *context, struct exchange *exchange,
				  struct MHD_Connection *connection, unsigned int status,
				  struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_common_headers(response, context, exchange, connection);
	if (exchange->etag[0])
		add_header(response, "ETag", exchange->etag);
	if (exchange->admitted) {
		char field[SESSION_FIELD];

		session_field(context->session, field);
		add_header(response, "Set-Cookie", field);
		if (status == MHD_HTTP_SEE_OTHER)
			add_header(response, "Location", "/");
	}
	result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

/* Answers a preflight, or with a cookie: the headers are all there is. */
static enum MHD_Result send_nothing(const struct exchange_context *context,
				    struct exchange *exchange, struct MHD_Connection *connection,
				    unsigned int status)
{
	return send_empty(context, exchange, connection, status,
			  mhd.create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

/* The only path of bytehound's API that clients ask for by POST. */
static bool asks_for_script(const char *target)
{
	static const char path[] = "/execute_script";
	size_t length = strcspn(target, "?"), end = sizeof(path) - 1;

	return length >= end && memcmp(target + length - end, path, end) == 0;
}

/* What `--open` gives to the browser, and what the page asks to have the token as a cookie. */
#define CODE_TARGET    "/?code="
#define SESSION_TARGET "/session"

/* Whether a request has the token, or the cookie of who had it. */
static bool is_known_client(const struct exchange_context *context,
			    struct MHD_Connection *connection)
{
	// A cookie goes to all ports of a host, so one that comes from elsewhere may be anybody's.
	return security_token(&context->security, head_field(connection, "Authorization")) ||
	       (client_of(connection)->trusted &&
		session_has(context->session, head_field(connection, "Cookie")));
}

/* Exchanges a code for the cookie. */
static struct err *redeem_code(const struct exchange_context *context, struct exchange *exchange,
			       struct MHD_Connection *connection, struct reply *reply)
{
	const char *code = exchange->target + strlen(CODE_TARGET);

	if (!client_of(connection)->trusted)
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN,
				    "this address was made for another user's browser");
	if (!session_redeem(context->session, code))
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN,
				    "this address opens the page once, within 30 seconds: ask for "
				    "%s/#token=TOKEN with your token",
				    context->address);
	exchange->admitted = MHD_HTTP_SEE_OTHER;
	return NULL;
}

/* Refuses a request without a look at what it asks for, if it must be. Else reply has no status. */
static struct err *refuse_request(const struct exchange_context *context, struct exchange *exchange,
				  const char *method, struct MHD_Connection *connection,
				  struct reply *reply)
{
	const struct security *security = &context->security;
	const char *host = exchange->host ? exchange->host : head_field(connection, "Host");

	if (!security->token && !client_of(connection)->trusted)
		return reply_refuse(
			reply, MHD_HTTP_FORBIDDEN,
			"this server serves its own user alone: others need a token, and "
			"it was started without (--token-file, or --allow-user)");
	// Who knows the token was not led here by a page: scrapers call a machine by any name.
	if (!security_host(security, host) &&
	    !(security_is_host(host) && security->token &&
	      security_token(security, head_field(connection, "Authorization"))))
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN,
				    "this is not the host that was asked for: say %s",
				    context->address);
	if (!security_site(security, host, head_field(connection, "Origin"),
			   head_field(connection, "Sec-Fetch-Site"),
			   head_field(connection, "Sec-Fetch-Mode"),
			   exchange->page && strncmp(exchange->target, CODE_TARGET,
						     strlen(CODE_TARGET)) != 0))
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN,
				    "a page of another site asks: --allow-origin lets it");
	// A preflight carries no token.
	if (strcmp(method, "OPTIONS") == 0 &&
	    security_origin(security, head_field(connection, "Origin")))
		return NULL;
	// The page has no data. Its script has the token from the address, and asks with it.
	if (!exchange->page && !is_known_client(context, connection))
		return reply_refuse(reply, MHD_HTTP_UNAUTHORIZED,
				    "a token is needed: Authorization: Bearer TOKEN, or in a "
				    "browser #token=TOKEN behind the address of the page");
	if (strcmp(method, "POST") == 0 && asks_for_script(exchange->target))
		return route_refuse_scripts(reply);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return reply_refuse(reply, MHD_HTTP_METHOD_NOT_ALLOWED, "only " METHODS);
	if (!security->token || exchange->head)
		return NULL;
	if (strncmp(exchange->target, CODE_TARGET, strlen(CODE_TARGET)) == 0)
		return redeem_code(context, exchange, connection, reply);
	if (strcmp(exchange->target, SESSION_TARGET) == 0)
		exchange->admitted = MHD_HTTP_NO_CONTENT;
	return NULL;
}

static void write_etag(struct exchange *exchange, uint64_t checksum)
{
	// A weak tag, because the answer may be sent compressed.
	snprintf(exchange->etag, sizeof(exchange->etag), "W/\"%016" PRIx64 "\"", checksum);
}

/* Makes the tag of an answer, which depends on the data set and the target only. */
static void make_etag(struct exchange *exchange)
{
	const struct dataset *dataset = exchange->request.dataset;
	struct {
		uint64_t serial, before, start, size, events, writing;
		char id[sizeof(dataset->facts->id)];
	} facts;

	if (!dataset)
		return;
	memset(&facts, 0, sizeof(facts));
	facts.serial = dataset->serial;
	if (exchange->request.before)
		facts.before = exchange->request.before->dataset->serial;
	facts.start = dataset->opened_realtime_ns;
	facts.size = dataset->facts->file_size;
	facts.events = dataset->facts->events;
	facts.writing = dataset->facts->writing;
	memcpy(facts.id, dataset->facts->id, sizeof(facts.id));
	write_etag(exchange, trace_checksum(&facts, sizeof(facts), exchange->target,
					    strlen(exchange->target)));
}

static bool has_tag(const char *list, const void *tag)
{
	return strstr(list, tag);
}

static bool is_any(const char *list, const void *argument)
{
	return list[0] == '*' && !list[1 + strspn(list + 1, " \t")];
}

/*
 * Whether the client has the answer already, by its tag, which is known before the answer is made.
 * Tags are compared without "W/".
 */
static bool is_answer_known(const struct exchange *exchange, struct MHD_Connection *connection)
{
	return exchange->etag[0] &&
	       head_any_field(connection, "If-None-Match", has_tag, exchange->etag + 2);
}

/* Answers with a file of the page. */
static struct err *answer_page(struct exchange *exchange, struct MHD_Connection *connection,
			       bool *unchanged)
{
	const struct page_file *page = exchange->page;

	write_etag(exchange, trace_checksum(page->data, page->size, NULL, 0));
	*unchanged = is_answer_known(exchange, connection);
	return *unchanged ? NULL : page_answer(page, &exchange->reply);
}

static struct err *answer_route(const struct exchange_context *context, struct exchange *exchange,
				struct MHD_Connection *connection, bool *unchanged)
{
	struct request *request = &exchange->request;
	struct err *err =
		reply_refuse_err(&exchange->reply, query_parse(exchange->target, &request->query));

	request->catalog = context->catalog;
	request->pause = context->pause;
	if (!err && !exchange->reply.status)
		err = route_find(request, &exchange->reply);
	if (err || exchange->reply.status)
		return err;
	make_etag(exchange);
	*unchanged = is_answer_known(exchange, connection);
	if (!*unchanged)
		err = request->route->answer(request, &exchange->reply);
	// The client wants no answer if there is one: If-None-Match: *.
	if (!err && !*unchanged)
		*unchanged = exchange->reply.status == MHD_HTTP_OK &&
			     head_any_field(connection, "If-None-Match", is_any, NULL);
	return err;
}

/* Turns an error of the machine into a reply, as far as that is possible. */
static struct err *answer_failure(struct exchange *exchange, struct err *err)
{
	struct err *failed;

	exchange->etag[0] = 0;
	failed = reply_refuse(&exchange->reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "%s",
			      err_message(err));
	err_destroy(err);
	return failed;
}

enum MHD_Result exchange_handle(void *argument, struct MHD_Connection *connection, const char *path,
				const char *method, const char *version, const char *upload,
				size_t *upload_size, void **state)
{
	const struct exchange_context *context = argument;
	struct exchange *exchange = *state;
	bool unchanged = false;
	struct err *err;

	if (!exchange)
		return MHD_NO;
	err = NULL;
	if (!exchange->begun) {
		// An answer now would end the connection. So a good request is answered when all of
		// it is there.
		exchange->begun = true;
		exchange->head = strcmp(method, "HEAD") == 0;
		err = reply_refuse_err(&exchange->reply, head_check(connection, method, path,
								    exchange->asked, version));
		if (!err && !exchange->reply.status)
			err = refuse_request(context, exchange, method, connection,
					     &exchange->reply);
		if (!err && !exchange->reply.status)
			return MHD_YES;
	} else if (*upload_size) {
		*upload_size = 0; // the body of a request is ignored
		return MHD_YES;
	} else if (exchange->admitted) {
		return send_nothing(context, exchange, connection, exchange->admitted);
	} else if (strcmp(method, "OPTIONS") == 0) {
		return send_nothing(context, exchange, connection, MHD_HTTP_NO_CONTENT);
	} else {
		deadline_lift(context->deadlines, deadline_of(connection));
		err = exchange->page ? answer_page(exchange, connection, &unchanged)
				     : answer_route(context, exchange, connection, &unchanged);
		deadline_set(context->deadlines, deadline_of(connection));
	}
	if (unchanged)
		return send_empty(context, exchange, connection, MHD_HTTP_NOT_MODIFIED,
				  create_bodiless());
	if (err)
		err = answer_failure(exchange, err);
	if (err) {
		err_destroy(err);
		return MHD_NO;
	}
	return send_reply(context, exchange, connection);
}
