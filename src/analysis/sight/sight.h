/*
 * What a recording cannot show: memory of allocators that its agent does not stand in front of,
 * and programs that were started and not recorded. Without this an empty recording reads as "all
 * was freed".
 *
 *	records 0x9a        what the agent saw, or who finished the recording
 *	the modules' files  an allocator in them: own_allocator.h; sight_list() looks for it
 *	the unseen chunk    both together, once the recording was finished: nothing is looked for
 *
 * docs/trace-format.md, sections 4.4 and 9.6.
 */
#ifndef MALLOW_ANALYSIS_SIGHT_SIGHT_H
#define MALLOW_ANALYSIS_SIGHT_SIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"
#include "hosted/err.h"
#include "trace/decode.h"

/* Texts are as the format says them: "" where there is none. */
struct unseen {
	enum trace_unseen kind; /* or a number that only later versions know */
	uint64_t bytes_at_most; /* at most, of TRACE_UNSEEN_RESIDENT at least; 0: not known */
	const char *object, *name, *symbol;
};

/* An allocator whose functions were patched, so that its blocks are recorded. */
struct patched_object {
	uint64_t functions, refused; /* how many were, and how many could not be */
	const char *object, *name;
	const char *why; /* those that could not be: "malloc: it is shorter than a jump; free: …" */
};

struct recording;
struct recording_facts;

/* The list of one recording, made when it is first asked for. recording_facts.sight is one. */
struct sight;

/*
 * *ret: what the recording cannot show; each thing is there once. The list lives as long as the
 * recording, or the merged recording, whose facts these are. Several threads may ask. The only
 * errors: no memory, no descriptor.
 */
struct err *sight_list(const struct recording_facts *facts, const struct unseen **ret,
		       uint32_t *count);

/* The same for allocators that were patched, each object once. */
struct err *sight_patched(const struct recording_facts *facts, const struct patched_object **ret,
			  uint32_t *count);

/*
 * Whether it is the memory that a sanitizer takes for itself, by its runtime's presence: shadow,
 * and blocks that the program has freed. None of it is the program's.
 */
bool sight_is_sanitizers(const struct unseen *unseen);

/*
 * Whether the recording's sums can be judged: nothing in the list is memory of this very program.
 * A program that was started and not recorded is none; but a whole run cannot be judged without it.
 */
bool sight_is_whole(const struct unseen *list, uint32_t count);

/*
 * For those who make recordings: gives the recording, which asks for what it cannot show, its list.
 * merged: the list begins empty, and is filled by sight_add().
 */
struct err *sight_create(struct recording *recording, bool merged);
void sight_destroy(struct sight *sight); /* Accepts NULL. */
/* Adds what another recording cannot show: of a merged one. */
struct err *sight_add(struct sight *sight, const struct recording_facts *facts);

/* Adds a record to the recording's list. */
struct err *sight_take(struct recording *recording, const struct decode_event *event);
/* The content of an unseen chunk: appends it to ret; makes it the recording's list. */
struct err *sight_pack(const struct recording_facts *facts, struct buf *ret);
struct err *sight_read(struct recording *recording, const uint8_t *data, size_t size);

#endif
