"""What lies in the page as one file (src/server/html_file.h)."""
import base64
import gzip
import json
import re


def answers(text):
    """Its facts, and by question the answers in it, or why there is none."""
    parts = dict(re.findall(r'<script type="application/gzip" id="([^"]+)">([^<]*)</script>', text))
    facts = json.loads(gzip.decompress(base64.b64decode(parts["file"])))
    found = {}
    for number, answer in enumerate(facts["answers"]):
        data = parts.get(f"answer-{number}")
        found[answer["of"]] = answer["failed"] if data is None else json.loads(gzip.decompress(base64.b64decode(data)))
    return facts, found
