/* The library of late.c. */
#include "sample.h"

#include <errno.h>
#include <mallow/mallow.h>
#include <unistd.h>

void *late_gives(size_t size)
{
	return keep(malloc(size));
}

void late_takes(void *block)
{
	free(block);
}

void late_start(void)
{
	mallow_start();
}

int late_is_running(void)
{
	return mallow_is_running();
}

/* Whether a call that we stand in front of fails as ever. */
int late_error(void)
{
	errno = 0;
	return close(-1) == -1 && errno == EBADF;
}
