#include "stream/sender/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/net/socket_peer.h"
#include "hosted/now.h"
#include "stream/discovery/beacon.h"
#include "stream/sender/sender_data.h"

#define CONNECT_MS      5000
#define AGAIN_LEAST_MS  200  /* between two attempts to connect, … */
#define AGAIN_MOST_MS   3000 /* … at first, and in the end */
#define BEACON_MS       1000
#define CONNECTIONS_MAX 64
#define PORT_FIRST      8100u
#define PORT_LAST       8199u
#define LOOPBACK        "127.0.0.1"
#define NS_PER_MS       UINT64_C(1000000)

/* Waits. false: the sender stops. */
static bool pause_for(struct sender *sender, int ms)
{
	struct pollfd polled = {.fd = sender->stop_pipe[0], .events = POLLIN};

	return poll(&polled, 1, ms) == 0;
}

/* Talks to a receiver to the end, after proving a link that was accepted, and closes the link. */
static struct err *talk_to_receiver(struct sender *sender, struct link *link)
{
	struct err *err = NULL;

	if (link_set_enter(&sender->links, link)) {
		if (!link_dialled(link))
			err = link_prove(link, &sender->options.key, MESSAGE_GREETING_MS);
		if (!err)
			err = send_connection(sender, link);
		link_set_leave(&sender->links, link);
	}
	link_close(link);
	return err;
}

/*
 * Says why there is no connection: once, and again after there was one. The same text is not
 * repeated at each attempt.
 */
static void say_trouble(struct sender *sender, struct err *err, char *said, size_t room)
{
	char text[sizeof(sender->trouble)];

	snprintf(text, sizeof(text), "%s", err_message(err));
	err_destroy(err);
	pthread_mutex_lock(&sender->mutex);
	memcpy(sender->trouble, text, sizeof(text));
	pthread_mutex_unlock(&sender->mutex);
	if (strcmp(text, said) == 0 || sender_is_settled(sender))
		return;
	snprintf(said, room, "%s", text);
	sender_say(sender, "not sent yet: %s; trying again", text);
}

static void *connect_on_and_on(void *argument)
{
	struct sender *sender = argument;
	int again_ms = AGAIN_LEAST_MS;
	char said[400] = "";

	do {
		struct link *link;
		struct err *err =
			link_connect(&sender->target, &sender->options.key, CONNECT_MS, &link);
		uint64_t begun = now_ns();

		if (!err)
			err = talk_to_receiver(sender, link);
		// It did work for a while: the next attempt comes soon.
		if (now_ns() - begun > AGAIN_MOST_MS * NS_PER_MS) {
			again_ms = AGAIN_LEAST_MS;
			said[0] = '\0';
		}
		if (err)
			say_trouble(sender, err, said, sizeof(said));
		if (sender_is_settled(sender) || !pause_for(sender, again_ms))
			break;
		again_ms = again_ms * 2 < AGAIN_MOST_MS ? again_ms * 2 : AGAIN_MOST_MS;
	} while (!sender_is_settled(sender));
	return NULL;
}

static void serve_receiver(void *argument, int fd)
{
	struct sender *sender = argument;
	struct link *link;
	uint64_t unsaid;
	struct err *err = link_accept(fd, &link);

	if (!err)
		err = talk_to_receiver(sender, link);
	if (err && !sender_is_settled(sender) &&
	    strangers_note(&sender->strangers, err_message(err), &unsaid))
		sender_say(sender, "%s", err_message(err));
	err_destroy(err);
}

static void *accept_on_and_on(void *argument)
{
	struct sender *sender = argument;

	link_set_accept(&sender->links, sender->listener, sender->stop_pipe[0], serve_receiver,
			NULL, sender);
	return NULL;
}

static void *announce_on_and_on(void *argument)
{
	struct sender *sender = argument;
	struct beacon *beacon;
	struct err *err = beacon_open(&beacon);

	if (err) {
		sender_say(sender, "cannot announce recordings: %s", err_message(err));
		err_destroy(err);
		return NULL;
	}
	do {
		const struct sent_recording *recording = sender_recording(sender, 0);
		struct beacon_content content = {.port = sender->port};

		if (!recording)
			continue;
		content.pid = recording->pid;
		memcpy(content.number, sender->number, sizeof(content.number));
		memcpy(content.name, recording->name, strnlen(recording->name, BEACON_NAME));
		beacon_send(beacon, &content);
	} while (pause_for(sender, BEACON_MS) && !sender_is_settled(sender));
	beacon_close(beacon);
	return NULL;
}

