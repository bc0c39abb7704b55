"""create_ticket: in our table, judged by its rows, and on a server like GitHub, judged by the server's list of issues."""

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from bench.cli import Cli
from bench.github_server import REPO, TOKEN, Exchange, Fault, GitHubServer
from bench.openai_server import OpenAIServer, call, say
from psycopg.rows import dict_row

from memory.errors import UsageError
from tools import calling, table, tickets
from tools.calling import Failed, Outcome, Returned, Unknown
from tools.spec import InvalidArguments, Tool
from tools.tickets import ticket_tools

ARGS = {"title": "Login is slow", "body": "Since Monday.", "labels": ["bug"]}


async def ended(one: Tool, key: str = "key-1", connection: Any = None, **args: Any) -> Outcome:
    return await calling.call(one, one.validate({**ARGS, **args}), idempotency_key=key, connection=connection)


def test_the_tool_looks_the_same_in_both_places_but_an_approval_holds_for_one_of_them() -> None:
    [ours, github] = [Tool.of(ticket_tools(known)[0]) for known in ({}, {tickets.REPO: REPO, tickets.TOKEN: TOKEN})]
    assert ours.parameters == github.parameters and ours.schema_sha256 != github.schema_sha256
    assert ours.parameters["required"] == ["title", "body"] and list(ours.parameters["properties"]) == ["title", "body", "labels"]
    assert ours.facts.is_critical and ours.facts.transactional and not ours.facts.check
    assert github.facts.is_critical and not github.facts.transactional and not github.facts.idempotent and github.facts.check
    assert ours.validate({"title": "t", "body": ""}) == {"title": "t", "body": "", "labels": []}
    for wrong in ({"title": ""}, {"title": " \n"}, {"title": "x" * 300}, {"body": "x" * 70_000}, {"labels": [""]}, {"labels": "bug"}):
        with pytest.raises(InvalidArguments):
            ours.validate({**ARGS, **wrong})


# The table


async def in_table(url: str, key: str, *, keep: bool = True, **args: Any) -> Outcome:
    one = Tool.of(ticket_tools({})[0])
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as db:
        outcome = await ended(one, key, db, **args)
        await (db.commit() if keep else db.rollback())
    return outcome


