#include "stream/strangers.h"

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

bool strangers_note(struct strangers *strangers, const char *text, uint64_t *unsaid)
{
	char without_ports[STRANGERS_TEXT];
	struct stranger *found = NULL;
	uint64_t now = now_ns();
	bool say;

	drop_ports(text, without_ports);
	pthread_mutex_lock(&strangers->mutex);
	for (size_t i = 0; i < STRANGERS_KEPT; i++)
		if (strcmp(strangers->kept[i].text, without_ports) == 0)
			found = &strangers->kept[i];
	say = !found || now - found->said_ns >= QUIET_NS;
	if (!found) {
		found = &strangers->kept[strangers->next++ % STRANGERS_KEPT];
		*found = (struct stranger){0};
		memcpy(found->text, without_ports, sizeof(without_ports));
	}
	*unsaid = found->unsaid;
	if (say)
		found->said_ns = now;
	found->unsaid = say ? 0 : found->unsaid + 1;
	pthread_mutex_unlock(&strangers->mutex);
	return say;
}
