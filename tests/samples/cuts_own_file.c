/*
 * Cuts the file of its own recording, in one of several ways, while threads allocate. With "bytes"
 * the file keeps so many; else none.
 *
 *	cuts_own_file WAY [BYTES]
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long turns[3];
static atomic_bool finish;
static void *volatile kept;

static void *allocate(void *turn)
{
	while (!finish) {
		void *volatile block = malloc(100);

		free(block);
		atomic_fetch_add((atomic_long *)turn, 1);
	}
	return NULL;
}

/* Waits until each thread has allocated so often again: a slot is full then. */
static void wait_for_threads(void)
{
	long before[3];

	for (int i = 0; i < 3; i++)
		before[i] = turns[i];
	for (int i = 0; i < 3; i++)
		while (turns[i] < before[i] + 10000)
			usleep(100);
}

/* The recording's descriptor and path. */
static int find(char path[512])
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	char name[300];
	int found = -1;

	while ((entry = readdir(directory))) {
		ssize_t size;

		snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
		size = readlink(name, path, 511);
		if (size > 0 && memmem(path, (size_t)size, ".mallow", 7)) {
			path[size] = 0;
			found = atoi(entry->d_name);
			break;
		}
	}
	closedir(directory);
	return found;
}

static long cut(const char *way, long bytes)
{
	char path[512], link[64];
	int fd = find(path);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!strcmp(way, "ftruncate"))
		return ftruncate(fd, bytes);
	if (!strcmp(way, "truncate"))
		return truncate(path, bytes);
	if (!strcmp(way, "open"))
		return open(path, O_WRONLY | O_TRUNC) < 0;
	if (!strcmp(way, "open_link"))
		return open(link, O_RDWR | O_TRUNC) < 0;
	if (!strcmp(way, "creat"))
		return creat(path, 0600) < 0;
	if (!strcmp(way, "fopen"))
		return !fopen(path, "w");
	if (!strcmp(way, "freopen"))
		return !freopen(path, "wb", stdin);
	if (!strcmp(way, "syscall"))
		return syscall(SYS_ftruncate, fd, bytes);
	if (!strcmp(way, "syscall_open"))
		return syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_TRUNC) < 0;
	return 1;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	long result;

	(void)argc;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, allocate, &turns[i]);
	wait_for_threads();
	result = cut(argv[1], argv[2] ? atol(argv[2]) : 0);
	for (int i = 0; i < 1000; i++)
		kept = malloc(10);
	wait_for_threads();
	finish = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", result);
	return 0;
}
