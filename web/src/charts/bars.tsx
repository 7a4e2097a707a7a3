/* A histogram of classes, by size or lifetime: bars, and their table for those who cannot see them. */
import type { SumsTable } from '../api/generated';
import { formatBytes, formatCount, formatTime } from '../text/units';

export interface Bar {
	name: string;
	value: number;
	/** Never freed: in its own colour, and so called. */
	leaked: boolean;
	least: number | null;
	largest: number | null;
}

/** Rows of /sums by size or lifetime, in the order of their classes. */
export function barsOf(sums: SumsTable, by: 'size' | 'lifetime', column: 'bytes' | 'total' | 'calls'): Bar[] {
	const keys = sums.keys[0]!;
	const format = by === 'size' ? formatBytes : formatTime;
	const rows = sums.key.map((key, row) => ({
		least: keys.least?.[key ?? 0] ?? null,
		largest: keys.largest?.[key ?? 0] ?? null,
		value: sums[column][row] ?? 0,
	}));
	rows.sort((a, b) => (a.least ?? Infinity) - (b.least ?? Infinity));
	return rows.map(({ least, largest, value }) => {
		const leaked = by === 'lifetime' && least === null;
		const name = leaked ? 'never freed' : `${format(least ?? 0)} to ${largest === null ? 'any' : format(largest)}`;
		return { name, value, leaked, least, largest };
	});
}

export const classEnds = (sums: SumsTable, by: 'size' | 'lifetime'): [string, string] => {
	const least = (sums.keys[0]?.least ?? []).filter((value): value is number => value !== null);
	const format = by === 'size' ? formatBytes : formatTime;
	return least.length ? [format(Math.min(...least)), format(Math.max(...least))] : ['', ''];
};

/** Whether a value is in the class; null: was never freed. */
export const isInClass = (bar: Bar, value: number | null): boolean =>
	value === null ? bar.leaked : bar.least !== null && value >= bar.least && (bar.largest === null || value <= bar.largest);

/** `marked`: the bar that is spoken of, with an edge. */
export function Bars(props: { title: string; bars: Bar[]; ends: [string, string]; count: boolean; marked?: (bar: Bar) => boolean }) {
	const most = Math.max(1, ...props.bars.map((bar) => bar.value));
	const format = props.count ? formatCount : formatBytes;
	return (
		<div role="img" aria-label={`${props.title}: ${props.bars.filter((bar) => bar.value).map((bar) => `${bar.name} ${format(bar.value)}`).join(', ')}`}>
			<div class="bars">
				{props.bars.map((bar) => (
					<span
						key={bar.name}
						class={`${bar.leaked ? 'leaked' : ''}${props.marked?.(bar) ? ' marked' : ''}`}
						title={`${bar.name}: ${format(bar.value)}`}
						style={{ height: `${((100 * bar.value) / most).toFixed(1)}%` }}
					/>
				))}
			</div>
			<div class="bars-ends" aria-hidden="true">
				<span>{props.ends[0]}</span>
				<span>{props.ends[1]}</span>
			</div>
		</div>
	);
}
