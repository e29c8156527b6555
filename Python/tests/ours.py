"""Agents as people write them: nothing here knows of any recording."""

from __future__ import annotations

import json
from typing import Any

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def look(city: str) -> str:
    """What colour a city is."""
    return f"{city} is blue"


def openai_agent(client: Any, goal: str) -> str:
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    said: list[Any] = [{"role": "user", "content": goal}]
    while True:
        message = client.chat.completions.create(model="fake-1", messages=said, tools=tools).choices[0].message
        said.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            result = look(**json.loads(call.function.arguments))
            said.append({"role": "tool", "tool_call_id": call.id, "content": result})


async def openai_agent_async(client: Any, goal: str) -> str:
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    said: list[Any] = [{"role": "user", "content": goal}]
    while True:
        reply = await client.chat.completions.create(model="fake-1", messages=said, tools=tools)
        message = reply.choices[0].message
        said.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return str(message.content)
        for call in message.tool_calls:
            result = look(**json.loads(call.function.arguments))
            said.append({"role": "tool", "tool_call_id": call.id, "content": result})


def anthropic_agent(client: Any, goal: str) -> str:
    tools = [{"name": "look", "description": "What colour a city is.", "input_schema": SCHEMA}]
    said: list[Any] = [{"role": "user", "content": goal}]
    while True:
        reply = client.messages.create(model="fake-1", max_tokens=100, messages=said, tools=tools)
        said.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in reply.content]})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return str(reply.content[0].text)
        said.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": c.id, "content": look(**c.input)} for c in calls
                ],
            }
        )
