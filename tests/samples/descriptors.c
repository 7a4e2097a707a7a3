/*
 * Few descriptors, and strange ones. Arguments: how, and a folder.
 *
 * standard: started without descriptors 0, 1 and 2; the first files that it opens have these
 * numbers. lowered: forbids descriptors from 10 on, so that the agent's is above the limit. lost:
 * the same, and then the agent's own is closed behind its back. full: opens files until no more can
 * be opened.
 *
 * EXPECT before: calls=1000 total_bytes=100000 leaked_blocks=1000
 * EXPECT after: calls=20000 total_bytes=2000000 leaked_blocks=20000
 */
#include "before_after.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT "the program's own\n"

static int open_file(const char *folder, int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d", folder, number);
	return open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
}

static void check_file(int fd, off_t size)
{
	struct stat status;

	REQUIRE(fstat(fd, &status) == 0);
	REQUIRE(status.st_size == size);
}

static void use_standard_numbers(const char *folder)
{
	for (int fd = 0; fd < 3; fd++) {
		REQUIRE(open_file(folder, fd) == fd);
		REQUIRE(write(fd, TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
	}
	after();
	for (int fd = 0; fd < 3; fd++)
		check_file(fd, (off_t)strlen(TEXT));
}

static void lower_limit(void)
{
	struct rlimit limit = {10, 10};

	REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void open_all(const char *folder)
{
	int fds[1024], count = 0;

	while (count < 1024 && (fds[count] = open_file(folder, count)) >= 0)
		count++;
	REQUIRE(errno == EMFILE);
	after();
	for (int i = 0; i < count; i++)
		check_file(fds[i], 0);
}

int main(int argc, char **argv)
{
	REQUIRE(argc == 3);
	before();
	if (!strcmp(argv[1], "standard")) {
		use_standard_numbers(argv[2]);
	} else if (!strcmp(argv[1], "full")) {
		open_all(argv[2]);
	} else {
		lower_limit();
		if (!strcmp(argv[1], "lost"))
			syscall(SYS_close_range, 3u, ~0u, 0u);
		after();
		REQUIRE(open_file(argv[2], 0) >= 3);
	}
	return 7;
}
