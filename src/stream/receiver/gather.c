#include "stream/receiver/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/net/socket_peer.h"
#include "stream/discovery/beacon.h"
#include "stream/receiver/gather_data.h"

#define CONNECT_MS     5000
#define AGAIN_LEAST_MS 200
#define AGAIN_MOST_MS  3000

void gather_say(struct gather *gather, const char *format, ...)
{
	char line[900];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&gather->mutex);
	gather->options.say(gather->options.argument, line);
	pthread_mutex_unlock(&gather->mutex);
}

static bool is_stopping(struct gather *gather)
{
	bool stopping;

	pthread_mutex_lock(&gather->mutex);
	stopping = gather->stopping;
	pthread_mutex_unlock(&gather->mutex);
	return stopping;
}

/* false: it stops. */
static bool pause_for(struct gather *gather, int ms)
{
	struct pollfd polled = {.fd = gather->stop_pipe[0], .events = POLLIN};

	return poll(&polled, 1, ms) == 0;
}

/*
 * Says why somebody was not let in, or was left. Those with the same key, or the same text if that
 * is NULL, count as one.
 */
static void say_stranger(struct gather *gather, const char *key, struct err *err)
{
	uint64_t unsaid;
	bool say = strangers_note(&gather->strangers, key ? key : err_message(err), &unsaid);

	if (say && unsaid)
		gather_say(gather, "%s (and %" PRIu64 " more like it that were not said)",
			   err_message(err), unsaid);
	else if (say)
		gather_say(gather, "%s", err_message(err));
	err_destroy(err);
}

/* Runs a connection, which was not proved yet if it was accepted, and closes its link. */
static struct err *talk_to_sender(struct gather *gather, struct link *link, bool *all)
{
	struct err *err = NULL;

	*all = false;
	if (link_set_enter(&gather->links, link)) {
		if (!link_dialled(link))
			err = link_prove(link, &gather->options.key, MESSAGE_GREETING_MS);
		if (!err)
			err = receive_connection(gather, link, all);
		link_set_leave(&gather->links, link);
	}
	link_close(link);
	return err;
}

/* A sender to connect to. */
struct dialled {
	struct gather *gather;
	struct socket_place place;
	uint8_t number[MESSAGE_NUMBER_SIZE]; /* of one that announced itself */
	bool announced;
};

/* Connects until the sender has sent all it has, or is not there any more. */
static void dial_sender(struct dialled *dialled)
{
	struct gather *gather = dialled->gather;
	char said[400] = "";
	int again_ms = AGAIN_LEAST_MS;
	bool all = false;

	while (!all && !is_stopping(gather)) {
		struct link *link;
		bool connected, broken;
		struct err *err =
			link_connect(&dialled->place, &gather->options.key, CONNECT_MS, &link);

		connected = !err;
		if (!err)
			err = talk_to_sender(gather, link, &all);
		broken = err && connected;
		if (err && dialled->announced && !is_stopping(gather)) {
			say_stranger(gather, NULL, err);
			err = NULL;
		} else if (err && strcmp(said, err_message(err)) != 0 && !is_stopping(gather)) {
			snprintf(said, sizeof(said), "%s", err_message(err));
			gather_say(gather, "%s; trying again", said);
		}
		err_destroy(err);
		// One that announces itself will do so again.
		if (all || dialled->announced || !pause_for(gather, again_ms))
			break;
		// Soon, if the link broke; later if nobody is there, or we are connected otherwise.
		if (broken)
			again_ms = AGAIN_LEAST_MS;
		else
			again_ms = again_ms * 2 < AGAIN_MOST_MS ? again_ms * 2 : AGAIN_MOST_MS;
	}
}

static void dial_target(void *argument)
{
	struct dialled *dialled = argument;
	struct gather *gather = dialled->gather;

	dial_sender(dialled);
	pthread_mutex_lock(&gather->mutex);
	gather->state.over = --gather->targets_left == 0;
	pthread_mutex_unlock(&gather->mutex);
	free(dialled);
}

/* It is not being connected to any more: its next beacon counts again. */
static void forget_dialled(struct gather *gather, const uint8_t *number)
{
	pthread_mutex_lock(&gather->mutex);
	for (size_t i = 0; i < gather->dialled.count; i++) {
		if (memcmp(gather->dialled.items[i].number, number, MESSAGE_NUMBER_SIZE) != 0)
			continue;
		gather->dialled.items[i] = gather->dialled.items[--gather->dialled.count];
		break;
	}
	pthread_mutex_unlock(&gather->mutex);
}

static void dial_announced(void *argument)
{
	struct dialled *dialled = argument;
	struct gather *gather = dialled->gather;

	dial_sender(dialled);
	forget_dialled(gather, dialled->number);
	free(dialled);
}

static bool has_number(const struct gathered_sender *senders, size_t count, const uint8_t *number)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(senders[i].number, number, MESSAGE_NUMBER_SIZE) == 0)
			return true;
	return false;
}

