"""What is said twice says two things, and a person agreed to one of them: it is refused wherever it comes in, and nothing changes."""

from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, raw_call, say

from graph.settings import read_environment
from memory.errors import UsageError

PAY = {"to": "bob", "amount": 5}


def test_a_decision_that_says_something_twice_is_refused(agent: Any) -> None:
    agent.rewrite_tools("to: str, amount: int", "to: str, amount: int, terms: dict | None = None")
    [asked] = agent.start(call("transfer", PAY))["pending"]
    for line, code in (
        (["modify", "t", "--set", "amount=6", "--set", "amount=7"], "said_twice"),
        (["modify", "t", "--set", 'terms={"days": 1, "days": 90}'], "said_twice"),
        (["modify", "t", "--args", '{"to": "bob", "to": "eve", "amount": 5}'], "usage"),
        (["modify", "t", "--args", '{"to": "bob", "amount": 5}', "--args", '{"to": "eve", "amount": 5}'], "usage"),
        (["approve", "t", "--digest", asked["args_sha256"], "--digest", "0" * 64], "usage"),
        (["reject", "t", "--then", "stop", "--then", "continue"], "usage"),
    ):
        error = agent(*line, expect=2)["error"]
        assert error["code"] == code and "twice" in error["message"], line
    assert agent("show", "t", expect=0)["pending"] == [asked]
    agent.model.play(say("Done."))
    agent("modify", "t", "--set", "amount=6", "--set", "to=carol", expect=0)
    assert agent.world.count("transfer") == 1


def test_a_model_that_says_an_argument_twice_is_told_and_nothing_waits(agent: Any) -> None:
    agent.start(raw_call("transfer", '{"to": "bob", "amount": 5, "to": "eve"}'), say("I cannot."), expect=0)
    assert "occurs twice" in agent.told()[0] and agent.world.attempts("transfer") == 0


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        (".env", "INTERLOCK_TENANT=a\nINTERLOCK_TENANT=b\n", "bad_env_file"),
        (".env", "INTERLOCK_POLICY\n", "bad_env_file"),
        ("policy.toml", '[defaults]\ntier = 1\ntier = 2\n', "bad_policy"),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "bad_mcp"),
        ("mcp.json", '{"mcpServers": {"a": {"url": "http://x", "headers": {"Authorization": "a", "authorization": "b"}}}}', "bad_mcp"),
    ],
)  # fmt: skip
def test_a_file_that_says_something_twice_is_refused(agent: Any, name: str, text: str, code: str) -> None:
    file = agent.project / name
    file.write_text(text)
    named = {"policy.toml": {"INTERLOCK_POLICY": name}, "mcp.json": {"INTERLOCK_MCP": name}}.get(name, {})
    assert agent("start", "x", expect=2, environment=named)["error"]["code"] == code
    file.unlink()


@pytest.mark.parametrize("content", [b"A='\nB=1\n", b"\xff", b"A=\0", b"A=1\n\n\nA=2"])
def test_an_env_file_counts_as_a_whole_or_not_at_all(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(UsageError, match=r"\.env'") as refused:
        read_environment(tmp_path)
    assert refused.value.code == "bad_env_file" and (b"A=2" not in content or "line 4" in refused.value.message)


def test_an_env_file_of_another_editor_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes("\ufeffexport SHOP_KEY='a b' # ours\r\nSHOP_NONE=\r\n# end".encode())
    assert read_environment(tmp_path).items() >= {"SHOP_KEY": "a b", "SHOP_NONE": ""}.items()
