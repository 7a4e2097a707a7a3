/* Work that need not be: blocks that are freed at once, and blocks that realloc grows step by step. */
import type { Finding, Findings, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath, linkTo, place, plainConditions, type Change } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { TEMPORARY } from './moment_words';
import { FindingCards } from './overview_findings';
import { keyOf, toFunction } from './site_key';

const ROWS = 20;
/* The finding that names what a block could have been at once. */
const KINDS = ['temporary', 'realloc_chains'];

/** "71,937 of 349,167 calls are temporary, 33 % of them in read_body; 66,631 are reallocs that grow a block." */
export function sentence(temporary: SumsTable, chains: SumsTable | null): string {
	const { all } = temporary;
	if (!all.calls) return 'Nothing matches.';
	const parts = [];
	if (!all.temporary) parts.push(`No call of ${formatCount(all.calls)} is temporary`);
	else {
		parts.push(
			`${formatCount(all.temporary)} of ${formatCount(all.calls)} calls are temporary, ${formatPercent(temporary.temporary[0] ?? 0, all.temporary)} of them in ${shortName(keyOf(temporary, 0).name ?? '[unknown]')}`,
		);
	}
	if (chains) parts.push(chains.all.calls ? `${formatCount(chains.all.calls)} are steps of realloc` : 'none is a step of realloc');
	return `${parts.join('; ')}.`;
}

const siteOf = (name: string | null, { column, more }: TableProps): Change => ({
	...toFunction(name, column), conditions: { ...place.value.conditions, ...more },
});

const bytesOfAll = (sums: SumsTable): Field<number> => ({ head: 'bytes of all', cell: (row) => <Bytes value={sums.total[row]!} /> });
const mean = (sums: SumsTable): Field<number> => ({ head: 'mean size', cell: (row) => formatBytes(sums.total[row]! / (sums.calls[row] || 1)) });

const temporaryFields = (sums: SumsTable): Field<number>[] => [
	{ head: 'of its calls', cell: (row) => formatPercent(sums.temporary[row]!, sums.calls[row] ?? 0) },
	bytesOfAll(sums),
	mean(sums),
];

const chainFields = (sums: SumsTable): Field<number>[] => [
	{ head: 'blocks grown', title: 'chains of reallocs that ended here', cell: (row) => <Count value={sums.chains?.ended[row] ?? 0} /> },
	{ head: 'copied at most', title: 'realloc may copy nothing where it moves pages', cell: (row) => <Bytes value={sums.chains?.copied[row] ?? 0} /> },
	mean(sums),
	{
		head: 'reserve', title: 'so much at once, and which part of the blocks never outgrows it',
		cell: (row) =>
			sums.chains?.ended[row] ? (
				<>
					<b>
						<Bytes value={sums.chains.reserve[row]!} />
					</b>{' '}
					<span class="muted">covers {formatPercent(sums.chains.covered[row]!, sums.chains.ended[row]!)}</span>
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
	/** What stands between how many and who. */
	fields: (sums: SumsTable) => Field<number>[];
	more: Record<string, string>;
}

function TopFunctions(props: TableProps) {
	const { sums, column } = props;
	const rows = sums.key.flatMap((_, row) => (sums[column][row] ? [row] : []));
	const shown = rows.reduce((sum, row) => sum + sums[column][row]!, 0);
	const rest = sums.all[column] - shown;
	const fields: Field<number>[] = [
		{ head: props.head, cell: (row) => <Count value={sums[column][row]!} /> },
		{ head: 'share', cell: (row) => <Share part={sums[column][row]!} whole={sums.all[column]} /> },
		...props.fields(sums),
		{
			head: 'allocated by', text: true,
			cell: (row) => (
				<a href={linkTo(siteOf(keyOf(sums, row).name, props))}>
					<SiteName {...keyOf(sums, row)} />
				</a>
			),
		},
	];
	return (
		<section aria-label={props.title}>
			<h2>
				{props.title} <span class="muted">{formatCount(sums.all[column])}</span>
			</h2>
			{rows.length ? (
				<Rows
					label={props.title}
					class="fit"
					fields={fields}
					rows={rows}
					to={(row) => siteOf(keyOf(sums, row).name, props)}
					rest={rest ? [<Count value={rest} />, <Share part={rest} whole={sums.all[column]} />, `${formatCount(sums.rows - rows.length)} more functions`] : null}
				/>
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
						fields={temporaryFields}
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
						fields={chainFields}
						more={CHAIN_STEPS}
					/>
				)}
			</Shown>
		</>
	);
}
