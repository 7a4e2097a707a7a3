#include "cli/run/run_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/recordings/watched_files.h"
#include "finish/finish_seen.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "trace/chunk_check.h"

/* As the agent's samples (memory_use.c): short runs want a curve, too. */
#define SOONER          50
#define INTERVAL_NS_MIN UINT64_C(20000000)

/* Files are looked for again after so many times as long as looking took, at least that long. */
#define LOOKS_APART       100
#define LOOKS_APART_NS    UINT64_C(50000000)
#define LOOKS_NS          UINT64_C(1000000000)
#define ROUNDS_APART      50 /* samples of all take a fiftieth of one processor at most */
#define DESCRIPTORS_SHARE 4  /* a quarter of what we may open is for processes, and for files */

/* A recorded image. */
struct watched {
	int recording, process; /* descriptors, the second a pidfd; -1: it is not watched (now) */
	uint32_t pid;
	uint64_t process_start; /* as in the header */
	uint64_t begun_ns;
	uint64_t next_ns; /* when the next sample is due */
	uint64_t look_ns; /* when its files may be looked for again … */
	uint64_t looked;  /* … if its virtual size is another one than then */
	struct seen seen;
	struct seen_sample repeated; /* equal to the last sample of `seen`; monotonic_ns 0: none */
};

struct run_watch {
	pthread_t thread;
	int stop, news; /* eventfds: the program has ended; there is a new image */
	uint64_t interval_ns;
	struct run_registry *registry; /* borrowed */
	VEC(struct watched) images;    /* for each image of the registry */
	VEC(struct pollfd) polled;
	uint64_t rest_ns; /* no samples before then */
	size_t descriptors, descriptors_most;
	struct watched_files files;
};

static void let_go(struct run_watch *watch, struct watched *image)
{
	watch->descriptors -= (image->recording >= 0) + (image->process >= 0);
	if (image->recording >= 0)
		close(image->recording);
	if (image->process >= 0)
		close(image->process);
	image->recording = image->process = -1;
}

/* Reads the recording's header. false: it has none. */
static bool read_header(int fd, struct trace_header *header, struct trace_memory *memory)
{
	return pread(fd, header, sizeof(*header), 0) == sizeof(*header) &&
	       header_check(header, sizeof(*header), header) == HEADER_VALID &&
	       pread(fd, memory, sizeof(*memory), TRACE_MEMORY_OFFSET) == sizeof(*memory);
}

static void look_for_files(struct run_watch *watch, struct watched *image, uint64_t virtual_size)
{
	uint64_t begun = now_ns(), apart;

	watched_files_look(&watch->files, image->pid);
	apart = (now_ns() - begun) * LOOKS_APART;
	image->look_ns = now_ns() + (apart > LOOKS_APART_NS ? apart : LOOKS_APART_NS);
	image->looked = virtual_size;
}

