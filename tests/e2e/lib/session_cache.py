"""A C++ cache of sessions: own code that allocates by constructors, templates and containers."""

# Allocates in Session's constructor (a vector), and in Cache::put (a map's node, a string, make_shared).
SESSION_CACHE = """
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Session {
	std::vector<char> buffer;
	explicit Session(size_t size) : buffer(size) {}
};
struct Cache {
	std::map<std::string, std::shared_ptr<Session>> all;
	__attribute__((noinline)) void put(int number)
	{
		all["session number " + std::to_string(number)] = std::make_shared<Session>(2000);
	}
};
"""
