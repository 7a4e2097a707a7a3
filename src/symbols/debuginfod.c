#include "symbols/debuginfod.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/late_library.h"
#include "hosted/now.h"
#include "symbols/symbol_log.h"

/*
 * How long to wait. The client library itself waits 90 s for a silent server, and does so for each
 * file: in a network that swallows packets, the end of a program would take an hour. So no further
 * file is asked for after the first silence of SILENCE_S seconds, or once all downloads together
 * took TOTAL_S.
 */
#define SILENCE_S 10
#define TOTAL_S   60

/* The client library's functions: see debuginfod_find_debuginfo(3). */
static struct {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *build_id, int size, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long a, long b));
} functions;

static const char *const names[] = {"debuginfod_begin", "debuginfod_end",
				    "debuginfod_find_debuginfo", "debuginfod_set_progressfn"};
static struct late_library library = {.file = "libdebuginfod.so.1",
				      .names = names,
				      .count = ARRAY_COUNT(names),
				      .table = &functions};

/*
 * The present download, and all downloads of this thread. A global, because the client's callback
 * gets no argument.
 */
static _Thread_local struct {
	double begin;
	double heard; /* when the last bytes came */
	long position;
	double spent; /* by earlier downloads */
	bool given_up;
} state;

static double now(void)
{
	return (double)now_ns() / 1e9;
}

/* How many seconds of silence are accepted: the client's own setting, if there is one. */
static double accepted_silence(void)
{
	const char *text = getenv("DEBUGINFOD_TIMEOUT");
	double seconds = text ? strtod(text, NULL) : 0;

	return seconds > 0 ? seconds : SILENCE_S;
}

/*
 * The client calls this at least once a second. position counts bytes once a server has answered;
 * before that it counts these calls. Any other result than 0 stops the download.
 */
static int watch_download(void *client, long position, long total)
{
	double time = now();

	if (position > state.position + 1 || position < state.position)
		state.heard = time;
	state.position = position;
	if (time - state.heard > accepted_silence() || state.spent + time - state.begin > TOTAL_S)
		state.given_up = true;
	return state.given_up;
}

static char *refuse_download(const char *reason)
{
	symbol_log("debuginfod is not asked: %s", reason);
	return NULL;
}

char *debuginfod_fetch(const uint8_t *build_id, size_t size)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *path = NULL;
	struct err *err;

	if (!urls || !urls[0])
		return refuse_download("DEBUGINFOD_URLS is not set");
	if (state.given_up)
		return refuse_download("an earlier download was silent, or all took too long");
	err = late_library_open(&library);
	if (err) {
		symbol_log_refusal(err);
		return NULL;
	}

	void *client = functions.begin();

	if (!client)
		return refuse_download("its client does not start");
	functions.set_progress(client, watch_download);
	state.begin = state.heard = now();
	state.position = 0;

	// A size above 0 is in bytes; 0 would mean that the id is text.
	int fd = functions.find(client, build_id, (int)size, &path);

	state.spent += now() - state.begin;
	functions.end(client);
	if (fd < 0) {
		// Version 0.192 calls nobody until a server answers: it waits three times itself.
		state.given_up |= now() - state.heard > accepted_silence();
		symbol_log("debuginfod at %s: %s", urls, strerror(-fd));
		return NULL;
	}
	close(fd);
	return path;
}
