"""What every peer does with its input: reads one JSON request a line, does it, answers with one JSON line."""

import json
import sys


def answer_requests(verbs):
    """Answers each request by the verb it names in "do", until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = verbs[request["do"]](request)
        except Exception as error:  # the other side says it in its own words
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
