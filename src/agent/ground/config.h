/* The settings as the program's environment gives them. Read once, before anything is recorded. */
#ifndef MALLOW_AGENT_GROUND_CONFIG_H
#define MALLOW_AGENT_GROUND_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "settings/settings.h"

struct config {
	uint64_t value[SETTING_COUNT];   /* of settings that are no text */
	const char *text[SETTING_COUNT]; /* of text settings; in the environment or static */
	const char *registry;            /* MALLOW_REGISTRY, or NULL: trace/registry.h */
	bool waits;                      /* linked into a program; no recording was asked for */
	bool unseen;  /* waits for ever, because link_map_is_before_libc() is false */
	char *parent; /* MALLOW_PARENT: 32 hex digits, overwritten in place for children; or NULL */
	uint8_t parent_id[16]; /* as it was at the start; zero: none */
};

extern struct config config hidden;

/* false: too early, there is no environment yet. */
bool config_read(void);

/* Prints once why nothing will be recorded. Only where config.unseen. */
void config_say_unseen(void);

static inline bool config_stackless(void)
{
	return config.value[SETTING_BACKTRACE] == SETTING_BACKTRACE_NONE;
}

/* MODE=live: the live table, no events. */
static inline bool config_is_live(void)
{
	return config.value[SETTING_MODE] == SETTING_MODE_LIVE;
}

/*
 * Whether the settings say where to send the recording. If config.registry is set, `mallow run` or
 * `mallow live` sends it; else a process of the tool that the agent starts.
 */
static inline bool config_streams(void)
{
	return config.value[SETTING_BROADCAST] || *config.text[SETTING_CONNECT] ||
	       *config.text[SETTING_LISTEN];
}

/* FREE_STACKS, where there are stacks at all. */
static inline bool config_free_stacks(void)
{
	return config.value[SETTING_FREE_STACKS] && !config_stackless();
}

/* Whether a recorded program started this one. Then wrong settings were reported there already. */
bool config_is_child(void);

/*
 * The environment as it is now. Before the C library has set `environ` these are the words above
 * the program's arguments on the first stack, at which glibc will point `environ`. NULL: not known
 * yet.
 */
char **config_variables(void);

/*
 * Whether "NAME=value" is for the agent and what it starts: every MALLOW_… except MALLOW_TOKEN. The
 * token is a secret of `mallow serve`, or of a sender of recordings. Only the tool may need it.
 */
bool config_is_ours(const char *entry);

/* The value of a variable in the environment, or NULL. */
const char *config_environment(const char *name);

/* Overwrites 32 hex digits with those of the id. */
void config_write_id(char *digits, const uint8_t id[16]);

/* Writes the id into MALLOW_PARENT, if that exists, so that children know their parent. */
void config_publish_id(const uint8_t id[16]);

/* Whether an entry of LD_PRELOAD, length bytes long, names this library. */
bool config_is_our_library(const char *entry, size_t length);

/* Whether any entry of the list does. list: LD_PRELOAD's value, or NULL. */
bool config_preloads_us(const char *list);

/*
 * Takes this library out of a list like LD_PRELOAD's, in place. The other entries stay. Returns
 * whether the list is empty now.
 */
bool config_strip_preload(char *list);

/* FOLLOW=0: takes our own entry of LD_PRELOAD out of the environment. The user's others stay. */
void config_hide_preload(void);

#endif
