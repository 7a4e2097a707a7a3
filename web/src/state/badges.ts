/* The numbers on the rail: what the filter leaves of each page. */
import { signal } from '@preact/signals';
import type { Page } from './place';

/** Set by the frame, of answers that it has anyway. */
export const badges = signal<Partial<Record<Page, number>>>({});
