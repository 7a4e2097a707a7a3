/* See lazy_host.c. */
#include "sample.h"

int lazy_callee(int n);
int lazy_caller(int n);

int lazy_caller(int n)
{
	keep(malloc(200));
	n = lazy_callee(n);
	STAY();
	return n;
}
