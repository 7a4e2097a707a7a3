/* All sites as a table, or functions, files, modules, threads; a row opens its drawer. */
import type { SumsChange, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { leftOut } from '../api/file';
import { usePages } from '../api/pages';
import { Menu } from '../components/menu';
import { Nothing } from '../components/nothing';
import { Failure, Shown, useSeen } from '../components/shown';
import { siteText } from '../components/site_name';
import { Switch } from '../components/switch';
import { Table } from '../components/table';
import { bare, OPTIONAL, unknownColumns } from '../state/limits';
import { measure } from '../state/measure';
import { conditions, dataPath, go, isDifference, place, plainConditions } from '../state/state';
import { shortName } from '../text/names';
import { formatChange, formatCount, formatPercent } from '../text/units';
import { metricWords, whenWords } from './moment_words';
import { ChangeTable } from './change_table';
import { SiteDrawer } from './site_drawer';
import { BYS, siteRow, type By } from './site_key';
import { chosenColumns, OPTIONAL_WORDS, siteColumns, toggleColumn } from './sites_columns';

const SPARK_POINTS = 48;
const CHANGES = 500;

const byOf = (): By => BYS.find(({ value }) => value === place.value.view.by)?.value ?? 'site';

const NOUN: Record<By, [string, string]> = {
	site: ['site', 'sites'], function: ['function', 'functions'], file: ['file', 'files'], module: ['module', 'modules'], thread: ['thread', 'threads'],
};

export function Sites() {
	return isDifference.value ? <Changes /> : <SiteTable />;
}

function Bar() {
	return (
		<div class="view-bar">
			<Switch<By> label="rows are" value={byOf()} choices={bare.value ? BYS.filter(({ value }) => value !== 'thread') : BYS} onChange={(by) => go({ view: { by: by === 'site' ? '' : by, sel: '', sort: '', order: '' } })} />
			{bare.value ? null : (
				<Menu
					label="columns ▾"
					title="more columns"
					items={OPTIONAL.filter((name) => !unknownColumns.value.includes(name)).map((name) => ({
						text: `${chosenColumns.value.includes(name) ? '✓' : '\u2003'} ${OPTIONAL_WORDS[name]}`,
						run: () => toggleColumn(name),
					}))}
				/>
			)}
		</div>
	);
}

/* "41 sites · 83.4 MB live at 2.89 s; main has 38 %." */
function sentence(sums: SumsTable, by: By): string {
	const { column, format } = measure.value;
	const whole = sums.all[column];
	const [one, many] = NOUN[by];
	const rows = `${formatCount(sums.rows)} ${sums.rows === 1 ? one : many}`;
	if (!sums.rows) return `No ${many}: nothing matches.`;
	const first = siteRow(sums, 0, by);
	const most = sums[column][0] ?? 0;
	const who = whole && place.value.view.sort === undefined ? `; ${shortName(first.name ?? '[unknown]')} has ${formatPercent(most, whole)}` : '';
	const less = leftOut(sums) ? ` ${formatCount(leftOut(sums))} smaller ones are not in this file.` : '';
	return `${rows} · ${format(whole)} ${metricWords()}${whenWords()}${who}.${less}`;
}

function SiteTable() {
	const by = byOf();
	const { view } = place.value;
	const sort = view.sort ?? measure.value.column;
	const order = (view.order ?? (sort === 'first' || sort === 'last' ? 'asc' : 'dsc')) as 'asc' | 'dsc';
	const pages = usePages<SumsTable>(dataPath('sums'), {
		...plainConditions.value, by, sort_by: sort, order: view.order, spark: SPARK_POINTS,
	});
	useSeen(pages.stale ? null : pages.first);
	const setSort = (column: string) => {
		const same = column === sort;
		go({ view: { sort: column, order: same ? (order === 'asc' ? 'dsc' : 'asc') : '' } });
	};
	const rowAt = (index: number) => {
		const found = pages.at(index);
		return found ? siteRow(found.page, found.index, by) : null;
	};
	const { sel } = bare.value ? { sel: '' } : view; // a drawer asks for single blocks
	const open = (index: number) => bare.value || go({ view: { sel: rowAt(index)?.sel ?? '' } });
	if (pages.error) return <Failure error={pages.error} retry={pages.retry} />;
	const { first } = pages;
	let opened = -1;
	for (let i = 0; first && sel && opened < 0 && i < first.key.length; i++) if (siteRow(first, i, by).sel === sel) opened = i;
	return (
		<>
			<h1 title={first?.rows ? siteText(siteRow(first, 0, by)) : undefined}>{first ? sentence(first, by) : '\u00a0'}</h1>
			<Bar />
			<div class={`with-drawer${sel ? ' open' : ''}`}>
				{first && !first.rows ? (
					<Nothing />
				) : first ? (
					<Table
						label={NOUN[by][1]}
						columns={siteColumns(measure.value, chosenColumns.value, unknownColumns.value)}
						count={first.rows}
						row={rowAt}
						onRange={pages.want}
						sort={sort}
						order={order}
						onSort={setSort}
						onOpen={open}
						opened={opened}
						dim={pages.stale}
					/>
				) : (
					<div class="skeleton" style={{ minHeight: '300px' }} aria-busy="true" />
				)}
				{sel ? <SiteDrawer key={`${by} ${sel}`} by={by} sel={sel} onClose={() => go({ view: { sel: '' } })} /> : null}
			</div>
		</>
	);
}

/* Of a difference: what changed most. */
function Changes() {
	const by = byOf();
	const { column, format } = measure.value;
	const answer = useAnswer<SumsChange>(dataPath('sums'), { ...conditions.value, by, sort_by: column, count: CHANGES });
	useSeen(answer.stale ? null : answer.data);
	return (
		<Shown answer={answer} height={400}>
			{(data) => (
				<>
					<h1>
						{formatCount(data.after.rows)} {NOUN[by][1]} changed: {formatChange(data.change.all[column], format)}, from{' '}
						{format(data.before.all[column])} to {format(data.after.all[column])}.
					</h1>
					<Bar />
					<ChangeTable answer={data} measure={measure.value} />
				</>
			)}
		</Shown>
	);
}