def rows(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as db:
        return db.execute("SELECT title, body, labels, idempotency_key FROM interlock.ticket ORDER BY number").fetchall()


async def test_a_ticket_is_a_row_and_one_key_is_one_ticket(database_url: str) -> None:
    odd = "x'; DROP TABLE interlock.ticket; -- %s 日本語 😀"
    assert await in_table(database_url, "a") == Returned("Ticket 1 created: Login is slow")
    assert await in_table(database_url, "a") == Returned("Ticket 1 created: Login is slow")
    await in_table(database_url, "b", keep=False)
    assert isinstance(await in_table(database_url, "c", title=odd, labels=[odd[:40], ""[:0] or "-"]), Returned)
    assert rows(database_url) == [("Login is slow", "Since Monday.", ["bug"], "a"), (odd, "Since Monday.", [odd[:40], "-"], "c")]


# GitHub


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer() as server:
        yield server


def tool_of(server: GitHubServer, **environment: str) -> Tool:
    return Tool.of(ticket_tools({**server.environment(), **environment})[0])


def at(verb: str, then: Callable[[Exchange], bool]) -> Fault:
    return lambda exchange: exchange.command == verb and then(exchange)


def created_and_lost(exchange: Exchange) -> bool:
    exchange.create()
    return exchange.lose()


def created_and_silent(exchange: Exchange) -> bool:
    exchange.create()
    return exchange.stay_silent()


SILENT = (created_and_silent, Exchange.stay_silent)


def created_and(status: int, document: Any) -> Callable[[Exchange], bool]:
    def then(exchange: Exchange) -> bool:
        exchange.create()
        return exchange.answer(status, document)

    return then


def refused(status: int, message: str, **headers: str) -> Callable[[Exchange], bool]:
    return lambda exchange: exchange.answer(status, {"message": message}, **headers)


async def test_an_issue_is_created_once_and_found_again(github: GitHubServer) -> None:
    one = tool_of(github)
    assert await calling.check(one, ARGS, "key-1") is None
    done = Returned(f"Ticket 1 created in {REPO}: https://github.example/{REPO}/issues/1")
    assert await ended(one) == done
    [issue] = github.issues
    assert (issue["title"], issue["labels"]) == ("Login is slow", ["bug"])
    assert issue["body"] == "Since Monday.\n\n<!-- interlock:key-1 -->"
    issue["state"] = "closed"
    assert await calling.check(one, ARGS, "key-1") == done.text
    assert await ended(one) == done
    assert len(github.issues) == 1
    assert await calling.check(one, ARGS, "key-2") is None and await calling.check(one, ARGS, "key") is None
    assert isinstance(await ended(one, "key-2"), Returned)
    assert len(github.issues) == 2


async def test_it_is_found_behind_many_others(github: GitHubServer) -> None:
    hour = datetime.now(UTC) - timedelta(hours=1)
    github.add(body="old\n<!-- interlock:key-1 -->", created_at=hour.strftime("%Y-%m-%dT%H:%M:%SZ"))
    for _ in range(250):
        github.add(body=None)
    assert await calling.check(tool_of(github), ARGS, "key-1")
    assert len(github.requests) == 3


async def test_a_call_that_was_left_for_months_is_found_and_not_repeated(github: GitHubServer) -> None:
    github.add(created_at="2020-01-01T00:00:00Z", updated_at="2020-01-01T00:00:00Z", body="old\n<!-- interlock:key-1 -->")
    for number in range(150):
        github.add(created_at="2020-01-02T00:00:00Z", updated_at="2999-01-01T00:00:00Z", body=f"{number}")
    assert await calling.check(tool_of(github), ARGS, "key-1")
    assert len(github.requests) == 2
    assert await calling.check(tool_of(github), ARGS, "key-2") is None


async def test_what_is_older_than_the_horizon_ends_the_search_of_a_new_call(github: GitHubServer) -> None:
    for number in range(150):
        github.add(created_at="2020-01-01T00:00:00Z", updated_at="2999-01-01T00:00:00Z", body=f"{number}")
    assert isinstance(await ended(tool_of(github)), Returned)
    assert [request.split()[0] for request in github.requests] == ["GET", "POST"]


async def test_too_many_to_look_through_is_not_a_no(github: GitHubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tickets, "PER_PAGE", 5)
    monkeypatch.setattr(tickets, "MOST_PAGES", 2)
    for _ in range(11):
        github.add()
    with pytest.raises(Exception, match="too many to look through"):
        await calling.check(tool_of(github), ARGS, "key-1")
    outcome = await ended(tool_of(github))
    assert isinstance(outcome, Failed) and outcome.message.endswith("Nothing was created.")
    assert len(github.issues) == 11


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (created_and_lost, "no answer after the issue was sent"),
        (created_and_silent, "no answer after the issue was sent"),
        (Exchange.lose, "no answer after the issue was sent"),
        (Exchange.stay_silent, "no answer after the issue was sent"),
        (created_and(503, {"message": "Unavailable"}), "GitHub answered 503"),
        (refused(500, "Server Error"), "GitHub answered 500"),
        (created_and(201, b"<html>"), "GitHub answered 201"),
        (created_and(200, []), "GitHub answered 200"),
    ],
)
async def test_a_lost_answer_is_unknown_and_the_check_tells(
    github: GitHubServer, monkeypatch: pytest.MonkeyPatch, then: Callable[[Exchange], bool], said: str
) -> None:
    if then in SILENT:
        monkeypatch.setattr(tickets, "ANSWER_WITHIN", 1)
    github.fault = at("POST", then)
    one = tool_of(github)
    outcome = await ended(one)
    assert isinstance(outcome, Unknown) and said in outcome.reason
    found = await calling.check(one, ARGS, "key-1")
    assert (found is not None) == bool(github.issues)
    github.fault = None
    monkeypatch.setattr(tickets, "ANSWER_WITHIN", 30)
    assert isinstance(await ended(one), Returned)
    assert len(github.issues) == 1


