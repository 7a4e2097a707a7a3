/* A block's facts as text. */
import type { Allocation, Time } from '../api/generated';
import { formatTime } from '../text/units';

export const nanoseconds = (time: Time): number => time.secs * 1e9 + time.fract_nsecs;

/** How long it lived, in nanoseconds; null: it was never freed. */
export function lifetime(block: Allocation): number | null {
	if (!block.deallocation) return null;
	// The clock's seconds are too large for a number with nanoseconds: first the difference.
	const { timestamp: end } = block.deallocation;
	return (end.secs - block.timestamp.secs) * 1e9 + (end.fract_nsecs - block.timestamp.fract_nsecs);
}

export const livedText = (block: Allocation): string => {
	const lived = lifetime(block);
	return lived === null ? 'never' : formatTime(lived);
};

export const fateOf = (block: Allocation): string => {
	const lived = lifetime(block);
	return lived === null ? 'It was never freed' : `It was freed after ${formatTime(lived)}`;
};

/** Addresses as debuggers write them. Those of this size are exact in a number. */
export const addressText = (block: { address_s: string }): string => block.address_s.replace(/^0+(?=.)/, '').toLowerCase();

/** What is jumped to: a row number, an address, or a moment. */
export type Jump = { kind: 'number'; row: number } | { kind: 'address'; address: string } | { kind: 'time'; moment: string };

/** null: it is none of them. */
export function parseJump(text: string): Jump | null {
	const words = text.trim();
	if (/^#?[\d,]+$/.test(words)) return { kind: 'number', row: Number(words.replace(/[#,]/g, '')) };
	if (/^0x[0-9a-f]+$/i.test(words)) return { kind: 'address', address: words };
	if (/^[0-9a-f]{8,16}$/i.test(words)) return { kind: 'address', address: `0x${words}` };
	if (/^[\d.]+\s*(ns|us|µs|ms|s|m|h|%)/.test(words)) return { kind: 'time', moment: words.replace(/\s/g, '').replace('µ', 'u') };
	return null;
}
