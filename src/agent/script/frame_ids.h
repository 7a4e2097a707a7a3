/*
 * What has an id in the recording and no address in code: script frames, and the files that they
 * are in. By a key of 64 bits, a hash of what they say. Two have the same key with a probability of
 * 2^-64 each.
 *
 * An open hash table that is replaced by one of twice the size. Old ones are not freed, since
 * others may be reading them. Zero, as after fork: empty.
 */
#ifndef MALLOW_AGENT_SCRIPT_FRAME_IDS_H
#define MALLOW_AGENT_SCRIPT_FRAME_IDS_H

#include <stdint.h>

struct frame_id_table;

struct frame_ids {
	struct frame_id_table *table; /* atomic; NULL: empty */
};

/* Those of the recording, in memory that the kernel wipes at fork. Not NULL once `process` is not.
 */
extern struct frame_ids *script_ids __attribute__((visibility("hidden")));

/* The id of a key, which is not 0. 0: none yet. Lock-free. */
uint32_t frame_ids_find(const struct frame_ids *ids, uint64_t key);

/*
 * Adds a key that is not there. Only one thread at a time. Without memory it is forgotten: the next
 * look-up finds none, and what is defined twice is one for readers.
 */
void frame_ids_add(struct frame_ids *ids, uint64_t key, uint32_t id);

#endif
