/*
 * A program that closes every descriptor there is, in the manner of daemons, and then opens its own
 * files under the numbers that became free: they hold what it wrote, nothing else, and recording
 * goes on. Arguments: the way to close, and a folder for its files. The test limits descriptors
 * to 1,024.
 *
 * EXPECT before: calls=1000 total_bytes=100000 leaked_blocks=1000
 * EXPECT after: calls=20000 total_bytes=2000000 leaked_blocks=20000
 */
#include "sample.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT "this file is the program's own\n"

static NOINLINE void before(void)
{
	for (int i = 0; i < 1000; i++)
		keep(malloc(100));
	STAY();
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 10; i++)
		keep(malloc(100));
	STAY();
}

static void close_everything(const char *way)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (!strcmp(way, "close")) {
		for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
			close(fd);
	} else if (!strcmp(way, "close_range")) {
		close_range(3, ~0u, 0);
	} else if (!strcmp(way, "closefrom")) {
		closefrom(3);
	} else if (!strcmp(way, "raw_close")) {
		for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
			syscall(SYS_close, fd);
	} else if (!strcmp(way, "raw_close_range")) {
		syscall(SYS_close_range, 3u, ~0u, 0u);
	} else if (!strcmp(way, "dup2")) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
			dup2(null, fd);
	} else {
		REQUIRE(!"a way to close");
	}
}

static int open_file(const char *folder, int number)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/file%d", folder, number);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd >= 0)
		REQUIRE(write(fd, TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
	return fd;
}

/* What dup2 filled up has to be emptied before files can be opened. */
static void empty_dup2(const char *way)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (!strcmp(way, "dup2")) {
		for (int fd = 3; fd < (int)limit.rlim_cur; fd++)
			close(fd);
	}
}

int main(int argc, char **argv)
{
	static int fds[65536];
	int count = 0;

	REQUIRE(argc == 3);
	before();
	close_everything(argv[1]);
	empty_dup2(argv[1]);
	/* Every number is taken, then a few low ones are given back. */
	while (count < 65536 && (fds[count] = open_file(argv[2], count)) >= 0)
		count++;
	REQUIRE(count > 900);
	for (int i = 0; i < 10; i++)
		REQUIRE(close(fds[i]) == 0);
	for (int i = 0; i < 2000; i++)
		after();
	for (int i = 10; i < count; i++) {
		struct stat status;
		char text[100];

		REQUIRE(fstat(fds[i], &status) == 0);
		REQUIRE(status.st_size == (off_t)strlen(TEXT));
		REQUIRE(pread(fds[i], text, sizeof(text), 0) == (ssize_t)strlen(TEXT));
		REQUIRE(!memcmp(text, TEXT, strlen(TEXT)));
		REQUIRE(lseek(fds[i], 0, SEEK_CUR) == (off_t)strlen(TEXT));
		REQUIRE(close(fds[i]) == 0);
	}
	puts("ok");
	return 7;
}
