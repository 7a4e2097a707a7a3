/* A receiver against a sender that is played by hand: files, their names, refusals, resuming. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "stream/receiver/gather_data.h"
#include "trace_writer.h"

#define PATIENCE_MS 60000
#define START_NS    UINT64_C(1764152100000000000) /* 2025-11-26, 10:15 */
#define STEM        "20251126_101500_4711_"

/* The receiver, in a thread of its own, and our end of its link. */
struct play {
	char folder[64];
	struct gather *gather;
	struct link *link, *receiving;
	int fd; /* the same socket as our link's */
	pthread_t thread;
	struct err *err;
	bool all;
	size_t complete;
	char said[400];
	struct message message;
	uint8_t content[MESSAGE_SIZE_MAX];
};

static void say(void *argument, const char *line)
{
	struct play *play = argument;

	snprintf(play->said, sizeof(play->said), "%s", line);
}

static void note_complete(void *argument, const char *path)
{
	struct play *play = argument;

	play->complete++;
}

static void *receive(void *argument)
{
	struct play *play = argument;

	play->err = receive_connection(play->gather, play->receiving, &play->all);
	link_close(play->receiving);
	return NULL;
}

static void make_gather(struct play *play, uint64_t max_size)
{
	const struct gather_options options = {.directory = play->folder,
					       .max_size = max_size,
					       .max_senders = 4,
					       .say = say,
					       .complete = note_complete,
					       .argument = play};

	assert_ok(gather_create(&options, &play->gather));
}

static void connect_again(struct play *play)
{
	const struct message_greeting own = {.role = MESSAGE_SENDER, .number = "me"};
	uint8_t bytes[MESSAGE_GREETING_SIZE];
	struct message_greeting other;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	play->fd = dup(pair[0]);
	assert_ok(link_accept(pair[0], &play->link));
	assert_ok(link_accept(pair[1], &play->receiving));
	assert_int_equal(pthread_create(&play->thread, NULL, receive, play), 0);
	message_write_greeting(&own, bytes);
	assert_ok(link_send(play->link, bytes, sizeof(bytes), PATIENCE_MS));
	assert_ok(link_receive(play->link, bytes, sizeof(bytes), PATIENCE_MS, NULL));
	assert_null(message_read_greeting(bytes, &other));
	assert_int_equal(other.role, MESSAGE_RECEIVER);
}

static struct play *begin_with(uint64_t max_size)
{
	struct play *play = calloc(1, sizeof(*play));

	assert_non_null(play);
	strcpy(play->folder, "/tmp/stream_receive_XXXXXX");
	assert_non_null(mkdtemp(play->folder));
	setenv("XDG_CACHE_HOME", play->folder, 1);
	make_gather(play, max_size);
	connect_again(play);
	return play;
}

static struct play *begin(void)
{
	return begin_with(1 << 20);
}

/* Ends the connection from our side. Returns how the receiver's side ended. */
static struct err *hang_up(struct play *play)
{
	struct err *err;

	// It may still answer.
	assert_int_equal(shutdown(play->fd, SHUT_WR), 0);
	pthread_join(play->thread, NULL);
	close(play->fd);
	link_close(play->link);
	err = play->err;
	play->err = NULL;
	return err;
}

static void end(struct play *play)
{
	char command[128];

	gather_destroy(play->gather);
	snprintf(command, sizeof(command), "rm -rf '%s'", play->folder);
	assert_int_equal(system(command), 0);
	free(play);
}

static void tell(struct play *play, uint32_t kind, uint32_t recording, const void *first,
		 size_t first_size, const void *rest, size_t rest_size)
{
	const struct message_head head = {
		.size = (uint32_t)(first_size + rest_size), .kind = kind, .recording = recording};
	uint8_t bytes[MESSAGE_HEAD_SIZE];

	message_write_head(&head, bytes);
	assert_ok(link_send(play->link, bytes, sizeof(bytes), PATIENCE_MS));
	if (first_size)
		assert_ok(link_send(play->link, first, first_size, PATIENCE_MS));
	if (rest_size)
		assert_ok(link_send(play->link, rest, rest_size, PATIENCE_MS));
}

/* The next message must be of that kind; acknowledgements come at any time. */
static const struct message *expect(struct play *play, uint32_t kind)
{
	struct message_head head;

	do {
		uint8_t bytes[MESSAGE_HEAD_SIZE];

		assert_ok(link_receive(play->link, bytes, sizeof(bytes), PATIENCE_MS, NULL));
		assert_null(message_read_head(bytes, &head));
		assert_ok(link_receive(play->link, play->content, head.size, PATIENCE_MS, NULL));
		assert_null(message_read(&head, play->content, &play->message));
	} while (head.kind == MESSAGE_ACKNOWLEDGE && kind != MESSAGE_ACKNOWLEDGE);
	assert_int_equal(head.kind, kind);
	return &play->message;
}

