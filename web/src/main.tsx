// The views' own styles come after these.
import './styles/tokens.css';
import './styles/base.css';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { takeToken } from './api/client';
import { underWay } from './api/answer';
import { inFile, openFile } from './api/file';
import { Frame } from './frame/frame';
import { followAddress, place } from './state/state';
import { followTheme } from './state/theme';
import { followRecording } from './state/live';
import { loadRecording } from './state/recording';

function start(): void {
	followTheme();
	followAddress();
	// Tests and benchmarks wait for this.
	effect(() => {
		document.body.dataset.busy = underWay.value ? '1' : '0';
	});
	effect(() => {
		loadRecording(place.value.recording);
	});
	followRecording();
	render(<Frame />, document.getElementById('app') as HTMLElement);
}

if (inFile) void openFile().then(start);
else void takeToken().then(start);
