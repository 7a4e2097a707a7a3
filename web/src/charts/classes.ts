/* Classes of sizes, lifetimes and times, as /sums has them for keys: in their order, with gaps where nothing is. */
import type { SumsTable } from '../api/generated';
import { formatBytes, formatTime } from '../text/units';

export type ClassBy = 'size' | 'lifetime' | 'time';

export interface Class {
	/** Both ends belong to the class; null: never freed, as a lifetime. */
	least: number | null;
	largest: number | null;
	/** Its index in the table of keys; null: nothing is in it. */
	key: number | null;
	/** Never freed. */
	leaked: boolean;
}

/* Clocks are finer than this. */
const CLOCK_NS = 10_000;

const formatOf = (by: ClassBy) => (by === 'size' ? formatBytes : formatTime);

/** "257 B to 512 B", "never freed". */
export function classText(one: Class, by: ClassBy): string {
	if (one.leaked) return 'never freed';
	const format = formatOf(by);
	return `${format(one.least ?? 0)} to ${one.largest === null ? 'any' : format(one.largest)}`;
}

/* Classes double, so between two of them that are not neighbours so many are missing. */
const missing = (below: Class, above: Class): number =>
	below.largest && above.least && above.least > below.largest + 1 ? Math.round(Math.log2(above.least / (below.largest + 1))) : 0;

/** The classes of keys[`which`], smallest first, what was never freed last. Those of sizes and lifetimes have gaps filled. */
export function classesOf(sums: SumsTable, which: 0 | 1, by: ClassBy): Class[] {
	const keys = sums.keys[which];
	const count = keys?.name.length ?? 0;
	const found: Class[] = [];
	for (let key = 0; key < count; key++) {
		const least = keys!.least?.[key] ?? null;
		found.push({ least, largest: keys!.largest?.[key] ?? null, key, leaked: by === 'lifetime' && least === null });
	}
	found.sort((a, b) => (a.least ?? Infinity) - (b.least ?? Infinity));
	// No clock tells 0 ns from 1 ns: what it cannot tell from nothing reaches to the shortest time that it did tell.
	const [first, next] = found;
	if (by === 'lifetime' && first?.least === 0 && next?.least && next.least <= CLOCK_NS) first.largest = next.least - 1;
	if (by === 'time') return found;
	return found.flatMap((one, i) => {
		const gap = i ? missing(found[i - 1]!, one) : 0;
		const empty = Array.from({ length: gap }, (_, step): Class => {
			const least = found[i - 1]!.largest! * 2 ** step + 1;
			return { least, largest: (least - 1) * 2, key: null, leaked: false };
		});
		return [...empty, one];
	});
}

/** What a drag over classes means as conditions: both ends included. Nothing: {}. */
export function classConditions(chosen: Class[], by: 'size' | 'lifetime'): Record<string, string> {
	const freed = chosen.filter((one) => !one.leaked);
	if (!freed.length) return chosen.length ? { lifetime: 'only_leaked' } : {};
	const unit = by === 'size' ? '' : 'ns';
	const least = freed[0]!.least ?? 0;
	const largest = freed[freed.length - 1]!.largest;
	const bounds: Record<string, string> = {};
	if (least > 0) bounds[`${by}_min`] = `${least}${unit}`;
	// What was never freed passes any least lifetime and no greatest one.
	if (largest !== null && freed.length === chosen.length) bounds[`${by}_max`] = `${largest}${unit}`;
	return bounds;
}
