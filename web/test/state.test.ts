/* Where the page is, and what follows from that: links, what is asked, in which words. */
import { steps } from './browser';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Info, Recording, Summary } from '../src/api/generated';
import { command, curl, exportDiffers, exportTarget, request, rowsTarget, sitesTarget } from '../src/state/asked';
import { knownMetrics, liveTable, missing, rangeModes, unknownColumns } from '../src/state/limits';
import { measure } from '../src/state/measure';
import { chooseMoment, chooseRange, moveBrush, nextMode, rangeMode, stepMark } from '../src/state/moments';
import { HOME, PAGES, type Place } from '../src/state/place';
import { store, stored } from '../src/state/stored';
import {
	conditions, duration, go, isDifference, linkTo, place, plainConditions, recordings, spaceParams, standingConditions, summary, threadWords,
} from '../src/state/state';
import { areChosen, compare, sides } from '../src/views/compare_sides';
import { direction, flameParams, foldWords, merge } from '../src/views/flame_query';
import { metricWords, momentWords, whenWords } from '../src/views/moment_words';

const at = (here: Partial<Place>) => (place.value = { ...HOME, ...here });
const recording = (id: string, more: Partial<Recording> = {}) => ({ id, executable: `/bin/${id}`, path: `/r/${id}.mallow`, kind: 'recording', parent: null, ...more }) as Recording;

beforeEach(() => {
	at({});
	steps.length = 0;
	recordings.value = [recording('me'), recording('other')];
	summary.value = {
		facts: { id: 'me', path: '/r/me.mallow', duration_s: 10 } as Info,
		peak: { at_ns: 4e9 }, marks: [{ at_ns: 2e9, name: 'two' }, { at_ns: 6e9, name: 'six' }],
		threads: [{ thread: 7, name: 'worker' }, { thread: 8, name: null }],
	} as Summary;
});

describe('a place made of this one', () => {
	test('keeps what is not named; another page begins with the span of the strip and the search alone', () => {
		at({ page: 'sites', metric: 'leaked', conditions: { size_min: '64' }, view: { sel: 'f', zoom: '1-2', find: 'x' } });
		expect(linkTo({ view: { row: '3' } })).toBe('#/sites?metric=leaked&size_min=64&sel=f&zoom=1-2&find=x&row=3');
		expect(linkTo({ page: 'flame' })).toBe('#/flame?metric=leaked&size_min=64&zoom=1-2&find=x');
		expect(linkTo({ page: 'flame', view: { root: 'r', find: '' } })).toBe('#/flame?metric=leaked&size_min=64&zoom=1-2&root=r');
	});
	test('is a step of its own, or takes the place of the last one, and is none where nothing changes', () => {
		go({ page: 'sites' });
		go({ page: 'sites' });
		go({ view: { find: 'a' } });
		go({ view: { find: 'ab' } }, true);
		expect(steps).toEqual(['#/sites', '#/sites?find=ab']);
	});
});

describe('conditions', () => {
	test('are the user\'s and those of the brush', () => {
		at({ brush: { mode: 'grew', from: 1, to: 9 }, conditions: { size_min: '64', alive_at: 'end', 'b.id': 'other' } });
		expect(conditions.value).toEqual({ size_min: '64', 'b.id': 'other', alive_at: '9ns', 'b.alive_at': '1ns' });
		expect(plainConditions.value).toEqual({ size_min: '64', alive_at: '9ns' });
		expect(standingConditions.value).toEqual({ size_min: '64' });
		expect(isDifference.value).toBe(true);
		at({ brush: { mode: 'kept', from: 1, to: 9 } });
		expect(isDifference.value).toBe(false);
	});
	test('of /space are one moment', () => {
		const moment = (here: Partial<Place>) => (at(here), spaceParams.value.at);
		expect(moment({})).toBe('peak');
		expect(moment({ conditions: { alive_at: 'end' } })).toBe('end');
		expect(moment({ brush: { mode: 'kept', from: 1, to: 9 } })).toBe('9ns');
		expect(moment({ brush: { mode: 'freed', from: 1, to: 9 } })).toBe('1ns');
		expect(moment({ brush: { mode: 'peak', from: 1, to: 9, peak: 5 } })).toBe('5ns');
		expect(spaceParams.value).not.toHaveProperty('alive_at');
	});
});

