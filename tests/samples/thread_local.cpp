/*
 * Objects that live as long as a thread or as the program: constructed and destroyed outside main.
 *
 * EXPECT Static::Static: calls=1 total_bytes=111 leaked_blocks=0
 * EXPECT Local::Local: calls=4 total_bytes=888 leaked_blocks=0 threads=4
 * EXPECT Local::~Local: calls=4 total_bytes=40 leaked_blocks=4 threads=4
 */
#include "sample.h"

#include <thread>

struct Static {
	char *block;
	NOINLINE Static();
	NOINLINE ~Static();
};

struct Local {
	char *block;
	NOINLINE Local();
	NOINLINE ~Local();
};

Static::Static() : block(static_cast<char *>(keep(new char[111])))
{
	STAY();
}

Static::~Static()
{
	delete[] block;
	STAY();
}

Local::Local() : block(static_cast<char *>(keep(new char[222])))
{
	STAY();
}

Local::~Local()
{
	delete[] block;
	keep(new char[10]);
	STAY();
}

static Static global;
static thread_local Local local;

int main()
{
	for (int i = 0; i < 3; i++)
		std::thread([] { keep(local.block); }).join();
	keep(local.block);
	keep(global.block);
	puts("ok");
	return 7;
}
