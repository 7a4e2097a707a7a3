"""Stores of profiles on this machine, as Pyroscope, Parca and OpenTelemetry's collector take them. They answer as told."""
import base64
import gzip
import http.server
import json
import pathlib
import re
import subprocess
import threading
import time

import pprof_reader

# The messages of OpenTelemetry that are looked at, written from its specification (version 1.10).
OTLP = pathlib.Path(__file__).with_name("otlp_profiles.proto")
PATHS = {"/push.v1.PusherService/Push": "pyroscope", "/profiles/writeraw": "parca", "/v1development/profiles": "otlp"}


class Store:
    """Keeps (store, path, headers, body) of each request. answers: of the next requests, then 200: a status,
    ("late", seconds), "half": half an answer, or "never": none before the client goes."""

    def __init__(self, *answers):
        self.requests, self.answers, self.came = [], list(answers), threading.Condition()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = store.answers.pop(0) if store.answers else 200
                with store.came:
                    store.requests.append((PATHS.get(re.sub("^/prefix", "", self.path)), self.path, dict(self.headers), body))
                    store.came.notify_all()
                self.answer(answer)

            def answer(self, answer):
                if isinstance(answer, tuple):
                    time.sleep(answer[1])
                    answer = 200
                if answer == "never":
                    time.sleep(30)
                    return
                text = b"{}" if answer == 200 else b"evil \x1b[31mtext\r\nof a store"
                self.send_response(200 if answer == "half" else answer)
                self.send_header("Content-Length", "1000" if answer == "half" else str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                self.close_connection = answer == "half"

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.place = f"127.0.0.1:{self.server.server_address[1]}"

    def wait(self, count, seconds=30):
        """The requests, once there are so many."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.requests) >= count, seconds), self.requests
        return self.requests

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def profile_of(request):
    """A pprof profile, the labels and the id that came with it: of Pyroscope and Parca."""
    store, _, headers, body = request
    assert headers["Content-Type"] == "application/json"
    series, = json.loads(body)["series"]
    labels = series["labels"] if store == "pyroscope" else series["labels"]["labels"]
    sample, = series["samples"]
    packed = base64.b64decode(sample["rawProfile"], validate=True)
    assert len(packed) <= 4 << 20 and len(gzip.decompress(packed))
    return pprof_reader.Profile(packed), {label["name"]: label["value"] for label in labels}, sample.get("ID")


def otlp_text(request):
    """The message as protoc decodes it, which knows each of its fields."""
    run = subprocess.run(["protoc", f"--proto_path={OTLP.parent}", "--decode=otlp.Request", OTLP.name], input=request[3],
                         capture_output=True, check=True)
    text = run.stdout.decode()
    assert not re.search(r"^\s*\d+:|^\s*\d+ \{", text, re.MULTILINE), "a field that the protocol does not have"
    return text
