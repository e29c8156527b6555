"""A guard lets no tool run that would break what is expected."""

from __future__ import annotations

import asyncio
import enum
import functools
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import pytest

import agent_eval

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@agent_eval.tool
def look(city: str = "Graz") -> dict[str, str]:
    ran.append("look")
    return {"city": city, "colour": "blue"}


@agent_eval.tool(name="delete_note", side_effect="write")
def delete(name: str) -> None:
    ran.append("delete")


@agent_eval.tool(ignore=["connection"])
def pay(connection: object, amount: int, **more: Any) -> str:
    ran.append("pay")
    return "paid"


def test_a_forbidden_tool_does_not_run() -> None:
    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        assert look()["colour"] == "blue"
        with pytest.raises(agent_eval.Forbidden) as raised:
            delete("x")
        assert look()["colour"] == "blue"
    assert ran == ["look", "look"]
    error = raised.value
    assert (error.tool, error.input, error.expectation) == ("delete_note", {"name": "x"}, "toolsNotCalled[0]")
    assert str(error) == "delete_note may not run: delete_* was called once. (toolsNotCalled[0])"


@agent_eval.tool
def delete_in_a_process(name: str) -> str:
    return name


def test_what_is_forbidden_in_a_process_of_a_pool_is_told_to_who_waits() -> None:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            error = pool.submit(delete_in_a_process, "m2").exception(timeout=60)
    assert isinstance(error, agent_eval.Forbidden)
    assert (error.tool, error.input, error.expectation) == ("delete_in_a_process", {"name": "m2"}, "toolsNotCalled[0]")
    assert "may not run" in str(error) and error.reason


def test_any_mapping_is_one() -> None:
    given = MappingProxyType({"name": "m2"})
    with pytest.raises(agent_eval.Forbidden):
        guard = agent_eval.guard(MappingProxyType({"toolsNotCalled": [{"tool": "look", "input": {"of": given}}]}))
        guard.before("look", {"of": given})


def test_without_a_guard_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EVAL_BINARY", "/nowhere")
    delete("x")
    pay(object(), 5)
    assert ran == ["delete", "pay"]


def test_what_came_before_counts() -> None:
    with agent_eval.guard({"time": [{"expect": "look", "before": "pay"}]}):
        with pytest.raises(agent_eval.Forbidden):
            pay(object(), 5)
        look()
        pay(object(), 5)
    assert ran == ["look", "pay"]


def test_inputs_count() -> None:
    expected = {"eachCall": [{"tool": "pay", "input": {"amount": {"$lte": 10}, "to": {"$absent": True}}}]}
    with agent_eval.guard(expected):
        pay(object(), 10)
        with pytest.raises(agent_eval.Forbidden, match="/amount"):
            pay(object(), 11)
        with pytest.raises(agent_eval.Forbidden, match="/to"):
            pay(object(), 1, to="x")
    assert ran == ["pay"]


def test_results_count() -> None:
    expected = {"eachCall": [{"tool": "pay", "input": {"amount": {"$from": {"tool": "quote", "path": "/total"}}}}]}
    guard = agent_eval.guard(expected)
    for total in (7, 9):
        guard.after(guard.before("quote", {"item": "kettle"}), {"total": total})
    for amount in (7, 9):
        guard.after(guard.before("pay", {"amount": amount}))
    with pytest.raises(agent_eval.Forbidden):
        guard.before("pay", {"amount": 8})


def test_how_often_counts() -> None:
    with agent_eval.guard({"maxToolCalls": 2}):
        look()
        look()
        with pytest.raises(agent_eval.Forbidden):
            look()
    assert len(ran) == 2


def test_the_same_write_is_not_done_twice() -> None:
    with agent_eval.guard({"noRepeatedSideEffect": True}, side_effects={"look": "read"}):
        look()
        look()
        delete("x")
        delete("y")
        with pytest.raises(agent_eval.Forbidden):
            delete("x")
        with pytest.raises(agent_eval.GuardError, match="what pay does to the world"):
            pay(object(), 5)
    assert ran == ["look", "look", "delete", "delete"]


