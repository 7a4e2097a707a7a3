/*
 * What libgcc's unwinder finds in each malloc, for tests/e2e/ports/test_stacks.py to compare with
 * what the agent recorded: preloaded behind the agent, which calls this malloc. Writes to the file
 * that BACKTRACES names, for each malloc: the block, the number of frames, and these.
 *
 * It begins with a block of FIRST bytes, by which the reader finds where to begin in the recording.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST      987654
#define FRAMES_MAX 1000

static __thread int within __attribute__((tls_model("initial-exec")));
static void *(*next_malloc)(size_t size);
static uint64_t words[1 << 14];
static size_t used;
static int file = -1;

static void flush(void)
{
	if (write(file, words, used * sizeof(words[0])) != (ssize_t)(used * sizeof(words[0])))
		abort();
	used = 0;
}

__attribute__((constructor)) static void begin(void)
{
	void *some[4];

	within = 1;
	if (!next_malloc)
		next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	backtrace(some, 4); // loads libgcc, which allocates
	file = open(getenv("BACKTRACES"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	within = 0;
	free(malloc(FIRST));
}

__attribute__((destructor)) static void end(void)
{
	flush();
	within = 1;
}

void *malloc(size_t size)
{
	void *frames[FRAMES_MAX];
	void *block;
	int count;

	if (!next_malloc) {
		within++;
		next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
		within--;
	}
	block = next_malloc(size);
	if (within || file < 0)
		return block;
	within = 1;
	count = backtrace(frames, FRAMES_MAX);
	if (used + (size_t)count + 2 > sizeof(words) / sizeof(words[0]))
		flush();
	words[used++] = (uintptr_t)block;
	words[used++] = (uint64_t)count;
	for (int i = 0; i < count; i++)
		words[used++] = (uintptr_t)frames[i];
	within = 0;
	return block;
}
