import { describe, expect, test } from 'vitest';
import { brushConditions, formatBrush, parseBrush } from '../src/state/brush';
import { formatPlace, HOME, parsePlace } from '../src/state/place';

describe('the address', () => {
	test('is read and written without loss', () => {
		const hash = '#/flame?r=4dcf&range=kept:5ns..9ns&metric=blocks&function_regex=%5Ejson_%2B&colour=fate';
		expect(formatPlace(parsePlace(hash))).toBe(hash);
	});
	test('of nothing is the overview of the last recording', () => {
		expect(parsePlace('')).toEqual(HOME);
	});
	test('takes a moment by its condition', () => {
		const place = parsePlace('#/sites?alive_at=2892663252ns');
		expect(place.brush).toEqual({ mode: 'moment', from: 2892663252, to: 2892663252 });
		expect(place.conditions).toEqual({});
	});
	test('keeps named moments as conditions', () => {
		expect(parsePlace('#/sites?alive_at=peak').conditions).toEqual({ alive_at: 'peak' });
	});
	test('says what it does not know', () => {
		expect(parsePlace('#/nowhere?x=1').unknown).toEqual(['nowhere', 'x=1']);
	});
	test('has conditions of the side before', () => {
		expect(parsePlace('#/compare?b.id=abc&b.alive_at=5ns&alive_at=9ns').conditions).toEqual({
			'b.id': 'abc', 'b.alive_at': '5ns', alive_at: '9ns',
		});
	});
});

describe('the brush', () => {
	test.each(['moment:5ns', 'kept:5ns..9ns', 'grew:0ns..9ns'])('%s', (text) => {
		expect(formatBrush(parseBrush(text)!)).toBe(text);
	});
	test.each(['moment:5', 'kept:5ns', 'kept:9ns..5ns', 'odd:1ns..2ns', 'moment:1ns..2ns'])('refuses %s', (text) => {
		expect(parseBrush(text)).toBeNull();
	});
	test('stands for conditions', () => {
		expect(brushConditions(parseBrush('kept:5ns..9ns'))).toEqual({
			from: '5ns', to: '9ns', lifetime: 'only_not_deallocated_in_current_range',
		});
		expect(brushConditions(parseBrush('grew:5ns..9ns'))).toEqual({ alive_at: '9ns', 'b.alive_at': '5ns' });
		expect(brushConditions(null)).toEqual({});
	});
});
