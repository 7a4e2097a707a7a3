/*
 * A library calls another one, which it does not name, by a function that is bound at the first
 * call: lazy_host CALLEE CALLER. The loader then notes that one needs the other, in a block that it
 * allocates below lazy_caller(), with its own code that binds between.
 *
 * EXPECT lazy_caller: calls=3
 * EXPECT lazy_callee: calls=1 total_bytes=300
 */
#include "sample.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	void *callee = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
	void *caller = dlopen(argv[2], RTLD_LAZY);
	int (*call)(int) = caller ? (int (*)(int))dlsym(caller, "lazy_caller") : NULL;

	REQUIRE(callee && call);
	puts(call(1) == 2 ? "ok" : "?");
	return 7;
}
