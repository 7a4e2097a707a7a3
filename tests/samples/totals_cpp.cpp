/*
 * A deterministic C++ program of one thread, for comparing totals with other profilers. It asks for
 * no object of 0 bytes: of that, operator new makes malloc(1), and profilers differ in what they
 * see.
 */
#include "sample.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

int main()
{
	std::map<int, std::string> words;
	std::vector<std::unique_ptr<int[]>> arrays;

	for (int i = 0; i < 20000; i++) {
		words[i * 7919 % 5000] = std::string(static_cast<size_t>(i % 300), 'x');
		if (i % 4 == 0)
			arrays.push_back(std::make_unique<int[]>(static_cast<size_t>(i % 100 + 1)));
		if (i % 3 == 0)
			words.erase(i % 5000);
	}
	for (int i = 0; i < 100; i++)
		keep(new std::string(100, 'y')); /* leaked, object and text */
	keep(&words);
	keep(&arrays);
	return 0;
}