static struct err *refuse_unless_safe(const struct sender *sender, const struct socket_place *place,
				      const char *text)
{
	bool loopback;
	struct err *err;

	if (sender->options.key.set || sender->options.insecure)
		return NULL;
	err = socket_place_loopback(place, &loopback);
	// A name that cannot be resolved now may be later, and then be anywhere.
	if (err || !loopback) {
		err_destroy(err);
		return err_create("'%s' is another machine: anybody between could read the "
				  "recording; give a --token-file, or --insecure",
				  text);
	}
	return NULL;
}

/* Where to connect to, and whether that is allowed. */
static struct err *prepare_target(struct sender *sender)
{
	struct err *err;

	if (!sender->options.connect)
		return NULL;
	err = socket_place_parse(sender->options.connect, MESSAGE_PORT, &sender->target);
	return err ? err : refuse_unless_safe(sender, &sender->target, sender->options.connect);
}

static struct err *prepare_listener(struct sender *sender)
{
	const char *text = sender->options.listen;
	struct socket_place place;
	uint16_t last;
	struct err *err;

	if (!text && !sender->options.announce)
		return NULL;
	if (!text)
		text = LOOPBACK;
	err = socket_place_parse(text, 0, &place);
	if (!err)
		err = refuse_unless_safe(sender, &place, text);
	if (err)
		return err;
	last = place.port ? place.port : PORT_LAST;
	if (!place.port)
		place.port = PORT_FIRST;
	return socket_place_listen(&place, last, &sender->listener, &sender->port);
}

static struct err *start_threads(struct sender *sender)
{
	int number = 0;

	if (sender->options.connect) {
		number = link_set_thread(&sender->connector, connect_on_and_on, sender);
		sender->has_connector = !number;
	}
	if (!number && sender->listener >= 0) {
		number = link_set_thread(&sender->acceptor, accept_on_and_on, sender);
		sender->has_acceptor = !number;
	}
	if (!number && sender->options.announce) {
		number = link_set_thread(&sender->announcer, announce_on_and_on, sender);
		sender->has_announcer = !number;
	}
	return number ? err_create_errno(number, "cannot start a thread") : NULL;
}

struct err *sender_create(const struct sender_options *options, struct sender **ret)
{
	cleanup(sender_destroy_at) struct sender *sender = calloc(1, sizeof(*sender));
	struct err *err;

	if (!sender)
		return err_no_memory();
	sender->options = *options;
	socket_peer_prepare();
	sender->listener = sender->stop_pipe[0] = sender->stop_pipe[1] = -1;
	sender->progress_ns = now_ns();
	pthread_mutex_init(&sender->mutex, NULL);
	pthread_cond_init(&sender->left, NULL);
	strangers_init(&sender->strangers);
	link_set_init(&sender->links, CONNECTIONS_MAX);
	gethostname(sender->host, sizeof(sender->host) - 1);
	if (getrandom(sender->number, sizeof(sender->number), 0) != sizeof(sender->number))
		return err_create_errno(errno, "cannot get random numbers");
	if (pipe2(sender->stop_pipe, O_CLOEXEC) < 0)
		return err_create_errno(errno, "cannot make a pipe");
	err = prepare_target(sender);
	if (!err)
		err = prepare_listener(sender);
	if (!err)
		err = start_threads(sender);
	if (err)
		return err;
	*ret = steal(&sender);
	return NULL;
}

void sender_destroy(struct sender *sender)
{
	if (!sender)
		return;
	pthread_mutex_lock(&sender->mutex);
	sender->stopping = true;
	pthread_mutex_unlock(&sender->mutex);
	link_set_stop(&sender->links);
	if (sender->stop_pipe[1] >= 0)
		close(sender->stop_pipe[1]);
	if (sender->has_connector)
		pthread_join(sender->connector, NULL);
	if (sender->has_acceptor)
		pthread_join(sender->acceptor, NULL);
	if (sender->has_announcer)
		pthread_join(sender->announcer, NULL);
	link_set_wait(&sender->links);
	if (sender->listener >= 0)
		close(sender->listener);
	if (sender->stop_pipe[0] >= 0)
		close(sender->stop_pipe[0]);
	for (size_t i = 0; i < sender->recordings.count; i++) {
		if (sender->recordings.items[i]->fd >= 0)
			close(sender->recordings.items[i]->fd);
		free(sender->recordings.items[i]);
	}
	vec_deinit(&sender->recordings);
	vec_deinit(&sender->receivers);
	link_set_deinit(&sender->links);
	strangers_deinit(&sender->strangers);
	pthread_cond_destroy(&sender->left);
	pthread_mutex_destroy(&sender->mutex);
	free(sender);
}

uint16_t sender_port(const struct sender *sender)
{
	return sender->port;
}
