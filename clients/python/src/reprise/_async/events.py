from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx

from .._events import Event, LineBreaks, Lines
from .._request import Request, backoff, problem_of, retry_after
from ..errors import from_problem
from .clock import sleep
from .transport import AsyncTransport

#: The service sends a comment at least this often, in seconds, with much room for slow networks.
SILENCE = 90.0
#: Statuses after which the stream is opened again.
REOPENED = frozenset({408, 429, 500, 502, 503, 504})
LONGEST_PAUSE = 10.0


class AsyncEvents:
    """The events of a chat, or of documents, each once and in order, however often the connection breaks."""

    def __init__(
        self, transport: AsyncTransport, path: str, after: int | str | None, params: dict[str, Any] | None = None
    ) -> None:
        self._transport, self._path, self._params = transport, path, params or {}
        #: The id of the last event, to go on from there later.
        self.last_id: str | None = None if after in (None, -1) else str(after)

    async def __aiter__(self) -> AsyncIterator[Event]:
        failures = 0
        while True:
            pause = 0.0
            request = Request("GET", self._path, params=self._params, headers={"accept": "text/event-stream"})
            if self.last_id is not None:
                request.headers["last-event-id"] = self.last_id
            try:
                async with self._transport.stream(request, read_timeout=SILENCE) as response:
                    if response.is_success:
                        breaks, lines = LineBreaks(), Lines()
                        async for piece in response.aiter_text():
                            for line in breaks.add(piece):
                                event = lines.add(line)
                                if event is None:
                                    continue
                                failures = 0
                                if event.id is not None:
                                    self.last_id = event.id
                                yield event
                        pause = lines.retry or 0.0
                    elif response.status_code not in REOPENED:
                        raise from_problem(response.status_code, problem_of(response))
                    else:
                        pause = retry_after(response) or 0.0
            except httpx.RequestError:
                pass
            failures += 1
            await sleep(max(pause, backoff(failures, first=0.2, most=LONGEST_PAUSE)))
