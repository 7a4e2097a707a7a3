/*
 * What clang++ compiles in the benchmark: <regex> and <iostream>, instantiated for two character
 * types and used the way a small program would.
 */
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

template <typename Char> class Counter
{
      public:
	using String = std::basic_string<Char>;

	explicit Counter(const Char *pattern)
	    : words_(pattern, std::regex::ECMAScript | std::regex::icase)
	{
	}

	void count(const String &text)
	{
		std::regex_iterator<typename String::const_iterator> at(text.begin(), text.end(),
									words_),
			end;

		for (; at != end; ++at)
			counts_[at->str()]++;
	}

	String replaced(const String &text, const Char *by) const
	{
		return std::regex_replace(text, words_, by);
	}

	const std::map<String, int> &counts() const
	{
		return counts_;
	}

      private:
	std::basic_regex<Char> words_;
	std::map<String, int> counts_;
};

int main()
{
	Counter<char> narrow("([a-z]+)://([^/ ]+)(/[^ ]*)?");
	Counter<wchar_t> wide(L"\\b[[:alpha:]_]+[0-9]*\\b");
	std::vector<std::string> lines;
	std::string line;

	while (std::getline(std::cin, line)) {
		std::smatch match;

		narrow.count(line);
		wide.count(std::wstring(line.begin(), line.end()));
		if (std::regex_match(line, match, std::regex("(\\w+)\\s*=\\s*(.*)")))
			lines.push_back(match[1].str() + ": " + match[2].str());
	}
	for (const auto &[word, count] : narrow.counts())
		std::cout << word << ' ' << count << ' ' << narrow.replaced(word, "$2") << '\n';
	for (const auto &[word, count] : wide.counts())
		std::wcout << word << L' ' << count << L'\n';
	return lines.empty();
}
