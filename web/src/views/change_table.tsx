/* Rows of a difference: before, after, the change as a bar to the left or right of nothing. */
import type { SumsChange } from '../api/generated';
import { Rows, type Field } from '../components/rows';
import { SiteName, type SiteNameProps } from '../components/site_name';
import type { Measure } from '../state/measure';
import { formatChange, formatExact, formatPercent } from '../text/units';
import { keyOf } from './site_key';

export interface ChangeRow extends SiteNameProps {
	before: number;
	after: number;
}

export function changeRows(answer: SumsChange, column: Measure['column']): ChangeRow[] {
	return answer.change.bytes.map((_, row) => {
		const after = answer.after.key[row];
		return {
			...keyOf(after !== null && after !== undefined ? answer.after : answer.before, row),
			before: answer.before[column][row] ?? 0,
			after: answer.after[column][row] ?? 0,
		};
	});
}

/** "+49 %", new, gone. */
export function changeWords(row: { before: number; after: number }): string {
	if (!row.before) return row.after ? 'new' : '';
	if (!row.after) return 'gone';
	return formatChange(row.after - row.before, (value) => formatPercent(value, row.before));
}

function Bar({ change, most }: { change: number; most: number }) {
	const part = (50 * Math.abs(change)) / (most || 1);
	const style = change < 0 ? { right: '50%', width: `${part}%` } : { left: '50%', width: `${part}%` };
	return (
		<span class="change-bar" aria-hidden="true">
			<span class={change > 0 ? 'grew' : ''} style={style} />
		</span>
	);
}

const changeOf = (row: ChangeRow): number => row.after - row.before;

function fieldsOf({ format }: Measure, most: number): Field<ChangeRow>[] {
	return [
		{ head: 'allocated by', text: true, cell: (row) => <SiteName {...row} /> },
		{ head: 'before', cell: (row) => format(row.before) },
		{ head: 'after', cell: (row) => format(row.after) },
		{
			head: 'change', cell: (row) => formatChange(changeOf(row), format),
			attributes: (row) => ({ class: changeOf(row) > 0 ? 'grew' : '', title: formatExact(changeOf(row)) }),
		},
		{ head: '', cell: (row) => <Bar change={changeOf(row)} most={most} /> },
		{ head: '%', cell: changeWords },
	];
}

export function ChangeTable(props: { answer: SumsChange; measure: Measure; scale?: number }) {
	const { answer, measure } = props;
	const scale = props.scale ?? 1;
	const rows = changeRows(answer, measure.column).map((row) => ({ ...row, before: row.before * scale }));
	const most = Math.max(1, ...rows.map((row) => Math.abs(changeOf(row))));
	const rest = answer.after.rows - rows.length;
	return (
		<div class="scroll-x" tabIndex={0} role="region" aria-label="what changed">
			<Rows class="changes" fields={fieldsOf(measure, most)} rows={rows} />
			{rest > 0 ? <p class="muted">{formatExact(rest)} more rows changed less.</p> : null}
		</div>
	);
}
