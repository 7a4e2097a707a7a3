// The program of the README's tour: an index of words that keeps more than it needs.
//   g++ -g -O1 -o tour examples/tour.cpp && ./tour docs/*.md
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

struct Place {
	std::string file;
	int line;
};

static std::map<std::string, std::vector<Place>> words;

// Every place keeps a copy of the file's name: that is the bloat.
static void remember(const std::string &word, const std::string &file, int line)
{
	words[word].push_back({file, line});
}

static char *normalise(const std::string &word)
{
	char *copy = new char[word.size() + 1];
	size_t length = 0;

	for (unsigned char c : word)
		if (isalnum(c))
			copy[length++] = static_cast<char>(tolower(c));
	copy[length] = '\0';
	return copy; // nobody deletes it: that is the leak
}

static void index_file(const std::string &name)
{
	std::ifstream file(name);
	std::string line, word;

	for (int number = 1; std::getline(file, line); number++) {
		size_t start = 0;

		while (start < line.size()) {
			size_t end = std::min(line.find(' ', start), line.size());

			word = normalise(line.substr(start, end - start));
			if (!word.empty())
				remember(word, name, number);
			start = end + 1;
		}
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		index_file(argv[i]);
	std::cout << words.size() << " words\n";
	words.clear();
}
