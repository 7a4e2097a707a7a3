/*
 * Forks as deep as its argument says. The last child executes the program once more, with the
 * environment as it was at first, and counts the descriptors that are open there and before.
 */
#include "sample.h"

#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 3; fd < 1024; fd++) {
		char link[64], name[64];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		count += readlink(name, link, sizeof(link)) > 0;
	}
	return count;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	char **copy;
	int before = open_descriptors();
	int first = getpid();
	int status = 0;
	int pid = 0;

	REQUIRE(argc >= 2);
	if (!strcmp(argv[1], "end"))
		return open_descriptors() > before;
	while (environ[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = strdup(environ[i]);
	for (int left = atoi(argv[1]); left; left--) {
		pid = fork();
		if (pid)
			break;
		keep(malloc(100));
	}
	if (!pid) {
		REQUIRE(open_descriptors() == before);
		execve(argv[0], (char *[]){argv[0], "end", NULL}, copy);
		_exit(9);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	if (getpid() == first)
		REQUIRE(write(1, "ok\n", 3) == 3);
	_exit(0);
}
