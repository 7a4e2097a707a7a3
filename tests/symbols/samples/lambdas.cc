/*
 * Lambdas that are inlined where they are called: each is named after the function it stands in.
 */
volatile int sum;

namespace box
{
template <class F> static inline void each(F work)
{
	work(sum);
}

struct adder {
	void add(int by)
	{
		each([by](int n) { sum = n + by; }); // AT box::adder::add(int)::{lambda}
	}
};

void fill(int by)
{
	each([](int n) { sum = n + 1; }); // AT box::fill(int)::{lambda}
	each([by](int) {
		each([by](int n) { sum = n + by; }); // AT box::fill(int)::{lambda#2}::{lambda}
		each([](auto n) { sum = n; }); // AT box::fill(int)::{lambda#2}::{lambda#2}<int>
	});
}
} // namespace box

int main()
{
	auto twice = [] { sum = sum * 2; }; // AT main::{lambda}

	twice();
	box::fill(3);
	box::adder().add(4);
	return 0;
}
