"""The practice model understands what its page says, and nothing else."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from graph.model import choose_model
from graph.practice import EXAMPLES, NOTICE, reply, understand
from graph.settings import Settings

TOOLS = ["deploy_code", "read_database", "create_ticket"]


def deploy(project, version, environment=None):
    return (
        "deploy_code",
        {"project_id": project, "version": version} | ({"environment": environment} if environment else {}),
    )


def query(table):
    return ("read_database", {"sql": f"SELECT count(*) FROM {table}"})


def ticket(text):
    return ("create_ticket", {"title": text[:80], "body": text})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("deploy shop 1.4.2", [deploy("shop", "1.4.2")]),
        ("Deploy shop 1.4.2 to staging.", [deploy("shop", "1.4.2", "staging")]),
        ("please DEPLOY the project shop version v2 to the staging environment!", [deploy("shop", "v2", "staging")]),
        ("Could you deploy version 1.4.2 of shop to production, please?", [deploy("shop", "1.4.2", "production")]),
        ('deploy "my shop" "release seven" to \'eu west\'', [deploy("my shop", "release seven", "eu west")]),
        ("deploy a/b@c 2026-01-31", [deploy("a/b@c", "2026-01-31")]),
        ("deploy A 1.0 and B 2.0", [deploy("A", "1.0"), deploy("B", "2.0")]),
        ("deploy A 1.0, B 2.0 and C 3.0", [deploy("A", "1.0"), deploy("B", "2.0"), deploy("C", "3.0")]),
        ("deploy A 1.0 and B 2.0 to staging", [deploy("A", "1.0", "staging"), deploy("B", "2.0", "staging")]),
        ("deploy A 1.0 and deploy B 2.0 to staging", [deploy("A", "1.0"), deploy("B", "2.0", "staging")]),
        (
            "deploy shop 1.4.2 to staging, then deploy shop 1.4.2 to production",
            [deploy("shop", "1.4.2", "staging"), deploy("shop", "1.4.2", "production")],
        ),
        ("How many users are there?", [query("users")]),
        ("count rows in orders", [query("orders")]),
        ("Count the orders", [query("orders")]),
        ("open a ticket: the login page is slow", [ticket("the login page is slow")]),
        ('Create a ticket "don\'t panic" and deploy shop 2', [ticket("don't panic"), deploy("shop", "2")]),
        (
            "count users, deploy shop 1.4.2 and open a ticket: shop and its friends, then nothing",
            [query("users"), deploy("shop", "1.4.2"), ticket("shop and its friends, then nothing")],
        ),
        ('call note text="buy milk, and bread"', [("note", {"text": "buy milk, and bread"})]),
        (
            "please call pay with to=bob amount=5 urgent=true, then deploy shop 2",
            [("pay", {"to": "bob", "amount": 5, "urgent": True}), deploy("shop", "2")],
        ),
        ("call list_all.", [("list_all", {})]),
        ("call pay amount=5.", [("pay", {"amount": 5})]),
    ],
)
def test_understands(text, calls):
    assert understand(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "deploy shop",
        "deploy shop to production",
        "don't deploy shop 1.4.2",
        "deploy shop 1.4.2 unless it is friday",
        "deploy shop 1.4.2 to staging and production",
        "should I deploy shop 1.4.2?",
        "how many users have signed up?",
        "count users; drop table users",
        "count users where 1=1",
        "open a ticket",
        "call note buy milk",
        'call note text="buy milk',
    ],
)
def test_a_text_that_it_does_not_understand_as_a_whole_proposes_nothing(text):
    assert understand(text) is None
    answer = reply([HumanMessage(text)], TOOLS)
    assert not answer.tool_calls
    assert all(example in answer.text for example in EXAMPLES.values())


@pytest.mark.parametrize("example", EXAMPLES.items())
def test_its_own_examples_are_understood(example):
    name, text = example
    assert [call["name"] for call in reply([HumanMessage(text)], TOOLS).tool_calls] == [name]


def test_a_tool_that_is_not_bound_is_not_called():
    answer = reply([HumanMessage("how many users are there?")], ["deploy_code"])
    assert not answer.tool_calls
    assert "no tool read_database" in answer.text
    assert "deploy shop" in answer.text
    assert "users" not in answer.text


def test_it_tells_how_to_call_a_tool_of_the_users_own():
    answer = reply([HumanMessage("write a note")], ["note"]).text
    assert '"call note NAME=VALUE"' in answer
    assert "no tool nothing" in reply([HumanMessage("call nothing")], ["note"]).text


def test_a_text_title_is_short_and_its_body_whole():
    (call,) = reply([HumanMessage("open a ticket: " + "x" * 300 + "\nsecond line")], TOOLS).tool_calls
    assert call["args"] == {"title": "x" * 80, "body": "x" * 300 + "\nsecond line"}


def conversation(*results, text="deploy A 1.0 and B 2.0", before=()):
    """What stands in the thread when these (content, status) came back."""
    asked = [*before, HumanMessage(text)]
    proposal = reply(asked, TOOLS)
    answers = [
        ToolMessage(content, tool_call_id=call["id"], status=status)
        for call, (content, status) in zip(proposal.tool_calls, results, strict=True)
    ]
    return [*asked, proposal, *answers]


def test_says_what_came_of_every_call_in_order():
    answer = reply(conversation(("release 7", "success"), ("release 8", "success")), TOOLS)
    assert not answer.tool_calls
    assert answer.text.splitlines() == [
        "Deployed A 1.0 to production: release 7",
        "Deployed B 2.0 to production: release 8",
    ]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("Rejected by alice (token): not on a friday", "error"),
        ("The operator rejected this call: not on a friday", "success"),
        ("alice has declined it: not on a friday", "error"),
    ],
)
def test_after_a_rejection_it_says_so_in_the_operators_words_and_does_not_ask_again(content, status):
    answer = reply(conversation(("release 7", "success"), (content, status)), TOOLS)
    assert not answer.tool_calls
    done, refused = answer.text.splitlines()
    assert done.startswith("Deployed A 1.0")
    assert "rejected" in refused
    assert "deploy B 2.0 to production" in refused
    assert "not on a friday" in refused
    assert "Deployed B" not in answer.text


def test_a_result_that_only_speaks_of_rejections_is_a_result():
    (line,) = reply(conversation(("12 rejected orders", "success"), text="count orders"), TOOLS).text.splitlines()
    assert line == "The database answers 'SELECT count(*) FROM orders': 12 rejected orders"


def test_an_error_is_not_called_a_success_nor_a_failure():
    (line,) = reply(conversation(("outcome unknown", "error"), text="deploy shop 1"), TOOLS).text.splitlines()
    assert line == "I wanted to deploy shop 1 to production, and this came back: outcome unknown"


def test_a_modification_is_not_reported_as_the_call_that_was_proposed():
    text = "A person changed the arguments before it ran; it ran with {'version': '1.4.1'}.\nrelease 9"
    answer = reply(conversation((text, "success"), text="deploy shop 1.4.2"), TOOLS).text
    assert answer == f"deploy_code ran with other arguments than I had proposed: {text}"


def test_the_next_task_of_a_thread_is_a_new_one_with_new_ids():
    first = conversation(("release 7", "success"), text="deploy shop 1")
    second = reply([*first, reply(first, TOOLS), HumanMessage("deploy shop 1")], TOOLS)
    assert [call["args"]["version"] for call in second.tool_calls] == ["1"]
    assert {call["id"] for call in second.tool_calls}.isdisjoint(call["id"] for call in first[1].tool_calls)


def test_is_a_pure_function_of_the_messages():
    messages = [SystemMessage("be kind"), HumanMessage("deploy A 1.0 and B 2.0")]
    first, second = reply(messages, TOOLS), reply(messages, TOOLS)
    assert first == second
    assert len({call["id"] for call in first.tool_calls}) == 2


def test_without_any_message_of_a_person_it_asks_for_nothing():
    assert not reply([SystemMessage("deploy shop 1"), AIMessage("deploy shop 1")], TOOLS).tool_calls


@tool
def deploy_code(project_id: str, version: str, environment: str = "production") -> str:
    """Deploy a version of a project."""
    return ""


@pytest.mark.parametrize("streaming", [False, True])
async def test_answers_as_every_model_does(tmp_path, streaming):
    model = choose_model(Settings(home=tmp_path))
    shown = []
    on_token = shown.append if streaming else None
    assert model.is_practice
    answer = await model.answer([HumanMessage("deploy shop 1.4.2 to staging")], tools=[deploy_code], on_token=on_token)
    (call,) = answer.calls
    assert (call.name, call.problem) == ("deploy_code", None)
    assert call.args == {"project_id": "shop", "version": "1.4.2", "environment": "staging"}
    assert call.id
    assert (answer.text, answer.model_name, shown) == ("", "practice", [])
    text = (await model.answer([HumanMessage("hello")], tools=[deploy_code], on_token=on_token)).text
    assert "no language model" in text
    assert "".join(shown) == (text if streaming else "")
    assert not streaming or len(shown) > 5


def test_the_notice_says_what_it_is_and_how_to_set_a_real_one():
    assert "no language model" in NOTICE
    for name in ("INTERLOCK_MODEL=openai:", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        assert name in NOTICE
