/* Runs all scenes; exit status 1 when one stack was wrong. argv[1]: where the plugins lie. */
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"
#include "scenes.h"

static const char *plugin_directory;

/* Called by the loader before main(): the stack's root is in ld.so. */
__attribute__((constructor)) static void start(void)
{
	compare_init();
	compare_stack("constructor", COMPARE_ALL);
}

__attribute__((destructor)) static void stop(void)
{
	compare_stack("destructor", COMPARE_ALL);
	if (compare_failures())
		abort();
}

static void run_codes(void)
{
	scenes_codes(plugin_directory);
}

static void run_registers(void)
{
	scenes_registers(plugin_directory);
}

static void run(const char *name, void (*scene)(void))
{
	unsigned long before = compare_count();

	scene();
	printf("%-10s %6lu stacks compared\n", name, compare_count() - before);
}

int main(int argc, char **argv)
{
	plugin_directory = argc > 1 ? argv[1] : ".";
	run("frames", scenes_frames);
	run("signals", scenes_signals);
	run("stacks", scenes_stacks);
	run("nesting", scenes_nesting);
	run("codes", run_codes);
	run("registers", run_registers);
	run("segments", scenes_segments);
#ifdef WITH_CXX
	run("cxx", scenes_cxx);
#endif
	run("storm", scenes_storm);
	printf("%lu cached in part, %lu failures\n", compare_kept(), compare_failures());
	return compare_failures() || compare_kept() < compare_count() / 2;
}
