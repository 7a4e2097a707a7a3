/*
 * Becomes a daemon as the books say: two forks, a session of its own, /, every descriptor closed.
 * The one that was started ends at once; the daemon goes on when DIRECTORY/go appears, and leaves
 * DIRECTORY/done. Argument: DIRECTORY.
 *
 * EXPECT before: calls=100 total_bytes=10000 leaked_blocks=100
 *
 * Of the daemon:
 * EXPECT-DAEMON serve: calls=20000 total_bytes=2000000 leaked_blocks=20000
 * EXPECT-DAEMON before: calls=0
 */
#include "sample.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static NOINLINE void before(void)
{
	for (int i = 0; i < 100; i++)
		keep(malloc(100));
	STAY();
}

static NOINLINE void serve(void)
{
	for (int i = 0; i < 10000; i++)
		keep(malloc(100));
	STAY();
}

static void leave_parent(int status)
{
	int child = fork();

	REQUIRE(child >= 0);
	if (child > 0)
		exit(status);
}

static void become_daemon(void)
{
	leave_parent(7);
	REQUIRE(setsid() > 0);
	leave_parent(0);
	REQUIRE(chdir("/") == 0);
	umask(0);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	REQUIRE(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 3000 && access(path, F_OK); i++)
		usleep(10000);
}

int main(int argc, char **argv)
{
	char go[4096], done[4096];
	int fd;

	REQUIRE(argc == 2);
	snprintf(go, sizeof(go), "%s/go", argv[1]);
	snprintf(done, sizeof(done), "%s/done", argv[1]);
	before();
	puts("started");
	fflush(stdout);
	become_daemon();
	serve();
	wait_for(go);
	serve();
	fd = open(done, O_WRONLY | O_CREAT | O_EXCL, 0600);
	REQUIRE(write(fd, "done\n", 5) == 5);
	return 0;
}
