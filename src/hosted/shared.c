#include "hosted/shared.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Lies before each object. */
struct shared {
	alignas(max_align_t) atomic_size_t owners;
	void (*deinit)(void *object);
};

void *shared_create(size_t size, void (*deinit)(void *object))
{
	struct shared *shared = calloc(1, sizeof(*shared) + size);

	if (!shared)
		return NULL;
	atomic_init(&shared->owners, 1);
	shared->deinit = deinit;
	return shared + 1;
}

void *shared_hold(void *object)
{
	if (object)
		atomic_fetch_add_explicit(&((struct shared *)object - 1)->owners, 1,
					  memory_order_relaxed);
	return object;
}

void shared_drop(void *object)
{
	struct shared *shared = object ? (struct shared *)object - 1 : NULL;

	// Acquire and release: what other owners did to the object came before its end.
	if (!shared || atomic_fetch_sub_explicit(&shared->owners, 1, memory_order_acq_rel) != 1)
		return;
	shared->deinit(object);
	free(shared);
}
