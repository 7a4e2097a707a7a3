/*
 * Clients that could not prove the key, or spoke something else. One that tries again and again is
 * named once a minute, and STRANGERS_KEPT of them at most: nobody can fill a terminal or a log, not
 * even many, or one with many addresses. Any thread may call these functions.
 */
#ifndef MALLOW_STREAM_LINK_STRANGERS_H
#define MALLOW_STREAM_LINK_STRANGERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRANGERS_KEPT 64u
#define STRANGERS_TEXT 200

struct stranger {
	char text[STRANGERS_TEXT]; /* what was said of them, without ports */
	uint64_t said_ns;
	uint64_t unsaid; /* attempts since then */
};

struct strangers {
	pthread_mutex_t mutex;
	struct stranger kept[STRANGERS_KEPT];
	size_t next;    /* the one that is forgotten next */
	uint64_t crowd; /* attempts of others than those, none of which was said */
};

void strangers_init(struct strangers *strangers);
void strangers_deinit(struct strangers *strangers);

/*
 * Whether text is to be said now. *unsaid: how many attempts, of this one or of others that were
 * too many to be named, were not said before it. Texts that differ in ports alone count as one:
 * each attempt comes from another port.
 */
bool strangers_note(struct strangers *strangers, const char *text, uint64_t *unsaid);

#endif
