/*
 * `mallow live --push`: sends what is live to stores, from time to time and at the end, by a thread
 * of this process. What a store did not take is not lost for sums of allocations: the next profile
 * has it, too. Nothing waits in memory but the profile that is being sent.
 */
#ifndef MALLOW_CLI_LIVE_LIVE_PUSH_H
#define MALLOW_CLI_LIVE_LIVE_PUSH_H

#include "cli/live/live_profile.h"
#include "cli/options/push_options.h"

struct live_push;

/*
 * Begins. To be called before there is a child. *ret NULL: nothing is to be pushed. The exit
 * status, and an error was printed, unless it is CLI_OK. options, wanted: borrowed.
 */
int live_push_start(const struct push_options *wanted, struct live_profile *profile,
		    struct live_push **ret);

/*
 * The program has ended: sends what it had last, and says what could not be sent. Takes twice
 * PUSH_TIMEOUT_MS at most: a profile may be under way. Frees the push. Accepts NULL.
 */
void live_push_end(struct live_push *push);

#endif
