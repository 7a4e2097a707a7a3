/*
 * What heaptrace does with each allocation, to be preloaded: no distribution has heaptrace itself.
 * By its documents and its published source: the stack by backtrace(), eight frames of it; a map of
 * stacks, in which an allocation's is looked up twice, and a map of live blocks, both under one
 * lock; a thread-local variable of the model that -fPIC gives; the ten largest at the end, with
 * names. Without its hooks for operator new and delete, which would come here by malloc and free.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <map>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace
{

constexpr int depth = 8;
using Stack = std::array<void *, depth>;

struct Sums {
	size_t count, peak_count, size, peak_size;
	std::chrono::steady_clock::time_point born;
};

struct Block {
	Stack stack;
	size_t size;
};

std::recursive_mutex lock;
std::map<Stack, Sums> *stacks;
std::map<void *, Block> *blocks;
thread_local bool inside;
bool ended;

void *(*real_malloc)(size_t);
void (*real_free)(void *);
void *(*real_calloc)(size_t, size_t);
void *(*real_realloc)(void *, size_t);

char early[4096]; // dlsym() allocates before there is a calloc
size_t early_used;

template <typename Function> void find(Function &function, const char *name)
{
	function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void resolve()
{
	if (real_malloc)
		return;
	inside = true;
	find(real_calloc, "calloc");
	find(real_realloc, "realloc");
	find(real_free, "free");
	find(real_malloc, "malloc");
	void *frame;
	backtrace(&frame, 1); // loads libgcc_s
	stacks = new std::map<Stack, Sums>;
	blocks = new std::map<void *, Block>;
	inside = false;
}

void record(void *block, size_t size)
{
	if (!block || inside || ended)
		return;
	inside = true;
	Stack stack{};
	backtrace(stack.data(), depth);
	{
		std::lock_guard<std::recursive_mutex> guard(lock);
		if (stacks->find(stack) == stacks->end())
			(*stacks)[stack].born = std::chrono::steady_clock::now();
		Sums &sums = (*stacks)[stack];
		sums.peak_count = std::max(sums.peak_count, ++sums.count);
		sums.peak_size = std::max(sums.peak_size, sums.size += size);
		(*blocks)[block] = {stack, size};
	}
	inside = false;
}

void release(void *block)
{
	if (!block || inside || ended)
		return;
	inside = true;
	{
		std::lock_guard<std::recursive_mutex> guard(lock);
		auto found = blocks->find(block);
		if (found != blocks->end()) {
			auto sums = stacks->find(found->second.stack);
			sums->second.size -= found->second.size;
			if (!--sums->second.count)
				stacks->erase(sums);
			blocks->erase(found);
		}
	}
	inside = false;
}

__attribute__((destructor)) void report()
{
	resolve();
	inside = ended = true;
	const char *path = getenv("HEAPTRACE_WAY_OUTFILE");
	FILE *file = path ? fopen(path, "a") : nullptr;
	if (!file)
		return;
	std::vector<std::pair<Stack, Sums>> sorted(stacks->begin(), stacks->end());
	std::sort(sorted.begin(), sorted.end(),
		  [](const auto &a, const auto &b) { return a.second.size > b.second.size; });
	for (size_t i = 0; i < sorted.size() && i < 10; i++) {
		char **names = backtrace_symbols(sorted[i].first.data(), depth);
		fprintf(file, "%zu/%zu %zu/%zu\n", sorted[i].second.count,
			sorted[i].second.peak_count, sorted[i].second.size,
			sorted[i].second.peak_size);
		for (int j = 0; j < depth && sorted[i].first[j]; j++)
			fprintf(file, "%s\n", names[j]);
	}
	fclose(file);
}

} // namespace

extern "C" {

void *malloc(size_t size)
{
	resolve();
	void *block = real_malloc(size);
	record(block, size);
	return block;
}

void *calloc(size_t count, size_t size)
{
	if (!real_calloc && inside) {
		void *block = early + early_used;
		early_used += (count * size + 15) & ~size_t(15);
		return early_used <= sizeof(early) ? block : nullptr;
	}
	resolve();
	void *block = real_calloc(count, size);
	record(block, count * size);
	return block;
}

void *realloc(void *old, size_t size)
{
	resolve();
	release(old);
	void *block = real_realloc(old, size);
	record(block, size);
	return block;
}

void free(void *block)
{
	if (block >= early && block < early + sizeof(early))
		return;
	resolve();
	release(block);
	real_free(block);
}
}
