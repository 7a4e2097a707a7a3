/* The cost of each line of a source file, out of /sums?by=line. */
import type { SumsTable } from '../api/generated';
import type { SumColumn } from '../charts/bars';

export interface Cost {
	own: number;
	inclusive: number;
}

/** Lines of one file by their number. */
export function costsOf(own: SumsTable | null, inclusive: SumsTable | null, file: string, column: SumColumn): Map<number, Cost> {
	const costs = new Map<number, Cost>();
	const add = (sums: SumsTable | null, which: keyof Cost) => {
		const keys = sums?.keys[0];
		if (!sums || !keys) return;
		sums.key.forEach((key, row) => {
			const line = keys.line?.[key ?? -1];
			if (keys.file?.[key ?? -1] !== file || !line) return;
			const cost = costs.get(line) ?? { own: 0, inclusive: 0 };
			cost[which] += sums[column][row] ?? 0;
			costs.set(line, cost);
		});
	};
	add(own, 'own');
	add(inclusive, 'inclusive');
	return costs;
}

export interface SourceLine {
	number: number;
	/** null: the text is not here. */
	text: string | null;
	cost: Cost | null;
}

/** All lines of a text; without one those that cost something. */
export function linesOf(text: string[] | null, costs: Map<number, Cost>): SourceLine[] {
	const costly = [...costs].filter(([, cost]) => cost.own || cost.inclusive).sort(([a], [b]) => a - b);
	if (!text) return costly.map(([number, cost]) => ({ number, text: null, cost }));
	const lines: SourceLine[] = text.map((line, i) => ({ number: i + 1, text: line, cost: costs.get(i + 1) ?? null }));
	// Of a text that has become shorter the costs of lines that are gone.
	for (const [number, cost] of costly) if (number > text.length) lines.push({ number, text: null, cost });
	return lines;
}

/** A file in an editor: {path} and {line} of a pattern such as vscode://file/{path}:{line}; null: it is none. */
export function editorLink(pattern: string, path: string, line: number): string | null {
	// A pattern that someone typed must not become a script.
	if (!/^[a-z][\w+.-]*:/i.test(pattern) || /^(javascript|data|vbscript):/i.test(pattern)) return null;
	return pattern.replace('{path}', encodeURI(path)).replace('{line}', String(line));
}

/** Tabs as spaces, as wide as browsers show them in source. */
export const TAB = 4;
