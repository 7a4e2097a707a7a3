/* A histogram of classes, by size or lifetime: bars, and their table for those who cannot see them. */
import type { SumsTable } from '../api/generated';
import { classesOf, classText } from './classes';
import { formatBytes, formatCount, formatTime } from '../text/units';

/** Columns of /sums that add up. */
export type SumColumn = 'bytes' | 'blocks' | 'leaked' | 'total' | 'calls' | 'temporary' | 'slack';

export interface Bar {
	name: string;
	value: number;
	/** Never freed: in its own colour, and so called. */
	leaked: boolean;
	least: number | null;
	largest: number | null;
}

/** Rows of /sums by size or lifetime, in the order of their classes, with empty ones between. */
export function barsOf(sums: SumsTable, by: 'size' | 'lifetime', column: SumColumn): Bar[] {
	const rows = new Map(sums.key.map((key, row) => [key ?? 0, row]));
	return classesOf(sums, 0, by).map((one) => ({
		name: classText(one, by),
		value: one.key === null ? 0 : (sums[column][rows.get(one.key) ?? -1] ?? 0),
		leaked: one.leaked,
		least: one.least,
		largest: one.largest,
	}));
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