def test_tools_that_fail_have_run() -> None:
    guard = agent_eval.guard({"toolsNotCalled": [{"tool": "fail", "times": {"min": 6}}]})

    @guard.tool
    def fail() -> None:
        ran.append("fail")
        raise ZeroDivisionError("by ${goal}")

    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            fail()
    with pytest.raises(agent_eval.Forbidden):
        fail()
    assert len(ran) == 5


def test_calls_under_way_count() -> None:
    guard = agent_eval.guard(
        {
            "time": [
                {"never": "pay", "after": "delete_note"},
                {"expect": {"returned": "look"}, "before": "pay"},
            ]
        }
    )
    looking = guard.before("look", {})
    with pytest.raises(agent_eval.Forbidden, match=r"time\[1\]"):
        guard.before("pay", {})
    guard.after(looking, "blue")
    guard.after(guard.before("pay", {}))
    guard.before("delete_note", {})
    with pytest.raises(agent_eval.Forbidden, match=r"time\[0\]"):
        guard.before("pay", {})


def test_threads_cannot_slip_by_together() -> None:
    guard = agent_eval.guard({"maxToolCalls": 3})
    refused = []

    def one() -> None:
        try:
            guard.after(guard.before("look", {}))
        except agent_eval.Forbidden:
            refused.append(1)

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3


def test_asynchronous_tools_are_guarded() -> None:
    @agent_eval.tool
    async def erase(name: str) -> str:
        ran.append("erase")
        return name

    async def main() -> None:
        with agent_eval.guard({"toolsNotCalled": [{"tool": "erase", "input": {"name": "x"}}]}):
            assert await asyncio.gather(erase("y"), erase("z")) == ["y", "z"]
            with pytest.raises(agent_eval.Forbidden):
                await erase("x")

    asyncio.run(main())
    assert ran == ["erase", "erase"]


@pytest.mark.parametrize("text", ["${goal}", "$${goal}", "$$${last.data}", "${", "$", "${step} and ${step}", "\x00\x1b‮"])
def test_text_is_data(text: str) -> None:
    guard = agent_eval.guard({"toolsNotCalled": [{"tool": "say", "input": {"text": text}}]})
    guard.after(guard.before("say", {"text": text + "!"}), text)
    with pytest.raises(agent_eval.Forbidden) as raised:
        guard.before("say", {"text": text})
    assert raised.value.input == {"text": text}


def test_methods_and_names_of_all_kinds() -> None:
    class Shop:
        @agent_eval.tool
        def refund(self, order: str) -> str:
            return order

    with agent_eval.guard({"toolsNotCalled": [{"tool": "refund", "input": {"$exact": {"order": "1"}}}]}):
        assert Shop().refund("2") == "2"
        with pytest.raises(agent_eval.Forbidden):
            Shop().refund(order="1")


@pytest.mark.parametrize("key", ["toolsCalled", "maxSteps", "budget", "answer", "noApprovalBypass", "stopReason"])
def test_what_a_guard_does_not_see_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} cannot be guarded"):
        agent_eval.guard({key: 1})


def test_mistakes_are_told() -> None:
    for rule in ({"never": "x", "after": {"reply": "yes"}}, {"expect": {"approval": "granted"}, "before": "x"},
                 {"never": "x", "after": {"proposed": "y"}}, {"never": {"answer": "y"}}):  # fmt: skip
        with pytest.raises(ValueError, match=r"time\[0\]"):
            agent_eval.guard({"time": [rule]})
    with pytest.raises(ValueError, match="within counts steps"):
        agent_eval.guard({"time": [{"never": "x", "after": "y", "within": 2}]})
    with pytest.raises(ValueError, match="names nothing"):
        agent_eval.guard({})
    with pytest.raises(agent_eval.ProgramFailed, match="did you mean “input”"):
        agent_eval.guard({"toolsNotCalled": [{"tool": "x", "inptu": {}}]})
    with pytest.raises(agent_eval.ProgramFailed, match="guard"):
        agent_eval.guard({"toolsNotCalled": [{"tool": "x", "times": {"max": 2}}]})
    with pytest.raises(agent_eval.ProgramFailed):
        agent_eval.guard({"time": [{"eventually": "x"}]})
    with pytest.raises(ValueError, match="one of read, draft, write"):
        agent_eval.guard({"toolsNotCalled": ["x"]}, side_effects={"x": "none"})
    with pytest.raises(ValueError, match="no parameter 'b' to ignore"):
        agent_eval.tool(ignore=["b"])(lambda a: a)
    with pytest.raises(TypeError, match="generator"):

        @agent_eval.tool
        def many() -> Any:
            yield 1

    with agent_eval.guard({"toolsNotCalled": ["x"]}):
        with pytest.raises(TypeError, match=r"the input of look\.city is a object"):
            look(object())  # type: ignore[arg-type]
    assert ran == []


