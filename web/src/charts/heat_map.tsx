/*
 * A table of two keys as colours, on a scale of logarithms: five steps of one colour. Dragging chooses a part
 * of it; behind it is the same as a table.
 */
import { Rows } from '../components/rows';
import { formatPercent } from '../text/units';
import { useSelect, type Selection } from './use_select';
import '../styles/distributions.css';

export interface HeatMapProps {
	label: string;
	/** Names of the columns and rows, the lowest row first. */
	columns: string[];
	rows: string[];
	/** 0: nothing is there. */
	value: (column: number, row: number) => number;
	whole: number;
	format: (value: number) => string;
	/** Below the first and the last column; beside the first and the last row. */
	ends: [string, string];
	sides: [string, string];
	onSelect: (chosen: Selection) => void;
}

export const STEPS = 5;

/** 1 to STEPS, by the logarithm: of the largest value STEPS. */
export function stepOf(value: number, most: number): number {
	if (value <= 0) return 0;
	return Math.max(1, Math.min(STEPS, STEPS - Math.floor(Math.log10(most / value))));
}

const LISTED = 60;

export function HeatMap(props: HeatMapProps) {
	const { columns, rows, value, format, whole } = props;
	const { selection, handlers } = useSelect(columns.length, rows.length, props.onSelect);
	const cells: { column: number; row: number; value: number }[] = [];
	for (let row = rows.length - 1; row >= 0; row--)
		for (let column = 0; column < columns.length; column++) cells.push({ column, row, value: value(column, row) });
	const most = cells.reduce((found, cell) => Math.max(found, cell.value), 1);
	const full = cells.filter((cell) => cell.value > 0).sort((a, b) => b.value - a.value);
	const text = (cell: { column: number; row: number; value: number }) =>
		`${columns[cell.column]}, ${rows[cell.row]}: ${format(cell.value)}, ${formatPercent(cell.value, whole)}`;
	const inside = (column: number, row: number) =>
		selection && column >= selection.left && column <= selection.right && row >= selection.low && row <= selection.high;
	return (
		<div class="heat">
			<div class="heat-sides muted" aria-hidden="true">
				<span>{props.sides[1]}</span>
				<span>{props.sides[0]}</span>
			</div>
			<div
				class="heat-cells"
				role="img"
				aria-label={`${props.label}: most in ${full.slice(0, 3).map(text).join('; ')}`}
				style={{ gridTemplateColumns: `repeat(${columns.length}, 1fr)` }}
				{...handlers}
			>
				{cells.map((cell) => (
					<span
						key={`${cell.column} ${cell.row}`}
						class={`heat-${stepOf(cell.value, most)}${inside(cell.column, cell.row) ? ' chosen' : ''}`}
						title={cell.value ? text(cell) : undefined}
					/>
				))}
			</div>
			<div class="bars-ends" aria-hidden="true">
				<span>{props.ends[0]}</span>
				<span>{props.ends[1]}</span>
			</div>
			<details class="as-table">
				<summary>Show as table</summary>
				<Rows
					fields={[
						{ text: true, cell: (cell) => columns[cell.column] },
						{ text: true, cell: (cell) => rows[cell.row] },
						{ cell: (cell) => format(cell.value) },
						{ cell: (cell) => formatPercent(cell.value, whole) },
					]}
					rows={full.slice(0, LISTED)}
					rest={full.length > LISTED ? [`${full.length - LISTED} more`, '', format(full.slice(LISTED).reduce((sum, cell) => sum + cell.value, 0)), ''] : null}
				/>
			</details>
		</div>
	);
}
