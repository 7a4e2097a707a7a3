/* Blocks of 1,001 to 1,003 bytes that live on, made with different tags. */
#include <mallow/mallow.h>

#include "sample.h"

int main(void)
{
	keep(malloc(1001));
	mallow_set_tag(7);
	keep(malloc(1002));
	mallow_set_tag(0);
	keep(malloc(1003));
	return 0;
}