describe('the brush', () => {
	const brush = () => place.value.brush;
	test('steps from mark to mark', () => {
		stepMark(1);
		expect(brush()).toEqual({ mode: 'moment', from: 2e9, to: 2e9 });
		stepMark(1);
		stepMark(1);
		expect(brush()?.to).toBe(6e9);
		stepMark(-1);
		expect(brush()?.to).toBe(2e9);
	});
	test('moves as a whole, and stays within the run', () => {
		expect(duration.value).toBe(10e9);
		chooseRange(1e9, 3e9, 'allocated');
		moveBrush(0.5);
		expect(brush()).toEqual({ mode: 'allocated', from: 6e9, to: 8e9 });
		moveBrush(0.5);
		expect(brush()).toMatchObject({ from: 8e9, to: 10e9 });
		moveBrush(-2);
		expect(brush()).toMatchObject({ from: 0, to: 2e9 });
		chooseMoment(null);
		moveBrush(-0.1);
		expect(brush()?.to).toBe(10e9);
	});
	test('has a next mode; a moment becomes what grew until it; a range without length is a moment', () => {
		chooseRange(5, 5, 'kept');
		expect(brush()).toEqual({ mode: 'moment', from: 5, to: 5 });
		expect(rangeMode()).toBe('kept');
		nextMode();
		expect(brush()).toEqual({ mode: 'kept', from: 0, to: 5 });
		for (const mode of ['allocated', 'freed', 'grew', 'peak', 'kept']) {
			nextMode();
			expect([brush()?.mode, rangeMode()]).toEqual([mode, mode]);
		}
	});
});

describe('in words', () => {
	test.each<[Partial<Place>, string, string]>([
		[{}, ' at 4.00 s, the peak', 'live'],
		[{ conditions: { size_min: '1' } }, ' at its peak', 'live'],
		[{ brush: { mode: 'moment', from: 1e9, to: 1e9 }, metric: 'blocks' }, ' at 1.00 s', 'blocks live'],
		[{ brush: { mode: 'kept', from: 1e9, to: 2e9 } }, ' at 2.00 s, allocated since 1.00 s', 'live'],
		[{ brush: { mode: 'kept', from: 1e9, to: 2e9 }, metric: 'calls' }, ' from 1.00 s to 2.00 s', 'calls'],
		[{ brush: { mode: 'allocated', from: 1e9, to: 2e9 } }, ' from 1.00 s to 2.00 s', 'allocated'],
		[{ brush: { mode: 'freed', from: 1e9, to: 2e9 }, metric: 'blocks' }, ' from 1.00 s to 2.00 s', 'blocks freed'],
		[{ brush: { mode: 'peak', from: 1e9, to: 3e9, peak: 2e9 } }, ' at 2.00 s', 'live'],
		[{ metric: 'leaked' }, ' in the run', 'never freed'],
	])('%j', (here, when, what) => {
		at(here);
		expect([whenWords().replace(/\u00a0/g, ' '), metricWords()]).toEqual([when, what]);
	});
	test('a thread has its number, and its name', () => {
		expect([7, 8, 9, null].map(threadWords)).toEqual(['worker 7', '8', '9', 'no thread']);
	});
});

