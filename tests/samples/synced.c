/* Allocates 12,345 bytes, makes sure that they are in the file, 54,321 more, and is killed. */
#include "sample.h"

#include <mallow/mallow.h>
#include <signal.h>

int main(void)
{
	keep(malloc(12345));
	REQUIRE(mallow_sync() == 0);
	keep(malloc(54321));
	raise(SIGKILL);
	return 0;
}
