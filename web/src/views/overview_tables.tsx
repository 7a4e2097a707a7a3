/*
 * The largest places, or changes, of what is chosen: short tables whose rows and remainder add up to the whole. A place
 * is a line of own code and the call made there: the rows of `mallow report`.
 */
import type { SumsChange, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Shown } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Spark } from '../charts/spark';
import { measure } from '../state/measure';
import { conditions, dataPath, go, linkTo, plainConditions } from '../state/state';
import { ChangeTable } from './change_table';
import { formatBytes, formatChange, formatCount } from '../text/units';
import type { Metric } from '../state/place';

const ROWS = 6;
const SPARK_POINTS = 48;

type Column = 'bytes' | 'leaked' | 'calls' | 'temporary' | 'total';

export interface TopTable {
	column: Column;
	title: string;
	metric: Metric;
}

/* A place's function, opened in Sites. */
const functionLink = (name: string | null, metric: Metric) => ({ page: 'sites' as const, metric, view: { by: 'function', sel: name ?? '' } });

function Row({ sums, row, table }: { sums: SumsTable; row: number; table: TopTable }) {
	const key = sums.key[row] ?? 0;
	const keys = sums.keys[0]!;
	const value = sums[table.column][row] ?? 0;
	const change = functionLink(keys.name[key] ?? null, table.metric);
	return (
		<tr onClick={() => go(change)} class="link-row">
			<td>{isCount(table) ? <Count value={value} /> : <Bytes value={value} />}</td>
			<td>
				<Share part={value} whole={sums.all[table.column]} />
			</td>
			<td class="spark-cell">
				<Spark values={sums.curve[row] ?? []} leaked={table.column === 'leaked'} />
			</td>
			<td class="text site-cell">
				<a href={linkTo(change)} onClick={(event) => event.stopPropagation()}>
					<SiteName name={keys.name[key] ?? null} file={keys.file?.[key]} line={keys.line?.[key]} call={keys.call?.[key]} />
				</a>
			</td>
		</tr>
	);
}

const isCount = (table: TopTable) => table.column === 'calls' || table.column === 'temporary';

/* What the rows leave out. */
function Rest({ sums, table }: { sums: SumsTable; table: TopTable }) {
	const shown = sums[table.column].reduce((sum, value) => sum + value, 0);
	const rest = sums.all[table.column] - shown;
	if (!rest) return null;
	return (
		<tr class="muted">
			<td>{isCount(table) ? <Count value={rest} /> : <Bytes value={rest} />}</td>
			<td>
				<Share part={rest} whole={sums.all[table.column]} />
			</td>
			<td class="spark-cell" />
			<td class="text">
				<a href={linkTo({ page: 'sites', metric: table.metric })}>other places</a>
			</td>
		</tr>
	);
}

/** freed: what is said of the end if nothing leaked. */
export function TopSites({ table, freed }: { table: TopTable; freed: string }) {
	const answer = useAnswer<SumsTable>(dataPath('sums'), {
		...plainConditions.value,
		by: 'place',
		sort_by: table.column,
		count: ROWS,
		spark: SPARK_POINTS,
	});
	return (
		<section class="top-sites" aria-label={table.title}>
			<Shown answer={answer} height={190}>
				{(sums) => {
					const whole = sums.all[table.column];
					return (
						<>
							<h2>
								{table.title} <span class="muted">of {isCount(table) ? formatCount(whole) : formatBytes(whole)}</span>
							</h2>
							{whole ? (
								<table class="rows">
									<thead class="visually-hidden">
										<tr>
											<th>{table.column}</th>
											<th>share</th>
											<th>over the run</th>
											<th>allocated by</th>
										</tr>
									</thead>
									<tbody>
										{sums.key.map((_, row) => (sums[table.column][row] ? <Row key={row} sums={sums} row={row} table={table} /> : null))}
										<Rest sums={sums} table={table} />
									</tbody>
								</table>
							) : (
								<p class="muted">{(table.column === 'leaked' && freed) || 'None.'}</p>
							)}
						</>
					);
				}}
			</Shown>
		</section>
	);
}

const CHANGES = 12;

/** Of a difference: who changed most. */
export function TopChanges() {
	const { column, format } = measure.value;
	const answer = useAnswer<SumsChange>(dataPath('sums'), { ...conditions.value, by: 'function', sort_by: column, count: CHANGES });
	return (
		<section class="top-sites" aria-label="what changed">
			<Shown answer={answer} height={300}>
				{(data) => (
					<>
						<h2>
							What changed{' '}
							<span class="muted">
								{formatChange(data.change.all[column], format)}, from {format(data.before.all[column])} to {format(data.after.all[column])}
							</span>
						</h2>
						<ChangeTable answer={data} measure={measure.value} by="function" />
					</>
				)}
			</Shown>
		</section>
	);
}
