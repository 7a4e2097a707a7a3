#include "stream/link/strangers.h"

#include <string.h>

#include "hosted/now.h"

#define QUIET_NS UINT64_C(60000000000)

void strangers_init(struct strangers *strangers)
{
	memset(strangers, 0, sizeof(*strangers));
	pthread_mutex_init(&strangers->mutex, NULL);
}

void strangers_deinit(struct strangers *strangers)
{
	pthread_mutex_destroy(&strangers->mutex);
}

static void drop_ports(const char *text, char ret[STRANGERS_TEXT])
{
	size_t length = 0;

	for (; *text && length + 1 < STRANGERS_TEXT; text++) {
		ret[length++] = *text;
		if (*text == ':')
			text += strspn(text + 1, "0123456789");
	}
	ret[length] = '\0';
}

/*
 * A place for a text that is new. NULL: as many as are kept have been said within the last minute,
 * so that this one is only counted.
 */
static struct stranger *make_room(struct strangers *strangers, uint64_t now)
{
	struct stranger *oldest = &strangers->kept[strangers->next % STRANGERS_KEPT];

	if (oldest->said_ns && now - oldest->said_ns < QUIET_NS) {
		strangers->crowd++;
		return NULL;
	}
	strangers->next++;
	*oldest = (struct stranger){.unsaid = strangers->crowd};
	strangers->crowd = 0;
	return oldest;
}

bool strangers_note(struct strangers *strangers, const char *text, uint64_t *unsaid)
{
	char without_ports[STRANGERS_TEXT];
	struct stranger *found = NULL;
	uint64_t now = now_ns();
	bool say = false;

	*unsaid = 0;
	drop_ports(text, without_ports);
	pthread_mutex_lock(&strangers->mutex);
	for (size_t i = 0; i < STRANGERS_KEPT; i++)
		if (strcmp(strangers->kept[i].text, without_ports) == 0)
			found = &strangers->kept[i];
	if (!found) {
		found = make_room(strangers, now);
		if (found)
			memcpy(found->text, without_ports, sizeof(without_ports));
	}
	if (found) {
		say = !found->said_ns || now - found->said_ns >= QUIET_NS;
		*unsaid = found->unsaid;
		if (say)
			found->said_ns = now;
		found->unsaid = say ? 0 : found->unsaid + 1;
	}
	pthread_mutex_unlock(&strangers->mutex);
	return say;
}