def test_a_call_that_was_cancelled_before_it_began_is_forgotten() -> None:
    @agent_eval.tool
    async def once() -> str:
        ran.append("once")
        return "done"

    async def main() -> None:
        with agent_eval.guard({"maxToolCalls": 1}):
            for wait in (0.0, 0.001, 0.01):
                task = asyncio.create_task(once())
                await asyncio.sleep(wait)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            while True:
                # What was asked for them is still being answered.
                try:
                    assert await once() == "done"
                    break
                except agent_eval.Forbidden:
                    await asyncio.sleep(0.05)
            with pytest.raises(agent_eval.Forbidden):
                await once()

    asyncio.run(main())
    assert ran == ["once"]


def test_two_calls_alike_are_two_calls() -> None:
    guard = agent_eval.guard({"time": [{"expect": {"returned": "look"}, "before": "pay"}]})
    first, second = guard.before("look", {}), guard.before("look", {})
    guard.after(second, "blue")
    assert [ticket.is_over for ticket in guard._calls] == [True, False]
    guard.after(first, "blue")
    guard.after(guard.before("pay", {}))


def test_no_thread_slips_by_a_guard() -> None:
    told: list[BaseException] = []

    def one() -> None:
        try:
            delete("x")
        except agent_eval.AgentEvalError as error:
            told.append(error)

    def start() -> None:
        thread = threading.Thread(target=one)
        thread.start()
        thread.join()

    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        start()
        with agent_eval.guard({"toolsNotCalled": ["pay"]}):
            start()
            with pytest.raises(agent_eval.Forbidden):
                delete("inner")
        start()
    start()
    assert [type(error).__name__ for error in told] == ["Forbidden"] * 3
    assert ran == ["delete"]


def test_a_thread_of_no_guard_is_refused_where_guards_are_beside_each_other() -> None:
    told: list[BaseException] = []
    ready, done = threading.Barrier(3), threading.Event()

    def other() -> None:
        with agent_eval.guard({"toolsNotCalled": ["pay"]}, everywhere=False):
            ready.wait(30)
            done.wait(30)

    def lost() -> None:
        try:
            look()
        except agent_eval.AgentEvalError as error:
            told.append(error)

    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(30)
    lost()
    done.set()
    for thread in threads:
        thread.join()
    assert [type(error).__name__ for error in told] == ["GuardError"] and "beside each other" in str(told[0])
    assert ran == []


def test_a_guard_of_a_thread_lifts_none_that_holds_everywhere() -> None:
    told: list[str] = []

    def opens(everywhere: bool) -> None:
        with agent_eval.guard({"maxToolCalls": 3}, everywhere=everywhere):
            try:
                delete("x")
            except agent_eval.Forbidden as error:
                told.append(error.expectation)
            look()

    def start(everywhere: bool) -> None:
        thread = threading.Thread(target=opens, args=(everywhere,))
        thread.start()
        thread.join()

    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        for everywhere in (True, False):
            start(everywhere)
            with agent_eval.guard({"maxToolCalls": 9}, everywhere=False):
                start(everywhere)
    assert told == ["toolsNotCalled[0]"] * 4 and ran == ["look"] * 4


def test_a_guard_holds_where_another_was_opened_before_it() -> None:
    told: list[str] = []
    opened, held = threading.Event(), threading.Event()

    def first() -> None:
        with agent_eval.guard({"maxToolCalls": 3}):
            opened.set()
            held.wait(30)
            try:
                delete("x")
            except agent_eval.Forbidden as error:
                told.append(error.expectation)

    thread = threading.Thread(target=first)
    thread.start()
    opened.wait(30)
    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        held.set()
        thread.join()
    assert told == ["toolsNotCalled[0]"] and ran == []


