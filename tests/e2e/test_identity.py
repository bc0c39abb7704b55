"""Names that are only said, and what a tool can see of those who decide and of what the command was given."""

import json
from typing import Any

import pytest
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}
WITHHELD = {
    "INTERLOCK_ANALYTICS_URL": "postgresql://reader:sentinel-analytics@127.0.0.1/shop",
    "INTERLOCK_QDRANT_API_KEY": "sentinel-qdrant",
    "GITHUB_TOKEN": "sentinel-github",
}


@pytest.mark.cold_start
def test_a_tool_that_prints_its_environment_shows_no_token_no_address_and_no_key(agent: Any) -> None:
    """Also in a process that it starts. The command itself had all of them."""
    agent.rewrite_tools('    print("printed by', '    World.here().append("child", os.popen("env").read())\n    print("printed by')
    given = WITHHELD | {"INTERLOCK_OPERATOR_TOKEN": agent("operator", "add", "ada", expect=0)["token"]}
    agent.start(call("print_environment"), say("Seen."), expect=0, environment=given)
    [seen], [child] = agent.world.lines("environment"), agent.world.lines("child")
    given |= {name: agent.cli.environment[name] for name in ("INTERLOCK_DATABASE_URL", "OPENAI_API_KEY")}
    for name, value in given.items():
        assert name not in json.loads(seen)
        assert value not in seen
        assert f"{name}=" not in child
        assert value not in child
    assert "WORLD" in json.loads(seen)
    started = agent.events()[0]
    assert (started["actor"], started["actor_source"]) == ("ada", "token")


def test_c112_a_name_that_is_only_said_is_recorded_as_claimed_and_no_other_is_believed(agent: Any) -> None:
    """`--as ceo` is a claim, and `LOGNAME=ceo` is nothing at all."""
    as_ceo = dict.fromkeys(("LOGNAME", "USER", "USERNAME", "SUDO_USER", "INTERLOCK_TENANT"), "ceo")
    agent.start(call("transfer", PAY), call("transfer", PAY), say("Done."), environment=as_ceo)
    agent("approve", "t", "--as", "ceo", expect=3, environment=as_ceo)
    agent("approve", "t", expect=0, environment=as_ceo)
    claimed, local = [event for event in agent.events() if event["kind"] == "approval_decided"]
    assert (claimed["actor"], claimed["actor_source"]) == ("ceo", "claimed")
    assert "ceo" not in local["actor"]
    assert not any("ceo" in event["actor"] for event in agent.events() if event is not claimed and event["seq"] != claimed["seq"])


def test_c112_where_tokens_are_asked_for_nothing_that_is_said_counts(agent: Any) -> None:
    """Where a token is asked for, no name that is only said counts."""
    policy = agent.project / "policy.toml"
    policy.write_text('[tiers]\n1 = ["ceo"]\n[defaults]\nsources = ["token"]\n')
    agent.cli.environment["INTERLOCK_POLICY"] = str(policy)
    agent.start(call("transfer", PAY), say("Done."))
    for option, environment in ((["--as", "ceo"], {}), ([], {"LOGNAME": "ceo", "USER": "ceo"})):
        assert agent("approve", "t", *option, expect=6, environment=environment)["error"]["code"] == "not_permitted"
    assert agent.world.attempts("transfer") == 0
    token = {"INTERLOCK_OPERATOR_TOKEN": agent("operator", "add", "ceo", expect=0)["token"]}
    agent("approve", "t", expect=0, environment=token)
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_c112_names_cannot_forge_lines_of_the_record(agent: Any) -> None:
    """Names that could forge a line of the record are refused."""
    agent.start(call("transfer", PAY), say("Done."))
    for name in ("ada\nseq 9 approved", "\x1b[2J", "", " ", "x" * 201):
        assert agent("approve", "t", "--as", name, expect=6)["error"]["code"] == "bad_name"
    assert agent("show", "t", expect=0)["status"] == "waiting"
    shown = agent.cli("approve", "t", "--as", "ada\u202e", "--json")
    assert shown.exit_code == 6 or "\u202e" not in agent.cli("audit", "t").expect(0).stdout


def test_a_sole_operator_is_allowed_explicitly_and_the_record_says_so(agent: Any) -> None:
    """Four eyes keep out who asked; where a rule says that they are not needed, one person may ask and decide."""
    policy = agent.project / "policy.toml"
    rule = '[tiers]\n1 = ["ada"]\n[[rule]]\nname = "alone"\nwhen = "true"\nverdict = "ask"\nsources = ["token"]\nfour_eyes = {}\n'
    policy.write_text(rule.format("true"))
    agent.cli.environment["INTERLOCK_POLICY"] = str(policy)
    ada = {"INTERLOCK_OPERATOR_TOKEN": agent("operator", "add", "ada", expect=0)["token"]}
    agent.start(call("transfer", PAY), environment=ada)
    assert agent("approve", "t", expect=6, environment=ada)["error"]["code"] == "four_eyes"
    policy.write_text(rule.format("false"))
    agent.start(call("transfer", PAY), say("Done."), thread="u", environment=ada)
    agent("approve", "u", expect=0, environment=ada)
    assert agent.world.lines("transfer") == ["5 to bob"]
    [decided] = [event for event in agent.events("u") if event["kind"] == "approval_decided"]
    assert decided["payload"]["own_request"] is True
    [told] = [event for event in agent("replay", "u", expect=0)["events"] if event["kind"] == "approval_decided"]
    assert told["details"]["own request"] == "allowed by the rules"
