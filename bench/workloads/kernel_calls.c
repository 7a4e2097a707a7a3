/*
 * What asks the kernel for memory. Each line of standard input is done in turn:
 *
 *     pairs COUNT     COUNT pairs of eventfd() and close(); answers with the nanoseconds of
 *                     processor time that each took
 *     objects COUNT   COUNT epoll items that stay; answers with COUNT. From then on, until the
 *                     next line, some of them are freed and allocated again without end
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FILES 8000

static double processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pairs(long count)
{
	double begin = processor_ns();

	for (long i = 0; i < count; i++)
		close(eventfd(0, 0));
	printf("%.1f\n", (processor_ns() - begin) / (double)count);
}

static void change(int set, int file, int operation)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll_ctl(set, operation, file, &event)) {
		perror("epoll_ctl");
		exit(1);
	}
}

static int is_told_more(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0);
}

static void objects(long count)
{
	static int files[FILES];
	long sets = (count + FILES - 1) / FILES;
	int *set = malloc((size_t)sets * sizeof(*set));

	for (int i = 0; i < FILES; i++)
		files[i] = eventfd(0, 0);
	for (long i = 0; i < sets; i++) {
		set[i] = epoll_create1(0);
		for (int j = 0; j < FILES && i * FILES + j < count; j++)
			change(set[i], files[j], EPOLL_CTL_ADD);
	}
	printf("%ld\n", count);
	fflush(stdout);
	for (int i = 0; !is_told_more(); i = (i + 1) % (FILES / 2)) {
		change(set[0], files[i], EPOLL_CTL_DEL);
		change(set[0], files[i], EPOLL_CTL_ADD);
	}
}

int main(void)
{
	struct rlimit limit;
	char line[64];

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		long count = strtol(line + strcspn(line, " "), NULL, 10);

		if (!strncmp(line, "pairs", 5))
			pairs(count);
		else
			objects(count);
		fflush(stdout);
	}
	return 0;
}