/* Whether a beacon from there may be followed: without a key only this machine is talked to. */
static bool is_safe(const struct gather *gather, const char *address)
{
	return gather->options.key.set || gather->options.trust.all ||
	       strncmp(address, "127.", 4) == 0;
}

/* Connects to a sender that has announced itself, unless it is connected. */
static void take_beacon(struct gather *gather, const struct beacon_content *content,
			const char *address)
{
	struct dialled *dialled;
	struct gathered_sender sender = {0};
	bool wanted;

	if (!is_safe(gather, address)) {
		say_stranger(gather, "announces",
			     err_create("%s announces '%s', and is another machine: to take "
					"it, give a --token-file, or --insecure",
					address, content->name));
		return;
	}
	dialled = calloc(1, sizeof(*dialled));
	if (!dialled)
		return;
	dialled->gather = gather;
	dialled->announced = true;
	dialled->place.port = content->port;
	snprintf(dialled->place.host, sizeof(dialled->place.host), "%s", address);
	memcpy(dialled->number, content->number, sizeof(dialled->number));
	memcpy(sender.number, content->number, sizeof(sender.number));
	pthread_mutex_lock(&gather->mutex);
	wanted = !has_number(gather->senders.items, gather->senders.count, content->number) &&
		 !has_number(gather->dialled.items, gather->dialled.count, content->number) &&
		 vec_push(&gather->dialled, sender);
	pthread_mutex_unlock(&gather->mutex);
	if (wanted && link_set_start(&gather->links, dial_announced, dialled))
		return;
	if (wanted)
		forget_dialled(gather, content->number);
	free(dialled);
}

static void *find_on_and_on(void *argument)
{
	struct gather *gather = argument;
	struct pollfd polled[] = {{.fd = gather->finder, .events = POLLIN},
				  {.fd = gather->stop_pipe[0], .events = POLLIN}};

	while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
		struct beacon_content content;
		char address[INET_ADDRSTRLEN];

		if (polled[1].revents)
			break;
		if (polled[0].revents && beacon_receive(gather->finder, &content, address))
			take_beacon(gather, &content, address);
	}
	return NULL;
}

static void serve_sender(void *argument, int fd)
{
	struct gather *gather = argument;
	struct link *link;
	bool all;
	struct err *err = link_accept(fd, &link);

	if (!err)
		err = talk_to_sender(gather, link, &all);
	if (err && !is_stopping(gather))
		say_stranger(gather, NULL, err);
	else
		err_destroy(err);
}

static void say_full(void *argument)
{
	say_stranger(argument, NULL,
		     err_create("as many senders as may be are connected (--max-senders): one is "
				"turned away"));
}

static void *accept_on_and_on(void *argument)
{
	struct gather *gather = argument;

	link_set_accept(&gather->links, gather->listener, gather->stop_pipe[0], serve_sender,
			say_full, gather);
	return NULL;
}

static struct err *refuse_unless_safe(const struct gather *gather, const struct socket_place *place,
				      const char *text)
{
	bool loopback;
	struct err *err;

	if (gather->options.key.set || gather->options.trust.all)
		return NULL;
	err = socket_place_loopback(place, &loopback);
	if (err || !loopback) {
		err_destroy(err);
		return err_create("'%s' is not this machine alone: anybody could send, or read; "
				  "give a --token-file, or --insecure",
				  text);
	}
	return NULL;
}

static struct err *prepare_directory(struct gather *gather)
{
	const char *path = gather->options.directory;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_create_errno(errno, "cannot make the directory '%s'", path);
	gather->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (gather->directory < 0)
		return err_create_errno(errno, "%s", path);
	if (faccessat(gather->directory, ".", W_OK, 0) < 0)
		return err_create_errno(errno, "cannot write into '%s'", path);
	return NULL;
}

static struct err *prepare_listener(struct gather *gather)
{
	struct socket_place place;
	uint16_t port;
	struct err *err;

	if (!gather->options.listen)
		return NULL;
	err = socket_place_parse(gather->options.listen, MESSAGE_PORT, &place);
	if (!err)
		err = refuse_unless_safe(gather, &place, gather->options.listen);
	if (!err)
		err = socket_place_listen(&place, place.port, &gather->listener, &port);
	if (err)
		return err;
	snprintf(gather->address, sizeof(gather->address),
		 strchr(place.host, ':') ? "[%s]:%u" : "%s:%u", place.host, (unsigned int)port);
	return NULL;
}

static struct err *parse_target(const struct gather *gather, size_t i, struct socket_place *place)
{
	const char *text = gather->options.targets[i];
	struct err *err = socket_place_parse(text, 0, place);

	if (!err && !place->port)
		err = err_create("'%s' has no port: senders say at which one they listen", text);
	return err ? err : refuse_unless_safe(gather, place, text);
}

