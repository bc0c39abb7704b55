"""`doctor` says on one screen what is wrong and how to mend it, and one thing that is wrong hides no other."""

from pathlib import Path
from typing import Any

from bench.openai_server import call, say


def state(document: dict[str, Any], name: str) -> tuple[str, str, str]:
    found = next(one for one in document["checks"] if one["name"] == name)
    return found["state"], found["detail"], found["remedy"] or ""


def test_all_is_well(agent: Any) -> None:
    agent.model.play(call("report_ready", {"word": "ready"}))
    document = agent("doctor", expect=0)
    assert document["ok"] is True
    assert {one["name"] for one in document["checks"] if one["state"] != "ok"} == {"analytics"}
    assert "may not make one" in state(document, "analytics")[1] and "INTERLOCK_ANALYTICS_URL" in state(document, "analytics")[2]
    assert "calls tools" in state(document, "model")[1]
    assert "PostgreSQL" in state(document, "database")[1]
    assert agent("runs", expect=0)["runs"] == [], "it leaves nothing behind"


def test_c069_a_model_that_calls_no_tools_is_a_warning(agent: Any) -> None:
    """`doctor` has the model call a tool, and warns where it does not."""
    agent.model.play(say("I am ready!"), say("I am ready!"))
    document = agent("doctor", expect=0)
    assert state(document, "model")[0] == "warn"
    assert "marked with warn" in agent.cli("doctor").expect(0).stderr


def test_each_thing_that_is_wrong_is_told_with_its_remedy(agent: Any, tmp_path: Path) -> None:
    broken = {
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "INTERLOCK_DATABASE_URL": "postgresql://127.0.0.1:9/none",
        "INTERLOCK_TOOLS": "no_such_module:TOOLS",
        "INTERLOCK_DEPLOY_COMMAND": "/no/such/program {version}",
        "INTERLOCK_ANALYTICS_URL": "postgresql://reader@127.0.0.1:9/shop",
    }
    result = agent.cli("doctor", "--json", environment=broken)
    document = result.json
    assert result.exit_code == 2, "the first thing that is wrong gives the code"
    for name in ("tools", "deploy", "database", "analytics", "model"):
        found, detail, remedy = state(document, name)
        assert found == "wrong" and detail and remedy, name
    shown = agent.cli("doctor", environment=broken).expect(2)
    assert len(shown.stdout.splitlines()) <= 24, "one screen"


def test_a_name_that_another_package_brings_too(agent: Any, tmp_path: Path) -> None:
    foreign = tmp_path / "site"
    (foreign / "tools").mkdir(parents=True)
    (foreign / "other_tools-1.0.dist-info").mkdir()
    (foreign / "other_tools-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other-tools\nVersion: 1.0\n")
    (foreign / "other_tools-1.0.dist-info" / "top_level.txt").write_text("tools\n")
    agent.model.play(call("report_ready", {"word": "ready"}))
    result = agent.cli("doctor", "--json", environment={"PYTHONPATH": f"{foreign}:{agent.cli.environment.get('PYTHONPATH', '')}"})
    assert state(result.json, "names")[0] == "wrong"
    assert "other-tools" in state(result.json, "names")[1]
