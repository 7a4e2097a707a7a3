/* What the page uses of /findings (docs/report.schema.json has all of it). */

export interface Finding {
	kind: string;
	sentence: string;
	bytes: number;
	confidence: 'clear' | 'likely' | 'unclear' | null;
	numbers: Record<string, number>;
	conditions: Record<string, string>;
	view: string | null;
	sort: string | null;
	function: string | null;
	short: string | null;
	file: string | null;
	line: number | null;
	module: string | null;
	stack: number | null;
}

export interface Findings {
	/** freed: what can be said of the end if all blocks of own code were freed; else empty. */
	headline: { sentence: string; second: string | null; freed: string; function: string | null; short: string | null };
	/** Memory that the program mapped itself. */
	mapped?: { peak_bytes: number; left_bytes: number; mappings: number };
	findings: Finding[];
	/** Why some could not be looked for. */
	findings_missing?: string;
}

/** The kinds that are about memory that is never freed. */
export const isNeverFreed = (finding: Finding): boolean =>
	finding.kind.startsWith('never_freed') || finding.kind === 'grows_to_teardown';
