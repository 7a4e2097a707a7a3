/*
 * What a stack is called on every host and in every run: two numbers of 64 bits.
 *
 *	site    of the places in code: equal for one build of the program wherever it is loaded
 *	shape   of the functions' names: equal in all builds in which that stack is the same
 *
 * docs/identity.md defines both exactly, so that other programs can compute them. The definition
 * never changes: stores keep these numbers for years.
 *
 *	main ── run ── load ── parse        A frame's number is made of its caller's number and its
 *	             └─ save                own hash, so each node of the tree of stacks costs once.
 */
#ifndef MALLOW_ANALYSIS_NAMES_SITE_IDENTITY_H
#define MALLOW_ANALYSIS_NAMES_SITE_IDENTITY_H

#include "analysis/names/symbolized.h"
#include "base/hex.h"
#include "hosted/vec.h"

struct site_identity {
	uint64_t site, shape;
	/*
	 * Different builds or hosts may give equal numbers to different stacks, or the other way
	 * round: a frame lies in a file without a build id, or in no file, or there are no frames.
	 */
	bool weak;
};

struct site_identity_node;
struct site_identity_frame;

/*
 * The numbers that were found so far. Zeroed: none. Belongs to one recording and its names, and to
 * one thread, as struct symbolized does.
 */
struct site_identities {
	struct site_identity_node *nodes;   /* of each node of the recording's stacks */
	struct site_identity_frame *frames; /* of each frame */
	VEC(uint64_t) functions;            /* the hashes of frames' functions */
	VEC(uint32_t) path;                 /* nodes that are asked for, innermost first */
};

void site_identities_deinit(struct site_identities *identities);

/*
 * *ret: the identity of a stack of symbolized_recording(), by its innermost node; RECORDING_NONE:
 * of the stack without frames. Frames get their names as symbolized_frame() finds them. Errors: no
 * memory, and those of symbolized_frame().
 */
struct err *site_identities_find(struct site_identities *identities, struct symbolized *symbolized,
				 uint32_t node, struct site_identity *ret);

/* A number as texts have it: 16 hexadecimal digits. */
struct site_identity_text {
	char digits[HEX_ROOM(sizeof(uint64_t))];
};

struct site_identity_text site_identity_text(uint64_t number);

#endif
