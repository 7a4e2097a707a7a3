/*
 * What a program can tell mallow: names of moments, tags of allocations, and what to record.
 *
 *	cc -Iinclude -o marks examples/marks.c && mallow run ./marks
 *
 * Nothing is linked. Without mallow the calls do nothing: ./marks runs as well.
 */
#include <mallow/mallow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request keeps some of its memory: report tells which, by site; blocks carry the tag. */
static char *serve(uint32_t request)
{
	char *answer;
	char *scratch;

	mallow_set_tag(request);
	scratch = (char *)malloc(100000);
	answer = (char *)malloc(1000 * request);
	if (!answer || !scratch)
		exit(1);
	memset(scratch, 'x', 100000);
	memcpy(answer, scratch, 1000 * request);
	free(scratch);
	mallow_set_tag(0);
	return answer;
}

int main(void)
{
	char name[32];
	char *answers[4];
	uint32_t i;

	puts(mallow_is_running() ? "recorded by mallow" : "without mallow");
	mallow_mark("read");
	for (i = 1; i <= 3; i++) {
		answers[i] = serve(i);
		sprintf(name, "request %u", (unsigned int)i);
		mallow_mark(name);
	}

	/* What comes now is nobody's interest; frees of recorded blocks are still recorded. */
	mallow_stop();
	for (i = 0; i < 1000; i++)
		free(malloc(i + 1));
	free(answers[1]);
	mallow_start();

	free(answers[2]);
	mallow_mark("done");
	return 0;
}
