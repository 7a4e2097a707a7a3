/* How sure a judgement of the engine is. */
#ifndef MALLOW_ANALYSIS_FINDINGS_FINDING_TRUST_H
#define MALLOW_ANALYSIS_FINDINGS_FINDING_TRUST_H

/* NONE: it is a count, not a judgement. */
enum finding_trust {
	FINDING_TRUST_NONE,
	FINDING_TRUST_CLEAR,
	FINDING_TRUST_LIKELY,
	FINDING_TRUST_UNCLEAR
};

/* "clear", "likely", "unclear"; NULL for NONE. */
const char *finding_trust_name(enum finding_trust trust);

#endif
