/* The columns of the table of sites. */
import { signal } from '@preact/signals';
import { Bytes, Count, CountPart, Share } from '../components/amount';
import { SiteName } from '../components/site_name';
import { FLUID, type Column } from '../components/table';
import { Spark } from '../charts/spark';
import { leftWords, OPTIONAL } from '../state/limits';
import type { Measure } from '../state/measure';
import { store, stored } from '../state/stored';
import { formatBytes, formatChange, formatPercent, formatTime } from '../text/units';
import { TEMPORARY } from './moment_words';
import type { SiteRow } from './site_key';

export type Optional = (typeof OPTIONAL)[number];

export const OPTIONAL_WORDS: Record<Optional, string> = {
	own_peak: 'own peak', growth: 'growth', slack: 'slack', first: 'first', last: 'last', longest: 'longest lifetime',
};

/** Which of them are shown: the browser keeps it. */
export const chosenColumns = signal<Optional[]>(OPTIONAL.filter((name) => stored('columns').split(' ').includes(name)));

export function toggleColumn(name: Optional): void {
	const on = chosenColumns.value.includes(name);
	chosenColumns.value = OPTIONAL.filter((other) => (other === name ? !on : chosenColumns.value.includes(other)));
	store('columns', chosenColumns.value.join(' '));
}

const time = (ns: number | null | undefined) => (ns === null || ns === undefined ? '' : formatTime(ns));

/* What a row's blocks lived: of those that were freed. */
function lived({ sums, row }: SiteRow): string {
	const mean = sums.lifetimes.mean_ns[row];
	return mean === null || mean === undefined ? 'never freed' : formatTime(mean);
}

const optional = (name: Optional): Column<SiteRow> => {
	const column = (width: string, cell: Column<SiteRow>['cell'], sort: string | undefined = name): Column<SiteRow> => ({
		name, head: OPTIONAL_WORDS[name], width, cell, sort,
	});
	switch (name) {
		case 'own_peak':
			return column('80px', ({ sums, row }) => (sums.own_peak[row] === null ? '' : <Bytes value={sums.own_peak[row] ?? 0} />));
		case 'growth':
			return column('96px', ({ sums, row }) => `${formatChange(sums.growth[row] ?? 0, formatBytes)}/s`);
		case 'slack':
			return column('80px', ({ sums, row }) => <Bytes value={sums.slack[row] ?? 0} />);
		case 'first':
			return column('80px', ({ sums, row }) => time(sums.first[row]));
		case 'last':
			return column('80px', ({ sums, row }) => time(sums.last[row]));
		case 'longest':
			return column('96px', ({ sums, row }) => time(sums.lifetimes.longest_ns[row]), undefined);
	}
};

/** `unknown`: names of columns that the recording cannot fill. */
export function siteColumns(measure: Measure, chosen: readonly Optional[], unknown: readonly string[]): Column<SiteRow>[] {
	const { column, word } = measure;
	const plain: Column<SiteRow>[] = [
		{
			name: 'name', head: 'allocated by', width: FLUID, text: true,
			cell: (row) => <SiteName name={row.name} file={row.file} line={row.line} call={row.call} />,
		},
		{
			name: 'amount', head: word, width: '92px', sort: column,
			cell: ({ sums, row }) => {
				const value = sums[column][row] ?? 0;
				return measure.format === formatBytes ? <Bytes value={value} /> : <Count value={value} />;
			},
		},
		{
			name: 'share', head: 'share', width: '132px',
			cell: ({ sums, row }) => <Share part={sums[column][row] ?? 0} whole={sums.all[column]} />,
		},
		{
			name: 'curve', head: 'over the run', width: '112px', title: 'live bytes over the run',
			cell: ({ sums, row }) => (
				<Spark values={sums.curve[row] ?? []} leaked={!unknown.includes('leaked') && (sums.leaked[row] ?? 0) * 2 > (sums.bytes[row] ?? 0) && (sums.leaked[row] ?? 0) > 0} />
			),
		},
		{
			name: 'leaked', head: leftWords.value, width: '128px', sort: 'leaked', title: 'bytes that were not freed, and which part of all that it allocated',
			cell: ({ sums, row }) =>
				sums.leaked[row] ? (
					<span class="never-freed">
						<Bytes value={sums.leaked[row]!} /> <span class="muted">{formatPercent(sums.leaked[row]!, sums.total[row] ?? 0)}</span>
					</span>
				) : (
					formatBytes(0)
				),
		},
		{ name: 'calls', head: 'calls', width: '88px', sort: 'calls', cell: ({ sums, row }) => <Count value={sums.calls[row] ?? 0} /> },
		{
			name: 'temporary', head: 'temporary', width: '120px', sort: 'temporary',
			title: TEMPORARY,
			cell: ({ sums, row }) => <CountPart value={sums.temporary[row] ?? 0} whole={sums.calls[row] ?? 0} />,
		},
		{
			name: 'mean', head: 'mean size', width: '88px',
			cell: ({ sums, row }) => formatBytes((sums.total[row] ?? 0) / (sums.calls[row] || 1)),
		},
		{
			name: 'lived', head: 'mean lifetime', width: '112px', sort: 'lifetime', title: 'of blocks that were freed',
			cell: lived,
		},
	];
	const columns = plain.filter((shown) => !(shown.name === 'leaked' && column === 'leaked'));
	return [...columns, ...chosen.map(optional)].filter(({ name }) => !unknown.includes(name));
}
