/* The first page: how much, when, who, and why it is still there. */
import { useEffect } from 'preact/hooks';
import type { Findings } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Shown } from '../components/shown';
import { Switch } from '../components/switch';
import { imported, knownMetrics, leftWords, liveTable } from '../state/limits';
import { dataPath, facts, go, isDifference, place, summary } from '../state/state';
import { MODE_WORDS } from '../state/brush';
import { formatBytes, formatCount, formatTime } from '../text/units';
import { Sentence } from '../text/sentence';
import { fileFacts } from '../api/file';
import { FindingCards, isNarrowed } from './overview_findings';
import { TopChanges, TopSites, type TopTable } from './overview_tables';
import { PeakReached, RunFacts } from './overview_facts';
import '../styles/overview.css';

const useFindings = () => useAnswer<Findings>(dataPath('findings'));

/* Of a table of what lives now: most is what lives now. */
function LiveHead() {
	const sums = summary.value?.matched;
	return sums ? (
		<div class="headline">
			<h1>
				{formatBytes(sums.live_bytes)} live {facts.value?.core ? 'then' : 'now'}, in {formatCount(sums.leaked_blocks)} blocks.
			</h1>
		</div>
	) : null;
}

/** The headline: above the time strip. */
export function OverviewHead() {
	const answer = useFindings();
	if (liveTable.value) return <LiveHead />;
	return (
		<Shown answer={answer} height={49} class="headline">
			{({ headline }) => (
				<>
					<h1>
						<Sentence text={headline.sentence} names={[headline.short, headline.function]} />
					</h1>
					<p class="muted">
						{headline.second ? <Sentence text={headline.second} names={[headline.short, headline.function]} /> : null}
					</p>
				</>
			)}
		</Shown>
	);
}

const capital = (words: string) => words[0]!.toUpperCase() + words.slice(1);

/* "Live at the peak": of what is chosen. */
function liveTitle(): string {
	const { brush } = place.value;
	if (!brush) return liveTable.value ? 'Live now' : 'Live at the peak';
	if (brush.mode === 'moment') return `Live at ${formatTime(brush.to)}`;
	return capital(MODE_WORDS[brush.mode]);
}

type Tab = 'memory' | 'calls' | 'temporary';

const TABS: { value: Tab; text: string }[] = [
	{ value: 'memory', text: 'memory' },
	{ value: 'calls', text: 'most calls' },
	{ value: 'temporary', text: 'most temporary' },
];

function tablesOf(tab: Tab): TopTable[] {
	if (tab === 'calls') return [{ column: 'calls', title: 'Most calls', metric: 'calls' }];
	if (tab === 'temporary') return [{ column: 'temporary', title: 'Most temporary calls', metric: 'temporary' }];
	const mode = place.value.brush?.mode;
	const all = mode === 'allocated' || mode === 'freed';
	const tables: TopTable[] = [
		{ column: all ? 'total' : 'bytes', title: liveTitle(), metric: 'bytes' },
		{ column: 'leaked', title: capital(leftWords.value), metric: 'leaked' },
	];
	// Of a moment of an import, what lives then is all that is known.
	return tables.filter(({ metric }) => knownMetrics.value.includes(metric) && (metric === 'bytes' || !imported.value || !mode));
}

export function Overview() {
	const answer = useFindings();
	const tab = (TABS.find(({ value }) => value === place.value.view.tab)?.value ?? 'memory') as Tab;
	const narrowed = isNarrowed(place.value.brush, place.value.conditions);
	useEffect(() => {
		if (answer.data) performance.mark('mallow:view');
	});
	return (
		<div class="overview">
			<section aria-label="what stands out">
				<h2>
					What stands out {narrowed || fileFacts()?.conditions ? <span class="muted">in the whole run</span> : null}
				</h2>
				<Shown answer={answer} height={300}>
					{({ findings, findings_missing: missing }) => (
						<>
							{missing ? <p class="muted">{findings.length ? 'Not all' : 'No findings'}: {missing}.</p> : null}
							{findings.length || !missing ? <FindingCards findings={findings} /> : null}
						</>
					)}
				</Shown>
				<PeakReached />
				<RunFacts />
			</section>
			<div class="overview-tables">
				{isDifference.value ? null : <Switch label="tables" choices={TABS.filter(({ value }) => value === 'memory' || knownMetrics.value.includes(value))} value={tab} onChange={(value) => go({ view: { tab: value === 'memory' ? '' : value } })} />}
				{isDifference.value ? <TopChanges /> : tablesOf(tab).map((table) => <TopSites key={table.column} table={table} freed={narrowed ? '' : (answer.data?.headline.freed ?? '')} />)}
			</div>
		</div>
	);
}