/* Begins to watch the process that writes the recording, if it lives and is seen here. */
static void begin_watching(struct run_watch *watch, const struct run_image *from)
{
	struct watched image = {.recording = -1, .process = -1};
	struct trace_memory memory;
	struct trace_header header;

	image.recording =
		from->fd >= 0 ? fcntl(from->fd, F_DUPFD_CLOEXEC, 0)
			      : open(from->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (image.recording >= 0 && read_header(image.recording, &header, &memory)) {
		image.pid = (uint32_t)from->pid;
		image.process_start = header.start_time;
		image.begun_ns = header.start_monotonic_ns;
	}
	if (image.pid)
		image.process = (int)syscall(SYS_pidfd_open, from->pid, 0);
	watch->descriptors += (image.recording >= 0) + (image.process >= 0);
	// A later process may have got the number. A program without /proc does not know its start.
	if (image.process < 0 || watch->descriptors > watch->descriptors_most ||
	    (image.process_start && process_start_time(image.pid) != image.process_start))
		let_go(watch, &image);
	if (!vec_push(&watch->images, image))
		let_go(watch, &image);
	else if (image.process >= 0)
		look_for_files(watch, &watch->images.items[watch->images.count - 1], 0);
}

static void find_new(struct run_watch *watch)
{
	size_t count = run_registry_count(watch->registry);

	while (watch->images.count < count) {
		size_t i = watch->images.count;
		struct run_image image;

		run_registry_get(watch->registry, i, &image);
		begin_watching(watch, &image);
		if (watch->images.count == i)
			return; // no memory
	}
}

/* A line of /proc/PID/status, in bytes. */
static uint64_t status_line(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

static bool read_status(uint32_t pid, char *ret, size_t room)
{
	auto_close int fd = -1;
	char path[32];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, ret, room - 1);
	ret[got > 0 ? got : 0] = '\0';
	return got > 0 && strstr(ret, "\nVmSize:");
}

/* Whether it has given up our rights, or has others: what it records is not our word then. */
static bool is_another_users(const char *status)
{
	const char *line = strstr(status, "\nUid:");
	unsigned int user = geteuid();

	if (line)
		sscanf(line, "\nUid: %*u %u", &user);
	return user != geteuid();
}

static void leave_out(uint64_t *value, uint64_t bytes)
{
	*value -= bytes < *value ? bytes : *value;
}

static bool is_equal(struct seen_sample a, const struct seen_sample *b)
{
	a.monotonic_ns = b->monotonic_ns;
	return memcmp(&a, b, sizeof(a)) == 0;
}

/*
 * Keeps a sample. Of equal ones, one after the other, the first and the last: a line between them
 * is where memory was.
 */
static void keep_sample(struct watched *image, const struct seen_sample *sample)
{
	struct seen *seen = &image->seen;

	if (seen->samples.count && is_equal(seen->samples.items[seen->samples.count - 1], sample)) {
		image->repeated = *sample;
		return;
	}
	if (image->repeated.monotonic_ns && !vec_push(&seen->samples, image->repeated))
		return;
	image->repeated.monotonic_ns = 0;
	(void)vec_push(&seen->samples, *sample);
}

static uint64_t interval_at(const struct run_watch *watch, uint64_t age_ns)
{
	uint64_t interval = age_ns / SOONER;

	if (!watch->interval_ns)
		return LOOKS_NS; // no samples, but files are looked for
	if (interval < watch->interval_ns / SOONER)
		interval = watch->interval_ns / SOONER;
	if (interval < INTERVAL_NS_MIN)
		interval = INTERVAL_NS_MIN;
	return interval < watch->interval_ns ? interval : watch->interval_ns;
}

/* Takes a sample of a process, unless the agent has not said yet how much is its own. */
static void sample(struct run_watch *watch, struct watched *image)
{
	struct trace_memory own;
	struct trace_header header;
	struct seen_sample taken;
	uint64_t now = now_ns(); // before the look: then nothing older is in it
	char status[4096];

	image->next_ns = now + interval_at(watch, now - image->begun_ns);
	if (!read_header(image->recording, &header, &own))
		return let_go(watch, image);
	// It has executed another program, or ends.
	if (header.state == TRACE_STATE_ENDED || !read_status(image->pid, status, sizeof(status)))
		return;
	taken = (struct seen_sample){
		.monotonic_ns = now,
		.virtual_size = status_line(status, "\nVmSize:"),
		.resident = status_line(status, "\nVmRSS:"),
		.anonymous = status_line(status, "\nRssAnon:"),
		.file = status_line(status, "\nRssFile:"),
		.shared = status_line(status, "\nRssShmem:"),
		.swap = status_line(status, "\nVmSwap:"),
	};
	image->seen.foreign |= is_another_users(status);
	image->seen.peak = status_line(status, "\nVmHWM:");
	image->seen.peak_source = TRACE_PEAK_SAMPLED;
	if (image->looked != taken.virtual_size && now > image->look_ns)
		look_for_files(watch, image, taken.virtual_size);
	if (!own.own_virtual || !watch->interval_ns)
		return;
	leave_out(&taken.virtual_size, own.own_virtual);
	leave_out(&taken.resident, own.own_anonymous + own.own_file + own.own_shared);
	leave_out(&taken.anonymous, own.own_anonymous);
	leave_out(&taken.file, own.own_file);
	leave_out(&taken.shared, own.own_shared);
	keep_sample(image, &taken);
}

/* Takes the samples that are due. Returns how many milliseconds there are until the next one. */
static int sample_all(struct run_watch *watch)
{
	uint64_t begun = now_ns(), now = begun, next = UINT64_MAX;
	bool rests = now < watch->rest_ns;

	for (size_t i = 0; i < watch->images.count; i++) {
		struct watched *image = &watch->images.items[i];

		if (image->process >= 0 && image->next_ns <= now && !rests)
			sample(watch, image);
		if (image->process >= 0 && image->next_ns < next)
			next = image->next_ns;
	}
	now = now_ns();
	if (!rests)
		watch->rest_ns = now + (now - begun) * ROUNDS_APART;
	if (next < watch->rest_ns)
		next = watch->rest_ns;
	return next == UINT64_MAX ? -1 : next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static bool add_polled(struct run_watch *watch, int fd)
{
	const struct pollfd polled = {.fd = fd, .events = POLLIN};

	return vec_push(&watch->polled, polled);
}

/* Waits for a new recording, an end of a process, and so long. false: the program has ended. */
static bool wait_for_news(struct run_watch *watch, int timeout_ms)
{
	eventfd_t news;
	size_t at = 2;

	watch->polled.count = 0;
	if (!add_polled(watch, watch->stop) || !add_polled(watch, watch->news))
		return false;
	for (size_t i = 0; i < watch->images.count; i++)
		if (watch->images.items[i].process >= 0 &&
		    !add_polled(watch, watch->images.items[i].process))
			return false;
	if (poll(watch->polled.items, watch->polled.count, timeout_ms) < 0 && errno != EINTR)
		return false;
	for (size_t i = 0; i < watch->images.count && at < watch->polled.count; i++)
		if (watch->images.items[i].process >= 0 && watch->polled.items[at++].revents) {
			watch->images.items[i].seen.ended_ns = now_ns();
			let_go(watch, &watch->images.items[i]);
		}
	if (watch->polled.items[1].revents && eventfd_read(watch->news, &news) == 0)
		find_new(watch);
	return !watch->polled.items[0].revents;
}

static void *run_thread(void *argument)
{
	struct run_watch *watch = argument;

	pthread_setname_np(pthread_self(), "mallow-watch");
	do
		find_new(watch);
	while (wait_for_news(watch, sample_all(watch)));
	return NULL;
}

/* Starts the thread with all signals blocked: they are for run_child(). */
static int start_thread(struct run_watch *watch)
{
	sigset_t all, before;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&watch->thread, NULL, run_thread, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

struct run_watch *run_watch_start(struct run_registry *registry, uint64_t interval_ns)
{
	struct run_watch *watch = calloc(1, sizeof(*watch));
	struct rlimit limit;

	if (!watch)
		return NULL;
	watch->registry = registry;
	watch->interval_ns = interval_ns;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		watch->descriptors_most = limit.rlim_cur / DESCRIPTORS_SHARE;
	watched_files_init(&watch->files, watch->descriptors_most);
	watch->stop = eventfd(0, EFD_CLOEXEC);
	watch->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch->stop >= 0 && watch->news >= 0) {
		run_registry_notify(registry, watch->news);
		if (start_thread(watch) == 0)
			return watch;
		run_registry_notify(registry, -1);
	}
	run_watch_destroy(watch);
	return NULL;
}

/* The last image of the program itself: the same process may have executed several. NULL: none. */
static struct watched *last_image(struct run_watch *watch, const struct run_child_end *end)
{
	struct watched *last = NULL;

	for (size_t i = 0; i < watch->images.count; i++) {
		struct watched *image = &watch->images.items[i];

		if (image->pid == (uint32_t)end->pid &&
		    (!end->process_start || !image->process_start ||
		     image->process_start == end->process_start) &&
		    (!last || image->begun_ns >= last->begun_ns))
			last = image;
	}
	return last;
}

/*
 * Opens a recording for writing. Another user's by the descriptor alone that its process has sent,
 * which may write. -1: it cannot be written to.
 */
static int open_to_add(const struct run_image *image)
{
	int mode = image->fd >= 0 ? fcntl(image->fd, F_GETFL) : -1;
	char place[32];

	if (image->path)
		return open(image->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (mode >= 0 && (mode & O_ACCMODE) == O_RDWR)
		return fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
	if (mode < 0 || image->uid != geteuid())
		return -1;
	snprintf(place, sizeof(place), "/proc/self/fd/%d", image->fd);
	return open(place, O_RDWR | O_CLOEXEC);
}

static void add_seen(struct run_watch *watch, size_t i)
{
	struct watched *image = &watch->images.items[i];
	struct run_image recorded;
	auto_close int fd = -1;

	if (image->repeated.monotonic_ns && !vec_push(&image->seen.samples, image->repeated))
		return;
	run_registry_get(watch->registry, i, &recorded);
	fd = image->seen.ended_ns ? open_to_add(&recorded) : -1;
	if (fd >= 0)
		err_destroy(finish_seen(recorded.label, fd, &image->seen));
}

/* The first recording that can be added to says which programs of the run were not recorded. */
static void give_started(struct run_watch *watch)
{
	struct run_images all = run_registry_images(watch->registry);

	for (size_t i = 0; i < watch->images.count; i++) {
		if (!all.items[i].path || !watch->images.items[i].seen.ended_ns)
			continue;
		watch->images.items[i].seen.started = all.started;
		watch->images.items[i].seen.started_count = all.started_count;
		return;
	}
}

void run_watch_stop(struct run_watch *watch, const struct run_child_end *end)
{
	struct watched *last;

	if (!watch)
		return;
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	find_new(watch);
	last = end ? last_image(watch, end) : NULL;
	if (last) {
		last->seen.waited = true;
		last->seen.wait_status = end->wait_status;
		last->seen.ended_ns = end->ended_ns;
	}
	if (last && watch->images.count == 1 && end->peak > end->peak_before &&
	    end->peak > last->seen.peak) {
		last->seen.peak = end->peak;
		last->seen.peak_source = TRACE_PEAK_WAITED;
	}
	give_started(watch);
	for (size_t i = 0; i < watch->images.count; i++) {
		let_go(watch, &watch->images.items[i]);
		add_seen(watch, i);
	}
}

struct err *run_watch_places(const struct run_watch *watch, struct symbolizer *symbolizer)
{
	return watch ? watched_files_places(&watch->files, symbolizer) : NULL;
}

void run_watch_destroy(struct run_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->images.count; i++) {
		let_go(watch, &watch->images.items[i]);
		vec_deinit(&watch->images.items[i].seen.samples);
	}
	vec_deinit(&watch->images);
	vec_deinit(&watch->polled);
	watched_files_deinit(&watch->files);
	if (watch->stop >= 0)
		close(watch->stop);
	if (watch->news >= 0)
		close(watch->news);
	free(watch);
}
