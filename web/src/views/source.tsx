/* Source files with what each line costs. The text is there if the server was started with --sources. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Source as SourceText, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { inFile } from '../api/file';
import { Bytes, Count, Share } from '../components/amount';
import { Drawer } from '../components/drawer';
import { Nothing } from '../components/nothing';
import { Rows } from '../components/rows';
import { Shown } from '../components/shown';
import { baseName, SiteName, tellApart } from '../components/site_name';
import { isNarrow, Table, type Column } from '../components/table';
import { measure } from '../state/measure';
import { dataPath, go, linkTo, place, plainConditions, summary } from '../state/state';
import { store, stored } from '../state/stored';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { metricWords, whenWords } from './moment_words';
import { keyOf, toStack } from './site_key';
import { costsOf, editorLink, linesOf, TAB, type SourceLine } from './source_lines';
import '../styles/source.css';

const FILES = 200;
const LINES = 20000;
const SITES = 2000;
function Editor({ pattern, onChange }: { pattern: string; onChange: (pattern: string) => void }) {
	const set = (text: string) => {
		onChange(text);
		store('editor', text);
	};
	return (
		<details class="source-editor">
			<summary>open lines in an editor</summary>
			<label>
				address{' '}
				<input value={pattern} placeholder="vscode://file/{path}:{line}" onInput={(event) => set(event.currentTarget.value)} />
			</label>
		</details>
	);
}

/* The files of the reader's own code, the one that costs most first. */
function Files({ sums, file }: { sums: SumsTable; file: string | null }) {
	const { column } = measure.value;
	const keys = sums.keys[0]!;
	const more = sums.rows - sums.key.length;
	const toldApart = tellApart(keys.name.filter((name) => name !== null));
	return (
		<nav class="source-files" aria-label="source files">
			<ul>
				{sums.key.map((key, row) => {
					const name = keys.name[key ?? -1];
					if (!name) return null;
					const value = sums[column][row] ?? 0;
					return (
						<li key={name}>
							<a href={linkTo({ view: { sel: name, row: '' } })} aria-current={name === file ? 'true' : undefined} title={name}>
								<span class="source-name">{toldApart.get(name)}</span>
								<span class="muted">{measure.value.format(value)}</span>
								<Share part={value} whole={sums.all[column]} />
							</a>
						</li>
					);
				})}
				{more > 0 ? <li class="muted">{formatCount(more)} more</li> : null}
			</ul>
		</nav>
	);
}

const column = (name: string, head: string, width: string, cell: Column<SourceLine>['cell'], text = false, title?: string): Column<SourceLine> => ({
	name, head, width, cell, text, ...(title ? { title } : {}),
});

function columnsOf(whole: number, path: string | null, pattern: string): Column<SourceLine>[] {
	const { format } = measure.value;
	const columns = [
		column('share', 'share', '132px', ({ cost }) => (cost ? <Share part={cost.inclusive} whole={whole} /> : null)),
		column('own', 'own', '80px', ({ cost }) => (cost?.own ? format(cost.own) : ''), false, 'what the line asked for itself'),
		column('inclusive', isNarrow() ? measure.value.word : 'inclusive', isNarrow() ? '72px' : '80px', ({ cost }) => (cost?.inclusive ? format(cost.inclusive) : ''), false, 'with what it called'),
		column('line', 'line', isNarrow() ? '44px' : '64px', ({ number }) => {
			const link = path ? editorLink(pattern, path, number) : null;
			return link ? <a href={link}>{number}</a> : <span class="muted">{number}</span>;
		}),
		column('text', '', 'minmax(480px, 1fr)', ({ text, cost }) => (
			<code class={`source-text${cost?.inclusive ? ' source-costs' : ''}`} style={{ tabSize: isNarrow() ? 2 : TAB }}>
				{text ?? ''}
			</code>
		), true),
	];
	// On a phone the text is what one comes for: beside it only what a line costs.
	return isNarrow() ? columns.filter(({ name }) => name !== 'share' && name !== 'own') : columns;
}

/* Where in the file the costs are: a click goes there. */
function Minimap({ lines, onJump }: { lines: SourceLine[]; onJump: (index: number) => void }) {
	const most = lines.reduce((found, { cost }) => Math.max(found, cost?.inclusive ?? 0), 1);
	return (
		<div
			class="source-map"
			aria-hidden="true"
			onClick={(event) => {
				const box = event.currentTarget.getBoundingClientRect();
				onJump(Math.floor(((event.clientY - box.top) / box.height) * lines.length));
			}}
		>
			{lines.map(({ cost, number }, i) =>
				cost?.inclusive ? <span key={number} style={{ top: `${((100 * i) / lines.length).toFixed(2)}%`, opacity: 0.3 + (0.7 * cost.inclusive) / most }} /> : null,
			)}
		</div>
	);
}

