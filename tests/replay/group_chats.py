"""Group chats as AG2 up to 0.14 keeps them: of a manager, and of a pattern."""

import io
import itertools
from contextlib import redirect_stdout

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from autogen.agentchat import initiate_group_chat
from autogen.agentchat.group.patterns import DefaultPattern


def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"{city}: rain"


def says(agent: ConversableAgent, *answers: object) -> ConversableAgent:
    """Lets an agent give these answers, instead of those of a model."""
    given = iter(answers)
    agent.register_reply([object], lambda *_, **__: (True, next(given)), position=0)
    return agent


def calls(*cities: str) -> dict:
    """Returns a message that calls the tool for each city."""
    called = [
        {"id": f"call_{city}", "type": "function", "function": {"name": "weather", "arguments": f'{{"city": "{city}"}}'}}
        for city in cities
    ]
    return {"role": "assistant", "content": "", "tool_calls": called}


def chat_of_a_manager() -> list[dict]:
    """A chat whose tools a person's proxy runs."""
    proxy = UserProxyAgent("proxy", human_input_mode="NEVER", code_execution_config=False, function_map={"weather": weather})
    planner = says(ConversableAgent("planner", llm_config=False), calls("Oslo", "Rome"), "It rains everywhere.", "TERMINATE")
    critic = says(ConversableAgent("critic", llm_config=False), "Ask again tomorrow.")
    speakers = itertools.chain([planner, proxy, planner, critic, planner])
    group = GroupChat(
        [proxy, planner, critic], messages=[], max_round=6, speaker_selection_method=lambda *_: next(speakers, None),
    )
    manager = GroupChatManager(group, llm_config=False, silent=True)
    with redirect_stdout(io.StringIO()):
        proxy.initiate_chat(manager, message="Where does it rain?")
    return group.messages


def chat_of_a_pattern() -> list[dict]:
    """A chat whose tools the executor of the group runs."""
    planner = says(ConversableAgent("planner", llm_config=False), calls("Oslo", "Rome"), "It rains everywhere.")
    planner.register_function({"weather": weather})
    user = UserProxyAgent("customer", human_input_mode="NEVER", code_execution_config=False)
    pattern = DefaultPattern(initial_agent=planner, agents=[planner], user_agent=user)
    with redirect_stdout(io.StringIO()):
        chat, _, _ = initiate_group_chat(pattern, messages="Where does it rain?", max_rounds=5)
    return chat.chat_history
