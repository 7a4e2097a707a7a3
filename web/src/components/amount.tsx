/* Numbers in tables: short, exact in the title. */
import { formatBytes, formatCount, formatExact, formatPercent } from '../text/units';

export function Bytes({ value }: { value: number }) {
	return <span title={`${formatExact(value)} B`}>{formatBytes(value)}</span>;
}

export function Count({ value }: { value: number }) {
	return <span title={formatExact(value)}>{formatCount(value)}</span>;
}

/** How many of a whole, and which part that is. */
export function CountPart({ value, whole }: { value: number; whole: number }) {
	return (
		<>
			<Count value={value} /> {value ? <span class="muted">{formatPercent(value, whole)}</span> : null}
		</>
	);
}

/** A bar of 56 and the part in percent. */
export function Share({ part, whole }: { part: number; whole: number }) {
	const width = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
	return (
		<span class="share">
			<span class="share-bar" aria-hidden="true">
				<span style={{ width: `${(100 * width).toFixed(1)}%` }} />
			</span>
			<span class="share-text">{formatPercent(part, whole)}</span>
		</span>
	);
}