def test_guards_of_contexts_beside_each_other_count_for_themselves() -> None:
    both = threading.Barrier(2)

    def one() -> bool:
        with agent_eval.guard({"maxToolCalls": 1}, everywhere=False):
            both.wait(30)
            look()
            both.wait(30)
            try:
                look()
            except agent_eval.Forbidden:
                return True
        return False

    with ThreadPoolExecutor(2) as pool:
        assert [asked.result() for asked in [pool.submit(one), pool.submit(one)]] == [True, True]
    assert ran == ["look", "look"]


def test_an_inner_guard_lifts_no_outer_one() -> None:
    with agent_eval.guard({"toolsNotCalled": ["delete_*"], "maxToolCalls": 2}):
        with agent_eval.guard({"maxToolCalls": 50}):
            with pytest.raises(agent_eval.Forbidden, match=r"toolsNotCalled\[0\]"):
                delete("x")
            look()
        with agent_eval.guard({"toolsNotCalled": ["pay"]}) as inner:
            # What the inner guard holds back counts for neither.
            for _ in range(3):
                with pytest.raises(agent_eval.Forbidden, match=r"toolsNotCalled\[0\]"):
                    pay(object(), 1)
            assert inner._calls == []
            look()
            with pytest.raises(agent_eval.Forbidden, match="maxToolCalls"):
                look()
    assert ran == ["look", "look"]


def test_the_functions_of_a_guard_are_held_by_those_in_force_as_well() -> None:
    own = agent_eval.guard({"maxToolCalls": 1})

    @own.tool
    def erase() -> None:
        ran.append("erase")

    with agent_eval.guard({"toolsNotCalled": ["erase"]}):
        with pytest.raises(agent_eval.Forbidden, match="toolsNotCalled"):
            erase()
    with own:
        erase()
        with pytest.raises(agent_eval.Forbidden, match="maxToolCalls"):
            erase()
    assert ran == ["erase"]


def test_guards_within_each_other_hold_in_tasks_pools_and_copies_of_the_process() -> None:
    def refused() -> bool:
        try:
            delete("x")
        except agent_eval.Forbidden:
            return True
        return False

    async def tasks() -> list[bool]:
        async def one() -> bool:
            with agent_eval.guard({"maxToolCalls": 5}):
                return await asyncio.to_thread(refused)

        return await asyncio.gather(one(), one())

    with agent_eval.guard({"toolsNotCalled": ["delete_*"]}):
        assert asyncio.run(tasks()) == [True, True]
        with agent_eval.guard({"maxToolCalls": 50}) as inner:
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(refused).result()
            # Another thread may be asking just then.
            with inner._lock:
                child = os.fork()
                if child == 0:
                    signal.alarm(60)
                    os._exit(0 if refused() else 1)
            assert os.waitpid(child, 0)[1] == 0
    assert ran == []


def test_defaults_are_given_as_well() -> None:
    class Context:
        pass

    @agent_eval.tool(side_effect="write")
    def buy(
        order: str, /, amount: int = 500, *more: str, to: str | None = None, context: Any = Context(), tags: Any = ("a",),
        rate: float = float("nan"), **rest: Any,
    ) -> None:  # fmt: skip
        ran.append("buy")

    for expected in (
        {"toolsNotCalled": [{"tool": "buy", "input": {"amount": {"$gt": 100}}}]},
        {"toolsNotCalled": [{"tool": "buy", "input": {"$exact": {"order": "1", "amount": 500, "to": None, "tags": ["a"]}}}]},
    ):
        with agent_eval.guard(expected):
            with pytest.raises(agent_eval.Forbidden):
                buy("1")
    with agent_eval.guard({"noRepeatedSideEffect": True}):
        buy("1")
        for arguments in (("1",), ("1", 500)):
            with pytest.raises(agent_eval.Forbidden):
                buy(*arguments)
    with agent_eval.guard({"eachCall": [{"tool": "buy", "input": {"amount": 500, "more": {"$absent": True}}}]}):
        buy("2")
        # As an argument, what JSON cannot say is refused.
        with pytest.raises(TypeError, match=r"buy\.context is a Context"):
            buy("2", context=Context())
        # One of two things of a name would go unseen.
        with pytest.raises(agent_eval.GuardError, match="two things of the name 'order'"):
            buy("2", order="3")
    assert ran == ["buy", "buy"]


