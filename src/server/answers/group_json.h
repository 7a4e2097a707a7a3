/* A group of blocks (block_groups.h) as JSON: what it is called, and what conditions know it by. */
#ifndef MALLOW_SERVER_ANSWERS_GROUP_JSON_H
#define MALLOW_SERVER_ANSWERS_GROUP_JSON_H

#include "analysis/groups/block_groups.h"
#include "server/data/columns.h"

/*
 * Writes the fields name, others, thread and backtrace_id into an object. group: its number;
 * RECORDING_NONE: so many `others` as one. symbolized may be NULL, unless groups are of sites; it
 * must belong to the caller.
 */
struct err *group_json_put(struct json_writer *json, const struct recording *recording,
			   struct symbolized *symbolized, const struct block_groups *groups,
			   uint32_t group, uint32_t others);

/*
 * Writes what groups are called and known by as columns: the object key_table of answer.def.
 * symbolized as above. identities: with those of stacks on every host.
 */
struct err *group_json_put_table(struct columns *columns, const struct recording *recording,
				 struct symbolized *symbolized, const struct block_groups *groups,
				 const uint32_t *numbers, uint32_t count, bool identities);

/* Writes what a stack's own code is called, as an object. symbolized must belong to the caller. */
struct err *group_json_put_site(struct json_writer *json, struct symbolized *symbolized,
				uint32_t stack);

/* Writes backtrace_id, the number of a site's stack. site RECORDING_NONE: null. */
void group_json_field_stack(struct json_writer *json, const struct recording *recording,
			    uint32_t site);

/*
 * Writes the field "peak": when most was live, and the thread and site (indices) whose allocation
 * that was; RECORDING_NONE: not known.
 */
struct group_json_peak {
	uint64_t at_ns, bytes, blocks;
	uint32_t thread, site;
};
void group_json_field_peak(struct json_writer *json, const struct recording *recording,
			   const struct group_json_peak *peak);

#endif
