/*
 * Cases of a switch that return by themselves. The table of their addresses is all that leads to
 * most of them, so without unwind tables the way out of these is a guess.
 *
 * EXPECT choose: calls=70 total_bytes=28000 leaked_blocks=70
 */
#include "sample.h"

static NOINLINE int choose(int n, const volatile int *v)
{
	switch (n) {
	case 0:
		keep(malloc(100));
		return v[0];
	case 1:
		keep(malloc(200));
		return v[1] * 3;
	case 2:
		keep(malloc(300));
		return v[2] + v[1];
	case 3:
		keep(malloc(400));
		return v[3] - v[0] * v[1];
	case 4:
		keep(malloc(500));
		return v[5] / v[3];
	case 5:
		keep(malloc(600));
		return v[6];
	case 6:
		keep(malloc(700));
		return v[6] % v[7];
	}
	return 0;
}

int main(void)
{
	static const volatile int values[] = {1, 2, 3, 4, 5, 6, 7, 8};
	int sum = 0;

	for (int i = 0; i < 70; i++)
		sum += choose(i % 7, values);
	puts(sum ? "ok" : "?");
	return 7;
}
