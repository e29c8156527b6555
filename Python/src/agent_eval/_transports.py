"""Leads requests of clients that were made before a recording began to its proxy.

Variables tell new clients where the proxy is. Clients that are there already keep the address that they were made
with, so that the places where httpx, httpx2, requests and aiohttp send a request are wrapped: a request to a base URL
of a provider goes to the proxy of the run that it belongs to, every other one where it was to go. Where a policy or a
recording decides what a run is answered, one that would go past the proxy goes nowhere. Nothing else of a request is
changed, and the wrappers do nothing where no run was ever recorded.
"""

from __future__ import annotations

import contextvars
import functools
import importlib.abc
import importlib.util
import io
import json
import os
import re
import sys
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

_USUAL: dict[str, tuple[tuple[str, ...], str | None]] = {
    "openai": (("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    "anthropic": (
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_API_URL"),
        "https://api.anthropic.com",
    ),
    "gemini": (("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"), "https://generativelanguage.googleapis.com"),
    "azure": (("AZURE_OPENAI_ENDPOINT",), None),
    "bedrock": (("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",), None),
    "ollama": (("OLLAMA_HOST", "OLLAMA_API_BASE", "OLLAMA_BASE_URL"), "http://127.0.0.1:11434"),
}
"""The variables of each provider, the first that is set counts, and its address where none is: the program's own."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MODEL_PATH = re.compile(
    r"/(chat/completions|responses|messages|completions|api/chat|api/generate|converse|converse-stream"
    r"|invoke|invoke-with-response-stream|v[12]/chat|text/chat|text/chat_stream|v1(alpha|beta)?/interactions)/?$"
    r"|:(streamG|g)enerateContent$|:(streamR|r)awPredict$"
)


@dataclass(eq=False)
class Route:
    """Where the requests of one run go."""

    bases: list[tuple[str, str]]
    """Of each provider its base URL and that of the proxy."""
    is_only_way: bool = False
    """Whether nothing may be asked past the proxy, because a policy or a recording decides what is answered."""
    past: list[str] = field(default_factory=list)
    """Requests that look like those of a model and did not go to the proxy."""
    refused: set[str] = field(default_factory=set)
    """Those of them that went nowhere."""
    is_open: bool = True
    direct: dict[str, Any] = field(default_factory=dict)
    """Transports of this run, by the name of their package; for clients that send by way of another proxy."""
    owner: int = field(default_factory=os.getpid)
    """The process that has the run; 0 where that is another one, whose variables this one was given."""
    notes: list[str] = field(default_factory=list)
    """Files in which other processes of this run say what did not go to the proxy; there while the run lasts."""

    @property
    def is_running(self) -> bool:
        """Whether the block of the run lasts, also as a copy of its process can tell."""
        if not self.is_open or os.getpid() == self.owner:
            return self.is_open
        return any(os.path.exists(path) for path in self.notes)

    def note(self, method: str, url: str, is_refused: bool = False) -> None:
        """Remembers a request that did not go to the proxy.

        Raises ``Refused`` where the process that has the run cannot be told of it.
        """
        text = _told(method, url)
        with _lock:
            if text in self.past or len(self.past) >= 100:
                return
        # Its own file is for others; those of the runs around it are for it as well.
        self._tell(self.notes[1:] if os.getpid() == self.owner else self.notes, text, is_refused)
        self._remember(text, is_refused)

    def _remember(self, text: str, is_refused: bool) -> None:
        with _lock:
            if text not in self.past and len(self.past) < 100:
                self.past.append(text)
                if is_refused:
                    self.refused.add(text)

    def _tell(self, notes: list[str], text: str, is_refused: bool) -> None:
        line = (json.dumps([text, is_refused]) + "\n").encode()
        for path in notes:
            try:
                # One write: lines of several processes do not mix.
                file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                try:
                    os.write(file, line)
                finally:
                    os.close(file)
            except FileNotFoundError:
                # That run is over.
                continue
            except OSError as error:
                raise Refused(
                    f"agent-eval did not send {text}: it goes past the proxy, and the process that records cannot be told "
                    f"of it ({path}: {error.strerror}). Say where it is with record(upstream={{…}})"
                ) from error

    def gather(self) -> None:
        """Takes in what other processes noted."""
        for path in self.notes[:1]:
            try:
                with open(path, encoding="utf-8") as file:
                    for line in file:
                        self._remember(*json.loads(line))
            except (OSError, ValueError, TypeError) as error:
                self._remember(f"what other processes asked (their notes cannot be read: {error})", False)

    def words(self) -> list[str]:
        """The requests that did not go to the proxy, and what became of them."""
        return [f"{text} {'was refused' if text in self.refused else 'went past the proxy'}" for text in self.past]


class Refused(Exception):
    """A request may not be sent; the text says why."""


def _told(method: str, url: str) -> str:
    parts = urlsplit(url)
    return f"{method} {parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


current: contextvars.ContextVar[Route | None] = contextvars.ContextVar("agent_eval_run", default=None)
"""The run of this context."""
_lock = threading.Lock()


def _after_fork() -> None:
    """A copy of the process may have been made while another thread held the lock."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
_everywhere: list[Route] = []
"""The run that the variables of this process lead to, if there is one."""
_contextual: list[Route] = []
"""Runs that only their own contexts lead to."""
_inherited: Route | None = None
"""The run of the process that started this one, if its variables say so."""
VARIABLE = "_AGENT_EVAL_RECORDING"
"""Tells processes that are started within a block of its run. No setting of the program, whose names begin otherwise."""
_origins: dict[str, str] = {}
"""Of each base URL of a proxy that ever was, the one that it stood for."""


def open_route(route: Route, everywhere: bool) -> bool:
    """Takes a run in; false where that could mix it with another one."""
    with _lock:
        if _everywhere or (everywhere and _contextual):
            return False
        (_everywhere if everywhere else _contextual).append(route)
        return True


def close_route(route: Route) -> None:
    """From here on requests of this run's clients go to the providers."""
    with _lock:
        route.is_open = False
        for routes in (_everywhere, _contextual):
            if route in routes:
                routes.remove(route)
        direct, route.direct = route.direct, {}
    for transport in direct.values():
        transport.close()


def told(route: Route) -> str:
    """What other processes have to know of a run, for their variables."""
    return json.dumps({"bases": route.bases, "isOnlyWay": route.is_only_way, "notes": route.notes})


def inherit() -> None:
    """Takes in the run of the process that started this one, where it has one: clients are led to its proxy here as
    well, and what goes past that is told to it."""
    global _inherited
    text = os.environ.get(VARIABLE)
    if not text:
        return
    try:
        said = json.loads(text)
        bases = [(str(origin), str(proxy)) for origin, proxy in said["bases"]]
        route = Route(
            # A client that was told of the proxy asks it.
            [*dict.fromkeys([*bases, *((proxy, proxy) for _, proxy in bases)])],
            is_only_way=bool(said["isOnlyWay"]),
            owner=0,
            notes=[str(path) for path in said["notes"]],
        )
    except (ValueError, TypeError, KeyError):
        # Not ours.
        return
    if route.is_running:
        _inherited = route
        install()


def around() -> list[str]:
    """The files of notes of the runs that this process was started in, or is a copy within."""
    routes = [r for r in (current.get(), _inherited) if r is not None and r.owner != os.getpid() and r.is_running]
    return list(dict.fromkeys(path for route in routes for path in route.notes))


def know(route: Route) -> None:
    """Remembers what the addresses of a run's proxy stand for."""
    with _lock:
        for origin, proxy in route.bases:
            _origins[proxy] = origin
        while len(_origins) > 10_000:
            del _origins[next(iter(_origins))]


def bases(
    before: Mapping[str, str], within: Mapping[str, str], asked: Mapping[str, str], asks_providers: bool = True
) -> list[tuple[str, str]]:
    """The base URL of each provider, and that of the proxy, from the variables before and within a recording.

    Where no provider is asked, their usual addresses lead to the proxy as well as those of the variables.
    """
    made: list[tuple[str, str]] = []
    for name, (variables, usual) in _USUAL.items():
        proxy = within.get(variables[0])
        if proxy is None:
            continue
        origins: list[str | None] = [before[v] for v in variables if before.get(v)]
        origins = origins[:1] or [usual]
        if name in asked:
            origins = [asked[name]]
        if not asks_providers:
            origins.append(usual)
        made += [(origin, proxy) for origin in origins if origin and "://" in origin]
    for name, origin in asked.items():
        proxy = within.get(name.upper().replace("-", "_") + "_BASE_URL")
        if name not in _USUAL and proxy is not None:
            made.append((origin, proxy))
    made = [(origin.rstrip("/"), proxy.rstrip("/")) for origin, proxy in made]
    return sorted(dict.fromkeys(made), key=lambda pair: -len(pair[0]))


def _behind(url: str, base: str) -> str | None:
    """What stands behind a base URL in a URL; ``None`` where it does not begin so.

    Two spellings of one address are one: capitals, the usual port, a dot at the end of a name, ``localhost``.
    """
    rest = url[len(base) :] if url.startswith(base) else _behind_address(url, base)
    return rest if rest is not None and (not rest or rest[0] in "/?") else None


def _behind_address(url: str, base: str) -> str | None:
    asked, known = urlsplit(url), urlsplit(base)
    try:
        if asked.scheme != known.scheme or _port(asked) != _port(known):
            return None
    except ValueError:
        return None
    first, second = ((parts.hostname or "").rstrip(".") for parts in (asked, known))
    if first != second and not (first in _LOOPBACK and second in _LOOPBACK and "localhost" in (first, second)):
        return None
    if not asked.path.startswith(known.path):
        return None
    return asked.path[len(known.path) :] + (f"?{asked.query}" if asked.query else "")


def _port(parts: SplitResult) -> int | None:
    return parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _meant(url: str) -> tuple[str, str | None]:
    """The URL that a client would ask without any recording, and the base of the proxy that it names if it does."""
    with _lock:
        known = list(_origins.items()) if url.startswith("http://127.0.0.1:") else []
    for proxy, origin in reversed(known):
        # As it was given to clients: there may be thousands.
        if url.startswith(proxy) and (rest := _behind(url, proxy)) is not None:
            return origin + rest, proxy
    return url, None


def lead(method: str, url: str) -> tuple[str, Route | None]:
    """Where a request goes, and the run that it belongs to where that is its proxy.

    Raises ``Refused`` for a request that looks like one to a model and may be of a run that has no way but its proxy.
    """
    if not _origins and _inherited is None:
        return url, None
    route = current.get()
    if route is None or not route.is_running:
        with _lock:
            route = _everywhere[0] if _everywhere else None
    if route is None or not route.is_running:
        # A run of this process goes before the one that the process was started in.
        route = _inherited if _inherited is not None and _inherited.is_running and not _contextual else None
    meant, named = _meant(url)
    if route is not None:
        found = _proxied(route, meant, named)
        if found is not None:
            return found, route
        if _is_model(method, meant):
            route.note(method, meant, is_refused=route.is_only_way)
            if route.is_only_way:
                raise Refused(
                    f"agent-eval did not send {_told(method, meant)}: the run has a policy or a recording, and this is at "
                    "none of the addresses of its providers. Say where it is with record(upstream={…})"
                )
        return meant, None
    with _lock:
        others = [other for other in _contextual if other.is_running]
    if others and (_is_model(method, meant) or any(_behind(meant, o) is not None for r in others for o, _ in r.bases)):
        # Nobody knows whose request this is: a thread that was begun without the context of its run?
        is_refused = any(other.is_only_way for other in others)
        for other in others:
            other.note(method, meant, is_refused)
        if is_refused:
            raise Refused(
                f"agent-eval did not send {_told(method, meant)}: a run with a policy or a recording is open, and this "
                "thread was begun in the context of none. Begin it with contextvars.copy_context().run"
            )
    return meant, None


_STATUS = 403
# Clients do not try again what is answered so: the proxy itself refuses in this way.
_HEADERS = {"content-type": "application/json", "x-should-retry": "false"}


def _body(refused: Refused) -> bytes:
    return json.dumps({"error": {"type": "agent_eval_refused", "message": str(refused)}}).encode()


def _proxied(route: Route, url: str, named: str | None) -> str | None:
    """The address of a run's proxy for a request; ``None`` where it is for no provider of the run.

    Two providers may be at one address. A client that was told of a proxy, be it of an earlier run, says by it which
    of them it asks; Anthropic's clients say it by the path.
    """
    matches = [(proxy, rest) for origin, proxy in route.bases if (rest := _behind(url, origin)) is not None]
    if not matches:
        return None
    told = urlsplit(named).path if named is not None else None
    for proxy, rest in matches:
        if urlsplit(proxy).path == told:
            return proxy + rest
    for proxy, rest in matches:
        if rest.startswith("/v1/messages"):
            return proxy + rest
    return matches[0][0] + matches[0][1]


def _is_model(method: str, url: str) -> bool:
    return method.upper() == "POST" and _MODEL_PATH.search(unquote(urlsplit(url).path)) is not None


_NAMES = ("httpx", "httpx2", "requests", "aiohttp")


def install() -> None:
    """Wraps the packages that are imported by now, and has those that are imported later wrapped then."""
    with _lock:
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
    for name in _NAMES:
        if name in sys.modules:
            _wrap(sys.modules[name], name)


def _wrap(module: Any, name: str) -> None:
    with _lock:
        if name.startswith("httpx"):
            _wrap_httpx(module, name)
        elif name == "requests":
            _wrap_requests(module)
        else:
            _wrap_aiohttp(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: has a package that others find wrapped when it is loaded."""

    def __init__(self) -> None:
        self._within = threading.local()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname not in _NAMES or getattr(self._within, "is_looking", False):
            return None
        self._within.is_looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._within.is_looking = False
        loader = spec.loader if spec is not None else None
        if loader is not None and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                _wrap(module, fullname)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _is_wrapped(function: Any) -> bool:
    return hasattr(function, "_agent_eval")


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _wrap_httpx(module: Any, name: str) -> None:
    sync, asynchronous = getattr(module, "HTTPTransport", None), getattr(module, "AsyncHTTPTransport", None)
    loops: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def changed(request: Any, url: str) -> Any:
        headers = module.Headers(request.headers)
        headers["host"] = _host(url)
        return module.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
        )

    def sends_directly(transport: Any) -> bool:
        pool = getattr(transport, "_pool", None)
        # Through no other proxy and no socket of its own, from any address, and in the HTTP that the proxy speaks.
        is_own_way = any(getattr(pool, name, None) for name in ("_uds", "_local_address")) or not getattr(pool, "_http1", 1)
        return type(pool).__name__ in ("ConnectionPool", "AsyncConnectionPool") and not is_own_way

    if sync is not None and not _is_wrapped(sync.handle_request):
        before = sync.handle_request

        @functools.wraps(before)
        def handle_request(self: Any, request: Any) -> Any:
            try:
                url, route = lead(request.method, str(request.url))
            except Refused as refused:
                return module.Response(_STATUS, headers=_HEADERS, content=_body(refused), request=request)
            is_there = url == str(request.url)
            if is_there and (route is None or sends_directly(self)):
                return before(self, request)
            transport = self
            if route is not None and not sends_directly(self):
                with _lock:
                    transport = route.direct.get(name) or sync(trust_env=False)
                    route.direct[name] = transport
            return before(transport, request if is_there else changed(request, url))

        handle_request._agent_eval = True  # type: ignore[attr-defined]
        sync.handle_request = handle_request

    if asynchronous is not None and not _is_wrapped(asynchronous.handle_async_request):
        before_async = asynchronous.handle_async_request

        @functools.wraps(before_async)
        async def handle_async_request(self: Any, request: Any) -> Any:
            try:
                url, route = lead(request.method, str(request.url))
            except Refused as refused:
                return module.Response(_STATUS, headers=_HEADERS, content=_body(refused), request=request)
            is_there = url == str(request.url)
            if is_there and (route is None or sends_directly(self)):
                return await before_async(self, request)
            transport = self
            if route is not None and not sends_directly(self):
                import asyncio

                # Connections belong to the loop that they were made in.
                loop = asyncio.get_running_loop()
                transport = loops.get(loop) or asynchronous(trust_env=False)
                loops[loop] = transport
            return await before_async(transport, request if is_there else changed(request, url))

        handle_async_request._agent_eval = True  # type: ignore[attr-defined]
        asynchronous.handle_async_request = handle_async_request


def _wrap_requests(module: Any) -> None:
    adapter = getattr(getattr(module, "adapters", None), "HTTPAdapter", None)
    if adapter is None or _is_wrapped(adapter.send):
        return
    before = adapter.send

    @functools.wraps(before)
    def send(self: Any, request: Any, *arguments: Any, **named: Any) -> Any:
        try:
            url, route = lead(request.method or "GET", request.url or "")
        except Refused as refused:
            answer = module.Response()
            answer.status_code, answer.url, answer.request, answer.connection = _STATUS, request.url, request, self
            answer.headers.update(_HEADERS)
            answer.raw = io.BytesIO(_body(refused))
            return answer
        if url == request.url and route is None:
            return before(self, request, *arguments, **named)
        sent = request.copy()
        sent.url = url
        if "Host" in sent.headers:
            sent.headers["Host"] = _host(url)
        if route is not None and len(arguments) < 5:
            # The proxy is on this machine, and not behind another one.
            named["proxies"] = {}
        response = before(self, sent, *arguments, **named)
        response.url, response.request = request.url, request
        return response

    send._agent_eval = True  # type: ignore[attr-defined]
    adapter.send = send


def _wrap_aiohttp(module: Any) -> None:
    session = getattr(module, "ClientSession", None)
    if session is None or _is_wrapped(session._request):
        return
    before = session._request

    def with_host(session: Any, headers: Any, host: str) -> Any:
        """The headers of a request, with another host where they or those of its session name one."""
        items = list(headers.items() if isinstance(headers, Mapping) else headers or ())
        if not any(name.lower() == "host" for name in (*session.headers, *(name for name, _ in items))):
            return items
        return [*((name, value) for name, value in items if name.lower() != "host"), ("Host", host)]

    @functools.wraps(before)
    async def request(self: Any, method: str, str_or_url: Any, **named: Any) -> Any:
        try:
            whole = str(self._build_url(str_or_url))
        except (TypeError, ValueError, AssertionError):
            return await before(self, method, str_or_url, **named)
        try:
            url, route = lead(method, whole)
        except Refused as refused:
            raise module.ClientConnectionError(str(refused)) from refused
        if url == whole and route is None:
            return await before(self, method, str_or_url, **named)
        kind = type(self._build_url(str_or_url))
        if route is not None:
            # An address that is none: with None the proxy of the session, or of the variables, would be taken.
            named["proxy"] = kind("")
        named["headers"] = with_host(self, named.get("headers"), _host(url))
        return await before(self, method, kind(url, encoded=True), **named)

    request._agent_eval = True  # type: ignore[attr-defined]
    session._request = request
