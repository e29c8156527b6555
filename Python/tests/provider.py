"""A small provider on this machine: it asks for the tool look, and answers when it is told the result."""

from __future__ import annotations

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Provider:
    """Serves Chat Completions, Responses and Messages until it is closed; ``asked`` is what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *arguments: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._send(200, {"object": "list", "data": []})

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(length)
                asked = json.loads(body)
                provider.asked.append({"path": self.path, "host": self.headers.get("Host"), "body": asked})
                path = self.path.split("?")[0]
                if "boom" in json.dumps(asked.get("messages", "")):
                    self._send(400, {"error": {"message": "boom", "type": "invalid_request_error"}})
                elif path.endswith("/chat/completions"):
                    self._send(200, chat(asked))
                elif path.endswith("/responses"):
                    self._send(200, responses(asked))
                elif path.endswith("/messages") and asked.get("stream"):
                    self._stream(messages_stream(messages(asked)))
                elif path.endswith("/messages"):
                    self._send(200, messages(asked))
                elif path.endswith(":generateContent"):
                    self._send(200, gemini(asked))
                elif path.endswith("/count_tokens"):
                    self._send(200, {"input_tokens": 5})
                else:
                    self._send(404, {"error": {"message": "no such path"}})

            def _stream(self, events: list[dict[str, Any]]) -> None:
                body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _send(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


_ids = itertools.count(1)


def _id() -> str:
    """Another one for each reply: replies with one id are one reply to whoever reads traces."""
    return f"reply_{next(_ids)}"


def _said(asked: dict[str, Any]) -> str:
    """The last words of the user, to be said back."""
    for message in reversed(asked.get("messages") or asked.get("input") or []):
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, str):
            return content
    return "?"


def _is_told(asked: dict[str, Any]) -> bool:
    """Whether somebody said what colour it is."""
    return "blue" in json.dumps([asked.get(key) for key in ("messages", "input", "contents")])


def _call(names: list[str]) -> tuple[str, dict[str, str]]:
    """The tool that is called, and what it is given."""
    for name in names:
        if "look" in name:
            return name, {"city": "Graz"}
    return names[0], {"input": "Graz"}


def chat(asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": f"blue, {_said(asked)}"}
    names = [tool["function"]["name"] for tool in asked.get("tools") or []]
    called = _call(names) if names and not _is_told(asked) else None
    if _is_told(asked) and "final_answer" in names:
        called = ("final_answer", {"answer": message["content"]})
    if called:
        function = {"name": called[0], "arguments": json.dumps(called[1])}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{len(asked['messages'])}", "type": "function", "function": function}],
        }
    return {
        "id": _id(), "object": "chat.completion", "created": 1, "model": asked["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None,
                     "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }  # fmt: skip


def responses(asked: dict[str, Any]) -> dict[str, Any]:
    output: dict[str, Any] = {
        "id": "m1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": f"blue, {_said(asked)}", "annotations": []}],
    }  # fmt: skip
    if asked.get("tools") and not _is_told(asked):
        name, given = _call([tool["name"] for tool in asked["tools"]])
        output = {
            "id": "f1", "type": "function_call", "call_id": "call_1", "name": name,
            "arguments": json.dumps(given), "status": "completed",
        }  # fmt: skip
    return {
        "id": _id(), "object": "response", "created_at": 1, "status": "completed", "model": asked["model"],
        "output": [output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": asked.get("tools", []),
        "usage": {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8,
                  "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    }  # fmt: skip


def messages(asked: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": f"blue, {_said(asked)}"}]
    if asked.get("tools") and not _is_told(asked):
        name, given = _call([tool["name"] for tool in asked["tools"]])
        content = [{"type": "tool_use", "id": "toolu_1", "name": name, "input": given}]
    return {
        "id": _id(), "type": "message", "role": "assistant", "model": asked["model"], "content": content,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip


def messages_stream(whole: dict[str, Any]) -> list[dict[str, Any]]:
    [block] = whole["content"]
    if block["type"] == "text":
        first, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        first = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": first},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]


def gemini(asked: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": f"blue, {asked['contents'][0]['parts'][0].get('text')}"}]
    if asked.get("tools") and not _is_told(asked):
        name, given = _call([d["name"] for tool in asked["tools"] for d in tool["functionDeclarations"]])
        parts = [{"functionCall": {"name": name, "args": given}}]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8},
        "modelVersion": "fake-1",
    }
