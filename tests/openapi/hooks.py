"""What schemathesis cannot know about this API."""

import json

import schemathesis


@schemathesis.hook
def filter_case(context, case):
    # A request may have any further headers, so one with an unknown header is not invalid.
    return "x-schemathesis-unknown-property" not in (case.headers or {})


@schemathesis.deserializer("application/x-ndjson")
def last_line(context, response):
    # The schema is that of a line.
    return json.loads(response.content.splitlines()[-1])