def test_what_a_partial_fills_in_is_given() -> None:
    def buy(order: str, amount: int = 1, *, to: str = "me") -> None:
        ran.append("buy")

    bought = agent_eval.tool(functools.partial(buy, "1", to="you"))
    given = {"order": "1", "amount": 1, "to": "you"}
    with agent_eval.guard({"toolsNotCalled": [{"tool": "buy", "input": {"$exact": given}}]}):
        bought(2)
        with pytest.raises(agent_eval.Forbidden):
            bought()
    assert ran == ["buy"]


def test_class_methods_and_static_methods_are_tools() -> None:
    class Shop:
        @classmethod
        @agent_eval.tool
        def sell(cls, order: str) -> str:
            return order

        @agent_eval.tool
        @classmethod
        def lend(cls, order: str) -> str:
            return order

        @agent_eval.tool
        @staticmethod
        def give(order: str) -> str:
            return order

    @agent_eval.tool
    def choose(cls: str) -> str:
        return cls

    for name in ("sell", "lend", "give"):
        with agent_eval.guard({"toolsNotCalled": [{"tool": name, "input": {"$exact": {"order": "1"}}}]}):
            for where in (Shop, Shop()):
                assert getattr(where, name)("2") == "2"
                with pytest.raises(agent_eval.Forbidden):
                    getattr(where, name)("1")
    with agent_eval.guard({"toolsNotCalled": [{"tool": "choose", "input": {"cls": "a"}}]}):
        with pytest.raises(agent_eval.Forbidden):
            choose("a")


def test_what_is_too_large_to_be_judged_is_told() -> None:
    guard = agent_eval.guard({"toolsNotCalled": ["x"]})
    guard.after(guard.before("say", {"text": "a" * (512 * 1024 - 11)}))
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    for given in ({"text": "a" * (512 * 1024)}, {"text": "é" * 300_000}, {"text": deep}):
        with pytest.raises(agent_eval.GuardError, match="512 KiB.* ignore="):
            guard.before("say", given)
    for _ in range(2):
        guard.before("say", {"text": "a" * 400_000})
    with pytest.raises(agent_eval.GuardError, match="1 MiB of the calls that are under way"):
        guard.before("say", {"text": "a" * 400_000})
    guard = agent_eval.guard({"toolsNotCalled": ["x"]})
    for _ in range(2):
        guard.after(guard.before("read", {}), "é" * 4_000_000)
    guard.after(guard.before("read", {}), "a" * 1_000_000)
    with pytest.raises(agent_eval.GuardError, match="16 MiB can be judged"):
        guard.before("read", {})


def test_a_guard_is_entered_once() -> None:
    guard = agent_eval.guard({"toolsNotCalled": ["x"]})
    with guard:
        with pytest.raises(agent_eval.AgentEvalError, match="in force already"):
            guard.__enter__()
    with guard:
        pass


@pytest.mark.parametrize("ending", [TimeoutError, KeyboardInterrupt, ConnectionError, ZeroDivisionError])
def test_a_write_that_ended_in_an_error_may_have_been_done(ending: type[BaseException]) -> None:
    paid: list[int] = []

    class NotAllowed(Exception):
        pass

    @agent_eval.tool(side_effect="write", no_effect_errors=[NotAllowed])
    def pay(order: int) -> None:
        paid.append(order)
        raise NotAllowed("no such order") if order == 0 else ending("no answer")

    @agent_eval.tool(side_effect="read")
    def look(order: int) -> None:
        raise ending("no answer")

    with agent_eval.guard({"noRepeatedSideEffect": True}):
        for _ in range(2):
            with pytest.raises(NotAllowed):
                pay(0)
            with pytest.raises(ending):
                look(1)
        with pytest.raises(ending):
            pay(1)
        with pytest.raises(agent_eval.Forbidden, match="noRepeatedSideEffect"):
            pay(1)
    assert paid == [0, 0, 1]
    # Whoever guards nothing of the kind is not held back by it.
    with agent_eval.guard({"maxToolCalls": 9}):
        for _ in range(2):
            with pytest.raises(ending):
                pay(1)


