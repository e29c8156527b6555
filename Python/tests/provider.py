"""A small provider on this machine: it asks for the tool look, and answers when it is told the result."""

from __future__ import annotations

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
                elif path.endswith("/messages"):
                    self._send(200, messages(asked))
                else:
                    self._send(404, {"error": {"message": "no such path"}})

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


def _said(asked: dict[str, Any]) -> str:
    """The last words of the user, to be said back."""
    for message in reversed(asked.get("messages") or asked.get("input") or []):
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, str):
            return content
    return "?"


def chat(asked: dict[str, Any]) -> dict[str, Any]:
    results = [m for m in asked["messages"] if m["role"] == "tool"]
    message: dict[str, Any] = {"role": "assistant", "content": f"blue, {_said(asked)}"}
    if asked.get("tools") and not results:
        name = asked["tools"][0]["function"]["name"]
        call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"city": "Graz"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "id": "c1", "object": "chat.completion", "created": 1, "model": asked["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None,
                     "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }  # fmt: skip


def responses(asked: dict[str, Any]) -> dict[str, Any]:
    given = asked["input"] if isinstance(asked["input"], list) else []
    results = [i for i in given if i.get("type") == "function_call_output"]
    output: dict[str, Any] = {
        "id": "m1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "blue", "annotations": []}],
    }  # fmt: skip
    if asked.get("tools") and not results:
        output = {
            "id": "f1", "type": "function_call", "call_id": "call_1", "name": asked["tools"][0]["name"],
            "arguments": '{"city": "Graz"}', "status": "completed",
        }  # fmt: skip
    return {
        "id": "r1", "object": "response", "created_at": 1, "status": "completed", "model": asked["model"],
        "output": [output], "parallel_tool_calls": True, "tool_choice": "auto", "tools": asked.get("tools", []),
        "usage": {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8,
                  "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    }  # fmt: skip


def messages(asked: dict[str, Any]) -> dict[str, Any]:
    last = asked["messages"][-1]["content"]
    content: list[dict[str, Any]] = [{"type": "text", "text": f"blue, {_said(asked)}"}]
    has_result = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
    if asked.get("tools") and not has_result:
        content = [{"type": "tool_use", "id": "toolu_1", "name": asked["tools"][0]["name"], "input": {"city": "Graz"}}]
    return {
        "id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "content": content,
        "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip
