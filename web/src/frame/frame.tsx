/* What stands around every page: the bar above, the rail, the time strip, the chips. */
import { useEffect, useState } from 'preact/hooks';
import { Failure, WORDS_MS } from '../components/shown';
import { Strip } from '../charts/strip/strip';
import { merged, missing } from '../state/limits';
import { readingWords, useReading } from '../state/reading';
import { failure, loadRecording } from '../state/recording';
import { liveBytes } from '../state/live';
import { fileFacts } from '../api/file';
import { said } from '../state/say';
import { formatBytes } from '../text/units';
import { facts, linkTo, place, summary } from '../state/state';
import { programName } from '../text/names';
import { OverviewHead } from '../views/overview';
import { VIEWS } from '../views/views';
import { Chips } from './chips';
import { Help } from './help';
import { useKeys } from './keys';
import { Rail } from './rail';
import { OfRun, Recordings } from './recordings';
import { TopBar } from './top_bar';
import { Unreached } from './unreached';
import '../styles/frame.css';

const STRIP_HEIGHT = 62;
const OVERVIEW_HEIGHT = 198;

/* A link to a recording that is not served, or not any more. */
function NoRecording({ recording }: { recording: string }) {
	return (
		<div class="failure" role="alert">
			<h1>No recording “{recording}” is served here.</h1>
			<a href={linkTo({ recording: 'last', brush: null, conditions: {}, view: {} })}>Show the latest one</a>
		</div>
	);
}

/* What `mallow check` said, in the file that it left. */
function Checked() {
	const said = fileFacts()?.check;
	if (!said) return null;
	return (
		<section class={`checked${/^ {2}broken/m.test(said) ? ' broken' : ''}`} aria-label="mallow check">
			<pre tabIndex={0}>{said.trimEnd()}</pre>
		</section>
	);
}

/* A page that has nothing to show of a recording of this kind. */
function Missing({ why }: { why: string }) {
	const page = merged.value ? 'processes' : 'sites';
	return (
		<>
			<h1>{why}</h1>
			<p>
				<a href={linkTo({ page })}>{page === 'processes' ? 'Processes' : 'Sites'}</a>
			</p>
		</>
	);
}

/* Before anything is known of the recording: how much of it is read, once that takes time. */
function Loading() {
	const [late, setLate] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setLate(true), WORDS_MS);
		return () => clearTimeout(timer);
	}, []);
	useReading(late);
	return (
		<div class="skeleton whole" aria-busy="true">
			{late ? readingWords() : ''}
		</div>
	);
}

function Page() {
	const { page, recording } = place.value;
	const View = VIEWS[page];
	if (failure.value?.status === 404) return <NoRecording recording={recording} />;
	if (failure.value)
		return <Failure error={failure.value} retry={() => loadRecording(recording, true)} />;
	if (!summary.value) return <Loading />;
	const overview = page === 'overview';
	const why = missing(page);
	return (
		<>
			{overview ? <Checked /> : null}
			{overview ? <OverviewHead /> : null}
			{overview ? <OfRun /> : null}
			{summary.value.has_curve ? <Strip plotHeight={overview ? OVERVIEW_HEIGHT : STRIP_HEIGHT} legend={overview} /> : null}
			<Chips />
			{why ? <Missing why={why} /> : <View key={`${page} ${recording}`} />}
		</>
	);
}

/* The skip link must not change the address, which is the page's own. */
function skip(event: Event): void {
	event.preventDefault();
	document.getElementById('view')?.focus();
}

export function Frame() {
	useKeys();
	const program = facts.value?.program ? programName(facts.value.program, facts.value.arguments) : null;
	const live = liveBytes.value;
	useEffect(() => {
		const name = program ? `${program} · mallow` : 'mallow';
		document.title = live === null ? name : `${formatBytes(live)} · ${name}`;
	}, [program, live]);
	return (
		<div class="frame">
			<a class="skip" href="#view" onClick={skip}>
				to the view
			</a>
			<TopBar />
			<Rail />
			<Unreached />
			<main id="view" tabIndex={-1} data-page={place.value.page}>
				<Page />
			</main>
			<Help />
			<Recordings />
			<div class="said" role="status" aria-live="polite">
				{said.value}
			</div>
		</div>
	);
}
