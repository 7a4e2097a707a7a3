/*
 * libFuzzer target: bytes as what a sender of recordings sends after its greeting. Whatever they
 * are, the receiver writes into its directory and its cache alone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/receiver/gather_data.h"

#define SIZE_MOST   (64u << 10) /* so much fits into a socket */
#define FILE_MOST   (1u << 20)
#define PATIENCE_MS 60000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gather *gather;
static char folder[] = "/tmp/fuzz_stream_receive_XXXXXX";
static char received[64], cache[64]; /* below folder: nothing else may be there */

static void require(int holds)
{
	if (!holds)
		abort();
}

static void say(void *argument, const char *line)
{
	(void)argument;
	require(strlen(line) > 0);
}

static void complete(void *argument, const char *path)
{
	(void)argument;
	require(strncmp(path, received, strlen(received)) == 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void prepare(void)
{
	const struct gather_options options = {.directory = received,
					       .max_size = FILE_MOST,
					       .max_senders = 1,
					       .say = say,
					       .complete = complete};

	require(mkdtemp(folder) != NULL);
	snprintf(received, sizeof(received), "%s/received", folder);
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	require(mkdir(cache, 0700) == 0);
	setenv("XDG_CACHE_HOME", cache, 1);
	require(!gather_create(&options, &gather));
	atexit(remove_folder);
}

/* How many entries there are, but for "." and ".."; removes: they are files, and go. */
static int count_entries(const char *path, int removes)
{
	DIR *list = opendir(path);
	struct dirent *entry;
	int count = 0;

	require(list != NULL);
	while ((entry = readdir(list))) {
		struct stat status;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		count++;
		if (!removes)
			continue;
		require(fstatat(dirfd(list), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0);
		require(S_ISREG(status.st_mode) && status.st_size >= TRACE_PAGE &&
			status.st_size <= FILE_MOST && !(status.st_mode & 0111));
		require(unlinkat(dirfd(list), entry->d_name, 0) == 0);
	}
	closedir(list);
	return count;
}

/* Takes the receiver's answers, so that it need not wait. */
static void *take_answers(void *argument)
{
	int fd = *(int *)argument;
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	return NULL;
}

/* A receiver's end of a link, on which these bytes come, and no more. */
static struct link *link_with_bytes(int fds[2], const uint8_t *data, size_t size)
{
	const struct message_greeting greeting = {.role = MESSAGE_SENDER, .number = "number"};
	uint8_t bytes[MESSAGE_GREETING_SIZE];
	struct link *link;

	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	message_write_greeting(&greeting, bytes);
	require(send(fds[0], bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes));
	require(size == 0 || send(fds[0], data, size, MSG_DONTWAIT) == (ssize_t)size);
	require(shutdown(fds[0], SHUT_WR) == 0);
	require(!link_accept(fds[1], &link));
	return link;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pthread_t thread;
	struct link *link;
	bool all;
	int fds[2];

	if (!gather)
		prepare();
	if (size > SIZE_MOST)
		return 0;
	link = link_with_bytes(fds, data, size);
	require(pthread_create(&thread, NULL, take_answers, fds) == 0);
	err_destroy(receive_connection(gather, link, &all));
	link_close(link);
	pthread_join(thread, NULL);
	close(fds[0]);
	require(gather->arriving.count == 0 && gather->senders.count == 0 &&
		gather->state.recordings == 0);
	gather->done_count = 0;
	count_entries(received, 1);
	require(count_entries(folder, 0) == 2);
	return 0;
}
