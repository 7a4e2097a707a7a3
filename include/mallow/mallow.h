/*
 * mallow: what a program can tell its heap profiler. Optional: a program that includes this header
 * links and runs without mallow, and its calls then do nothing. C99 and C++.
 */
#ifndef MALLOW_MALLOW_H
#define MALLOW_MALLOW_H

#ifdef __cplusplus
extern "C" {
#endif

/* Of the preloaded library; NULL without it. Use the functions below instead. */
extern void mallow_api_mark(const char *name) __attribute__((weak));

/*
 * Names this moment in the recording: "loaded", "request 17". name is copied, at most 1,000 bytes
 * of it. Any thread, not from signal handlers. Does nothing while nothing is recorded.
 */
static inline void mallow_mark(const char *name)
{
	if (mallow_api_mark)
		mallow_api_mark(name);
}

#ifdef __cplusplus
}
#endif

#endif
