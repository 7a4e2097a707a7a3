/* What the library of deepbind.c needs: it is bound as that is. */
#include "sample.h"

static NOINLINE void needed_strings(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(strdup("dependency")));
	STAY();
}

void needed_work(void)
{
	needed_strings();
}
