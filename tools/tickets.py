"""create_ticket: a ticket with a title, a body and labels, once for each call.

With INTERLOCK_GITHUB_REPO (`owner/name`) it is an issue on GitHub: GITHUB_TOKEN is the token, GITHUB_API_URL the address of
another server than api.github.com. The body ends with a comment that GitHub does not show and that holds the key of the call;
by it an issue is found again when its answer was lost, however long ago, or a person is asked where there are too many to look
through; and nothing is created before it was looked for. Without the setting,
it is a row in `interlock.ticket`, which commits together with its outcome.

    4xx, or no connection         not created, and the message says so
    no answer, 5xx, a lost one    nobody knows until the issue is found, or a person says so
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import httpx
from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from memory.errors import UsageError
from memory.text import clean, shorten
from tools.spec import Connection, OutcomeUnknown, tool

REPO, TOKEN, API = "INTERLOCK_GITHUB_REPO", "GITHUB_TOKEN", "GITHUB_API_URL"
ANSWER_WITHIN, LOOK_WITHIN = 30, 60  # seconds
TIMEOUT = ANSWER_WITHIN + LOOK_WITHIN + 10
HORIZON = timedelta(days=30)  # how far back an issue is looked for before it is created
PER_PAGE, MOST_PAGES = 100, 30
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
LOOPBACK = {"127.0.0.1", "localhost", "::1"}

Title = Annotated[str, Field(min_length=1, max_length=250, pattern=r"\S")]
Body = Annotated[str, Field(max_length=60_000)]
Labels = Annotated[Sequence[Annotated[str, Field(min_length=1, max_length=50)]], Field(max_length=20)]


def ticket_tools(environment: Mapping[str, str]) -> list[BaseTool]:
    return [_on_github(Repository.read(environment)) if environment.get(REPO, "").strip() else _in_our_table()]


# The table


def _in_our_table() -> BaseTool:
    @tool(transactional=True, timeout=TIMEOUT)
    async def create_ticket(title: Title, body: Body, labels: Labels = (), *, connection: Connection, idempotency_key: str) -> str:
        """Create a ticket for people to work on."""
        values = {"title": title, "body": body, "labels": list(labels), "key": idempotency_key}
        row = await (await connection.execute(INSERT, values)).fetchone()
        row = row or await (await connection.execute(WITH_KEY, values)).fetchone()
        return f"Ticket {row['number']} created: {row['title']}"

    return create_ticket


INSERT = """
INSERT INTO interlock.ticket (title, body, labels, idempotency_key) VALUES (%(title)s, %(body)s, %(labels)s, %(key)s)
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING number, title
"""
WITH_KEY = "SELECT number, title FROM interlock.ticket WHERE idempotency_key = %(key)s"


# GitHub


def _on_github(repository: "Repository") -> BaseTool:
    async def was_created(idempotency_key: str) -> str | None:
        return await repository.find(idempotency_key, since=None)  # a call may have been left for longer than any horizon

    @tool(check=was_created, timeout=TIMEOUT)
    async def create_ticket(title: Title, body: Body, labels: Labels = (), *, idempotency_key: str) -> str:
        """Create a ticket for people to work on."""
        try:
            found = await repository.find(idempotency_key, since=datetime.now(UTC) - HORIZON)
        except ToolException as error:
            raise ToolException(f"{error} Nothing was created.") from error
        return found or await repository.create(title, body, list(labels), idempotency_key)

    return create_ticket


@dataclass(frozen=True, slots=True)
class Repository:
    """The issues of one repository. Messages and `repr` never hold the token."""

    name: str
    api: str
    token: str = field(repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Raises UsageError for a setting that is missing or cannot be used."""
        name, token = environment[REPO].strip(), environment.get(TOKEN, "").strip()
        api = (environment.get(API, "").strip() or "https://api.github.com").rstrip("/")
        if not re.fullmatch(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+", name) or ".." in name:
            raise UsageError(f"{REPO} must be owner/name, not {name!r}.", code="bad_setting")
        if not re.fullmatch(r"[!-~]+", token):
            remedy = f"Set it to a token that may write issues of {name}, or unset {REPO}."
            raise UsageError(f"{TOKEN} is {'no token' if token else 'not set'}, and {REPO} is.", remedy=remedy, code="bad_setting")
        if not _is_safe(api):
            remedy = "Write https://host/path; the token is sent there."
            raise UsageError(f"{API} cannot be used.", remedy=remedy, code="bad_setting")
        return cls(name, api, token)

    async def find(self, key: str, *, since: datetime | None) -> str | None:
        """The issue with that key, open or closed; None if there is none. Raises ToolException if that cannot be told."""
        try:
            async with asyncio.timeout(LOOK_WITHIN), self._client() as client:
                async for issue in self._newest(client, since):
                    if _marker(key) in (issue.get("body") or ""):
                        return self._told(issue)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise ToolException(f"The issues of {self.name} could not be looked at: {_kind(error)}.") from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ToolException(f"The issues of {self.name} could not be read: this is no list of issues of GitHub.") from error
        return None

    async def create(self, title: str, body: str, labels: list[str], key: str) -> str:
        document = {"title": title, "body": f"{body}\n\n{_marker(key)}", "labels": labels}
        try:
            async with asyncio.timeout(ANSWER_WITHIN), self._client() as client:
                answer = await client.post(f"/repos/{self.name}/issues", json=document)
        except NOT_SENT as error:
            raise ToolException(f"GitHub cannot be reached ({_kind(error)}). Nothing was created.") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise OutcomeUnknown(f"GitHub gave no answer after the issue was sent ({_kind(error)})") from error
        if 300 <= answer.status_code < 500:
            raise ToolException(f"{self._refusal(answer)} Nothing was created.")
        try:
            return self._told(answer.raise_for_status().json())
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise OutcomeUnknown(f"GitHub answered {answer.status_code}, which does not tell whether the issue was created") from error

    async def _newest(self, client: httpx.AsyncClient, since: datetime | None) -> AsyncIterator[dict[str, Any]]:
        """Newest first, pull requests among them. The search would be quicker, and late: it forgets what is new."""
        earliest = since.strftime("%Y-%m-%dT%H:%M:%SZ") if since else ""
        query: dict[str, str | int] = {"state": "all", "sort": "created", "direction": "desc", "per_page": PER_PAGE}
        if earliest:
            query["since"] = earliest
        for page in range(1, MOST_PAGES + 1):
            answer = await client.get(f"/repos/{self.name}/issues", params={**query, "page": page})
            if answer.status_code != 200:
                raise ToolException(self._refusal(answer))
            issues = answer.json()
            for issue in issues:
                if issue["created_at"] < earliest:
                    return
                yield issue
            if "next" not in answer.links and len(issues) < PER_PAGE:
                return
        span = f" of the last {HORIZON.days} days" if earliest else ""
        raise ToolException(f"{self.name} has more than {MOST_PAGES * PER_PAGE} issues{span}: too many to look through.")

    def _refusal(self, answer: httpx.Response) -> str:
        """With what to do about it, where that is known."""
        code, limited = answer.status_code, answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
        remedy = {
            401: f"{TOKEN} is wrong or has expired.",
            403: f"{TOKEN} may not write issues of {self.name}.",
            404: f"There is no {self.name}, or {TOKEN} may not see it.",
            410: f"{self.name} has no issues switched on.",
        }.get(code, "")
        if limited and code in {403, 429}:
            remedy = "Too much was asked with this token; try again later."
        if 300 <= code < 400:
            remedy = f"The repository has moved: set {REPO} to its new name."
        said = shorten(clean(_message(answer)), 300).replace(self.token, f"[{TOKEN}]")
        return f"GitHub answered {code}{': ' + said if said else ''}. {remedy}".strip()

    def _told(self, issue: Mapping[str, Any]) -> str:
        return f"Ticket {int(issue['number'])} created in {self.name}: {issue['html_url']}"

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        headers = {
            "Authorization": f"Bearer {self.token}", "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28", "User-Agent": "interlock",
        }  # fmt: skip
        async with httpx.AsyncClient(base_url=self.api, headers=headers, timeout=httpx.Timeout(20, connect=10)) as client:
            yield client


def _marker(key: str) -> str:
    return f"<!-- interlock:{key} -->"


def _message(answer: httpx.Response) -> str:
    """GitHub's own words, and the fields it does not like."""
    try:
        document = answer.json()
        fields = [f"{one.get('field')} {one.get('code')}" for one in document.get("errors") or () if isinstance(one, dict)]
        return "; ".join([str(document.get("message") or ""), *fields]).removesuffix(".")
    except (ValueError, AttributeError, TypeError):
        return ""


def _kind(error: BaseException) -> str:
    return "no answer in time" if isinstance(error, TimeoutError | httpx.TimeoutException) else f"{type(error).__name__}: {error}"


def _is_safe(api: str) -> bool:
    """A token goes over the network encrypted, or not at all."""
    parts = urlsplit(api)
    return bool(parts.hostname) and not parts.username and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    )  # fmt: skip
