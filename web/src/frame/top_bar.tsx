/* The bar above: what is shown, search, the metric, and what can be done with the view. */
import { inFile } from '../api/file';
import { EXPORTS } from '../api/generated';
import { Menu, type MenuItem } from '../components/menu';
import { Switch } from '../components/switch';
import type { Metric } from '../state/place';
import { bare, family, knownMetrics, leftWords, merged } from '../state/limits';
import { command, curl, exportDiffers, exportTarget, request, rowsTarget, sitesTarget } from '../state/asked';
import { copy } from '../state/say';
import { facts, go, linkTo, place, recordings } from '../state/state';
import { theme, toggleTheme } from '../state/theme';
import { formatCount, formatTime } from '../text/units';
import { baseName } from '../components/site_name';
import { programName } from '../text/names';
import { showHelp } from './help';
import { chooseRecording } from './recordings';
import { Search } from './search';

const METRIC_WORDS: Record<Metric, [string, string]> = {
	bytes: ['bytes', 'bytes live when most were (1)'],
	blocks: ['blocks', 'blocks live when most bytes were (2)'],
	calls: ['calls', 'how many allocations (3)'],
	temporary: ['temporary', 'freed with no other allocation by the same thread in between (4)'],
	slack: ['slack', 'bytes got beyond those asked for (5)'],
	leaked: ['never freed', 'bytes that were not freed (6)'],
};

/* As reports call a program that was lost with the rest of its recording. */
const UNNAMED = 'unknown program';

/** What is shown, and with several recordings the choice of them. */
function RecordingName() {
	const shown = facts.value;
	if (!shown) return null;
	const words = merged.value ? `${formatCount(family.value.length)} processes · ${formatTime(shown.duration_s * 1e9)} · ${formatCount(shown.allocations)} allocations` : `${shown.imported ? shown.agent_version : `pid ${shown.pid}`} · ${formatTime(shown.duration_s * 1e9)} · ${formatCount(shown.allocations)} allocation${shown.allocations === 1 ? '' : 's'}`;
	const list = recordings.value ?? [];
	const name = shown.program ? programName(shown.program, shown.arguments) : UNNAMED;
	return (
		<span class="recording" title={shown.arguments.join(' ')}>
			{list.length > 1 ? (
				<button type="button" title="the recordings" aria-haspopup="dialog" onClick={chooseRecording}>
					<b>{name} ▾</b>
				</button>
			) : (
				<b>{name}</b>
			)}{' '}
			<span class="muted recording-words">{words}</span>
		</span>
	);
}

/* What a server writes of the view. An item says in what its file differs from what is shown. */
function ofServer(): MenuItem[] {
	const name = baseName(facts.value?.program ?? 'mallow');
	const rows = rowsTarget();
	const download = (href: string, ending: string, text: string) => ({ text, href, download: `${name}${ending}` });
	const stacks = (format: string, ending: string, text: string) => {
		const differs = exportDiffers(format);
		return download(exportTarget(format), ending, differs ? `${text}: ${differs}` : text);
	};
	return [
		{ text: 'Copy as curl', title: curl(), run: () => void copy(curl(), curl()) },
		download(request(), '.json', 'Answer as JSON'),
		rows ? download(rows, '.csv', 'Rows as CSV') : download(sitesTarget(), '.csv', 'Sites as CSV'),
		stacks('svg', '.svg', 'Flame graph (SVG)'),
		...EXPORTS.filter((format) => !bare.value || !format.ofBlocks).map((format) => stacks(format.name, format.ending, format.text)),
	];
}

function ExportMenu() {
	return (
		<Menu
			class="export"
			label="Export"
			title="Export what is shown"
			items={[
				{ text: 'Copy as command', title: command(), run: () => void copy(command(), command()) },
				{ text: 'Copy as link', run: () => void copy(location.href, location.href) },
				...(inFile ? [] : ofServer()),
			]}
		/>
	);
}

export function TopBar() {
	return (
		<header class="top-bar">
			<a class="home" href={linkTo({ page: 'overview' })}>
				mallow
			</a>
			<RecordingName />
			<Search />
			<div class="metrics">
				<Switch
					label="metric"
					value={place.value.metric}
					choices={knownMetrics.value.map((metric) => ({ value: metric, text: metric === 'leaked' ? leftWords.value : METRIC_WORDS[metric][0], title: METRIC_WORDS[metric][1] }))}
					onChange={(metric) => go({ metric })}
				/>
			</div>
			<span class="top-space" />
			<ExportMenu />
			<button type="button" class="plain" title="light or dark (T)" aria-label={`theme: ${theme.value}`} onClick={toggleTheme}>
				{theme.value === 'dark' ? '☾' : '☀'}
			</button>
			<button type="button" class="plain" title="keys and words (?)" aria-label="help" onClick={showHelp}>
				?
			</button>
		</header>
	);
}
