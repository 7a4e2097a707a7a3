/* Rows of a difference: before, after, the change as a bar to the left or right of nothing. */
import type { SumsChange } from '../api/generated';
import { SiteName } from '../components/site_name';
import type { Measure } from '../state/measure';
import { formatChange, formatExact, formatPercent } from '../text/units';
import type { By } from './site_key';

export interface ChangeRow {
	name: string | null;
	file: string | null;
	line: number | null;
	call: string | null;
	before: number;
	after: number;
}

export function changeRows(answer: SumsChange, column: Measure['column']): ChangeRow[] {
	return answer.change.bytes.map((_, row) => {
		const after = answer.after.key[row];
		const side = after !== null && after !== undefined ? answer.after : answer.before;
		const key = side.key[row] ?? 0;
		const keys = side.keys[0]!;
		return {
			name: keys.name[key] ?? null,
			file: keys.file?.[key] ?? null,
			line: keys.line?.[key] ?? null,
			call: keys.call?.[key] ?? null,
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

export function ChangeTable(props: { answer: SumsChange; measure: Measure; by: By; scale?: number }) {
	const { answer, measure } = props;
	const scale = props.scale ?? 1;
	const rows = changeRows(answer, measure.column).map((row) => ({ ...row, before: row.before * scale }));
	const most = Math.max(1, ...rows.map((row) => Math.abs(row.after - row.before)));
	const rest = answer.after.rows - rows.length;
	return (
		<div class="scroll-x" tabIndex={0} role="region" aria-label="what changed">
			<table class="rows changes">
				<thead>
					<tr>
						<th class="text">allocated by</th>
						<th>before</th>
						<th>after</th>
						<th>change</th>
						<th />
						<th>%</th>
					</tr>
				</thead>
				<tbody>
					{rows.map((row, i) => (
						<tr key={i}>
							<td class="text">
								<SiteName name={row.name} file={row.file} line={row.line} call={row.call} />
							</td>
							<td>{measure.format(row.before)}</td>
							<td>{measure.format(row.after)}</td>
							<td class={row.after > row.before ? 'grew' : ''} title={formatExact(row.after - row.before)}>
								{formatChange(row.after - row.before, measure.format)}
							</td>
							<td>
								<Bar change={row.after - row.before} most={most} />
							</td>
							<td>{changeWords(row)}</td>
						</tr>
					))}
				</tbody>
			</table>
			{rest > 0 ? <p class="muted">{formatExact(rest)} more rows changed less.</p> : null}
		</div>
	);
}
