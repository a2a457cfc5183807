"""The updates of a session, as an agent sends them that is written with the ACP SDK for Python."""

from acp import helpers


def update_of(update: object) -> dict:
    return update.model_dump(mode="json", by_alias=True, exclude_none=True)


def updates_of_acp() -> list[dict]:
    ticket = helpers.resource_link_block("ticket", "file:///trip/ticket.pdf", mime_type="application/pdf", size=2048)
    notes = helpers.resource_block(helpers.embedded_text_resource("file:///trip/notes.md", "# Oslo", mime_type="text/markdown"))
    plan = [helpers.plan_entry("Read the ticket", priority="high", status="completed"), helpers.plan_entry("Change it")]
    return [update_of(update) for update in [
        helpers.update_user_message_text("Change my trip."),
        helpers.update_user_message(ticket),
        helpers.update_user_message(notes),
        helpers.update_agent_thought_text("The ticket comes first."),
        helpers.update_plan(plan),
        helpers.update_agent_message_text("I read the ticket."),
        helpers.start_tool_call("call_1", "Read ticket.pdf", kind="read", status="pending", raw_input={"path": "/trip/ticket.pdf"}),
        helpers.update_tool_call("call_1", status="in_progress"),
        helpers.update_tool_call(
            "call_1", status="completed", raw_output={"seat": 1},
            content=[helpers.tool_content(helpers.text_block("Seat 1"))],
        ),
        helpers.start_edit_tool_call("call_2", "Change notes.md", "/trip/notes.md", "# Rome"),
        helpers.update_tool_call(
            "call_2", status="failed",
            content=[helpers.tool_diff_content("/trip/notes.md", "# Rome", "# Oslo")],
        ),
        helpers.update_agent_message_text("The notes cannot be changed."),
        helpers.update_current_mode("ask"),
    ]]
