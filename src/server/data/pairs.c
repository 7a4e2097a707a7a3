#include "server/data/pairs.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "server/data/recent.h"

void pairs_init(struct pairs *pairs)
{
	*pairs = (struct pairs){0};
	pthread_mutex_init(&pairs->lock, NULL);
}

void pairs_deinit(struct pairs *pairs)
{
	for (size_t i = 0; i < PAIRS_KEPT; i++)
		dataset_release(pairs->latest[i]);
	pthread_mutex_destroy(&pairs->lock);
}

/* Compares both as a whole. */
static struct err *create_pair(struct dataset *after, struct dataset *before, struct dataset **ret)
{
	const struct diff_side sides[DIFF_SIDES] = {
		[DIFF_BEFORE] = {before->recording, before->symbolized, 1},
		[DIFF_AFTER] = {after->recording, after->symbolized, 1},
	};
	cleanup(dataset_release_at) struct dataset *pair = NULL;
	struct dataset *other;
	struct diff *diff;
	struct err *err;

	// The names are looked up under the locks.
	dataset_lock_both(after, before);
	err = diff_create(sides, &diff);
	dataset_unlock_both(after, before);
	if (err)
		return err;
	err = dataset_open_side(before, diff, DIFF_BEFORE, &other);
	if (err) {
		diff_destroy(diff);
		return err;
	}
	other->diff = diff;
	err = dataset_open_side(after, diff, DIFF_AFTER, &pair);
	if (err) {
		dataset_release(other);
		return err;
	}
	pair->before = other;
	*ret = steal(&pair);
	return NULL;
}

static bool is_same_recording(const struct dataset *a, const struct dataset *b)
{
	return strcmp(a->facts->id, b->facts->id) == 0;
}

/* Where the pair is, or one of the same recordings as they were before they grew, or NULL. */
static size_t place_of(const struct pairs *pairs, const struct dataset *after,
		       const struct dataset *before)
{
	size_t i;

	for (i = 0; i < PAIRS_KEPT - 1; i++)
		if (pairs->latest[i] && is_same_recording(pairs->latest[i], after) &&
		    is_same_recording(pairs->latest[i]->before, before))
			break;
	return i;
}

struct err *pairs_find(struct pairs *pairs, struct dataset *after, struct dataset *before,
		       struct dataset **ret)
{
	struct dataset *pair;
	struct err *err = NULL;
	size_t i;

	pthread_mutex_lock(&pairs->lock);
	i = place_of(pairs, after, before);
	pair = pairs->latest[i];
	if (!pair || pair->as_recorded != after || pair->before->as_recorded != before)
		err = create_pair(after, before, &pair);
	if (!err) {
		if (pair != pairs->latest[i])
			dataset_release(pairs->latest[i]);
		pairs->latest[i] = pair;
		recent_use(pairs->latest, i);
		*ret = dataset_hold(pair);
	}
	pthread_mutex_unlock(&pairs->lock);
	return err;
}

static bool is_made_of(const struct dataset *pair, const struct dataset *of)
{
	return pair->as_recorded == of || pair->before->as_recorded == of;
}

bool pairs_drop(struct pairs *pairs, const struct dataset *of)
{
	bool dropped = false;

	// Somebody makes a pair: then it is for him to drop others, at the end of his request.
	if (pthread_mutex_trylock(&pairs->lock))
		return false;
	for (size_t i = 0; i < PAIRS_KEPT; i++) {
		if (!pairs->latest[i] || !dataset_is_unused(pairs->latest[i]) ||
		    !dataset_is_unused(pairs->latest[i]->before) ||
		    (of && !is_made_of(pairs->latest[i], of)))
			continue;
		dataset_release(steal(&pairs->latest[i]));
		dropped = true;
	}
	pthread_mutex_unlock(&pairs->lock);
	return dropped;
}