/* Refuses wrong targets, before anything is made. */
static struct err *check_targets(const struct gather *gather)
{
	struct socket_place place;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < gather->options.target_count; i++)
		err = parse_target(gather, i, &place);
	return err;
}

static struct err *start_targets(struct gather *gather)
{
	gather->targets_left = gather->options.target_count;
	for (size_t i = 0; i < gather->options.target_count; i++) {
		struct dialled *dialled = calloc(1, sizeof(*dialled));
		struct err *err;

		if (!dialled)
			return err_no_memory();
		dialled->gather = gather;
		err = parse_target(gather, i, &dialled->place);
		if (!err && !link_set_start(&gather->links, dial_target, dialled))
			err = err_create("too many senders at once");
		if (err) {
			free(dialled);
			return err;
		}
	}
	return NULL;
}

static struct err *start_finder(struct gather *gather)
{
	struct err *err;
	int number;

	if (!gather->options.find)
		return NULL;
	err = beacon_listen(MESSAGE_BEACON_PORT, &gather->finder);
	if (err)
		return err;
	number = link_set_thread(&gather->announcements, find_on_and_on, gather);
	gather->has_announcements = !number;
	return number ? err_create_errno(number, "cannot start a thread") : NULL;
}

static struct err *start_acceptor(struct gather *gather)
{
	int number = 0;

	if (gather->listener >= 0) {
		number = link_set_thread(&gather->acceptor, accept_on_and_on, gather);
		gather->has_acceptor = !number;
	}
	return number ? err_create_errno(number, "cannot start a thread") : NULL;
}
CLEANUP_DEFINE(struct gather *, gather_destroy);

struct err *gather_create(const struct gather_options *options, struct gather **ret)
{
	cleanup(gather_destroy_at) struct gather *gather = calloc(1, sizeof(*gather));
	struct err *err;

	if (!gather)
		return err_no_memory();
	gather->options = *options;
	socket_peer_prepare();
	gather->directory = gather->listener = gather->finder = -1;
	gather->stop_pipe[0] = gather->stop_pipe[1] = -1;
	pthread_mutex_init(&gather->mutex, NULL);
	pthread_cond_init(&gather->changed, NULL);
	strangers_init(&gather->strangers);
	link_set_init(&gather->links, options->max_senders);
	gather->done = calloc(GATHER_DONE_MAX, sizeof(*gather->done));
	if (!gather->done)
		return err_no_memory();
	gethostname(gather->host, sizeof(gather->host) - 1);
	if (getrandom(gather->number, sizeof(gather->number), 0) != sizeof(gather->number))
		return err_create_errno(errno, "cannot get random numbers");
	if (pipe2(gather->stop_pipe, O_CLOEXEC) < 0)
		return err_create_errno(errno, "cannot make a pipe");
	err = module_store_create(options->debug_paths, &gather->store);
	if (err) {
		gather_say(gather, "%s: programs and libraries of senders are not kept",
			   err_message(err));
		err_destroy(err);
	}
	err = check_targets(gather);
	if (!err)
		err = prepare_listener(gather);
	if (!err)
		err = prepare_directory(gather);
	if (!err)
		err = start_targets(gather);
	if (!err)
		err = start_finder(gather);
	if (!err)
		err = start_acceptor(gather);
	if (err)
		return err;
	*ret = steal(&gather);
	return NULL;
}

void gather_destroy(struct gather *gather)
{
	if (!gather)
		return;
	pthread_mutex_lock(&gather->mutex);
	gather->stopping = true;
	pthread_mutex_unlock(&gather->mutex);
	if (gather->stop_pipe[1] >= 0)
		close(gather->stop_pipe[1]);
	if (gather->has_acceptor)
		pthread_join(gather->acceptor, NULL);
	if (gather->has_announcements)
		pthread_join(gather->announcements, NULL);
	link_set_stop(&gather->links);
	link_set_wait(&gather->links);
	link_set_deinit(&gather->links);
	strangers_deinit(&gather->strangers);
	if (gather->stop_pipe[0] >= 0)
		close(gather->stop_pipe[0]);
	if (gather->listener >= 0)
		close(gather->listener);
	if (gather->finder >= 0)
		close(gather->finder);
	if (gather->directory >= 0)
		close(gather->directory);
	module_store_destroy(gather->store);
	vec_deinit(&gather->senders);
	vec_deinit(&gather->dialled);
	vec_deinit(&gather->arriving);
	vec_deinit(&gather->unfinished);
	free(gather->done);
	pthread_cond_destroy(&gather->changed);
	pthread_mutex_destroy(&gather->mutex);
	free(gather);
}

const char *gather_address(const struct gather *gather)
{
	return gather->listener >= 0 ? gather->address : NULL;
}

void gather_look(struct gather *gather, struct gather_state *ret)
{
	pthread_mutex_lock(&gather->mutex);
	*ret = gather->state;
	pthread_mutex_unlock(&gather->mutex);
}
