/*
 * The brush: the one moment or range that rules every page, and the conditions that it stands for.
 * Times are nanoseconds since the recording's start.
 */

/** What a range means: docs in MODE_WORDS. A moment has from === to. */
export type BrushMode = 'moment' | 'kept' | 'allocated' | 'freed' | 'grew' | 'peak';

export interface Brush {
	mode: BrushMode;
	from: number;
	to: number;
	/** Of mode peak: when most was live in the range, once that is known. */
	peak?: number;
}

/** The modes of a range in the order of the key `v`, and what a chip says. */
export const RANGE_MODES: BrushMode[] = ['kept', 'allocated', 'freed', 'grew', 'peak'];
export const MODE_WORDS: Record<BrushMode, string> = {
	moment: 'live at this moment',
	kept: 'allocated here, alive at its end',
	allocated: 'allocated here',
	freed: 'freed here',
	grew: 'what grew here',
	peak: 'most live in here',
};

const at = (ns: number) => `${Math.round(ns)}ns`;

/** Conditions by their names in docs/filter.md; those with `b.` are of the side before. */
export function brushConditions(brush: Brush | null): Record<string, string> {
	if (!brush) return {};
	const from = at(brush.from);
	const to = at(brush.to);
	switch (brush.mode) {
		case 'moment':
			return { alive_at: to };
		case 'kept':
			return { from, to, lifetime: 'only_not_deallocated_in_current_range' };
		case 'allocated':
			return { from, to };
		case 'freed':
			return { freed_from: from, freed_to: to };
		case 'grew':
			return { alive_at: to, 'b.alive_at': from };
		case 'peak':
			return { alive_at: at(brush.peak ?? brush.to) };
	}
}

/** As it stands in the address: `moment:5ns`, `kept:5ns..9ns`. */
export function formatBrush(brush: Brush): string {
	if (brush.mode === 'moment') return `moment:${at(brush.to)}`;
	return `${brush.mode}:${at(brush.from)}..${at(brush.to)}`;
}

/** null: it is no such text. */
export function parseBrush(text: string): Brush | null {
	const found = /^(\w+):(\d+)ns(?:\.\.(\d+)ns)?$/.exec(text);
	if (!found) return null;
	const mode = found[1] as BrushMode;
	const from = Number(found[2]);
	if (mode === 'moment') return found[3] ? null : { mode, from, to: from };
	if (!RANGE_MODES.includes(mode) || !found[3] || Number(found[3]) < from) return null;
	return { mode, from, to: Number(found[3]) };
}
