"""The tour of the API (docs/book/src/tutorials/tour.md), with the client that openapi-python-client generates."""

import argparse
import uuid
from http import HTTPStatus

from reprise_client import AuthenticatedClient
from reprise_client.api.artifact import put_artifact
from reprise_client.api.calls import append_exchange
from reprise_client.api.chat_sessions import (
    complete_chat,
    create_chat,
    fork_chat,
    get_chat_meta,
    list_chats,
)
from reprise_client.api.context_snapshot import get_context, merge_context, replace_context
from reprise_client.api.health import ready
from reprise_client.api.input_requests import (
    answer_input_request,
    get_input_request,
    request_input,
)
from reprise_client.api.leases import acquire_lease, release_lease
from reprise_client.api.messages import append_messages, get_history, persist_initial_messages
from reprise_client.api.stats import get_workflow_stats
from reprise_client.api.turns import append_turn, get_resume
from reprise_client.models import (
    Action,
    ChatStatus,
    CreateChatRequest,
    Dialect,
    ForkRequest,
    InputKind,
    InputState,
    NewArtifact,
    NewExchange,
    NewInputAnswer,
    NewInputRequest,
    NewLease,
    NewMessage,
    NewMessages,
    NewProviderCall,
    NewStep,
    NewTurn,
    Problem,
    Readiness,
    StepStatus,
    StepType,
    TurnMessage,
    TurnOutcome,
    Variables,
)

options = argparse.ArgumentParser()
options.add_argument("--url", required=True)
options.add_argument("--token", required=True)
options = options.parse_args()

# A status that is not described raises.
client = AuthenticatedClient(options.url, options.token, raise_on_unexpected_status=True)
app = "acme_corp"
chat_id = f"picnic-{uuid.uuid4().hex}"
chat = {"app_id": app, "chat_id": chat_id, "client": client}


def ok(answer, status=HTTPStatus.OK):
    assert answer.status_code == status, (answer.status_code, answer.content)
    return answer.parsed


def variables(**values):
    return Variables.from_dict(values)


assert ok(ready.sync_detailed(client=client)).status == Readiness.READY

new = CreateChatRequest(workflow_name="Picnic", chat_id=chat_id, user_id="alice")
created = ok(create_chat.sync_detailed(app, client=client, body=new), HTTPStatus.CREATED)
assert (created.chat_id, created.status) == (chat_id, ChatStatus.RUNNING)
assert ok(create_chat.sync_detailed(app, client=client, body=new)).chat_id == chat_id

first = NewMessages([NewMessage(role="user", name="user", content="Plan a picnic")])
ok(persist_initial_messages.sync_detailed(**chat, body=first), HTTPStatus.CREATED)
message = NewMessage(event_id="evt-1", role="assistant", name="planner", content="Park or lake?")
stored = ok(append_messages.sync_detailed(**chat, body=message), HTTPStatus.CREATED).messages[0]
repeated = ok(append_messages.sync_detailed(**chat, body=message)).messages[0]
assert (stored.sequence, repeated.sequence, repeated.duplicate) == (1, 1, True)

ok(replace_context.sync_detailed(**chat, body=variables(place=None, guests=4)))
merged = ok(merge_context.sync_detailed(**chat, body=variables(guests=5)))
assert merged.context_snapshot["guests"] == 5
artifact = NewArtifact(ui_tool_id="map", display="artifact", payload={"lat": 52.5, "lon": 13.4})
assert ok(put_artifact.sync_detailed(**chat, body=artifact)).last_artifact.ui_tool_id == "map"

said = NewMessage(event_id="evt-2", role="assistant", name="planner", content="The park.")
call = NewProviderCall(
    call_id="call-1",
    agent="planner",
    requested_model="claude-sonnet-4",
    prompt_tokens=812,
    completion_tokens=9,
    cost_usd="0.002571",
    duration_ms=640,
)
exchange = NewExchange(messages=[said], call=call)
paid = ok(append_exchange.sync_detailed(**chat, body=exchange), HTTPStatus.CREATED)
assert paid.call.total_tokens == 821
stats = ok(get_workflow_stats.sync_detailed(app, "Picnic", client=client))
assert stats.agents["planner"].total_prompt_tokens >= 812

question = NewInputRequest(
    request_id="ask-1", prompt="Park or lake?", kind=InputKind.CHOICE, options=["park", "lake"]
)
asked = ok(request_input.sync_detailed(**chat, body=question), HTTPStatus.CREATED)
assert asked.state == InputState.PENDING
answer = NewInputAnswer(content="park", name="ada")
ok(answer_input_request.sync_detailed(**chat, request_id="ask-1", body=answer), HTTPStatus.CREATED)
answered = ok(get_input_request.sync_detailed(**chat, request_id="ask-1", wait="30s"))
assert (answered.state, answered.answer.content) == (InputState.ANSWERED, "park")

history = ok(get_history.sync_detailed(**chat, dialect=Dialect.AG2))
assert [message["content"] for message in history.messages][:2] == ["Plan a picnic", "Park or lake?"]
assert ok(get_context.sync_detailed(**chat)).context_snapshot["guests"] == 5
assert ok(get_chat_meta.sync_detailed(**chat)).last_artifact.ui_tool_id == "map"

lease = NewLease(owner="worker-2", ttl_ms=60_000)
token = ok(acquire_lease.sync_detailed(**chat, body=lease), HTTPStatus.CREATED).fencing_token
step = NewStep(
    type_=StepType.TOOL,
    status=StepStatus.FAILED,
    assistant_id="planner",
    stack_id="stk-1",
    error="the forecast is away",
)
turn = NewTurn(
    request_id="req-1",
    outcome=TurnOutcome.FAILED,
    messages=[TurnMessage(role="user", name="user", content="Will it rain?")],
    steps=[step],
)
turned = append_turn.sync_detailed(**chat, body=turn, fencing_token=token)
assert ok(turned, HTTPStatus.CREATED).resume_points == 1
plan = ok(get_resume.sync_detailed(**chat, dialect=Dialect.ANTHROPIC))
assert (plan.action, plan.step.stack_path) == (Action.RETRY, ["stk-1"])
ok(release_lease.sync_detailed(**chat, fencing_token=token), HTTPStatus.NO_CONTENT)
fenced = append_messages.sync_detailed(**chat, body=NewMessage(role="user", content="?"), fencing_token=token)
assert isinstance(ok(fenced, HTTPStatus.CONFLICT), Problem)

fork = ok(fork_chat.sync_detailed(**chat, body=ForkRequest(sequence=2)), HTTPStatus.CREATED)
assert (fork.forked_from.chat_id, fork.last_sequence) == (chat_id, 2)

assert ok(complete_chat.sync_detailed(**chat)).status == ChatStatus.COMPLETED
listed = ok(list_chats.sync_detailed(app, client=client, status=ChatStatus.COMPLETED, limit=5))
assert listed.data[0].chat_id == chat_id
print("the tour, with the generated Python client: done")
