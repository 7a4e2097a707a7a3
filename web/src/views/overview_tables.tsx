/*
 * The largest places, or changes, of what is chosen: short tables whose rows and remainder add up to the whole. A place
 * is a line of own code and the call made there: the rows of `mallow report`.
 */
import type { ComponentChildren } from 'preact';
import type { SumsChange, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { Shown } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Spark } from '../charts/spark';
import { measure } from '../state/measure';
import { conditions, dataPath, linkTo, plainConditions } from '../state/state';
import { ChangeTable } from './change_table';
import { keyOf, toFunction } from './site_key';
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

const isCount = (table: TopTable) => table.column === 'calls' || table.column === 'temporary';

function fieldsOf(sums: SumsTable, { column, metric }: TopTable, amount: (value: number) => ComponentChildren): Field<number>[] {
	return [
		{ head: column, cell: (row) => amount(sums[column][row]!) },
		{ head: 'share', cell: (row) => <Share part={sums[column][row]!} whole={sums.all[column]} /> },
		{
			head: 'over the run', class: 'spark-cell',
			cell: (row) => <Spark values={sums.curve[row] ?? []} leaked={column === 'leaked'} />,
		},
		{
			head: 'allocated by', text: true, attributes: () => ({ class: 'site-cell' }),
			cell: (row) => (
				<a href={linkTo(toFunction(keyOf(sums, row).name, metric))}>
					<SiteName {...keyOf(sums, row)} />
				</a>
			),
		},
	];
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
					const { column, metric } = table;
					const whole = sums.all[column];
					const amount = (value: number) => (isCount(table) ? <Count value={value} /> : <Bytes value={value} />);
					const rest = whole - sums[column].reduce((sum, value) => sum + value, 0);
					return (
						<>
							<h2>
								{table.title} <span class="muted">of {isCount(table) ? formatCount(whole) : formatBytes(whole)}</span>
							</h2>
							{whole ? (
								<Rows
									quiet
									fields={fieldsOf(sums, table, amount)}
									rows={sums.key.flatMap((_, row) => (sums[column][row] ? [row] : []))}
									to={(row) => toFunction(keyOf(sums, row).name, metric)}
									rest={rest ? [amount(rest), <Share part={rest} whole={whole} />, '', <a href={linkTo({ page: 'sites', metric })}>other places</a>] : null}
								/>
							) : (
								<p class="muted">{(column === 'leaked' && freed) || 'None.'}</p>
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
						<ChangeTable answer={data} measure={measure.value} />
					</>
				)}
			</Shown>
		</section>
	);
}
