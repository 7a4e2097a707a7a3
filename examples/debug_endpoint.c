/*
 * A program that shows its own heap over HTTP, while it works: who allocated, where, and who freed.
 *
 *	cc -Iinclude -pthread -o debug_endpoint examples/debug_endpoint.c
 *	mallow live ./debug_endpoint 8090
 *
 *	curl localhost:8090/threads                 (also ?format=csv, ?format=json)
 *	curl localhost:8090/sites
 *	go tool pprof http://localhost:8090/debug/pprof/heap
 *
 * Nothing is linked: without mallow's live mode the answers say that there is none. Linked with
 * mallow (README, "Ways to have it in a program") it needs no `mallow live`, only MALLOW_MODE=live.
 *
 * Only this machine is answered. Who may ask is as in net/http/pprof: a program that listens to
 * others puts this behind whatever guards its other pages.
 */
#include <arpa/inet.h>
#include <mallow/mallow.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS    3
#define SHOWN      20
#define QUEUE_ROOM 256

// What one thread makes and another one frees, so that there is something to see.
static struct {
	pthread_mutex_t lock;
	void *blocks[QUEUE_ROOM];
	size_t used;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *make_request(size_t size)
{
	void *request = malloc(size);

	if (request)
		memset(request, 1, size);
	return request;
}

/* Makes requests; every tenth is forgotten: a leak. */
static void *produce(void *argument)
{
	unsigned int i;

	prctl(PR_SET_NAME, "producer");
	for (i = 0;; i++) {
		void *request = make_request(100 + i % 10 * 100);

		if (i % 10 == 9)
			continue;
		pthread_mutex_lock(&queue.lock);
		if (queue.used == QUEUE_ROOM)
			free(request);
		else
			queue.blocks[queue.used++] = request;
		pthread_mutex_unlock(&queue.lock);
		usleep(1000);
	}
	return argument;
}

static void *consume(void *argument)
{
	prctl(PR_SET_NAME, "consumer");
	for (;;) {
		pthread_mutex_lock(&queue.lock);
		while (queue.used)
			free(queue.blocks[--queue.used]);
		pthread_mutex_unlock(&queue.lock);
		usleep(10000);
	}
	return argument;
}

static void say(int client, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		ssize_t written = write(client, text, size);

		if (written <= 0)
			return;
		text += written;
		size -= (size_t)written;
	}
}

/* The body follows and ends with the connection: nobody has to know its length. */
static void begin_answer(int client, const char *status, const char *type)
{
	char head[200];

	snprintf(head, sizeof(head), "HTTP/1.0 %s\r\nContent-Type: %s\r\nConnection: close\r\n\r\n",
		 status, type);
	say(client, head);
}

static void answer_none(int client)
{
	begin_answer(client, "503 Service Unavailable", "text/plain");
	say(client, "no live mode: run under `mallow live`, or with MALLOW_MODE=live\n");
}

static enum mallow_format format_of(const char *path, const char **type)
{
	if (strstr(path, "format=csv")) {
		*type = "text/csv";
		return MALLOW_CSV;
	}
	if (strstr(path, "format=json")) {
		*type = "application/json";
		return MALLOW_JSON;
	}
	*type = "text/plain; charset=utf-8";
	return MALLOW_TEXT;
}

static void answer_threads(int client, const char *path)
{
	struct mallow_thread_report *report = mallow_thread_report();
	const char *type;
	enum mallow_format format = format_of(path, &type);

	if (!report) {
		answer_none(client);
		return;
	}
	begin_answer(client, "200 OK", type);
	mallow_thread_report_print(report, client, format);
	mallow_thread_report_free(report);
}

/* Most of a program's sites hold next to nothing: no names are looked up for them. */
static int holds_something(const struct mallow_site *site, void *least)
{
	return site->in_use >= *(const uint64_t *)least;
}

static void answer_sites(int client, const char *path)
{
	uint64_t least = 1000;
	struct mallow_site_report *report = mallow_site_report(holds_something, &least);
	const char *type;
	enum mallow_format format = format_of(path, &type);

	if (!report) {
		answer_none(client);
		return;
	}
	if (report->count > SHOWN)
		report->count = SHOWN;
	begin_answer(client, "200 OK", type);
	mallow_site_report_print(report, client, format);
	mallow_site_report_free(report);
}

static void answer_profile(int client)
{
	int table = mallow_live_fd();

	if (table < 0) {
		answer_none(client);
		return;
	}
	close(table);
	begin_answer(client, "200 OK", "application/octet-stream");
	mallow_pprof(client);
}

static int is_path(const char *asked, const char *path)
{
	size_t length = strlen(path);

	return !strncmp(asked, path, length) && (!asked[length] || asked[length] == '?');
}

static void answer(int client)
{
	char request[4096];
	ssize_t size = read(client, request, sizeof(request) - 1);
	char *path = request + 4, *end;

	if (size <= 0)
		return;
	request[size] = '\0';
	end = strncmp(request, "GET ", 4) ? NULL : strpbrk(path, " \r\n");
	if (!end) {
		begin_answer(client, "400 Bad Request", "text/plain");
		return;
	}
	*end = '\0';
	if (is_path(path, "/threads"))
		answer_threads(client, path);
	else if (is_path(path, "/sites"))
		answer_sites(client, path);
	else if (is_path(path, "/debug/pprof/heap"))
		answer_profile(client);
	else
		begin_answer(client, "404 Not Found", "text/plain");
}

/* The port that was given, or that the kernel chose for 0. */
static int listen_at(unsigned short port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) ||
	    listen(listener, 16) || getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("debug_endpoint");
		exit(1);
	}
	printf("http://localhost:%d/threads, /sites, /debug/pprof/heap\n", ntohs(address.sin_port));
	fflush(stdout);
	return listener;
}

int main(int argc, char **argv)
{
	int listener = listen_at((unsigned short)(argc > 1 ? atoi(argv[1]) : 8090));
	pthread_t thread;
	int i;

	signal(SIGPIPE, SIG_IGN); // clients go when they like
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, i ? produce : consume, NULL))
			return 1;
	for (;;) {
		int client = accept(listener, NULL, NULL);

		if (client < 0)
			continue;
		answer(client);
		close(client);
	}
}
