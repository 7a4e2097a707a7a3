/*
 * A cache that never drops a session, and callers that churn: Cache::put grows to the end, in
 * overloads of one name, in a constructor, in a map and in strings. "clean" drops all at the end.
 * tests/e2e/tool/test_findings.py has what is to be found.
 */
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sample.h"

struct Session {
	std::vector<char> buffer;

	NOINLINE explicit Session(std::size_t size) : buffer(size)
	{
		STAY();
	}
};

struct Cache {
	std::map<std::string, std::shared_ptr<Session>> sessions;

	NOINLINE void put(const std::string &key, std::size_t size)
	{
		sessions[key] = std::make_shared<Session>(size);
		STAY();
	}

	/* Only passes on; the other one must not be taken for it. */
	NOINLINE void put(int key)
	{
		put("a session with a long name, number " + std::to_string(key), 800);
		STAY();
	}
};

static NOINLINE std::size_t churn()
{
	std::size_t sum = 0;

	for (int i = 0; i < 100; i++)
		sum += std::string(100 + i, 'x').size();
	STAY();
	return sum;
}

static NOINLINE void serve(Cache &cache, int tick)
{
	for (int i = 0; i < 10; i++)
		cache.put(tick * 10 + i);
	churn();
	STAY();
}

int main(int count, char **)
{
	Cache *cache = new Cache;

	for (int tick = 0; tick < 160; tick++) {
		serve(*cache, tick);
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	if (count > 1)
		delete cache;
	return 7;
}
