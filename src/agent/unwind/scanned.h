/*
 * Rules of code that has no unwind tables, by reading it (cfi/scan.h). For architectures whose
 * libraries have few: elsewhere such code is followed by its frame pointers.
 */
#ifndef MALLOW_AGENT_UNWIND_SCANNED_H
#define MALLOW_AGENT_UNWIND_SCANNED_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/unwind_rule.h"

/*
 * Finds the rule of pc, a return address, and keeps those of its function's other calls. Its kind
 * is RULE_GUESS where no way leads to pc, or the function does not name its start. false: its
 * function is not found, or nothing is known there. Only for a caller that runs by
 * unwind_run_slow().
 */
bool scanned_find_rule(uint64_t pc, struct unwind_rule *ret);

/* Where the frame of pc keeps another register of its caller. false: as above. */
bool scanned_find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset);

/* Code in [start, end) is gone. */
void scanned_forget(uint64_t start, uint64_t end);

/* forbidden: from now on no system calls, so no memory to read by: nothing is found. */
void scanned_forbid(bool forbidden);

#endif