static void expect_refusal(struct play *play, enum message_refusal reason)
{
	assert_int_equal(expect(play, MESSAGE_REFUSE)->refusal.reason, reason);
}

static void make_page(uint8_t page[TRACE_PAGE], char id)
{
	const struct trace_header header = {.magic = TRACE_MAGIC,
					    .version_major = TRACE_VERSION_MAJOR,
					    .version_minor = TRACE_VERSION_MINOR,
					    .header_size = TRACE_PAGE,
					    .id = {(uint8_t)id},
					    .pid = 4711,
					    .machine = 62,
					    .pointer_size = 8,
					    .clock = TRACE_CLOCK_TSC,
					    .state = TRACE_STATE_ENDED,
					    .end_reason = TRACE_END_EXIT,
					    .start_realtime_ns = START_NS};

	memset(page, 0, TRACE_PAGE);
	memcpy(page, &header, sizeof(header));
}

static void offer(struct play *play, uint32_t number, char id, const char *name)
{
	uint8_t page[TRACE_PAGE];

	make_page(page, id);
	tell(play, MESSAGE_RECORDING, number, page, sizeof(page), name, strlen(name));
}

static void write_at(struct play *play, uint32_t number, uint64_t offset, const void *data,
		     size_t size)
{
	tell(play, MESSAGE_WRITE, number, &offset, sizeof(offset), data, size);
}

static void say_end(struct play *play, uint32_t number, uint64_t size)
{
	tell(play, MESSAGE_END, number, &size, sizeof(size), NULL, 0);
}

static const char *path_of(const struct play *play, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", play->folder, name);
	return path;
}

static void assert_size(const struct play *play, const char *name, off_t size)
{
	struct stat status;

	if (stat(path_of(play, name), &status) < 0)
		fail_msg("there is no %s", name);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(status.st_size, size);
}

static size_t count_files(const struct play *play)
{
	DIR *folder = opendir(play->folder);
	size_t count = 0;

	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		count += strstr(entry->d_name, ".mallow") != NULL;
	closedir(folder);
	return count;
}

static void test_names(void **state)
{
	static const struct {
		const char *program, *file;
	} names[] = {
		{"server", STEM "server.mallow"},
		{"server", STEM "server.mallow.1"},
		{"", STEM "program.mallow"},
		{"../../etc/passwd", STEM ".._.._etc_passwd.mallow"},
		{"a\nb\x1b[2J\x7f", STEM "a_b_[2J_.mallow"},
		{"\xc3\xa4\xe2\x82\xac", STEM "\xc3\xa4\xe2\x82\xac.mallow"},
		{"..", STEM "...mallow"},
		{"%s%n", STEM "%s%n.mallow"},
	};
	struct play *play = begin();
	char longest[MESSAGE_NAME_MAX + 1] = "";

	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		offer(play, i, (char)(i + 1), names[i].program);
		assert_int_equal(expect(play, MESSAGE_HAVE)->have.count, 0);
		assert_size(play, names[i].file, TRACE_PAGE);
	}
	// A character of two bytes that would be cut after 100.
	memset(longest, 'x', MESSAGE_NAME_MAX);
	memcpy(longest + 99, "\xc3\xa4", 2);
	offer(play, 100, 100, longest);
	expect(play, MESSAGE_HAVE);
	longest[99] = '\0';
	assert_int_equal(count_files(play), sizeof(names) / sizeof(*names) + 1);
	{
		char name[512];

		snprintf(name, sizeof(name), STEM "%s.mallow", longest);
		assert_size(play, name, TRACE_PAGE);
	}
	assert_err(hang_up(play), "before all had come");
	end(play);
}

