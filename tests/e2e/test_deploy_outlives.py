"""A deploy command leads a session of its own, so it goes on where interlock is killed. It is not begun again beside itself."""

import time
from pathlib import Path
from typing import Any

from bench.openai_server import call, say

SCRIPT = """#!/bin/sh
case $1 in
deploy) echo begun >> log; while [ ! -e go ]; do sleep 0.02; done; echo deployed >> log ;;
check) grep -q deployed log || exit 3 ;;
esac
"""


def wait_for(log: Path, text: str) -> None:
    for _ in range(3000):
        if log.exists() and text in log.read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f"{text!r} never came")


def test_a_deploy_that_outlives_its_driver_is_not_begun_again(agent: Any, tmp_path: Path) -> None:
    script, log = tmp_path / "deploy.sh", tmp_path / "log"
    script.write_text(SCRIPT.replace("log", str(log)).replace("go ]", f"{tmp_path}/go ]"))
    script.chmod(0o755)
    command = {"INTERLOCK_DEPLOY_COMMAND": f"{script} {{action}}"}
    agent.start(call("deploy_code", {"project_id": "shop", "version": "2"}), environment=command)
    driver = agent.cli.spawn("approve", "t", environment=command)
    wait_for(log, "begun")
    driver.kill()
    driver.wait()

    [asked] = agent("resume", "t", expect=3, environment=command)["pending"]
    assert asked["kind"] == "unknown_outcome"
    assert "still at work" in asked["note"]
    (tmp_path / "go").touch()
    wait_for(log, "deployed")
    assert log.read_text().split() == ["begun", "deployed"]

    agent.model.play(say("Done."))
    done = agent("resolve", "t", "--done", "it is live", expect=0, environment=command)
    assert [one["status"] for one in done["executions"]] == ["succeeded"]
    assert log.read_text().split() == ["begun", "deployed"]
