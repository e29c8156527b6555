"""What happens within a block is recorded whole, and nothing of another one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ours as agents
import pytest
from provider import Provider

import agent_eval

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")


HELLO = {"model": "fake-1", "messages": [{"role": "user", "content": "hello"}]}


def is_whole(log: Path) -> bool:
    return subprocess.run([agent_eval.program(), "verify", str(log)], capture_output=True, check=False).returncode == 0


def test_openai_is_recorded_whole(provider: Provider, folder: Path) -> None:
    with agent_eval.record("runs/") as run:
        answer = agents.openai_agent(openai.OpenAI(), "one")
    assert answer == "blue, one"
    [call] = run.calls
    assert (call.tool, call.input, call.result, call.caller) == ("look", {"city": "Graz"}, "Graz is blue", "agent")
    assert (run.stop_reason, run.answer, run.unseen) == ("success", "blue, one", [])
    assert run.log.parent == folder / "runs" and is_whole(run.log)
    assert agent_eval.calls(run.log) == run.calls
    assert len(provider.asked) == 2


def test_anthropic_is_recorded_whole(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        agents.anthropic_agent(anthropic.Anthropic(), "one")
    assert [(c.tool, c.status, c.result) for c in run.calls] == [("look", "ok", "Graz is blue")]
    assert (run.answer, run.unseen) == ("blue, one", [])


def test_clients_that_are_there_already_are_recorded(provider: Provider) -> None:
    first, second = openai.OpenAI(), anthropic.Anthropic()
    with agent_eval.record("runs/") as run:
        agents.openai_agent(first, "one")
        agents.anthropic_agent(second, "two")
    assert [c.tool for c in run.calls] == ["look", "look"] and run.unseen == []


def test_asynchronous_clients_that_are_there_already_are_recorded(provider: Provider) -> None:
    async def main() -> agent_eval.Run:
        client = openai.AsyncOpenAI()
        async with agent_eval.record("runs/") as run:
            await asyncio.gather(
                agents.openai_agent_async(client, "one"), agents.openai_agent_async(client, "two")
            )
        await client.close()
        return run

    run = asyncio.run(main())
    assert [c.tool for c in run.calls] == ["look", "look"] and run.unseen == []


def test_a_client_behind_another_proxy_is_recorded(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    client = openai.OpenAI(max_retries=0)
    with agent_eval.record("runs/") as run:
        agents.openai_agent(client, "one")
    assert len(run.calls) == 1


def test_requests_and_aiohttp_are_recorded(provider: Provider) -> None:
    requests, aiohttp = pytest.importorskip("requests"), pytest.importorskip("aiohttp")
    session = requests.Session()
    body = {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]}
    url = provider.url + "/v1/chat/completions"
    with agent_eval.record("runs/") as run:
        response = session.post(url, json=body)
    assert response.json()["choices"][0]["message"]["content"] == "blue, hi"
    assert (response.url, run.answer) == (url, "blue, hi")

    async def main(within: bool) -> agent_eval.Run:
        async with aiohttp.ClientSession(*([provider.url] if within else [])) as session:
            async with agent_eval.record("runs/") as run:
                async with session.post("/v1/chat/completions" if within else url, json=body) as response:
                    assert (await response.json())["choices"]
        return run

    assert asyncio.run(main(False)).answer == "blue, hi"
    assert asyncio.run(main(True)).answer == "blue, hi"


@pytest.mark.parametrize("environment", [True, False])
@pytest.mark.parametrize(
    "package",
    ["httpx", "httpx to a socket", "httpx from an address", "httpx-async", "requests", "aiohttp", "aiohttp by itself"],
)
def test_whatever_way_a_client_sends_it_reaches_the_proxy_of_the_run(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, package: str, environment: bool
) -> None:
    module = pytest.importorskip(package.partition(" ")[0].partition("-")[0])
    other = "http://127.0.0.1:9"
    monkeypatch.setenv("HTTP_PROXY", other)
    monkeypatch.setenv("http_proxy", other)

    async def ask(url: str) -> None:
        if package == "httpx-async":
            async with module.AsyncClient(proxy=other) as client:
                (await client.post(url, json=HELLO)).raise_for_status()
        elif package.startswith("aiohttp"):
            named = {"proxy": other} if package == "aiohttp" else {"trust_env": True}
            async with module.ClientSession(**named) as session:
                async with session.post(url, json=HELLO) as response:
                    response.raise_for_status()
                    await response.read()
        elif package == "requests":
            module.post(url, json=HELLO, proxies={"http": other}).raise_for_status()
        else:
            ways = {"httpx": {"proxy": other}, "httpx to a socket": {"uds": "/none"}}
            transport = module.HTTPTransport(**ways.get(package, {"local_address": "::1"}))
            module.Client(transport=transport).post(url, json=HELLO).raise_for_status()

    with agent_eval.record("runs/", environment=environment) as run:
        # At the address of the provider, and of the proxy, as clients are told it within a block.
        asyncio.run(ask(provider.url + "/v1/chat/completions"))
        asyncio.run(ask(run.environment["OPENAI_BASE_URL"] + "/chat/completions"))
    assert sum(e["type"] == "model_result" for e in run.events) == 2 and run.unseen == []


@pytest.mark.parametrize("within", [True, False])
def test_a_host_that_a_client_names_itself_is_that_of_where_it_is_led(provider: Provider, within: bool) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def main() -> None:
        mine = {"Host": provider.url.partition("//")[2]}
        async with aiohttp.ClientSession(headers={} if within else mine) as session:
            named = {"headers": iter([*mine.items(), ("X-Mine", "1")])} if within else {}
            async with session.post(provider.url + "/v1/chat/completions", json=HELLO, **named) as response:
                # Whoever leaves without reading it breaks the reply off, and that is what is recorded then.
                body = await response.text()
                assert response.status == 200, body

    with agent_eval.record("runs/") as run:
        asyncio.run(main())
    assert (run.answer, run.unseen) == ("blue, hello", [])


def test_threads_and_other_processes_are_recorded(provider: Provider) -> None:
    client = openai.OpenAI()
    program = (
        "import json, os, urllib.request as u; "
        "body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': 'child'}]}).encode(); "
        "u.urlopen(u.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, "
        "{'Content-Type': 'application/json'})).read()"
    )
    with agent_eval.record("runs/") as run:
        threads = [threading.Thread(target=agents.openai_agent, args=(client, f"t{i}")) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        subprocess.run([sys.executable, "-c", program], check=True)
    assert [c.tool for c in run.calls] == ["look"] * 4 and run.unseen == []
    assert sum(e["type"] == "model_result" for e in run.events) == 9


def test_a_process_with_many_open_files_is_recorded(provider: Provider) -> None:
    script = (
        "import resource, agent_eval, openai\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "files = [open('/dev/null') for _ in range(1100)]\n"
        "with agent_eval.record('runs/') as run:\n"
        "    said = [{'role': 'user', 'content': 'one'}]\n"
        "    openai.OpenAI().chat.completions.create(model='m', messages=said)\n"
        "assert run.answer == 'blue, one'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_runs_follow_each_other_with_the_same_client(provider: Provider) -> None:
    made: list[Any] = []
    logs = []
    for index in range(3):
        with agent_eval.record("runs/") as run:
            if not made:
                made.append(openai.OpenAI())
            agents.openai_agent(made[0], f"run {index}")
        logs.append(run.log)
        assert run.answer == f"blue, run {index}"
        # The client that was made within a block still works behind it, past any proxy.
        asked = len(provider.asked)
        assert agents.openai_agent(made[0], "outside") == "blue, outside"
        assert len(provider.asked) == asked + 2
    assert len(set(logs)) == 3
    for index, log in enumerate(logs):
        assert [e["data"]["answer"] for e in agent_eval.events(log) if e["type"] == "stop"] == [f"blue, run {index}"]


def test_the_environment_is_as_before(provider: Provider) -> None:
    before = dict(os.environ)
    with agent_eval.record("runs/") as run:
        assert os.environ["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
        assert os.environ["OPENAI_BASE_URL"] != before["OPENAI_BASE_URL"]
        assert run.environment["OPENAI_BASE_URL"] == os.environ["OPENAI_BASE_URL"]
        os.environ["MINE"] = "stays"
        os.environ["OPENAI_API_BASE"] = "http://mine"
    assert os.environ.pop("MINE") == "stays" and os.environ.pop("OPENAI_API_BASE") == "http://mine"
    assert dict(os.environ) == before


def test_an_exception_closes_the_log_and_goes_on(provider: Provider) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        with agent_eval.record("runs/") as run:
            agents.openai_agent(openai.OpenAI(), "one")
            1 / 0  # noqa: B018
    assert not getattr(raised.value, "__notes__", [])
    assert (run.stop_reason, run.stop_detail, len(run.calls)) == ("tool_failure", "exit:1", 1)
    assert is_whole(run.log)


def test_a_model_that_failed_is_told(provider: Provider) -> None:
    with pytest.raises(openai.BadRequestError):
        with agent_eval.record("runs/") as run:
            agents.openai_agent(openai.OpenAI(max_retries=0), "boom")
    assert run.stop_reason == "model_failure" and is_whole(run.log)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt(), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
        (SystemExit(0), "success"),
        (SystemExit(3), "tool_failure"),
        (SystemExit(256), "tool_failure"),
        (SystemExit("wrong"), "tool_failure"),
    ],
)
def test_how_a_block_ends_is_how_its_run_stops(provider: Provider, error: BaseException, reason: str) -> None:
    with pytest.raises(type(error)):
        with agent_eval.record("runs/") as run:
            agents.openai_agent(openai.OpenAI(), "one")
            raise error
    assert run.stop_reason == reason and is_whole(run.log)


def test_an_interrupt_from_the_terminal_reaches_the_block_alone(provider: Provider, folder: Path) -> None:
    script = folder / "script.py"
    script.write_text(
        "import sys, time, agent_eval\n"
        "try:\n"
        "    with agent_eval.record('runs/log.jsonl.gz') as run:\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print(run.stop_reason)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "cancelled\n"
    assert is_whole(folder / "runs/log.jsonl.gz")


def test_a_process_that_is_killed_leaves_a_closed_log(provider: Provider, folder: Path) -> None:
    script = (
        "import os, signal, agent_eval\n"
        "with agent_eval.record('runs/log.jsonl.gz'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    log = folder / "runs/log.jsonl.gz"
    limit = time.monotonic() + 10
    while not log.exists() and time.monotonic() < limit:
        time.sleep(0.02)
    stop = list(agent_eval.events(log))[-1]["data"]
    assert (stop["reason"], stop["detail"]) == ("tool_failure", "signal:SIGKILL")


def test_two_runs_with_the_variables_are_refused(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        for environment in (True, False):
            with pytest.raises(agent_eval.RunsOverlap, match="environment=False"):
                with agent_eval.record("runs/", environment=environment):
                    pytest.fail("the block must not run")
        agents.openai_agent(openai.OpenAI(), "one")
    assert run.answer == "blue, one"
    with agent_eval.record("runs/"):
        pass


def test_runs_side_by_side_are_kept_apart(provider: Provider) -> None:
    shared = openai.OpenAI()
    runs: dict[int, agent_eval.Run] = {}
    barrier = threading.Barrier(4)

    def one(index: int) -> None:
        with agent_eval.record("runs/", environment=False) as run:
            barrier.wait(30)
            for client in (shared, openai.OpenAI()):
                assert agents.openai_agent(client, f"thread {index}") == f"blue, thread {index}"
            barrier.wait(30)
        runs[index] = run

    before = dict(os.environ)
    threads = [threading.Thread(target=one, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(os.environ) == before and len(runs) == 4
    for index, run in runs.items():
        told = json.dumps(run.events)
        assert len(run.calls) == 2 and run.unseen == []
        assert [f"thread {other}" in told for other in range(4)] == [other == index for other in range(4)]


def test_tasks_side_by_side_are_kept_apart(provider: Provider) -> None:
    async def main() -> list[agent_eval.Run]:
        client = openai.AsyncOpenAI()

        async def one(index: int) -> agent_eval.Run:
            async with agent_eval.record("runs/", environment=False) as run:
                await agents.openai_agent_async(client, f"task {index}")
            return run

        return await asyncio.gather(*(one(index) for index in range(3)))

    for index, run in enumerate(asyncio.run(main())):
        assert run.answer == f"blue, task {index}" and len(run.calls) == 1 and run.unseen == []


def test_a_thread_without_the_context_is_not_passed_over(provider: Provider) -> None:
    client = openai.OpenAI()
    with agent_eval.record("runs/", environment=False) as run:
        agents.openai_agent(client, "one")
        thread = threading.Thread(target=agents.openai_agent, args=(client, "lost"))
        thread.start()
        thread.join()
    assert run.unseen == [f"POST {provider.url}/v1/chat/completions went past the proxy"]
    outcome = agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]})
    assert outcome.outcome == "inconclusive" and not outcome and "went past the proxy" in str(outcome)


def test_requests_to_models_are_known_by_the_paths_of_many_interfaces(provider: Provider) -> None:
    requests = pytest.importorskip("requests")
    other = Provider()
    paths = [
        "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
        "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict",
        "/v1beta/interactions",
        "/v2/chat",
        "/ml/v1/text/chat",
        "/model/m/converse",
    ]
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
        for path in [*paths, "/v1/charges", "/v1/chats/5/messages-of-people"]:
            requests.post(other.url + path, json={}, timeout=10)
    assert run.unseen == [f"POST {other.url}{path} went past the proxy" for path in paths]
    other.close()


def test_a_provider_that_is_not_known_is_not_passed_over(provider: Provider) -> None:
    other = Provider()
    client = openai.OpenAI(base_url=other.url + "/v9")
    with agent_eval.record("runs/") as run:
        agents.openai_agent(client, "one")
    assert run.calls == [] and f"POST {other.url}/v9/chat/completions went past the proxy" in run.unseen
    assert agent_eval.judge(run, {"toolsNotCalled": ["look"]}).outcome == "inconclusive"
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
        agents.openai_agent(client, "one")
    # The log itself says so: whoever judges it by the command line does not pass it either.
    assert agent_eval.judge(run.log, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"
    assert agent_eval.judge(run, {"toolsCalled": ["look"]}).outcome == "inconclusive"
    told = [e["data"]["reason"] for e in run.events if e["type"] == "unseen"]
    assert len(told) == 1 and f"/went-past-the-proxy/{other.url[7:]}/v9/chat/completions" in told[0]
    assert run.unseen == [f"POST {other.url}/v9/chat/completions went past the proxy"]
    with pytest.raises(agent_eval.NotSeen, match="went past the proxy"):
        with agent_eval.record("runs/", require_complete=True):
            agents.openai_agent(client, "one")
    with agent_eval.record("runs/", upstream={"other": other.url + "/v9"}, require_complete=True) as run:
        agents.openai_agent(client, "one")
        assert os.environ["OTHER_BASE_URL"].endswith("/other/v9")
    assert [c.tool for c in run.calls] == ["look"]
    other.close()


def test_a_block_that_asked_nothing_is_no_pass(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        pass
    assert run.calls == [] and "asked no model" in run.unseen[0]
    outcome = agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]})
    assert outcome.outcome == "inconclusive" and outcome.unverifiable


def test_a_recording_answers(provider: Provider) -> None:
    client = openai.OpenAI()
    with agent_eval.record("runs/") as run:
        agents.openai_agent(client, "one")
    asked = len(provider.asked)
    with agent_eval.record(replay=run.log) as again:
        assert agents.openai_agent(client, "one") == "blue, one"
    assert len(provider.asked) == asked
    with pytest.raises(agent_eval.AgentEvalError, match="no log of its own"):
        _ = again.log


def test_clients_of_the_usual_addresses_are_led_to_the_proxy(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
        agents.anthropic_agent(anthropic.Anthropic(), "two")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name)
    first, second = openai.OpenAI(max_retries=0), anthropic.Anthropic(max_retries=0)
    assert "api.openai.com" in str(first.base_url) and "api.anthropic.com" in str(second.base_url)
    # Answered from a recording, so that nothing leaves this machine.
    with agent_eval.record(replay=run.log):
        assert agents.openai_agent(first, "one") == "blue, one"
        assert agents.anthropic_agent(second, "two") == "blue, two"


def test_what_a_recording_does_not_hold_is_an_error(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    asked = len(provider.asked)
    with pytest.raises(openai.BadRequestError) as raised:
        with agent_eval.record(replay=run.log):
            agents.openai_agent(openai.OpenAI(), "two")
    if sys.version_info >= (3, 11):
        assert "diverged" in raised.value.__notes__[0]
    with pytest.raises(agent_eval.NotAsRecorded):
        with agent_eval.record(replay=run.log):
            pass
    assert len(provider.asked) == asked


def test_what_is_asked_past_a_recording_is_refused_and_an_error(provider: Provider) -> None:
    other = Provider()
    client = openai.OpenAI(base_url=other.url + "/v9")
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    with pytest.raises(agent_eval.NotAsRecorded, match="past the recording"):
        with agent_eval.record(replay=run.log):
            agents.openai_agent(openai.OpenAI(), "one")
            with pytest.raises(openai.PermissionDeniedError, match="at none of the addresses"):
                agents.openai_agent(client, "one")
    assert other.asked == []
    other.close()


@pytest.mark.parametrize("environment", [True, False])
def test_a_pool_asks_nobody_past_a_recording(provider: Provider, environment: bool) -> None:
    client = openai.OpenAI()
    with agent_eval.record("runs/") as run:
        agents.openai_agent(client, "one")
    asked = len(provider.asked)
    with ThreadPoolExecutor(1) as pool:
        if environment:
            with agent_eval.record(replay=run.log):
                assert pool.submit(agents.openai_agent, client, "one").result() == "blue, one"
        else:
            with pytest.raises(agent_eval.NotAsRecorded):
                with agent_eval.record(replay=run.log, environment=False):
                    with pytest.raises(openai.PermissionDeniedError, match="copy_context"):
                        pool.submit(agents.openai_agent, client, "one").result()
    assert len(provider.asked) == asked


POLICY = "rules:\n  - {id: no-looking, tool: look, verdict: deny, reason: not now}\n"


def _spellings(url: str) -> list[str]:
    """Addresses of the same server."""
    port = url.rpartition(":")[2]
    return [f"http://localhost:{port}", f"http://LOCALHOST.:{port}", f"http://127.0.0.1.:{port}"]


@pytest.mark.parametrize("spelling", range(3))
def test_a_policy_holds_however_an_address_is_spelled(provider: Provider, folder: Path, spelling: int) -> None:
    (folder / "policy.yaml").write_text(POLICY)
    client = openai.OpenAI(base_url=_spellings(provider.url)[spelling] + "/v1")
    with agent_eval.record("runs/", policy="policy.yaml") as run:
        agents.openai_agent(client, "one")
    assert [c.status for c in run.calls] != ["ok"] and run.unseen == []
    assert [e["data"]["ruleId"] for e in run.events if e["type"] == "policy_decision"] == ["no-looking"]


@pytest.mark.parametrize("package", ["openai", "openai-async", "httpx", "requests", "aiohttp"])
def test_no_request_goes_past_a_policy(provider: Provider, folder: Path, package: str) -> None:
    (folder / "policy.yaml").write_text(POLICY)
    # A server at no address that is known, and one that is, asked by a thread of no run.
    other = Provider()
    body = {"model": "m", "messages": [{"role": "user", "content": "one"}]}

    def ask(url: str) -> None:
        if package == "openai":
            openai.OpenAI(base_url=url).chat.completions.create(**body)
        elif package == "openai-async":
            asyncio.run(openai.AsyncOpenAI(base_url=url).chat.completions.create(**body))
        elif package == "httpx":
            pytest.importorskip("httpx").post(url + "/chat/completions", json=body).raise_for_status()
        elif package == "requests":
            requests = pytest.importorskip("requests")
            answer = requests.post(url + "/chat/completions", json=body)
            assert answer.json()["error"]["type"] == "agent_eval_refused" and not answer.ok
            answer.raise_for_status()
        else:
            aiohttp = pytest.importorskip("aiohttp")

            async def main() -> None:
                async with aiohttp.ClientSession() as session:
                    await session.post(url + "/chat/completions", json=body)

            asyncio.run(main())

    told: list[str] = []

    def refused(url: str) -> None:
        try:
            ask(url)
        except Exception as error:  # noqa: BLE001 - each package has its own
            told.append(str(error))

    with agent_eval.record("runs/", policy="policy.yaml") as run:
        refused(other.url + "/v9")
    assert run.unseen[-1] == f"POST {other.url}/v9/chat/completions was refused"
    assert agent_eval.judge(run, {"toolsNotCalled": ["delete_*"]}).outcome == "inconclusive"
    with agent_eval.record("runs/", policy="policy.yaml", environment=False) as run:
        thread = threading.Thread(target=refused, args=(provider.url + "/v1",))
        thread.start()
        thread.join()
        # What is none of a model is nobody's business.
        urllib.request.urlopen(other.url).read()
    assert run.unseen[-1] == f"POST {provider.url}/v1/chat/completions was refused"
    assert len(told) == 2 and other.asked == [] and provider.asked == []
    other.close()


def test_a_policy_takes_calls_out(provider: Provider, folder: Path) -> None:
    (folder / "policy.yaml").write_text("rules:\n  - {id: no-looking, tool: look, verdict: deny, reason: not now}\n")
    with agent_eval.record("runs/", policy="policy.yaml") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    assert [c.status for c in run.calls] != ["ok"]
    assert [e["data"]["ruleId"] for e in run.events if e["type"] == "policy_decision"] == ["no-looking"]


def test_a_policy_ends_the_run(provider: Provider, folder: Path) -> None:
    (folder / "policy.yaml").write_text("rules:\n  - {id: never, tool: look, verdict: deny, onDeny: stop}\n")
    with pytest.raises(openai.APIError):
        with agent_eval.record("runs/", policy="policy.yaml") as run:
            agents.openai_agent(openai.OpenAI(max_retries=0), "one")
    assert (run.stop_reason, run.stop_detail) == ("policy_denied", "rule:never") and is_whole(run.log)
    # An agent that makes nothing of it does not hide it.
    with agent_eval.record("runs/", policy="policy.yaml") as run:
        with pytest.raises(openai.APIError):
            agents.openai_agent(openai.OpenAI(max_retries=0), "one")
    assert run.stop_reason == "policy_denied"


def test_a_log_that_cannot_be_made_is_told_before_the_block_begins() -> None:
    Path("file").write_text("no folder")
    has_begun = False
    with pytest.raises(agent_eval.ProgramFailed, match="Not a directory"):
        with agent_eval.record("file/"):
            has_begun = True
    assert not has_begun


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_proxy_that_is_killed_is_told_with_what_it_left(provider: Provider, is_asked: bool) -> None:
    recording = agent_eval.record("runs/")
    with pytest.raises(agent_eval.RecordingEnded, match="The proxy ended before the block did: ") as raised:
        with recording as run:
            if is_asked:
                agents.openai_agent(openai.OpenAI(), "one")
            assert recording._process is not None
            recording._process.kill()
            recording._process.wait()
    begun = f"{run.log}.open"
    if os.path.exists(begun):
        assert f"The log that it had begun is {begun}; agent-eval repair {begun} writes" in str(raised.value)
        subprocess.run([agent_eval.program(), "repair", begun], check=True, capture_output=True)
        [repaired] = Path("runs").glob("*-repaired.jsonl.gz")
        assert [call.tool for call in agent_eval.calls(repaired)] == ["look"] * is_asked
    else:
        assert str(raised.value).endswith(". There is no log") and not is_asked
    with agent_eval.record("runs/"):
        pass


def test_the_answer_is_that_of_the_agents_own_conversation(provider: Provider) -> None:
    def say(text: str) -> None:
        said = [{"role": "user", "content": text}]
        openai.OpenAI().chat.completions.create(model="fake-1", messages=said)

    with agent_eval.record("runs/") as run:
        say("a title")
        agents.openai_agent(openai.OpenAI(), "one")
        say("another title")
    assert run.answer == "blue, one"
    with agent_eval.record("runs/", main="another title") as run:
        agents.openai_agent(openai.OpenAI(), "one")
        say("another title")
    assert run.answer == "blue, another title"
    # Neither has tools or goes on: the one that is told most.
    with agent_eval.record("runs/") as run:
        say("what colour is Graz?")
        say("a title")
    assert run.answer == "blue, what colour is Graz?"


def test_a_run_from_a_recording_has_nothing_to_read(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    with agent_eval.record(replay=run.log) as again:
        agents.openai_agent(openai.OpenAI(), "one")
    for name in ("log", "calls", "stop_reason", "stop_detail", "answer", "events", "unseen"):
        with pytest.raises(agent_eval.AgentEvalError, match="no log of its own"):
            getattr(again, name)
    with pytest.raises(agent_eval.AgentEvalError, match="no log of its own"):
        agent_eval.judge(again, {"maxSteps": 1})


def test_mistakes_are_told(provider: Provider, folder: Path) -> None:
    with pytest.raises(agent_eval.ProgramFailed, match="upstream"):
        with agent_eval.record("runs/", upstream={"other": "no url"}):
            pytest.fail("the block must not run")
    with pytest.raises(agent_eval.ProgramFailed, match="no such log"):
        with agent_eval.record(replay="nothing.jsonl.gz"):
            pytest.fail("the block must not run")
    with pytest.raises(ValueError, match="leave out away"):
        agent_eval.record("runs/", replay="log.jsonl.gz")
    (folder / "there.jsonl.gz").write_bytes(b"")
    with pytest.raises(agent_eval.LogError, match="there already"):
        agent_eval.record("there.jsonl.gz")
    recording = agent_eval.record("runs/")
    with recording as run:
        with pytest.raises(agent_eval.AgentEvalError, match="not over yet"):
            _ = run.calls
        with pytest.raises(agent_eval.LogError, match="not over yet"):
            agent_eval.judge(run, {"maxSteps": 1})
    with pytest.raises(agent_eval.AgentEvalError, match="begun already"):
        recording.__enter__()
    # After all of these another recording begins as if nothing had been.
    with agent_eval.record("runs/"):
        pass


def test_names_and_other_clients_than_those_that_are_wrapped(provider: Provider) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "plain"}]}).encode()
    with agent_eval.record("runs/", name="my-agent") as run:
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        urllib.request.urlopen(
            urllib.request.Request(url, body, {"Content-Type": "application/json"})
        ).read()
    assert run.events[0]["data"]["agent"]["name"] == "my-agent" and run.answer == "blue, plain"


@pytest.mark.parametrize("package", ["httpx", "requests", "aiohttp"])
def test_what_is_imported_within_a_block_is_wrapped(provider: Provider, package: str) -> None:
    pytest.importorskip(package)
    ask = {
        "httpx": "import httpx; httpx.post(url, json=body)",
        "requests": "import requests; requests.post(url, json=body)",
        "aiohttp": (
            "import asyncio, aiohttp\n"
            "    async def main():\n"
            "        async with aiohttp.ClientSession() as session:\n"
            "            async with session.post(url, json=body) as response: await response.read()\n"
            "    asyncio.run(main())"
        ),
    }[package]
    script = (
        "import os, sys, agent_eval\n"
        "url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
        "body = {'model': 'm', 'messages': [{'role': 'user', 'content': 'late'}]}\n"
        f"assert {package!r} not in sys.modules\n"
        "with agent_eval.record('runs/') as run:\n"
        f"    {ask}\n"
        "assert run.answer == 'blue, late' and run.unseen == [], run.unseen\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_copy_of_the_process_does_not_end_the_run(provider: Provider) -> None:
    with agent_eval.record("runs/") as run:
        agents.openai_agent(openai.OpenAI(), "one")
    assert run.answer == "blue, one"
    script = (
        "import os, sys, agent_eval\n"
        "with agent_eval.record('runs/fork.jsonl.gz') as run:\n"
        "    child = os.fork()\n"
        "    if child: os.waitpid(child, 0)\n"
        "if child: assert run.stop_detail == 'exit:0', run.stop_detail\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


PROCESSES = """\
import multiprocessing, os, subprocess, sys
import agent_eval, openai