static void test_whole(void **state)
{
	struct play *play = begin();
	uint8_t page[TRACE_PAGE];
	int fd;

	// Nobody knows that number yet: it is counted, and dropped.
	write_at(play, 0, TRACE_PAGE, "early", 5);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	// Until all has come, it has not ended.
	fd = open(path_of(play, STEM "server.mallow"), O_RDONLY);
	assert_int_equal(pread(fd, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(((struct trace_header *)(void *)page)->state, TRACE_STATE_RUNNING);
	assert_int_equal(((struct trace_header *)(void *)page)->end_reason, TRACE_END_UNKNOWN);
	make_page(page, 1);
	write_at(play, 0, 10000, "bytes", 5);
	write_at(play, 0, 0, page, sizeof(page));
	tell(play, 77, 0, "of a later version", 18, NULL, 0);
	tell(play, MESSAGE_PING, 0, NULL, 0, NULL, 0);
	while (expect(play, MESSAGE_ACKNOWLEDGE)->number != 3)
		;
	say_end(play, 0, 20000);
	expect(play, MESSAGE_DONE);
	assert_int_equal(pread(fd, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(((struct trace_header *)(void *)page)->state, TRACE_STATE_ENDED);
	close(fd);
	assert_size(play, STEM "server.mallow", 20000);
	// It is known by its id from now on.
	offer(play, 0, 1, "other");
	expect_refusal(play, MESSAGE_COMPLETE);
	write_at(play, 0, 10000, "x", 1);
	say_end(play, 0, 4096);
	tell(play, MESSAGE_PING, 0, NULL, 0, NULL, 0);
	expect(play, MESSAGE_ACKNOWLEDGE);
	assert_size(play, STEM "server.mallow", 20000);
	assert_ok(hang_up(play));
	assert_true(play->all);
	assert_int_equal(play->complete, 1);
	assert_int_equal(count_files(play), 1);
	end(play);
}

/* What breaks the rules ends the connection, with a fault. */
static void test_rules(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct play *play = begin();
		const uint32_t request = 5;
		uint8_t page[TRACE_PAGE];

		offer(play, 0, 1, "server");
		expect(play, MESSAGE_HAVE);
		make_page(page, 1);
		switch (i) {
		case 0: // another recording's header
			make_page(page, 2);
			write_at(play, 0, 0, page, sizeof(page));
			break;
		case 1: // a part of the header
			write_at(play, 0, 16, "another id", 10);
			break;
		case 2: // as if it were finished
			((struct trace_header *)(void *)page)->flags = TRACE_FINISHED;
			write_at(play, 0, 0, page, sizeof(page));
			break;
		case 3:
			offer(play, 0, 2, "twice");
			break;
		case 4: // a file that nobody asked for
			tell(play, MESSAGE_FILE, 0, &request, 4, "\0\0\0\0\0\0\0\0elf", 11);
			break;
		default: // more than the header
			tell(play, MESSAGE_WRITE, 0, "\0\0\0\0\0\0\0\0", 8, page, 4095);
			break;
		}
		expect(play, MESSAGE_FAULT);
		assert_non_null(play->err = hang_up(play));
		err_destroy(play->err);
		assert_size(play, STEM "server.mallow", TRACE_PAGE);
		assert_int_equal(count_files(play), 1);
		end(play);
	}
}

static void test_refusals(void **state)
{
	static const uint64_t beyond[] = {65536, 65536 - 3, INT64_MAX - 4};
	struct play *play = begin_with(65536);
	uint8_t page[TRACE_PAGE] = "no recording";
	uint32_t number = 0;

	tell(play, MESSAGE_RECORDING, number++, page, sizeof(page), "x", 1);
	expect_refusal(play, MESSAGE_IMPOSSIBLE);
	make_page(page, 1);
	((struct trace_header *)(void *)page)->flags = TRACE_FINISHED;
	tell(play, MESSAGE_RECORDING, number++, page, sizeof(page), "x", 1);
	expect_refusal(play, MESSAGE_IMPOSSIBLE);
	make_page(page, 1);
	((struct trace_header *)(void *)page)->version_major++;
	tell(play, MESSAGE_RECORDING, number++, page, sizeof(page), "x", 1);
	expect_refusal(play, MESSAGE_IMPOSSIBLE);
	assert_int_equal(count_files(play), 0);
	for (char i = 0; i < 3; i++) {
		offer(play, number, (char)(10 + i), "large");
		expect(play, MESSAGE_HAVE);
		write_at(play, number, beyond[(int)i], "four", 4);
		expect_refusal(play, MESSAGE_IMPOSSIBLE);
		number++;
	}
	for (char i = 0; i < 2; i++) {
		offer(play, number, (char)(20 + i), "sizes");
		expect(play, MESSAGE_HAVE);
		say_end(play, number, i ? 65537 : 4095);
		expect_refusal(play, MESSAGE_IMPOSSIBLE);
		number++;
	}
	// The same one on two numbers.
	offer(play, number, 30, "twice");
	expect(play, MESSAGE_HAVE);
	offer(play, number + 1, 30, "twice");
	expect_refusal(play, MESSAGE_TAKEN);
	write_at(play, number, 65536 - 4, "four", 4); // just so
	say_end(play, number, 65536);
	expect(play, MESSAGE_DONE);
	assert_ok(hang_up(play));
	end(play);
}

static void test_resume(void **state)
{
	struct play *play = begin();
	struct trace_writer writer;
	const struct message *have;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_frame(&writer, 1, 0x1001, 0);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SLOT);
	trace_writer_frame(&writer, 2, 0x1002, 0);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_seal(&writer);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	write_at(play, 0, TRACE_PAGE, writer.data + TRACE_PAGE, writer.size - TRACE_PAGE);
	assert_err(hang_up(play), "before all had come");
	// The same receiver, and another one that was started since.
	for (int i = 0; i < 2; i++) {
		connect_again(play);
		offer(play, 7, 1, "server");
		have = expect(play, MESSAGE_HAVE);
		assert_int_equal(have->have.count, 2);
		assert_int_equal(message_range(have, 0).offset, TRACE_PAGE);
		assert_int_equal(message_range(have, 0).size, TRACE_PAGE);
		assert_int_equal(message_range(have, 1).offset, 3 * TRACE_PAGE);
		assert_err(hang_up(play), "before all had come");
		gather_destroy(play->gather);
		make_gather(play, 1 << 20);
	}
	connect_again(play);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	say_end(play, 0, writer.size);
	expect(play, MESSAGE_DONE);
	assert_ok(hang_up(play));
	assert_int_equal(count_files(play), 1);
	// A file that was finished is not written to.
	{
		const uint32_t flags = TRACE_FINISHED;
		int fd = open(path_of(play, STEM "server.mallow"), O_RDWR);

		assert_int_equal(pwrite(fd, &flags, 4, 72), 4);
		close(fd);
	}
	gather_destroy(play->gather);
	make_gather(play, 1 << 20);
	connect_again(play);
	offer(play, 0, 1, "server");
	expect_refusal(play, MESSAGE_COMPLETE);
	assert_ok(hang_up(play));
	trace_writer_deinit(&writer);
	end(play);
}

/*
 * A live table has no sealed chunks, and its sender does not know which pages are here. Pages that
 * became holes meanwhile must not stay.
 */
static void test_resume_table(void **state)
{
	struct play *play = begin();
	uint8_t page[TRACE_PAGE], got[TRACE_PAGE];
	static const uint8_t zeros[TRACE_PAGE];
	int fd;

	make_page(page, 1);
	((struct trace_header *)(void *)page)->flags = TRACE_LIVE;
	for (int i = 0; i < 2; i++) {
		tell(play, MESSAGE_RECORDING, 0, page, sizeof(page), "table", 5);
		expect(play, MESSAGE_HAVE);
		write_at(play, 0, i ? TRACE_PAGE : 2 * TRACE_PAGE, page, sizeof(page));
		if (i)
			break;
		assert_err(hang_up(play), "before all had come");
		connect_again(play);
	}
	say_end(play, 0, 3 * TRACE_PAGE);
	expect(play, MESSAGE_DONE);
	assert_ok(hang_up(play));
	fd = open(path_of(play, STEM "table.mallow"), O_RDONLY);
	assert_int_equal(pread(fd, got, sizeof(got), 2 * TRACE_PAGE), sizeof(got));
	assert_memory_equal(got, zeros, sizeof(got));
	close(fd);
	end(play);
}

static void test_no_room(void **state)
{
	const struct rlimit limit = {32768, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct play *play = begin();
	static const uint8_t bytes[8192];

	signal(SIGXFSZ, SIG_IGN);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	setrlimit(RLIMIT_FSIZE, &limit);
	write_at(play, 0, 32768 - 4096, bytes, sizeof(bytes));
	expect_refusal(play, MESSAGE_LATER);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	say_end(play, 0, 65536);
	expect_refusal(play, MESSAGE_LATER);
	setrlimit(RLIMIT_FSIZE, &none);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	write_at(play, 0, 32768 - 4096, bytes, sizeof(bytes));
	say_end(play, 0, 65536);
	expect(play, MESSAGE_DONE);
	assert_ok(hang_up(play));
	assert_size(play, STEM "server.mallow", 65536);
	end(play);
}

/* What somebody else puts into the directory is not followed, not written to, and does not block.
 */
static void test_traps(void **state)
{
	struct play *play = begin();
	char outside[128];

	snprintf(outside, sizeof(outside), "%s.outside", play->folder);
	assert_int_equal(symlink(outside, path_of(play, STEM "server.mallow")), 0);
	assert_int_equal(mkfifo(path_of(play, STEM "server.mallow.1"), 0600), 0);
	assert_int_equal(mkdir(path_of(play, STEM "server.mallow.2"), 0700), 0);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	assert_size(play, STEM "server.mallow.3", TRACE_PAGE);
	assert_int_equal(access(outside, F_OK), -1);
	assert_err(hang_up(play), "before all had come");
	// The recording itself, behind a symlink with a name that is found first.
	assert_int_equal(rename(path_of(play, STEM "server.mallow.3"), outside), 0);
	assert_int_equal(symlink(outside, path_of(play, "a.mallow")), 0);
	connect_again(play);
	offer(play, 0, 1, "server");
	expect(play, MESSAGE_HAVE);
	assert_size(play, STEM "server.mallow.3", TRACE_PAGE);
	assert_err(hang_up(play), "before all had come");
	unlink(outside);
	end(play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),   cmocka_unit_test(test_whole),
		cmocka_unit_test(test_rules),   cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_resume),  cmocka_unit_test(test_resume_table),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_traps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
