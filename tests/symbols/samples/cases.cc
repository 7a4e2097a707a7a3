// C++ for the symbolizer: templates, inlined functions, lambdas, virtual functions, constructors,
// clones, nested namespaces and a local class.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

volatile int sink;

namespace shapes
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	std::string name;
};

struct square : shape {
	explicit square(double side) : side(side)
	{
		name = "square" + std::to_string(side);
	}
	double area() const override
	{
		return side * side;
	}
	double side;
};

namespace
{
struct circle : shape {
	explicit circle(double radius) : radius(radius)
	{
		name.assign(radius > 100 ? "large" : "small");
	}
	double area() const override
	{
		return radius * radius * 3.14;
	}
	double radius;
};
} // namespace
} // namespace shapes

template <typename T, int N> struct ring {
	T items[N];
	int at = 0;
	void push(const T &item)
	{
		items[at++ % N] = item;
	}
	T sum() const
	{
		return std::accumulate(items, items + N, T());
	}
};

template <typename F> __attribute__((noinline)) int apply(F function, int x)
{
	return function(x) + sink;
}

static inline __attribute__((always_inline)) void inner(int x)
{
	sink = x * 7; // AT inner
}

struct worker {
	__attribute__((always_inline)) void middle(int x)
	{
		sink = sink + 1;
		inner(x + 1); // AT middle
		sink = sink - 1;
	}
};

__attribute__((noinline)) void outer(int x)
{
	worker w;
	sink = sink + x;
	w.middle(x + 2); // AT outer
	sink = sink - x;
}

__attribute__((noinline)) std::map<std::string, std::vector<std::vector<int>>>
make_map(const std::string &key, int count)
{
	struct filler {
		int next = 0;
		std::vector<int> operator()(int size)
		{
			std::vector<int> row(size);
			for (auto &value : row)
				value = next++;
			return row;
		}
	} fill;
	std::map<std::string, std::vector<std::vector<int>>> result;
	for (int i = 0; i < count; i++)
		result[key + std::to_string(i)].push_back(fill(i));
	return result;
}

__attribute__((noinline)) void may_throw(int x)
{
	if (x == 4242)
		throw std::runtime_error("unlikely");
	std::vector<std::unique_ptr<shapes::shape>> all;
	all.emplace_back(new shapes::square(x));
	all.emplace_back(new shapes::circle(x));
	std::sort(all.begin(), all.end(),
		  [](const auto &a, const auto &b) { return a->area() < b->area(); });
	for (const auto &one : all)
		sink = sink + (int)one->area() + (int)one->name.size();
}

int main(int argc, char **)
{
	ring<int, 8> numbers{};
	ring<double, 4> doubles{};

	outer(argc);
	for (int i = 0; i < argc + 8; i++) {
		numbers.push(i);
		doubles.push(i * 0.5);
	}
	may_throw(argc);
	auto twice = apply([](int x) { return x * 2; }, argc);
	auto captured = apply([&](int x) { return x + numbers.sum() + (int)doubles.sum(); }, argc);

	return twice + captured + (int)make_map("key", argc).size();
}
