/*
 * Two C++ libraries, each opened as asked, delete what the other has made: one of them may be bound
 * to libstdc++'s operators, past what is preloaded. Arguments: the libraries, and for each "d"
 * (RTLD_DEEPBIND) or "n", together "dn".
 *
 * EXPECT make_one: calls=40 total_bytes=320 leaked_blocks=0 entry=operator_new:40
 * EXPECT make_many: calls=40 total_bytes=32000 leaked_blocks=0 entry=operator_new[]:40
 */
#include "sample.h"

#include <dlfcn.h>

struct maker {
	void *(*make_one)(void);
	void *(*make_many)(void);
	void (*drop_one)(void *block);
	void (*drop_many)(void *block);
};

static struct maker open_one(const char *path, char how)
{
	void *library = dlopen(path, RTLD_NOW | (how == 'd' ? RTLD_DEEPBIND : 0));
	struct maker maker;

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	REQUIRE(library);
	*(void **)&maker.make_one = dlsym(library, "make_one");
	*(void **)&maker.make_many = dlsym(library, "make_many");
	*(void **)&maker.drop_one = dlsym(library, "drop_one");
	*(void **)&maker.drop_many = dlsym(library, "drop_many");
	return maker;
}

int main(int argc, char **argv)
{
	struct maker makers[2];

	REQUIRE(argc == 4);
	for (int i = 0; i < 2; i++)
		makers[i] = open_one(argv[1 + i], argv[3][i]);
	for (int i = 0; i < 40; i++) {
		makers[i % 2].drop_one(makers[i / 2 % 2].make_one());
		makers[i % 2].drop_many(makers[i / 2 % 2].make_many());
	}
	puts("ok");
	return 7;
}
