"""What lies in the page as one file (src/server/page/html_file.h)."""
import base64
import gzip
import json
import re


def parts(text):
    """By id, the facts ("file") and the answers ("answer-0", …) as they stand in it: packed."""
    return dict(re.findall(r'<script type="application/gzip" id="([^"]+)">([^<]*)</script>', text))


def unpack(part):
    return json.loads(gzip.decompress(base64.b64decode(part)))


def answers(text):
    """Its facts, and by question the answers in it, or why there is none."""
    packed = parts(text)
    facts = unpack(packed["file"])
    found = {}
    for number, answer in enumerate(facts["answers"]):
        part = packed.get(f"answer-{number}")
        found[answer["of"]] = answer["failed"] if part is None else unpack(part)
    return facts, found