@pytest.mark.parametrize(
    ("status", "message", "headers", "said"),
    [
        (401, "Bad credentials", {}, "GITHUB_TOKEN is wrong"),
        (403, "Resource not accessible by personal access token", {}, "GITHUB_TOKEN may not write issues of acme/shop"),
        (403, "API rate limit exceeded", {"X_RateLimit_Remaining": "0"}, "try again later"),
        (403, "secondary rate limit", {"Retry_After": "60"}, "try again later"),
        (404, "Not Found", {}, "There is no acme/shop"),
        (410, "Issues are disabled for this repo", {}, "no issues switched on"),
        (422, "Validation Failed", {}, "GitHub answered 422: Validation Failed"),
        (429, "Too many", {"Retry_After": "60"}, "try again later"),
        (301, "Moved Permanently", {"Location": "http://127.0.0.1:1/x"}, "has moved"),
        (400, f"odd\0 echo of {TOKEN}", {}, "echo of [GITHUB_TOKEN]"),
    ],
)
async def test_a_refusal_creates_nothing_and_says_what_to_do(
    github: GitHubServer, status: int, message: str, headers: dict[str, str], said: str
) -> None:
    one = tool_of(github)
    github.fault = at("POST", refused(status, message, **headers))
    outcome = await ended(one)
    assert isinstance(outcome, Failed) and said in outcome.message and outcome.message.endswith("Nothing was created.")
    github.fault = at("GET", refused(status, message, **headers))
    before = len(github.requests)
    outcome = await ended(one)
    assert isinstance(outcome, Failed) and outcome.message.endswith("Nothing was created.")
    assert not any(request.startswith("POST") for request in github.requests[before:])
    with pytest.raises(Exception, match=re.escape(said)):
        await calling.check(one, ARGS, "key-1")
    assert github.issues == []


@pytest.mark.parametrize(
    "then",
    [
        Exchange.lose,
        Exchange.stay_silent,
        refused(503, "Unavailable"),
        lambda exchange: exchange.answer(200, b"<html>"),
        lambda exchange: exchange.answer(200, {"message": "hello"}),
        lambda exchange: exchange.answer(200, [{"number": 1}]),
    ],
)
async def test_a_check_that_cannot_look_says_so(
    github: GitHubServer, monkeypatch: pytest.MonkeyPatch, then: Callable[[Exchange], bool]
) -> None:
    one = tool_of(github)
    assert isinstance(await ended(one), Returned)
    if then in SILENT:
        monkeypatch.setattr(tickets, "LOOK_WITHIN", 1)
    github.fault = at("GET", then)
    with pytest.raises(Exception, match=r"could not be|answered 503"):
        await calling.check(one, ARGS, "key-1")
    outcome = await ended(one)
    assert isinstance(outcome, Failed) and outcome.message.endswith("Nothing was created.")
    assert len(github.issues) == 1


async def test_nobody_there(github: GitHubServer) -> None:
    one = tool_of(github, GITHUB_API_URL="http://127.0.0.1:1")
    outcome = await ended(one)
    assert isinstance(outcome, Failed) and outcome.message.endswith("Nothing was created.")
    repository = tickets.Repository(REPO, "http://127.0.0.1:1", TOKEN)
    with pytest.raises(Exception, match=r"cannot be reached .* Nothing was created"):
        await repository.create("t", "b", [], "k")
    with pytest.raises(Exception, match="could not be looked at"):
        await calling.check(one, ARGS, "key-1")


