/*
 * Writes a title over its arguments and environment, as servers do, then forks.
 *
 * EXPECT child: calls=1000 total_bytes=100000 leaked_blocks=1000 (in the child's recording)
 */
#include "sample.h"

#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static NOINLINE void child(void)
{
	for (int i = 0; i < 1000; i++)
		keep(malloc(100));
	STAY();
}

static void set_title(char **argv, const char *title)
{
	char *end = argv[0];
	char **copy;
	size_t count = 0;

	for (char **a = argv; *a; a++)
		end = *a + strlen(*a) + 1;
	for (char **e = environ; *e; e++, count++)
		end = *e + strlen(*e) + 1;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = strdup(environ[i]);
	environ = copy;
	memset(argv[0], 'x', (size_t)(end - argv[0]) - 1);
	memcpy(argv[0], title, strlen(title));
	for (char *c = argv[0]; c < end; c++)
		REQUIRE(*c != '/'); // what follows would make folders
}

int main(int argc, char **argv)
{
	int pid, status;
	char title[64];

	(void)argc;
	set_title(argv, "server: worker process ");
	memcpy(title, argv[0], sizeof(title));
	pid = fork();
	if (pid == 0) {
		child();
		REQUIRE(!memcmp(title, argv[0], sizeof(title)));
		for (char *c = argv[0]; *c; c++)
			REQUIRE(*c == 'x' || c < argv[0] + strlen("server: worker process "));
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	printf("ok\n");
	return 0;
}