/* The sites of a line: whose own code it is. */
function LineDrawer({ file, line, onClose }: { file: string; line: SourceLine; onClose: () => void }) {
	const sums = useAnswer<SumsTable>(dataPath('sums'), { ...plainConditions.value, by: 'site', sort_by: measure.value.column, count: SITES });
	const { column: by } = measure.value;
	return (
		<Drawer label={`line ${line.number}`} title={<span class="mono">{`${baseName(file)}:${line.number}`}</span>} onClose={onClose}>
			<p>
				{measure.value.format(line.cost?.own ?? 0)} asked for by this line itself, {measure.value.format(line.cost?.inclusive ?? 0)} with what it called.
			</p>
			<Shown answer={sums} height={120}>
				{(data) => {
					const keys = data.keys[0]!;
					const rows = data.key.flatMap((key, row) => (keys.file?.[key ?? -1] === file && keys.line?.[key ?? -1] === line.number ? [row] : []));
					if (!rows.length) return <p class="muted">It asked for nothing itself: what it called did.</p>;
					const value = (row: number) => (measure.value.format === formatBytes ? <Bytes value={data[by][row]!} /> : <Count value={data[by][row]!} />);
					return (
						<Rows
							class="fit"
							fields={[
								{ head: measure.value.word, cell: value },
								{ head: 'calls', cell: (row) => <Count value={data.calls[row]!} /> },
								{
									head: 'site', text: true,
									cell: (row) => (
										<a href={linkTo(toStack(keyOf(data, row).stack))}>
											<SiteName name={keyOf(data, row).name} call={keyOf(data, row).call} />
										</a>
									),
								},
							]}
							rows={rows}
						/>
					);
				}}
			</Shown>
		</Drawer>
	);
}

/** "web_server.cpp has 74.9 MB of 75.0 MB live at 739 ms, the peak; most by line 264." */
export function sentence(files: SumsTable, file: string | null, lines: SourceLine[]): string {
	const { column: by, format } = measure.value;
	const keys = files.keys[0];
	const row = files.key.findIndex((key) => keys?.name[key ?? -1] === file);
	if (!file || row < 0) return 'No file of your own code is named by a frame: debug information (-g) has the lines.';
	const most = lines.reduce<SourceLine | null>((a, b) => ((b.cost?.own ?? 0) > (a?.cost?.own ?? 0) ? b : a), null);
	const at = most?.cost ? `; most by line ${most.number}, ${formatPercent(most.cost.own, files.all[by])}` : '';
	return `${baseName(file)} has ${format(files[by][row]!)} of ${format(files.all[by])} ${metricWords()}${whenWords()}${at}.`;
}

export function Source() {
	const { view } = place.value;
	const [pattern, setPattern] = useState(() => stored('editor'));
	const [jump, setJump] = useState<number | undefined>(undefined);
	const { column: by } = measure.value;
	const ask = { ...plainConditions.value, sort_by: by };
	const files = useAnswer<SumsTable>(dataPath('sums'), { ...ask, by: 'file', inclusive: 'true', count: FILES });
	const own = useAnswer<SumsTable>(dataPath('sums'), { ...ask, by: 'line', count: LINES });
	const inclusive = useAnswer<SumsTable>(dataPath('sums'), { ...ask, by: 'line', inclusive: 'true', count: LINES });
	const first = files.data?.key.map((key) => files.data!.keys[0]!.name[key ?? -1]).find((name) => !!name) ?? null;
	const file = view.sel || first;
	const served = summary.value?.sources ?? false;
	const text = useAnswer<SourceText>(served && file ? dataPath('source') : null, { file: file ?? undefined });
	const costs = useMemo(() => costsOf(own.data, inclusive.data, file ?? '', by), [own.data, inclusive.data, file, by]);
	const found = text.error || text.stale ? null : text.data;
	const lines = useMemo(() => linesOf(found?.lines ?? null, costs), [found, costs]);
	const ready = !!files.data && !!own.data && !!inclusive.data && (!served || !file || !!text.error || !!found);
	useEffect(() => {
		if (ready) performance.mark('mallow:view');
		// To the line that costs most.
		if (ready && found) {
			const most = lines.reduce((best, line, i) => ((line.cost?.own ?? 0) > (lines[best]?.cost?.own ?? 0) ? i : best), 0);
			setJump(Math.max(0, most - 6));
		}
	}, [ready, found]);
	const opened = view.row ? lines.findIndex(({ number }) => String(number) === view.row) : -1;
	const open = (index: number) => go({ view: { row: lines[index]?.cost ? String(lines[index]!.number) : '' } }, !!view.row);
	return (
		<Shown answer={files} height={400}>
			{(data) => (
				<>
					<h1>{ready ? sentence(data, file, lines) : '\u00a0'}</h1>
					{data.rows ? null : <Nothing />}
					{served ? null : (
						<p class="muted">
							The text is not shown: {inFile ? 'make the file by' : 'start'} <code>{inFile ? 'mallow export --to html --sources' : 'mallow serve --sources'}</code>, or{' '}
							<code>--sources=DIR</code> where the sources lie.
						</p>
					)}
					{text.error ? <p class="source-note">{text.error.message}</p> : null}
					{found?.newer ? <p class="source-note">{found.path} was changed after the recording began: lines may have moved.</p> : null}
					<div class="source">
						<Files sums={data} file={file} />
						<div class={`with-drawer${opened >= 0 ? ' open' : ''}`}>
							<div class="source-shown">
								<p class="muted source-path">
									<span>{found?.path ?? file}</span>
									<Editor pattern={pattern} onChange={setPattern} />
								</p>
								<div class="source-lines">
									<Table<SourceLine>
										label="lines"
										columns={columnsOf(data.all[by], found?.path ?? null, pattern)}
										count={lines.length}
										row={(index) => lines[index] ?? null}
										onOpen={open}
										opened={opened}
										jump={jump}
									/>
									<Minimap lines={lines} onJump={setJump} />
								</div>
							</div>
							{opened >= 0 && file ? <LineDrawer key={view.row} file={file} line={lines[opened]!} onClose={() => go({ view: { row: '' } })} /> : null}
						</div>
					</div>
				</>
			)}
		</Shown>
	);
}
