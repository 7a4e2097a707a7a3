/*
 * The eight operators new and the twelve operators delete, each once and by name.
 *
 * EXPECT all_new: calls=8 total_bytes=360 leaked_blocks=0 leaked_bytes=0
 * EXPECT all_new: entry=operator_new:1 entry=operator_new[]:1 entry=operator_new(nothrow):1
 * EXPECT all_new: entry=operator_new[](nothrow):1 entry=operator_new(aligned):1
 * EXPECT all_new: entry=operator_new[](aligned):1 entry=operator_new(aligned,nothrow):1
 * EXPECT all_new: entry=operator_new[](aligned,nothrow):1
 * EXPECT more_new: calls=4 leaked_blocks=0
 * EXPECT leak_objects: calls=3 total_bytes=132 leaked_blocks=3 leaked_bytes=132
 * EXPECT use_containers: leaked_blocks=0 leaked_bytes=0
 */
#include "sample.h"

#include <map>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Line {
	char bytes[64];
};

static void *blocks[12];

static NOINLINE void all_new()
{
	const std::align_val_t align{64};

	blocks[0] = keep(::operator new(10));
	blocks[1] = keep(::operator new[](20));
	blocks[2] = keep(::operator new(30, std::nothrow));
	blocks[3] = keep(::operator new[](40, std::nothrow));
	blocks[4] = keep(::operator new(50, align));
	blocks[5] = keep(::operator new[](60, align));
	blocks[6] = keep(::operator new(70, align, std::nothrow));
	blocks[7] = keep(::operator new[](80, align, std::nothrow));
	STAY();
}

static NOINLINE void more_new()
{
	const std::align_val_t align{64};

	blocks[8] = keep(::operator new(10));
	blocks[9] = keep(::operator new[](20));
	blocks[10] = keep(::operator new(30, align));
	blocks[11] = keep(::operator new[](40, align));
	STAY();
}

static NOINLINE void all_delete()
{
	const std::align_val_t align{64};

	::operator delete(blocks[0]);
	::operator delete[](blocks[1]);
	::operator delete(blocks[2], std::nothrow);
	::operator delete[](blocks[3], std::nothrow);
	::operator delete(blocks[4], align);
	::operator delete[](blocks[5], align);
	::operator delete(blocks[6], align, std::nothrow);
	::operator delete[](blocks[7], align, std::nothrow);
	::operator delete(blocks[8], std::size_t(10));
	::operator delete[](blocks[9], std::size_t(20));
	::operator delete(blocks[10], std::size_t(30), align);
	::operator delete[](blocks[11], std::size_t(40), align);
	::operator delete(nullptr);
	STAY();
}

static NOINLINE void leak_objects()
{
	keep(new int(4));
	keep(new Line);
	keep(new char[64]);
	STAY();
}

static NOINLINE void use_containers()
{
	std::vector<int> numbers;
	std::map<int, std::string> names;

	for (int i = 0; i < 1000; i++) {
		numbers.push_back(i);
		names[i] = std::string(100, 'x');
	}
	keep(&numbers);
	keep(&names);
}

int main()
{
	all_new();
	more_new();
	all_delete();
	leak_objects();
	use_containers();
	puts("ok");
	return 7;
}