async def test_a_call_that_is_cancelled_ends(github: GitHubServer) -> None:
    github.fault = at("POST", created_and_silent)
    running = asyncio.create_task(ended(tool_of(github)))
    while not github.issues:  # noqa: ASYNC110 - the server's thread makes it true
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 10)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({tickets.REPO: "shop"}, "INTERLOCK_GITHUB_REPO"),
        ({tickets.REPO: "acme/shop/issues"}, "INTERLOCK_GITHUB_REPO"),
        ({tickets.REPO: "acme/.."}, "INTERLOCK_GITHUB_REPO"),
        ({tickets.TOKEN: ""}, "GITHUB_TOKEN is not set"),
        ({tickets.TOKEN: "SENTINEL\nX: y"}, "GITHUB_TOKEN is no token"),
        ({tickets.TOKEN: "SENTINELÄ"}, "GITHUB_TOKEN is no token"),
        ({tickets.API: "http://github.example/api"}, "GITHUB_API_URL"),
        ({tickets.API: "https://me:SENTINEL@github.example"}, "GITHUB_API_URL"),
        ({tickets.API: "github.example"}, "GITHUB_API_URL"),
    ],
)
def test_settings_that_cannot_be_used(environment: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        ticket_tools({tickets.REPO: REPO, tickets.TOKEN: TOKEN, **environment})
    assert "SENTINEL" not in str(caught.value.as_json())


def test_nothing_shows_the_token(github: GitHubServer) -> None:
    registry = table.load([], github.environment())
    shown = registry.get("create_ticket")
    assert TOKEN not in repr(shown) + repr(tickets.Repository.read(github.environment()))


# From the command line


def test_killed_after_the_ticket_and_before_its_outcome(
    cli_factory: Callable[..., Cli], model_server: OpenAIServer, database_url: str
) -> None:
    cli = cli_factory(model=model_server)
    model_server.play(call("create_ticket", ARGS), say("Done."))
    cli("start", "open a ticket", "--thread", "t", "--json").expect(3)
    cli("approve", "t", environment=Cli.crashing("after_effect")).expect(-9)
    assert rows(database_url) == []
    ended = cli("resume", "t", "--json").expect(0).json
    assert ended["status"] == "completed" and [one["attempts"] for one in ended["executions"]] == [2]
    assert [row[0] for row in rows(database_url)] == ["Login is slow"]
    assert model_server.last_tool_messages()[-1]["content"].startswith("Ticket ")


def test_killed_after_the_issue_and_before_its_outcome(
    cli_factory: Callable[..., Cli], model_server: OpenAIServer, github: GitHubServer, database_url: str
) -> None:
    cli = cli_factory(model=model_server, environment=github.environment())
    model_server.play(call("create_ticket", ARGS), say("Done."))
    cli("start", "open a ticket", "--thread", "t", "--json").expect(3)
    assert github.requests == []
    cli("approve", "t", environment=Cli.crashing("after_effect")).expect(-9)
    assert len(github.issues) == 1
    ended = cli("resume", "t", "--json").expect(0).json
    assert ended["status"] == "completed" and [one["attempts"] for one in ended["executions"]] == [1]
    assert len(github.issues) == 1 and rows(database_url) == []
    assert f"{REPO}/issues/1" in model_server.last_tool_messages()[-1]["content"]
    with psycopg.connect(database_url) as db:
        query = "SELECT format('SELECT * FROM %I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('interlock', 'public')"
        kept = [str(db.execute(select).fetchall()) for (select,) in db.execute(query).fetchall()]
    assert TOKEN not in "".join(kept)


def test_the_answer_is_lost_and_the_issue_is_found(
    cli_factory: Callable[..., Cli], model_server: OpenAIServer, github: GitHubServer
) -> None:
    cli = cli_factory(model=model_server, environment=github.environment())
    model_server.play(call("create_ticket", ARGS), say("Done."))
    cli("start", "open a ticket", "--thread", "t", "--json").expect(3)
    github.fault = at("POST", created_and_lost)
    assert cli("approve", "t", "--json").expect(0).json["status"] == "completed"
    assert len(github.issues) == 1


def test_the_answer_is_lost_and_a_person_says_to_try_again(
    cli_factory: Callable[..., Cli], model_server: OpenAIServer, github: GitHubServer
) -> None:
    cli = cli_factory(model=model_server, environment=github.environment())
    model_server.play(call("create_ticket", ARGS), say("Done."))
    cli("start", "open a ticket", "--thread", "t", "--json").expect(3)
    github.fault = at("POST", refused(503, "Unavailable"))
    [asked] = cli("approve", "t", "--json").expect(3).json["pending"]
    assert asked["kind"] == "unknown_outcome" and github.issues == []
    github.fault = None
    assert cli("resolve", asked["approval_id"], "--retry", "--json").expect(0).json["status"] == "completed"
    assert len(github.issues) == 1
