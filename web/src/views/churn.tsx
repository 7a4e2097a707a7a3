/* Work that need not be: blocks that are freed at once, and blocks that realloc grows step by step. */
import type { ComponentChildren } from 'preact';
import type { Finding, Findings, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath, go, linkTo, place, plainConditions } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { TEMPORARY } from './moment_words';
import { FindingCards } from './overview_findings';

const ROWS = 20;
/* The finding that names what a block could have been at once. */
const KINDS = ['temporary', 'realloc_chains'];

/* "71,937 of 349,167 calls are temporary, 33 % of them in read_body; 66,631 are reallocs that grow a block." */
function sentence(temporary: SumsTable, chains: SumsTable | null): string {
	const { all } = temporary;
	if (!all.calls) return 'Nothing matches.';
	const parts = [];
	if (!all.temporary) parts.push(`No call of ${formatCount(all.calls)} is temporary`);
	else {
		const key = temporary.key[0] ?? 0;
		parts.push(
			`${formatCount(all.temporary)} of ${formatCount(all.calls)} calls are temporary, ${formatPercent(temporary.temporary[0] ?? 0, all.temporary)} of them in ${shortName(temporary.keys[0]!.name[key] ?? '[unknown]')}`,
		);
	}
	if (chains) parts.push(chains.all.calls ? `${formatCount(chains.all.calls)} are steps of realloc` : 'none is a step of realloc');
	return `${parts.join('; ')}.`;
}

const siteOf = (name: string | null, more: Record<string, string>, metric: 'temporary' | 'calls') => ({
	page: 'sites' as const, metric, view: { by: 'function', sel: name ?? '' }, conditions: { ...place.value.conditions, ...more },
});

/* A column of either table, of a row of sums. */
interface Cell {
	head: string;
	title?: string;
	cell: (sums: SumsTable, row: number) => ComponentChildren;
}

const BYTES_OF_ALL: Cell = { head: 'bytes of all', cell: (sums, row) => <Bytes value={sums.total[row]!} /> };
const MEAN: Cell = { head: 'mean size', cell: (sums, row) => formatBytes(sums.total[row]! / (sums.calls[row] || 1)) };

const TEMPORARY_CELLS: Cell[] = [
	{ head: 'of its calls', cell: (sums, row) => formatPercent(sums.temporary[row]!, sums.calls[row] ?? 0) },
	BYTES_OF_ALL,
	MEAN,
];

const CHAIN_CELLS: Cell[] = [
	{ head: 'blocks grown', title: 'chains of reallocs that ended here', cell: ({ chains }, row) => <Count value={chains?.ended[row] ?? 0} /> },
	{ head: 'copied at most', title: 'realloc may copy nothing where it moves pages', cell: ({ chains }, row) => <Bytes value={chains?.copied[row] ?? 0} /> },
	MEAN,
	{
		head: 'reserve', title: 'so much at once, and which part of the blocks never outgrows it',
		cell: ({ chains }, row) =>
			chains?.ended[row] ? (
				<>
					<b>
						<Bytes value={chains.reserve[row]!} />
					</b>{' '}
					<span class="muted">covers {formatPercent(chains.covered[row]!, chains.ended[row]!)}</span>
				</>
			) : (
				<span class="muted">grown further elsewhere</span>
			),
	},
];

interface TableProps {
	title: string;
	sums: SumsTable;
	column: 'temporary' | 'calls';
	head: string;
	cells: Cell[];
	more: Record<string, string>;
}

function Row({ sums, row, column, cells, more }: TableProps & { row: number }) {
	const keys = sums.keys[0]!;
	const key = sums.key[row] ?? 0;
	const change = siteOf(keys.name[key] ?? null, more, column);
	const value = sums[column][row]!;
	return (
		<tr class="link-row" onClick={() => go(change)}>
			<td>
				<Count value={value} />
			</td>
			<td>
				<Share part={value} whole={sums.all[column]} />
			</td>
			{cells.map(({ head, cell }) => (
				<td key={head}>{cell(sums, row)}</td>
			))}
			<td class="text">
				<a href={linkTo(change)} onClick={(event) => event.stopPropagation()}>
					<SiteName name={keys.name[key] ?? null} file={keys.file?.[key]} line={keys.line?.[key]} />
				</a>
			</td>
		</tr>
	);
}

function TopFunctions(props: TableProps) {
	const { sums, column } = props;
	const rows = sums.key.flatMap((_, row) => (sums[column][row] ? [row] : []));
	const shown = rows.reduce((sum, row) => sum + sums[column][row]!, 0);
	const rest = sums.all[column] - shown;
	return (
		<section aria-label={props.title}>
			<h2>
				{props.title} <span class="muted">{formatCount(sums.all[column])}</span>
			</h2>
			{rows.length ? (
				<div class="scroll-x" tabIndex={0} role="region" aria-label={props.title}>
					<table class="rows fit">
						<thead>
							<tr>
								<th>{props.head}</th>
								<th>share</th>
								{props.cells.map(({ head, title }) => (
									<th key={head} title={title}>
										{head}
									</th>
								))}
								<th class="text">allocated by</th>
							</tr>
						</thead>
						<tbody>
							{rows.map((row) => (
								<Row key={row} {...props} row={row} />
							))}
							{rest ? (
								<tr class="muted">
									<td>
										<Count value={rest} />
									</td>
									<td>
										<Share part={rest} whole={sums.all[column]} />
									</td>
									<td class="text" colSpan={props.cells.length + 1}>
										{formatCount(sums.rows - rows.length)} more functions
									</td>
								</tr>
							) : null}
						</tbody>
					</table>
				</div>
			) : (
				<p class="muted">None.</p>
			)}
		</section>
	);
}

const CHAIN_STEPS = { position_in_chain_min: '1' };

export function Churn() {
	const findings = useAnswer<Findings>(dataPath('findings'));
	const ask = { ...plainConditions.value, by: 'function', count: ROWS };
	const temporary = useAnswer<SumsTable>(dataPath('sums'), { ...ask, sort_by: 'temporary' });
	const chains = useAnswer<SumsTable>(dataPath('sums'), { ...ask, ...CHAIN_STEPS, sort_by: 'calls', chains: 'true' });
	useSeen(temporary.stale ? null : temporary.data);
	const narrowed = Object.keys(plainConditions.value).length > 0;
	const found: Finding[] = narrowed ? [] : (findings.data?.findings.filter(({ kind }) => KINDS.includes(kind)) ?? []);
	return (
		<>
			<h1>{temporary.data ? sentence(temporary.data, chains.data) : '\u00a0'}</h1>
			{found.length ? <FindingCards findings={found} /> : null}
			<Shown answer={temporary} height={300}>
				{(sums) => (
					<TopFunctions
						title="Temporary calls"
						sums={sums}
						column="temporary"
						head="temporary"
						cells={TEMPORARY_CELLS}
						more={{}}
					/>
				)}
			</Shown>
			<p class="muted">Temporary: {TEMPORARY}.</p>
			<Shown answer={chains} height={200}>
				{(sums) => (
					<TopFunctions
						title="Steps of realloc"
						sums={sums}
						column="calls"
						head="steps"
						cells={CHAIN_CELLS}
						more={CHAIN_STEPS}
					/>
				)}
			</Shown>
		</>
	);
}