def test_a_write_that_was_cancelled_may_have_been_done() -> None:
    paid: list[int] = []

    @agent_eval.tool(side_effect="write")
    async def pay(order: int) -> None:
        paid.append(order)
        await asyncio.sleep(60)

    async def main() -> None:
        with agent_eval.guard({"noRepeatedSideEffect": True}):
            first = asyncio.ensure_future(pay(1))
            while not paid:
                await asyncio.sleep(0.01)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            with pytest.raises(agent_eval.Forbidden):
                await pay(1)
            # One that was cancelled before it was let through never began.
            early = asyncio.ensure_future(pay(2))
            await asyncio.sleep(0)
            early.cancel()
            with pytest.raises(asyncio.CancelledError):
                await early
            late = asyncio.ensure_future(pay(2))
            while paid != [1, 2]:
                assert not late.done()
                await asyncio.sleep(0.01)
            late.cancel()

    asyncio.run(main())


def test_what_a_function_gives_to_be_awaited_is_its_result_once_it_came() -> None:
    async def work(order: int) -> str:
        if order < 0:
            raise ZeroDivisionError
        ran.append(f"pay {order}")
        return "paid"

    @agent_eval.tool(side_effect="write")
    def pay(order: int) -> Any:
        return work(order)

    @agent_eval.tool(side_effect="write")
    def send(order: int) -> Any:
        return asyncio.ensure_future(work(order))

    async def main() -> None:
        with agent_eval.guard({"noRepeatedSideEffect": True}):
            assert await pay(1) == "paid"
            assert await send(2) == "paid"
            # Not judged by what came back before it did.
            with pytest.raises(ZeroDivisionError):
                await send(-2)
            with pytest.raises(agent_eval.Forbidden):
                await pay(1)
            with pytest.raises(agent_eval.Forbidden):
                await send(-2)

    asyncio.run(main())
    assert ran == ["pay 1", "pay 2"]


