/*
 * Objects with several owners: the last one to let go of an object frees it. Owners may be in
 * several threads.
 */
#ifndef MALLOW_HOSTED_SHARED_H
#define MALLOW_HOSTED_SHARED_H

#include <stddef.h>

/*
 * An object of so many bytes, zeroed, with one owner. deinit: frees what the object holds, not the
 * object; called once, by the last owner. NULL: no memory.
 */
void *shared_create(size_t size, void (*deinit)(void *object));

/* One more owner of the object. Returns the object. Accepts NULL. */
void *shared_hold(void *object);

/* One owner less: the object is not the caller's any more. Accepts NULL. */
void shared_drop(void *object);

#endif
