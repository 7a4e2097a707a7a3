/*
 * A small server as the web interface shows it, in 1.4 s and 350,000 allocations:
 *
 *     live bytes                    ,--.          report_job: one block makes the peak
 *                            ___----|  |--.       cache_put, parse_headers: freed all at once
 *                  ____------             |  /|   read_body: drain was late
 *           _--------_____________________'''''   register_label: never freed, grows to the end
 *     mark  serving          report job  report done
 *
 * Workers pace themselves by the clock. What happens when follows from how many requests are done,
 * so the picture is the same on a slow machine, and each count is the same in every run.
 *
 * EXPECT load_table: calls=3504 leaked_blocks=73
 * EXPECT handle: calls=345631 leaked_blocks=36000
 * EXPECT parse_headers: calls=216000 leaked_blocks=13500 leaked_bytes=927330
 * EXPECT cache_put: calls=36000 leaked_blocks=4500
 * EXPECT register_label: calls=18000 total_bytes=7164000 leaked_blocks=18000 leaked_bytes=7164000
 * EXPECT read_body: calls=75631 total_bytes=217843200 leaked_blocks=0
 * EXPECT report_job: calls=20 leaked_blocks=0
 */
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include "mallow/mallow.h"
#include "sample.h"

enum {
	WORKERS = 3,
	REQUESTS = 18000, /* of all workers */
	RUN_US = 1350000,
	BATCH = 20, /* requests between two looks at the clock */
	REPORT_BYTES = 31500000,
	QUEUED = 400, /* bodies that drain leaves for a while */
};

/* Thousandths of the requests. */
enum {
	REPORT_BEGINS = 400,
	REPORT_LOADS = 440,
	REPORT_ENDS = 550,
	EVICTS = 660,
	LATE = 900,
	CATCHES_UP = 970,
};

using headers = std::map<std::string, std::string>;

struct session {
	session *next;
	headers fields;
	std::vector<char> answer;
};

/* Linked, so that to queue is no allocation. */
struct body {
	body *next;
};

struct cache {
	std::mutex lock;
	session *first;
	bool closed;
};

static std::chrono::steady_clock::time_point begin;
static std::atomic<int> done;
static cache sessions;
static session *pinned; /* forgotten here */
static char *kept_rows[73];
static std::mutex queue_lock;
static body *queue_first, **queue_last = &queue_first;
static int queued;

static int thousandths(void)
{
	return done * 1000 / REQUESTS;
}

static void wait_for(int part)
{
	while (thousandths() < part)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/* Each row in 48 stays, and with it the pages around it. */
static NOINLINE void load_table(void)
{
	static char *rows[73 * 48];
	int count = 0;

	for (char *&row : rows) {
		row = (char *)keep(malloc(160 + count++ % 48));
		memset(row, 1, 160);
	}
	for (int i = 0; i < count; i++) {
		if (i % 48 == 0)
			kept_rows[i / 48] = rows[i];
		else
			free(rows[i]);
	}
	STAY();
}

static NOINLINE void parse_headers(int number, headers &fields)
{
	static const char *const names[] = {"host", "user-agent", "cookie"};

	for (const char *name : names) {
		std::string line = std::string(name) + ": the value of this header in request ";

		line += std::to_string(number);
		fields[name] = line.substr(strlen(name) + 2);
	}
	STAY();
}

static NOINLINE void cache_put(headers &&fields, int number)
{
	std::vector<char> answer(1400 + number % 17 * 97);
	session *entry = new session{nullptr, std::move(fields), std::move(answer)};
	std::lock_guard<std::mutex> guard(sessions.lock);

	if (number % 8 == 0) {
		entry->next = pinned;
		pinned = entry;
	} else if (!sessions.closed) {
		entry->next = sessions.first;
		sessions.first = entry;
	} else {
		delete entry;
	}
	STAY();
}

static NOINLINE void register_label(void)
{
	void *label = keep(malloc(398));

	memset(label, 1, 398);
	STAY();
}

/* As bytes come, without knowing how many. */
static NOINLINE body *read_body(int number)
{
	size_t length = 2000 + (size_t)number * 7919 % 14000, room = 64;
	char *text = (char *)keep(malloc(room));

	while (room < length) {
		room *= 2;
		text = (char *)keep(realloc(text, room));
	}
	memset(text, 1, length);
	STAY();
	return (body *)text;
}

static NOINLINE void handle(int number)
{
	headers fields;

	parse_headers(number, fields);
	cache_put(std::move(fields), number);
	register_label();
	if (number % 2 == 0) {
		body *text = read_body(number);
		std::lock_guard<std::mutex> guard(queue_lock);

		text->next = nullptr;
		*queue_last = text;
		queue_last = &text->next;
		queued++;
	}
	STAY();
}

static NOINLINE void worker(int self)
{
	pthread_setname_np(pthread_self(), ("worker-" + std::to_string(self)).c_str());
	for (int i = self; i < REQUESTS; i += WORKERS) {
		if (i / WORKERS % BATCH == 0)
			std::this_thread::sleep_until(
				begin + std::chrono::microseconds((int64_t)RUN_US * i / REQUESTS));
		handle(i);
		done++;
	}
	STAY();
}

static NOINLINE void evict(void)
{
	session *first;
	{
		std::lock_guard<std::mutex> guard(sessions.lock);

		first = sessions.first;
		sessions.closed = true;
	}
	while (first) {
		session *next = first->next;

		delete first;
		first = next;
	}
	STAY();
}

static NOINLINE void free_bodies(int but)
{
	for (;;) {
		body *oldest;
		{
			std::lock_guard<std::mutex> guard(queue_lock);

			if (queued <= but)
				break;
			oldest = queue_first;
			queue_first = oldest->next;
			if (!queue_first)
				queue_last = &queue_first;
			queued--;
		}
		free(oldest);
	}
	STAY();
}

/* Frees what the workers allocated. */
static NOINLINE void drain(void)
{
	bool evicted = false;

	pthread_setname_np(pthread_self(), "drain");
	while (done < REQUESTS) {
		int part = thousandths();

		if (part < LATE || part >= CATCHES_UP)
			free_bodies(QUEUED);
		if (part >= EVICTS && !evicted) {
			evict();
			evicted = true;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	}
	free_bodies(0);
	STAY();
}

static NOINLINE void report_job(void)
{
	std::string lines;

	for (int i = 0; i < 300000; i++)
		lines += "a line of report";
	wait_for(REPORT_LOADS);

	char *table = (char *)keep(malloc(REPORT_BYTES));

	// Touched bit by bit.
	for (int i = 0; i < 20; i++) {
		wait_for(REPORT_LOADS + i * (REPORT_ENDS - REPORT_LOADS) / 20);
		memset(table + (size_t)i * (REPORT_BYTES / 20), 1, REPORT_BYTES / 20);
	}
	wait_for(REPORT_ENDS);
	free(table);
	STAY();
}

int main()
{
	std::vector<std::thread> threads;

	load_table();
	begin = std::chrono::steady_clock::now();
	mallow_mark("serving");
	for (int i = 0; i < WORKERS; i++)
		threads.emplace_back(worker, i);
	threads.emplace_back(drain);
	wait_for(REPORT_BEGINS);
	mallow_mark("report job");
	report_job();
	mallow_mark("report done");
	for (std::thread &thread : threads)
		thread.join();
	return 7;
}
