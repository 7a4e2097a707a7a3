/* file.js: stands before the page's own script in the page as one file. */
import { fileAnswer } from './answer';
import { readFacts } from './packed';

globalThis.mallowFile = readFacts().then((facts) => ({ facts, answer: fileAnswer }));
