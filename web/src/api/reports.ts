/* What the page uses of /errors and /pools, which are reports of the command line (docs/report.schema.json). */

export interface ReportFrame {
	function: string;
	short: string;
	file: string | null;
	line: number | null;
	module: string | null;
	plumbing: boolean;
}

/** Stacks as a tree: a node is a frame and the node that called it. */
export interface ReportStacks {
	frames: ReportFrame[];
	stacks: { frame: number; parent: number | null }[];
}

/** The frames of a stack, innermost first. */
export function framesOf(report: ReportStacks, stack: number | null): ReportFrame[] {
	const frames: ReportFrame[] = [];
	for (let at = stack; at !== null && report.stacks[at]; at = report.stacks[at]!.parent) frames.push(report.frames[report.stacks[at]!.frame]!);
	return frames;
}

/** What a stack is called after: its innermost frame of the reader's own code. */
export const ownOf = (frames: ReportFrame[]): ReportFrame | null => frames.find(({ plumbing }) => !plumbing) ?? frames[0] ?? null;

export interface HeapError {
	kind: 'never_allocated' | 'double_free' | 'mismatch';
	count: number;
	freed_by: string;
	allocated_by: string | null;
	addresses: string[];
	size: number | null;
	time_s: number;
	thread: number | null;
	free_stack: number | null;
	first_free_stack: number | null;
	allocation_stack: number | null;
}

export interface PoolName {
	name: string | null;
	address: string;
	addresses: number;
}

export interface ErrorsReport extends ReportStacks {
	unjudged_frees: number;
	error_count: number;
	errors: HeapError[];
	pool_errors: { pool: PoolName; count: number; first: string; free_stack: number | null }[];
}

export interface PoolSite {
	own_peak_bytes: number;
	leaked_bytes: number;
	total_bytes: number;
	calls: number;
	stack: number;
}

export interface Pool extends PoolName {
	calls: number;
	total_bytes: number;
	peak_bytes: number;
	peak_time_s: number;
	leaked_bytes: number;
	leaked_blocks: number;
	frees: number;
	resets: number;
	implicit_frees: number;
	wrong_frees: number;
	site_count: number;
	sites: PoolSite[];
}

export interface PoolsReport extends ReportStacks {
	pool_count: number;
	all: { calls: number; total_bytes: number; peak_bytes: number; leaked_bytes: number };
	pools: Pool[];
}
