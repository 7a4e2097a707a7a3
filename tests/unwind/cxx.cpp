/* C++: stacks while exceptions are in flight, in destructors, and after they were caught. */
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "compare.h"
#include "scenes.h"

namespace
{

struct watcher {
	~watcher()
	{
		compare_stack("destructor during unwinding", COMPARE_ALL);
	}
};

__attribute__((noinline)) int throw_deep(int depth)
{
	watcher w;
	std::string text(static_cast<size_t>(depth) + 40, 'x');

	if (depth == 0)
		throw std::runtime_error(text);
	return throw_deep(depth - 1) + 1;
}

__attribute__((noinline)) int rethrow(int depth)
{
	try {
		return depth ? rethrow(depth - 1) : throw_deep(4);
	} catch (const std::exception &e) {
		compare_stack("in a catch block", COMPARE_ALL);
		throw;
	}
}

} // namespace

void scenes_cxx(void)
{
	std::vector<int> values;

	for (int i = 0; i < 10; i++) {
		try {
			values.push_back(rethrow(i));
		} catch (const std::runtime_error &e) {
			compare_stack("after catching", COMPARE_ALL);
			values.push_back(i);
		}
	}
	std::function<void(int)> nested = [&](int n) {
		compare_stack("lambda", COMPARE_ALL);
		if (n > 0)
			nested(n - 1);
		SCENE_KEEP(&n);
	};
	nested(5);
	std::sort(values.begin(), values.end(), [](int a, int b) {
		compare_stack("comparison of std::sort", COMPARE_ALL);
		return a > b;
	});
}