def test_what_stands_around_a_call_says_what_was_wrong() -> None:
    guard = agent_eval.guard({"noRepeatedSideEffect": True}, side_effects={"pay": "write"})
    with pytest.raises(TypeError, match="after takes what before returned"):
        guard.after("pay")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the input of pay is a list"):
        guard.before("pay", [1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="none or unknown"):
        guard.after(guard.before("pay", {"order": 1}), effect="some")
    with pytest.raises(TypeError, match="no class of exceptions"):
        agent_eval.tool(no_effect_errors=["x"])  # type: ignore[list-item]
    ticket = guard.before("pay", {"order": 2})
    guard.after(ticket, error="refused", effect="none")
    guard.after(guard.before("pay", {"order": 2}), error="no answer")
    with pytest.raises(agent_eval.Forbidden):
        guard.before("pay", {"order": 2})


class Kind(str, enum.Enum):
    ALL = "all"


class Owner:
    """Stands for a model of pydantic."""

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        return {} if exclude_none else {"owner": None}


class Silent(str):
    def __str__(self) -> str:
        return "harmless"


@pytest.mark.parametrize(
    ("given", "forbidden"),
    [(Kind.ALL, "all"), (Silent("/"), "/"), ({Kind.ALL: [Kind.ALL]}, {"all": ["all"]}), (Owner(), {"owner": None})],
    ids=["enumeration", "kind of text", "within others", "member that is None"],
)
def test_an_input_is_judged_by_what_it_holds_whatever_its_class_prints(given: object, forbidden: object) -> None:
    @agent_eval.tool
    def erase(what: object) -> None:
        ran.append("erase")

    with agent_eval.guard({"toolsNotCalled": [{"tool": "erase", "input": {"what": forbidden}}]}):
        with pytest.raises(agent_eval.Forbidden):
            erase(given)
    assert ran == []


def test_a_call_is_judged_by_what_its_caller_gives_whatever_a_decorator_adds() -> None:
    def with_connection(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(path: str) -> Any:
            return function("connection", path)

        return wrapper

    def again(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

        return wrapper

    @agent_eval.tool
    @again
    @with_connection
    def erase(connection: str, path: str | None = None) -> None:
        ran.append("erase")

    @agent_eval.tool
    @again
    @functools.lru_cache
    def drop(path: str) -> None:
        ran.append("drop")

    with agent_eval.guard({"toolsNotCalled": [{"tool": "*", "input": {"path": "/"}}]}):
        for forbidden in (erase, drop):
            with pytest.raises(agent_eval.Forbidden):
                forbidden("/")
        erase("/tmp/x")
    assert ran == ["erase"]


def test_a_call_ends_for_the_guard_that_let_it_through() -> None:
    first, second = agent_eval.guard({"maxToolCalls": 1}), agent_eval.guard({"maxToolCalls": 1})
    ticket = first.before("look", {})
    with pytest.raises(ValueError, match="did not let through"):
        second.after(ticket, "x")
    assert not ticket.is_over
    first.after(ticket, "x")


def test_of_two_functions_of_one_name_that_which_does_more_counts() -> None:
    @agent_eval.tool(name="send", side_effect="read")
    def preview(text: str) -> None:
        ran.append("preview")

    @agent_eval.tool(name="send", side_effect="write")
    def send(text: str) -> None:
        ran.append("send")

    with agent_eval.guard({"noRepeatedSideEffect": True}):
        preview("a")
        send("b")
        preview("c")
        with pytest.raises(agent_eval.Forbidden):
            send("b")
    ran.clear()
    with agent_eval.guard({"noRepeatedSideEffect": True}, side_effects={"send": "read"}):
        send("b")
        send("b")
    assert ran == ["send", "send"]


def test_a_function_without_a_name_is_refused_rather_than_called_something() -> None:
    class Eraser:
        def __call__(self, name: str) -> None:
            ran.append("erase")

    for nameless in (Eraser(), functools.partial(Eraser(), "x"), lambda name: None):
        with pytest.raises(ValueError, match="no name by which a guard could know it"):
            agent_eval.tool(nameless)
    erase = agent_eval.tool(name="erase")(Eraser())
    once = functools.partial(delete)
    once.mark = 1  # type: ignore[attr-defined]
    twice = agent_eval.tool(name=None)(functools.partial(once, "x"))
    with agent_eval.guard({"toolsNotCalled": ["erase", {"tool": "delete", "input": {"name": "x"}}]}):
        for forbidden in (lambda: erase("x"), twice):
            with pytest.raises(agent_eval.Forbidden):
                forbidden()
    assert ran == []


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else 1


@pytest.mark.parametrize(
    "result",
    [Unprintable(), "name-\udcff", 10**5000, deep(300), {"name": "\ud800"}],
    ids=["no text", "name of a file", "number", "deep", "half of a pair"],
)
def test_a_tool_that_has_run_does_not_fail_by_its_result_and_neither_do_later_ones(result: object) -> None:
    @agent_eval.tool
    def give(number: int) -> object:
        ran.append("give")
        return result

    @agent_eval.tool
    def fail() -> None:
        raise Unprintable("name-\udcff")

    with agent_eval.guard({"maxToolCalls": 3}):
        assert give(1) is result
        with pytest.raises(Unprintable):
            fail()
        assert give(2) is result
        with pytest.raises(agent_eval.Forbidden):
            give(3)
    assert ran == ["give", "give"]


@pytest.mark.parametrize("effect", ["read", "draft", "write", None])
def test_a_tool_that_a_rule_names_is_not_done_again_when_nobody_knows(effect: str | None) -> None:
    @agent_eval.tool(side_effect=effect)
    def send(text: str) -> None:
        ran.append(text)
        raise TimeoutError("no answer")

    @agent_eval.tool(side_effect="read")
    def fetch(text: str) -> None:
        raise TimeoutError("no answer")

    with agent_eval.guard({"noRepeatedSideEffect": ["se*"]}):
        for text in ("a", "b"):
            with pytest.raises(TimeoutError):
                send(text)
        with pytest.raises(agent_eval.Forbidden):
            send("a")
        for _ in range(2):
            with pytest.raises(TimeoutError):
                fetch("a")
    assert ran == ["a", "b"]


def test_a_draft_is_not_made_again_when_nobody_knows_and_later_calls_are_judged() -> None:
    @agent_eval.tool(side_effect="draft")
    def draft(text: str) -> None:
        ran.append(text)
        raise TimeoutError("no answer")

    with agent_eval.guard({"noRepeatedSideEffect": True}):
        with pytest.raises(TimeoutError):
            draft("a")
        with pytest.raises(agent_eval.Forbidden):
            draft("a")
        delete("x")
        with pytest.raises(agent_eval.Forbidden):
            delete("x")
    assert ran == ["a", "delete"]
