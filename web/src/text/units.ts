/*
 * Numbers as the command line writes them (src/report/words/format.c): three digits, units of 1000. A
 * no-break space stands before a unit.
 */

const SPACE = '\u00a0';

/* Each unit is 1000 of the one before; the largest in which the rounded number is at least 1. */
function scaled(value: number, units: string[]): string {
	let unit = 0;
	while (unit + 1 < units.length && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	if (unit === 0) return value.toFixed(0) + (units[0] ? SPACE + units[0] : '');
	const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	return value.toFixed(digits) + SPACE + units[unit];
}

export function formatBytes(bytes: number): string {
	return scaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB']);
}

/** A number with commas; of ten million on with a unit. */
export function formatCount(count: number): string {
	return count < 10_000_000 ? formatExact(count) : scaled(count, ['', 'K', 'M', 'G', 'T', 'P', 'E']);
}

export function formatExact(count: number): string {
	return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Short, for badges: 41, 18.0 K, 4.61 M. */
export function formatShort(count: number): string {
	return scaled(count, ['', 'K', 'M', 'G', 'T', 'P', 'E']);
}

export function formatTime(ns: number): string {
	const seconds = Math.round(ns / 1e9);
	if (ns < 59_995_000_000) return scaled(ns, ['ns', 'µs', 'ms', 's']);
	const two = (value: number) => String(value).padStart(2, '0');
	if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
	return `${Math.floor(seconds / 3600)}h${two(Math.floor(seconds / 60) % 60)}m${two(seconds % 60)}s`;
}

/** Whole percents from 10 on, one digit below, '<0.1 %' for what is not nothing. */
export function formatPercent(part: number, whole: number): string {
	const percent = whole ? (100 * part) / whole : 0;
	if (percent !== 0 && Math.abs(percent) < 0.05) return `<0.1${SPACE}%`;
	return (Math.abs(percent) < 9.95 ? percent.toFixed(percent ? 1 : 0) : percent.toFixed(0)) + SPACE + '%';
}

/** A change with its sign; − is the minus sign. */
export function formatChange(change: number, format: (value: number) => string): string {
	const sign = change < 0 ? '\u2212' : change > 0 ? '+' : '';
	return sign + format(Math.abs(change));
}

/** For axes, whose numbers are round: without zeros behind the point. */
export const roundText = (text: string): string => text.replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D)/, '');
