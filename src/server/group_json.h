/* A group of blocks (block_groups.h) as JSON: what it is called, and what conditions know it by. */
#ifndef MALLOW_SERVER_GROUP_JSON_H
#define MALLOW_SERVER_GROUP_JSON_H

#include "server/dataset.h"

/*
 * Writes the fields name, others, thread and backtrace_id into an object. group: its number;
 * RECORDING_NONE: so many `others` as one. Call it under the lock.
 */
struct err *group_json_put(struct json_writer *json, struct dataset *dataset,
			   const struct block_groups *groups, uint32_t group, uint32_t others);

/* Writes backtrace_id, the number of a site's stack. site RECORDING_NONE: null. */
void group_json_field_stack(struct json_writer *json, const struct recording *recording,
			    uint32_t site);

#endif
