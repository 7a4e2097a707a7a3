/* A recording that is being written while it is read: a thread plays the agent. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/recording.h"
#include "check.h"
#include "trace_writer.h"

#define CHUNKS 400
#define ROOM   (4096 - 64 - 8)

struct agent {
	int fd;
	uint8_t *slot;
	atomic_uint written;
};

static void store_word(uint8_t *slot, uint32_t sequence, uint32_t committed)
{
	uint64_t word = (uint64_t)sequence << 32 | committed;

	__atomic_store_n((uint64_t *)(void *)(slot + 24), word, __ATOMIC_RELEASE);
}

/* One allocation of one byte at address + 16, one tick later: four bytes, so 1006 fill a chunk. */
static void *play_agent(void *argument)
{
	static const uint8_t record[4] = {1, 1, 4, 1};
	struct agent *agent = argument;
	off_t end = 8192;

	for (uint32_t sequence = 0; sequence < CHUNKS; sequence++) {
		struct trace_writer chunk = {0};

		for (uint32_t at = 0; at + 4 <= ROOM; at += 4) {
			memcpy(agent->slot + 64 + at, record, 4);
			store_word(agent->slot, sequence, at + 4);
			atomic_fetch_add(&agent->written, 1);
		}
		trace_writer_chunk(&chunk, 0, sequence, TRACE_WRITER_SEALED);
		trace_writer_base(&chunk, 1000 + (uint64_t)sequence * (ROOM / 4));
		for (uint32_t at = 0; at + 4 <= ROOM; at += 4)
			for (int i = 0; i < 4; i++)
				trace_writer_byte(&chunk, record[i]);
		trace_writer_seal(&chunk);
		assert_int_equal(pwrite(agent->fd, chunk.data, chunk.size, end), 4096);
		end += 4096;
		trace_writer_deinit(&chunk);
		store_word(agent->slot, sequence + 1, 0);
		uint64_t base = 1000 + (uint64_t)(sequence + 1) * (ROOM / 4);
		memcpy(agent->slot + 48, &base, 8);
	}
	return NULL;
}

static uint64_t own_start_time(void)
{
	char line[1024] = "";
	unsigned long long start = 0;
	FILE *file = fopen("/proc/self/stat", "r");

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	// The name in parentheses is this test's and holds no blank: field 22 can be counted.
	assert_int_equal(sscanf(line,
				"%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %*s %*s %llu",
				&start),
			 1);
	return start;
}

static void open_agent(struct agent *agent, char *path)
{
	struct trace_writer writer;

	trace_writer_init(&writer);
	trace_writer_poke(&writer, 48, (uint64_t)getpid(), 4);
	trace_writer_poke(&writer, 56, own_start_time(), 8);
	trace_writer_poke(&writer, 76, 0, 4);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SLOT);
	trace_writer_seal(&writer);
	agent->fd = mkstemp(path);
	assert_true(agent->fd >= 0);
	assert_int_equal(write(agent->fd, writer.data, writer.size), 8192);
	agent->slot = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, agent->fd, 4096);
	assert_ptr_not_equal(agent->slot, MAP_FAILED);
	trace_writer_deinit(&writer);
}

/* What was written before the reading began is there, without gaps, in order and without damage. */
static void check_now(struct agent *agent, const char *path)
{
	struct recording *recording;
	unsigned int before = atomic_load(&agent->written);

	assert_ok(recording_open(path, RECORDING_BLOCKS, NULL, NULL, &recording));

	unsigned int after = atomic_load(&agent->written);
	const struct recording_facts *facts = recording_facts(recording);
	const struct block_columns *blocks = recording_blocks(recording);

	assert_true(facts->writing);
	assert_false(facts->ended);
	assert_int_equal(facts->damaged_chunks, 0);
	assert_int_equal(facts->missing_chunks, 0);
	assert_in_range(facts->allocations, before, after + 1);
	for (uint64_t i = 0; i < blocks->count; i++)
		assert_int_equal(blocks->allocated_ns[i], i + 1);
	recording_close(recording);
}

static void follow(void **state)
{
	char path[] = "/tmp/mallow_follow_XXXXXX";
	struct agent agent = {.fd = -1};
	pthread_t thread;
	int readings = 0;

	open_agent(&agent, path);
	assert_int_equal(pthread_create(&thread, NULL, play_agent, &agent), 0);
	do {
		check_now(&agent, path);
		readings++;
	} while (atomic_load(&agent.written) < CHUNKS * (ROOM / 4));
	assert_int_equal(pthread_join(thread, NULL), 0);
	check_now(&agent, path);
	print_message("%d readings\n", readings);
	munmap(agent.slot, 4096);
	close(agent.fd);
	unlink(path);
}

/* A pid that was given to another process is not the writer. Whoever has the file open for writing
 * is. */
static void reused_pid(void **state)
{
	char path[] = "/tmp/mallow_follow_XXXXXX";
	struct agent agent = {.fd = -1};
	struct recording *recording;
	uint64_t other = own_start_time() - 1;

	open_agent(&agent, path);
	assert_int_equal(pwrite(agent.fd, &other, 8, 56), 8);
	// A writer whose pid says nothing, as of another container.
	assert_ok(recording_open(path, RECORDING_BLOCKS, NULL, NULL, &recording));
	assert_true(recording_facts(recording)->writing);
	recording_close(recording);
	munmap(agent.slot, 4096);
	close(agent.fd);
	assert_ok(recording_open(path, RECORDING_BLOCKS, NULL, NULL, &recording));
	assert_false(recording_facts(recording)->writing);
	recording_close(recording);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follow),
		cmocka_unit_test(reused_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