describe('what is asked', () => {
	test('each page has a question, that a shell and a command can ask', () => {
		for (const page of PAGES) {
			at({ page, conditions: { size_min: '64' } });
			expect(request()).toMatch(page === 'processes' ? /^\/list$/ : /^\/data\/last\/\w+/);
			expect(command()).toMatch(/^mallow /);
		}
		at({ page: 'sites', conditions: { function_regex: "it's" }, view: { by: 'module', sort: 'calls', order: 'asc' } });
		expect(curl()).toBe("curl 'http://127.0.0.1:1/data/last/sums?function_regex=it%27s&by=module&sort_by=calls&order=asc&count=100'");
	});
	test('rows of tables can be had as CSV', () => {
		at({ page: 'allocations', view: { sort: 'size' } });
		expect(rowsTarget()).toBe('/data/last/export/allocations.csv?sort_by=size');
		at({ page: 'leaks' });
		expect(rowsTarget()).toBe('/data/last/export/sums.csv?by=function&sort_by=leaked&count=100000');
		at({ page: 'space' });
		expect(rowsTarget()).toBeNull();
		expect(sitesTarget()).toBe('/data/last/export/sums.csv?sort_by=bytes&count=100000');
	});
	test('a file of stacks has the metric that it can, and says in what it differs', () => {
		at({ page: 'churn', conditions: { size_min: '64' } });
		expect(exportTarget('flamegraph.pl')).toBe('/data/last/export/flamegraph.pl?size_min=64&metric=temporary');
		expect(exportTarget('pprof')).toBe('/data/last/export/pprof?size_min=64');
		at({ page: 'flame', metric: 'slack', view: { direction: 'callers' } });
		expect(exportTarget('svg')).toBe('/data/last/export/svg');
		expect(exportDiffers('svg')).toBe('by bytes at the peak, all functions and what they called');
		at({ page: 'flame', brush: { mode: 'grew', from: 1, to: 9 }, view: { show: 'grew' } });
		expect(exportTarget('svg')).toBe('/data/last/export/svg?alive_at=9ns&b.alive_at=1ns&show=grew&metric=peak');
		expect(exportTarget('pprof')).toBe('/data/last/export/pprof?alive_at=9ns');
		expect([exportDiffers('svg'), exportDiffers('pprof')]).toEqual(['', 'after alone']);
		at({ page: 'mappings' });
		expect(exportDiffers('pprof')).toBe('the allocations');
	});
	test('a flame graph has the folds that the address leaves', () => {
		expect([direction(), merge(), foldWords(false), foldWords(true)]).toEqual(['callees', 'functions', 'plumbing,trunk', 'plumbing,trunk,recursion']);
		at({ view: { direction: 'both', merge: 'lines', unfold: 'recursion', show: 'grew' } });
		expect([direction(), merge(), foldWords(true)]).toEqual(['both', 'lines', 'plumbing,trunk']);
		expect(flameParams(false, 100)).toEqual({ metric: 'peak', merge: 'lines', fold: 'plumbing,trunk', cut: 400 });
		at({ conditions: { 'b.id': 'x' }, view: { unfold: 'all', show: 'grew' } });
		expect(flameParams(true, 9000)).toMatchObject({ fold: 'none', cut: 4000, show: 'grew', 'b.id': 'x' });
	});
});

describe('what a recording cannot say', () => {
	test('of a table of what lives now', () => {
		recordings.value = [recording('me', { kind: 'live' })];
		expect(liveTable.value).toBe(true);
		expect([knownMetrics.value, rangeModes.value]).toEqual([['bytes', 'blocks', 'calls'], ['kept']]);
		expect(unknownColumns.value).toContain('leaked');
		expect([missing('leaks'), missing('sites')]).toEqual([expect.stringContaining('live table'), null]);
		expect(momentWords()).toBe('now');
	});
	test('of several processes as one', () => {
		at({ recording: 'me.all' });
		expect(knownMetrics.value).not.toContain('slack');
		expect(unknownColumns.value).toContain('curve');
		expect([missing('space'), missing('flame')]).toEqual([expect.stringContaining('each process by itself'), null]);
	});
	test('what was allocated or freed in a range need not have lived together', () => {
		at({ brush: { mode: 'freed', from: 1, to: 2 } });
		expect([measure.value.column, measure.value.flame]).toEqual(['total', 'total']);
		at({ brush: { mode: 'kept', from: 1, to: 2 }, metric: 'blocks' });
		expect([measure.value.column, measure.value.flame]).toEqual(['blocks', 'blocks']);
	});
});

describe('two sides', () => {
	test('are two moments of one recording, or two recordings', () => {
		at({ brush: { mode: 'grew', from: 1, to: 9 } });
		expect([areChosen(), sides()]).toEqual([true, { before: { recording: 'me', at: '1ns' }, after: { recording: 'me', at: '9ns' } }]);
		at({ conditions: { size_min: '64' } });
		expect(areChosen()).toBe(false);
		compare({ recording: 'other', at: '' }, { recording: 'me', at: 'end' });
		expect(place.value).toMatchObject({ recording: 'me', brush: null, conditions: { size_min: '64', 'b.id': 'other', alive_at: 'end', 'b.alive_at': '' } });
		expect(sides()).toEqual({ before: { recording: 'other', at: '' }, after: { recording: 'me', at: 'end' } });
	});
});

test('what the browser keeps is there until it is taken back', () => {
	store('editor', 'vi {line}');
	expect([stored('editor'), localStorage.getItem('mallow.editor')]).toEqual(['vi {line}', 'vi {line}']);
	store('editor', '');
	expect([stored('editor'), localStorage.getItem('mallow.editor')]).toEqual(['', null]);
});
