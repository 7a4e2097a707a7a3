/* Of the reports of the command line (REPORT of answer.def): stacks, and what findings are about. */
import type { Finding, Pools, ReportFrame } from './generated';

/** Stacks as a tree. */
export type ReportStacks = Pick<Pools, 'frames' | 'stacks'>;

/** The frames of a stack, innermost first. */
export function framesOf(report: ReportStacks, stack: number | null): ReportFrame[] {
	const frames: ReportFrame[] = [];
	for (let at = stack; at !== null && report.stacks[at]; at = report.stacks[at]!.parent) frames.push(report.frames[report.stacks[at]!.frame]!);
	return frames;
}

/** What a stack is called after: its innermost frame of the reader's own code. */
export const ownOf = (frames: ReportFrame[]): ReportFrame | null => frames.find(({ plumbing }) => !plumbing) ?? frames[0] ?? null;

/** Of a kind that is about memory that is never freed. */
export const isNeverFreed = ({ kind }: Finding): boolean => kind.startsWith('never_freed') || kind === 'grows_to_teardown';
