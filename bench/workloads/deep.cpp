/*
 * What clang++ compiles for the recording with deep stacks: templates that need each other,
 * twenty-two deep, each level with something of the standard library in it.
 */
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

template <int N> struct Level {
	using Below = Level<N - 1>;
	using Values = std::variant<int, std::string, std::vector<std::tuple<typename Below::Key>>>;
	struct Key {
		std::map<int, Values> values;
	};

	static auto make(const std::string &text)
	{
		auto below = Below::make(text);
		std::function<std::size_t(const Values &)> size = [](const Values &value) {
			return std::visit([](const auto &one) { return sizeof(one) + N; }, value);
		};
		return std::tuple_cat(std::make_tuple(size(Values{text})), below);
	}
};

template <> struct Level<0> {
	struct Key {
		int value;
	};

	static auto make(const std::string &text)
	{
		return std::make_tuple(std::regex(text).mark_count());
	}
};

int main(int argc, char **argv)
{
	auto all = Level<22>::make(argv[argc - 1]);

	return (int)std::get<0>(all);
}
