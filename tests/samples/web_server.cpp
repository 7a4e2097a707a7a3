/*
 * A server as the web interface shows it: labels that are never freed and grow to the end, a cache,
 * request bodies grown by realloc, a report of one large block that makes the peak, a thread that
 * frees what others allocated, and marks between.
 *
 * EXPECT register_label: calls=3000 total_bytes=1200000 leaked_blocks=3000 leaked_bytes=1200000
 * EXPECT report_job: calls=1 total_bytes=8000000 leaked_blocks=0
 * EXPECT read_body: calls=12000 leaked_blocks=0
 */
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "mallow/mallow.h"
#include "sample.h"

static const int requests = 1000, workers = 3;

static std::mutex queue_lock;
static std::vector<void *> queue; /* bodies that drain frees */
static std::atomic<int> working{workers};

static NOINLINE void register_label(void)
{
	void *label = keep(malloc(400));

	memset(label, 1, 400);
	STAY();
}

static NOINLINE void *read_body(int number)
{
	char *body = (char *)keep(malloc(64));

	for (size_t size = 256; size <= 16384; size *= 8)
		body = (char *)keep(realloc(body, size));
	body = (char *)keep(realloc(body, 1024 + number % 512));
	memset(body, 1, 1024);
	STAY();
	return body;
}

static NOINLINE std::string parse_headers(int number)
{
	std::string name("x-request-header-that-is-long-enough-");

	name += std::to_string(number);
	STAY();
	return name;
}

struct cache {
	std::vector<std::unique_ptr<std::vector<char>>> entries;
};

static NOINLINE void cache_put(struct cache *cache, int number)
{
	cache->entries.push_back(std::make_unique<std::vector<char>>(600 + number % 64));
	STAY();
}

static NOINLINE void handle(struct cache *cache, int number)
{
	size_t sum = 0;

	for (int i = 0; i < 4; i++)
		sum += parse_headers(number + i).size();
	cache_put(cache, number);
	register_label();
	{
		std::lock_guard<std::mutex> guard(queue_lock);
		queue.push_back(read_body(number));
	}
	REQUIRE(sum > 0);
	STAY();
}

static NOINLINE void worker(int self)
{
	struct cache cache;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", self);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < requests; i++) {
		handle(&cache, i);
		if (i % 20 == 0)
			std::this_thread::sleep_for(std::chrono::milliseconds(8));
	}
	working--;
	STAY();
}

static NOINLINE void drain(void)
{
	pthread_setname_np(pthread_self(), "drain");
	for (bool last = false; !last;) {
		std::vector<void *> taken;

		last = working == 0;
		std::this_thread::sleep_for(std::chrono::milliseconds(4));
		{
			std::lock_guard<std::mutex> guard(queue_lock);
			taken.swap(queue);
		}
		for (void *body : taken)
			free(body);
	}
	STAY();
}

static NOINLINE void report_job(void)
{
	char *rows = (char *)keep(malloc(8000000));

	memset(rows, 1, 8000000);
	std::this_thread::sleep_for(std::chrono::milliseconds(60));
	free(rows);
	STAY();
}

int main()
{
	std::vector<std::thread> threads;

	mallow_mark("serving");
	for (int i = 0; i < workers; i++)
		threads.emplace_back(worker, i);
	threads.emplace_back(drain);
	std::this_thread::sleep_for(std::chrono::milliseconds(200));
	mallow_mark("report job");
	report_job();
	mallow_mark("report done");
	for (std::thread &thread : threads)
		thread.join();
	return 7;
}
