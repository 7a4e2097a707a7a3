/*
 * Threads that come and go. Arguments: how many in all, after how many memory is looked at first,
 * and a word before the number of each for its name ("": all keep the program's name). Prints by
 * how many kB the process grew from the first look to the last: resident, mapped.
 *
 * EXPECT work: calls=20000 total_bytes=600000 threads=5000
 */
#include "sample.h"

#include <malloc.h>
#include <pthread.h>

#define AT_ONCE 10

static const char *word;

static NOINLINE void work(void)
{
	for (int i = 0; i < 4; i++)
		free(keep(malloc(30)));
	STAY();
}

static void *run(void *argument)
{
	char name[16];

	if (*word) {
		snprintf(name, sizeof(name), "%s%d", word, *(int *)argument);
		pthread_setname_np(pthread_self(), name);
	}
	work();
	return NULL;
}

static void round_of(int first)
{
	pthread_t threads[AT_ONCE];
	int numbers[AT_ONCE];

	for (int i = 0; i < AT_ONCE; i++) {
		numbers[i] = first + i;
		REQUIRE(pthread_create(&threads[i], NULL, run, &numbers[i]) == 0);
	}
	for (int i = 0; i < AT_ONCE; i++)
		REQUIRE(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	unsigned long resident = 0, mapped = 0;
	int all, first_look;

	REQUIRE(argc == 4);
	all = atoi(argv[1]);
	first_look = atoi(argv[2]);
	word = argv[3];
	REQUIRE(all % AT_ONCE == 0 && first_look % AT_ONCE == 0 && first_look < all);
	// How many arenas there are is a matter of which threads meet.
	REQUIRE(mallopt(M_ARENA_MAX, 1) == 1);
	for (int done = 0; done < all; done += AT_ONCE) {
		if (done == first_look) {
			resident = sample_kilobytes("VmRSS:");
			mapped = sample_kilobytes("VmSize:");
		}
		round_of(done);
	}
	printf("%ld %ld\n", (long)(sample_kilobytes("VmRSS:") - resident),
	       (long)(sample_kilobytes("VmSize:") - mapped));
	return 7;
}