def ask(url=None):
    client = openai.OpenAI(base_url=url, max_retries=0)
    return client.chat.completions.create(model="m", messages=[{{"role": "user", "content": "one"}}])

def started(method, url):
    if method == "os.fork":
        child = os.fork()
        if child == 0:
            ask(url)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    elif method == "fork, then spawn":
        child = multiprocessing.get_context("fork").Process(target=started, args=("spawn", url))
        child.start()
        child.join()
        assert child.exitcode == 0
    elif method == "subprocess":
        code = "import sys; sys.path.insert(0, '.'); import processes; processes.ask(sys.argv[1])"
        subprocess.run([sys.executable, "-c", code, url], check=True)
    else:
        child = multiprocessing.get_context(method).Process(target=ask, args=(url,))
        child.start()
        child.join()
        assert child.exitcode == 0

if __name__ == "__main__":
    method, other = sys.argv[1:]
    known = os.environ["OPENAI_BASE_URL"]
    with agent_eval.record("runs/") as run:
        ask()
        started(method, other + "/v9")
    past = f"POST {{other}}/v9/chat/completions went past the proxy"
    assert run.unseen == [past], run.unseen
    assert agent_eval.judge(run, {{"toolsNotCalled": ["x"]}}).outcome == "inconclusive"
    assert agent_eval.judge(run.log, {{"toolsNotCalled": ["x"]}}).outcome == "inconclusive"
    # What is told the address of a provider of the run is led to the proxy in other processes as well.
    with agent_eval.record("runs/", require_complete=True) as run:
        started(method, known)
    assert run.answer == "blue, one", run.answer
    with open("policy.yaml", "w") as file:
        file.write("rules: [{{id: none, tool: x, verdict: deny, reason: no}}]")
    with agent_eval.record("runs/", policy="policy.yaml") as run:
        ask()
        try:
            started(method, other + "/v9")
        except (AssertionError, subprocess.CalledProcessError):
            pass
    assert run.unseen == [past.replace("went past the proxy", "was refused")], run.unseen
    # Behind the block nothing is left of it.
    assert not any("AGENT_EVAL_RECORDING" in name for name in os.environ)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "os.fork", "fork, then spawn", "subprocess"])
