/* See lazy_host.c. */
#include "sample.h"

int lazy_callee(int n);

int lazy_callee(int n)
{
	keep(malloc(300));
	STAY();
	return n + 1;
}
