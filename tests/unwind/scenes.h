/* Scenes: each runs the stack into a shape and compares there. */
#ifndef TESTS_UNWIND_SCENES_H
#define TESTS_UNWIND_SCENES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Compiled several times, by both compilers and with many options. */
void scenes_frames(void);

/* Once. */
void scenes_signals(void);
void scenes_storm(void);
void scenes_stacks(void);
void scenes_nesting(void);
void scenes_codes(const char *plugin_directory);
void scenes_registers(const char *plugin_directory);
void scenes_segments(void);
void scenes_cxx(void);

/* Keeps a call from becoming a jump, and values alive. */
#define SCENE_KEEP(p) __asm__ volatile("" : : "g"(p) : "memory")

#ifdef __cplusplus
}
#endif

#endif