def test_what_other_processes_ask_past_the_proxy_is_told(
    provider: Provider, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    other = Provider()
    (folder / "processes.py").write_text(PROCESSES.format())
    # A name that is short enough for the sockets in it.
    temporary = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(temporary))
    if method == "forkserver":
        # Its first block starts the server, whose children have its variables; the others are told nothing.
        text = (folder / "processes.py").read_text()
        cut = text.index("    # What is told the address")
        (folder / "processes.py").write_text(text[:cut])
    ran = subprocess.run([sys.executable, "processes.py", method, other.url], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert len(other.asked) == 1
    assert [path.name for path in temporary.iterdir() if path.suffix == ".notes"] == []
    shutil.rmtree(temporary)
    other.close()


def test_a_run_within_a_run_of_another_process_tells_both(provider: Provider, folder: Path) -> None:
    other = Provider()
    script = (
        "import openai, sys, agent_eval\n"
        "def ask(url=None):\n"
        "    said = [{'role': 'user', 'content': 'one'}]\n"
        "    openai.OpenAI(base_url=url).chat.completions.create(model='m', messages=said)\n"
        "with agent_eval.record('inner/') as run:\n"
        "    ask()\n"
        f"    ask({other.url + '/v9'!r})\n"
        "assert run.answer == 'blue, one' and len(run.unseen) == 1, run.unseen\n"
    )
    with agent_eval.record("runs/") as run:
        subprocess.run([sys.executable, "-c", script], check=True)
    assert run.answer == "blue, one"
    assert f"POST {other.url}/v9/chat/completions went past the proxy" in run.unseen
    assert agent_eval.judge(run, {"toolsNotCalled": ["x"]}).outcome == "inconclusive"
    other.close()


def test_a_start_that_is_cancelled_leaves_nothing(provider: Provider) -> None:
    async def main() -> None:
        async def one() -> None:
            async with agent_eval.record("runs/"):
                await asyncio.sleep(60)

        for wait in (0.0, 0.001, 0.02, 0.3):
            task = asyncio.create_task(one())
            await asyncio.sleep(wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    before = dict(os.environ)
    asyncio.run(main())
    assert dict(os.environ) == before
    with agent_eval.record("runs/"):
        pass
    assert not [path for path in Path("runs").iterdir() if path.name.endswith(".open")]
